/*
 * status.activeController on the Clusters of this hub (3.8). A merge patch of that one field, so
 * that what workers wrote beside it stays (M4, L111); the answer is the read-back (L106). One
 * Cluster that fails does not stop the others (L108).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "kube/json.h"
#include "kube/lease.h"
#include "kube/url.h"
#include "publisher/publisher.h"

#define BODY_MAX_BYTES 262144

static void step(struct publisher *publisher);

void publish_cluster_path(struct buf *path, const struct cluster *cluster, const char *subresource)
{
	kube_url_path(path, "controller.kubeslice.io", "v1alpha1", "clusters", cluster->namespace,
	    cluster->name, subresource);
}

/* --- What stands there ------------------------------------------------------------------------ */

static bool says_the_same(const struct publisher *publisher, const json_t *active)
{
	return strcmp(kube_json_text(active, "endpoint"), publisher->endpoint) == 0 &&
	       strcmp(kube_json_text(active, "caBundle"), publisher->bundle) == 0 &&
	       strcmp(kube_json_text(active, "activeIdentity"), publisher->self) == 0;
}

/* Returns whether the Secret that it names changed. */
static bool see(struct cluster *cluster, const json_t *object)
{
	const json_t *active = kube_json_at(object, "status", "activeController", NULL);
	const char *secret = kube_json_text(kube_json_at(object, "status", NULL), "secretName");
	bool other_secret = strcmp(secret, cluster->secret) != 0;

	cluster->same = active && says_the_same(cluster->publisher, active);
	if (kube_time_parse(kube_json_text(active, "lastUpdated"), &cluster->updated_us))
		cluster->updated_us = 0;
	if (!str_copy(cluster->secret, sizeof(cluster->secret), str_of(secret)))
		cluster->secret[0] = '\0';
	return other_secret;
}

/* --- Telling ---------------------------------------------------------------------------------- */

static void tell_pruned(struct cluster *cluster)
{
	struct publisher *publisher = cluster->publisher;
	struct msg_event_asked event = { .reason = EVENT_PUBLISH_PRUNED,
		.kind = STR_LIT("Cluster"),
		.namespace = str_of(cluster->namespace),
		.object = str_of(cluster->name),
		.note =
		    STR_LIT("status.activeController was accepted but not kept: the Cluster "
			    "CRD of this hub is older than that field, and no worker can follow "
			    "it until the CRD is updated") };

	if (publisher->pruned_told)
		return;
	publisher->pruned_told = true;
	log_error("Cluster %s/%s: %s", cluster->namespace, cluster->name, event.note.p);
	(void)role_send(publisher->process, ROLE_ELECTOR, 0, MSG_EVENT_ASKED, &event);
}

/* A pass is over when nothing is being written: PUBLISHED, and one error count (L106, L108). */
static void tell_pass(struct publisher *publisher)
{
	struct msg_published now = { .term = publisher->permit.term };

	if (publisher->writing || publisher->permit.term == 0 || !publisher->synced)
		return;
	for (unsigned i = 0; i < publisher->cluster_count; i++) {
		const struct plan *plan = &publisher->clusters[i]->plan;

		now.pruned += plan->pruned;
		now.failed += plan->failed;
		now.written += plan->stamped_term == now.term && !plan->pruned && !plan->failed;
	}
	if (publisher->wrote && (now.failed || now.pruned))
		role_metric(publisher->process, METRIC_PUBLISH_ERRORS, NULL, NULL, 1000000);
	publisher->wrote = false;
	if (memcmp(&now, &publisher->told, sizeof(now)) == 0)
		return;
	publisher->told = now;
	(void)role_send(publisher->process, ROLE_ELECTOR, 0, MSG_PUBLISHED, &now);
}

/* --- Writing ---------------------------------------------------------------------------------- */

static void on_written(void *arg, const struct kube_answer *answer)
{
	struct cluster *cluster = arg;
	struct publisher *publisher = cluster->publisher;
	json_t *object = answer->class == KUBE_OK ? kube_json_parse(answer->body, NULL) : NULL;
	enum plan_outcome outcome;

	cluster->id = 0;
	publisher->writing--;
	publisher->wrote = true;
	if (object)
		(void)see(cluster, object);
	json_decref(object);
	outcome = plan_outcome_of(answer, object && cluster->same);
	plan_written(&cluster->plan, publisher->permit.term, outcome, base_clock_boot_ns());
	if (outcome == PLAN_WRITTEN)
		log_info("published activeController on %s/%s", cluster->namespace, cluster->name);
	else if (outcome == PLAN_PRUNED)
		tell_pruned(cluster);
	else if (outcome == PLAN_FAILED)
		log_warn("activeController publication on %s/%s failed; will retry: %s: %s",
		    cluster->namespace, cluster->name, kube_class_name(answer->class),
		    answer->message);
	step(publisher);
}

