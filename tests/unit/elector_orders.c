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
	w.m.options.workload = true;
	assert_non_null(step(&w, &e, TODO_LOAD));
	assert_non_null(ordered(TODO_STOP_RUN)); /* H18: of the process before, who knows */
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

/* B15: an operator is told that the command was taken, whatever it was. */
static bool taken(struct world *w, enum machine_command_verb verb)
{
	struct machine_event e = { .input = MACHINE_COMMAND };

	e.command.verb = verb;
	e.command.operation = ID;
	e.command.for_ms = 60000;
	step(w, &e, TODO_EXIT);
	return w->m.taken == ID;
}

/* What a call-off is told of the switchover that it wants to end. */
static bool under_way(struct world *w, uint64_t operation, const char *what)
{
	struct machine_command c = { .verb = COMMAND_CALL_OFF, .operation = operation };
	struct machine_check checks[MACHINE_MAX_CHECKS];

	assert_int_equal(machine_checks(&w->m, &c, checks), 2);
	return strcmp(checks[1].value, what) == 0;
}

static void test_B15_a_command_that_was_taken_is_named(void **state)
{
	struct world w;

	(void)state;
	active_ready(&w);
	assert_true(under_way(&w, 0, "none") && under_way(&w, ID, "none"));
	assert_true(taken(&w, COMMAND_SWITCHOVER));
	assert_true(under_way(&w, ID, "this one") && under_way(&w, ID + 1, "another one"));
	assert_false(taken(&w, COMMAND_FORCE)); /* and what is refused changes nothing */
	assert_int_equal(w.m.state, STATE_DRAIN);
	assert_true(taken(&w, COMMAND_CALL_OFF));
	assert_false(taken(&w, COMMAND_PAUSE));

	world_make(&w, 1, false);
	w.m.options.block_ns = S(300);
	standby_ready(&w);
	assert_true(taken(&w, COMMAND_PAUSE));
	w.m.back_off_ns = S(30);
	w.m.try_at_ns = w.now_ns + S(30);
	assert_true(taken(&w, COMMAND_RESUME));
	assert_true(w.m.back_off_ns == 0 && w.m.try_at_ns == 0); /* M2 */
	w.m.block.term = 2;
	w.m.block_until_ns = w.now_ns + S(60);
	assert_true(taken(&w, COMMAND_ACKNOWLEDGE));
	w.m.peer.replaced = true;
	w.m.record_retry_ns = 0;
	assert_true(taken(&w, COMMAND_ACCEPT_PEER));
	assert_non_null(time_step(&w, TODO_RECORD)); /* M12: it outlives this process */

	world_make(&w, 1, false);
	standby_ready(&w);
	peer_fails(&w, PEER_SILENT, PEER_WHY_REFUSED);
	w.m.options.automatic = false;
	run(&w, S(30));
	assert_true(taken(&w, COMMAND_PROMOTE));
	world_make(&w, 1, false);
	standby_ready(&w);
	assert_true(taken(&w, COMMAND_FORCE));
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
	w.m.role_written_ns = w.now_ns; /* no other reason to write it */
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

/* M2: the mirror that was stopped for an attempt rests until the peer moves once more. */
static void test_M2_an_attempt_that_the_peer_ended_leaves_the_mirror_for_its_next_renewal(
    void **state)
{
	for (int i = 0; i < 2; i++) {
		struct world w;
		unsigned grants;

		(void)state;
		if (i == 0)
			stopping(&w);
		else
			confirming(&w);
		w.next_look_ns = w.now_ns + S(2);
		grants = w.grants;
		peer_leads(&w, 2);
		look(&w, w.m.peer_nonce);
		assert_true(said(&w, i == 0 ? REASON_LEASE_LIVE : REASON_BACKED_OUT));
		w.no_observer = w.syncer_stays = false;
		run(&w, S(1));
		assert_int_equal(w.m.state, STATE_STANDBY);
		assert_int_equal(w.m.back_off_ns, S(2));
		assert_int_equal(w.grants, grants);
		run(&w, S(2));
		assert_int_equal(w.grants, grants + 1);
	}
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
		TEST(B15_a_command_that_was_taken_is_named),
		TEST(H3_a_mirror_has_two_seconds_to_write_what_it_received),
		TEST(M18_the_final_read_is_asked_for_after_the_guards),
		TEST(H15_hub_role_has_the_term_after_W2_or_after_the_way_back),
		TEST(M2_an_attempt_that_the_peer_ended_leaves_the_mirror_for_its_next_renewal),
		TEST(H15_what_another_hand_changed_in_the_own_lease_is_mended_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
