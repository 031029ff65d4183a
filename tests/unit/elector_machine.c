/*
 * Goal: the table has a row for each state and fact, and each rule of leadership that this part
 * builds holds in a short sequence. Method: the machine in virtual time inside a hub that answers
 * it (elector_world.h); each test makes the one thing go wrong that its rule is about.
 */
#include "elector_world.h"

static void test_each_state_and_fact_has_a_last_unguarded_row(void **state)
{
	unsigned count;
	const struct machine_row *rows = machine_table(&count);

	(void)state;
	for (unsigned s = 0; s < STATE_COUNT; s++)
		for (unsigned f = 0; f < machine_fact_count(); f++) {
			int open = -1, last = -1;

			for (unsigned i = 0; i < count; i++) {
				if (!(rows[i].states & 1u << s) || !(rows[i].facts & 1u << f))
					continue;
				/* Nothing stands behind a row that always fits, but broader rows. */
				if (open < 0)
					last = (int)i;
				if (!rows[i].guard && open < 0)
					open = (int)i;
			}
			if (open < 0 || open != last)
				print_message("%s, fact %u\n", machine_state_name(s), f);
			assert_true(open >= 0 && open == last);
		}
}

static void test_each_row_can_be_reached_and_names_its_source(void **state)
{
	unsigned count;
	const struct machine_row *rows = machine_table(&count);

	(void)state;
	for (unsigned i = 0; i < count; i++) {
		bool reached = false;

		assert_true(rows[i].source && rows[i].source[0]);
		for (unsigned s = 0; s < STATE_COUNT && !reached; s++)
			for (unsigned f = 0; f < machine_fact_count() && !reached; f++) {
				bool shadowed = false;

				if (!(rows[i].states & 1u << s) || !(rows[i].facts & 1u << f))
					continue;
				for (unsigned j = 0; j < i; j++)
					shadowed |= (rows[j].states & 1u << s) &&
					    (rows[j].facts & 1u << f) && !rows[j].guard;
				reached = !shadowed;
			}
		if (!reached)
			print_message("row %u: %s\n", i, rows[i].source);
		assert_true(reached);
	}
}

/* --- Start --------------------------------------------------------------------------------- */

static void test_C6_active_without_past_leads_with_its_first_term(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 0, true);
	start(&w);
	run(&w, S(1));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_int_equal(w.page_term, 2); /* C7: slot 0 */
	assert_true(w.page_open && w.permitted);
	assert_int_equal(w.lease.led_term, 2);
	assert_int_equal(w.role, HUB_LEADING);
	assert_true(said(&w, REASON_LEADS));
	assert_false(said(&w, REASON_PROMOTED));
}

static void test_C6_standby_without_past_never_leads_by_itself(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	start(&w);
	run(&w, S(300));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.claims, 0);
	assert_false(machine_armed(&w.m));
	assert_true(w.lease.exists); /* always present, holderless */
	assert_int_equal(w.lease.holder, HOLDER_NONE);
}

static void test_C6_active_mode_is_nothing_against_a_recorded_led_term(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 0, true);
	peer_leads(&w, 5);
	w.renews = false;
	w.lease = (struct machine_lease){ true, HOLDER_SELF, PHASE_LEADING, 4, 4, OTHER,
		w.wall_us - S(600) / 1000 };
	w.m.dead = OTHER;
	start(&w);
	run(&w, S(5));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_true(said(&w, REASON_STARTED_BEHIND));
	assert_int_equal(w.lease.holder, HOLDER_NONE);
	assert_int_equal(w.lease.term, 4); /* the term is kept */
	assert_false(said(&w, REASON_LEADS));
}

static void test_C6_active_with_an_unreachable_peer_and_no_past_leads(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 0, true);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	start(&w);
	run(&w, S(1));
	assert_int_equal(w.m.state, STATE_ACTIVE);
}

static void test_C4_active_that_is_blind_at_the_start_does_not_lead(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 0, true);
	peer_fails(&w, PEER_BLIND, PEER_WHY_X509);
	start(&w);
	run(&w, S(60));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.claims, 0);
	assert_int_equal(w.first[REASON_PEER_BLIND], 1); /* one Event */
}

static void test_C6_record_of_a_leading_peer_keeps_an_emptied_hub_from_leading(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 0, true);
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	w.record = (struct machine_record){ .exists = true, .uid = UID_P, .term = 5, .led_term = 5 };
	start(&w);
	run(&w, S(10));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.claims, 0);
}

static void test_C7_restart_resumes_with_the_same_term(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 0, true);
	w.lease = (struct machine_lease){ true, HOLDER_SELF, PHASE_LEADING, 4, 4, OTHER,
		w.wall_us - 1000000 };
	w.m.dead = OTHER; /* the supervisor reaped it */
	start(&w);
	run(&w, S(2));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_int_equal(w.page_term, 4);
	assert_true(said(&w, REASON_RESUMES));
	assert_true(said(&w, REASON_LEADS)); /* not a promotion */
}

