/*
 * The reflector against a client that the test plays: what is asked after which answer, in which
 * order objects are handed out, when it waits. Rules: L79, M3, M7.
 */
#include "kube/watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "kube/answer.h"

/* --- The client and the loop, played by the test -------------------------------------------- */

static struct asked {
	uint64_t id;
	bool stream;
	char query[1024];
	kube_chunk_fn *chunk;
	kube_done_fn *done;
	void *arg;
} asked;
static uint64_t last_id, cancelled;
static struct loop_timer *timer; /* the watch's, when set */
static int64_t now_ns, timer_at_ns;

int64_t base_clock_boot_ns(void)
{
	return now_ns;
}

int64_t base_clock_wall_us(void)
{
	return 0;
}

void loop_timer_set(struct loop *loop, struct loop_timer *set, int64_t at_ns)
{
	(void)loop;
	timer = set;
	timer_at_ns = at_ns;
}

void loop_timer_cancel(struct loop *loop, struct loop_timer *set)
{
	(void)loop;
	(void)set;
	timer = NULL;
}

uint64_t kube_client_stream(struct kube_client *client, const struct kube_ask *ask,
    uint32_t idle_ms, kube_chunk_fn *chunk, kube_done_fn *done, void *arg)
{
	(void)client;
	assert_true(idle_ms >= 75000); /* bookmarks come about once a minute */
	assert_int_equal(asked.id, 0); /* one request at a time */
	asked = (struct asked){
		.id = ++last_id, .stream = chunk != NULL, .chunk = chunk, .done = done, .arg = arg
	};
	(void)snprintf(asked.query, sizeof(asked.query), "%s", ask->query ? ask->query : "");
	assert_string_equal(ask->path, "/api/v1/things");
	assert_int_equal(ask->target, 7);
	return asked.id;
}

uint64_t kube_client_ask(
    struct kube_client *client, const struct kube_ask *ask, kube_done_fn *done, void *arg)
{
	return kube_client_stream(client, ask, UINT32_MAX, NULL, done, arg);
}

void kube_client_cancel(struct kube_client *client, uint64_t id)
{
	(void)client;
	if (id && id == asked.id) {
		cancelled = id;
		asked.id = 0;
	}
}

/* --- What the watch said -------------------------------------------------------------------- */

static char log_text[4096];
static struct kube_watch *watch;
static enum { CALM, STOP, RESTART } mood; /* what the next callback does */

static void note(const char *format, ...)
{
	size_t have = strlen(log_text);
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(log_text + have, sizeof(log_text) - have, format, arguments);
	va_end(arguments);
	if (mood == STOP) {
		kube_watch_stop(watch);
		watch = NULL;
	} else if (mood == RESTART) {
		kube_watch_restart(watch);
	}
	mood = CALM;
}

static void on_begin(void *arg)
{
	(void)arg;
	note("begin ");
}

static void on_object(void *arg, enum kube_watch_event event, const json_t *object)
{
	static const char *const marks[] = { "=", "+", "~", "-" };

	(void)arg;
	note("%s%s ", marks[event],
	    json_string_value(json_object_get(json_object_get(object, "metadata"), "name")));
}

static void on_synced(void *arg, const char *version)
{
	(void)arg;
	note("synced@%s ", version);
}

static void on_error(void *arg, const struct kube_answer *answer)
{
	(void)arg;
	note("error:%s ", kube_class_name(answer->class));
}

static const struct kube_watch_ops ops = { on_begin, on_object, on_synced, NULL, on_error };

static void start(bool initial_events)
{
	struct kube_watch_options options = { .target = 7,
		.path = "/api/v1/things",
		.query = "labelSelector=a%3Db",
		.deadline_ms = 1000,
		.initial_events = initial_events };

	asked.id = 0;
	log_text[0] = '\0';
	mood = CALM;
	now_ns = 1000 * BASE_NS_PER_S;
	watch = kube_watch_start(NULL, NULL, &options, &ops, NULL);
}

/* Lets the waiting end; returns how long it was. */
static int64_t wait_over(void)
{
	int64_t waited_ms = (timer_at_ns - now_ns) / BASE_NS_PER_MS;
	struct loop_timer *due = timer;

	assert_non_null(due);
	now_ns = timer_at_ns;
	timer = NULL;
	due->fire(due->arg, now_ns);
	return waited_ms;
}

