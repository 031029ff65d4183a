/*
 * Goal: what stands in a Lease that no understudy wrote opens nothing, crashes nothing and
 * overflows nothing: times of the years 1 and 9999, times of the future, no duration or 68 years of
 * it, and annotations of any form (issue "Bad input", H17, C6, C13). Method: the machine in virtual
 * time (elector_world.h), and the parsers of the annotations alone. Sanitizers judge the
 * arithmetic.
 */
#include "elector/annotations.h"
#include "elector_world.h"
#include "kube/lease.h"

#define YEAR_1    (-62135596800000000LL)
#define YEAR_9999 253402300799999999LL

static void test_C6_a_renewal_of_the_future_is_no_recent_one(void **state)
{
	for (int i = 0; i < 4; i++) {
		struct world w;
		int64_t strange_us[4];

		(void)state;
		world_make(&w, 0, true);
		strange_us[0] = w.wall_us + 3600000000LL;
		strange_us[1] = YEAR_9999;
		strange_us[2] = YEAR_1;
		strange_us[3] = 1;
		w.lease = LEASE(HOLDER_SELF, PHASE_LEADING, 2, 2, OTHER, strange_us[i]);
		w.m.dead = OTHER;
		peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
		start(&w);
		run(&w, S(60));
		assert_int_equal(w.m.state, STATE_HELD);
		assert_false(w.page_open);
	}
}

static void test_C6_a_renewal_a_moment_ago_is(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 0, true);
	w.lease = LEASE(HOLDER_SELF, PHASE_LEADING, 2, 2, OTHER, w.wall_us - 1000000);
	w.m.dead = OTHER;
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	start(&w);
	run(&w, S(10));
	assert_int_equal(w.m.state, STATE_ACTIVE);
}

static void test_H17_strange_times_of_the_peer_neither_hold_nor_hasten_a_threshold(void **state)
{
	static const int64_t times_us[] = { YEAR_1, -1, 0, 1, YEAR_9999 };

	for (unsigned i = 0; i < sizeof(times_us) / sizeof(times_us[0]); i++) {
		struct world w;

		(void)state;
		world_make(&w, 1, false);
		w.m.options.block_ns = S(300);
		standby_ready(&w);
		w.renews = false;
		w.peer.renew_us = times_us[i];
		w.peer.acquire_us = times_us[i];
		run(&w, S(18)); /* seen to change: the threshold counts from here */
		assert_int_equal(w.m.state, STATE_STANDBY);
		run(&w, S(8));
		assert_int_equal(w.m.state, STATE_ACTIVE);
	}
}

static void test_H17_without_a_duration_the_own_one_counts_and_a_long_one_is_long(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	w.peer.duration_ms = 0;
	standby_ready(&w);
	assert_int_equal(machine_threshold_ns(&w.m), S(20));
	w.peer.duration_ms = UINT32_MAX;
	look(&w, 0);
	assert_true(machine_threshold_ns(&w.m) > S(4000000));
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	run(&w, S(3600));
	assert_int_equal(w.m.state, STATE_STANDBY);
}

/* I10: it says no term, so that nobody ever led by it. */
static void test_I10_a_claim_without_a_term_is_withdrawn(void **state)
{
	for (int active = 0; active < 2; active++) {
		struct world w;

		(void)state;
		world_make(&w, 0, active);
		w.lease = LEASE(HOLDER_SELF, PHASE_LEADING, 0, 0, OTHER, w.wall_us - 1000000);
		w.m.dead = OTHER;
		start(&w);
		run(&w, S(5));
		assert_int_equal(w.m.state, STATE_STANDBY);
		assert_true(said(&w, REASON_STARTED_GHOST));
		assert_int_equal(w.lease.holder, HOLDER_NONE);
	}
}

/* A holder that is neither of the two, also by a space, claims as well as anybody: it is waited
 * for while its Lease changes, and for a threshold after that. An empty one is no claim. */
static void test_H14_a_holder_of_another_name_is_a_claim_and_an_empty_one_is_none(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	standby_ready(&w);
	w.peer.holder = HOLDER_OTHER;
	w.peer.holder_hash = 78;
	run(&w, S(60));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_true(w.m.peer.claim);
	w.renews = false;
	run(&w, S(15));
	assert_int_equal(w.m.state, STATE_STANDBY);
	run(&w, S(10));
	assert_int_equal(w.m.state, STATE_ACTIVE);

	world_make(&w, 1, false);
	standby_ready(&w);
	w.peer.holder = HOLDER_NONE; /* phase still says leading */
	w.peer.holder_hash = 0;
	run(&w, S(5));
	assert_false(w.m.peer.claim);
	assert_false(w.m.granted); /* H9: nobody leads there, the mirror rests */
	run(&w, S(10));
	assert_int_equal(w.m.state, STATE_STANDBY);
}

