/*
 * Links (see the header). The one receive loop and the one send queue of the tree: no role checks
 * a sender, a length or a bound by hand. Packets are wiped after use because some carry secrets.
 * Pitfalls: P21, P22, P23, P26, P29, P34, P35, P38.
 */
#include "ipc/link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/log.h"

#define MAX_QUEUED_BYTES ((size_t)1024 * 1024)
#define MAX_PER_WAKEUP   32

struct link_packet {
	struct link_packet *next;
	enum message_id id;
	uint64_t key; /* field 1 of a KEEP_EACH message */
	size_t n;
	char bytes[];
};

static char receive_buffer[MESSAGE_MAX_BYTES + 1];

static void free_packet(struct link_packet *packet)
{
	explicit_bzero(packet->bytes, packet->n);
	free(packet);
}

static void end(struct link *link, bool broken, const char *why)
{
	loop_forget(link->loop, link->fd);
	link->ops->on_end(link->owner, link, broken, why);
}

/* From inside link_send: the end is told by the loop, as a hang-up. */
static void cut(struct link *link, const char *why)
{
	if (link->cut)
		return;
	log_warn("link with %s %u cut: %s", role_name(link->peer.role), link->peer.shard, why);
	link->cut = true;
	(void)shutdown(link->fd, SHUT_RDWR);
}

static void unlink_first(struct link *link)
{
	struct link_packet *packet = link->first;

	link->first = packet->next;
	if (!link->first)
		link->last = NULL;
	link->queued--;
	link->queued_bytes -= packet->n;
	free_packet(packet);
}

static void want_output(struct link *link, bool wanted);

static void flush(struct link *link)
{
	while (link->first) {
		ssize_t n =
		    send(link->fd, link->first->bytes, link->first->n, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			cut(link, strerror(errno));
			return;
		}
		unlink_first(link);
	}
	want_output(link, false);
}

/* The descriptor of a packet, -1 when there is none. Of several only one fits, and it is ours to
 * close as well: *clean says whether it was the only thing beside the packet. */
static int take_fd(struct msghdr *header, bool *clean)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(header);
	bool is_one = c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
		      c->cmsg_len == CMSG_LEN(sizeof(int));
	int fd = -1;

	if (is_one)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	*clean = !(header->msg_flags & MSG_CTRUNC) && (is_one || !c);
	return fd;
}

/* Holds one packet against the rules and hands it on. *fd becomes -1 when the handler has it. */
static enum verdict judge(struct link *link, struct str packet, int *fd, struct err *err)
{
	int handed = *fd;
	struct message message;

	if (message_decode(packet, &message, err))
		return VERDICT_PEER_BROKEN;
	if (!message_may(message.id, (enum role)link->peer.role, (enum role)link->self.role)) {
		err_set(err, "%s may not send %s to %s", role_name(link->peer.role),
		    message_row(message.id)->name, role_name(link->self.role));
		return VERDICT_PEER_BROKEN;
	}
	if (message_wants_fd(&message) != (handed >= 0)) {
		err_set(err, "%s %s a descriptor", message_row(message.id)->name,
		    handed >= 0 ? "must not carry" : "must carry");
		return VERDICT_PEER_BROKEN;
	}
	err_set(err, "refused %s", message_row(message.id)->name);
	*fd = -1;
	return link->ops->on_message(link->owner, link, &message, handed);
}

/* Asked at the moment of the empty read: a peer that sent and left hung up after the events that
 * woke us were taken (F20: an empty packet reads like an end of file). */
