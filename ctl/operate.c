/*
 * Commands that change something (see the header). The elector decides; this file asks, waits and
 * tells. Who is asked for consent sees both hubs first and types the name of the one that will
 * lead. Called by commands.c through its table.
 */
#include "ctl/operate.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl/consent.h"
#include "ctl/show.h"

#define ASK_AGAIN_MS 250
#define PATIENCE_MS  20000  /* without --wait: the steps of a switchover, its 10 s among them */
#define WAIT_MS      600000 /* with it, unless --timeout says otherwise */

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* --- Asking ----------------------------------------------------------------------------------- */

enum ctl_exit operate_ask(const struct ctl_options *options, json_t *request, int patience_s,
    json_t **answer, struct err *err)
{
	char path[512];
	char *line = json_dumps(request, JSON_COMPACT);
	struct buf sent = buf_make(4096), out = buf_make(1 << 20);
	const char *slash = strrchr(options->socket, '/');
	int directory = slash ? (int)(slash - options->socket) + 1 : 0;
	enum ctl_exit code = CTL_USAGE;

	*answer = NULL;
	json_decref(request);
	(void)snprintf(path, sizeof(path), "%.*sadmin.sock", directory, options->socket);
	if (line) {
		buf_puts(&sent, line);
		buf_puts(&sent, "\n");
		code = client_ask(path, buf_str(&sent), patience_s, &out, err);
	}
	if (code == CTL_DONE) {
		*answer = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, NULL);
		if (!json_is_object(*answer)) {
			err_set(err, "%s: what came back is no answer; is it understudyd's socket?",
			    path);
			code = CTL_NO_DAEMON;
		}
	}
	free(line);
	buf_free(&sent);
	buf_free(&out);
	return code;
}

enum ctl_exit operate_exit_of(const json_t *answer)
{
	const char *outcome = text_of(answer, "outcome");

	if (strcmp(outcome, "done") == 0)
		return CTL_DONE;
	return strcmp(outcome, "refused") == 0 ? CTL_REFUSED : CTL_UNKNOWN;
}

/* Of a column: what holds its longest text and two blanks, and not less than `least`. */
static size_t width_of(const json_t *checks, const char *key, size_t least)
{
	const json_t *check;
	size_t i, widest = least;

	json_array_foreach(checks, i, check)
	{
		size_t n = strlen(text_of(check, key)) + 2;

		widest = n > widest ? n : widest;
	}
	return widest;
}

static void put_checks(const json_t *answer, struct buf *out)
{
	const json_t *checks = json_object_get(answer, "checks"), *check;
	size_t name = width_of(checks, "name", 34), value = width_of(checks, "value", 24), i;

	json_array_foreach(checks, i, check)
	{
		buf_puts(out, json_is_true(json_object_get(check, "ok")) ? "  ok  " : "  NO  ");
		show_column(out, text_of(check, "name"), name);
		show_column(out, text_of(check, "value"), value);
		buf_puts(out, "must be: ");
		show_text(out, text_of(check, "limit"));
		buf_puts(out, "\n");
	}
}

enum ctl_exit operate_tell(const char *what, const json_t *answer, struct buf *out, struct err *err)
{
	enum ctl_exit code = operate_exit_of(answer);
	const char *operation = text_of(answer, "operation");
	struct buf line = buf_make(2048);

	put_checks(answer, out);
	buf_printf(&line, "%s%s%.16s: %s: ", what, operation[0] ? " " : "", operation,
	    code == CTL_DONE      ? "done"
	    : code == CTL_REFUSED ? "refused"
				  : "not known yet");
	show_text(&line, text_of(answer, "text"));
	if (code == CTL_UNKNOWN && operation[0])
		buf_puts(&line, " (it goes on by itself; --wait waits for its end)");
	if (code == CTL_DONE)
		buf_printf(out, "%s\n", line.data);
	else
		err_set(err, "%s", line.data);
	buf_free(&line);
	return code;
}

/* How somebody wants to be told. */
struct telling {
	bool as_json, wait;
	long patience_ms;
};

static enum ctl_exit tell(const char *what, const json_t *answer, const struct telling *telling,
    struct buf *out, struct err *err)
{
	char *text;

