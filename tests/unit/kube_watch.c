/*
 * The reflector against a client that the test plays: what is asked after which answer, in which
 * order objects are handed out, when it waits. Rules: L79, M3, M7.
 */
#include "tests/unit/kube_watch.h"

static void test_pages_then_watch(void **state)
{
	(void)state;
	start(false);
	assert_int_equal(wait_over(), 0);
	expect_asked("labelSelector=a%3Db&limit=500");
	expect_not_asked("resourceVersion");
	page(LIST("10", ",\"continue\":\"to/ken=\"", OBJECT("a", "3") "," OBJECT("b", "4")));
	expect("begin =a =b ");
	expect_asked("continue=to%2Fken%3D");
	page(LIST("10", "", OBJECT("c", "5")));
	expect("=c synced@10 ");
	expect_asked("watch=true&allowWatchBookmarks=true&timeoutSeconds=");
	expect_asked("resourceVersion=10");
	assert_true(asked.stream);
	stream(EVENT("ADDED", OBJECT("d", "11")) EVENT("MODIFIED", OBJECT("a", "12")));
	stream(EVENT("DELETED", OBJECT("b", "13")));
	expect("+d ~a -b ");
	/* The server ends the stream after its time: on from the last version, nothing to say. */
	now_ns += 300 * BASE_NS_PER_S;
	fail_with(KUBE_OK);
	expect_asked("resourceVersion=13");
	stream(BOOKMARK("99"));
	fail_with(KUBE_OK);
	expect_asked("resourceVersion=99");
	expect("");
	finish();
}

static void test_events_in_pieces(void **state)
{
	static const char text[] =
	    EVENT("ADDED", OBJECT("x", "11")) "\n" EVENT("ADDED", OBJECT("y", "12"));

	(void)state;
	follow();
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		assert_true(asked.chunk(asked.arg, (struct str){ text + i, 1 }));
	expect("+x +y ");
	finish();
}

