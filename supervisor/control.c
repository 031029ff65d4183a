/*
 * Control links (see the header). A packet with a descriptor attached cannot plant it: there is no
 * room for one, so that the kernel drops it and says MSG_CTRUNC.
 */
#include "supervisor/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"

struct control_packet {
	struct control_packet *next;
	int fd;
	size_t n;
	char bytes[];
};

int control_open(struct control *control, int *role_end)
{
	int pair[2];

	*control = (struct control){ .fd = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return -1;
	/* The role's end blocks: dialers wait for their targets before they have a loop. */
	CHECK(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0);
	control->fd = pair[0];
	*role_end = pair[1];
	return 0;
}

static void drop_first(struct control *control)
{
	struct control_packet *packet = control->first;

	control->first = packet->next;
	if (!control->first)
		control->last = NULL;
	control->queued--;
	if (packet->fd >= 0)
		close(packet->fd);
	free(packet);
}

void control_close(struct control *control)
{
	while (control->first)
		drop_first(control);
	if (control->fd >= 0)
		close(control->fd);
	control->fd = -1;
}

static bool send_packet(int fd, const struct control_packet *packet)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} room = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec vector = { (void *)packet->bytes, packet->n };
	struct msghdr header = { .msg_iov = &vector, .msg_iovlen = 1 };

	if (packet->fd >= 0) {
		memcpy(CMSG_DATA(&room.header), &packet->fd, sizeof(packet->fd));
		header.msg_control = room.bytes;
		header.msg_controllen = CMSG_LEN(sizeof(int));
	}
	return sendmsg(fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)packet->n;
}

bool control_flush(struct control *control)
{
	while (control->first && send_packet(control->fd, control->first))
		drop_first(control);
	/* EPIPE: the role is gone, and its reaping is near. */
	while (control->first && errno != EAGAIN)
		drop_first(control);
	return control->first != NULL;
}

bool control_send(
    struct control *control, const struct us_ctl *ctl, const void *more, size_t more_bytes, int fd)
{
	struct control_packet *packet;
	struct us_ctl head = *ctl;

	if (control->fd < 0)
		return true;
	CHECK(more_bytes <= CONTROL_MAX_MORE);
	packet = malloc(sizeof(*packet) + sizeof(head) + more_bytes);
	CHECK(packet);
	head.magic = CONTROL_MAGIC;
	head.seq = ++control->sent;
	*packet = (struct control_packet){ .fd = -1, .n = sizeof(head) + more_bytes };
	memcpy(packet->bytes, &head, sizeof(head));
	if (more_bytes)
		memcpy(packet->bytes + sizeof(head), more, more_bytes);
	if (fd >= 0 && (packet->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3)) < 0) {
		free(packet);
		return false;
	}
	if (control->last)
		control->last->next = packet;
	else
		control->first = packet;
	control->last = packet;
	control->queued++;
	(void)control_flush(control);
	return control->queued <= CONTROL_MAX_QUEUED;
}

/* Asked at the moment of the empty read: a role that sent its last word and left hung up after
 * the events that woke us were taken (F20: an empty packet reads like an end of file). */
static bool hung_up(int fd)
{
	struct pollfd poller = { fd, POLLRDHUP, 0 };

	return poll(&poller, 1, 0) == 1 && (poller.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

enum control_got control_receive_raw(
    struct control *control, void *bytes, size_t size, struct err *err)
{
	struct iovec vector = { bytes, size };
	struct msghdr header = { .msg_iov = &vector, .msg_iovlen = 1 };
	ssize_t n = recvmsg(control->fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? CONTROL_NOTHING : CONTROL_CLOSED;
	if (n == 0 && hung_up(control->fd))
		return CONTROL_CLOSED;
	if (header.msg_flags & MSG_CTRUNC)
		(void)err_set(err, "a control packet with a descriptor");
	else if (header.msg_flags & MSG_TRUNC || (size_t)n != size)
		(void)err_set(err, "a control packet of %s%zd bytes, expected %zu",
		    header.msg_flags & MSG_TRUNC ? "more than " : "", n, size);
	else
		return CONTROL_PACKET;
	return CONTROL_BAD;
}

enum control_got control_receive(struct control *control, struct us_ctl *ctl, struct err *err)
{
	enum control_got got = control_receive_raw(control, ctl, sizeof(*ctl), err);

	if (got != CONTROL_PACKET)
		return got;
	if (ctl->magic != CONTROL_MAGIC)
		(void)err_set(err, "a control packet with magic %#x", ctl->magic);
	else if (ctl->seq <= control->received)
		/* Ascending, not gapless: a role drops what a stopped supervisor does not take. */
		(void)err_set(err, "control packet %llu after %llu", (unsigned long long)ctl->seq,
		    (unsigned long long)control->received);
	else if (ctl->blob[sizeof(ctl->blob) - 1] != '\0')
		(void)err_set(err, "a control packet whose text does not end");
	else {
		control->received = ctl->seq;
		return CONTROL_PACKET;
	}
	return CONTROL_BAD;
}
