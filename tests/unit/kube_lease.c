/*
 * Leases: what is read, what is refused by name, what a PUT keeps (leadership-rules 0, H15, L4).
 */
#include "kube/lease.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kube/json.h"

static json_t *json(const char *text)
{
	json_t *value = kube_json_parse(str_of(text), NULL);

	assert_non_null(value);
	return value;
}

static const char full[] =
    "{\"apiVersion\":\"coordination.k8s.io/"
    "v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"n\",\"uid\":"
    "\"u-1\",\"resourceVersion\":\"77\",\"labels\":{\"team\":\"x\"},\"annotations\":{\"foreign\":"
    "\"stays\","
    "\"ha.kubeslice.io/term\":\"9007199254740991\",\"ha.kubeslice.io/led-term\":\"3\","
    "\"ha.kubeslice.io/phase\":\"leading\",\"ha.kubeslice.io/instance\":\"00000000000000ff\","
    "\"ha.kubeslice.io/timing\":\"3000/2500/400\",\"ha.kubeslice.io/pair\":\"ab\","
    "\"ha.kubeslice.io/handover\":\"{}\",\"ha.kubeslice.io/rejoin\":\"{}\"}},\"spec\":{"
    "\"holderIdentity\":\"hub-a\",\"leaseDurationSeconds\":15,\"acquireTime\":"
    "\"2026-11-29T16:00:00.000001Z\",\"renewTime\":\"2026-11-29T16:00:01.500000Z\","
    "\"leaseTransitions\":4,\"strategy\":\"OldestEmulationVersion\"}}";

static void test_parse(void **state)
{
	json_t *object = json(full);
	struct kube_lease lease;
	struct err err;

	(void)state;
	assert_int_equal(kube_lease_parse(object, &lease, &err), 0);
	assert_string_equal(lease.uid, "u-1");
	assert_string_equal(lease.resource_version, "77");
	assert_string_equal(lease.holder, "hub-a");
	assert_true(lease.term == KUBE_TERM_MAX && lease.led_term == 3);
	assert_int_equal(lease.phase, PHASE_LEADING);
	assert_true(lease.instance == 255);
	assert_true(lease.renew_us - lease.acquire_us == 1499999);
	assert_int_equal(lease.duration_ms, 15000);
	assert_true(lease.transitions == 4);
	assert_string_equal(lease.timing, "3000/2500/400");
	assert_string_equal(lease.standby, "");
	assert_true(kube_lease_claims(&lease));
	json_decref(object);
}

/* H15: a term that was lowered or taken away by hand is not below the one in which it led. */
static void test_a_hub_that_led_in_a_term_was_given_it(void **state)
{
	json_t *object =
	    json("{\"metadata\":{\"annotations\":{\"ha.kubeslice.io/led-term\":\"6\"}}}");
	struct kube_lease lease;
	struct err err;

	(void)state;
	assert_int_equal(kube_lease_parse(object, &lease, &err), 0);
	assert_true(lease.term == 6 && lease.led_term == 6);
	json_decref(object);
}

static void test_claims(void **state)
{
	struct kube_lease lease = { .holder = "a" };

	(void)state;
	for (int phase = PHASE_NONE; phase <= PHASE_RELEASED; phase++) {
		lease.phase = (enum lease_phase)phase;
		assert_int_equal(kube_lease_claims(&lease),
		    phase == PHASE_ACQUIRING || phase == PHASE_LEADING || phase == PHASE_DRAINING);
	}
	lease.phase = PHASE_LEADING;
	lease.holder[0] = '\0';
	assert_false(kube_lease_claims(&lease));
}

