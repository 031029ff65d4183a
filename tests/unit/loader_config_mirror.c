/*
 * What `mirror` of the configuration file may say about kinds, namespaces and what is left out:
 * each field arrives, and each wrong entry is named by line, key and what was expected (M8, M10).
 * Method: one right file with another `mirror`; the policy's tests hold the same rules against a
 * hostile loader.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "loader/config.h"
#include "policy/config_mirror.h"

static const char rest[] =
    "mode: active\n"
    "self: a\n"
    "hubs: [{name: a, endpoint: \"https://a\"}, {name: b, endpoint: \"https://b\"}]\n"
    "credentials:\n"
    "  elector: {kubeconfig: /e}\n"
    "  publisher: {kubeconfig: /p}\n"
    "  syncer: {kubeconfig: /s}\n"
    "  peer-observer: {kubeconfig: /o}\n"
    "  peer-syncer: {kubeconfig: /y}\n";

static struct us_config config;

static int read_mirror(const char *mirror, struct err *err)
{
	struct buf text = buf_make(1 << 20);
	int rc;

	buf_printf(&text, "%s%s", mirror, rest);
	rc = config_read(&config, buf_str(&text), "u.yaml", err);
	buf_free(&text);
	return rc;
}

static void read_right(const char *mirror)
{
	struct err err = { "" };

	if (read_mirror(mirror, &err) != 0)
		fail_msg("%s", err.text);
}

static void refuses(const char *mirror, const char *words)
{
	struct err err = { "" };

	if (read_mirror(mirror, &err) != -1)
		fail_msg("\"%s\" was accepted", mirror);
	if (strcmp(err.text, words) != 0)
		fail_msg("\"%s\" gives\n%s\nnot\n%s", mirror, err.text, words);
}

static const char *at(config_text text)
{
	return config_text_at(&config, text);
}

static void each_field_arrives(void **state)
{
	(void)state;
	read_right("mirror:\n"
		   "  namespaces: team=shop\n"
		   "  kinds:\n"
		   "  - {version: v1, resource: configmaps, kind: ConfigMap}\n"
		   "  - group: shop.example.com\n"
		   "    version: v1beta1\n"
		   "    resource: widgets\n"
		   "    kind: Widget\n"
		   "    label-selector: app.example.com/tier=back,team=Shop_1\n"
		   "    status: true\n"
		   "  skip: [sliceqosconfigs.controller.kubeslice.io, configmaps/shop/big,\n"
		   "    \"roles.rbac.authorization.k8s.io/shop/system:x\"]\n");
	assert_string_equal(at(config.mirror_label.key), "team");
	assert_string_equal(at(config.mirror_label.value), "shop");
	assert_int_equal(config.kind_count, 2);
	assert_string_equal(at(config.kinds[0].group), "");
	assert_string_equal(at(config.kinds[0].version), "v1");
	assert_string_equal(at(config.kinds[0].resource), "configmaps");
	assert_string_equal(at(config.kinds[0].kind), "ConfigMap");
	assert_int_equal(config.kinds[0].term_count, 0);
	assert_int_equal(config.kinds[0].status, 0);
	assert_string_equal(at(config.kinds[1].group), "shop.example.com");
	assert_int_equal(config.kinds[1].term_count, 2);
	assert_string_equal(at(config.kinds[1].terms[0].key), "app.example.com/tier");
	assert_string_equal(at(config.kinds[1].terms[0].value), "back");
	assert_string_equal(at(config.kinds[1].terms[1].key), "team");
	assert_string_equal(at(config.kinds[1].terms[1].value), "Shop_1");
	assert_int_equal(config.kinds[1].status, 1);
	assert_int_equal(config.skip_count, 3);
	assert_string_equal(at(config.skips[0].resource), "sliceqosconfigs");
	assert_string_equal(at(config.skips[0].group), "controller.kubeslice.io");
	assert_string_equal(at(config.skips[0].name), "");
	assert_string_equal(at(config.skips[1].group), "");
	assert_string_equal(at(config.skips[1].namespace), "shop");
	assert_string_equal(at(config.skips[1].name), "big");
	assert_string_equal(at(config.skips[2].group), "rbac.authorization.k8s.io");
	assert_string_equal(at(config.skips[2].name), "system:x");
}

static void what_is_not_written_is_as_before(void **state)
{
	(void)state;
	read_right("mirror: {window: 3}\n");
	assert_string_equal(at(config.mirror_label.key), "kubeslice-resource-owner");
	assert_string_equal(at(config.mirror_label.value), "kubeslice-controller");
	assert_int_equal(config.kind_count + config.skip_count, 0);
	read_right("mirror: {kinds: [], skip: []}\n");
	assert_int_equal(config.kind_count + config.skip_count, 0);
}

/* Without the set, its kinds may be listed, too, as they are in it. */
static void kinds_of_the_set_may_be_listed_alone(void **state)
{
	(void)state;
	read_right("mirror: {set: none, kinds: [{version: v1, resource: secrets, kind: Secret, "
		   "label-selector: a=b}]}\n");
	refuses("mirror: {set: none, kinds: [{version: v2, resource: secrets, kind: Secret}]}\n",
	    "u.yaml:1: mirror.kinds[0].version: \"v2\" is not the version that is mirrored; "
	    "expected v1");
	refuses("mirror: {set: none, kinds: [{version: v1, resource: secrets, kind: secret}]}\n",
	    "u.yaml:1: mirror.kinds[0].kind: \"secret\" is not the kind of that resource; expected "
	    "Secret");
	refuses(
	    "mirror: {set: none, kinds: [{version: v1, resource: secrets, kind: Secret, status: "
	    "true}]}\n",
	    "u.yaml:1: mirror.kinds[0].status: \"true\" is wrong: it has no status to mirror; "
	    "expected false");
	refuses("mirror: {kinds: [{version: v1, resource: secrets, kind: Secret}]}\n",
	    "u.yaml:1: mirror.kinds[0].resource: \"secrets\" is in the set already; expected a "
	    "kind that mirror.set does not have");
}

