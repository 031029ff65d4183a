/*
 * Goal: mode replicas does what the rules R1-R17 say, and a client-go program on the same Lease is
 * respected. Method: up to three replicas around one Lease in virtual time
 * (elector_replicas_world.h), which checks after each step that no two run at once.
 */
#include "elector_replicas_world.h"
#include "kube/lease.h"

static struct world w;

static void fine(void)
{
	if (w.why[0])
		fail_msg("%s", w.why);
}

static struct node *node(unsigned i)
{
	return &w.nodes[i];
}

/* Three replicas of which number 0 leads, each with a workload. */
static void three(void)
{
	world_make(&w, 0);
	for (unsigned i = 0; i < NODES; i++)
		node(i)->workload = true;
	w.lease =
	    (struct lease){ .exists = true, .holder = NOBODY, .version = 7, .transitions = 4 };
	start(&w, 0);
	run(&w, S(1));
	start(&w, 1);
	start(&w, 2);
	run(&w, S(5));
	fine();
	assert_int_equal(leader(&w), 0);
	assert_true(node(0)->running);
}

static void test_R1_one_leads_and_the_others_do_nothing(void **state)
{
	(void)state;
	three();
	run(&w, S(600));
	fine();
	assert_int_equal(leader(&w), 0);
	assert_int_equal(node(0)->opened, 1);
	assert_int_equal(node(1)->opened + node(2)->opened, 0);
	assert_true(replicas_holder_is_live(&node(1)->m));
	assert_int_equal(node(0)->said[REPLICAS_TAKEN], 1);
	for (unsigned i = 1; i < NODES; i++)
		assert_int_equal(node(i)->said[REPLICAS_LEADER_SEEN], 1);
	/* A renewal each RP, and hardly a read: the watch brings what the others need. */
	assert_in_range(w.writes, 295, 310);
	assert_in_range(w.reads, 0, 20);
}

static void test_R12_a_new_holder_is_counted_and_a_renewal_is_not(void **state)
{
	int64_t acquired_us;

	(void)state;
	three();
	assert_int_equal(w.lease.transitions, 5);
	assert_int_equal(w.lease.term, 5); /* R21: above both of what was there */
	acquired_us = w.lease.acquire_us;
	assert_true(w.lease.renew_us > acquired_us);
	run(&w, S(20));
	assert_int_equal(w.lease.transitions, 5);
	assert_true(w.lease.acquire_us == acquired_us);
	assert_int_equal(w.lease.duration_ms, 15000);
}

static void test_R2_R3_a_silent_holder_is_replaced_after_its_own_duration(void **state)
{
	int64_t died;
	unsigned next;

	(void)state;
	three();
	elector_ends(&w, node(0), false); /* the whole understudyd, no restart */
	died = w.now;
	run(&w, S(12));
	assert_int_equal(leader(&w), NOBODY);
	run(&w, S(4));
	fine();
	next = leader(&w);
	assert_in_range(next, 1, 2);
	assert_true(w.now - died <= S(16));
	assert_int_equal(w.lease.term, 6);
	assert_int_equal(w.lease.transitions, 6);

	/* The record's duration counts, not ours (R3). */
	w.lease.duration_ms = 40000;
	edit(&w, FOREIGN, 77, w.lease.renew_us + 1);
	run(&w, MS(100));
	assert_int_equal(leader(&w), NOBODY); /* R7 */
	run(&w, S(39));
	assert_int_equal(leader(&w), NOBODY);
	run(&w, S(2));
	assert_int_not_equal(leader(&w), NOBODY);
	fine();
}

static void test_R3_a_record_without_a_duration_lasts_as_long_as_ones_own(void **state)
{
	(void)state;
	world_make(&w, 0);
	w.lease = (struct lease){ .exists = true, .holder = FOREIGN, .instance = 77, .version = 3 };
	start(&w, 0);
	assert_false(replicas_holder_is_live(&node(0)->m)); /* nothing was read yet */
	run(&w, S(14));
	assert_int_equal(leader(&w), NOBODY);
	assert_true(replicas_holder_is_live(&node(0)->m));
	run(&w, S(3));
	assert_int_equal(leader(&w), 0);
	assert_false(replicas_holder_is_live(&node(0)->m)); /* that is this one */
	fine();
}

