/*
 * Goal: operators' commands are taken exactly when their checks pass (B15), and pause, manual mode,
 * block and force do what they say (H21, B16, B17, C5, C6).
 * Method: one hub in virtual time (elector_world.h); the test plays the peer's Lease.
 */
#include "elector_command.h"

/* --- An operator's word ------------------------------------------------------------------------
 */

static void test_H21_a_paused_standby_says_so_and_promotes_never(void **state)
{
	struct world w;
	char holds[128];

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	assert_true(
	    command_with(&w, (struct machine_command){ .verb = COMMAND_PAUSE, .for_ms = 300000 }));
	run(&w, MS(10));
	assert_int_equal(w.lease.paused_us, w.wall_us - 10000 + 300000000);
	assert_true(machine_holds(&w.m, holds));
	assert_false(machine_armed(&w.m));
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(240));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_true(said(&w, REASON_PAUSED));
	assert_int_equal(w.first[REASON_PAUSED], 1);
	/* It ends by itself. */
	run(&w, S(100));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_int_equal(w.first[REASON_PAUSE_ENDED], 1);
	assert_int_equal(w.lease.paused_us, 0);
}

static void test_H21_a_pause_survives_a_restart_and_can_be_ended(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	w.lease = LEASE(HOLDER_NONE, PHASE_NONE, 1, 0, OTHER, w.wall_us - 1000);
	w.lease.paused_us = w.wall_us + 600000000;
	standby_complete(&w);
	assert_false(w.m.paused_until_ns == 0);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(60));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_null(refused(&w, COMMAND_RESUME));
	assert_true(command(&w, COMMAND_RESUME));
	run(&w, S(40));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_string_equal(refused(&w, COMMAND_RESUME), "state of this hub");
}

static void test_H21_pauses_are_bounded(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	for (int i = 0; i < 3; i++) {
		const int64_t bad[] = { 0, -5, 14400001 };
		struct machine_command c = { .verb = COMMAND_PAUSE, .for_ms = bad[i] };

		assert_string_equal(refusal(&w, c), "for");
		assert_false(command_with(&w, c));
		assert_int_equal(w.m.paused_until_ns, 0);
	}
	assert_string_equal(refused(&w, COMMAND_RESUME), "paused");
}

static void test_B17_manual_mode_tells_and_waits_for_an_operator(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	w.m.options.automatic = false;
	standby_complete(&w);
	assert_string_equal(refused(&w, COMMAND_PROMOTE), "peer silent for");
	assert_false(command(&w, COMMAND_PROMOTE));
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(120));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.first[REASON_MANUAL], 1);
	assert_null(refused(&w, COMMAND_PROMOTE));
	assert_true(command(&w, COMMAND_PROMOTE));
	run(&w, S(5));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_int_equal(w.page_term, 3);
}

