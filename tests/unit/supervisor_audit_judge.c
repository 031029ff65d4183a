/*
 * Goal: each thing that may be wrong with a process, a file, an identity or a link is a finding of
 * the row that names it, and of no other; what cannot be seen is unverified. Method: honest facts
 * and one lie each, held against verify.c, which decides over lives.
 */
#include <errno.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/sandbox.h"
#include "supervisor/audit.h"

#define MOST_ROWS 64

static struct audit_row rows[MOST_ROWS];
static size_t row_count;
static struct err err;

/* Rows without head and end, into rows[]. */
static void take(struct buf *out)
{
	struct str rest;

	buf_puts(out, AUDIT_END "\n");
	rest = buf_str(out);
	row_count = 0;
	while (row_count < MOST_ROWS && audit_take(&rest, &rows[row_count]) > 0)
		row_count++;
	assert_int_equal(rest.n, 0);
	buf_free(out);
}

static const struct audit_row *row_of(const char *what)
{
	for (size_t i = 0; i < row_count; i++)
		if (strcmp(rows[i].what, what) == 0)
			return &rows[i];
	fail_msg("no row about %s", what);
	return &rows[0]; /* not reached */
}

/* All rows are OK but this one (NULL: all are). */
static void assert_only(const char *what, enum audit_verdict verdict)
{
	for (size_t i = 0; i < row_count; i++)
		if (what && strcmp(rows[i].what, what) == 0)
			assert_int_equal(rows[i].verdict, verdict);
		else if (rows[i].verdict != AUDIT_OK)
			fail_msg("%s is %s: declared %s, effective %s, probed %s", rows[i].what,
			    audit_verdict_word(rows[i].verdict), rows[i].declared,
			    rows[i].effective, rows[i].probed);
	if (what)
		(void)row_of(what);
}

/* --- Processes ------------------------------------------------------------------------------- */

static const struct verify_expected observer = {
	.id = { ROLE_OBSERVER, 0 }, .uid = 20003, .parent = 800, .filters = 1
};
static const struct verify_facts honest = { .uids = { 20003, 20003, 20003, 20003 },
	.gids = { 20003, 20003, 20003, 20003 },
	.no_new_privs = 1,
	.seccomp = 2,
	.filters = 3,
	.threads = 1,
	.parent = 800,
	.files = 64,
	.data_bytes = 128UL << 20,
	.limits_fixed = true,
	.fd_count = 12,
	.has_first_fds = true };

static void judge(const struct verify_expected *expected, const struct verify_facts *facts,
    unsigned in_force, unsigned available)
{
	struct buf out = buf_make(AUDIT_MAX_BYTES);

	audit_judge_process(&out, "observer", expected, facts, in_force, available);
	take(&out);
}

static void the_honest_process_is_ok_in_each_row(void **state)
{
	(void)state;
	judge(&observer, &honest, SANDBOX_ALL, SANDBOX_ALL);
	assert_true(row_count > 20);
	assert_only(NULL, AUDIT_OK);
	assert_string_equal(row_of("uid")->effective, "20003");
	assert_string_equal(row_of("landlock-fs")->effective, "");
	assert_string_equal(row_of("landlock-fs")->probed, "in force, at the start");
}

#define LIE(field, value, row)                                                                     \
	do {                                                                                       \
		struct verify_facts lie = honest;                                                  \
		lie.field = (value);                                                               \
		judge(&observer, &lie, SANDBOX_ALL, SANDBOX_ALL);                                  \
		assert_only(row, AUDIT_FINDING);                                                   \
		assert_int_equal(verify_judge(&observer, &lie, &err), -1);                         \
	} while (0)

static void each_lie_is_one_finding_and_costs_the_process_its_life(void **state)
{
	(void)state;
	assert_int_equal(verify_judge(&observer, &honest, &err), 0);
	LIE(uids[0], 0, "uid");
	LIE(uids[3], 20004, "uid");
	LIE(gids[2], 0, "gid");
	LIE(has_groups, true, "supplementary groups");
	LIE(caps[0], 1ULL << CAP_KILL, "capabilities inheritable");
	LIE(caps[1], 1ULL << CAP_KILL, "capabilities permitted");
	LIE(caps[2], 1ULL << CAP_SYS_ADMIN, "capabilities effective");
	LIE(caps[3], 1ULL << CAP_SETUID, "capabilities bounding");
	LIE(caps[4], 1ULL << CAP_SETUID, "capabilities ambient");
	LIE(no_new_privs, 0, "no new privileges");
	LIE(seccomp, 0, "seccomp");
	LIE(filters, 2, "seccomp");
	LIE(owner, 20003, "dumpable");
	LIE(tracer, 77, "traced by");
	LIE(parent, 1, "parent");
	LIE(threads, 2, "threads");
	LIE(core, 1, "limit: core file");
	LIE(processes, 1, "limit: processes");
	LIE(files, 65, "limit: open files");
	LIE(data_bytes, UINT64_MAX, "limit: data, bytes");
	LIE(limits_fixed, false, "limits are fixed");
	LIE(fd_count, 65, "open descriptors");
}