/* Absent says nothing; a lie is named. */
static void test_absent_and_broken(void **state)
{
	static const struct {
		const char *text, *named;
	} rows[] = {
		{ "{}", "metadata" },
		{ "{\"kind\":\"ConfigMap\",\"metadata\":{}}", "kind" },
		{ "{\"kind\":7,\"metadata\":{}}", "kind" },
		{ "{\"metadata\":{\"annotations\":{\"ha.kubeslice.io/"
		  "term\":\"9007199254740992\"}}}",
		    "term" },
		{ "{\"metadata\":{\"annotations\":{\"ha.kubeslice.io/"
		  "term\":\"9007199254740993\"}}}",
		    "term" },
		{ "{\"metadata\":{\"annotations\":{\"ha.kubeslice.io/"
		  "term\":\"18446744073709551616\"}}}",
		    "term" },
		{ "{\"metadata\":{\"annotations\":{\"ha.kubeslice.io/led-term\":\"0x4\"}}}",
		    "led-term" },
		{ "{\"metadata\":{\"annotations\":{\"ha.kubeslice.io/term\":\"4.0\"}}}", "term" },
		{ "{\"metadata\":{\"annotations\":{\"ha.kubeslice.io/led-term\":\"-1\"}}}",
		    "led-term" },
		{ "{\"metadata\":{\"annotations\":{\"ha.kubeslice.io/phase\":\"ruling\"}}}",
		    "phase" },
		{ "{\"metadata\":{\"annotations\":{\"ha.kubeslice.io/instance\":\"ff\"}}}",
		    "instance" },
		{ "{\"metadata\":{\"annotations\":{\"ha.kubeslice.io/term\":\"1e3\"}}}", "term" },
		{ "{\"metadata\":{\"annotations\":{\"ha.kubeslice.io/term\":\" 3\"}}}", "term" },
		{ "{\"metadata\":{\"annotations\":{\"ha.kubeslice.io/term\":3}}}", "no text" },
		{ "{\"metadata\":{\"annotations\":{\"ha.kubeslice.io/standby\":{}}}}", "no text" },
		{ "{\"metadata\":{\"annotations\":[]}}", "no object" },
		{ "{\"metadata\":{},\"spec\":\"none\"}", "no object" },
		{ "{\"metadata\":{},\"spec\":{\"holderIdentity\":5}}", "holderIdentity" },
		{ "{\"metadata\":{},\"spec\":{\"holderIdentity\":[\"hub-a\"]}}", "holderIdentity" },
		{ "{\"metadata\":{},\"spec\":{\"renewTime\":1700000000}}", "renewTime" },
		{ "{\"metadata\":{},\"spec\":{\"leaseDurationSeconds\":\"15\"}}",
		    "leaseDurationSeconds" },
		{ "{\"metadata\":{},\"spec\":{\"leaseDurationSeconds\":1.5}}",
		    "leaseDurationSeconds" },
		{ "{\"metadata\":{},\"spec\":{\"leaseTransitions\":true}}", "leaseTransitions" },
		{ "{\"metadata\":{},\"spec\":{\"renewTime\":\"yesterday\"}}", "renewTime" },
		{ "{\"metadata\":{\"uid\":\"0123456789012345678901234567890123456789\"}}", "uid" },
		{ "{\"metadata\":{\"annotations\":{\"ha.kubeslice.io/pair\":"
		  "\"0123456789012345678901234567890123456789012345678901234567890123456\"}}}",
		    "pair" },
	};
	json_t *object = json("{\"metadata\":{},\"spec\":{\"leaseDurationSeconds\":-3}}");
	struct kube_lease lease;
	struct err err;

	(void)state;
	assert_int_equal(kube_lease_parse(object, &lease, &err), 0);
	assert_true(lease.term == 0 && lease.duration_ms == 0 && lease.renew_us == 0);
	json_decref(object);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		object = json(rows[i].text);
		assert_int_equal(kube_lease_parse(object, &lease, &err), -1);
		assert_non_null(strstr(err.text, rows[i].named));
		json_decref(object);
	}
	object = json("{\"metadata\":{},\"spec\":{\"leaseDurationSeconds\":9223372036854775807}}");
	assert_int_equal(kube_lease_parse(object, &lease, &err), 0);
	assert_true(lease.duration_ms == UINT32_MAX);
	json_decref(object);
}

