/*
 * Counters, gauges and histograms as exposition text: sums, buckets, labels, what vanishes, what
 * is refused, and that no sender can make the table grow without end (L114, 3.13).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "monitor/metrics.h"

static const struct role_id elector = { ROLE_ELECTOR, 0 }, syncer = { ROLE_SYNCER, 0 };
static struct metrics *metrics;
static char *text;

static int set_up(void **state)
{
	(void)state;
	metrics = metrics_new();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	metrics_free(metrics);
	free(text);
	text = NULL;
	return 0;
}

static bool take(
    struct role_id from, enum metric_id id, const char *label, const char *label2, int64_t micro)
{
	struct msg_metric message = {
		.id = id, .label = str_of(label), .label2 = str_of(label2), .value_micro = micro
	};

	return metrics_take(metrics, from, &message);
}

/* Is this line in the exposition? */
static bool has(const char *line)
{
	struct buf out = buf_make(1 << 24);
	char *found;

	free(text);
	metrics_put(metrics, &out);
	assert_false(out.failed);
	text = strdup(out.data);
	buf_free(&out);
	for (found = strstr(text, line); found; found = strstr(found + 1, line))
		if ((found == text || found[-1] == '\n') && found[strlen(line)] == '\n')
			return true;
	return false;
}

static void counters_add_and_gauges_are_set(void **state)
{
	(void)state;
	assert_true(has("# TYPE kubeslice_controller_ha_failover_total counter"));
	assert_true(has("# HELP kubeslice_controller_ha_failover_total Promotions of this hub"));
	assert_true(has("kubeslice_controller_ha_failover_total 0"));
	assert_true(take(elector, METRIC_FAILOVERS, "", "", 1000000));
	assert_true(take(elector, METRIC_FAILOVERS, "", "", 1500000));
	assert_true(has("kubeslice_controller_ha_failover_total 2.5"));
	assert_true(take(elector, METRIC_TERM, "", "", 4000000));
	assert_true(take(elector, METRIC_TERM, "", "", 5000001));
	assert_true(has("understudy_term 5.000001"));
	assert_true(take(elector, METRIC_TERM, "", "", -250000));
	assert_true(has("understudy_term -0.25"));
}

static void a_gauge_vanishes(void **state)
{
	(void)state;
	assert_true(take(elector, METRIC_ARMED, "standby", "", 1000000));
	assert_true(has("kubeslice_controller_ha_armed{mode=\"standby\"} 1"));
	assert_true(take(elector, METRIC_ARMED, "standby", "", INT64_MIN));
	assert_true(take(elector, METRIC_ARMED, "standby", "", INT64_MIN));
	assert_false(has("kubeslice_controller_ha_armed{mode=\"standby\"} 1"));
}

/* A dead elector does not go on saying "leader". */
static void gauges_go_with_their_sender(void **state)
{
	(void)state;
	assert_true(take(elector, METRIC_LEADER_STATUS, "", "", 1000000));
	assert_true(take(elector, METRIC_FAILOVERS, "", "", 1000000));
	assert_true(take(syncer, METRIC_SYNC_QUEUE, "", "", 7000000));
	metrics_forget_gauges(metrics, elector);
	assert_false(has("kubeslice_controller_ha_leader_status 1"));
	assert_true(has("kubeslice_controller_ha_failover_total 1"));
	assert_true(has("kubeslice_controller_ha_sync_queue_depth 7"));
}

static void a_histogram_is_cumulative(void **state)
{
	(void)state;
	assert_true(has("kubeslice_controller_ha_failover_detection_seconds_count 0"));
	assert_true(take(syncer, METRIC_SYNC_LAG, "Secret", "create", 100000));
	assert_true(take(syncer, METRIC_SYNC_LAG, "Secret", "create", 700000));
	assert_true(take(syncer, METRIC_SYNC_LAG, "Secret", "create", 31000000));
	assert_true(has("kubeslice_controller_ha_sync_lag_seconds_bucket{kind=\"Secret\",operation="
			"\"create\",le=\"0.1\"} 1"));
	assert_true(has("kubeslice_controller_ha_sync_lag_seconds_bucket{kind=\"Secret\",operation="
			"\"create\",le=\"0.5\"} 1"));
	assert_true(has("kubeslice_controller_ha_sync_lag_seconds_bucket{kind=\"Secret\",operation="
			"\"create\",le=\"30\"} 2"));
	assert_true(has("kubeslice_controller_ha_sync_lag_seconds_bucket{kind=\"Secret\",operation="
			"\"create\",le=\"+Inf\"} 3"));
	assert_true(has("kubeslice_controller_ha_sync_lag_seconds_sum{kind=\"Secret\",operation="
			"\"create\"} 31.8"));
	assert_true(has("kubeslice_controller_ha_sync_lag_seconds_count{kind=\"Secret\",operation="
			"\"create\"} 3"));
}

static void labels_are_escaped(void **state)
{
	(void)state;
	assert_true(take(elector, METRIC_ABORTED, "a\"b\\c\nd", "", 1000000));
	assert_true(
	    has("kubeslice_controller_ha_promotions_aborted_total{reason=\"a\\\"b\\\\c\\nd\"} 1"));
}

static void lies_are_refused(void **state)
{
	struct msg_metric message = { .id = METRIC_ABORTED, .label = STR_LIT("a\0b") };

	(void)state;
	assert_false(take(elector, METRIC_FAILOVERS, "", "", -1));
	assert_false(take(elector, METRIC_FAILOVERS, "x", "", 1));
	assert_false(take(elector, METRIC_ABORTED, "x", "y", 1));
	assert_false(metrics_take(metrics, elector, &message));
	assert_true(has("kubeslice_controller_ha_failover_total 0"));
}

