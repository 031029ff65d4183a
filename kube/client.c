/*
 * The life of a request (see the header): asked, parked, in libcurl's hands, answered; its
 * deadline; and the one place from which callers are called back. Connections are pool.c's, HTTP
 * is transport.c's, meanings are answer.c's.
 */
#include "kube/client.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "kube/internal.h"
#include "policy/sandbox.h"

#define DRAIN_MS    30000 /* a watch of an old generation goes on for so long (F7: 60 s at most) */
#define EXIT_UNSAFE 70
/* What a burst of requests used goes back to the system so long after one of them ended. */
#define TRIM_NS (10 * BASE_NS_PER_S)
/* One 401 is told to the supervisor, not each of a burst. */
#define REFUSED_AGAIN_NS (10 * BASE_NS_PER_S)

/* --- Answers -------------------------------------------------------------------------------- */

void request_over(struct request *request)
{
	request->state = REQUEST_OVER;
	request->answer.finished_ns = base_clock_boot_ns();
	request->client->work = true;
}

/* Those who waited for the same connection would fail in the same way, one after the other. */
static void fail_waiting(struct pool *pool, const struct request *opener)
{
	for (struct request *request = pool->client->requests; request; request = request->next) {
		if (request->pool != pool || request->state != REQUEST_PARKED)
			continue;
		answer_set(&request->answer, opener->answer.class, opener->answer.why,
		    opener->answer.message);
		request_over(request);
	}
}

void request_result(struct request *request, CURLcode code)
{
	bool opener = request->opener;

	opener_failed(request);
	if (code == CURLE_COULDNT_CONNECT && request->wants_socket && !request->client->shut) {
		request->state = REQUEST_PARKED; /* a dialer is asked next (F11) */
		return;
	}
	if (request->ended)
		answer_set(&request->answer, KUBE_OK, PEER_WHY_NONE, "");
	else if (code == CURLE_OK)
		answer_finish(&request->answer, &request->head, request->resource,
		    buf_str(&request->response));
	else if (code == CURLE_WRITE_ERROR && request->response.failed)
		answer_too_long(&request->answer, request->response.max);
	else
		answer_fail(&request->answer, code, request->error);
	request_over(request);
	if (code == CURLE_OK || request->ended)
		return;
	if (opener && !request->answer.sent)
		fail_waiting(request->pool, request);
	pool_retire(request->pool);
}

/* A silently dead connection carries everything of its pool: when nothing at all came in while a
 * request waited, its watches are over, too, long before their own idle time. So are those of older
 * pools of the same target: what froze one flow may have frozen each. */
static void end_silent_streams(struct pool *asked, int64_t since_ns)
{
	unsigned target = asked->credential->target;

	for (struct request *request = asked->client->requests; request; request = request->next) {
		struct pool *pool = request->pool;

		if (!pool || pool->credential->target != target || pool->rx_ns >= since_ns ||
		    asked->rx_ns >= since_ns || !request->streaming ||
		    request->state != REQUEST_RUNNING)
			continue;
		answer_set(&request->answer, KUBE_SILENT, PEER_WHY_TIMEOUT,
		    "nothing came in on this connection");
		request_over(request);
	}
}

static void time_out(struct request *request, const char *words)
{
	struct pool *pool = request->pool;
	bool used = request->state == REQUEST_RUNNING && request->answer.sent;

	if (request->tried || pool_is_trying(pool))
		answer_set(&request->answer, KUBE_SILENT, PEER_WHY_TIMEOUT, words);
	else
		answer_set(&request->answer, KUBE_BLIND, PEER_WHY_DIALER,
		    "no dialer made a connection in time"); /* M18: nobody has looked */
	request_over(request);
	if (!pool)
		return;
	if (used)
		end_silent_streams(pool, request->answer.sent_ns);
	pool_retire(pool);
}

/* --- Deadlines: no request waits for ever, whatever the server does (L34) --------------------- */

static void set_timer(struct request *request)
{
	int64_t at_ns = request->flowing
			    ? request->heard_ns + (int64_t)request->idle_ms * BASE_NS_PER_MS
			    : request->asked_ns + (int64_t)request->deadline_ms * BASE_NS_PER_MS;

	if (request->drain_ns && request->drain_ns < at_ns)
		at_ns = request->drain_ns;
	loop_timer_set(request->client->loop, &request->timer, at_ns);
}