static void test_C3_an_operators_promotion_keeps_the_guards(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	w.m.options.automatic = false;
	w.m.options.workers = 1;
	w.workers_answer = 1;
	w.witness[0] = WITNESS_READ;
	standby_complete(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	run(&w, S(60));
	assert_true(command(&w, COMMAND_PROMOTE));
	run(&w, S(10));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_true(said(&w, REASON_WITNESS_VETO));
}

static void test_C5_force_takes_a_living_peers_lead_but_not_an_incomplete_mirror(void **state)
{
	struct machine_command accept = { .verb = COMMAND_FORCE, .accept_incomplete = true };

	for (int i = 0; i < 2; i++) {
		struct world w;

		(void)state;
		world_make(&w, 1, false);
		standby_ready(&w);
		if (i == 1) {
			w.m.complete = false;
			assert_string_equal(refused(&w, COMMAND_FORCE), "mirror complete");
			assert_false(command(&w, COMMAND_FORCE));
			assert_null(refusal(&w, accept));
			assert_true(command_with(&w, accept));
		} else {
			assert_null(refused(&w, COMMAND_FORCE));
			assert_true(command(&w, COMMAND_FORCE));
		}
		run(&w, S(6));
		assert_int_equal(w.m.state, STATE_ACTIVE);
		assert_int_equal(w.page_term, 3);
		assert_int_equal(w.first[REASON_FORCED], 1);
	}
}

/* A Standby that says nothing of itself has no age, and a word that never came is none. */
static void test_B15_a_word_that_nobody_said_is_unknown(void **state)
{
	struct machine_command c = { .verb = COMMAND_SWITCHOVER, .operation = ID };

	for (int i = 0; i < 2; i++) {
		struct machine_check checks[MACHINE_MAX_CHECKS];
		struct machine_check word = { 0 };
		struct world w;

		(void)state;
		active_ready(&w);
		if (i == 0)
			w.peer.standby.known = false;
		look(&w, 0);
		if (i == 1)
			w.m.peer.word_ns = 0; /* it has no renewTime */
		for (unsigned n = machine_checks(&w.m, &c, checks); n > 0; n--)
			if (strcmp(checks[n - 1].name, "age of the standby's word") == 0)
				word = checks[n - 1];
		assert_non_null(word.name);
		assert_false(word.ok);
		assert_string_equal(word.value, "unknown");
	}
}

/* Where nobody ever led there is nothing that a mirror would hold. */
static void test_C5_force_makes_the_first_leader_without_a_mirror(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	w.peer.instance = PEER_I;
	start(&w);
	run(&w, S(5));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.grants, 0);
	assert_null(refused(&w, COMMAND_FORCE));
	assert_true(command(&w, COMMAND_FORCE));
	run(&w, S(5));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_int_equal(w.page_term, 1);
}

static void test_C8_even_force_yields_to_a_higher_claim(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	w.syncer_stays = true;
	assert_true(command(&w, COMMAND_FORCE));
	run(&w, S(1));
	peer_leads(&w, 4);
	w.m.peer.term = 2; /* seen only after the claim */
	w.syncer_stays = false;
	{
		struct machine_event gone = { .input = MACHINE_SYNCER_GONE, .clean = true };

		world_step(&w, &gone);
	}
	run(&w, S(10));
	assert_false(w.page_open);
	assert_int_equal(w.m.state, STATE_STANDBY);
}

static void test_C6_force_leaves_the_hold_with_a_new_term(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 0, true);
	start(&w);
	run(&w, S(5));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	w.api_down = true;
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	run(&w, S(60));
	w.api_down = false;
	run(&w, S(30));
	assert_int_equal(w.m.state, STATE_HELD);
	assert_string_equal(refused(&w, COMMAND_PROMOTE), "state of this hub");
	assert_false(command(&w, COMMAND_PROMOTE));
	assert_int_equal(w.m.state, STATE_HELD);
	assert_null(refused(&w, COMMAND_FORCE));
	assert_true(command(&w, COMMAND_FORCE));
	run(&w, S(5));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_int_equal(w.page_term, 4);
}

/* hub-a led term 2, hub-b took over with 3 without a plan; hub-a is its Standby. */
static void taken_over(struct world *w, bool planned)
{
	world_make(w, 0, true);
	w->m.options.block_ns = S(300);
	w->lease = LEASE(HOLDER_NONE, PHASE_NONE, 2, 2, OTHER, w->wall_us - 1000);
	if (planned) {
		w->lease.phase = PHASE_RELEASED;
		w->lease.handover = ID;
		w->peer.ack_id = ID;
		w->peer.ack = ACK_SYNCED;
	}
	w->peer.acquire_us = w->wall_us - 60000000;
	peer_leads(w, 3);
	start(w);
	run(w, S(3));
	mirror(w, true);
	run(w, S(5));
	assert_int_equal(w->m.state, STATE_STANDBY);
	assert_true(machine_complete(&w->m));
}

static void test_B16_what_was_taken_unplanned_is_not_taken_back_at_once(void **state)
{
	struct world w;

	(void)state;
	taken_over(&w, false);
	assert_false(machine_armed(&w.m));
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(200));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.first[REASON_BLOCKED], 1);
	run(&w, S(80)); /* 300 s from the takeover, which was 60 s old */
	assert_int_equal(w.m.state, STATE_ACTIVE);
}

