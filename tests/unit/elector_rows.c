/*
 * Goal: what a row orders is ordered, in the order that the rules name, where no schedule would
 * tell soon that it was not: reads that must be fresh, permits that must be revoked, reasons that
 * must be the first that holds. Method: a hub in virtual time (elector_world.h), brought to each
 * row.
 */
#include "elector_command.h"

static void leading(struct world *w)
{
	world_make(w, 0, true);
	w->m.options.workload = true;
	start(w);
	run(w, S(5));
	assert_int_equal(w->m.state, STATE_ACTIVE);
	memset(w->order, 0, sizeof(w->order));
}

static void test_C6_a_lapse_is_followed_by_a_fresh_read_of_the_peer(void **state)
{
	struct world w;
	unsigned reads;

	(void)state;
	leading(&w);
	w.api_down = true;
	reads = w.peer_reads;
	run_to(&w, STATE_RECOVER, S(12));
	assert_int_equal(w.peer_reads, reads + 1);
	assert_non_null(strstr(w.order, "ptr"));
}

/* A claim that an earlier look showed and the fresh read does not is no reason to yield. */
static void test_C6_the_read_after_a_lapse_decides(void **state)
{
	struct world w;

	(void)state;
	leading(&w);
	w.api_down = true;
	run(&w, w.page_until_ns - w.now_ns - MS(1));
	w.no_observer = true;
	run_to(&w, STATE_RECOVER, S(1));
	peer_leads(&w, 3);
	w.peer.phase = PHASE_ACQUIRING;
	w.peer.led_term = 0;
	look(&w, 0);
	assert_int_equal(w.m.state, STATE_RECOVER);
	w.peer.holder = HOLDER_NONE;
	w.peer.phase = PHASE_NONE;
	w.no_observer = false;
	w.api_down = false;
	run(&w, S(12));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_int_equal(w.page_term, 2);
}

static void test_C6_a_recoverer_that_is_late_reads_again(void **state)
{
	struct world w;
	unsigned reads = 0;

	(void)state;
	leading(&w);
	w.api_down = true;
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	run(&w, S(14));
	w.api_down = false;
	w.lose_replies = true; /* found by a read, a retry period later */
	run_to(&w, STATE_ACQ, S(6));
	w.lose_replies = false;
	w.no_observer = true; /* the read after the claim is not answered, and the gap grows */
	memset(w.order, 0, sizeof(w.order));
	for (int i = 0; i < 1000 && !said(&w, REASON_RECOVERY_LATE); i++) {
		reads = w.peer_reads;
		run(&w, MS(10));
	}
	assert_true(said(&w, REASON_RECOVERY_LATE));
	assert_int_equal(w.m.state, STATE_RECOVER);
	assert_int_equal(w.peer_reads, reads + 1);
	assert_non_null(strchr(w.order, 't'));
	assert_null(strchr(w.order, 'P'));
}

static void test_I10_a_ghost_is_withdrawn_in_the_order_of_every_close(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, true);
	w.lease = LEASE(HOLDER_SELF, PHASE_ACQUIRING, 5, 0, OTHER, w.wall_us);
	w.m.dead = OTHER;
	w.syncer_stays = true;
	peer_leads(&w, 2); /* and both are configured active: the ghost comes first */
	w.peer.phase = PHASE_ACQUIRING;
	w.peer.led_term = 0;
	start(&w);
	run(&w, S(1));
	assert_int_equal(w.m.state, STATE_INIT); /* I6: not before the mirror is gone */
	w.syncer_stays = false;
	memset(w.order, 0, sizeof(w.order));
	run(&w, S(3));
	assert_true(said(&w, REASON_STARTED_GHOST));
	assert_false(said(&w, REASON_BOTH_ACTIVE));
	assert_non_null(strstr(w.order, "pt"));
	assert_int_equal(w.lease.holder, HOLDER_NONE);
}

/* To OPENING, with W2 lost on its way. */
static void opening(struct world *w)
{
	world_make(w, 1, false);
	standby_ready(w);
	peer_fails(w, PEER_SILENT, PEER_WHY_REFUSED);
	w->role_fails = true;
	w->probe_fixed = true;
	w->probe = PROBE_FAILED;
	run_to(w, STATE_OPENING, S(30));
}

