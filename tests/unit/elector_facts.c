/*
 * Goal: what an event tells becomes exactly that knowledge: what it names, no less, and nothing of
 * another peer, worker, mirror, probe or process (C4, C5, C9, H10, H14, H15, H17, M2, M18, decision
 * 14). Method: a hub in virtual time (elector_world.h), one event at a time.
 */
#include "elector_command.h"

/* One event whose orders nobody carries out: is this one among them? */
static bool orders(struct world *w, struct machine_event *e, enum machine_verb verb)
{
	struct machine_out out;

	e->wall_us = w->wall_us;
	machine_step(&w->m, e, w->now_ns, &out);
	for (unsigned i = 0; i < out.todo_count; i++)
		if (out.todo[i].verb == verb)
			return true;
	return false;
}

static bool time_orders(struct world *w, enum machine_verb verb)
{
	struct machine_event e = { .input = MACHINE_TIME };

	return orders(w, &e, verb);
}

static void seen(struct world *w)
{
	struct machine_event e = { .input = MACHINE_LEASE_WATCHED };

	e.watched = w->lease;
	world_step(w, &e);
}

static void test_C15_the_last_write_of_a_dead_predecessor_is_no_other_process(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	w.refuse = true; /* so that it still stands there */
	w.lease = LEASE(HOLDER_NONE, PHASE_NONE, 1, 0, OTHER, w.wall_us - 1000000);
	peer_leads(&w, 2);
	start(&w);
	assert_int_equal(w.m.state, STATE_STANDBY);
	seen(&w);
	assert_int_equal(w.exit_code, 0);
}

static void test_H10_a_higher_term_in_the_own_lease_is_kept(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	w.lease.term = 11;
	seen(&w);
	assert_int_equal(w.m.term, 11);
	run(&w, S(12));
	assert_int_equal(w.lease.term, 11);
}

static void test_H15_a_standbys_hub_role_tells_of_no_lead(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	w.role_term = 7; /* and there is no Lease */
	start(&w);
	assert_int_equal(w.m.term, 7);
	assert_int_equal(w.m.led_term, 0);

	world_make(&w, 0, true); /* a Lease that was never renewed: nobody knows how long ago */
	w.lease = LEASE(HOLDER_SELF, PHASE_LEADING, 2, 2, OTHER, 0);
	w.m.dead = OTHER;
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	start(&w);
	assert_true(w.m.led_renewed_ns == 0);
}

static void test_C5_a_record_of_an_incomplete_mirror_is_one(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct world w;

		(void)state;
		world_make(&w, 1, false);
		peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
		w.record = (struct machine_record){
			.exists = true, .uid = UID_P, .term = 2, .led_term = 2, .mirror_term = 2
		};
		w.record.complete = i == 1;
		memcpy(w.record.mirror_uid, UID_P, sizeof(UID_P));
		if (i == 1)
			w.record.mirror_uid[0] = '9'; /* of another cluster */
		start(&w);
		run(&w, S(60));
		assert_int_equal(w.m.state, STATE_STANDBY);
		assert_true(said(&w, REASON_MIRROR_INCOMPLETE));
	}
}

/* --- The peer ----------------------------------------------------------------------------------
 */

static void test_H14_a_peer_of_another_pair_is_unread_for_a_switchover(void **state)
{
	struct machine_check checks[MACHINE_MAX_CHECKS];
	struct machine_command c = { .verb = COMMAND_SWITCHOVER, .operation = ID };
	struct world w;

	(void)state;
	active_ready(&w);
	w.peer.pair_differs = true;
	look(&w, 0);
	assert_string_equal(refused(&w, COMMAND_SWITCHOVER), "peer's Lease");
	machine_checks(&w.m, &c, checks);
	assert_string_equal(checks[1].value, trace_why(PEER_WHY_WRONG_UID));
}

static void test_C4_another_cluster_is_blindness_for_the_final_read_and_the_threshold(void **state)
{
	struct world w;
	int64_t silent_ns;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, w.m.watch_ns + S(20) - MS(1) - w.now_ns);
	w.no_observer = true;
	run_to(&w, STATE_SUSPECT, S(1));
	w.peer.class = PEER_OK;
	w.peer.uid[0] = '9';
	w.m.led_term = 3; /* of its own: it needs no mirror */
	look(&w, w.m.peer_nonce);
	run(&w, MS(10));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_true(said(&w, REASON_PEER_UNREADABLE));

	/* Nobody watched the peer while another one was there in its place. */
	world_make(&w, 1, false);
	standby_ready(&w);
	w.renews = false;
	run(&w, S(8));
	silent_ns = w.m.watch_ns;
	w.peer.uid[0] = '9';
	look(&w, 0);
	assert_true(orders(&w, &(struct machine_event){ .input = MACHINE_TIME }, TODO_RECORD));
	w.m.record_busy = false;
	w.peer.uid[0] = UID_P[0];
	mirror(&w, true);
	w.m.complete = true;
	run(&w, silent_ns + S(24) - w.now_ns);
	assert_true(w.m.watch_ns == silent_ns);
	assert_int_equal(w.m.state, STATE_STANDBY);
}

