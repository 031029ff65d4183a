/*
 * Gauges that say nothing new: what the roles told of mirror, workers and links, as metrics. They
 * are made anew at each look, so that they are as old as what they are made of, and absent where
 * that is not known (L114). Pure.
 */
#ifndef MONITOR_DERIVE_H
#define MONITOR_DERIVE_H

#include "monitor/monitor.h"

/* now_ns: boot time. */
void derive_metrics(struct monitor *monitor, int64_t now_ns);
/* By the supervisor's word: count is of all since its start. The one counter that no role tells. */
void derive_accusations(struct monitor *monitor, enum role accused, bool killed, uint64_t count);

#endif
