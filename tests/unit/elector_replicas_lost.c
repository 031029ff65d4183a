/*
 * Goal: a replica that lost sight of the Lease for a while takes nothing from a holder that is
 * valid, gives nothing of another one back, goes on with its own, and tells what is so (R8, R10,
 * R11, R14-R17). Method: replicas in virtual time (elector_replicas_world.h); the first schedules
 * were found by elector_replicas_schedule.c.
 */
#include "elector_replicas_world.h"
#include "kube/lease.h"

static struct world w;

static struct node *node(unsigned i)
{
	return &w.nodes[i];
}

static void fine(void)
{
	if (w.why[0])
		fail_msg("%s", w.why);
}

static void delete_lease(void)
{
	uint64_t version = w.lease.version;

	w.lease = (struct lease){ .version = version, .holder = NOBODY };
	w.deleted = true;
	changed(&w);
}

/* Number 2 saw no Lease before, and sees none now; in between there was one, which is valid. */
static void test_R14_no_lease_twice_is_not_none_all_the_time(void **state)
{
	(void)state;
	world_make(&w, 0);
	start(&w, 2);
	run(&w, S(1));
	assert_true(node(2)->m.known);
	node(2)->cut = true;
	start(&w, 0);
	run(&w, S(30));
	assert_int_equal(leader(&w), 0);
	node(0)->cut = true; /* it cannot write it again, and believes in itself */
	delete_lease();
	node(2)->cut = false;
	run(&w, S(9));
	assert_int_equal(leader(&w), 0);
	fine();
	run(&w, S(15));
	assert_int_equal(leader(&w), 2);
	fine();
}

static void closed(void)
{
	world_make(&w, 0);
	node(0)->workload = true;
	start(&w, 0);
	run(&w, S(8));
	assert_int_equal(w.lease.holder, 0); /* the claim stands */
	assert_int_equal(leader(&w), NOBODY);
}

static void test_R14_a_claim_that_waits_is_not_given_back(void **state)
{
	(void)state;
	closed();
	stop(&w, 0);
	run(&w, S(2));
	assert_int_equal(node(0)->exit_code, 0);
	assert_int_equal(node(0)->said[REPLICAS_KEPT], 1);
	assert_int_equal(w.releases, 0);
	start(&w, 1);
	run(&w, S(12));
	assert_int_equal(leader(&w), NOBODY); /* as long as it may have been meant for another */
	run(&w, S(8));
	assert_int_equal(leader(&w), 1);
	fine();
}

static void test_R14_a_process_that_follows_one_that_waited_waits_too(void **state)
{
	(void)state;
	closed();
	elector_ends(&w, node(0), true);
	start(&w, 0);
	run(&w, S(13));
	assert_int_equal(leader(&w), NOBODY);
	run(&w, S(5));
	assert_int_equal(leader(&w), 0);
	/* One that led and renewed is followed at once, and one that took it from another. */
	run(&w, S(5));
	elector_ends(&w, node(0), true);
	start(&w, 0);
	run(&w, MS(500));
	assert_int_equal(leader(&w), 0);
	elector_ends(&w, node(0), true);
	start(&w, 0);
	run(&w, MS(500));
	assert_int_equal(leader(&w), 0);
	fine();
}

/* A deleted Lease of a longer duration than ones own: its holder believes in itself for longer. */
static void test_R3_R14_a_deleted_lease_is_waited_for_as_long_as_it_lasted(void **state)
{
	(void)state;
	world_make(&w, 0);
	w.lease = (struct lease){ .exists = true,
		.holder = FOREIGN,
		.instance = 77,
		.version = 3,
		.renew_us = 5,
		.duration_ms = 40000 };
	start(&w, 0);
	run(&w, S(1));
	delete_lease();
	run(&w, S(43));
	assert_int_equal(w.lease.holder, 0);
	assert_int_equal(leader(&w), NOBODY);
	run(&w, S(5));
	assert_int_equal(leader(&w), 0);
	fine();
}

/* The watch brings what was long ago, and then it is told to stop. */
static void test_R8_a_watch_that_runs_behind_gives_nothing_back(void **state)
{
	struct replicas_event e = { .input = REPLICAS_ON_WATCH };
	struct lease old;

	(void)state;
	world_make(&w, 0);
	w.lease = (struct lease){ .exists = true, .holder = NOBODY, .version = 7 };
	start(&w, 0);
	run(&w, S(3));
	assert_int_equal(leader(&w), 0);
	old = w.lease;
	start(&w, 1);
	w.lease.prefers_other = true;
	changed(&w);
	run(&w, S(5));
	assert_int_equal(leader(&w), 1);
	node(1)->cut = true; /* so that what number 0 has read is still what stands there */
	run(&w, S(5));
	e.watched = record_for(&w, node(0), &old);
	assert_int_equal(e.watched.holder, REPLICAS_SELF);
	feed(&w, node(0), &e);
	w.releases = 0;
	stop(&w, 0);
	run(&w, S(1));
	assert_int_equal(w.releases, 0);
	assert_int_equal(w.lease.holder, 1);
	fine();
}

