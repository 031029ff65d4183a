/*
 * The observer: reads the peer hub's one Lease and tells the elector bounded numbers, so that the
 * process with its hand on the fence never parses what the peer's server sends (F18). It holds the
 * peer's read-only identity. It must not judge leadership, age or terms: the elector does.
 *
 *   peer      what an answer means, what a Lease says, when to look again; pure
 *   look      one look: the Lease and, where needed, the identity of the cluster
 *   watch     events of the Lease, and the looks between them
 *   messages  what it is asked and given
 */
#ifndef OBSERVER_OBSERVER_H
#define OBSERVER_OBSERVER_H

#include "kube/client.h"
#include "kube/lease.h"
#include "kube/watch.h"
#include "observer/peer.h"

/* One own look and the elector's questions. */
#define OBSERVER_LOOKS 4

struct observer;

struct look {
	struct observer *observer; /* NULL: free */
	uint64_t nonce;            /* 0: of our own accord */
	uint64_t lease_id, uid_id; /* requests that run; 0: finished or not needed */
	struct msg_peer_seen seen;
	struct kube_lease lease; /* what the texts of `seen` point into */
	enum kube_class uid_class;
	enum peer_why uid_why;
};

struct observer {
	struct role_process *process;
	struct kube_client *client;
	struct kube_watch *watch;
	struct loop_timer timer;
	struct peer_names names;
	struct peer_pace pace;
	struct look looks[OBSERVER_LOOKS]; /* looks[0] is the own one */
	char uid[37];   /* of the peer's kube-system; of the last time it was read */
	bool verified;  /* uid was read since the last look that failed */
	bool can_write; /* the peer would let our read-only identity write its Lease (H14) */
	bool blind;     /* told in an Event already */
	bool failing;   /* the last own look was neither ok nor not-found */
	enum peer_class last_class;
	char version[64];   /* resourceVersion seen last */
	unsigned unwatched; /* changes that a look found and the watch did not */
};

extern const struct role_ops observer_ops;

/* --- look.c --- */

/* Starts a look; a question takes the place of the oldest one when all are taken. */
void look_start(struct observer *observer, uint64_t nonce, bool fresh);
/* Asks once whether our identity may write there (H14). */
void look_at_rights(struct observer *observer);
/* A finished look of any kind: sends PEER_SEEN, keeps the pace. */
void look_tell(struct observer *observer, const struct msg_peer_seen *seen, const char *version);

/* --- watch.c --- */

/* The first credential, or a new one. */
void watch_begin(struct observer *observer);
/* Sets the timer of the next own look. */
void watch_set_timer(struct observer *observer);
void watch_look_now(void *observer, int64_t now_ns);

#endif
