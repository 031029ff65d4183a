/*
 * Goal: the table has a row for each state and fact, each row has a source and can be reached, each
 * reason has words, and a start goes where section 5 of the rules says (C6, C7, C15, H14, H15).
 * Method: the rows themselves; the machine in virtual time inside a hub that answers it
 * (elector_world.h), each test with the one thing wrong that its rule is about.
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
				/* Nothing stands behind a row that always fits, but broader rows.
				 */
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
	w.lease = LEASE(HOLDER_SELF, PHASE_LEADING, 4, 4, OTHER, w.wall_us - S(600) / 1000);
	w.m.dead = OTHER;
	start(&w);
	run(&w, S(5));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_true(said(&w, REASON_STARTED_BEHIND));
	assert_int_equal(w.lease.holder, HOLDER_NONE);
	assert_int_equal(w.lease.term, 4); /* the term is kept */
	assert_false(said(&w, REASON_LEADS));
}

static void test_C6_active_with_a_silent_peer_and_no_past_leads_after_a_threshold(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 0, true);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	start(&w);
	run(&w, S(19));
	assert_int_equal(w.m.state, STATE_INIT); /* it may have led until a moment ago */
	run(&w, S(3));
	assert_int_equal(w.m.state, STATE_ACTIVE);
}

/* Configured active as well by mistake, the peer may lead and have lost its Lease just now. */
static void test_H15_active_whose_peer_has_no_lease_leads_after_a_threshold_or_when_it_has_one(
    void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 0, true);
	w.peer.class = PEER_NOT_FOUND;
	start(&w);
	run(&w, S(19));
	assert_int_equal(w.m.state, STATE_INIT);
	run(&w, S(3));
	assert_int_equal(w.m.state, STATE_ACTIVE);

	world_make(&w, 0, true);
	w.peer.class = PEER_NOT_FOUND;
	start(&w);
	run(&w, S(1));
	assert_int_equal(w.m.state, STATE_INIT);
	w.peer.class = PEER_OK; /* the standby came up; the watch says so */
	look(&w, 0);
	run(&w, MS(100));
	assert_int_equal(w.m.state, STATE_ACTIVE);

	world_make(&w, 0, true);
	w.peer.class = PEER_NOT_FOUND;
	start(&w);
	run(&w, S(1));
	peer_leads(&w, 3);
	look(&w, 0);
	run(&w, S(3));
	assert_int_equal(w.m.state, STATE_STANDBY);
}

static void test_H10_what_an_earlier_look_showed_is_not_forgotten_while_INIT_waits(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 0, true);
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	w.lease = LEASE(HOLDER_SELF, PHASE_LEADING, 6, 4, OTHER, w.wall_us);
	w.role_term = 4;
	start(&w);
	run(&w, S(5));
	assert_int_equal(w.m.state, STATE_INIT); /* of another instance: waited for */
	w.lease = (struct machine_lease){ 0 };   /* and now both copies are deleted */
	w.role = HUB_UNKNOWN;
	w.role_term = 0;
	run(&w, S(60));
	assert_int_equal(w.m.term, 6);
	assert_int_equal(w.m.led_term, 4);
	assert_false(said(&w, REASON_STARTS_LEADING));

	world_make(&w, 0, true);
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	w.role = HUB_LEADING; /* without a Lease */
	w.role_term = 4;
	start(&w);
	run(&w, S(60));
	assert_int_equal(w.m.led_term, 4);
	assert_int_equal(w.lease.term, 4);
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
	assert_true(w.m.told[REASON_PEER_BLIND]);
	peer_leads(&w, 2);
	run(&w, S(10));
	assert_false(w.m.told[REASON_PEER_BLIND]);
	assert_false(w.m.told[REASON_STARTED_STANDBY]); /* no condition */
}

static void test_C6_record_of_a_leading_peer_keeps_an_emptied_hub_from_leading(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 0, true);
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	w.record =
	    (struct machine_record){ .exists = true, .uid = UID_P, .term = 5, .led_term = 5 };
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
	w.lease = LEASE(HOLDER_SELF, PHASE_LEADING, 4, 4, OTHER, w.wall_us - 1000000);
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
	w.lease = LEASE(HOLDER_SELF, PHASE_LEADING, 4, 4, OTHER, w.wall_us);
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
	w.lease = LEASE(HOLDER_SELF, PHASE_ACQUIRING, 5, 3, OTHER, w.wall_us);
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

static void test_H14_pair_that_is_known_late_is_stamped_into_the_own_lease(void **state)
{
	struct world w;
	unsigned writes;

	(void)state;
	world_make(&w, 1, false);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	start(&w);
	run(&w, S(5));
	assert_int_equal(w.m.state, STATE_STANDBY);
	writes = w.releases;
	assert_int_equal(writes, 1);
	peer_leads(&w, 2);
	run(&w, S(10));
	assert_int_equal(
	    w.releases, writes + 1); /* once: a Standby writes no Lease without cause */
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

int main(void)
{
#define TEST(name) cmocka_unit_test(test_##name)
	const struct CMUnitTest tests[] = {
		TEST(each_state_and_fact_has_a_last_unguarded_row),
		TEST(each_row_can_be_reached_and_names_its_source),
		TEST(every_reason_has_a_name_and_a_sentence),
		TEST(C6_active_without_past_leads_with_its_first_term),
		TEST(C6_standby_without_past_never_leads_by_itself),
		TEST(C6_active_mode_is_nothing_against_a_recorded_led_term),
		TEST(C6_active_with_a_silent_peer_and_no_past_leads_after_a_threshold),
		TEST(H15_active_whose_peer_has_no_lease_leads_after_a_threshold_or_when_it_has_one),
		TEST(H10_what_an_earlier_look_showed_is_not_forgotten_while_INIT_waits),
		TEST(C4_active_that_is_blind_at_the_start_does_not_lead),
		TEST(C6_record_of_a_leading_peer_keeps_an_emptied_hub_from_leading),
		TEST(C7_restart_resumes_with_the_same_term),
		TEST(C15_claim_of_a_living_other_instance_is_waited_for),
		TEST(I10_claim_that_never_opened_is_withdrawn_at_the_start),
		TEST(H15_missing_lease_is_made_holderless_with_the_terms_of_HubRole),
		TEST(H14_the_same_cluster_or_identity_at_the_peer_ends_the_process),
		TEST(H14_pair_that_is_known_late_is_stamped_into_the_own_lease),
		TEST(H14_both_configured_active_one_of_them_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
