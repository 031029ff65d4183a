/*
 * Goal: which hub a worker follows: upstream's rule, one test per W-number that is a decision, and
 * terms before it (H19, C7, C11). Method: looks made by hand, one rule_decide per look; the
 * caller's part (proof, swap) is played by take().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "follower/rule.h"

enum { A, B };

static struct rule rule;
static struct rule_input input;

static int reset(void **state)
{
	(void)state;
	rule_init(&rule, 2, 2, RULE_NOWHERE, 0, 0);
	memset(&input, 0, sizeof(input));
	input.push.hub = RULE_NOWHERE;
	return 0;
}

/* What that hub's Cluster object says. */
static void claims(int at, int hub, const char *identity, int64_t updated_us)
{
	struct rule_look *look = &input.looks[at];

	look->reach = RULE_READ;
	look->claim = (struct rule_claim){ .hub = hub, .updated_us = updated_us };
	(void)snprintf(look->claim.identity, sizeof(look->claim.identity), "%s", identity);
}

static void both_claim(int hub, const char *identity)
{
	claims(A, hub, identity, 100);
	claims(B, hub, identity, 100);
}

static void says_nothing(int at, enum rule_reach reach)
{
	input.looks[at] = (struct rule_look){ .reach = reach, .claim = { .absent = true } };
}

static void leads(int hub, uint64_t term)
{
	input.looks[hub].lease_term = term;
}

static void pushed(int hub, uint64_t term)
{
	input.push = (struct rule_push){ .term = term, .hub = hub };
}

static struct rule_decision decide(void)
{
	return rule_decide(&rule, &input);
}

static void expect(enum rule_verdict verdict)
{
	assert_int_equal(decide().verdict, verdict);
}

/* A look that moves the worker, and the move. */
static void take(int hub)
{
	struct rule_decision decision = decide();

	assert_int_equal(decision.verdict, RULE_SWITCH);
	assert_int_equal(decision.choice.hub, hub);
	rule_followed(&rule, &decision.choice);
	assert_int_equal(rule.current.hub, hub);
}

/* Upstream's claim for hub A is followed. */
static void follow_a(void)
{
	both_claim(A, "hub-a");
	take(A);
}

/* --- Upstream -------------------------------------------------------------------------------- */

static void one_hub_decides_nothing_W1(void **state)
{
	(void)state;
	rule_init(&rule, 1, 2, A, 0, 0);
	both_claim(B, "hub-b");
	leads(B, 3);
	pushed(B, 3);
	for (int i = 0; i < 5; i++)
		expect(RULE_KEEP);
	assert_int_equal(rule.current.hub, A);
	assert_int_equal(rule.max_term, 0);
}

static void hubs_that_agree_are_followed_W2(void **state)
{
	struct rule_decision decision;

	(void)state;
	both_claim(B, "hub-b");
	decision = decide();
	assert_int_equal(decision.verdict, RULE_SWITCH);
	assert_int_equal(decision.choice.hub, B);
	assert_int_equal(decision.notes & RULE_NOTE_DISAGREE, 0);
}

static void a_foreign_endpoint_leads_nobody_W3(void **state)
{
	struct rule_decision decision;

	(void)state;
	follow_a();
	claims(B, RULE_NOWHERE, "evil", 900);
	for (int i = 0; i < 5; i++) {
		decision = decide();
		assert_int_equal(decision.verdict, RULE_KEEP);
		assert_true(decision.notes & RULE_NOTE_FOREIGN);
	}
	assert_int_equal(rule.current.hub, A);
	both_claim(A, "hub-a");
	pushed(RULE_NOWHERE, 9); /* The same by push. */
	decision = decide();
	assert_int_equal(decision.verdict, RULE_KEEP);
	assert_true(decision.notes & RULE_NOTE_FOREIGN);
	assert_int_equal(rule.max_term, 0);
	pushed(2, 9); /* no hub has that number */
	expect(RULE_KEEP);
	pushed(A, 2);
	assert_false(decide().notes & RULE_NOTE_FOREIGN);
}

