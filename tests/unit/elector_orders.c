/*
 * Goal: what the machine asks of the outside is asked once, with the deadline that the rule names,
 * and only the answer to the last question counts (C1, C2, C3, C6, C7, H3, M18). Method: a hub in
 * virtual time (elector_world.h) and the orders of single steps.
 */
#include "elector_command.h"

static struct machine_out last;

/* The first order of that kind of the last step; NULL: there is none. */
static const struct machine_todo *ordered(enum machine_verb verb)
{
	for (unsigned i = 0; i < last.todo_count; i++)
		if (last.todo[i].verb == verb)
			return &last.todo[i];
	return NULL;
}

/* One event whose orders nobody carries out. */
static const struct machine_todo *step(
    struct world *w, struct machine_event *e, enum machine_verb verb)
{
	e->wall_us = w->wall_us;
	machine_step(&w->m, e, w->now_ns, &last);
	return ordered(verb);
}

static const struct machine_todo *time_step(struct world *w, enum machine_verb verb)
{
	struct machine_event e = { .input = MACHINE_TIME };

	return step(w, &e, verb);
}

static void test_C15_a_load_under_way_is_not_asked_for_again(void **state)
{
	struct machine_event e = { .input = MACHINE_START };
	struct world w;

	(void)state;
	world_make(&w, 0, true);
	assert_non_null(step(&w, &e, TODO_LOAD));
	for (int i = 0; i < 10; i++) {
		w.now_ns += S(1);
		assert_null(time_step(&w, TODO_LOAD));
	}
	e = (struct machine_event){ .input = MACHINE_LOADED }; /* it failed */
	assert_null(step(&w, &e, TODO_LOAD));
	w.now_ns += S(2);
	assert_non_null(time_step(&w, TODO_LOAD));
}

static void test_M18_only_the_answer_to_the_last_question_counts(void **state)
{
	struct machine_event e = { .input = MACHINE_WORKERS_READ };
	uint64_t workers_nonce, witness_nonce, probe_nonce;
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	w.m.options.workers = 2;
	w.workers_answer = 2;
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	run(&w, S(17));
	while (w.witness_asks == 0)
		run(&w, MS(100));
	workers_nonce = w.m.workers_nonce;
	witness_nonce = w.m.witness_nonce;
	w.m.witness_asked_ns = 0; /* asked again */
	assert_non_null(time_step(&w, TODO_WITNESS));
	e.workers.nonce = workers_nonce;
	e.workers.answered = e.workers.of = 2;
	step(&w, &e, TODO_EXIT);
	assert_int_equal(w.m.workers_of, 0);
	assert_false(w.m.workers_done);
	e = (struct machine_event){ .input = MACHINE_WITNESS_SEEN };
	e.witness.nonce = witness_nonce;
	e.witness.answer = WITNESS_CUT_OFF;
	step(&w, &e, TODO_EXIT);
	assert_int_equal(w.m.witness[0].class, WITNESS_CLASS_NONE);

	world_make(&w, 1, false);
	standby_ready(&w);
	w.m.probe_at_ns = w.now_ns;
	assert_non_null(time_step(&w, TODO_PROBE));
	probe_nonce = w.m.probe_nonce;
	w.m.probe_at_ns = w.now_ns;
	assert_non_null(time_step(&w, TODO_PROBE));
	e = (struct machine_event){ .input = MACHINE_PROBE_SEEN };
	e.probe.nonce = probe_nonce;
	e.probe.verdict = PROBE_ACCEPTED; /* what the fence let through while it led */
	world_step(&w, &e);
	assert_false(said(&w, REASON_FENCE_NOT_ENFORCED));
}

/* M1: a hub that is held and asks its peer again and again has still never written. */
static void test_M1_a_held_hub_that_cannot_write_says_so(void **state)
{
	struct machine_event e = { .input = MACHINE_START };
	struct world w;

	(void)state;
	world_make(&w, 0, true);
	w.lease = LEASE(HOLDER_SELF, PHASE_LEADING, 4, 4, OTHER, w.wall_us - 60000000);
	w.m.dead = OTHER;
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	world_step(&w, &e);
	w.api_down = true; /* it was read once, and takes no write */
	run(&w, S(60));
	assert_int_equal(w.m.state, STATE_HELD);
	assert_int_equal(w.first[REASON_OWN_UNWRITABLE], 1);
}

/* A Lease of a new term has a new acquireTime, by which the peer tells when it was taken (B16). */
static void test_decision_14_a_claim_anew_is_an_acquisition(void **state)
{
	struct machine_event e = { .input = MACHINE_WORKER_SEEN };
	const struct machine_todo *write = NULL;
	struct world w;

	(void)state;
	active_ready(&w);
	w.m.options.workers = 1;
	e.worker.state = WORKER_OK;
	e.worker.slot = 1;
	e.worker.term = 21;
	world_step(&w, &e);
	run(&w, S(299));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	w.m.renew_at_ns = w.now_ns;
	w.m.lease_at_ns = w.now_ns;
	write = time_step(&w, TODO_LEASE_WRITE);
	assert_true(write && write->lease.claim && !write->lease.acquire);
	w.m.lease_busy = false;
	w.now_ns += MS(1500);
	look(&w, 0);
	write = time_step(&w, TODO_LEASE_WRITE);
	assert_int_equal(w.m.state, STATE_OPENING);
	assert_true(write && write->lease.claim && write->lease.acquire);
	assert_int_equal(write->lease.term, 22);
}

