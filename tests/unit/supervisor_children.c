/*
 * Goal: a role that keeps dying comes back ever later and a healthy one at once; accusations kill
 * downwards only and wear out the accuser (F4, decision 22). Method: pure calls.
 * Pitfalls: P14, P18.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/roles.h"
#include "supervisor/children.h"

#define MS 1000000LL
#define S  1000000000LL

static void restarts_back_off_to_ten_seconds(void **state)
{
	static const int64_t expected[] = { 100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000 };
	struct children_backoff backoff = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_int_equal(children_restart_delay(&backoff, 0), expected[i] * MS);
}

static void a_minute_of_life_forgets(void **state)
{
	struct children_backoff backoff = { 0 };

	(void)state;
	for (int i = 0; i < 5; i++)
		children_restart_delay(&backoff, S);
	assert_int_equal(children_restart_delay(&backoff, 59 * S), 3200 * MS);
	assert_int_equal(children_restart_delay(&backoff, 60 * S), 100 * MS);
}

/* decision 22 */
static void cut_links_come_back_after_one_second_to_sixty(void **state)
{
	static const int64_t expected[] = { 1, 2, 4, 8, 16, 32, 60, 60 };
	struct children_backoff backoff = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_int_equal(children_link_delay(&backoff, 0), expected[i] * S);
	assert_int_equal(children_link_delay(&backoff, 61 * S), S);
}

/* F4: each role accuses each other a thousand times: only lower ones die. */
static void accusations_kill_downwards_only(void **state)
{
	(void)state;
	for (unsigned a = ROLE_LOADER; a < ROLE_COUNT; a++) {
		for (unsigned b = ROLE_LOADER; b < ROLE_COUNT; b++) {
			unsigned high = role_row(a)->trust, low = role_row(b)->trust;
			struct children_accuser accuser = { 0 };

			for (int i = 0; i < 1000; i++)
				assert_int_equal(children_judge(&accuser, high, low, i * MS) ==
						     CHILDREN_KILL_ACCUSED,
				    high > low);
		}
	}
}

/* F4: three in ten minutes. */
static void the_third_accusation_restarts_the_accuser(void **state)
{
	struct children_accuser accuser = { 0 };

	(void)state;
	assert_int_equal(children_judge(&accuser, 2, 5, 0), CHILDREN_CUT);
	assert_int_equal(children_judge(&accuser, 2, 5, 300 * S), CHILDREN_CUT);
	assert_int_equal(children_judge(&accuser, 2, 5, 600 * S), CHILDREN_RESTART_ACCUSER);
	assert_int_equal(children_judge(&accuser, 2, 5, 601 * S), CHILDREN_CUT);
}

static void old_accusations_do_not_count(void **state)
{
	struct children_accuser accuser = { 0 };

	(void)state;
	for (int64_t at = 0; at < 100; at++)
		assert_int_equal(children_judge(&accuser, 2, 2, at * 301 * S), CHILDREN_CUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(restarts_back_off_to_ten_seconds),
		cmocka_unit_test(a_minute_of_life_forgets),
		cmocka_unit_test(cut_links_come_back_after_one_second_to_sixty),
		cmocka_unit_test(accusations_kill_downwards_only),
		cmocka_unit_test(the_third_accusation_restarts_the_accuser),
		cmocka_unit_test(old_accusations_do_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
