/*
 * The client and the loop under a reflector, played by the test that includes this: what was asked
 * last, what the watch said, and the ways to answer. One watch at a time.
 */
#ifndef TESTS_KUBE_WATCH_H
#define TESTS_KUBE_WATCH_H

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
	size_t most_bytes;
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
	asked.most_bytes = ask->most_bytes;
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

static struct kube_renewal *renewal; /* the watch's, while it wants one */

void kube_client_on_renewal(struct kube_client *client, struct kube_renewal *wanted)
{
	(void)client;
	renewal = wanted;
}

void kube_client_off_renewal(struct kube_client *client, struct kube_renewal *wanted)
{
	(void)client;
	assert_ptr_equal(renewal, wanted);
	renewal = NULL;
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

static unsigned alive;

static void on_alive(void *arg)
{
	(void)arg;
	alive++;
}

static const struct kube_watch_ops ops = { on_begin, on_object, on_synced, on_alive, on_error };

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

/* After a lost connection the server is asked how far it is. */
static void reached(const char *version)
{
	char text[128];

	expect_asked("limit=1");
	assert_false(asked.stream);
	(void)snprintf(text, sizeof(text),
	    "{\"kind\":\"ThingList\",\"metadata\":{\"resourceVersion\":\"%s\"},\"items\":[]}",
	    version);
	page(text);
}

/* A watch that follows version 10. */
static void follow(void)
{
	start(false);
	(void)wait_over();
	page(LIST("10", "", ""));
	expect("begin synced@10 ");
	expect_asked("resourceVersion=10");
}

#endif
