/*
 * JSON of a stranger: bounds, duplicates, and getters that never fail.
 */
#include "kube/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_refused(void **state)
{
	static const char *const texts[] = { "", "{", "[1,]", "{\"a\":1,\"a\":2}", "{} {}", "nope",
		"[\"\xff\"]", "[01]", "[1.]", "[.5]", "[1e]", "[-]", "[1e+]", "[--1]", "[1.2.3]",
		"[-01]", "[+1]", "\"text\"" };
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		err.text[0] = '\0';
		assert_null(kube_json_parse(str_of(texts[i]), &err));
		assert_true(err.text[0] != '\0');
		assert_null(kube_json_parse(str_of(texts[i]), NULL));
	}
}

/* What could not be read may be a secret: the text of the error must not quote it. */
static void test_error_quotes_nothing(void **state)
{
	struct err err;

	(void)state;
	assert_null(kube_json_parse(STR_LIT("{\"token\": s3cr3t}"), &err));
	assert_null(strstr(err.text, "s3cr3t"));
}

static void test_bounds(void **state)
{
	size_t n = (size_t)33 * 1024 * 1024;
	char *text = malloc(n), deep[2060];
	struct err err;
	json_t *value;

	(void)state;
	assert_non_null(text);
	memset(text, ' ', n);
	text[0] = '1';
	assert_null(kube_json_parse((struct str){ text, n }, &err));
	free(text);
	memset(deep, '[', 1024);
	memset(deep + 1024, ']', 1024);
	value = kube_json_parse((struct str){ deep, 2048 }, &err);
	assert_non_null(value);
	json_decref(value);
	memset(deep, '[', 1025);
	memset(deep + 1025, ']', 1025);
	assert_null(kube_json_parse((struct str){ deep, 2050 }, &err));
	/* Brackets in strings are text. */
	memset(deep, '[', 200);
	deep[1] = deep[198] = '"';
	deep[199] = ']';
	value = kube_json_parse((struct str){ deep, 200 }, &err);
	assert_non_null(value);
	json_decref(value);
}

static void test_getters(void **state)
{
	json_t *value = kube_json_parse(
	    STR_LIT("{\"m\":{\"n\":\"x\",\"big\":9007199254740993,"
		    "\"max\":9223372036854775807,\"min\":-9223372036854775808,\"beyond\":"
		    "9223372036854775808,\"z\":\"a\\u0000b\"},\"k\":7}"),
	    NULL);
	const json_t *m = kube_json_at(value, "m", NULL);

	(void)state;
	assert_non_null(value);
	assert_string_equal(kube_json_text(m, "n"), "x");
	assert_string_equal(kube_json_text(m, "big"), "");
	assert_string_equal(kube_json_text(m, "z"), ""); /* not the shorter "a" */
	assert_string_equal(kube_json_text(NULL, "n"), "");
	assert_true(kube_json_integer(m, "big", 0) == 9007199254740993LL);
	assert_true(kube_json_integer(m, "n", -5) == -5);
	assert_true(kube_json_integer(m, "max", 0) == INT64_MAX);
	assert_true(kube_json_integer(m, "min", 0) == INT64_MIN);
	assert_true(kube_json_integer(m, "beyond", 3) == 3);
	assert_true(kube_json_integer(value, "k", 0) == 7);
	assert_null(kube_json_at(value, "k", "deeper", NULL));
	assert_null(kube_json_at(NULL, "k", NULL));
	json_decref(value);
}

static void test_put(void **state)
{
	static const char text[] = "{\"b\":[1,2.5,null,true],\"a\":\"x\\u0000\\\"\"}";
	json_t *value = kube_json_parse(STR_LIT(text), NULL);
	struct buf out = buf_make(1024), small = buf_make(4);

	(void)state;
	kube_json_put(&out, value);
	assert_string_equal(out.data, text);
	buf_clear(&out);
	kube_json_put_sorted(&out, value);
	assert_string_equal(out.data, "{\"a\":\"x\\u0000\\\"\",\"b\":[1,25e-1,null,true]}");
	kube_json_put(&small, value);
	assert_true(small.failed);
	buf_free(&out);
	buf_free(&small);
	json_decref(value);
}

