/*
 * Goal: a switchover loses nothing and has a way back at each step before the release, and none
 * after it but a new term (C13); it is begun exactly when its checks pass (B15).
 * Method: one hub in virtual time (elector_world.h); the test plays the peer's Lease.
 */
#include "elector_command.h"

/* --- The Active ------------------------------------------------------------------------------- */

static void test_C13_drains_in_order_keeps_renewing_and_releases_on_the_ack(void **state)
{
	struct world w;
	int64_t renewed_us;

	(void)state;
	active_ready(&w);
	assert_null(refused(&w, COMMAND_SWITCHOVER));
	assert_true(command(&w, COMMAND_SWITCHOVER));
	run(&w, S(1));
	assert_int_equal(w.m.state, STATE_DRAIN);
	/* Page, permit, workload, HubRole, and only then the Lease says that it drains. */
	assert_non_null(strstr(w.order, "ptrh"));
	assert_true(strrchr(w.order, 'C') > strchr(w.order, 'h'));
	assert_int_equal(w.role, HUB_DRAINING);
	assert_int_equal(w.lease.phase, PHASE_DRAINING);
	assert_int_equal(w.lease.holder, HOLDER_SELF);
	assert_int_equal(w.lease.handover, ID);
	assert_false(w.page_open);
	assert_false(w.running);
	renewed_us = w.lease.renew_us;
	run(&w, S(5));
	assert_true(w.lease.renew_us > renewed_us);
	assert_int_equal(w.m.state, STATE_DRAIN);

	peer_acks(&w, ACK_SYNCED);
	run(&w, S(3));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.lease.holder, HOLDER_NONE);
	assert_int_equal(w.lease.phase, PHASE_RELEASED);
	assert_int_equal(w.lease.handover, ID);
	assert_int_equal(w.lease.term, 2);
	assert_int_equal(w.lease.led_term, 2);

	peer_leads(&w, 3);
	run(&w, S(3));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.syncer_starts, 1);
	assert_true(w.rejoin); /* C12 */
}

static void test_C13_workload_is_dead_before_anybody_is_told(void **state)
{
	struct machine_event dead = { .input = MACHINE_WORKLOAD_SEEN };
	struct world w;

	(void)state;
	active_ready(&w);
	w.workload_stays = true;
	assert_true(command(&w, COMMAND_SWITCHOVER));
	run(&w, S(3));
	assert_int_equal(w.m.state, STATE_DRAIN);
	assert_int_equal(w.role, HUB_LEADING);
	assert_int_equal(w.lease.phase, PHASE_LEADING);
	dead.workload.empty = true;
	world_step(&w, &dead);
	run(&w, S(1));
	assert_int_equal(w.lease.phase, PHASE_DRAINING);
}

static void test_C13_each_step_has_a_way_back_under_the_same_term(void **state)
{
	for (int i = 0; i < 4; i++) {
		struct world w;

		(void)state;
		active_ready(&w);
		w.workload_stays = i == 3; /* never ends: nobody is told, and it goes on */
		assert_true(command(&w, COMMAND_SWITCHOVER));
		run(&w, S(1));
		if (i == 0)
			peer_acks(&w, ACK_DECLINED);
		if (i == 1)
			assert_true(command(&w, COMMAND_CALL_OFF));
		run(&w, S(20)); /* 2: no answer at all */
		assert_int_equal(w.m.state, STATE_ACTIVE);
		assert_int_equal(w.page_term, 2);
		assert_true(w.page_open);
		assert_int_equal(w.role, HUB_LEADING);
		assert_int_equal(w.lease.phase, PHASE_LEADING);
		assert_int_equal(w.lease.handover, 0); /* an ack that comes now is for nothing */
		assert_int_equal(said(&w, REASON_SWITCHOVER_DECLINED), i == 0);
		assert_int_equal(said(&w, REASON_SWITCHOVER_CALLED_OFF), i == 1);
		assert_int_equal(said(&w, REASON_SWITCHOVER_LATE), i >= 2);
		assert_false(said(&w, REASON_RELEASED));
	}
}

static void test_C13_an_ack_of_another_switchover_releases_nothing(void **state)
{
	struct world w;

	(void)state;
	active_ready(&w);
	assert_true(command(&w, COMMAND_SWITCHOVER));
	w.peer.ack_id = ID + 1;
	w.peer.ack = ACK_SYNCED;
	run(&w, S(5));
	assert_int_equal(w.m.state, STATE_DRAIN);
}

