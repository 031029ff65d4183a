/*
 * Goal: silence that was watched promotes, and nothing else does: blindness, unwatched time, old
 * records, incomplete mirrors, unsafe timing, workers that see the peer renew (C3-C5, H2, H17, M1).
 * Method: a Standby in virtual time (elector_world.h) whose peer fails in one way a test.
 */
#include "elector_world.h"

static void test_promotion_of_a_silent_peer_in_the_agreed_order(void **state)
{
	struct world w;
	int64_t failed_ns;

	(void)state;
	world_make(&w, 1, false);
	w.m.options.workload = true;
	standby_ready(&w);
	assert_int_equal(w.syncer_starts, 1);
	assert_int_equal(w.grants, 1);
	w.order[0] = '\0';
	memset(w.order, 0, sizeof(w.order));
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	failed_ns = w.now_ns;
	run(&w, S(18));
	assert_int_equal(w.m.state, STATE_STANDBY);
	run(&w, S(4));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_int_equal(w.page_term, 3); /* next of slot 1 above 2 (C7) */
	assert_int_equal(w.lease.led_term, 3);
	assert_true(said(&w, REASON_PROMOTED));
	assert_true(w.running);
	assert_true(w.now_ns - failed_ns <= S(22) + MS(100));
	/* Syncer stopped, W1, W2, HubRole, permits; then the page and the workload (H4). */
	assert_non_null(strstr(w.order, "DCC"));
	assert_non_null(strchr(w.order, 'H'));
	assert_true(strchr(w.order, 'H') < strchr(w.order, 'P'));
	assert_true(strchr(w.order, 'T') < strchr(w.order, 'P'));
	assert_true(strchr(w.order, 'P') < strchr(w.order, 'R'));
}

static void test_C4_blind_never_promotes(void **state)
{
	static const enum peer_why faults[] = { PEER_WHY_X509, PEER_WHY_UNAUTHORIZED,
		PEER_WHY_FORBIDDEN, PEER_WHY_UNPARSABLE, PEER_WHY_NO_NAME };

	(void)state;
	for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct world w;

		world_make(&w, 1, false);
		standby_ready(&w);
		peer_fails(&w, PEER_BLIND, faults[i]);
		run(&w, S(90));
		assert_int_equal(w.m.state, STATE_STANDBY);
		assert_int_equal(w.claims, 0);
		assert_false(machine_armed(&w.m)); /* the gauge is 0 */
		assert_true(said(&w, REASON_PEER_UNREADABLE));
		assert_int_equal(w.first[REASON_PEER_UNREADABLE], 1);
	}
}

static void test_C4_blind_with_a_worker_that_sees_it_stale_promotes(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	w.m.options.workers = 1;
	w.workers_answer = 1;
	w.witness[0] = WITNESS_CUT_OFF;
	standby_ready(&w);
	peer_fails(&w, PEER_BLIND, PEER_WHY_UNAUTHORIZED);
	run(&w, S(25));
	assert_int_equal(w.m.state, STATE_ACTIVE);
}

/* What a worker said before the final read is too old to stand for a read that failed. */
static void test_C4_a_worker_is_asked_again_before_its_word_stands_for_a_blind_read(void **state)
{
	struct world w;
	unsigned asks;

	(void)state;
	world_make(&w, 1, false);
	w.m.options.workers = 1;
	w.workers_answer = 1;
	w.witness[0] = WITNESS_CUT_OFF;
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	for (int i = 0; i < 3000 && w.m.state == STATE_STANDBY; i++) {
		run(&w, MS(10)); /* the final read is not answered: blind after RT + RP */
		w.no_observer = w.now_ns >= w.m.watch_ns + S(20) - MS(20);
	}
	assert_int_equal(w.m.state, STATE_SUSPECT);
	asks = w.witness_asks;
	w.witness[0] = WITNESS_READ; /* meanwhile the peer is back */
	run(&w, S(8));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.witness_asks, asks + 1);
	assert_int_equal(w.claims, 0);
}

/* C6, I7: who pushed a term to a worker had led in it, unless the peer's Lease, read since, denies
 * it. */
