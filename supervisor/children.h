/*
 * When a role is started again, when a cut link comes back, and what an accusation costs: pure
 * decisions. Times are boot time in ns, handed in; nothing is allocated, nothing fails.
 * Rules: F4 (accusations by trust rank), decision 22 (links), restart back-off of interfaces.
 */
#ifndef SUPERVISOR_CHILDREN_H
#define SUPERVISOR_CHILDREN_H

#include <stdint.h>

#define CHILDREN_FIRST_DELAY_NS  100000000LL    /* 0.1 s */
#define CHILDREN_LONGEST_NS      10000000000LL  /* 10 s */
#define CHILDREN_LINK_FIRST_NS   1000000000LL   /* 1 s */
#define CHILDREN_LINK_LONGEST_NS 60000000000LL  /* 60 s */
#define CHILDREN_HEALTHY_NS      60000000000LL  /* so long a life forgets what was before */
#define CHILDREN_CUTS_KEPT       3              /* so many accusations ... */
#define CHILDREN_CUTS_WITHIN_NS  600000000000LL /* ... within 10 minutes restart the accuser */

/* A delay that doubles. Zero-initialised = never failed. */
struct children_backoff {
	int64_t delay_ns;
};

/* Something that lived for lived_ns ended: how long to wait before it comes back. */
int64_t children_restart_delay(struct children_backoff *backoff, int64_t lived_ns);
int64_t children_link_delay(struct children_backoff *backoff, int64_t lived_ns);

/* When an accuser last accused somebody whom it does not outrank; newest last. */
struct children_accuser {
	int64_t at_ns[CHILDREN_CUTS_KEPT];
	unsigned count;
};

enum children_judgement {
	CHILDREN_CUT,            /* the link only */
	CHILDREN_KILL_ACCUSED,   /* the accuser outranks the accused */
	CHILDREN_RESTART_ACCUSER /* cut, and the accuser accuses too much */
};

enum children_judgement children_judge(struct children_accuser *accuser, unsigned accuser_trust,
    unsigned accused_trust, int64_t now_ns);

#endif
