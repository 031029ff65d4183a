/*
 * Goal: bootstrap applies exactly the files of policy/ with their places filled, in the order in
 * which no right comes before its policy (C2); it refuses what it is not sure of before anything is
 * changed (D15, D46); no token is in an argument, the environment or the output; what a person has
 * edited stays. Method: pure functions on texts, and a kubectl of our own that writes down how it
 * is called; real servers are the scenario's (bed scenario bootstrap).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctl/bootstrap.h"

#define TOKEN "eyJhbGciOiJub25lIn0.e30.c2VjcmV0"

static char folder[] = "/tmp/ctl_bootstrap.XXXXXX";
static char out_folder[64], script[64], calls[64];

static struct bootstrap *parse(const char *const *words, enum ctl_exit expected, struct err *err)
{
	struct bootstrap *b = calloc(1, sizeof(*b));
	int argc = 0;

	while (words[argc])
		argc++;
	assert_int_equal(bootstrap_parse(argc, (char **)words, b, err), expected);
	return b;
}

static void drop(struct bootstrap *b)
{
	bootstrap_free(b);
	free(b);
}

#define WORDS(...) ((const char *const[]){ "bootstrap", __VA_ARGS__, NULL })
#define PAIR       "--hub", "hub-a", "--hub", "hub-b=two", "--out", "/o"

static void words_name_clusters(void **state)
{
	struct err err = { "" };
	struct bootstrap *b = parse(
	    WORDS("--kubeconfig", "/k", PAIR, "--project-namespace", "kubeslice-x", "--worker",
		"w=far/away:1", "--hub-endpoint", "hub-b=https://b:6443", "--token-life", "12h"),
	    CTL_DONE, &err);

	(void)state;
	assert_string_equal(b->hubs[0].admin.context, "hub-a");
	assert_string_equal(b->hubs[1].admin.context, "two");
	assert_string_equal(b->hubs[1].endpoint, "https://b:6443");
	assert_string_equal(b->workers[0].admin.context, "far/away:1");
	assert_string_equal(b->workers[0].admin.kubeconfig, "/k");
	assert_string_equal(b->workers[0].project, "kubeslice-x");
	assert_string_equal(b->namespace, "kubeslice-controller");
	assert_int_equal(b->life_s, 43200);
	drop(b);
}

static void words_that_are_refused(void **state)
{
	const struct {
		const char *const *words;
		const char *says;
	} cases[] = {
		{ WORDS("--hub", "hub-a", "--out", "/o"), "two hubs" },
		{ WORDS(PAIR, "--hub", "hub-c"), "two hubs: hub-c" },
		{ WORDS("--hub", "Hub", "--hub", "b", "--out", "/o"), "DNS label" },
		{ WORDS("--hub", "a.b", "--hub", "b", "--out", "/o"), "DNS label" },
		{ WORDS("--hub", "-a", "--hub", "b", "--out", "/o"), "DNS label" },
		{ WORDS("--hub", "a\"}", "--hub", "b", "--out", "/o"), "DNS label" },
		{ WORDS("--hub", "a", "--hub", "a", "--out", "/o"), "twice" },
		{ WORDS("--hub", "a=", "--hub", "b", "--out", "/o"), "no context" },
		{ WORDS("--hub", "a=--token", "--hub", "b", "--out", "/o"), "no context" },
		{ WORDS(PAIR, "--worker", "w"), "--project-namespace" },
		{ WORDS(PAIR, "--project-namespace", "X", "--worker", "w"), "namespace" },
		{ WORDS(PAIR, "--namespace", "N"), "namespace" },
		{ WORDS(PAIR, "--hub-endpoint", "hub-c=https://x"), "NAME=" },
		{ WORDS(PAIR, "--hub-endpoint", "hub-a"), "NAME=" },
		{ WORDS(PAIR, "--hub-endpoint", "hub-a=http://x"), "https://" },
		{ WORDS(PAIR, "--hub-endpoint", "hub-a=https://u@x"), "https://" },
		{ WORDS(PAIR, "--hub-endpoint", "hub-a=https://x\"\nb"), "https://" },
		{ WORDS(PAIR, "--worker-endpoint", "hub-a=https://x"), "NAME=" },
		{ WORDS(PAIR, "--token-life", "1m"), "10m" },
		{ WORDS(PAIR, "--token-life", "soon"), "10m" },
		{ WORDS(PAIR, "--renew", "--remove"), "alone" },
		{ WORDS(PAIR, "--token"), "--token" },
		{ WORDS(PAIR, "--token", "x"), "--token" },
		{ WORDS(PAIR, "--ca"), "--ca" },
		{ WORDS(PAIR, "more"), "more" },
		{ WORDS("--hub", "a", "--hub", "b"), "--out" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = { "" };

		drop(parse(cases[i].words, CTL_USAGE, &err));
		if (!strstr(err.text, cases[i].says))
			fail_msg("case %zu says: %s", i, err.text);
	}
}

static void each_placeholder_is_filled(void **state)
{
	struct err err = { "" };
	struct bootstrap *b = parse(WORDS(PAIR, "--namespace", "n-1", "--project-namespace", "p-1",
					"--worker", "w1", "--worker", "w2"),
	    CTL_DONE, &err);
	struct bootstrap_cluster *cluster;

	(void)state;
	for (unsigned i = 0; (cluster = bootstrap_cluster_at(b, i)); i++)
		for (unsigned part = PART_FIRST; part < PART_COUNT; part++) {
			struct buf text = buf_make(1 << 20);

			bootstrap_manifest(b, cluster, (enum bootstrap_part)part, &text);
			if (part == PART_ROLE && !cluster->is_hub) {
				assert_int_equal(text.len, 0);
				continue;
			}
			assert_non_null(text.data);
			assert_null(strstr(text.data, "{{"));
			if (part == PART_RIGHTS && cluster->is_hub) {
				assert_non_null(strstr(text.data,
				    "resourceNames: [\"kubeslice-rbac-worker-w1\", "
				    "\"kubeslice-rbac-worker-w2\"], verbs: [get]"));
				assert_non_null(
				    strstr(text.data, "name: \"understudy-follower-w2\""));
				assert_non_null(strstr(text.data, "namespace: \"p-1\""));
			}
			/* C2: rights stand in their own part, behind the policies. */
			if (part != PART_RIGHTS)
				assert_null(strstr(text.data, "kind: ClusterRole"));
			if (part == PART_ADMISSION)
				assert_non_null(strstr(text.data, "ValidatingAdmissionPolicy"));
			buf_free(&text);
		}
	drop(b);
	/* Without workers the publisher may read no Secret: not every one, and none of no name. */
	b = parse(WORDS(PAIR), CTL_DONE, &err);
	struct buf text = buf_make(1 << 20);
	bootstrap_manifest(b, &b->hubs[0], PART_RIGHTS, &text);
	assert_null(strstr(text.data, "resourceNames: []"));
	assert_null(strstr(text.data, "kubeslice-rbac-worker-"));
	assert_null(strstr(text.data, "resources: [secrets], resourceNames"));
	buf_free(&text);
	drop(b);
}