static void test_R2_wall_clocks_decide_nothing(void **state)
{
	(void)state;
	for (int hours = -1; hours <= 1; hours += 2) {
		three();
		w.lease.renew_us = 1; /* read as told: long ago, or of the future */
		for (unsigned i = 0; i < NODES; i++)
			node(i)->wall_skew_us += hours * 3600000000LL;
		run(&w, S(60));
		fine();
		assert_int_equal(leader(&w), 0);
	}
}

static void test_R4_foreign_edits_of_labels_extend_nothing(void **state)
{
	(void)state;
	three();
	elector_ends(&w, node(0), false);
	for (int i = 0; i < 160; i++) { /* another version each 100 ms, the record is the same */
		w.lease.version++;
		changed(&w);
		run(&w, MS(100));
	}
	fine();
	assert_int_not_equal(leader(&w), NOBODY);
}

static void test_R5_validity_counts_from_the_sending(void **state)
{
	(void)state;
	three();
	node(0)->mute = true; /* the next renewal is applied, no answer comes */
	run(&w, S(12));
	fine();
	assert_int_equal(leader(&w), NOBODY);
	assert_int_equal(w.lease.holder, 0); /* so that nobody else may take it yet */
	node(0)->mute = false;
	run(&w, S(6));
	fine();
	assert_int_equal(leader(&w), 0); /* R15 */
	assert_int_equal(w.lease.term, 5);
	assert_int_equal(w.lease.transitions, 5);
}

static void test_R6_one_lost_answer_costs_nothing(void **state)
{
	(void)state;
	three();
	node(0)->cut = true;
	run(&w, S(3));
	node(0)->cut = false;
	run(&w, S(5));
	fine();
	assert_int_equal(leader(&w), 0);
	assert_int_equal(node(0)->opened, 1);
}

static void test_R7_an_edited_holder_is_obeyed_at_once(void **state)
{
	(void)state;
	three();
	w.foreign_until = 0;
	edit(&w, FOREIGN, 77, w.lease.renew_us + 1);
	run(&w, MS(30));
	assert_int_equal(leader(&w), NOBODY);
	assert_false(node(0)->page_open);
	run(&w, MS(100));
	assert_false(node(0)->running);
	fine();
}

static void test_R8_R9_a_stop_ends_the_workload_and_gives_the_lease_back(void **state)
{
	(void)state;
	three();
	stop(&w, 0);
	assert_false(node(0)->page_open);
	assert_int_equal(w.lease.holder, 0); /* not yet: the workload is still there */
	run(&w, MS(400));
	fine();
	assert_int_equal(node(0)->exit_code, 0);
	assert_int_equal(w.releases, 1);
	assert_in_range(leader(&w), 1, 2);
	assert_int_equal(w.lease.transitions, 6);
}

static void test_R8_what_somebody_else_holds_is_not_given_back(void **state)
{
	(void)state;
	three();
	node(0)->paused_until = w.now + S(20); /* it does not see what happens */
	run(&w, S(19));
	edit(&w, FOREIGN, 77, 1);
	w.lease.duration_ms = 60000;
	run(&w, S(1) + MS(10));
	stop(&w, 0);
	run(&w, S(2));
	fine();
	assert_int_equal(w.lease.holder, FOREIGN);
	assert_int_equal(w.releases, 0);
	assert_int_equal(node(0)->exit_code, 0);
}

static void test_R8_a_release_without_an_answer_is_looked_after(void **state)
{
	(void)state;
	three();
	stop(&w, 0);
	run(&w, MS(21)); /* the workload is gone, the write is under way */
	node(0)->mute = true;
	run(&w, S(1));
	assert_int_equal(node(0)->exit_code, -1);
	node(0)->mute = false;
	run(&w, S(4)); /* the write's own time is over, the supervisor's is not */
	assert_true(node(0)->exit_code == 0 && node(0)->said[REPLICAS_GIVEN_BACK] == 1);
	fine();
}

static void test_R8_a_lead_that_cannot_be_given_up_runs_out(void **state)
{
	(void)state;
	three();
	w.lease.prefers_other = true;
	edit(&w, 0, node(0)->instance, w.lease.renew_us);
	while (node(0)->m.state == REPLICAS_LEADING && w.now < S(120))
		run(&w, MS(1));
	assert_int_equal(node(0)->m.state, REPLICAS_ENDING);
	w.down = true;
	run(&w, S(7));
	assert_true(node(0)->said[REPLICAS_KEPT] == 1 && node(0)->m.state == REPLICAS_PASSIVE);
	w.down = false;
	run(&w, S(20));
	fine();
	assert_in_range(leader(&w), 1, 2); /* not this one, which holds still for a while */
}

