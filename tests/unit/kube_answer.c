/*
 * What answers mean, row by row as API servers give them (C4, H7, H11, H20, M7, M8).
 * Pitfall: P81.
 */
#include "kube/answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	int status;
	bool json;
	const char *body;
	enum kube_class class;
	enum peer_why why;
} rows[] = {
	{ 200, true, "{}", KUBE_OK, PEER_WHY_NONE },
	{ 201, true, "{}", KUBE_OK, PEER_WHY_NONE },
	{ 204, false, "", KUBE_OK, PEER_WHY_NONE },
	{ 200, false, "<html>", KUBE_BLIND, PEER_WHY_UNPARSABLE },
	{ 401, true, "{\"kind\":\"Status\",\"reason\":\"Unauthorized\"}", KUBE_UNAUTHORIZED,
	    PEER_WHY_UNAUTHORIZED },
	{ 403, true, "{\"kind\":\"Status\",\"message\":\"UNDERSTUDY_FENCE: no\"}", KUBE_FORBIDDEN,
	    PEER_WHY_FORBIDDEN },
	{ 404, true,
	    "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"leases \\\"x\\\" not "
	    "found\","
	    "\"details\":{\"name\":\"x\",\"kind\":\"leases\"}}",
	    KUBE_NOT_FOUND, PEER_WHY_NONE },
	{ 404, true,
	    "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"the server could not find "
	    "the "
	    "requested resource\",\"details\":{}}",
	    KUBE_NO_RESOURCE, PEER_WHY_NONE },
	{ 404, true,
	    "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"the server could not find "
	    "the "
	    "requested resource (post x)\",\"details\":{\"name\":\"y\"}}",
	    KUBE_NO_RESOURCE, PEER_WHY_NONE },
	{ 404, false, "404 page not found\n", KUBE_NO_RESOURCE, PEER_WHY_NONE },
	{ 404, false, "<html>nothing here", KUBE_BLIND, PEER_WHY_UNPARSABLE },
	{ 404, true, "{\"error\":\"no such route\"}", KUBE_BLIND, PEER_WHY_UNPARSABLE },
	{ 409, true, "{\"kind\":\"Status\",\"reason\":\"Conflict\"}", KUBE_CONFLICT,
	    PEER_WHY_NONE },
	{ 409, true, "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\"}", KUBE_EXISTS,
	    PEER_WHY_NONE },
	{ 410, true, "{\"kind\":\"Status\",\"reason\":\"Expired\"}", KUBE_GONE, PEER_WHY_NONE },
	{ 413, false, "", KUBE_TOO_LARGE, PEER_WHY_NONE },
	{ 500, true, "{\"kind\":\"Status\",\"message\":\"etcdserver: request is too large\"}",
	    KUBE_TOO_LARGE, PEER_WHY_SERVER_ERROR },
	{ 422, true, "{\"kind\":\"Status\",\"reason\":\"Invalid\"}", KUBE_INVALID, PEER_WHY_NONE },
	/* H7: a policy without its parameter, or not yet read, says 422: it is no fault of the
	   object. */
	{ 422, true,
	    "{\"kind\":\"Status\",\"reason\":\"Invalid\",\"message\":\"x \\\"y\\\" is forbidden: "
	    "ValidatingAdmissionPolicy 'understudy-role' denied request: failed to configure "
	    "policy\"}",
	    KUBE_FORBIDDEN, PEER_WHY_FORBIDDEN },
	{ 429, false, "slow down", KUBE_THROTTLED, PEER_WHY_THROTTLED },
	{ 400, true, "{\"kind\":\"Status\"}", KUBE_REFUSED, PEER_WHY_NONE },
	{ 302, false, "", KUBE_BLIND, PEER_WHY_UNPARSABLE },
	{ 307, true, "{\"kind\":\"Status\"}", KUBE_BLIND, PEER_WHY_UNPARSABLE },
	/* B24: a webhook that cannot be asked, and one that says no with a number of its own. */
	{ 500, true,
	    "{\"kind\":\"Status\",\"reason\":\"InternalError\",\"message\":\"Internal error "
	    "occurred: failed calling webhook \\\"v.example.com\\\": failed to call webhook: Post "
	    "x: connection refused\"}",
	    KUBE_FORBIDDEN, PEER_WHY_FORBIDDEN },
	{ 400, true,
	    "{\"kind\":\"Status\",\"message\":\"admission webhook \\\"v.example.com\\\" denied "
	    "the request: no\"}",
	    KUBE_FORBIDDEN, PEER_WHY_FORBIDDEN },
	{ 422, true,
	    "{\"kind\":\"Status\",\"message\":\"admission webhook \\\"v.example.com\\\" denied "
	    "the request: no\"}",
	    KUBE_FORBIDDEN, PEER_WHY_FORBIDDEN },
	{ 422, true,
	    "{\"kind\":\"Status\",\"message\":\"x is invalid: spec: an admission webhook\"}",
	    KUBE_INVALID, PEER_WHY_NONE },
	{ 500, false, "", KUBE_SERVER_ERROR, PEER_WHY_SERVER_ERROR },
	{ 504, true, "not json", KUBE_SERVER_ERROR, PEER_WHY_SERVER_ERROR },
};