#define ONE(group, resource, kind)                                                                 \
	"mirror: {kinds: [{group: \"" group "\", version: v1, resource: \"" resource               \
	"\", kind: \"" kind "\"}]}\n"
#define KEY(key) "u.yaml:1: mirror.kinds[0]." key ": "

/* M10. */
static void what_is_of_one_cluster_is_never_mirrored(void **state)
{
	static const char *const cases[][2] = {
		{ ONE("coordination.k8s.io", "leases", "Lease"),
		    KEY("group") "\"coordination.k8s.io\" is never mirrored: it says who leads "
				 "(M10)" },
		{ ONE("", "events", "Event"),
		    KEY("resource") "\"events\" is never mirrored: it tells of one cluster (M10)" },
		{ ONE("events.k8s.io", "events", "Event"),
		    KEY("resource") "\"events\" is never mirrored: it tells of one cluster (M10)" },
		{ ONE("", "nodes", "Node"),
		    KEY("resource") "\"nodes\" is never mirrored: it is of one cluster (M10)" },
		{ ONE("", "pods", "Pod"),
		    KEY("resource") "\"pods\" is never mirrored: it would run on both hubs (M10)" },
		{ ONE("", "endpoints", "Endpoints"),
		    KEY("resource") "\"endpoints\" is never mirrored: it is of one cluster's "
				    "network (M10)" },
		{ ONE("discovery.k8s.io", "endpointslices", "EndpointSlice"),
		    KEY("resource") "\"endpointslices\" is never mirrored: it is of one cluster's "
				    "network (M10)" },
		{ ONE("", "namespaces", "Namespace"),
		    KEY("resource") "\"namespaces\" is never listed: Namespaces cross by "
				    "mirror.namespaces (M10)" },
		{ ONE("shop.example.com", "namespaces", "Room"),
		    KEY("resource") "\"namespaces\" is never mirrored: the API server takes it "
				    "for a Namespace (M10)" },
		{ ONE("rbac.authorization.k8s.io", "clusterroles", "ClusterRole"),
		    KEY("resource") "\"clusterroles\" is never mirrored: it holds in the whole "
				    "cluster (M10)" },
		{ ONE("rbac.authorization.k8s.io", "clusterrolebindings", "ClusterRoleBinding"),
		    KEY("resource") "\"clusterrolebindings\" is never mirrored: it holds in the "
				    "whole cluster (M10)" },
		{ ONE("admissionregistration.k8s.io", "validatingadmissionpolicies", "X"),
		    KEY("group") "\"admissionregistration.k8s.io\" is never mirrored: it rules "
				 "over what a cluster takes (M10)" },
		{ ONE("apiextensions.k8s.io", "customresourcedefinitions", "X"),
		    KEY("group") "\"apiextensions.k8s.io\" is never mirrored: it makes a cluster's "
				 "kinds (M10)" },
		{ ONE("apiregistration.k8s.io", "apiservices", "X"),
		    KEY("group") "\"apiregistration.k8s.io\" is never mirrored: it makes a "
				 "cluster's kinds (M10)" },
		{ ONE("authentication.k8s.io", "tokenreviews", "X"),
		    KEY("group") "\"authentication.k8s.io\" is never mirrored: it is a question "
				 "(M10)" },
		{ ONE("authorization.k8s.io", "localsubjectaccessreviews", "X"),
		    KEY("group") "\"authorization.k8s.io\" is never mirrored: it is a question "
				 "(M10)" },
		{ ONE("certificates.k8s.io", "certificatesigningrequests", "X"),
		    KEY("group") "\"certificates.k8s.io\" is never mirrored: it is signed for one "
				 "cluster (M10)" },
		{ ONE("ha.kubeslice.io", "hubroles", "HubRole"),
		    KEY("group") "\"ha.kubeslice.io\" is never mirrored: it is understudy's own "
				 "(M10)" },
		{ ONE("x.ha.kubeslice.io", "things", "Thing"),
		    KEY("group") "\"x.ha.kubeslice.io\" is never mirrored: it is understudy's own "
				 "(M10)" },
	};
	char words[300];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)snprintf(words, sizeof(words),
		    "%s; expected a kind that two clusters can have alike", cases[i][1]);
		refuses(cases[i][0], words);
	}
}