static void the_newest_of_two_claims_counts_W4(void **state)
{
	struct rule_decision decision;

	(void)state;
	claims(A, A, "hub-a", 100);
	claims(B, B, "hub-b", 101);
	decision = decide();
	assert_int_equal(decision.choice.hub, B);
	assert_true(decision.notes & RULE_NOTE_DISAGREE);
	claims(A, A, "hub-a", 102);
	assert_int_equal(decide().choice.hub, A);
	/* Equal stamps: the smaller identity, whichever hub is asked first. */
	claims(A, A, "hub-z", 100);
	claims(B, B, "hub-b", 100);
	for (int i = 0; i < 3; i++)
		assert_int_equal(decide().choice.hub, B);
}

static void one_divergent_look_moves_nobody_W5(void **state)
{
	(void)state;
	follow_a();
	both_claim(B, "hub-b");
	expect(RULE_CONFIRM);
	assert_int_equal(rule.current.hub, A);
	take(B);
	rule_init(&rule, 2, 4, RULE_NOWHERE, 0, 0);
	follow_a();
	both_claim(B, "hub-b");
	for (int i = 0; i < 3; i++)
		expect(RULE_CONFIRM);
	take(B);
}

static void alternating_looks_never_move_W6(void **state)
{
	(void)state;
	rule_init(&rule, 2, 2, RULE_NOWHERE, 0, 0);
	follow_a();
	for (int i = 0; i < 6; i++) {
		both_claim(B, i % 2 ? "hub-b" : "hub-c");
		expect(RULE_CONFIRM);
		assert_int_equal(rule.count, 1);
	}
	both_claim(B, "hub-c");
	expect(RULE_CONFIRM);
	both_claim(A, "hub-a"); /* The status quo clears it. */
	expect(RULE_KEEP);
	assert_int_equal(rule.count, 0);
	both_claim(B, "hub-b");
	expect(RULE_CONFIRM);
}

static void a_new_stamp_is_no_new_target_W7(void **state)
{
	(void)state;
	follow_a();
	claims(A, A, "hub-a", 999);
	expect(RULE_KEEP);
	claims(B, B, "hub-b", 2000);
	expect(RULE_CONFIRM);
	claims(B, B, "hub-b", 2001);
	take(B);
}

static void an_empty_look_changes_nothing_W8(void **state)
{
	(void)state;
	follow_a();
	both_claim(B, "hub-b");
	expect(RULE_CONFIRM);
	says_nothing(A, RULE_UNREACHABLE);
	says_nothing(B, RULE_UNREADABLE);
	for (int i = 0; i < 3; i++)
		expect(RULE_KEEP);
	assert_int_equal(rule.current.hub, A);
	assert_int_equal(rule.count, 1);
	both_claim(B, "hub-b");
	take(B);
}

static void the_first_winner_is_immediate_W9(void **state)
{
	(void)state;
	rule_init(&rule, 2, 100, RULE_NOWHERE, 0, 0);
	both_claim(B, "hub-b");
	take(B);
	/* Also after the first of the list was used because nobody spoke (W18). */
	rule_init(&rule, 2, 100, RULE_NOWHERE, 0, 0);
	rule_fall_back(&rule);
	take(B);
}

static void a_hub_with_an_error_has_no_say_W12(void **state)
{
	(void)state;
	follow_a();
	claims(B, B, "hub-b", 999);
	input.looks[B].reach = RULE_UNREADABLE;
	expect(RULE_KEEP);
	input.looks[B].reach = RULE_UNREACHABLE;
	expect(RULE_KEEP);
	assert_int_equal(rule.count, 0);
}

static void half_a_claim_is_none_W14(void **state)
{
	(void)state;
	follow_a();
	claims(B, B, "", 999);
	input.looks[B].claim.absent = true;
	for (int i = 0; i < 3; i++)
		expect(RULE_KEEP);
}

static void a_claim_without_time_is_the_oldest_W15(void **state)
{
	(void)state;
	claims(A, A, "hub-a", 0);
	claims(B, B, "hub-b", 1);
	assert_int_equal(decide().choice.hub, B);
}

static void without_any_claim_it_is_the_first_W18(void **state)
{
	(void)state;
	says_nothing(A, RULE_UNREACHABLE);
	says_nothing(B, RULE_UNREACHABLE);
	expect(RULE_KEEP);
	assert_int_equal(rule.current.hub, RULE_NOWHERE);
	rule_fall_back(&rule);
	assert_int_equal(rule.current.hub, A);
	assert_false(rule.established);
	expect(RULE_KEEP);
}

