/*
 * The status on one screen: a whole document gives this text, a document of nothing gives unknown
 * and no crash, and what stands in names cannot drive the terminal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/show.h"

static char *text;

static const char *show(const char *json)
{
	struct buf out = buf_make(1 << 20);
	json_error_t error;
	json_t *document = json_loads(json, JSON_REJECT_DUPLICATES, &error);

	if (!document)
		fail_msg("%s at %d", error.text, error.position);
	show_status(document, &out);
	assert_false(out.failed);
	free(text);
	text = strdup(out.data);
	json_decref(document);
	buf_free(&out);
	return text;
}

static int tear_down(void **state)
{
	(void)state;
	free(text);
	text = NULL;
	return 0;
}

static const char standby[] =
    "{\"version\":1,\"time\":\"2026-01-01T00:10:00.000Z\",\"identity\":\"hub-b\",\"mode\":"
    "\"standby\","
    "\"ready\":true,\"notReady\":\"\","
    "\"leadership\":{\"state\":\"standby\",\"role\":\"standby\",\"term\":4,\"ledTerm\":3,"
    "\"since\":\"2026-01-01T00:00:00.000Z\",\"renewedAgoMs\":null,\"validForMs\":0,\"armed\":true,"
    "\"complete\":true,\"reason\":\"peer renews\",\"leader\":\"hub-a\",\"leaderSeenAgoMs\":61500},"
    "\"fence\":{\"leading\":false,\"term\":3,\"remainingMs\":0},"
    "\"peer\":{\"identity\":\"hub-a\",\"class\":\"silent\",\"why\":\"timeout\",\"holder\":\"peer\","
    "\"phase\":\"leading\",\"term\":4,\"ledTerm\":4,\"ageMs\":61500,\"thresholdMs\":20000},"
    "\"mirror\":{\"state\":\"Blocked\",\"why\":\"Secret: 1 objects "
    "blocked\",\"complete\":true,\"objects\":12,\"pending\":1,\"blocked\":1,\"heldDeletes\":2,"
    "\"lagMs\":40,\"written\":99,\"failed\":0},"
    "\"kinds\":[{\"kind\":\"Project\",\"fault\":\"\"},{\"kind\":\"Cluster\",\"fault\":\"no CRD\"}],"
    "\"workers\":[{\"name\":\"worker-1\",\"state\":\"ok\",\"term\":4,\"identity\":\"hub-a\","
    "\"since\":\"2026-01-01T00:00:01.000Z\",\"detail\":\"\"},"
    "{\"name\":\"w2\",\"state\":\"denied\",\"term\":0,\"identity\":\"\",\"since\":null,"
    "\"detail\":\"403 on clustercontrollers\"}],"
    "\"credentials\":[{\"name\":\"elector\",\"worker\":\"\",\"usable\":true},"
    "{\"name\":\"syncer\",\"worker\":\"\",\"usable\":null},"
    "{\"name\":\"worker\",\"worker\":\"w2\",\"usable\":false}],"
    "\"blocked\":[{\"state\":\"blocked\",\"object\":\"Secret n/x\",\"why\":\"422 immutable\"}],"
    "\"history\":[{\"time\":\"2026-01-01T00:00:00.000Z\",\"from\":\"STANDBY\","
    "\"to\":\"standby\",\"term\":4,\"reason\":\"mirror_complete\",\"text\":\"all kinds "
    "listed\"}],"
    "\"processes\":[{\"name\":\"elector\",\"shard\":0,\"connected\":true},"
    "{\"name\":\"syncer\",\"shard\":0,\"connected\":false},"
    "{\"name\":\"repointer\",\"shard\":3,\"connected\":false}]}";

/* A peer that is gone is one thing that is wrong, not one a kind. */
static void kinds_of_one_fault_are_one_line(void **state)
{
	const char *shown = show("{\"kinds\":[{\"kind\":\"A\",\"fault\":\"silent\"},"
				 "{\"kind\":\"B\",\"fault\":\"no CRD\"},"
				 "{\"kind\":\"C\",\"fault\":\"silent\"},"
				 "{\"kind\":\"D\",\"fault\":\"\"},"
				 "{\"kind\":\"E\",\"fault\":\"silent\"}]}");

	(void)state;
	assert_non_null(strstr(shown, "! kind A and 2 more: silent\n! kind B: no CRD\n"));
	assert_null(strstr(shown, "kind C"));
	assert_null(strstr(shown, "kind D"));
}