static void test_initial_events(void **state)
{
	(void)state;
	start(true);
	(void)wait_over();
	expect_asked("sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
	expect_not_asked("resourceVersion=");
	stream(EVENT("ADDED", OBJECT("b", "9")) BOOKMARK("4") EVENT("ADDED", OBJECT("a", "3")));
	expect("begin =b =a ");
	stream(INITIAL_END("10") EVENT("ADDED", OBJECT("c", "11")));
	expect("synced@10 +c ");
	assert_null(timer);
	fail_with(KUBE_SILENT);
	expect("error:silent ");
	(void)wait_over();
	reached("11");
	expect_asked("resourceVersion=11"); /* no list: the version is still good */
	expect_not_asked("sendInitialEvents");
	stream(STATUS("410", "too old resource version"));
	expect("");
	(void)wait_over();
	expect_asked("sendInitialEvents=true");
	finish();
}

/* A server that says nothing for long may have nothing to say: it is asked again at once, from
 * where the watch was, and only what fails then is an error. */
static void test_quiet_server_is_no_error(void **state)
{
	(void)state;
	follow();
	stream(EVENT("ADDED", OBJECT("c", "11")));
	expect("+c ");
	now_ns += 90 * BASE_NS_PER_S;
	fail_with(KUBE_SILENT);
	expect("");
	reached("11");
	expect_asked("resourceVersion=11");
	fail_with(KUBE_SILENT);
	expect("error:silent ");
	finish();
}

/* It has nothing to say, but it answers: nobody waits for its next bookmark to know. */
static void test_a_quiet_watch_that_came_back_is_alive(void **state)
{
	(void)state;
	follow();
	fail_with(KUBE_SILENT);
	expect("error:silent ");
	(void)wait_over();
	alive = 0;
	assert_null(timer); /* no answer yet */
	reached("10");
	stream("");
	assert_int_equal(alive, 0);
	assert_int_equal(wait_over(), 1000);
	assert_int_equal(alive, 1);
	/* One that ends at once never was. */
	fail_with(KUBE_SILENT);
	(void)wait_over();
	reached("10");
	stream("");
	fail_with(KUBE_OK);
	expect("error:silent error:server-error ");
	(void)wait_over();
	reached("10");
	expect_asked("resourceVersion=10");
	assert_int_equal(alive, 1);
	/* Of initial events only their end counts. */
	finish();
	start(true);
	(void)wait_over();
	stream("");
	assert_int_equal(wait_over(), 1000);
	expect("begin error:silent ");
	assert_int_equal(alive, 1);
	finish();
}

/* Each way in which a server may refuse initial events leads to a plain list, for good. */
static void test_initial_events_refused(void **state)
{
	(void)state;
	for (int way = 0; way < 5; way++) {
		start(true);
		(void)wait_over();
		switch (way) {
		case 0: fail_with(KUBE_INVALID); break;
		case 1: fail_with(KUBE_REFUSED); break;
		case 2: stream(STATUS("500", "RequestWatchProgress is disabled")); break;
		case 3: /* ignored: objects, but never an end */
			stream(EVENT("ADDED", OBJECT("a", "3")));
			assert_int_equal(wait_over(), 1000);
			assert_true(cancelled == last_id);
			break;
		default: fail_with(KUBE_OK); break;
		}
		(void)wait_over();
		expect_asked("limit=500");
		log_text[0] = '\0';
		page(LIST("10", "", OBJECT("a", "3")));
		expect("=a synced@10 ");
		stream(STATUS("410", "gone"));
		(void)wait_over();
		expect_asked("limit=500");
		finish();
	}
}

static void test_expired_version_lists_again(void **state)
{
	(void)state;
	follow();
	stream(EVENT("ADDED", OBJECT("d", "11")) STATUS("410", "too old")
		EVENT("ADDED", OBJECT("e", "12")));
	expect("+d "); /* nothing after the error */
	(void)wait_over();
	expect_asked("limit=500");
	page(LIST("20", "", ""));
	expect("begin synced@20 ");
	fail_with(KUBE_GONE);
	(void)wait_over();
	expect_asked("limit=500");
	page(LIST("21", "", ""));
	answer_with((struct kube_answer){ .class = KUBE_SERVER_ERROR,
	    .status = 504,
	    .message = "Too large resource version: 21, current: 3" });
	(void)wait_over();
	expect_asked("limit=500");
	finish();
}

static void test_expired_token_lists_unpaged(void **state)
{
	(void)state;
	start(false);
	(void)wait_over();
	page(LIST("10", ",\"continue\":\"t\"", OBJECT("a", "3")));
	fail_with(KUBE_GONE);
	expect("begin =a ");
	(void)wait_over();
	expect_not_asked("limit");
	expect_not_asked("continue");
	page(LIST("11", "", OBJECT("a", "3")));
	expect("begin =a synced@11 ");
	finish();
}

/* Objects of any size in any number: what is in memory at once is bounded (L79). */
static void test_a_page_too_long_is_asked_for_in_smaller_ones(void **state)
{
	static const char *const limits[] = { "limit=500", "limit=125", "limit=31", "limit=7",
		"limit=1", "limit=1" };
	struct kube_answer answer = { .class = KUBE_BLIND, .too_long = true, .message = "long" };

	(void)state;
	start(false);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		(void)wait_over();
		expect_asked(limits[i]);
		assert_true(asked.most_bytes > 0 && asked.most_bytes <= 8u << 20);
		answer_with(answer);
		expect("begin error:blind ");
	}
	(void)wait_over();
	page(LIST("10", ",\"continue\":\"t\"", OBJECT("a", "3")));
	expect_asked("limit=1");
	expect_asked("continue=t");
	/* Another answer of that kind is no reason. */
	fail_with(KUBE_GONE);
	(void)wait_over();
	expect_not_asked("limit");
	assert_true(asked.most_bytes == 0);
	answer_with(answer);
	(void)wait_over();
	expect_asked("limit=1");
	finish();
}