static void test_C6_a_workers_newer_term_holds_until_the_peer_is_read(void **state)
{
	for (int read = 0; read < 2; read++) {
		struct machine_event e = { .input = MACHINE_WORKER_SEEN };
		struct world w;

		(void)state;
		world_make(&w, 1, false);
		standby_ready(&w);
		e.worker.state = WORKER_OK;
		e.worker.term = 4;
		if (!read)
			peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
		world_step(&w, &e);
		run(&w, S(5));
		peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
		run(&w, S(40));
		assert_int_equal(w.m.state, read ? STATE_ACTIVE : STATE_STANDBY);
		assert_int_equal(said(&w, REASON_MIRROR_INCOMPLETE), !read);
		if (read) /* above a term that the peer may have taken beside it */
			assert_int_equal(w.page_term, 7);
	}
}

static void test_C4_H2_one_blind_look_in_the_threshold_delays(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(10));
	peer_fails(&w, PEER_BLIND, PEER_WHY_NO_NAME);
	run(&w, S(2));
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(12));
	assert_int_not_equal(w.m.state, STATE_ACTIVE);
	run(&w, S(40));
	assert_int_equal(w.m.state, STATE_ACTIVE);
}

static void test_H2_time_that_nobody_watched_is_not_silence(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	freeze(&w, S(600)); /* the peer is alive; the first look after it fails */
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	run(&w, S(15));
	assert_int_equal(w.m.state, STATE_STANDBY);
	peer_leads(&w, 2);
	run(&w, S(30));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.claims, 0);
}

static void test_H2_observer_that_died_counts_as_nothing(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	w.no_observer = true;
	run(&w, S(120));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.first[REASON_PEER_UNWATCHED], 1);
	w.no_observer = false;
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(17));
	assert_int_equal(w.m.state, STATE_STANDBY); /* a full threshold from here */
	run(&w, S(6));
	assert_int_equal(w.m.state, STATE_ACTIVE);
}

static void test_H2_three_finished_looks_are_needed(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	w.m.options.retry_ns = S(12); /* looks are rare: 2 of them in the threshold */
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	run(&w, S(23));
	assert_int_equal(w.m.state, STATE_STANDBY);
}

static void test_H2_restart_during_an_outage_promotes_after_one_threshold(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	w.record = (struct machine_record){ .exists = true,
		.uid = UID_P,
		.mirror_uid = UID_P,
		.term = 2,
		.led_term = 2,
		.mirror_term = 2,
		.complete = true,
		.age_ns = S(60) };
	start(&w);
	run(&w, S(17));
	assert_int_equal(w.m.state, STATE_STANDBY);
	run(&w, S(6));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_int_equal(w.page_term, 3);
}

/* H17: how long the peer's page may last is the peer's to say, and this process never read it. */
static void test_H17_restart_during_an_outage_waits_for_the_peers_duration(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	w.record = (struct machine_record){ .exists = true,
		.uid = UID_P,
		.mirror_uid = UID_P,
		.term = 2,
		.led_term = 2,
		.mirror_term = 2,
		.complete = true,
		.duration_ms = 40000,
		.renew_deadline_ms = 30000 };
	start(&w);
	run(&w, S(44));
	assert_int_equal(w.m.state, STATE_STANDBY);
	run(&w, S(4));
	assert_int_equal(w.m.state, STATE_ACTIVE);

	world_make(&w, 1, false); /* 15 s + 5 s are less than 1.5 x 14 s */
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	w.record.duration_ms = 0;
	w.record = (struct machine_record){
		.exists = true, .uid = UID_P, .term = 2, .led_term = 2, .renew_deadline_ms = 14000
	};
	start(&w);
	run(&w, S(60));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_true(said(&w, REASON_TIMING_UNSAFE));
}

static void test_H2_record_that_is_too_old_arms_nothing(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct world w;

		(void)state;
		world_make(&w, 1, false);
		peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
		w.record = (struct machine_record){ .exists = true,
			.uid = UID_P,
			.mirror_uid = UID_P,
			.term = 2,
			.led_term = 2,
			.mirror_term = 2,
			.complete = true,
			.age_ns = i == 0 ? S(90000) : S(1),
			.other_pair = i == 1 };
		start(&w);
		run(&w, S(200));
		assert_int_equal(w.m.state, STATE_STANDBY);
		assert_false(machine_armed(&w.m));
	}
}

