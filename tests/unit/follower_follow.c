/*
 * Goal: two hundred workers that are told another hub in one moment start their software over at
 * least 1.5 s, and none waits longer than 2 s (H19). Method: their delays, drawn as each would draw
 * its own.
 */
#include "base/clock.h"
#include "base/random.h"
#include "follower/follower.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define WORKERS 200

static void two_hundred_starts_are_spread_H19(void **state)
{
	int64_t first_ns = INT64_MAX, last_ns = 0;

	(void)state;
	for (unsigned i = 0; i < WORKERS; i++) {
		int64_t delay_ns = follow_delay_ns(base_random_u64());

		assert_true(delay_ns >= 0 && delay_ns < 2 * BASE_NS_PER_S);
		first_ns = delay_ns < first_ns ? delay_ns : first_ns;
		last_ns = delay_ns > last_ns ? delay_ns : last_ns;
	}
	assert_true(last_ns - first_ns >= 3 * BASE_NS_PER_S / 2);
}

static void the_delay_has_its_bounds(void **state)
{
	(void)state;
	assert_int_equal(follow_delay_ns(0), 0);
	assert_true(follow_delay_ns(UINT64_MAX) < 2 * BASE_NS_PER_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_hundred_starts_are_spread_H19),
		cmocka_unit_test(the_delay_has_its_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
