/*
 * Goal: what an attempt, a claim, a lead or an operator's word leaves behind is nothing to the next
 * one (C3, C5, C9, H1, H9, H21, B16, M2, M18, decision 14). Method: a hub in virtual time
 * (elector_world.h) that is brought to the second time.
 */
#include "elector_command.h"

/* C12: after an attempt that stopped the mirror, nothing is granted any more. */
static void test_H9_a_mirror_that_was_stopped_is_not_told_to_rest(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run_to(&w, STATE_ACTIVE, S(25));
	peer_leads(&w, 4);
	look(&w, 0);
	w.peer.holder = HOLDER_NONE; /* and is gone at once */
	w.peer.phase = PHASE_NONE;
	look(&w, 0);
	run_to(&w, STATE_STANDBY, S(5));
	run(&w, S(5));
	assert_int_equal(w.pauses, 0);
}

/* The peer is silent, a worker sees it renew, and the mirror is not complete. */
static void standby_of_manual_mode(struct world *w)
{
	world_make(w, 1, false);
	w->m.options.automatic = false;
	w->m.options.workers = 1;
	w->workers_answer = 1;
	w->witness[0] = WITNESS_READ;
	standby_complete(w);
	peer_fails(w, PEER_SILENT, PEER_WHY_TIMEOUT);
	run(w, S(30));
	w->m.complete = false;
}

/* C5: what an operator accepted to lose counts for the attempt that he ordered. */
static void test_C5_an_accepted_loss_is_accepted_once(void **state)
{
	struct machine_command force = { .verb = COMMAND_FORCE, .accept_incomplete = true };
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	mirror(&w, true);
	w.m.complete = false;
	w.syncer_stays = true;
	assert_true(command_with(&w, force));
	w.peer.term = 4; /* claims anew before this hub does */
	w.m.syncer = SYNCER_OFF;
	w.m.syncer_clear_ns = 0;
	w.next_look_ns = w.now_ns + S(10);
	run_to(&w, STATE_STANDBY, S(5));
	assert_true(said(&w, REASON_PEER_HIGHER));
	w.m.complete = false;
	w.syncer_stays = false;
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(60));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_true(said(&w, REASON_MIRROR_INCOMPLETE));

	standby_of_manual_mode(&w);
	force.verb = COMMAND_PROMOTE;
	assert_true(command_with(&w, force));
	run(&w, S(3));
	assert_true(said(&w, REASON_WITNESS_VETO));
	w.m.options.automatic = true;
	w.witness[0] = WITNESS_CUT_OFF;
	run(&w, S(60));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_true(said(&w, REASON_MIRROR_INCOMPLETE));

	standby_of_manual_mode(&w);
	force.verb = COMMAND_FORCE;
	assert_true(command_with(&w, force));
	run_to(&w, STATE_ACTIVE, S(3));
	peer_leads(&w, 4); /* it led since, and let go again */
	w.peer.holder = HOLDER_NONE;
	w.peer.phase = PHASE_NONE;
	look(&w, 0);
	assert_false(w.page_open);
}

/* The same where the peer ends the attempt: it is another cluster when the final read is made, or
 * it claims while the mirror is being stopped. Whatever comes next asks for its own consent. */
static void test_C5_an_accepted_loss_ends_with_the_peer_that_it_was_accepted_for(void **state)
{
	struct machine_command promote = { .verb = COMMAND_PROMOTE, .accept_incomplete = true };

	for (int i = 0; i < 2; i++) {
		struct world w;

		(void)state;
		standby_of_manual_mode(&w);
		w.m.options.workers = 0;
		if (i == 0)
			w.peer = (struct machine_look){ .class = PEER_OK, .uid = "3" };
		w.syncer_stays = true;
		assert_true(command_with(&w, promote));
		assert_true(w.m.accept_incomplete);
		run_to(&w, i == 0 ? STATE_STANDBY : STATE_STOPPING, S(3));
		peer_leads(&w, 2);
		look(&w, 0);
		assert_int_equal(w.m.state, STATE_STANDBY);
		assert_true(said(&w, i == 0 ? REASON_PEER_UNREADABLE : REASON_LEASE_LIVE));
		if (i == 0)
			assert_true(command(&w, COMMAND_ACCEPT_PEER));
		w.syncer_stays = false;
		run(&w, S(3));
		peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
		w.m.options.automatic = true;
		run(&w, S(60));
		assert_int_equal(w.m.state, STATE_STANDBY);
		assert_true(said(&w, REASON_MIRROR_INCOMPLETE));
	}
}

