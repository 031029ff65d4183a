/*
 * Goal: nothing that comes back from audit.sock and status.sock crashes understudyctl, which runs
 * as root, or drives its terminal; and a cut list is never a clean one.
 */
#include <string.h>

#include "ctl/audit.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *middle = size ? memchr(data, 0, size) : NULL;
	struct str rows = { (const char *)data, middle ? (size_t)(middle - data) : size };
	struct audit_list list = { 0 };
	struct audit_report report = { .list = &list, .identity = "", .mode = "", .time = "" };
	struct buf out = buf_make(1 << 26);
	json_t *status = middle ? json_loadb((const char *)middle + 1,
				      size - (size_t)(middle - data) - 1, 0, NULL)
				: NULL;

	if (audit_list_take(&list, rows) == 0) {
		MUST(rows.n > 4 && memcmp(rows.p + rows.n - 4, AUDIT_END "\n", 4) == 0);
		audit_list_add_tried(&list, status);
		audit_put_text(&report, &out);
		for (size_t i = 0; i < out.len; i++)
			MUST((unsigned char)out.data[i] >= 0x20 || out.data[i] == '\n');
		buf_clear(&out);
		audit_put_json(&report, &out);
		MUST(!out.failed);
	}
	json_decref(status);
	audit_list_free(&list);
	buf_free(&out);
	return 0;
}