static void what_the_process_tried_and_missed_is_a_finding_unless_waived(void **state)
{
	static const unsigned bits[] = { SANDBOX_LANDLOCK_FS, SANDBOX_LANDLOCK_NET,
		SANDBOX_LANDLOCK_SCOPE, SANDBOX_MDWE, SANDBOX_MLOCK };
	struct verify_expected waiver = observer;

	(void)state;
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		const char *name = sandbox_protection_name(bits[i]);
		bool required = (bits[i] & SANDBOX_REQUIRED) != 0;

		judge(&observer, &honest, SANDBOX_ALL & ~bits[i], SANDBOX_ALL);
		assert_only(name, AUDIT_FINDING);
		waiver.waived = bits[i];
		judge(&waiver, &honest, SANDBOX_ALL & ~bits[i], SANDBOX_ALL);
		assert_only(name, AUDIT_WAIVED);
		/* F27: a bonus that the kernel lacks is no finding; what is required is one. */
		judge(&observer, &honest, SANDBOX_ALL & ~bits[i], SANDBOX_ALL & ~bits[i]);
		assert_only(name, required ? AUDIT_FINDING : AUDIT_OK);
	}
}

/* F26: where this machine cannot change uids and that is waived, root's is waived, and no other. */
static void one_uid_for_all_is_waived_where_uids_cannot_differ(void **state)
{
	const unsigned here = SANDBOX_ALL & ~(unsigned)SANDBOX_UID_SEPARATION;
	struct verify_expected waiver = observer;
	struct verify_facts facts = honest;

	(void)state;
	waiver.waived = SANDBOX_UID_SEPARATION;
	for (int i = 0; i < 4; i++)
		facts.uids[i] = 0;
	judge(&waiver, &facts, here, here);
	assert_only("uid", AUDIT_WAIVED);
	assert_string_equal(row_of("uid")->effective, "0");
	/* That root owns its /proc/PID proves nothing: what the process said stands as such. */
	assert_string_equal(row_of("dumpable")->effective, "");
	assert_string_equal(row_of("dumpable")->probed, "no, at the start");
	judge(&waiver, &facts, here, SANDBOX_ALL);
	assert_only("uid", AUDIT_FINDING);
	judge(&observer, &facts, here, here);
	assert_only("uid", AUDIT_FINDING);
	facts.uids[3] = 20004;
	judge(&waiver, &facts, here, here);
	assert_only("uid", AUDIT_FINDING);
}

static void the_runner_has_three_capabilities_and_no_more(void **state)
{
	uint64_t three = 1ULL << CAP_SETUID | 1ULL << CAP_SETGID | 1ULL << CAP_KILL;
	struct verify_expected runner = {
		.id = { ROLE_RUNNER, 0 }, .uid = 0, .parent = 800, .filters = 1
	};
	struct verify_facts facts = { .caps = { 0, three, three, three, 0 },
		.no_new_privs = 1,
		.seccomp = 2,
		.filters = 2,
		.threads = 1,
		.parent = 800 };

	(void)state;
	judge(&runner, &facts, SANDBOX_MLOCK, SANDBOX_ALL);
	assert_only(NULL, AUDIT_OK);
	facts.caps[2] |= 1ULL << CAP_DAC_OVERRIDE;
	judge(&runner, &facts, SANDBOX_MLOCK, SANDBOX_ALL);
	assert_only("capabilities effective", AUDIT_FINDING);
}