static void test_R8_a_stop_without_an_api_server_ends_in_time(void **state)
{
	(void)state;
	three();
	w.down = true;
	stop(&w, 0);
	run(&w, S(6));
	assert_int_equal(node(0)->exit_code, 0);
	assert_int_equal(w.releases, 0);
	stop(&w, 1); /* one that holds nothing need not wait */
	run(&w, MS(1));
	assert_int_equal(node(1)->exit_code, 0);
	fine();
}

static void test_R9_a_stop_while_a_claim_is_on_its_way_gives_it_back(void **state)
{
	(void)state;
	world_make(&w, 0);
	w.lease = (struct lease){ .exists = true, .holder = NOBODY, .version = 1 };
	start(&w, 0);
	while (!w.writes && w.now < S(110))
		run(&w, MS(1));
	assert_int_equal(leader(&w), NOBODY);
	stop(&w, 0);
	run(&w, S(1));
	assert_int_equal(node(0)->exit_code, 0);
	assert_int_equal(w.lease.holder, NOBODY);
	assert_int_equal(w.releases, 1);
	assert_int_equal(node(0)->opened, 0);
	fine();
}

static void test_R10_contenders_do_not_come_all_at_once(void **state)
{
	int64_t first[3] = { 0 };

	(void)state;
	three();
	stop(&w, 0);
	run(&w, MS(30)); /* seen to be free */
	for (unsigned i = 1; i < NODES; i++)
		first[i] = node(i)->m.asked_ns;
	run(&w, S(1));
	assert_true(node(1)->m.asked_ns - first[1] != node(2)->m.asked_ns - first[2]);
	fine();
}

static void test_R11_a_process_that_starts_anew_is_another_one(void **state)
{
	uint64_t term;

	(void)state;
	three();
	term = w.lease.term;
	elector_ends(&w, node(0), true); /* its supervisor has reaped it: proven dead */
	run(&w, MS(100));
	assert_int_equal(leader(&w), NOBODY);
	start(&w, 0);
	run(&w, MS(100));
	fine();
	assert_int_equal(leader(&w), 0); /* at once, for nobody else may */
	assert_true(w.lease.term > term);

	/* Without the proof it waits like everybody. */
	elector_ends(&w, node(0), false);
	node(0)->dead = 0;
	node(0)->page_open = false;
	start(&w, 0);
	run(&w, S(12));
	assert_int_equal(leader(&w), NOBODY);
	run(&w, S(4));
	assert_int_not_equal(leader(&w), NOBODY);
	fine();
}

static void test_R11_a_clone_ends_the_process(void **state)
{
	(void)state;
	three();
	edit(&w, 0, node(0)->instance, w.lease.renew_us + 5000000);
	run(&w, MS(50));
	assert_int_equal(node(0)->exit_code, 75);
	assert_false(node(0)->page_open);
	edit(&w, 1, node(1)->instance, w.lease.renew_us + 5000000); /* also one that is passive */
	run(&w, S(20));
	assert_int_equal(node(1)->exit_code, 75);
}

static void test_R9_a_stop_before_there_is_a_credential_ends_at_once(void **state)
{
	struct replicas_options options = { .instance = 5,
		.duration_ns = LD,
		.renew_deadline_ns = RD,
		.retry_ns = RP,
		.request_ns = RT };
	struct replicas_event stop_it = { .input = REPLICAS_ON_STOP, .deadline_ns = S(20) };
	struct replicas_event late = { .input = REPLICAS_ON_WORKLOAD };
	struct replicas_out out;
	struct replicas r;

	(void)state;
	replicas_init(&r, &options);
	replicas_step(&r, &stop_it, S(10), &out);
	assert_int_equal(out.todo_count, 1);
	assert_int_equal(out.todo[0].verb, REPLICAS_EXIT);
	assert_int_equal(out.todo[0].code, 0);
	replicas_step(&r, &late, S(10), &out);
	assert_int_equal(out.todo_count, 0);
	assert_true(out.wake_at_ns == INT64_MAX);
}