static void sums_do_not_overflow(void **state)
{
	(void)state;
	assert_true(take(elector, METRIC_FAILOVERS, "", "", INT64_MAX));
	assert_true(take(elector, METRIC_FAILOVERS, "", "", INT64_MAX));
	assert_true(has("kubeslice_controller_ha_failover_total 9223372036854.775807"));
	assert_true(take(elector, METRIC_TERM, "", "", INT64_MIN + 1));
	assert_true(has("understudy_term -9223372036854.775807"));
	assert_true(take(elector, METRIC_DETECTION, "", "", INT64_MIN));
	assert_true(take(elector, METRIC_DETECTION, "", "", INT64_MIN));
	assert_true(has("kubeslice_controller_ha_failover_detection_seconds_count 2"));
}

/* A flood of labels fills the table, is dropped, and what was there goes on. */
static void the_number_of_series_is_bounded(void **state)
{
	char label[32];

	(void)state;
	assert_true(take(elector, METRIC_FAILOVERS, "", "", 1000000));
	for (unsigned i = 0; i < 2u * METRICS_MAX_SERIES; i++) {
		(void)snprintf(label, sizeof(label), "r%u", i);
		assert_true(take(elector, METRIC_ABORTED, label, "", 1000000));
	}
	assert_true(take(elector, METRIC_FAILOVERS, "", "", 1000000));
	assert_true(has("kubeslice_controller_ha_failover_total 2"));
	(void)snprintf(label, sizeof(label), "\"r%d\"", METRICS_MAX_SERIES - 2);
	assert_non_null(strstr(text, label));
	(void)snprintf(label, sizeof(label), "\"r%d\"", METRICS_MAX_SERIES - 1);
	assert_null(strstr(text, label));
}

/* L112, 3.13: dashboards made for upstream find all 18, of the same type and with the same labels.
 */
static void upstreams_metrics_are_all_there(void **state)
{
	static const struct {
		enum metric_id id;
		const char *name, *type, *label, *label2;
	} upstream[] = {
		{ METRIC_LEADER_STATUS, "leader_status", "gauge", "", "" },
		{ METRIC_LAST_RENEW, "lease_last_renew_time_seconds", "gauge", "mode", "" },
		{ METRIC_RENEW_ERRORS, "lease_renew_errors_total", "counter", "", "" },
		{ METRIC_SYNC_LAG, "sync_lag_seconds", "histogram", "kind", "operation" },
		{ METRIC_SYNC_ERRORS, "sync_errors_total", "counter", "kind", "operation" },
		{ METRIC_SYNC_QUEUE, "sync_queue_depth", "gauge", "", "" },
		{ METRIC_FAILOVERS, "failover_total", "counter", "", "" },
		{ METRIC_DETECTION, "failover_detection_seconds", "histogram", "", "" },
		{ METRIC_ABORTED, "promotions_aborted_total", "counter", "reason", "" },
		{ METRIC_LAST_PROMOTION, "last_promotion_timestamp_seconds", "gauge", "mode", "" },
		{ METRIC_PROMOTION_DURATION, "promotion_duration_seconds", "histogram", "outcome",
		    "" },
		{ METRIC_STEP_DURATION, "promotion_step_duration_seconds", "histogram", "step",
		    "" },
		{ METRIC_PEER_LEASE_AGE, "remote_lease_age_seconds", "gauge", "mode", "" },
		{ METRIC_PEER_READS, "remote_lease_reads_total", "counter", "result", "" },
		{ METRIC_ARMED, "armed", "gauge", "mode", "" },
		{ METRIC_RESURRECTED, "prune_resurrected_total", "counter", "kind", "" },
		{ METRIC_LAST_PRUNE, "prune_last_run_timestamp_seconds", "gauge", "mode", "" },
		{ METRIC_PUBLISH_ERRORS, "active_publish_errors_total", "counter", "", "" },
	};
	char line[256];

	(void)state;
	assert_int_equal(sizeof(upstream) / sizeof(upstream[0]), 18);
	for (size_t i = 0; i < sizeof(upstream) / sizeof(upstream[0]); i++) {
		const char *one = upstream[i].label[0] ? "x" : "";
		const char *two = upstream[i].label2[0] ? "y" : "";
		bool histogram = strcmp(upstream[i].type, "histogram") == 0;

		assert_true(take(elector, upstream[i].id, one, two, 1000000));
		(void)snprintf(line, sizeof(line), "# TYPE kubeslice_controller_ha_%s %s",
		    upstream[i].name, upstream[i].type);
		assert_true(has(line));
		(void)snprintf(line, sizeof(line), "kubeslice_controller_ha_%s%s%s%s%s%s%s%s 1",
		    upstream[i].name, histogram ? "_count" : "", one[0] ? "{" : "",
		    upstream[i].label, one[0] ? "=\"x\"" : "", two[0] ? "," : "",
		    upstream[i].label2,
		    two[0]   ? "=\"y\"}"
		    : one[0] ? "}"
			     : "");
		assert_true(has(line));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(counters_add_and_gauges_are_set),
		TEST(a_gauge_vanishes),
		TEST(gauges_go_with_their_sender),
		TEST(a_histogram_is_cumulative),
		TEST(labels_are_escaped),
		TEST(lies_are_refused),
		TEST(sums_do_not_overflow),
		TEST(upstreams_metrics_are_all_there),
		TEST(the_number_of_series_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
