/*
 * Goal: an asker gets exactly the targets whose credential it holds (F2, F9), and a malformed row
 * is refused by name. Method: rows as the supervisor sends them, and hostile ones.
 */
#include "dialer/targets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct targets targets;

static int add(uint64_t id, uint64_t port, struct str host)
{
	struct us_ctl ctl = { .type = CONTROL_TARGET, .a = { id, port } };
	struct err err;

	return targets_add(&targets, &ctl, host, &err);
}

#define HOST(text) ((struct str){ text, sizeof(text) })

static int reset(void **state)
{
	(void)state;
	memset(&targets, 0, sizeof(targets));
	return 0;
}

static void finds_what_was_added(void **state)
{
	(void)state;
	assert_int_equal(add(3, 6443, HOST("hub-a.example.com")), 0);
	assert_non_null(targets_find(&targets, 3));
	assert_string_equal(targets_find(&targets, 3)->host, "hub-a.example.com");
	assert_null(targets_find(&targets, 4));
	assert_null(targets_find(&targets, UINT64_MAX));
}

static void refuses_rows_that_are_none(void **state)
{
	char longest[300];

	(void)state;
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(add(CREDENTIAL_LIMIT, 1, HOST("a")), -1);
	assert_int_equal(add(1, 0, HOST("a")), -1);
	assert_int_equal(add(1, 65536, HOST("a")), -1);
	assert_int_equal(add(1, 443, HOST("")), -1);
	assert_int_equal(add(1, 443, (struct str){ "ab", 2 }), -1);
	assert_int_equal(add(1, 443, (struct str){ "a\0b", 4 }), -1);
	assert_int_equal(add(1, 443, (struct str){ longest, sizeof(longest) }), -1);
	assert_int_equal(targets.count, 0);
	assert_int_equal(add(1, 443, HOST("a")), 0);
	assert_int_equal(add(1, 443, HOST("b")), -1);
}

static void a_shard_gets_no_other_shards_worker_F9(void **state)
{
	struct role_id first = { ROLE_REPOINTER, 0 }, second = { ROLE_REPOINTER, 1 };
	struct role_id observer = { ROLE_OBSERVER, 0 };

	(void)state;
	assert_true(targets_belongs(CREDENTIAL_WORKER + 7, first, 8));
	assert_false(targets_belongs(CREDENTIAL_WORKER + 8, first, 8));
	assert_true(targets_belongs(CREDENTIAL_WORKER + 8, second, 8));
	assert_false(targets_belongs(CREDENTIAL_WORKER, observer, 8));
	assert_true(targets_belongs(CREDENTIAL_PEER_OBSERVER, observer, 8));
	assert_false(targets_belongs(CREDENTIAL_ELECTOR, observer, 8));
	assert_false(targets_belongs(CREDENTIAL_LIMIT, first, 8));
}

static void lists_each_port_once(void **state)
{
	uint16_t ports[CREDENTIAL_LIMIT];

	(void)state;
	add(1, 6443, HOST("a"));
	add(2, 443, HOST("b"));
	add(3, 6443, HOST("c"));
	assert_int_equal(targets_ports(&targets, ports), 2);
	assert_int_equal(ports[0], 6443);
	assert_int_equal(ports[1], 443);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(finds_what_was_added, reset),
		cmocka_unit_test_setup(refuses_rows_that_are_none, reset),
		cmocka_unit_test_setup(a_shard_gets_no_other_shards_worker_F9, reset),
		cmocka_unit_test_setup(lists_each_port_once, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
