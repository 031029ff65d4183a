/*
 * Goal: no head and no Status of an API server crashes the classification, and what it keeps for
 * logs and for people is printable and ends (F12, L34).
 */
#include <string.h>

#include "kube/answer.h"
#include "tests/fuzz/fuzz.h"

static void printable(const char *text, size_t size)
{
	MUST(memchr(text, 0, size));
	for (; *text; text++)
		MUST((unsigned char)*text >= 0x20 && *text != 0x7f);
}

/* Lines of the head, an empty one, the body; the first two bytes are the status. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kube_answer answer = { 0 };
	struct answer_head head = { false };
	const char *at = (const char *)data, *end = at + size, *line;

	if (size < 2)
		return 0;
	answer.status = 100 + (data[0] | data[1] << 8) % 500;
	for (at += 2; (line = memchr(at, '\n', (size_t)(end - at))); at = line + 1) {
		if (line == at)
			break;
		answer_header(&answer, &head, (struct str){ at, (size_t)(line - at) + 1 });
	}
	answer_finish(&answer, &head, "/apis/ha.kubeslice.io/v1alpha1/hubroles/self",
	    (struct str){ line ? line + 1 : at, (size_t)(end - (line ? line + 1 : at)) });
	MUST(answer.class <= KUBE_BLIND && answer.why <= PEER_WHY_LAST);
	MUST(answer.retry_after_ms >= 0);
	printable(answer.reason, sizeof(answer.reason));
	printable(answer.message, sizeof(answer.message));
	printable(answer.cause_field, sizeof(answer.cause_field));
	printable(answer.warning, sizeof(answer.warning));
	return 0;
}
