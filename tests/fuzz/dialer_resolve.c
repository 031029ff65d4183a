/*
 * Goal: no line of /etc/hosts and no answer of a DNS server crashes the dialer, and a name has
 * never more addresses than there is room for. The resolver is compiled in here, with its sockets
 * played: whatever it asks, the input is the answer, with the id of the question in it, so that
 * c-ares reads on.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define HEAD_BYTES 12
#define ASKED      4

static struct {
	const unsigned char *bytes;
	size_t n;
	unsigned char asked[ASKED][512]; /* a ring */
	size_t asked_bytes[ASKED];
	unsigned first, count;
	struct sockaddr_storage address;
	socklen_t address_bytes;
} server;

static int played_socket(int domain, int type, int protocol)
{
	(void)domain;
	(void)type;
	(void)protocol;
	return socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static int played_connect(int fd, const struct sockaddr *address, socklen_t n)
{
	(void)fd;
	server.address_bytes = n < sizeof(server.address) ? n : sizeof(server.address);
	memcpy(&server.address, address, server.address_bytes);
	return 0;
}

/* c-ares compares it with that of the server that it asked. */
static int played_peer(int fd, struct sockaddr *address, socklen_t *n)
{
	(void)fd;
	*n = server.address_bytes < *n ? server.address_bytes : *n;
	memcpy(address, &server.address, *n);
	return 0;
}

/* Up to the end of its question. */
static size_t question_end(const unsigned char *query, size_t n)
{
	size_t at = HEAD_BYTES;

	while (at < n && query[at])
		at += 1U + query[at];
	return at + 5 < n ? at + 5 : n;
}

static ssize_t played_receive(int fd, void *bytes, size_t size, int flags)
{
	unsigned char *out = bytes;
	const unsigned char *query = server.asked[server.first % ASKED];
	size_t head = server.n < HEAD_BYTES ? server.n : HEAD_BYTES, end, rest;

	(void)fd;
	(void)flags;
	if (server.count == 0 || size < 1024) {
		errno = EAGAIN;
		return -1;
	}
	end = server.asked_bytes[server.first % ASKED];
	server.first++;
	server.count--;
	memcpy(out, server.bytes, head);
	if (head < HEAD_BYTES)
		return (ssize_t)head;
	memcpy(out, query, 2);         /* the id */
	memcpy(out + 4, query + 4, 2); /* one question */
	memcpy(out + HEAD_BYTES, query + HEAD_BYTES, end - HEAD_BYTES);
	rest = server.n - head < size - end ? server.n - head : size - end;
	memcpy(out + end, server.bytes + head, rest);
	return (ssize_t)(end + rest);
}

static ssize_t played_send(int fd, const void *bytes, size_t n, int flags)
{
	unsigned at = (server.first + server.count) % ASKED;

	(void)fd;
	(void)flags;
	if (n < HEAD_BYTES || n > sizeof(server.asked[0]) || server.count == ASKED)
		return (ssize_t)n;
	memcpy(server.asked[at], bytes, n);
	server.asked_bytes[at] = question_end(bytes, n);
	server.count++;
	return (ssize_t)n;
}

#define socket(...)      played_socket(__VA_ARGS__)
#define connect(...)     played_connect(__VA_ARGS__)
#define getpeername(...) played_peer(__VA_ARGS__)
#define recv(...)        played_receive(__VA_ARGS__)
#define send(...)        played_send(__VA_ARGS__)
/* NOLINTNEXTLINE(bugprone-suspicious-include): its sockets are played above */
#include "dialer/resolve.c"
#undef socket
#undef connect
#undef getpeername
#undef recv
#undef send

#include "tests/fuzz/fuzz.h"

static bool answered;

static void on_done(void *arg, const struct resolve_answer *answer)
{
	(void)arg;
	MUST(answer->count <= RESOLVE_MAX);
	answered = true;
}

/* What the loop would do when the socket can be read. */
static void ask_dns(struct resolver *resolver)
{
	ares_socket_t fds[ARES_GETSOCK_MAXNUM];
	int bits;

	answered = false;
	resolve_start(resolver, "hub-a.example", on_done, NULL);
	for (int i = 0; i < 8 && !answered; i++) {
		bits = ares_getsock(resolver->channel, fds, ARES_GETSOCK_MAXNUM);
		for (int s = 0; s < ARES_GETSOCK_MAXNUM; s++)
			if (ARES_GETSOCK_READABLE(bits, s))
				ares_process_fd(resolver->channel, fds[s], ARES_SOCKET_BAD);
	}
	ares_cancel(resolver->channel);
	resolve_cancel(resolver, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct loop *loop;
	struct resolve_answer hosts = { 0 };
	struct resolver *resolver;
	uint8_t literal[16];
	char name[256];

	if (!loop) {
		log_open("fuzz", LOG_ERROR + 1);
		loop = loop_new();
	}
	resolve_hosts((struct str){ (const char *)data, size }, "hub-a.example", &hosts);
	MUST(hosts.count <= RESOLVE_MAX);
	(void)snprintf(
	    name, sizeof(name), "%.*s", (int)(size < 255 ? size : 255), (const char *)data);
	(void)resolve_literal(name, literal);

	server.bytes = data;
	server.n = size;
	server.first = server.count = 0;
	resolver = resolver_new(loop);
	resolver_know(resolver, "hub-a.example");
	if (resolver->channel)
		ask_dns(resolver);
	resolver_free(resolver);
	return 0;
}