/* C2: what was written against another's hand is written once, also when no watch confirms it. */
static void test_C2_a_hub_role_that_was_repaired_is_left_alone(void **state)
{
	struct machine_event e = { .input = MACHINE_ROLE_WATCHED };
	struct world w;

	(void)state;
	world_make(&w, 0, true);
	start(&w);
	run(&w, S(5));
	assert_int_equal(w.m.state, STATE_ACTIVE);
	memset(w.order, 0, sizeof(w.order));
	world_step(&w, &e);
	run(&w, S(5));
	assert_ptr_equal(strchr(w.order, 'H'), strrchr(w.order, 'H'));
	assert_non_null(strchr(w.order, 'H'));
}

/* H3: two seconds for what was received, then it is killed; at the start there is nothing. */
static void test_H3_a_mirror_has_two_seconds_to_write_what_it_received(void **state)
{
	struct machine_event e = { .input = MACHINE_START };
	const struct machine_todo *t;
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	step(&w, &e, TODO_LOAD);
	t = time_step(&w, TODO_SYNCER_STOP);
	assert_true(t && t->deadline_ns == w.now_ns + MS(500));
	assert_null(ordered(TODO_DRAIN));

	for (int i = 0; i < 2; i++) {
		e = (struct machine_event){ .input = MACHINE_COMMAND };
		world_make(&w, 1, false);
		standby_ready(&w);
		if (i == 1)
			w.m.syncer = SYNCER_OFF; /* nobody is there to be told */
		e.command.verb = COMMAND_FORCE;
		e.command.operation = ID;
		t = step(&w, &e, TODO_SYNCER_STOP);
		assert_true(t && t->deadline_ns == w.now_ns + MS(2500));
		t = ordered(TODO_DRAIN);
		assert_true(i == 0 ? t && t->deadline_ns == w.now_ns + S(2) : t == NULL);
	}
}

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

/* M18: what was asked before the guards is not the final read. */
static void test_M18_the_final_read_is_asked_for_after_the_guards(void **state)
{
	struct world w;
	unsigned reads;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	run(&w, w.m.watch_ns + S(20) - MS(1) - w.now_ns);
	assert_int_equal(w.m.state, STATE_STANDBY);
	w.m.peer_nonce = ++w.m.nonce; /* a look at an offer, say, is under way */
	w.m.peer_deadline_ns = w.now_ns + S(6);
	w.no_observer = true;
	reads = w.peer_reads;
	run_to(&w, STATE_SUSPECT, S(1));
	assert_int_equal(w.peer_reads, reads + 1);

	/* The peer comes back; that nobody answered any more is no blindness. */
	w.no_observer = false;
	peer_leads(&w, 2);
	run(&w, S(20));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_false(said(&w, REASON_PEER_BLIND));
}

static void stopping(struct world *w)
{
	world_make(w, 1, false);
	standby_ready(w);
	peer_fails(w, PEER_SILENT, PEER_WHY_REFUSED);
	w->syncer_stays = true;
	run_to(w, STATE_STOPPING, S(25));
}

