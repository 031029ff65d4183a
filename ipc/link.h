/*
 * One SEQPACKET link with one peer: whole messages in, whole messages out, bounded queue. The
 * sender of a message is the link that it came in by. What a peer sends is checked here for all
 * roles: rights, form, bounds, descriptor (F4, F20, F22); handlers never see a bad message.
 */
#ifndef IPC_LINK_H
#define IPC_LINK_H

#include <stdint.h>

#include "ipc/loop.h"
#include "ipc/messages.h"
#include "policy/roles.h"

/* What a handler says of the message. PEER_BROKEN: it lies or violates the protocol: the link is
 * cut and the sender reported. */
enum verdict { VERDICT_FINE, VERDICT_PEER_BROKEN };

struct link {
	struct role_id self, peer;
	uint64_t generation;
	int fd;
	struct loop *loop;
	const struct link_ops *ops;
	void *owner;
	struct link_packet *first, *last; /* waiting to be sent */
	unsigned queued;
	size_t queued_bytes;
	uint64_t dropped; /* messages of QUEUE_OLDEST that never left */
	bool cut;
};

struct link_ops {
	enum verdict (*on_message)(void *owner, struct link *link, const struct message *, int fd);
	/* The link is dead (hang-up, queue full, bad message when broken is set): free it. Called
	 * at most once, never from inside link_send. */
	void (*on_end)(void *owner, struct link *link, bool broken, const char *why);
};

#define LINK_MAX_QUEUED 256

/* Takes over the descriptor; whether it blocks does not matter: no call here waits. */
struct link *link_new(struct loop *loop, int fd, struct role_id self, struct role_id peer,
    uint64_t generation, const struct link_ops *ops, void *owner);
/* Closes and frees; queued messages are wiped and lost. NULL is fine. */
void link_free(struct link *link);
/* Sends or queues. body: the struct msg_* of id; fd: -1, or a descriptor that is duplicated into
 * the packet and stays the caller's. False when the link is cut, the message may not travel here,
 * or a field is out of bounds (logged: our own bug). */
bool link_send(struct link *link, enum message_id id, const void *body, int fd);

/* The handler of messages that a role never gets (ipc/dispatch.h): always PEER_BROKEN. */
enum verdict link_refuse(void *, const struct link *, const void *, int fd);

#endif
