/*
 * Goal: the table of least rights is what the manifests of policy/rbac/ give, right by right, and
 * one right more or less shows. Method: the manifests are read with libyaml, their rules become
 * rights like those that an API server tells, and are held against the table; then one is taken
 * away or added. Those of a hub depend on what is mirrored: ctl_bootstrap_mirror.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/rights.h"
#include "tests/unit/config_pool.h"
#include "tests/unit/manifest_rights.h"

static struct us_config config;

static config_text put(const char *text)
{
	return config_put(&config, text);
}

static int make_config(void **state)
{
	(void)state;
	config.mode = CONFIG_STANDBY;
	config.hub_count = 2;
	config.hubs[0].name = put("hub-a");
	config.hubs[1].name = config.self_name = put("hub-b");
	config.namespace = put("kubeslice-controller");
	config.worker_count = 1;
	config.workers[0].name = put("worker-1");
	config.follower.worker_namespace = put("kubeslice-system");
	return 0;
}

/* --- Manifests ------------------------------------------------------------------------------- */

/* What is filled in when a manifest is applied. */
static char *read_file(const char *path)
{
	static const char *const set[][2] = { { "{{N}}", "kubeslice-controller" },
		{ "{{HUB}}", "hub-b" }, { "{{TOKENS}}", "kubeslice-rbac-worker-worker-1" } };
	struct buf text = buf_make(1 << 20);
	FILE *file = fopen(path, "r");
	char line[1024];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		for (const char *at = line; *at;) {
			size_t i = 0;

			while (i < 3 && strncmp(at, set[i][0], strlen(set[i][0])) != 0)
				i++;
			if (i < 3) {
				buf_puts(&text, set[i][1]);
				at += strlen(set[i][0]);
			} else {
				buf_append(&text, at++, 1);
			}
		}
	}
	fclose(file);
	return text.data;
}

static void read_manifest(const char *path, const char *role, bool home, struct rights *rights)
{
	char *text = read_file(path);

	manifest_rights(text, role, home, rights);
	free(text);
}

static const struct {
	unsigned credential;
	const char *file, *roles[2];
} identities[] = {
	{ CREDENTIAL_WORKER, "policy/rbac/worker.yaml", { "understudy-hub-b" } },
	{ CREDENTIAL_FOLLOWER, "policy/rbac/worker.yaml",
	    { "understudy-follower", "understudy-follower-hub-b" } },
};

static void the_table_is_what_the_manifests_give(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(identities) / sizeof(identities[0]); i++)
		for (int place = RIGHTS_AT_HOME; place <= RIGHTS_EVERYWHERE; place++) {
			struct rights least = { 0 }, given = { 0 };
			struct buf out = buf_make(4096);

			for (int r = 0; r < 2 && identities[i].roles[r]; r++)
				read_manifest(identities[i].file, identities[i].roles[r],
				    place == RIGHTS_AT_HOME, &given);
			/* The manifest is applied once per hub. */
			if (identities[i].credential == CREDENTIAL_FOLLOWER &&
			    place == RIGHTS_AT_HOME)
				rights_add(&given, STR_LIT("get"), STR_LIT("secrets"),
				    STR_LIT("understudy-hub-hub-a"));
			assert_true(rights_least(
			    &config, identities[i].credential, (enum rights_place)place, &least));
			assert_false(least.failed || given.failed);
			assert_true(given.count > 0);
			if (!rights_compare(&given, &least, false, 4000, &out))
				fail_msg("%s, place %d: %s",
				    credential_name(identities[i].credential), place, out.data);
			rights_free(&least);
			rights_free(&given);
			buf_free(&out);
		}
}

static void replicas_have_their_own_rights(void **state)
{
	struct rights least = { 0 }, given = { 0 };
	struct buf out = buf_make(4096);

	(void)state;
	config.mode = CONFIG_REPLICAS;
	read_manifest("policy/rbac/replicas.yaml", "understudy-replica", true, &given);
	assert_true(rights_least(&config, CREDENTIAL_ELECTOR, RIGHTS_AT_HOME, &least));
	assert_true(rights_compare(&given, &least, false, 4000, &out));
	rights_free(&least);
	assert_true(rights_least(&config, CREDENTIAL_ELECTOR, RIGHTS_EVERYWHERE, &least));
	assert_int_equal(least.count, 0);
	config.mode = CONFIG_STANDBY;
	rights_free(&least);
	rights_free(&given);
	buf_free(&out);
}

static struct rights least_of(unsigned credential, enum rights_place place)
{
	struct rights least = { 0 };

