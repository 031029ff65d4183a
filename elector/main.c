/*
 * elector: who leads, and the page that says so. See elector/elector.h for the map.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "elector/elector.h"
#include "elector/standalone.h"

static struct machine_options options_of(const struct us_config *config, uint64_t instance)
{
	return (struct machine_options){ .instance = instance,
		.slot = config_slot(config),
		.workers = config->worker_count,
		.active = config->mode == CONFIG_ACTIVE,
		.automatic = config->promotion_mode == CONFIG_AUTOMATIC,
		.resume = config->recovery == CONFIG_RESUME,
		.witness = config->witness != 0,
		.workload = config->argument_count > 0,
		.duration_ns = config->lease_duration_ms * BASE_NS_PER_MS,
		.renew_deadline_ns = config->renew_deadline_ms * BASE_NS_PER_MS,
		.retry_ns = config->retry_period_ms * BASE_NS_PER_MS,
		.padding_ns = config->padding_ms * BASE_NS_PER_MS,
		.request_ns = config_request_deadline_ms(config) * BASE_NS_PER_MS,
		.max_lag_ns = config->max_lag_ms * BASE_NS_PER_MS,
		.block_ns = config->block_window_ms * BASE_NS_PER_MS,
		.armed_max_age_ns = (int64_t)config->armed_max_age_ms * BASE_NS_PER_MS,
		.stop_grace_ns = config->stop_grace_ms * BASE_NS_PER_MS };
}

static void hub_open(struct elector *elector, uint64_t instance)
{
	const struct us_config *config = elector->config;
	struct machine_options options = options_of(config, instance);

	CHECK(config->hub_count == 2 && config->self < 2);
	elector->shards = config_shard_count(config);
	elector->wake = (struct loop_timer){ .fire = elector_wake, .arg = elector };
	(void)snprintf(elector->reason, sizeof(elector->reason),
	    "starting: own records, the peer and the workers are read");
	memcpy(elector->lasting, elector->reason, sizeof(elector->lasting));
	elector->admin.nonce = base_random_u64();
	(void)snprintf(elector->ack_why, sizeof(elector->ack_why), "no mirror runs on the standby");
	machine_init(&elector->machine, &options);
	claim_open(elector);
	role_attach(elector->process, &elector_ops, elector);
}

static struct elector *elector_open(struct role_process *process)
{
	const struct us_config *config = role_config(process);
	struct elector *elector = calloc(1, sizeof(*elector));
	uint64_t instance = base_random_u64();
	struct err err;

	CHECK(elector);
	elector->process = process;
	elector->config = config;
	elector->since_us = base_clock_wall_us();
	(void)snprintf(elector->timing, sizeof(elector->timing), "%u/%u/%u",
	    config->lease_duration_ms, config->renew_deadline_ms, config->retry_period_ms);
	if (fence_page_map(&elector->page, ROLE_FD_FENCE, instance, &err)) {
		log_error("%s", err.text);
		exit(70);
	}
	/* Closed, and from now on it names this instance (C15). */
	fence_page_write(&elector->page, FENCE_STANDBY, 0, 0, base_clock_boot_ns());
	elector->client = kube_client_new(process);
	if (config->mode == CONFIG_STANDALONE)
		standalone_open(elector);
	else if (config->mode == CONFIG_REPLICAS)
		contend_open(elector, instance);
	else
		hub_open(elector, instance);
	return elector;
}

static void elector_close(struct elector *elector)
{
	loop_timer_cancel(role_loop(elector->process), &elector->wake);
	contend_close(elector);
	admin_close(elector);
	lease_close(elector);
	record_close(elector);
	kube_client_free(elector->client);
	fence_page_unmap(&elector->page);
	free(elector);
}

int main(int argc, char **argv)
{
	struct role_process *process = role_begin(ROLE_ELECTOR, argc, argv);
	struct elector *elector = elector_open(process); /* page, boot id, curl: before the lock */
	int code;

	role_lock(process, NULL, 0);
	code = role_run(process);
	elector_close(elector);
	return code;
}