static void test_C5_incomplete_mirror_is_not_promoted(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	/* The source leads with a new term: everything must be seen again. */
	w.peer.term = w.peer.led_term = 4;
	run(&w, S(4));
	assert_false(machine_complete(&w.m));
	assert_int_equal(w.grants, 2);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(120));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.claims, 0);
	assert_true(said(&w, REASON_MIRROR_INCOMPLETE));
	assert_int_equal(w.first[REASON_MIRROR_INCOMPLETE], 1); /* G5 */
	mirror(&w, true);
	run(&w, S(32)); /* back-off is 30 s at most (M2) */
	assert_int_equal(w.m.state, STATE_ACTIVE);
}

static void test_C5_mirror_whose_syncer_was_away_is_too_old(void **state)
{
	struct machine_event lost = { .input = MACHINE_MIRROR_LOST };
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	world_step(&w, &lost);
	run(&w, S(100)); /* the peer lives on, unmirrored, for longer than max-lag */
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(60));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_true(said(&w, REASON_MIRROR_INCOMPLETE));
}

static void test_C5_record_of_a_complete_mirror_does_not_stand_for_what_came_later(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	w.record = (struct machine_record){ .exists = true,
		.uid = UID_P,
		.mirror_uid = UID_P,
		.term = 2,
		.led_term = 2,
		.mirror_term = 2,
		.complete = true,
		.age_ns = S(1) };
	peer_leads(&w, 2);
	start(&w);
	run(&w, S(100)); /* the source lives, and no syncer of this start got through a pass */
	mirror(&w, false);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(60));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_true(said(&w, REASON_MIRROR_INCOMPLETE));
}

static void test_M1_hub_that_cannot_write_does_not_promote(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	w.api_down = true;
	run(&w, S(60));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_true(said(&w, REASON_SELF_UNHEALTHY));
	assert_int_equal(w.claims, 0);
}

static void test_H17_unsafe_timing_disarms(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	w.peer.renew_deadline_ms = 14000; /* 1.5 x 14 > 20 */
	run(&w, S(3));
	assert_false(machine_armed(&w.m));
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(60));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.first[REASON_TIMING_UNSAFE], 1);
}

static void test_H17_a_lease_above_300_s_is_told_once(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	w.peer.duration_ms = 300000;
	run(&w, S(60));
	assert_false(said(&w, REASON_LEASE_LONG));
	w.peer.duration_ms = 301000;
	run(&w, S(60));
	assert_int_equal(w.first[REASON_LEASE_LONG], 1);
	assert_true(machine_lease_long(&w.m));
	w.peer.duration_ms = 15000; /* another time is told again */
	run(&w, S(10));
	assert_false(machine_lease_long(&w.m));
	w.peer.duration_ms = 600000;
	run(&w, S(10));
	assert_int_equal(w.first[REASON_LEASE_LONG], 2);
}

static void test_C4_other_cluster_at_the_peer_disarms(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	w.peer.uid[0] = '9';
	run(&w, S(5));
	assert_false(machine_armed(&w.m));
	assert_false(machine_complete(&w.m));
	assert_int_equal(w.first[REASON_PEER_REPLACED], 1);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(60));
	assert_int_equal(w.m.state, STATE_STANDBY);
}

static void test_C4_deleted_peer_lease_ages_from_then(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(12));
	w.peer.class = PEER_NOT_FOUND;
	run(&w, S(17));
	assert_int_equal(w.m.state, STATE_STANDBY);
	run(&w, S(6));
	assert_int_equal(w.m.state, STATE_ACTIVE);
}

static void test_manual_mode_does_not_promote(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	w.m.options.automatic = false;
	peer_leads(&w, 2);
	start(&w);
	run(&w, S(5));
	mirror(&w, true);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(60));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.claims, 0);
}

/* --- Witness (C3) --------------------------------------------------------------------------- */

/* F D N X by worker, and what must follow. */
static bool promotes(const char *classes)
{
	struct world w;

	world_make(&w, 1, false);
	w.m.options.workers = (unsigned)strlen(classes);
	w.workers_answer = w.m.options.workers;
	w.witness_age_ms = 1000;
	for (unsigned i = 0; classes[i]; i++)
		w.witness[i] = classes[i] == 'F'   ? WITNESS_READ
			       : classes[i] == 'D' ? WITNESS_CUT_OFF
			       : classes[i] == 'N' ? WITNESS_NO_ANSWER
						   : WITNESS_NO_API;
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	run(&w, S(25));
	assert_true(w.witness_asks > 0);
	return w.m.state == STATE_ACTIVE;
}