static void test_C13_an_ack_before_draining_is_shown_releases_nothing(void **state)
{
	struct world w;

	(void)state;
	active_ready(&w);
	w.role_fails = true;
	peer_acks(&w, ACK_SYNCED);
	assert_true(command(&w, COMMAND_SWITCHOVER));
	run(&w, S(4));
	assert_int_equal(w.m.state, STATE_DRAIN);
	assert_int_equal(w.lease.phase, PHASE_LEADING);
	w.role_fails = false;
	run(&w, S(4));
	assert_int_equal(w.m.state, STATE_STANDBY);
}

static void test_H1_a_release_of_unknown_outcome_is_read_again(void **state)
{
	struct world w;

	(void)state;
	active_ready(&w);
	assert_true(command(&w, COMMAND_SWITCHOVER));
	run(&w, S(1));
	w.lose_replies = true; /* applied, and nobody says so */
	peer_acks(&w, ACK_SYNCED);
	look(&w, 0);
	assert_int_equal(w.m.state, STATE_RELEASE);
	run(&w, MS(100));
	assert_int_equal(w.m.state, STATE_RELEASE);
	assert_int_equal(w.lease.phase, PHASE_RELEASED);
	w.lose_replies = false;
	run(&w, S(5));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.lease.phase, PHASE_RELEASED);
}

static void test_H1_a_release_that_cannot_be_written_never_opens_the_page(void **state)
{
	struct world w;

	(void)state;
	active_ready(&w);
	assert_true(command(&w, COMMAND_SWITCHOVER));
	run(&w, S(1));
	peer_acks(&w, ACK_SYNCED);
	look(&w, 0);
	w.api_down = true;
	run(&w, S(60));
	assert_int_equal(w.m.state, STATE_RELEASE);
	assert_false(w.page_open);
	w.api_down = false;
	run(&w, S(5));
	assert_int_equal(w.m.state, STATE_STANDBY);
}

static void test_C13_what_nobody_takes_comes_back_after_10_s_with_a_new_term(void **state)
{
	struct world w;

	(void)state;
	active_ready(&w);
	assert_true(command(&w, COMMAND_SWITCHOVER));
	peer_acks(&w, ACK_SYNCED);
	run(&w, S(3));
	assert_int_equal(w.m.state, STATE_STANDBY);
	run(&w, S(6));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_false(w.page_open);
	run(&w, S(8));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_int_equal(w.page_term, 4);
	assert_true(said(&w, REASON_OWN_IS_NEWEST));
}

static void test_C13_after_a_release_an_unreadable_peer_keeps_it_standby(void **state)
{
	struct world w;

	(void)state;
	active_ready(&w);
	w.m.options.workers = 3;
	w.workers_answer = 3;
	for (int i = 0; i < 3; i++)
		w.witness[i] = WITNESS_READ; /* the workers see the peer alive */
	assert_true(command(&w, COMMAND_SWITCHOVER));
	peer_acks(&w, ACK_SYNCED);
	run(&w, S(3));
	assert_int_equal(w.m.state, STATE_STANDBY);
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	run(&w, S(60));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_true(said(&w, REASON_WITNESS_VETO));
}

static void test_I1_validity_that_runs_out_while_draining_ends_it(void **state)
{
	struct world w;

	(void)state;
	active_ready(&w);
	assert_true(command(&w, COMMAND_SWITCHOVER));
	run(&w, S(1));
	w.api_down = true;
	run(&w, S(9));
	assert_int_equal(w.m.state, STATE_RECOVER);
	assert_false(said(&w, REASON_RELEASED));
}

static void test_C9_a_higher_claim_ends_a_drain_like_a_lead(void **state)
{
	struct world w;

	(void)state;
	active_ready(&w);
	assert_true(command(&w, COMMAND_SWITCHOVER));
	run(&w, S(1));
	peer_leads(&w, 3);
	look(&w, 0);
	assert_true(said(&w, REASON_PEER_TOOK_OVER));
	run(&w, S(10));
	assert_int_equal(w.m.state, STATE_STANDBY);
}

