/*
 * Goal: no request on admin.sock crashes the elector or goes without one answer that is a line of
 * JSON. A Standby with a complete mirror, so that every verb gets as far as it can.
 */
#include "tests/unit/elector_admin_bed.h"

#include "base/log.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str request = { (const char *)data, size };
	json_t *answer;

	log_open("fuzz", LOG_ERROR + 1);
	(void)set_up(NULL);
	/* Twice: what it began the first time is under way the second time. */
	for (int i = 0; i < 2; i++) {
		buf_clear(&out);
		admin_answer(elector, 0, 77, request, &out);
		MUST(!out.failed && out.len && out.data[out.len - 1] == '\n');
		MUST(strlen(out.data) == out.len &&
		     strchr(out.data, '\n') == out.data + out.len - 1);
		answer = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, NULL);
		MUST(json_is_object(answer));
		json_decref(answer);
	}
	(void)tear_down(NULL);
	return 0;
}
