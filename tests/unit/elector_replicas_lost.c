/*
 * Goal: a replica that lost sight of the Lease for a while takes nothing from a holder that is
 * valid, and gives nothing of another one back (R8, R14). Method: replicas in virtual time
 * (elector_replicas_world.h); these schedules were found by elector_replicas_schedule.c.
 */
#include "elector_replicas_world.h"

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

int main(void)
{
#define TEST(name) cmocka_unit_test(test_##name)
	const struct CMUnitTest tests[] = {
		TEST(R14_no_lease_twice_is_not_none_all_the_time),
		TEST(R14_a_claim_that_waits_is_not_given_back),
		TEST(R14_a_process_that_follows_one_that_waited_waits_too),
		TEST(R3_R14_a_deleted_lease_is_waited_for_as_long_as_it_lasted),
		TEST(R8_a_watch_that_runs_behind_gives_nothing_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