static void wrong_words_are_named(void **state)
{
	static const char plural[] =
	    "; expected a plural in lower case like configmaps, without a subresource";
	static const char *const resources[] = { "*", "ConfigMaps", "configmaps/status",
		"config maps", "configmaps.v1", "", "-maps", "9maps" };
	char text[300], words[300];

	(void)state;
	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
		(void)snprintf(text, sizeof(text),
		    "mirror: {kinds: [{version: v1, resource: \"%s\", kind: X}]}\n", resources[i]);
		(void)snprintf(words, sizeof(words), KEY("resource") "\"%s\" is no resource%s",
		    resources[i], plural);
		refuses(text, words);
	}
	refuses(ONE("Apps", "things", "Thing"),
	    KEY("group") "\"Apps\" is no API group; expected a DNS "
			 "name, or \"\" for the core group");
	refuses(ONE("*", "things", "Thing"),
	    KEY("group") "\"*\" is no API group; expected a DNS name, or \"\" for the core group");
	refuses(ONE("", "things", "a thing"),
	    KEY("kind") "\"a thing\" is no kind; expected a name like ConfigMap");
	refuses("mirror: {kinds: [{version: V1, resource: things, kind: Thing}]}\n",
	    KEY("version") "\"V1\" is no version; expected one like v1 or v1beta1");
	refuses("mirror: {kinds: [{resource: things, kind: Thing}]}\n",
	    KEY("version") "is missing; expected a version like v1");
	refuses("mirror: {kinds: [{version: v1, resource: things, kind: Thing, status: yes}]}\n",
	    KEY("status") "\"yes\" is none of the choices; expected false or true");
	refuses("mirror: {kinds: [{version: v1, resource: things, kind: Thing, labels: a=b}]}\n",
	    KEY("labels") "is an unknown key; expected one of group, version, resource, kind, "
			  "label-selector, status");
	refuses("mirror: {kinds: [configmaps]}\n",
	    "u.yaml:1: mirror.kinds[0]: is a text; expected a map");
	refuses("mirror: {kinds: configmaps}\n",
	    "u.yaml:1: mirror.kinds: is a text; expected a list of at most 16 maps");
	refuses("mirror:\n"
		"  kinds:\n"
		"  - {version: v1, resource: configmaps, kind: ConfigMap}\n"
		"  - {version: v1, resource: configmaps, kind: ConfigMap}\n",
	    "u.yaml:4: mirror.kinds[1].resource: \"configmaps\" is there twice; expected each "
	    "resource once");
}