/* What a failed attempt leaves: the version, or a list. */
static void test_after_failures(void **state)
{
	static const char asks[] = "limit=1", lists[] = "limit=500";
	static const struct {
		enum kube_class class;
		const char *next;
	} rows[] = { { KUBE_SILENT, asks }, { KUBE_BLIND, asks }, { KUBE_THROTTLED, asks },
		{ KUBE_UNAUTHORIZED, asks }, { KUBE_FORBIDDEN, asks }, { KUBE_SERVER_ERROR, asks },
		{ KUBE_NO_RESOURCE, lists }, { KUBE_NOT_FOUND, lists }, { KUBE_INVALID, lists },
		{ KUBE_REFUSED, lists } };
	char said[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		follow();
		fail_with(rows[i].class);
		(void)snprintf(said, sizeof(said), "error:%s ", kube_class_name(rows[i].class));
		expect(said);
		(void)wait_over();
		expect_asked(rows[i].next);
		finish();
	}
}

/* A server that was restored from a backup takes a watch from a version that it has lost, and says
 * nothing until it gets there again by other changes (H10). */
static void test_a_server_that_went_back_is_listed(void **state)
{
	(void)state;
	follow();
	stream(EVENT("ADDED", OBJECT("c", "1000")));
	expect("+c ");
	fail_with(KUBE_SILENT);
	(void)wait_over();
	reached("999");
	expect_asked("limit=500");
	page(LIST("999", "", OBJECT("a", "5")));
	expect("error:silent begin =a synced@999 ");
	expect_asked("resourceVersion=999");
	/* Also one whose connection was dead for long, and nobody said so. */
	now_ns += 90 * BASE_NS_PER_S;
	fail_with(KUBE_SILENT);
	reached("998");
	expect_asked("limit=500");
	/* Of versions that are no numbers nobody knows the order. */
	page(LIST("x", "", ""));
	expect("begin synced@x ");
	fail_with(KUBE_SILENT);
	(void)wait_over();
	reached("1");
	expect_asked("resourceVersion=x");
	finish();
}

/* Whoever was away for longer than it takes to connect again may have been restored, and may have
 * got as far as it was by the time that it answers. Nobody looks at one that asked for time. */
static void test_a_server_that_was_away_is_listed(void **state)
{
	static const enum kube_class classes[] = { KUBE_SILENT, KUBE_BLIND, KUBE_SERVER_ERROR,
		KUBE_THROTTLED, KUBE_UNAUTHORIZED, KUBE_FORBIDDEN };

	(void)state;
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		follow();
		fail_with(classes[i]);
		(void)wait_over();
		now_ns += 2 * BASE_NS_PER_S; /* it takes the question, and answers late */
		reached("10");
		expect_asked("limit=500");
		finish();
		follow();
		fail_with(classes[i]);
		(void)wait_over();
		fail_with(KUBE_UNAUTHORIZED); /* what it says in between is no life of the watch */
		now_ns += 2 * BASE_NS_PER_S;
		timer_at_ns = now_ns;
		(void)wait_over();
		expect_asked("limit=500");
		finish();
	}
	follow();
	fail_with(KUBE_SILENT);
	(void)wait_over();
	fail_with(KUBE_SILENT);
	(void)wait_over();
	assert_true(now_ns - 1000 * BASE_NS_PER_S < 2 * BASE_NS_PER_S);
	reached("10");
	expect_asked("resourceVersion=10");
	finish();
}

static void test_what_is_asked_for_is_no_list(void **state)
{
	(void)state;
	follow();
	fail_with(KUBE_SILENT);
	(void)wait_over();
	page("{\"kind\":\"Status\"}");
	expect("error:silent error:blind ");
	(void)wait_over();
	reached("10");
	expect_asked("resourceVersion=10");
	finish();
}