void request_heard(struct request *request)
{
	/* libcurl also reads when it was not woken for it, right after sending. */
	request->pool->rx_ns = request->heard_ns = base_clock_boot_ns();
	if (request->flowing || !request->streaming || request->answer.status != 200)
		return;
	request->flowing = true;
	if (request->state != REQUEST_OVER)
		set_timer(request);
}

static void on_request_timer(void *arg, int64_t now_ns)
{
	struct request *request = arg;
	struct kube_client *client = request->client;
	int64_t deadline_ns = request->asked_ns + (int64_t)request->deadline_ms * BASE_NS_PER_MS;

	if (request->state == REQUEST_OVER)
		return;
	if (request->drain_ns && now_ns >= request->drain_ns) {
		answer_set(&request->answer, KUBE_OK, PEER_WHY_NONE, "");
		request_over(request);
	} else if (request->flowing) {
		if (now_ns >= request->heard_ns + (int64_t)request->idle_ms * BASE_NS_PER_MS)
			time_out(request, "the watch is silent");
	} else if (now_ns >= deadline_ns) {
		time_out(request, "no answer in time");
	}
	if (request->state != REQUEST_OVER)
		set_timer(request);
	client_pump(client);
}

/* --- Pump ----------------------------------------------------------------------------------- */

static void request_free(struct request *request)
{
	loop_timer_cancel(request->client->loop, &request->timer);
	buf_free(&request->body);
	buf_free(&request->response);
	free(request->resource);
	free(request);
}

/* The server does not take the identity in use: its files may hold a newer one by now (B10). One
 * that is only tried came from no file. */
static void tell_refused(struct request *request)
{
	struct kube_client *client = request->client;
	struct target *target = client_target(client, request->target);
	int64_t now_ns = base_clock_boot_ns();

	if (request->answer.class != KUBE_UNAUTHORIZED || (request->target & KUBE_TRIAL) ||
	    !target || !request->pool || request->pool->credential != target->credential ||
	    (target->refused_ns && now_ns - target->refused_ns < REFUSED_AGAIN_NS))
		return;
	target->refused_ns = now_ns;
	role_tell(client->process, CONTROL_CRED_REFUSED, request->target, 0, NULL);
}

/* Calls back one answered request. False: there is none. */
static bool deliver(struct kube_client *client)
{
	struct request **at = &client->requests, *request;
	struct kube_answer *answer;

	while (*at && (*at)->state != REQUEST_OVER)
		at = &(*at)->next;
	request = *at;
	if (!request)
		return false;
	if (request->easy) {
		transport_stop(request);
		opener_failed(request);
	}
	/* Nobody can cancel it any more: `done` is the last word. */
	*at = request->next;
	answer = &request->answer;
	if (!request->flowing && answer->class < KUBE_SILENT)
		answer->body = buf_str(&request->response);
	if (!answer->sent)
		answer->sent_ns = request->asked_ns;
	tell_refused(request);
	if (!request->cancelled)
		request->done(request->arg, answer);
	request_free(request);
	if (client->trim.slot == 0)
		loop_timer_set(client->loop, &client->trim, base_clock_boot_ns() + TRIM_NS);
	return true;
}

void client_pump(struct kube_client *client)
{
	if (client->pumping) {
		client->work = true;
		return;
	}
	client->pumping = true;
	do {
		client->work = false;
		pools_advance(client);
		transport_run(client);
		while (deliver(client))
			client->work = true;
	} while (client->work || client->added);
	pools_sweep(client);
	client->pumping = false;
}

/* The heap keeps what is freed, and wiping has touched all of it; a hub has dozens of processes
 * that ask a lot at their start and then wait (F9). */
static void on_trim(void *arg, int64_t now_ns)
{
	(void)arg;
	(void)now_ns;
	(void)malloc_trim(0);
}

static void on_kick(void *arg, int64_t now_ns)
{
	(void)now_ns;
	client_pump(arg);
}

void client_kick(struct kube_client *client)
{
	client->work = true;
	if (!client->pumping && client->kick.slot == 0)
		loop_timer_set(client->loop, &client->kick, base_clock_boot_ns());
}

/* --- Interface ------------------------------------------------------------------------------ */