static void unsure_means_to_stay_W19(void **state)
{
	(void)state;
	both_claim(B, "hub-b");
	take(B);
	says_nothing(A, RULE_UNREACHABLE);
	says_nothing(B, RULE_UNREACHABLE);
	for (int i = 0; i < 20; i++)
		expect(RULE_KEEP);
	assert_int_equal(rule.current.hub, B);
	/* A restart while nobody answers leaves it where it was handed over. */
	rule_init(&rule, 2, 2, B, 0, 0);
	expect(RULE_KEEP);
	rule_fall_back(&rule);
	assert_int_equal(rule.current.hub, B);
}

static void a_hub_without_claims_is_silent_W21(void **state)
{
	(void)state;
	says_nothing(A, RULE_READ);
	says_nothing(B, RULE_READ);
	assert_int_equal(decide().notes, 0);
}

/* --- Terms ----------------------------------------------------------------------------------- */

static void terms_beat_upstreams_claims_H19(void **state)
{
	(void)state;
	both_claim(A, "hub-a");
	leads(B, 3);
	take(B);
	assert_int_equal(rule.max_term, 3);
	claims(A, A, "hub-a", 999999);
	for (int i = 0; i < 5; i++)
		expect(RULE_KEEP);
}

static void the_highest_term_wins_H19(void **state)
{
	(void)state;
	leads(A, 2);
	leads(B, 3);
	take(B);
	leads(A, 4); /* A switchover back: confirmed twice by the Lease alone. */
	leads(B, 0);
	expect(RULE_CONFIRM);
	take(A);
	assert_int_equal(rule.max_term, 4);
}

static void push_and_lease_are_two_looks_H19(void **state)
{
	(void)state;
	leads(A, 2);
	take(A);
	leads(A, 0);
	leads(B, 3);
	pushed(B, 3);
	take(B); /* At once. */
	leads(B, 0);
	pushed(A, 4);
	expect(RULE_CONFIRM);
	take(A);
}

static void a_term_never_falls_C11(void **state)
{
	struct rule_decision decision;

	(void)state;
	leads(B, 5);
	take(B);
	/* hub-a comes back from a snapshot; the object was deleted and made anew with its term. */
	leads(B, 0);
	leads(A, 4);
	pushed(A, 4);
	for (int i = 0; i < 5; i++) {
		decision = decide();
		assert_int_equal(decision.verdict, RULE_KEEP);
		assert_true(decision.notes & RULE_NOTE_SUPERSEDED);
	}
	/* And after a restart that remembers the term alone. */
	rule_init(&rule, 2, 2, RULE_NOWHERE, 0, 5);
	expect(RULE_KEEP);
	assert_int_equal(rule.max_term, 5);
	leads(A, 6);
	take(A);
}

/* B11: who claims a term that is over is looked at over a new connection; who does not lead, or
 * leads with the highest one, is not. */
static void a_superseded_hub_is_known_B11(void **state)
{
	struct rule_look look = { .reach = RULE_READ };

	(void)state;
	rule_init(&rule, 2, 2, RULE_NOWHERE, 0, 5);
	assert_false(rule_is_superseded(&rule, &look));
	look.lease_term = 4;
	assert_true(rule_is_superseded(&rule, &look));
	look.lease_term = 5;
	assert_false(rule_is_superseded(&rule, &look));
	look.lease_term = 6;
	assert_false(rule_is_superseded(&rule, &look));
}

/* Who followed a term is not led away by a claim without one (I3). */
static void an_old_claim_leads_nobody_back(void **state)
{
	(void)state;
	leads(B, 5);
	take(B);
	leads(B, 0);
	input.looks[B].reach = RULE_UNREACHABLE;
	claims(A, A, "hub-a", 999999);
	for (int i = 0; i < 5; i++)
		expect(RULE_KEEP);
	assert_int_equal(rule.current.hub, B);
}