static void a_standby_fits_one_screen(void **state)
{
	(void)state;
	assert_string_equal(show(standby),
	    "hub-b  standby  since 2026-01-01T00:00:00.000Z\n"
	    "! process not connected: syncer\n"
	    "! process not connected: repointer 3\n"
	    "! the peer is silent: timeout\n"
	    "! kind Cluster: no CRD\n"
	    "! no usable credential worker: w2\n"
	    "  now           2026-01-01T00:10:00.000Z, configured as standby\n"
	    "  role          standby, term 4, led term 3\n"
	    "  leader        hub-a, seen 1m01s ago\n"
	    "  reason        peer renews\n"
	    "  fence page    closed\n"
	    "  peer          hub-a silent, phase leading, holder peer, term 4, led term 4\n"
	    "  peer's Lease  last change 1m01s ago, threshold 20.0 s\n"
	    "  armed         yes, record complete\n"
	    "  mirror        Blocked, complete: Secret: 1 objects blocked\n"
	    "                12 objects, 1 pending, 1 blocked, 2 held deletes\n"
	    "                lag 40 ms, 99 written, 0 failed\n"
	    "\n"
	    "WORKER    STATE        TERM      ACTIVE            SINCE\n"
	    "worker-1  ok           4         hub-a             2026-01-01T00:00:01.000Z\n"
	    "w2        denied       0         \n"
	    "    403 on clustercontrollers\n"
	    "\n"
	    "NOT MIRRORED AS IT IS\n"
	    "  blocked     Secret n/x: 422 immutable\n"
	    "\n"
	    "LAST TRANSITIONS\n"
	    "  2026-01-01T00:00:00.000Z  STANDBY -> standby  term 4  mirror_complete: "
	    "all kinds listed\n");
}

static void who_does_not_stand_by_does_not_miss_its_syncer(void **state)
{
	(void)state;
	show("{\"identity\":\"hub-a\",\"mode\":\"active\",\"ready\":true,\"leadership\":{\"state\":"
	     "\"held\",\"role\":\"standby\"},\"processes\":[{\"name\":\"syncer\",\"shard\":0,"
	     "\"connected\":false}]}");
	assert_null(strstr(text, "!"));
	show(
	    "{\"identity\":\"hub-a\",\"mode\":\"active\",\"ready\":true,"
	    "\"leadership\":{\"state\":\"ACTIVE\",\"role\":\"leading\",\"term\":2,\"reason\":\"\"},"
	    "\"fence\":{\"leading\":true,\"term\":2,\"remainingMs\":8250},"
	    "\"processes\":[{\"name\":\"syncer\",\"shard\":0,\"connected\":false}]}");
	assert_null(strstr(text, "!"));
	assert_null(strstr(text, "armed"));
	assert_non_null(strstr(text, "fence page    open, term 2, valid for 8.2 s\n"));
}

/* H17 */
static void a_lease_that_lasts_too_long_is_a_warning(void **state)
{
	(void)state;
	show("{\"ready\":true,\"peer\":{\"class\":\"ok\",\"leaseMs\":300001}}");
	assert_non_null(strstr(text, "! the peer's Lease lasts more than 300 s"));
	show("{\"ready\":true,\"peer\":{\"class\":\"ok\",\"leaseMs\":300000}}");
	assert_null(strstr(text, "!"));
}

static void nothing_known_is_said_so(void **state)
{
	(void)state;
	show(
	    "{\"identity\":\"hub-a\",\"ready\":false,\"notReady\":\"the elector is not connected\","
	    "\"leadership\":null,\"fence\":null,\"peer\":null,\"mirror\":null}");
	assert_non_null(strstr(text, "hub-a  state unknown"));
	assert_non_null(strstr(text, "! not ready: the elector is not connected\n"));
	assert_non_null(strstr(text, "fence page    none\n"));
}

