/*
 * Dials (see the header). The sockets get their options before they connect, because the asking
 * role may set none (F17): a dead peer is noticed within 25 s by keep-alive, and 15 s after
 * unanswered data. Called by messages.c; goes on by the loop.
 * Pitfall: P100.
 */
#include "dialer/connect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "dialer/ranges.h"

#define KEEP_IDLE_S     10
#define KEEP_INTERVAL_S 5
#define KEEP_COUNT      3
#define UNANSWERED_MS   15000

enum dial_phase { DIAL_WAITING, DIAL_RESOLVING, DIAL_CONNECTING };

struct attempt {
	struct dial *dial;
	int fd; /* -1: not begun, or failed */
	uint8_t address[16];
};

struct dial {
	struct dial *next;
	struct dialer *dialer;
	struct target *target;
	struct role_id asker;
	uint64_t id;
	enum dial_phase phase;
	int64_t asked_ns;
	unsigned begun, count;     /* of attempts */
	enum dial_outcome failure; /* of the last attempt that failed */
	struct attempt attempts[DIAL_MAX_ADDRESSES];
	struct loop_timer timer; /* the next attempt, or the end */
};

/* --- Pure helpers --------------------------------------------------------------------------- */

unsigned dial_order(const struct us_config *config, const struct resolve_answer *answer,
    uint8_t out[DIAL_MAX_ADDRESSES][16])
{
	bool used[RESOLVE_MAX] = { false }, want_v4 = false;
	unsigned count = 0;

	while (count < DIAL_MAX_ADDRESSES) {
		int chosen = -1;

		for (unsigned i = 0; i < answer->count; i++) {
			bool is_v4 = ranges_is_v4(answer->addresses[i]);

			if (used[i] || !ranges_allow(config, answer->addresses[i]))
				continue;
			if (chosen < 0 || (count > 0 && is_v4 == want_v4 &&
					      ranges_is_v4(answer->addresses[chosen]) != want_v4))
				chosen = (int)i;
		}
		if (chosen < 0)
			break;
		used[chosen] = true;
		want_v4 = !ranges_is_v4(answer->addresses[chosen]);
		memcpy(out[count++], answer->addresses[chosen], 16);
	}
	return count;
}

enum dial_outcome dial_outcome_of(int error)
{
	switch (error) {
	case ECONNREFUSED: return DIAL_REFUSED;
	/* Nobody answers there, or no way leads there: the same silence (C4). */
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH: return DIAL_TIMEOUT;
	/* This side does not let it: never the peer's silence (C4). */
	case EACCES:
	case EPERM:
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
	case EAFNOSUPPORT: return DIAL_DENIED;
	default: return DIAL_RESET;
	}
}

const char *dial_outcome_name(enum dial_outcome outcome)
{
	static const char *const names[] = { "ok", "refused", "timeout", "reset", "no-name",
		"denied" };

	return outcome < sizeof(names) / sizeof(names[0]) ? names[outcome] : "?";
}

static const char *address_text(const uint8_t address[16], char text[64])
{
	if (ranges_is_v4(address))
		inet_ntop(AF_INET, address + 12, text, 64);
	else
		inet_ntop(AF_INET6, address, text, 64);
	return text;
}

/* --- One dial -------------------------------------------------------------------------------- */

static void start_waiting(struct dialer *dialer, struct role_id asker);

void dial_answer(struct dialer *dialer, struct role_id asker, uint64_t id,
    enum dial_outcome outcome, const char *address, int fd)
{
	struct msg_dialed dialed = { .id = id, .outcome = outcome, .address = str_of(address) };

	(void)role_send_fd(dialer->process, asker.role, asker.shard, MSG_DIALED, &dialed, fd);
}

static void free_dial(struct dial *dial)
{
	struct dialer *dialer = dial->dialer;
	struct dial **at = &dialer->dials;

	while (*at != dial)
		at = &(*at)->next;
	*at = dial->next;
	resolve_cancel(dialer->resolver, dial);
	loop_timer_cancel(role_loop(dialer->process), &dial->timer);
	for (unsigned i = 0; i < dial->begun; i++)
		if (dial->attempts[i].fd >= 0) {
			loop_forget(role_loop(dialer->process), dial->attempts[i].fd);
			close(dial->attempts[i].fd);
		}
	free(dial);
}

