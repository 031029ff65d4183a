/*
 * One handler for each message that the monitor may receive (ipc/dispatch.h). Each stores; none
 * answers, for the monitor sends to nobody (F1).
 */
#include "base/clock.h"
#include "monitor/monitor.h"

#define DISPATCH_ROLE    ROLE_MONITOR
#define DISPATCH_PREFIX  monitor
#define DISPATCH_CONTEXT struct monitor
#include "ipc/dispatch.h"

enum verdict monitor_on_message(
    void *monitor, const struct link *from, const struct message *message, int fd)
{
	return monitor_dispatch(monitor, from, message, fd);
}

static enum verdict fine_if(bool fine)
{
	return fine ? VERDICT_FINE : VERDICT_PEER_BROKEN;
}

enum verdict monitor_on_status_leadership(
    struct monitor *monitor, const struct link *from, const struct msg_status_leadership *m, int fd)
{
	(void)from;
	(void)fd;
	status_take_leadership(monitor->status, m, base_clock_boot_ns());
	return VERDICT_FINE;
}

enum verdict monitor_on_status_peer(
    struct monitor *monitor, const struct link *from, const struct msg_status_peer *m, int fd)
{
	(void)from;
	(void)fd;
	status_take_peer(monitor->status, m);
	return VERDICT_FINE;
}

enum verdict monitor_on_status_mirror(
    struct monitor *monitor, const struct link *from, const struct msg_status_mirror *m, int fd)
{
	(void)from;
	(void)fd;
	status_take_mirror(monitor->status, m);
	return VERDICT_FINE;
}

enum verdict monitor_on_status_kind(
    struct monitor *monitor, const struct link *from, const struct msg_status_kind *m, int fd)
{
	(void)from;
	(void)fd;
	status_take_kind(monitor->status, m);
	return VERDICT_FINE;
}

enum verdict monitor_on_status_blocked(
    struct monitor *monitor, const struct link *from, const struct msg_status_blocked *m, int fd)
{
	(void)from;
	(void)fd;
	status_take_blocked(monitor->status, m);
	return VERDICT_FINE;
}

enum verdict monitor_on_status_history(
    struct monitor *monitor, const struct link *from, const struct msg_status_history *m, int fd)
{
	(void)from;
	(void)fd;
	status_take_history(monitor->status, m);
	return VERDICT_FINE;
}

enum verdict monitor_on_status_worker(
    struct monitor *monitor, const struct link *from, const struct msg_status_worker *m, int fd)
{
	(void)fd;
	return fine_if(status_take_worker(monitor->status, from->peer, m));
}

/* The same as gauges of the role that holds it; the names are the configuration's. */
static void show_credential(
    struct monitor *monitor, struct role_id from, const struct msg_status_credential *m)
{
	const struct us_config *config = monitor->config;
	struct msg_metric metric = { .id = METRIC_CREDENTIAL_EXPIRY,
		.label = str_of(credential_name((unsigned)m->credential)),
		.value_micro = m->expires_us ? m->expires_us : INT64_MIN };

	if (m->credential >= CREDENTIAL_WORKER)
		metric.label2 = str_of(config_text_at(
		    config, config->workers[m->credential - CREDENTIAL_WORKER].name));
	(void)metrics_take(monitor->metrics, from, &metric);
	metric.id = METRIC_CREDENTIAL_GENERATION;
	metric.value_micro = (int64_t)m->generation * 1000000;
	(void)metrics_take(monitor->metrics, from, &metric);
}

enum verdict monitor_on_status_credential(
    struct monitor *monitor, const struct link *from, const struct msg_status_credential *m, int fd)
{
	(void)fd;
	if (!status_take_credential(monitor->status, from->peer, m))
		return VERDICT_PEER_BROKEN;
	show_credential(monitor, from->peer, m);
	return VERDICT_FINE;
}

enum verdict monitor_on_status_rights(
    struct monitor *monitor, const struct link *from, const struct msg_status_rights *m, int fd)
{
	(void)fd;
	return fine_if(status_take_rights(monitor->status, from->peer, m));
}

enum verdict monitor_on_status_follower(
    struct monitor *monitor, const struct link *from, const struct msg_status_follower *m, int fd)
{
	(void)from;
	(void)fd;
	return fine_if(status_take_follower(monitor->status, m));
}

enum verdict monitor_on_metric(
    struct monitor *monitor, const struct link *from, const struct msg_metric *m, int fd)
{
	(void)fd;
	return fine_if(metrics_take(monitor->metrics, from->peer, m));
}
