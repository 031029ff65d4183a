/*
 * What a command's usage line says, word by word. It is the one description of the command line:
 * the parser refuses what does not stand in it, completion and manual are made from it. Pure.
 */
#ifndef CTL_WORDS_H
#define CTL_WORDS_H

#include "base/str.h"
#include "ctl/commands.h"

enum words_kind { WORDS_VERB, WORDS_OPTION, WORDS_ARGUMENT };

/* Texts point into the usage. */
struct words_word {
	enum words_kind kind;
	struct str text, value; /* value: of an option that takes one, as the usage names it */
	bool starts;            /* an alternative */
};

struct words_scan {
	const char *at;
	bool starts;
};

struct words_scan words_begin(const struct command *command);
/* False: there is none left. */
bool words_next(struct words_scan *scan, struct words_word *word);
/* An option of the command; false when it has none of that name. */
bool words_option(const struct command *command, struct str name, struct words_word *word);
bool words_has_verbs(const struct command *command);

#endif