struct kube_client *kube_client_new(struct role_process *process)
{
	const struct us_config *config = role_config(process);
	struct kube_client *client = calloc(1, sizeof(*client));
	unsigned held = config->shard_size > 4 ? config->shard_size : 4;
	bool locked;

	CHECK(client);
	client->process = process;
	client->loop = role_loop(process);
	client->kick = (struct loop_timer){ .fire = on_kick, .arg = client };
	client->redial = client->kick;
	client->trim = (struct loop_timer){ .fire = on_trim };
	(void)snprintf(client->agent, sizeof(client->agent), "understudy/%s",
	    role_name(role_self(process).role));
	/* Three generations of each identity: the old one drains while the new one is used. */
	client->arena = secret_arena_new(3 * held, &locked);
	CHECK(client->arena);
	if (!locked && !(config->allow_missing & SANDBOX_MLOCK)) {
		log_error("memory for credentials cannot be locked (mlock), and allow-missing does "
			  "not name mlock");
		exit(EXIT_UNSAFE);
	}
	transport_open(client);
	return client;
}

void kube_client_free(struct kube_client *client)
{
	if (!client)
		return;
	CHECK(!client->pumping);
	client->pumping = true;
	kube_rights_free(client);
	while (client->requests) {
		struct request *request = client->requests;

		transport_stop(request);
		opener_failed(request);
		client->requests = request->next;
		request_free(request);
	}
	transport_close(client);
	client->pumping = false;
	for (unsigned i = 0; i < client->target_count; i++) {
		if (client->targets[i].pool)
			pool_retire(client->targets[i].pool);
		credential_drop(client->targets[i].credential);
	}
	pools_sweep(client);
	kube_client_dialer_lost(client);
	loop_timer_cancel(client->loop, &client->kick);
	loop_timer_cancel(client->loop, &client->redial);
	loop_timer_cancel(client->loop, &client->trim);
	free(client->targets);
	secret_arena_free(client->arena);
	free(client);
}

int kube_client_credential(
    struct kube_client *client, const struct msg_credential *credential, struct err *err)
{
	struct kube_credential *fresh =
	    credential_new(credential, client->arena, base_clock_wall_us(), err);
	struct target *target = client_target(client, (unsigned)credential->target);
	int64_t now_ns = base_clock_boot_ns();

	if (!fresh)
		return -1;
	if (!target) {
		client->targets =
		    realloc(client->targets, (client->target_count + 1) * sizeof(*client->targets));
		CHECK(client->targets);
		target = &client->targets[client->target_count++];
		*target = (struct target){ .number = fresh->target };
	}
	if (target->pool)
		pool_retire(target->pool);
	for (struct request *request = client->requests; request; request = request->next)
		if (request->target == fresh->target && request->streaming && request->pool &&
		    request->state != REQUEST_OVER && !request->drain_ns) {
			request->drain_ns = now_ns + DRAIN_MS * BASE_NS_PER_MS;
			set_timer(request);
		}
	credential_drop(target->credential);
	target->credential = fresh;
	target->refused_ns = 0;
	client_kick(client);
	for (struct kube_renewal *renewal = client->renewals; renewal; renewal = renewal->next)
		if (renewal->target == fresh->target)
			renewal->renewed(renewal->arg);
	return 0;
}

void kube_client_on_renewal(struct kube_client *client, struct kube_renewal *renewal)
{
	renewal->next = client->renewals;
	client->renewals = renewal;
}

void kube_client_off_renewal(struct kube_client *client, struct kube_renewal *renewal)
{
	struct kube_renewal **at = &client->renewals;

	while (*at && *at != renewal)
		at = &(*at)->next;
	if (*at)
		*at = renewal->next;
}

void kube_client_redial(struct kube_client *client, unsigned number)
{
	struct target *target = client_target(client, number);
	int64_t now_ns = base_clock_boot_ns();

	if (!target || !target->pool)
		return;
	pool_retire(target->pool);
	for (struct request *request = client->requests; request; request = request->next)
		if (request->target == number && request->streaming && request->pool &&
		    request->state != REQUEST_OVER) {
			request->drain_ns = now_ns;
			set_timer(request);
		}
	client_kick(client);
}

