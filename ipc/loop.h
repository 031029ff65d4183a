/*
 * The one event loop of a process: descriptors and timers, one thread. Timers are boot times on a
 * timerfd (epoll's own time-outs stop in suspend, sandbox-rules 8). All readable descriptors are
 * served before a timer fires, so that a process that was stopped reads what waited for it before
 * it concludes anything from the time (H2, leadership-rules 5).
 * Create it before the sandbox is locked: epoll_create and timerfd_create are not in the filter.
 */
#ifndef IPC_LOOP_H
#define IPC_LOOP_H

#include <stdint.h>

struct loop;

typedef void loop_ready_fn(void *arg, uint32_t epoll_events);
typedef void loop_timer_fn(void *arg, int64_t now_ns);

/* Embedded in its owner, who must cancel it before it goes away. Zero-initialised = not set. */
struct loop_timer {
	int64_t at_ns;
	loop_timer_fn *fire;
	void *arg;
	unsigned slot; /* place in the heap + 1; 0 when not set */
};

/* Aborts when the kernel refuses: a process cannot do without. Freed by loop_free. */
struct loop *loop_new(void);
void loop_free(struct loop *loop);

/* Calls ready(arg, events) whenever the descriptor is. The descriptor stays the caller's; forget
 * it before closing it. Watching again changes events and handler. */
void loop_watch(struct loop *loop, int fd, uint32_t epoll_events, loop_ready_fn *ready, void *arg);
void loop_forget(struct loop *loop, int fd);

/* Sets or moves a timer (fire and arg are set by the owner before). It fires once, not before. */
void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t at_ns);
void loop_timer_cancel(struct loop *loop, struct loop_timer *timer);

/* Runs until loop_stop; returns its code. May be run again. */
int loop_run(struct loop *loop, int64_t (*now_ns)(void));
void loop_stop(struct loop *loop, int code);

#endif
