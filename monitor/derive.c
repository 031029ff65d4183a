/*
 * Metrics out of the status (see the header). They belong to the monitor itself, and all of its
 * own go before the new ones come: a worker that left the configuration leaves no series behind. No
 * I/O, no clock. Called by pages.c.
 */
#include "monitor/derive.h"

#include <stdio.h>

#include "base/build.h"
#include "policy/sandbox.h"

#define MICRO 1000000LL

static const struct role_id self = { ROLE_MONITOR, 0 };

static void put2(struct monitor *monitor, enum metric_id id, const char *label, const char *label2,
    int64_t micro)
{
	struct msg_metric metric = {
		.id = id, .label = str_of(label), .label2 = str_of(label2), .value_micro = micro
	};

	/* A worker's name may be longer than a label: cut at a byte of ASCII, it is a DNS name. */
	metric.label.n = metric.label.n > 64 ? 64 : metric.label.n;
	(void)metrics_take(monitor->metrics, self, &metric);
}

static void put(struct monitor *monitor, enum metric_id id, const char *label, int64_t micro)
{
	put2(monitor, id, label, "", micro);
}

/* 3.13: dropped unless this hub is a Standby. */
static void derive_peer(struct monitor *monitor, int64_t now_ns)
{
	int64_t age_ns = status_peer_age_ns(monitor->status, now_ns);

	if (age_ns >= 0)
		put(monitor, METRIC_PEER_LEASE_AGE, "standby", age_ns / 1000);
}

static void derive_mirror(struct monitor *monitor)
{
	const struct status *status = monitor->status;

	if (!status->mirror.known)
		return;
	put(monitor, METRIC_MIRROR_COMPLETE, "", status->mirror.complete ? MICRO : 0);
	put(monitor, METRIC_MIRROR_LAG, "", (int64_t)status->mirror.lag_ms * 1000);
	for (unsigned i = 0; i < STATUS_MAX_ROWS; i++) {
		const struct status_kind *kind = &status->kinds[i];

		if (!kind->known)
			continue;
		put(monitor, METRIC_MIRROR_BLOCKED, kind->kind, kind->blocked * MICRO);
		put(monitor, METRIC_MIRROR_HELD, kind->kind, kind->held * MICRO);
	}
}

static void derive_workers(struct monitor *monitor)
{
	const struct us_config *config = monitor->config;

	for (unsigned i = 0; i < config->worker_count; i++) {
		const struct status_worker *worker = &monitor->status->workers[i];
		const char *name = config_text_at(config, config->workers[i].name);

		put2(monitor, METRIC_WORKER_STATE, name, status_worker_word(worker), MICRO);
		if (worker->known)
			put(monitor, METRIC_WORKER_TERM, name,
			    worker->term < INT32_MAX ? (int64_t)worker->term * MICRO : INT64_MAX);
	}
}

/* A hub that leads has no syncer: it was stopped for that (I6). */
static bool is_away(const struct monitor *monitor, struct role_id id)
{
	return id.role == ROLE_SYNCER && monitor->status->leadership.known &&
	       monitor->status->leadership.role != FENCE_STANDBY;
}

static void derive_processes(struct monitor *monitor)
{
	for (unsigned role = 0; role < ROLE_COUNT; role++)
		for (unsigned shard = 0; shard < ROLE_MAX_SHARDS; shard++) {
			struct role_id id = { (uint8_t)role, (uint8_t)shard };
			char number[12] = "";

			if (!status_expects(monitor->status, id) || is_away(monitor, id))
				continue;
			if (role == ROLE_REPOINTER)
				(void)snprintf(number, sizeof(number), "%u", shard);
			put2(monitor, METRIC_PROCESS_UP, role_name((enum role)role), number,
			    monitor->status->linked[role][shard] ? MICRO : 0);
		}
}

static void derive_constants(struct monitor *monitor)
{
	unsigned waived = monitor->config->allow_missing;
	char build[20];

	for (unsigned bit = 1; bit <= SANDBOX_REQUIRED; bit <<= 1)
		if (waived & bit)
			put(monitor, METRIC_PROTECTION_WAIVED, sandbox_protection_name(bit), MICRO);
	(void)snprintf(build, sizeof(build), "%016llx", (unsigned long long)build_id[0]);
	put2(monitor, METRIC_BUILD_INFO, build, status_mode_word(monitor->config->mode), MICRO);
}

void derive_metrics(struct monitor *monitor, int64_t now_ns)
{
	metrics_forget_gauges(monitor->metrics, self);
	derive_peer(monitor, now_ns);
	derive_mirror(monitor);
	derive_workers(monitor);
	derive_processes(monitor);
	derive_constants(monitor);
}

void derive_accusations(struct monitor *monitor, enum role accused, bool killed, uint64_t count)
{
	uint64_t *told = &monitor->accusations[accused][killed];

	if (count <= *told)
		return;
	put2(monitor, METRIC_ACCUSATIONS, role_name(accused), killed ? "killed" : "cut",
	    (int64_t)(count - *told) * MICRO);
	*told = count;
}
