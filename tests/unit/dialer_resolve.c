/*
 * Goal: literals and /etc/hosts are read as the system reads them, junk adds nothing, the answer
 * stays bounded (F23). Method: the pure parsers on texts.
 * Pitfall: P85.
 */
#include "dialer/resolve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct resolve_answer lookup(const char *text, const char *host)
{
	struct resolve_answer answer = { 0 };

	resolve_hosts(str_of(text), host, &answer);
	return answer;
}

static void literals(void **state)
{
	uint8_t address[16];

	(void)state;
	assert_true(resolve_literal("10.1.2.3", address));
	assert_memory_equal(address, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\x01\x02\x03", 16);
	assert_true(resolve_literal("::1", address));
	assert_int_equal(address[15], 1);
	assert_true(resolve_literal("[2001:db8::1]", address));
	assert_int_equal(address[0], 0x20);
	assert_false(resolve_literal("hub-a", address));
	assert_false(resolve_literal("10.1.2", address));
	assert_false(resolve_literal("0x7f.1", address));
	assert_false(resolve_literal("[]", address));
	assert_false(resolve_literal("[10.0.0.1]", address));
	assert_false(resolve_literal("", address));
}

static void hosts_lines(void **state)
{
	const char *text = "# comment 9.9.9.9 hub-a\n"
			   "10.0.0.1\thub-a hub-a.example.com # hub-b\n"
			   "10.0.0.2 HUB-A\r\n"
			   "::1 localhost\n"
			   "junk hub-a\n"
			   "10.0.0.3hub-a\n"
			   "2001:db8::7 other hub-a";
	struct resolve_answer answer = lookup(text, "hub-a");

	(void)state;
	assert_int_equal(answer.count, 3);
	assert_int_equal(answer.addresses[0][15], 1);
	assert_int_equal(answer.addresses[1][15], 2);
	assert_int_equal(answer.addresses[2][15], 7);
	assert_int_equal(lookup(text, "hub-b").count, 0);
	assert_int_equal(lookup(text, "hub-a.example.com").count, 1);
	assert_int_equal(lookup(text, "hub").count, 0);
	assert_int_equal(lookup("", "hub-a").count, 0);
}

static void the_answer_is_bounded_and_has_no_doubles(void **state)
{
	struct resolve_answer answer = { 0 };
	uint8_t address[16] = { 0 };

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		address[15] = (uint8_t)(i / 2);
		resolve_add(&answer, address);
	}
	assert_int_equal(answer.count, RESOLVE_MAX);
	assert_int_equal(answer.addresses[RESOLVE_MAX - 1][15], RESOLVE_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(literals),
		cmocka_unit_test(hosts_lines),
		cmocka_unit_test(the_answer_is_bounded_and_has_no_doubles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
