/*
 * The paths of the HTTP listener and their codes: /leader follows the fence page alone, /readyz
 * the elector, /metrics makes ages when it is read, everything else is 404 (F35).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "monitor/pages.h"

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
	pages_answer(&monitor, path, now_ns, &answer);
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
		TEST(any_other_path_is_404),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
