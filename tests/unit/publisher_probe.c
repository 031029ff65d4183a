/*
 * Goal: the fence probe is a dry run of a write that the role policy governs, on a hub with
 * Clusters and on one without KubeSlice, and its verdict is what the API server said (C1). Method:
 * the publisher's own functions, with the API client and the process around them played by the
 * test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kube/json.h"
#include "publisher/publisher.h"
#include "tests/sim/no_dialer.h"
#include "tests/sim/no_metric.h"
#include "tests/unit/config_pool.h"

/* --- What the publisher calls ----------------------------------------------------------------- */

static struct kube_ask asked;
static char asked_path[512];
static unsigned asks, tells;
static kube_done_fn *asked_done;
static void *asked_arg;
static const struct kube_watch_ops *clusters, *namespaces;
static struct msg_probe_seen told;
static struct us_config config;

uint64_t kube_client_ask(
    struct kube_client *client, const struct kube_ask *ask, kube_done_fn *done, void *arg)
{
	(void)client;
	asked = *ask;
	(void)snprintf(asked_path, sizeof(asked_path), "%s", ask->path);
	asked_done = done;
	asked_arg = arg;
	return ++asks;
}

struct kube_watch *kube_watch_start(struct kube_client *client, struct loop *loop,
    const struct kube_watch_options *options, const struct kube_watch_ops *ops, void *arg)
{
	(void)client;
	(void)loop;
	(void)arg;
	*(strstr(options->path, "/clusters") ? &clusters : &namespaces) = ops;
	return (struct kube_watch *)&asks;
}

void kube_watch_stop(struct kube_watch *watch)
{
	(void)watch;
}

void kube_watch_restart(struct kube_watch *watch)
{
	(void)watch;
}

void kube_client_cancel(struct kube_client *client, uint64_t id)
{
	(void)client;
	(void)id;
}

bool kube_client_has(const struct kube_client *client, unsigned target)
{
	(void)client;
	(void)target;
	return true;
}

bool kube_client_take(struct kube_client *client, const struct msg_credential *credential)
{
	(void)client;
	(void)credential;
	return false;
}

const char *kube_class_name(enum kube_class class)
{
	(void)class;
	return "class";
}

const struct us_config *role_config(const struct role_process *process)
{
	(void)process;
	return &config;
}

struct loop *role_loop(struct role_process *process)
{
	static struct loop *loop;

	(void)process;
	if (!loop)
		loop = loop_new();
	return loop;
}

bool role_send(struct role_process *process, enum role peer, unsigned shard, enum message_id id,
    const void *body)
{
	(void)process;
	(void)shard;
	if (peer == ROLE_ELECTOR && id == MSG_PROBE_SEEN) {
		told = *(const struct msg_probe_seen *)body;
		tells++;
	}
	return true;
}

/* --- A hub ------------------------------------------------------------------------------------ */

static struct publisher publisher;

static int open_hub(void **state)
{
	(void)state;
	memset(&config, 0, sizeof(config));
	config.namespace = config_put(&config, "kubeslice-controller");
	config.renew_deadline_ms = 2500;
	config.retry_period_ms = 400;
	publisher = (struct publisher){ .self = "hub-a", .endpoint = "https://hub-a" };
	asks = tells = 0;
	publish_open(&publisher);
	publish_begin(&publisher);
	bindings_begin(&publisher);
	return 0;
}

static int close_hub(void **state)
{
	(void)state;
	bindings_close(&publisher);
	publish_close(&publisher);
	return 0;
}

/* What a watch shows, as lines of names, NAMESPACE/NAME or NAME. */
static void show(const struct kube_watch_ops *ops, const char *const *names)
{
	ops->on_begin(&publisher);
	for (; *names; names++) {
		const char *slash = strchr(*names, '/');
		json_t *object = json_pack("{s:{s:s%, s:s}}", "metadata", "namespace", *names,
		    slash ? (size_t)(slash - *names) : (size_t)0, "name",
		    slash ? slash + 1 : *names);

		assert_non_null(object);
		ops->on_object(&publisher, KUBE_WATCH_ADDED, object);
		json_decref(object);
	}
	ops->on_synced(&publisher, "1");
}

static const char *const nothing[] = { NULL };
static const char *const shop[] = { "shop", NULL };

static void fails(const struct kube_watch_ops *ops, enum kube_class class)
{
	const struct kube_answer answer = { .class = class };

	ops->on_error(&publisher, &answer);
}

static void answer(enum kube_class class, const char *message)
{
	struct kube_answer said = { .class = class };

	(void)snprintf(said.message, sizeof(said.message), "%s", message);
	asked_done(asked_arg, &said);
}

/* --- Tests ------------------------------------------------------------------------------------ */

static void a_cluster_of_a_mirrored_namespace_is_patched_with_nothing(void **state)
{
	static const char *const two[] = { "elsewhere/w", "shop/worker-1", NULL };

	(void)state;
	show(namespaces, shop);
	show(clusters, two);
	probe_start(&publisher, 7);
	assert_int_equal(asks, 1);
	assert_string_equal(asked_path,
	    "/apis/controller.kubeslice.io/v1alpha1/namespaces/shop/clusters/worker-1/status");
	assert_int_equal(asked.verb, KUBE_PATCH_MERGE);
	assert_string_equal(asked.query, "dryRun=All");
	assert_true(str_equal(asked.body, STR_LIT("{}")));
	answer(KUBE_OK, "");
	assert_int_equal(told.nonce, 7);
	assert_int_equal(told.verdict, PROBE_ACCEPTED);
}

