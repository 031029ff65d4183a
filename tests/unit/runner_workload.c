/*
 * Goal: the workload runs only under a page that is valid for long enough, ends before the
 * validity does with nobody telling, and a stop that began finishes (F5, H18). Method: pure steps
 * over made-up facts and times.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runner/workload.h"

#define S     1000000000LL
#define GRACE (3 * S)

static struct workload workload;
static struct workload_facts facts;
static int64_t wake_ns;

static enum workload_action step(int64_t now_ns)
{
	return workload_step(&workload, &facts, now_ns, &wake_ns);
}

/* Leads with term 7 until 10 s, asked to run, nothing there. */
static int lead(void **state)
{
	(void)state;
	workload = (struct workload){ .grace_ns = GRACE };
	facts = (struct workload_facts){ .wanted = true,
		.wanted_term = 7,
		.leading = true,
		.page_term = 7,
		.page_until_ns = 10 * S,
		.empty = true };
	return 0;
}

static void start(void)
{
	assert_int_equal(step(0), WORKLOAD_START);
	facts.alive = true;
	facts.empty = false;
	assert_int_equal(step(0), WORKLOAD_WAIT);
}

static void gone(void)
{
	facts.alive = false;
	facts.empty = true;
}

static void starts_with_the_term_of_the_page(void **state)
{
	(void)state;
	start();
	assert_int_equal(workload.term, 7);
	assert_int_equal(wake_ns, 6 * S); /* 10 s - grace - 1 s */
}

/* F5: the page decides, not the message. */
static void does_not_start_on_the_message_alone(void **state)
{
	(void)state;
	facts.leading = false;
	assert_int_equal(step(0), WORKLOAD_WAIT);
	lead(NULL);
	facts.page_term = 6;
	assert_int_equal(step(0), WORKLOAD_WAIT);
	lead(NULL);
	facts.wanted = false;
	assert_int_equal(step(0), WORKLOAD_WAIT);
	lead(NULL);
	facts.page_until_ns = 4 * S;
	assert_int_equal(step(0), WORKLOAD_WAIT);
}

static void goes_on_while_renewed(void **state)
{
	(void)state;
	start();
	for (int64_t now = 1; now < 1000; now++) {
		facts.page_until_ns = (now + 10) * S;
		assert_int_equal(step(now * S), WORKLOAD_WAIT);
		assert_int_equal(wake_ns, (now + 6) * S);
	}
}

/* H18: the supervisor may be stopped, the elector dead: the time ends it all the same. */
static void ends_before_the_validity_when_nobody_renews(void **state)
{
	(void)state;
	start();
	assert_int_equal(step(6 * S - 1), WORKLOAD_WAIT);
	assert_int_equal(step(6 * S), WORKLOAD_TERMINATE);
	assert_int_equal(step(6 * S), WORKLOAD_WAIT);
	assert_int_equal(wake_ns, 9 * S);
	assert_int_equal(step(9 * S), WORKLOAD_KILL);
	assert_int_equal(wake_ns, 9 * S + WORKLOAD_ROUND_NS);
	assert_int_equal(step(wake_ns), WORKLOAD_KILL);
	gone();
	facts.leading = false;
	assert_int_equal(step(9 * S + 1), WORKLOAD_WAIT);
	assert_int_equal(workload.state, WORKLOAD_IDLE);
}

/* Woken late, the grace shrinks: the last signal still comes a second before the end. */
static void a_late_wake_shortens_the_grace(void **state)
{
	(void)state;
	start();
	assert_int_equal(step(8 * S), WORKLOAD_TERMINATE);
	assert_int_equal(workload.kill_ns, 9 * S);
	lead(NULL);
	start();
	assert_int_equal(step(9 * S), WORKLOAD_KILL);
}

static void without_grace_it_is_killed_at_once(void **state)
{
	(void)state;
	workload.grace_ns = 0;
	start();
	facts.wanted = false;
	assert_int_equal(step(S), WORKLOAD_KILL);
}