static void H5_the_syncer_is_exempt_from_kubeslices_webhooks(void **state)
{
	json_t *o = json_loads(
	    "{\"webhooks\":[{\"name\":\"a\",\"rules\":[{\"apiGroups\":[\"controller.kubeslice.io\"]"
	    "}]"
	    "},{\"name\":\"b\",\"rules\":[{\"apiGroups\":[\"apps\"]}]},{\"name\":\"c\",\"rules\":[{"
	    "\"apiGroups\":[\"worker.kubeslice.io\"]}],\"matchConditions\":[{\"name\":\"theirs\","
	    "\"expression\":\"true\"}]}]}",
	    0, NULL);
	json_t *before = json_deep_copy(o), *hooks = json_object_get(o, "webhooks");

	(void)state;
	assert_true(bootstrap_exempt(o, "n", false));
	assert_int_equal(
	    json_array_size(json_object_get(json_array_get(hooks, 0), "matchConditions")), 1);
	assert_null(json_object_get(json_array_get(hooks, 1), "matchConditions"));
	assert_int_equal(
	    json_array_size(json_object_get(json_array_get(hooks, 2), "matchConditions")), 2);
	assert_false(bootstrap_exempt(o, "n", false)); /* again: nothing to do */
	assert_true(bootstrap_exempt(o, "m", false));  /* another namespace: one, not two */
	assert_int_equal(
	    json_array_size(json_object_get(json_array_get(hooks, 0), "matchConditions")), 1);
	assert_true(bootstrap_exempt(o, "m", true));
	assert_false(bootstrap_exempt(o, "m", true));
	json_object_del(json_array_get(hooks, 0), "matchConditions"); /* empty: the same as none */
	assert_true(json_equal(o, before));
	json_decref(o);
	json_decref(before);
}

