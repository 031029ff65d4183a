/*
 * What roles said, as a JSON document: valid JSON in every state, unknown is null,
 * what a role said goes with its link, nobody speaks for another one (F4).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/buf.h"
#include "monitor/status.h"
#include "tests/unit/config_pool.h"

#define NOW_NS (1000 * 1000000000LL)
#define NOW_US 1767225600000000LL /* 2026-01-01 */

static const struct role_id elector = { ROLE_ELECTOR, 0 }, syncer = { ROLE_SYNCER, 0 };
static const struct role_id shard0 = { ROLE_REPOINTER, 0 }, shard1 = { ROLE_REPOINTER, 1 };
static struct us_config config;
static struct status *status;
static json_t *document;

static config_text pool(const char *text)
{
	return config_put(&config, text);
}

static int set_up(void **state)
{
	(void)state;
	memset(&config, 0, sizeof(config));
	config.mode = CONFIG_STANDBY;
	config.hub_count = 2;
	config.self = 1;
	config.hubs[0].name = pool("hub-a");
	config.hubs[1].name = config.self_name = pool("hub-<b>");
	config.hubs[0].endpoint = pool("https://hub-a");
	config.namespace = pool("kubeslice-controller");
	config.credentials[CREDENTIAL_ELECTOR].kubeconfig = pool("/k");
	config.worker_count = 2;
	config.shard_size = 1;
	config.workers[0].name = pool("worker-1");
	config.workers[1].name = pool("worker-2");
	config.workers[0].credential.kubeconfig = config.workers[1].credential.kubeconfig =
	    config.credentials[CREDENTIAL_ELECTOR].kubeconfig;
	status = status_new(&config);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	json_decref(document);
	document = NULL;
	status_free(status);
	return 0;
}

static json_t *make_document(const struct fence_view *view)
{
	struct buf out = buf_make(1 << 22);
	json_error_t error;

	json_decref(document);
	status_put_json(status, view, NOW_NS, NOW_US, &out);
	assert_false(out.failed);
	document = json_loads(out.data, JSON_REJECT_DUPLICATES, &error);
	if (!document)
		fail_msg("%s at %d: %s", error.text, error.position, out.data);
	buf_free(&out);
	return document;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	assert_non_null(text);
	return text;
}

static int64_t number_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static void say_leadership(uint32_t role)
{
	struct msg_status_leadership m = { .state = STR_LIT("STANDBY_ARMED"),
		.role = role,
		.term = 4,
		.led_term = 3,
		.since_us = NOW_US,
		.renewed_ns = NOW_NS - 2000000000,
		.valid_until_ns = NOW_NS + 5000000000,
		.armed = true,
		.reason = STR_LIT("<script>\"x\"\\\x01") };

	status_linked(status, elector);
	status_take_leadership(status, &m, NOW_NS - 1000000000);
}

static void say_peer(void)
{
	struct msg_status_peer m = { .class = PEER_SILENT,
		.why = PEER_WHY_TIMEOUT,
		.holder = HOLDER_PEER,
		.phase = PHASE_LEADING,
		.term = 4,
		.led_term = 4,
		.changed_ns = NOW_NS - 1500000000,
		.threshold_ms = 20000,
		.lease_ms = 15000 };

	status_take_peer(status, &m);
}

static void what_nobody_said_is_null(void **state)
{
	const json_t *workers;

	(void)state;
	make_document(NULL);
	assert_true(json_is_null(json_object_get(document, "leadership")));
	assert_true(json_is_null(json_object_get(document, "peer")));
	assert_true(json_is_null(json_object_get(document, "mirror")));
	assert_true(json_is_null(json_object_get(document, "fence")));
	assert_string_equal(text_of(document, "identity"), "hub-<b>");
	assert_string_equal(text_of(document, "mode"), "standby");
	assert_string_equal(text_of(document, "time"), "2026-01-01T00:00:00.000Z");
	assert_int_equal(number_of(document, "slot"), 1);
	workers = json_object_get(document, "workers");
	assert_int_equal(json_array_size(workers), 2);
	assert_string_equal(text_of(json_array_get(workers, 1), "name"), "worker-2");
	assert_string_equal(text_of(json_array_get(workers, 1), "state"), "unknown");
	assert_int_equal(json_array_size(json_object_get(document, "processes")), 6);
}

