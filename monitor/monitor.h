/*
 * The monitor shows what the other roles say; it sends to nobody and holds nothing (F1). File map:
 *   main.c      the story; descriptors from the supervisor
 *   messages.c  one handler for each message
 *   status.c    what living links said last; status_json.c, status_page.c: as JSON, as a page
 *   metrics.c   counters, gauges and histograms as exposition text
 *   html.c      pieces of the page: escaping, the plot of the lag, its style
 *   derive.c    the gauges that follow from what is known, made at each look
 *   pages.c     what each path of the HTTP listener answers
 *   http.c, readonly.c  the two listeners
 * What it shows is the word of the monitor and no fence (F35).
 */
#ifndef MONITOR_MONITOR_H
#define MONITOR_MONITOR_H

#include "fence/fence.h"
#include "ipc/link.h"
#include "ipc/messages.h"
#include "ipc/role.h"
#include "monitor/metrics.h"
#include "monitor/status.h"

struct http;
struct readonly;

struct monitor {
	struct role_process *process;
	const struct us_config *config;
	struct status *status;
	struct metrics *metrics;
	struct http *http;
	struct readonly *readonly;
	struct loop_timer sample;            /* of the lag */
	uint64_t accusations[ROLE_COUNT][2]; /* of CONTROL_ACCUSED: in the counter already */
	struct fence fence;                  /* words NULL: there is no page */
};

/* on_message of struct role_ops (messages.c). */
enum verdict monitor_on_message(
    void *monitor, const struct link *from, const struct message *message, int fd);

#endif