static bool hung_up(int fd)
{
	struct pollfd poller = { fd, POLLRDHUP, 0 };

	return poll(&poller, 1, 0) == 1 && (poller.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

/* One packet. False when the link ended (and may be freed already) or nothing is left to read. */
static bool receive_one(struct link *link)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec vector = { receive_buffer, sizeof(receive_buffer) };
	struct msghdr header = { .msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = CMSG_LEN(sizeof(int)) };
	struct err err = { "" };
	enum verdict verdict = VERDICT_PEER_BROKEN;
	ssize_t n = recvmsg(link->fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	bool clean, gone;
	int fd;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	fd = n < 0 ? -1 : take_fd(&header, &clean);
	gone = n < 0 || (n == 0 && hung_up(link->fd));
	if (gone)
		err_set(&err, "%s", link->cut ? "cut here" : "peer is gone");
	else if (n == 0)
		err_set(&err, "empty packet");
	else if (header.msg_flags & MSG_TRUNC)
		err_set(&err, "packet of more than %d bytes", MESSAGE_MAX_BYTES);
	else if (!clean)
		err_set(&err, "more than one descriptor, or something else beside the packet");
	else
		verdict = judge(link, (struct str){ receive_buffer, (size_t)n }, &fd, &err);
	if (n > 0)
		explicit_bzero(receive_buffer, (size_t)n);
	if (fd >= 0) /* Nobody took it. */
		close(fd);
	if (verdict == VERDICT_FINE)
		return true;
	end(link, !gone, err.text);
	return false;
}

static void on_ready(void *arg, uint32_t events)
{
	struct link *link = arg;

	if (events & EPOLLOUT)
		flush(link);
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	for (int i = 0; i < MAX_PER_WAKEUP; i++)
		if (!receive_one(link))
			return;
}

static void want_output(struct link *link, bool wanted)
{
	loop_watch(
	    link->loop, link->fd, EPOLLIN | EPOLLRDHUP | (wanted ? EPOLLOUT : 0), on_ready, link);
}

struct link *link_new(struct loop *loop, int fd, struct role_id self, struct role_id peer,
    uint64_t generation, const struct link_ops *ops, void *owner)
{
	struct link *link = calloc(1, sizeof(*link));

	CHECK(link);
	link->self = self;
	link->peer = peer;
	link->generation = generation;
	link->fd = fd;
	link->loop = loop;
	link->ops = ops;
	link->owner = owner;
	want_output(link, false);
	return link;
}

void link_free(struct link *link)
{
	if (!link)
		return;
	while (link->first)
		unlink_first(link);
	loop_forget(link->loop, link->fd);
	close(link->fd);
	free(link);
}

/* The last of its kind replaces the one that waits, in its place. */
static bool replace_queued(struct link *link, struct link_packet *fresh)
{
	struct link_packet **at = &link->first;

	while (*at && !((*at)->id == fresh->id && (*at)->key == fresh->key))
		at = &(*at)->next;
	if (!*at)
		return false;
	fresh->next = (*at)->next;
	if (link->last == *at)
		link->last = fresh;
	link->queued_bytes += fresh->n - (*at)->n;
	free_packet(*at);
	*at = fresh;
	return true;
}

static bool drop_oldest(struct link *link)
{
	struct link_packet **at = &link->first, *before = NULL, *victim;

	while (*at && message_row((*at)->id)->queue != QUEUE_OLDEST) {
		before = *at;
		at = &(*at)->next;
	}
	victim = *at;
	if (!victim)
		return false;
	*at = victim->next;
	if (link->last == victim)
		link->last = before;
	link->queued--;
	link->queued_bytes -= victim->n;
	link->dropped++;
	free_packet(victim);
	return true;
}

static bool enqueue(struct link *link, enum message_id id, uint64_t key, const struct buf *packet)
{
	enum message_queue queue = message_row(id)->queue;
	struct link_packet *fresh = malloc(sizeof(*fresh) + packet->len);

	CHECK(fresh);
	*fresh = (struct link_packet){ .id = id, .key = key, .n = packet->len };
	memcpy(fresh->bytes, packet->data, packet->len);
	if ((queue == QUEUE_KEEP || queue == QUEUE_KEEP_EACH) && replace_queued(link, fresh))
		return true;
	while (
	    link->queued >= LINK_MAX_QUEUED || link->queued_bytes + fresh->n > MAX_QUEUED_BYTES) {
		if (drop_oldest(link))
			continue;
		free_packet(fresh);
		if (queue == QUEUE_OLDEST) {
			link->dropped++;
			return true;
		}
		cut(link, "the peer does not read");
		return false;
	}
	if (link->last)
		link->last->next = fresh;
	else
		link->first = fresh;
	link->last = fresh;
	link->queued++;
	link->queued_bytes += fresh->n;
	want_output(link, true);
	return true;
}

static ssize_t send_with_fd(struct link *link, const struct buf *packet, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec vector = { packet->data, packet->len };
	struct msghdr header = { .msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	return sendmsg(link->fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool link_send(struct link *link, enum message_id id, const void *body, int fd)
{
	const struct message_row *row = message_row(id);
	struct buf packet = buf_make_secret(MESSAGE_MAX_BYTES);
	struct err err = { "" };
	bool sent = false;
	uint64_t key = 0;
	ssize_t n;

	if (link->cut)
		return false;
	if (!message_may(id, (enum role)link->self.role, (enum role)link->peer.role) ||
	    message_encode(id, body, &packet, &err)) {
		log_error("not sent to %s: %s %s", role_name(link->peer.role), row->name,
		    err.text[0] ? err.text : "is not for it");
		goto out;
	}
	if (row->queue == QUEUE_KEEP_EACH)
		memcpy(&key, (const char *)body + row->fields[0].offset, sizeof(key));
	if (fd < 0 && link->first) {
		sent = enqueue(link, id, key, &packet);
		goto out;
	}
	n = fd < 0 ? send(link->fd, packet.data, packet.len, MSG_NOSIGNAL | MSG_DONTWAIT)
		   : send_with_fd(link, &packet, fd);
	if (n >= 0)
		sent = true;
	else if (errno == EAGAIN && fd < 0)
		sent = enqueue(link, id, key, &packet);
	else
		cut(link, strerror(errno));
out:
	buf_free(&packet);
	return sent;
}

enum verdict link_refuse(void *context, const struct link *link, const void *message, int fd)
{
	(void)context;
	(void)link;
	(void)message;
	if (fd >= 0)
		close(fd);
	return VERDICT_PEER_BROKEN;
}