static void test_C15_claim_of_a_living_other_instance_is_waited_for(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 0, true);
	w.lease = (struct machine_lease){ true, HOLDER_SELF, PHASE_LEADING, 4, 4, OTHER, w.wall_us };
	start(&w);
	for (int i = 0; i < 20; i++) { /* it renews */
		run(&w, S(2));
		w.lease.renew_us = w.wall_us;
	}
	assert_int_equal(w.m.state, STATE_INIT);
	run(&w, S(12));
	assert_int_equal(w.m.state, STATE_INIT);
	run(&w, S(8)); /* unchanged for LD */
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_int_equal(w.page_term, 4);
}

static void test_I10_claim_that_never_opened_is_withdrawn_at_the_start(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	w.lease = (struct machine_lease){ true, HOLDER_SELF, PHASE_ACQUIRING, 5, 3, OTHER,
		w.wall_us };
	w.m.dead = OTHER;
	peer_leads(&w, 4);
	start(&w);
	run(&w, S(3));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_true(said(&w, REASON_STARTED_GHOST));
	assert_int_equal(w.lease.holder, HOLDER_NONE);
	assert_int_equal(w.lease.term, 5);
	assert_int_equal(w.lease.led_term, 3);
}

static void test_H15_missing_lease_is_made_holderless_with_the_terms_of_HubRole(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	w.role_term = 7;
	peer_leads(&w, 8);
	start(&w);
	run(&w, S(3));
	assert_true(w.lease.exists);
	assert_int_equal(w.lease.holder, HOLDER_NONE);
	assert_int_equal(w.lease.term, 7);
}

static void test_H14_the_same_cluster_or_identity_at_the_peer_ends_the_process(void **state)
{
	for (int i = 0; i < 3; i++) {
		struct world w;

		(void)state;
		world_make(&w, 1, false);
		peer_leads(&w, 2);
		w.peer.own_uid = i == 0;
		w.peer.pair_differs = i == 1;
		w.peer.holder = i == 2 ? HOLDER_SELF : HOLDER_PEER;
		start(&w);
		run(&w, S(5));
		assert_int_equal(w.exit_code, 78);
		assert_int_equal(w.m.state, STATE_FATAL);
	}
}

static void test_H14_both_configured_active_one_of_them_waits(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 0, true);
	peer_leads(&w, 1);
	w.peer.led_term = 0;
	w.peer.phase = PHASE_ACQUIRING;
	start(&w);
	run(&w, S(3));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_true(said(&w, REASON_BOTH_ACTIVE));
}

/* --- Detection and guards ------------------------------------------------------------------- */

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
	w.record = (struct machine_record){ .exists = true, .uid = UID_P, .mirror_uid = UID_P,
		.term = 2, .led_term = 2, .mirror_term = 2, .complete = true, .age_ns = S(60) };
	start(&w);
	run(&w, S(17));
	assert_int_equal(w.m.state, STATE_STANDBY);
	run(&w, S(6));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	assert_int_equal(w.page_term, 3);
}