static struct replicas_record held(unsigned long instance)
{
	return (struct replicas_record){ .exists = true,
		.holder = REPLICAS_OTHER,
		.holder_hash = instance,
		.transitions = 1,
		.renew_us = (int64_t)instance,
		.duration_ms = 15000 };
}

/* A read of the Lease is answered with this record, or not at all. */
static void answer_read(const struct replicas_record *record)
{
	struct replicas_event e = { .input = REPLICAS_ON_ANSWER };

	e.answer.outcome = record ? OUTCOME_DONE : OUTCOME_REFUSED;
	if (record)
		e.answer.record = *record;
	feed(&w, node(0), &e);
}

static void passive(void)
{
	world_make(&w, 0);
	w.down = true; /* the test answers */
	start(&w, 0);
	assert_true(node(0)->m.busy);
}

static bool asks_within(int64_t least, int64_t most)
{
	int64_t in = node(0)->m.read_at_ns - node(0)->m.now_ns;

	return in >= least && in <= most;
}

/* R10: also when the Lease will be free much later, or is free and cannot be read. */
static void test_R10_a_contender_looks_again_each_retry_period_and_not_more_often(void **state)
{
	struct replicas_record record = held(5);

	(void)state;
	passive();
	record.duration_ms = 3600000;
	answer_read(&record);
	assert_true(asks_within(RP, RP * 11 / 5));
	record.duration_ms = 1;
	passive();
	answer_read(&record);
	run(&w, S(1)); /* free, asked for, and refused */
	answer_read(NULL);
	assert_true(asks_within(RP, RP * 11 / 5));
}

static void test_R17_what_is_read_is_reachable_and_each_outage_is_told(void **state)
{
	struct replicas_record record = held(5);

	(void)state;
	passive();
	for (int outage = 1; outage <= 2; outage++) {
		for (int i = 0; i < 10; i++) {
			record.renew_us++;
			answer_read(&record);
			run(&w, S(2));
		}
		assert_int_equal(node(0)->said[REPLICAS_UNREACHABLE], outage - 1);
		assert_false(replicas_still(&node(0)->m, REPLICAS_UNREACHABLE));
		assert_true(replicas_still(&node(0)->m, REPLICAS_LEADER_SEEN));
		run(&w, S(30));
		assert_true(replicas_still(&node(0)->m, REPLICAS_UNREACHABLE));
		assert_int_equal(node(0)->said[REPLICAS_UNREACHABLE], outage);
		assert_int_equal(node(0)->said[REPLICAS_NO_TERM_LEFT], 0);
	}
}

static void test_a_holder_that_comes_back_is_told_again(void **state)
{
	struct replicas_record record = held(5), free = held(5);

	(void)state;
	passive();
	answer_read(&record);
	free.holder = REPLICAS_NOBODY;
	free.holder_hash = 0;
	node(0)->m.hold_until_ns = INT64_MAX; /* it does not want it */
	answer_read(&free);
	record.renew_us++;
	answer_read(&record);
	assert_int_equal(node(0)->said[REPLICAS_LEADER_SEEN], 2);
}

static void test_C7_the_last_of_all_terms_is_one(void **state)
{
	struct replicas_record record = held(5);

	(void)state;
	passive();
	record.holder = REPLICAS_NOBODY;
	record.transitions = KUBE_TERM_MAX;
	answer_read(&record);
	run(&w, MS(10));
	assert_true(node(0)->m.highest_term == KUBE_TERM_MAX);
	assert_false(node(0)->m.busy); /* nothing is left to claim it with */
	assert_int_equal(node(0)->said[REPLICAS_NO_TERM_LEFT], 1);
}

static void one_leads(void)
{
	world_make(&w, 0);
	node(0)->workload = true;
	w.lease = (struct lease){ .exists = true, .holder = NOBODY, .version = 7 };
	start(&w, 0);
	run(&w, S(3));
	assert_int_equal(leader(&w), 0);
	assert_true(node(0)->running);
}

static void test_R15_after_an_outage_the_same_term_is_open_again(void **state)
{
	uint64_t term;

	(void)state;
	one_leads();
	term = w.lease.term;
	w.down = true;
	run(&w, S(13));
	assert_int_equal(leader(&w), NOBODY);
	assert_false(node(0)->running);
	w.down = false;
	for (int i = 0; i < 800 && node(0)->said[REPLICAS_RESUMED] == 0; i++)
		run(&w, MS(10));
	assert_int_equal(leader(&w), 0); /* at once */
	run(&w, MS(100));
	assert_true(node(0)->running);
	assert_true(node(0)->page_term == term);
	assert_int_equal(node(0)->said[REPLICAS_RESUMED], 1);
	fine();
}

