/*
 * Every command of understudyctl, one row each: words, help and function. The parser, the help,
 * completion and manual come from this table; words.h reads its usage lines.
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

/* argv[0] is the command. Output is appended; on failure err says why. */
typedef enum ctl_exit command_run_fn(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err);

struct command {
	const char *name, *usage, *summary, *help;
	command_run_fn *run;
};

/* In the order of the table; NULL behind the last one. */
const struct command *command_at(size_t number);
/* NULL when there is none of that name. */
const struct command *command_by_name(const char *name);
/* What is wrong with the words of a command (NULL: of the whole line), and how it is called.
 * CTL_USAGE. */
enum ctl_exit command_misused(
    struct err *err, const char *name, const char *what, const char *which);
/* The overview: usage, commands, exit codes. */
void commands_put_help(struct buf *out);
/* Parses argv as main gets it and runs what it asks for. */
enum ctl_exit commands_run(int argc, char **argv, struct buf *out, struct err *err);

#endif