static void ages_are_made_when_somebody_looks(void **state)
{
	const json_t *leadership, *peer;

	(void)state;
	say_leadership(FENCE_STANDBY);
	say_peer();
	make_document(NULL);
	leadership = json_object_get(document, "leadership");
	assert_string_equal(text_of(leadership, "state"), "STANDBY_ARMED");
	assert_string_equal(text_of(leadership, "role"), "standby");
	assert_string_equal(text_of(leadership, "reason"), "<script>\"x\"\\\x01");
	assert_int_equal(number_of(leadership, "renewedAgoMs"), 2000);
	assert_int_equal(number_of(leadership, "validForMs"), 5000);
	assert_int_equal(number_of(leadership, "heardAgoMs"), 1000);
	peer = json_object_get(document, "peer");
	assert_string_equal(text_of(peer, "identity"), "hub-a");
	assert_string_equal(text_of(peer, "class"), "silent");
	assert_string_equal(text_of(peer, "why"), "timeout");
	assert_int_equal(number_of(peer, "ageMs"), 1500);
	assert_int_equal(number_of(peer, "thresholdMs"), 20000);
	assert_int_equal(number_of(peer, "leaseMs"), 15000);
	assert_int_equal(status_peer_age_ns(status, NOW_NS), 1500000000);
	assert_int_equal(status_peer_age_ns(status, 0), 0);
	say_leadership(FENCE_LEADING);
	assert_int_equal(status_peer_age_ns(status, NOW_NS), -1);
}

static void readiness_is_the_electors_word(void **state)
{
	char why[128];

	(void)state;
	assert_false(status_is_ready(status, NOW_NS, why));
	assert_string_equal(why, "the elector is not connected");
	status_linked(status, elector);
	assert_false(status_is_ready(status, NOW_NS, why));
	assert_string_equal(why, "the elector has not said anything yet");
	say_leadership(FENCE_STANDBY);
	assert_true(status_is_ready(status, NOW_NS, why));
	assert_false(status_is_ready(status, NOW_NS + STATUS_STALE_NS, why));
	assert_string_equal(why, "the elector's last word is 16 s old, expected at most 15 s");
	config.mode = CONFIG_FOLLOWER;
	assert_true(status_is_ready(status, NOW_NS + STATUS_STALE_NS, why));
}

static void what_a_role_said_goes_with_its_link(void **state)
{
	struct msg_status_mirror mirror = { .complete = true, .objects = 9, .lag_ms = 12 };
	struct msg_status_kind kind = { .row = 255, .kind = STR_LIT("Project"), .source = 3 };
	struct msg_status_blocked blocked = {
		.row = 0, .object = STR_LIT("Secret n/x"), .why = STR_LIT("422")
	};

	(void)state;
	say_leadership(FENCE_STANDBY);
	say_peer();
	status_linked(status, syncer);
	status_take_mirror(status, &mirror);
	status_take_kind(status, &kind);
	status_take_blocked(status, &blocked);
	make_document(NULL);
	assert_int_equal(number_of(json_object_get(document, "mirror"), "objects"), 9);
	assert_int_equal(json_array_size(json_object_get(document, "kinds")), 1);
	assert_int_equal(json_array_size(json_object_get(document, "blocked")), 1);
	status_unlinked(status, syncer);
	make_document(NULL);
	assert_true(json_is_null(json_object_get(document, "mirror")));
	assert_int_equal(json_array_size(json_object_get(document, "kinds")), 0);
	assert_int_equal(json_array_size(json_object_get(document, "blocked")), 0);
	assert_true(json_is_object(json_object_get(document, "leadership")));
	status_unlinked(status, elector);
	make_document(NULL);
	assert_true(json_is_null(json_object_get(document, "leadership")));
	assert_true(json_is_null(json_object_get(document, "peer")));
}