static void test_a_process_that_starts_on_its_own_drain_cancels_it(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 0, true);
	w.lease = LEASE(HOLDER_SELF, PHASE_DRAINING, 2, 2, OTHER, w.wall_us - 1000);
	w.lease.handover = ID;
	w.m.dead = OTHER;
	peer_acks(&w, ACK_SYNCED);
	w.peer.class = PEER_OK;
	start(&w);
	run(&w, S(10));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_int_equal(w.page_term, 2);
	assert_int_equal(w.lease.handover, 0);
}

static void test_C13_each_switchover_waits_for_its_own_drain_and_ack(void **state)
{
	struct world w;

	(void)state;
	active_ready(&w);
	assert_true(command(&w, COMMAND_SWITCHOVER));
	run(&w, S(1));
	assert_int_equal(w.lease.phase, PHASE_DRAINING);
	run(&w, MS(9500)); /* 10 s from when it was shown, not from the longest drain */
	assert_true(said(&w, REASON_SWITCHOVER_LATE));
	run_to(&w, STATE_ACTIVE, S(5));
	peer_acks(&w, ACK_SYNCED); /* the same id, late */
	w.workload_stays = true;
	assert_true(command(&w, COMMAND_SWITCHOVER));
	run(&w, S(3));
	assert_int_equal(w.m.state, STATE_DRAIN);
	assert_int_equal(w.lease.holder, HOLDER_SELF);
}

static void test_C13_a_release_is_written_at_once_and_begins_a_watch(void **state)
{
	struct machine_event e = { .input = MACHINE_LEASE_WATCHED };
	struct world w;

	(void)state;
	active_ready(&w);
	assert_true(command(&w, COMMAND_SWITCHOVER));
	run(&w, S(1));
	w.m.lease_at_ns = w.now_ns + S(2);
	peer_acks(&w, ACK_SYNCED);
	look(&w, 0);
	assert_int_equal(w.m.state, STATE_RELEASE);
	w.m.lease_busy = true; /* the last renewal is still under way */
	e.watched = w.lease;   /* and somebody took the holder out */
	e.watched.holder = HOLDER_NONE;
	e.watched.phase = PHASE_RELEASED;
	world_step(&w, &e);
	tick(&w);
	assert_int_equal(w.m.state, STATE_RELEASE);
	w.m.lease_busy = false;
	tick(&w);
	run(&w, MS(10));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.lease.phase, PHASE_RELEASED);
	assert_int_equal(w.m.reads, 0);
}

static void test_B15_each_missing_thing_is_named_and_nothing_changes(void **state)
{
	struct world w;
	struct machine_standby ready;
	uint64_t term;

	(void)state;
	active_ready(&w);
	ready = w.peer.standby;
	term = w.m.term;
	w.peer.standby.armed = false;
	look(&w, 0);
	assert_string_equal(refused(&w, COMMAND_SWITCHOVER), "standby armed");
	assert_false(command(&w, COMMAND_SWITCHOVER));
	w.peer.standby = ready;
	w.peer.standby.complete = false;
	look(&w, 0);
	assert_string_equal(refused(&w, COMMAND_SWITCHOVER), "standby's mirror complete");
	w.peer.standby = ready;
	w.peer.standby.lag_ms = 5000;
	look(&w, 0);
	assert_string_equal(refused(&w, COMMAND_SWITCHOVER), "lag of the standby's mirror");
	w.peer.standby.lag_ms = 4999;
	look(&w, 0);
	assert_null(refused(&w, COMMAND_SWITCHOVER));
	w.peer.standby.known = false;
	look(&w, 0);
	assert_non_null(refused(&w, COMMAND_SWITCHOVER));
	w.peer.standby = ready;
	peer_fails(&w, PEER_BLIND, PEER_WHY_FORBIDDEN);
	look(&w, 0);
	assert_string_equal(refused(&w, COMMAND_SWITCHOVER), "peer's Lease");
	w.peer.class = PEER_OK; /* there, but it says nothing new: its process is gone */
	run(&w, S(40));
	assert_string_equal(refused(&w, COMMAND_SWITCHOVER), "age of the standby's word");
	assert_false(command(&w, COMMAND_SWITCHOVER));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_int_equal(w.m.term, term);
	assert_true(w.page_open);
}

/* --- The one that takes over -------------------------------------------------------------------
 */

static void peer_drains(struct world *w)
{
	w->peer.phase = PHASE_DRAINING;
	w->peer.handover = ID;
	w->peer.to_me = true;
}

