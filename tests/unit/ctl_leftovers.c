/*
 * Goal: what a promotion left over is found by its marks and by nothing else, written by requests
 * that hold for the version that was seen, and tracking marks go back without taking the place of
 * newer ones (decision 4, H8, B22). Method: pure functions on lines, and a kubectl of
 * our own; servers are the scenarios' (bed mirror --verbs, --kinds).
 */
#include "ctl/leftovers.h"

#include "tests/unit/ctl_daemon.h"

#define META(name, more)                                                                           \
	"{\"name\":\"" name "\",\"namespace\":\"n\",\"uid\":\"u-" name                             \
	"\",\"resourceVersion\":\"7\"," more "}\n"
#define COPY  "\"labels\":{\"ha.kubeslice.io/synced-from\":\"active\"}"
#define HELD  "\"annotations\":{\"ha.kubeslice.io/delete-held\":\"true\"}"
#define SLICE "controller.kubeslice.io/v1alpha1 SliceConfig "
/* As kubectl prints them: some with short names, one without a namespace. */
#define KINDS                                                                                      \
	"configmaps     cm       v1                               true    ConfigMap\n"             \
	"namespaces     ns       v1                               false   Namespace\n"             \
	"pods           po       v1                               true    Pod\n"                   \
	"leases                  coordination.k8s.io/v1           true    Lease\n"                 \
	"nodes          no       v1                               false   Node\n"                  \
	"secrets                 v1                               true    Secret\n"                \
	"sliceconfigs            controller.kubeslice.io/v1alpha1 true    SliceConfig\n"           \
	"widgets        wid,w    shop.example.com/v1beta1         true    Widget\n"

static void take(struct leftovers *list, const char *lines, bool held)
{
	*list = (struct leftovers){ 0 };
	assert_true(leftovers_take_kinds(list, STR_LIT(KINDS)));
	assert_true(leftovers_parse(list, lines, held));
}

static void marks_alone_count(void **state)
{
	struct leftovers list;
	char id[17], other[17];

	(void)state;
	take(&list,
	    "v1 Namespace {\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"1\"," COPY "," HELD
	    "}\n" SLICE META("b", COPY "," HELD) "v1 Secret " META(
		"a", COPY "," HELD) "v1 Secret " META("a2", COPY) /* not held */
	    "v1 Pod " META("p", COPY "," HELD) "coordination.k8s.io/v1 Lease " META(
		"l", COPY "," HELD) "v1 Secret " META("a3", HELD) /* no copy */
	    "v2 ConfigMap " META("a4", COPY "," HELD)             /* no kind of the hub */
	    "v2 Secret " META("a5", COPY "," HELD) "v1 Secret " META("-rf",
		COPY "," HELD) "v1 Secret " META("a/b", COPY "," HELD) "v1 Secret " META("..", COPY
		"," HELD) "v1 Secret {\"name\":\"x\"," COPY "," HELD "}\n"
			  "v1 Secret {\nv1 Secret\nv1\n\n 7\nv1 Secret []\nv1 Secret 5\n"
			  "shop.example.com/v1 Widget " META("a6", COPY
			      "," HELD) "shop.example.com/v1beta1 Widget " META("w", COPY "," HELD),
	    true);
	assert_int_equal(list.count, 4);
	assert_string_equal(list.items[0].of.kind, "Secret");
	assert_string_equal(list.items[1].of.kind, "SliceConfig");
	assert_string_equal(list.items[1].of.plural, "sliceconfigs");
	assert_string_equal(list.items[2].of.plural, "widgets");
	assert_string_equal(list.items[2].of.version, "v1beta1");
	assert_string_equal(list.items[2].of.group, "shop.example.com");
	assert_string_equal(list.items[3].of.kind, "Namespace"); /* what is in it goes first */
	leftovers_id(&list, id);
	leftovers_free(&list);
	take(&list, SLICE META("b", COPY "," HELD), true);
	leftovers_id(&list, other);
	assert_string_not_equal(id, other);
	leftovers_free(&list);
	take(&list, SLICE META("b", COPY "," HELD), false); /* nothing is parked */
	assert_int_equal(list.count, 0);
	leftovers_free(&list);
}

