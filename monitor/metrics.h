/*
 * The metrics of ipc/metrics.def with their values, in the exposition format of Prometheus.
 * Bounded: METRICS_MAX_SERIES sets of label values in all, whatever roles send. Values are
 * millionths. A gauge belongs to the role that set it and vanishes with that role's link (L114): a
 * dead elector must not go on saying "leader".
 */
#ifndef MONITOR_METRICS_H
#define MONITOR_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "ipc/messages.h"
#include "policy/roles.h"

#define METRICS_MAX_SERIES 4096

struct metrics;

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);
/* False when the message lies: a label where the metric has none, a counter that falls. When the
 * table is full a new set of labels is dropped, and said once in the log. */
bool metrics_take(struct metrics *metrics, struct role_id from, const struct msg_metric *message);
/* Gauges that this process set last are gone; counters and histograms go on. */
void metrics_forget_gauges(struct metrics *metrics, struct role_id from);
void metrics_put(const struct metrics *metrics, struct buf *out);

#endif
