/*
 * One identity is judged before it goes anywhere: CA bundles, keys, certificates, tokens, right
 * and hostile (F7, F12, D11, D13). No text that comes out holds a byte of a secret.
 * Pitfall: P77.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "loader/jwt.h"
#include "loader/material.h"
#include "tests/unit/loader_make.h"

#define HOUR 3600L

static EVP_PKEY *key, *other_key;
static char *ca, *expired_ca, *certificate, *expired_certificate, *key_text;
static struct material material;
static int64_t now_us;

static int make_all(void **state)
{
	(void)state;
	now_us = (int64_t)time(NULL) * 1000000;
	key = make_key();
	other_key = make_key();
	ca = make_certificate(key, "ca", -HOUR, HOUR);
	expired_ca = make_certificate(key, "old ca", -2 * HOUR, -HOUR);
	certificate = make_certificate(key, "understudy", -HOUR, HOUR);
	expired_certificate = make_certificate(key, "understudy", -2 * HOUR, -HOUR);
	key_text = make_key_text(key, NULL);
	return key_text ? 0 : -1;
}

static int free_all(void **state)
{
	(void)state;
	EVP_PKEY_free(key);
	EVP_PKEY_free(other_key);
	free(ca);
	free(expired_ca);
	free(certificate);
	free(expired_certificate);
	free(key_text);
	return 0;
}

/* NULL: not given. */
static int check(const char *ca_text, const char *token, const char *certificate_text,
    const char *private_key, struct err *err)
{
	int result = 0;

	err->text[0] = '\0';
	material_init(&material);
	if (ca_text)
		result |= material_take(&material.ca, str_of(ca_text), "ca.crt", err);
	if (token)
		result |= material_take(&material.token, str_of(token), "token", err);
	if (certificate_text)
		result |=
		    material_take(&material.certificate, str_of(certificate_text), "tls.crt", err);
	if (private_key)
		result |= material_take(&material.key, str_of(private_key), "tls.key", err);
	return result ? result : material_check(&material, now_us, err);
}

static void expect(const char *ca_text, const char *token, const char *certificate_text,
    const char *private_key, const char *words)
{
	struct err err;

	assert_int_equal(check(ca_text, token, certificate_text, private_key, &err), -1);
	if (strncmp(err.text, words, strlen(words)) != 0)
		fail_msg("\"%s\" is not \"%s\"", err.text, words);
	material_free(&material);
}

static void a_token_is_trimmed_and_read(void **state)
{
	char *token =
	    make_jwt("{\"sub\":\"system:serviceaccount:n:understudy-elector\",\"exp\":4102444800}");
	char line[1024];
	struct err err;

	(void)state;
	(void)snprintf(line, sizeof(line), "%s\r\n\n", token);
	assert_int_equal(check(ca, line, NULL, NULL, &err), 0);
	assert_string_equal(material.token.bytes.data, token);
	assert_string_equal(material.subject, "system:serviceaccount:n:understudy-elector");
	assert_int_equal(material.times.expires_us, 4102444800 * 1000000);
	assert_string_equal(material.note, "");
	material_free(&material);
	assert_int_equal(check(ca, "static-token", NULL, NULL, &err), 0);
	assert_string_equal(material.subject, "");
	assert_int_equal(material.times.expires_us, 0);
	material_free(&material);
	free(token);
}