static void put(void (*one)(const struct leftover *, struct buf *), const char *line, bool held,
    const char *expected)
{
	struct buf body = buf_make(4096);
	struct leftovers list;
	json_t *got, *wanted = json_loads(expected, 0, NULL);

	take(&list, line, held);
	assert_int_equal(list.count, 1);
	one(&list.items[0], &body);
	got = json_loadb(body.data, body.len, 0, NULL);
	if (!wanted || !json_equal(got, wanted))
		fail_msg("%s", body.data);
	json_decref(got);
	json_decref(wanted);
	leftovers_free(&list);
	buf_free(&body);
}

#define PARKED(text) "\"annotations\":{\"t\":\"newer\",\"ha.kubeslice.io/parked\":\"" text "\"}"
#define SEEN         "\"uid\":\"u-b\",\"resourceVersion\":\"7\""

static void each_request_holds_for_what_was_seen(void **state)
{
	(void)state;
	put(leftovers_put_delete, SLICE META("b", COPY "," HELD), true,
	    "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"propagationPolicy\":"
	    "\"Background\",\"preconditions\":{" SEEN "}}");
	put(leftovers_put_discard, SLICE META("b", COPY "," HELD), true,
	    "{\"metadata\":{" SEEN ",\"annotations\":{\"ha.kubeslice.io/delete-held\":null}}}");
	put(leftovers_put_unpark,
	    SLICE META(
		"b", COPY "," PARKED("{\\\"labels\\\":{\\\"l\\\":\\\"1\\\"},\\\"annotations\\\":{"
				     "\\\"t\\\":\\\"old\\\",\\\"a\\\":\\\"2\\\",\\\"n\\\":3}}")),
	    false,
	    "{\"metadata\":{" SEEN ",\"labels\":{\"l\":\"1\"},\"annotations\":{\"a\":\"2\","
	    "\"ha.kubeslice.io/parked\":null}}}");
	/* Words that are no marks go all the same. */
	put(leftovers_put_unpark, SLICE META("b", COPY "," PARKED("[")), false,
	    "{\"metadata\":{" SEEN ",\"annotations\":{\"ha.kubeslice.io/parked\":null}}}");
}

static void who_is_meant(void **state)
{
	(void)state;
#define MEANT(...)                                                                                 \
	leftovers_are_meant((int)(sizeof((char *[]){ "sync", __VA_ARGS__ }) / sizeof(char *)),     \
	    (char *[]){ "sync", __VA_ARGS__, NULL })
	assert_false(MEANT("confirm-deletes", "--yes", "hub-b"));
	assert_true(MEANT("confirm-deletes", "--context", "hub-b"));
	assert_true(MEANT("discard", "--yes", "x", "--kubeconfig", "f"));
	assert_true(MEANT("unpark"));
	assert_false(MEANT("accept-restore", "--context", "hub-b"));
	assert_false(MEANT("status"));
}

/* --- With a kubectl ----------------------------------------------------------------------------
 */

#define FIRST                                                                                      \
	"case $all in *' self '*) printf Leading; exit;; *holderIdentity*) printf hub-a; exit;;\n" \
	"*' patch '*) cat >/dev/null; echo \"$all\" >>$0.asked; exit;; esac\n"
#define TABLE "case $all in *' api-resources '*) printf '" KINDS "'; "
#define RIGHTS                                                                                     \
	"case $all in *' clusterroles.rbac.authorization.k8s.io understudy-syncer '*) echo "       \
	"'{\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"],\"verbs\":"             \
	"[\"get\",\"create\",\"delete\"]},{\"apiGroups\":[\"shop.example.com\"],\"resources\":"    \
	"[\"widgets\",\"gadgets\",\"gadgets/status\"],\"verbs\":[\"create\",\"delete\"]},{"        \
	"\"apiGroups\":[\"x\"],\"resources\":[\"bindings\"],\"verbs\":[\"create\"]}]}'; exit;; "   \
	"esac\n"
#define RIGHTS_OF_WHAT_IS_THERE                                                                    \
	"case $all in *' understudy-syncer '*) echo '{\"rules\":[]}'; exit;; esac\n"
