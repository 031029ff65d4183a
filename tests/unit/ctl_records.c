/*
 * Goal: where no daemon runs, a hub's records say who led last, until when, and what it knew of its
 * peer; what ran out leads nobody; records of another shape are unknown values. Method: records
 * made by hand, and a kubectl of our own; real ones are the runbook's (bed scenario runbook).
 */
#include "ctl/records.h"
#include "tests/unit/ctl_daemon.h"

#define LEASE                                                                                      \
	"{\"metadata\":{\"managedFields\":[],\"annotations\":{\"ha.kubeslice.io/term\":\"3\","     \
	"\"ha.kubeslice.io/led-term\":\"3\",\"ha.kubeslice.io/phase\":\"leading\"}},\"spec\":{"    \
	"\"holderIdentity\":\"hub-b\",\"leaseDurationSeconds\":3,"                                 \
	"\"renewTime\":\"2026-01-01T00:00:00.000000Z\"}}"
#define PEER                                                                                       \
	"{\"metadata\":{\"annotations\":{\"ha.kubeslice.io/peer-identity\":\"hub-a\","             \
	"\"ha.kubeslice.io/peer-term\":\"2\",\"ha.kubeslice.io/peer-led-term\":\"2\","             \
	"\"ha.kubeslice.io/seen-at\":\"2025-12-31T23:59:00Z\",\"ha.kubeslice.io/mirror\":"         \
	"\"{\\\"complete\\\":true,\\\"sourceTerm\\\":2}\"}}}"
#define ROLE                                                                                       \
	"{\"spec\":{\"role\":\"Leading\",\"term\":3},\"status\":{\"history\":[{\"time\":\"t1\","   \
	"\"from\":\"init\",\"to\":\"standby\",\"term\":0,\"reason\":\"r1\"},{\"time\":\"t2\","     \
	"\"from\":\"opening\",\"to\":\"active\",\"term\":3,\"reason\":\"r2\"}]}}"
#define RENEWED_US (1767225600LL * 1000000)

static const char *shown(const char *text, long long now_us)
{
	json_t *records = json_loads(text, 0, NULL);

	assert_non_null(records);
	buf_clear(&out);
	records_show(records, now_us, &out);
	json_decref(records);
	return out.data;
}

static void who_led_last(void **state)
{
	static const char all[] = "{\"hubRole\":" ROLE ",\"lease\":" LEASE ",\"peer\":" PEER "}";
	const char *text = shown(all, RENEWED_US + 60000000);

	(void)state;
	assert_non_null(strstr(text, "  HubRole       Leading, term 3\n"));
	assert_non_null(
	    strstr(text, "  Lease         holder hub-b, phase leading, term 3, led term 3\n"));
	assert_non_null(
	    strstr(text, "60 s ago by this machine's clock, for 3 s: it ran out, nobody "
			 "leads by it\n"));
	assert_non_null(strstr(text, "  its peer      hub-a, term 2, led term 2, last seen "
				     "2025-12-31T23:59:00Z\n"));
	assert_non_null(strstr(text, "  mirror        complete for the peer's term 2\n"));
	assert_true(strstr(text, "t2  opening") < strstr(text, "t1  init")); /* the newest first */
	assert_non_null(strstr(shown(all, RENEWED_US + 1000000), "it has not run out"));
}

static void records_of_another_shape(void **state)
{
	static const char *const all[] = { "{}", "[]",
		"{\"hubRole\":null,\"lease\":null,\"peer\":null}",
		"{\"hubRole\":{\"spec\":5,\"status\":[]},\"lease\":{\"metadata\":7,\"spec\":{"
		"\"renewTime\":\"soon\"}},\"peer\":{\"metadata\":{\"annotations\":{"
		"\"ha.kubeslice.io/mirror\":\"[\"}}}}" };

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_null(strstr(shown(all[i], 0), "not run out"));
	assert_non_null(strstr(shown(all[0], 0), "never seen"));
	assert_null(
	    strchr(shown("{\"lease\":{\"spec\":{\"holderIdentity\":\"\\u001b[2J\"}}}", 0), '\x1b'));
}

static void asked_by_kubectl(void **state)
{
	(void)state;
	put_kubectl("case $all in *' --context b '*) ;; *) exit 1;; esac\n"
		    "case $all in *-peer*space*) exit 1;; *' self '*) echo '" ROLE
		    "';; *-peer*) ;; *lease*) echo '" LEASE "';; esac");
	assert_int_equal(RUN("status", "--context", "b"), CTL_DONE);
	assert_non_null(strstr(out.data, "holder hub-b"));
	assert_non_null(strstr(out.data, "never seen"));
	buf_clear(&out);
	assert_int_equal(RUN("history", "--context", "b"), CTL_DONE);
	assert_memory_equal(out.data, "t2  opening", 11);
	buf_clear(&out);
	assert_int_equal(RUN("status", "--context", "b", "-o", "json"), CTL_DONE);
	assert_non_null(strstr(out.data, "\"peer\": null"));
	assert_null(strstr(out.data, "managedFields"));
	buf_clear(&out);
	assert_int_equal(RUN("status", "--context", "b", "--namespace", "space"), CTL_REFUSED);
	assert_int_equal(out.len, 0);
	put_kubectl(":");
	assert_int_equal(RUN("status", "--context", "b"), CTL_REFUSED);
	assert_non_null(strstr(err.text, "no understudyd has run"));
	/* Of kubectl's words those that a person needs. */
	put_kubectl("echo 'E0102 03:04:05.6 memcache.go:1] \"x\"' >&2; echo 'The connection was "
		    "refused' >&2; exit 1");
	assert_int_equal(RUN("history", "--kubeconfig", "/k"), CTL_REFUSED);
	assert_string_equal(err.text, "kubectl: The connection was refused ");
	put_kubectl("echo '{'");
	assert_int_equal(RUN("status", "--context", "b"), CTL_REFUSED);
	assert_int_equal(RUN("status", "--context", "b", "--watch"), CTL_USAGE);
	assert_int_equal(RUN("status", "--context", "--watch"), CTL_USAGE);
	assert_int_equal(RUN("status", "--context", "b", "-o", "yaml"), CTL_USAGE);
	assert_int_equal(RUN("history", "--context"), CTL_USAGE);
	assert_int_equal(out.len, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(who_led_last), TEST(records_of_another_shape),
		TEST(asked_by_kubectl) };

	return cmocka_run_group_tests(tests, make_kubectl_directory, remove_directory);
}
