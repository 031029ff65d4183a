/*
 * Identities on arrival: what is taken, what is refused by name, and that no refusal quotes a
 * secret (F7, F12, F30).
 */
#include "kube/credential.h"

#include "tests/unit/kube_bed.h"

static struct bed bed;
static struct secret_arena *arena;
static const int64_t now_us = 1700000000LL * 1000000;
/* {"sub":"me","exp":1600000000}, {"sub":"me"} */
#define EXPIRED_JWT "e30.eyJzdWIiOiJtZSIsImV4cCI6MTYwMDAwMDAwMH0.c2ln"
#define JWT         "e30.eyJzdWIiOiJtZSJ9.c2ln"
/* {"sub":"me","iat":1699999000,"exp":1700000600} */
#define SHORT_JWT                                                                                  \
	"e30.eyJzdWIiOiJtZSIsImlhdCI6MTY5OTk5OTAwMCwiZXhwIjoxNzAw"                                 \
	"MDAwNjAwfQ.c2ln"

static struct msg_credential good(void)
{
	return (struct msg_credential){ .target = 5,
		.generation = 9,
		.server = STR_LIT("https://api.example:6443"),
		.ca = str_of(bed.ca),
		.token = STR_LIT(JWT) };
}

static void expect_refused(const struct msg_credential *message, const char *named)
{
	struct err err = { "" };
	struct kube_credential *credential = credential_new(message, arena, now_us, &err);

	assert_null(credential);
	if (!strstr(err.text, named))
		fail_msg("\"%s\" does not name %s", err.text, named);
	assert_null(strstr(err.text, "c2ln"));
}

static void test_servers(void **state)
{
	static const struct {
		const char *server, *tls_name, *origin;
		uint16_t port;
	} rows[] = {
		{ "https://api.example", "", "https://api.example:443", 443 },
		{ "https://api.example/", "", "https://api.example:443", 443 },
		{ "https://10.0.0.1:6443", "", "https://10.0.0.1:6443", 6443 },
		{ "https://[fd00::1]:6443", "", "https://[fd00::1]:6443", 6443 },
		{ "https://[fd00::1]", "hub.example", "https://hub.example:443", 443 },
		{ "https://rancher.example/k8s/clusters/c-1/", "",
		    "https://rancher.example:443/k8s/clusters/c-1", 443 },
	};
	static const char *const bad[] = { "", "https://", "http://a", "https:///x",
		"https://u:p@a", "https://a:0", "https://a:65536", "https://a:", "https://a:1x",
		"https://a b", "https://a/?x", "https://a/#x", "https://a\r\nx", "https://[fd00::1",
		"https://a\\b" };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct msg_credential message = good();
		struct kube_credential *credential;

		message.server = str_of(rows[i].server);
		message.tls_name = str_of(rows[i].tls_name);
		credential = credential_new(&message, arena, now_us, NULL);
		assert_non_null(credential);
		assert_string_equal(credential->origin, rows[i].origin);
		assert_int_equal(credential->port, rows[i].port);
		credential_drop(credential);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct msg_credential message = good();

		message.server = str_of(bad[i]);
		expect_refused(&message, "server");
	}
}

static void test_names(void **state)
{
	struct msg_credential message = good();

	(void)state;
	message.tls_name = STR_LIT("a/b");
	expect_refused(&message, "tls name");
}

static void test_authorities(void **state)
{
	struct msg_credential message = good();
	struct kube_credential *credential;
	char both[8192];

	(void)state;
	message.ca = str_of("");
	expect_refused(&message, "ca:");
	message.ca = STR_LIT("-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n");
	expect_refused(&message, "ca:");
	message.ca = str_of(bed.key);
	expect_refused(&message, "ca:");
	(void)snprintf(both, sizeof(both), "%s%s", bed.ca, bed.other_ca);
	message.ca = str_of(both);
	credential = credential_new(&message, arena, now_us, NULL);
	assert_non_null(credential);
	credential_drop(credential);
	/* A broken one behind a good one is not passed over. */
	(void)snprintf(both, sizeof(both),
	    "%s-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n", bed.ca);
	message.ca = str_of(both);
	expect_refused(&message, "ca:");
}

