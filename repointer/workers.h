/*
 * What to do about one worker: push, wait, or leave it (H16, C7, C9). Level-based: one desired
 * state, no queue, nothing is remembered of terms that are over. Pure: no I/O, no clock, no
 * allocation; times in ns of boot time, `random` is the caller's.
 */
#ifndef REPOINTER_WORKERS_H
#define REPOINTER_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "ipc/messages.h"
#include "kube/client.h"

/* A foreign change of what we wrote gets so long before we write again (C9). */
#define WORKER_REASSERT_NS (300 * 1000000000LL)
/* An object that is gone, or that a lower term was written over after that, gets so long (C11, M5).
 */
#define WORKER_OUTRANKED_NS (1 * 1000000000LL)
/* A push without a caBundle waits so long for the one that the publisher sends. */
#define WORKER_BUNDLE_NS      (2 * 1000000000LL)
#define WORKER_BACKOFF_MIN_NS (1 * 1000000000LL)
#define WORKER_BACKOFF_MAX_NS (60 * 1000000000LL)

/* The permit, and what a worker should be told. */
struct worker_goal {
	uint64_t term;          /* 0: no permit was ever given */
	int64_t valid_until_ns; /* 0: revoked */
	int64_t since_ns;       /* when the permit for this term came first */
	uint64_t version;       /* counts up with each change of endpoint or caBundle */
	bool has_bundle;
};

/* ClusterController/active as last seen. */
struct worker_view {
	bool known, exists;
	uint64_t term;
	bool ours; /* spec.identity is ours */
	bool same; /* endpoint and, where we have one, caBundle are as desired */
};

struct worker {
	enum worker_state state;
	bool pushing;
	uint64_t done_term, done_version;
	uint64_t superseded_term; /* our term that the worker refused for a higher one */
	bool superseded_seen;     /* and the watch showed the higher one */
	int64_t foreign_ns;       /* since when something else stands there; 0: it does not */
	unsigned failures;
	int64_t next_try_ns;
};

enum worker_verb { WORKER_WAIT, WORKER_PUSH, WORKER_TELL_EQUAL, WORKER_TELL_SUPERSEDED };

struct worker_action {
	enum worker_verb verb;
	int64_t wake_ns; /* of WORKER_WAIT: step again then; 0: only when something happens */
};

bool worker_is_permitted(const struct worker_goal *goal, int64_t now_ns);
/* Decides. The caller carries the action out at once, or calls again. */
struct worker_action worker_step(struct worker *worker, const struct worker_goal *goal,
    const struct worker_view *view, int64_t now_ns);
/* A request left. */
void worker_pushing(struct worker *worker);
/* It was answered, for this goal. */
void worker_pushed(struct worker *worker, const struct worker_goal *goal, enum push_outcome outcome,
    int64_t now_ns, uint64_t random);
/* Another term, or none: what was tried before counts no more. */
void worker_term_changed(struct worker *worker);
/* What the API server of the worker just showed of itself. Returns whether the state changed; a
 * worker that comes back is tried at once. */
bool worker_state_seen(struct worker *worker, enum worker_state state);

/* H20, each a dry run: what must pass, and what must be refused, with the word of its refusal. */
enum worker_rehearsal_step { REHEARSE_PUSH, REHEARSE_LOWER_TERM, REHEARSE_FOREIGN_IDENTITY };
enum worker_rehearsal { REHEARSAL_AS_WANTED, REHEARSAL_UNFENCED, REHEARSAL_FAILED };
/* FAILED: no answer to the question, or a refusal for another reason. */
enum worker_rehearsal worker_rehearsed(
    enum worker_rehearsal_step step, const struct kube_answer *answer);

/* What a dry run through one of the doors says (C11): only the refusal that keeps it shut counts.
 */
enum rights_verdict worker_door(enum rights_check door, const struct kube_answer *answer);
enum push_outcome worker_outcome_of(const struct kube_answer *answer);
/* False: the answer says nothing about the state. */
bool worker_state_of(enum kube_class class, enum worker_state *state);
/* 1 s doubled to 60 s, +-20 %, for the failures-th failure in a row (from 1). */
int64_t worker_backoff_ns(unsigned failures, uint64_t random);
const char *worker_state_name(enum worker_state state);
const char *worker_outcome_name(enum push_outcome outcome);

#endif
