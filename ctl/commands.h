/*
 * Every command of understudyctl, one row each: words, help and function. The parser, the help and
 * the list of valid words come from this table.
 */
#ifndef CTL_COMMANDS_H
#define CTL_COMMANDS_H

#include "base/buf.h"
#include "base/err.h"
#include "ctl/client.h"

/* What stands before the command. */
struct ctl_options {
	const char *socket;
};

struct command {
	const char *name, *usage, *summary, *help;
	/* argv[0] is the command. Output is appended; on failure err says why. */
	enum ctl_exit (*run)(const struct ctl_options *options, int argc, char **argv,
	    struct buf *out, struct err *err);
};

/* NULL when there is none of that name. */
const struct command *command_by_name(const char *name);
/* The overview: usage, commands, exit codes. */
void commands_put_help(struct buf *out);
/* Parses argv as main gets it and runs what it asks for. */
enum ctl_exit commands_run(int argc, char **argv, struct buf *out, struct err *err);

#endif
