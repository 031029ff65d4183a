/*
 * The commands (see the header). Output goes into a buffer: main.c writes it. Called by main.c.
 */
#include "ctl/commands.h"

#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/build.h"
#include "ctl/archive.h"
#include "ctl/audit.h"
#include "ctl/bootstrap.h"
#include "ctl/check_config.h"
#include "ctl/complete.h"
#include "ctl/drill.h"
#include "ctl/mirror.h"
#include "ctl/operate.h"
#include "ctl/records.h"
#include "ctl/reload.h"
#include "ctl/show.h"
#include "ctl/words.h"

static command_run_fn run_status, run_history, run_help;

static const struct command commands[] = {
	{ "status",
	    "status [--watch] [-o text|json] |\n"
	    "       --context HUB [--kubeconfig FILE] [--namespace N] [-o text|json]",
	    "what this hub is and does, on one screen",
	    "Reads the status socket of the understudyd on this machine and prints what is wrong,\n"
	    "who leads, the peer and its age against the threshold, the mirror, the workers, what\n"
	    "is blocked and the last transitions. -o json prints the whole document. --watch "
	    "shows\n"
	    "it anew every second until it is interrupted, also while understudyd is away.\n"
	    "--context, --kubeconfig: with your own kubectl, of a hub where none runs: its Lease "
	    "and "
	    "until\n"
	    "when it held, what it knew of its peer, its transitions, by its API server's "
	    "records.\n",
	    run_status },
	{ "history", "history [--context HUB] [--kubeconfig FILE] [--namespace N] [-o text|json]",
	    "the last 100 transitions of this hub, newest first",
	    "Reads the status socket. The history lives in HubRole/self of the hub's own API "
	    "server and\n"
	    "survives restarts: --context or --kubeconfig reads it there, with your own kubectl "
	    "and\n"
	    "without a daemon. -o json prints a list.\n",
	    run_history },
	{ "switchover",
	    "switchover [--check] [--to HUB] [--wait] [--timeout DURATION]\n"
	    "       [-o text|json] | --call-off",
	    "hands the lead to the peer, nothing lost",
	    "On the Active. The fence page closes, the workload ends, the peer's mirror catches "
	    "up, then\n"
	    "the peer leads; until it has everything there is a way back. --check prints each "
	    "condition\n"
	    "with its value and limit and changes nothing. --to makes sure whom. --wait waits up "
	    "to ten\n"
	    "minutes, or for --timeout, also for one that runs already. --call-off cancels while "
	    "the\n"
	    "peer catches up.\n"
	    "Exit: 0 the peer leads, 1 refused or given up and this hub leads as before, 3 not "
	    "known yet.\n",
	    operate_switchover },
	{ "promote",
	    "promote [--force] [--accept-incomplete] [--check] [--yes HUB] [--wait]\n       "
	    "[--timeout DURATION] [-o text|json]",
	    "makes this Standby the Active",
	    "On the Standby, or on a hub that is held. Without --force its guards must agree; it "
	    "replaces\n"
	    "what manual mode, a pause or a block withhold. --force asks neither peer nor workers "
	    "and can\n"
	    "lose writes. --accept-incomplete goes on without a complete mirror. Shows both hubs "
	    "and asks\n"
	    "for this hub's name; --yes gives it in a script.\n",
	    operate_promote },
	{ "pause", "pause --for DURATION [-o text|json]",
	    "no automatic promotion of this Standby for a while",
	    "For maintenance, up to 4h, like 30m. It ends by itself, shows in status, and is told "
	    "as an\n"
	    "Event. An operator may promote meanwhile.\n",
	    operate_pause },
	{ "resume", "resume [-o text|json]", "ends a pause",
	    "Automatic promotion is possible again at once.\n", operate_resume },
	{ "acknowledge", "acknowledge [-o text|json]",
	    "allows an automatic promotion soon after a takeover",
	    "After the peer took the lead from this hub unplanned, this hub does not take it back "
	    "by\n"
	    "itself for promotion.block-window. Acknowledged, it does.\n",
	    operate_acknowledge },
	{ "accept-peer", "accept-peer [--yes HUB] [-o text|json]",
	    "trusts a peer that is another cluster than before",
	    "After the peer hub was rebuilt. Terms are kept, the mirror starts anew.\n",
	    operate_accept_peer },
	{ "sync",
	    "sync status [--excluded] | diff [KIND] | resync [KIND] |\n"
	    "       confirm-deletes | discard | accept-restore [--list ID] [--dry-run]\n"
	    "       [--yes HUB] [-o text|json] |\n"
	    "       confirm-deletes | discard | unpark --context HUB [--kubeconfig FILE]\n"
	    "       [--namespace N] [--list ID] [--dry-run] [--yes HUB] [-o text|json]",
	    "the mirror of this hub: how far, what differs, what waits for a person",
	    "On the Standby.\n"
	    "status           per kind: Synced, Progressing, Degraded, Unknown, Blocked or\n"
	    "                 Skipped, and since which version; --excluded lists what is left out, "
	    "and what is\n"
	    "                 referenced and not mirrored, with the reasons\n"
	    "diff             lists both hubs anew and names what differs, by field; never the\n"
	    "                 content of a Secret. Exit: 0 equal, 1 differences, above 1 not "
	    "known\n"
	    "resync           lists the source anew, without waiting for its watches\n"
	    "confirm-deletes  lets the deletions go that the brake holds (too many at once)\n"
	    "discard          keeps those copies instead, and asks no more\n"
	    "accept-restore   follows a source that was restored from a backup; what this hub has\n"
	    "                 and the source has lost is archived first\n"
	    "--dry-run says what would be done and writes nothing. The last three ask for this "
	    "hub's\n"
	    "name; --yes gives it in a script, --list the list of deletions that was seen.\n"
	    "On a hub that leads, with your own kubeconfig, by kubectl: what a promotion left "
	    "over.\n"
	    "confirm-deletes, discard   as above, for deletions that were held when it took the "
	    "lead\n"
	    "unpark                     gives the marks back by which Argo CD, Flux and Helm know\n"
	    "                           what they made\n",
	    mirror_sync },
	{ "reload", "reload [-o text|json]", "has the configuration file read again",
	    "As root. Workers come and go, roles whose part changed start anew, every credential "
	    "is read\n"
	    "again and may be for another server or subject. What takes a restart of understudyd, "
	    "or is\n"
	    "not valid, refuses the whole and changes nothing. Exit: 0 reloaded, 1 refused, 3 not "
	    "known.\n",
	    reload_run },
	{ "worker", "worker list | add NAME | remove NAME [-o text|json]",
	    "the workers of this hub; how one comes and goes",
	    "list shows each worker's state, term and Active. add and remove print what to do and "
	    "change\n"
	    "nothing: workers stand in the configuration file, which is yours and which reload "
	    "reads again;\n"
	    "what stands on a worker only its own administrator makes, and a claim there goes by\n"
	    "break-glass only.\n",
	    reload_worker },
	{ "audit", "audit [--deep | --offline CONFIG] [-o text|json]",
	    "what each process may do, holds and reaches: declared, effective, probed",
	    "As root or a member of run.admin-group. A row for each protection of each process, "
	    "each\n"
	    "file, credential, link and endpoint by the supervisor's own look; for each right at "
	    "an API\n"
	    "server, each fence door of a worker and the admission fence by the word of the role "
	    "that\n"
	    "tried it, at most five minutes old. What could not be looked at is unverified, never "
	    "ok.\n"
	    "--deep has understudyd start a canary in the row of each role, which tries what the "
	    "row\n"
	    "refuses, also by calls that end whoever makes them: some hundred short processes, "
	    "which "
	    "the\n"
	    "kernel's audit log may name, in a few seconds. They hold no credential and no link.\n"
	    "--offline starts nothing: the files of CONFIG, and what would be declared. -o json: "
	    "see\n"
	    "docs/audit.schema.json. Exit: 0 clean, 1 findings, 2 unverified.\n",
	    audit_command },
	{ "archive",
	    "archive list [--since SPAN] [--term N] | show NAME [--show-secrets] |\n"
	    "       restore NAME [--to-kubeconfig FILE] [--to-context HUB] [--force] [--dry-run]\n"
	    "       [--yes OBJECT] |\n"
	    "       prune [--older-than SPAN] [--keep N] [--dry-run] [--yes prune]\n"
	    "       [--kubeconfig FILE] [--context HUB] [--namespace N] [-o text|json]",
	    "what a rejoin kept before it replaced it: what a failover has lost",
	    "With your own kubeconfig, by kubectl; no daemon is asked.\n"
	    "list     what the hub of that context had, and the hub that leads has not or has\n"
	    "         otherwise; --term: which takeover replaced it\n"
	    "show     one object as it was; the content of a Secret with --show-secrets only\n"
	    "restore  one object onto the hub that leads (--to-kubeconfig, --to-context), without\n"
	    "         status, owners and finalizers. Refused where it is no leader, and where an\n"
	    "         object of that name is; --force replaces exactly the version that was seen\n"
	    "prune    deletes what is older (default 30d), but the newest N\n"
	    "SPAN: like 12h or 30d. Exit: 0 done, 1 refused, 3 not known.\n",
	    archive_command },
	{ "check-config", "check-config [FILE] [--pair OTHER] [-o text|json]",
	    "a configuration, and whether it fits another machine's",
	    "As root; starts nothing. Reads FILE (/etc/understudy/understudy.yaml) and the files "
	    "that it\n"
	    "names, as a start does, and says what is wrong by file, line and key. --pair: the "
	    "configuration\n"
	    "of the other hub or of a worker; each key that does not fit is named, with both "
	    "values.\n"
	    "The line `pair` is a sum over what must be equal on both hubs (hubs, namespace, "
	    "workers,\n"
	    "what is mirrored), to be compared over the phone.\n"
	    "Exit: 0 right, 1 not.\n",
	    check_config_command },
	{ "bootstrap",
	    "bootstrap --hub NAME[=CONTEXT] --hub NAME[=CONTEXT]\n"
	    "       [--project-namespace N --worker NAME[=CONTEXT] ...] --out FOLDER\n"
	    "       [--hub-endpoint NAME=URL] [--worker-endpoint NAME=URL] [--ca NAME=FILE]\n"
	    "       [--kubeconfig FILE] [--namespace N] [--mirror FILE] [--token-life SPAN]\n"
	    "       [--dry-run | --renew | --remove] [--force] [--yes FIRST-HUB]\n"
	    "       [-o text|json]",
	    "accounts, rights, policies and configurations, from your contexts",
	    "With your own kubeconfig, by kubectl; no daemon is asked. Says what it will do and "
	    "asks for\n"
	    "the first hub's name. Each hub and worker gets its kinds, its policies and, once "
	    "those are in\n"
	    "force, accounts with least rights. FOLDER gets a sub-folder for each machine: "
	    "configuration,\n"
	    "certificates, and tokens that end after SPAN (30d), each proven at the address that "
	    "the\n"
	    "machine will use. Again it mends what is missing; what works or was edited stays.\n"
	    "NAME             of a cluster; its context is called the same unless =CONTEXT says "
	    "otherwise\n"
	    "--hub-endpoint   where other machines reach that hub, when your context cannot say\n"
	    "--kubeconfig, --project-namespace  hold for the clusters named behind them\n"
	    "--mirror         the map `mirror` of both hubs' configurations; rights and policies "
	    "are "
	    "for\n"
	    "                 exactly what it lists. Each run names it: another FILE takes back "
	    "what the\n"
	    "                 last one gave\n"
	    "--dry-run        prints the manifests, asks no cluster\n"
	    "--renew          new tokens and your contexts' CAs in the same files\n"
	    "--remove         takes everything back\n"
	    "--force          replaces a configuration that was edited, leaves a worker or a "
	    "mirror "
	    "out\n"
	    "Exit: 0 done, 1 refused, 3 not known.\n",
	    bootstrap_command },
	{ "drill", "drill [-o text|json]", "what a takeover would find, without one",
	    "On the Standby. Asks every guard of a promotion but the peer's silence; looks at the "
	    "peer\n"
	    "over a new connection, asks the workers' followers, tries the claim as a dry run; "
	    "compares\n"
	    "both hubs object by object; says whether manual mode, a pause or a block holds it "
	    "back,\n"
	    "what came of the rehearsal on each worker and of each credential, with the time that\n"
	    "each took. Changes nothing on a hub. Exit: 0 it would take over by itself, 1 it would "
	    "not,\n"
	    "or not with everything.\n",
	    drill_run },
	{ "completion", "completion bash | zsh | fish", "a completion script for a shell",
	    "For example: understudyctl completion bash >/etc/bash_completion.d/understudyctl\n",
	    complete_run },
	{ "help", "help [COMMAND]", "this text, or that of one command",
	    "Prints the help of a command.\n", run_help },
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

const struct command *command_at(size_t number)
{
	return number < COMMAND_COUNT ? &commands[number] : NULL;
}

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
		buf_printf(out, "  %-14s %s\n", commands[i].name, commands[i].summary);
	buf_puts(out,
	    "\n  --socket PATH  default " CLIENT_DEFAULT_SOCKET
	    "; the other sockets are looked for beside it\n"
	    "  --help, -h     this text; behind a command that command's\n"
	    "  --version      which version and build this is\n\n"
	    "-o json prints a document of a fixed shape, with the same exit status; its members\n"
	    "`outcome` and `text` say what became of a command (docs/answers.schema.json).\n\n"
	    "exit status: 0 done, 1 refused, 3 unknown or still running, 4 no daemon, 64 usage\n");
}