static void test_M18_a_read_that_nobody_answered_is_blindness_for_a_threshold(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, w.m.watch_ns + S(20) - MS(1) - w.now_ns);
	w.no_observer = true;
	run_to(&w, STATE_SUSPECT, S(1));
	for (int i = 0; i < 7 && w.m.state == STATE_SUSPECT; i++) {
		run(&w, S(1));
		if (w.m.state == STATE_SUSPECT)
			look(&w, 0); /* the watched connection goes on, the new one hangs */
	}
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.m.last_class, PEER_BLIND);
	w.no_observer = false;
	run(&w, S(15));
	assert_int_equal(w.m.state, STATE_STANDBY);
	run(&w, S(25));
	assert_int_equal(w.m.state, STATE_ACTIVE);
}

static void test_H14_the_pair_is_stamped_when_the_peer_is_known_and_without_another_cause(
    void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	start(&w);
	run(&w, S(5));
	assert_int_equal(w.releases, 1);
	w.peer.class = PEER_OK;
	run(&w, S(3));
	assert_int_equal(w.releases, 2);
}

/* A restart must know at once whom it could take over from, and what must be above (C6, C7). */
static void test_C6_what_is_new_of_the_peer_is_recorded_at_once(void **state)
{
	struct world w;

	(void)state;
	for (int i = 0; i < 2; i++) {
		world_make(&w, 1, false);
		standby_ready(&w);
		w.peer.term = i == 0 ? 4 : 2;
		w.m.peer.led_term = i == 0 ? 2 : 0;
		look(&w, 0);
		assert_true(w.m.record_dirty || time_orders(&w, TODO_RECORD) ||
			    w.m.record_at_ns == w.now_ns + S(10));
	}
}

static void test_M2_a_peer_that_moves_ends_the_episode(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	w.m.back_off_ns = S(30);
	w.m.try_at_ns = w.now_ns + S(30);
	w.m.veto_since_ns = w.now_ns;
	w.m.syncer_hold = true;
	w.wall_us++;
	look(&w, 0);
	assert_true(w.m.back_off_ns == 0 && w.m.try_at_ns == 0 && w.m.veto_since_ns == 0);
	assert_false(w.m.syncer_hold);
}

/* --- Workers -----------------------------------------------------------------------------------
 */

static void test_C7_a_worker_without_an_object_and_a_lower_term_say_nothing(void **state)
{
	struct machine_event e = { .input = MACHINE_WORKER_SEEN };
	struct world w;
	unsigned reads;

	(void)state;
	active_ready(&w);
	reads = w.peer_reads;
	worker_says(&w, 0, 1, 0);
	worker_says(&w, 0, 1, 1);
	e.worker.state = WORKER_UNREACHABLE; /* what it showed once */
	e.worker.slot = 1;
	e.worker.term = 21;
	world_step(&w, &e);
	assert_int_equal(w.peer_reads, reads);
	assert_false(said(&w, REASON_IMPLAUSIBLE_TERM));
	assert_int_equal(w.m.workers_max, 1);
}

static void test_decision_14_a_rogue_term_counts_from_when_it_was_first_shown(void **state)
{
	struct world w;

	(void)state;
	for (unsigned slot = 0; slot < 2; slot++) {
		active_ready(&w);
		w.peer.class = slot ? PEER_OK : PEER_NOT_FOUND; /* nobody claims either way */
		worker_says(&w, 0, 0, 2);                       /* what this hub pushed itself */
		worker_says(&w, 0, slot, 20 + slot);
		run(&w, S(200));
		worker_says(&w, 0, slot, 20 + slot);
		run(&w, S(110));
		assert_int_equal(w.page_term, 22);
	}

	active_ready(&w);
	worker_says(&w, 1, 0, 20);
	run(&w, S(100));
	worker_says(&w, 1, 0, 2); /* made right */
	run(&w, S(400));
	assert_int_equal(w.page_term, 2);

	active_ready(&w);
	worker_says(&w, 0, 1, 21);
	run(&w, S(10));
	worker_says(&w, 0, 0, 2);
	run(&w, S(10));
	w.no_observer = true; /* nobody looked since the next one */
	worker_says(&w, 0, 0, 40);
	run(&w, S(310));
	assert_int_equal(w.page_term, 2);
}

static void test_C3_only_configured_workers_are_witnesses(void **state)
{
	struct machine_event e = { .input = MACHINE_WITNESS_SEEN };
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	w.m.options.workers = 1;
	w.m.witness_nonce = e.witness.nonce = 5;
	e.witness.worker = 1;
	e.witness.answer = WITNESS_CUT_OFF;
	world_step(&w, &e);
	assert_int_equal(w.m.witness[1].class, WITNESS_CLASS_NONE);
}

