/*
 * Goal: a worker is pushed once per term, only under a valid permit, never above its own term, and
 * a foreign change gets five minutes (H16, C7, C9). Method: the machine stepped by hand, times in
 * seconds; the caller's part (requests) is played by the test.
 */
#include "repointer/repointer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define S 1000000000LL

static struct worker worker;
static struct worker_goal goal;
static struct worker_view view;

static int reset(void **state)
{
	(void)state;
	worker = (struct worker){ .state = WORKER_OK };
	goal = (struct worker_goal){ .term = 5,
		.valid_until_ns = 100 * S,
		.since_ns = 10 * S,
		.version = 1,
		.has_bundle = true };
	view = (struct worker_view){ .known = true };
	return 0;
}

static enum worker_verb step(int64_t at_s)
{
	return worker_step(&worker, &goal, &view, at_s * S).verb;
}

static int64_t wake(int64_t at_s)
{
	return worker_step(&worker, &goal, &view, at_s * S).wake_ns / S;
}

static void pushed(enum push_outcome outcome, int64_t at_s)
{
	worker_pushing(&worker);
	assert_int_equal(step(at_s), WORKER_WAIT);
	worker_pushed(&worker, &goal, outcome, at_s * S, 0);
}

static void stands(uint64_t term, bool ours, bool same)
{
	view = (struct worker_view){ true, true, term, ours, same };
}

static void no_permit_no_push_H16(void **state)
{
	(void)state;
	assert_int_equal(step(99), WORKER_PUSH);
	assert_int_equal(step(100), WORKER_WAIT); /* validity is a time */
	assert_int_equal(wake(100), 0);
	goal.valid_until_ns = 0; /* revoked */
	assert_int_equal(step(20), WORKER_WAIT);
	goal = (struct worker_goal){ .valid_until_ns = 100 * S };
	assert_int_equal(step(20), WORKER_WAIT); /* never permitted */
}

static void a_retry_does_not_outlive_the_permit_H16(void **state)
{
	(void)state;
	pushed(PUSH_UNREACHABLE, 90);
	assert_int_equal(step(90), WORKER_WAIT);
	assert_int_equal(step(91), WORKER_PUSH);
	assert_int_equal(step(86400), WORKER_WAIT);
}

static void pushed_once_per_term(void **state)
{
	(void)state;
	assert_int_equal(step(11), WORKER_PUSH);
	pushed(PUSH_DONE, 11);
	stands(5, true, true);
	assert_int_equal(step(12), WORKER_WAIT);
	goal.term = 7;
	worker_term_changed(&worker);
	assert_int_equal(step(13), WORKER_PUSH);
}

static void what_stands_there_already_is_told_once(void **state)
{
	(void)state;
	stands(5, true, true);
	assert_int_equal(step(11), WORKER_TELL_EQUAL);
	assert_int_equal(step(11), WORKER_WAIT);
}

/* A bundle that came meanwhile, and stands there, is one more thing to tell. */
static void another_version_that_stands_there_is_told(void **state)
{
	(void)state;
	pushed(PUSH_DONE, 11);
	stands(5, true, true);
	assert_int_equal(step(12), WORKER_WAIT);
	goal.version++;
	assert_int_equal(step(12), WORKER_TELL_EQUAL);
	assert_int_equal(step(12), WORKER_WAIT);
}

/* B26: only a worker that comes back is tried at once; one that is seen as before, or that denies,
 * is not. */
static void only_who_comes_back_is_tried_at_once_B26(void **state)
{
	static const enum worker_state back[] = { WORKER_OK, WORKER_NO_OBJECT, WORKER_NO_FENCE };

	(void)state;
	pushed(PUSH_DENIED, 11);
	assert_false(worker_state_seen(&worker, WORKER_OK));
	assert_int_equal(step(11), WORKER_WAIT);
	assert_true(worker_state_seen(&worker, WORKER_DENIED));
	assert_int_equal(step(11), WORKER_WAIT);
	assert_true(worker_state_seen(&worker, WORKER_NO_CRD));
	assert_int_equal(step(11), WORKER_WAIT);
	for (unsigned i = 0; i < 3; i++) {
		(void)reset(state);
		worker.state = WORKER_UNREACHABLE;
		pushed(PUSH_UNREACHABLE, 11);
		assert_int_equal(step(11), WORKER_WAIT);
		assert_true(worker_state_seen(&worker, back[i]));
		assert_int_equal(step(11), WORKER_PUSH);
	}
}