static int parse_with(const char *where, const char *key, size_t length, struct kube_lease *lease)
{
	char value[600], text[800];
	json_t *object;
	struct err err = { 0 };
	int code;

	assert_true(length < sizeof(value));
	memset(value, '7', length);
	value[length] = '\0';
	(void)snprintf(text, sizeof(text), where, key, value);
	object = json(text);
	code = kube_lease_parse(object, lease, &err);
	if (code)
		assert_non_null(strstr(err.text, key));
	json_decref(object);
	return code;
}

/* Each text as long as it may be is read whole; one byte more is refused by its name. */
static void test_texts_at_their_limit(void **state)
{
	static const char annotation[] =
	    "{\"metadata\":{\"annotations\":{\"ha.kubeslice.io/%s\":\"%s\"}}}",
			  spec[] = "{\"metadata\":{},\"spec\":{\"%s\":\"%s\"}}";
	struct kube_lease lease;
	const struct {
		const char *where, *key, *text;
		size_t most;
	} rows[] = {
		{ annotation, "timing", lease.timing, 63 },
		{ annotation, "pair", lease.pair, 64 },
		{ annotation, "handover", lease.handover, 255 },
		{ annotation, "handover-ack", lease.handover_ack, 511 },
		{ annotation, "standby", lease.standby, 255 },
		{ annotation, "paused-until", lease.paused_until, 39 },
		{ annotation, "rejoin", lease.rejoin, 127 },
		{ spec, "holderIdentity", lease.holder, 253 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(parse_with(rows[i].where, rows[i].key, rows[i].most, &lease), 0);
		assert_int_equal(strlen(rows[i].text), rows[i].most);
		assert_int_equal(
		    parse_with(rows[i].where, rows[i].key, rows[i].most + 1, &lease), -1);
	}
}

/* What is there is kept as it is: who is named, and when, is judged by others. */
static void test_strange_but_valid(void **state)
{
	static const char *const holders[] = { "", " ", "hub-a ", " hub-a", "hub a", "HUB-A",
		"hub-a\\n", "\u200bhub-a" };
	static const char *const times[] = { "1970-01-01T00:00:00.000000Z",
		"9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00Z" };
	char text[256];
	struct kube_lease lease;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(holders) / sizeof(holders[0]); i++) {
		json_t *object;

		(void)snprintf(text, sizeof(text),
		    "{\"metadata\":{\"annotations\":{\"ha.kubeslice.io/phase\":\"leading\"}},"
		    "\"spec\":{\"holderIdentity\":\"%s\"}}",
		    holders[i]);
		object = json(text);
		assert_int_equal(kube_lease_parse(object, &lease, &err), 0);
		assert_int_equal(kube_lease_claims(&lease), i > 0);
		assert_string_not_equal(lease.holder, "hub-a");
		json_decref(object);
	}
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		json_t *object;

		(void)snprintf(text, sizeof(text),
		    "{\"metadata\":{},\"spec\":{\"renewTime\":\"%s\",\"leaseDurationSeconds\":null}"
		    "}",
		    times[i]);
		object = json(text);
		assert_int_equal(kube_lease_parse(object, &lease, &err), 0);
		assert_int_equal(lease.duration_ms, 0);
		assert_true(i == 0 ? lease.renew_us == 0 : lease.renew_us != 0);
		json_decref(object);
	}
}

