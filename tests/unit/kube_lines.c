/*
 * Lines out of pieces, at each way to cut them, and the bound.
 */
#include "kube/lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static char seen[256];
static unsigned left;

static bool take(void *arg, struct str line)
{
	size_t have = strlen(seen);

	assert_ptr_equal(arg, seen);
	memcpy(seen + have, line.p, line.n);
	memcpy(seen + have + line.n, "|", 2);
	return --left > 0;
}

static void test_every_cut(void **state)
{
	static const char text[] = "one\n\ntwo\nthree\nrest";
	size_t n = sizeof(text) - 1;

	(void)state;
	for (size_t a = 0; a <= n; a++) {
		for (size_t b = a; b <= n; b++) {
			struct lines lines = lines_make(5);

			seen[0] = '\0';
			left = 100;
			assert_true(lines_feed(&lines, (struct str){ text, a }, take, seen));
			assert_true(
			    lines_feed(&lines, (struct str){ text + a, b - a }, take, seen));
			assert_true(
			    lines_feed(&lines, (struct str){ text + b, n - b }, take, seen));
			assert_string_equal(seen, "one|two|three|");
			lines_clear(&lines);
			assert_true(lines_feed(&lines, STR_LIT("new\n"), take, seen));
			assert_string_equal(seen, "one|two|three|new|");
			lines_free(&lines);
		}
	}
}

static void test_bound_and_stop(void **state)
{
	struct lines lines = lines_make(5);

	(void)state;
	seen[0] = '\0';
	left = 100;
	assert_false(lines_feed(&lines, STR_LIT("123456\n"), take, seen));
	assert_true(lines_feed(&lines, STR_LIT("123"), take, seen));
	assert_false(lines_feed(&lines, STR_LIT("456"), take, seen));
	lines_clear(&lines);
	left = 2;
	assert_false(lines_feed(&lines, STR_LIT("a\nb\nc\n"), take, seen));
	assert_string_equal(seen, "a|b|");
	lines_free(&lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_bound_and_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
