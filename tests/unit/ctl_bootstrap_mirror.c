/*
 * Goal: `bootstrap --mirror FILE` gives rights and guards exactly what FILE lists, refuses what the
 * loader refuses, says where, and changes nothing when it is the default (M8, M10). Method: the
 * manifests are rendered from files; their rules are held against the table of least rights for the
 * same configuration, their policies against what must stand in them. Real servers are the bed's
 * (bed mirror --kinds).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctl/bootstrap.h"
#include "policy/config_mirror.h"
#include "tests/unit/config_pool.h"
#include "tests/unit/manifest_rights.h"

static char file[] = "/tmp/ctl_bootstrap_mirror.XXXXXX";

static struct bootstrap *parse(const char *mirror, enum ctl_exit expected, struct err *err)
{
	const char *words[] = { "bootstrap", "--hub", "hub-a", "--hub", "hub-b", "--out", "/o",
		"--project-namespace", "p", "--worker", "worker-1", mirror ? "--mirror" : NULL,
		file, NULL };
	struct bootstrap *b = calloc(1, sizeof(*b));
	FILE *out = fopen(file, "w");
	enum ctl_exit code;

	assert_non_null(b);
	assert_non_null(out);
	(void)fputs(mirror ? mirror : "", out);
	(void)fclose(out);
	code = bootstrap_parse(mirror ? 13 : 11, (char **)words, b, err);
	if (code != expected)
		fail_msg("exit code %d, %s: %s", code, mirror, err->text);
	return b;
}

static void drop(struct bootstrap *b)
{
	bootstrap_free(b);
	free(b);
}

static char *manifest(const char *mirror, enum bootstrap_part part)
{
	struct err err = { "" };
	struct bootstrap *b = parse(mirror, CTL_DONE, &err);
	struct buf text = buf_make(1 << 20);

	bootstrap_manifest(b, &b->hubs[0], part, &text);
	assert_false(text.failed);
	assert_null(strstr(text.data, "{{"));
	drop(b);
	return text.data;
}

#define SHOP                                                                                       \
	"mirror:\n"                                                                                \
	"  set: none\n"                                                                            \
	"  namespaces: team=shop\n"                                                                \
	"  kinds:\n"                                                                               \
	"  - {version: v1, resource: configmaps, kind: ConfigMap}\n"                               \
	"  - {version: v1, resource: secrets, kind: Secret}\n"                                     \
	"  - {group: shop.example.com, version: v1, resource: widgets, kind: Widget,\n"            \
	"     label-selector: tier=front, status: true}\n"
#define BESIDE                                                                                     \
	"mirror:\n"                                                                                \
	"  kinds:\n"                                                                               \
	"  - {version: v1, resource: configmaps, kind: ConfigMap}\n"                               \
	"  skip: [sliceqosconfigs.controller.kubeslice.io, configmaps/kubeslice-x/big]\n"
#define NO_SECRETS                                                                                 \
	"mirror:\n"                                                                                \
	"  skip: [secrets, serviceaccounts]\n"
#define NO_ROLES                                                                                   \
	"mirror:\n"                                                                                \
	"  skip: [roles.rbac.authorization.k8s.io, rolebindings.rbac.authorization.k8s.io]\n"
#define NO_BINDINGS "mirror:\n  skip: [rolebindings.rbac.authorization.k8s.io]\n"
#define ONLY_BINDINGS                                                                              \
	"mirror:\n  set: none\n  kinds:\n"                                                         \
	"  - {group: rbac.authorization.k8s.io, version: v1, resource: rolebindings, kind: "       \
	"RoleBinding}\n"
#define OF_KUBESLICE                                                                               \
	"mirror:\n"                                                                                \
	"  set: none\n"                                                                            \
	"  kinds:\n"                                                                               \
	"  - {group: controller.kubeslice.io, version: v1alpha1, resource: projects, kind: "       \
	"Project}\n"
#define NO_CLUSTERS "mirror:\n  skip: [clusters.controller.kubeslice.io]\n"
#define ALLOWING                                                                                   \
	"mirror:\n"                                                                                \
	"  allow-rules: [\"core/pods:create,delete\", \"batch/*:*\", \"clusterrole/a:b:bind\"]\n"
#define NONE "mirror:\n  set: none\n"
#define PROBE_LEASE                                                                                \
	"      operations: [CREATE, UPDATE]\n      resources: [leases]\n"                          \
	"      resourceNames: [understudy-probe]\n"

static void the_default_written_out_is_the_default(void **state)
{
	static const char *const files[] = { "mirror: {}\n", "mirror:\n  set: kubeslice\n",
		"# all\nmirror:\n"
		"  namespaces: kubeslice-resource-owner=kubeslice-controller\n  kinds: []\n"
		"  skip: []\n",
		"mirror:\n  skip: [secrets/kubeslice-x/big]\n" };

	(void)state;
	for (unsigned part = PART_FIRST; part < PART_COUNT; part++) {
		char *wanted = manifest(NULL, (enum bootstrap_part)part);

		for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
			char *text = manifest(files[i], (enum bootstrap_part)part);

			assert_string_equal(text, wanted);
			free(text);
		}
		assert_null(strstr(wanted, BOOTSTRAP_MIRROR_NOTE));
		free(wanted);
	}
}

/* The table that audit asks by, and what bootstrap gives: two sources that must agree. */
static void rights_are_the_least_for_what_is_mirrored(void **state)
{
	static const char *const files[] = { NULL, SHOP, BESIDE, NO_SECRETS, NO_ROLES, NO_BINDINGS,
		ONLY_BINDINGS, OF_KUBESLICE, NONE };
	static const struct {
		unsigned credential;
		const char *roles[2];
	} identities[] = {
		{ CREDENTIAL_ELECTOR, { "understudy-elector" } },
		{ CREDENTIAL_PUBLISHER, { "understudy-publisher" } },
		{ CREDENTIAL_SYNCER, { "understudy-syncer", "understudy-archive" } },
		{ CREDENTIAL_PEER_OBSERVER, { "understudy-peer-observer" } },
		{ CREDENTIAL_PEER_SYNCER, { "understudy-peer-syncer" } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct err err = { "" };
		struct bootstrap *b = parse(files[i], CTL_DONE, &err);
		struct buf text = buf_make(1 << 20);

		b->config->worker_count = 1;
		b->config->workers[0].name = config_put(b->config, "worker-1");
		bootstrap_manifest(b, &b->hubs[0], PART_RIGHTS, &text);
		for (size_t n = 0; n < 2 * sizeof(identities) / sizeof(identities[0]); n++) {
			enum rights_place place = n % 2 ? RIGHTS_EVERYWHERE : RIGHTS_AT_HOME;
			struct rights least = { 0 }, given = { 0 };
			struct buf out = buf_make(4096);

			for (int r = 0; r < 2 && identities[n / 2].roles[r]; r++)
				manifest_rights(text.data, identities[n / 2].roles[r],
				    place == RIGHTS_AT_HOME, &given);
			assert_true(
			    rights_least(b->config, identities[n / 2].credential, place, &least));
			assert_false(least.failed || given.failed);
			if (!rights_compare(&given, &least, false, 4000, &out))
				fail_msg("%s of mirror %zu, place %d: %s",
				    credential_name(identities[n / 2].credential), i, place,
				    out.data);
			rights_free(&least);
			rights_free(&given);
			buf_free(&out);
		}
		buf_free(&text);
		drop(b);
	}
}

static void only_what_is_bound_in_a_namespace_reads_secrets(void **state)
{
	static const struct {
		const char *file, *resources;
	} cases[] = { { NULL, "secrets,serviceaccounts" }, { SHOP, "secrets" },
		{ NO_SECRETS, NULL }, { NONE, NULL } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (int writes = 0; writes < 2; writes++) {
			char *text = manifest(cases[i].file, PART_RIGHTS);
			struct rights given = { 0 }, wanted = { 0 };
			struct buf out = buf_make(4096);

			manifest_rights(text,
			    writes ? "understudy-mirror-secrets" : "understudy-mirror-secrets-read",
			    false, &given);
			if (cases[i].resources)
				rights_add(&wanted,
				    writes ? STR_LIT("get,list,watch,create,update,delete")
					   : STR_LIT("get,list,watch"),
				    str_of(cases[i].resources), STR_LIT("*"));
			if (!rights_compare(&given, &wanted, false, 4000, &out))
				fail_msg("mirror %zu: %s", i, out.data);
			rights_free(&given);
			rights_free(&wanted);
			buf_free(&out);
			free(text);
		}
}

static void demand(const char *text, bool there, const char *part)
{
	if (!strstr(text, part) == there)
		fail_msg("%s: %s", there ? "is not there" : "is there", part);
}

static void policies_name_what_is_mirrored(void **state)
{
	static const struct {
		const char *file;
		bool there;
		const char *part;
	} cases[] = {
		{ SHOP, false, "kubeslice-resource-owner" },
		{ SHOP, false, "[controller.kubeslice.io, worker.kubeslice.io]\n" },
		{ SHOP, true, "matchLabels: {\"team\": \"shop\"}\n" },
		{ SHOP, true, "labels[?'team'].orValue('') == 'shop'\n" },
		{ SHOP, true, "resources: [namespaces, secrets]\n" },
		/* The fence holds each way to change a copy; a status that is not mirrored is this
		 * hub's own. */
		{ SHOP, true, "resources: [\"configmaps\", \"configmaps/scale\"]\n" },
		{ SHOP, true, "resources: [\"widgets\", \"widgets/scale\", \"widgets/status\"]\n" },
		/* What the cluster itself keeps in each namespace. */
		{ SHOP, true, "root-ca-cert-publisher" },
		{ NULL, false, "root-ca-cert-publisher" },
		{ SHOP, true, "resource in ['namespaces', 'secrets']" },
		{ SHOP, true,
		    "request.resource.group == 'shop.example.com' && request.resource.resource == "
		    "'widgets'\n" },
		{ SHOP, true,
		    "resource == 'configmaps' && request.?subResource.orValue('') == ''\n" },
		{ SHOP, true,
		    "object.metadata.name == 'understudy-mirror-secrets' && "
		    "object.roleRef.kind == 'ClusterRole'" },
		{ NULL, false,
		    "object.metadata.name == 'understudy-mirror-secrets' && "
		    "object.roleRef.kind == 'ClusterRole'" },
		/* A kind that is left out is each hub's own: no copy, no fence. */
		{ BESIDE, true, "[controller.kubeslice.io, worker.kubeslice.io]\n" },
		{ BESIDE, true, "resources: [\"sliceqosconfigs\", \"sliceqosconfigs/*\"]\n" },
		{ BESIDE, false, "'sliceqosconfigs'" },
		{ BESIDE, true, "'serviceexportconfigs', 'vpnkeyrotations'" },
		{ NO_SECRETS, true, "resources: [namespaces]\n" },
		{ NO_SECRETS, true, "== 'ha.kubeslice.io/archived-object')\n" },
		{ OF_KUBESLICE, true, "resource in ['projects']" },
		{ OF_KUBESLICE, true,
		    "resources: [\"projects\", \"projects/scale\", "
		    "\"projects/status\"]\n" },
		/* The publisher's own writes are the fence's business in any case (C1). */
		{ NONE, true,
		    "resources: [\"clusters\", \"clusters/scale\", \"clusters/status\"]\n" },
		{ SHOP, true,
		    "resources: [\"clusters\", \"clusters/scale\", \"clusters/status\"]\n" },
		{ NO_CLUSTERS, true, "[controller.kubeslice.io, worker.kubeslice.io]\n" },
		/* Its probe, whatever is mirrored, in the policy that guards what is. */
		{ NULL, true, PROBE_LEASE },
		{ NONE, true, PROBE_LEASE },
		{ SHOP, true, PROBE_LEASE },
		{ BESIDE, true, PROBE_LEASE },
		{ NO_CLUSTERS, false, "excludeResourceRules:\n    - apiGroups: [\"controller" },
		{ NO_CLUSTERS, false, "'clusters'" },
		/* Whatever label the controller's namespace bears, and however a kind is served. */
		{ SHOP, true,
		    "|| namespaceObject != null && variables.place != 'kubeslice-controller'\n" },
		{ SHOP, false, "namespaceObject == null" },
		{ SHOP, false, "request.resource.resource != 'namespaces'" },
		{ NONE, true, "&& (false)\n" },
		{ NONE, true, "resources: [namespaces]\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = manifest(cases[i].file, PART_ADMISSION);

		demand(text, cases[i].there, cases[i].part);
		free(text);
	}
}

/* The syncer's list and the policy's are one: each of them alone would open nothing (B1). */
static void what_roles_may_grant_is_in_the_policy(void **state)
{
	static const struct {
		const char *file;
		bool there;
		const char *part;
	} cases[] = {
		{ NULL, true, "  - name: allowRules\n    expression: \"[]\"\n" },
		{ NULL, false, "'*/' + x" },
		{ "mirror: {allow-rules: []}\n", true, "    expression: \"[]\"\n" },
		{ ALLOWING, true,
		    "  - name: allowRules\n    expression: \"['core/pods:create', "
		    "'core/pods:delete', 'batch/*:*', 'clusterrole/a:b:bind']\"\n" },
		/* The syncer takes * for any group and any ClusterRole, too. */
		{ ALLOWING, true,
		    "+ ':' + v,\n      '*/' + x + ':' + v, '*/' + x + ':*', '*/*:' + v, "
		    "'*/*:*',\n      (g == ''" },
		{ ALLOWING, true, " in variables.allowRules\n      || ['clusterrole/*:bind'" },
		/* The other way round an API server gives up on a large Role (cost). */
		{ ALLOWING, false, "variables.allowRules.exists" },
	};
	char *text;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		text = manifest(cases[i].file, PART_ADMISSION);
		demand(text, cases[i].there, cases[i].part);
		free(text);
	}
	/* A later run without --mirror would take it back. */
	text = manifest(ALLOWING, PART_RIGHTS);
	demand(text, true,
	    "annotations: {ha.kubeslice.io/mirror: \"set kubeslice, namespaces "
	    "kubeslice-resource-owner=kubeslice-controller, allows core/pods:create,delete, "
	    "allows batch/*:*, allows clusterrole/a:b:bind\"}}\n");
	free(text);
}

/* An API server takes no expression of more characters. */
#define EXPRESSION_MAX 100000

static void the_longest_rules_fit(void **state)
{
	struct buf mirror = buf_make(1 << 16);
	size_t entries = 0;
	char *text;
	const char *list;

	(void)state;
	buf_puts(&mirror, "mirror:\n  allow-rules:\n");
	for (int i = 0; i < CONFIG_MAX_RULES; i++) {
		buf_printf(&mirror, "  - \"%0*d/r:v", CONFIG_MAX_RULE_BYTES - 4 - 2 * 11, i);
		for (int verb = 1; verb < CONFIG_MAX_RULE_VERBS; verb++)
			buf_puts(&mirror, ",v");
		buf_puts(&mirror, "\"\n");
	}
	text = manifest(mirror.data, PART_ADMISSION);
	for (const char *at = text; (at = strstr(at, "/r:v'")); at++)
		entries++;
	assert_int_equal(entries, CONFIG_MAX_RULES * CONFIG_MAX_RULE_VERBS);
	list = strstr(text, "expression: \"['0");
	assert_non_null(list);
	assert_true(strcspn(list, "\n") < EXPRESSION_MAX);
	demand(text, true, "/r:v']\"\n");
	free(text);
	buf_free(&mirror);
}

/* A value may read as a number or a truth. */
static void labels_are_texts(void **state)
{
	char *text = manifest("mirror:\n  namespaces: example.com/on=true\n", PART_ADMISSION);

	(void)state;
	demand(text, true, "matchLabels: {\"example.com/on\": \"true\"}\n");
	demand(text, true, "labels[?'example.com/on'].orValue('') == 'true'\n");
	free(text);
}

static void what_is_mirrored_is_noted(void **state)
{
	char *text = manifest(SHOP, PART_RIGHTS);

	(void)state;
	demand(text, true,
	    "annotations: {ha.kubeslice.io/mirror: \"set none, namespaces team=shop, secrets, "
	    "configmaps, widgets.shop.example.com\"}}\n");
	free(text);
	text = manifest(BESIDE, PART_RIGHTS);
	demand(text, true,
	    "annotations: {ha.kubeslice.io/mirror: \"set kubeslice, namespaces "
	    "kubeslice-resource-owner=kubeslice-controller, configmaps, without "
	    "sliceqosconfigs.controller.kubeslice.io\"}}\n");
	free(text);
}

static void the_map_goes_as_it_is_into_both_hubs_configurations(void **state)
{
	static const char text[] = "---\n# ours\nmirror: # all of it\n  set: none";
	struct err err = { "" };
	struct bootstrap *b = parse(text, CTL_DONE, &err);

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct buf out = buf_make(1 << 16);

		bootstrap_configuration(b, bootstrap_cluster_at(b, i), false, &out);
		if (i < 2)
			demand(out.data, true,
			    "# docs/configuration.md names every key.\n---\n# ours\nmirror: # all "
			    "of "
			    "it\n  set: none\nmode: ");
		else
			demand(out.data, false, "mirror");
		buf_free(&out);
	}
	drop(b);
}

/* A token is proven by a right that its account has: without a mirror, only everybody's. */
static void tokens_are_proven_by_rights_that_they_have(void **state)
{
	static const struct {
		const char *file, *syncer;
	} cases[] = { { NULL, "create /namespaces" }, { SHOP, "create /namespaces" },
		{ NONE, "create authorization.k8s.io/selfsubjectaccessreviews" } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = { "" };
		struct bootstrap *b = parse(cases[i].file, CTL_DONE, &err);
		struct bootstrap_identity identity;
		unsigned seen = 0;

		for (unsigned n = 0; bootstrap_identity_at(b, n, &identity); n++) {
			if (strcmp(identity.account, "understudy-syncer") == 0 && ++seen)
				assert_string_equal(identity.may, cases[i].syncer);
			if (strcmp(identity.account, "understudy-publisher") == 0)
				assert_string_equal(
				    identity.may, "patch controller.kubeslice.io/clusters/status");
		}
		assert_int_equal(seen, 2);
		drop(b);
	}
}

static void what_the_loader_refuses_is_refused_with_its_line(void **state)
{
	static const struct {
		const char *file, *says;
	} cases[] = {
		{ "# here\nmirror:\n  set: all\n",
		    ":3: mirror.set: \"all\" is none of the choices; expected kubeslice or none" },
		{ "mirror:\n  kinds:\n  - {version: v1, resource: pods, kind: Pod}\n",
		    ":3: mirror.kinds[0].resource: \"pods\" is never mirrored" },
		{ "mirror:\n  kind: []\n", ":2: mirror.kind" },
		{ "mirror:\n  allow-rules:\n  - \"a/b:c']\\\"\\n\"\n",
		    ":3: mirror.allow-rules[0]: \"a/b:c']" },
		{ "mirror:\n  allow-rules: [\"a/b:c', 'x/y:*\"]\n", "\" is no such rule" },
		{ "mirror:\n  namespaces: team=\n", ":2: mirror.namespaces" },
		{ "mirror: []\n", ":1: mirror: is a list" },
		{ "mirror:\n", ":1: mirror: is empty" },
		{ "mode: active\nmirror: {}\n", ":1: \"mode\" stands there; expected `mirror`" },
		{ "mirror: {}\nworkers: []\n", ":2: \"workers\" stands there; expected `mirror`" },
		{ "mirror: {}\nmirror: {}\n", ":2: mirror: is there twice" },
		{ "- mirror\n", ":1: is no map with the key `mirror`" },
		{ "mirror\n", ":1: is no map with the key `mirror`" },
		{ "{}\n", ":1: is no map with the key `mirror`" },
		{ "", ":1: is empty" },
		{ "{mirror: {set: none}}\n", ": no other key can stand behind it" },
		{ "  mirror: {set: none}\n", ": no other key can stand behind it" },
		{ "mirror: {set: none}\n...\n", ": no other key can stand behind it" },
		{ "mirror: {}\n---\nmirror: {}\n", ":2: has a second document" },
		{ "mirror: &a {set: none}\n", ":1: " },
		{ "mirror: \x01\n", ": " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = { "" };

		drop(parse(cases[i].file, CTL_REFUSED, &err));
		if (strncmp(err.text, file, strlen(file)) != 0 || !strstr(err.text, cases[i].says))
			fail_msg("case %zu says: %s", i, err.text);
	}
}

static void a_file_that_cannot_be_read_is_refused(void **state)
{
	static const char *const files[][2] = { { "/nowhere/m.yaml",
						    "/nowhere/m.yaml: cannot be read (No such" },
		{ "/tmp", "/tmp: cannot be read (Is a directory)" },
		{ "/dev/zero", "/dev/zero: cannot be read (it is larger than 1 MiB)" } };

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const char *words[] = { "bootstrap", "--hub", "a", "--hub", "b", "--out", "/o",
			"--mirror", files[i][0], NULL };
		struct bootstrap *b = calloc(1, sizeof(*b));
		struct err err = { "" };

		assert_int_equal(bootstrap_parse(9, (char **)words, b, &err), CTL_REFUSED);
		if (!strstr(err.text, files[i][1]))
			fail_msg("%s", err.text);
		drop(b);
	}
}

static int begin(void **state)
{
	int fd = mkstemp(file);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int end(void **state)
{
	(void)state;
	return unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_default_written_out_is_the_default),
		cmocka_unit_test(rights_are_the_least_for_what_is_mirrored),
		cmocka_unit_test(only_what_is_bound_in_a_namespace_reads_secrets),
		cmocka_unit_test(policies_name_what_is_mirrored),
		cmocka_unit_test(what_roles_may_grant_is_in_the_policy),
		cmocka_unit_test(the_longest_rules_fit),
		cmocka_unit_test(labels_are_texts),
		cmocka_unit_test(what_is_mirrored_is_noted),
		cmocka_unit_test(the_map_goes_as_it_is_into_both_hubs_configurations),
		cmocka_unit_test(tokens_are_proven_by_rights_that_they_have),
		cmocka_unit_test(what_the_loader_refuses_is_refused_with_its_line),
		cmocka_unit_test(a_file_that_cannot_be_read_is_refused),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