static void syncer_gone(struct world *w)
{
	struct machine_event gone = { .input = MACHINE_SYNCER_GONE, .clean = true };

	w->syncer_stays = false;
	world_step(w, &gone);
	tick(w);
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

static void worker_shows(struct world *w, unsigned worker, unsigned slot, uint64_t term)
{
	struct machine_event e = { .input = MACHINE_WORKER_SEEN };

	w->m.options.workers = 2;
	e.worker.worker = worker;
	e.worker.slot = slot;
	e.worker.state = WORKER_OK;
	e.worker.term = term;
	world_step(w, &e);
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
	worker_shows(&w, 0, 0, 8);
	assert_int_equal(w.peer_reads, reads + 1);

	active_ready(&w);
	reads = w.peer_reads;
	worker_shows(&w, 0, 1, 21);
	worker_shows(&w, 0, 1, 41);
	assert_int_equal(w.peer_reads, reads + 2);
	assert_int_equal(w.m.state, STATE_ACTIVE);
}

/* The answer that nobody waits for any more is neither blindness nor a fresh read. */
static void test_M18_a_close_ends_the_question_of_a_hint(void **state)
{
	struct world w;

	(void)state;
	active_ready(&w);
	w.no_observer = true;
	worker_shows(&w, 0, 1, 21);
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
	worker_shows(&w, 0, 0, 20);
	run(&w, S(310));
	assert_int_equal(w.page_term, 22);
	worker_shows(&w, 0, 0, 40);
	run(&w, S(310));
	assert_int_equal(w.page_term, 42);
}

/* Only the worker that showed it can take it back; and the peer must have been read since. */
static void test_decision_14_what_ends_a_rogue_term_and_what_does_not(void **state)
{
	struct world w;

	(void)state;
	active_ready(&w);
	worker_shows(&w, 1, 1, 21);
	worker_shows(&w, 0, 0, 2);
	run(&w, S(310));
	assert_int_equal(w.page_term, 22);

	active_ready(&w);
	worker_shows(&w, 0, 1, 21);
	run(&w, S(10));
	worker_shows(&w, 0, 0, 2); /* made right */
	run(&w, S(10));
	worker_shows(&w, 0, 1, 41);
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

/* H15, H10: what another hand took out of the own Lease is written again at once. */
static void confirming(struct world *w)
{
	stopping(w);
	w->no_observer = true;
	syncer_gone(w);
	assert_int_equal(w->m.state, STATE_CONFIRM);
}

/* H15: HubRole holds the second copy of the term. While the claim is being made the new one waits
 * for the role of its own; a claim that was withdrawn has used it all the same. */
static void test_H15_hub_role_has_the_term_after_W2_or_after_the_way_back(void **state)
{
	struct world w;

	(void)state;
	confirming(&w);
	run(&w, S(3));
	assert_int_equal(w.m.state, STATE_CONFIRM);
	assert_int_equal(w.role_term, 0);
	w.no_observer = false;
	peer_leads(&w, 2);
	look(&w, 0);
	assert_true(said(&w, REASON_BACKED_OUT));
	run(&w, MS(500));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_int_equal(w.role_term, 3);

	confirming(&w);
	w.api_down = true;
	look(&w, w.m.peer_nonce);
	assert_int_equal(w.m.state, STATE_OPENING);
	assert_null(time_step(&w, TODO_ROLE)); /* W2 is on its way */
}

static void draining(struct world *w)
{
	active_ready(w);
	assert_true(command(w, COMMAND_SWITCHOVER));
	run(w, S(1));
	assert_int_equal(w->lease.phase, PHASE_DRAINING);
}

static void standing_by(struct world *w)
{
	world_make(w, 1, false);
	w->lease = LEASE(HOLDER_NONE, PHASE_NONE, 1, 0, OTHER, w->wall_us - 1000);
	standby_ready(w);
	w->m.standby_ns = w->now_ns; /* and has just said so */
}

static void test_H15_what_another_hand_changed_in_the_own_lease_is_mended_at_once(void **state)
{
	static void (*const make[])(
	    struct world *) = { confirming, active_ready, draining, standing_by };

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		for (unsigned field = 0; field < 5; field++) {
			struct machine_event e = { .input = MACHINE_LEASE_WATCHED };
			struct machine_lease whole;
			struct world w;
			unsigned writes;

			if (i == 3 && field < 2)
				continue; /* a Standby has no claim to lose */
			make[i](&w);
			w.m.lease_at_ns = w.now_ns; /* nothing holds it back, nothing is due */
			w.m.renew_at_ns = w.now_ns + S(2);
			whole = w.lease;
			w.lease.holder = field == 0 ? HOLDER_NONE : w.lease.holder;
			w.lease.phase = field == 1 ? PHASE_NONE : w.lease.phase;
			w.lease.term -= field == 2;
			w.lease.instance = field == 3 ? 0 : w.lease.instance;
			w.lease.exists = field != 4;
			e.watched = w.lease;
			writes = w.claims + w.releases;
			world_step(&w, &e);
			tick(&w);
			assert_int_equal(w.claims + w.releases, writes + 1);
			assert_true(w.lease.exists && w.lease.holder == whole.holder &&
				    w.lease.phase == whole.phase && w.lease.term == whole.term &&
				    w.lease.instance == whole.instance);
		}
}

int main(void)
{
#define TEST(name) cmocka_unit_test(test_##name)
	const struct CMUnitTest tests[] = {
		TEST(C15_a_load_under_way_is_not_asked_for_again),
		TEST(M18_only_the_answer_to_the_last_question_counts),
		TEST(M1_a_held_hub_that_cannot_write_says_so),
		TEST(decision_14_a_claim_anew_is_an_acquisition),
		TEST(C2_a_hub_role_that_was_repaired_is_left_alone),
		TEST(H3_a_mirror_has_two_seconds_to_write_what_it_received),
		TEST(H9_a_mirror_that_was_stopped_is_not_told_to_rest),
		TEST(C5_an_accepted_loss_is_accepted_once),
		TEST(I6_without_a_claim_the_workloads_end_is_waited_for_as_well),
		TEST(M18_the_final_read_is_asked_for_after_the_guards),
		TEST(H1_a_claim_begins_anew),
		TEST(C9_each_hint_is_looked_into),
		TEST(M18_a_close_ends_the_question_of_a_hint),
		TEST(decision_14_a_second_rogue_term_is_outbid_too),
		TEST(decision_14_what_ends_a_rogue_term_and_what_does_not),
		TEST(C3_after_a_veto_workers_are_asked_again_before_the_next_attempt),
		TEST(M2_H21_B16_a_lead_ends_what_held_promotions_back),
		TEST(H15_hub_role_has_the_term_after_W2_or_after_the_way_back),
		TEST(H15_what_another_hand_changed_in_the_own_lease_is_mended_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
