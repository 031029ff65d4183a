/*
 * Requests of operators (see the header): parsed with bounds, held against the machine's checks,
 * fed to it. Decides nothing itself. Called by messages.c, actions.c and the loop.
 */
#include "elector/admin.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "elector/admin_inner.h"
#include "elector/elector.h"
#include "elector/trace.h"
#include "kube/json.h"

#define PATIENCE_NS (2 * BASE_NS_PER_S)
#define MINUTE_NS   (60 * BASE_NS_PER_S)
#define MAX_ANSWER  16384

static const char *const outcome_names[] = { "done", "refused", "running", "unknown" };

static void tell_operation(struct request *request);

static const struct verb_row rows[] = {
	{ "switchover", COMMAND_SWITCHOVER, true, false, " verb to check ", NULL, 0 },
	{ "call-off", COMMAND_CALL_OFF, false, false, " verb ", NULL, 0 },
	{ "promote", COMMAND_PROMOTE, true, true, " verb check force acceptIncomplete hub nonce ",
	    NULL, 0 },
	{ "pause", COMMAND_PAUSE, false, false, " verb forMs ", NULL, 0 },
	{ "resume", COMMAND_RESUME, false, false, " verb ", NULL, 0 },
	{ "acknowledge", COMMAND_ACKNOWLEDGE, false, false, " verb ", NULL, 0 },
	{ "accept-peer", COMMAND_ACCEPT_PEER, false, true, " verb hub nonce ", NULL, 0 },
	{ "operation", COMMAND_COUNT, false, false, " verb operation ", tell_operation, 0 },
	{ "drill", COMMAND_COUNT, false, false, " verb ", drill_command, 0 },
	{ "sync-diff", COMMAND_COUNT, false, false, " verb kind ", relay_command, SYNC_DIFF },
	{ "sync-resync", COMMAND_COUNT, false, false, " verb kind check ", relay_command,
	    SYNC_RESYNC },
	{ "sync-confirm-deletes", COMMAND_COUNT, false, true, " verb list check hub nonce ",
	    relay_command, SYNC_CONFIRM_DELETES },
	{ "sync-discard", COMMAND_COUNT, false, true, " verb list check hub nonce ", relay_command,
	    SYNC_DISCARD },
	{ "sync-accept-restore", COMMAND_COUNT, false, true, " verb check hub nonce ",
	    relay_command, SYNC_ACCEPT_RESTORE },
};

/* --- Answers -----------------------------------------------------------------------------------
 */

void admin_begin(struct request *request, enum admin_outcome outcome, uint64_t operation)
{
	request->outcome = outcome;
	buf_printf(request->out, "{\"outcome\":\"%s\"", outcome_names[outcome]);
	if (operation)
		buf_printf(request->out, ",\"operation\":\"%016" PRIx64 "\"", operation);
}

void admin_end(struct request *request, const char *text)
{
	buf_puts(request->out, ",\"text\":");
	buf_json_string(request->out, str_of(text));
	buf_puts(request->out, "}\n");
}

void admin_refuse(struct request *request, const char *text)
{
	admin_begin(request, ADMIN_REFUSED, 0);
	admin_end(request, text);
}

void admin_put_checks(struct request *request, const struct machine_check *checks, unsigned count)
{
	buf_puts(request->out, ",\"checks\":[");
	for (unsigned i = 0; i < count; i++) {
		buf_puts(request->out, i ? ",{\"name\":" : "{\"name\":");
		buf_json_string(request->out, str_of(checks[i].name));
		buf_puts(request->out, ",\"value\":");
		buf_json_string(request->out, str_of(checks[i].value));
		buf_puts(request->out, ",\"limit\":");
		buf_json_string(request->out, str_of(checks[i].limit));
		buf_printf(request->out, ",\"ok\":%s}", checks[i].ok ? "true" : "false");
	}
	buf_puts(request->out, "]");
}

/* --- Operations --------------------------------------------------------------------------------
 */

