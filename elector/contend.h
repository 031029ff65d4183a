/*
 * The elector's life in mode replicas: one Lease, no peer, no HubRole, no mirror. Carries out what
 * replicas.c decides and shows it.
 */
#ifndef ELECTOR_CONTEND_H
#define ELECTOR_CONTEND_H

#include "elector/replicas.h"
#include "ipc/loop.h"
#include "ipc/role.h"

struct elector;

struct contender {
	struct replicas machine;
	char identity[254], holder[254]; /* own; of the record, "" for nobody */
	int64_t acquire_us;              /* of the own claim, kept across renewals (R12) */
	uint64_t transitions;
	struct loop_timer show;
	enum replicas_reason said; /* which one elector->reason tells */
};

extern const struct role_ops contend_ops;

/* Before the sandbox is locked. instance: random, of this process. */
void contend_open(struct elector *elector, uint64_t instance);
void contend_close(struct elector *elector);

/* Pure, for tests. NAME_INSTANCE, client-go's form: a name that may be there twice and a number
 * that is not (R11). The longest name is cut to fit. */
void contend_identity(const char *name, uint64_t instance, char identity[254]);
struct kube_lease;
void contend_judge(const char *name, const char *identity, const struct kube_lease *lease,
    struct replicas_record *out);

#endif
