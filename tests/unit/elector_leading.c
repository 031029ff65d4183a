/*
 * Goal: a page is open only while the Lease says so, closes before the next event when a higher
 * claim is seen, in the agreed order, and comes back only as C6 allows (I1, I5, C9, C15, H15).
 * Method: a leading hub in virtual time (elector_world.h) that loses one thing a test.
 */
#include "elector_world.h"

static void leading(struct world *w)
{
	world_make(w, 0, true);
	w->m.options.workload = true;
	start(w);
	run(w, S(5));
	assert_int_equal(w->m.state, STATE_ACTIVE);
	memset(w->order, 0, sizeof(w->order));
}

static void test_I1_page_closes_at_validity_without_renewal(void **state)
{
	struct world w;
	int64_t until_ns;

	(void)state;
	leading(&w);
	w.api_down = true;
	until_ns = w.page_until_ns;
	run(&w, until_ns - w.now_ns - 1);
	assert_true(w.page_open);
	assert_int_equal(w.page_until_ns, until_ns); /* nothing stretched it */
	run(&w, MS(1));
	assert_false(w.page_open);
	assert_true(said(&w, REASON_VALIDITY_OVER));
	/* page, permit, workload, in this order */
	assert_non_null(strstr(w.order, "ptr"));
}

static void test_I1_validity_is_tested_before_the_event_that_would_stretch_it(void **state)
{
	struct machine_event late = { .input = MACHINE_LEASE_ANSWERED };
	struct world w;

	(void)state;
	leading(&w);
	w.m.lease_busy = true; /* a renewal under way */
	w.now_ns = w.page_until_ns;
	late.answer.write = true;
	late.answer.outcome = OUTCOME_DONE;
	late.answer.lease = w.lease;
	late.answer.finished_ns = w.now_ns;
	world_step(&w, &late);
	assert_false(w.page_open);
}

static void test_short_outage_of_the_own_server_resumes_the_same_term(void **state)
{
	struct world w;

	(void)state;
	leading(&w);
	w.api_down = true;
	run(&w, S(13));
	assert_false(w.page_open);
	w.api_down = false;
	run(&w, S(8));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_int_equal(w.page_term, 2);
}

static void test_C6_after_a_long_gap_without_the_peer_it_is_held(void **state)
{
	struct world w;

	(void)state;
	leading(&w);
	w.api_down = true;
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	run(&w, S(60));
	w.api_down = false;
	run(&w, S(30));
	assert_int_equal(w.m.state, STATE_HELD);
	assert_int_equal(w.first[REASON_RECOVERY_HELD], 1);
	w.peer.class = PEER_OK; /* it can be read, and claims nothing */
	run(&w, S(6));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_int_equal(w.page_term, 2);
}

/* Else it is held until the next write of the record is due, and its peer takes over meanwhile. */
static void test_C6_who_is_held_proves_by_a_write_that_it_can_lead(void **state)
{
	struct world w;

	(void)state;
	leading(&w);
	peer_fails(&w, PEER_BLIND, PEER_WHY_FORBIDDEN);
	freeze(&w, S(60));
	run_to(&w, STATE_HELD, S(8));
	/* The proof was the Lease's write, which counts from when it was sent. */
	w.m.own_write_ns = w.m.since_ns - MS(10);
	w.peer.class = PEER_OK;
	run(&w, S(4));
	assert_int_equal(w.m.state, STATE_ACTIVE);
}

static void test_H15_a_peer_lease_that_just_went_ends_no_hold(void **state)
{
	struct world w;

	(void)state;
	leading(&w);
	w.api_down = true;
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	run(&w, S(60));
	w.api_down = false;
	run(&w, S(30));
	assert_int_equal(w.m.state, STATE_HELD);
	w.peer.class = PEER_NOT_FOUND; /* deleted a moment ago, and on its way back? */
	run(&w, S(18));
	assert_int_equal(w.m.state, STATE_HELD);
	run(&w, S(8)); /* nobody wrote it for a threshold */
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_int_equal(w.page_term, 2);
}

static void test_C6_majority_of_workers_or_the_configuration_ends_the_hold(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct world w;

		(void)state;
		leading(&w);
		w.m.options.workers = i == 0 ? 3 : 0;
		w.workers_answer = 2;
		w.m.options.resume = i == 1;
		w.api_down = true;
		peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
		run(&w, S(60));
		w.api_down = false;
		run(&w, S(20));
		assert_int_equal(w.m.state, STATE_ACTIVE);
	}
}