	assert_true(rights_least(&config, credential, place, &least));
	assert_false(least.failed);
	return least;
}

/* Exactly these, in any order. */
static void has_just(unsigned credential, enum rights_place place, const char *const texts[][3])
{
	struct rights least = least_of(credential, place), expected = { 0 };
	struct buf out = buf_make(4096);

	for (size_t i = 0; texts[i][0]; i++)
		rights_add(
		    &expected, str_of(texts[i][0]), str_of(texts[i][1]), str_of(texts[i][2]));
	if (!rights_compare(&expected, &least, false, 4000, &out))
		fail_msg("%s: %s", credential_name(credential), out.data);
	rights_free(&least);
	rights_free(&expected);
	buf_free(&out);
}

#define CHANGE "get,list,watch,create,update,delete"

/* M10: no right for what is not mirrored. */
static void rights_follow_the_kinds(void **state)
{
	static const char *const none[][3] = { { NULL } };
	static const char *const syncer[][3] = {
		{ CHANGE, "namespaces,configmaps,widgets.shop.example.com", "*" },
		{ "get,update", "widgets/status.shop.example.com", "*" }, { NULL }
	};
	static const char *const archive[][3] = {
		{ CHANGE, "namespaces,configmaps,widgets.shop.example.com", "*" },
		{ "get,update", "widgets/status.shop.example.com", "*" },
		{ "create", "secrets", "*" }, { NULL }
	};
	static const char *const peer[][3] = {
		{ "get,list,watch", "namespaces,configmaps,widgets.shop.example.com", "*" },
		{ NULL }
	};
	static const char *const publisher[][3] = { { "get,list,watch",
							"clusters.controller.kubeslice.io", "*" },
		{ "patch", "clusters/status.controller.kubeslice.io", "*" },
		{ "list,watch", "namespaces", "*" },
		{ "create,patch", "leases.coordination.k8s.io", "understudy-probe" },
		{ "get", "secrets", "~worker-worker-1" }, { NULL } };
	static const char *const secrets[][3] = { { CHANGE, "namespaces", "*" },
		{ "create", "rolebindings.rbac.authorization.k8s.io", "*" },
		{ "bind", "clusterroles.rbac.authorization.k8s.io", "understudy-mirror-secrets" },
		{ NULL } };
	static const char *const roles[][3] = {
		{ CHANGE, "namespaces,roles.rbac.authorization.k8s.io", "*" },
		{ "escalate", "roles.rbac.authorization.k8s.io", "*" }, { NULL }
	};

	(void)state;
	config.mirror_set = CONFIG_MIRROR_NONE;
	has_just(CREDENTIAL_SYNCER, RIGHTS_AT_HOME, none);
	has_just(CREDENTIAL_PEER_SYNCER, RIGHTS_AT_HOME, none);
	has_just(CREDENTIAL_PUBLISHER, RIGHTS_EVERYWHERE, publisher);
	config_list(&config, "", "configmaps", "ConfigMap");
	config_list(&config, "shop.example.com", "widgets", "Widget")->status = 1;
	has_just(CREDENTIAL_SYNCER, RIGHTS_EVERYWHERE, syncer);
	has_just(CREDENTIAL_SYNCER, RIGHTS_AT_HOME, archive);
	has_just(CREDENTIAL_PEER_SYNCER, RIGHTS_EVERYWHERE, peer);
	has_just(CREDENTIAL_PUBLISHER, RIGHTS_EVERYWHERE, publisher);
	config.kind_count = 0;
	config_list(&config, "", "secrets", "Secret");
	has_just(CREDENTIAL_SYNCER, RIGHTS_EVERYWHERE, secrets);
	config.kind_count = 0;
	config_list(&config, "rbac.authorization.k8s.io", "roles", "Role");
	has_just(CREDENTIAL_SYNCER, RIGHTS_EVERYWHERE, roles);
	config.kind_count = 0;
	config.mirror_set = CONFIG_MIRROR_KUBESLICE;
}

static bool holds(unsigned credential, const char *text)
{
	struct rights least = least_of(credential, RIGHTS_EVERYWHERE);
	bool found = false;

	for (size_t i = 0; i < least.count; i++)
		found = found || strcmp(least.texts[i], text) == 0;
	rights_free(&least);
	return found;
}

