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

static struct {
	const unsigned char *bytes;
	size_t n;
	unsigned char id[2];
	int answers;
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

static ssize_t played_receive(int fd, void *bytes, size_t size, int flags)
{
	size_t n = server.n < size ? server.n : size;

	(void)fd;
	(void)flags;
	if (server.answers-- <= 0) {
		errno = EAGAIN;
		return -1;
	}
	memcpy(bytes, server.bytes, n);
	if (n >= 2)
		memcpy(bytes, server.id, 2);
	return (ssize_t)n;
}

static ssize_t played_send(int fd, const void *bytes, size_t n, int flags)
{
	(void)fd;
	(void)flags;
	if (n >= 2)
		memcpy(server.id, bytes, 2);
	server.answers++;
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
	server.answers = 0;
	resolver = resolver_new(loop);
	if (resolver->channel)
		ask_dns(resolver);
	resolver_free(resolver);
	return 0;
}
