/*
 * Goal: from the final read to the open page each step can be lost, late or refused, and no claim
 * is left behind, none is made too early, and none wins against a peer that moved (C8, H1, H3, M18,
 * I6, I10). Method: a promotion in virtual time (elector_world.h) with one step broken.
 */
#include "elector_world.h"

/* Runs to the first step in which the state is reached, with its questions unanswered. */
static void test_M18_final_read_is_a_new_one_and_its_absence_is_blindness(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(17));
	w.peer_reads = 0;
	for (int i = 0; i < 3000 && w.m.state == STATE_STANDBY; i++) {
		run(&w, MS(10));
		w.no_observer = w.now_ns >= w.m.watch_ns + S(20) - MS(20);
	}
	assert_int_equal(w.m.state, STATE_SUSPECT);
	assert_int_equal(w.peer_reads, 1);
	run(&w, S(7));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_true(said(&w, REASON_PEER_UNREADABLE));
}

static void test_returned_peer_aborts_at_the_final_read(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	w.renews = false; /* readable, but it does not renew any more */
	run(&w, S(14));
	while (w.next_look_ns < w.m.watch_ns + S(20))
		run(&w, MS(10));
	w.peer.renew_us = w.wall_us; /* and now it did, just before the threshold */
	w.next_look_ns = w.m.watch_ns + S(20) + 1;
	run(&w, S(3));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_true(said(&w, REASON_LEASE_LIVE));
	assert_int_equal(w.claims, 0);
}

static void test_I6_nothing_is_claimed_before_the_syncer_is_gone(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	w.syncer_stays = true;
	run_to(&w, STATE_STOPPING, S(22));
	run(&w, S(9));
	assert_int_equal(w.m.state, STATE_STOPPING);
	assert_int_equal(w.claims, 0);
	run_to(&w, STATE_STANDBY, S(2));
	assert_true(said(&w, REASON_MIRROR_NOT_STOPPED));
	assert_int_equal(w.claims, 0);
}

static void test_H3_a_killed_syncer_is_waited_for_five_seconds(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	w.syncer_killed = true;
	run_to(&w, STATE_STOPPING, S(22));
	run(&w, S(4));
	assert_int_equal(w.claims, 0);
	run(&w, S(2));
	assert_int_equal(w.m.state, STATE_ACTIVE);
}

static void test_C8_taker_that_finds_a_changed_claim_backs_out(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	w.syncer_stays = true;
	run(&w, S(22));
	assert_int_equal(w.m.state, STATE_STOPPING);
	w.syncer_stays = false;
	/* The peer renews after the final read; the next look is R itself. */
	w.peer.class = PEER_OK;
	w.peer.renew_us = w.wall_us;
	w.next_look_ns = w.now_ns + S(30);
	{
		struct machine_event gone = { .input = MACHINE_SYNCER_GONE, .clean = true };

		world_step(&w, &gone);
	}
	run(&w, S(1));
	assert_int_equal(w.claims, 1); /* W1, never W2 */
	assert_true(said(&w, REASON_BACKED_OUT));
	run(&w, S(1));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.lease.holder, HOLDER_NONE);
	assert_int_equal(w.lease.term, 3); /* kept: never used again by another */
	assert_int_equal(w.lease.led_term, 0);
	assert_null(strchr(w.order, 'P'));
}

static void test_C8_recoverer_yields_to_a_higher_claim(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 0, true);
	start(&w);
	run(&w, S(3));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	w.api_down = true;
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	run(&w, S(14));
	assert_false(w.page_open);
	w.api_down = false;
	peer_leads(&w, 3);
	run(&w, S(10));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.lease.holder, HOLDER_NONE);
	assert_true(w.grants > 0);
	assert_true(w.rejoin); /* C12: this hub led */
	assert_int_equal(w.role, HUB_REJOINING);
	mirror(&w, true);
	run(&w, S(1));
	assert_int_equal(w.role, HUB_STANDBY);
}

static void test_H1_lost_reply_of_W1_is_found_by_reading(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	w.lose_replies = true;
	run(&w, S(22));
	assert_true(w.claims >= 1);
	assert_int_not_equal(w.m.state, STATE_STANDBY);
	w.lose_replies = false;
	run(&w, S(6));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_int_equal(w.page_term, 3);
}

static void test_H1_no_way_back_to_standby_while_the_outcome_is_open(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	w.syncer_stays = true;
	run(&w, S(22));
	w.syncer_stays = false;
	w.api_down = true;
	{
		struct machine_event gone = { .input = MACHINE_SYNCER_GONE, .clean = true };

		world_step(&w, &gone);
	}
	run(&w, S(300));
	assert_int_equal(w.m.state, STATE_ACQ);
	w.api_down = false;
	peer_leads(&w, 2);
	run(&w, S(10));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.lease.holder, HOLDER_NONE);
}

static void test_H1_refused_claim_goes_back_to_standby(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	w.syncer_stays = true;
	run_to(&w, STATE_STOPPING, S(22));
	w.refuse = true;
	w.syncer_stays = false;
	{
		struct machine_event gone = { .input = MACHINE_SYNCER_GONE, .clean = true };

		world_step(&w, &gone);
	}
	run_to(&w, STATE_STANDBY, S(5));
	assert_true(said(&w, REASON_LEASE_ACQUIRE_FAILED));
	assert_int_not_equal(w.m.state, STATE_ACTIVE);
	w.refuse = false;
	run(&w, S(60));
	assert_int_equal(w.m.state, STATE_ACTIVE);
}

static void test_C8_own_newest_data_takes_over_only_after_reading_the_peer(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 0, true);
	w.lease = LEASE(HOLDER_NONE, PHASE_NONE, 6, 6, ME, w.wall_us - 1);
	peer_leads(&w, 5);
	w.renews = false;
	w.peer.holder = HOLDER_NONE;
	w.peer.phase = PHASE_NONE;
	start(&w);
	run(&w, S(4));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_int_equal(w.page_term, 8); /* a new one (C7) */
	assert_true(said(&w, REASON_OWN_IS_NEWEST));
}

int main(void)
{
#define TEST(name) cmocka_unit_test(test_##name)
	const struct CMUnitTest tests[] = {
		TEST(M18_final_read_is_a_new_one_and_its_absence_is_blindness),
		TEST(returned_peer_aborts_at_the_final_read),
		TEST(I6_nothing_is_claimed_before_the_syncer_is_gone),
		TEST(H3_a_killed_syncer_is_waited_for_five_seconds),
		TEST(C8_taker_that_finds_a_changed_claim_backs_out),
		TEST(C8_recoverer_yields_to_a_higher_claim),
		TEST(H1_lost_reply_of_W1_is_found_by_reading),
		TEST(H1_no_way_back_to_standby_while_the_outcome_is_open),
		TEST(H1_refused_claim_goes_back_to_standby),
		TEST(C8_own_newest_data_takes_over_only_after_reading_the_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
