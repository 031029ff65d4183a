/*
 * Goal: the role table holds its own rules, and a table that breaks one is found out (F2, F4, F19,
 * F24). Method: the real table has no fault; copies of it are broken in one field each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "policy/roles.h"
#include "policy/seccomp.h"

static void copy_table(struct role_row *rows)
{
	for (unsigned role = 0; role < ROLE_COUNT; role++)
		rows[role] = *role_row((enum role)role);
}

static void test_the_table_has_no_fault(void **state)
{
	(void)state;
	if (role_table_fault())
		fail_msg("%s", role_table_fault());
}

static void expect_fault(const struct role_row *rows, const char *part)
{
	const char *fault = role_table_fault_of(rows);

	assert_non_null(fault);
	if (!strstr(fault, part))
		fail_msg("\"%s\" lacks \"%s\"", fault, part);
}

static void test_broken_links_are_found(void **state)
{
	struct role_row rows[ROLE_COUNT];

	(void)state;
	copy_table(rows);
	rows[ROLE_SYNCER].links |= ROLE_BIT(ROLE_OBSERVER);
	expect_fault(rows, "in one of its two rows");
	copy_table(rows);
	rows[ROLE_SYNCER].links |= ROLE_BIT(ROLE_SYNCER);
	expect_fault(rows, "with itself");
	copy_table(rows);
	rows[ROLE_SYNCER].links |= ROLE_BIT(ROLE_ELECTOR_DIALER);
	expect_fault(rows, "its own dialer");
	copy_table(rows);
	rows[ROLE_SYNCER].links &= ~ROLE_BIT(ROLE_SYNCER_DIALER);
	expect_fault(rows, "its own dialer");
	copy_table(rows);
	rows[ROLE_MONITOR].links |= ROLE_BIT(ROLE_SYNCER_DIALER);
	expect_fault(rows, "others have none");
	copy_table(rows);
	rows[ROLE_MONITOR].links |= 1u << ROLE_COUNT;
	expect_fault(rows, "with no role");
}

static void test_broken_uids_are_found(void **state)
{
	static const uint8_t reserved[] = { ROLE_UID_WORKLOAD, ROLE_UID_CANARY, ROLE_UID_SIGNALLER,
		ROLE_UID_SHARDS, ROLE_UID_SHARDS + 3 };
	struct role_row rows[ROLE_COUNT];

	(void)state;
	copy_table(rows);
	rows[ROLE_SYNCER].uid_offset = rows[ROLE_PUBLISHER].uid_offset;
	expect_fault(rows, "share a uid");
	copy_table(rows);
	rows[ROLE_SYNCER].uid_offset = 0;
	expect_fault(rows, "uid 0");
	copy_table(rows);
	rows[ROLE_RUNNER].uid_offset = 20;
	expect_fault(rows, "uid 0");
	for (unsigned i = 0; i < sizeof(reserved); i++) {
		copy_table(rows);
		rows[ROLE_SYNCER].uid_offset = reserved[i];
		expect_fault(rows, "uid");
	}
}

static void test_broken_rights_are_found(void **state)
{
	struct role_row rows[ROLE_COUNT];

	(void)state;
	copy_table(rows);
	rows[ROLE_MONITOR].credentials = CREDENTIAL_BIT(CREDENTIAL_ELECTOR);
	expect_fault(rows, "holds a credential");
	copy_table(rows);
	rows[ROLE_SYNCER].credentials |= CREDENTIAL_BIT(CREDENTIAL_ELECTOR);
	expect_fault(rows, "hold one credential");
	copy_table(rows);
	rows[ROLE_SYNCER].fence = ROLE_FENCE_WRITE;
	expect_fault(rows, "fence page");
	copy_table(rows);
	rows[ROLE_SYNCER].syscalls |= SYSCALLS_DIAL;
	expect_fault(rows, "socket and connect");
	copy_table(rows);
	rows[ROLE_LOADER].syscalls |= SYSCALLS_CURL;
	expect_fault(rows, "libcurl");
	copy_table(rows);
	rows[ROLE_LOADER].syscalls |= SYSCALLS_RUN;
	expect_fault(rows, "workload");
	copy_table(rows);
	rows[ROLE_SYNCER].data_mib = 0;
	expect_fault(rows, "limits");
	copy_table(rows);
	rows[ROLE_SYNCER].reason = NULL;
	expect_fault(rows, "not filled in");
	copy_table(rows);
	rows[ROLE_MONITOR].trust = rows[ROLE_ELECTOR].trust;
	expect_fault(rows, "trust");
	copy_table(rows);
	rows[ROLE_SYNCER].name = "publisher";
	expect_fault(rows, "share a name");
}

/* F4, interfaces (d): the order of trust, as a person reads it. */
static void test_trust_order(void **state)
{
	static const enum role order[] = { ROLE_SUPERVISOR, ROLE_RUNNER, ROLE_ELECTOR, ROLE_SYNCER,
		ROLE_SYNCER_DIALER, ROLE_MONITOR, ROLE_LOADER };

	(void)state;
	for (unsigned i = 1; i < sizeof(order) / sizeof(order[0]); i++)
		assert_true(role_row(order[i - 1])->trust > role_row(order[i])->trust);
}

