/*
 * One Lease on the own API server: reads, writes with resourceVersion (POST when it is not there),
 * and a watch for what others do to it (H1, H15, C15, R12). One request at a time. What a write
 * says and what an outcome means is its owner's: claim.c of a pair's hub, contend.c of a replica.
 * Leases here are owned by the keeper.
 */
#ifndef ELECTOR_LEASE_H
#define ELECTOR_LEASE_H

#include <jansson.h>

#include "base/log.h"
#include "elector/machine.h"
#include "kube/client.h"
#include "kube/lease.h"
#include "kube/watch.h"

struct elector;

struct lease_answer {
	bool write;
	enum machine_outcome outcome; /* DONE: the keeper's base and last are what it brought */
	bool conflict;                /* UNSURE because of a 409 or 404: read at once */
	bool never_sent;              /* UNSURE, but surely not applied */
	int64_t date_us, finished_ns;
};

struct lease_ops {
	void (*answered)(struct elector *elector, const struct lease_answer *answer);
	/* May run behind. NULL: deleted. */
	void (*watched)(struct elector *elector, const struct kube_lease *lease);
};

struct lease_keeper {
	const char *name;
	const struct lease_ops *ops;
	json_t *base;           /* as last read or answered; NULL: it is not there */
	struct kube_lease last; /* parsed from base; zeros when that was not possible */
	bool broken;            /* base cannot be parsed */
	struct kube_watch *watch;
	struct log_episode unread, unwritten;
};

/* name: literal; ops must outlive the elector. */
void lease_open(struct elector *elector, const char *name, const struct lease_ops *ops);
void lease_read(struct elector *elector);
/* Writes the Lease as last read, changed to this. */
void lease_put(struct elector *elector, const struct kube_lease *lease);
/* The same as a dry run: the API server judges it and keeps nothing. done gets its answer, with the
 * elector; the keeper does not look at it. The request, for kube_client_cancel. */
uint64_t lease_try(struct elector *elector, const struct kube_lease *lease, kube_done_fn *done);
/* Once, when the first credential is there. */
void lease_watch(struct elector *elector);
/* Takes over an object that a read brought (NULL: absent). One that cannot be parsed counts as
 * there, and says nothing. */
void lease_take(struct elector *elector, json_t *object);
void lease_close(struct elector *elector);

#endif
