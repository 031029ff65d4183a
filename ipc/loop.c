/*
 * The event loop (see the header): epoll for descriptors, one timerfd for the earliest of all
 * timers, a binary heap for their order. No decision is made here.
 */
#include "ipc/loop.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"

#define BATCH 64
/* Rounds of readable input before timers get their turn: bounds a peer that never stops sending. */
#define MAX_ROUNDS 256

struct watched {
	loop_ready_fn *ready;
	void *arg;
	uint32_t generation; /* counts up with each owner of this number */
};

struct loop {
	int epoll, timer;
	struct watched *watched; /* by descriptor */
	size_t watched_count;
	struct loop_timer **heap; /* heap[0] is the earliest */
	size_t heap_count, heap_cap;
	int64_t armed_ns; /* what the timerfd is set to, 0: nothing */
	bool stopped;
	int code;
};

struct loop *loop_new(void)
{
	struct loop *loop = calloc(1, sizeof(*loop));
	struct epoll_event event = { .events = EPOLLIN };

	CHECK(loop);
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	loop->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	CHECK(loop->epoll >= 0 && loop->timer >= 0);
	event.data.u64 = (uint32_t)loop->timer;
	CHECK(epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->timer, &event) == 0);
	return loop;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	close(loop->epoll);
	close(loop->timer);
	free(loop->watched);
	free(loop->heap);
	free(loop);
}

void loop_watch(struct loop *loop, int fd, uint32_t epoll_events, loop_ready_fn *ready, void *arg)
{
	struct epoll_event event = { .events = epoll_events };
	size_t index = (size_t)fd;
	struct watched *watched;
	bool known;

	if (index >= loop->watched_count) {
		size_t count = index + 16;
		struct watched *grown = realloc(loop->watched, count * sizeof(*grown));

		CHECK(grown);
		for (size_t i = loop->watched_count; i < count; i++)
			grown[i] = (struct watched){ 0 };
		loop->watched = grown;
		loop->watched_count = count;
	}
	watched = &loop->watched[index];
	known = watched->ready != NULL;
	*watched = (struct watched){ ready, arg, watched->generation + !known };
	event.data.u64 = (uint64_t)watched->generation << 32 | (uint32_t)fd;
	/* A descriptor that was closed without loop_forget has left the epoll set by itself. */
	if (known && epoll_ctl(loop->epoll, EPOLL_CTL_MOD, fd, &event) == 0)
		return;
	CHECK(epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) == 0);
}

void loop_forget(struct loop *loop, int fd)
{
	size_t index = (size_t)fd;

	if (fd < 0 || index >= loop->watched_count || !loop->watched[index].ready)
		return;
	loop->watched[index].ready = NULL;
	(void)epoll_ctl(loop->epoll, EPOLL_CTL_DEL, fd, NULL);
}

static void heap_put(struct loop *loop, size_t at, struct loop_timer *timer)
{
	loop->heap[at] = timer;
	timer->slot = (unsigned)at + 1;
}

static void heap_up(struct loop *loop, size_t at)
{
	struct loop_timer *timer = loop->heap[at];

	while (at > 0 && loop->heap[(at - 1) / 2]->at_ns > timer->at_ns) {
		heap_put(loop, at, loop->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	heap_put(loop, at, timer);
}

static void heap_down(struct loop *loop, size_t at)
{
	struct loop_timer *timer = loop->heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= loop->heap_count)
			break;
		if (child + 1 < loop->heap_count &&
		    loop->heap[child + 1]->at_ns < loop->heap[child]->at_ns)
			child++;
		if (loop->heap[child]->at_ns >= timer->at_ns)
			break;
		heap_put(loop, at, loop->heap[child]);
		at = child;
	}
	heap_put(loop, at, timer);
}

void loop_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
	struct loop_timer *last;
	size_t at;

	if (timer->slot == 0)
		return;
	at = timer->slot - 1;
	timer->slot = 0;
	last = loop->heap[--loop->heap_count];
	if (last == timer)
		return;
	heap_put(loop, at, last);
	heap_up(loop, at);
	heap_down(loop, last->slot - 1);
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t at_ns)
{
	loop_timer_cancel(loop, timer);
	if (loop->heap_count == loop->heap_cap) {
		size_t cap = loop->heap_cap ? loop->heap_cap * 2 : 16;
		struct loop_timer **grown = realloc(loop->heap, cap * sizeof(struct loop_timer *));

		CHECK(grown);
		loop->heap = grown;
		loop->heap_cap = cap;
	}
	timer->at_ns = at_ns;
	loop->heap[loop->heap_count++] = timer;
	heap_up(loop, loop->heap_count - 1);
}

/* Sets the timerfd to the earliest timer. A time in the past fires at once. */
static void arm(struct loop *loop)
{
	int64_t at_ns = loop->heap_count ? loop->heap[0]->at_ns : 0;
	struct itimerspec spec = { 0 };

	if (loop->heap_count && at_ns <= 0)
		at_ns = 1;
	if (at_ns == loop->armed_ns)
		return;
	spec.it_value.tv_sec = at_ns / BASE_NS_PER_S;
	spec.it_value.tv_nsec = at_ns % BASE_NS_PER_S;
	CHECK(timerfd_settime(loop->timer, TFD_TIMER_ABSTIME, &spec, NULL) == 0);
	loop->armed_ns = at_ns;
}

/* Serves what is ready, waiting timeout_ms (-1: for ever). Returns how much was ready, the timer
 * not counted. A handler may close a descriptor and watch another one of the same number: what is
 * left in the batch of the old one is not told to the new one. */
static int serve(struct loop *loop, int timeout_ms)
{
	struct epoll_event events[BATCH];
	int n = epoll_wait(loop->epoll, events, BATCH, timeout_ms), served = 0;

	for (int i = 0; i < n && !loop->stopped; i++) {
		int fd = (int)(uint32_t)events[i].data.u64;
		struct watched *watched;

		if (fd == loop->timer) {
			uint64_t expirations;

			if (read(fd, &expirations, sizeof(expirations)) > 0)
				loop->armed_ns = 0;
			continue;
		}
		served++;
		watched = &loop->watched[fd];
		if (watched->ready && watched->generation == events[i].data.u64 >> 32)
			watched->ready(watched->arg, events[i].events);
	}
	return served;
}

/* Fires no more timers than were set when the round began: those that set themselves, or each
 * other, for "now" wait until input had its turn (H2). */
static void fire_due(struct loop *loop, int64_t now_ns)
{
	size_t left = loop->heap_count;

	while (left-- > 0 && !loop->stopped && loop->heap_count && loop->heap[0]->at_ns <= now_ns) {
		struct loop_timer *timer = loop->heap[0];

		loop_timer_cancel(loop, timer);
		timer->fire(timer->arg, now_ns);
	}
}

int loop_run(struct loop *loop, int64_t (*now_ns)(void))
{
	while (!loop->stopped) {
		arm(loop);
		(void)serve(loop, -1);
		for (int round = 0; round < MAX_ROUNDS && !loop->stopped; round++)
			if (serve(loop, 0) == 0)
				break;
		fire_due(loop, now_ns());
	}
	loop->stopped = false;
	return loop->code;
}

void loop_stop(struct loop *loop, int code)
{
	loop->stopped = true;
	loop->code = code;
}
