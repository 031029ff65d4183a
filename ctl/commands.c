/*
 * The commands (see the header). Output goes into a buffer: main.c writes it. Called by main.c.
 */
#include "ctl/commands.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/show.h"

static enum ctl_exit run_status(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err);
static enum ctl_exit run_help(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err);

static const struct command commands[] = {
	{ "status", "status [-o text|json]", "what this hub is and does, on one screen",
	    "Reads the status socket of the understudyd on this machine and prints what is wrong,\n"
	    "who leads, the peer and its age against the threshold, the mirror, the workers, what\n"
	    "is blocked and the last transitions. -o json prints the whole document.\n",
	    run_status },
	{ "help", "help [COMMAND]", "this text, or that of one command",
	    "Prints the help of a command.\n", run_help },
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

const struct command *command_by_name(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

void commands_put_help(struct buf *out)
{
	buf_puts(out, "usage: understudyctl [--socket PATH] COMMAND\n\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		buf_printf(out, "  %-24s %s\n", commands[i].usage, commands[i].summary);
	buf_puts(out,
	    "\n  --socket PATH            default " CLIENT_DEFAULT_SOCKET "\n\n"
	    "exit status: 0 done, 1 refused, 3 unknown or still running, 4 no daemon, 64 usage\n");
}

static enum ctl_exit misused(
    struct err *err, const struct command *command, const char *what, const char *which)
{
	if (command)
		err_set(err, "%s%s; expected: understudyctl [--socket PATH] %s", what, which,
		    command->usage);
	else
		err_set(err, "%s%s; see understudyctl help", what, which);
	return CTL_USAGE;
}

static enum ctl_exit run_help(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	const struct command *command = argc > 1 ? command_by_name(argv[1]) : NULL;

	(void)options;
	if (argc > 2)
		return misused(err, command_by_name("help"), "too many words after ", argv[0]);
	if (argc == 1)
		commands_put_help(out);
	else if (command)
		buf_printf(out, "usage: understudyctl [--socket PATH] %s\n\n%s", command->usage,
		    command->help);
	else
		return misused(err, NULL, "no command is called ", argv[1]);
	return CTL_DONE;
}

static enum ctl_exit print_document(
    const struct buf *document, bool as_json, struct buf *out, struct err *err)
{
	json_error_t error;
	json_t *root = json_loadb(document->data, document->len, JSON_REJECT_DUPLICATES, &error);
	char *text = NULL;
	enum ctl_exit code = CTL_DONE;

	if (!json_is_object(root)) {
		err_set(err,
		    "what came back is no status document (%s); is it understudyd's "
		    "status.sock?",
		    root ? "no object" : error.text);
		code = CTL_NO_DAEMON;
	} else if (!as_json) {
		show_status(root, out);
	} else if ((text = json_dumps(root, JSON_INDENT(2) | JSON_PRESERVE_ORDER))) {
		buf_puts(out, text);
		buf_puts(out, "\n");
	}
	free(text);
	json_decref(root);
	return code;
}

static enum ctl_exit run_status(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	const struct command *command = command_by_name("status");
	struct buf document = buf_make(CLIENT_MAX_BYTES);
	bool as_json = false;
	enum ctl_exit code;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-o") != 0)
			return misused(err, command, "unknown word ", argv[i]);
		if (++i == argc || (strcmp(argv[i], "json") != 0 && strcmp(argv[i], "text") != 0))
			return misused(err, command, "-o takes json or text", "");
		as_json = strcmp(argv[i], "json") == 0;
	}
	code = client_read(options->socket, &document, err);
	if (code == CTL_DONE)
		code = print_document(&document, as_json, out, err);
	buf_free(&document);
	return code;
}

enum ctl_exit commands_run(int argc, char **argv, struct buf *out, struct err *err)
{
	struct ctl_options options = { CLIENT_DEFAULT_SOCKET };
	const struct command *command;
	int at = 1;

	for (; at < argc && argv[at][0] == '-'; at++) {
		if (strcmp(argv[at], "-h") == 0 || strcmp(argv[at], "--help") == 0) {
			commands_put_help(out);
			return CTL_DONE;
		}
		if (strcmp(argv[at], "--socket") != 0)
			return misused(err, NULL, "unknown option ", argv[at]);
		if (++at == argc || !argv[at][0])
			return misused(err, NULL, "--socket takes a path", "");
		options.socket = argv[at];
	}
	if (at == argc)
		return misused(err, NULL, "no command", "");
	command = command_by_name(argv[at]);
	if (!command)
		return misused(err, NULL, "no command is called ", argv[at]);
	return command->run(&options, argc - at, argv + at, out, err);
}
