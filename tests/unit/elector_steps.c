/*
 * What the steps of a promotion took: the first beginning counts, an end without a beginning tells
 * nothing, and what was given up is forgotten (kubeslice-ha 3.13).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "elector/steps.h"

static void a_step_is_timed_once(void **state)
{
	struct steps steps = { 0 };

	(void)state;
	assert_int_equal(step_end(&steps, STEP_PUBLISH, 5), -1);
	step_begin(&steps, STEP_PUBLISH, 100);
	step_begin(&steps, STEP_PUBLISH, 150);
	assert_int_equal(step_end(&steps, STEP_PUBLISH, 170), 70);
	assert_int_equal(step_end(&steps, STEP_PUBLISH, 180), -1);
}

static void what_was_given_up_is_forgotten(void **state)
{
	struct steps steps = { 0 };

	(void)state;
	step_begin(&steps, STEP_STOP_MIRROR, 1);
	step_begin(&steps, STEP_ACQUIRE_LEASE, 2);
	steps_forget(&steps);
	assert_int_equal(step_end(&steps, STEP_STOP_MIRROR, 3), -1);
	assert_int_equal(step_end(&steps, STEP_ACQUIRE_LEASE, 3), -1);
}

/* kubeslice-ha 3.13: upstream's five names, and two of ours. */
static void steps_have_upstreams_names(void **state)
{
	static const char *const names[] = { "stop_mirror", "acquire_lease", "confirm", "open",
		"publish_active_controller", "kick_reconcilers", "emit_event" };

	(void)state;
	for (enum step step = 0; step < STEP_COUNT; step++)
		assert_string_equal(step_name(step), names[step]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_is_timed_once),
		cmocka_unit_test(what_was_given_up_is_forgotten),
		cmocka_unit_test(steps_have_upstreams_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