/* The one end of every dial. `winner` is NULL when none connected. */
static void finish(struct dial *dial, enum dial_outcome outcome, struct attempt *winner)
{
	struct dialer *dialer = dial->dialer;
	struct role_id asker = dial->asker;
	int64_t took_ms = (base_clock_boot_ns() - dial->asked_ns) / BASE_NS_PER_MS;
	enum log_level level = outcome == DIAL_OK ? LOG_INFO : LOG_WARN;
	char address[64] = "";

	if (winner)
		address_text(winner->address, address);
	else if (dial->begun)
		address_text(dial->attempts[dial->begun - 1].address, address);
	/* Once per episode (G5): a peer that is down is dialled several times a second, for days.
	 */
	if (dial->target->told == 1 + (int)outcome)
		level = LOG_DEBUG;
	dial->target->told = 1 + (int)outcome;
	log_write(level, "dial target %u (%s port %u) for %s/%u: %s %s after %lld ms",
	    dial->target->id, dial->target->host, dial->target->port, role_name(asker.role),
	    asker.shard, dial_outcome_name(outcome), address, (long long)took_ms);
	if (winner)
		resolve_worked(dialer->resolver, dial->target->host, winner->address);
	/* The packet carries a duplicate; free_dial closes ours, so that the asker's close is the
	 * last one and the server sees it (F8, H3). */
	dial_answer(dialer, asker, dial->id, outcome, address, winner ? winner->fd : -1);
	free_dial(dial);
	start_waiting(dialer, asker);
}

static bool attempts_running(const struct dial *dial)
{
	for (unsigned i = 0; i < dial->begun; i++)
		if (dial->attempts[i].fd >= 0)
			return true;
	return false;
}

static bool set_options(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S },
		{ IPPROTO_TCP, TCP_KEEPINTVL, KEEP_INTERVAL_S },
		{ IPPROTO_TCP, TCP_KEEPCNT, KEEP_COUNT },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, UNANSWERED_MS },
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			sizeof(options[i].value)) != 0)
			return false;
	return true;
}

static int connect_to(int fd, const uint8_t address[16], uint16_t port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	memcpy(&v4.sin_addr, address + 12, 4);
	memcpy(&v6.sin6_addr, address, 16);
	return ranges_is_v4(address) ? connect(fd, (const struct sockaddr *)&v4, sizeof(v4))
				     : connect(fd, (const struct sockaddr *)&v6, sizeof(v6));
}

static void on_attempt(void *arg, uint32_t events);
static void next_attempt(struct dial *dial);

static void attempt_failed(struct attempt *attempt, int error)
{
	if (attempt->fd >= 0) {
		loop_forget(role_loop(attempt->dial->dialer->process), attempt->fd);
		close(attempt->fd);
		attempt->fd = -1;
	}
	attempt->dial->failure = dial_outcome_of(error);
}

