/*
 * Connections: which a request may use, who makes a new one, how a dialer is asked, what a handed
 * descriptor must be (F10, F11, F22). It speaks no HTTP and calls nobody back.
 * Pitfalls: P25, P36, P79, P80.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "kube/internal.h"

#define REDIAL_MS 50

struct target *client_target(struct kube_client *client, unsigned number)
{
	for (unsigned i = 0; i < client->target_count; i++)
		if (client->targets[i].number == number)
			return &client->targets[i];
	return NULL;
}

/* --- Pools ---------------------------------------------------------------------------------- */

static struct pool *pool_new(struct kube_client *client, struct target *target, bool fresh)
{
	struct pool *pool = calloc(1, sizeof(*pool));

	CHECK(pool);
	pool->client = client;
	pool->fresh = fresh;
	pool->credential = credential_hold(target->credential);
	(void)snprintf(pool->name, sizeof(pool->name), "/dialer/%u/%u/%llu", target->number,
	    target->credential->generation, (unsigned long long)++client->last_epoch);
	pool->next = client->pools;
	client->pools = pool;
	return pool;
}

bool pool_is_trying(const struct pool *pool)
{
	return pool && (pool->dialing || pool->opening || pool->up > 0);
}

void pool_retire(struct pool *pool)
{
	struct kube_client *client = pool->client;
	struct target *target = client_target(client, pool->credential->target);

	if (pool->fresh || pool->retired)
		return;
	pool->retired = true;
	CHECK(target);
	if (target->pool == pool)
		target->pool = NULL;
	for (struct request *request = client->requests; request; request = request->next)
		if (request->pool == pool && request->state == REQUEST_PARKED &&
		    !request->answer.sent) {
			request->state = REQUEST_NEW;
			request->tried = request->tried || pool_is_trying(pool);
			request->pool = NULL;
			transport_stop(request);
		}
	client->work = true;
}

static bool pool_has_requests(const struct pool *pool)
{
	for (struct request *request = pool->client->requests; request; request = request->next)
		if (request->pool == pool)
			return true;
	return false;
}

static struct connection *pool_connection(const struct pool *pool)
{
	for (struct connection *c = pool->client->connections; c; c = c->next)
		if (c->pool == pool)
			return c;
	return NULL;
}

void pools_sweep(struct kube_client *client)
{
	struct pool **at = &client->pools;

	while (*at) {
		struct pool *pool = *at;

		if ((!pool->retired && !pool->fresh) || pool_has_requests(pool)) {
			at = &pool->next;
			continue;
		}
		/* libcurl keeps idle connections; nobody may use these again. It finds them closed
		 * and closes its side when it looks through its store. */
		for (struct connection *c = client->connections; c; c = c->next)
			if (c->pool == pool && !c->shut) {
				(void)shutdown(c->fd, SHUT_RDWR);
				c->shut = true;
			}
		if (pool_connection(pool)) {
			at = &pool->next;
			continue;
		}
		for (struct dial *dial = client->dials; dial; dial = dial->next)
			if (dial->pool == pool)
				dial->pool = NULL;
		*at = pool->next;
		credential_drop(pool->credential);
		free(pool);
	}
}

/* --- Dials ---------------------------------------------------------------------------------- */

static void dial(struct pool *pool)
{
	struct kube_client *client = pool->client;
	struct msg_dial_asked ask = { .id = ++client->last_dial,
		.target = pool->credential->target & ~KUBE_TRIAL,
		.generation = pool->credential->generation };
	enum role dialer = role_dialer_of(role_self(client->process).role);
	struct dial *dial;

	if (!role_send(client->process, dialer, 0, MSG_DIAL_ASKED, &ask)) {
		loop_timer_set(client->loop, &client->redial,
		    base_clock_boot_ns() + REDIAL_MS * BASE_NS_PER_MS);
		return;
	}
	dial = calloc(1, sizeof(*dial));
	CHECK(dial);
	*dial = (struct dial){ .next = client->dials, .pool = pool, .id = ask.id };
	client->dials = dial;
	pool->dialing = true;
}

