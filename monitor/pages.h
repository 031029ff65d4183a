/*
 * What each path answers: /metrics, /livez, /readyz, /leader, and / for a browser. Pure: what is
 * known and two times in, an answer out.
 */
#ifndef MONITOR_PAGES_H
#define MONITOR_PAGES_H

#include "monitor/http.h"
#include "monitor/monitor.h"

/* now_ns: boot time; now_us: wall time. */
void pages_answer(struct monitor *monitor, const char *path, int64_t now_ns, int64_t now_us,
    struct http_answer *answer);
/* One consistent look at the fence page; false when there is none or it is being written. */
bool pages_look_at_fence(const struct monitor *monitor, struct fence_view *view);

#endif