static void test_B16_acknowledged_planned_or_first_it_is_not_blocked(void **state)
{
	struct world w;

	(void)state;
	taken_over(&w, true);
	assert_true(machine_armed(&w.m));
	assert_string_equal(refused(&w, COMMAND_ACKNOWLEDGE), "automatic promotion blocked");
	assert_false(command(&w, COMMAND_ACKNOWLEDGE)); /* it would have no effect */

	taken_over(&w, false);
	assert_null(refused(&w, COMMAND_ACKNOWLEDGE));
	assert_true(command(&w, COMMAND_ACKNOWLEDGE));
	assert_true(machine_armed(&w.m));
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(40));
	assert_int_equal(w.m.state, STATE_ACTIVE);

	world_make(&w, 1, false); /* nobody took anything from this one */
	w.m.options.block_ns = S(300);
	w.peer.acquire_us = w.wall_us;
	standby_ready(&w);
	assert_true(machine_armed(&w.m));
}

static void test_B16_only_a_whole_switchover_was_a_plan(void **state)
{
	for (int i = 0; i < 5; i++) {
		struct world w;

		(void)state;
		world_make(&w, 0, true);
		w.m.options.block_ns = S(300);
		w.lease = LEASE(HOLDER_NONE, PHASE_RELEASED, 2, 2, OTHER, w.wall_us - 1000);
		w.lease.phase = i == 1 ? PHASE_NONE : PHASE_RELEASED;
		w.lease.handover = i == 2 ? 0 : ID;
		w.peer.ack_id = i == 2 ? 0 : i == 3 ? ID + 1 : ID;
		w.peer.ack = i == 4 ? ACK_DECLINED : ACK_SYNCED;
		w.peer.acquire_us = w.wall_us;
		peer_leads(&w, 3);
		start(&w);
		run(&w, S(3));
		assert_int_equal(w.m.block.term, i == 0 ? 0 : 3);
	}
}

static void test_B16_it_counts_from_the_completed_takeover_and_is_judged_once(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 0, true);
	w.m.options.block_ns = S(300);
	w.lease = LEASE(HOLDER_NONE, PHASE_NONE, 2, 2, OTHER, w.wall_us - 1000);
	w.peer.acquire_us = w.wall_us;
	peer_leads(&w, 3);
	w.peer.phase = PHASE_ACQUIRING;
	start(&w);
	run(&w, S(3));
	assert_int_equal(w.m.block.term, 0);
	w.peer.phase = PHASE_LEADING;
	w.peer.holder = HOLDER_NONE; /* nobody holds it */
	run(&w, S(3));
	assert_int_equal(w.m.block.term, 0);
	w.peer.holder = HOLDER_PEER;
	run(&w, S(3));
	assert_int_equal(w.m.block.term, 3);
	assert_true(command(&w, COMMAND_ACKNOWLEDGE));
	run(&w, S(10));
	assert_true(w.m.block.acknowledged);
	w.peer.term = w.peer.led_term = 5; /* claimed anew, long after the takeover */
	w.peer.acquire_us = w.wall_us - 400000000;
	run(&w, S(3));
	assert_true(w.m.block.term == 0 && w.m.block_until_ns == 0);
}

static void restart(struct world *w)
{
	struct machine_options options = w->m.options;

	options.instance++;
	machine_init(&w->m, &options);
	start(w);
	run(w, S(25)); /* the predecessor's Lease, then the peer that may not answer */
}