/* Starts what can use a connection that is up; asks for one where nothing can. */
static void pool_advance(struct pool *pool)
{
	struct kube_client *client = pool->client;
	bool wanted = false;

	for (struct request *request = client->requests; request; request = request->next) {
		if (request->pool != pool || request->state != REQUEST_PARKED)
			continue;
		if (pool->up > 0 && !request->wants_socket && !pool->opening) {
			request->state = REQUEST_RUNNING;
			if (!transport_start(request)) {
				answer_set(&request->answer, KUBE_BLIND, PEER_WHY_UNPARSABLE,
				    "out of memory");
				request_over(request);
			}
			continue;
		}
		wanted = true;
	}
	if (wanted && !pool->dialing && !pool->opening)
		dial(pool);
}

static void choose_pool(struct request *request)
{
	struct kube_client *client = request->client;
	struct target *target = client_target(client, request->target);

	if (!target || !target->credential) {
		answer_set(&request->answer, KUBE_BLIND, PEER_WHY_NO_CREDENTIAL,
		    "no credential for this target");
		request_over(request);
		return;
	}
	if (request->fresh)
		request->pool = pool_new(client, target, true);
	else if (target->pool)
		request->pool = target->pool;
	else
		request->pool = target->pool = pool_new(client, target, false);
	request->state = REQUEST_PARKED;
}

void pools_advance(struct kube_client *client)
{
	for (struct request *request = client->requests; request; request = request->next) {
		if (request->state != REQUEST_NEW)
			continue;
		if (client->shut) {
			answer_set(
			    &request->answer, KUBE_SILENT, PEER_WHY_RESET, "the client is shut");
			request_over(request);
		} else {
			choose_pool(request);
		}
	}
	if (client->shut)
		return;
	for (struct pool *pool = client->pools; pool; pool = pool->next)
		pool_advance(pool);
}

/* --- Descriptors ---------------------------------------------------------------------------- */

static int option(int fd, int name)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

/* NULL when the descriptor is a connected TCP socket to that port, else what it is not (F22). */
static const char *check_descriptor(int fd, uint16_t port)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} peer = { .any.sa_family = AF_UNSPEC };
	socklen_t size = sizeof(peer);
	int domain = option(fd, SO_DOMAIN), flags;
	in_port_t actual;

	if (domain != AF_INET && domain != AF_INET6)
		return "not an internet socket";
	if (option(fd, SO_TYPE) != SOCK_STREAM || option(fd, SO_PROTOCOL) != IPPROTO_TCP)
		return "not TCP";
	if (option(fd, SO_ACCEPTCONN) != 0)
		return "a listening socket";
	if (getpeername(fd, &peer.any, &size) != 0) {
		/* Connected, but the far end has reset it since: bad luck, not a lie. */
		if (errno == ENOTCONN && option(fd, SO_ERROR) > 0)
			return NULL;
		return "not connected";
	}
	actual = domain == AF_INET ? peer.v4.sin_port : peer.v6.sin6_port;
	if (ntohs(actual) != port)
		return "connected to another port";
	flags = fcntl(fd, F_GETFL);
	/* The flag lives in the description that the dialer had: it is set again here. */
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
		return "cannot be made non-blocking";
	return NULL;
}

/* Who gets the connection: a request that found none free, else the oldest. */
static struct request *next_opener(const struct pool *pool)
{
	struct request *first = NULL;

	for (struct request *r = pool->client->requests; r; r = r->next) {
		if (r->pool != pool || r->state != REQUEST_PARKED)
			continue;
		if (r->wants_socket)
			return r;
		if (!first)
			first = r;
	}
	return first;
}

static void open_with(struct pool *pool, int fd)
{
	struct request *request = next_opener(pool);

	if (!request || pool->opening || pool->client->shut) {
		(void)shutdown(fd, SHUT_RDWR);
		close(fd);
		return;
	}
	request->fd = fd;
	request->opener = request->tried = true;
	request->wants_socket = false;
	request->state = REQUEST_RUNNING;
	pool->opening = true;
	if (transport_start(request))
		return;
	opener_failed(request);
	answer_set(&request->answer, KUBE_BLIND, PEER_WHY_UNPARSABLE, "out of memory");
	request_over(request);
}

