/*
 * kube/client.h for the simulated process: requests travel, arrive, are answered or not. What may
 * happen to them on the way is here and nowhere else: lost before or after they took effect, late,
 * refused by an overloaded server, cut in the middle of a watch. What an answer means is
 * kube/answer.c's, as in the daemon.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "kube/answer.h"
#include "kube/json.h"
#include "tests/sim/mirror/mirror.h"
#include "tests/sim/no_dialer.h"
#include "tests/sim/no_renewal.h"

#define SERVER_TIMEOUT_NS S(5) /* ?timeout=5s of each write (H3) */

static struct server *server_of(unsigned target)
{
	return &the->server[target == CREDENTIAL_PEER_SYNCER ? SOURCE : OWN];
}

static int64_t latency(void)
{
	int64_t ns = MS(1) + (int64_t)chaos_random(MS(15));

	if (chaos_chance(KNOB_SLOW, 60))
		ns += (int64_t)chaos_random(S(6));
	return ns;
}

static struct request *find(uint64_t id)
{
	for (struct request *r = the->requests; r; r = r->next)
		if (r->id == id)
			return r;
	return NULL;
}

static void drop(struct request *request)
{
	struct request **at = &the->requests;

	while (*at != request)
		at = &(*at)->next;
	*at = request->next;
	free(request->path);
	free(request->query);
	free((char *)request->body.p);
	json_decref(request->answer);
	free(request);
}

static struct request *ask(const struct kube_ask *ask, kube_done_fn *done, void *arg)
{
	struct request *request = calloc(1, sizeof(*request));
	char *body = malloc(ask->body.n + 1);

	CHECK(request && body && ask->deadline_ms);
	if (ask->body.n)
		memcpy(body, ask->body.p, ask->body.n);
	body[ask->body.n] = '\0';
	*request = (struct request){ .next = the->requests,
		.id = ++the->ids,
		.target = ask->target,
		.life = the->life,
		.verb = ask->verb,
		.path = strdup(ask->path),
		.query = strdup(ask->query ? ask->query : ""),
		.body = { body, ask->body.n },
		.sent_ns = the->now,
		.stranger = the->pinned_objects,
		.deadline = the->now + MS(ask->deadline_ms),
		.done = done,
		.arg = arg };
	the->requests = request;
	invariants_on_request(request);
	event_post(EVENT_ARRIVE, the->now + latency(), request->id);
	event_post(EVENT_DEADLINE, request->deadline, request->id);
	return request;
}

uint64_t kube_client_ask(
    struct kube_client *client, const struct kube_ask *what, kube_done_fn *done, void *arg)
{
	(void)client;
	return ask(what, done, arg)->id;
}

uint64_t kube_client_stream(struct kube_client *client, const struct kube_ask *what,
    uint32_t idle_ms, kube_chunk_fn *chunk, kube_done_fn *done, void *arg)
{
	struct request *request = ask(what, done, arg);

	(void)client;
	request->chunk = chunk;
	request->idle_ns = MS(idle_ms);
	return request->id;
}

void kube_client_cancel(struct kube_client *client, uint64_t id)
{
	struct request *request = find(id);

	(void)client;
	if (!request)
		return;
	request->done = NULL;
	request->chunk = NULL;
	request->streaming = false;
}

/* --- Answers -------------------------------------------------------------------------------- */

/* Hands the end of a request over. Status 0: no answer came. The request is gone afterwards. */
static void finish(struct request *request, int status, const json_t *body)
{
	struct kube_answer answer = { .status = status, .sent = true, .sent_ns = request->sent_ns };
	struct answer_head head = { .json = true };
	struct buf text = buf_make(8u << 20);
	kube_done_fn *done = request->done;
	void *arg = request->arg;
	struct filter filter;
	char cluster[37], uid[37];
	uint64_t version;
	int64_t sent_ns = request->sent_ns;
	bool listed, identity = done && status == 200 &&
				request->target == CREDENTIAL_PEER_SYNCER &&
				strcmp(request->path, "/api/v1/namespaces/kube-system") == 0;

	if (done) {
		if (body)
			kube_json_put(&text, body);
		if (status)
			answer_finish(&answer, &head, request->path, buf_str(&text));
		else
			answer_set(&answer, KUBE_SILENT, PEER_WHY_RESET, "connection reset");
		(void)snprintf(answer.warning, sizeof(answer.warning), "%.120s", request->warning);
		if (request->retry_after_s)
			answer.retry_after_ms = (int64_t)request->retry_after_s * 1000;
		answer.finished_ns = the->now;
		answer.body = buf_str(&text);
		request->done = NULL;
	}
	request->answered = true;
	listed = done && status == 200 && json_object_get(body, "items") &&
		 !*kube_json_text(json_object_get(body, "metadata"), "continue");
	listed =
	    listed && request->target == CREDENTIAL_PEER_SYNCER && !request->filter.proves_nothing;
	filter = request->filter;
	memcpy(cluster, request->cluster, sizeof(cluster));
	version = version_of(body);
	(void)snprintf(uid, sizeof(uid), "%s", meta(body, "uid"));
	drop(request);
	if (identity)
		invariants_on_identity(uid, sent_ns);
	if (done)
		done(arg, &answer);
	if (listed)
		invariants_on_list(&filter, cluster, version);
	buf_free(&text);
}