static void rfc3339_seconds(char text[40], int64_t us)
{
	char *dot;

	kube_time_put(text, us);
	dot = strchr(text, '.');
	if (dot)
		(void)snprintf(dot, 2, "Z");
}

static void write_cluster(struct cluster *cluster)
{
	struct publisher *publisher = cluster->publisher;
	struct buf path = buf_make(2048), body = buf_make(BODY_MAX_BYTES);
	struct kube_ask ask = { .target = CREDENTIAL_PUBLISHER,
		.verb = KUBE_PATCH_MERGE,
		.deadline_ms = config_request_deadline_ms(role_config(publisher->process)) };
	char updated[40];

	rfc3339_seconds(updated, plan_last_updated_us(base_clock_wall_us(), cluster->updated_us));
	publish_cluster_path(&path, cluster, "status");
	buf_puts(&body, "{\"status\":{\"activeController\":{\"endpoint\":");
	buf_json_string(&body, str_of(publisher->endpoint));
	buf_puts(&body, ",\"caBundle\":");
	buf_json_string(&body, str_of(publisher->bundle));
	buf_puts(&body, ",\"activeIdentity\":");
	buf_json_string(&body, str_of(publisher->self));
	buf_printf(&body, ",\"lastUpdated\":\"%s\"}}}", updated);
	ask.path = path.data;
	ask.body = buf_str(&body);
	/* The last look at the clock before the request leaves (H16). */
	if (!body.failed && plan_is_permitted(&publisher->permit, base_clock_boot_ns())) {
		cluster->plan.writing = true;
		publisher->writing++;
		cluster->id = kube_client_ask(publisher->client, &ask, on_written, cluster);
	}
	buf_free(&path);
	buf_free(&body);
}

static void step(struct publisher *publisher)
{
	int64_t now_ns = base_clock_boot_ns(), wake_ns = 0;

	if (!plan_endpoint_usable(publisher->endpoint) || !publisher->synced)
		return;
	for (unsigned i = 0; i < publisher->cluster_count; i++) {
		struct cluster *cluster = publisher->clusters[i];
		struct plan_action action =
		    plan_step(&cluster->plan, &publisher->permit, cluster->same, now_ns);

		if (action.verb == PLAN_WRITE && publisher->writing < PUBLISHER_WINDOW)
			write_cluster(cluster);
		else if (action.wake_ns && (!wake_ns || action.wake_ns < wake_ns))
			wake_ns = action.wake_ns;
	}
	loop_timer_cancel(role_loop(publisher->process), &publisher->timer);
	if (wake_ns)
		loop_timer_set(role_loop(publisher->process), &publisher->timer, wake_ns);
	tell_pass(publisher);
}

static void on_timer(void *arg, int64_t now_ns)
{
	(void)now_ns;
	step(arg);
}

static void cancel_write(struct cluster *cluster)
{
	struct publisher *publisher = cluster->publisher;

	if (!cluster->plan.writing)
		return;
	kube_client_cancel(publisher->client, cluster->id);
	cluster->plan.writing = false;
	publisher->writing--;
}

void publish_permit(struct publisher *publisher, const struct plan_permit *permit)
{
	bool new_term = permit->term != publisher->permit.term;

	publisher->permit = *permit;
	if (new_term || permit->valid_until_ns == 0)
		for (unsigned i = 0; i < publisher->cluster_count; i++) {
			cancel_write(publisher->clusters[i]);
			if (new_term)
				publisher->clusters[i]->plan = (struct plan){ 0 };
		}
	if (new_term) {
		publisher->pruned_told = false;
		log_info("starting activeController publisher, term %" PRIu64, permit->term);
		if (!plan_endpoint_usable(publisher->endpoint))
			log_error(
			    "refusing to publish activeController: the endpoint of %s is '%s'",
			    publisher->self, publisher->endpoint);
		bindings_term_changed(publisher);
	}
	step(publisher);
	bindings_step(publisher);
}

/* --- The watch -------------------------------------------------------------------------------- */

const struct cluster *publish_find(
    const struct publisher *publisher, const char *namespace, const char *name)
{
	for (unsigned i = 0; i < publisher->cluster_count; i++)
		if (strcmp(publisher->clusters[i]->name, name) == 0 &&
		    strcmp(publisher->clusters[i]->namespace, namespace) == 0)
			return publisher->clusters[i];
	return NULL;
}

static struct cluster *add(struct publisher *publisher, const char *namespace, const char *name)
{
	struct cluster *cluster;

	if (publisher->cluster_count == PUBLISHER_CLUSTERS_MAX) {
		log_error("more than %d Clusters: %s/%s is not published to",
		    PUBLISHER_CLUSTERS_MAX, namespace, name);
		return NULL;
	}
	cluster = calloc(1, sizeof(*cluster));
	CHECK(cluster);
	cluster->publisher = publisher;
	if (!str_copy(cluster->namespace, sizeof(cluster->namespace), str_of(namespace)) ||
	    !str_copy(cluster->name, sizeof(cluster->name), str_of(name)) || !name[0]) {
		free(cluster);
		return NULL;
	}
	publisher->clusters[publisher->cluster_count++] = cluster;
	return cluster;
}