static void test_H14_a_clash_revokes_what_the_opening_permitted(void **state)
{
	struct world w;

	(void)state;
	opening(&w);
	assert_true(w.permitted);
	peer_leads(&w, 2);
	w.peer.own_uid = true;
	look(&w, 0);
	assert_int_equal(w.exit_code, 78);
	assert_false(w.permitted);
}

static void test_H4_a_claim_that_changes_before_W2_ends_the_promotion(void **state)
{
	struct world w;

	(void)state;
	opening(&w);
	w.m.leading_applied = false; /* W2 is still on its way */
	w.m.back_off_ns = 0;
	peer_leads(&w, 2);
	look(&w, 0);
	assert_true(said(&w, REASON_BACKED_OUT));
	assert_int_equal(w.m.state, STATE_YIELD);
	assert_int_equal(w.m.duel_ns, 7); /* the random part of RP */
	assert_int_equal(w.m.back_off_ns, S(2));
	assert_false(w.permitted);
}

static void test_H3_a_mirror_that_ended_in_the_last_moment_is_gone(void **state)
{
	struct machine_event gone = { .input = MACHINE_SYNCER_GONE, .clean = true };
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	w.syncer_stays = true;
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run_to(&w, STATE_STOPPING, S(30));
	w.now_ns = w.m.since_ns + S(11); /* it stood still, and reads first what came (H2) */
	world_step(&w, &gone);
	tick(&w);
	assert_int_not_equal(w.m.state, STATE_STANDBY);
	assert_false(said(&w, REASON_MIRROR_NOT_STOPPED));
}

static void test_H1_an_earlier_write_is_no_claim(void **state)
{
	struct machine_event gone = { .input = MACHINE_SYNCER_GONE, .clean = true };
	struct machine_event seen = { .input = MACHINE_LEASE_WATCHED };
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	w.syncer_stays = true;
	run_to(&w, STATE_STOPPING, S(30));
	w.api_down = true;
	world_step(&w, &gone);
	run_to(&w, STATE_ACQ, S(8));
	w.m.sent[0] = (struct machine_sent){
		.renew_us = w.lease.renew_us + 1, .sent_ns = w.now_ns, .epoch = w.m.epoch
	};
	seen.watched = w.lease; /* a Standby's write whose answer was lost */
	seen.watched.renew_us++;
	world_step(&w, &seen);
	assert_int_equal(w.m.state, STATE_ACQ);
}

static void test_H1_a_conflict_and_a_write_that_was_never_sent_leave_nothing_open(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct machine_event e = { .input = MACHINE_LEASE_ANSWERED };
		struct world w;

		(void)state;
		world_make(&w, 1, false);
		standby_ready(&w);
		w.m.state = STATE_ACQ;
		w.m.lease_busy = true;
		e.answer.write = true;
		e.answer.outcome = OUTCOME_UNSURE;
		e.answer.conflict = i == 0;
		e.answer.never_sent = i == 1;
		w.api_down = true;
		world_step(&w, &e);
		assert_int_equal(w.m.open_unknowns, 0);
	}
}

static void test_H10_an_old_write_of_this_process_is_no_other_process(void **state)
{
	struct machine_event e = { .input = MACHINE_LEASE_ANSWERED };
	struct world w;
	struct machine_lease old;

	(void)state;
	leading(&w);
	old = w.lease;
	run(&w, S(60)); /* more writes than are remembered */
	w.m.lease_busy = true;
	e.answer.outcome = OUTCOME_DONE;
	e.answer.lease = old; /* a backup was put in its place */
	e.answer.finished_ns = w.now_ns;
	world_step(&w, &e);
	assert_int_equal(w.exit_code, 0);

	leading(&w);
	w.m.lease_busy = true;
	e.answer.lease = w.lease; /* somebody edited its annotations away (H15) */
	e.answer.lease.instance = 0;
	e.answer.lease.phase = PHASE_NONE;
	e.answer.lease.term = e.answer.lease.led_term = 0;
	e.answer.finished_ns = w.now_ns;
	world_step(&w, &e);
	assert_int_equal(w.exit_code, 0);
	assert_int_equal(w.m.term, 2);
	assert_int_equal(w.m.led_term, 2);
}

