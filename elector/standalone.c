/*
 * The elector's life in mode standalone (decision 17): there is nobody else, so the page is open
 * while this process lives, and is stamped anew in time; no API server is asked. What it is good
 * for: the same controller with the same fence page on a machine without a second one. Called by
 * main.c and the role's loop.
 */
#include "elector/standalone.h"

#include <stdio.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "elector/elector.h"

/* Nobody takes over, so that it never changes. */
#define TERM 1

static void show(struct elector *elector, enum fence_role role, int64_t valid_until_ns)
{
	struct msg_status_leadership status = { .state = STR_LIT("standalone"),
		.role = role,
		.term = TERM,
		.led_term = TERM,
		.since_us = elector->since_us,
		.renewed_ns = (uint64_t)base_clock_boot_ns(),
		.valid_until_ns = (uint64_t)valid_until_ns,
		.reason = str_of(elector->reason),
		.leader = str_of(config_text_at(elector->config, elector->config->self_name)) };

	status.leader_seen_ns = status.renewed_ns;
	(void)role_send(elector->process, ROLE_MONITOR, 0, MSG_STATUS_LEADERSHIP, &status);
	role_metric(elector->process, METRIC_LEADER_STATUS, NULL, NULL,
	    role == FENCE_LEADING ? 1000000 : 0);
}

static void stamp(void *arg, int64_t now_ns)
{
	struct elector *elector = arg;
	int64_t valid_until_ns = now_ns + elector->config->renew_deadline_ms * BASE_NS_PER_MS;

	fence_page_write(&elector->page, FENCE_LEADING, TERM, valid_until_ns, now_ns);
	if (!elector->page_is_open)
		role_tell(elector->process, CONTROL_LEADING, FENCE_LEADING, TERM, NULL);
	elector->page_is_open = true;
	if (elector->config->argument_count > 0)
		role_tell(elector->process, CONTROL_RUN, TERM, (uint64_t)valid_until_ns, NULL);
	show(elector, FENCE_LEADING, valid_until_ns);
	loop_timer_set(role_loop(elector->process), &elector->wake,
	    now_ns + elector->config->retry_period_ms * BASE_NS_PER_MS);
}

static void on_control(void *ctx, const struct us_ctl *ctl, struct str more, int fd)
{
	struct elector *elector = ctx;

	(void)more;
	if (ctl->type == CONTROL_ADMIN_CLIENT && fd >= 0) {
		admin_take_client(elector, fd, ctl);
		return;
	}
	CHECK(fd < 0 || close(fd) == 0);
	if (ctl->type == CONTROL_WORKLOAD_SEEN && elector->stopping && ctl->a[1] == 1)
		role_leave(elector->process, 0);
}

static void on_late(void *arg, int64_t now_ns)
{
	struct elector *elector = arg;

	(void)now_ns;
	role_leave(elector->process, 0);
}

/* Page, then the workload; the supervisor's deadline is waited for at most. */
static void on_stop(void *ctx, int64_t deadline_ns)
{
	struct elector *elector = ctx;

	elector->stopping = true;
	fence_page_write(&elector->page, FENCE_STANDBY, TERM, 0, base_clock_boot_ns());
	elector->page_is_open = false;
	elector->wake.fire = on_late;
	loop_timer_set(role_loop(elector->process), &elector->wake, deadline_ns);
	role_tell(elector->process, CONTROL_STOP_RUN, 0, 0, NULL);
}

static void on_config(void *ctx, const struct us_config *before)
{
	struct elector *elector = ctx;

	(void)before;
	elector->config = role_config(elector->process);
}

static void on_link(void *ctx, struct link *link)
{
	struct elector *elector = ctx;

	if (link->peer.role == ROLE_MONITOR && elector->page_is_open)
		stamp(elector, base_clock_boot_ns());
}

static const struct role_ops ops = {
	.on_message = elector_on_message,
	.on_link = on_link,
	.on_control = on_control,
	.on_config = on_config,
	.on_stop = on_stop,
};

void standalone_open(struct elector *elector)
{
	elector->wake = (struct loop_timer){ .fire = stamp, .arg = elector };
	(void)snprintf(elector->reason, sizeof(elector->reason),
	    "mode standalone: nobody else can lead, no API server is asked");
	role_attach(elector->process, &ops, elector);
	loop_timer_set(role_loop(elector->process), &elector->wake, base_clock_boot_ns());
}
