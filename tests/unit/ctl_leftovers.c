/*
 * Goal: what a promotion left over is found by its marks and by nothing else, written by requests
 * that hold for the version that was seen, and tracking marks go back without taking the place of
 * newer ones (decision 4, H8, B22). Method: pure functions on lines; kubectl and servers are the
 * scenario's (bed mirror --verbs).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/leftovers.h"

#define META(name, more)                                                                           \
	"{\"name\":\"" name "\",\"namespace\":\"n\",\"uid\":\"u-" name                             \
	"\",\"resourceVersion\":\"7\"," more "}\n"
#define COPY  "\"labels\":{\"ha.kubeslice.io/synced-from\":\"active\"}"
#define HELD  "\"annotations\":{\"ha.kubeslice.io/delete-held\":\"true\"}"
#define SLICE "controller.kubeslice.io/v1alpha1 SliceConfig "

static void marks_alone_count(void **state)
{
	struct leftovers list;
	char id[17], other[17];

	(void)state;
	leftovers_parse("v1 Namespace {\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"1\"," COPY
			"," HELD "}\n" SLICE META("b", COPY "," HELD) "v1 Secret " META(
			    "a", COPY "," HELD) "v1 Secret " META("a2", COPY) /* not held */
	    "v1 Secret " META("a3", HELD)                                     /* no copy */
	    "v1 ConfigMap " META("a4", COPY "," HELD) /* no kind of the mirror */
	    "v2 Secret " META("a5", COPY "," HELD) "v1 Secret " META("-rf",
		COPY "," HELD) "v1 Secret " META("a/b", COPY "," HELD) "v1 Secret " META("..",
		COPY "," HELD) "v1 Secret {\"name\":\"x\"," COPY "," HELD "}\n"
			       "v1 Secret {\nv1 Secret\nv1\n\n 7\nv1 Secret []\nv1 Secret 5",
	    true, &list);
	assert_int_equal(list.count, 3);
	assert_string_equal(list.items[0].kind, "Secret");
	assert_string_equal(list.items[1].kind, "SliceConfig");
	assert_string_equal(list.items[1].plural, "sliceconfigs");
	assert_string_equal(list.items[2].kind, "Namespace"); /* what is in it goes first */
	leftovers_id(&list, id);
	leftovers_free(&list);
	leftovers_parse(SLICE META("b", COPY "," HELD), true, &list);
	leftovers_id(&list, other);
	assert_string_not_equal(id, other);
	leftovers_free(&list);
	leftovers_parse(SLICE META("b", COPY "," HELD), false, &list); /* nothing is parked */
	assert_int_equal(list.count, 0);
	leftovers_free(&list);
}

static void put(void (*one)(const struct leftover *, struct buf *), const char *line, bool held,
    const char *expected)
{
	struct buf body = buf_make(4096);
	struct leftovers list;
	json_t *got, *wanted = json_loads(expected, 0, NULL);

	leftovers_parse(line, held, &list);
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

static void misuse(void **state)
{
	static char *const lines[][6] = { { "sync", "unpark" },
		{ "sync", "unpark", "--context", "" }, { "sync", "unpark", "--context", "--yes" },
		{ "sync", "unpark", "--context", "x", "--list" },
		{ "sync", "discard", "--context", "x", "all" } };
	struct ctl_options options = { "/nonexistent" };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct buf out = buf_make(4096);
		struct err err = { "" };
		int argc = 0;

		while (argc < 6 && lines[i][argc])
			argc++;
		assert_int_equal(
		    leftovers_command(&options, argc, (char **)lines[i], &out, &err), CTL_USAGE);
		assert_int_equal(out.len, 0);
		buf_free(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_alone_count),
		cmocka_unit_test(each_request_holds_for_what_was_seen),
		cmocka_unit_test(who_is_meant),
		cmocka_unit_test(misuse),
	};

	return cmocka_run_group_tests_name("ctl/leftovers", tests, NULL, NULL);
}