static void test_R11_a_cloned_leader_closes_before_it_leaves(void **state)
{
	struct replicas_event e = { .input = REPLICAS_ON_ANSWER };
	struct replicas_out *out = &node(0)->out;

	(void)state;
	one_leads();
	e.answer.record = record_for(&w, node(0), &w.lease);
	e.answer.record.renew_us += 1000000;
	feed(&w, node(0), &e);
	assert_int_equal(out->todo[0].verb, REPLICAS_PAGE);
	assert_false(out->todo[0].open);
	assert_int_equal(out->todo[out->todo_count - 1].verb, REPLICAS_EXIT);
	assert_int_equal(node(0)->exit_code, 75);
}

/* It never ran at all. */
static void test_R16_a_workload_that_never_starts_is_one_that_fails(void **state)
{
	(void)state;
	world_make(&w, 0);
	node(0)->workload = true;
	w.lease = (struct lease){ .exists = true, .holder = NOBODY, .version = 7 };
	start(&w, 0);
	node(0)->workload = false;
	run(&w, S(59));
	assert_int_equal(leader(&w), 0);
	run(&w, S(8));
	assert_int_equal(leader(&w), NOBODY);
	assert_int_equal(node(0)->said[REPLICAS_WORKLOAD_FAILS], 1);
}

/* R16: it ran, ended once, and nothing starts it again. */
static void test_R16_a_workload_that_stays_down_for_a_minute_is_one_that_fails(void **state)
{
	struct replicas_event e = { .input = REPLICAS_ON_WORKLOAD };

	(void)state;
	one_leads();
	node(0)->workload = false;
	e.workload.empty = true;
	feed(&w, node(0), &e);
	run(&w, S(58));
	assert_int_equal(leader(&w), 0);
	run(&w, S(4));
	assert_int_equal(leader(&w), NOBODY);
	assert_int_equal(node(0)->said[REPLICAS_WORKLOAD_FAILS], 1);
}

/* H18: a stop that was begun finishes, also when the page is open again by then. */
static void test_R16_an_end_that_a_lapse_ordered_is_no_failure(void **state)
{
	struct replicas_event e = { .input = REPLICAS_ON_WORKLOAD };

	(void)state;
	one_leads();
	w.down = true;
	run(&w, S(13));
	assert_int_equal(leader(&w), NOBODY);
	w.down = false;
	node(0)->m.running = true; /* it is still there */
	node(0)->workload = false;
	for (int i = 0; i < 800 && leader(&w) != 0; i++)
		run(&w, MS(10));
	assert_int_equal(leader(&w), 0);
	for (int ends = 0; ends < 5; ends++) {
		assert_int_equal(leader(&w), 0);
		e.workload.running = false;
		e.workload.empty = true;
		feed(&w, node(0), &e); /* the first one is that of the lapse */
		run(&w, S(1));
		e.workload.running = true;
		e.workload.empty = false;
		feed(&w, node(0), &e);
	}
	run(&w, S(1));
	assert_int_equal(leader(&w), 0);
	assert_int_equal(node(0)->said[REPLICAS_WORKLOAD_FAILS], 0);
}

static void test_a_holder_that_was_followed_by_this_one_is_told_again(void **state)
{
	struct node *n = node(0);

	(void)state;
	world_make(&w, 0);
	w.lease = (struct lease){ .exists = true,
		.holder = FOREIGN,
		.instance = 77,
		.version = 3,
		.duration_ms = 15000 };
	start(&w, 0);
	run(&w, S(20));
	assert_int_equal(leader(&w), 0);
	assert_int_equal(n->said[REPLICAS_LEADER_SEEN], 1);
	edit(&w, FOREIGN, 77, w.lease.renew_us + 1);
	run(&w, S(5));
	assert_int_equal(n->said[REPLICAS_LEADER_SEEN], 2);
}

/* R7: only the holder's name was edited. Who lost it contends again, though nothing is heard of the
 * Lease any more. */
static void test_R7_who_lost_the_lease_contends_again(void **state)
{
	(void)state;
	one_leads();
	edit(&w, FOREIGN, 77, w.lease.renew_us);
	run(&w, MS(30));
	assert_int_equal(leader(&w), NOBODY);
	assert_true(node(0)->m.valid_until_ns == 0);
	run(&w, S(14));
	assert_int_equal(leader(&w), NOBODY);
	run(&w, S(4));
	assert_int_equal(leader(&w), 0);
	fine();
}

