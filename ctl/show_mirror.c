/*
 * The mirror as text (see show.h): one line for the whole, one a kind, and by name what is not
 * mirrored as it is. Pure; called by show.c and mirror.c.
 */
#include <stdio.h>
#include <string.h>

#include "ctl/json.h"
#include "ctl/show.h"

static void put_span(struct buf *out, long long ms)
{
	long long s = (ms + 999) / 1000;

	if (s < 60)
		buf_printf(out, "%lld s", s);
	else if (s < 3600)
		buf_printf(out, "%lldm%02llds", s / 60, s % 60);
	else
		buf_printf(out, "%lldh%02lldm", s / 3600, s / 60 % 60);
}

static void put_progress(const json_t *mirror, struct buf *out)
{
	const json_t *progress = json_object_get(mirror, "progress");
	long long done = member_number(progress, "done"), total = member_number(progress, "total");

	if (!json_is_object(progress))
		return;
	buf_printf(out, "  %-14s%lld of %lld objects",
	    member_true(mirror, "rejoin") ? "rejoin" : "pass", done, total);
	if (total > 0)
		buf_printf(out, " (%lld %%)", done * 100 / total);
	buf_printf(out, ", %.0f/s", json_number_value(json_object_get(progress, "perSecond")));
	if (json_is_integer(json_object_get(progress, "remainingMs"))) {
		buf_puts(out, ", about ");
		put_span(out, member_number(progress, "remainingMs"));
		buf_puts(out, " left");
	}
	buf_puts(out, "\n");
}

void show_mirror_lines(const json_t *document, struct buf *out)
{
	const json_t *mirror = json_object_get(document, "mirror");
	const char *state = member_text(mirror, "state"), *why = member_text(mirror, "why");

	if (!json_is_object(mirror))
		return;
	buf_puts(out, "  mirror        ");
	show_text(out, *state ? state : "Unknown");
	buf_puts(out, member_true(mirror, "complete") ? ", complete" : ", INCOMPLETE");
	if (*why) {
		buf_puts(out, ": ");
		show_text(out, why);
	}
	buf_printf(out,
	    "\n                %lld objects, %lld pending, %lld blocked, %lld held deletes\n",
	    member_number(mirror, "objects"), member_number(mirror, "pending"),
	    member_number(mirror, "blocked"), member_number(mirror, "heldDeletes"));
	buf_printf(out, "                lag %lld ms, %lld written, %lld failed\n",
	    member_number(mirror, "lagMs"), member_number(mirror, "written"),
	    member_number(mirror, "failed"));
	put_progress(mirror, out);
	if (member_number(mirror, "archived"))
		buf_printf(out,
		    "  archived      %lld objects that were here other than on the peer: "
		    "understudyctl archive list\n",
		    member_number(mirror, "archived"));
}

static void put_number(struct buf *out, const json_t *object, const char *key, size_t width)
{
	char text[32] = "-";

	if (json_is_integer(json_object_get(object, key)))
		(void)snprintf(text, sizeof(text), "%lld", member_number(object, key));
	show_column(out, text, width);
}

static void put_kinds(const json_t *document, struct buf *out)
{
	const json_t *kind;
	size_t i;

	buf_puts(out, "\nKIND                 STATE        SOURCE  COPIES  PENDING  BLOCKED  HELD  "
		      "EXCLUDED  COMPLETE AT  OLDEST\n");
	json_array_foreach(json_object_get(document, "kinds"), i, kind)
	{
		long long oldest = member_number(kind, "oldestUnappliedMs");

		show_column(out, member_text(kind, "kind"), 21);
		show_column(out, member_text(kind, "state"), 13);
		put_number(out, kind, "source", 8);
		put_number(out, kind, "copies", 8);
		put_number(out, kind, "pending", 9);
		put_number(out, kind, "blocked", 9);
		put_number(out, kind, "held", 6);
		put_number(out, kind, "excluded", 10);
		put_number(out, kind, "completeAt", 13);
		if (oldest)
			put_span(out, oldest);
		else
			buf_puts(out, "-");
		if (*member_text(kind, "fault")) {
			buf_puts(out, "\n    ");
			show_text(out, member_text(kind, "fault"));
		}
		buf_puts(out, "\n");
	}
}

void show_listed(const json_t *document, const char *only, size_t most, struct buf *out)
{
	const json_t *item;
	size_t i, shown = 0, left = 0;

	json_array_foreach(json_object_get(document, "blocked"), i, item)
	{
		const char *state = member_text(item, "state");

		if (only && !strstr(only, *state ? state : "?"))
			continue;
		if (shown == most) {
			left++;
			continue;
		}
		if (shown++ == 0)
			buf_puts(out, "\nNOT MIRRORED AS IT IS\n");
		buf_puts(out, "  ");
		show_column(out, state, 12);
		show_text(out, member_text(item, "object"));
		buf_puts(out, ": ");
		show_text(out, member_text(item, "why"));
		buf_puts(out, "\n");
	}
	if (left)
		buf_printf(out, "  and %zu more: understudyctl sync status --excluded\n", left);
}

void show_sync(const json_t *document, bool excluded, struct buf *out)
{
	const json_t *mirror = json_object_get(document, "mirror");
	const char *list = member_text(mirror, "heldList");

	show_text(out, member_text(document, "identity"));
	buf_puts(out, "\n");
	if (!json_is_object(mirror)) {
		buf_puts(out, strcmp(member_text(json_object_get(document, "leadership"), "role"),
				  "leading") == 0
				  ? "  mirror        none: this hub leads, its peer mirrors it\n"
				  : "  mirror        unknown: its process has said nothing\n");
		return;
	}
	show_mirror_lines(document, out);
	if (member_number(mirror, "heldDeletes")) {
		buf_puts(out, "  held          list ");
		show_text(out, list);
		buf_puts(out, ": sync confirm-deletes, or sync discard\n");
	}
	put_kinds(document, out);
	show_listed(document, excluded ? NULL : "blocked held", excluded ? (size_t)-1 : 50, out);
	if (!excluded && member_number(mirror, "excluded") + member_number(mirror, "referenced"))
		buf_printf(out,
		    "\n%lld objects are left out, %lld are referenced and not mirrored: "
		    "sync status --excluded\n",
		    member_number(mirror, "excluded"), member_number(mirror, "referenced"));
}