static void a_bad_token_is_refused(void **state)
{
	char *old = make_jwt("{\"sub\":\"x\",\"exp\":1000000000}");
	struct err err;

	(void)state;
	expect(ca, "", NULL, NULL, "token: is empty");
	expect(ca, "\n", NULL, NULL, "token: is empty; expected a bearer token");
	expect(ca, "a b", NULL, NULL, "token: holds a character that no token has (byte 2)");
	expect(ca, "a\nb", NULL, NULL, "token: holds a character that no token has (byte 2)");
	expect(ca, "\xc3\xa4", NULL, NULL, "token: holds a character that no token has (byte 1)");
	expect(ca, old, NULL, NULL,
	    "token: has expired at 2001-09-09T01:46:40Z; expected a valid token");
	material_init(&material);
	assert_int_equal(material_take(&material.ca, str_of(ca), "ca.crt", &err), 0);
	assert_int_equal(material_take(&material.token, STR_LIT("a\0b"), "token", &err), 0);
	assert_int_equal(material_check(&material, now_us, &err), -1);
	assert_non_null(strstr(err.text, "token: holds a character that no token has (byte 2)"));
	material_free(&material);
	/* D13: a NUL is no line break, also at the end. */
	material_init(&material);
	assert_int_equal(material_take(&material.ca, str_of(ca), "ca.crt", &err), 0);
	assert_int_equal(material_take(&material.token, STR_LIT("ab\0"), "token", &err), 0);
	assert_int_equal(material_check(&material, now_us, &err), -1);
	assert_non_null(strstr(err.text, "token: holds a character that no token has (byte 3)"));
	material_free(&material);
	free(old);
}

static void a_client_certificate_needs_its_key(void **state)
{
	char *other = make_key_text(other_key, NULL);
	char *encrypted = make_key_text(key, "geheim"),
	     *older = make_key_traditional(key, "geheim");
	char *plain = make_key_traditional(key, NULL);
	struct err err;

	(void)state;
	assert_int_equal(check(ca, NULL, certificate, key_text, &err), 0);
	assert_string_equal(material.subject, "understudy");
	material_free(&material);
	assert_int_equal(check(ca, NULL, certificate, plain, &err), 0);
	material_free(&material);
	expect(ca, NULL, certificate, other, "tls.key: does not belong to the certificate");
	expect(ca, NULL, certificate, encrypted, "tls.key: is encrypted; expected a private key");
	expect(ca, NULL, certificate, older, "tls.key: is encrypted; expected a private key");
	expect(ca, NULL, certificate, "no key", "tls.key: holds no private key");
	expect(ca, NULL, certificate, certificate, "tls.key: holds no private key");
	expect(ca, NULL, key_text, key_text, "tls.crt: holds no certificate");
	expect(ca, NULL, "junk", key_text, "tls.crt: holds no certificate");
	expect(ca, NULL, expired_certificate, key_text, "tls.crt: has expired at 20");
	free(other);
	free(encrypted);
	free(older);
	free(plain);
}

/* Certificate and key in one file, as a kubelet writes them; the chain stays, the key does not. */
static void a_chain_keeps_its_certificates_only(void **state)
{
	char both[8192];
	struct err err;

	(void)state;
	(void)snprintf(both, sizeof(both), "%s%s%s", certificate, key_text, ca);
	assert_int_equal(check(ca, NULL, both, both, &err), 0);
	assert_null(strstr(material.certificate.bytes.data, "PRIVATE KEY"));
	assert_int_equal(material.certificate.bytes.len, strlen(certificate) + strlen(ca));
	material_free(&material);
}

/* D11. */
static void a_bundle_gives_its_usable_certificates(void **state)
{
	char bundle[16384], *damaged = strdup(ca), *at;
	struct err err;

	(void)state;
	at = strchr(damaged, '\n') + 10;
	memset(at, 'A', 8);
	(void)snprintf(bundle, sizeof(bundle), "# our CAs\n%s\n%stext between\n%s%s%s", ca,
	    expired_ca, key_text, damaged, certificate);
	assert_int_equal(check(bundle, "t", NULL, NULL, &err), 0);
	assert_int_equal(material.ca.bytes.len, strlen(ca) + strlen(certificate));
	assert_null(strstr(material.ca.bytes.data, "PRIVATE"));
	assert_string_equal(
	    material.note, "block 2 has expired, block 3 is a PRIVATE KEY, block 4 is damaged");
	material_free(&material);
	free(damaged);
}

