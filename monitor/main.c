/*
 * The monitor's life (file map: monitor.h): everything that needs a descriptor is made before the
 * lock; the two listeners come from the supervisor afterwards.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "monitor/derive.h"
#include "monitor/http.h"
#include "monitor/monitor.h"
#include "monitor/pages.h"
#include "monitor/readonly.h"

static void on_page(void *arg, const char *path, struct http_answer *answer)
{
	pages_answer(arg, path, base_clock_boot_ns(), base_clock_wall_us(), answer);
}

static void on_sample(void *arg, int64_t now_ns)
{
	struct monitor *monitor = arg;

	status_sample_lag(monitor->status);
	loop_timer_set(role_loop(monitor->process), &monitor->sample,
	    now_ns + STATUS_LAG_PERIOD_S * BASE_NS_PER_S);
}

static void on_document(void *arg, struct buf *out)
{
	const struct monitor *monitor = arg;
	struct fence_view view;
	bool is_seen = pages_look_at_fence(monitor, &view);

	status_put_json(monitor->status, is_seen ? &view : NULL, base_clock_boot_ns(),
	    base_clock_wall_us(), out);
}

static void on_link(void *ctx, struct link *link)
{
	struct monitor *monitor = ctx;

	status_linked(monitor->status, link->peer);
}

static void on_link_end(void *ctx, struct role_id peer)
{
	struct monitor *monitor = ctx;

	status_unlinked(monitor->status, peer);
	metrics_forget_gauges(monitor->metrics, peer);
}

static void on_config(void *ctx, const struct us_config *before)
{
	struct monitor *monitor = ctx;

	monitor->config = role_config(monitor->process);
	status_reconfigure(monitor->status, before, monitor->config);
}

static void on_control(void *ctx, const struct us_ctl *ctl, struct str more, int fd)
{
	struct monitor *monitor = ctx;

	if (ctl->type == CONTROL_RELOADED)
		status_take_reload(monitor->status, ctl->a[0], ctl->a[1] == 1, more);
	if (ctl->type == CONTROL_ACCUSED)
		derive_accusations(monitor, (enum role)ctl->a[0], ctl->a[1] == 1, ctl->a[2]);
	if (fd < 0)
		return;
	if (ctl->type == CONTROL_LISTENER && ctl->a[0] == CONTROL_LISTENER_HTTP)
		http_listen(monitor->http, fd);
	else if (ctl->type == CONTROL_LISTENER && ctl->a[0] == CONTROL_LISTENER_STATUS)
		readonly_listen(monitor->readonly, fd);
	else
		close(fd);
}

static struct monitor *monitor_open(struct role_process *process)
{
	static const struct role_ops ops = { .on_message = monitor_on_message,
		.on_link = on_link,
		.on_link_end = on_link_end,
		.on_control = on_control,
		.on_config = on_config };
	struct monitor *monitor = calloc(1, sizeof(*monitor));

	CHECK(monitor && role_config(process));
	monitor->process = process;
	monitor->config = role_config(process);
	monitor->status = status_new(monitor->config);
	monitor->metrics = metrics_new();
	monitor->http = http_new(role_loop(process), on_page, monitor);
	monitor->readonly = readonly_new(role_loop(process), on_document, monitor);
	CHECK(monitor->http);
	if (fence_map(&monitor->fence, ROLE_FD_FENCE) != 0)
		log_warn("no fence page: /leader answers 503");
	close(ROLE_FD_FENCE);
	monitor->sample.fire = on_sample;
	monitor->sample.arg = monitor;
	on_sample(monitor, base_clock_boot_ns());
	role_attach(process, &ops, monitor);
	return monitor;
}

static void monitor_close(struct monitor *monitor)
{
	loop_timer_cancel(role_loop(monitor->process), &monitor->sample);
	http_free(monitor->http);
	readonly_free(monitor->readonly);
	fence_close(&monitor->fence);
	metrics_free(monitor->metrics);
	status_free(monitor->status);
	free(monitor);
}

int main(int argc, char **argv)
{
	struct role_process *process = role_begin(ROLE_MONITOR, argc, argv);
	struct monitor *monitor = monitor_open(process);
	int code;

	role_lock(process, NULL, 0);
	code = role_run(process);
	monitor_close(monitor);
	return code;
}
