/*
 * Single values of the configuration: each right form gives its number, each wrong one its own
 * words (D1, D2, D4, D46). Tables: text, result.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "loader/values.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void durations_are_whole_milliseconds(void **state)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} good[] = { { "15s", 15000 }, { "1m30s", 90000 }, { "400ms", 400 }, { "0.4s", 400 },
		{ "2.5s", 2500 }, { "24h", 86400000 }, { "0s", 0 }, { "1h2m3s4ms", 3723004 },
		{ "0.001s", 1 }, { "999999999999ms", 999999999999 } };
	static const struct {
		const char *text, *fault;
	} bad[] = { { "", "is empty" }, { "-1s", "is negative" }, { "5", "has no unit" },
		{ "yes", "is no duration" }, { "5 s", "is no duration" }, { "s", "is no duration" },
		{ "1.s", "is no duration" }, { ".5s", "is no duration" },
		{ "1d", "is no duration" }, { "1s1m", "has its units out of order" },
		{ "1s1s", "has its units out of order" },
		{ "0.0001s", "is no whole number of milliseconds" },
		{ "0.5ms", "is no whole number of milliseconds" },
		{ "9999999999999s", "is no duration" }, { "1e3s", "is no duration" } };
	uint64_t ms;

	(void)state;
	for (unsigned i = 0; i < COUNT(good); i++) {
		assert_null(value_duration_ms(good[i].text, &ms));
		assert_int_equal(ms, good[i].ms);
	}
	for (unsigned i = 0; i < COUNT(bad); i++)
		assert_string_equal(value_duration_ms(bad[i].text, &ms), bad[i].fault);
}

static void ranges_are_v4_mapped_and_exact(void **state)
{
	static const char *const bad[] = { "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.1/8",
		"10.0.0/8", "name/8", "::/129", "fd00::1/8", "/8", "10.0.0.0/-1", "10.0.0.0/8 " };
	struct config_range range;

	(void)state;
	assert_null(value_range("10.0.0.0/8", &range));
	assert_int_equal(range.prefix, 104);
	assert_memory_equal(range.address, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\0", 16);
	assert_null(value_range("fd00::/8", &range));
	assert_int_equal(range.prefix, 8);
	assert_null(value_range("0.0.0.0/0", &range));
	assert_int_equal(range.prefix, 96);
	for (unsigned i = 0; i < COUNT(bad); i++)
		assert_non_null(value_range(bad[i], &range));
}

static void listen_takes_literal_addresses(void **state)
{
	static const char *const bad[] = { "", ":8080", "127.0.0.1", "localhost:80", "::1:80",
		"[::1]", "[::1]x:80", "[127.0.0.1]:80", "127.0.0.1:0", "127.0.0.1:65536",
		"[fe80::1%lo]:80", "[::1:80" };
	char address[64];
	uint32_t port;

	(void)state;
	assert_null(value_listen("127.0.0.1:8080", address, &port));
	assert_string_equal(address, "127.0.0.1");
	assert_int_equal(port, 8080);
	assert_null(value_listen("[::1]:65535", address, &port));
	assert_string_equal(address, "::1");
	for (unsigned i = 0; i < COUNT(bad); i++)
		assert_non_null(value_listen(bad[i], address, &port));
}

static void names_are_dns_names(void **state)
{
	char label[66], name[256];

	(void)state;
	memset(label, 'a', 65);
	label[64] = label[65] = '\0';
	assert_non_null(value_label(label));
	label[63] = '\0';
	assert_null(value_label(label));
	memset(name, 'a', 255);
	name[254] = name[255] = '\0';
	assert_non_null(value_subdomain(name));
	name[253] = '\0';
	assert_null(value_subdomain(name));
	assert_null(value_subdomain("hub-a.example.com"));
	assert_non_null(value_label("hub.a"));
	assert_non_null(value_label("Hub"));
	assert_non_null(value_label(""));
	assert_non_null(value_label("-a"));
	assert_non_null(value_label("a-"));
	assert_non_null(value_subdomain("a..b"));
	assert_non_null(value_subdomain(".a"));
	assert_non_null(value_subdomain("a."));
	assert_non_null(value_subdomain("a-.b"));
	assert_non_null(value_subdomain("a.-b"));
}

static void paths_are_absolute_and_plain(void **state)
{
	static const char *const bad[] = { "", "/", "etc/x", "/a//b", "/a/./b", "/a/../b", "/a/..",
		"/a/", "/a\nb" };

	(void)state;
	assert_null(value_path("/etc/understudy/..data-x"));
	for (unsigned i = 0; i < COUNT(bad); i++)
		assert_non_null(value_path(bad[i]));
}

static void servers_are_https_and_bare(void **state)
{
	static const struct {
		const char *text, *url, *host;
		unsigned port;
	} good[] = {
		{ "https://hub-a.example.com:6443", "https://hub-a.example.com:6443",
		    "hub-a.example.com", 6443 },
		{ "https://h/k8s/clusters/c-1/", "https://h/k8s/clusters/c-1", "h", 443 },
		{ "https://h/", "https://h", "h", 443 },
		{ "https://[fd00::1]:6443", "https://[fd00::1]:6443", "fd00::1", 6443 },
		{ "https://[fd00::1]", "https://[fd00::1]", "fd00::1", 443 },
		{ "https://127.0.0.1:1", "https://127.0.0.1:1", "127.0.0.1", 1 },
		{ "https://Hub.Example", "https://Hub.Example", "Hub.Example", 443 },
	};
	static const struct {
		const char *text, *fault;
	} bad[] = {
		{ "", "does not begin with https://" },
		{ "hub:6443", "does not begin with https://" },
		{ "http://hub", "is http, not https" },
		{ "https://user:word@hub", "holds user info" },
		{ "https://hub/x?a=b", "holds a query" },
		{ "https://hub/#x", "holds a fragment" },
		{ "https://", "has no host, or one that is too long" },
		{ "https://:6443", "has no host, or one that is too long" },
		{ "https://fd00::1:6443", "has an IPv6 address without brackets" },
		{ "https://[fe80::1%25eth0]:1", "has a zone in its address" },
		{ "https://[::1", "has a [ without ]" },
		{ "https://[hub]", "has no IPv6 address within its brackets" },
		{ "https://[127.0.0.1]", "has no IPv6 address within its brackets" },
		{ "https://[127.0.0.1]x", "has something between ] and the port" },
		{ "https://hub:0", "has a port that is not 1 to 65535" },
		{ "https://hub:", "has a port that is not 1 to 65535" },
		{ "https://hub:99999", "has a port that is not 1 to 65535" },
		{ "https://hub_a", "has a host that is neither a DNS name nor an address" },
		{ "https://1.2.3", "has a broken IPv4 address" },
		{ "https://hub/a b", "holds a character that no URL path has" },
	};
	struct value_server server;

	(void)state;
	for (unsigned i = 0; i < COUNT(good); i++) {
		assert_null(value_server(good[i].text, &server));
		assert_string_equal(server.url, good[i].url);
		assert_string_equal(server.host, good[i].host);
		assert_int_equal(server.port, good[i].port);
	}
	for (unsigned i = 0; i < COUNT(bad); i++)
		assert_string_equal(value_server(bad[i].text, &server), bad[i].fault);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_are_whole_milliseconds),
		cmocka_unit_test(ranges_are_v4_mapped_and_exact),
		cmocka_unit_test(listen_takes_literal_addresses),
		cmocka_unit_test(names_are_dns_names),
		cmocka_unit_test(paths_are_absolute_and_plain),
		cmocka_unit_test(servers_are_https_and_bare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
