/*
 * The watch of each hub's one Lease: when it is renewed, for questions (C3), and whether its holder
 * changes, which is worth a look at once. It must not conclude anything from silence.
 */
#include <string.h>

#include "base/clock.h"
#include "follower/follower.h"
#include "kube/url.h"

uint64_t renewal_term(const struct hub *hub, const struct kube_lease *lease)
{
	return lease->phase == PHASE_LEADING && strcmp(lease->holder, hub->name) == 0 ? lease->term
										      : 0;
}

static void on_object(void *arg, enum kube_watch_event event, const json_t *object)
{
	struct hub *hub = arg;
	struct kube_lease lease;

	if (event == KUBE_WATCH_DELETED || kube_lease_parse(object, &lease, NULL) != 0)
		return;
	attest_see(&hub->attest, lease.renew_us, hub->watching && event == KUBE_WATCH_MODIFIED,
	    base_clock_boot_ns());
	if (renewal_term(hub, &lease) != hub->look.lease_term)
		poll_now(hub->follower);
}

static void on_begin(void *arg)
{
	(void)arg;
}

static void on_synced(void *arg, const char *resource_version)
{
	struct hub *hub = arg;

	(void)resource_version;
	hub->watching = true;
}

static void on_error(void *arg, const struct kube_answer *answer)
{
	struct hub *hub = arg;

	(void)answer;
	hub->watching = false;
}

static const struct kube_watch_ops ops = {
	.on_begin = on_begin,
	.on_object = on_object,
	.on_synced = on_synced,
	.on_error = on_error,
};

void renewal_start(struct hub *hub)
{
	struct buf path = buf_make(1024), query = buf_make(256);
	/* The right is to get and to watch that one Lease, not to list (C3). */
	struct kube_watch_options options = { .target = hub_target(hub),
		.deadline_ms = hub->follower->config->follower.timeout_ms,
		.initial_events = true };

	hub->watching = false;
	if (hub->watch) {
		kube_watch_restart(hub->watch);
		return;
	}
	if (hub->follower->hub_count < 2) /* W1 */
		return;
	hub_lease_path(hub, &path, NULL);
	kube_url_query(&query, "fieldSelector", "metadata.name=" KUBE_LEASE_NAME);
	options.path = path.data;
	options.query = query.data;
	hub->watch = kube_watch_start(
	    hub->follower->client, role_loop(hub->follower->process), &options, &ops, hub);
	buf_free(&path);
	buf_free(&query);
}
