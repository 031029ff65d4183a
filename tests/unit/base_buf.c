/*
 * Goal: a buffer never passes its bound, keeps what it had when it fails, and escapes JSON text.
 * Method: direct calls; wiping is seen in memory that the test still owns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"

static void stops_at_its_bound(void **state)
{
	struct buf buf = buf_make(5);

	(void)state;
	buf_puts(&buf, "abc");
	buf_puts(&buf, "def");
	assert_true(buf.failed);
	assert_string_equal(buf.data, "abc");
	buf_puts(&buf, "d"); /* failed stays: a text with a hole is no text */
	assert_int_equal(buf.len, 3);
	buf_clear(&buf);
	buf_printf(&buf, "%d", 12345);
	assert_false(buf.failed);
	assert_string_equal(buf.data, "12345");
	buf_free(&buf);
	assert_null(buf.data);
}

static void grows_and_terminates(void **state)
{
	struct buf buf = buf_make(100000);

	(void)state;
	for (int i = 0; i < 10000; i++)
		buf_printf(&buf, "%d,", i % 10);
	assert_int_equal(buf.len, 20000);
	assert_int_equal(strlen(buf.data), 20000);
	buf_free(&buf);
}

static void clearing_a_secret_wipes_it(void **state)
{
	struct buf buf = buf_make_secret(1000);

	(void)state;
	buf_puts(&buf, "hunter2");
	buf_clear(&buf);
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(buf.data[i], 0);
	buf_free(&buf);
}

static void json_text_is_escaped(void **state)
{
	struct buf buf = buf_make(1000);

	(void)state;
	buf_json_string(&buf, STR_LIT("a\"b\\c\nd\x7f\xc3\xa9"));
	assert_string_equal(buf.data, "\"a\\\"b\\\\c\\u000ad\\u007f\xc3\xa9\"");
	buf_free(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stops_at_its_bound),
		cmocka_unit_test(grows_and_terminates),
		cmocka_unit_test(clearing_a_secret_wipes_it),
		cmocka_unit_test(json_text_is_escaped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
