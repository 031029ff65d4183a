/*
 * Reads usage lines (see the header): `name verb [--option VALUE] | --alone`. No allocation. Called
 * by commands.c, complete.c and the printer of the manual.
 */
#include "ctl/words.h"

#include <string.h>

struct words_scan words_begin(const struct command *command)
{
	return (struct words_scan){ command->usage + strlen(command->name), true };
}

/* The next text between blanks. */
static struct str next_text(const char **at)
{
	struct str text;

	*at += strspn(*at, " \n");
	text = (struct str){ *at, strcspn(*at, " \n") };
	*at += text.n;
	return text;
}

/* Without the bracket that opens what may be left out. */
static struct str opened(struct str text)
{
	return text.n && text.p[0] == '[' ? (struct str){ text.p + 1, text.n - 1 } : text;
}

static struct str closed(struct str text)
{
	return text.n && text.p[text.n - 1] == ']' ? (struct str){ text.p, text.n - 1 } : text;
}

bool words_next(struct words_scan *scan, struct words_word *word)
{
	struct str text = next_text(&scan->at), plain;
	const char *ahead;

	while (text.n == 1 && text.p[0] == '|') {
		scan->starts = true;
		text = next_text(&scan->at);
	}
	if (text.n == 0)
		return false;
	plain = closed(opened(text));
	*word = (struct words_word){ WORDS_ARGUMENT, plain, { "", 0 }, scan->starts };
	scan->starts = false;
	if (plain.n && plain.p[0] == '-') {
		word->kind = WORDS_OPTION;
		ahead = scan->at;
		plain = next_text(&ahead);
		if (text.p[text.n - 1] != ']' && plain.n && !strchr("[-|", plain.p[0])) {
			word->value = closed(plain);
			scan->at = ahead;
		}
	} else if (word->starts && plain.n && plain.p[0] >= 'a' && plain.p[0] <= 'z') {
		word->kind = WORDS_VERB;
	}
	return true;
}

bool words_option(const struct command *command, struct str name, struct words_word *word)
{
	struct words_scan scan = words_begin(command);

	while (words_next(&scan, word))
		if (word->kind == WORDS_OPTION && str_equal(word->text, name))
			return true;
	return false;
}

bool words_has_verbs(const struct command *command)
{
	struct words_scan scan = words_begin(command);
	struct words_word word;

	return words_next(&scan, &word) && word.kind == WORDS_VERB;
}
