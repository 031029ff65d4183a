/*
 * Requests against a TLS server on loopback: reuse and multiplexing, deadlines, a silently dead
 * connection, hostile answers, streams, cancelling, the end. Rules: F8, C4, H1, H3, L34.
 */
#include "tests/unit/kube_role.h"

/* A deadline that a test waits for, and how long until the server has got what it is of. */
#define SHORT_MS 1500
#define SENT_MS  50

/* --- Requests ------------------------------------------------------------------------------- */

static void test_parallel_requests_share_one_connection(void **state)
{
	struct kube_ask what = get("/api/v1", PATIENT_MS);
	struct result results[20] = { 0 };

	(void)state;
	for (int i = 0; i < 20; i++)
		kube_client_ask(role.client, &what, on_done, &results[i]);
	await(20);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(results[i].class, KUBE_OK);
		assert_true(results[i].answer.sent);
		assert_string_equal(results[i].body, "{}");
	}
	assert_int_equal(bed.shared->requests, 20);
	assert_int_equal(role.asked_count, 1);
	assert_int_equal(ask(&what).class, KUBE_OK);
	assert_int_equal(role.asked_count, 1);
}

static void test_http1_reuses_and_adds_connections(void **state)
{
	struct kube_ask what = get("/api/v1", PATIENT_MS);
	struct result results[6] = { 0 };

	(void)state;
	role.mode = BED_H1;
	for (int i = 0; i < 6; i++)
		kube_client_ask(role.client, &what, on_done, &results[i]);
	await(6);
	for (int i = 0; i < 6; i++)
		assert_int_equal(results[i].class, KUBE_OK);
	assert_in_range(role.asked_count, 1, 6);
	assert_int_equal(ask(&what).class, KUBE_OK);
	assert_in_range(role.asked_count, 1, 6);
}

static void test_verbs_bodies_headers(void **state)
{
	struct kube_ask what = { .target = 3,
		.verb = KUBE_PATCH_MERGE,
		.path = "/api/v1/x",
		.query = "timeout=5s",
		.body = STR_LIT("{\"a\":1}"),
		.deadline_ms = PATIENT_MS };
	struct result result;

	(void)state;
	role.mode = BED_H1;
	for (int verb = KUBE_POST; verb <= KUBE_DELETE; verb++) {
		what.verb = (enum kube_verb)verb;
		result = ask(&what);
		assert_int_equal(result.class, KUBE_OK);
		assert_string_equal(result.body, "{\"a\":1}");
	}
	assert_string_equal(result.answer.warning, "unknown field");
	assert_true(result.answer.date_us == 1795968000LL * 1000000);
	assert_string_equal(bed.shared->authorization, "Bearer abc.def.ghi");
	assert_int_equal(role.asked_count, 1);
}

static void test_hostile_answers(void **state)
{
	static const struct {
		const char *path;
		enum kube_class class;
		enum peer_why why;
	} rows[] = {
		{ "/api/cut", KUBE_SILENT, PEER_WHY_RESET },
		{ "/api/big", KUBE_BLIND, PEER_WHY_UNPARSABLE },
		{ "/api/html", KUBE_BLIND, PEER_WHY_UNPARSABLE },
		{ "/api/429", KUBE_THROTTLED, PEER_WHY_THROTTLED },
		{ "/api/moved", KUBE_BLIND, PEER_WHY_UNPARSABLE },
		{ "/api/drop", KUBE_SILENT, PEER_WHY_RESET },
		{ "/api/v1 HTTP/1.1", KUBE_BLIND, PEER_WHY_UNPARSABLE },
		{ "/api/v1\r\nx: y", KUBE_BLIND, PEER_WHY_UNPARSABLE },
		{ "", KUBE_BLIND, PEER_WHY_UNPARSABLE },
	};

	(void)state;
	role.mode = BED_H1;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kube_ask what = get(rows[i].path, PATIENT_MS);
		struct result result = ask(&what);

		assert_int_equal(result.class, rows[i].class);
		assert_int_equal(result.answer.why, rows[i].why);
		assert_true(result.answer.message[0] != '\0');
	}
}