static void test_C6_half_of_the_workers_are_no_majority(void **state)
{
	struct world w;

	(void)state;
	leading(&w);
	w.m.options.workers = 2;
	w.workers_answer = 1;
	w.api_down = true;
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	run(&w, S(60));
	w.api_down = false;
	run(&w, S(20));
	assert_int_equal(w.m.state, STATE_HELD);
}

static void test_I5_higher_claim_closes_before_the_next_event(void **state)
{
	struct world w;

	(void)state;
	leading(&w);
	peer_leads(&w, 3);
	w.peer.phase = PHASE_ACQUIRING; /* whatever its phase (C9) */
	look(&w, 0);
	assert_false(w.page_open);
	assert_true(said(&w, REASON_PEER_TOOK_OVER));
	run(&w, S(1));
	assert_int_equal(w.lease.holder, HOLDER_NONE);
	/* Close order: page, permits, workload, HubRole, Lease. */
	assert_non_null(strstr(w.order, "ptr"));
	assert_true(strchr(w.order, 'h') > strchr(w.order, 'r'));
	assert_true(strchr(w.order, 'L') > strchr(w.order, 'h'));
	run(&w, S(60));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_false(w.page_open);
}

static void test_close_waits_for_the_workload_but_not_for_ever(void **state)
{
	struct world w;

	(void)state;
	leading(&w);
	w.workload_stays = true;
	peer_leads(&w, 3);
	run(&w, S(4));
	assert_int_equal(w.m.state, STATE_YIELD);
	assert_int_equal(w.role, HUB_LEADING);
	assert_int_equal(w.lease.holder, HOLDER_SELF);
	run(&w, S(6));
	assert_int_equal(w.role == HUB_LEADING, false);
	assert_int_equal(w.lease.holder, HOLDER_NONE);
}

static void test_C6_led_term_of_the_peer_outranks_without_a_claim(void **state)
{
	struct world w;

	(void)state;
	leading(&w);
	peer_leads(&w, 3);
	w.renews = false;
	w.peer.holder = HOLDER_NONE;
	w.peer.phase = PHASE_NONE;
	look(&w, 0);
	assert_false(w.page_open);
}

static void test_C9_gap_rule_by_the_servers_date(void **state)
{
	struct world w;

	(void)state;
	leading(&w);
	w.date_skew_us = 10 * 1000000LL; /* this machine stood still for 10 s and did not notice */
	run(&w, S(3));
	assert_true(said(&w, REASON_TIME_JUMPED));
	run(&w, S(3));
	assert_int_equal(w.m.state, STATE_ACTIVE); /* the peer was read first */
	w.date_skew_us -= 20 * 1000000LL;          /* M13: a clock set back closes nothing */
	run(&w, S(5));
	assert_int_equal(w.m.state, STATE_ACTIVE);
}

static void test_C15_other_instance_in_the_own_lease_ends_the_process(void **state)
{
	struct machine_event seen = { .input = MACHINE_LEASE_WATCHED };
	struct world w;

	(void)state;
	leading(&w);
	seen.watched = w.lease;
	seen.watched.instance = OTHER;
	seen.watched.renew_us++;
	world_step(&w, &seen);
	assert_int_equal(w.exit_code, 75);
	assert_false(w.page_open);
}

/* The predecessor of this process is still there: what it writes after this one's start is foreign,
 * also when this one tried to write in between. */
static void test_C15_a_predecessor_that_still_writes_is_another_process(void **state)
{
	struct machine_event seen = { .input = MACHINE_LEASE_WATCHED };
	struct world w;

	(void)state;
	world_make(&w, 0, false);
	w.lease = LEASE(HOLDER_NONE, PHASE_NONE, 2, 2, OTHER, w.wall_us - 1000000);
	peer_leads(&w, 3);
	start(&w);
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_true(w.m.last_renew_us > w.wall_us - 1000000); /* it wrote since */
	seen.watched = LEASE(HOLDER_SELF, PHASE_LEADING, 4, 4, OTHER, w.m.last_renew_us - 1);
	w.m.own.renew_us = 0; /* but its own watch has said nothing newer yet */
	world_step(&w, &seen);
	assert_int_equal(w.exit_code, 75);
}

static void test_C9_renewal_that_was_never_sent_ends_the_process(void **state)
{
	struct machine_event seen = { .input = MACHINE_LEASE_WATCHED };
	struct world w;

	(void)state;
	leading(&w);
	seen.watched = w.lease;
	seen.watched.renew_us += 100000000;
	world_step(&w, &seen);
	assert_int_equal(w.exit_code, 75);
	assert_false(w.page_open);
}

