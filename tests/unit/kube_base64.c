/*
 * Goal: base64 both ways, and nothing that is not exactly it. Method: RFC 4648's vectors, hostile
 * texts.
 */
#include "kube/base64.h"

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

		kube_base64_put(&text, str_of(vectors[i][0]));
		assert_true(str_equal(buf_str(&text), str_of(vectors[i][1])));
		assert_true(kube_base64_get(&bytes, str_of(vectors[i][1])));
		assert_true(str_equal(buf_str(&bytes), str_of(vectors[i][0])));
		buf_free(&text);
		buf_free(&bytes);
	}
}

static void what_is_none_is_refused(void **state)
{
	static const char *const texts[] = { "Z", "Zg", "Zg=", "Zg=a", "Z===", "====", "=",
		"Zh==", "Zm9=", "Zg==Zg==", "Zm 9v", "Zm9v\n", "Zm-_", "Zm9\x80" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct buf bytes = buf_make(64);

		if (kube_base64_get(&bytes, str_of(texts[i])) || bytes.len)
			fail_msg("%s was taken", texts[i]);
		buf_free(&bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_vectors_of_the_standard),
		cmocka_unit_test(what_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
