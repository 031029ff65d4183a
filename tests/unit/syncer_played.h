/*
 * A syncer whose clock, loop, links and client are played: the test answers what was asked, in any
 * order, and says what time it is.
 * Included by one test program each.
 */
#ifndef TESTS_SYNCER_PLAYED_H
#define TESTS_SYNCER_PLAYED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/clock.h"
#include "kube/json.h"
#include "syncer/syncer.h"
#include "tests/sim/no_dialer.h"
#include "tests/sim/no_metric.h"
#include "tests/sim/no_renewal.h"

#define NS "kubeslice-cisco"

static struct ask {
	bool open;
	unsigned target;
	enum kube_verb verb;
	char path[200], query[400], body[2000];
	kube_chunk_fn *chunk;
	kube_done_fn *done;
	void *arg;
} asks[256];
static unsigned asked;
static struct loop_timer *timers[64];
static int64_t now_ns;
static struct syncer *syncer;

/* --- Clock, loop, links and client ----------------------------------------------------------- */

int64_t base_clock_boot_ns(void)
{
	return now_ns;
}

int64_t base_clock_wall_us(void)
{
	return 0;
}

void loop_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
	(void)loop;
	if (timer->slot)
		timers[timer->slot - 1] = NULL;
	timer->slot = 0;
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t at_ns)
{
	unsigned slot = 0;

	loop_timer_cancel(loop, timer);
	while (timers[slot])
		slot++;
	timers[slot] = timer;
	timer->slot = slot + 1;
	timer->at_ns = at_ns;
}

bool role_send(struct role_process *process, enum role peer, unsigned shard, enum message_id id,
    const void *body)
{
	(void)process;
	(void)peer;
	(void)shard;
	(void)id;
	(void)body;
	return true;
}

void role_leave(struct role_process *process, int code)
{
	(void)process;
	(void)code;
}

enum verdict link_refuse(void *context, const struct link *link, const void *message, int fd)
{
	(void)context;
	(void)link;
	(void)message;
	(void)fd;
	return VERDICT_PEER_BROKEN;
}

uint64_t kube_client_stream(struct kube_client *client, const struct kube_ask *what,
    uint32_t idle_ms, kube_chunk_fn *chunk, kube_done_fn *done, void *arg)
{
	struct ask *ask = &asks[asked++];

	(void)client;
	(void)idle_ms;
	assert_true(asked < sizeof(asks) / sizeof(asks[0]));
	*ask = (struct ask){ .open = true,
		.target = what->target,
		.verb = what->verb,
		.chunk = chunk,
		.done = done,
		.arg = arg };
	(void)snprintf(ask->path, sizeof(ask->path), "%s", what->path);
	(void)snprintf(ask->query, sizeof(ask->query), "%s", what->query ? what->query : "");
	assert_true(what->body.n < sizeof(ask->body));
	if (what->body.n)
		memcpy(ask->body, what->body.p, what->body.n);
	return asked;
}

uint64_t kube_client_ask(
    struct kube_client *client, const struct kube_ask *what, kube_done_fn *done, void *arg)
{
	return kube_client_stream(client, what, 0, NULL, done, arg);
}

void kube_client_cancel(struct kube_client *client, uint64_t id)
{
	(void)client;
	if (id)
		asks[id - 1].open = false;
}

bool kube_client_has(const struct kube_client *client, unsigned target)
{
	(void)client;
	(void)target;
	return true;
}

bool kube_client_take(struct kube_client *client, const struct msg_credential *credential)
{
	(void)client;
	(void)credential;
	return true;
}

void kube_client_shutdown(struct kube_client *client)
{
	(void)client;
}

/* --- What the test says ---------------------------------------------------------------------- */

static inline void answer(struct ask *ask, enum kube_class class, const char *body)
{
	struct kube_answer answer = {
		.class = class, .body = { body, strlen(body) }, .finished_ns = now_ns
	};

	assert_true(ask->open);
	ask->open = false;
	ask->done(ask->arg, &answer);
}

/* The newest that is open and is of that verb; NULL: none. */
static inline struct ask *open_ask(enum kube_verb verb, const char *in_query)
{
	for (unsigned i = asked; i-- > 0;)
		if (asks[i].open && asks[i].verb == verb && strstr(asks[i].query, in_query))
			return &asks[i];
	return NULL;
}

static inline void fire_all(void)
{
	for (unsigned i = 0; i < sizeof(timers) / sizeof(timers[0]); i++)
		if (timers[i] && timers[i]->at_ns <= now_ns) {
			struct loop_timer *timer = timers[i];

			loop_timer_cancel(NULL, timer);
			timer->fire(timer->arg, now_ns);
		}
}

static inline void on_note(void *arg, enum engine_note note, struct item *item)
{
	(void)arg;
	(void)note;
	(void)item;
}

static inline int setup(void **state)
{
	static struct us_config config = { .mirror_set = CONFIG_MIRROR_KUBESLICE };
	struct item *home;

	(void)state;
	memset(timers, 0, sizeof(timers));
	asked = 0;
	now_ns = 1000 * BASE_NS_PER_S;
	kinds_fill(&config);
	syncer = calloc(1, sizeof(*syncer));
	assert_non_null(syncer);
	syncer->config = &config;
	engine_open(&syncer->engine, "kubeslice-controller", 1, 1, on_note, NULL);
	syncer->engine.granted = syncer->engine.verified = true;
	syncer->engine.copies_synced = UINT32_MAX;
	outside_open(&syncer->outside);
	feeds_open(syncer);
	source_open(syncer);
	writes_open(syncer);
	report_open(syncer);
	preflight_open(syncer);
	home = store_add(&syncer->engine.store, KIND_NAMESPACE, "", NS);
	store_set_source(&syncer->engine.store, home, SOURCE_PRESENT);
	store_set_copy(&syncer->engine.store, home, COPY_PRESENT);
	return 0;
}

static inline void stop_it(struct feed *feed, void *arg)
{
	(void)arg;
	feed_stop(feed);
}

static inline int teardown(void **state)
{
	(void)state;
	syncer->left = true;
	for (unsigned side = 0; side < SIDE_COUNT; side++)
		feeds_visit(syncer, (enum side)side, stop_it, NULL);
	for (unsigned i = 0; i < asked; i++)
		if (asks[i].open && !asks[i].chunk)
			answer(&asks[i], KUBE_SILENT, "");
	outside_close(&syncer->outside);
	engine_close(&syncer->engine);
	free(syncer);
	return 0;
}

#define STORY(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