static void what_a_person_edits_is_seen(void **state)
{
	struct buf file = buf_make(4096);
	struct str text = STR_LIT("mode: active\nself: hub-a\n");
	char stamp[160];

	(void)state;
	bootstrap_stamp(text, stamp);
	buf_puts(&file, stamp);
	buf_append(&file, text.p, text.n);
	assert_true(bootstrap_is_ours(buf_str(&file)));
	file.data[file.len - 2] ^= 1;
	assert_false(bootstrap_is_ours(buf_str(&file)));
	file.data[file.len - 2] ^= 1;
	buf_puts(&file, "\n");
	assert_false(bootstrap_is_ours(buf_str(&file)));
	assert_false(bootstrap_is_ours(text));
	assert_false(bootstrap_is_ours((struct str){ "", 0 }));
	assert_false(bootstrap_is_ours(STR_LIT("# Made by understudyctl bootstrap, checksum \n")));
	buf_free(&file);
}

/* --- With a kubectl that answers what it is told ------------------------------------------------
 */

static void put_file(const char *path, const char *text, mode_t mode)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	(void)fputs(text, file);
	(void)fclose(file);
	assert_int_equal(chmod(path, mode), 0);
}

/* The words of each call are a line of `calls`, its environment and input follow. */
static void answer_with(const char *special)
{
	struct buf text = buf_make(1 << 16);

	buf_printf(&text,
	    "#!/bin/sh\n"
	    "all=\" $* \"; context=; seen=\n"
	    "for word; do [ \"$seen\" ] && context=$word; seen=; [ \"$word\" != --context ] || "
	    "seen=1; "
	    "done\n"
	    "{ echo \"$all\"; env; } >>%s\n"
	    "%s\n"
	    "case $all in\n"
	    "*' config view '*) printf "
	    "'https://%%s:6443\\n\\n\\n\\nLS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t\\n' "
	    "\"$context\" ;;\n"
	    "*' kube-system '*) echo \"uid-of-$context\" ;;\n"
	    "*' can-i '*) echo yes ;;\n"
	    "*' self '*) echo 'Error from server (NotFound): none' >&2; exit 1 ;;\n"
	    "*' token '*) printf '2030-01-01T00:00:00Z\\n" TOKEN "' ;;\n"
	    "*' --dry-run=server '*) echo 'Error from server (Forbidden): UNDERSTUDY_FENCE "
	    "UNDERSTUDY_IDENTITY' >&2; exit 1 ;;\n"
	    "*'webhookconfigurations'*) echo '{\"items\":[]}' ;;\n"
	    "*' --kubeconfig '*) f=; seen=\n"
	    "  for word; do [ \"$seen\" ] && f=$word; seen=; [ \"$word\" != --kubeconfig ] || "
	    "seen=1; done\n"
	    "  user=$(sed -n 's/.*user: \\(understudy-[-a-z]*\\)}.*/\\1/p' \"$f\"); input=$(cat)\n"
	    "  space=$(echo \"$input\" | sed -n 's/.*namespace: \"\\([-a-z]*\\)\".*/\\1/p' | head "
	    "-n 1)\n"
	    "  grep -q 'token: " TOKEN "' \"$f\" || exit 1\n"
	    "  printf 'SelfSubjectReview system:serviceaccount:%%s:%%s\\nSelfSubjectAccessReview "
	    "true\\n"
	    "SelfSubjectAccessReview false\\n' \"$space\" \"$user\" ;;\n"
	    "*' -f - '*) cat >/dev/null ;;\n"
	    "esac\n",
	    calls, special);
	put_file(script, text.data, 0755);
	(void)unlink(calls);
	buf_free(&text);
}

