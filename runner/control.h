/*
 * The runner's end of its control link (policy/control.h): descriptor ROLE_FD_CONTROL.
 */
#ifndef RUNNER_CONTROL_H
#define RUNNER_CONTROL_H

#include "policy/control.h"
#include "runner/runner.h"

/* False when it could not be sent now: whoever must be heard tries again. */
bool control_tell(struct runner *runner, enum control_type type, uint64_t a0, uint64_t a1);
/* Takes what has arrived: START and STOP become `wanted`, the end of the link `gone`. */
void control_take(struct runner *runner);
/* WORKLOAD_SEEN when it differs from what was last reported, and after each word: the supervisor
 * believes no report of before it. */
void control_report(struct runner *runner, bool running, bool empty);

#endif
