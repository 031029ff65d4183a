/*
 * What a hostile role tries with the network (see calls.h): sockets of its own, those that it was
 * given, the settings of both.
 * Pitfalls: P53, P54, P56.
 */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include "tests/attack/calls.h"

#define MPTCP 262

static struct sockaddr_in loopback(uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return to;
}

static int connect_to(int fd, uint16_t port)
{
	struct sockaddr_in to = loopback(port), peer;
	socklen_t size = sizeof(peer);
	int error = 0;

	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		error = errno;
	/* The answer of a filter is not believed: is it connected? */
	return getpeername(fd, (struct sockaddr *)&peer, &size) == 0 ? 0 : error ? error : EIO;
}

static int dial_with(int protocol, uint16_t port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, protocol);

	return fd < 0 ? errno : connect_to(fd, port);
}

static int dial(const struct scene *scene)
{
	return dial_with(0, scene->port);
}

static int dial_target(const struct scene *scene)
{
	return dial_with(0, scene->target_port);
}

static int dial_multipath(const struct scene *scene)
{
	return dial_with(MPTCP, scene->port);
}

static int connect_handed(const struct scene *scene)
{
	return connect_to(FD_SOCKET, scene->port);
}

/* The rest of a connection that somebody else made becomes a socket for anywhere. */
static int disconnect_handed(const struct scene *scene)
{
	struct sockaddr nowhere = { .sa_family = AF_UNSPEC }, peer;
	socklen_t size = sizeof(peer);

	(void)scene;
	(void)connect(FD_CONNECTED, &nowhere, sizeof(nowhere));
	return getpeername(FD_CONNECTED, &peer, &size) != 0 ? 0 : EISCONN;
}

static int send_to_address(const struct scene *scene)
{
	struct sockaddr_in to = loopback(scene->port);

	return attempt_outcome(sendto(
	    FD_SOCKET, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, (struct sockaddr *)&to, sizeof(to)));
}

/* The same by another call: dialers may sendmsg, and Landlock does not see this one. */
static int message_to_address(const struct scene *scene)
{
	struct sockaddr_in to = loopback(scene->port);
	struct iovec vector = { (void *)"x", 1 };
	struct msghdr header = {
		.msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &vector, .msg_iovlen = 1
	};

	return attempt_outcome(sendmsg(FD_SOCKET, &header, MSG_FASTOPEN | MSG_NOSIGNAL));
}

static int many_messages(const struct scene *scene)
{
	struct iovec vector = { (void *)"x", 1 };
	struct mmsghdr headers = { .msg_hdr = { .msg_iov = &vector, .msg_iovlen = 1 } };

	(void)scene;
	return attempt_outcome(sendmmsg(FD_CONNECTED, &headers, 1, MSG_NOSIGNAL));
}

static int receive_many(const struct scene *scene)
{
	struct mmsghdr headers = { .msg_len = 0 };
	int result = recvmmsg(FD_CONNECTED, &headers, 1, MSG_DONTWAIT, NULL);

	(void)scene;
	return result < 0 && errno != EAGAIN ? errno : 0;
}

static int bind_handed(const struct scene *scene)
{
	struct sockaddr_in to = loopback(0);

	(void)scene;
	return attempt_outcome(bind(FD_SOCKET, (struct sockaddr *)&to, sizeof(to)));
}

static int pass_descriptor(const struct scene *scene)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec vector = { (void *)"x", 1 };
	struct msghdr header = { .msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	const int fd = FD_PROGRAM;

	(void)scene;
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	return attempt_outcome(sendmsg(FD_LINK, &header, MSG_NOSIGNAL));
}

static int set(int fd, int level, int option, int value)
{
	return attempt_outcome(setsockopt(fd, level, option, &value, sizeof(value)));
}

/* Programs on a connection would see and change what passes. */
static int filter_handed(const struct scene *scene)
{
	struct sock_filter all = { BPF_RET | BPF_K, 0, 0, 0xffff };
	struct sock_fprog program = { 1, &all };

	(void)scene;
	return attempt_outcome(
	    setsockopt(FD_CONNECTED, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)));
}

static int mark_handed(const struct scene *scene)
{
	(void)scene;
	return set(FD_CONNECTED, SOL_SOCKET, SO_MARK, 7);
}

static int force_buffer(const struct scene *scene)
{
	(void)scene;
	return set(FD_CONNECTED, SOL_SOCKET, SO_RCVBUFFORCE, 4096);
}

static int reuse_port(const struct scene *scene)
{
	(void)scene;
	return set(FD_SOCKET, SOL_SOCKET, SO_REUSEPORT, 1);
}

static int linger(const struct scene *scene)
{
	(void)scene;
	return set(FD_CONNECTED, IPPROTO_TCP, TCP_QUICKACK, 1);
}

static int pass_credentials(const struct scene *scene)
{
	(void)scene;
	return set(FD_LINK, SOL_SOCKET, SO_PASSCRED, 1);
}