static void test_H2_record_that_is_too_old_arms_nothing(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct world w;

		(void)state;
		world_make(&w, 1, false);
		peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
		w.record = (struct machine_record){ .exists = true, .uid = UID_P,
			.mirror_uid = UID_P, .term = 2, .led_term = 2, .mirror_term = 2,
			.complete = true, .age_ns = i == 0 ? S(90000) : S(1),
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
		w.witness[i] = classes[i] == 'F' ? WITNESS_READ
		    : classes[i] == 'D'		? WITNESS_CUT_OFF
		    : classes[i] == 'N'		? WITNESS_NO_ANSWER
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
			assert_int_equal(promotes(classes),
			    !(x == workers || (f >= 1 && f >= d)));
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

/* --- Final read, stopping, claim ------------------------------------------------------------- */

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
	w.lease = (struct machine_lease){ true, HOLDER_NONE, PHASE_NONE, 6, 6, ME, w.wall_us - 1 };
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

/* --- Leading, losing, recovering -------------------------------------------------------------- */

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
	w.peer.class = PEER_NOT_FOUND; /* it can be read, and claims nothing */
	run(&w, S(6));
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
	w.date_skew_us = 10 * 1000000; /* this machine stood still for 10 s and did not notice */
	run(&w, S(3));
	assert_true(said(&w, REASON_TIME_JUMPED));
	run(&w, S(3));
	assert_int_equal(w.m.state, STATE_ACTIVE); /* the peer was read first */
	w.date_skew_us -= 20 * 1000000;		   /* M13: a clock set back closes nothing */
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
	for (int i = 0; i < 2; i++) {
		struct machine_event seen = { .input = MACHINE_WORKER_SEEN };
		struct world w;

		(void)state;
		leading(&w);
		w.m.options.workers = 1;
		if (i == 0)
			peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
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

static void test_every_reason_has_a_name_and_a_sentence(void **state)
{
	(void)state;
	for (unsigned r = REASON_NONE + 1; r < REASON_COUNT; r++) {
		struct machine_said one = { .reason = r };
		char text[512];

		trace_text(text, sizeof(text), &one);
		assert_true(trace_row(r)->name && strlen(text) > 10);
		assert_string_not_equal(text, trace_row(r)->name);
	}
	for (unsigned w = 0; w <= PEER_WHY_LAST; w++)
		assert_string_not_equal(trace_why(w), "?");
}

int main(void)
{
#define TEST(name) cmocka_unit_test(test_##name)
	const struct CMUnitTest tests[] = {
		TEST(each_state_and_fact_has_a_last_unguarded_row),
		TEST(each_row_can_be_reached_and_names_its_source),
		TEST(C6_active_without_past_leads_with_its_first_term),
		TEST(C6_standby_without_past_never_leads_by_itself),
		TEST(C6_active_mode_is_nothing_against_a_recorded_led_term),
		TEST(C6_active_with_an_unreachable_peer_and_no_past_leads),
		TEST(C4_active_that_is_blind_at_the_start_does_not_lead),
		TEST(C6_record_of_a_leading_peer_keeps_an_emptied_hub_from_leading),
		TEST(C7_restart_resumes_with_the_same_term),
		TEST(C15_claim_of_a_living_other_instance_is_waited_for),
		TEST(I10_claim_that_never_opened_is_withdrawn_at_the_start),
		TEST(H15_missing_lease_is_made_holderless_with_the_terms_of_HubRole),
		TEST(H14_the_same_cluster_or_identity_at_the_peer_ends_the_process),
		TEST(H14_both_configured_active_one_of_them_waits),
		TEST(promotion_of_a_silent_peer_in_the_agreed_order),
		TEST(C4_blind_never_promotes),
		TEST(C4_blind_with_a_worker_that_sees_it_stale_promotes),
		TEST(C4_H2_one_blind_look_in_the_threshold_delays),
		TEST(H2_time_that_nobody_watched_is_not_silence),
		TEST(H2_observer_that_died_counts_as_nothing),
		TEST(H2_three_finished_looks_are_needed),
		TEST(H2_restart_during_an_outage_promotes_after_one_threshold),
		TEST(H2_record_that_is_too_old_arms_nothing),
		TEST(C5_incomplete_mirror_is_not_promoted),
		TEST(C5_mirror_whose_syncer_was_away_is_too_old),
		TEST(M1_hub_that_cannot_write_does_not_promote),
		TEST(H17_unsafe_timing_disarms),
		TEST(C4_other_cluster_at_the_peer_disarms),
		TEST(C4_deleted_peer_lease_ages_from_then),
		TEST(manual_mode_does_not_promote),
		TEST(C3_all_classes_of_one_to_three_workers),
		TEST(C3_asked_before_the_threshold_costs_no_time),
		TEST(C3_renewal_seen_long_ago_is_not_fresh_by_now),
		TEST(C3_standing_veto_is_told),
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
		TEST(I1_page_closes_at_validity_without_renewal),
		TEST(I1_validity_is_tested_before_the_event_that_would_stretch_it),
		TEST(short_outage_of_the_own_server_resumes_the_same_term),
		TEST(C6_after_a_long_gap_without_the_peer_it_is_held),
		TEST(C6_majority_of_workers_or_the_configuration_ends_the_hold),
		TEST(I5_higher_claim_closes_before_the_next_event),
		TEST(close_waits_for_the_workload_but_not_for_ever),
		TEST(C6_led_term_of_the_peer_outranks_without_a_claim),
		TEST(C9_gap_rule_by_the_servers_date),
		TEST(C15_other_instance_in_the_own_lease_ends_the_process),
		TEST(C9_renewal_that_was_never_sent_ends_the_process),
		TEST(watch_that_runs_behind_is_no_other_instance),
		TEST(H15_deleted_own_lease_comes_back_with_the_same_term),
		TEST(C9_worker_with_a_higher_term_is_a_hint),
		TEST(C7_implausible_term_of_a_worker_is_ignored),
		TEST(H4_page_opens_after_two_seconds_when_the_probe_says_nothing),
		TEST(H9_mirror_rests_when_the_claim_goes),
		TEST(M18_lost_observer_closes_nothing_but_is_told),
		TEST(H14_clash_while_leading_is_told_and_not_fatal),
		TEST(every_reason_has_a_name_and_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