/* I6: somebody deletes the claim, and the workload is still there: no mirror beside it. */
static void test_I6_without_a_claim_the_workloads_end_is_waited_for_as_well(void **state)
{
	struct machine_event gone = { .input = MACHINE_LEASE_WATCHED };
	struct world w;

	(void)state;
	active_ready(&w);
	w.workload_stays = true;
	peer_leads(&w, 3);
	look(&w, 0);
	w.lease.exists = false;
	world_step(&w, &gone);
	run(&w, S(3));
	assert_int_equal(w.m.state, STATE_YIELD);
	assert_int_equal(w.grants, 0);
	run(&w, S(20));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.lease.holder, HOLDER_NONE);
}

/* H1, M2: what became of a Standby's writes is nothing to a claim, which is made at once. */
static void test_H1_a_claim_begins_anew(void **state)
{
	struct world w;
	unsigned starts;

	(void)state;
	stopping(&w);
	w.m.refused = true; /* the last word about itself was */
	w.m.lease_at_ns = w.now_ns + S(2);
	syncer_gone(&w);
	assert_true(w.claims > 0); /* W1, without waiting */
	assert_false(said(&w, REASON_LEASE_ACQUIRE_FAILED));

	stopping(&w);
	w.m.open_unknowns = 1;
	w.refuse = true;
	starts = w.syncer_starts;
	syncer_gone(&w);
	run_to(&w, STATE_STANDBY, S(3));
	assert_true(said(&w, REASON_LEASE_ACQUIRE_FAILED));
	w.refuse = false;
	run(&w, MS(1900)); /* the next attempt is near: no mirror for so short a time */
	assert_int_equal(w.syncer_starts, starts);
	run(&w, S(3));
	assert_int_equal(w.m.state, STATE_ACTIVE);
}

/* C9: a hint that was not answered, in a drain, say, or was denied does not hide the next one. */
static void test_C9_each_hint_is_looked_into(void **state)
{
	struct world w;
	unsigned reads;

	(void)state;
	stopping(&w);
	w.m.hint = true;
	syncer_gone(&w);
	run_to(&w, STATE_ACTIVE, S(1));
	reads = w.peer_reads;
	worker_says(&w, 0, 0, 8);
	assert_int_equal(w.peer_reads, reads + 1);

	active_ready(&w);
	reads = w.peer_reads;
	worker_says(&w, 0, 1, 21);
	worker_says(&w, 0, 1, 41);
	assert_int_equal(w.peer_reads, reads + 2);
	assert_int_equal(w.m.state, STATE_ACTIVE);
}

/* C9: the read that a hint began is not begun anew by the next one, or a worker that tells the same
 * every moment would put off the answer for ever. */
static void test_C9_hints_that_go_on_do_not_put_off_the_answer(void **state)
{
	struct world w;
	unsigned reads;

	(void)state;
	active_ready(&w);
	w.no_observer = true;
	reads = w.peer_reads;
	for (int i = 0; i < 10; i++) {
		worker_says(&w, 0, 1, 21);
		run(&w, S(1)); /* unanswered for longer than a read may take (M18) */
	}
	assert_int_equal(w.peer_reads, reads + 1);
	assert_false(w.page_open);
	assert_true(said(&w, REASON_WORKER_HIGHER));
}

/* M18: only the look that was asked for decides about a hint. */
static void test_C9_a_look_that_began_before_the_hint_says_nothing_of_it(void **state)
{
	for (int silent = 0; silent < 2; silent++) {
		struct world w;
		uint64_t nonce;

		(void)state;
		active_ready(&w);
		w.no_observer = true;
		worker_says(&w, 0, 1, 21);
		nonce = w.m.peer_nonce;
		if (silent)
			peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
		look(&w, 0);
		assert_true(w.page_open);
		assert_false(said(&w, REASON_WORKER_ROGUE));
		look(&w, nonce);
		assert_int_equal(w.page_open, !silent);
		assert_int_equal(said(&w, REASON_WORKER_ROGUE), !silent);
	}
}

