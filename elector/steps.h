/*
 * How long each step of a promotion took, as upstream's metric has it (kubeslice-ha 3.13), and the
 * steps that it has not: confirm (C8) and open. A step that never ended is not told. Times are boot
 * times.
 */
#ifndef ELECTOR_STEPS_H
#define ELECTOR_STEPS_H

#include <stdbool.h>
#include <stdint.h>

enum step {
	STEP_STOP_MIRROR,
	STEP_ACQUIRE_LEASE,
	STEP_CONFIRM,
	STEP_OPEN,
	STEP_PUBLISH,
	STEP_KICK,
	STEP_EVENT,
	STEP_COUNT
};

struct steps {
	int64_t began_ns[STEP_COUNT]; /* 0: it is not under way */
};

const char *step_name(enum step step);
/* Of one that is under way the first beginning counts. */
void step_begin(struct steps *steps, enum step step, int64_t now_ns);
/* What it took, in ns; -1 when it was not under way. */
int64_t step_end(struct steps *steps, enum step step, int64_t now_ns);
/* The promotion was given up. */
void steps_forget(struct steps *steps);

#endif
