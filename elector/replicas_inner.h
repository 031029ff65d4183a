/*
 * What the files of mode replicas' decisions share. Not for the rest of the elector.
 */
#ifndef ELECTOR_REPLICAS_INNER_H
#define ELECTOR_REPLICAS_INNER_H

#include "elector/replicas.h"

#define NS_PER_MS 1000000LL
#define NS_PER_S  1000000000LL
#define BIT(x)    (1u << (x))

/* What an event turned out to say. */
enum fact {
	FACT_START,
	FACT_TIME,
	FACT_EXPIRED, /* now >= valid until: tested before any event (R5) */
	FACT_APPLIED, /* a claim of mine stands; step->sent says which */
	FACT_READ,    /* the record as it is now; nothing of the above */
	FACT_LOST,    /* leading, and somebody else or nobody holds it (R7) */
	FACT_GONE,    /* leading, and there is no Lease (R14) */
	FACT_CLONED,  /* my identity with a renewal that I never sent (R11) */
	FACT_STOP,
	FACT_NOTED, /* became knowledge; the time rows use it */
	FACT_COUNT
};

struct replicas_step {
	const struct replicas_event *event;
	struct replicas_out *out;
	int64_t now_ns;
	const struct replicas_sent *sent; /* APPLIED */
};

static inline int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* replicas_facts.c */
enum fact replicas_absorb(struct replicas *r, struct replicas_step *step);
/* From when on the Lease may be taken, as things are now; INT64_MAX: not as long as they are so. */
int64_t replicas_free_at_ns(const struct replicas *r);
bool replicas_term_left(const struct replicas *r);

#endif