/* False when the attempt is over at once. */
static bool begin_attempt(struct attempt *attempt)
{
	struct dial *dial = attempt->dial;

	attempt->fd = socket(ranges_is_v4(attempt->address) ? AF_INET : AF_INET6,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (attempt->fd < 0 || !set_options(attempt->fd) ||
	    (connect_to(attempt->fd, attempt->address, dial->target->port) != 0 &&
		errno != EINPROGRESS)) {
		attempt_failed(attempt, errno);
		return false;
	}
	loop_watch(role_loop(dial->dialer->process), attempt->fd, EPOLLOUT, on_attempt, attempt);
	return true;
}

static void on_attempt(void *arg, uint32_t events)
{
	struct attempt *attempt = arg;
	struct dial *dial = attempt->dial;
	struct sockaddr_storage peer;
	socklen_t size = sizeof(int), peer_size = sizeof(peer);
	int error = 0;

	(void)events;
	if (getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
		error = errno;
	if (error == 0 && getpeername(attempt->fd, (struct sockaddr *)&peer, &peer_size) != 0)
		error = errno;
	if (error == 0) {
		loop_forget(role_loop(dial->dialer->process), attempt->fd);
		finish(dial, DIAL_OK, attempt);
		return;
	}
	attempt_failed(attempt, error);
	next_attempt(dial);
}

/* Begins the next address, and ends the dial when none is left that could still connect. */
static void next_attempt(struct dial *dial)
{
	int64_t limit_ns = dial->asked_ns + DIAL_LIMIT_MS * BASE_NS_PER_MS;
	int64_t at_ns = base_clock_boot_ns() + DIAL_STAGGER_MS * BASE_NS_PER_MS;
	bool began = false;

	while (!began && dial->begun < dial->count)
		began = begin_attempt(&dial->attempts[dial->begun++]);
	if (!attempts_running(dial)) {
		finish(dial, dial->failure, NULL);
		return;
	}
	if (dial->begun == dial->count || at_ns > limit_ns)
		at_ns = limit_ns;
	loop_timer_set(role_loop(dial->dialer->process), &dial->timer, at_ns);
}

static void on_resolved(void *arg, const struct resolve_answer *answer)
{
	struct dial *dial = arg;
	uint8_t addresses[DIAL_MAX_ADDRESSES][16];

	dial->count = dial_order(role_config(dial->dialer->process), answer, addresses);
	if (dial->count == 0) {
		finish(dial, answer->count ? DIAL_DENIED : DIAL_NO_NAME, NULL);
		return;
	}
	for (unsigned i = 0; i < dial->count; i++) {
		dial->attempts[i] = (struct attempt){ .dial = dial, .fd = -1 };
		memcpy(dial->attempts[i].address, addresses[i], 16);
	}
	dial->phase = DIAL_CONNECTING;
	next_attempt(dial);
}

/* DNS is slow: what it said last time is better than a dial that fails (C4). */
static void resolve_late(struct dial *dial, bool limit_passed)
{
	struct dialer *dialer = dial->dialer;
	const struct resolve_answer *kept = resolve_kept(dialer->resolver, dial->target->host);

	if (limit_passed) {
		finish(dial, DIAL_NO_NAME, NULL);
	} else if (kept) {
		resolve_cancel(dialer->resolver, dial);
		on_resolved(dial, kept);
	} else {
		loop_timer_set(role_loop(dialer->process), &dial->timer,
		    dial->asked_ns + DIAL_LIMIT_MS * BASE_NS_PER_MS);
	}
}

static void on_timer(void *arg, int64_t now_ns)
{
	struct dial *dial = arg;
	bool limit_passed = now_ns >= dial->asked_ns + DIAL_LIMIT_MS * BASE_NS_PER_MS;

	if (dial->phase == DIAL_RESOLVING)
		resolve_late(dial, limit_passed);
	else if (!limit_passed && dial->phase == DIAL_CONNECTING && dial->begun < dial->count)
		next_attempt(dial);
	else
		finish(dial, DIAL_TIMEOUT, NULL);
}

/* --- The queue of each asker ----------------------------------------------------------------- */

static bool same_asker(struct role_id a, struct role_id b)
{
	return a.role == b.role && a.shard == b.shard;
}

/* Starts the first waiting dial of this asker when it may have one more. What it starts may end at
 * once and come back here. */
static void start_waiting(struct dialer *dialer, struct role_id asker)
{
	struct dial *first = NULL;
	unsigned running = 0;

	for (struct dial *dial = dialer->dials; dial; dial = dial->next) {
		if (!same_asker(dial->asker, asker))
			continue;
		if (dial->phase != DIAL_WAITING)
			running++;
		else if (!first)
			first = dial;
	}
	if (!first || running >= DIAL_AT_ONCE)
		return;
	first->phase = DIAL_RESOLVING;
	loop_timer_set(role_loop(dialer->process), &first->timer,
	    base_clock_boot_ns() + DIAL_PATIENCE_MS * BASE_NS_PER_MS);
	resolve_start(dialer->resolver, first->target->host, on_resolved, first);
}

bool dial_start(struct dialer *dialer, struct role_id asker, struct target *target, uint64_t id)
{
	struct dial **at = &dialer->dials, *dial;
	unsigned waiting = 0;

	for (; *at; at = &(*at)->next)
		waiting += same_asker((*at)->asker, asker);
	if (waiting >= DIAL_MAX_WAITING)
		return false;
	dial = calloc(1, sizeof(*dial));
	CHECK(dial);
	*dial = (struct dial){ .dialer = dialer,
		.target = target,
		.asker = asker,
		.id = id,
		.asked_ns = base_clock_boot_ns(),
		.failure = DIAL_TIMEOUT,
		.timer = { .fire = on_timer, .arg = dial } };
	*at = dial;
	loop_timer_set(role_loop(dialer->process), &dial->timer,
	    dial->asked_ns + DIAL_LIMIT_MS * BASE_NS_PER_MS);
	start_waiting(dialer, asker);
	return true;
}

void dial_forget(struct dialer *dialer, struct role_id asker)
{
	struct dial *dial = dialer->dials;

	while (dial) {
		struct dial *next = dial->next;

		if (same_asker(dial->asker, asker))
			free_dial(dial);
		dial = next;
	}
}

void dial_forget_all(struct dialer *dialer)
{
	struct dial *dial = dialer->dials;

	while (dial) {
		struct dial *next = dial->next;

		free_dial(dial);
		dial = next;
	}
}