/* Since when it leads, and what it says of itself when it does not. */
static void the_peer_is_told_as_leader_or_standby(void **state)
{
	struct msg_status_peer m = { .holder = HOLDER_PEER, .since_us = NOW_US };
	const json_t *peer;

	(void)state;
	status_linked(status, elector);
	status_take_peer(status, &m);
	make_document(NULL);
	peer = json_object_get(document, "peer");
	assert_string_equal(text_of(peer, "since"), "2026-01-01T00:00:00.000Z");
	assert_true(json_is_null(json_object_get(peer, "standby")));
	m = (struct msg_status_peer){ .standby = true, .complete = true, .lag_ms = 31 };
	status_take_peer(status, &m);
	make_document(NULL);
	peer = json_object_get(document, "peer");
	assert_true(json_is_null(json_object_get(peer, "since")));
	assert_true(json_is_false(json_object_get(json_object_get(peer, "standby"), "armed")));
	assert_true(json_is_true(json_object_get(json_object_get(peer, "standby"), "complete")));
	assert_int_equal(number_of(json_object_get(peer, "standby"), "lagMs"), 31);
}

static void the_mirror_is_told_in_words(void **state)
{
	struct msg_status_mirror mirror = { .state = SYNC_STATE_PROGRESSING,
		.why = STR_LIT("Cluster: 1 of 2"),
		.held_list = 0xab,
		.passing = true,
		.done = 1,
		.total = 4,
		.rate_milli = 1500 };
	struct msg_status_kind kind = { .row = 1,
		.kind = STR_LIT("Cluster"),
		.state = SYNC_STATE_UNKNOWN,
		.version = 17,
		.oldest_ms = 9 };
	struct msg_status_blocked blocked = {
		.row = 0, .listing = LISTED_REFERENCED, .object = STR_LIT("x"), .why = STR_LIT("y")
	};
	const json_t *part, *progress;

	(void)state;
	status_take_mirror(status, &mirror);
	status_take_kind(status, &kind);
	status_take_blocked(status, &blocked);
	make_document(NULL);
	part = json_object_get(document, "mirror");
	progress = json_object_get(part, "progress");
	assert_string_equal(text_of(part, "state"), "Progressing");
	assert_string_equal(text_of(part, "why"), "Cluster: 1 of 2");
	assert_string_equal(text_of(part, "heldList"), "00000000000000ab");
	assert_int_equal(number_of(progress, "total"), 4);
	assert_true(json_real_value(json_object_get(progress, "perSecond")) > 1.49);
	assert_true(json_is_null(json_object_get(progress, "remainingMs")));
	part = json_array_get(json_object_get(document, "kinds"), 0);
	assert_string_equal(text_of(part, "state"), "Unknown");
	assert_int_equal(number_of(part, "completeAt"), 17);
	part = json_array_get(json_object_get(document, "blocked"), 0);
	assert_string_equal(text_of(part, "state"), "referenced");
	mirror.passing = false;
	status_take_mirror(status, &mirror);
	kind.version = 0;
	status_take_kind(status, &kind);
	make_document(NULL);
	part = json_object_get(document, "mirror");
	assert_true(json_is_null(json_object_get(part, "progress")));
	part = json_array_get(json_object_get(document, "kinds"), 0);
	assert_true(json_is_null(json_object_get(part, "completeAt")));
}

static void a_blocked_row_becomes_free(void **state)
{
	struct msg_status_blocked blocked = { .row = 3, .object = STR_LIT("x") };

	(void)state;
	status_take_blocked(status, &blocked);
	blocked.object = STR_LIT("");
	status_take_blocked(status, &blocked);
	make_document(NULL);
	assert_int_equal(json_array_size(json_object_get(document, "blocked")), 0);
}

/* F4: a shard speaks of its own workers, a role of its own credentials. */
static void nobody_speaks_for_another(void **state)
{
	struct msg_status_worker worker = {
		.worker = 1, .state = WORKER_DENIED, .term = 9, .identity = STR_LIT("hub-a")
	};
	struct msg_status_credential credential = {
		.credential = CREDENTIAL_ELECTOR, .usable = true, .subject = STR_LIT("sa")
	};

	(void)state;
	assert_false(status_take_worker(status, shard0, &worker));
	assert_true(status_take_worker(status, shard1, &worker));
	worker.worker = 2;
	assert_false(status_take_worker(status, shard1, &worker));
	assert_false(status_take_credential(status, syncer, &credential));
	assert_true(status_take_credential(status, elector, &credential));
	credential.credential = CREDENTIAL_PUBLISHER; /* not configured */
	assert_false(
	    status_take_credential(status, (struct role_id){ ROLE_PUBLISHER, 0 }, &credential));
	make_document(NULL);
	assert_string_equal(
	    text_of(json_array_get(json_object_get(document, "workers"), 1), "state"), "denied");
	assert_string_equal(
	    text_of(json_array_get(json_object_get(document, "credentials"), 0), "subject"), "sa");
	status_unlinked(status, shard1);
	make_document(NULL);
	assert_string_equal(
	    text_of(json_array_get(json_object_get(document, "workers"), 1), "state"), "unknown");
}

