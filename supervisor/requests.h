/*
 * What a process may say on its control link: one row per type with the roles that may send it and
 * the states in which they may. Everything else costs the sender its life (sandbox-rules 4).
 */
#ifndef SUPERVISOR_REQUESTS_H
#define SUPERVISOR_REQUESTS_H

#include "supervisor/supervisor.h"

/* Whether a role may send this type now. Pure. */
bool requests_permitted(uint16_t type, enum role role, enum process_state state);
/* Acts on a packet that control_receive let through: kills the sender when it is not permitted. */
void requests_take(struct process *process, const struct us_ctl *ctl);

/* How often each role was accused so far, for a monitor that has just come. */
void requests_tell_accusations(struct supervisor *supervisor);

/* The syncer was reaped: the elector that asked for its end hears how it was. */
void requests_on_syncer_end(struct supervisor *supervisor, bool clean, int64_t now_ns);

#endif