static void test_watch_that_runs_behind_is_no_other_instance(void **state)
{
	struct machine_event seen = { .input = MACHINE_LEASE_WATCHED };
	struct world w;

	(void)state;
	leading(&w);
	seen.watched = w.lease;
	run(&w, S(6));
	world_step(&w, &seen); /* own, of 6 s ago */
	seen.watched.instance = OTHER;
	world_step(&w, &seen); /* of a predecessor */
	assert_int_equal(w.exit_code, 0);
	assert_true(w.page_open);
}

static void test_H15_deleted_own_lease_comes_back_with_the_same_term(void **state)
{
	struct machine_event gone = { .input = MACHINE_LEASE_WATCHED };
	struct world w;

	(void)state;
	leading(&w);
	for (int i = 0; i < 100; i++) {
		w.lease.exists = false;
		world_step(&w, &gone);
		run(&w, MS(200));
		assert_true(w.lease.exists && w.page_open);
		assert_int_equal(w.lease.term, 2);
		assert_int_equal(w.lease.led_term, 2);
		assert_int_equal(w.lease.holder, HOLDER_SELF);
	}
}

static void test_C9_worker_with_a_higher_term_is_a_hint(void **state)
{
	for (int i = 0; i < 3; i++) {
		struct machine_event seen = { .input = MACHINE_WORKER_SEEN };
		struct world w;

		(void)state;
		leading(&w);
		w.m.options.workers = 1;
		if (i == 0)
			peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
		w.peer.own_uid = i == 2; /* nothing of the peer was read (H14) */
		seen.worker.slot = 1;
		seen.worker.term = 3;
		world_step(&w, &seen);
		/* Unread: it may well lead. Readable without a claim: the worker is wrong. */
		assert_int_equal(w.page_open, i == 1);
		assert_int_equal(said(&w, REASON_WORKER_ROGUE), i == 1);
	}
}

static void test_C7_implausible_term_of_a_worker_is_ignored(void **state)
{
	static const struct {
		unsigned slot;
		uint64_t term;
	} bad[] = { { 1, (1ULL << 53) - 1 }, { 1, 4 }, { 2, 5 }, { 1, 3 + (1ULL << 21) } };

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct machine_event seen = { .input = MACHINE_WORKER_SEEN };
		struct world w;

		leading(&w);
		w.m.options.workers = 1;
		peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
		seen.worker.slot = bad[i].slot;
		seen.worker.term = bad[i].term;
		world_step(&w, &seen);
		assert_true(w.page_open);
		assert_int_equal(w.first[REASON_IMPLAUSIBLE_TERM], 1);
		assert_true(w.m.workers_max < 10);
	}
}

static void test_H4_page_opens_after_two_seconds_when_the_probe_says_nothing(void **state)
{
	struct world w;
	int64_t began_ns;

	(void)state;
	world_make(&w, 0, true);
	w.probe_fixed = true;
	w.probe = PROBE_FENCED;
	start(&w);
	began_ns = w.now_ns;
	assert_int_equal(w.m.state, STATE_OPENING);
	assert_true(w.permitted); /* push and publish have begun */
	run(&w, S(3));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_true(w.now_ns - began_ns >= S(2));
	run(&w, S(40));
	assert_int_equal(w.first[REASON_FENCE_NOT_ENFORCED], 1); /* C1 */
}

static void test_H9_mirror_rests_when_the_claim_goes(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	w.renews = false;
	w.peer.holder = HOLDER_NONE;
	w.peer.phase = PHASE_NONE;
	run(&w, S(3));
	assert_int_equal(w.pauses, 1);
	peer_leads(&w, 2);
	w.peer.phase = PHASE_ACQUIRING;
	run(&w, S(3));
	assert_int_equal(w.grants, 1); /* not before it leads */
	w.peer.phase = PHASE_LEADING;
	run(&w, S(3));
	assert_int_equal(w.grants, 2);
}

static void test_M18_lost_observer_closes_nothing_but_is_told(void **state)
{
	struct world w;

	(void)state;
	leading(&w);
	w.no_observer = true;
	run(&w, S(60));
	assert_true(w.page_open);
	assert_int_equal(w.first[REASON_PEER_UNWATCHED], 1);
}

static void test_H14_clash_while_leading_is_told_and_not_fatal(void **state)
{
	struct world w;

	(void)state;
	leading(&w);
	peer_leads(&w, 3);
	w.peer.pair_differs = true;
	run(&w, S(10));
	assert_true(w.page_open);
	assert_int_equal(w.first[REASON_PEER_CLASH_SEEN], 1);
}

/* --- HubRole (C2) ------------------------------------------------------------------------------
 */