static void peer_releases(struct world *w)
{
	w->peer.phase = PHASE_RELEASED;
	w->peer.holder = HOLDER_NONE;
	w->peer.holder_hash = 0;
	w->renews = false;
}

static void barrier_done(struct world *w, bool synced)
{
	struct machine_event e = { .input = MACHINE_BARRIER_DONE };

	e.barrier.id = w->barrier;
	e.barrier.synced = synced;
	world_step(w, &e);
}

static void test_C13_standby_asks_its_mirror_acks_and_takes_what_is_released(void **state)
{
	struct world w;
	int64_t released_ns;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	peer_drains(&w);
	run(&w, S(3));
	assert_int_equal(w.barrier, ID);
	assert_int_equal(w.lease.ack_id, 0);
	barrier_done(&w, true);
	run(&w, MS(10));
	assert_int_equal(w.lease.ack_id, ID);
	assert_int_equal(w.lease.ack, ACK_SYNCED);
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.first[REASON_BARRIER], 1);

	peer_releases(&w);
	released_ns = w.now_ns;
	run_to(&w, STATE_ACTIVE, S(10));
	assert_true(w.now_ns - released_ns < S(4)); /* it waits for no threshold */
	assert_int_equal(w.page_term, 3);
	assert_true(said(&w, REASON_HANDED));
	assert_true(said(&w, REASON_PROMOTED));
	assert_int_equal(w.first[REASON_PEER_SILENT], 0);
}

static void test_C13_a_hub_with_newer_content_has_no_barrier_for_its_mirror(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	w.m.led_term = 3; /* it led after the peer did */
	peer_drains(&w);
	run(&w, S(3));
	assert_int_equal(w.barrier, 0);
	assert_int_equal(w.lease.ack, ACK_DECLINED);
}

static void test_C13_a_mirror_that_is_behind_or_gone_declines(void **state)
{
	struct machine_event lost = { .input = MACHINE_MIRROR_LOST };

	for (int i = 0; i < 3; i++) {
		struct world w;

		(void)state;
		world_make(&w, 1, false);
		standby_ready(&w);
		peer_drains(&w);
		run(&w, S(3));
		if (i == 0)
			barrier_done(&w, false);
		if (i == 1)
			world_step(&w, &lost);
		run(&w, S(10)); /* 2: no answer */
		assert_int_equal(w.lease.ack_id, ID);
		assert_int_equal(w.lease.ack, ACK_DECLINED);
		peer_releases(&w);
		run(&w, S(10));
		assert_int_equal(w.m.state, STATE_STANDBY);
		assert_false(said(&w, REASON_HANDED));
	}
}

static void test_C13_what_is_released_to_another_or_under_another_id_is_not_taken(void **state)
{
	for (int i = 0; i < 3; i++) {
		struct world w;

		(void)state;
		world_make(&w, 1, false);
		standby_ready(&w);
		peer_drains(&w);
		w.peer.to_me = i != 0;
		run(&w, S(3));
		assert_int_equal(w.barrier, i == 0 ? 0 : ID);
		barrier_done(&w, true);
		run(&w, S(1));
		peer_releases(&w);
		if (i == 1)
			w.peer.handover = ID + 1;
		if (i == 2)
			w.peer.led_term = 1; /* an old offer: this hub led since */
		if (i == 2)
			w.m.led_term = w.m.peer.led_term;
		run(&w, S(6));
		assert_false(said(&w, REASON_HANDED));
		assert_false(w.page_open);
	}
}

static void test_C13_an_answer_to_another_barrier_is_none(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	peer_drains(&w);
	run(&w, S(3));
	w.barrier = ID + 1;
	barrier_done(&w, true);
	run(&w, S(1));
	assert_int_equal(w.lease.ack_id, 0);
}

static void test_C8_a_hand_over_backs_out_when_the_peer_takes_it_back(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	peer_drains(&w);
	run(&w, S(3));
	barrier_done(&w, true);
	run(&w, S(1));
	peer_releases(&w);
	w.syncer_stays = true;
	run(&w, S(3));
	assert_int_equal(w.m.state, STATE_STOPPING);
	peer_leads(&w, 4);
	run(&w, S(3));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_false(w.page_open);
}