static struct admin_operation *current(struct admin *admin)
{
	return admin->operation_count
		   ? &admin->operations[(admin->operation_count - 1) % ADMIN_OPERATIONS]
		   : NULL;
}

static struct admin_operation *running(struct admin *admin)
{
	struct admin_operation *operation = current(admin);

	return operation && operation->outcome == ADMIN_RUNNING ? operation : NULL;
}

static const char *verb_name(enum machine_command_verb verb)
{
	if (verb == COMMAND_FORCE)
		verb = COMMAND_PROMOTE;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].verb == verb)
			return rows[i].name;
	return "?";
}

void admin_put_operation(const struct elector *elector, char *text, size_t size)
{
	const struct admin_operation *operation = running((struct admin *)&elector->admin);

	text[0] = '\0';
	if (operation)
		(void)snprintf(
		    text, size, "%s %016" PRIx64, verb_name(operation->verb), operation->id);
}

static void finish(struct elector *elector, struct admin_operation *operation,
    enum admin_outcome outcome, const char *why)
{
	if (why)
		(void)snprintf(operation->why, sizeof(operation->why), "%s", why);
	operation->outcome = outcome;
	log_info("operation %016" PRIx64 " (%s): %s: %s", operation->id, verb_name(operation->verb),
	    outcome_names[outcome], operation->why);
	elector->admin.nonce = base_random_u64();
}

/* Done when the peer leads; nothing changed when this hub does again under the same term. */
static void follow_switchover(struct elector *elector, struct admin_operation *operation)
{
	const struct machine *m = &elector->machine;
	const struct us_config *config = elector->config;
	char text[400];

	if (m->state == STATE_STANDBY && m->peer.claim && m->peer.phase == PHASE_LEADING &&
	    m->peer.claim_term > operation->term) {
		(void)snprintf(text, sizeof(text), "%s leads with term %" PRIu64,
		    config_text_at(config, config->hubs[1 - config->self].name),
		    m->peer.claim_term);
		finish(elector, operation, ADMIN_DONE, text);
	} else if (m->state == STATE_ACTIVE && m->term == operation->term) {
		finish(elector, operation, ADMIN_REFUSED, NULL);
	} else if (m->state == STATE_ACTIVE) {
		(void)snprintf(text, sizeof(text),
		    "the peer did not take the lead; this hub took it again with term %" PRIu64,
		    m->term);
		finish(elector, operation, ADMIN_REFUSED, text);
	}
}

static void follow_promotion(struct elector *elector, struct admin_operation *operation)
{
	const struct machine *m = &elector->machine;
	char text[400];

	if (m->state == STATE_ACTIVE) {
		(void)snprintf(text, sizeof(text), "this hub leads with term %" PRIu64, m->term);
		finish(elector, operation, ADMIN_DONE, text);
	} else if (m->state == STATE_STANDBY || m->state == STATE_HELD) {
		finish(elector, operation, ADMIN_REFUSED, NULL);
	}
}

void admin_follow(struct elector *elector, const struct machine_out *out)
{
	struct admin_operation *operation = running(&elector->admin);
	bool moved = false;

	for (unsigned i = 0; i < out->said_count; i++) {
		const struct machine_said *said = &out->said[i];
		size_t n;

		moved |= said->from != said->to;
		/* Why it stopped short: the step that left the way. */
		if (!operation || !(said->from == STATE_DRAIN || trace_row(said->reason)->abort))
			continue;
		trace_text(operation->why, sizeof(operation->why), said);
		n = strlen(operation->why);
		if (said->reason == REASON_SWITCHOVER_DECLINED)
			(void)snprintf(operation->why + n, sizeof(operation->why) - n, " (%s)",
			    elector->peer_why);
	}
	if (moved)
		elector->admin.nonce = base_random_u64();
	if (operation && operation->verb == COMMAND_SWITCHOVER)
		follow_switchover(elector, operation);
	else if (operation)
		follow_promotion(elector, operation);
}