static void who_cannot_be_seen_is_unverified_in_each_row(void **state)
{
	struct verify_facts ended = { .ended = true };
	struct buf out = buf_make(AUDIT_MAX_BYTES);

	(void)state;
	judge(&observer, &ended, SANDBOX_ALL, SANDBOX_ALL);
	for (size_t i = 0; i < row_count; i++)
		assert_int_equal(rows[i].verdict, AUDIT_UNVERIFIED);
	audit_judge_unseen(&out, "observer", &observer, "/proc/7: gone");
	take(&out);
	assert_true(row_count > 20);
	for (size_t i = 0; i < row_count; i++) {
		assert_int_equal(rows[i].verdict, AUDIT_UNVERIFIED);
		assert_string_equal(rows[i].effective, "");
		assert_string_equal(rows[i].text, "/proc/7: gone");
	}
	out = buf_make(AUDIT_MAX_BYTES);
	audit_judge_unseen(&out, "observer", &observer, NULL);
	take(&out);
	for (size_t i = 0; i < row_count; i++)
		assert_int_equal(rows[i].verdict, AUDIT_DECLARED);
}

static void judge_supervisor(const struct verify_facts *facts, uint32_t filters, bool waived)
{
	struct buf out = buf_make(AUDIT_MAX_BYTES);

	audit_judge_supervisor(&out, facts, filters, waived);
	take(&out);
}

static void the_supervisor_is_judged_as_well(void **state)
{
	uint64_t four =
	    1ULL << CAP_SETUID | 1ULL << CAP_SETGID | 1ULL << CAP_KILL | 1ULL << CAP_SETPCAP;
	struct verify_facts facts = {
		.caps = { 0, four, four, four, 0 },
		.no_new_privs = 1,
		.seccomp = 2,
		.filters = 2,
		.threads = 1,
	};

	(void)state;
	judge_supervisor(&facts, 2, false);
	assert_only(NULL, AUDIT_OK);
	assert_string_equal(row_of("seccomp")->effective, "mode 2, 2 filters");
	facts.caps[2] |= 1ULL << CAP_SYS_ADMIN;
	judge_supervisor(&facts, 2, false);
	assert_only("capabilities effective", AUDIT_FINDING);
	facts.caps[2] = four;
	facts.caps[3] = ~0ULL;
	judge_supervisor(&facts, 2, false);
	assert_only("capabilities bounding", AUDIT_FINDING);
	judge_supervisor(&facts, 2, true);
	assert_only("capabilities bounding", AUDIT_WAIVED);
	facts.caps[3] = four;
	/* F29: its own filter is not there, or is off, or another number than at the start. */
	judge_supervisor(&facts, 3, false);
	assert_only("seccomp", AUDIT_FINDING);
	facts.seccomp = 0;
	judge_supervisor(&facts, 2, false);
	assert_only("seccomp", AUDIT_FINDING);
	facts.filters = 0;
	judge_supervisor(&facts, 0, false);
	assert_only("seccomp", AUDIT_FINDING);
}

/* --- Canaries -------------------------------------------------------------------------------- */

/* The first probe of the list that the row answers like that. */
static const struct canary_probe *probe_of(
    enum role role, enum canary_expected expected, unsigned *number)
{
	unsigned count;
	const struct canary_probe *list = canary_probes(&count);

	for (*number = 0; *number < count; (*number)++)
		if (canary_expects(&list[*number], role, SANDBOX_ALL) == expected)
			return &list[*number];
	fail_msg("no such probe of %s", role_name(role));
	return list; /* not reached */
}

static enum audit_verdict of_probe(
    enum role role, const struct canary_probe *probe, unsigned number, unsigned outcome)
{
	struct canary_answers answers = { .entered = true, .in_force = SANDBOX_ALL };
	struct buf out = buf_make(AUDIT_MAX_BYTES);

	answers.outcomes[number] = (uint16_t)outcome;
	audit_judge_probe(&out, role, probe, &answers, number);
	take(&out);
	assert_int_equal(row_count, 1);
	assert_int_equal(rows[0].kind, AUDIT_PROBE);
	assert_string_equal(rows[0].effective, "");
	return rows[0].verdict;
}

