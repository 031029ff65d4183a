/*
 * Goal: what replicas write into a Lease and read from it is what a client-go program expects, and
 * what others wrote survives (R11, R12, R13). Method: JSON in, the machine's record out, and bodies
 * compared as a whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "elector/contend.h"
#include "kube/json.h"
#include "kube/lease.h"

static struct replicas_record judged(const char *spec)
{
	struct buf text = buf_make(8192);
	struct replicas_record record;
	struct kube_lease lease;
	struct err err = { "" };
	json_t *object;

	buf_printf(&text,
	    "{\"metadata\":{\"annotations\":{\"ha.kubeslice.io/term\":\"9\"}},\"spec\":%s}", spec);
	object = kube_json_parse(buf_str(&text), &err);
	assert_non_null(object);
	if (kube_lease_parse(object, &lease, &err))
		fail_msg("%s", err.text);
	contend_judge("replica-1", "replica-1_00000000000000a5", &lease, &record);
	json_decref(object);
	buf_free(&text);
	return record;
}

static void test_R11_the_identity_is_the_name_and_a_number_of_the_process(void **state)
{
	char identity[254], name[254];

	(void)state;
	contend_identity("replica-1", 0xa5, identity);
	assert_string_equal(identity, "replica-1_00000000000000a5");
	memset(name, 'n', 253);
	name[253] = '\0';
	contend_identity(name, UINT64_MAX, identity);
	assert_int_equal(strlen(identity), 253);
	assert_string_equal(identity + 236, "_ffffffffffffffff");
}

static void test_who_holds_it(void **state)
{
	struct replicas_record r;

	(void)state;
	r = judged("{}");
	assert_int_equal(r.holder, REPLICAS_NOBODY);
	assert_true(r.exists && r.term == 9 && r.holder_hash == 0);
	r = judged("{\"holderIdentity\":\"\"}");
	assert_int_equal(r.holder, REPLICAS_NOBODY);
	r = judged("{\"holderIdentity\":\"replica-1_00000000000000a5\"}");
	assert_int_equal(r.holder, REPLICAS_SELF);
	assert_int_equal(r.instance, 0xa5);
	/* An earlier process of this replica, or of another one with its name. */
	r = judged("{\"holderIdentity\":\"replica-1_00000000000000a6\"}");
	assert_int_equal(r.holder, REPLICAS_OTHER);
	assert_int_equal(r.instance, 0xa6);
	for (int i = 0; i < 6; i++) {
		static const char *const others[] = { "replica-1", "replica-1_", "replica-1_a5",
			"replica-11_00000000000000a5", "host_6f1c4b6e-0000",
			"replica-1_zzzzzzzzzzzzzzzz" };
		char spec[128];

		(void)snprintf(spec, sizeof(spec), "{\"holderIdentity\":\"%s\"}", others[i]);
		r = judged(spec);
		assert_int_equal(r.holder, REPLICAS_OTHER);
		assert_int_equal(r.instance, 0);
		assert_true(r.holder_hash != 0);
	}
}

static void test_R4_times_to_the_microsecond(void **state)
{
	struct replicas_record r = judged("{\"holderIdentity\":\"x\",\"leaseDurationSeconds\":15,"
					  "\"acquireTime\":\"2026-01-01T00:00:00.000001Z\","
					  "\"renewTime\":\"2026-01-01T00:00:00.000002Z\","
					  "\"leaseTransitions\":3}");

	(void)state;
	assert_int_equal(r.renew_us - r.acquire_us, 1);
	assert_int_equal(r.duration_ms, 15000);
	assert_int_equal(r.transitions, 3);
}

static void test_R13_a_preferred_holder(void **state)
{
	(void)state;
	assert_false(judged("{}").prefers_other);
	assert_false(judged("{\"preferredHolder\":\"replica-1_00000000000000a5\"}").prefers_other);
	assert_true(judged("{\"preferredHolder\":\"another\"}").prefers_other);
}

/* What client-go and others keep there is kept here. */
static void test_R12_what_is_foreign_survives_a_write(void **state)
{
	static const char before[] =
	    "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":"
	    "\"understudy-replicas\",\"namespace\":\"n\",\"resourceVersion\":\"41\",\"labels\":{"
	    "\"a\":"
	    "\"b\"},\"annotations\":{\"other\":\"x\"}},\"spec\":{\"holderIdentity\":\"host_uuid\","
	    "\"leaseDurationSeconds\":15,\"acquireTime\":\"2026-01-01T00:00:00.000000Z\","
	    "\"renewTime\":"
	    "\"2026-01-01T00:00:09.000000Z\",\"leaseTransitions\":3,\"strategy\":"
	    "\"OldestEmulationVersion\"}}";
	json_t *base = kube_json_parse(STR_LIT(before), NULL), *spec, *after;
	struct kube_lease lease;
	struct err err;

	(void)state;
	assert_non_null(base);
	assert_int_equal(kube_lease_parse(base, &lease, &err), 0);
	(void)snprintf(lease.holder, sizeof(lease.holder), "replica-1_00000000000000a5");
	lease.acquire_us = lease.renew_us = 1767225610000000LL;
	lease.transitions++;
	lease.term = lease.led_term = 4;
	lease.phase = PHASE_LEADING;
	after = kube_lease_write(base, &lease, "n", KUBE_LEASE_REPLICAS_NAME);
	spec = json_object_get(after, "spec");
	assert_string_equal(kube_json_text(spec, "holderIdentity"), "replica-1_00000000000000a5");
	assert_string_equal(kube_json_text(spec, "strategy"), "OldestEmulationVersion");
	assert_string_equal(kube_json_text(spec, "renewTime"), "2026-01-01T00:00:10.000000Z");
	assert_int_equal(kube_json_integer(spec, "leaseTransitions", 0), 4);
	assert_string_equal(
	    kube_json_text(kube_json_at(after, "metadata", "labels", NULL), "a"), "b");
	assert_string_equal(
	    kube_json_text(kube_json_at(after, "metadata", "annotations", NULL), "other"), "x");
	assert_string_equal(
	    kube_json_text(json_object_get(after, "metadata"), "resourceVersion"), "41");
	json_decref(after);
	json_decref(base);
}

static void test_each_reason_is_a_sentence(void **state)
{
	char text[512];

	(void)state;
	for (unsigned i = 1; i < REPLICAS_REASON_COUNT; i++) {
		struct replicas_said said = { .reason = i, .term = 7, .quiet_ms = 1500 };

		replicas_text(text, sizeof(text), &said, "somebody");
		assert_true(strlen(text) > 10);
		assert_null(strchr(text, '%'));
		assert_true(replicas_words(i)->name[0] != '\0');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_R11_the_identity_is_the_name_and_a_number_of_the_process),
		cmocka_unit_test(test_who_holds_it),
		cmocka_unit_test(test_R4_times_to_the_microsecond),
		cmocka_unit_test(test_R13_a_preferred_holder),
		cmocka_unit_test(test_R12_what_is_foreign_survives_a_write),
		cmocka_unit_test(test_each_reason_is_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