	if (!telling->as_json)
		return operate_tell(what, answer, out, err);
	text = json_dumps(answer, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	buf_printf(out, "%s\n", text ? text : "null");
	free(text);
	err_set(err, "%s: %.300s", what, text_of(answer, "text"));
	return operate_exit_of(answer);
}

static void pause_ms(long ms)
{
	struct timespec span = { ms / 1000, ms % 1000 * 1000000 };

	(void)nanosleep(&span, NULL);
}

/* Follows an operation to its end. An elector that started anew does not know it any more, and a
 * broken link says nothing about what it did: both are "not known", never "failed" (B14). */
static enum ctl_exit follow(const struct ctl_options *options, const char *what, json_t *answer,
    const struct telling *telling, struct buf *out, struct err *err)
{
	enum ctl_exit code = operate_exit_of(answer);
	long patience_ms = telling->patience_ms;
	char id[20];

	/* Somebody else's is joined by who said --wait, and by nobody else. */
	if (json_is_true(json_object_get(answer, "earlier")) && !telling->wait)
		patience_ms = 0;
	(void)snprintf(id, sizeof(id), "%.16s", text_of(answer, "operation"));
	for (long waited = 0; id[0] && code == CTL_UNKNOWN && waited < patience_ms &&
			      strcmp(text_of(answer, "outcome"), "running") == 0;
	     waited += ASK_AGAIN_MS) {
		json_t *next = NULL;

		pause_ms(ASK_AGAIN_MS);
		if (operate_ask(options,
			json_pack("{s:s, s:s}", "verb", "operation", "operation", id),
			CLIENT_PATIENCE_S, &next, err) != CTL_DONE) {
			json_decref(next);
			json_decref(answer);
			err_set(err,
			    "%s %s: not known: its hub does not answer any more; see "
			    "status and history on both hubs",
			    what, id);
			return CTL_UNKNOWN;
		}
		json_decref(answer);
		answer = next;
		code = operate_exit_of(answer);
	}
	code = tell(what, answer, telling, out, err);
	json_decref(answer);
	return code;
}

/* --- Words ------------------------------------------------------------------------------------ */

bool operate_duration(const char *text, long long *ms)
{
	long long total = 0, number;
	bool any = false;
	char *end;

	while (*text >= '0' && *text <= '9') {
		number = strtoll(text, &end, 10);
		if (number > 1000000)
			return false;
		total += number * (*end == 'h' ? 3600000 : *end == 'm' ? 60000 : 1000);
		if (*end != 'h' && *end != 'm' && *end != 's')
			return false;
		text = end + 1;
		any = true;
	}
	*ms = total;
	return any && *text == '\0';
}

/* The value behind an option, NULL when there is none. */
static const char *value_of(int argc, char **argv, int *at)
{
	return ++*at < argc && argv[*at][0] ? argv[*at] : NULL;
}

/* The words that all commands share. 1: taken; 0: it is another word; -1: err says what is wrong.
 */
static int take_shared(
    int argc, char **argv, int *at, struct telling *telling, enum ctl_exit *code, struct err *err)
{
	const char *option = argv[*at], *value;
	long long ms;

	*code = CTL_DONE;
	if (strcmp(option, "--wait") == 0) {
		telling->wait = true;
		return 1;
	}
	if (strcmp(option, "-o") != 0 && strcmp(option, "--timeout") != 0)
		return 0;
	value = value_of(argc, argv, at);
	if (strcmp(option, "--timeout") == 0 && value && operate_duration(value, &ms) && ms > 0) {
		telling->patience_ms = (long)ms;
		return 1;
	}
	if (strcmp(option, "-o") == 0 && value &&
	    (strcmp(value, "json") == 0 || strcmp(value, "text") == 0)) {
		telling->as_json = strcmp(value, "json") == 0;
		return 1;
	}
	*code = command_misused(err, argv[0],
	    strcmp(option, "-o") == 0 ? "-o takes json or text"
				      : "--timeout takes a duration, like 90s or 10m",
	    "");
	return -1;
}

/* After all words: how long somebody waits who did not say. */
static void settle(struct telling *telling)
{
	telling->wait |= telling->patience_ms > 0;
	if (telling->patience_ms == 0)
		telling->patience_ms = telling->wait ? WAIT_MS : PATIENCE_MS;
}

/* --- Switchover ------------------------------------------------------------------------------- */

enum ctl_exit operate_switchover(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	bool check = false, call_off = false;
	struct telling telling = { 0 };
	const char *to = NULL;
	json_t *request, *answer;
	enum ctl_exit code;
	int taken;

	for (int i = 1; i < argc; i++) {
		if ((taken = take_shared(argc, argv, &i, &telling, &code, err)) < 0)
			return code;
		if (taken)
			continue;
		if (strcmp(argv[i], "--check") == 0)
			check = true;
		else if (strcmp(argv[i], "--call-off") == 0)
			call_off = true;
		else if (strcmp(argv[i], "--to") != 0)
			return command_misused(err, argv[0], "unknown word ", argv[i]);
		else if (!(to = value_of(argc, argv, &i)))
			return command_misused(err, argv[0], "--to takes the name of a hub", "");
	}
	settle(&telling);
	if (call_off && (check || telling.wait || to))
		return command_misused(err, argv[0], "--call-off stands alone", "");
	request = json_pack("{s:s}", "verb", call_off ? "call-off" : "switchover");
	if (check)
		json_object_set_new(request, "check", json_true());
	if (to)
		json_object_set_new(request, "to", json_string(to));
	code = operate_ask(options, request, CLIENT_PATIENCE_S, &answer, err);
	if (code != CTL_DONE) {
		json_decref(answer);
		return code;
	}
	return follow(options,
	    check      ? "check"
	    : call_off ? "call-off"
		       : "switchover",
	    answer, &telling, out, err);
}

/* --- Promotion and what else takes consent ------------------------------------------------------
 */

/* On the terminal: what is, what it means, and the name to type. True when it was typed. */
static bool typed_consent(const json_t *document, const char *hub, const char *what)
{
	struct buf text = buf_make(1 << 16);
	if (!isatty(STDIN_FILENO))
		return false;
	show_hubs(document, &text);
	(void)fprintf(stderr, "%s\n%s\nType the name of this hub to go on: ", text.data, what);
	buf_free(&text);
	return consent_typed(hub);
}

enum ctl_exit operate_consent(const struct ctl_options *options, const char *yes, const char *what,
    json_t *request, struct err *err)
{
	struct buf bytes = buf_make(CLIENT_MAX_BYTES);
	enum ctl_exit code = client_read(options->socket, &bytes, err);
	json_t *document = code == CTL_DONE
			       ? json_loadb(bytes.data, bytes.len, JSON_REJECT_DUPLICATES, NULL)
			       : NULL;
	const char *hub = text_of(document, "identity");
	const char *nonce = text_of(json_object_get(document, "leadership"), "nonce");

	if (code == CTL_DONE && (!hub[0] || !nonce[0])) {
		err_set(err, "the status says neither this hub's name nor what it does: try again");
		code = CTL_NO_DAEMON;
	} else if (code == CTL_DONE && yes && strcmp(yes, hub) != 0) {
		err_set(err, "--yes names %s, this hub is %s: nothing was done", yes, hub);
		code = CTL_REFUSED;
	} else if (code == CTL_DONE && !yes && !typed_consent(document, hub, what)) {
		err_set(err, "not confirmed: nothing was done; in a script: --yes %s", hub);
		code = CTL_REFUSED;
	} else if (code == CTL_DONE) {
		json_object_set_new(request, "hub", json_string(hub));
		json_object_set_new(request, "nonce", json_string(nonce));
	}
	json_decref(document);
	buf_free(&bytes);
	return code;
}

static const char *const promote_text =
    "This hub takes the lead when its guards agree that the peer is silent.";
static const char *const force_text =
    "FORCED: this hub takes the lead whatever the peer and the workers say. If the peer still\n"
    "leads, both hubs may write until it notices, and what it wrote and the mirror did not see\n"
    "is left behind on the peer.";
static const char *const accept_text =
    "The mirror need not be complete: objects that are missing here will be missing for\n"
    "controllers and workers.";

enum ctl_exit operate_promote(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	bool force = false, accept = false, check = false;
	struct telling telling = { 0 };
	const char *yes = NULL;
	json_t *request, *answer = NULL;
	char what[640];
	enum ctl_exit code;
	int taken;

	for (int i = 1; i < argc; i++) {
		if ((taken = take_shared(argc, argv, &i, &telling, &code, err)) < 0)
			return code;
		if (taken)
			continue;
		if (strcmp(argv[i], "--force") == 0)
			force = true;
		else if (strcmp(argv[i], "--accept-incomplete") == 0)
			accept = true;
		else if (strcmp(argv[i], "--check") == 0)
			check = true;
		else if (strcmp(argv[i], "--yes") != 0)
			return command_misused(err, argv[0], "unknown word ", argv[i]);
		else if (!(yes = value_of(argc, argv, &i)))
			return command_misused(err, argv[0], "--yes takes this hub's name", "");
	}
	settle(&telling);
	(void)snprintf(what, sizeof(what), "%s%s%s", force ? force_text : promote_text,
	    accept ? "\n" : "", accept ? accept_text : "");
	request = json_pack("{s:s, s:b, s:b, s:b}", "verb", "promote", "force", force,
	    "acceptIncomplete", accept, "check", check);
	code = check ? CTL_DONE : operate_consent(options, yes, what, request, err);
	if (code != CTL_DONE) {
		json_decref(request);
		return code;
	}
	code = operate_ask(options, request, CLIENT_PATIENCE_S, &answer, err);
	if (code == CTL_DONE)
		return follow(options, check ? "check" : "promotion", answer, &telling, out, err);
	json_decref(answer);
	return code;
}

static enum ctl_exit ask_and_tell(const struct ctl_options *options, const char *what,
    json_t *request, const struct telling *telling, struct buf *out, struct err *err)
{
	json_t *answer = NULL;
	enum ctl_exit code = operate_ask(options, request, CLIENT_PATIENCE_S, &answer, err);

	if (code == CTL_DONE)
		code = tell(what, answer, telling, out, err);
	json_decref(answer);
	return code;
}

/* One option with a value of its own (NULL: none) beside -o. */
static enum ctl_exit take_words(int argc, char **argv, const char *option, const char **value,
    struct telling *telling, struct err *err)
{
	enum ctl_exit code;
	int taken;