static void there_is_a_bound_to_each_list(void **state)
{
	struct buf text = buf_make(1 << 16);

	(void)state;
	for (unsigned n = 16; n <= 17; n++) {
		buf_clear(&text);
		buf_puts(&text, "mirror:\n  kinds:\n");
		for (unsigned i = 0; i < n; i++)
			buf_printf(&text, "  - {version: v1, resource: kind%cs, kind: Kind%c}\n",
			    'a' + (int)i, 'a' + (int)i);
		if (n == 16)
			read_right(text.data);
	}
	refuses(text.data,
	    "u.yaml:2: mirror.kinds: has 17 members; expected a list of at most 16 maps");
	buf_clear(&text);
	buf_puts(&text, "mirror:\n  skip:\n");
	for (unsigned i = 0; i < 32; i++)
		buf_printf(&text, "  - secrets/shop/s%u\n", i);
	read_right(text.data);
	buf_puts(&text, "  - secrets/shop/more\n");
	refuses(text.data, "u.yaml:2: mirror.skip: has 33 members; expected a list of at most 32 "
			   "RESOURCE[.GROUP] or RESOURCE[.GROUP]/NAMESPACE/NAME, like "
			   "sliceqosconfigs.controller.kubeslice.io or configmaps/shop/big");
	buf_free(&text);
}

static void selectors_are_equalities(void **state)
{
	static const char *const wrong[][2] = {
		{ "app", "\"app\" is no such label; expected KEY=VALUE[,KEY=VALUE], at most 4" },
		{ "app=", "\"app=\" is no such label; expected KEY=VALUE[,KEY=VALUE], at most 4" },
		{ "", "\"\" is no such label; expected KEY=VALUE[,KEY=VALUE], at most 4" },
		{ "a=b,", "\"a=b,\" is no such label; expected KEY=VALUE[,KEY=VALUE], at most 4" },
		{ "a=1,b=2,c=3,d=4,e=5", "\"a=1,b=2,c=3,d=4,e=5\" has too many terms; expected "
					 "KEY=VALUE[,KEY=VALUE], at "
					 "most 4" },
		{ "app!=shop", "\"app!\" is no label's key; expected KEY=VALUE of a label" },
		{ "app==shop", "\"=shop\" is no label's value; expected KEY=VALUE of a label" },
		{ "app in (a)", "\"app in (a)\" is no such label; expected "
				"KEY=VALUE[,KEY=VALUE], at most 4" },
		{ "a=b,a=c", "\"a\" is there twice; expected each key once" },
		{ "x/y/z=1", "\"x/y/z\" is no label's key; expected KEY=VALUE of a label" },
		{ "ha.kubeslice.io/mirrored-from=active",
		    "\"ha.kubeslice.io/mirrored-from\" is understudy's own label; expected a label "
		    "of yours" },
		{ "app.kubernetes.io/instance=shop",
		    "\"app.kubernetes.io/instance\" is a label that copies do not bear (B1, B22); "
		    "expected one that no "
		    "deployment tool tracks by, and not Pod Security's" },
		{ "kustomize.toolkit.fluxcd.io/name=shop",
		    "\"kustomize.toolkit.fluxcd.io/name\" is a label that copies do not bear (B1, "
		    "B22); expected one that no "
		    "deployment tool tracks by, and not Pod Security's" },
		{ "pod-security.kubernetes.io/enforce=baseline",
		    "\"pod-security.kubernetes.io/enforce\" is a label that copies do not bear "
		    "(B1, B22); expected one that no "
		    "deployment tool tracks by, and not Pod Security's" },
	};
	char text[400], words[400];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		(void)snprintf(text, sizeof(text),
		    "mirror: {kinds: [{version: v1, resource: configmaps, kind: ConfigMap, "
		    "label-selector: \"%s\"}]}\n",
		    wrong[i][0]);
		(void)snprintf(words, sizeof(words), KEY("label-selector") "%s", wrong[i][1]);
		refuses(text, words);
	}
	refuses("mirror: {namespaces: \"a=b,c=d\"}\n",
	    "u.yaml:1: mirror.namespaces: \"b,c=d\" is no label's value; expected KEY=VALUE of a "
	    "label");
	refuses("mirror: {namespaces: kubernetes.io/metadata.name=kube-system}\n",
	    "u.yaml:1: mirror.namespaces: \"kube-system\" is a Namespace that is never mirrored "
	    "(B25); expected another one than kube-*, default and the controller's own");
	read_right("mirror: {namespaces: kubernetes.io/metadata.name=shop}\n");
	refuses("mirror: {namespaces: team}\n", "u.yaml:1: mirror.namespaces: \"team\" is no such "
						"label; expected KEY=VALUE, one label");
	refuses("mirror: {namespaces: {team: shop}}\n",
	    "u.yaml:1: mirror.namespaces: is a map; expected KEY=VALUE, one label");
}