static void test_classes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kube_answer answer = { .status = rows[i].status };
		struct answer_head head = { .json = rows[i].json };

		answer_finish(&answer, &head, "/apis/g/v1/leases/x", str_of(rows[i].body));
		assert_string_equal(kube_class_name(answer.class), kube_class_name(rows[i].class));
		assert_int_equal(answer.why, rows[i].why);
		assert_true(answer.class == KUBE_OK || answer.message[0]);
	}
}

static void test_plain_text_outside_the_api(void **state)
{
	struct kube_answer answer = { .status = 200 };
	struct answer_head head = { 0 };

	(void)state;
	answer_finish(&answer, &head, "/readyz", STR_LIT("ok"));
	assert_int_equal(answer.class, KUBE_OK);
}

static void test_status_fields(void **state)
{
	struct kube_answer answer = { .status = 422 };
	struct answer_head head = { .json = true };

	(void)state;
	answer_finish(&answer, &head, "/api/v1/x",
	    STR_LIT("{\"kind\":\"Status\",\"reason\":\"Invalid\",\"message\":\"bad\\u001b[31m "
		    "\\u00e9\","
		    "\"details\":{\"retryAfterSeconds\":3,\"causes\":[{\"field\":\"spec.term\"},{"
		    "\"field\":"
		    "\"spec.term\"}]}}"));
	assert_string_equal(answer.reason, "Invalid");
	assert_string_equal(answer.message, "bad?[31m ??"); /* printable, always */
	assert_string_equal(answer.cause_field, "spec.term");
	assert_true(answer.retry_after_ms == 3000);
	/* H7: one of several fields is none. */
	answer_finish(&answer, &head, "/api/v1/x",
	    STR_LIT("{\"kind\":\"Status\",\"details\":{\"causes\":[{\"field\":\"type\"},{}]}}"));
	assert_string_equal(answer.cause_field, "");
}

static void head_of(struct kube_answer *answer, const char *const *lines)
{
	struct answer_head head = { 0 };

	*answer = (struct kube_answer){ 0 };
	for (; *lines; lines++)
		answer_header(answer, &head, str_of(*lines));
	answer->class = head.json ? KUBE_OK : KUBE_REFUSED;
}