static void tell_operation(struct request *request)
{
	struct admin *admin = &request->elector->admin;
	uint64_t id = annotations_id(str_of(kube_json_text(request->body, "operation")));

	for (unsigned i = 0; id && i < ADMIN_OPERATIONS; i++) {
		const struct admin_operation *operation = &admin->operations[i];

		if (operation->id != id)
			continue;
		admin_begin(request, operation->outcome, id);
		admin_end(request, operation->outcome == ADMIN_RUNNING
				       ? machine_state_name(request->elector->machine.state)
				       : operation->why);
		return;
	}
	admin_begin(request, ADMIN_UNKNOWN, 0);
	admin_end(request, "no such operation is known here (any more); see the history");
}

/* --- Commands ----------------------------------------------------------------------------------
 */

/* So that a loop in a script is no storm of writes. */
bool admin_within_rate(
    int64_t *taken_ns, unsigned *taken_count, unsigned per_minute, int64_t now_ns)
{
	int64_t *oldest = &taken_ns[*taken_count % per_minute];

	if (*oldest && now_ns - *oldest < MINUTE_NS)
		return false;
	*oldest = now_ns;
	++*taken_count;
	return true;
}

/* Does the operator mean this hub, as it is now? */
bool admin_consented(struct request *request)
{
	struct elector *elector = request->elector;
	const struct us_config *config = elector->config;
	uint64_t nonce = annotations_id(str_of(kube_json_text(request->body, "nonce")));

	if (strcmp(kube_json_text(request->body, "hub"),
		config_text_at(config, config->self_name)) != 0) {
		admin_refuse(request, "the hub named is not this one: nothing was done");
		return false;
	}
	if (!nonce || nonce != elector->admin.nonce) {
		admin_refuse(request, "what status showed has changed meanwhile: look again");
		return false;
	}
	elector->admin.nonce = base_random_u64();
	return true;
}

/* "to" names the peer where it is given; its name must fit the offer. */
static bool addressed(struct request *request)
{
	const struct us_config *config = request->elector->config;
	const char *peer = config_text_at(config, config->hubs[1 - config->self].name);
	const json_t *to = json_object_get(request->body, "to");
	char text[256], refusal[256];

	if (request->command.verb != COMMAND_SWITCHOVER)
		return true;
	annotations_put_handover(text, sizeof(text), request->command.operation, peer);
	if ((!to || strcmp(kube_json_text(request->body, "to"), peer) == 0) && text[0])
		return true;
	(void)snprintf(
	    refusal, sizeof(refusal), "--to is not the peer of this hub, which is %.200s", peer);
	admin_refuse(request, text[0] ? refusal : "the peer's name is too long for an offer");
	return false;
}

static void start(struct request *request)
{
	struct elector *elector = request->elector;
	struct machine_event event = { .input = MACHINE_COMMAND, .command = request->command };
	struct admin_operation *operation = NULL;
	struct admin *admin = &elector->admin;

	if (request->row->takes_time) {
		operation = &admin->operations[admin->operation_count % ADMIN_OPERATIONS];
		*operation = (struct admin_operation){ .id = request->command.operation,
			.term = elector->machine.term,
			.verb = request->command.verb,
			.outcome = ADMIN_UNKNOWN };
	}
	elector_feed(elector, &event);
	if (elector->machine.taken != request->command.operation) {
		if (operation)
			*operation = (struct admin_operation){ 0 };
		admin_refuse(request, "this hub's state changed at this moment: nothing was done");
		return;
	}
	if (!operation) {
		admin_begin(request, ADMIN_DONE, 0);
		admin_end(request, elector->reason);
		return;
	}
	operation->outcome = ADMIN_RUNNING;
	admin->operation_count++;
	elector_show_leadership(elector);
	admin_begin(request, ADMIN_RUNNING, operation->id);
	admin_end(request, elector->reason);
}