static void a_higher_term_is_told_and_never_outbid_C7(void **state)
{
	(void)state;
	stands(6, false, false);
	assert_int_equal(step(11), WORKER_TELL_SUPERSEDED);
	assert_int_equal(step(11), WORKER_WAIT);
	assert_int_equal(step(99), WORKER_WAIT);
	stands(4, false, false);
	goal.term = 7;
	worker_term_changed(&worker);
	assert_int_equal(step(12), WORKER_PUSH);
	pushed(PUSH_SUPERSEDED, 12); /* it rose between the look and the push */
	assert_int_equal(step(50), WORKER_WAIT);
}

static void a_rival_that_left_is_written_over_B13(void **state)
{
	(void)state;
	stands(5, true, true);
	assert_int_equal(step(12), WORKER_TELL_EQUAL);
	stands(8, false, false);
	assert_int_equal(step(13), WORKER_TELL_SUPERSEDED);
	assert_int_equal(step(14), WORKER_WAIT);
	view = (struct worker_view){ .known = true }; /* somebody deleted its claim */
	assert_int_equal(wake(20), 21);
	assert_int_equal(step(21), WORKER_PUSH);
	pushed(PUSH_SUPERSEDED, 21);             /* it was there again */
	assert_int_equal(step(22), WORKER_WAIT); /* the watch is behind that answer */
	stands(8, false, false);
	assert_int_equal(step(23), WORKER_WAIT);
	view = (struct worker_view){ .known = true };
	assert_int_equal(wake(30), 31);
}

static void a_foreign_change_gets_five_minutes_C9(void **state)
{
	(void)state;
	goal.valid_until_ns = 10000 * S;
	pushed(PUSH_DONE, 11);
	stands(5, true, true);
	assert_int_equal(step(12), WORKER_WAIT);
	stands(5, true, false);
	assert_int_equal(wake(20), 320);
	assert_int_equal(step(319), WORKER_WAIT);
	stands(5, true, true); /* and back: nothing to do, and the next change counts anew */
	assert_int_equal(step(319), WORKER_WAIT);
	stands(5, true, false);
	assert_int_equal(wake(400), 700);
	assert_int_equal(step(700), WORKER_PUSH);
	pushed(PUSH_DONE, 700);
	assert_int_equal(step(701), WORKER_WAIT);
}

static void a_claim_that_is_gone_or_outranked_is_made_again_soon_C11(void **state)
{
	(void)state;
	stands(5, true, true);
	assert_int_equal(step(20), WORKER_TELL_EQUAL);
	view = (struct worker_view){ .known = true }; /* somebody broke the glass */
	assert_int_equal(wake(30), 31);
	assert_int_equal(step(31), WORKER_PUSH);
	pushed(PUSH_DONE, 31);
	stands(5, true, true);
	assert_int_equal(step(32), WORKER_WAIT);
	stands(4, false, false); /* deleted, and created by the hub that does not lead */
	assert_int_equal(wake(40), 41);
	assert_int_equal(step(41), WORKER_PUSH);
}

static void our_own_change_is_not_foreign(void **state)
{
	(void)state;
	pushed(PUSH_DONE, 11);
	stands(5, true, false);
	goal.version = 2;
	assert_int_equal(step(12), WORKER_PUSH);
}

static void waits_two_seconds_for_the_bundle(void **state)
{
	(void)state;
	goal.has_bundle = false;
	assert_int_equal(wake(10), 12);
	stands(5, true, true); /* what a restart finds is not overwritten with less */
	assert_int_equal(step(11), WORKER_TELL_EQUAL);
	reset(NULL);
	goal.has_bundle = false;
	assert_int_equal(step(12), WORKER_PUSH);
}

static void back_off_doubles_to_a_minute_and_ends_when_it_is_back(void **state)
{
	(void)state;
	for (unsigned failures = 1; failures < 100; failures++) {
		int64_t base = failures < 7 ? S << (failures - 1) : 60 * S;

		assert_int_equal(worker_backoff_ns(failures, 0), base * 4 / 5);
		for (uint64_t i = 1; i < 50; i++) {
			int64_t got = worker_backoff_ns(failures, i * 0x9e3779b97f4a7c15);

			assert_true(got >= base * 4 / 5 && got <= base * 6 / 5);
		}
	}
	for (int i = 0; i < 10; i++)
		pushed(PUSH_UNREACHABLE, 20);
	assert_int_equal(step(30), WORKER_WAIT);
	assert_true(worker_state_seen(&worker, WORKER_UNREACHABLE));
	assert_false(worker_state_seen(&worker, WORKER_UNREACHABLE));
	assert_true(worker_state_seen(&worker, WORKER_OK));
	assert_int_equal(step(30), WORKER_PUSH);
}