/* Any other shape is shown as far as it goes. */
static void a_document_of_another_shape_is_no_crash(void **state)
{
	static const char *const documents[] = { "{}", "{\"leadership\":5,\"workers\":\"x\"}",
		("{\"workers\":[5,null,[],{}],\"blocked\":[1],\"history\":[{}],\"processes\":[[]],"
		 "\"kinds\":[null],\"credentials\":[{}]}"),
		"{\"peer\":{},\"mirror\":{},\"fence\":{},\"leadership\":{}}" };

	(void)state;
	for (unsigned i = 0; i < sizeof(documents) / sizeof(documents[0]); i++)
		assert_non_null(show(documents[i]));
}

static void names_cannot_drive_the_terminal(void **state)
{
	(void)state;
	show("{\"identity\":\"a\\u001b[2Jb\",\"ready\":true,\"blocked\":"
	     "[{\"object\":\"x\\u009b1A\\u007f\",\"why\":\"l1\\nl2 \\u00e4\"}]}");
	assert_null(strpbrk(text, "\x1b\x7f"));
	assert_null(strstr(text, "\xc2\x9b"));
	assert_non_null(strstr(text, "a?[2Jb"));
	assert_non_null(strstr(text, "  x?1A?: l1?l2 \xc3\xa4\n"));
}

static void a_worker_on_one_screen(void **state)
{
	static const char worker[] =
	    "{\"identity\":\"worker-1\",\"mode\":\"follower\",\"ready\":true,"
	    "\"time\":\"2026-01-01T00:10:00.000Z\",\"leadership\":null,"
	    "\"follower\":{\"follows\":\"hub-a\",\"term\":4,\"maxTerm\":4,\"handedOver\":"
	    "\"hub-a\",\"pending\":\"hub-b\",\"confirmations\":1,\"confirmationsNeeded\":2,"
	    "\"controllerConnected\":\"True Connected\",\"controllerEndpointSynced\":\"False "
	    "EndpointPending\",\"operator\":\"written\",\"looks\":[{\"hub\":\"hub-a\",\"look\":"
	    "\"does not answer\"},{\"hub\":\"h\\u001b[2J\",\"look\":\"leads with term 5\"}]},"
	    "\"credentials\":[{\"name\":\"hub-a\",\"worker\":\"\",\"usable\":true,\"expires\":"
	    "\"2026-01-01T00:12:00.000Z\"},{\"name\":\"hub-b\",\"worker\":\"\",\"usable\":true,"
	    "\"expires\":\"2026-01-01T00:09:59.000Z\"},{\"name\":\"follower\",\"worker\":\"\","
	    "\"usable\":true,\"expires\":\"2026-01-01T01:12:00.000Z\"}],"
	    "\"reload\":{\"count\":1,\"done\":false,\"text\":\"not reloaded: mode\"}}";

	(void)state;
	(void)show(worker);
	assert_non_null(strstr(text, "worker-1  follows hub-a, term 4\n"));
	assert_non_null(strstr(text, "handed over   hub-a; no term below 4 is followed\n"));
	assert_non_null(strstr(text, "hub-b claims to lead, confirmed by 1 of 2 looks\n"));
	assert_non_null(strstr(text, "ControllerEndpointSynced False EndpointPending\n"));
	assert_non_null(strstr(text, "does not answer\n"));
	assert_null(strchr(text, '\x1b'));
	assert_non_null(strstr(text, "! expires within minutes: credential hub-a"));
	assert_non_null(strstr(text, "! has expired: credential hub-b"));
	assert_null(strstr(text, "credential follower"));
	assert_non_null(strstr(text, "! not reloaded: mode\n"));
	(void)show("{\"follower\":{}}");
	assert_non_null(strstr(text, "follows no hub yet"));
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_standby_fits_one_screen),
		TEST(kinds_of_one_fault_are_one_line),
		TEST(who_does_not_stand_by_does_not_miss_its_syncer),
		TEST(a_lease_that_lasts_too_long_is_a_warning),
		TEST(nothing_known_is_said_so),
		TEST(a_document_of_another_shape_is_no_crash),
		TEST(names_cannot_drive_the_terminal),
		TEST(a_worker_on_one_screen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