static void test_H21_a_pause_of_the_year_9999_ends_after_4_hours(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	w.lease = LEASE(HOLDER_NONE, PHASE_NONE, 1, 0, OTHER, w.wall_us - 1000);
	w.lease.paused_us = YEAR_9999;
	standby_complete(&w);
	assert_false(machine_armed(&w.m));
	run(&w, S(14400));
	assert_true(machine_armed(&w.m));
}

static void test_C6_a_record_of_any_year_is_old_at_most(void **state)
{
	struct world w;

	(void)state;
	world_make(&w, 1, false);
	w.record = (struct machine_record){ .exists = true, .term = 2, .led_term = 2 };
	memcpy(w.record.uid, UID_P, sizeof(UID_P));
	w.record.age_ns = 3155760000000000000LL;
	peer_fails(&w, PEER_SILENT, PEER_WHY_TIMEOUT);
	start(&w);
	run(&w, S(60));
	assert_int_equal(w.m.state, STATE_STANDBY);
	assert_false(machine_armed(&w.m));
}

/* --- Annotations -------------------------------------------------------------------------------
 */

static void test_C13_only_texts_of_the_exact_form_say_something(void **state)
{
	static const char *const none[] = { "", "{}", "[]", "null", "5", "\"x\"", "{\"id\":5}",
		"{\"id\":\"0123456789abcde\",\"to\":\"hub-b\",\"synced\":true}",
		"{\"id\":\"0123456789abcdefa\",\"to\":\"hub-b\",\"synced\":true}",
		"{\"id\":\"0123456789ABCDEF\",\"to\":\"hub-b\",\"synced\":true}",
		"{\"id\":\"0000000000000000\",\"to\":\"hub-b\",\"synced\":true}",
		"{\"id\":\"-123456789abcdef\",\"to\":\"hub-b\",\"synced\":true}",
		"{\"id\":[\"0123456789abcdef\"],\"to\":\"hub-b\",\"synced\":true}",
		"{\"id\":\"0123456789abcdef\",\"id\":\"0123456789abcdef\",\"to\":\"hub-b\"}",
		"{\"id\":\"0123456789abcdef\",\"synced\":\"true\",\"to\":5}",
		"{\"id\":\"0123456789abcdef\",\"synced\":true,\"declined\":true}",
		"{\"id\":\"0123456789abcdef\"", "<html>" };
	enum machine_ack ack;
	bool to_me;
	uint64_t id;
	char why[ANNOTATIONS_WHY];

	(void)state;
	for (unsigned i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		annotations_read_handover(str_of(none[i]), "hub-b", &id, &to_me);
		assert_int_equal(id, 0);
		assert_false(to_me);
		annotations_read_ack(str_of(none[i]), &id, &ack, why);
		assert_int_equal(id, 0);
		assert_int_equal(ack, ACK_NONE);
	}
}

static void test_C13_a_standbys_word_is_whole_or_none(void **state)
{
	static const char *const none[] = { "", "{}", "[]", "{\"armed\":true,\"complete\":true}",
		"{\"armed\":1,\"complete\":true,\"lagMs\":3}",
		"{\"armed\":true,\"complete\":\"yes\",\"lagMs\":3}",
		"{\"armed\":true,\"complete\":true,\"lagMs\":-3}",
		"{\"armed\":true,\"complete\":true,\"lagMs\":1e3}",
		"{\"armed\":true,\"complete\":true,\"lagMs\":99999999999999999999}" };
	struct machine_standby standby;

	(void)state;
	for (unsigned i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		annotations_read_standby(str_of(none[i]), &standby);
		assert_false(standby.known || standby.armed || standby.complete);
	}
	annotations_read_standby(
	    STR_LIT("{\"armed\":true,\"complete\":false,\"lagMs\":9223372036854775807}"), &standby);
	assert_true(standby.known && standby.armed && !standby.complete);
	assert_true(standby.lag_ms == INT64_MAX);
}

