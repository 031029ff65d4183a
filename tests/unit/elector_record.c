/*
 * Goal: an armed record arms only what it really says (H2, C5), the pair is the same text on both
 * hubs and no other (H14), and an episode makes one Event. Method: records whole, broken and
 * hostile; both ends of one pair.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "elector/elector.h"

#define NOW_US 1700000000000000LL /* 2023-11-14T22:13:20Z */
#define A      "ha.kubeslice.io/"

static struct machine_record parse(const char *annotations, const char *pair)
{
	json_t *object = json_object(), *metadata = json_object();
	struct machine_record record;

	json_object_set_new(object, "metadata", metadata);
	json_object_set_new(
	    metadata, "annotations", json_loads(annotations, JSON_DECODE_ANY, NULL));
	record_parse(object, pair, NOW_US, &record);
	json_decref(object);
	return record;
}

static void test_whole_record(void **state)
{
	struct machine_record r = parse(
	    "{\"" A "peer-uid\":\"u-1\",\"" A "peer-term\":\"4\",\"" A "peer-led-term\":\"2\",\"" A
	    "peer-duration-ms\":\"15000\",\"" A "peer-renew-deadline-ms\":\"10000\",\"" A
	    "seen-at\":\"2023-11-14T22:12:20.000000Z\",\"" A "pair\":\"aa\",\"" A
	    "mirror\":\"{\\\"sourceUID\\\":\\\"u-1\\\",\\\"sourceTerm\\\":2,"
	    "\\\"complete\\\":true}\"}",
	    "aa");

	(void)state;
	assert_true(r.exists && !r.other_pair && r.complete);
	assert_string_equal(r.uid, "u-1");
	assert_string_equal(r.mirror_uid, "u-1");
	assert_int_equal(r.term, 4);
	assert_int_equal(r.led_term, 2);
	assert_int_equal(r.mirror_term, 2);
	assert_int_equal(r.age_ns, 60000000000LL);
	assert_int_equal(r.duration_ms, 15000);
	assert_int_equal(r.renew_deadline_ms, 10000);
}

static void test_H2_another_pair_is_no_record_of_this_one(void **state)
{
	struct machine_record r = parse("{\"" A "peer-uid\":\"u\",\"" A
					"seen-at\":\"2023-11-14T22:12:20Z\",\"" A "pair\":\"bb\"}",
	    "aa");

	(void)state;
	assert_true(r.exists && r.other_pair);
}

static void test_broken_records_arm_nothing(void **state)
{
	static const char *const broken[] = { "null", "{}", "[]", "{\"" A "peer-uid\":\"u\"}",
		"{\"" A "peer-uid\":\"\",\"" A "seen-at\":\"2023-11-14T22:12:20Z\"}",
		"{\"" A "peer-uid\":\"u\",\"" A "seen-at\":\"yesterday\"}",
		"{\"" A "peer-uid\":7,\"" A "seen-at\":\"2023-11-14T22:12:20Z\"}",
		"{\"" A "peer-uid\":\"0123456789012345678901234567890123456789\",\"" A
		"seen-at\":\"2023-11-14T22:12:20Z\"}" };
	struct machine_record r;

	(void)state;
	for (unsigned i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		assert_false(parse(broken[i], "aa").exists);
	r = parse("{\"" A "peer-uid\":\"u\",\"" A "seen-at\":\"2023-11-14T22:12:20Z\",\"" A
		  "peer-term\":\"1e3\",\"" A "peer-led-term\":\"99999999999999999999\",\"" A
		  "peer-duration-ms\":\"-1\",\"" A "peer-renew-deadline-ms\":\"4294967296\",\"" A
		  "mirror\":\"[\"}",
	    "");
	assert_true(r.exists && !r.complete);
	assert_int_equal(r.term, 0);
	assert_int_equal(r.led_term, 0);
	assert_int_equal(r.duration_ms, 0);
	assert_int_equal(r.renew_deadline_ms, 0);
	r = parse("{\"" A "peer-uid\":\"u\",\"" A "seen-at\":\"2099-01-01T00:00:00Z\",\"" A
		  "mirror\":\"{\\\"complete\\\":\\\"true\\\",\\\"sourceTerm\\\":-1}\"}",
	    "");
	assert_int_equal(r.age_ns, 0);
	assert_false(r.complete);
	assert_int_equal(r.mirror_term, 0);
}

static struct us_config *config_of(uint32_t self)
{
	static struct us_config config[2];

	config[self].self = self;
	config[self].hub_count = 2;
	memcpy(config[self].pool + 1, "hub-a", 6);
	memcpy(config[self].pool + 7, "hub-b", 6);
	config[self].hubs[0].name = 1;
	config[self].hubs[1].name = 7;
	return &config[self];
}

static void test_H14_pair_is_the_same_on_both_hubs_and_differs_elsewhere(void **state)
{
	char a[65], b[65], swapped[65], none[65];

	(void)state;
	elector_pair(config_of(0), "uid-a", "uid-b", a);
	elector_pair(config_of(1), "uid-b", "uid-a", b);
	elector_pair(config_of(0), "uid-b", "uid-a", swapped);
	elector_pair(config_of(0), "uid-a", "", none);
	assert_int_equal(strlen(a), 64);
	assert_string_equal(a, b);
	assert_string_not_equal(a, swapped);
	assert_string_equal(none, "");
}

static void test_G5_one_event_for_a_key_in_ten_minutes(void **state)
{
	struct event_queue queue = { 0 };
	int64_t now_ns = 1000000000;

	(void)state;
	assert_true(events_is_new(&queue, 1, now_ns));
	assert_false(events_is_new(&queue, 1, now_ns + 599000000000));
	assert_true(events_is_new(&queue, 2, now_ns));
	assert_true(events_is_new(&queue, 1, now_ns + 601000000000));
	for (uint64_t key = 10; key < 500; key++) /* bounded: old keys fall out */
		assert_true(events_is_new(&queue, key, now_ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_record),
		cmocka_unit_test(test_H2_another_pair_is_no_record_of_this_one),
		cmocka_unit_test(test_broken_records_arm_nothing),
		cmocka_unit_test(test_H14_pair_is_the_same_on_both_hubs_and_differs_elsewhere),
		cmocka_unit_test(test_G5_one_event_for_a_key_in_ten_minutes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