void wire_end(struct request *request, int status, const json_t *body)
{
	request->streaming = false;
	finish(request, status, body);
}

bool wire_chunk(struct request *request, const json_t *event)
{
	struct buf text = buf_make(8u << 20);
	uint64_t id = request->id;
	bool more = true;
	size_t half;

	kube_json_put(&text, event);
	buf_puts(&text, "\n");
	half = chaos_random(3) ? text.len : chaos_random(text.len);
	request->heard = the->now;
	if (half)
		more = request->chunk(request->arg, (struct str){ text.data, half });
	/* It may have been cancelled, or its process may be gone. */
	if (more && half < text.len && (request = find(id)) && request->chunk)
		more =
		    request->chunk(request->arg, (struct str){ text.data + half, text.len - half });
	buf_free(&text);
	request = find(id);
	if (request && request->chunk && !more)
		wire_end(request, 0, NULL);
	return more && request && request->chunk;
}

/* --- On the way ----------------------------------------------------------------------------- */

/* What a server says without having looked at the request. True: it said something. */
static bool overloaded(const struct request *request, struct reply *reply)
{
	static const struct {
		int status;
		const char *reason, *message;
	} rows[] = { { 429, "TooManyRequests", "try later" },
		{ 500, "InternalError", "etcdserver: request timed out" },
		{ 503, "ServiceUnavailable", "apiserver is shutting down" },
		{ 401, "Unauthorized", "Unauthorized" },
		{ 403, "Forbidden", "RBAC: not yet known" },
		{ 409, "Conflict", "please apply your changes to the latest version" } };
	unsigned row = (unsigned)chaos_random(sizeof(rows) / sizeof(rows[0]));

	if (!chaos_chance(KNOB_ERRORS, 60) ||
	    (rows[row].status == 409 && request->verb == KUBE_GET))
		return false;
	server_refuse(reply, rows[row].status, rows[row].reason, rows[row].message, "x", "");
	if (rows[row].status == 429)
		reply->retry_after_s = (int)chaos_random(4);
	return true;
}

/* A dry run of the mirror (H5): nothing is stored. */
static void try_creation(
    const struct request *request, const struct place *place, json_t *body, struct reply *reply)
{
	const char *name = meta(body, "name");

	if (request->verb != KUBE_POST ||
	    server_find(server_of(request->target), place->kind, place->space, name))
		broken("H5: only a creation under a name of its own is tried", "%s", name);
	if (chaos_chance(KNOB_ERRORS, 100)) {
		server_refuse(reply, 500, "InternalError",
		    "failed calling webhook \"nobody.example.com\"", "", "");
		return;
	}
	reply->status = 201;
	reply->body = json_incref(body);
}

static void serve(struct request *request, struct reply *reply)
{
	struct server *server = server_of(request->target);
	struct place place;
	uint64_t writes = the->writes;
	json_t *body = NULL;

	if (request->verb != KUBE_GET && the->now - request->sent_ns > SERVER_TIMEOUT_NS) {
		server_refuse(reply, 504, "Timeout", "the request took too long", "", "");
		return;
	}
	if (server_discover(server, request->path, reply))
		return;
	CHECK(place_of(request->path, &place));
	if (request->chunk || (request->verb == KUBE_GET && !*place.name)) {
		watch_serve(server, request, reply);
		return;
	}
	if (request->body.n) {
		body = kube_json_parse(request->body, NULL);
		if (!body)
			broken("every body is JSON", "%s", request->path);
	}
	if (strstr(request->query, "dryRun=All"))
		try_creation(request, &place, body, reply);
	else
		server_serve(server, request->verb, &place, body, reply);
	/* It may arrive when the stranger has left, and is of the stranger all the same. */
	if (request->stranger && the->writes > writes)
		the->ever_believed = true;
	if (strcmp(place.name, "kube-system") != 0)
		chaos_say("%s%s %s%s%s -> %d%s%s",
		    request->target == CREDENTIAL_PEER_SYNCER ? "source: " : "",
		    request->verb == KUBE_GET    ? "GET"
		    : request->verb == KUBE_POST ? "POST"
		    : request->verb == KUBE_PUT  ? "PUT"
						 : "DELETE",
		    request->path, request->verb == KUBE_POST ? " " : "",
		    request->verb == KUBE_POST ? meta(body, "name") : "", reply->status,
		    reply->status < 300 ? "" : " ",
		    reply->status < 300 ? "" : kube_json_text(reply->body, "message"));
	json_decref(body);
}

/* Gone on the way: nobody hears anything before the deadline, or the connection breaks. */
static void lose(struct request *request)
{
	if (chaos_random(2))
		finish(request, 0, NULL);
	else
		request->answered = true; /* its deadline tells */
}

