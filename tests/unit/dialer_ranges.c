/*
 * Goal: no answer of a resolver leads to this host or to a metadata service, in whatever form the
 * address is written (F23). Method: addresses as text, with and without dial.allow.
 */
#include "dialer/ranges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "dialer/resolve.h"

static struct us_config config;

static bool allows(const char *text)
{
	uint8_t address[16];

	assert_true(resolve_literal(text, address));
	return ranges_allow(&config, address);
}

static void allow(unsigned at, const char *text, uint8_t prefix)
{
	assert_true(resolve_literal(text, config.ranges[at].address));
	config.ranges[at].prefix = prefix;
	config.range_count = at + 1;
}

static int reset(void **state)
{
	(void)state;
	config.range_count = 0;
	return 0;
}

static void default_refuses_this_host_and_link_local_F23(void **state)
{
	static const char *const refused[] = { "0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.255",
		"169.254.169.254", "224.0.0.1", "239.1.1.1", "255.255.255.255", "::", "::1",
		"fe80::1", "febf::1", "ff02::1" };

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (allows(refused[i]))
			fail_msg("%s is allowed", refused[i]);
}

static void default_allows_unicast_F23(void **state)
{
	static const char *const allowed[] = { "10.0.0.1", "128.0.0.1", "126.255.255.255",
		"169.253.0.1", "169.255.0.1", "192.168.1.1", "223.255.255.255", "1.0.0.0",
		"2001:db8::1", "fd00::1", "fec0::1" };

	(void)state;
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		if (!allows(allowed[i]))
			fail_msg("%s is refused", allowed[i]);
}

static void default_refuses_carried_addresses_F23(void **state)
{
	static const char *const refused[] = { "::ffff:169.254.169.254", "::ffff:127.0.0.1",
		"64:ff9b::169.254.169.254", "64:ff9b::7f00:1",
		"64:ff9b:1:7f00:0:100::", "2002:7f00:1::", "2002:a9fe:a9fe::1", "::127.0.0.1" };

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (allows(refused[i]))
			fail_msg("%s is allowed", refused[i]);
	assert_true(allows("64:ff9b::8.8.8.8"));
	assert_true(allows("2002:808:808::1"));
}

static void dial_allow_replaces_the_default_F23(void **state)
{
	(void)state;
	allow(0, "127.0.0.0", 96 + 8);
	assert_true(allows("127.0.0.1"));
	assert_true(allows("::ffff:127.9.9.9"));
	assert_false(allows("10.0.0.1"));
	assert_false(allows("128.0.0.1"));
	assert_false(allows("::1"));
	allow(1, "2001:db8:ff00::", 41);
	assert_true(allows("2001:db8:ff7f::1"));
	assert_false(allows("2001:db8:ff80::1"));
}

static void a_wide_range_opens_no_carried_address_F23(void **state)
{
	(void)state;
	allow(0, "::", 0);
	assert_true(allows("2001:db8::1"));
	allow(0, "64:ff9b::", 96);
	assert_true(allows("64:ff9b::8.8.8.8"));
	assert_false(allows("64:ff9b::127.0.0.1"));
	allow(1, "127.0.0.1", 128);
	assert_true(allows("64:ff9b::127.0.0.1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(default_refuses_this_host_and_link_local_F23, reset),
		cmocka_unit_test_setup(default_allows_unicast_F23, reset),
		cmocka_unit_test_setup(default_refuses_carried_addresses_F23, reset),
		cmocka_unit_test_setup(dial_allow_replaces_the_default_F23, reset),
		cmocka_unit_test_setup(a_wide_range_opens_no_carried_address_F23, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
