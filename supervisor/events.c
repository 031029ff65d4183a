/*
 * The loop (see the header). Takes one event at a time, so that a handler may free the owner of
 * any other watch: no event of it can be left in a batch. Called by main and by each step that
 * waits for something.
 */
#include "supervisor/events.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"

/* Ready descriptors served in one turn: a flood must not keep the deadlines from being looked at.
 */
#define EVENTS_PER_TURN 4096

int events_open(struct events *events, struct err *err)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };

	events->epoll = epoll_create1(EPOLL_CLOEXEC);
	events->alarm = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (events->epoll < 0 || events->alarm < 0 ||
	    epoll_ctl(events->epoll, EPOLL_CTL_ADD, events->alarm, &event) != 0)
		return err_set(err, "cannot make the event loop: %s", strerror(errno));
	return 0;
}

int events_add(
    struct events *events, struct watch *watch, int fd, void (*ready)(void *, uint32_t), void *arg)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = watch };

	*watch = (struct watch){ fd, ready, arg };
	return epoll_ctl(events->epoll, EPOLL_CTL_ADD, fd, &event);
}

void events_want_write(struct events *events, const struct watch *watch, bool wanted)
{
	struct epoll_event event = { .events = EPOLLIN | (wanted ? (uint32_t)EPOLLOUT : 0),
		.data.ptr = (void *)watch };

	if (watch->fd >= 0)
		CHECK(epoll_ctl(events->epoll, EPOLL_CTL_MOD, watch->fd, &event) == 0);
}

void events_only_write(struct events *events, const struct watch *watch)
{
	struct epoll_event event = { .events = EPOLLOUT, .data.ptr = (void *)watch };

	CHECK(epoll_ctl(events->epoll, EPOLL_CTL_MOD, watch->fd, &event) == 0);
}

void events_remove(struct events *events, struct watch *watch)
{
	if (watch->fd >= 0)
		(void)epoll_ctl(events->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
	watch->fd = -1;
}

static void set_alarm(struct events *events, int64_t due_ns)
{
	struct itimerspec when = { 0 };

	if (due_ns <= 0)
		due_ns = 1;
	when.it_value.tv_sec = due_ns / BASE_NS_PER_S;
	when.it_value.tv_nsec = due_ns % BASE_NS_PER_S;
	CHECK(timerfd_settime(events->alarm, TFD_TIMER_ABSTIME, &when, NULL) == 0);
}

static void serve(struct events *events, const struct epoll_event *event)
{
	struct watch *watch = event->data.ptr;
	uint64_t ignored;

	if (watch)
		watch->ready(watch->arg, event->events);
	else
		(void)!read(events->alarm, &ignored, sizeof(ignored));
}

void events_turn(struct events *events, int64_t due_ns)
{
	struct epoll_event event;
	int timeout = -1, n;

	set_alarm(events, due_ns);
	for (int served = 0; served < EVENTS_PER_TURN; served++) {
		n = epoll_wait(events->epoll, &event, 1, timeout);
		if (n == 1)
			serve(events, &event);
		else if (n == 0 || errno != EINTR)
			break;
		timeout = 0;
	}
}
