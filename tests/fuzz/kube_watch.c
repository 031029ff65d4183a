/*
 * Goal: no list and no stream of events crashes the reflector, it has one request at a time, and it
 * ends when it is told to. The client and the loop are played: the first byte of each piece says
 * what the server does next.
 */
#include "kube/watch.h"

#include <string.h>

#include "base/clock.h"
#include "tests/fuzz/fuzz.h"
#include "tests/sim/no_renewal.h"

static struct {
	uint64_t id;
	kube_chunk_fn *chunk;
	kube_done_fn *done;
	void *arg;
} asked;
static struct loop_timer *timer;
static uint64_t last_id;
static int64_t now_ns;

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
	MUST(at_ns >= now_ns);
	timer = set;
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
	(void)idle_ms;
	MUST(asked.id == 0 && ask->path);
	asked.id = ++last_id;
	asked.chunk = chunk;
	asked.done = done;
	asked.arg = arg;
	return asked.id;
}

uint64_t kube_client_ask(
    struct kube_client *client, const struct kube_ask *ask, kube_done_fn *done, void *arg)
{
	return kube_client_stream(client, ask, 0, NULL, done, arg);
}

void kube_client_cancel(struct kube_client *client, uint64_t id)
{
	(void)client;
	if (id == asked.id)
		asked.id = 0;
}

static void on_begin(void *arg)
{
	(void)arg;
}

static void on_object(void *arg, enum kube_watch_event event, const json_t *object)
{
	(void)arg;
	MUST(event <= KUBE_WATCH_DELETED && json_is_object(object));
}

static void on_synced(void *arg, const char *version)
{
	(void)arg;
	MUST(version && *version);
}

static void on_error(void *arg, const struct kube_answer *answer)
{
	(void)arg;
	(void)answer;
}

static const struct kube_watch_ops ops = { on_begin, on_object, on_synced, NULL, on_error };

static void end_request(enum kube_class class, struct str body)
{
	struct kube_answer answer = { .class = class, .body = body, .finished_ns = now_ns };
	kube_done_fn *done = asked.done;

	if (asked.id == 0)
		return;
	asked.id = 0;
	done(asked.arg, &answer);
}

static void serve(uint8_t what, struct str piece)
{
	uint64_t id = asked.id;

	if (asked.id == 0 && timer) {
		struct loop_timer *due = timer;

		timer = NULL;
		now_ns += BASE_NS_PER_S;
		due->fire(due->arg, now_ns);
		id = asked.id;
	}
	if (what % 8 == 7)
		end_request((enum kube_class)(what / 8 % (KUBE_BLIND + 1)), STR_LIT(""));
	else if (asked.chunk && !asked.chunk(asked.arg, piece) && asked.id == id)
		end_request(KUBE_OK, STR_LIT(""));
	else if (asked.id && !asked.chunk)
		end_request(KUBE_OK, piece);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kube_watch_options options = { .target = 7,
		.path = "/api/v1/things",
		.deadline_ms = 1000,
		.initial_events = size && data[0] & 1 };
	struct kube_watch *watch;

	memset(&asked, 0, sizeof(asked));
	timer = NULL;
	now_ns = 1000 * BASE_NS_PER_S;
	watch = kube_watch_start(NULL, NULL, &options, &ops, NULL);
	/* Pieces end with a byte that no JSON text has. */
	while (size > 1) {
		const uint8_t *end = memchr(data + 1, 0xff, size - 1);
		size_t n = end ? (size_t)(end - data) : size;

		serve(data[0], (struct str){ (const char *)data + 1, n - 1 });
		data += end ? n + 1 : n;
		size -= end ? n + 1 : n;
	}
	(void)kube_watch_version(watch);
	kube_watch_stop(watch);
	MUST(!timer);
	return 0;
}
