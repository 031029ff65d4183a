/*
 * Goal: what feeds the mirror gains no right here that KubeSlice does not give (B1, B25): each kind
 * of grant that escalates is refused by name, what KubeSlice itself writes passes, and the
 * configuration's list opens exactly what it says.
 */
#include "syncer/rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "kube/json.h"

static struct us_config *config;

static int setup(void **state)
{
	(void)state;
	config = calloc(1, sizeof(*config));
	assert_non_null(config);
	memcpy(config->pool + 1, "kubeslice-controller", 21);
	config->namespace = 1;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(config);
	return 0;
}

static void allow(uint32_t at, const char *entry)
{
	memcpy(config->pool + at, entry, strlen(entry) + 1);
	config->rules[config->rule_count++] = at;
}

static char why[320];

static bool allows(enum kind kind, const char *text)
{
	json_t *object = kube_json_parse(str_of(text), NULL);
	bool allowed;

	assert_non_null(object);
	why[0] = '\0';
	allowed = rules_allow(config, kind, object, why, sizeof(why));
	assert_int_equal(allowed, why[0] == '\0'); /* a refusal says why */
	json_decref(object);
	return allowed;
}

#define RULE(groups, resources, verbs)                                                             \
	"{\"rules\":[{\"apiGroups\":[" groups "],\"resources\":[" resources "],\"verbs\":[" verbs  \
	"]}]}"
#define REF(kind, name)                                                                            \
	"{\"roleRef\":{\"kind\":\"" kind "\",\"name\":\"" name "\"},\"subjects\":[{\"kind\":"      \
	"\"ServiceAccount\",\"name\":\"a\",\"namespace\":\"n\"}]}"

static void what_kubeslice_writes_passes(void **state)
{
	static const char *const roles[] = {
		RULE("\"controller.kubeslice.io\"", "\"clusters/status\"", "\"get\",\"update\""),
		RULE("\"worker.kubeslice.io\"", "\"*\"", "\"*\""),
		RULE("\"\"", "\"secrets\"", "\"get\",\"list\",\"create\",\"update\",\"patch\""),
		RULE("\"\"", "\"events\"", "\"create\",\"patch\""),
		RULE("\"apps\"", "\"deployments\"", "\"get\",\"list\",\"watch\""),
		"{}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		assert_true(allows(KIND_ROLE, roles[i]));
	assert_true(allows(KIND_ROLE_BINDING, REF("Role", "kubeslice-worker-cluster")));
	assert_true(allows(KIND_SECRET, "{}"));
}

static void what_escalates_is_refused_by_name(void **state)
{
	static const char *const roles[] = {
		RULE("\"*\"", "\"*\"", "\"*\""),
		RULE("\"*\"", "\"pods\"", "\"get\""),
		RULE("\"\"", "\"*\"", "\"get\""),
		RULE("\"\"", "\"*/status\"", "\"get\""),
		RULE("\"\"", "\"secrets\"", "\"*\""),
		RULE("\"\"", "\"serviceaccounts/token\"", "\"create\""),
		RULE("\"\"", "\"pods\"", "\"create\""),
		RULE("\"\"", "\"serviceaccounts\"", "\"impersonate\""),
		RULE("\"rbac.authorization.k8s.io\"", "\"roles\"", "\"escalate\""),
		RULE("\"rbac.authorization.k8s.io\"", "\"rolebindings\"", "\"create\""),
		RULE("\"controller.kubeslice.io\",\"\"", "\"pods/exec\"", "\"create\""),
		RULE("7", "\"pods\"", "\"get\""),
		"{\"rules\":[{\"nonResourceURLs\":[\"/\"],\"verbs\":[\"get\"]}]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		assert_false(allows(KIND_ROLE, roles[i])); /* D33 */
	assert_false(allows(KIND_ROLE_BINDING, REF("ClusterRole", "cluster-admin")));
	assert_non_null(strstr(why, "cluster-admin"));
	assert_false(allows(KIND_ROLE_BINDING,
	    "{\"roleRef\":{\"kind\":\"Role\",\"name\":\"r\"},\"subjects\":[{\"name\":"
	    "\"understudy-syncer\",\"namespace\":\"kubeslice-controller\"}]}")); /* B25 */
	assert_false(allows(KIND_ROLE_BINDING,
	    "{\"roleRef\":{\"kind\":\"Role\",\"name\":\"r\"},\"subjects\":[{\"kind\":\"User\","
	    "\"name\":\"system:serviceaccount:kubeslice-controller:understudy-elector\"}]}"));
	assert_false(allows(KIND_ROLE_BINDING, "{}"));
}

static void the_list_opens_what_it_says(void **state)
{
	(void)state;
	allow(100, "core/pods:create,delete");
	allow(200, "batch/*:*");
	allow(300, "clusterrole/view:bind");
	allow(400, "core/serviceaccounts/token:create");
	assert_true(allows(KIND_ROLE, RULE("\"\"", "\"pods\"", "\"create\",\"delete\"")));
	assert_false(allows(KIND_ROLE, RULE("\"\"", "\"pods\"", "\"patch\"")));
	assert_true(allows(KIND_ROLE, RULE("\"batch\"", "\"jobs\",\"*\"", "\"*\"")));
	assert_false(allows(KIND_ROLE, RULE("\"*\"", "\"jobs\"", "\"get\"")));
	assert_true(allows(KIND_ROLE, RULE("\"\"", "\"serviceaccounts/token\"", "\"create\"")));
	assert_true(allows(KIND_ROLE_BINDING, REF("ClusterRole", "view")));
	assert_false(allows(KIND_ROLE_BINDING, REF("ClusterRole", "edit")));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_kubeslice_writes_passes),
		TEST(what_escalates_is_refused_by_name),
		TEST(the_list_opens_what_it_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
