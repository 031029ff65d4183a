/*
 * Goal: what differs is named by its field, never by its content; equal numbers of another form are
 * equal; whatever is given, it ends. Method: pairs of JSON texts and the words for them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kube/json.h"
#include "syncer/differ.h"

static void expect(const char *source, const char *copy, unsigned count, const char *words)
{
	json_t *a = kube_json_parse(str_of(source), NULL), *b = kube_json_parse(str_of(copy), NULL);
	struct buf out = buf_make(4096);

	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal(differ_describe(a, b, &out), count);
	assert_string_equal(out.data ? out.data : "", words);
	buf_free(&out);
	json_decref(a);
	json_decref(b);
}

static void fields_are_named(void **state)
{
	(void)state;
	expect("{\"a\":1}", "{\"a\":1}", 0, "");
	expect("{\"a\":1000}", "{\"a\":1e3}", 0, "");
	expect("{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"b\":2,\"c\":2}}", 1, "a.b");
	expect("{\"data\":{\"k\":\"secret\"}}", "{\"data\":{\"k\":\"other\",\"m\":\"x\"}}", 2,
	    "data.k, -data.m");
	expect("{\"a\":[1,{\"b\":1}]}", "{\"a\":[1,{\"b\":2}]}", 1, "a[1].b");
	expect("{\"a\":[1,2]}", "{\"a\":[1]}", 1, "a");
	expect("{\"a\":{}}", "{\"a\":[]}", 1, "a");
	expect("{\"x\":null}", "{}", 1, "+x");
}

static void many_are_counted(void **state)
{
	struct buf source = buf_make(65536);

	(void)state;
	buf_puts(&source, "{");
	for (int i = 0; i < 30; i++)
		buf_printf(&source, "%s\"k%02d\":1", i ? "," : "", i);
	buf_puts(&source, "}");
	expect(source.data, "{}", 30,
	    "+k00, +k01, +k02, +k03, +k04, +k05, +k06, +k07, +k08, +k09, +k10, +k11 and 18 more");
	buf_free(&source);
}

static void deep_and_long_names_end(void **state)
{
	struct buf a = buf_make(65536), b = buf_make(65536), words = buf_make(65536);
	json_t *x, *y;

	(void)state;
	for (int i = 0; i < 100; i++) {
		buf_puts(&a, "{\"name-of-a-field-that-is-long\":");
		buf_puts(&b, "{\"name-of-a-field-that-is-long\":");
	}
	buf_puts(&a, "1");
	buf_puts(&b, "2");
	for (int i = 0; i < 100; i++) {
		buf_puts(&a, "}");
		buf_puts(&b, "}");
	}
	x = kube_json_parse(buf_str(&a), NULL);
	y = kube_json_parse(buf_str(&b), NULL);
	assert_non_null(x);
	assert_int_equal(differ_describe(x, y, &words), 1);
	assert_in_range(words.len, 1, 200);
	json_decref(x);
	json_decref(y);
	buf_free(&a);
	buf_free(&b);
	buf_free(&words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_named),
		cmocka_unit_test(many_are_counted),
		cmocka_unit_test(deep_and_long_names_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
