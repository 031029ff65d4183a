/*
 * Goal: a renewal is as old as this machine saw it to be; the hub's clocks count only where nothing
 * was seen to change, and never beyond what was seen (C3). Method: times by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "follower/attest.h"

#define S      1000000000LL
#define WALL_S 1000000LL

static struct attest attest;

static int reset(void **state)
{
	(void)state;
	attest = (struct attest){ 0 };
	return 0;
}

static void a_seen_change_needs_no_other_clock(void **state)
{
	(void)state;
	attest_see(&attest, 100, false, 10 * S);
	attest_see(&attest, 200, true, 12 * S);
	/* The hub's clocks are an hour apart, either way. */
	assert_int_equal(attest_age_ms(&attest, 200, 3600 * WALL_S, 15 * S), 3000);
	assert_int_equal(attest_age_ms(&attest, 200, 1, 15 * S), 3000);
	assert_int_equal(attest_age_ms(&attest, 200, 0, 15 * S), 3000);
}

static void what_was_found_is_as_old_as_the_hub_says(void **state)
{
	(void)state;
	attest_see(&attest, 100 * WALL_S, false, 10 * S);
	assert_int_equal(attest_age_ms(&attest, 100 * WALL_S, 150 * WALL_S, 11 * S), 50000);
	/* But not younger than it was seen to be: the hub's clock is behind. */
	assert_int_equal(attest_age_ms(&attest, 100 * WALL_S, 90 * WALL_S, 31 * S), 21000);
	assert_int_equal(attest_age_ms(&attest, 100 * WALL_S, 0, 31 * S), 21000);
}

static void a_newer_one_is_younger_than_the_last_sight(void **state)
{
	(void)state;
	attest_see(&attest, 100 * WALL_S, false, 10 * S);
	attest_see(&attest, 100 * WALL_S, false, 20 * S);
	assert_int_equal(attest_age_ms(&attest, 101 * WALL_S, 500 * WALL_S, 22 * S), 2000);
	assert_int_equal(attest_age_ms(&attest, 101 * WALL_S, 102 * WALL_S, 22 * S), 1000);
	assert_int_equal(attest_age_ms(&attest, 101 * WALL_S, 50 * WALL_S, 22 * S), 0);
}

static void a_change_after_a_gap_is_not_of_now(void **state)
{
	(void)state;
	attest_see(&attest, 100 * WALL_S, false, 10 * S);
	attest_see(&attest, 130 * WALL_S, false, 60 * S); /* The watch came back. */
	assert_false(attest.exact);
	assert_int_equal(attest_age_ms(&attest, 130 * WALL_S, 150 * WALL_S, 60 * S), 20000);
	attest_see(&attest, 132 * WALL_S, true, 62 * S);
	assert_true(attest.exact);
	attest_see(&attest, 132 * WALL_S, false, 70 * S); /* Seen again: since when stays. */
	assert_int_equal(attest_age_ms(&attest, 132 * WALL_S, 0, 80 * S), 18000);
}

static void nothing_known_is_the_hubs_word(void **state)
{
	(void)state;
	assert_int_equal(attest_age_ms(&attest, 100 * WALL_S, 107 * WALL_S, 5 * S), 7000);
	assert_int_equal(attest_age_ms(&attest, 100 * WALL_S, 0, 5 * S), 0);
	assert_int_equal(attest_age_ms(&attest, 0, 107 * WALL_S, 5 * S), -1); /* No renewal. */
}

#define TEST(name) cmocka_unit_test_setup(name, reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_seen_change_needs_no_other_clock),
		TEST(what_was_found_is_as_old_as_the_hub_says),
		TEST(a_newer_one_is_younger_than_the_last_sight),
		TEST(a_change_after_a_gap_is_not_of_now),
		TEST(nothing_known_is_the_hubs_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