static void answer_with(struct kube_answer answer)
{
	kube_done_fn *done = asked.done;

	assert_int_not_equal(asked.id, 0);
	asked.id = 0;
	answer.finished_ns = now_ns;
	done(asked.arg, &answer);
}

static void page(const char *text)
{
	answer_with((struct kube_answer){ .class = KUBE_OK, .status = 200, .body = str_of(text) });
}

static void fail_with(enum kube_class class)
{
	answer_with((struct kube_answer){ .class = class });
}

/* A piece of the stream. When the watch has enough the client ends the request with OK. */
static void stream(const char *text)
{
	uint64_t id = asked.id;

	assert_true(asked.stream && asked.id);
	if (!asked.chunk(asked.arg, str_of(text)) && asked.id == id)
		fail_with(KUBE_OK);
}

static void expect(const char *said)
{
	assert_string_equal(log_text, said);
	log_text[0] = '\0';
}

static void expect_asked(const char *part)
{
	assert_int_not_equal(asked.id, 0);
	if (!strstr(asked.query, part))
		fail_msg("%s is not in %s", part, asked.query);
}

static void expect_not_asked(const char *part)
{
	assert_null(strstr(asked.query, part));
}

static void finish(void)
{
	kube_watch_stop(watch);
	assert_null(timer);
	asked.id = 0;
}

#define OBJECT(name, version)                                                                      \
	"{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"
#define LIST(version, more, items)                                                                 \
	"{\"kind\":\"ThingList\",\"metadata\":{\"resourceVersion\":\"" version "\"" more           \
	"},\"items\":[" items "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define BOOKMARK(version)                                                                          \
	"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"" version "\"}}}"  \
	"\n"
#define INITIAL_END(version)                                                                       \
	"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"" version          \
	"\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"
#define STATUS(code, text)                                                                         \
	"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":" code                       \
	",\"message\":\"" text "\"}}\n"

/* A watch that follows version 10. */
static void follow(void)
{
	start(false);
	(void)wait_over();
	page(LIST("10", "", ""));
	expect("begin synced@10 ");
	expect_asked("resourceVersion=10");
}

/* --- Tests ---------------------------------------------------------------------------------- */

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
	expect_asked("resourceVersion=11"); /* no list: the version is still good */
	expect_not_asked("sendInitialEvents");
	stream(STATUS("410", "too old resource version"));
	expect("");
	(void)wait_over();
	expect_asked("sendInitialEvents=true");
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

/* What a failed attempt leaves: the version, or a list. */
static void test_after_failures(void **state)
{
	static const struct {
		enum kube_class class;
		bool lists;
	} rows[] = { { KUBE_SILENT, false }, { KUBE_BLIND, false }, { KUBE_THROTTLED, false },
		{ KUBE_UNAUTHORIZED, false }, { KUBE_FORBIDDEN, false },
		{ KUBE_SERVER_ERROR, false }, { KUBE_NO_RESOURCE, true }, { KUBE_NOT_FOUND, true },
		{ KUBE_INVALID, true }, { KUBE_REFUSED, true } };
	char said[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		follow();
		fail_with(rows[i].class);
		(void)snprintf(said, sizeof(said), "error:%s ", kube_class_name(rows[i].class));
		expect(said);
		(void)wait_over();
		expect_asked(rows[i].lists ? "limit=500" : "resourceVersion=10");
		finish();
	}
}

static void test_a_stubborn_server_error_lists(void **state)
{
	int tries = 0;

	(void)state;
	follow();
	while (strstr(asked.query, "resourceVersion=10")) {
		fail_with(KUBE_SERVER_ERROR);
		(void)wait_over();
		assert_true(++tries < 10);
	}
	expect_asked("limit=500");
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
		LIST("1", "", OBJECT("", "3")) };

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
		cmocka_unit_test(test_initial_events_refused),
		cmocka_unit_test(test_expired_version_lists_again),
		cmocka_unit_test(test_expired_token_lists_unpaged),
		cmocka_unit_test(test_after_failures),
		cmocka_unit_test(test_a_stubborn_server_error_lists),
		cmocka_unit_test(test_backoff),
		cmocka_unit_test(test_streams_that_end_at_once),
		cmocka_unit_test(test_hostile_lists),
		cmocka_unit_test(test_hostile_events),
		cmocka_unit_test(test_endless_line),
		cmocka_unit_test(test_stop_and_restart_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
