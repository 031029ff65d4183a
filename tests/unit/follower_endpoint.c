/*
 * Goal: one server is one server in whatever way it is written, and what is no endpoint is none
 * (H19, W3, D2, D4). Method: a table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "follower/endpoint.h"

static void one_spelling(void **state)
{
	static const char *const cases[][2] = {
		{ "https://hub-a.example.com:6443", "https://hub-a.example.com:6443" },
		{ "https://hub-a.example.com:6443/", "https://hub-a.example.com:6443" },
		{ "HTTPS://Hub-A.Example.COM:6443", "https://hub-a.example.com:6443" },
		{ "https://hub-a.example.com.:6443", "https://hub-a.example.com:6443" },
		{ "https://hub-a", "https://hub-a:443" },
		{ "https://hub-a:443///", "https://hub-a:443" },
		{ "https://h/k8s/clusters/c-1", "https://h:443/k8s/clusters/c-1" },
		{ "https://h/k8s/clusters/c-1/", "https://h:443/k8s/clusters/c-1" },
		{ "https://h/K8s", "https://h:443/K8s" },
		{ "https://[FD00::1]:6443", "https://[fd00::1]:6443" },
		{ "https://[fd00::1]", "https://[fd00::1]:443" },
		{ "https://192.0.2.1:06443", "https://192.0.2.1:6443" },
	};
	char text[ENDPOINT_BYTES];

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(endpoint_normalise(cases[i][0], text));
		assert_string_equal(text, cases[i][1]);
	}
	assert_true(endpoint_equal("https://A:443/", "https://a"));
	assert_false(endpoint_equal("https://a", "https://a:6443"));
	assert_false(endpoint_equal("https://a/x", "https://a/y"));
	assert_false(endpoint_equal("", ""));
}

static void what_is_no_endpoint(void **state)
{
	static const char *const cases[] = { "", "https://", "https:///x", "http://hub-a",
		"hub-a:6443", "ftp://hub-a", "https://root@hub-a", "https://root:pw@hub-a",
		"https://hub-a?x", "https://hub-a#x", "https://hub-a/x?y", "https://fd00::1:6443",
		"https://[fd00::1%eth0]", "https://[fd00::1", "https://[]", "https://[x]:1",
		"https://hub-a:0", "https://hub-a:65536", "https://hub-a:port",
		"https://hub-a:", "https://hub a", "https://hub-a/a b", "https://hub-a\n",
		"https://.", "https://.a", "https://hub_a", "https://hub-a:6443x",
		"https://\xc3\xa4" };
	char long_host[1024] = "https://", text[ENDPOINT_BYTES];

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (endpoint_normalise(cases[i], text))
			fail_msg("\"%s\" became \"%s\"", cases[i], text);
	memset(long_host + 8, 'a', 300);
	assert_false(endpoint_normalise(long_host, text));
	memset(long_host + 8, 'a', sizeof(long_host) - 9);
	long_host[9] = '/';
	assert_false(endpoint_normalise(long_host, text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_spelling),
		cmocka_unit_test(what_is_no_endpoint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