static void test_heads(void **state)
{
	static const char *const lines[] = { "HTTP/1.1 100 Continue\r\n",
		"warning: 299 - \"gone\"\r\n", "\r\n", "HTTP/2 201 \r\n",
		"Content-Type: application/json; charset=utf-8\r\n",
		"WARNING: 299 - \"unknown field \\\"a\\\"\"\r\n", "warning: 299 - \"b\"\r\n",
		"warning: 199 - \"other\"\r\n", "retry-after: 5\r\n",
		"date: Thu, 01 Jan 1970 00:01:00 GMT\r\n", "\r\n", NULL };
	static const char *const odd[] = { "HTTP/1.1\r\n", "HTTP/1.1 2\r\n", "HTTP/2 abc\r\n",
		"retry-after: Wed, 21 Oct 2026 07:28:00 GMT\r\n", "retry-after: -1\r\n",
		"retry-after: 99999999999999999999\r\n", "date: yesterday\r\n", "warning:\r\n",
		"warning: 299\r\n", "content-type:\r\n", ":\r\n", "", NULL };
	struct kube_answer answer;

	(void)state;
	head_of(&answer, lines);
	assert_int_equal(answer.status, 201);
	assert_int_equal(answer.class, KUBE_OK);
	assert_string_equal(answer.warning, "unknown field \\\"a\\\"; b");
	assert_true(answer.retry_after_ms == 5000);
	assert_true(answer.date_us == 60000000);
	head_of(&answer, odd);
	assert_int_equal(answer.status, 0);
	assert_true(answer.retry_after_ms == 0 && answer.date_us == 0);
	assert_string_equal(answer.warning, "");
	/* A year beyond what microseconds can count. */
	answer_header(&answer, &(struct answer_head){ false },
	    STR_LIT("Date: Mon, 01 Jan 2025991 00:00:00 GMT\r\n"));
	assert_true(answer.date_us >= 0);
}

static void test_many_warnings_are_cut(void **state)
{
	struct kube_answer answer = { 0 };
	struct answer_head head = { 0 };

	(void)state;
	for (int i = 0; i < 100; i++)
		answer_header(&answer, &head, STR_LIT("warning: 299 - \"0123456789\"\r\n"));
	assert_true(strlen(answer.warning) < sizeof(answer.warning));
}

static void test_failures(void **state)
{
	static const struct {
		CURLcode code;
		const char *words;
		enum kube_class class;
		enum peer_why why;
	} failures[] = {
		{ CURLE_PEER_FAILED_VERIFICATION, "", KUBE_BLIND, PEER_WHY_X509 },
		{ CURLE_SSL_CACERT_BADFILE, "", KUBE_BLIND, PEER_WHY_X509 },
		{ CURLE_SSL_CERTPROBLEM, "", KUBE_BLIND, PEER_WHY_X509 },
		{ CURLE_SSL_CONNECT_ERROR, "sslv3 alert bad certificate", KUBE_BLIND,
		    PEER_WHY_X509 },
		{ CURLE_RECV_ERROR, "tlsv13 alert certificate required", KUBE_BLIND,
		    PEER_WHY_X509 },
		{ CURLE_SSL_CONNECT_ERROR, "wrong version number", KUBE_SILENT, PEER_WHY_RESET },
		{ CURLE_RECV_ERROR, "Connection reset by peer", KUBE_SILENT, PEER_WHY_RESET },
		{ CURLE_OPERATION_TIMEDOUT, "", KUBE_SILENT, PEER_WHY_TIMEOUT },
		{ CURLE_GOT_NOTHING, "", KUBE_SILENT, PEER_WHY_RESET },
		{ CURLE_PARTIAL_FILE, "", KUBE_SILENT, PEER_WHY_RESET },
		{ CURLE_WEIRD_SERVER_REPLY, "", KUBE_SILENT, PEER_WHY_RESET },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		struct kube_answer answer = { .status = 200 };

		answer_fail(&answer, failures[i].code, failures[i].words);
		assert_int_equal(answer.class, failures[i].class);
		assert_int_equal(answer.why, failures[i].why);
		assert_int_equal(answer.status, 0);
		assert_true(answer.message[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_plain_text_outside_the_api),
		cmocka_unit_test(test_status_fields),
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_many_warnings_are_cut),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