static void what_is_left_out_is_mirrored_else(void **state)
{
	static const char form[] =
	    "a list of at most 32 RESOURCE[.GROUP] or RESOURCE[.GROUP]/NAMESPACE/NAME, like "
	    "sliceqosconfigs.controller.kubeslice.io or configmaps/shop/big";
	static const char *const no_such[] = { "", "secrets/", "secrets/shop", "secrets/shop/",
		"secrets//x", "secrets.", "secrets./a/b" };
	static const char parts[] = "RESOURCE[.GROUP] or RESOURCE[.GROUP]/NAMESPACE/NAME";
	char text[400], words[400];

	(void)state;
	for (size_t i = 0; i < sizeof(no_such) / sizeof(no_such[0]); i++) {
		(void)snprintf(text, sizeof(text), "mirror: {skip: [\"%s\"]}\n", no_such[i]);
		(void)snprintf(words, sizeof(words),
		    "u.yaml:1: mirror.skip[0]: \"%s\" is no such entry; expected %s", no_such[i],
		    form);
		refuses(text, words);
	}
	(void)snprintf(words, sizeof(words),
	    "u.yaml:1: mirror.skip[0]: \"*\" is no such kind; expected %s", parts);
	refuses("mirror: {skip: [\"*\"]}\n", words);
	(void)snprintf(words, sizeof(words),
	    "u.yaml:1: mirror.skip[0]: \"x/y\" is no name of an object; expected %s", parts);
	refuses("mirror: {skip: [secrets/shop/x/y]}\n", words);
	(void)snprintf(words, sizeof(words),
	    "u.yaml:1: mirror.skip[0]: \"Shop\" is no namespace; expected %s", parts);
	refuses("mirror: {skip: [secrets/Shop/x]}\n", words);
	refuses("mirror: {skip: [configmaps]}\n",
	    "u.yaml:1: mirror.skip[0]: \"configmaps\" is not mirrored; expected the resource of a "
	    "kind of mirror.set or mirror.kinds, with its group");
	refuses("mirror: {skip: [sliceqosconfigs]}\n", /* without its group */
	    "u.yaml:1: mirror.skip[0]: \"sliceqosconfigs\" is not mirrored; expected the resource "
	    "of a kind of mirror.set or mirror.kinds, with its group");
	refuses("mirror: {skip: [namespaces]}\n",
	    "u.yaml:1: mirror.skip[0]: \"namespaces\" cannot be left out; expected no label on "
	    "that Namespace");
	refuses("mirror: {set: none, skip: [secrets]}\n",
	    "u.yaml:1: mirror.skip[0]: \"secrets\" is not mirrored; expected the resource of a "
	    "kind of mirror.set or mirror.kinds, with its group");
	refuses("mirror: {kinds: [{version: v1, resource: configmaps, kind: ConfigMap}], skip: "
		"[configmaps]}\n",
	    "u.yaml:1: mirror.skip[0]: \"configmaps\" is listed in mirror.kinds; expected a kind "
	    "of the set: one of mirror.kinds is left out by not listing it");
	refuses("mirror:\n  skip:\n  - secrets\n  - secrets\n",
	    "u.yaml:4: mirror.skip[1]: \"secrets\" is there twice; expected each once");
}