enum ctl_exit command_misused(
    struct err *err, const char *name, const char *what, const char *which)
{
	const struct command *command = name ? command_by_name(name) : NULL;

	if (command)
		err_set(err, "%s%s; expected: understudyctl [--socket PATH] %s", what, which,
		    command->usage);
	else
		err_set(err, "%s%s; see understudyctl help", what, which);
	return CTL_USAGE;
}

static void put_help_of(const struct command *command, struct buf *out)
{
	buf_printf(
	    out, "usage: understudyctl [--socket PATH] %s\n\n%s", command->usage, command->help);
}

static enum ctl_exit run_help(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	const struct command *command = argc > 1 ? command_by_name(argv[1]) : NULL;

	(void)options;
	if (argc > 2)
		return command_misused(err, argv[0], "too many words after ", argv[0]);
	if (argc == 1)
		commands_put_help(out);
	else if (command)
		put_help_of(command, out);
	else
		return command_misused(err, NULL, "no command is called ", argv[1]);
	return CTL_DONE;
}

typedef void show_fn(const json_t *document, struct buf *out);

/* The document, or the member of it that is asked for: as text, or as JSON. */
static enum ctl_exit print_document(
    const struct buf *document, const char *member, show_fn *show, struct buf *out, struct err *err)
{
	json_error_t error;
	json_t *root = json_loadb(document->data, document->len, JSON_REJECT_DUPLICATES, &error);
	json_t *part = member ? json_object_get(root, member) : root;
	char *text = NULL;
	enum ctl_exit code = CTL_DONE;

	if (!json_is_object(root)) {
		err_set(err,
		    "what came back is no status document (%s); is it understudyd's "
		    "status.sock?",
		    root ? "no object" : error.text);
		code = CTL_NO_DAEMON;
	} else if (show) {
		show(root, out);
	} else if ((text = json_dumps(part, JSON_INDENT(2) | JSON_PRESERVE_ORDER))) {
		buf_puts(out, text);
		buf_puts(out, "\n");
	}
	free(text);
	json_decref(root);
	return code;
}

