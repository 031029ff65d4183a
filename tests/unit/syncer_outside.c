/*
 * Goal: what a mirrored object refers to and the mirror has not is listed once, with the reason,
 * for as long as it is so (B6); what is never taken is listed, too (B19); strange objects and many
 * of them stay within the bounds. Method: the world of syncer_world.h, objects as JSON texts.
 */
#include "tests/unit/syncer_world.h"

#include "syncer/outside.h"

static struct outside outside;
static char listed[4096];
static unsigned rows;

static int set_up_outside(void **state)
{
	outside_open(&outside);
	return setup(state);
}

static int tear_down_outside(void **state)
{
	outside_close(&outside);
	return teardown(state);
}

static bool visit(void *arg, enum sync_listing listing, const char *object, const char *why)
{
	size_t n = strlen(listed);

	(void)arg;
	rows++;
	(void)snprintf(
	    listed + n, sizeof(listed) - n, "%u %s: %s\n", (unsigned)listing, object, why);
	return true;
}

static unsigned list(void)
{
	listed[0] = '\0';
	rows = 0;
	return outside_visit(&outside, &w.engine, visit, NULL);
}

/* An object of the source with this content beside its name. */
static void refer(enum kind kind, const char *name, const char *more, uint32_t pass)
{
	struct rewrite_facts facts;
	struct buf text = buf_make(8u << 20);
	struct err err;
	json_t *value;

	buf_printf(&text,
	    "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"" NS
	    "\",\"uid\":\"u\",\"resourceVersion\":\"1\"%s}",
	    name, more);
	value = kube_json_parse(buf_str(&text), &err);
	if (!value)
		fail_msg("%s", err.text);
	assert_int_equal(rewrite_read(kind, REWRITE_SOURCE, value, &facts, &err), 0);
	outside_refer(&outside, kind, value, &facts, pass);
	json_decref(value);
	buf_free(&text);
}

static void B6_what_is_referred_to_and_not_mirrored(void **state)
{
	struct object *gateway = add(KIND_WORKER_SLICE_GATEWAY, "gw");

	(void)state;
	add(KIND_SECRET, "here");
	first_mirror();
	refer(KIND_WORKER_SLICE_GATEWAY, "gw",
	    "},\"spec\":{\"gatewayCredentials\":{\"secretName\":\"here\"}}", 2);
	assert_int_equal(list(), 0);
	refer(KIND_WORKER_SLICE_GATEWAY, "gw",
	    "},\"spec\":{\"gatewayCredentials\":{\"secretName\":\"away\"},\"a\":[{\"configMapRef\":"
	    "{\"name\":\"cm\"}}]}",
	    2);
	assert_int_equal(list(), 2);
	assert_non_null(strstr(listed,
	    "3 Secret " NS
	    "/away: the source has none of that name that is mirrored; referenced by "
	    "WorkerSliceGateway " NS "/gw in spec.gatewayCredentials.secretName\n"));
	assert_non_null(strstr(listed, "3 ConfigMap " NS "/cm: its kind is not mirrored"));
	vanish(gateway);
	run();
	assert_int_equal(list(), 0);
	outside_forget(&outside, KIND_WORKER_SLICE_GATEWAY, NS, "gw");
	assert_int_equal(outside.references, 0);
}

static void bindings_accounts_and_owners_are_looked_into(void **state)
{
	(void)state;
	add(KIND_ROLE_BINDING, "rb");
	add(KIND_SERVICE_ACCOUNT, "sa");
	add(KIND_CLUSTER, "c");
	first_mirror();
	refer(KIND_ROLE_BINDING, "rb",
	    "},\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"view\"},\"subjects\":[{\"kind\":"
	    "\"ServiceAccount\",\"name\":\"sa\",\"namespace\":\"" NS
	    "\"},{\"kind\":\"ServiceAccount\",\"name\":\"x\",\"namespace\":\"elsewhere\"},{"
	    "\"kind\":"
	    "\"User\",\"name\":\"me\"}]",
	    2);
	refer(KIND_SERVICE_ACCOUNT, "sa", "},\"imagePullSecrets\":[{\"name\":\"pull\"}]", 2);
	refer(KIND_CLUSTER, "c",
	    ",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":"
	    "\"d\"}]}",
	    2);
	assert_int_equal(list(), 4);
	assert_non_null(strstr(listed, "ClusterRole view: its kind is not mirrored"));
	assert_non_null(
	    strstr(listed, "ServiceAccount elsewhere/x: its namespace is not mirrored"));
	assert_non_null(strstr(listed, "Secret " NS "/pull: the source has none"));
	assert_non_null(strstr(listed, "Deployment " NS "/d: its kind is not mirrored"));
}

static void B19_what_is_never_taken_is_listed(void **state)
{
	struct rewrite_facts facts = { .name = "sh.helm", .namespace = NS };

	(void)state;
	outside_exclude(&outside, KIND_SECRET, &facts, 1, "Helm's");
	outside_exclude(&outside, KIND_SECRET, &facts, 1, "Helm's");
	assert_int_equal(outside.excluded, 1);
	(void)list();
	assert_string_equal(listed, "2 Secret " NS "/sh.helm: Helm's\n");
	/* A list without it. */
	outside_listed(&outside, KIND_SECRET, store_space(&w.engine.store, "other"), 2);
	outside_listed(&outside, KIND_ROLE, NULL, 2);
	assert_int_equal(outside.excluded, 1);
	outside_listed(&outside, KIND_SECRET, store_space(&w.engine.store, NS), 2);
	assert_int_equal(outside.excluded, 0);
	(void)list();
	assert_int_equal(rows, 0);
}

static void all_of_it_is_bounded(void **state)
{
	struct rewrite_facts facts = { .namespace = NS };
	struct buf many = buf_make(1u << 20);
	char name[32];

	(void)state;
	buf_puts(&many, "},\"spec\":{\"imagePullSecrets\":[");
	for (int i = 0; i < 1000; i++)
		buf_printf(&many, "%s{\"name\":\"s%d\"}", i ? "," : "", i);
	buf_puts(&many, "],\"secretRef\":[[[{\"secretName\":7}]]]}");
	for (int i = 0; i < 300; i++) {
		(void)snprintf(name, sizeof(name), "o%d", i);
		refer(KIND_CLUSTER, name, many.data, 1);
		facts.name = name;
		outside_exclude(&outside, KIND_SECRET, &facts, 1, "x");
	}
	assert_int_equal(outside.references, OUTSIDE_MAX_REFERENCES);
	assert_int_equal(outside.excluded, OUTSIDE_MAX_EXCLUDED);
	assert_true(outside.untold > 0);
	outside_listed(&outside, KIND_CLUSTER, NULL, 2);
	outside_listed(&outside, KIND_SECRET, NULL, 2);
	assert_int_equal(outside.references, 0);
	assert_int_equal(outside.objects.count, 0);
	buf_free(&many);
}

#define OUTSIDE(f) cmocka_unit_test_setup_teardown(f, set_up_outside, tear_down_outside)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OUTSIDE(B6_what_is_referred_to_and_not_mirrored),
		OUTSIDE(bindings_accounts_and_owners_are_looked_into),
		OUTSIDE(B19_what_is_never_taken_is_listed),
		OUTSIDE(all_of_it_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