static void test_tokens(void **state)
{
	struct msg_credential message = good();
	struct kube_credential *credential = credential_new(&message, arena, now_us, NULL);
	static const char *const opaque[] = { "a", "a.b", "a.!!.c", "a..c", "a.bm9qc29u.c", "..." };

	(void)state;
	assert_non_null(credential);
	assert_string_equal(credential->authorization, "Authorization: Bearer " JWT);
	assert_string_equal(credential->subject, "me");
	assert_true(credential->expires_us == 0);
	credential_drop(credential);
	message.token = STR_LIT(EXPIRED_JWT);
	expect_refused(&message, "expired");
	message.token = STR_LIT(JWT "\r\nX: y");
	expect_refused(&message, "token");
	message.token = STR_LIT("a\0b");
	expect_refused(&message, "token");
	message.token = str_of("");
	expect_refused(&message, "neither");
	message.token = STR_LIT(SHORT_JWT);
	credential = credential_new(&message, arena, now_us, NULL);
	assert_non_null(credential);
	assert_true(credential->issued_us == 1699999000LL * 1000000);
	assert_true(credential->expires_us == 1700000600LL * 1000000);
	credential_drop(credential);
	for (size_t i = 0; i < sizeof(opaque) / sizeof(opaque[0]); i++) {
		bool odd = strchr(opaque[i], '!') != NULL;

		message.token = str_of(opaque[i]);
		credential = credential_new(&message, arena, now_us, NULL);
		assert_int_equal(credential != NULL, !odd);
		credential_drop(credential);
	}
}

static void test_client_certificates(void **state)
{
	struct msg_credential message = good();
	struct kube_credential *credential;

	(void)state;
	message.token = str_of("");
	message.certificate = str_of(bed.certificate);
	expect_refused(&message, "one without the other");
	message.key = str_of(bed.key);
	credential = credential_new(&message, arena, now_us, NULL);
	assert_non_null(credential);
	assert_string_equal(credential->subject, "elector");
	assert_true(credential->expires_us > now_us);
	assert_true(credential->issued_us > 0 && credential->issued_us < credential->expires_us);
	credential_drop(credential);
	message.key = str_of(bed.encrypted_key);
	expect_refused(&message, "encrypted"); /* libcurl 7.88 would crash on it (F12) */
	message.key = str_of(bed.ca);
	expect_refused(&message, "key:");
	message.key = str_of(bed.key);
	message.certificate = str_of(bed.ca);
	expect_refused(&message, "does not belong");
	message.certificate = str_of("junk");
	expect_refused(&message, "certificate:");
	message.certificate = str_of(bed.certificate);
	assert_null(credential_new(&message, arena, INT64_MAX, NULL)); /* expired */
}

/* Old generations in use end in an error, not in unlocked memory. */
static void test_slots(void **state)
{
	struct msg_credential message = good();
	struct kube_credential *held[4];

	(void)state;
	for (int i = 0; i < 4; i++) {
		held[i] = credential_new(&message, arena, now_us, NULL);
		assert_non_null(held[i]);
	}
	expect_refused(&message, "generations");
	credential_drop(credential_hold(held[0]));
	expect_refused(&message, "generations");
	for (int i = 0; i < 4; i++) {
		char *slot = held[i]->slot;

		credential_drop(held[i]);
		for (size_t at = 0; at < SECRET_SLOT_BYTES; at++)
			assert_int_equal(slot[at], 0); /* wiped (F30) */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_servers),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_authorities),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_client_certificates),
		cmocka_unit_test(test_slots),
	};
	bool locked;
	int failed;

	bed_start(&bed);
	arena = secret_arena_new(4, &locked);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	secret_arena_free(arena);
	bed_stop(&bed);
	return failed;
}
