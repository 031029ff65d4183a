/*
 * Goal: timers fire in order and never early, and readable descriptors are served before any timer
 * (H2). Method: a clock that the test sets, pipes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "ipc/loop.h"

static struct loop *loop;
static char order[64];
static size_t order_length;

static void note(char c)
{
	order[order_length++] = c;
	order[order_length] = '\0';
}

struct named_timer {
	struct loop_timer timer;
	char name;
};

static void fire(void *arg, int64_t now_ns)
{
	struct named_timer *named = arg;

	assert_true(now_ns >= named->timer.at_ns);
	note(named->name);
	if (named->name == 'z')
		loop_stop(loop, 7);
}

static void set(struct named_timer *named, char name, int64_t at_ns)
{
	named->name = name;
	named->timer.fire = fire;
	named->timer.arg = named;
	loop_timer_set(loop, &named->timer, at_ns);
}

static void start(void)
{
	loop = loop_new();
	order_length = 0;
}

static void timers_fire_in_order(void **state)
{
	struct named_timer timers[6] = { 0 };
	int64_t now = base_clock_boot_ns();

	(void)state;
	start();
	set(&timers[0], 'c', now + 3000);
	set(&timers[1], 'a', now - 5);
	set(&timers[2], 'x', now + 1);
	set(&timers[3], 'b', now + 2000);
	set(&timers[4], 'd', now + 1);
	set(&timers[4], 'd', now + 4000); /* moved */
	set(&timers[5], 'z', now + 5000);
	loop_timer_cancel(loop, &timers[2].timer);
	loop_timer_cancel(loop, &timers[2].timer); /* fine */
	assert_int_equal(loop_run(loop, base_clock_boot_ns), 7);
	assert_string_equal(order, "abcdz");
	loop_free(loop);
}

static int pipe_ends[2];

static void on_pipe(void *arg, uint32_t events)
{
	char c;

	(void)arg;
	assert_true(events & EPOLLIN);
	assert_int_equal(read(pipe_ends[0], &c, 1), 1);
	note(c);
}

static void input_is_served_before_timers(void **state)
{
	struct named_timer timer = { 0 };

	(void)state;
	start();
	assert_int_equal(pipe(pipe_ends), 0);
	assert_int_equal(write(pipe_ends[1], "123", 3), 3);
	loop_watch(loop, pipe_ends[0], EPOLLIN, on_pipe, NULL);
	set(&timer, 'z', base_clock_boot_ns() - BASE_NS_PER_S);
	assert_int_equal(loop_run(loop, base_clock_boot_ns), 7);
	assert_string_equal(order, "123z");
	loop_forget(loop, pipe_ends[0]);
	loop_forget(loop, pipe_ends[0]);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	loop_free(loop);
}

/* Two timers that set each other for "now" again and again do not keep input waiting. */
static struct named_timer restless[2];

static void fire_again(void *arg, int64_t now_ns)
{
	struct named_timer *named = arg;

	note(named->name);
	if (order_length == 1)
		assert_int_equal(write(pipe_ends[1], "1", 1), 1);
	if (order_length > 40)
		loop_stop(loop, 1);
	loop_timer_set(loop, &named->timer, now_ns);
}

static void on_last_input(void *arg, uint32_t events)
{
	on_pipe(arg, events);
	loop_stop(loop, 7);
}

static void restless_timers_let_input_through(void **state)
{
	int64_t now_ns = base_clock_boot_ns();

	(void)state;
	start();
	assert_int_equal(pipe(pipe_ends), 0);
	for (int i = 0; i < 2; i++) {
		set(&restless[i], (char)('a' + i), now_ns);
		restless[i].timer.fire = fire_again;
	}
	loop_watch(loop, pipe_ends[0], EPOLLIN, on_last_input, NULL);
	assert_int_equal(loop_run(loop, base_clock_boot_ns), 7);
	loop_timer_cancel(loop, &restless[0].timer);
	loop_timer_cancel(loop, &restless[1].timer);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	loop_free(loop);
}

/* The first of two handlers to run closes what the other one watches, and watches something that is
 * not ready under the same number: the event that waits for the old one is not the new one's. */
static struct {
	int reader[2], quiet[2];
	unsigned calls, wrong;
} reused;

static void on_quiet(void *arg, uint32_t events)
{
	(void)arg;
	(void)events;
	reused.wrong++;
}

static void on_either(void *arg, uint32_t events)
{
	int victim = reused.reader[arg == &reused.reader[0] ? 1 : 0];

	(void)events;
	reused.calls++;
	loop_forget(loop, *(int *)arg);
	if (reused.calls > 1)
		return;
	loop_forget(loop, victim);
	assert_int_equal(dup2(reused.quiet[0], victim), victim);
	loop_watch(loop, victim, EPOLLIN, on_quiet, NULL);
}

static void an_event_is_not_told_to_the_next_owner_of_its_number(void **state)
{
	struct named_timer timer = { 0 };
	int other[2];

	(void)state;
	start();
	assert_int_equal(pipe(pipe_ends), 0);
	assert_int_equal(pipe(other), 0);
	assert_int_equal(pipe(reused.quiet), 0);
	reused.reader[0] = pipe_ends[0];
	reused.reader[1] = other[0];
	assert_int_equal(write(pipe_ends[1], "1", 1) + write(other[1], "1", 1), 2);
	for (int i = 0; i < 2; i++)
		loop_watch(loop, reused.reader[i], EPOLLIN, on_either, &reused.reader[i]);
	set(&timer, 'z', base_clock_boot_ns() + BASE_NS_PER_S / 100);
	assert_int_equal(loop_run(loop, base_clock_boot_ns), 7);
	assert_int_equal(reused.calls, 1);
	assert_int_equal(reused.wrong, 0);
	for (int i = 0; i < 2; i++) {
		loop_forget(loop, reused.reader[i]);
		close(reused.reader[i]);
		close(reused.quiet[i]);
	}
	close(pipe_ends[1]);
	close(other[1]);
	loop_free(loop);
}

static void heap_holds_many(void **state)
{
	static struct named_timer timers[500];
	int64_t now = base_clock_boot_ns();

	(void)state;
	start();
	for (unsigned i = 0; i < 500; i++)
		set(&timers[i], '-', now + BASE_NS_PER_S * (1000 + (i * 7919) % 500));
	for (unsigned i = 0; i < 500; i++)
		if (i % 3)
			loop_timer_cancel(loop, &timers[i].timer);
	for (unsigned i = 0; i < 500; i++)
		assert_int_equal(timers[i].timer.slot != 0, i % 3 == 0);
	set(&timers[1], 'z', now);
	assert_int_equal(loop_run(loop, base_clock_boot_ns), 7);
	assert_string_equal(order, "z");
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_fire_in_order),
		cmocka_unit_test(input_is_served_before_timers),
		cmocka_unit_test(restless_timers_let_input_through),
		cmocka_unit_test(an_event_is_not_told_to_the_next_owner_of_its_number),
		cmocka_unit_test(heap_holds_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
