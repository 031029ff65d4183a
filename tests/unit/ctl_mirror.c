/*
 * Goal: `sync` sends what was asked for and nothing else, deletes and follows nothing without the
 * hub's name and the list that was seen, and ends as decision 25 says: sync diff as kubectl diff
 * does. Method: a child plays the daemon (ctl_daemon.h).
 */
#include "ctl/mirror.h"
#include "tests/unit/ctl_daemon.h"

#define STATUS                                                                                     \
	"{\"identity\":\"hub-b\",\"leadership\":{\"role\":\"standby\",\"nonce\":"                  \
	"\"00000000000000aa\"},\"mirror\":{\"state\":\"Blocked\",\"why\":\"x\",\"heldDeletes\":2," \
	"\"heldList\":\"00000000000000bb\",\"excluded\":3,\"progress\":null},\"kinds\":[{"         \
	"\"kind\":"                                                                                \
	"\"Secret\",\"state\":\"Synced\",\"source\":2,\"copies\":2,\"completeAt\":77,"             \
	"\"oldestUnappliedMs\":1500,\"fault\":\"\"}],\"blocked\":[{\"state\":\"held\",\"object\":" \
	"\"Secret n/x\",\"why\":\"y\"},{\"state\":\"excluded\",\"object\":\"Secret n/z\","         \
	"\"why\":\"mark\"}]}"
#define DONE(rows) "{\"outcome\":\"done\",\"rows\":[" rows "],\"rowsLeftOut\":0,\"text\":\"t\"}"
#define ROW        "{\"object\":\"Secret n/x\",\"text\":\"data.k\"}"

static void diff_ends_as_kubectl_diff_does(void **state)
{
	(void)state;
	SERVE(NULL, DONE(""));
	assert_int_equal(RUN("sync", "diff"), 0);
	assert_string_equal(out.data, "diff: done: t\n");
	assert_string_equal(asked(), "{\"verb\":\"sync-diff\"}\n");
	buf_clear(&out);
	SERVE(NULL, DONE(ROW));
	assert_int_equal(RUN("sync", "diff", "Secret"), 1);
	assert_string_equal(out.data, "Secret n/x: data.k\ndiff: done: t\n");
	assert_string_equal(asked(), "{\"verb\":\"sync-diff\",\"kind\":\"Secret\"}\n");
	SERVE(NULL, "{\"outcome\":\"refused\",\"text\":\"no\",\"checks\":[]}");
	assert_int_equal(RUN("sync", "diff"), 2);
	(void)asked();
	SERVE(NULL, "{\"outcome\":\"unknown\",\"text\":\"gone\"}");
	assert_int_equal(RUN("sync", "diff", "-o", "json"), 3);
	(void)asked();
	SERVE(NULL, "");
	assert_int_equal(RUN("sync", "diff"), 3);
	(void)asked();
}

static void a_dry_run_asks_once_and_only_that(void **state)
{
	(void)state;
	SERVE(STATUS, DONE(ROW));
	assert_int_equal(RUN("sync", "discard", "--dry-run"), 0);
	assert_string_equal(
	    asked(), "{\"verb\":\"sync-discard\",\"list\":\"00000000000000bb\",\"check\":true}\n");
	assert_non_null(strstr(out.data, "Secret n/x: data.k\n"));
	SERVE(NULL, DONE(""));
	assert_int_equal(RUN("sync", "resync", "--dry-run"), 0);
	assert_string_equal(asked(), "{\"verb\":\"sync-resync\",\"check\":true}\n");
}

static void nothing_goes_without_the_hubs_name(void **state)
{
	(void)state;
	/* The list is read once, the consent's view of the hub once more. */
	SERVE(NULL, DONE(ROW));
	assert_int_equal(
	    RUN("sync", "accept-restore", "--yes", "hub-b"), CTL_NO_DAEMON); /* no status */
	assert_string_equal(asked(), "{\"verb\":\"sync-accept-restore\",\"check\":true}\n");
	SERVE(STATUS, DONE(ROW));
	assert_int_equal(RUN("sync", "accept-restore"), CTL_REFUSED);
	assert_non_null(strstr(err.text, "not confirmed"));
	assert_string_equal(asked(), "{\"verb\":\"sync-accept-restore\",\"check\":true}\n");
	SERVE(STATUS, DONE(ROW));
	assert_int_equal(RUN("sync", "accept-restore", "--yes", "hub-a"), CTL_REFUSED);
	assert_non_null(strstr(err.text, "this hub is hub-b"));
	(void)asked();
	SERVE(STATUS, DONE(ROW), DONE(ROW));
	assert_int_equal(RUN("sync", "accept-restore", "--yes", "hub-b"), CTL_DONE);
	assert_string_equal(asked(), "{\"verb\":\"sync-accept-restore\",\"check\":true}\n"
				     "{\"verb\":\"sync-accept-restore\",\"hub\":\"hub-b\","
				     "\"nonce\":\"00000000000000aa\"}\n");
	/* What is refused in the preview is not asked for. */
	SERVE(NULL, "{\"outcome\":\"refused\",\"text\":\"no\",\"checks\":[]}");
	assert_int_equal(RUN("sync", "accept-restore", "--yes", "hub-b"), CTL_REFUSED);
	(void)asked();
}

static void status_is_shown(void **state)
{
	(void)state;
	SERVE(STATUS, "");
	assert_int_equal(RUN("sync", "status"), CTL_DONE);
	assert_non_null(strstr(out.data, "  mirror        Blocked, INCOMPLETE: x\n"));
	assert_non_null(strstr(out.data, "  held          list 00000000000000bb: sync confirm"));
	assert_non_null(strstr(out.data, "Secret               Synced       2       2       -      "
					 "  -        -     -         77  "
					 "         2 s\n"));
	assert_non_null(strstr(out.data, "  held        Secret n/x: y\n"));
	assert_null(strstr(out.data, "Secret n/z"));
	assert_non_null(strstr(out.data, "3 objects are left out"));
	buf_clear(&out);
	SERVE(STATUS, "");
	assert_int_equal(RUN("sync", "status", "--excluded"), CTL_DONE);
	assert_non_null(strstr(out.data, "  excluded    Secret n/z: mark\n"));
	buf_clear(&out);
	SERVE(STATUS, "");
	assert_int_equal(RUN("sync", "status", "-o", "json"), CTL_DONE);
	assert_non_null(strstr(out.data, "\"notMirrored\""));
}

static void what_is_no_word_is_refused(void **state)
{
	(void)state;
	assert_int_equal(RUN("sync"), CTL_USAGE);
	assert_int_equal(RUN("sync", "all"), CTL_USAGE);
	assert_int_equal(RUN("sync", "diff", "--dry-run"), CTL_USAGE);
	assert_int_equal(RUN("sync", "diff", "Secret", "Role"), CTL_USAGE);
	assert_int_equal(RUN("sync", "diff", "-o"), CTL_USAGE);
	assert_int_equal(RUN("sync", "diff", "-o", "yaml"), CTL_USAGE);
	assert_int_equal(RUN("sync", "resync", "--yes", "hub-b"), CTL_USAGE);
	assert_int_equal(RUN("sync", "status", "Secret"), CTL_USAGE);
	assert_int_equal(RUN("sync", "discard", "--list"), CTL_USAGE);
	assert_int_equal(RUN("sync", "confirm-deletes", "--yes"), CTL_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(diff_ends_as_kubectl_diff_does, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_dry_run_asks_once_and_only_that, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    nothing_goes_without_the_hubs_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(status_is_shown, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_word_is_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
