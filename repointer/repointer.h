/*
 * One shard of the repointer: tells its workers which hub is Active, asks them what they see, and
 * delivers this hub's token to them. It holds the identities of its few workers only (F9), and
 * writes only under a permit that is checked right before each request (H16); delivery alone is
 * not bound to it (H12). It must not wait for a dead worker, nor lead anybody to a term of its own.
 *
 *   workers   what to do about one worker; pure
 *   push      ClusterController/active: apply, answers, back-off
 *   watch     what stands in ClusterController/active, told to the elector
 *   question  which workers answer now (C6, C7)
 *   witness   do the workers see a hub renew (C3)
 *   deliver   the hub's token into a Secret on the worker (H12)
 *   rehearse  dry runs of a Standby (H20)
 *   doors     dry runs for the audit (C11)
 *   messages  what it is told
 */
#ifndef REPOINTER_REPOINTER_H
#define REPOINTER_REPOINTER_H

#include <jansson.h>

#include "kube/client.h"
#include "kube/watch.h"
#include "repointer/workers.h"

#define REPOINTER_NAMESPACE "kubeslice-system" /* of understudy's objects on a worker */
#define REPOINTER_OBJECT    "/apis/ha.kubeslice.io/v1alpha1/clustercontrollers/active"
#define REPOINTER_MANAGER   "understudy"
#define QUESTIONS_AT_ONCE   4
#define ANSWER_MS           1900 /* of a question that must be answered within 2 s */
#define OTHER_REQUEST_MS    5000

struct repointer;
struct question;

/* A token on its way to a worker; wiped once it is there. */
struct delivery {
	struct loop_timer timer;
	uint64_t id; /* request that runs */
	unsigned failures;
	char *endpoint, *namespace;
	struct buf ca, token; /* token empty: nothing to deliver */
};

/* The one challenge that runs at this worker. */
struct challenge {
	struct loop_timer timer;
	uint64_t id, nonce, target_slot;
	int64_t limit_ns;
	char text[20]; /* the nonce as the object has it */
};

/* The dry run that is under way. */
struct rehearsal {
	struct loop_timer timer;
	uint64_t id;
	enum worker_rehearsal_step step;
	char missing[64]; /* what the worker's API server let pass */
};

#define DOORS 4

/* What came of trying the doors; one is tried at a time. */
struct doors {
	struct loop_timer timer;
	uint64_t id;
	unsigned door;
	struct door {
		bool known;
		enum rights_verdict verdict;
		char found[256];
		int64_t seen_ns;
	} told[DOORS];
};

/* A worker of this shard. */
struct member {
	struct repointer *repointer;
	unsigned index; /* in the configuration */
	struct worker machine;
	struct worker_view view;
	uint64_t version; /* of the goal's endpoint and bundle */
	char *bundle;     /* our caBundle (base64 PEM), NULL: not told yet */
	char *seen_endpoint, *seen_bundle, *seen_identity;
	int64_t seen_ns, since_us;
	char detail[256];
	bool listed; /* the list in progress held the object */
	struct kube_watch *watch;
	uint64_t push_id;
	struct worker_goal push_goal;
	struct loop_timer timer; /* when to step again */
	struct delivery delivery;
	struct challenge challenge;
	struct rehearsal rehearsal;
	bool unfenced; /* of the last rehearsal */
	struct doors doors;
};

struct repointer {
	struct role_process *process;
	struct kube_client *client;
	const char *self, *endpoint;
	uint64_t term;
	int64_t valid_until_ns, since_ns; /* the permit */
	unsigned count;
	struct member *members;
	struct question *questions[QUESTIONS_AT_ONCE];
};

extern const struct role_ops repointer_ops;

/* The member with this number of the configuration; NULL: another shard's. */
struct member *repointer_member(struct repointer *repointer, uint64_t worker);
const char *member_name(const struct member *member);
unsigned member_target(const struct member *member);
/* A GET, PUT, ... of this member's cluster; body may be empty. */
uint64_t member_ask(struct member *member, enum kube_verb verb, const char *path, const char *query,
    struct str body, uint32_t deadline_ms, kube_done_fn *done);

/* --- push.c --- */
void push_step(struct member *member);
/* A new permit, a new term, or none. */
void push_permit(struct repointer *repointer, uint64_t term, int64_t valid_until_ns);
/* `pem` is what a worker needs to trust our endpoint. */
void push_bundle(struct member *member, struct str pem);

/* --- watch.c --- */
void watch_start(struct member *member);
/* An object out of an answer or event; NULL: it is not there. */
void watch_see(struct member *member, const json_t *object);
void watch_see_state(struct member *member, enum worker_state state, const char *detail);
/* WORKER_SEEN and STATUS_WORKER as they are now. */
void watch_tell_elector(const struct member *member);
void watch_tell_monitor(const struct member *member);
void watch_event(const struct member *member, enum event_reason reason, const char *note);

/* --- question.c --- */
void question_start(struct repointer *repointer, uint64_t nonce);
void question_free(struct question *question);

/* --- witness.c --- */
void witness_start(struct member *member, uint64_t nonce, uint64_t target_slot);

/* --- rehearse.c --- */
/* In a moment, and every ten minutes from then on. */
void rehearse_soon(struct member *member);
/* The object that claims this worker for that identity, without a bundle. */
void rehearse_put_claim(
    const struct repointer *repointer, const char *identity, uint64_t term, struct buf *out);

/* --- doors.c --- */
/* In a moment, and every five minutes from then on; to a new monitor. */
void doors_soon(struct member *member);
void doors_show(const struct member *member);

/* --- deliver.c --- */
void deliver_begin(struct member *member, const struct msg_hub_token *m);
/* Another identity is in use: what failed is tried again at once. */
void deliver_soon(struct member *member);
void deliver_forget(struct member *member);

#endif
