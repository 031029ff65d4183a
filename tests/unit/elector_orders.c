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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
