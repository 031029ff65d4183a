/*
 * The own Lease on the own API server: reads, writes with resourceVersion (POST when it is not
 * there), and a watch for what others do to it (H1, H15, C15). One request at a time; the outcome
 * of each goes to the machine, which decides what it means. Leases here are owned by the keeper.
 */
#ifndef ELECTOR_LEASE_H
#define ELECTOR_LEASE_H

#include <jansson.h>

#include "base/log.h"
#include "elector/machine.h"
#include "kube/lease.h"
#include "kube/watch.h"

struct elector;

struct lease_keeper {
	json_t *base;           /* as last read or answered; NULL: it is not there */
	struct kube_lease last; /* parsed from base */
	struct kube_watch *watch;
	struct log_episode unread, unwritten;
};

void lease_read(struct elector *elector);
void lease_write(struct elector *elector, const struct machine_todo *order);
/* Once, when the first credential is there. */
void lease_watch(struct elector *elector);
/* Takes over an object that a read brought (NULL: absent) and judges it. False: it cannot be
 * parsed; then it counts as there, without a claim (H15: terms are kept, all is written anew). */
bool lease_take(struct elector *elector, json_t *object, struct machine_lease *out);
void lease_close(struct elector *elector);

#endif
