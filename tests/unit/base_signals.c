/*
 * Goal: what a parent ignored, blocked or handled is gone after a reset, and what people send does
 * nothing after that is ignored. Method: this process's own dispositions.
 * Pitfalls: P4, P11.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/signals.h"

static void handler(int number)
{
	(void)number;
}

static void a_reset_leaves_nothing(void **state)
{
	struct sigaction now;
	sigset_t mask;

	(void)state;
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGUSR1, handler);
	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &mask, NULL);
	signals_reset();
	for (int number = 1; number < NSIG; number++)
		if (sigaction(number, NULL, &now) == 0)
			assert_true(now.sa_handler == SIG_DFL);
	(void)sigprocmask(SIG_BLOCK, NULL, &mask);
	for (int number = 1; number < NSIG; number++)
		assert_false(sigismember(&mask, number) == 1);
}

static void what_people_send_is_ignored(void **state)
{
	static const int sent[] = { SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGUSR1, SIGUSR2 };
	struct sigaction now;

	(void)state;
	signals_ignore();
	for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++)
		assert_int_equal(raise(sent[i]), 0); /* and we are still here */
	assert_int_equal(sigaction(SIGCHLD, NULL, &now), 0);
	assert_true(now.sa_handler == SIG_DFL);
	signals_reset();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reset_leaves_nothing),
		cmocka_unit_test(what_people_send_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