/* They go into an expression of the API server's policy, inside quotes. */
static void rules_hold_nothing_that_ends_a_text(void **state)
{
	static const char *const right[] = { "core/pods:create,delete", "batch/*:*", "*/*:get",
		"clusterrole/system:aggregate-to-view:bind", "core/serviceaccounts/token:create",
		"rbac.authorization.k8s.io/roles:escalate", "shop.example.com/*/status:use-it",
		"a/b:a,b,c,d,e,f,g,h,i,j,k,l" };
	static const char *const wrong[] = { "pods", "/pods:get", "core/:get",
		"core/pods:", "core/pods:get,", "core/pods:,get", "core/pods:get,,list",
		"core:get/pods", "core/po'ds:get", "core/pods:get'", "co're/pods:get",
		"core/po\\\\ds:get", "core/pods:get\\\"", "core/pods:get\\n", "core/po\\nds:get",
		"core/po ds:get", "core/po\\tds:get", "a/b:a,b,c,d,e,f,g,h,i,j,k,l,m",
		"core/pods]:get", "core/pods:{{N}}", "core/{{N}}:get", "core/p\\u00f6ds:get",
		"core/pods,secrets:get" };
	char text[600], words[600], longest[CONFIG_MAX_RULE_BYTES + 2];

	(void)state;
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		(void)snprintf(text, sizeof(text), "mirror: {allow-rules: [\"%s\"]}\n", right[i]);
		read_right(text);
		assert_string_equal(at(config.rules[0]), right[i]);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct err err = { "" };

		(void)snprintf(text, sizeof(text), "mirror: {allow-rules: [\"%s\"]}\n", wrong[i]);
		if (read_mirror(text, &err) != -1)
			fail_msg("%s was accepted", wrong[i]);
		assert_non_null(strstr(err.text, "u.yaml:1: mirror.allow-rules"));
	}
	refuses("mirror: {allow-rules: [\"core/po'ds:get\"]}\n",
	    "u.yaml:1: mirror.allow-rules[0]: \"core/po'ds:get\" is no such rule; expected a list "
	    "of "
	    "at most 32 GROUP/RESOURCE:VERB[,VERB], like core/pods:create");
	memset(longest, 'a', sizeof(longest));
	memcpy(longest, "b/c:", 4);
	longest[CONFIG_MAX_RULE_BYTES] = '\0';
	(void)snprintf(words, sizeof(words), "mirror: {allow-rules: [%s]}\n", longest);
	read_right(words);
	longest[CONFIG_MAX_RULE_BYTES] = 'a';
	longest[CONFIG_MAX_RULE_BYTES + 1] = '\0';
	(void)snprintf(words, sizeof(words), "mirror: {allow-rules: [%s]}\n", longest);
	assert_int_equal(read_mirror(words, &(struct err){ "" }), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_field_arrives),
		cmocka_unit_test(what_is_not_written_is_as_before),
		cmocka_unit_test(kinds_of_the_set_may_be_listed_alone),
		cmocka_unit_test(what_is_of_one_cluster_is_never_mirrored),
		cmocka_unit_test(wrong_words_are_named),
		cmocka_unit_test(there_is_a_bound_to_each_list),
		cmocka_unit_test(selectors_are_equalities),
		cmocka_unit_test(what_is_left_out_is_mirrored_else),
		cmocka_unit_test(rules_hold_nothing_that_ends_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