static void test_B16_block_and_acknowledgement_survive_a_restart(void **state)
{
	struct world w;

	(void)state;
	taken_over(&w, false);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	w.record = (struct machine_record){
		.exists = true, .term = 3, .led_term = 3, .mirror_term = 3, .complete = true
	};
	memcpy(w.record.uid, UID_P, sizeof(UID_P));
	memcpy(w.record.mirror_uid, UID_P, sizeof(UID_P));
	restart(&w);
	run(&w, S(60));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.first[REASON_BLOCKED], 1);
	assert_null(refused(&w, COMMAND_ACKNOWLEDGE));
	/* A wall clock that went back an hour does not make it longer than it is configured. */
	w.lease.block.until_us += 3600000000LL;
	restart(&w);
	assert_in_range(w.m.block_until_ns, w.now_ns, w.now_ns + S(300));
	run(&w, S(300));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_int_equal(w.lease.block.term, 0);

	taken_over(&w, false);
	assert_true(command(&w, COMMAND_ACKNOWLEDGE));
	run(&w, MS(10));
	assert_true(w.lease.block.acknowledged);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	w.record = (struct machine_record){
		.exists = true, .term = 3, .led_term = 3, .mirror_term = 3, .complete = true
	};
	memcpy(w.record.uid, UID_P, sizeof(UID_P));
	memcpy(w.record.mirror_uid, UID_P, sizeof(UID_P));
	restart(&w);
	run(&w, S(30));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_false(said(&w, REASON_BLOCKED));
}

static void test_M2_what_held_promotion_back_delays_none_that_is_allowed(void **state)
{
	struct world w;

	(void)state;
	taken_over(&w, false);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(150)); /* refused again and again, at last each 30 s */
	assert_true(w.m.back_off_ns == S(30));
	assert_true(command(&w, COMMAND_ACKNOWLEDGE));
	run(&w, S(1));
	assert_int_equal(w.m.state, STATE_ACTIVE);

	for (unsigned by_hand = 0; by_hand < 2; by_hand++) {
		world_make(&w, 1, false);
		standby_ready(&w);
		assert_true(command_with(
		    &w, (struct machine_command){ .verb = COMMAND_PAUSE, .for_ms = 150000 }));
		peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
		run(&w, MS(149900));
		assert_int_equal(w.m.state, STATE_STANDBY);
		assert_true(w.m.back_off_ns == S(30));
		if (by_hand)
			assert_true(command(&w, COMMAND_RESUME));
		run(&w, S(1));
		assert_int_equal(w.m.state, STATE_ACTIVE);
	}
}

/* hub-b, which took over with term 3. */
static void standby_leads(struct world *w)
{
	world_make(w, 1, false);
	standby_ready(w);
	peer_fails(w, PEER_SILENT, PEER_WHY_REFUSED);
	run(w, S(60));
	assert_int_equal(w->m.state, STATE_ACTIVE);
}

static void test_M12_another_cluster_in_the_peers_place_must_be_accepted(void **state)
{
	struct world w;
	unsigned claims;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	assert_non_null(refused(&w, COMMAND_ACCEPT_PEER));
	w.peer.uid[0] = '3';
	run(&w, S(5));
	assert_true(w.m.peer.replaced);
	assert_null(refused(&w, COMMAND_ACCEPT_PEER));
	assert_true(command(&w, COMMAND_ACCEPT_PEER));
	run(&w, S(5));
	assert_false(w.m.peer.replaced);
	assert_int_equal(w.m.peer.uid[0], '3');
	assert_int_equal(w.m.peer.led_term, 2);
	assert_false(machine_complete(&w.m));

	/* The one that leads accepts its rebuilt Standby, and leads on. */
	standby_leads(&w);
	w.peer = (struct machine_look){ .class = PEER_NOT_FOUND };
	memcpy(w.peer.uid, UID_P, sizeof(UID_P));
	w.renews = false;
	assert_non_null(refused(&w, COMMAND_ACCEPT_PEER));
	w.peer.uid[0] = '3';
	run(&w, S(5));
	assert_true(w.m.peer.replaced);
	assert_true(command(&w, COMMAND_ACCEPT_PEER));
	/* Its Lease says so as soon as it has looked: until then the rebuilt hub leaves (H14). */
	claims = w.claims;
	for (int i = 0; i < 2; i++) {
		look(&w, 0);
		run(&w, MS(1));
		assert_int_equal(w.claims, claims + 1);
	}
	run(&w, S(5));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_false(w.m.peer.replaced);
	assert_int_equal(w.m.peer.uid[0], '3');
	assert_int_equal(w.m.term, 3);
}

