/*
 * What to do about one Cluster: write status.activeController, wait, or leave it (L102-L110, G1,
 * H16). Pure: no I/O, no clock, no allocation. Boot times in ns, wall times in us.
 */
#ifndef PUBLISHER_PLAN_H
#define PUBLISHER_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "kube/client.h"

/* The endpoint that upstream ships as a placeholder (L104). */
#define PLAN_PLACEHOLDER "https://controller.cisco.com:6443/"

#define PLAN_FENCED_NS      (50 * 1000000LL)    /* after 403 UNDERSTUDY_FENCE (H4), .. */
#define PLAN_FENCED_FAST    100                 /* .. so often, then each second */
#define PLAN_PRUNED_NS      (60 * 1000000000LL) /* the CRD may be newer by then (L106) */
#define PLAN_BACKOFF_MIN_NS (250 * 1000000LL)   /* doubled to the maximum */
#define PLAN_BACKOFF_MAX_NS (30 * 1000000000LL)

struct plan_permit {
	uint64_t term;          /* 0: none was ever given */
	int64_t valid_until_ns; /* 0: revoked */
};

struct plan {
	uint64_t
	    stamped_term; /* the term in which we wrote this object, or tried in vain (pruned) */
	bool writing, failed, pruned;
	unsigned failures, fenced;
	int64_t next_try_ns;
};

enum plan_verb { PLAN_WAIT, PLAN_WRITE };

struct plan_action {
	enum plan_verb verb;
	int64_t wake_ns; /* of PLAN_WAIT: ask again then; 0: only when something happens */
};

enum plan_outcome { PLAN_WRITTEN, PLAN_PRUNED, PLAN_FENCED, PLAN_GONE, PLAN_FAILED };

bool plan_is_permitted(const struct plan_permit *permit, int64_t now_ns);
/* False: nothing, or the placeholder, would be published (L104). */
bool plan_endpoint_usable(const char *endpoint);
/* same: endpoint, caBundle and identity are as desired; lastUpdated does not count (L103), but a
 * new term is always stamped (G1). */
struct plan_action plan_step(
    const struct plan *plan, const struct plan_permit *permit, bool same, int64_t now_ns);
/* Another identity is in use: a write that failed is tried again at once. */
void plan_renewed(struct plan *plan);
void plan_written(struct plan *plan, uint64_t term, enum plan_outcome outcome, int64_t now_ns);
/* persisted: the answer holds what was written (L106). */
enum plan_outcome plan_outcome_of(const struct kube_answer *answer, bool persisted);
/* The lastUpdated of a write: wall time, but always later than what stands there, by whichever
 * hub's clock that was written (H19). Whole seconds, as upstream writes them. */
int64_t plan_last_updated_us(int64_t now_us, int64_t seen_us);

#endif
