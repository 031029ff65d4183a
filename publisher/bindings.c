/*
 * RoleBinding understudy-mirror-read in each mirrored namespace of this hub, while it leads: the
 * peer's syncer reads Secrets and ServiceAccounts there and nowhere else (decision 2). Only ever
 * created; the syncer leaves objects of this name out of the mirror, and the publisher may bind
 * this one ClusterRole only. Where neither of these kinds is mirrored it makes none, and knows the
 * namespaces for the fence probe.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "kube/json.h"
#include "kube/url.h"
#include "policy/config_mirror.h"
#include "policy/kinds.h"
#include "publisher/publisher.h"

#define BINDING        "understudy-mirror-read"
#define BOUND_ROLE     "understudy-mirror-secrets-read"
#define BOUND_ACCOUNT  "understudy-peer-syncer"
#define NAMESPACES_MAX 4096
#define REASSERT_NS    (300 * BASE_NS_PER_S)

static void on_created(void *arg, const struct kube_answer *answer)
{
	struct mirrored *mirrored = arg;
	struct publisher *publisher = mirrored->publisher;
	enum plan_outcome outcome =
	    answer->class == KUBE_EXISTS ? PLAN_WRITTEN : plan_outcome_of(answer, true);

	mirrored->id = 0;
	if (answer->class == KUBE_OK)
		log_info("namespace %s: the peer's syncer may read its Secrets", mirrored->name);
	else if (outcome == PLAN_FAILED && mirrored->plan.failures == 0)
		log_warn("namespace %s: RoleBinding " BINDING ": %s %s", mirrored->name,
		    kube_class_name(answer->class), answer->message);
	mirrored->done_ns = base_clock_boot_ns();
	plan_written(&mirrored->plan, publisher->permit.term, outcome, mirrored->done_ns);
	bindings_step(publisher);
}

static void create(struct mirrored *mirrored)
{
	struct publisher *publisher = mirrored->publisher;
	const struct us_config *config = role_config(publisher->process);
	struct buf path = buf_make(1024), body = buf_make(4096);
	struct kube_ask ask = {
		.target = CREDENTIAL_PUBLISHER, .verb = KUBE_POST, .deadline_ms = OTHER_REQUEST_MS
	};

	kube_url_path(
	    &path, "rbac.authorization.k8s.io", "v1", "rolebindings", mirrored->name, NULL, NULL);
	buf_puts(&body, "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\","
			"\"kind\":\"RoleBinding\",\"metadata\":{\"name\":\"" BINDING "\"},"
			"\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\","
			"\"kind\":\"ClusterRole\",\"name\":\"" BOUND_ROLE "\"},"
			"\"subjects\":[{\"kind\":\"ServiceAccount\",\"name\":\"" BOUND_ACCOUNT
			"\",\"namespace\":");
	buf_json_string(&body, str_of(config_text_at(config, config->namespace)));
	buf_puts(&body, "}]}");
	ask.path = path.data;
	ask.body = buf_str(&body);
	/* The last look at the clock before the request leaves (H16). */
	if (plan_is_permitted(&publisher->permit, base_clock_boot_ns())) {
		mirrored->plan.writing = true;
		mirrored->id = kube_client_ask(publisher->client, &ask, on_created, mirrored);
	}
	buf_free(&path);
	buf_free(&body);
}

void bindings_step(struct publisher *publisher)
{
	int64_t now_ns = base_clock_boot_ns(), wake_ns = now_ns + REASSERT_NS;

	if (!publisher->namespace_watch || !publisher->binds)
		return;
	for (unsigned i = 0; i < publisher->namespace_count; i++) {
		struct mirrored *mirrored = publisher->namespaces[i];
		bool done = mirrored->done_ns && now_ns - mirrored->done_ns < REASSERT_NS;
		struct plan_action action =
		    plan_step(&mirrored->plan, &publisher->permit, done, now_ns);

		if (action.verb == PLAN_WRITE)
			create(mirrored);
		else if (action.wake_ns && action.wake_ns < wake_ns)
			wake_ns = action.wake_ns;
	}
	loop_timer_set(role_loop(publisher->process), &publisher->binding_timer, wake_ns);
}

bool bindings_is_mirrored(const struct publisher *publisher, const char *namespace)
{
	for (unsigned i = 0; i < publisher->namespace_count; i++)
		if (strcmp(publisher->namespaces[i]->name, namespace) == 0)
			return true;
	return false;
}

static void on_timer(void *arg, int64_t now_ns)
{
	(void)now_ns;
	bindings_step(arg);
}

static void cancel(struct mirrored *mirrored)
{
	kube_client_cancel(mirrored->publisher->client, mirrored->id);
	mirrored->id = 0;
	mirrored->plan.writing = false;
}

