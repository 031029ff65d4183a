/*
 * The steps of one promotion (see the header). No clock, no I/O. Called by actions.c, events.c and
 * messages.c through elector_step_ended.
 */
#include "elector/steps.h"

#include <string.h>

const char *step_name(enum step step)
{
	static const char *const names[STEP_COUNT] = { "stop_mirror", "acquire_lease", "confirm",
		"open", "publish_active_controller", "kick_reconcilers", "emit_event" };

	return names[step];
}

void step_begin(struct steps *steps, enum step step, int64_t now_ns)
{
	if (!steps->began_ns[step])
		steps->began_ns[step] = now_ns;
}

int64_t step_end(struct steps *steps, enum step step, int64_t now_ns)
{
	int64_t began_ns = steps->began_ns[step];

	steps->began_ns[step] = 0;
	return began_ns ? now_ns - began_ns : -1;
}

void steps_forget(struct steps *steps)
{
	memset(steps, 0, sizeof(*steps));
}
