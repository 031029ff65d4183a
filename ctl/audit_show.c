/*
 * The audit for a person and for a program (see the header). Pure. Called by audit.c.
 */
#include "ctl/audit.h"

#include <stdlib.h>
#include <string.h>

const char *audit_result_word(const struct audit_list *list)
{
	static const char *const words[] = { "clean", "findings", "unverified" };

	return words[audit_exit_code(list->verdicts)];
}

static void put_column(const char *name, const char *value, bool *first, struct buf *out)
{
	if (!*value)
		return;
	buf_printf(out, "%s%s %s", *first ? ": " : ", ", name, value);
	*first = false;
}

static void put_row(const struct audit_row *row, struct buf *out)
{
	bool first = true;

	buf_printf(
	    out, "  %-10s  %-20s  %s", audit_verdict_word(row->verdict), row->subject, row->what);
	put_column("declared", row->declared, &first, out);
	put_column("effective", row->effective, &first, out);
	put_column("probed", row->probed, &first, out);
	if (*row->text)
		buf_printf(out, " (%s)", row->text);
	buf_puts(out, "\n");
}

static void put_kind(const struct audit_list *list, enum audit_kind kind, struct buf *out)
{
	bool first = true;

	for (size_t i = 0; i < list->count; i++) {
		if (list->rows[i].kind != kind)
			continue;
		if (first)
			buf_printf(out, "%s\n", audit_kind_word(kind));
		first = false;
		put_row(&list->rows[i], out);
	}
}

/* Once more, together, what somebody has to look at. */
static void put_verdict(const struct audit_list *list, enum audit_verdict verdict, struct buf *out)
{
	if (list->verdicts[verdict] == 0)
		return;
	buf_printf(out, "\n%u %s:\n", list->verdicts[verdict], audit_verdict_word(verdict));
	for (size_t i = 0; i < list->count; i++)
		if (list->rows[i].verdict == verdict)
			put_row(&list->rows[i], out);
}

void audit_put_text(const struct audit_report *report, struct buf *out)
{
	const struct audit_list *list = report->list;

	buf_printf(out, "audit%s%s%s%s%s%s%s\n",
	    report->offline ? " offline"
	    : report->deep  ? " with canaries"
			    : "",
	    *report->identity ? " of " : "", report->identity, *report->mode ? ", mode " : "",
	    report->mode, *report->time ? ", " : "", report->time);
	for (unsigned kind = 0; kind < AUDIT_KIND_COUNT; kind++)
		put_kind(list, (enum audit_kind)kind, out);
	put_verdict(list, AUDIT_WAIVED, out);
	put_verdict(list, AUDIT_UNVERIFIED, out);
	put_verdict(list, AUDIT_FINDING, out);
	buf_printf(out, "\naudit: %zu rows", list->count);
	for (unsigned v = 0; v < AUDIT_VERDICT_COUNT; v++)
		buf_printf(
		    out, ", %u %s", list->verdicts[v], audit_verdict_word((enum audit_verdict)v));
	buf_printf(out, ": %s\n", audit_result_word(list));
}

/* null: this column says nothing. */
static json_t *column(const char *text)
{
	return *text ? json_string(text) : json_null();
}

static json_t *row_object(const struct audit_row *row)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:s, s:s}", "kind",
	    audit_kind_word(row->kind), "subject", row->subject, "what", row->what, "declared",
	    column(row->declared), "effective", column(row->effective), "probed",
	    column(row->probed), "verdict", audit_verdict_word(row->verdict), "text", row->text);
}

void audit_put_json(const struct audit_report *report, struct buf *out)
{
	const struct audit_list *list = report->list;
	json_t *rows = json_array(), *counts = json_object();
	json_t *root = json_pack("{s:i, s:o, s:o, s:o, s:b, s:b, s:s, s:o, s:o}", "version", 1,
	    "identity", column(report->identity), "mode", column(report->mode), "time",
	    column(report->time), "offline", report->offline, "deep", report->deep, "result",
	    audit_result_word(list), "counts", counts, "rows", rows);
	char *text;

	for (unsigned v = 0; v < AUDIT_VERDICT_COUNT; v++)
		json_object_set_new(counts, audit_verdict_word((enum audit_verdict)v),
		    json_integer(list->verdicts[v]));
	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(rows, row_object(&list->rows[i]));
	text = json_dumps(root, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	if (text)
		buf_puts(out, text);
	else
		out->failed = true;
	buf_puts(out, "\n");
	free(text);
	json_decref(root);
}
