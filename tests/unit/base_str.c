/*
 * Goal: views of characters are copied whole or not at all, numbers do not overflow, and UTF-8 is
 * judged as RFC 3629 does. Method: tables of inputs with the right answer beside each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"

static void copies_whole_or_nothing(void **state)
{
	char dst[4] = "xyz";

	(void)state;
	assert_true(str_copy(dst, sizeof(dst), STR_LIT("abc")));
	assert_string_equal(dst, "abc");
	assert_false(str_copy(dst, sizeof(dst), STR_LIT("abcd")));
	assert_string_equal(dst, "");
	assert_false(str_copy(dst, sizeof(dst), (struct str){ "a\0b", 3 }));
	assert_true(str_copy(dst, sizeof(dst), str_of(NULL)));
	assert_string_equal(dst, "");
}

static void numbers_are_digits_that_fit(void **state)
{
	static const struct {
		const char *text;
		bool good;
		uint64_t value;
	} rows[] = {
		{ "0", true, 0 },
		{ "18446744073709551615", true, UINT64_MAX },
		{ "18446744073709551616", false, 0 },
		{ "99999999999999999999", false, 0 },
		{ "", false, 0 },
		{ "-1", false, 0 },
		{ "+1", false, 0 },
		{ " 1", false, 0 },
		{ "1x", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t value = 7;

		assert_int_equal(str_to_u64(str_of(rows[i].text), &value), rows[i].good);
		assert_int_equal(value, rows[i].good ? rows[i].value : 7);
	}
}

static void utf8_is_well_formed(void **state)
{
	static const struct {
		const char *text;
		bool good;
	} rows[] = {
		{ "", true },
		{ "plain", true },
		{ "\xc3\xa9", true },          /* U+00E9 */
		{ "\xe2\x82\xac", true },      /* U+20AC */
		{ "\xf0\x9f\x98\x80", true },  /* U+1F600 */
		{ "\xf4\x8f\xbf\xbf", true },  /* U+10FFFF */
		{ "\xf4\x90\x80\x80", false }, /* beyond it */
		{ "\xed\xa0\x80", false },     /* a surrogate */
		{ "\xc0\xaf", false },         /* overlong '/' */
		{ "\xe0\x80\xaf", false },
		{ "\x80", false },
		{ "\xc3", false },
		{ "\xff", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(str_is_utf8(str_of(rows[i].text)), rows[i].good);
}

static void equal_compares_bytes(void **state)
{
	(void)state;
	assert_true(str_equal(STR_LIT("ab"), str_of("ab")));
	assert_false(str_equal(STR_LIT("ab"), str_of("abc")));
	assert_true(str_equal((struct str){ NULL, 0 }, STR_LIT("")));
}

static void a_cut_ends_between_characters(void **state)
{
	(void)state;
	assert_true(str_equal(str_cut(STR_LIT("abc"), 3), STR_LIT("abc")));
	assert_true(str_equal(str_cut(STR_LIT("abc"), 2), STR_LIT("ab")));
	assert_true(str_equal(str_cut(STR_LIT("a\xc3\xa4"), 2), STR_LIT("a")));
	assert_true(str_equal(str_cut(STR_LIT("a\xe2\x82\xac"
					      "b"),
				  4),
	    STR_LIT("a\xe2\x82\xac")));
	assert_true(str_equal(str_cut(STR_LIT("\xe2\x82\xac"), 2), STR_LIT("")));
	assert_true(str_equal(str_cut(STR_LIT("abc"), 0), STR_LIT("")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_whole_or_nothing),
		cmocka_unit_test(numbers_are_digits_that_fit),
		cmocka_unit_test(utf8_is_well_formed),
		cmocka_unit_test(equal_compares_bytes),
		cmocka_unit_test(a_cut_ends_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
