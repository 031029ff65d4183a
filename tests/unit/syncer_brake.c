/*
 * Goal: H8's numbers, at their edges. Method: a table of absences, and a count of observed
 * deletions within and over a minute.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "syncer/brake.h"

static void absences(void **state)
{
	static const struct {
		bool namespace, passes;
		uint32_t absent, copies;
	} rows[] = { { false, true, 0, 0 }, { true, true, 0, 5 }, { true, false, 1, 50 },
		{ false, true, 1, 1 }, { false, true, 2, 2 }, { false, false, 3, 3 },
		{ false, true, 2, 3 }, { false, true, 10, 20 }, { false, false, 11, 20 },
		{ false, true, 11, 110 }, { false, false, 12, 110 }, { false, true, 100, 1000 },
		{ false, false, 101, 1000 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(brake_absent(rows[i].namespace, rows[i].absent, rows[i].copies),
		    rows[i].passes);
}

static unsigned observe(struct brake *brake, uint32_t copies, unsigned n, int64_t now_ns)
{
	unsigned passed = 0;

	for (unsigned i = 0; i < n; i++)
		passed += brake_observed(brake, copies - i, now_ns);
	return passed;
}

static void observed_deletions_pass_up_to_a_rate(void **state)
{
	struct brake brake = { 0 };

	(void)state;
	assert_int_equal(observe(&brake, 300, 300, 1), 300); /* a whole project */
	brake = (struct brake){ 0 };
	assert_int_equal(observe(&brake, 1500, 1500, 1), 1000);
	assert_int_equal(observe(&brake, 500, 500, 60 * BASE_NS_PER_S), 0);
	assert_int_equal(observe(&brake, 500, 500, 1 + 60 * BASE_NS_PER_S), 500);
	brake = (struct brake){ 0 };
	assert_int_equal(observe(&brake, 10000, 10000, 1), 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(absences),
		cmocka_unit_test(observed_deletions_pass_up_to_a_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