/* The checks first: a refusal changes nothing and says what it would take (B15). */
static void command(struct request *request)
{
	struct machine_check checks[MACHINE_MAX_CHECKS];
	struct admin *admin = &request->elector->admin;
	bool ok = true, check = json_is_true(json_object_get(request->body, "check"));
	struct admin_operation *under_way = running(admin);
	unsigned count;

	if (!addressed(request))
		return;
	if (under_way && !check && request->command.verb != COMMAND_CALL_OFF) {
		admin_begin(request, ADMIN_RUNNING, under_way->id);
		buf_puts(request->out, ",\"earlier\":true");
		admin_end(request, "another operation is under way; one is done at a time");
		return;
	}
	if (request->command.verb == COMMAND_CALL_OFF && under_way)
		request->command.operation = under_way->id;
	count = machine_checks(&request->elector->machine, &request->command, checks);
	for (unsigned i = 0; i < count; i++)
		ok = ok && checks[i].ok;
	if (check || !ok) {
		admin_begin(request, ok ? ADMIN_DONE : ADMIN_REFUSED, 0);
		admin_put_checks(request, checks, count);
		admin_end(request, ok ? "all checks pass" : "nothing was changed");
		return;
	}
	if (request->row->consents && !admin_consented(request))
		return;
	if (admin_within_rate(
		admin->taken_ns, &admin->taken_count, ADMIN_PER_MINUTE, base_clock_boot_ns()))
		start(request);
	else
		admin_refuse(request, "five commands a minute are carried out: try again later");
}

/* --- Requests ----------------------------------------------------------------------------------
 */

/* A "true" in quotes is no true: what was meant as a check must not be carried out. */
static bool is_of_its_type(const char *key, const json_t *value)
{
	static const char *const flags[] = { "check", "force", "acceptIncomplete" };

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (strcmp(key, flags[i]) == 0)
			return json_is_boolean(value);
	return strcmp(key, "forMs") == 0 ? json_is_integer(value) : json_is_string(value);
}

/* Unknown words are refused: what is misspelt must not be taken for what it is not. */
static bool keys_known(const struct request *request)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)request->body, key, value)
	{
		char word[40];
		int n = snprintf(word, sizeof(word), " %s ", key);

		if (n < 3 || (size_t)n >= sizeof(word) || strchr(key, ' ') ||
		    !strstr(request->row->keys, word) || !is_of_its_type(key, value))
			return false;
	}
	return true;
}

static void handle(struct request *request)
{
	const char *name = kube_json_text(request->body, "verb");
	bool force = json_is_true(json_object_get(request->body, "force"));

	for (size_t i = 0; !request->row && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, name) == 0)
			request->row = &rows[i];
	if (request->elector->config->mode == CONFIG_STANDALONE) {
		admin_refuse(request, "in mode standalone there is nothing to command");
	} else if (request->elector->config->mode == CONFIG_REPLICAS) {
		admin_refuse(request,
		    "in mode replicas there is nothing to command: a stopped replica gives "
		    "its Lease to another one");
	} else if (!request->row) {
		admin_refuse(request, "expected one JSON object with a known \"verb\"");
	} else if (!keys_known(request)) {
		admin_refuse(request,
		    "the request has a member that its verb does not know, or of another "
		    "type than it takes");
	} else if (request->row->carry_out) {
		request->row->carry_out(request);
	} else {
		request->command = (struct machine_command){ .verb = request->row->verb,
			.operation = base_random_u64(),
			.accept_incomplete =
			    json_is_true(json_object_get(request->body, "acceptIncomplete")),
			.for_ms = kube_json_integer(request->body, "forMs", 0) };
		if (request->command.verb == COMMAND_PROMOTE && force)
			request->command.verb = COMMAND_FORCE;
		command(request);
	}
}

/* True: the answer comes later. */
static bool take(struct elector *elector, struct admin_client *client, uint32_t uid, uint32_t pid,
    struct str text, struct buf *out)
{
	struct request request = { .elector = elector, .client = client, .out = out };
	json_t *body = kube_json_parse(text, NULL);
	bool quiet;

