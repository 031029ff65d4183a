/*
 * Goal: activeController is written under a valid permit only, once per term and content, and
 * failures neither stop nor hammer (L103-L110, G1, H4, H16). Method: the plan stepped by hand.
 */
#include "publisher/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000LL
#define S  1000000000LL

static struct plan plan;
static const struct plan_permit permit = { .term = 4, .valid_until_ns = 100 * S };

static int reset(void **state)
{
	(void)state;
	plan = (struct plan){ 0 };
	return 0;
}

static enum plan_verb step(bool same, int64_t now_ns)
{
	return plan_step(&plan, &permit, same, now_ns).verb;
}

static void no_permit_no_write_H16_L110(void **state)
{
	const struct plan_permit none = { 0 }, revoked = { .term = 4 };

	(void)state;
	assert_int_equal(step(false, 99 * S), PLAN_WRITE);
	assert_int_equal(step(false, 100 * S), PLAN_WAIT);
	assert_int_equal(plan_step(&plan, &none, false, S).verb, PLAN_WAIT);
	assert_int_equal(plan_step(&plan, &revoked, false, S).verb, PLAN_WAIT);
}

static void a_new_term_is_always_stamped_G1(void **state)
{
	const struct plan_permit next = { .term = 6, .valid_until_ns = 100 * S };

	(void)state;
	assert_int_equal(step(true, S), PLAN_WRITE);
	plan.writing = true;
	assert_int_equal(step(true, S), PLAN_WAIT);
	plan_written(&plan, 4, PLAN_WRITTEN, S);
	assert_int_equal(step(true, 2 * S), PLAN_WAIT);   /* L103: converged, nothing is written */
	assert_int_equal(step(false, 2 * S), PLAN_WRITE); /* somebody changed it */
	assert_int_equal(plan_step(&plan, &next, true, 2 * S).verb, PLAN_WRITE);
}

static void a_fence_that_lags_is_asked_again_soon_H4(void **state)
{
	(void)state;
	plan_written(&plan, 4, PLAN_FENCED, S);
	assert_int_equal(step(false, S + 49 * MS), PLAN_WAIT);
	assert_int_equal(plan_step(&plan, &permit, false, S).wake_ns, S + 50 * MS);
	assert_int_equal(step(false, S + 50 * MS), PLAN_WRITE);
	assert_false(plan.failed);
	for (int i = 0; i < PLAN_FENCED_FAST; i++)
		plan_written(&plan, 4, PLAN_FENCED, S);
	assert_int_equal(step(false, S + 999 * MS), PLAN_WAIT);
	assert_int_equal(step(false, 2 * S), PLAN_WRITE);
}

static void failures_back_off_to_half_a_minute_L108(void **state)
{
	(void)state;
	plan_written(&plan, 4, PLAN_FAILED, S);
	assert_true(plan.failed);
	assert_int_equal(plan.next_try_ns, S + 250 * MS);
	plan_written(&plan, 4, PLAN_FAILED, S);
	assert_int_equal(plan.next_try_ns, S + 500 * MS);
	for (int i = 0; i < 1000; i++)
		plan_written(&plan, 4, PLAN_FAILED, S);
	assert_int_equal(plan.next_try_ns, 31 * S);
	plan_written(&plan, 4, PLAN_WRITTEN, S);
	assert_false(plan.failed);
	assert_int_equal(plan.failures, 0);
}

static void a_new_identity_ends_the_wait_of_what_failed(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++)
		plan_written(&plan, 4, PLAN_FAILED, S);
	assert_int_equal(step(false, 2 * S), PLAN_WAIT);
	plan_renewed(&plan);
	assert_int_equal(step(false, 2 * S), PLAN_WRITE);
	plan_written(&plan, 4, PLAN_FAILED, S);
	assert_int_equal(plan.next_try_ns, S + 250 * MS);
	/* What waits for another reason waits on. */
	plan_written(&plan, 4, PLAN_PRUNED, S);
	plan_renewed(&plan);
	assert_int_equal(step(false, 60 * S), PLAN_WAIT);
}

static void a_pruned_field_is_told_and_not_written_in_a_loop_L106(void **state)
{
	(void)state;
	plan_written(&plan, 4, PLAN_PRUNED, S);
	assert_true(plan.pruned);
	assert_int_equal(step(false, 60 * S), PLAN_WAIT);
	assert_int_equal(step(false, 61 * S), PLAN_WRITE);
}

static void answers_have_their_outcome(void **state)
{
	struct kube_answer answer = { .class = KUBE_OK };

	(void)state;
	assert_int_equal(plan_outcome_of(&answer, true), PLAN_WRITTEN);
	assert_int_equal(plan_outcome_of(&answer, false), PLAN_PRUNED);
	answer.class = KUBE_FORBIDDEN;
	assert_int_equal(plan_outcome_of(&answer, false), PLAN_FAILED);
	(void)str_copy(answer.message, sizeof(answer.message),
	    STR_LIT("denied: UNDERSTUDY_FENCE this hub is Standby"));
	assert_int_equal(plan_outcome_of(&answer, false), PLAN_FENCED);
	answer.class = KUBE_NOT_FOUND;
	assert_int_equal(plan_outcome_of(&answer, false), PLAN_GONE);
	answer.class = KUBE_SILENT;
	assert_int_equal(plan_outcome_of(&answer, false), PLAN_FAILED);
}

static void nothing_and_the_placeholder_are_refused_L104(void **state)
{
	(void)state;
	assert_string_equal(PLAN_PLACEHOLDER, "https://controller.cisco.com:6443/");
	assert_false(plan_endpoint_usable(""));
	assert_false(plan_endpoint_usable("https://controller.cisco.com:6443/"));
	assert_false(plan_endpoint_usable("https://controller.cisco.com:6443"));
	assert_true(plan_endpoint_usable("https://controller.cisco.com:64430"));
	assert_true(plan_endpoint_usable("https://hub-a.example.com:6443"));
}

static void last_updated_only_rises_H19(void **state)
{
	(void)state;
	assert_int_equal(plan_last_updated_us(7500000, 0), 7000000);
	assert_int_equal(plan_last_updated_us(7500000, 7000000), 8000000);
	assert_int_equal(plan_last_updated_us(7500000, 90400000), 91000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(no_permit_no_write_H16_L110, reset),
		cmocka_unit_test_setup(a_new_term_is_always_stamped_G1, reset),
		cmocka_unit_test_setup(a_fence_that_lags_is_asked_again_soon_H4, reset),
		cmocka_unit_test_setup(failures_back_off_to_half_a_minute_L108, reset),
		cmocka_unit_test_setup(a_new_identity_ends_the_wait_of_what_failed, reset),
		cmocka_unit_test_setup(
		    a_pruned_field_is_told_and_not_written_in_a_loop_L106, reset),
		cmocka_unit_test_setup(answers_have_their_outcome, reset),
		cmocka_unit_test_setup(nothing_and_the_placeholder_are_refused_L104, reset),
		cmocka_unit_test_setup(last_updated_only_rises_H19, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
