/*
 * Rows of the audit as lines, and back (see the header). Pure. Called by supervisor/audit_*.c,
 * which writes them, and by ctl/audit.c, which believes nothing of what it reads.
 */
#include "policy/audit.h"

#include <string.h>

#include "base/check.h"

#define FIELDS 8

static const char *const kind_words[AUDIT_KIND_COUNT] = { "protection", "probe", "process", "file",
	"credential", "link", "endpoint", "right", "door", "fence" };
static const char *const verdict_words[AUDIT_VERDICT_COUNT] = { "ok", "waived", "declared",
	"unverified", "finding" };

const char *audit_kind_word(enum audit_kind kind)
{
	CHECK((unsigned)kind < AUDIT_KIND_COUNT);
	return kind_words[kind];
}

const char *audit_verdict_word(enum audit_verdict verdict)
{
	CHECK((unsigned)verdict < AUDIT_VERDICT_COUNT);
	return verdict_words[verdict];
}

static void put_field(struct buf *out, const char *text, char end)
{
	size_t at = out->len;

	buf_puts(out, text);
	for (; at < out->len; at++)
		if ((unsigned char)out->data[at] < 0x20 || out->data[at] == 0x7f)
			out->data[at] = '?';
	buf_append(out, &end, 1);
}

void audit_put(struct buf *out, const struct audit_row *row)
{
	put_field(out, audit_kind_word(row->kind), '\t');
	put_field(out, row->subject, '\t');
	put_field(out, row->what, '\t');
	put_field(out, row->declared, '\t');
	put_field(out, row->effective, '\t');
	put_field(out, row->probed, '\t');
	put_field(out, audit_verdict_word(row->verdict), '\t');
	put_field(out, row->text, '\n');
}

/* The next line without its end. False: there is no whole one. */
static bool take_line(struct str *rest, struct str *line)
{
	const char *end = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;

	if (!end)
		return false;
	*line = (struct str){ rest->p, (size_t)(end - rest->p) };
	*rest = (struct str){ end + 1, rest->n - line->n - 1 };
	return true;
}

bool audit_take_head(struct str *rest)
{
	struct str line;

	return take_line(rest, &line) && str_equal(line, STR_LIT(AUDIT_HEAD));
}

static int word_of(struct str field, const char *const *words, int count)
{
	for (int i = 0; i < count; i++)
		if (str_equal(field, str_of(words[i])))
			return i;
	return -1;
}

/* Exactly FIELDS of them, of printable bytes. */
static bool split(struct str line, struct str fields[FIELDS])
{
	int count = 0;

	if (!str_is_utf8(line))
		return false;
	fields[0] = (struct str){ line.p, 0 };
	for (size_t i = 0; i < line.n; i++) {
		if (line.p[i] == '\t') {
			if (++count == FIELDS)
				return false;
			fields[count] = (struct str){ line.p + i + 1, 0 };
			continue;
		}
		if ((unsigned char)line.p[i] < 0x20 || line.p[i] == 0x7f)
			return false;
		fields[count].n++;
	}
	return count == FIELDS - 1;
}

int audit_take(struct str *rest, struct audit_row *row)
{
	struct str line, fields[FIELDS];
	int kind, verdict;

	if (!take_line(rest, &line))
		return -1;
	if (str_equal(line, STR_LIT(AUDIT_END)))
		return rest->n == 0 ? 0 : -1;
	if (!split(line, fields))
		return -1;
	kind = word_of(fields[0], kind_words, AUDIT_KIND_COUNT);
	verdict = word_of(fields[6], verdict_words, AUDIT_VERDICT_COUNT);
	if (kind < 0 || verdict < 0 || !str_copy(row->subject, sizeof(row->subject), fields[1]) ||
	    !str_copy(row->what, sizeof(row->what), fields[2]) ||
	    !str_copy(row->declared, sizeof(row->declared), fields[3]) ||
	    !str_copy(row->effective, sizeof(row->effective), fields[4]) ||
	    !str_copy(row->probed, sizeof(row->probed), fields[5]) ||
	    !str_copy(row->text, sizeof(row->text), fields[7]))
		return -1;
	row->kind = (enum audit_kind)kind;
	row->verdict = (enum audit_verdict)verdict;
	return 1;
}

int audit_exit_code(const unsigned counts[AUDIT_VERDICT_COUNT])
{
	if (counts[AUDIT_FINDING] > 0)
		return 1;
	return counts[AUDIT_UNVERIFIED] > 0 ? 2 : 0;
}