	request.body = json_is_object(body) ? body : NULL;
	handle(&request);
	/* Who waits asks often. */
	quiet = request.row && request.row->carry_out == tell_operation;
	log_write(quiet ? LOG_DEBUG : LOG_INFO, "admin: uid %u, pid %u: %s: %s", uid, pid,
	    request.row ? request.row->name : "a request that is none",
	    outcome_names[request.outcome]);
	json_decref(body);
	return request.later;
}

void admin_answer(
    struct elector *elector, uint32_t uid, uint32_t pid, struct str request, struct buf *out)
{
	(void)take(elector, NULL, uid, pid, request, out);
}

/* --- Clients -----------------------------------------------------------------------------------
 */

static void drop(struct admin_client *client)
{
	struct loop *loop = role_loop(client->elector->process);

	loop_timer_cancel(loop, &client->deadline);
	loop_forget(loop, client->fd);
	close(client->fd);
	if (client->waits) {
		relay_client_gone(client->elector, client);
		drill_client_gone(client->elector, client);
	}
	client->elector = NULL;
}

static void on_late(void *arg, int64_t now_ns)
{
	struct admin_client *client = arg;

	(void)now_ns;
	if (client->waits) {
		relay_lost(client->elector, "the mirror has not answered in time; see sync status");
		return;
	}
	log_debug("admin: a client said nothing whole for 2 s: closed");
	drop(client);
}

void admin_wait(struct admin_client *client, int64_t ns)
{
	client->waits = true;
	loop_timer_set(
	    role_loop(client->elector->process), &client->deadline, base_clock_boot_ns() + ns);
}

void admin_finish(struct admin_client *client, struct str answer)
{
	client->waits = false;
	(void)!sendto(client->fd, answer.p, answer.n, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
	drop(client);
}

const char *admin_outcome_name(enum admin_outcome outcome)
{
	return outcome_names[outcome];
}

/* True: it waits for it. */
static bool answer(struct admin_client *client, size_t line_bytes)
{
	struct buf out = buf_make(MAX_ANSWER);
	struct str request = { client->bytes, line_bytes };

	if (take(client->elector, client, client->uid, client->pid, request, &out)) {
		buf_free(&out);
		return true;
	}
	/* An answer fits the socket's buffer; who does not take it does without. */
	(void)!sendto(client->fd, out.data, out.len, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
	buf_free(&out);
	return false;
}

static void on_readable(void *arg, uint32_t events)
{
	struct admin_client *client = arg;
	ssize_t n = recvfrom(client->fd, client->bytes + client->n,
	    sizeof(client->bytes) - client->n, MSG_DONTWAIT, NULL, NULL);
	const char *line_end;

	(void)events;
	if (n > 0)
		client->n += (size_t)n;
	line_end = memchr(client->bytes, '\n', client->n);
	/* Who waits has said everything; one that says more, or goes, is gone. */
	if (line_end && !client->waits && answer(client, (size_t)(line_end - client->bytes)))
		return;
	if (!line_end && n > 0 && client->n < sizeof(client->bytes))
		return;
	drop(client);
}

void admin_take_client(struct elector *elector, int fd, const struct us_ctl *ctl)
{
	struct admin_client *client = NULL;

	for (unsigned i = 0; !client && i < ADMIN_CLIENTS; i++)
		if (!elector->admin.clients[i].elector)
			client = &elector->admin.clients[i];
	if (!client || elector->stopping) {
		close(fd);
		return;
	}
	client->elector = elector;
	client->fd = fd;
	client->uid = (uint32_t)ctl->a[0];
	client->pid = (uint32_t)ctl->a[2];
	client->n = 0;
	client->waits = false;
	client->deadline = (struct loop_timer){ .fire = on_late, .arg = client };
	loop_watch(role_loop(elector->process), fd, EPOLLIN, on_readable, client);
	loop_timer_set(
	    role_loop(elector->process), &client->deadline, base_clock_boot_ns() + PATIENCE_NS);
}

void admin_close(struct elector *elector)
{
	drill_close(elector);
	for (unsigned i = 0; i < ADMIN_CLIENTS; i++)
		if (elector->admin.clients[i].elector)
			drop(&elector->admin.clients[i]);
}