/* F16. */
static void what_a_canary_met_is_as_the_row_says_or_a_finding(void **state)
{
	const struct canary_probe *probe;
	unsigned number;

	(void)state;
	for (unsigned role = ROLE_RUNNER; role < ROLE_COUNT; role++) {
		probe = probe_of(role, CANARY_KILLED, &number);
		assert_int_equal(of_probe(role, probe, number, CANARY_DIED | SIGSYS), AUDIT_OK);
		assert_string_equal(rows[0].probed, "killed by SIGSYS");
		assert_int_equal(
		    of_probe(role, probe, number, CANARY_DIED | SIGSEGV), AUDIT_FINDING);
		assert_int_equal(of_probe(role, probe, number, CANARY_WORKED), AUDIT_FINDING);
		assert_string_equal(rows[0].probed, "works");
		assert_int_equal(of_probe(role, probe, number, EPERM), AUDIT_FINDING);
		assert_int_equal(
		    of_probe(role, probe, number, CANARY_UNANSWERED), AUDIT_UNVERIFIED);

		probe = probe_of(role, CANARY_REFUSED, &number);
		assert_int_equal(of_probe(role, probe, number, (unsigned)probe->with), AUDIT_OK);
		assert_int_equal(of_probe(role, probe, number, CANARY_WORKED), AUDIT_FINDING);
		/* The kernel was asked, and not the filter. */
		assert_int_equal(of_probe(role, probe, number, EINVAL), AUDIT_FINDING);

		probe = probe_of(role, CANARY_WORKS, &number);
		assert_int_equal(of_probe(role, probe, number, CANARY_WORKED), AUDIT_OK);
		assert_int_equal(of_probe(role, probe, number, EPERM), AUDIT_FINDING);
		assert_string_equal(rows[0].probed, "refused with EPERM");
	}
}

static void a_canary_that_did_not_come_so_far_proves_nothing(void **state)
{
	static const struct {
		struct canary_answers answers;
		enum audit_verdict verdict;
	} cases[] = {
		{ { .entered = true }, AUDIT_OK },
		{ { .entered = false }, AUDIT_UNVERIFIED },
		{ { .entered = true, .fault = "it took too long" }, AUDIT_UNVERIFIED },
		{ { .deviates = true, .fault = "it is not what its row says" }, AUDIT_FINDING },
		{ { .entered = true, .deviates = true, .fault = "another" }, AUDIT_FINDING },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf out = buf_make(AUDIT_MAX_BYTES);

		audit_judge_canary(&out, "syncer", &cases[i].answers);
		take(&out);
		assert_int_equal(rows[0].verdict, cases[i].verdict);
		assert_string_equal(rows[0].text, cases[i].answers.fault);
	}
}

/* --- Files, identities, links ---------------------------------------------------------------- */

static enum audit_verdict of_file(
    const struct audit_file *file, const struct audit_wanted_file *wanted)
{
	struct buf out = buf_make(AUDIT_MAX_BYTES);

	audit_judge_file(&out, AUDIT_FILE, "somebody", file, wanted);
	take(&out);
	assert_int_equal(row_count, 1);
	assert_string_equal(rows[0].what, file->path);
	return rows[0].verdict;
}

static void a_file_that_lets_others_in_is_a_finding(void **state)
{
	const struct audit_wanted_file secret = { .words = "root's", .forbidden = 027 }, sock = {
		.words = "root:group", .gid = 5, .forbidden = 0117, .needed = 0660
	};
	struct audit_file file = { .path = "/x", .mode = 0400, .right_kind = true };

	(void)state;
	assert_int_equal(of_file(&file, &secret), AUDIT_OK);
	file.mode = 0440; /* of root's group */
	assert_int_equal(of_file(&file, &secret), AUDIT_OK);
	file.gid = 20003; /* of a role's group */
	assert_int_equal(of_file(&file, &secret), AUDIT_FINDING);
	file.gid = 0;
	for (unsigned bit = 0; bit < 9; bit++) {
		file.mode = 0400 | 1u << bit;
		assert_int_equal(
		    of_file(&file, &secret), 027u & 1u << bit ? AUDIT_FINDING : AUDIT_OK);
	}
	file.mode = 0400;
	file.uid = 1000;
	assert_int_equal(of_file(&file, &secret), AUDIT_FINDING);
	file.uid = 0;
	file.right_kind = false;
	assert_int_equal(of_file(&file, &secret), AUDIT_FINDING);
	file.error = EACCES;
	assert_int_equal(of_file(&file, &secret), AUDIT_UNVERIFIED);

	file = (struct audit_file){ .path = "/s", .gid = 5, .mode = 0660, .right_kind = true };
	assert_int_equal(of_file(&file, &sock), AUDIT_OK);
	file.gid = 6;
	assert_int_equal(of_file(&file, &sock), AUDIT_FINDING);
	file.gid = 5;
	file.mode = 0600;
	assert_int_equal(of_file(&file, &sock), AUDIT_FINDING);
	file.mode = 0666;
	assert_int_equal(of_file(&file, &sock), AUDIT_FINDING);
}

#define HOUR_US 3600000000LL

