/*
 * Goal: base64 both ways, and nothing that is not exactly it, in each of its forms. Method: RFC
 * 4648's vectors, hostile texts.
 */
#include "base/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void the_vectors_of_the_standard(void **state)
{
	static const char *const vectors[][2] = { { "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" },
		{ "foo", "Zm9v" }, { "foob", "Zm9vYg==" }, { "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" }, { "\xff\xfe\xfd", "//79" } };

	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		struct buf text = buf_make(64), bytes = buf_make(64);

		base64_put(&text, str_of(vectors[i][0]));
		assert_true(str_equal(buf_str(&text), str_of(vectors[i][1])));
		assert_true(base64_get(&bytes, str_of(vectors[i][1]), BASE64_PADDED));
		assert_true(base64_get(&bytes, str_of(vectors[i][1]), BASE64_SPACED));
		assert_int_equal(bytes.len, 2 * strlen(vectors[i][0]));
		bytes.len /= 2;
		assert_true(str_equal(buf_str(&bytes), str_of(vectors[i][0])));
		buf_free(&text);
		buf_free(&bytes);
	}
}

static void the_other_forms(void **state)
{
	struct buf out = buf_make(64);

	(void)state;
	assert_true(base64_get(&out, STR_LIT(" aGFs\r\n bG8=\n"), BASE64_SPACED));
	assert_string_equal(out.data, "hallo");
	buf_clear(&out);
	assert_true(base64_get(&out, STR_LIT("-_8"), BASE64_URL));
	assert_memory_equal(out.data, "\xfb\xff", 2);
	buf_free(&out);
}

static void what_is_none_is_refused(void **state)
{
	static const struct {
		enum base64_form form;
		struct str text;
	} rows[] = {
#define PADDED(text) { BASE64_PADDED, STR_LIT(text) }, { BASE64_SPACED, STR_LIT(text) }
		PADDED("Z"),
		PADDED("Zg"),
		PADDED("Zg="),
		PADDED("Zg=a"),
		PADDED("Z==="),
		PADDED("===="),
		PADDED("="),
		PADDED("Zh=="),
		PADDED("Zm9="),
		PADDED("Zg==Zg=="),
		PADDED("Z=g="),
		PADDED("Zm-_"),
		PADDED("Zm9\x80"),
		PADDED("Zg\0="),
		{ BASE64_PADDED, STR_LIT("Zm 9v") },
		{ BASE64_PADDED, STR_LIT("Zm9v\n") },
		{ BASE64_URL, STR_LIT("Zg==") },
		{ BASE64_URL, STR_LIT("+/8") },
		{ BASE64_URL, STR_LIT("Z") },
		{ BASE64_URL, STR_LIT("Zh") },
		{ BASE64_URL, STR_LIT("Zm9v\n") },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf bytes = buf_make(64);

		buf_puts(&bytes, "kept");
		if (base64_get(&bytes, rows[i].text, rows[i].form) || bytes.len != 4)
			fail_msg("%s was taken", rows[i].text.p);
		buf_free(&bytes);
	}
}

static void what_does_not_fit_is_refused(void **state)
{
	struct buf bytes = buf_make(2);

	(void)state;
	assert_false(base64_get(&bytes, STR_LIT("Zm9v"), BASE64_PADDED));
	assert_true(bytes.failed);
	assert_int_equal(bytes.len, 0);
	buf_free(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_vectors_of_the_standard),
		cmocka_unit_test(the_other_forms),
		cmocka_unit_test(what_is_none_is_refused),
		cmocka_unit_test(what_does_not_fit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