static enum ctl_exit read_and_print(const struct ctl_options *options, const char *member,
    show_fn *show, struct buf *out, struct err *err)
{
	struct buf document = buf_make(CLIENT_MAX_BYTES);
	enum ctl_exit code = client_read(options->socket, &document, err);

	if (code == CTL_DONE)
		code = print_document(&document, member, show, out, err);
	buf_free(&document);
	return code;
}

/* Anew every second until somebody interrupts it or nobody reads it any more. A daemon that is away
 * is what one wants to see, not the end. A terminal is cleared; a file gets what follows. */
static enum ctl_exit watch_status(
    const struct ctl_options *options, show_fn *show, struct buf *out, struct err *err)
{
	const struct timespec second = { .tv_sec = 1 };
	bool terminal = isatty(STDOUT_FILENO);

	for (;;) {
		buf_clear(out);
		if (terminal)
			buf_puts(out, "\033[H\033[J");
		if (read_and_print(options, NULL, show, out, err) != CTL_DONE)
			buf_printf(out, "%s\n", err->text);
		if (out->failed || fwrite(out->data, 1, out->len, stdout) != out->len ||
		    fflush(stdout) != 0)
			break;
		(void)nanosleep(&second, NULL);
	}
	buf_clear(out);
	err_set(err, "the output cannot be written");
	return CTL_REFUSED;
}