static void a_ca_without_use_is_refused(void **state)
{
	char trusted[4096], *at;

	(void)state;
	expect("", "t", NULL, NULL, "ca.crt: is empty");
	expect("MIIB...", "t", NULL, NULL,
	    "ca.crt: holds no PEM block; expected -----BEGIN CERTIFICATE-----");
	expect(expired_ca, "t", NULL, NULL,
	    "ca.crt: holds no usable CA certificate (block 1 has expired)");
	expect("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", "t", NULL, NULL,
	    "ca.crt: holds no usable CA certificate (block 1 is damaged)");
	expect("-----BEGIN CERTIFICATE-----\nMIIB", "t", NULL, NULL,
	    "ca.crt: holds no usable CA certificate (block 1 is damaged)");
	(void)snprintf(
	    trusted, sizeof(trusted), "-----BEGIN TRUSTED CERTIFICATE-----%s", strchr(ca, '\n'));
	at = strstr(trusted, "-----END");
	(void)snprintf(
	    at, sizeof(trusted) - (size_t)(at - trusted), "-----END TRUSTED CERTIFICATE-----\n");
	expect(trusted, "t", NULL, NULL,
	    "ca.crt: holds no usable CA certificate (block 1 is a TRUSTED CERTIFICATE)");
}

static void sizes_are_those_of_the_message(void **state)
{
	char *big = malloc(MATERIAL_CA_BYTES + 2);

	(void)state;
	memset(big, 'a', MATERIAL_CA_BYTES + 1);
	big[MATERIAL_CA_BYTES + 1] = '\0';
	expect(big, "t", NULL, NULL, "ca.crt: is longer than 65536 bytes");
	expect(ca, big, NULL, NULL, "token: is longer than 12288 bytes");
	free(big);
}

static void a_fingerprint_says_changed(void **state)
{
	struct err err;
	uint64_t first;

	(void)state;
	assert_int_equal(check(ca, "one", NULL, NULL, &err), 0);
	first = material_fingerprint(&material, 7);
	assert_int_equal(material_fingerprint(&material, 7), first);
	assert_true(material_fingerprint(&material, 8) != first);
	material_free(&material);
	assert_int_equal(check(expired_ca, "two", NULL, NULL, &err), -1);
	material_free(&material);
	assert_int_equal(check(ca, "two", NULL, NULL, &err), 0);
	assert_true(material_fingerprint(&material, 7) != first);
	material_free(&material);
	/* B9: a CA alone that changed is a change. */
	assert_int_equal(check(certificate, "one", NULL, NULL, &err), 0);
	assert_true(material_fingerprint(&material, 7) != first);
	material_free(&material);
}

static void what_is_no_jwt_says_nothing(void **state)
{
	static const char *const payloads[] = { "[]", "{\"sub\":5}",
		"{\"sub\":\"a\",\"sub\":\"b\"}", "{\"exp\":-5}", "{\"exp\":\"soon\"}",
		"{\"exp\":99999999999999999}", "junk", "" };
	char subject[256], *token;
	struct jwt_times times;

	(void)state;
	for (unsigned i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
		token = make_jwt(payloads[i]);
		jwt_read(str_of(token), subject, &times);
		assert_string_equal(subject, "");
		assert_int_equal(times.expires_us, 0);
		free(token);
	}
	jwt_read(STR_LIT("."), subject, &times);
	jwt_read(STR_LIT(".."), subject, &times);
	jwt_read(STR_LIT(""), subject, &times);
	jwt_read(STR_LIT("a.!.b"), subject, &times);
	assert_string_equal(subject, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_token_is_trimmed_and_read),
		cmocka_unit_test(a_bad_token_is_refused),
		cmocka_unit_test(a_client_certificate_needs_its_key),
		cmocka_unit_test(a_chain_keeps_its_certificates_only),
		cmocka_unit_test(a_bundle_gives_its_usable_certificates),
		cmocka_unit_test(a_ca_without_use_is_refused),
		cmocka_unit_test(sizes_are_those_of_the_message),
		cmocka_unit_test(a_fingerprint_says_changed),
		cmocka_unit_test(what_is_no_jwt_says_nothing),
	};

	return cmocka_run_group_tests(tests, make_all, free_all);
}