static char *file_of(const char *name)
{
	static char text[1 << 20];
	FILE *file = fopen(name, "r");
	size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	text[n] = '\0';
	if (file)
		(void)fclose(file);
	return text;
}

static enum ctl_exit run(struct buf *out, struct err *err, const char *more, const char *value)
{
	char *argv[] = { "understudyctl", "bootstrap", "--hub", "hub-a", "--hub", "hub-b",
		"--project-namespace", "kubeslice-x", "--worker", "w1", "--out", out_folder,
		"--yes", "hub-a", (char *)more, (char *)value, NULL };
	int argc = 14 + (more != NULL) + (value != NULL);

	buf_clear(out);
	err->text[0] = '\0';
	return commands_run(argc, argv, out, err);
}

static void no_token_is_told_to_anybody(void **state)
{
	struct buf out = buf_make(1 << 20);
	struct err err = { "" };
	char path[128];
	struct stat at;

	(void)state;
	answer_with("");
	if (run(&out, &err, NULL, NULL) != CTL_DONE)
		fail_msg("%s", err.text);
	assert_null(strstr(file_of(calls), "c2VjcmV0")); /* arguments and environments */
	assert_null(strstr(out.data, "c2VjcmV0"));
	(void)snprintf(
	    path, sizeof(path), "%s/hub-b/credentials/peer-observer.kubeconfig", out_folder);
	assert_non_null(strstr(file_of(path), "token: " TOKEN));
	assert_non_null(strstr(file_of(path), "server: https://hub-a:6443\n"));
	assert_int_equal(stat(path, &at), 0);
	assert_int_equal(at.st_mode & 07777, 0600);
	(void)snprintf(path, sizeof(path), "%s/w1", out_folder);
	assert_int_equal(stat(path, &at), 0);
	assert_int_equal(at.st_mode & 07777, 0700);
	(void)snprintf(path, sizeof(path), "%s/hub-b/understudy.yaml", out_folder);
	assert_non_null(strstr(file_of(path), "mode: standby\nself: hub-b\n"));
	/* Again: credentials that work and a configuration that was edited stay. */
	put_file(path, "mode: standby\n", 0600);
	assert_int_equal(run(&out, &err, NULL, NULL), CTL_DONE);
	assert_non_null(strstr(out.data, "hub-b: understudy-peer-syncer of hub-a works and stays"));
	assert_non_null(strstr(out.data, "was edited and stays"));
	assert_string_equal(file_of(path), "mode: standby\n");
	assert_int_equal(run(&out, &err, "--force", NULL), CTL_DONE);
	assert_non_null(strstr(file_of(path), "self: hub-b"));
	assert_int_equal(run(&out, &err, "--renew", NULL), CTL_DONE);
	assert_null(strstr(out.data, "stay"));
	assert_int_equal(run(&out, &err, "--remove", NULL), CTL_DONE);
	assert_int_not_equal(access(out_folder, F_OK), 0);
	buf_free(&out);
}