static void test_a_standby_says_of_itself_what_a_switchover_asks(void **state)
{
	struct world w;
	int64_t said_us;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	run(&w, S(12));
	assert_true(w.said_of_itself.known);
	assert_true(w.said_of_itself.armed);
	assert_true(w.said_of_itself.complete);
	said_us = w.lease.renew_us;
	run(&w, S(11));
	assert_true(w.lease.renew_us > said_us); /* every 10 s */
	mirror(&w, false);
	w.m.complete = false;
	run(&w, S(2));
	assert_false(w.said_of_itself.complete);
	for (int i = 0; i < 3; i++) { /* over a switchover's limit and back: told at once */
		static const int64_t lags_ms[] = { 4999, 5000, 4999 };
		struct machine_event e = { .input = MACHINE_MIRROR_SEEN };

		memcpy(e.mirror.uid, UID_P, sizeof(UID_P));
		e.mirror.led_term = 2;
		e.mirror.complete = true;
		e.mirror.lag_ms = lags_ms[i];
		run(&w, i == 0 ? S(12) : 0);
		w.m.standby_ns = w.now_ns - S(2);
		world_step(&w, &e);
		run(&w, i == 0 ? S(12) : S(2));
		assert_int_equal(w.said_of_itself.lag_ms, lags_ms[i]);
	}
	peer_fails(&w, PEER_BLIND, PEER_WHY_FORBIDDEN);
	run(&w, S(3));
	assert_false(w.said_of_itself.armed);
	peer_leads(&w, 2);
	run(&w, S(3));
	w.m.options.automatic = false; /* what an operator allows is another matter */
	run(&w, S(12));
	assert_true(w.said_of_itself.armed);
	assert_false(machine_armed(&w.m));
}

static void test_H2_what_a_standby_says_is_no_sign_of_a_leader(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	/* hub-a lost its claim and only refreshes what it says of itself. */
	w.peer.holder = HOLDER_NONE;
	w.peer.holder_hash = 0;
	w.peer.phase = PHASE_NONE;
	run(&w, S(30));
	assert_int_equal(w.m.state, STATE_ACTIVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_C13_drains_in_order_keeps_renewing_and_releases_on_the_ack),
		cmocka_unit_test(test_C13_workload_is_dead_before_anybody_is_told),
		cmocka_unit_test(test_C13_each_step_has_a_way_back_under_the_same_term),
		cmocka_unit_test(test_C13_an_ack_of_another_switchover_releases_nothing),
		cmocka_unit_test(test_C13_an_ack_before_draining_is_shown_releases_nothing),
		cmocka_unit_test(test_H1_a_release_of_unknown_outcome_is_read_again),
		cmocka_unit_test(test_H1_a_release_that_cannot_be_written_never_opens_the_page),
		cmocka_unit_test(test_C13_what_nobody_takes_comes_back_after_10_s_with_a_new_term),
		cmocka_unit_test(test_C13_after_a_release_an_unreadable_peer_keeps_it_standby),
		cmocka_unit_test(test_I1_validity_that_runs_out_while_draining_ends_it),
		cmocka_unit_test(test_C9_a_higher_claim_ends_a_drain_like_a_lead),
		cmocka_unit_test(test_a_process_that_starts_on_its_own_drain_cancels_it),
		cmocka_unit_test(test_C13_each_switchover_waits_for_its_own_drain_and_ack),
		cmocka_unit_test(test_C13_a_release_is_written_at_once_and_begins_a_watch),
		cmocka_unit_test(test_C13_a_hub_with_newer_content_has_no_barrier_for_its_mirror),
		cmocka_unit_test(test_B15_each_missing_thing_is_named_and_nothing_changes),
		cmocka_unit_test(test_C13_standby_asks_its_mirror_acks_and_takes_what_is_released),
		cmocka_unit_test(test_C13_a_mirror_that_is_behind_or_gone_declines),
		cmocka_unit_test(
		    test_C13_what_is_released_to_another_or_under_another_id_is_not_taken),
		cmocka_unit_test(test_C13_an_answer_to_another_barrier_is_none),
		cmocka_unit_test(test_C8_a_hand_over_backs_out_when_the_peer_takes_it_back),
		cmocka_unit_test(test_a_standby_says_of_itself_what_a_switchover_asks),
		cmocka_unit_test(test_H2_what_a_standby_says_is_no_sign_of_a_leader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