static void test_B16_a_block_is_whole_or_none(void **state)
{
	static const char *const none[] = { "", "{}", "5", "[]",
		"{\"term\":0,\"until\":\"2026-01-01T00:00:00Z\",\"acknowledged\":false}",
		"{\"term\":-3,\"until\":\"2026-01-01T00:00:00Z\",\"acknowledged\":false}",
		("{\"term\":9007199254740993,\"until\":\"2026-01-01T00:00:00Z\",\"acknowledged\":"
		 "false}"),
		"{\"term\":\"3\",\"until\":\"2026-01-01T00:00:00Z\",\"acknowledged\":false}",
		"{\"term\":3,\"until\":\"tomorrow\",\"acknowledged\":false}",
		"{\"term\":3,\"acknowledged\":false}",
		"{\"term\":3,\"until\":\"2026-01-01T00:00:00Z\"}",
		"{\"term\":3,\"until\":\"2026-01-01T00:00:00Z\",\"acknowledged\":\"true\"}" };
	struct machine_block block = { 3, 1767225600123456, true }, back;
	char text[128];

	(void)state;
	for (unsigned i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		annotations_read_block(str_of(none[i]), &back);
		assert_true(back.term == 0 && back.until_us == 0 && !back.acknowledged);
	}
	annotations_put_block(text, sizeof(text), &block);
	assert_string_equal(
	    text, "{\"term\":3,\"until\":\"2026-01-01T00:00:00.123456Z\",\"acknowledged\":true}");
	annotations_read_block(str_of(text), &back);
	assert_true(back.term == 3 && back.until_us == block.until_us && back.acknowledged);
	block.term = 0;
	annotations_put_block(text, sizeof(text), &block);
	assert_string_equal(text, "");
	block.term = KUBE_TERM_MAX; /* the longest text fits where it goes */
	annotations_put_block(text, sizeof(text), &block);
	assert_true(text[0] != '\0');
}

static void test_C13_what_is_written_is_read_back(void **state)
{
	struct machine_standby standby = { true, true, true, 41 }, back;
	enum machine_ack ack;
	char text[512], why[ANNOTATIONS_WHY], small[60];
	uint64_t id;
	bool to_me;

	(void)state;
	annotations_put_handover(text, sizeof(text), 0xa5, "hub-\"b");
	annotations_read_handover(str_of(text), "hub-\"b", &id, &to_me);
	assert_true(id == 0xa5 && to_me);
	annotations_read_handover(str_of(text), "hub-b", &id, &to_me);
	assert_true(id == 0xa5 && !to_me);
	annotations_put_ack(text, sizeof(text), 0xa5, ACK_DECLINED, "3 \"kinds\"\n failed");
	annotations_read_ack(str_of(text), &id, &ack, why);
	assert_true(id == 0xa5 && ack == ACK_DECLINED);
	assert_string_equal(why, "3 \"kinds\"\n failed");
	/* A reason that does not fit is left out, not the answer. */
	annotations_put_ack(small, sizeof(small), 0xa5, ACK_DECLINED, "a reason that has no room");
	annotations_read_ack(str_of(small), &id, &ack, why);
	assert_true(id == 0xa5 && ack == ACK_DECLINED && !why[0]);
	annotations_put_ack(text, sizeof(text), 0xa5, ACK_SYNCED, "unused");
	annotations_read_ack(str_of(text), &id, &ack, NULL);
	assert_true(id == 0xa5 && ack == ACK_SYNCED);
	annotations_put_standby(text, sizeof(text), &standby);
	annotations_read_standby(str_of(text), &back);
	assert_memory_equal(&standby, &back, sizeof(back));
	annotations_put_handover(text, sizeof(text), 0, "hub-b");
	assert_string_equal(text, "");
	annotations_put_ack(text, sizeof(text), 0, ACK_SYNCED, "");
	assert_string_equal(text, "");
	standby.known = false;
	annotations_put_standby(text, sizeof(text), &standby);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_C6_a_renewal_of_the_future_is_no_recent_one),
		cmocka_unit_test(test_C6_a_renewal_a_moment_ago_is),
		cmocka_unit_test(
		    test_H17_strange_times_of_the_peer_neither_hold_nor_hasten_a_threshold),
		cmocka_unit_test(
		    test_H17_without_a_duration_the_own_one_counts_and_a_long_one_is_long),
		cmocka_unit_test(test_I10_a_claim_without_a_term_is_withdrawn),
		cmocka_unit_test(
		    test_H14_a_holder_of_another_name_is_a_claim_and_an_empty_one_is_none),
		cmocka_unit_test(test_H21_a_pause_of_the_year_9999_ends_after_4_hours),
		cmocka_unit_test(test_C6_a_record_of_any_year_is_old_at_most),
		cmocka_unit_test(test_C13_only_texts_of_the_exact_form_say_something),
		cmocka_unit_test(test_C13_a_standbys_word_is_whole_or_none),
		cmocka_unit_test(test_B16_a_block_is_whole_or_none),
		cmocka_unit_test(test_C13_what_is_written_is_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