/* The answer to a renewal is older than what the watch told while it was on its way. */
static void test_R7_what_a_watch_tells_during_a_renewal_is_looked_at(void **state)
{
	struct replicas_event e = { .input = REPLICAS_ON_WATCH };
	unsigned writes;

	(void)state;
	one_leads();
	for (writes = w.writes; w.writes == writes;)
		run(&w, MS(1));
	assert_true(node(0)->m.busy);
	w.lease.version++;
	w.lease.holder = FOREIGN;
	w.lease.instance = 77;
	e.watched = record_for(&w, node(0), &w.lease);
	feed(&w, node(0), &e);
	run(&w, MS(20));
	assert_int_equal(leader(&w), NOBODY);
	assert_int_equal(node(0)->said[REPLICAS_LOST], 1);
}

static void test_R10_a_leader_renews_and_reads_nothing(void **state)
{
	(void)state;
	world_make(&w, 0);
	w.lease = (struct lease){ .exists = true, .holder = NOBODY, .version = 7 };
	start(&w, 0);
	run(&w, S(60));
	assert_int_equal(leader(&w), 0);
	assert_int_equal(w.reads, 1);
}

/* R4, R6: each edit makes the next renewal a conflict; what stands there is read, and the renewal
 * comes soon after it. */
static void test_R6_edits_of_labels_cost_no_lead(void **state)
{
	(void)state;
	one_leads();
	for (int i = 0; i < 120; i++) {
		w.lease.version++;
		changed(&w);
		run(&w, MS(500));
	}
	fine();
	assert_int_equal(leader(&w), 0);
	assert_int_equal(node(0)->opened, 1);
}

/* What is refused at once is asked for again a retry period after it was asked. */
static void test_R6_a_server_that_refuses_is_not_asked_more_often(void **state)
{
	struct replicas_event e = { .input = REPLICAS_ON_ANSWER };
	struct node *n = node(0);
	int64_t asked_ns;

	(void)state;
	one_leads();
	w.down = true;
	while (!n->m.busy)
		run(&w, MS(1));
	asked_ns = n->m.now_ns;
	run(&w, MS(100));
	e.answer.write = true;
	e.answer.outcome = OUTCOME_REFUSED;
	feed(&w, n, &e);
	assert_true(n->out.wake_at_ns == asked_ns + RP);

	passive();
	asked_ns = n->m.now_ns;
	n->m.unsure = true; /* what became of a claim */
	run(&w, MS(100));
	answer_read(NULL);
	assert_true(n->out.wake_at_ns == asked_ns + RP);
}

/* R8: a Lease that was deleted while the workload ended is not made anew by giving it back. */
static void test_R8_what_was_deleted_is_not_given_back(void **state)
{
	(void)state;
	one_leads();
	stop(&w, 0);
	run(&w, MS(5));
	delete_lease();
	run(&w, S(2));
	assert_int_equal(node(0)->exit_code, 0);
	assert_int_equal(node(0)->said[REPLICAS_GIVEN_BACK], 1);
	assert_false(w.lease.exists);
	assert_int_equal(w.releases, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test(test_##name)
	const struct CMUnitTest tests[] = {
		TEST(R14_no_lease_twice_is_not_none_all_the_time),
		TEST(R14_a_claim_that_waits_is_not_given_back),
		TEST(R14_a_process_that_follows_one_that_waited_waits_too),
		TEST(R3_R14_a_deleted_lease_is_waited_for_as_long_as_it_lasted),
		TEST(R10_a_contender_looks_again_each_retry_period_and_not_more_often),
		TEST(R17_what_is_read_is_reachable_and_each_outage_is_told),
		TEST(a_holder_that_comes_back_is_told_again),
		TEST(C7_the_last_of_all_terms_is_one),
		TEST(R15_after_an_outage_the_same_term_is_open_again),
		TEST(R11_a_cloned_leader_closes_before_it_leaves),
		TEST(R16_a_workload_that_never_starts_is_one_that_fails),
		TEST(R8_a_watch_that_runs_behind_gives_nothing_back),
		TEST(R8_what_was_deleted_is_not_given_back),
		TEST(R16_a_workload_that_stays_down_for_a_minute_is_one_that_fails),
		TEST(R16_an_end_that_a_lapse_ordered_is_no_failure),
		TEST(a_holder_that_was_followed_by_this_one_is_told_again),
		TEST(R7_who_lost_the_lease_contends_again),
		TEST(R7_what_a_watch_tells_during_a_renewal_is_looked_at),
		TEST(R10_a_leader_renews_and_reads_nothing),
		TEST(R6_edits_of_labels_cost_no_lead),
		TEST(R6_a_server_that_refuses_is_not_asked_more_often),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