void bindings_term_changed(struct publisher *publisher)
{
	for (unsigned i = 0; i < publisher->namespace_count; i++) {
		cancel(publisher->namespaces[i]);
		publisher->namespaces[i]->plan = (struct plan){ 0 };
	}
}

/* --- The watch -------------------------------------------------------------------------------- */

static void remove_namespace(struct publisher *publisher, unsigned at)
{
	cancel(publisher->namespaces[at]);
	free(publisher->namespaces[at]);
	publisher->namespaces[at] = publisher->namespaces[--publisher->namespace_count];
}

static void on_begin(void *arg)
{
	struct publisher *publisher = arg;

	for (unsigned i = 0; i < publisher->namespace_count; i++)
		publisher->namespaces[i]->listed = false;
}

static void on_object(void *arg, enum kube_watch_event event, const json_t *object)
{
	struct publisher *publisher = arg;
	const struct us_config *config = role_config(publisher->process);
	const char *name = kube_json_text(kube_json_at(object, "metadata", NULL), "name");
	bool leaves = event == KUBE_WATCH_DELETED ||
		      strcmp(kube_json_text(kube_json_at(object, "status", NULL), "phase"),
			  "Terminating") == 0;
	struct mirrored *mirrored;
	unsigned at = 0;

	while (
	    at < publisher->namespace_count && strcmp(publisher->namespaces[at]->name, name) != 0)
		at++;
	if (leaves) {
		if (at < publisher->namespace_count)
			remove_namespace(publisher, at);
		return;
	}
	if (!config_may_mirror(config, name)) {
		log_warn("namespace %s is never mirrored, whatever its labels say", name);
		return;
	}
	if (at == publisher->namespace_count) {
		if (at == NAMESPACES_MAX || !name[0] || strlen(name) >= sizeof(mirrored->name)) {
			log_error("namespace %s gets no RoleBinding: too many, or no name", name);
			return;
		}
		mirrored = calloc(1, sizeof(*mirrored));
		CHECK(mirrored && str_copy(mirrored->name, sizeof(mirrored->name), str_of(name)));
		mirrored->publisher = publisher;
		publisher->namespaces[publisher->namespace_count++] = mirrored;
	}
	publisher->namespaces[at]->listed = true;
	probe_again(publisher);
	bindings_step(publisher);
}

static void on_synced(void *arg, const char *resource_version)
{
	struct publisher *publisher = arg;

	(void)resource_version;
	for (unsigned i = publisher->namespace_count; i-- > 0;)
		if (!publisher->namespaces[i]->listed)
			remove_namespace(publisher, i);
	publisher->namespaces_synced = true;
	probe_again(publisher);
	bindings_step(publisher);
}

static void on_error(void *arg, const struct kube_answer *answer)
{
	(void)arg;
	log_warn("watch of namespaces: %s %s", kube_class_name(answer->class), answer->message);
}

static const struct kube_watch_ops watch_ops = {
	.on_begin = on_begin,
	.on_object = on_object,
	.on_synced = on_synced,
	.on_error = on_error,
};

void bindings_begin(struct publisher *publisher)
{
	const struct us_config *config = role_config(publisher->process);
	struct buf query = buf_make(1024), label = buf_make(512);
	struct kind_row kinds[KIND_COUNT];
	struct kube_watch_options options = { .target = CREDENTIAL_PUBLISHER,
		.path = "/api/v1/namespaces",
		.deadline_ms = OTHER_REQUEST_MS };

	if (publisher->namespace_watch) {
		for (unsigned i = 0; i < publisher->namespace_count; i++)
			plan_renewed(&publisher->namespaces[i]->plan);
		bindings_step(publisher);
		return;
	}
	publisher->namespaces = calloc(NAMESPACES_MAX, sizeof(struct mirrored *));
	CHECK(publisher->namespaces);
	publisher->binding_timer = (struct loop_timer){ .fire = on_timer, .arg = publisher };
	(void)kinds_of(config, kinds);
	publisher->binds = kinds_any_each(kinds);
	config_put_label(config, &config->mirror_label, &label);
	kube_url_query(&query, "labelSelector", label.data);
	options.query = query.data;
	publisher->namespace_watch = kube_watch_start(
	    publisher->client, role_loop(publisher->process), &options, &watch_ops, publisher);
	buf_free(&query);
	buf_free(&label);
}

void bindings_close(struct publisher *publisher)
{
	if (publisher->namespace_watch)
		kube_watch_stop(publisher->namespace_watch);
	while (publisher->namespace_count)
		remove_namespace(publisher, 0);
	loop_timer_cancel(role_loop(publisher->process), &publisher->binding_timer);
	free(publisher->namespaces);
}