/* --- A worker's term that nobody claims --------------------------------------------------------
 */

static void worker_shows(struct world *w, unsigned slot, uint64_t term)
{
	struct machine_event e = { .input = MACHINE_WORKER_SEEN };

	e.worker.slot = slot;
	e.worker.state = WORKER_OK;
	e.worker.term = term;
	world_step(w, &e);
}

static void test_decision_14_a_rogue_term_is_outbid_after_5_minutes(void **state)
{
	for (unsigned slot = 0; slot < 2; slot++) {
		struct world w;

		(void)state;
		active_ready(&w);
		w.m.options.workers = 1;
		worker_shows(&w, slot, 20 + slot);
		run(&w, S(290));
		assert_int_equal(w.m.state, STATE_ACTIVE);
		assert_int_equal(w.page_term, 2);
		memset(w.order, 0, sizeof(w.order));
		run(&w, S(20));
		assert_int_equal(w.m.state, STATE_ACTIVE);
		assert_int_equal(w.page_term, 22);
		assert_int_equal(w.lease.led_term, 22);
		assert_int_equal(w.first[REASON_RECLAIMS], 1);
		assert_non_null(strstr(w.order, "ptr"));
	}
}

static void test_decision_14_a_term_that_went_away_or_is_claimed_is_not_outbid(void **state)
{
	struct world w;

	(void)state;
	active_ready(&w);
	w.m.options.workers = 1;
	worker_shows(&w, 1, 21);
	run(&w, S(100));
	worker_shows(&w, 0, 2); /* made right by its administrator */
	run(&w, S(400));
	assert_int_equal(w.page_term, 2);

	active_ready(&w);
	w.m.options.workers = 1;
	worker_shows(&w, 1, 21);
	run(&w, S(100));
	peer_leads(&w, 21);
	run(&w, S(20));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_false(said(&w, REASON_RECLAIMS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_H21_a_paused_standby_says_so_and_promotes_never),
		cmocka_unit_test(test_H21_a_pause_survives_a_restart_and_can_be_ended),
		cmocka_unit_test(test_H21_pauses_are_bounded),
		cmocka_unit_test(test_B17_manual_mode_tells_and_waits_for_an_operator),
		cmocka_unit_test(test_C3_an_operators_promotion_keeps_the_guards),
		cmocka_unit_test(
		    test_C5_force_takes_a_living_peers_lead_but_not_an_incomplete_mirror),
		cmocka_unit_test(test_B15_a_word_that_nobody_said_is_unknown),
		cmocka_unit_test(test_C5_force_makes_the_first_leader_without_a_mirror),
		cmocka_unit_test(test_C8_even_force_yields_to_a_higher_claim),
		cmocka_unit_test(test_C6_force_leaves_the_hold_with_a_new_term),
		cmocka_unit_test(test_B16_what_was_taken_unplanned_is_not_taken_back_at_once),
		cmocka_unit_test(test_B16_acknowledged_planned_or_first_it_is_not_blocked),
		cmocka_unit_test(test_B16_only_a_whole_switchover_was_a_plan),
		cmocka_unit_test(test_B16_it_counts_from_the_completed_takeover_and_is_judged_once),
		cmocka_unit_test(test_B16_block_and_acknowledgement_survive_a_restart),
		cmocka_unit_test(test_M2_what_held_promotion_back_delays_none_that_is_allowed),
		cmocka_unit_test(test_M12_another_cluster_in_the_peers_place_must_be_accepted),
		cmocka_unit_test(test_decision_14_a_rogue_term_is_outbid_after_5_minutes),
		cmocka_unit_test(
		    test_decision_14_a_term_that_went_away_or_is_claimed_is_not_outbid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