/* Wherever KubeSlice is not, or has no Cluster yet, or has them where nothing is mirrored. */
static void without_one_a_lease_that_nobody_has_is_applied_there(void **state)
{
	static const char *const strange[] = { "elsewhere/w", NULL };

	(void)state;
	show(namespaces, shop);
	for (unsigned i = 0; i < 3; i++) {
		if (i == 0)
			fails(clusters, KUBE_NO_RESOURCE);
		else
			show(clusters, i == 1 ? nothing : strange);
		probe_start(&publisher, 8 + i);
		assert_int_equal(asks, i + 1);
		assert_string_equal(asked_path,
		    "/apis/coordination.k8s.io/v1/namespaces/shop/leases/understudy-probe");
		assert_int_equal(asked.verb, KUBE_PATCH_APPLY);
		assert_non_null(strstr(asked.query, "dryRun=All"));
		assert_non_null(strstr(asked.query, "fieldManager="));
		assert_true(asked.deadline_ms > 0);
		answer(KUBE_FORBIDDEN, "policy denied: UNDERSTUDY_FENCE this hub is not leading");
		assert_int_equal(told.nonce, 8 + i);
		assert_int_equal(told.verdict, PROBE_FENCED);
	}
}

/* Only the fence's own word is its refusal, and only the server's acceptance is one. */
static void another_refusal_is_no_verdict(void **state)
{
	static const struct {
		enum kube_class class;
		const char *message;
	} cases[] = {
		{ KUBE_FORBIDDEN, "leases \"understudy-probe\" is forbidden: cannot create" },
		{ KUBE_FORBIDDEN, "exceeded quota" },
		{ KUBE_INVALID, "UNDERSTUDY_FENCE" },
		{ KUBE_NOT_FOUND, "namespaces \"shop\" not found" },
		{ KUBE_SILENT, "UNDERSTUDY_FENCE" },
	};

	(void)state;
	show(namespaces, shop);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		probe_start(&publisher, i);
		answer(cases[i].class, cases[i].message);
		assert_int_equal(told.nonce, i);
		assert_int_equal(told.verdict, PROBE_FAILED);
	}
}

/* A Namespace that is never mirrored is none, whatever its labels say. */
static void without_a_mirrored_namespace_there_is_nothing_to_try_it_on(void **state)
{
	static const char *const never[] = { "default", "kube-system", "kubeslice-controller",
		NULL };

	(void)state;
	fails(clusters, KUBE_NO_RESOURCE);
	probe_start(&publisher, 1);
	assert_int_equal(told.verdict, PROBE_FAILED); /* not known yet */
	show(namespaces, never);
	assert_int_equal(told.nonce, 1);
	assert_int_equal(told.verdict, PROBE_NO_OBJECT);
	probe_start(&publisher, 2);
	assert_int_equal(told.nonce, 2);
	assert_int_equal(told.verdict, PROBE_NO_OBJECT);
	assert_int_equal(asks, 0);
}

/* At a start, when nothing is known yet; only the last question, and only once. */
static void what_is_asked_too_early_is_tried_as_soon_as_it_can_be(void **state)
{
	(void)state;
	probe_start(&publisher, 1);
	probe_start(&publisher, 2);
	assert_int_equal(told.verdict, PROBE_FAILED);
	show(namespaces, shop);
	assert_int_equal(asks, 1);
	answer(KUBE_OK, "");
	assert_int_equal(told.nonce, 2);
	assert_int_equal(told.verdict, PROBE_ACCEPTED);
	show(namespaces, shop);
	assert_int_equal(asks, 1);
}

/* The mirror makes the first Namespace of a Standby after the first question was asked. */
static void a_namespace_that_comes_later_is_tried_at_once(void **state)
{
	(void)state;
	show(namespaces, nothing);
	probe_start(&publisher, 3);
	assert_int_equal(told.verdict, PROBE_NO_OBJECT);
	show(namespaces, shop);
	assert_int_equal(asks, 1);
	answer(KUBE_FORBIDDEN, "UNDERSTUDY_FENCE");
	assert_int_equal(told.nonce, 3);
	assert_int_equal(told.verdict, PROBE_FENCED);
}

/* A kind that is not served has no objects; any other failure says nothing of them. */
static void a_hub_without_the_kind_has_no_clusters(void **state)
{
	static const char *const one[] = { "shop/worker-1", NULL };

	(void)state;
	fails(clusters, KUBE_SERVER_ERROR);
	fails(clusters, KUBE_FORBIDDEN);
	assert_false(publisher.synced);
	fails(clusters, KUBE_NO_RESOURCE);
	assert_true(publisher.synced);
	show(clusters, one);
	fails(clusters, KUBE_NO_RESOURCE); /* they are kept: a server may say so while it starts */
	assert_int_equal(publisher.cluster_count, 1);
}

#define ON_A_HUB(f) cmocka_unit_test_setup_teardown(f, open_hub, close_hub)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_A_HUB(a_cluster_of_a_mirrored_namespace_is_patched_with_nothing),
		ON_A_HUB(without_one_a_lease_that_nobody_has_is_applied_there),
		ON_A_HUB(another_refusal_is_no_verdict),
		ON_A_HUB(without_a_mirrored_namespace_there_is_nothing_to_try_it_on),
		ON_A_HUB(what_is_asked_too_early_is_tried_as_soon_as_it_can_be),
		ON_A_HUB(a_namespace_that_comes_later_is_tried_at_once),
		ON_A_HUB(a_hub_without_the_kind_has_no_clusters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