static void a_skipped_kind_needs_no_right(void **state)
{
	static const char one[] = "update sliceqosconfigs.controller.kubeslice.io *";
	static const char status[] = "update sliceqosconfigs/status.controller.kubeslice.io *";

	(void)state;
	assert_true(holds(CREDENTIAL_SYNCER, one) && holds(CREDENTIAL_SYNCER, status));
	config.skip_count = 1;
	config.skips[0] =
	    (struct config_skip){ put("sliceqosconfigs"), put("controller.kubeslice.io"), 0, 0 };
	assert_false(holds(CREDENTIAL_SYNCER, one) || holds(CREDENTIAL_SYNCER, status));
	assert_false(
	    holds(CREDENTIAL_PEER_SYNCER, "get sliceqosconfigs.controller.kubeslice.io *"));
	assert_true(holds(CREDENTIAL_PEER_SYNCER, "get sliceconfigs.controller.kubeslice.io *"));
	config.skip_count = 0;
}

static void one_right_more_or_less_shows(void **state)
{
	struct rights least = { 0 }, held = { 0 };
	struct buf out = buf_make(4096);

	(void)state;
	assert_true(rights_least(&config, CREDENTIAL_PEER_OBSERVER, RIGHTS_AT_HOME, &least));
	rights_add(&held, STR_LIT("get,list"), STR_LIT("leases.coordination.k8s.io"),
	    STR_LIT("kubeslice-controller-ha"));
	rights_add(&held, STR_LIT("get"), STR_LIT("namespaces"), STR_LIT(""));
	assert_false(rights_compare(&held, &least, false, 1000, &out));
	assert_string_equal(out.data,
	    "missing: watch leases.coordination.k8s.io kubeslice-controller-ha, get namespaces "
	    "kube-system; too much: get namespaces *");
	buf_clear(&out);
	assert_false(rights_compare(&held, &least, true, 1000, &out));
	assert_null(strstr(out.data, "too much"));
	buf_clear(&out);
	/* Much of one does not hide the other. */
	for (int i = 0; i < 100; i++)
		rights_add(&held, STR_LIT("get"), STR_LIT("secrets,configmaps"), STR_LIT(""));
	assert_false(rights_compare(&held, &least, false, 300, &out));
	assert_true(out.len < 360);
	assert_non_null(strstr(out.data, "missing: "));
	assert_non_null(strstr(out.data, "too much: "));
	assert_non_null(strstr(out.data, " more"));
	rights_free(&least);
	rights_free(&held);
	buf_free(&out);
}

static void a_secret_of_another_name_is_too_much(void **state)
{
	static const char *const names[] = { "kubeslice-rbac-worker-worker-1", "x-worker-worker-1",
		"worker-1", "kubeslice-rbac-worker-worker-10", "*" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct rights least = { 0 }, held = { 0 };
		struct buf out = buf_make(4096);

		assert_true(rights_least(&config, CREDENTIAL_PUBLISHER, RIGHTS_EVERYWHERE, &least));
		for (size_t r = 0; r < least.count; r++)
			if (strncmp(least.texts[r], "get secrets", 11) != 0) {
				char verb[32], resource[128], name[128];

				assert_int_equal(sscanf(least.texts[r], "%31s %127s %127s", verb,
						     resource, name),
				    3);
				rights_add(&held, str_of(verb), str_of(resource), str_of(name));
			}
		rights_add(&held, STR_LIT("get"), STR_LIT("secrets"), str_of(names[i]));
		assert_int_equal(rights_compare(&held, &least, false, 1000, &out), i < 2);
		rights_free(&least);
		rights_free(&held);
		buf_free(&out);
	}
}

static void of_kubeslices_own_account_only_what_is_missing_counts(void **state)
{
	struct rights least = { 0 };

	(void)state;
	assert_false(rights_least(&config, CREDENTIAL_HUB_A, RIGHTS_AT_HOME, &least));
	assert_int_equal(least.count, 2);
	assert_string_equal(
	    rights_namespace(&config, CREDENTIAL_HUB_A, RIGHTS_AT_HOME), "kubeslice-controller");
	assert_null(rights_namespace(&config, CREDENTIAL_HUB_A, RIGHTS_EVERYWHERE));
	rights_free(&least);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_is_what_the_manifests_give),
		cmocka_unit_test(replicas_have_their_own_rights),
		cmocka_unit_test(rights_follow_the_kinds),
		cmocka_unit_test(a_skipped_kind_needs_no_right),
		cmocka_unit_test(one_right_more_or_less_shows),
		cmocka_unit_test(a_secret_of_another_name_is_too_much),
		cmocka_unit_test(of_kubeslices_own_account_only_what_is_missing_counts),
	};

	return cmocka_run_group_tests(tests, make_config, NULL);
}