/* B10: the supervisor hears of a 401, once for a burst of them. */
static void test_a_refused_credential_is_told(void **state)
{
	struct kube_ask what = get("/api/401", PATIENT_MS), other = get("/api/html", PATIENT_MS);
	struct result results[3] = { 0 };

	(void)state;
	role.mode = BED_H1;
	refused_told = 0;
	(void)ask(&other);
	assert_int_equal(refused_told, 0);
	for (int i = 0; i < 3; i++)
		kube_client_ask(role.client, &what, on_done, &results[i]);
	await(3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(results[i].class, KUBE_UNAUTHORIZED);
	assert_int_equal(refused_told, 1);
}

static void test_deadline_covers_the_answer_and_spares_the_next(void **state)
{
	struct kube_ask hang = { .target = 3,
		.verb = KUBE_POST,
		.path = "/api/v1",
		.deadline_ms = SHORT_MS,
		.body = STR_LIT("{}") };
	struct kube_ask what = get("/api/v1", PATIENT_MS);
	struct result result;
	int64_t before_ns;

	(void)state;
	assert_int_equal(ask(&what).class, KUBE_OK); /* there is a connection */
	before_ns = base_clock_boot_ns();
	result = ask(&hang);
	assert_int_equal(result.class, KUBE_SILENT);
	assert_int_equal(result.answer.why, PEER_WHY_TIMEOUT);
	assert_true(result.answer.sent); /* it may have been applied (H1) */
	assert_true(base_clock_boot_ns() - before_ns >= SHORT_MS * BASE_NS_PER_MS);
	assert_int_equal(ask(&what).class, KUBE_OK);
	assert_int_equal(role.asked_count, 2); /* a new connection after a time-out */
}

/* Upstream situation 1: the established flow is frozen, new ones work. */
static void test_silently_dead_connection(void **state)
{
	struct kube_ask watch = {
		.target = 3, .verb = KUBE_DELETE, .path = "/api/v1", .deadline_ms = PATIENT_MS
	};
	struct kube_ask what = get("/api/v1", 80);
	struct result stream = { 0 }, result;

	(void)state;
	kube_client_stream(role.client, &watch, 60000, on_chunk, on_done, &stream);
	await(1);
	assert_int_equal(stream.heads, 1);
	assert_int_equal(stream.chunks, 1);
	atomic_store(&bed.shared->frozen, 1000000);
	/* The stream falls with the request that notices, long before its own 60 s. */
	result = (struct result){ 0 };
	kube_client_ask(role.client, &what, on_done, &result);
	await(2);
	assert_int_equal(result.class, KUBE_SILENT);
	assert_int_equal(stream.done, 1);
	assert_int_equal(stream.class, KUBE_SILENT);
	atomic_store(&bed.shared->frozen, 0);
}

/* The same with a watch on a connection that takes no new requests any more. */
static void test_silently_dead_connections_old_and_new(void **state)
{
	struct kube_ask watch = {
		.target = 3, .verb = KUBE_DELETE, .path = "/api/v1", .deadline_ms = PATIENT_MS
	};
	struct kube_ask hang = { .target = 3,
		.verb = KUBE_POST,
		.path = "/api/v1",
		.body = STR_LIT("{}"),
		.deadline_ms = SHORT_MS };
	struct kube_ask what = get("/api/v1", PATIENT_MS), late = get("/api/v1", 80);
	struct result stream = { 0 }, slow = { 0 }, result = { 0 };

	(void)state;
	kube_client_stream(role.client, &watch, 60000, on_chunk, on_done, &stream);
	await(1);
	kube_client_ask(role.client, &hang, on_done, &slow);
	pass_ms(SENT_MS);
	assert_int_equal(ask(&what).class, KUBE_OK);
	await(1); /* the slow answer has retired the watch's connection */
	assert_int_equal(stream.done, 0);
	assert_int_equal(ask(&what).class, KUBE_OK); /* on a new one */
	atomic_store(&bed.shared->frozen, 1000000);
	kube_client_ask(role.client, &late, on_done, &result);
	await(2);
	assert_int_equal(result.class, KUBE_SILENT);
	assert_int_equal(stream.class, KUBE_SILENT);
	atomic_store(&bed.shared->frozen, 0);
}

static void test_a_busy_connection_keeps_its_watches(void **state)
{
	struct kube_ask watch = {
		.target = 3, .verb = KUBE_DELETE, .path = "/api/v1", .deadline_ms = PATIENT_MS
	};
	struct kube_ask hang = { .target = 3,
		.verb = KUBE_POST,
		.path = "/api/v1",
		.body = STR_LIT("{}"),
		.deadline_ms = SHORT_MS };
	struct kube_ask what = get("/api/v1", PATIENT_MS);
	struct result stream = { 0 }, slow = { 0 };

	(void)state;
	kube_client_stream(role.client, &watch, 60000, on_chunk, on_done, &stream);
	await(1);
	kube_client_ask(role.client, &hang, on_done, &slow);
	pass_ms(SENT_MS);
	assert_int_equal(ask(&what).class, KUBE_OK); /* the server lives, one answer is slow */
	await(1);
	assert_int_equal(slow.class, KUBE_SILENT);
	pass_ms(50);
	assert_int_equal(stream.done, 0);
}

static void test_handshake_without_answer(void **state)
{
	struct kube_ask what = get("/api/v1", 300), patient = get("/api/v1", PATIENT_MS);
	struct result first = { 0 }, second = { 0 };

	(void)state;
	role.mode = BED_MUTE;
	kube_client_ask(role.client, &what, on_done, &first);
	kube_client_ask(role.client, &patient, on_done, &second);
	pass_ms(20);
	role.mode = BED_H2;
	await(2);
	assert_int_equal(first.class, KUBE_SILENT);
	assert_int_equal(first.answer.why, PEER_WHY_TIMEOUT);
	assert_false(first.answer.sent);
	/* Who waited for that connection moves on to the next one. */
	assert_int_equal(second.class, KUBE_OK);
	assert_int_equal(role.asked_count, 2);
}

static void test_no_tls_and_reset(void **state)
{
	struct kube_ask what = get("/api/v1", PATIENT_MS);
	struct result result;

	(void)state;
	role.mode = BED_GARBAGE;
	result = ask(&what);
	assert_int_equal(result.class, KUBE_SILENT);
	assert_false(result.answer.sent);
	role.mode = BED_RESET;
	result = ask(&what);
	assert_int_equal(result.class, KUBE_SILENT);
	assert_int_equal(result.answer.why, PEER_WHY_RESET);
}

static void test_fresh_request_has_its_own_connection(void **state)
{
	struct kube_ask what = get("/api/v1", PATIENT_MS);

	(void)state;
	assert_int_equal(ask(&what).class, KUBE_OK);
	what.fresh = true;
	assert_int_equal(ask(&what).class, KUBE_OK);
	assert_int_equal(ask(&what).class, KUBE_OK);
	assert_int_equal(role.asked_count, 3);
	what.fresh = false;
	assert_int_equal(ask(&what).class, KUBE_OK);
	assert_int_equal(role.asked_count, 3);
}

/* B11: requests use a new connection from then on, a watch ends so that it comes again over one. */
static void test_a_redial_leaves_the_old_connection(void **state)
{
	struct kube_ask what = get("/api/v1", PATIENT_MS), stall = get("/api/stall", PATIENT_MS);
	struct result result = { 0 };

	(void)state;
	role.mode = BED_H1;
	kube_client_redial(role.client, 77); /* no such target */
	kube_client_redial(role.client, 3);
	assert_int_equal(ask(&what).class, KUBE_OK);
	assert_int_equal(ask(&what).class, KUBE_OK);
	assert_int_equal(role.asked_count, 1);
	kube_client_stream(role.client, &stall, 60000, on_chunk, on_done, &result);
	await(1); /* its first chunk */
	kube_client_redial(role.client, 3);
	await(1);
	assert_int_equal(result.class, KUBE_OK);
	assert_int_equal(ask(&what).class, KUBE_OK);
	assert_int_equal(role.asked_count, 2);
}

static void test_streams(void **state)
{
	struct kube_ask what = get("/api/stream", PATIENT_MS);
	struct result result = { 0 };

	(void)state;
	role.mode = BED_H1;
	kube_client_stream(role.client, &what, PATIENT_MS, on_chunk, on_done, &result);
	await(2);
	assert_int_equal(result.chunks, 1);
	assert_int_equal(result.class, KUBE_OK);
	assert_int_equal(result.answer.body.n, 0);
	/* Idle. */
	what.path = "/api/stall";
	result = (struct result){ 0 };
	kube_client_stream(role.client, &what, SHORT_MS, on_chunk, on_done, &result);
	await(2);
	assert_int_equal(result.class, KUBE_SILENT);
	assert_int_equal(result.answer.why, PEER_WHY_TIMEOUT);
	/* The reader has enough. */
	result = (struct result){ .stop_after_chunk = true };
	kube_client_stream(role.client, &what, PATIENT_MS, on_chunk, on_done, &result);
	await(2);
	assert_int_equal(result.class, KUBE_OK);
	/* An error is no stream. */
	what.path = "/api/429";
	result = (struct result){ 0 };
	kube_client_stream(role.client, &what, PATIENT_MS, on_chunk, on_done, &result);
	await(1);
	assert_int_equal(result.heads + result.chunks, 0);
	assert_int_equal(result.class, KUBE_THROTTLED);
	assert_true(result.answer.retry_after_ms == 7000);
}

static void test_cancel(void **state)
{
	struct kube_ask hang = { .target = 3,
		.verb = KUBE_POST,
		.path = "/api/v1",
		.deadline_ms = SHORT_MS,
		.body = STR_LIT("{}") };
	struct kube_ask what = get("/api/v1", PATIENT_MS);
	struct result never = { 0 };
	uint64_t id = kube_client_ask(role.client, &hang, on_done, &never);

	(void)state;
	kube_client_cancel(role.client, id);
	kube_client_cancel(role.client, id);
	kube_client_cancel(role.client, 0);
	kube_client_cancel(role.client, 12345);
	id = kube_client_ask(role.client, &hang, on_done, &never);
	pass_ms(SENT_MS);
	kube_client_cancel(role.client, id);
	assert_int_equal(ask(&what).class, KUBE_OK);
	pass_ms(SHORT_MS + SENT_MS);
	assert_int_equal(never.done, 0);
}

static void test_shutdown_ends_everything(void **state)
{
	struct kube_ask hang = { .target = 3,
		.verb = KUBE_POST,
		.path = "/api/v1",
		.deadline_ms = PATIENT_MS,
		.body = STR_LIT("{}") };
	struct result result = { 0 };

	(void)state;
	kube_client_ask(role.client, &hang, on_done, &result);
	for (int i = 0; i < 4000 && bed.shared->requests == 0; i++)
		pass_ms(10);
	assert_int_equal(bed.shared->requests, 1);
	kube_client_shutdown(role.client);
	await(1);
	assert_int_equal(result.class, KUBE_SILENT);
	assert_true(result.answer.sent);
	for (int i = 0; i < 4000 && bed.shared->hangups == 0; i++)
		pass_ms(10);
	assert_int_equal(bed.shared->hangups, 1); /* the server has seen the end (F8, H3) */
	assert_int_equal(ask(&hang).class, KUBE_SILENT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(parallel_requests_share_one_connection),
		TEST(http1_reuses_and_adds_connections),
		TEST(verbs_bodies_headers),
		TEST(hostile_answers),
		TEST(a_redial_leaves_the_old_connection),
		TEST(a_refused_credential_is_told),
		TEST(deadline_covers_the_answer_and_spares_the_next),
		TEST(silently_dead_connection),
		TEST(silently_dead_connections_old_and_new),
		TEST(a_busy_connection_keeps_its_watches),
		TEST(handshake_without_answer),
		TEST(no_tls_and_reset),
		TEST(fresh_request_has_its_own_connection),
		TEST(streams),
		TEST(cancel),
		TEST(shutdown_ends_everything),
	};
	int failed;

	bed_start(&bed);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bed_stop(&bed);
	return failed;
}