/* All who wait for the pool get the dialer's answer. */
static void pool_refuse(struct pool *pool, const struct msg_dialed *m)
{
	for (struct request *request = pool->client->requests; request; request = request->next) {
		if (request->pool != pool || request->state != REQUEST_PARKED)
			continue;
		answer_not_dialed(&request->answer, (enum dial_outcome)m->outcome, m->address);
		request_over(request);
	}
}

static struct dial *take_dial(struct kube_client *client, uint64_t id)
{
	for (struct dial **at = &client->dials; *at; at = &(*at)->next)
		if ((*at)->id == id) {
			struct dial *dial = *at;

			*at = dial->next;
			return dial;
		}
	return NULL;
}

/* A dial whose pool was retired meanwhile still brought a new connection: the present pool takes
 * it when it belongs to the same generation. */
static struct pool *heir(struct pool *pool)
{
	struct target *target = client_target(pool->client, pool->credential->target);

	if (pool->retired && target && target->pool && target->pool->credential == pool->credential)
		return target->pool;
	return pool;
}

enum verdict kube_client_dialed(struct kube_client *client, const struct msg_dialed *m, int fd)
{
	struct dial *dial = take_dial(client, m->id);
	struct pool *pool = dial ? dial->pool : NULL;
	const char *fault = NULL;

	free(dial);
	if (!dial)
		fault = "an answer that nobody waits for";
	else if (m->outcome == DIAL_OK && pool)
		fault = check_descriptor(fd, pool->credential->port);
	if (pool)
		pool->dialing = false;
	if (fault || !pool) {
		if (fd >= 0)
			close(fd);
		if (fault)
			log_error("dialer: %s", fault);
		client_kick(client);
		return fault ? VERDICT_PEER_BROKEN : VERDICT_FINE;
	}
	if (m->outcome == DIAL_OK)
		open_with(heir(pool), fd);
	else
		pool_refuse(pool, m);
	client_kick(client);
	return VERDICT_FINE;
}

void kube_client_dialer_lost(struct kube_client *client)
{
	while (client->dials) {
		struct dial *dial = client->dials;

		client->dials = dial->next;
		if (dial->pool)
			dial->pool->dialing = false;
		free(dial);
	}
	client_kick(client);
}

/* --- What libcurl does with them ------------------------------------------------------------ */

int connection_open(struct request *request)
{
	struct connection *connection;
	int fd = request->fd;

	if (fd < 0) {
		request->wants_socket = true;
		return -1;
	}
	connection = calloc(1, sizeof(*connection));
	CHECK(connection);
	*connection = (struct connection){ .next = request->client->connections,
		.client = request->client,
		.pool = request->pool,
		.fd = fd };
	request->client->connections = connection;
	request->fd = -1;
	return fd;
}

struct connection *connection_find(struct kube_client *client, int fd)
{
	struct connection *connection = client->connections;

	while (connection && connection->fd != fd)
		connection = connection->next;
	return connection;
}

void connection_up(struct request *request)
{
	struct pool *pool = request->pool;

	if (!request->opener)
		return;
	request->opener = false;
	pool->opening = false;
	for (struct connection *c = request->client->connections; c; c = c->next)
		if (c->pool == pool && !c->up) {
			c->up = true;
			pool->up++;
		}
	for (struct request *r = request->client->requests; r; r = r->next)
		if (r->pool == pool)
			r->wants_socket = false;
	request->client->work = true;
}

/* In both directions, so that nothing of ours stays on its way behind a copy that somebody else
 * holds (F8, H3). */
void connection_close(struct kube_client *client, int fd)
{
	struct connection **at = &client->connections;

	loop_forget(client->loop, fd);
	while (*at && (*at)->fd != fd)
		at = &(*at)->next;
	if (*at) {
		struct connection *connection = *at;

		*at = connection->next;
		if (connection->up)
			connection->pool->up--;
		free(connection);
	}
	(void)shutdown(fd, SHUT_RDWR);
	close(fd);
	client->work = true;
}

void opener_failed(struct request *request)
{
	if (request->fd >= 0) {
		(void)shutdown(request->fd, SHUT_RDWR);
		close(request->fd);
		request->fd = -1;
	}
	if (request->opener)
		request->pool->opening = false;
	request->opener = false;
}