void kube_client_forget(struct kube_client *client, unsigned target)
{
	struct target *found = client_target(client, target);

	if (!found)
		return;
	if (found->pool)
		pool_retire(found->pool);
	credential_drop(found->credential);
	*found = client->targets[--client->target_count];
	client_kick(client);
}

bool kube_client_has(const struct kube_client *client, unsigned target)
{
	return client_target((struct kube_client *)client, target) != NULL;
}

bool kube_client_identity(
    const struct kube_client *client, unsigned target, struct kube_identity *identity)
{
	const struct target *found = client_target((struct kube_client *)client, target);

	*identity = (struct kube_identity){ 0 };
	if (!found)
		return false;
	identity->generation = found->credential->generation;
	identity->issued_us = found->credential->issued_us;
	identity->expires_us = found->credential->expires_us;
	(void)str_copy(
	    identity->subject, sizeof(identity->subject), str_of(found->credential->subject));
	return true;
}

/* Visible ASCII only: a space or a line end would write into the request's head. */
static bool is_clean(const char *text)
{
	for (; *text; text++)
		if (*text <= 0x20 || *text == 0x7f || *text == '#')
			return false;
	return true;
}

static struct request *request_new(
    struct kube_client *client, const struct kube_ask *ask, kube_done_fn *done, void *arg)
{
	struct request *request = calloc(1, sizeof(*request));
	struct buf resource = buf_make(16384);
	const char *path = ask->path ? ask->path : "", *query = ask->query ? ask->query : "";

	CHECK(request && ask->deadline_ms > 0);
	request->client = client;
	request->id = ++client->last_id;
	request->verb = ask->verb;
	request->target = ask->target;
	request->fresh = ask->fresh;
	request->deadline_ms = ask->deadline_ms;
	request->asked_ns = request->heard_ns = base_clock_boot_ns();
	request->done = done;
	request->arg = arg;
	request->fd = -1;
	request->timer = (struct loop_timer){ .fire = on_request_timer, .arg = request };
	request->body = buf_make_secret(MAX_BODY_BYTES);
	request->response = buf_make_secret(ask->most_bytes ? ask->most_bytes : MAX_BODY_BYTES);
	buf_append(&request->body, ask->body.p, ask->body.n);
	buf_puts(&resource, path);
	if (*query)
		buf_printf(&resource, "?%s", query);
	CHECK(resource.data);
	request->resource = resource.data;
	if (path[0] != '/' || strchr(path, '?') || !is_clean(resource.data) || resource.failed ||
	    request->body.failed) {
		answer_set(&request->answer, KUBE_BLIND, PEER_WHY_UNPARSABLE,
		    "the request has no valid path, query or body");
		request_over(request);
	}
	return request;
}

/* Behind all others: requests start in the order in which they were asked. */
static uint64_t request_enter(struct request *request)
{
	struct kube_client *client = request->client;
	struct request **at = &client->requests;

	while (*at)
		at = &(*at)->next;
	*at = request;
	set_timer(request);
	client_kick(client);
	return request->id;
}

uint64_t kube_client_ask(
    struct kube_client *client, const struct kube_ask *ask, kube_done_fn *done, void *arg)
{
	return request_enter(request_new(client, ask, done, arg));
}

uint64_t kube_client_stream(struct kube_client *client, const struct kube_ask *ask,
    uint32_t idle_ms, kube_chunk_fn *chunk, kube_done_fn *done, void *arg)
{
	struct request *request = request_new(client, ask, done, arg);

	request->streaming = true;
	request->idle_ms = idle_ms;
	request->chunk = chunk;
	return request_enter(request);
}

void kube_client_cancel(struct kube_client *client, uint64_t id)
{
	struct request *request = client->requests;

	while (request && (id == 0 || request->id != id))
		request = request->next;
	if (!request)
		return;
	request->cancelled = true;
	request_over(request);
	client_kick(client);
}

void kube_client_shutdown(struct kube_client *client)
{
	client->shut = true;
	for (struct connection *c = client->connections; c; c = c->next)
		(void)shutdown(c->fd, SHUT_RDWR);
	for (struct request *request = client->requests; request; request = request->next) {
		if (request->state == REQUEST_OVER)
			continue;
		answer_set(&request->answer, KUBE_SILENT, PEER_WHY_RESET, "the client is shut");
		request_over(request);
	}
	client_kick(client);
}