static bool takes(struct role_id from, unsigned credential, unsigned check)
{
	struct msg_status_rights m = { .row = credential * RIGHTS_CHECKS + check,
		.verdict = RIGHTS_DIFFER,
		.declared = STR_LIT("d"),
		.found = STR_LIT("too much: \"x\""),
		.seen_ns = (uint64_t)NOW_NS - 5000000000ULL };

	return status_take_rights(status, from, &m);
}

/* For the audit: by the word of who holds the identity, for as long as its link lives (F4). */
static void rights_are_told_by_their_holder(void **state)
{
	const json_t *rights;

	(void)state;
	assert_false(takes(syncer, CREDENTIAL_ELECTOR, RIGHTS_CHECK_HOME));
	assert_false(takes(shard0, CREDENTIAL_WORKER + 1, RIGHTS_CHECK_TERM));
	assert_false(takes(elector, CREDENTIAL_ELECTOR, RIGHTS_CHECK_TERM));
	assert_false(takes(shard1, CREDENTIAL_WORKER + 1, RIGHTS_CHECK_FENCE));
	assert_false(takes(shard0, CREDENTIAL_WORKER + 2, RIGHTS_CHECK_HOME)); /* no such worker */
	make_document(NULL);
	assert_int_equal(json_array_size(json_object_get(document, "rights")), 0);
	assert_true(takes(elector, CREDENTIAL_ELECTOR, RIGHTS_CHECK_FENCE));
	assert_true(takes(shard1, CREDENTIAL_WORKER + 1, RIGHTS_CHECK_TERM));
	make_document(NULL);
	rights = json_object_get(document, "rights");
	assert_int_equal(json_array_size(rights), 2);
	assert_string_equal(text_of(json_array_get(rights, 0), "check"), "fence");
	assert_string_equal(text_of(json_array_get(rights, 1), "worker"), "worker-2");
	assert_string_equal(text_of(json_array_get(rights, 1), "check"), "door-term");
	assert_string_equal(text_of(json_array_get(rights, 1), "found"), "too much: \"x\"");
	assert_string_equal(text_of(json_array_get(rights, 1), "verdict"), "finding");
	assert_int_equal(
	    json_integer_value(json_object_get(json_array_get(rights, 1), "ageMs")), 5000);
	status_unlinked(status, shard1);
	make_document(NULL);
	assert_int_equal(json_array_size(json_object_get(document, "rights")), 1);
}

static void the_history_is_a_ring_without_repeats(void **state)
{
	struct msg_status_history m = {
		.from = STR_LIT("A"), .to = STR_LIT("B"), .reason = STR_LIT("r")
	};
	const json_t *history;

	(void)state;
	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < STATUS_MAX_HISTORY; i++) {
			m.time_us = NOW_US + i;
			status_take_history(status, &m);
		}
	make_document(NULL);
	history = json_object_get(document, "history");
	assert_int_equal(json_array_size(history), STATUS_MAX_HISTORY);
	m.time_us = NOW_US + 1000000;
	status_take_history(status, &m);
	make_document(NULL);
	history = json_object_get(document, "history");
	assert_int_equal(json_array_size(history), STATUS_MAX_HISTORY);
	assert_string_equal(
	    text_of(json_array_get(history, 0), "time"), "2026-01-01T00:00:01.000Z");
}