static void test_C13_a_switchovers_word_survives_a_restart(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	w.lease = LEASE(HOLDER_NONE, PHASE_NONE, 1, 0, OTHER, w.wall_us);
	w.lease.ack_id = ID;
	w.lease.ack = ACK_SYNCED;
	peer_leads(&w, 2);
	start(&w);
	run(&w, S(1));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.lease.ack_id, ID);
	assert_int_equal(w.lease.ack, ACK_SYNCED);
	assert_int_equal(w.m.predecessor, OTHER);
}

/* H17: renewTime only grows, also when the wall clock went back before this process started. */
static void test_H17_renewals_go_on_from_the_predecessors(void **state)
{
	struct world w;
	int64_t future_us;

	(void)state;
	world_make(&w, 1, false);
	future_us = w.wall_us + 3600000000LL;
	w.lease = LEASE(HOLDER_NONE, PHASE_NONE, 1, 0, OTHER, future_us);
	peer_leads(&w, 2);
	start(&w);
	run(&w, S(3));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.lease.instance, ME);
	assert_true(w.lease.renew_us > future_us);
}

static void test_B17_the_first_reason_that_holds_is_told(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	w.m.options.automatic = false;
	w.m.paused_until_ns = w.now_ns + S(600);
	w.m.paused_us = w.wall_us + 600000000;
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(25));
	assert_true(said(&w, REASON_PAUSED));
	assert_false(said(&w, REASON_MANUAL));

	world_make(&w, 1, false);
	standby_complete(&w);
	w.m.complete = false;
	w.m.own_write_ns = 0; /* neither takes writes nor holds a mirror */
	w.m.state = STATE_SUSPECT;
	w.m.kind = KIND_SUSPECT;
	tick(&w);
	assert_true(said(&w, REASON_SELF_UNHEALTHY));
	assert_false(said(&w, REASON_MIRROR_INCOMPLETE));
}

/* G5, M2: a change of state is always told, as the first or not; what stays is told once. */
static void test_G5_each_change_of_state_is_told_and_a_condition_once(void **state)
{
	struct machine_event e = { .input = MACHINE_WORKER_SEEN };
	struct world w;
	unsigned again = 0, once = 0;

	(void)state;
	world_make(&w, 1, false);
	standby_complete(&w);
	w.m.complete = false;
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(60));
	for (int i = 0; i < 2; i++) {
		e.worker.state = WORKER_OK;
		e.worker.slot = 2;
		e.worker.term = 9;
		world_step(&w, &e);
	}
	for (unsigned i = 0; i < w.said_count; i++) {
		again += w.said[i] == REASON_MIRROR_INCOMPLETE;
		once += w.said[i] == REASON_IMPLAUSIBLE_TERM;
	}
	assert_true(again > 1);
	assert_int_equal(w.first[REASON_MIRROR_INCOMPLETE], 1);
	assert_int_equal(once, 1);
}

static void test_what_is_due_at_once_is_asked_for_at_once(void **state)
{
	struct machine_event e = { .input = MACHINE_ROLE_WRITTEN, .ok = true };
	struct machine_out out;
	struct world w;

	(void)state;
	leading(&w);
	w.m.lease_busy = false;
	w.m.renew_at_ns = w.now_ns; /* a renewal, which has no reason and changes no state */
	w.m.lease_at_ns = w.now_ns - 1;
	machine_step(&w.m, &e, w.now_ns, &out);
	assert_int_equal(out.wake_at_ns, w.m.now_ns);
}

/* H18: the stop is asked for again while the workload is there. */
static void test_H18_a_workload_that_stays_is_told_again(void **state)
{
	struct world w;
	unsigned stops = 0;

	(void)state;
	leading(&w);
	w.workload_stays = true;
	w.api_down = true;
	run(&w, S(30));
	for (const char *c = w.order; *c; c++)
		stops += *c == 'r';
	assert_true(stops >= 3);
}