/* The answer that nobody waits for any more is neither blindness nor a fresh read. */
static void test_M18_a_close_ends_the_question_of_a_hint(void **state)
{
	struct world w;

	(void)state;
	active_ready(&w);
	w.no_observer = true;
	worker_says(&w, 0, 1, 21);
	assert_true(w.m.peer_nonce != 0);
	w.no_observer = false;
	w.m.lease_at_ns = w.now_ns + S(2);
	peer_leads(&w, 3);
	look(&w, 0);
	run(&w, MS(100));
	assert_int_equal(w.m.state, STATE_STANDBY); /* released without waiting */
	run(&w, S(10));
	assert_false(said(&w, REASON_PEER_BLIND));
}

static void test_decision_14_a_second_rogue_term_is_outbid_too(void **state)
{
	struct world w;

	(void)state;
	active_ready(&w);
	worker_says(&w, 0, 0, 20);
	run(&w, S(310));
	assert_int_equal(w.page_term, 22);
	worker_says(&w, 0, 0, 40);
	run(&w, S(310));
	assert_int_equal(w.page_term, 42);
}

/* Only the worker that showed it can take it back; and the peer must have been read since. */
static void test_decision_14_what_ends_a_rogue_term_and_what_does_not(void **state)
{
	struct world w;

	(void)state;
	active_ready(&w);
	worker_says(&w, 1, 1, 21);
	worker_says(&w, 0, 0, 2);
	run(&w, S(310));
	assert_int_equal(w.page_term, 22);

	active_ready(&w);
	worker_says(&w, 0, 1, 21);
	run(&w, S(10));
	worker_says(&w, 0, 0, 2); /* made right */
	run(&w, S(10));
	worker_says(&w, 0, 1, 41);
	w.no_observer = true; /* what the peer does now nobody knows */
	run(&w, S(310));
	assert_int_equal(w.page_term, 2);
	w.no_observer = false;
	run(&w, S(10));
	assert_int_equal(w.page_term, 42);
}

/* C3: asked before the next attempt, too, so that it costs no time. */
static void test_C3_after_a_veto_workers_are_asked_again_before_the_next_attempt(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	w.m.options.workers = 1;
	w.workers_answer = 1;
	w.witness[0] = WITNESS_READ;
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	run(&w, w.m.watch_ns + S(20) + MS(100) - w.now_ns);
	assert_true(said(&w, REASON_WITNESS_VETO));
	assert_int_equal(w.witness_asks, 2);
}

/* What attempts and operators left for the next attempt ends with a lead. */
static void test_M2_H21_B16_a_lead_ends_what_held_promotions_back(void **state)
{
	struct world w;

	(void)state;
	stopping(&w);
	w.m.back_off_ns = S(30);
	w.m.duel_ns = S(1);
	w.m.try_at_ns = w.now_ns + S(30);
	w.m.veto_since_ns = w.now_ns;
	w.m.paused_us = w.wall_us + 600000000;
	w.m.paused_until_ns = w.now_ns + S(600);
	w.m.block.term = 2;
	w.m.block_until_ns = w.now_ns + S(600);
	syncer_gone(&w);
	run_to(&w, STATE_ACTIVE, S(1));
	assert_true(w.m.back_off_ns == 0 && w.m.duel_ns == 0 && w.m.try_at_ns == 0);
	assert_true(w.m.veto_since_ns == 0);
	assert_true(w.m.paused_us == 0 && w.m.paused_until_ns == 0);
	assert_true(w.m.block.term == 0 && w.m.block_until_ns == 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test(test_##name)
	const struct CMUnitTest tests[] = {
		TEST(H9_a_mirror_that_was_stopped_is_not_told_to_rest),
		TEST(C5_an_accepted_loss_is_accepted_once),
		TEST(C5_an_accepted_loss_ends_with_the_peer_that_it_was_accepted_for),
		TEST(I6_without_a_claim_the_workloads_end_is_waited_for_as_well),
		TEST(H1_a_claim_begins_anew),
		TEST(C9_each_hint_is_looked_into),
		TEST(C9_hints_that_go_on_do_not_put_off_the_answer),
		TEST(C9_a_look_that_began_before_the_hint_says_nothing_of_it),
		TEST(M18_a_close_ends_the_question_of_a_hint),
		TEST(decision_14_a_second_rogue_term_is_outbid_too),
		TEST(decision_14_what_ends_a_rogue_term_and_what_does_not),
		TEST(C3_after_a_veto_workers_are_asked_again_before_the_next_attempt),
		TEST(M2_H21_B16_a_lead_ends_what_held_promotions_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