static void test_streams_that_fail_again_and_again_list(void **state)
{
	int tries = 0;

	(void)state;
	follow();
	while (!strstr(asked.query, "limit=500")) {
		fail_with(KUBE_OK); /* at once */
		(void)wait_over();
		if (!asked.stream && !strstr(asked.query, "limit=500"))
			reached("10");
		assert_true(++tries < 10);
	}
	assert_int_equal(tries, 4); /* by then it has been away for longer than two seconds */
	finish();
}

static void test_backoff(void **state)
{
	int64_t least = 250, most = 500;

	(void)state;
	start(false);
	(void)wait_over();
	for (int i = 0; i < 12; i++) {
		int64_t waited;

		fail_with(KUBE_SILENT);
		waited = wait_over();
		assert_in_range(waited, least, most);
		least = least * 2 > 15000 ? 15000 : least * 2;
		most = most * 2 > 30000 ? 30000 : most * 2;
	}
	answer_with((struct kube_answer){ .class = KUBE_THROTTLED, .retry_after_ms = 70000 });
	assert_int_equal(wait_over(), 70000);
	page(LIST("10", "", ""));
	stream(EVENT("ADDED", OBJECT("a", "11"))); /* it works again */
	fail_with(KUBE_SILENT);
	assert_in_range(wait_over(), 250, 500);
	finish();
}

/* A minute of back-off that an old token or CA has earned is not the new one's; what the server
 * asked for by itself is. */
static void test_a_new_identity_ends_the_wait(void **state)
{
	int64_t began_ns;

	(void)state;
	follow();
	for (int i = 0; i < 8; i++) {
		fail_with(i % 2 ? KUBE_UNAUTHORIZED : KUBE_BLIND);
		if (i < 7)
			(void)wait_over();
	}
	assert_true(timer_at_ns - now_ns >= 15 * BASE_NS_PER_S);
	began_ns = now_ns;
	assert_int_equal(renewal->target, 7);
	renewal->renewed(renewal->arg);
	assert_int_equal(wait_over(), 0);
	assert_int_equal(now_ns, began_ns);
	expect_asked("limit=500");
	fail_with(KUBE_SILENT);
	assert_in_range(wait_over(), 250, 500); /* and nothing of the old failures counts */
	answer_with((struct kube_answer){ .class = KUBE_THROTTLED, .retry_after_ms = 70000 });
	renewal->renewed(renewal->arg);
	assert_int_equal(wait_over(), 70000);
	renewal->renewed(renewal->arg); /* one that asks goes on asking */
	assert_int_not_equal(asked.id, 0);
	finish();
	assert_null(renewal);
}

/* A server that takes a watch and drops it at once must not be asked in a circle. */
static void test_streams_that_end_at_once(void **state)
{
	(void)state;
	follow();
	fail_with(KUBE_OK);
	expect("error:server-error ");
	assert_in_range(wait_over(), 250, 500);
	fail_with(KUBE_OK);
	assert_in_range(wait_over(), 500, 1000);
	finish();
}

static void test_hostile_lists(void **state)
{
	static const char *const texts[] = { "", "[]", "{}", "{\"kind\":\"Thing\",\"items\":[]}",
		"{\"kind\":\"ThingList\",\"items\":[]}",
		"{\"kind\":\"ThingList\",\"metadata\":{\"resourceVersion\":\"\"},\"items\":[]}",
		"{\"kind\":\"ThingList\",\"metadata\":{\"resourceVersion\":\"1\"}}",
		LIST("1", "", "7"), LIST("1", "", "{}"),
		LIST("1", "", OBJECT("good", "1") ",{\"metadata\":{\"name\":\"bad\"}}"),
		LIST("1", "", OBJECT("", "3")),
		/* Its token got lost on the way (C14). */
		LIST("1", ",\"remainingItemCount\":7", OBJECT("a", "1")) };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		start(false);
		(void)wait_over();
		page(texts[i]);
		expect("begin error:blind "); /* nothing of it is handed out, nothing synced */
		(void)wait_over();
		expect_asked("limit=500");
		finish();
	}
}