#define REFUSED(which)                                                                             \
	"case $all in *' get '*" which "*) echo 'Error from server (Forbidden): " which            \
	" is forbidden: no' >&2; exit 1;; esac\n"
#define WIDGET                                                                                     \
	"case $all in *' get '*widgets.v1beta1.shop.example.com*) printf '%s\\n' "                 \
	"'shop.example.com/v1beta1 Widget {\"name\":\"w\",\"namespace\":\"n\",\"uid\":\"u\","      \
	"\"resourceVersion\":\"7\"," COPY                                                          \
	",\"annotations\":{\"ha.kubeslice.io/parked\":\"{}\"}}'; "                                 \
	"esac\n"

static enum ctl_exit unpark(const char *kubectl)
{
	buf_clear(&out);
	err.text[0] = '\0';
	put_kubectl(kubectl);
	return RUN("sync", "unpark", "--context", "a", "--yes", "hub-a");
}

static bool said(const char *text)
{
	return out.len && strstr(out.data, text) != NULL;
}

static void every_kind_of_the_hub_is_asked_for(void **state)
{
	char asked[120], line[400] = "";
	FILE *file;

	(void)state;
	assert_int_equal(
	    unpark(FIRST TABLE "exit;; esac\n" RIGHTS_OF_WHAT_IS_THERE WIDGET), CTL_DONE);
	assert_true(said("Widget n/w: gets its marks back"));
	assert_true(said("unpark: done: 1 have"));
	assert_false(said("not looked at"));
	(void)snprintf(asked, sizeof(asked), "%s/kubectl.asked", directory);
	file = fopen(asked, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	(void)fclose(file);
	(void)unlink(asked);
	assert_non_null(strstr(line, " patch widgets.v1beta1.shop.example.com w "));
}

/* Bootstrap's --namespace was another one, and it was left out here: no list of there says
 * anything. */
static void a_namespace_without_a_lease_is_no_answer(void **state)
{
	static const char kubectl[] =
	    "case $all in *' self '*) printf Leading; exit;; *holderIdentity*) echo 'Error from "
	    "server (NotFound): namespaces \"kubeslice-controller\" not found' >&2; exit 1;; "
	    "esac\n";

	(void)state;
	assert_int_equal(unpark(kubectl), CTL_REFUSED);
	assert_non_null(strstr(err.text,
	    "there is no Lease kubeslice-controller-ha in kubeslice-controller: name understudy's "
	    "namespace by --namespace"));
	assert_int_equal(RUN("archive", "list", "--context", "a"), CTL_REFUSED);
	assert_non_null(strstr(err.text, "by --namespace"));
	assert_false(said("nothing was lost"));
	assert_int_equal(RUN("archive", "list", "--context", "a", "--namespace", "x"), CTL_REFUSED);
	put_kubectl("case $all in *holderIdentity*) printf hub-b;; esac; exit 0\n");
	assert_int_equal(RUN("archive", "list", "--context", "a"), CTL_DONE);
	assert_true(said("nothing is archived: nothing was lost\n"));
	put_kubectl("case $all in *holderIdentity*) echo 'Error from server (Forbidden): no' >&2; "
		    "exit 1;; esac\n");
	assert_int_equal(RUN("archive", "list", "--context", "a"), CTL_DONE);
}

/* The rest is done, and it is no success. */
static void what_is_not_looked_at_is_named(void **state)
{
	char asked[120];

	(void)state;
	(void)snprintf(asked, sizeof(asked), "%s/kubectl.asked", directory);
	assert_int_equal(
	    unpark(FIRST TABLE "exit;; esac\n" RIGHTS REFUSED("secrets") WIDGET), CTL_REFUSED);
	assert_true(said("not looked at: gadgets.shop.example.com: the mirror has it, but this hub "
			 "does not serve it\n"));
	assert_true(said("not looked at: secrets: kubectl: Error from server (Forbidden)"));
	assert_false(said("configmaps") || said("bindings") || said("gadgets/status"));
	assert_true(said("unpark: done: 1 have"));
	assert_string_equal(err.text, "unpark: 2 not looked at, which may hold more: look again");
	assert_int_equal(unlink(asked), 0);
	/* None is found in what could be looked at. */
	assert_int_equal(unpark(FIRST TABLE "exit;; esac\n" RIGHTS_OF_WHAT_IS_THERE REFUSED(
			     "widgets.v1beta1.shop.example.com") WIDGET),
	    CTL_REFUSED);
	assert_true(said("not looked at: widgets.shop.example.com: "));
	assert_string_equal(
	    err.text, "unpark: refused: nothing is parked on hub-a, as far as it was looked at");
	/* One group's server is down; the syncer's rights cannot be read; a webhook fails. */
	assert_int_equal(
	    unpark(FIRST TABLE "echo 'error: unable to retrieve the complete list of "
			       "server APIs: metrics.k8s.io' >&2; exit 1;; esac\n"
			       "case $all in *' understudy-syncer '*) echo 'Error from "
			       "server (Forbidden): no' >&2; exit 1;; *' get "
			       "'*configmaps*) echo 'Error from server: conversion "
			       "webhook: caf\351' >&2; exit 1;; esac\n" WIDGET),
	    CTL_REFUSED);
	assert_true(said("not looked at: some kinds: kubectl: error: unable to retrieve"));
	assert_true(said("not looked at: kinds that are not served: kubectl: Error from server"));
	assert_true(said("not looked at: configmaps: kubectl: Error from server: conversion"));
	assert_true(said("unpark: done: 1 have"));
	assert_int_equal(unlink(asked), 0);
}

static void no_hub_no_list(void **state)
{
	static const char *const kinds[] = { "", "echo one two three", "echo a b c d e f g",
		"echo -rf v1 true Secret", "echo secrets ../v1 true Secret",
		"echo secrets v1 maybe Secret", "echo secrets /v1 true Secret" };

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char text[1200];

		(void)snprintf(text, sizeof(text), "%scase $all in *' api-resources '*) %s;; esac",
		    FIRST, kinds[i]);
		assert_int_equal(unpark(text), CTL_REFUSED);
		assert_non_null(strstr(err.text, "kubectl api-resources: "));
		assert_int_equal(out.len, 0);
	}
	/* Each of many kinds is refused in a line of its own. */
	assert_int_equal(
	    unpark(FIRST TABLE "exit;; esac\n" RIGHTS_OF_WHAT_IS_THERE
			       "yes 'Error from server (Forbidden): no' | head -n 3000 "
			       ">&2; exit 1"),
	    CTL_REFUSED);
	assert_true(said("not looked at: widgets.shop.example.com: kubectl: Error from server"));
	assert_string_equal(
	    err.text, "unpark: refused: nothing is parked on hub-a, as far as it was looked at");
	assert_int_equal(unpark(FIRST TABLE "exit;; esac\n" RIGHTS_OF_WHAT_IS_THERE
					    "echo 'Unable to connect to the server' >&2; exit 1"),
	    CTL_REFUSED);
	assert_string_equal(err.text, "kubectl: Unable to connect to the server ");
	assert_int_equal(out.len, 0);
}