static void a_stop_that_began_finishes(void **state)
{
	(void)state;
	start();
	facts.wanted = false;
	assert_int_equal(step(S), WORKLOAD_TERMINATE);
	facts.wanted = true;
	facts.page_until_ns = 100 * S;
	assert_int_equal(step(2 * S), WORKLOAD_WAIT);
	assert_int_equal(step(4 * S), WORKLOAD_KILL);
	gone();
	assert_int_equal(step(5 * S), WORKLOAD_START);
}

static void a_closed_page_ends_it_within_the_old_validity(void **state)
{
	(void)state;
	start();
	facts.leading = false;
	facts.page_until_ns = 0;
	assert_int_equal(step(2 * S), WORKLOAD_TERMINATE);
	assert_int_equal(workload.kill_ns, 5 * S);
}

static void another_term_is_another_start(void **state)
{
	(void)state;
	start();
	facts.page_term = facts.wanted_term = 9;
	assert_int_equal(step(S), WORKLOAD_TERMINATE);
	gone();
	assert_int_equal(step(2 * S), WORKLOAD_START);
	assert_int_equal(workload.term, 9);
}

static void comes_back_with_a_delay_when_it_ends_by_itself(void **state)
{
	static const int64_t delays[] = { 1, 2, 4, 8, 16, 30, 30 };
	int64_t now = 0;

	(void)state;
	facts.page_until_ns = 10000 * S;
	start();
	for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
		facts.alive = false;
		assert_int_equal(step(now), WORKLOAD_KILL); /* What it left behind. */
		facts.empty = true;
		assert_int_equal(step(now), WORKLOAD_WAIT);
		assert_int_equal(wake_ns, now + delays[i] * S);
		now += delays[i] * S;
		assert_int_equal(step(now - 1), WORKLOAD_WAIT);
		assert_int_equal(step(now), WORKLOAD_START);
		facts.alive = true;
		facts.empty = false;
	}
	now += WORKLOAD_HEALTHY_NS;
	facts.alive = false;
	facts.empty = true;
	assert_int_equal(step(now), WORKLOAD_KILL);
	assert_int_equal(step(now), WORKLOAD_WAIT);
	assert_int_equal(wake_ns, now + S);
}

static void what_a_former_runner_left_goes_first(void **state)
{
	(void)state;
	facts.empty = false;
	assert_int_equal(step(0), WORKLOAD_KILL);
	assert_int_equal(step(0), WORKLOAD_KILL);
	facts.empty = true;
	assert_int_equal(step(0), WORKLOAD_START);
}

/* F5: the end of the supervisor is the end of everything, without grace. */
static void without_a_supervisor_everything_ends(void **state)
{
	(void)state;
	start();
	facts.gone = true;
	assert_int_equal(step(S), WORKLOAD_KILL);
	assert_int_equal(step(S), WORKLOAD_KILL);
	gone();
	assert_int_equal(step(S), WORKLOAD_LEAVE);
	lead(NULL);
	start();
	facts.wanted = false;
	assert_int_equal(step(S), WORKLOAD_TERMINATE);
	facts.gone = true;
	assert_int_equal(step(S), WORKLOAD_KILL);
	lead(NULL);
	facts.gone = true;
	assert_int_equal(step(0), WORKLOAD_LEAVE);
}

#define TEST(name) cmocka_unit_test_setup(name, lead)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(starts_with_the_term_of_the_page),
		TEST(does_not_start_on_the_message_alone),
		TEST(goes_on_while_renewed),
		TEST(ends_before_the_validity_when_nobody_renews),
		TEST(a_late_wake_shortens_the_grace),
		TEST(without_grace_it_is_killed_at_once),
		TEST(a_stop_that_began_finishes),
		TEST(a_closed_page_ends_it_within_the_old_validity),
		TEST(another_term_is_another_start),
		TEST(comes_back_with_a_delay_when_it_ends_by_itself),
		TEST(what_a_former_runner_left_goes_first),
		TEST(without_a_supervisor_everything_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