static void test_hostile_events(void **state)
{
	static const char *const texts[] = { "{\n", "7\n", "[]\n", "{}\n", "null\n",
		"{\"type\":\"ADDED\"}\n", EVENT("ADDED", "{}"), EVENT("PATCHED", OBJECT("a", "1")),
		EVENT("ADDED", OBJECT("", "1")), "{\"type\":\"BOOKMARK\",\"object\":{}}\n",
		"{\"type\":7,\"object\":{}}\n", EVENT("ADDED", "{\"metadata\":{\"name\":\"a\"}}") };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		follow();
		stream(texts[i]);
		expect("error:blind ");
		(void)wait_over();
		reached("10");
		expect_asked("resourceVersion=10");
		finish();
	}
	/* ERROR events whose Status says nothing useful. */
	follow();
	stream("{\"type\":\"ERROR\"}\n");
	expect("error:server-error ");
	finish();
	follow();
	stream("{\"type\":\"ERROR\",\"object\":{\"code\":200}}\n");
	expect("error:server-error ");
	finish();
}

static void test_endless_line(void **state)
{
	static char block[1 << 20];
	uint64_t id;

	(void)state;
	follow();
	id = asked.id;
	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 9 && asked.id == id; i++)
		if (!asked.chunk(asked.arg, (struct str){ block, sizeof(block) }))
			fail_with(KUBE_OK);
	expect("error:blind ");
	/* Nothing of it is left for the next stream. */
	(void)wait_over();
	reached("10");
	stream(EVENT("ADDED", OBJECT("a", "11")));
	expect("+a ");
	finish();
}

/* Stopped or restarted from inside any callback. */
static void test_stop_and_restart_inside(void **state)
{
	(void)state;
	for (int m = STOP; m <= RESTART; m++) {
		for (int where = 0; where < 5; where++) {
			start(where == 4);
			if (where == 0)
				mood = m;
			(void)wait_over();
			if (where == 4) {
				mood = m;
				stream(EVENT("ADDED", OBJECT("a", "3")) INITIAL_END("4"));
			} else if (where == 3) {
				mood = m;
				fail_with(KUBE_SILENT);
			} else if (where > 0) {
				mood = where == 1 ? m : CALM;
				page(LIST("10", "", OBJECT("a", "3") "," OBJECT("b", "3")));
			}
			if (where == 2) {
				mood = m;
				stream(EVENT("ADDED", OBJECT("c", "3"))
					EVENT("ADDED", OBJECT("d", "4")));
				assert_null(strstr(log_text, "+d"));
			}
			assert_int_equal(asked.id, 0);
			if (m == STOP) {
				assert_null(timer);
				continue;
			}
			assert_int_equal(wait_over(), 0);
			assert_true(strstr(asked.query, "watch=true") == NULL || where == 4);
			finish();
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages_then_watch),
		cmocka_unit_test(test_events_in_pieces),
		cmocka_unit_test(test_initial_events),
		cmocka_unit_test(test_quiet_server_is_no_error),
		cmocka_unit_test(test_a_quiet_watch_that_came_back_is_alive),
		cmocka_unit_test(test_initial_events_refused),
		cmocka_unit_test(test_expired_version_lists_again),
		cmocka_unit_test(test_expired_token_lists_unpaged),
		cmocka_unit_test(test_a_page_too_long_is_asked_for_in_smaller_ones),
		cmocka_unit_test(test_after_failures),
		cmocka_unit_test(test_a_server_that_went_back_is_listed),
		cmocka_unit_test(test_a_server_that_was_away_is_listed),
		cmocka_unit_test(test_what_is_asked_for_is_no_list),
		cmocka_unit_test(test_streams_that_fail_again_and_again_list),
		cmocka_unit_test(test_backoff),
		cmocka_unit_test(test_a_new_identity_ends_the_wait),
		cmocka_unit_test(test_streams_that_end_at_once),
		cmocka_unit_test(test_hostile_lists),
		cmocka_unit_test(test_hostile_events),
		cmocka_unit_test(test_endless_line),
		cmocka_unit_test(test_stop_and_restart_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