/* C6: workers that say nothing are waited for as long as their question may take, not for ever. */
static void test_C6_workers_that_do_not_answer_are_waited_for_a_while(void **state)
{
	struct machine_event start_event = { .input = MACHINE_START };
	struct world w;

	(void)state;
	world_make(&w, 0, true);
	w.m.options.workers = 2;
	w.workers_answer = 0;
	w.workers_mute = true;
	world_step(&w, &start_event);
	run(&w, MS(2400));
	assert_int_equal(w.m.state, STATE_INIT);
	run(&w, MS(300));
	assert_int_equal(w.m.state, STATE_ACTIVE);
}

/* A phase without the holder is no claim, whoever took the holder away; nor is a holder without. */
static void test_C15_half_a_claim_is_none(void **state)
{
	for (int i = 0; i < 3; i++) {
		struct world w;

		(void)state;
		world_make(&w, 0, true);
		w.lease = LEASE(i == 0   ? HOLDER_NONE
				: i == 1 ? HOLDER_OTHER
					 : HOLDER_SELF,
		    i == 2 ? PHASE_RELEASED : PHASE_LEADING, 4, 4, OTHER, w.wall_us);
		peer_leads(&w, 5);
		start(&w);
		run(&w, S(1)); /* nobody is waited for */
		assert_int_equal(w.m.state, STATE_STANDBY);
		assert_true(said(&w, REASON_STARTED_STANDBY));
	}
}

/* The Lease is released once HubRole is Standby, and not later. */
static void test_I10_what_is_yielded_is_released_at_once(void **state)
{
	struct world w;

	(void)state;
	leading(&w);
	peer_leads(&w, 3);
	look(&w, 0);
	run(&w, MS(200));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.lease.holder, HOLDER_NONE);
	assert_non_null(strstr(w.order, "hL")); /* HubRole, then the Lease */
}

static void test_bounds_of_what_others_may_ask(void **state)
{
	struct machine_options most = {
		.instance = 1, .retry_ns = 1, .workers = CREDENTIAL_MAX_WORKERS
	};
	struct machine m;

	(void)state;
	machine_init(&m, &most);
	assert_string_equal(machine_state_name(STATE_COUNT), "?");
	assert_string_equal(machine_state_name(STATE_FATAL), "leaving");
	/* A record alone arms nobody: this process has not looked yet. */
	m.peer.led_term = 2;
	m.peer.uid[0] = 'u';
	m.options.armed_max_age_ns = INT64_MAX;
	m.options.automatic = true;
	assert_false(machine_armed(&m));
}

int main(void)
{
#define TEST(name) cmocka_unit_test(test_##name)
	const struct CMUnitTest tests[] = {
		TEST(C6_a_lapse_is_followed_by_a_fresh_read_of_the_peer),
		TEST(C6_the_read_after_a_lapse_decides),
		TEST(C6_a_recoverer_that_is_late_reads_again),
		TEST(I10_a_ghost_is_withdrawn_in_the_order_of_every_close),
		TEST(H14_a_clash_revokes_what_the_opening_permitted),
		TEST(H4_a_claim_that_changes_before_W2_ends_the_promotion),
		TEST(H3_a_mirror_that_ended_in_the_last_moment_is_gone),
		TEST(H1_an_earlier_write_is_no_claim),
		TEST(H1_a_conflict_and_a_write_that_was_never_sent_leave_nothing_open),
		TEST(H10_an_old_write_of_this_process_is_no_other_process),
		TEST(C13_a_switchovers_word_survives_a_restart),
		TEST(H17_renewals_go_on_from_the_predecessors),
		TEST(B17_the_first_reason_that_holds_is_told),
		TEST(G5_each_change_of_state_is_told_and_a_condition_once),
		TEST(what_is_due_at_once_is_asked_for_at_once),
		TEST(H18_a_workload_that_stays_is_told_again),
		TEST(C6_workers_that_do_not_answer_are_waited_for_a_while),
		TEST(C15_half_a_claim_is_none),
		TEST(I10_what_is_yielded_is_released_at_once),
		TEST(bounds_of_what_others_may_ask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