static void what_is_not_sure_is_refused_before_anything_changes(void **state)
{
	static const struct {
		const char *special, *says;
	} cases[] = {
		{ "case $all in *' config view '*) echo 'error: context \"hub-b\" does not exist' "
		  ">&2; "
		  "exit 1;; esac",
		    "hub-a: kubectl: error: context" },
		{ "case $all in *' kube-system '*) [ $context = w1 ] && { echo 'Unable to connect "
		  "to "
		  "the server' >&2; exit 1; };; esac",
		    "w1: kubectl: Unable to connect" },
		{ "case $all in *' can-i '*) [ $context = hub-b ] && { echo no; exit 1; };; esac",
		    "hub-b: who context hub-b is may not do everything" },
		{ "case $all in *' kube-system '*) echo the-same; exit;; esac",
		    "hub-a and hub-b are the same cluster" },
		{ "case $all in *' config view '*) printf 'https://x\\n\\ntrue\\n\\n\\n'; exit;; "
		  "esac",
		    "hub-a: its context verifies no certificate" },
		{ "case $all in *' config view '*) printf 'https://x\\n\\n\\nhttp://p\\n\\n'; "
		  "exit;; "
		  "esac",
		    "--hub-endpoint hub-a=URL" },
		{ "case $all in *' config view '*) printf 'https://x\\n\\n\\n\\n\\n'; exit;; esac",
		    "--ca hub-a=FILE" },
		{ "case $all in *' understudy-publisher '*) echo 'a kubeslice-rbac-worker-w1 "
		  "kubeslice-rbac-worker-w2'; exit;; esac",
		    "hub-a: it serves worker w2, too" },
		{ "case $all in *' config view '*) printf 'https://u:p@x\\n\\n\\n\\n\\n'; exit;; "
		  "esac",
		    "no https://HOST" },
		{ "case $all in *' config view '*) printf 'http://x\\n\\n\\n\\n\\n'; exit;; esac",
		    "no https://" },
	};
	struct buf out = buf_make(1 << 20);
	struct err err = { "" };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		answer_with(cases[i].special);
		assert_int_equal(run(&out, &err, NULL, NULL), CTL_REFUSED);
		if (!strstr(err.text, cases[i].says))
			fail_msg("case %zu says: %s", i, err.text);
		assert_null(strstr(file_of(calls), " apply "));
		assert_null(strstr(file_of(calls), " create "));
		assert_int_not_equal(access(out_folder, F_OK), 0);
	}
	answer_with("");
	assert_int_equal(run(&out, &err, "--yes", "hub-b"), CTL_REFUSED);
	assert_non_null(strstr(err.text, "--yes names hub-b"));
	assert_null(strstr(file_of(calls), " apply "));
	buf_free(&out);
}

#define SERVED(kind, scope, verbs, more)                                                           \
	"case $all in *' get --raw /apis/shop.example.com/v1 '*) echo '{\"resources\":[{\"name\":" \
	"\"widgets\",\"kind\":\"" kind "\",\"namespaced\":" scope ",\"verbs\":[" verbs "]}" more   \
	"]}'; exit;; *' get --raw '*) echo 'Error from server (NotFound): none' >&2; exit 1;; "    \
	"esac"
#define ALL_VERBS  "\"get\",\"list\",\"watch\",\"create\",\"update\",\"patch\",\"delete\""
#define ITS_STATUS ",{\"name\":\"widgets/status\",\"kind\":\"Widget\"}"