static void remove_cluster(struct publisher *publisher, unsigned at)
{
	cancel_write(publisher->clusters[at]);
	free(publisher->clusters[at]);
	publisher->clusters[at] = publisher->clusters[--publisher->cluster_count];
}

static void on_begin(void *arg)
{
	struct publisher *publisher = arg;

	for (unsigned i = 0; i < publisher->cluster_count; i++)
		publisher->clusters[i]->listed = false;
}

static void on_object(void *arg, enum kube_watch_event event, const json_t *object)
{
	struct publisher *publisher = arg;
	const json_t *metadata = kube_json_at(object, "metadata", NULL);
	const char *namespace = kube_json_text(metadata, "namespace");
	const char *name = kube_json_text(metadata, "name");
	unsigned at = 0;

	while (at < publisher->cluster_count &&
	       (strcmp(publisher->clusters[at]->name, name) != 0 ||
		   strcmp(publisher->clusters[at]->namespace, namespace) != 0))
		at++;
	if (event == KUBE_WATCH_DELETED) {
		if (at < publisher->cluster_count)
			remove_cluster(publisher, at);
		return;
	}
	if (at == publisher->cluster_count && !add(publisher, namespace, name))
		return;
	publisher->clusters[at]->listed = true;
	if (see(publisher->clusters[at], object))
		tokens_look(publisher, namespace, name);
	step(publisher);
}

static void on_synced(void *arg, const char *resource_version)
{
	struct publisher *publisher = arg;

	(void)resource_version;
	for (unsigned i = publisher->cluster_count; i-- > 0;)
		if (!publisher->clusters[i]->listed)
			remove_cluster(publisher, i);
	publisher->synced = true;
	step(publisher);
}

/* A hub without KubeSlice has no Clusters. The watch goes on asking, for they may come. */
static void on_error(void *arg, const struct kube_answer *answer)
{
	struct publisher *publisher = arg;

	if (answer->class != KUBE_NO_RESOURCE || publisher->cluster_count) {
		log_warn(
		    "watch of Clusters: %s %s", kube_class_name(answer->class), answer->message);
		return;
	}
	if (!publisher->synced)
		log_info("this hub serves no Clusters: there is nobody to publish to");
	publisher->synced = true;
	step(publisher);
}

static const struct kube_watch_ops watch_ops = {
	.on_begin = on_begin,
	.on_object = on_object,
	.on_synced = on_synced,
	.on_error = on_error,
};

void publish_begin(struct publisher *publisher)
{
	struct kube_watch_options options = { .target = CREDENTIAL_PUBLISHER,
		.path = "/apis/controller.kubeslice.io/v1alpha1/clusters",
		.deadline_ms = OTHER_REQUEST_MS };

	if (!publisher->cluster_watch) {
		publisher->cluster_watch = kube_watch_start(publisher->client,
		    role_loop(publisher->process), &options, &watch_ops, publisher);
		return;
	}
	for (unsigned i = 0; i < publisher->cluster_count; i++)
		plan_renewed(&publisher->clusters[i]->plan);
	step(publisher);
}

/* --- Life ------------------------------------------------------------------------------------- */

void publish_set_ca(struct publisher *publisher, struct str pem)
{
	struct buf text = buf_make(BODY_MAX_BYTES);

	if (str_equal(buf_str(&publisher->ca), pem) && publisher->bundle)
		return;
	buf_free(&publisher->ca);
	publisher->ca = buf_make(pem.n);
	buf_append(&publisher->ca, pem.p, pem.n);
	base64_put(&text, pem);
	free(publisher->bundle);
	publisher->bundle = strdup(text.data && !text.failed ? text.data : "");
	CHECK(publisher->bundle && !publisher->ca.failed);
	buf_free(&text);
	if (publisher->cluster_watch) /* every Cluster is compared anew */
		kube_watch_restart(publisher->cluster_watch);
	tokens_ca_changed(publisher);
}

void publish_open(struct publisher *publisher)
{
	publisher->timer = (struct loop_timer){ .fire = on_timer, .arg = publisher };
	publisher->clusters = calloc(PUBLISHER_CLUSTERS_MAX, sizeof(struct cluster *));
	CHECK(publisher->clusters);
}

void publish_close(struct publisher *publisher)
{
	if (publisher->cluster_watch)
		kube_watch_stop(publisher->cluster_watch);
	while (publisher->cluster_count)
		remove_cluster(publisher, 0);
	loop_timer_cancel(role_loop(publisher->process), &publisher->timer);
	free(publisher->clusters);
	free(publisher->bundle);
	buf_free(&publisher->ca);
}