static void one_term_of_two_hubs_moves_nobody_H19(void **state)
{
	struct rule_decision decision;

	(void)state;
	leads(A, 4);
	take(A);
	pushed(B, 4);
	decision = decide();
	assert_int_equal(decision.verdict, RULE_KEEP);
	assert_true(decision.notes & RULE_NOTE_TWICE);
	leads(A, 0); /* Its own Lease is silent: still not B's term. */
	decision = decide();
	assert_int_equal(decision.verdict, RULE_KEEP);
	assert_true(decision.notes & RULE_NOTE_TWICE);
	leads(A, 6);
	leads(B, 6);
	assert_int_equal(decide().verdict, RULE_KEEP);
	leads(B, 7); /* A higher one settles it. */
	expect(RULE_CONFIRM);
	take(B);
}

static void a_term_rises_with_its_hub(void **state)
{
	(void)state;
	leads(A, 2);
	take(A);
	leads(A, 4);
	expect(RULE_KEEP);
	assert_int_equal(rule.max_term, 4);
	assert_int_equal(rule.current.term, 4);
}

static void an_absurd_term_is_ignored_C7(void **state)
{
	const uint64_t absurd[] = { (1ULL << 20) + 3, RULE_TERM_MAX, RULE_TERM_MAX + 1,
		UINT64_MAX };
	struct rule_decision decision;

	(void)state;
	leads(A, 2);
	take(A);
	for (unsigned i = 0; i < 4; i++) {
		pushed(B, absurd[i]);
		decision = decide();
		assert_int_equal(decision.verdict, RULE_KEEP);
		assert_true(decision.notes & RULE_NOTE_IMPLAUSIBLE);
	}
	pushed(A, RULE_TERM_MAX); /* Not even in the name of the hub that is followed. */
	expect(RULE_KEEP);
	assert_int_equal(rule.max_term, 2);
	pushed(B, (1ULL << 20) + 2);
	expect(RULE_CONFIRM);
	rule_init(&rule, 2, 2, RULE_NOWHERE, 0, RULE_TERM_MAX - 1);
	pushed(RULE_NOWHERE, 0);
	leads(A, RULE_TERM_MAX); /* the last one is one */
	take(A);
}

/* The target that did not prove itself is proposed again, not forgotten (H19). */
static void an_unproven_target_is_tried_again(void **state)
{
	(void)state;
	leads(A, 2);
	take(A);
	leads(B, 3);
	expect(RULE_CONFIRM);
	for (int i = 0; i < 5; i++)
		expect(RULE_SWITCH);
	assert_int_equal(rule.current.hub, A);
	assert_int_equal(rule.max_term, 2);
	leads(B, 0);
	leads(A, 4);
	expect(RULE_KEEP);
	assert_int_equal(rule.count, 0);
}

static void from_claims_to_terms_of_the_same_hub(void **state)
{
	(void)state;
	follow_a();
	leads(A, 2);
	expect(RULE_KEEP);
	assert_int_equal(rule.max_term, 2);
	assert_int_equal(rule.current.hub, A);
}

#define TEST(name) cmocka_unit_test_setup(name, reset)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_hub_decides_nothing_W1),
		TEST(hubs_that_agree_are_followed_W2),
		TEST(a_foreign_endpoint_leads_nobody_W3),
		TEST(the_newest_of_two_claims_counts_W4),
		TEST(one_divergent_look_moves_nobody_W5),
		TEST(alternating_looks_never_move_W6),
		TEST(a_new_stamp_is_no_new_target_W7),
		TEST(an_empty_look_changes_nothing_W8),
		TEST(the_first_winner_is_immediate_W9),
		TEST(a_hub_with_an_error_has_no_say_W12),
		TEST(half_a_claim_is_none_W14),
		TEST(a_claim_without_time_is_the_oldest_W15),
		TEST(without_any_claim_it_is_the_first_W18),
		TEST(unsure_means_to_stay_W19),
		TEST(a_hub_without_claims_is_silent_W21),
		TEST(terms_beat_upstreams_claims_H19),
		TEST(the_highest_term_wins_H19),
		TEST(push_and_lease_are_two_looks_H19),
		TEST(a_term_never_falls_C11),
		TEST(a_superseded_hub_is_known_B11),
		TEST(an_old_claim_leads_nobody_back),
		TEST(one_term_of_two_hubs_moves_nobody_H19),
		TEST(a_term_rises_with_its_hub),
		TEST(an_absurd_term_is_ignored_C7),
		TEST(an_unproven_target_is_tried_again),
		TEST(from_claims_to_terms_of_the_same_hub),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