static void M7_M10_each_hub_is_asked_for_what_is_listed(void **state)
{
	static const struct {
		const char *special, *says;
		bool done;
	} cases[] = {
		{ SERVED("Widget", "true", ALL_VERBS, ITS_STATUS), NULL, true },
		{ SERVED("Gadget", "true", ALL_VERBS, ITS_STATUS),
		    "hub-a: mirror.kinds: widgets.shop.example.com is of kind Gadget there",
		    false },
		{ SERVED("Widget", "false", ALL_VERBS, ITS_STATUS),
		    "hub-a: mirror.kinds: widgets.shop.example.com has no namespaces there",
		    false },
		{ SERVED("Widget", "true", ALL_VERBS, ""),
		    "hub-a: mirror.kinds: widgets.shop.example.com has no status subresource there",
		    false },
		{ SERVED("Widget", "true", "\"create\"", ITS_STATUS),
		    "hub-a: mirror.kinds: widgets.shop.example.com cannot be listed", false },
		{ "[ $context = hub-b ] && case $all in *' get --raw '*) echo 'Error from server "
		  "(NotFound): none' >&2; exit 1;; esac\n" SERVED(
		      "Widget", "true", ALL_VERBS, ITS_STATUS),
		    "hub-b: warning: it does not serve widgets.shop.example.com in version v1",
		    true },
		{ "case $all in *' get --raw '*) echo no; exit;; esac",
		    "hub-a: /apis/shop.example.com/v1: its list of kinds cannot be read", false },
		{ "case $all in *' get --raw '*) echo 'Error from server (Forbidden): no' >&2; "
		  "exit "
		  "1;; "
		  "esac",
		    "hub-a: kubectl: Error from server (Forbidden)", false },
	};
	struct buf out = buf_make(1 << 20);
	struct err err = { "" };
	char file[128];

	(void)state;
	(void)snprintf(file, sizeof(file), "%s/mirror.yaml", folder);
	put_file(file,
	    "mirror:\n  set: none\n  kinds:\n  - {group: shop.example.com, version: v1, resource: "
	    "widgets, kind: Widget, status: true}\n",
	    0600);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		answer_with(cases[i].special);
		if (run(&out, &err, "--mirror", file) != (cases[i].done ? CTL_DONE : CTL_REFUSED))
			fail_msg("case %zu: %s", i, err.text);
		if (cases[i].says && !strstr(cases[i].done ? out.data : err.text, cases[i].says))
			fail_msg("case %zu says: %s", i, cases[i].done ? out.data : err.text);
		if (!cases[i].says)
			assert_null(strstr(out.data, "warning"));
		if (!cases[i].done)
			assert_null(strstr(file_of(calls), " apply "));
		assert_int_equal(run(&out, &err, "--remove", NULL), CTL_DONE);
	}
	(void)unlink(file);
	buf_free(&out);
}

/* Who forgets --mirror takes nothing back. */
static void rights_for_another_mirror_do_not_go_without_a_word(void **state)
{
	struct buf out = buf_make(1 << 20);
	struct err err = { "" };

	(void)state;
	answer_with("case $all in *' clusterrole understudy-syncer '*) printf 'set none, "
		    "namespaces team=shop, secrets'; exit;; esac");
	assert_int_equal(run(&out, &err, NULL, NULL), CTL_REFUSED);
	assert_non_null(strstr(err.text,
	    "hub-a: it has the rights of a mirror that no --mirror names: set none, namespaces "
	    "team=shop, secrets; expected --mirror FILE, or --force"));
	assert_null(strstr(file_of(calls), " apply "));
	assert_int_equal(run(&out, &err, "--force", NULL), CTL_DONE);
	assert_int_equal(run(&out, &err, "--renew", NULL), CTL_DONE);
	assert_int_equal(run(&out, &err, "--remove", NULL), CTL_DONE);
	buf_free(&out);
}

/* Another label takes back the bindings that the last one gave, and only those. */
static void bindings_go_where_nothing_is_mirrored(void **state)
{
	struct buf out = buf_make(1 << 20);
	struct err err = { "" };

	(void)state;
	answer_with("case $all in *' get namespaces -l kubeslice-resource-owner='*) printf "
		    "'shop\\nshop-2\\n'; exit;;\n*' get rolebindings -A '*) printf "
		    "'shop\\nshop-1\\nhop\\nshop-2\\n'; exit;; esac");
	assert_int_equal(run(&out, &err, NULL, NULL), CTL_DONE);
	for (unsigned i = 0; i < 4; i++) {
		static const char *const names[] = { "shop", "shop-2", "shop-1", "hop" };
		char word[64];

		(void)snprintf(word, sizeof(word), " delete rolebinding -n %s ", names[i]);
		if (!strstr(file_of(calls), word) != (i < 2))
			fail_msg("%s: %s", names[i], i < 2 ? "deleted" : "not deleted");
	}
	assert_int_equal(run(&out, &err, "--remove", NULL), CTL_DONE);
	assert_non_null(strstr(file_of(calls), " delete rolebinding -n shop "));
	buf_free(&out);
}