static void role_seen(struct world *w, enum hub_role role, uint64_t term)
{
	struct machine_event e = { .input = MACHINE_ROLE_WATCHED };

	e.hub_role.role = role;
	e.hub_role.term = term;
	world_step(w, &e);
}

static void test_C2_a_hub_role_of_another_hand_is_written_again_at_once(void **state)
{
	static const struct {
		enum hub_role role;
		uint64_t term;
	} strange[] = { { HUB_UNKNOWN, 0 }, { HUB_STANDBY, 2 }, { HUB_LEADING, 1 } };
	struct world w;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		leading(&w);
		run(&w, S(1));
		w.role = strange[i].role;
		w.role_term = strange[i].term;
		role_seen(&w, w.role, w.role_term);
		run(&w, MS(10));
		assert_int_equal(w.role, HUB_LEADING);
		assert_int_equal(w.role_term, 2);
		assert_true(w.page_open);
	}
}

static void test_C2_what_this_hub_wrote_itself_is_not_written_again(void **state)
{
	struct world w;

	(void)state;
	leading(&w);
	run(&w, S(1));
	memset(w.order, 0, sizeof(w.order));
	role_seen(&w, HUB_LEADING, 2);
	run(&w, MS(500));
	assert_null(strchr(w.order, 'H'));
}

/* Two that write against each other must not do so as fast as they can. */
static void test_C2_against_a_hand_that_does_not_rest_it_is_written_five_times_a_second(
    void **state)
{
	struct world w;
	unsigned writes = 0;

	(void)state;
	leading(&w);
	run(&w, S(1));
	for (unsigned i = 0; i < 1000; i++) {
		memset(w.order, 0, sizeof(w.order));
		role_seen(&w, HUB_UNKNOWN, 0);
		run(&w, MS(1));
		writes += strchr(w.order, 'H') != NULL;
	}
	assert_in_range(writes, 4, 6);
}

/* A failed write is not the end of it. */
static void test_C2_it_is_written_until_it_stands(void **state)
{
	struct world w;

	(void)state;
	leading(&w);
	run(&w, S(1));
	w.role = HUB_UNKNOWN;
	w.role_fails = true;
	role_seen(&w, HUB_UNKNOWN, 0);
	run(&w, S(3));
	assert_int_equal(w.role, HUB_UNKNOWN);
	w.role_fails = false;
	run(&w, S(2));
	assert_int_equal(w.role, HUB_LEADING);
}

int main(void)
{
#define TEST(name) cmocka_unit_test(test_##name)
	const struct CMUnitTest tests[] = {
		TEST(I1_page_closes_at_validity_without_renewal),
		TEST(I1_validity_is_tested_before_the_event_that_would_stretch_it),
		TEST(short_outage_of_the_own_server_resumes_the_same_term),
		TEST(C6_after_a_long_gap_without_the_peer_it_is_held),
		TEST(C6_majority_of_workers_or_the_configuration_ends_the_hold),
		TEST(C6_half_of_the_workers_are_no_majority),
		TEST(I5_higher_claim_closes_before_the_next_event),
		TEST(close_waits_for_the_workload_but_not_for_ever),
		TEST(C6_led_term_of_the_peer_outranks_without_a_claim),
		TEST(C9_gap_rule_by_the_servers_date),
		TEST(C15_other_instance_in_the_own_lease_ends_the_process),
		TEST(C15_a_predecessor_that_still_writes_is_another_process),
		TEST(C6_who_is_held_proves_by_a_write_that_it_can_lead),
		TEST(H15_a_peer_lease_that_just_went_ends_no_hold),
		TEST(C9_renewal_that_was_never_sent_ends_the_process),
		TEST(watch_that_runs_behind_is_no_other_instance),
		TEST(H15_deleted_own_lease_comes_back_with_the_same_term),
		TEST(C9_worker_with_a_higher_term_is_a_hint),
		TEST(C7_implausible_term_of_a_worker_is_ignored),
		TEST(H4_page_opens_after_two_seconds_when_the_probe_says_nothing),
		TEST(H9_mirror_rests_when_the_claim_goes),
		TEST(M18_lost_observer_closes_nothing_but_is_told),
		TEST(H14_clash_while_leading_is_told_and_not_fatal),
		TEST(C2_a_hub_role_of_another_hand_is_written_again_at_once),
		TEST(C2_what_this_hub_wrote_itself_is_not_written_again),
		TEST(C2_against_a_hand_that_does_not_rest_it_is_written_five_times_a_second),
		TEST(C2_it_is_written_until_it_stands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
