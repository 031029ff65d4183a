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
		"[\"\xff\"]", "[123456789012345678901234567890]", "\"text\"" };
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
	char *text = malloc(n), deep[260];
	struct err err;
	json_t *value;

	(void)state;
	assert_non_null(text);
	memset(text, ' ', n);
	text[0] = '1';
	assert_null(kube_json_parse((struct str){ text, n }, &err));
	free(text);
	memset(deep, '[', 128);
	memset(deep + 128, ']', 128);
	value = kube_json_parse((struct str){ deep, 256 }, &err);
	assert_non_null(value);
	json_decref(value);
	memset(deep, '[', 129);
	memset(deep + 129, ']', 129);
	assert_null(kube_json_parse((struct str){ deep, 258 }, &err));
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
	    STR_LIT("{\"m\":{\"n\":\"x\",\"big\":9007199254740993,\"z\":\"a\\u0000b\"},\"k\":7}"),
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
	assert_string_equal(out.data, "{\"a\":\"x\\u0000\\\"\",\"b\":[1,2.5,null,true]}");
	kube_json_put(&small, value);
	assert_true(small.failed);
	buf_free(&out);
	buf_free(&small);
	json_decref(value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_error_quotes_nothing),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_getters),
		cmocka_unit_test(test_put),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
