/*
 * The resolver (see the header). It makes its own sockets for c-ares, non-blocking, connected and
 * read without a source address, because the filter of a dialer knows no other (F17, F23).
 * It judges no address: dialer/ranges.c does.
 * Pitfall: P85.
 */
#include "dialer/resolve.h"

#include <ares.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"

#define HOSTS_MAX_BYTES 262144
#define SOCKETS_MAX     32
/* Two tries of one second: of a dial's 5 s enough is left to try the kept address (C4, B12). */
#define TRY_MS 1000
#define TRIES  2

struct name {
	struct name *next;
	struct resolve_answer hosts; /* from /etc/hosts */
	struct resolve_answer kept;  /* last answer of DNS, the address that worked first */
	char host[256];
};

struct query {
	struct query *next;
	struct resolver *resolver;
	struct name *name;
	resolve_done_fn *done; /* NULL: cancelled */
	void *arg;
};

struct socket_slot {
	struct resolver *resolver;
	int fd; /* -1: free */
};

struct resolver {
	struct loop *loop;
	ares_channel channel; /* NULL: no DNS, literals and /etc/hosts only */
	struct loop_timer timer;
	struct socket_slot sockets[SOCKETS_MAX];
	struct name *names;
	struct query *queries;
	struct buf hosts;
};

/* --- Pure helpers --------------------------------------------------------------------------- */

bool resolve_literal(const char *host, uint8_t address[16])
{
	size_t n = strlen(host);
	char inner[64];

	if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
		if (!str_copy(inner, sizeof(inner), (struct str){ host + 1, n - 2 }))
			return false;
		return inet_pton(AF_INET6, inner, address) == 1;
	}
	if (inet_pton(AF_INET6, host, address) == 1)
		return true;
	memset(address, 0, 10);
	address[10] = address[11] = 0xff;
	return inet_pton(AF_INET, host, address + 12) == 1;
}

void resolve_add(struct resolve_answer *answer, const uint8_t address[16])
{
	for (unsigned i = 0; i < answer->count; i++)
		if (memcmp(answer->addresses[i], address, 16) == 0)
			return;
	if (answer->count < RESOLVE_MAX)
		memcpy(answer->addresses[answer->count++], address, 16);
}

/* Takes the next word of a line; empty at its end or at a comment. */
static struct str next_word(struct str *line)
{
	struct str word;

	while (line->n && strchr(" \t\r", line->p[0]))
		line->p++, line->n--;
	word = (struct str){ line->p, 0 };
	while (line->n && !strchr(" \t\r#", line->p[0]))
		line->p++, line->n--, word.n++;
	return word;
}

static void hosts_line(struct str line, const char *host, struct resolve_answer *answer)
{
	struct str word = next_word(&line);
	uint8_t address[16];
	char literal[64];

	if (word.n == 0 || !str_copy(literal, sizeof(literal), word) ||
	    !resolve_literal(literal, address))
		return;
	while ((word = next_word(&line)).n > 0)
		if (word.n == strlen(host) && strncasecmp(word.p, host, word.n) == 0)
			resolve_add(answer, address);
}

void resolve_hosts(struct str text, const char *host, struct resolve_answer *answer)
{
	while (text.n) {
		const char *end = memchr(text.p, '\n', text.n);
		size_t n = end ? (size_t)(end - text.p) : text.n;

		hosts_line((struct str){ text.p, n }, host, answer);
		n += end != NULL;
		text.p += n;
		text.n -= n;
	}
}

/* --- Sockets of c-ares ---------------------------------------------------------------------- */