static void test_R13_a_preferred_holder_is_the_end_of_the_term(void **state)
{
	(void)state;
	three();
	w.lease.prefers_other = true;
	edit(&w, 0, node(0)->instance, w.lease.renew_us);
	while (node(0)->page_open && w.now < S(120))
		run(&w, MS(1));
	run(&w, MS(100)); /* the workload's end, and no more, is waited for */
	fine();
	assert_int_not_equal(leader(&w), 0);
	assert_int_equal(w.releases, 1);
	assert_int_equal(node(0)->m.state, REPLICAS_PASSIVE);
}

static void test_R14_a_deleted_lease_comes_back_and_is_nobodys_meanwhile(void **state)
{
	(void)state;
	three();
	for (int i = 0; i < 100; i++) {
		uint64_t version = w.lease.version;

		w.lease = (struct lease){ .version = version, .holder = NOBODY };
		changed(&w);
		run(&w, MS(700));
		fine();
		assert_int_equal(leader(&w), 0);
	}
	assert_int_equal(w.lease.term, 5);
	assert_int_equal(w.lease.transitions, 5);
	assert_int_equal(node(0)->opened, 1);

	/* The holder cannot write it again: the others wait as long as it may believe in itself. */
	node(0)->cut = true;
	w.lease.exists = false;
	changed(&w);
	run(&w, S(18));
	assert_int_equal(leader(&w), NOBODY);
	run(&w, S(4));
	assert_in_range(leader(&w), 1, 2);
	assert_true(w.lease.term > 5);
	fine();
}

static void test_R14_a_first_lease_waits_for_one_that_was_deleted(void **state)
{
	(void)state;
	world_make(&w, 0);
	start(&w, 0);
	run(&w, S(18));
	assert_int_equal(leader(&w), NOBODY);
	run(&w, S(4));
	assert_int_equal(leader(&w), 0);
	assert_int_equal(w.lease.term, 1);
	assert_int_equal(w.lease.transitions, 0); /* as client-go makes it */
	fine();
}

static void test_R16_a_workload_that_cannot_run_gives_the_lease_to_others(void **state)
{
	(void)state;
	three();
	node(0)->crashes = true;
	for (int i = 0; i < 5; i++) { /* it ends by itself, and is started again */
		struct replicas_event e = { .input = REPLICAS_ON_WORKLOAD };

		e.workload.empty = true;
		feed(&w, node(0), &e);
		run(&w, S(1));
		e.workload.empty = false;
		e.workload.running = true;
		feed(&w, node(0), &e);
		run(&w, S(1));
	}
	run(&w, S(3));
	fine();
	assert_in_range(leader(&w), 1, 2);
	/* It does not take it again for a while. */
	elector_ends(&w, node(1), false);
	elector_ends(&w, node(2), false);
	run(&w, S(20));
	assert_int_equal(leader(&w), NOBODY);
	run(&w, S(15));
	assert_int_equal(leader(&w), 0);
	fine();
}

static void test_R17_an_outage_ends_the_lead_and_nothing_else(void **state)
{
	(void)state;
	three();
	w.down = true;
	run(&w, S(60));
	assert_int_equal(leader(&w), NOBODY);
	for (unsigned i = 0; i < NODES; i++) /* told once while it lasts */
		assert_true(node(i)->exit_code == -1 && node(i)->said[REPLICAS_UNREACHABLE] == 1);
	assert_int_equal(node(0)->said[REPLICAS_LAPSED], 1);
	elector_ends(&w, node(2), true);
	start(&w, 2); /* started in the outage */
	run(&w, S(30));
	assert_int_equal(node(2)->m.state, REPLICAS_PASSIVE);
	w.down = false;
	run(&w, S(10));
	fine();
	assert_int_not_equal(leader(&w), NOBODY);
}

static void test_SIGSTOP_of_the_holder_ends_its_validity_and_another_leads(void **state)
{
	(void)state;
	three();
	node(0)->paused_until = w.now + S(60);
	run(&w, S(10));
	assert_int_equal(leader(&w), NOBODY);
	run(&w, S(8));
	assert_in_range(leader(&w), 1, 2);
	run(&w, S(60)); /* it wakes, and knows before anything else that it is over */
	fine();
	assert_in_range(leader(&w), 1, 2);
	assert_int_equal(node(0)->m.state, REPLICAS_PASSIVE);
}