static void what_goes_wrong_leaves_no_file(void **state)
{
	struct buf out = buf_make(1 << 20);
	struct err err = { "" };
	char path[128];

	(void)state;
	answer_with(
	    "case $all in *' token '*understudy-syncer*|*understudy-syncer*' token '*) echo "
	    "'Error from server (Forbidden): no' >&2; exit 1;; esac");
	assert_int_equal(run(&out, &err, NULL, NULL), CTL_REFUSED);
	assert_non_null(strstr(err.text, "hub-a: kubectl: Error from server (Forbidden)"));
	(void)snprintf(path, sizeof(path), "%s/hub-a/credentials/elector.kubeconfig", out_folder);
	assert_int_equal(access(path, F_OK), 0);
	(void)snprintf(path, sizeof(path), "%s/hub-a/credentials/syncer.kubeconfig", out_folder);
	assert_int_not_equal(access(path, F_OK), 0);
	answer_with("");
	assert_int_equal(run(&out, &err, NULL, NULL), CTL_DONE); /* run again, it goes on */
	/* A folder that others may look into takes no token. */
	assert_int_equal(chmod(out_folder, 0755), 0);
	assert_int_equal(run(&out, &err, "--renew", NULL), CTL_REFUSED);
	assert_non_null(strstr(err.text, "mode 0700, not mode 0755"));
	assert_int_equal(chmod(out_folder, 0700), 0);
	assert_int_equal(run(&out, &err, "--remove", NULL), CTL_DONE);
	buf_free(&out);
}

static void a_dry_run_asks_nobody(void **state)
{
	struct buf out = buf_make(4 << 20);
	struct err err = { "" };

	(void)state;
	answer_with("");
	assert_int_equal(run(&out, &err, "--dry-run", NULL), CTL_DONE);
	assert_int_not_equal(access(calls, F_OK), 0);
	assert_non_null(strstr(out.data, "name: understudy-syncer-role-of-projects"));
	assert_non_null(strstr(out.data, "# --- w1, context w1, step 4"));
	buf_free(&out);
}

static int begin(void **state)
{
	char path[4096];
	const char *was = getenv("PATH");

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(script, sizeof(script), "%s/kubectl", folder);
	(void)snprintf(calls, sizeof(calls), "%s/calls", folder);
	(void)snprintf(out_folder, sizeof(out_folder), "%s/out", folder);
	(void)snprintf(path, sizeof(path), "%s:%s", folder, was ? was : "/usr/bin:/bin");
	return setenv("PATH", path, 1);
}

static int end(void **state)
{
	(void)state;
	(void)unlink(script);
	(void)unlink(calls);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_name_clusters),
		cmocka_unit_test(words_that_are_refused),
		cmocka_unit_test(each_placeholder_is_filled),
		cmocka_unit_test(H5_the_syncer_is_exempt_from_kubeslices_webhooks),
		cmocka_unit_test(what_a_person_edits_is_seen),
		cmocka_unit_test(no_token_is_told_to_anybody),
		cmocka_unit_test(what_is_not_sure_is_refused_before_anything_changes),
		cmocka_unit_test(M7_M10_each_hub_is_asked_for_what_is_listed),
		cmocka_unit_test(rights_for_another_mirror_do_not_go_without_a_word),
		cmocka_unit_test(bindings_go_where_nothing_is_mirrored),
		cmocka_unit_test(what_goes_wrong_leaves_no_file),
		cmocka_unit_test(a_dry_run_asks_nobody),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