	for (int i = 1; i < argc; i++) {
		if ((taken = take_shared(argc, argv, &i, telling, &code, err)) < 0)
			return code;
		if (taken)
			continue;
		if (!option || strcmp(argv[i], option) != 0)
			return command_misused(err, argv[0], "unknown word ", argv[i]);
		if (!(*value = value_of(argc, argv, &i)))
			return command_misused(err, argv[0], option, " takes a value");
	}
	return CTL_DONE;
}

enum ctl_exit operate_accept_peer(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	struct telling telling = { 0 };
	const char *yes = NULL;
	enum ctl_exit code = take_words(argc, argv, "--yes", &yes, &telling, err);
	json_t *request;

	if (code != CTL_DONE)
		return code;
	request = json_pack("{s:s}", "verb", "accept-peer");
	code = operate_consent(options, yes,
	    "The peer is another cluster than before. From now on this hub trusts it, and mirrors\n"
	    "it anew.",
	    request, err);
	if (code == CTL_DONE)
		return ask_and_tell(options, "accept-peer", request, &telling, out, err);
	json_decref(request);
	return code;
}

/* --- Pause, resume, acknowledge ----------------------------------------------------------------
 */

enum ctl_exit operate_pause(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	struct telling telling = { 0 };
	const char *span = NULL;
	long long ms = 0;
	enum ctl_exit code = take_words(argc, argv, "--for", &span, &telling, err);

	if (code == CTL_DONE && (!span || !operate_duration(span, &ms)))
		code = command_misused(
		    err, argv[0], "it takes --for and a duration up to 4h, like 30m", "");
	if (code != CTL_DONE)
		return code;
	return ask_and_tell(options, "pause",
	    json_pack("{s:s, s:I}", "verb", "pause", "forMs", (json_int_t)ms), &telling, out, err);
}

static enum ctl_exit ask_plain(const struct ctl_options *options, int argc, char **argv,
    const char *verb, struct buf *out, struct err *err)
{
	struct telling telling = { 0 };
	enum ctl_exit code = take_words(argc, argv, NULL, NULL, &telling, err);

	if (code != CTL_DONE)
		return code;
	return ask_and_tell(options, verb, json_pack("{s:s}", "verb", verb), &telling, out, err);
}

enum ctl_exit operate_resume(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	return ask_plain(options, argc, argv, "resume", out, err);
}

enum ctl_exit operate_acknowledge(
    const struct ctl_options *options, int argc, char **argv, struct buf *out, struct err *err)
{
	return ask_plain(options, argc, argv, "acknowledge", out, err);
}