static void the_fence_is_its_own_witness(void **state)
{
	struct fence_view view = { .role = FENCE_LEADING,
		.term = 5,
		.valid_until_ns = NOW_NS + 2500000000,
		.written_at_ns = NOW_NS - 1,
		.here = true };

	(void)state;
	make_document(&view);
	assert_true(json_is_true(json_object_get(json_object_get(document, "fence"), "leading")));
	assert_int_equal(number_of(json_object_get(document, "fence"), "remainingMs"), 2500);
	view.here = false;
	make_document(&view);
	assert_true(json_is_false(json_object_get(json_object_get(document, "fence"), "leading")));
	assert_int_equal(number_of(json_object_get(document, "fence"), "remainingMs"), 0);
}

static void a_follower_is_shown_and_goes_with_its_link(void **state)
{
	static const struct role_id follower = { ROLE_FOLLOWER, 0 };
	struct msg_status_follower m = { .follows = 1,
		.handed = 1,
		.pending = 2,
		.seen = 1,
		.needed = 2,
		.term = 4,
		.max_term = 5,
		.connected = STR_LIT("True Connected"),
		.look_b = STR_LIT("leads with term 5") };
	const json_t *shown, *looks;

	(void)state;
	assert_true(json_is_null(json_object_get(make_document(NULL), "follower")));
	assert_true(status_take_follower(status, &m));
	shown = json_object_get(make_document(NULL), "follower");
	assert_string_equal(json_string_value(json_object_get(shown, "follows")), "hub-a");
	assert_string_equal(json_string_value(json_object_get(shown, "pending")), "hub-<b>");
	assert_int_equal(json_integer_value(json_object_get(shown, "maxTerm")), 5);
	looks = json_object_get(shown, "looks");
	assert_string_equal(json_string_value(json_object_get(json_array_get(looks, 1), "look")),
	    "leads with term 5");
	m.pending = 0;
	assert_true(status_take_follower(status, &m));
	shown = json_object_get(make_document(NULL), "follower");
	assert_true(json_is_null(json_object_get(shown, "pending")));
	/* A hub that the list does not have. */
	config.hub_count = 1;
	m.handed = 2;
	assert_false(status_take_follower(status, &m));
	config.hub_count = 2;
	status_unlinked(status, follower);
	assert_true(json_is_null(json_object_get(make_document(NULL), "follower")));
}

/* Another configuration: what was said of a number is forgotten when it is another worker's. */
static void a_reload_keeps_what_is_still_so(void **state)
{
	static const struct msg_status_worker first = { .worker = 0, .term = 7 },
					      second = { .worker = 1, .term = 7 };
	static struct us_config next;
	static const char text[] = "reloaded; changed: workers <1>";

	(void)state;
	assert_true(status_take_worker(status, shard0, &first));
	assert_true(status_take_worker(status, shard1, &second));
	assert_true(json_is_null(json_object_get(make_document(NULL), "reload")));
	next = config;
	next.workers[1].name = pool("worker-9");
	memcpy(next.pool, config.pool, sizeof(next.pool));
	status_reconfigure(status, &config, &next);
	status_take_reload(status, 3, true, (struct str){ text, sizeof(text) });
	assert_true(status->workers[0].known);
	assert_false(status->workers[1].known);
	assert_int_equal(status->reload.count, 3);
	assert_string_equal(json_string_value(json_object_get(
				json_object_get(make_document(NULL), "reload"), "text")),
	    text);
	/* Fewer workers. */
	config = next;
	next.worker_count = 1;
	status_reconfigure(status, &config, &next);
	assert_true(status->workers[0].known);
	status_take_reload(status, 4, false, str_of(""));
	assert_string_equal(status->reload.text, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_nobody_said_is_null),
		TEST(ages_are_made_when_somebody_looks),
		TEST(readiness_is_the_electors_word),
		TEST(what_a_role_said_goes_with_its_link),
		TEST(the_peer_is_told_as_leader_or_standby),
		TEST(the_mirror_is_told_in_words),
		TEST(a_blocked_row_becomes_free),
		TEST(nobody_speaks_for_another),
		TEST(rights_are_told_by_their_holder),
		TEST(the_history_is_a_ring_without_repeats),
		TEST(the_fence_is_its_own_witness),
		TEST(a_reload_keeps_what_is_still_so),
		TEST(a_follower_is_shown_and_goes_with_its_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
