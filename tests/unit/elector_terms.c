/*
 * Goal: terms by slot never meet, never fall, never overflow, and a worker's nonsense is nonsense
 * (C7, I4). Method: edges, and a walk of both slots.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "elector/terms.h"

static void test_C7_next_is_the_least_higher_term_of_the_slot(void **state)
{
	(void)state;
	assert_int_equal(terms_next(0, 0), 2);
	assert_int_equal(terms_next(0, 1), 1);
	for (uint64_t seen = 0; seen < 1000; seen++)
		for (unsigned slot = 0; slot < 2; slot++) {
			uint64_t next = terms_next(seen, slot);

			assert_true(next > seen && next <= seen + 2);
			assert_int_equal(next % 2, slot);
		}
}

static void test_C7_terms_end_before_they_overflow(void **state)
{
	(void)state;
	assert_int_equal(terms_next(TERMS_MAX - 1, 1), TERMS_MAX);
	assert_int_equal(terms_next(TERMS_MAX - 1, 0), 0);
	assert_int_equal(terms_next(TERMS_MAX, 0), 0);
	assert_int_equal(terms_next(UINT64_MAX, 1), 0);
}

static void test_C7_what_may_be_believed(void **state)
{
	(void)state;
	assert_true(terms_plausible(5, 1, 4));
	assert_true(terms_plausible(3, 1, 1000)); /* an old one is no lie */
	assert_true(terms_plausible(TERMS_LEAP + 1, 1, 1));
	assert_false(terms_plausible(TERMS_LEAP + 3, 1, 1));
	assert_false(terms_plausible(4, 1, 4)); /* the other hub's number */
	assert_false(terms_plausible(5, 2, 4)); /* nobody's identity */
	assert_false(terms_plausible(0, 0, 4));
	assert_false(terms_plausible(TERMS_MAX, 1, 4));
	assert_true(terms_plausible(TERMS_MAX, 1, TERMS_MAX - 1)); /* the last one is one */
	assert_false(terms_plausible(UINT64_MAX, 1, TERMS_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_C7_next_is_the_least_higher_term_of_the_slot),
		cmocka_unit_test(test_C7_terms_end_before_they_overflow),
		cmocka_unit_test(test_C7_what_may_be_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