static void take_up(struct request *request, struct reply *reply)
{
	request->status = reply->status;
	request->answer = reply->body;
	request->retry_after_s = reply->retry_after_s;
	(void)snprintf(request->warning, sizeof(request->warning), "%s", reply->warning);
	event_post(EVENT_REPLY, the->now + latency(), request->id);
}

void wire_arrive(uint64_t id)
{
	struct request *request = find(id);
	struct server *server;
	struct reply reply = { 0 };

	if (!request || request->answered)
		return;
	server = server_of(request->target);
	/* H3: of a process that has ended the one or other request still arrives. */
	if (request->life != the->life && (chaos_random(3) || !the->alive)) {
		if (request->life + 1 < the->life || chaos_random(2)) {
			drop(request);
			return;
		}
	}
	if (!request->done) {
		/* Cancelled; what writes may be done all the same. */
		if (request->verb == KUBE_GET || chaos_random(2)) {
			drop(request);
			return;
		}
	}
	if (server->down || chaos_chance(KNOB_LOSE_REQUEST, 40)) {
		lose(request);
		return;
	}
	if (server->hung) {
		request->answered = true;
		return;
	}
	memcpy(request->cluster, server->uid, sizeof(request->cluster));
	if (!overloaded(request, &reply))
		serve(request, &reply);
	request->answered = true;
	if (chaos_chance(KNOB_LOSE_REPLY, 50)) {
		json_decref(reply.body);
		lose(request);
		return;
	}
	if (request->verb != KUBE_GET && reply.status < 300 && chaos_chance(KNOB_ERRORS, 20)) {
		/* Done, and yet an error: the answer of a proxy. */
		json_decref(reply.body);
		reply = (struct reply){ 0 };
		server_refuse(&reply, 504, "Timeout", "gateway timeout", "", "");
	}
	take_up(request, &reply);
}

void wire_reply(uint64_t id)
{
	struct request *request = find(id);

	if (!request)
		return;
	/* The connection is to a cluster, not to an address. */
	if (request->chunk && request->status == 200 &&
	    strcmp(request->cluster, request->server->uid) != 0) {
		finish(request, 0, NULL);
		return;
	}
	if (request->chunk && request->status == 200) {
		request->streaming = true;
		request->heard = the->now;
		event_post(EVENT_PUMP, the->now + MS(1), id);
		(void)request->chunk(request->arg, (struct str){ 0 });
		return;
	}
	finish(request, request->status, request->answer);
}

void wire_deadline(uint64_t id)
{
	struct request *request = find(id);

	if (!request)
		return;
	if (request->streaming) {
		if (the->now - request->heard < request->idle_ns)
			event_post(EVENT_DEADLINE, request->heard + request->idle_ns, id);
		else
			finish(request, 0, NULL);
		return;
	}
	finish(request, 0, NULL);
}

/* --- Watches -------------------------------------------------------------------------------- */

void wire_pump(uint64_t id)
{
	struct request *request = find(id);

	if (!request || !request->streaming)
		return;
	request->pumping = false;
	if (request->server->down || request->server->hung) {
		event_post(EVENT_PUMP, the->now + S(5), id); /* silence; or the cut comes */
		return;
	}
	if (the->now >= request->ends) {
		finish(request, 200, NULL);
		return;
	}
	watch_pump(request);
	request = find(id);
	if (request && !request->pumping)
		event_post(EVENT_PUMP, the->now + S(30), id);
}

void wire_wake(struct server *server)
{
	for (struct request *r = the->requests; r; r = r->next)
		if (r->streaming && r->server == server && !r->pumping) {
			r->pumping = true;
			event_post(EVENT_PUMP, the->now + latency(), r->id);
		}
}

void wire_cut(unsigned target, bool all)
{
	struct server *server = &the->server[target];
	uint64_t ids[512];
	unsigned n = 0;

	for (struct request *r = the->requests; r && n < 512; r = r->next)
		if ((r->streaming || all) && server_of(r->target) == server)
			ids[n++] = r->id;
	while (n) {
		struct request *request = find(ids[--n]);

		if (request)
			finish(request, 0, NULL);
	}
}

void wire_process_ended(void)
{
	for (struct request *r = the->requests; r; r = r->next) {
		r->done = NULL;
		r->chunk = NULL;
		r->streaming = false;
	}
}

void wire_close(void)
{
	while (the->requests)
		drop(the->requests);
}

/* --- The rest of kube/client.h -------------------------------------------------------------- */

struct kube_client *kube_client_new(struct role_process *process)
{
	(void)process;
	return (struct kube_client *)the;
}

void kube_client_free(struct kube_client *client)
{
	(void)client;
}

bool kube_client_has(const struct kube_client *client, unsigned target)
{
	(void)client;
	(void)target;
	return the->credentials;
}

bool kube_client_take(struct kube_client *client, const struct msg_credential *credential)
{
	(void)client;
	(void)credential;
	return true;
}

void kube_client_shutdown(struct kube_client *client)
{
	(void)client;
	the->leaving = true;
}
