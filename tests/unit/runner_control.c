/*
 * Goal: each word of the supervisor is answered by what is the case, also when that is what was
 * said before, and the answer tells which word it knew (H18); an end of the link is taken as one
 * (F25). Method: descriptor 3 is one end of a pair, the test holds the other.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "runner/control.h"

static struct runner runner;
static int supervisor_end;
static uint64_t sent;

static int open_link(void **state)
{
	int pair[2];

	(void)state;
	runner = (struct runner){ .output = -1 };
	sent = 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0)
		return -1;
	supervisor_end = fcntl(pair[0], F_DUPFD_CLOEXEC, 10);
	if (dup2(pair[1], ROLE_FD_CONTROL) != ROLE_FD_CONTROL || supervisor_end < 0)
		return -1;
	for (int i = 0; i < 2; i++)
		if (pair[i] != ROLE_FD_CONTROL)
			close(pair[i]);
	return 0;
}

static int close_link(void **state)
{
	(void)state;
	close(supervisor_end);
	close(ROLE_FD_CONTROL);
	return 0;
}

static void say(enum control_type type, uint64_t a0)
{
	struct us_ctl ctl = {
		.magic = CONTROL_MAGIC, .type = (uint16_t)type, .seq = ++sent, .a = { a0 }
	};

	assert_int_equal(send(supervisor_end, &ctl, sizeof(ctl), 0), sizeof(ctl));
	control_take(&runner);
}

static void hears(bool running, bool empty, uint64_t knows)
{
	struct us_ctl ctl = { 0 };

	assert_int_equal(recv(supervisor_end, &ctl, sizeof(ctl), MSG_DONTWAIT), sizeof(ctl));
	assert_int_equal(ctl.type, CONTROL_WORKLOAD_SEEN);
	assert_int_equal(ctl.a[0], running);
	assert_int_equal(ctl.a[1], empty);
	assert_int_equal(ctl.a[2], knows);
}

static void hears_nothing(void)
{
	struct us_ctl ctl;

	assert_int_equal(recv(supervisor_end, &ctl, sizeof(ctl), MSG_DONTWAIT), -1);
}

static void each_word_is_answered(void **state)
{
	(void)state;
	control_report(&runner, false, true);
	hears(false, true, 0);
	control_report(&runner, false, true);
	hears_nothing();
	say(CONTROL_START, 7);
	assert_true(runner.wanted);
	assert_int_equal(runner.wanted_term, 7);
	control_report(&runner, false, true); /* The page does not say so yet: nothing runs. */
	hears(false, true, 1);
	control_report(&runner, true, false);
	hears(true, false, 1);
	say(CONTROL_STOP, 0);
	assert_false(runner.wanted);
	control_report(&runner, true, false);
	hears(true, false, 2);
	control_report(&runner, false, true);
	hears(false, true, 2);
	control_report(&runner, false, true);
	hears_nothing();
}

static void what_could_not_be_said_is_said_later(void **state)
{
	struct us_ctl ctl;
	unsigned queued = 0;

	(void)state;
	while (control_tell(&runner, CONTROL_BEAT, 0, 0))
		queued++;
	control_report(&runner, true, false);
	assert_false(runner.reported);
	while (queued-- > 0)
		assert_int_equal(recv(supervisor_end, &ctl, sizeof(ctl), 0), sizeof(ctl));
	control_report(&runner, true, false);
	hears(true, false, 0);
}

static void a_hang_up_is_the_end(void **state)
{
	(void)state;
	assert_int_equal(shutdown(supervisor_end, SHUT_RDWR), 0);
	control_take(&runner);
	assert_true(runner.gone);
	control_report(&runner, false, true);
	assert_false(runner.reported);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_link, close_link)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_word_is_answered),
		TEST(what_could_not_be_said_is_said_later),
		TEST(a_hang_up_is_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
