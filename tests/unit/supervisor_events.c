/*
 * Goal: what is ready is served before time is looked at; a handler may end any watch; the alarm
 * wakes at its time (H2, F20). Method: pipes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "supervisor/events.h"

static struct events events;

struct end {
	struct watch watch;
	struct end *other;
	int served, peer;
	uint32_t last;
};

static int open_events(void **state)
{
	(void)state;
	return events_open(&events, NULL);
}

static int close_events(void **state)
{
	(void)state;
	close(events.epoll);
	close(events.alarm);
	return 0;
}

static void on_ready(void *arg, uint32_t what)
{
	struct end *end = arg;
	char byte;

	end->served++;
	end->last = what;
	if (what & EPOLLIN)
		(void)!read(end->watch.fd, &byte, 1);
	if (end->other)
		events_remove(&events, &end->other->watch);
}

static void open_end(struct end *end)
{
	int pair[2];

	*end = (struct end){ .watch = { .fd = -1 } };
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	end->peer = pair[1];
	assert_int_equal(events_add(&events, &end->watch, pair[0], on_ready, end), 0);
}

static void everything_ready_is_served_in_one_turn(void **state)
{
	struct end ends[8];

	(void)state;
	for (int i = 0; i < 8; i++) {
		open_end(&ends[i]);
		assert_int_equal(write(ends[i].peer, "abc", 3), 3);
	}
	events_turn(&events, 0);
	for (int i = 0; i < 8; i++)
		assert_int_equal(ends[i].served, 3);
}

static void a_handler_may_end_any_watch(void **state)
{
	struct end a, b;

	(void)state;
	open_end(&a);
	open_end(&b);
	a.other = &b;
	b.other = &a;
	assert_int_equal(write(a.peer, "x", 1), 1);
	assert_int_equal(write(b.peer, "x", 1), 1);
	events_turn(&events, 0);
	assert_int_equal(a.served + b.served, 1);
	events_remove(&events, &a.watch); /* Twice is fine. */
	events_remove(&events, &b.watch);
}

static void the_alarm_wakes_at_its_time(void **state)
{
	int64_t now_ns = base_clock_boot_ns(), due_ns = now_ns + 20 * BASE_NS_PER_MS;

	(void)state;
	events_turn(&events, due_ns);
	assert_true(base_clock_boot_ns() >= due_ns);
	events_turn(&events, now_ns); /* In the past: at once. */
	events_turn(&events, INT64_MIN);
}

static void room_to_write_is_told_when_wanted(void **state)
{
	struct end end;

	(void)state;
	open_end(&end);
	events_turn(&events, 0);
	assert_int_equal(end.served, 0);
	events_want_write(&events, &end.watch, true);
	end.other = &end;
	events_turn(&events, 0);
	assert_int_equal(end.served, 1);
	assert_true(end.last & EPOLLOUT);
	events_want_write(&events, &end.watch, true); /* Nobody watches any more. */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_events, close_events)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(everything_ready_is_served_in_one_turn),
		TEST(a_handler_may_end_any_watch),
		TEST(the_alarm_wakes_at_its_time),
		TEST(room_to_write_is_told_when_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
