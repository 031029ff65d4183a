/*
 * Goal: no body of an API server crashes the JSON reader, what is read and written is the same
 * value for the next reader, and a Lease made of it is one whose texts end.
 */
#include <string.h>

#include "kube/json.h"
#include "kube/lease.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf once = buf_make(1 << 24), twice = buf_make(1 << 24);
	struct kube_lease lease;
	struct err err;
	json_t *value = kube_json_parse((struct str){ (const char *)data, size }, &err), *again;

	if (value) {
		kube_json_put(&once, value);
		MUST(!once.failed);
		again = kube_json_parse(buf_str(&once), &err);
		MUST(again);
		kube_json_put(&twice, again);
		MUST(str_equal(buf_str(&once), buf_str(&twice)));
		json_decref(again);
		buf_clear(&twice);
		kube_json_put_sorted(&twice, value);
		(void)kube_lease_parse(value, &lease, &err);
		(void)kube_json_text(kube_json_at(value, "metadata", NULL), "name");
	}
	json_decref(value);
	buf_free(&once);
	buf_free(&twice);
	return 0;
}
