/*
 * Goal: no bytes of a fence page make a reader crash, wait, or believe in leadership that the page
 * does not grant: it is mapped by every controller (C10, F19).
 */
#include "fence/fence.h"

#include <string.h>

#include "tests/fuzz/fuzz.h"

#define NOW_NS 1000000000000LL

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t words[FENCE_BYTES / 8] = { 0 };
	struct fence fence = { .words = words, .boot = 7, .time_ns = 9 };
	struct fence_view view;
	int64_t left_ns;

	memcpy(words, data, size < sizeof(words) ? size : sizeof(words));
	if (size > 64 && data[64] & 1) { /* else the first check ends nearly each input */
		words[FENCE_WORD_HEAD] = fence_head(data[64] >> 1 & 3);
		words[FENCE_WORD_BOOT] = 7;
		words[FENCE_WORD_TIME_NS] = 9;
	}
	if (!fence_read(&fence, &view)) {
		MUST(words[FENCE_WORD_SEQUENCE] % 2 == 1);
		return 0;
	}
	left_ns = fence_view_left_ns(&view, NOW_NS);
	MUST(left_ns >= 0 && left_ns <= FENCE_MAX_SPAN_NS);
	if (left_ns > 0) {
		MUST(view.here && view.role == FENCE_LEADING);
		MUST((int64_t)words[FENCE_WORD_WRITTEN_AT] <= NOW_NS);
		MUST((int64_t)words[FENCE_WORD_VALID_UNTIL] == NOW_NS + left_ns);
	}
	return 0;
}