static void test_who_talks_to_whom(void **state)
{
	(void)state;
	assert_int_equal(role_row(ROLE_OBSERVER)->links,
	    ROLE_BIT(ROLE_ELECTOR) | ROLE_BIT(ROLE_MONITOR) | ROLE_BIT(ROLE_OBSERVER_DIALER));
	assert_int_equal(role_row(ROLE_LOADER)->links, 0);
	assert_int_equal(role_row(ROLE_SUPERVISOR)->links, 0);
	assert_int_equal(role_row(ROLE_RUNNER)->links, 0);
	assert_int_equal(role_row(ROLE_SYNCER)->restart, ROLE_RESTART_ON_REQUEST);
	for (unsigned role = 0; role < ROLE_COUNT; role++)
		if (ROLE_BIT(role) & ROLE_KUBE)
			assert_int_equal(
			    role_row(role_dialer_of((enum role)role))->links, ROLE_BIT(role));
}

static void test_names(void **state)
{
	(void)state;
	for (unsigned role = 0; role < ROLE_COUNT; role++)
		assert_int_equal(role_by_name(role_name((enum role)role)), role);
	assert_int_equal(role_by_name(""), ROLE_COUNT);
	assert_int_equal(role_by_name("elector "), ROLE_COUNT);
	assert_string_equal(role_name(ROLE_PUBLISHER_DIALER), "publisher-dialer");
	assert_string_equal(role_row(ROLE_PUBLISHER_DIALER)->program, "dialer");
	assert_string_equal(role_row(ROLE_SUPERVISOR)->program, "understudyd");
	assert_string_equal(credential_name(CREDENTIAL_PEER_SYNCER), "peer-syncer");
	assert_string_equal(credential_name(CREDENTIAL_WORKER + 255), "worker");
	assert_string_equal(credential_name(CREDENTIAL_FIXED_COUNT), "none");
	assert_string_equal(credential_name(CREDENTIAL_LIMIT), "none");
}

static void test_uids(void **state)
{
	(void)state;
	assert_int_equal(role_uid((struct role_id){ ROLE_ELECTOR, 0 }, 20000), 20004);
	assert_int_equal(role_uid((struct role_id){ ROLE_FOLLOWER_DIALER, 0 }, 20000), 20015);
	assert_int_equal(role_uid((struct role_id){ ROLE_REPOINTER, 0 }, 20000), 20032);
	assert_int_equal(role_uid((struct role_id){ ROLE_REPOINTER, 31 }, 20000), 20063);
	assert_int_equal(role_uid((struct role_id){ ROLE_RUNNER, 0 }, 20000), 0);
}

/* Decision 23: worker i is held by shard i / size. */
static void test_holders(void **state)
{
	(void)state;
	assert_int_equal(role_holding(CREDENTIAL_PEER_OBSERVER, 8).role, ROLE_OBSERVER);
	assert_int_equal(role_holding(CREDENTIAL_HUB_B, 8).role, ROLE_FOLLOWER);
	assert_int_equal(role_holding(CREDENTIAL_WORKER + 7, 8).shard, 0);
	assert_int_equal(role_holding(CREDENTIAL_WORKER + 8, 8).shard, 1);
	assert_int_equal(role_holding(CREDENTIAL_WORKER + 255, 8).shard, 31);
	assert_int_equal(role_holding(CREDENTIAL_WORKER, 8).role, ROLE_REPOINTER);
	assert_int_equal(role_holding(CREDENTIAL_FIXED_COUNT, 8).role, ROLE_COUNT);
	assert_int_equal(role_holding(CREDENTIAL_LIMIT, 8).role, ROLE_COUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_table_has_no_fault),
		cmocka_unit_test(test_broken_links_are_found),
		cmocka_unit_test(test_broken_uids_are_found),
		cmocka_unit_test(test_broken_rights_are_found),
		cmocka_unit_test(test_trust_order),
		cmocka_unit_test(test_who_talks_to_whom),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_uids),
		cmocka_unit_test(test_holders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
