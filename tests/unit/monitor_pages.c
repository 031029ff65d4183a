/*
 * The paths of the HTTP listener and their codes: /leader follows the fence page alone, /readyz
 * the elector, /metrics makes ages when it is read, everything else is 404 (F35).
 * Pitfall: P97.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "monitor/derive.h"
#include "monitor/pages.h"
#include "policy/sandbox.h"

#define NOW_US 1767225600000000LL /* 2026-01-01 */
#define NOW_NS (1000 * 1000000000LL)

static struct us_config config;
static struct monitor monitor;
static uint64_t page[FENCE_WORDS];
static struct http_answer answer;

static int set_up(void **state)
{
	(void)state;
	memset(&config, 0, sizeof(config));
	config.mode = CONFIG_ACTIVE;
	config.hub_count = 2;
	monitor = (struct monitor){ .config = &config,
		.status = status_new(&config),
		.metrics = metrics_new(),
		.fence = { .words = page, .boot = 7, .time_ns = 8 } };
	page[FENCE_WORD_HEAD] = fence_head(FENCE_LEADING);
	page[FENCE_WORD_SEQUENCE] = 2;
	page[FENCE_WORD_TERM] = 5;
	page[FENCE_WORD_VALID_UNTIL] = NOW_NS + 2500000000;
	page[FENCE_WORD_WRITTEN_AT] = NOW_NS - 1;
	page[FENCE_WORD_BOOT] = 7;
	page[FENCE_WORD_TIME_NS] = 8;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	status_free(monitor.status);
	metrics_free(monitor.metrics);
	buf_free(&answer.body);
	return 0;
}

static const char *get(const char *path, int64_t now_ns, unsigned expected)
{
	buf_free(&answer.body);
	answer = (struct http_answer){ .body = buf_make(HTTP_MAX_BODY) };
	pages_answer(&monitor, path, now_ns, NOW_US, &answer);
	assert_int_equal(answer.status, expected);
	assert_non_null(answer.type);
	return answer.body.data;
}

static void leader_follows_the_page(void **state)
{
	(void)state;
	assert_string_equal(get("/leader", NOW_NS, 200), "{\"term\":5,\"remainingMs\":2500}\n");
	assert_string_equal(get("/leader", NOW_NS + 2500000000, 503),
	    "{\"leading\":false,\"reason\":\"this hub is not the leader\"}\n");
	page[FENCE_WORD_HEAD] = fence_head(FENCE_DRAINING);
	get("/leader", NOW_NS, 503);
	page[FENCE_WORD_HEAD] = fence_head(FENCE_LEADING);
	page[FENCE_WORD_BOOT] = 6;
	get("/leader", NOW_NS, 503);
	page[FENCE_WORD_BOOT] = 7;
	page[FENCE_WORD_SEQUENCE] = 3;
	assert_non_null(strstr(get("/leader", NOW_NS, 503), "being written"));
	monitor.fence.words = NULL;
	assert_non_null(strstr(get("/leader", NOW_NS, 503), "there is no fence page"));
}

/* A client that asks the wrong one is told whom to ask, and how old that is. */
static void another_leader_is_named_while_its_elector_says_so(void **state)
{
	struct role_id elector = { ROLE_ELECTOR, 0 };
	struct msg_status_leadership m = { .role = FENCE_STANDBY,
		.leader = STR_LIT("hub-\"a\""),
		.leader_seen_ns = NOW_NS - 1500000000 };

	(void)state;
	page[FENCE_WORD_HEAD] = fence_head(FENCE_STANDBY);
	status_linked(monitor.status, elector);
	status_take_leadership(monitor.status, &m, NOW_NS);
	assert_string_equal(get("/leader", NOW_NS, 503),
	    "{\"leading\":false,\"reason\":\"this hub is not the leader\","
	    "\"leader\":\"hub-\\\"a\\\"\",\"leaderSeenAgoMs\":1500}\n");
	m.leader = STR_LIT("");
	status_take_leadership(monitor.status, &m, NOW_NS);
	assert_null(strstr(get("/leader", NOW_NS, 503), "leader\":"));
	m.leader = STR_LIT("hub-a");
	status_take_leadership(monitor.status, &m, NOW_NS);
	status_unlinked(monitor.status, elector);
	assert_null(strstr(get("/leader", NOW_NS, 503), "leader\":"));
}

static void health_is_told_with_its_reason(void **state)
{
	struct msg_status_leadership m = { .state = STR_LIT("ACTIVE"), .role = FENCE_LEADING };

	(void)state;
	assert_string_equal(get("/livez", NOW_NS, 200), "ok\n");
	assert_string_equal(
	    get("/readyz", NOW_NS, 503), "not ready: the elector is not connected\n");
	status_linked(monitor.status, (struct role_id){ ROLE_ELECTOR, 0 });
	status_take_leadership(monitor.status, &m, NOW_NS);
	assert_string_equal(get("/readyz", NOW_NS, 200), "ok\n");
}

static void the_peers_age_is_made_at_the_scrape(void **state)
{
	static const char line[] = "remote_lease_age_seconds{mode=\"standby\"} ";
	struct msg_status_leadership leadership = { .role = FENCE_STANDBY };
	struct msg_status_peer peer = { .changed_ns = NOW_NS - 1500000000 };

	(void)state;
	assert_null(strstr(get("/metrics", NOW_NS, 200), line));
	status_take_leadership(monitor.status, &leadership, NOW_NS);
	status_take_peer(monitor.status, &peer);
	assert_non_null(strstr(get("/metrics", NOW_NS, 200), "mode=\"standby\"} 1.5\n"));
	assert_non_null(
	    strstr(get("/metrics", NOW_NS + 1000000000, 200), "mode=\"standby\"} 2.5\n"));
	leadership.role = FENCE_LEADING;
	status_take_leadership(monitor.status, &leadership, NOW_NS);
	assert_null(strstr(get("/metrics", NOW_NS, 200), line));
}

