/*
 * What an answer about the peer means, and what its Lease says, as bounded numbers (C4, F18); and
 * when to look again (M3, H2). Pure: no I/O, no clock, no allocation. Times in ns of boot time.
 * Texts of struct msg_peer_seen are views into the Lease that they were made from.
 */
#ifndef OBSERVER_PEER_H
#define OBSERVER_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/messages.h"
#include "kube/client.h"
#include "kube/lease.h"

/* Identities of the two hubs as this hub's configuration has them. */
struct peer_names {
	const char *self, *peer;
};

/* Sets class and why. Everything but OK and NOT_FOUND says nothing of the Lease: silence ages and
 * may promote, blindness is a fault of ours and never does (C4). */
void peer_classify(enum kube_class class, enum peer_why why, struct msg_peer_seen *seen);
/* The numbers of a Lease; class OK. */
void peer_from_lease(
    const struct kube_lease *lease, const struct peer_names *names, struct msg_peer_seen *seen);
enum lease_holder peer_holder(const char *holder, const struct peer_names *names);
/* A number that differs when the name does; 0 for nobody. */
uint64_t peer_holder_hash(const char *holder);
const char *peer_class_name(enum peer_class class);
const char *peer_why_name(enum peer_why why);

/* When what was seen last. 0: never. */
struct peer_pace {
	int64_t retry_ns;   /* lease.retry-period */
	int64_t started_ns; /* of the last own look */
	int64_t event_ns;   /* of the last event of the watch; 0 again when the watch failed */
};

/* When to look next: every retry period, unless the watch speaks; after a look that took longer
 * than that, at once, so that no gap counts as unwatched time (H2, M3). */
int64_t peer_next_look_ns(const struct peer_pace *pace);

#endif