static enum ctl_exit print_status(const struct ctl_options *options, int argc, char **argv,
    const char *member, show_fn *show, struct buf *out, struct err *err)
{
	bool as_json = false, watch = false;

	if (records_are_meant(argc, argv))
		return records_command(options, argc, argv, out, err);
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--watch") == 0) {
			watch = true;
			continue;
		}
		if (strcmp(argv[i], "-o") != 0)
			return command_misused(err, argv[0], "unknown word ", argv[i]);
		if (++i == argc || (strcmp(argv[i], "json") != 0 && strcmp(argv[i], "text") != 0))
			return command_misused(err, argv[0], "-o takes json or text", "");
		as_json = strcmp(argv[i], "json") == 0;
	}
	show = as_json ? NULL : show;
	return watch ? watch_status(options, show, out, err)
		     : read_and_print(options, member, show, out, err);
}

static enum ctl_exit run_status(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	return print_status(options, argc, argv, NULL, show_status, out, err);
}

static enum ctl_exit run_history(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	return print_status(options, argc, argv, "history", show_history, out, err);
}

/* An option that does not stand in the command's usage is refused before anybody is asked. */
static bool options_known(
    const struct command *command, int argc, char **argv, enum ctl_exit *code, struct err *err)
{
	struct words_word word;

	for (int i = 1; i < argc; i++) {
		if (argv[i][0] != '-')
			continue;
		if (!words_option(command, str_of(argv[i]), &word)) {
			*code = command_misused(err, command->name, "unknown word ", argv[i]);
			return false;
		}
		i += word.value.n > 0;
	}
	return true;
}