/* What jansson alone would change or refuse comes out as it went in. */
static void test_numbers_keep_their_form(void **state)
{
	static const char *const texts[] = { "[1e3]", "[1.0]", "[-0]", "[0.10]", "[-0.0]",
		"[123456789012345678901234567890]", "[9223372036854775807]",
		"[-9223372036854775808]", "[18446744073709551615]", "[9007199254740993]",
		"[0.1234567890123456789012345678901234567890]", "[1e400]", "[1E+2]", "[5e-324]",
		"{\"a\":1e21,\"b\":[-1,0,2.50]}", "[\"\\u0000#1e3\"]", "[\"\\u0000\"]",
		"[\"\\u0000$x\",1.5]", "[\"\\u0001\",\"1e3\",\"\\\\u0000#1\"]" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		json_t *value = kube_json_parse(str_of(texts[i]), NULL), *again;
		struct buf out = buf_make(1024);

		assert_non_null(value);
		kube_json_put(&out, value);
		assert_string_equal(out.data, texts[i]);
		again = kube_json_parse(buf_str(&out), NULL);
		assert_true(json_equal(value, again));
		buf_free(&out);
		json_decref(value);
		json_decref(again);
	}
}

/* Every escape of a text means the same afterwards. */
static void test_escapes(void **state)
{
	json_t *value = kube_json_parse(
	    STR_LIT("[\"\\u00e9\\ud83d\\ude00\\/\\b\\f\\n\\r\\t\\\\\\\"\\u001f\\u2028\"]"), NULL);
	const char *text = json_string_value(json_array_get(value, 0));
	struct buf out = buf_make(1024);
	json_t *again;

	(void)state;
	assert_non_null(text);
	assert_string_equal(text, "\xc3\xa9\xf0\x9f\x98\x80/\b\f\n\r\t\\\"\x1f\xe2\x80\xa8");
	kube_json_put(&out, value);
	again = kube_json_parse(buf_str(&out), NULL);
	assert_true(json_equal(value, again));
	buf_free(&out);
	json_decref(value);
	json_decref(again);
}

/* For a hash, one value is one text, and two values are two. */
static void test_sorted_is_by_value(void **state)
{
	static const char *const equal[][2] = { { "[1e3]", "[1000]" }, { "[1.0]", "[1]" },
		{ "[-0]", "[0]" }, { "[0.10]", "[1e-1]" }, { "[0e5]", "[0]" },
		{ "[1000000000000000000]", "[1e18]" }, { "[-2.50]", "[-25e-1]" },
		{ "[1e+21]", "[1000000000000000000000]" }, { "[12e21]", "[1.2E22]" } };
	static const char *const different[][2] = { { "[9007199254740993]", "[9007199254740992]" },
		{ "[0.1]", "[0.10000000000000001]" }, { "[1e3]", "[\"1e3\"]" },
		{ "[1e3]", "[\"\\u0000#1e3\"]" }, { "[1e3]", "[1e4]" }, { "[-1.5]", "[1.5]" },
		{ "[1.25e-9223372036854775808]", "[1.25e9223372036854775807]" } };

	(void)state;
	for (size_t i = 0; i < 16; i++) {
		const char *const *pair = i < 9 ? equal[i] : different[i - 9];
		json_t *a = kube_json_parse(str_of(pair[0]), NULL);
		json_t *b = kube_json_parse(str_of(pair[1]), NULL);
		struct buf x = buf_make(1024), y = buf_make(1024);

		kube_json_put_sorted(&x, a);
		kube_json_put_sorted(&y, b);
		assert_int_equal(str_equal(buf_str(&x), buf_str(&y)), i < 9);
		buf_free(&x);
		buf_free(&y);
		json_decref(a);
		json_decref(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_error_quotes_nothing),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_getters),
		cmocka_unit_test(test_put),
		cmocka_unit_test(test_numbers_keep_their_form),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_sorted_is_by_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