static void misuse(void **state)
{
	static char *const lines[][6] = { { "sync", "unpark" },
		{ "sync", "unpark", "--context", "" }, { "sync", "unpark", "--context", "--yes" },
		{ "sync", "unpark", "--context", "x", "--list" },
		{ "sync", "discard", "--context", "x", "all" } };
	struct ctl_options options = { "/nonexistent" };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		int argc = 0;

		buf_clear(&out);

		while (argc < 6 && lines[i][argc])
			argc++;
		assert_int_equal(
		    leftovers_command(&options, argc, (char **)lines[i], &out, &err), CTL_USAGE);
		assert_int_equal(out.len, 0);
	}
}

#define WITH_KUBECTL(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_alone_count),
		cmocka_unit_test(each_request_holds_for_what_was_seen),
		cmocka_unit_test(who_is_meant),
		WITH_KUBECTL(every_kind_of_the_hub_is_asked_for),
		WITH_KUBECTL(what_is_not_looked_at_is_named),
		WITH_KUBECTL(a_namespace_without_a_lease_is_no_answer),
		WITH_KUBECTL(no_hub_no_list),
		WITH_KUBECTL(misuse),
	};

	return cmocka_run_group_tests_name(
	    "ctl/leftovers", tests, make_kubectl_directory, remove_directory);
}
