/*
 * Goal: the word for each kind is the right one, above all never Synced for one that cannot be read
 * or of which a part is missing (B5, B19), and the counts and rates of a first pass are those of
 * the objects (C5). Method: the world of syncer_world.h, feeds' words given by hand.
 */
#include "tests/unit/syncer_world.h"

#include "syncer/survey.h"

static enum sync_state state_of(enum kind kind, struct survey_feeds feeds)
{
	struct survey survey;

	survey_take(&w.engine, w.now_ns, &survey);
	return survey_judge(&w.engine, kind, &survey.kinds[kind], &feeds);
}

static const struct survey_feeds listed = { .listed = true };

static void a_kind_that_is_equal_is_synced(void **state)
{
	struct survey survey;

	(void)state;
	add(KIND_SLICE_CONFIG, "red");
	add(KIND_SLICE_CONFIG, "green");
	first_lists();
	assert_int_equal(state_of(KIND_SLICE_CONFIG, listed), SYNC_STATE_PROGRESSING);
	w.now_ns += 3 * BASE_NS_PER_S;
	survey_take(&w.engine, w.now_ns, &survey);
	assert_int_equal(survey.wanted, 3);
	assert_int_equal(survey.done, 0);
	assert_int_equal(survey.oldest_ns, 3 * BASE_NS_PER_S);
	assert_int_equal(survey.kinds[KIND_SLICE_CONFIG].wanted, 2);
	run();
	survey_take(&w.engine, w.now_ns, &survey);
	assert_int_equal(survey.wanted, 3);
	assert_int_equal(survey.done, 3);
	assert_int_equal(survey.oldest_ns, 0);
	assert_int_equal(state_of(KIND_SLICE_CONFIG, listed), SYNC_STATE_SYNCED);
	/* Until its list is there, an empty kind is not an equal one. */
	assert_int_equal(
	    state_of(KIND_CLUSTER, (struct survey_feeds){ 0 }), SYNC_STATE_PROGRESSING);
}

static void what_cannot_be_read_is_unknown(void **state)
{
	struct survey_feeds feeds = {
		.listed = true, .source_fault = "403", .source_counts = true
	};

	(void)state;
	first_mirror();
	assert_int_equal(state_of(KIND_CLUSTER, feeds), SYNC_STATE_UNKNOWN);
	feeds.source_counts = false; /* a connection that comes back */
	assert_int_equal(state_of(KIND_CLUSTER, feeds), SYNC_STATE_DEGRADED);
	feeds.listed = false;
	assert_int_equal(state_of(KIND_CLUSTER, feeds), SYNC_STATE_UNKNOWN);
	feeds = (struct survey_feeds){
		.listed = true, .copies_fault = "no CRD", .copies_counts = true
	};
	assert_int_equal(state_of(KIND_CLUSTER, feeds), SYNC_STATE_BLOCKED);
	/* One of mirror.kinds that is served otherwise waits for a person, not for a server. */
	feeds = (struct survey_feeds){
		.source_fault = "no such", .source_counts = true, .misfit = true
	};
	assert_int_equal(state_of(KIND_CLUSTER, feeds), SYNC_STATE_BLOCKED);
	w.engine.granted = false;
	assert_int_equal(state_of(KIND_CLUSTER, listed), SYNC_STATE_DEGRADED);
	w.engine.granted = true;
	w.engine.regressed = true;
	assert_int_equal(state_of(KIND_CLUSTER, listed), SYNC_STATE_BLOCKED);
}

static void one_object_blocks_its_kind_only(void **state)
{
	struct object *binding = add(KIND_ROLE_BINDING, "red");
	struct survey survey;

	(void)state;
	add(KIND_SLICE_CONFIG, "green");
	first_mirror();
	w.immutable = KIND_ROLE_BINDING;
	w.field = "subjects"; /* no field that is cured by making it anew */
	change(binding, 2, 0);
	run();
	survey_take(&w.engine, w.now_ns, &survey);
	assert_int_equal(survey.kinds[KIND_ROLE_BINDING].blocked, 1);
	assert_int_equal(survey.done, 2);
	assert_int_equal(state_of(KIND_ROLE_BINDING, listed), SYNC_STATE_BLOCKED);
	assert_int_equal(state_of(KIND_SLICE_CONFIG, listed), SYNC_STATE_SYNCED);
}

static void the_worst_comes_first(void **state)
{
	(void)state;
	assert_true(survey_is_worse(SYNC_STATE_UNKNOWN, SYNC_STATE_BLOCKED));
	assert_true(survey_is_worse(SYNC_STATE_BLOCKED, SYNC_STATE_DEGRADED));
	assert_true(survey_is_worse(SYNC_STATE_DEGRADED, SYNC_STATE_PROGRESSING));
	assert_true(survey_is_worse(SYNC_STATE_PROGRESSING, SYNC_STATE_SYNCED));
	assert_false(survey_is_worse(SYNC_STATE_SYNCED, SYNC_STATE_SYNCED));
	assert_false(survey_is_worse(SYNC_STATE_SKIPPED, SYNC_STATE_SYNCED));
}

static void the_rate_is_that_of_the_last_seconds(void **state)
{
	struct progress progress = { 0 };

	(void)state;
	progress_add(&progress, 0, 0);
	assert_int_equal(progress_rate_milli(&progress), 0);
	assert_int_equal(progress_remaining_ms(&progress, 0, 100), 0);
	progress_add(&progress, 1, 50); /* too soon */
	assert_int_equal(progress_rate_milli(&progress), 0);
	for (unsigned s = 1; s <= 100; s++) /* 10/s, then 100/s */
		progress_add(&progress, s * BASE_NS_PER_S, s < 50 ? s * 10 : 490 + (s - 49) * 100);
	assert_int_equal(progress_rate_milli(&progress), 100000);
	assert_int_equal(progress_remaining_ms(&progress, 5590, 6590), 10000);
	assert_int_equal(progress_remaining_ms(&progress, 7000, 6590), 0);
	progress_add(&progress, 101 * BASE_NS_PER_S, 0); /* another pass */
	assert_int_equal(progress_rate_milli(&progress), 0);
	progress_add(&progress, 102 * BASE_NS_PER_S, 7);
	assert_int_equal(progress_rate_milli(&progress), 7000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(a_kind_that_is_equal_is_synced),
		STORY(what_cannot_be_read_is_unknown),
		STORY(one_object_blocks_its_kind_only),
		STORY(the_worst_comes_first),
		STORY(the_rate_is_that_of_the_last_seconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