static ares_socket_t dns_socket(int domain, int type, int protocol, void *arg)
{
	(void)arg;
	return socket(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
}

static int dns_close(ares_socket_t fd, void *arg)
{
	(void)arg;
	return close(fd);
}

static int dns_connect(
    ares_socket_t fd, const struct sockaddr *address, ares_socklen_t n, void *arg)
{
	(void)arg;
	return connect(fd, address, n);
}

/* The socket is connected, so the kernel already dropped what other hosts sent; c-ares compares
 * the source again and gets the peer's address for it. */
static ares_ssize_t dns_receive(ares_socket_t fd, void *bytes, size_t n, int flags,
    struct sockaddr *from, ares_socklen_t *from_n, void *arg)
{
	(void)arg;
	if (from && from_n && getpeername(fd, from, from_n) != 0)
		return -1;
	return recv(fd, bytes, n, flags);
}

/* One vector at a time: c-ares goes on after a short write. */
static ares_ssize_t dns_send(ares_socket_t fd, const struct iovec *vectors, int count, void *arg)
{
	(void)arg;
	if (count < 1)
		return 0;
	return send(fd, vectors[0].iov_base, vectors[0].iov_len, MSG_NOSIGNAL);
}

static const struct ares_socket_functions dns_functions = { dns_socket, dns_close, dns_connect,
	dns_receive, dns_send };

static void arm_timer(struct resolver *resolver)
{
	struct timeval left, *next = ares_timeout(resolver->channel, NULL, &left);

	if (!next) {
		loop_timer_cancel(resolver->loop, &resolver->timer);
		return;
	}
	loop_timer_set(resolver->loop, &resolver->timer,
	    base_clock_boot_ns() + next->tv_sec * BASE_NS_PER_S + next->tv_usec * 1000LL);
}

static void on_timer(void *arg, int64_t now_ns)
{
	struct resolver *resolver = arg;

	(void)now_ns;
	ares_process_fd(resolver->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	arm_timer(resolver);
}

static void on_socket(void *arg, uint32_t events)
{
	struct socket_slot *slot = arg;
	struct resolver *resolver = slot->resolver;
	int fd = slot->fd;

	ares_process_fd(resolver->channel, events & ~(uint32_t)EPOLLOUT ? fd : ARES_SOCKET_BAD,
	    events & EPOLLOUT ? fd : ARES_SOCKET_BAD);
	arm_timer(resolver);
}

static void on_socket_state(void *arg, ares_socket_t fd, int readable, int writable)
{
	struct resolver *resolver = arg;
	struct socket_slot *slot = NULL;

	for (unsigned i = 0; i < SOCKETS_MAX; i++)
		if (resolver->sockets[i].fd == fd || (!slot && resolver->sockets[i].fd < 0))
			slot = &resolver->sockets[i];
	if (!readable && !writable) {
		loop_forget(resolver->loop, fd);
		if (slot && slot->fd == fd)
			slot->fd = -1;
		return;
	}
	if (!slot) /* not watched: the query ends by its time-out */
		return;
	slot->fd = fd;
	loop_watch(resolver->loop, fd, (readable ? EPOLLIN : 0) | (writable ? EPOLLOUT : 0),
	    on_socket, slot);
}

/* --- Life ----------------------------------------------------------------------------------- */

static void read_hosts(struct resolver *resolver)
{
	int fd = open("/etc/hosts", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char chunk[4096];
	ssize_t n;

	resolver->hosts = buf_make(HOSTS_MAX_BYTES);
	if (fd < 0)
		return;
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		buf_append(&resolver->hosts, chunk, (size_t)n);
	if (resolver->hosts.failed)
		log_warn(
		    "/etc/hosts is longer than %d bytes: the rest is not used", HOSTS_MAX_BYTES);
	close(fd);
}

struct resolver *resolver_new(struct loop *loop)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));
	struct ares_options options = { .timeout = TRY_MS,
		.tries = TRIES,
		.lookups = (char *)"b",
		.sock_state_cb = on_socket_state,
		.sock_state_cb_data = resolver };
	int code;

	CHECK(resolver);
	resolver->loop = loop;
	resolver->timer = (struct loop_timer){ .fire = on_timer, .arg = resolver };
	for (unsigned i = 0; i < SOCKETS_MAX; i++)
		resolver->sockets[i] = (struct socket_slot){ resolver, -1 };
	read_hosts(resolver);
	code = ares_library_init(ARES_LIB_INIT_ALL);
	if (code == ARES_SUCCESS)
		code = ares_init_options(&resolver->channel, &options,
		    ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
			ARES_OPT_SOCK_STATE_CB);
	if (code != ARES_SUCCESS) {
		log_warn("no DNS: %s; literal addresses and /etc/hosts only", ares_strerror(code));
		resolver->channel = NULL;
		return resolver;
	}
	ares_set_socket_functions(resolver->channel, &dns_functions, NULL);
	return resolver;
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	for (struct query *query = resolver->queries; query; query = query->next)
		query->done = NULL;
	if (resolver->channel)
		ares_destroy(resolver->channel); /* ends every query */
	ares_library_cleanup();
	loop_timer_cancel(resolver->loop, &resolver->timer);
	while (resolver->names) {
		struct name *name = resolver->names;

		resolver->names = name->next;
		free(name);
	}
	buf_free(&resolver->hosts);
	free(resolver);
}