static void test_C3_all_classes_of_one_to_three_workers(void **state)
{
	static const char letters[] = "FDNX";

	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++)
		for (unsigned n = 0; n < 1u << 2 * workers; n++) {
			char classes[4] = "";
			unsigned f = 0, d = 0, x = 0;

			for (unsigned i = 0; i < workers; i++) {
				classes[i] = letters[n >> 2 * i & 3];
				f += classes[i] == 'F';
				d += classes[i] == 'D';
				x += classes[i] == 'X';
			}
			if (promotes(classes) == (x == workers || (f >= 1 && f >= d)))
				print_message("%s\n", classes);
			assert_int_equal(promotes(classes), !(x == workers || (f >= 1 && f >= d)));
		}
}

static void test_C3_asked_before_the_threshold_costs_no_time(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	w.m.options.workers = 2;
	w.workers_answer = 2;
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(22));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_int_equal(w.witness_asks, 1);
}

static void test_C3_a_second_silence_is_asked_about_before_its_threshold_too(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	w.m.options.workers = 1;
	w.workers_answer = 1;
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	for (int i = 0; i < 3000 && w.witness_asks == 0; i++)
		run(&w, MS(10));
	assert_int_equal(w.witness_asks, 1);
	peer_leads(&w, 2); /* back in the last moment */
	run(&w, S(10));
	assert_int_equal(w.m.state, STATE_STANDBY);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(17));
	while (w.now_ns < w.m.watch_ns + S(20) - MS(100))
		run(&w, MS(10));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.witness_asks, 2);
}

static void test_C3_renewal_seen_long_ago_is_not_fresh_by_now(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	w.m.options.workers = 1;
	w.workers_answer = 1;
	w.witness[0] = WITNESS_READ;
	w.witness_age_ms = 18000; /* the last renewal before it died */
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, S(22));
	assert_int_equal(w.m.state, STATE_ACTIVE);
}

static void test_C3_standing_veto_is_told(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	w.m.options.workers = 1;
	w.workers_answer = 1;
	w.witness[0] = WITNESS_READ;
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	run(&w, S(700));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.first[REASON_WITNESS_VETO], 1);
	assert_int_equal(w.first[REASON_VETO_HOLDS], 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test(test_##name)
	const struct CMUnitTest tests[] = {
		TEST(promotion_of_a_silent_peer_in_the_agreed_order),
		TEST(C4_blind_never_promotes),
		TEST(C4_blind_with_a_worker_that_sees_it_stale_promotes),
		TEST(C4_a_worker_is_asked_again_before_its_word_stands_for_a_blind_read),
		TEST(C6_a_workers_newer_term_holds_until_the_peer_is_read),
		TEST(C4_H2_one_blind_look_in_the_threshold_delays),
		TEST(H2_time_that_nobody_watched_is_not_silence),
		TEST(H2_observer_that_died_counts_as_nothing),
		TEST(H2_three_finished_looks_are_needed),
		TEST(H2_restart_during_an_outage_promotes_after_one_threshold),
		TEST(H17_restart_during_an_outage_waits_for_the_peers_duration),
		TEST(H2_record_that_is_too_old_arms_nothing),
		TEST(C5_incomplete_mirror_is_not_promoted),
		TEST(C5_mirror_whose_syncer_was_away_is_too_old),
		TEST(C5_record_of_a_complete_mirror_does_not_stand_for_what_came_later),
		TEST(M1_hub_that_cannot_write_does_not_promote),
		TEST(H17_unsafe_timing_disarms),
		TEST(H17_a_lease_above_300_s_is_told_once),
		TEST(C4_other_cluster_at_the_peer_disarms),
		TEST(C4_deleted_peer_lease_ages_from_then),
		TEST(manual_mode_does_not_promote),
		TEST(C3_all_classes_of_one_to_three_workers),
		TEST(C3_asked_before_the_threshold_costs_no_time),
		TEST(C3_a_second_silence_is_asked_about_before_its_threshold_too),
		TEST(C3_renewal_seen_long_ago_is_not_fresh_by_now),
		TEST(C3_standing_veto_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