TRY(listen_handed, listen(FD_BOUND, 1))
TRY(any_device, setsockopt(FD_SOCKET, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3))
TRY(ask_tcp, getsockopt(FD_CONNECTED, IPPROTO_TCP, TCP_INFO, (char[256]){ 0 }, &(socklen_t){ 256 }))
TRY(urgent, send(FD_CONNECTED, "x", 1, MSG_OOB | MSG_NOSIGNAL))
TRY(own_unix, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))
TRY(own_netlink, socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0))
TRY(own_udp, socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0))
TRY(own_tcp_6, socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0))
TRY(own_udp_6, socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0))
TRY(own_raw, socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP))
TRY(own_packet, socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0))
TRY(own_vsock, socket(40, SOCK_STREAM | SOCK_CLOEXEC, 0))
TRY(own_pair, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, (int[2]){ 0 }))
TRY(own_pipe, pipe2((int[2]){ 0 }, O_CLOEXEC))
TRY(own_event, eventfd(0, EFD_CLOEXEC))
TRY(own_epoll, epoll_create1(EPOLL_CLOEXEC))
TRY(own_timer, timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC))
TRY(own_signals, syscall(SYS_signalfd4, -1, &(uint64_t){ 0 }, 8, SFD_CLOEXEC))
TRY(count_bytes, ioctl(FD_CONNECTED, FIONREAD, &(int){ 0 }))
TRY(ask_interfaces, ioctl(FD_CONNECTED, SIOCGIFINDEX, (char[64]){ 'l', 'o' }))

#define PASSING (ROLE_DIALERS | BIT(MONITOR))

static const struct attempt table[] = {
	{ "connects a socket of its own", dial, RUNNER, 0, false },
	{ "connects to a target of its own", dial_target, ROLE_DIALERS | RUNNER, 0, false },
	{ "connects by several paths", dial_multipath, RUNNER, SECCOMP, true },
	{ "connects a handed socket", connect_handed, RUNNER, LANDLOCK, false },
	{ "frees a handed connection for another", disconnect_handed, ROLE_DIALERS | RUNNER, 0,
	    false },
	{ "sends to an address", send_to_address, RUNNER, SECCOMP, false },
	{ "sends a message to an address", message_to_address, RUNNER, SECCOMP, false },
	{ "sends urgent bytes", urgent, RUNNER, SECCOMP, false },
	{ "sends several messages at once", many_messages, RUNNER, SECCOMP, false },
	{ "receives several at once", receive_many, RUNNER, SECCOMP, false },
	{ "binds a handed socket", bind_handed, RUNNER, LANDLOCK | SECCOMP, false },
	{ "listens on a handed socket", listen_handed, RUNNER, SECCOMP, false },
	{ "makes a local socket", own_unix, RUNNER, SECCOMP, false },
	{ "makes a netlink socket", own_netlink, RUNNER, SECCOMP, false },
	{ "makes a datagram socket", own_udp, ROLE_DIALERS | RUNNER, 0, false },
	{ "makes a socket of IPv6", own_tcp_6, ROLE_DIALERS | RUNNER, 0, true },
	{ "makes a datagram socket of IPv6", own_udp_6, ROLE_DIALERS | RUNNER, 0, true },
	{ "makes a raw socket", own_raw, 0, USER | SECCOMP, true },
	{ "makes a packet socket", own_packet, 0, USER | SECCOMP, true },
	{ "makes a socket to the host", own_vsock, RUNNER, SECCOMP, true },
	{ "makes a pair of sockets", own_pair, RUNNER, SECCOMP, false },
	{ "makes a pipe", own_pipe, RUNNER, SECCOMP, false },
	{ "makes an event counter", own_event, RUNNER, SECCOMP, false },
	{ "makes another event loop", own_epoll, RUNNER, SECCOMP, false },
	{ "makes another timer", own_timer, RUNNER, SECCOMP, false },
	{ "makes a descriptor of signals", own_signals, RUNNER, SECCOMP, false },
	/* Judged by the receiver instead: packets.c. */
	{ "passes a descriptor on", pass_descriptor, PASSING | RUNNER, 0, false },
	{ "attaches a program to a connection", filter_handed, RUNNER, SECCOMP, true },
	{ "marks a connection", mark_handed, 0, USER | SECCOMP, true },
	{ "forces the buffer of a connection", force_buffer, 0, USER | SECCOMP, true },
	{ "shares a port", reuse_port, RUNNER, SECCOMP, false },
	{ "chooses a device", any_device, RUNNER, SECCOMP, true },
	{ "asks for what TCP knows", ask_tcp, RUNNER, SECCOMP, false },
	{ "sets an option that is not listed", linger, RUNNER, SECCOMP, false },
	{ "asks for credentials over its link", pass_credentials, RUNNER, SECCOMP, false },
	{ "counts the bytes of a connection", count_bytes, RUNNER, SECCOMP, false },
	{ "asks for interfaces", ask_interfaces, RUNNER, SECCOMP, false },
};
LIST(network_attempts, table);
