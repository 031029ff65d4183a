/*
 * The watch of the peer's Lease and the rhythm of looks between its events (M3, C9). An event is a
 * look that somebody else paid for; what it cannot say (which cluster, whether silence means
 * anything) a look finds out. It must not conclude anything from time.
 */
#include "base/clock.h"
#include "base/log.h"
#include "kube/url.h"
#include "observer/observer.h"

static void see(struct observer *observer, struct msg_peer_seen *seen, const char *version)
{
	observer->pace.event_ns = base_clock_boot_ns();
	seen->started_ns = seen->finished_ns = (uint64_t)observer->pace.event_ns;
	look_tell(observer, seen, version);
	watch_set_timer(observer);
}

static void on_object(void *arg, enum kube_watch_event event, const json_t *object)
{
	struct observer *observer = arg;
	struct msg_peer_seen seen = { .class = PEER_NOT_FOUND };
	struct kube_lease lease;
	struct err err;

	/* Which cluster says this? A look asks both questions. */
	if (!observer->verified) {
		watch_look_now(observer, base_clock_boot_ns());
		return;
	}
	if (event == KUBE_WATCH_DELETED) {
		see(observer, &seen, "");
		return;
	}
	if (kube_lease_parse(object, &lease, &err)) {
		log_warn("peer Lease: %s", err.text);
		lease = (struct kube_lease){ 0 };
		peer_classify(KUBE_BLIND, PEER_WHY_UNPARSABLE, &seen);
	} else {
		peer_from_lease(&lease, &observer->names, &seen);
	}
	see(observer, &seen, lease.resource_version);
}

static void on_begin(void *arg)
{
	(void)arg;
}

/* A list without the Lease is not told as its absence: the next look finds out. */
static void on_synced(void *arg, const char *resource_version)
{
	(void)arg;
	(void)resource_version;
}

static void on_error(void *arg, const struct kube_answer *answer)
{
	struct observer *observer = arg;

	log_debug(
	    "watch of the peer's Lease: %s %s", kube_class_name(answer->class), answer->message);
	observer->pace.event_ns = 0;
	watch_set_timer(observer);
}

static const struct kube_watch_ops watch_ops = {
	.on_begin = on_begin,
	.on_object = on_object,
	.on_synced = on_synced,
	.on_error = on_error,
};

void watch_begin(struct observer *observer)
{
	const struct us_config *config = role_config(observer->process);
	struct buf path = buf_make(1024), query = buf_make(256);
	struct kube_watch_options options = { .target = CREDENTIAL_PEER_OBSERVER,
		.deadline_ms = config_request_deadline_ms(config) };

	observer->verified = false;
	look_at_rights(observer);
	if (observer->watch) {
		kube_watch_restart(observer->watch);
		return;
	}
	kube_url_path(&path, "coordination.k8s.io", "v1", "leases",
	    config_text_at(config, config->namespace), NULL, NULL);
	/* Rights by name hold for list and watch only with this selector. */
	kube_url_query(&query, "fieldSelector", "metadata.name=" KUBE_LEASE_NAME);
	options.path = path.data;
	options.query = query.data;
	observer->watch = kube_watch_start(
	    observer->client, role_loop(observer->process), &options, &watch_ops, observer);
	buf_free(&path);
	buf_free(&query);
	watch_look_now(observer, base_clock_boot_ns());
}

void watch_set_timer(struct observer *observer)
{
	if (observer->looks[0].observer) /* its end sets the timer */
		loop_timer_cancel(role_loop(observer->process), &observer->timer);
	else
		loop_timer_set(role_loop(observer->process), &observer->timer,
		    peer_next_look_ns(&observer->pace));
}

void watch_look_now(void *arg, int64_t now_ns)
{
	struct observer *observer = arg;

	(void)now_ns;
	/* After a failure an old connection proves nothing: it may be the dead part. */
	look_start(observer, 0, observer->failing);
	watch_set_timer(observer);
}