static struct kube_answer answer(enum kube_class class, const char *message)
{
	struct kube_answer a = { .class = class };

	assert_true(str_copy(a.message, sizeof(a.message), str_of(message)));
	return a;
}

static void answers_have_their_outcome_H20(void **state)
{
	static const struct {
		const char *message;
		enum kube_class class;
		enum push_outcome outcome;
	} rows[] = {
		{ "", KUBE_OK, PUSH_DONE },
		{ "spec.term: UNDERSTUDY_TERM the term must rise", KUBE_INVALID, PUSH_SUPERSEDED },
		{ "spec.endpoint: must match", KUBE_INVALID, PUSH_DENIED },
		{ "", KUBE_NO_RESOURCE, PUSH_NO_CRD },
		{ "UNDERSTUDY_IDENTITY", KUBE_FORBIDDEN, PUSH_DENIED },
		{ "", KUBE_UNAUTHORIZED, PUSH_DENIED },
		{ "", KUBE_SILENT, PUSH_UNREACHABLE },
		{ "", KUBE_BLIND, PUSH_UNREACHABLE },
		{ "", KUBE_SERVER_ERROR, PUSH_UNREACHABLE },
		{ "", KUBE_THROTTLED, PUSH_UNREACHABLE },
	};
	enum worker_state said;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kube_answer a = answer(rows[i].class, rows[i].message);

		assert_int_equal(worker_outcome_of(&a), rows[i].outcome);
	}
	assert_true(worker_state_of(KUBE_NO_RESOURCE, &said) && said == WORKER_NO_CRD);
	assert_true(worker_state_of(KUBE_NOT_FOUND, &said) && said == WORKER_NO_OBJECT);
	assert_true(worker_state_of(KUBE_FORBIDDEN, &said) && said == WORKER_DENIED);
	assert_true(worker_state_of(KUBE_SILENT, &said) && said == WORKER_UNREACHABLE);
	assert_false(worker_state_of(KUBE_THROTTLED, &said));
}

static enum worker_rehearsal rehearsed(
    enum worker_rehearsal_step step, enum kube_class class, const char *message)
{
	struct kube_answer answer = { .class = class };

	(void)snprintf(answer.message, sizeof(answer.message), "%s", message);
	return worker_rehearsed(step, &answer);
}

/* A refusal that did not come, and one that came for another reason, are not the same. */
static void a_rehearsal_wants_each_refusal_by_its_word_H20(void **state)
{
	(void)state;
	assert_int_equal(rehearsed(REHEARSE_PUSH, KUBE_OK, ""), REHEARSAL_AS_WANTED);
	assert_int_equal(rehearsed(REHEARSE_PUSH, KUBE_FORBIDDEN, "no"), REHEARSAL_FAILED);
	assert_int_equal(rehearsed(REHEARSE_LOWER_TERM, KUBE_INVALID, "x: UNDERSTUDY_TERM y"),
	    REHEARSAL_AS_WANTED);
	assert_int_equal(rehearsed(REHEARSE_LOWER_TERM, KUBE_OK, ""), REHEARSAL_UNFENCED);
	assert_int_equal(
	    rehearsed(REHEARSE_LOWER_TERM, KUBE_INVALID, "endpoint"), REHEARSAL_FAILED);
	assert_int_equal(rehearsed(REHEARSE_LOWER_TERM, KUBE_SILENT, ""), REHEARSAL_FAILED);
	assert_int_equal(
	    rehearsed(REHEARSE_FOREIGN_IDENTITY, KUBE_FORBIDDEN, "UNDERSTUDY_IDENTITY z"),
	    REHEARSAL_AS_WANTED);
	assert_int_equal(rehearsed(REHEARSE_FOREIGN_IDENTITY, KUBE_OK, ""), REHEARSAL_UNFENCED);
	assert_int_equal(
	    rehearsed(REHEARSE_FOREIGN_IDENTITY, KUBE_FORBIDDEN, "RBAC"), REHEARSAL_FAILED);
}

static enum rights_verdict door(enum rights_check check, enum kube_class class, const char *words)
{
	struct kube_answer answer = { .class = class };

