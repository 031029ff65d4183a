/*
 * Makes a broken schedule small: faults are taken away while it still breaks the same invariant.
 * It must not change anything else of the schedule. Called by main.c.
 */
#include <string.h>

#include "tests/sim/world.h"

static bool still(struct world *w, const struct schedule *schedule, const char *sentence)
{
	return !chaos_run_guarded(w, schedule, NULL, NULL) && strcmp(w->broken, sentence) == 0;
}

static void without(const struct schedule *from, unsigned at, unsigned count, struct schedule *out)
{
	*out = *from;
	memmove(&out->faults[at], &out->faults[at + count],
	    (from->fault_count - at - count) * sizeof(out->faults[0]));
	out->fault_count -= count;
}

void shrink(struct world *w, struct schedule *schedule)
{
	const char *sentence = w->broken;
	struct schedule smaller;

	for (unsigned count = schedule->fault_count / 2; count; count /= 2)
		for (unsigned at = 0; at + count <= schedule->fault_count;) {
			without(schedule, at, count, &smaller);
			if (still(w, &smaller, sentence))
				*schedule = smaller;
			else
				at += count;
		}
	(void)still(w, schedule, sentence);
}