static bool is_help(const char *word)
{
	return strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0;
}

/* `promote --force --help` is a question, whatever else stands there. */
static bool asks_for_help(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (is_help(argv[i]))
			return true;
	return false;
}

/* Who found no daemon and is in a hurry: what that means for this command, or does without it. */
static void say_meanwhile(const char *command, struct err *err)
{
	static const struct {
		const char *command, *text;
	} all[] = {
		{ "status", "Without it: understudyctl status --context HUB" },
		{ "history", "Without it: understudyctl history --context HUB" },
		{ "promote",
		    "Nothing was promoted: without it nobody renews the lead. Then again, with "
		    "--force where a guard forbids it" },
		{ "switchover",
		    "Nothing was handed over: a hub without it leads no longer than its fence page "
		    "is valid, and its peer takes over by itself" },
		{ "audit", "Without it: understudyctl audit --offline CONFIG" },
	};
	struct err was = *err;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(all[i].command, command) == 0)
			err_set(err, "%s. %s", was.text, all[i].text);
}

enum ctl_exit commands_run(int argc, char **argv, struct buf *out, struct err *err)
{
	struct ctl_options options = { CLIENT_DEFAULT_SOCKET };
	const struct command *command;
	enum ctl_exit code = CTL_USAGE;
	int at = 1;

	/* Whoever started us may ignore the ends of its children, and that is inherited: kubectl's
	 * would be lost, and with it that it failed. */
	(void)signal(SIGCHLD, SIG_DFL);
	for (; at < argc && argv[at][0] == '-'; at++) {
		if (is_help(argv[at])) {
			commands_put_help(out);
			return CTL_DONE;
		}
		if (strcmp(argv[at], "--version") == 0) {
			buf_printf(out, "understudyctl %s, build %016" PRIx64 "%016" PRIx64 "\n",
			    build_version, build_id[0], build_id[1]);
			return CTL_DONE;
		}
		if (strcmp(argv[at], "--socket") != 0)
			return command_misused(err, NULL, "unknown option ", argv[at]);
		if (++at == argc || !argv[at][0])
			return command_misused(err, NULL, "--socket takes a path", "");
		options.socket = argv[at];
	}
	if (at == argc)
		return command_misused(err, NULL, "no command", "");
	command = command_by_name(argv[at]);
	if (!command)
		return command_misused(err, NULL, "no command is called ", argv[at]);
	if (asks_for_help(argc - at, argv + at)) {
		put_help_of(command, out);
		return CTL_DONE;
	}
	if (!options_known(command, argc - at, argv + at, &code, err))
		return code;
	code = command->run(&options, argc - at, argv + at, out, err);
	if (code == CTL_NO_DAEMON && strncmp(err->text, CLIENT_ABSENT, strlen(CLIENT_ABSENT)) == 0)
		say_meanwhile(command->name, err);
	return code;
}