	(void)snprintf(answer.message, sizeof(answer.message), "%s", words);
	return worker_door(check, &answer);
}

/* Only the refusal that keeps a door shut counts: any other one proves nothing. */
static void an_open_door_is_a_finding_C11(void **state)
{
	static const struct {
		enum rights_check check;
		enum kube_class class;
		const char *words;
	} shut[] = { { RIGHTS_CHECK_SPEC, KUBE_INVALID, "spec: Required value" },
		{ RIGHTS_CHECK_SPEC, KUBE_FORBIDDEN, "no" },
		{ RIGHTS_CHECK_DELETE, KUBE_FORBIDDEN, "cannot delete" },
		{ RIGHTS_CHECK_IDENTITY, KUBE_FORBIDDEN, "denied: UNDERSTUDY_IDENTITY" },
		{ RIGHTS_CHECK_TERM, KUBE_INVALID, "spec.term: UNDERSTUDY_TERM" } };

	(void)state;
	for (size_t i = 0; i < sizeof(shut) / sizeof(shut[0]); i++)
		assert_int_equal(
		    door(shut[i].check, shut[i].class, shut[i].words), RIGHTS_AS_WANTED);
	for (int check = RIGHTS_CHECK_SPEC; check <= RIGHTS_CHECK_TERM; check++) {
		assert_int_equal(door((enum rights_check)check, KUBE_OK, ""), RIGHTS_DIFFER);
		for (int class = KUBE_CONFLICT; class <= KUBE_BLIND; class ++)
			if (class != KUBE_INVALID)
				assert_int_equal(
				    door((enum rights_check)check, (enum kube_class) class, ""),
				    RIGHTS_UNKNOWN);
		assert_int_equal(
		    door((enum rights_check)check, KUBE_UNAUTHORIZED, ""), RIGHTS_UNKNOWN);
		assert_int_equal(
		    door((enum rights_check)check, KUBE_NO_RESOURCE, ""), RIGHTS_UNKNOWN);
	}
	assert_int_equal(door(RIGHTS_CHECK_DELETE, KUBE_NOT_FOUND, ""), RIGHTS_DIFFER);
	assert_int_equal(door(RIGHTS_CHECK_TERM, KUBE_NOT_FOUND, ""), RIGHTS_UNKNOWN);
	assert_int_equal(door(RIGHTS_CHECK_IDENTITY, KUBE_FORBIDDEN, "RBAC"), RIGHTS_UNKNOWN);
	assert_int_equal(door(RIGHTS_CHECK_TERM, KUBE_INVALID, "endpoint"), RIGHTS_UNKNOWN);
}

/* What no worker could check our endpoint with is not told to any. */
static void a_bundle_that_is_none_is_not_pushed(void **state)
{
	static char large[262144];
	struct member member = { 0 };

	(void)state;
	push_bundle(&member, (struct str){ 0 });
	push_bundle(&member, (struct str){ large, sizeof(large) }); /* no object holds that */
	assert_null(member.bundle);
	assert_int_equal(member.version, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bundle_that_is_none_is_not_pushed),
		cmocka_unit_test(an_open_door_is_a_finding_C11),
		cmocka_unit_test(a_rehearsal_wants_each_refusal_by_its_word_H20),
		cmocka_unit_test_setup(no_permit_no_push_H16, reset),
		cmocka_unit_test_setup(another_version_that_stands_there_is_told, reset),
		cmocka_unit_test_setup(only_who_comes_back_is_tried_at_once_B26, reset),
		cmocka_unit_test_setup(a_retry_does_not_outlive_the_permit_H16, reset),
		cmocka_unit_test_setup(pushed_once_per_term, reset),
		cmocka_unit_test_setup(what_stands_there_already_is_told_once, reset),
		cmocka_unit_test_setup(a_higher_term_is_told_and_never_outbid_C7, reset),
		cmocka_unit_test_setup(a_rival_that_left_is_written_over_B13, reset),
		cmocka_unit_test_setup(a_foreign_change_gets_five_minutes_C9, reset),
		cmocka_unit_test_setup(
		    a_claim_that_is_gone_or_outranked_is_made_again_soon_C11, reset),
		cmocka_unit_test_setup(our_own_change_is_not_foreign, reset),
		cmocka_unit_test_setup(waits_two_seconds_for_the_bundle, reset),
		cmocka_unit_test_setup(
		    back_off_doubles_to_a_minute_and_ends_when_it_is_back, reset),
		cmocka_unit_test_setup(answers_have_their_outcome_H20, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
