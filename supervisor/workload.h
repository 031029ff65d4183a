/*
 * Between elector and runner: the elector's word is kept, so that a new runner gets it, and the
 * runner's is passed on. When the runner dies its workload may not live on: the supervisor then
 * ends that uid itself (decision 15).
 */
#ifndef SUPERVISOR_WORKLOAD_H
#define SUPERVISOR_WORKLOAD_H

#include "supervisor/supervisor.h"

void workload_run(struct supervisor *supervisor, uint64_t term, uint64_t valid_until_ns);
void workload_stop(struct supervisor *supervisor);
void workload_on_seen(struct supervisor *supervisor, const struct us_ctl *ctl);
void workload_on_runner_ready(struct process *runner);
void workload_on_runner_end(struct supervisor *supervisor);
/* Goes on ending the uid; true while it is not proven empty (no runner is started until then). */
bool workload_uid_ending(struct supervisor *supervisor, int64_t now_ns);

#endif