static void test_a_foreign_holder_is_respected_as_long_as_it_renews(void **state)
{
	(void)state;
	world_make(&w, 0);
	w.lease = (struct lease){ .exists = true,
		.holder = FOREIGN,
		.instance = 77,
		.version = 3,
		.transitions = 11,
		.duration_ms = 15000 };
	for (unsigned i = 0; i < NODES; i++)
		start(&w, i);
	for (int i = 0; i < 60; i++) {
		edit(&w, FOREIGN, 77, 1700000000000000LL + w.now / 1000);
		run(&w, S(2));
		assert_int_equal(leader(&w), NOBODY);
	}
	run(&w, S(12));
	assert_int_equal(leader(&w), NOBODY);
	run(&w, S(3));
	fine();
	assert_int_not_equal(leader(&w), NOBODY);
	assert_int_equal(w.lease.transitions, 12);
	assert_int_equal(w.lease.term, 12);
}

static void test_C7_no_term_above_the_last_is_taken(void **state)
{
	(void)state;
	world_make(&w, 0);
	w.lease =
	    (struct lease){ .exists = true, .holder = NOBODY, .version = 3, .term = KUBE_TERM_MAX };
	start(&w, 0);
	run(&w, S(60));
	fine();
	assert_int_equal(leader(&w), NOBODY);
	assert_int_equal(w.writes, 0);
	w.lease.term = 0; /* somebody removed the annotation; it takes a new process, too */
	elector_ends(&w, node(0), true);
	start(&w, 0);
	run(&w, S(1));
	assert_int_equal(leader(&w), 0);
}

/* Every state has a row for every fact, and every row a reason for being there. */
static void test_the_table_is_whole(void **state)
{
	unsigned count, facts = replicas_fact_count();
	const struct replicas_row *rows = replicas_table(&count);

	(void)state;
	for (unsigned s = 0; s < REPLICAS_STATE_COUNT; s++)
		for (unsigned f = 0; f < facts; f++) {
			unsigned last = count;

			for (unsigned i = 0; i < count; i++)
				if (rows[i].states >> s & 1 && rows[i].facts >> f & 1)
					last = i;
			if (last == count || rows[last].guard)
				fail_msg("state %u, fact %u: no row without a guard", s, f);
		}
	for (unsigned i = 0; i < count; i++)
		assert_true(rows[i].source && rows[i].source[0]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test(test_##name)
	const struct CMUnitTest tests[] = {
		TEST(R1_one_leads_and_the_others_do_nothing),
		TEST(R12_a_new_holder_is_counted_and_a_renewal_is_not),
		TEST(R2_R3_a_silent_holder_is_replaced_after_its_own_duration),
		TEST(R3_a_record_without_a_duration_lasts_as_long_as_ones_own),
		TEST(R2_wall_clocks_decide_nothing),
		TEST(R4_foreign_edits_of_labels_extend_nothing),
		TEST(R5_validity_counts_from_the_sending),
		TEST(R6_one_lost_answer_costs_nothing),
		TEST(R7_an_edited_holder_is_obeyed_at_once),
		TEST(R8_R9_a_stop_ends_the_workload_and_gives_the_lease_back),
		TEST(R8_what_somebody_else_holds_is_not_given_back),
		TEST(R8_a_release_without_an_answer_is_looked_after),
		TEST(R8_a_lead_that_cannot_be_given_up_runs_out),
		TEST(R8_a_stop_without_an_api_server_ends_in_time),
		TEST(R9_a_stop_while_a_claim_is_on_its_way_gives_it_back),
		TEST(R9_a_stop_before_there_is_a_credential_ends_at_once),
		TEST(R10_contenders_do_not_come_all_at_once),
		TEST(R11_a_process_that_starts_anew_is_another_one),
		TEST(R11_a_clone_ends_the_process),
		TEST(R13_a_preferred_holder_is_the_end_of_the_term),
		TEST(R14_a_deleted_lease_comes_back_and_is_nobodys_meanwhile),
		TEST(R14_a_first_lease_waits_for_one_that_was_deleted),
		TEST(R16_a_workload_that_cannot_run_gives_the_lease_to_others),
		TEST(R17_an_outage_ends_the_lead_and_nothing_else),
		TEST(SIGSTOP_of_the_holder_ends_its_validity_and_another_leads),
		TEST(a_foreign_holder_is_respected_as_long_as_it_renews),
		TEST(C7_no_term_above_the_last_is_taken),
		TEST(the_table_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