static const struct us_loaded loaded = { .port = 6443,
	.host = "hub-a.example",
	.subject = "system:serviceaccount:n:understudy-elector",
	.public_print = 0x0123456789abcdef,
	.issued_us = 10 * HOUR_US,
	.expires_us = 20 * HOUR_US };

static void judge_identity(const struct audit_identity *identity, bool offline, int64_t now_us)
{
	struct buf out = buf_make(AUDIT_MAX_BYTES);

	audit_judge_identity(&out, identity, offline, now_us);
	take(&out);
	assert_int_equal(row_count, 3);
}

static void an_identity_is_told_by_its_public_part_and_its_end(void **state)
{
	struct audit_identity identity = { .name = "elector",
		.holder = "elector",
		.holder_runs = true,
		.holder_wanted = true,
		.known = true,
		.delivered = true,
		.pinned = &loaded,
		.generation = 3 };

	(void)state;
	judge_identity(&identity, false, 11 * HOUR_US);
	assert_only(NULL, AUDIT_OK);
	assert_string_equal(row_of("identity")->effective,
	    "system:serviceaccount:n:understudy-elector at hub-a.example:6443");
	assert_non_null(strstr(row_of("identity")->text, "0123456789abcdef"));
	assert_string_equal(row_of("holder")->effective, "elector, generation 3");
	assert_string_equal(row_of("expiry")->effective, "1970-01-01T20:00:00Z");
	/* The last tenth of its life. */
	judge_identity(&identity, false, 19 * HOUR_US + 1);
	assert_only("expiry", AUDIT_FINDING);
	/* Another role has the same account. */
	identity.same = "syncer";
	judge_identity(&identity, false, 11 * HOUR_US);
	assert_only("holder", AUDIT_FINDING);
	assert_non_null(strstr(row_of("holder")->text, "credential syncer"));
	identity.same_allowed = true;
	judge_identity(&identity, false, 11 * HOUR_US);
	assert_only("holder", AUDIT_WAIVED);
	identity.same = NULL;
	identity.delivered = false;
	judge_identity(&identity, false, 11 * HOUR_US);
	assert_only("holder", AUDIT_UNVERIFIED);
	/* The syncer of a hub that leads: nobody holds its identity, and nobody should. */
	identity.holder_runs = identity.holder_wanted = false;
	judge_identity(&identity, false, 11 * HOUR_US);
	assert_only("holder", AUDIT_DECLARED);
	identity.known = false;
	judge_identity(&identity, true, 11 * HOUR_US);
	assert_int_equal(row_of("identity")->verdict, AUDIT_UNVERIFIED);
	assert_int_equal(row_of("expiry")->verdict, AUDIT_UNVERIFIED);
}

static enum audit_verdict of_link(bool up, bool run, bool wanted, bool offline)
{
	struct buf out = buf_make(AUDIT_MAX_BYTES);

	audit_judge_link(&out, "elector - syncer", up, 2, run, wanted, offline);
	take(&out);
	return rows[0].verdict;
}

static void a_cut_link_is_a_finding(void **state)
{
	(void)state;
	assert_int_equal(of_link(true, true, true, false), AUDIT_OK);
	assert_int_equal(of_link(false, true, true, false), AUDIT_FINDING);
	assert_int_equal(of_link(false, false, true, false), AUDIT_UNVERIFIED);
	assert_int_equal(of_link(false, false, false, false), AUDIT_DECLARED);
	assert_int_equal(of_link(false, false, true, true), AUDIT_DECLARED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_honest_process_is_ok_in_each_row),
		cmocka_unit_test(each_lie_is_one_finding_and_costs_the_process_its_life),
		cmocka_unit_test(what_the_process_tried_and_missed_is_a_finding_unless_waived),
		cmocka_unit_test(one_uid_for_all_is_waived_where_uids_cannot_differ),
		cmocka_unit_test(the_runner_has_three_capabilities_and_no_more),
		cmocka_unit_test(who_cannot_be_seen_is_unverified_in_each_row),
		cmocka_unit_test(the_supervisor_is_judged_as_well),
		cmocka_unit_test(what_a_canary_met_is_as_the_row_says_or_a_finding),
		cmocka_unit_test(a_canary_that_did_not_come_so_far_proves_nothing),
		cmocka_unit_test(a_file_that_lets_others_in_is_a_finding),
		cmocka_unit_test(an_identity_is_told_by_its_public_part_and_its_end),
		cmocka_unit_test(a_cut_link_is_a_finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