static bool exposes(const char *line)
{
	char whole[256];

	(void)snprintf(whole, sizeof(whole), "\n%s\n", line);
	return strstr(get("/metrics", NOW_NS, 200), whole) != NULL;
}

/* What follows from the status is told as metrics, and is gone when it is not known (L114). */
static void the_mirror_is_told_while_it_is_known(void **state)
{
	struct role_id syncer = { ROLE_SYNCER, 0 };
	struct msg_status_mirror mirror = { .complete = true, .lag_ms = 1250 };
	struct msg_status_kind kind = { .kind = STR_LIT("Role"), .blocked = 2, .held = 3 };

	(void)state;
	assert_false(exposes("understudy_mirror_complete 1"));
	status_linked(monitor.status, syncer);
	status_take_mirror(monitor.status, &mirror);
	status_take_kind(monitor.status, &kind);
	assert_true(exposes("understudy_mirror_complete 1"));
	assert_true(exposes("understudy_mirror_lag_seconds 1.25"));
	assert_true(exposes("understudy_mirror_blocked_objects{kind=\"Role\"} 2"));
	assert_true(exposes("understudy_mirror_held_deletes{kind=\"Role\"} 3"));
	status_unlinked(monitor.status, syncer);
	assert_null(strstr(get("/metrics", NOW_NS, 200), "\nunderstudy_mirror_"));
}

/* A worker has one state at a time, and its series go with it. */
static void workers_are_told_by_name(void **state)
{
	struct role_id shard = { ROLE_REPOINTER, 0 };
	struct msg_status_worker worker = { .state = WORKER_DENIED, .term = 7 };

	(void)state;
	memcpy(config.pool + 1, "w1", 3);
	config.worker_count = 1;
	config.shard_size = 8;
	config.workers[0].name = config.workers[0].credential.kubeconfig = 1;
	assert_true(exposes("understudy_worker_state{worker=\"w1\",state=\"unknown\"} 1"));
	assert_true(status_take_worker(monitor.status, shard, &worker));
	assert_true(exposes("understudy_worker_state{worker=\"w1\",state=\"denied\"} 1"));
	assert_false(exposes("understudy_worker_state{worker=\"w1\",state=\"unknown\"} 1"));
	assert_true(exposes("understudy_worker_term{worker=\"w1\"} 7"));
	config.worker_count = 0;
	assert_null(strstr(get("/metrics", NOW_NS, 200), "w1"));
}

/* A syncer that a leading hub has stopped is not one that is down (I6). */
static void processes_are_up_or_down(void **state)
{
	struct msg_status_leadership leadership = { .role = FENCE_STANDBY };

	(void)state;
	status_linked(monitor.status, (struct role_id){ ROLE_ELECTOR, 0 });
	assert_true(exposes("understudy_process_up{process=\"elector\",shard=\"\"} 1"));
	assert_true(exposes("understudy_process_up{process=\"observer\",shard=\"\"} 0"));
	assert_true(exposes("understudy_process_up{process=\"syncer\",shard=\"\"} 0"));
	leadership.role = FENCE_LEADING;
	status_take_leadership(monitor.status, &leadership, NOW_NS);
	assert_null(strstr(get("/metrics", NOW_NS, 200), "process=\"syncer\""));
}

static void waived_protections_are_told(void **state)
{
	(void)state;
	assert_null(strstr(get("/metrics", NOW_NS, 200), "understudy_protection_waived{"));
	config.allow_missing = SANDBOX_MLOCK;
	assert_true(exposes("understudy_protection_waived{protection=\"mlock\"} 1"));
	assert_non_null(strstr(get("/metrics", NOW_NS, 200), "\nunderstudy_build_info{build=\""));
}

/* F4. The supervisor says the sum, again to a monitor that starts anew; a word too many adds none.
 */
static void accusations_are_counted_by_process_and_outcome(void **state)
{
	(void)state;
	assert_null(strstr(get("/metrics", NOW_NS, 200), "understudy_accusations_total{"));
	derive_accusations(&monitor, ROLE_SYNCER, true, 3);
	derive_accusations(&monitor, ROLE_SYNCER, true, 3);
	derive_accusations(&monitor, ROLE_SYNCER, false, 1);
	derive_accusations(&monitor, ROLE_SYNCER, true, 4);
	derive_accusations(&monitor, ROLE_SYNCER, true, 2);
	assert_true(
	    exposes("understudy_accusations_total{process=\"syncer\",outcome=\"killed\"} 4"));
	assert_true(exposes("understudy_accusations_total{process=\"syncer\",outcome=\"cut\"} 1"));
}

static void any_other_path_is_404(void **state)
{
	(void)state;
	get("", NOW_NS, 404);
	get("/metrics/", NOW_NS, 404);
	get("/Metrics", NOW_NS, 404);
	get("/../etc/passwd", NOW_NS, 404);
	assert_non_null(strstr(get("/", NOW_NS, 200), "<!DOCTYPE html>"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(leader_follows_the_page),
		TEST(another_leader_is_named_while_its_elector_says_so),
		TEST(health_is_told_with_its_reason),
		TEST(the_peers_age_is_made_at_the_scrape),
		TEST(the_mirror_is_told_while_it_is_known),
		TEST(workers_are_told_by_name),
		TEST(processes_are_up_or_down),
		TEST(waived_protections_are_told),
		TEST(accusations_are_counted_by_process_and_outcome),
		TEST(any_other_path_is_404),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