static struct name *find_name(const struct resolver *resolver, const char *host)
{
	struct name *name = resolver->names;

	while (name && strcmp(name->host, host) != 0)
		name = name->next;
	return name;
}

void resolver_know(struct resolver *resolver, const char *host)
{
	struct name *name;

	if (find_name(resolver, host))
		return;
	name = calloc(1, sizeof(*name));
	CHECK(name && str_copy(name->host, sizeof(name->host), str_of(host)));
	resolve_hosts(buf_str(&resolver->hosts), host, &name->hosts);
	name->next = resolver->names;
	resolver->names = name;
}

/* --- Asking --------------------------------------------------------------------------------- */

static void take_answer(struct name *name, const struct ares_addrinfo *info)
{
	struct resolve_answer fresh = { 0 };

	/* What worked stays first as long as the name still has it. */
	for (int pass = 0; pass < 2; pass++)
		for (const struct ares_addrinfo_node *node = info->nodes; node;
		     node = node->ai_next) {
			uint8_t address[16] = { [10] = 0xff, [11] = 0xff };

			if (node->ai_family == AF_INET)
				memcpy(address + 12,
				    &((const struct sockaddr_in *)node->ai_addr)->sin_addr, 4);
			else if (node->ai_family == AF_INET6)
				memcpy(address,
				    &((const struct sockaddr_in6 *)node->ai_addr)->sin6_addr, 16);
			else
				continue;
			if (pass == 1 ||
			    (name->kept.count && memcmp(address, name->kept.addresses[0], 16) == 0))
				resolve_add(&fresh, address);
		}
	if (fresh.count)
		name->kept = fresh;
}

static void on_addresses(void *arg, int status, int timeouts, struct ares_addrinfo *info)
{
	struct query *query = arg, **at = &query->resolver->queries;
	struct name *name = query->name;

	(void)timeouts;
	if (status == ARES_SUCCESS && info)
		take_answer(name, info);
	else if (status != ARES_EDESTRUCTION)
		log_warn("name %s: %s%s", name->host, ares_strerror(status),
		    name->kept.count ? "; its last known address is used" : "");
	if (info)
		ares_freeaddrinfo(info);
	while (*at != query)
		at = &(*at)->next;
	*at = query->next;
	if (query->done)
		query->done(query->arg, &name->kept);
	free(query);
}

void resolve_start(struct resolver *resolver, const char *host, resolve_done_fn *done, void *arg)
{
	struct ares_addrinfo_hints hints = {
		.ai_family = AF_UNSPEC, .ai_flags = ARES_AI_NOSORT, .ai_socktype = SOCK_STREAM
	};
	struct name *name = find_name(resolver, host);
	struct resolve_answer answer = { 0 };
	struct query *query;

	if (resolve_literal(host, answer.addresses[0])) {
		answer.count = 1;
		done(arg, &answer);
		return;
	}
	if (!name || name->hosts.count || !resolver->channel) {
		done(arg, name ? &name->hosts : &answer);
		return;
	}
	query = calloc(1, sizeof(*query));
	CHECK(query);
	*query = (struct query){ resolver->queries, resolver, name, done, arg };
	resolver->queries = query;
	ares_getaddrinfo(resolver->channel, host, NULL, &hints, on_addresses, query);
	arm_timer(resolver);
}

const struct resolve_answer *resolve_kept(const struct resolver *resolver, const char *host)
{
	const struct name *name = find_name(resolver, host);

	return name && name->kept.count ? &name->kept : NULL;
}

void resolve_cancel(struct resolver *resolver, const void *arg)
{
	for (struct query *query = resolver->queries; query; query = query->next)
		if (query->arg == arg)
			query->done = NULL;
}

void resolve_worked(struct resolver *resolver, const char *host, const uint8_t address[16])
{
	struct name *name = find_name(resolver, host);
	struct resolve_answer *kept = name ? &name->kept : NULL;
	uint8_t first[16];

	for (unsigned i = 1; kept && i < kept->count; i++)
		if (memcmp(kept->addresses[i], address, 16) == 0) {
			memcpy(first, kept->addresses[0], 16);
			memcpy(kept->addresses[0], address, 16);
			memcpy(kept->addresses[i], first, 16);
		}
}