/* --- Mirror, HubRole, probe --------------------------------------------------------------------
 */

static void test_C5_what_a_syncer_says_counts_for_its_source_and_is_shown(void **state)
{
	struct machine_event good = { .input = MACHINE_MIRROR_SEEN }, e;
	struct world w;

	(void)state;
	memcpy(good.mirror.uid, UID_P, sizeof(UID_P));
	good.mirror.led_term = 2;
	good.mirror.complete = good.mirror.pristine = true;
	good.mirror.pending = 3;
	good.mirror.held_deletes = 4;
	good.mirror.lag_ms = 5;
	for (int i = 0; i < 4; i++) {
		world_make(&w, 1, false);
		standby_ready(&w);
		world_step(&w, &good);
		assert_true(w.m.complete && w.m.pristine && w.m.pending == 3);
		assert_true(w.m.held_deletes == 4 && w.m.mirror_lag_ns == MS(5));
		assert_true(w.m.mirror_seen_ns == w.now_ns);
		e = good;
		e.mirror.led_term += i == 0;
		e.mirror.uid[0] = i == 1 ? '9' : UID_P[0];
		e.mirror.regressed = i == 2;
		e.mirror.failed_kinds = i == 3;
		world_step(&w, &e);
		assert_false(w.m.complete);
		assert_int_equal(w.m.failed_kinds, i == 3);
	}
}

static void test_C2_a_repair_that_failed_is_tried_again(void **state)
{
	struct machine_event e = { .input = MACHINE_ROLE_WATCHED };
	struct world w;

	(void)state;
	active_ready(&w);
	w.role = HUB_UNKNOWN;
	w.m.role_written_ns = w.now_ns; /* nothing else asks for it soon */
	run(&w, MS(300));
	w.role_fails = true;
	world_step(&w, &e);
	run(&w, MS(100));
	w.role_fails = false;
	run(&w, MS(2100));
	assert_int_equal(w.role, HUB_LEADING);
}

static void test_H4_a_probe_of_the_role_before_says_nothing_of_the_new_one(void **state)
{
	struct machine_event written = { .input = MACHINE_ROLE_WRITTEN, .ok = true };
	struct machine_event probed = { .input = MACHINE_PROBE_SEEN };
	struct world w;

	(void)state;
	stopping(&w);
	w.role_fails = true;
	syncer_gone(&w);
	run_to(&w, STATE_OPENING, S(1));
	run(&w, MS(50)); /* W2 */
	w.m.role_asked = HUB_LEADING;
	w.m.role_asked_term = w.m.term;
	w.m.probe_known = true;
	w.m.probe_nonce = 999;
	assert_false(orders(&w, &written, TODO_EXIT));
	assert_false(w.m.probe_known);
	probed.probe.nonce = 999;
	probed.probe.verdict = PROBE_ACCEPTED;
	orders(&w, &probed, TODO_EXIT);
	assert_false(w.m.probe_known);
	assert_true(time_orders(&w, TODO_PROBE)); /* at once, and again soon: the server may lag */
	probed.probe.nonce = w.m.probe_nonce;
	probed.probe.verdict = PROBE_FENCED;
	orders(&w, &probed, TODO_EXIT);
	assert_true(w.m.probe_at_ns == w.now_ns + MS(50));
}

int main(void)
{
#define TEST(name) cmocka_unit_test(test_##name)
	const struct CMUnitTest tests[] = {
		TEST(C15_the_last_write_of_a_dead_predecessor_is_no_other_process),
		TEST(H10_a_higher_term_in_the_own_lease_is_kept),
		TEST(H15_a_standbys_hub_role_tells_of_no_lead),
		TEST(C5_a_record_of_an_incomplete_mirror_is_one),
		TEST(H14_a_peer_of_another_pair_is_unread_for_a_switchover),
		TEST(C4_another_cluster_is_blindness_for_the_final_read_and_the_threshold),
		TEST(M18_a_read_that_nobody_answered_is_blindness_for_a_threshold),
		TEST(H14_the_pair_is_stamped_when_the_peer_is_known_and_without_another_cause),
		TEST(C6_what_is_new_of_the_peer_is_recorded_at_once),
		TEST(M2_a_peer_that_moves_ends_the_episode),
		TEST(C7_a_worker_without_an_object_and_a_lower_term_say_nothing),
		TEST(decision_14_a_rogue_term_counts_from_when_it_was_first_shown),
		TEST(C3_only_configured_workers_are_witnesses),
		TEST(C5_what_a_syncer_says_counts_for_its_source_and_is_shown),
		TEST(C2_a_repair_that_failed_is_tried_again),
		TEST(H4_a_probe_of_the_role_before_says_nothing_of_the_new_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