static void test_write_keeps_what_is_foreign(void **state)
{
	json_t *base = json(full), *out;
	struct kube_lease lease, again;
	struct err err;

	(void)state;
	assert_int_equal(kube_lease_parse(base, &lease, &err), 0);
	lease.holder[0] = '\0';
	lease.phase = PHASE_RELEASED;
	lease.duration_ms = 2001;
	lease.timing[0] = '\0';
	out = kube_lease_write(base, &lease, "ns", "n");
	assert_string_equal(
	    kube_json_text(kube_json_at(base, "spec", NULL), "holderIdentity"), "hub-a");
	assert_null(kube_json_at(out, "spec", "holderIdentity", NULL));
	assert_int_equal(
	    kube_json_integer(kube_json_at(out, "spec", NULL), "leaseDurationSeconds", 0), 3);
	assert_string_equal(
	    kube_json_text(kube_json_at(out, "spec", NULL), "strategy"), "OldestEmulationVersion");
	assert_string_equal(
	    kube_json_text(kube_json_at(out, "metadata", "annotations", NULL), "foreign"), "stays");
	assert_string_equal(
	    kube_json_text(kube_json_at(out, "metadata", NULL), "resourceVersion"), "77");
	assert_null(kube_json_at(out, "metadata", "annotations", "ha.kubeslice.io/timing", NULL));
	assert_int_equal(kube_lease_parse(out, &again, &err), 0);
	assert_true(again.instance == 255 && again.term == lease.term);
	assert_int_equal(again.phase, PHASE_RELEASED);
	json_decref(out);
	json_decref(base);
}

static void test_write_new(void **state)
{
	struct kube_lease lease = { .holder = "hub-b",
		.term = 5,
		.phase = PHASE_ACQUIRING,
		.instance = 0xdeadbeef,
		.renew_us = 1,
		.duration_ms = 3000 },
			  again;
	json_t *out = kube_lease_write(NULL, &lease, "ns", KUBE_LEASE_NAME);
	struct err err;

	(void)state;
	assert_string_equal(kube_json_text(out, "kind"), "Lease");
	assert_string_equal(kube_json_text(kube_json_at(out, "metadata", NULL), "namespace"), "ns");
	assert_int_equal(kube_lease_parse(out, &again, &err), 0);
	assert_string_equal(again.holder, "hub-b");
	assert_true(again.renew_us == 1 && again.acquire_us == 0 && again.instance == 0xdeadbeef);
	json_decref(out);
	/* A base whose parts are of another type is repaired, not crashed on. */
	out = json("{\"metadata\":[],\"spec\":\"x\"}");
	json_decref(kube_lease_write(out, &lease, "ns", "n"));
	json_decref(out);
}

static void test_times(void **state)
{
	static const struct {
		const char *text;
		int64_t us;
	} good[] = {
		{ "1970-01-01T00:00:00Z", 0 },
		{ "1969-12-31T23:59:59.999999Z", -1 },
		{ "2000-02-29T12:34:56.789Z", 951827696789000 },
		{ "2026-11-29T16:00:00.000001Z", 1795968000000001 },
		{ "2026-11-29T17:30:00+01:30", 1795968000000000 },
		{ "2026-11-29T11:00:00.1234567891-05:00", 1795968000123456 },
		{ "9999-12-31T23:59:59.999999Z", 253402300799999999 },
	};
	static const char *const bad[] = { "", "2026", "2026-13-01T00:00:00Z",
		"2026-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2026-01-01 00:00:00Z",
		"2026-01-01T24:00:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:00",
		"2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Zx", "2026-01-01T00:00:00+1:00",
		"0000-01-01T00:00:00Z", "2026-01-01T00:00:00+00:60" };
	char text[40];
	int64_t us;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(kube_time_parse(good[i].text, &us), 0);
		assert_true(us == good[i].us);
		kube_time_put(text, us);
		assert_int_equal(kube_time_parse(text, &us), 0);
		assert_true(us == good[i].us);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(kube_time_parse(bad[i], &us), -1);
	kube_time_put(text, 1795968000000001);
	assert_string_equal(text, "2026-11-29T16:00:00.000001Z");
	kube_time_put(text, INT64_MAX);
	assert_string_equal(text, "9999-12-31T23:59:59.999999Z");
	kube_time_put(text, INT64_MIN);
	assert_string_equal(text, "0001-01-01T00:00:00.000000Z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_a_hub_that_led_in_a_term_was_given_it),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_absent_and_broken),
		cmocka_unit_test(test_texts_at_their_limit),
		cmocka_unit_test(test_strange_but_valid),
		cmocka_unit_test(test_write_keeps_what_is_foreign),
		cmocka_unit_test(test_write_new),
		cmocka_unit_test(test_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
