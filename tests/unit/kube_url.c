/*
 * Names cannot leave their place in a path or query, and half a path is no path.
 */
#include "kube/url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void expect_path(const char *expected, const char *group, const char *namespace,
    const char *name, const char *subresource)
{
	struct buf out = buf_make(256);

	kube_url_path(&out, group, "v1", "leases", namespace, name, subresource);
	assert_false(out.failed);
	assert_string_equal(out.data, expected);
	buf_free(&out);
}

static void expect_none(size_t max, const char *namespace, const char *name)
{
	struct buf out = buf_make(max);

	kube_url_path(&out, "g", "v1", "leases", namespace, name, NULL);
	assert_true(out.failed);
	assert_int_equal(out.len, 0);
	assert_true(!out.data || !*out.data);
	buf_free(&out);
}

static void test_paths(void **state)
{
	(void)state;
	expect_path("/api/v1/leases", "", NULL, NULL, NULL);
	expect_path("/apis/a.b/v1/leases", "a.b", NULL, NULL, NULL);
	expect_path("/apis/g/v1/namespaces/n/leases/x/status", "g", "n", "x", "status");
	expect_path(
	    "/api/v1/leases/a%2Fb%3Fc%23%25%20%0A%C3%A9", "", NULL, "a/b?c#% \n\xc3\xa9", NULL);
	expect_path("/api/v1/leases/...", "", NULL, "...", NULL);
}

/* A name of an object may be hostile: it must not turn into the collection, or climb. */
static void test_names_that_are_none(void **state)
{
	(void)state;
	expect_none(256, "n", "");
	expect_none(256, "n", ".");
	expect_none(256, "n", "..");
	expect_none(256, "", "x");
	expect_none(256, "..", "x");
	expect_none(20, "namespace", "name-that-does-not-fit");
}

static void test_queries(void **state)
{
	struct buf out = buf_make(256);

	(void)state;
	kube_url_query(&out, "labelSelector", "a=b,c in (d&e)");
	kube_url_query(&out, "limit", "5");
	assert_string_equal(out.data, "labelSelector=a%3Db%2Cc%20in%20%28d%26e%29&limit=5");
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_names_that_are_none),
		cmocka_unit_test(test_queries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
