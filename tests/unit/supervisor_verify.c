/*
 * Goal: a process that is more than its row is found out, whichever step it left out (F15). Method:
 * one honest pair of /proc texts and one mutant for each judged line; then real children of this
 * process, one per omitted step (root only).
 * Pitfalls: P10, P45, P60, P66, P89.
 */
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy/sandbox.h"
#include "policy/seccomp.h"
#include "supervisor/verify.h"

#define UID_BASE 20000

static const char status_text[] =
    "Name:\tobserver\nUmask:\t0077\nState:\tS (sleeping)\nTgid:\t900\nNgid:\t0\nPid:\t900\n"
    "PPid:\t800\nTracerPid:\t0\nUid:\t20003\t20003\t20003\t20003\n"
    "Gid:\t20003\t20003\t20003\t20003\nFDSize:\t64\nGroups:\t \nNStgid:\t900\n"
    "VmPeak:\t    9000 kB\nThreads:\t1\nSigQ:\t0/100\n"
    "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
    "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n"
    "Seccomp_filters:\t3\nSpeculation_Store_Bypass:\tvulnerable\n";

static const char limits_text[] =
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max file size             0                    0                    bytes     \n"
    "Max data size             134217728            134217728            bytes     \n"
    "Max core file size        0                    0                    bytes     \n"
    "Max processes             0                    0                    processes \n"
    "Max open files            64                   64                   files     \n";

static const struct verify_expected observer = {
	.id = { ROLE_OBSERVER, 0 }, .uid = 20003, .parent = 800, .filters = 1
};

static struct err err;

/* The text with one part replaced; the part must be there. */
static const char *mutate(const char *text, const char *from, const char *to)
{
	static char mutant[4096];
	const char *at = strstr(text, from);

	assert_non_null(at);
	(void)snprintf(
	    mutant, sizeof(mutant), "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	return mutant;
}

static int judge(const struct verify_expected *expected, const char *status, const char *limits)
{
	struct verify_facts facts = { .fd_count = 8, .has_first_fds = true };

	err.text[0] = '\0';
	if (verify_parse_status(status, &facts, &err) || verify_parse_limits(limits, &facts, &err))
		return -1;
	return verify_judge(expected, &facts, &err);
}

static void the_honest_process_passes(void **state)
{
	(void)state;
	assert_int_equal(judge(&observer, status_text, limits_text), 0);
}

static void each_mutant_of_status_is_found(void **state)
{
	static const struct {
		const char *from, *to;
	} mutants[] = {
		{ "Uid:\t20003\t20003\t20003\t20003", "Uid:\t0\t20003\t20003\t20003" },
		{ "Uid:\t20003\t20003\t20003\t20003", "Uid:\t20003\t20003\t0\t20003" },
		{ "Uid:\t20003\t20003\t20003\t20003", "Uid:\t20003\t20003\t20003\t0" },
		{ "Gid:\t20003\t20003\t20003\t20003", "Gid:\t20003\t20003\t0\t20003" },
		{ "Groups:\t \n", "Groups:\t4 27 \n" },
		{ "PPid:\t800", "PPid:\t1" },
		{ "TracerPid:\t0", "TracerPid:\t77" },
		{ "Threads:\t1", "Threads:\t2" },
		{ "CapInh:\t0000000000000000", "CapInh:\t0000000000000080" },
		{ "CapPrm:\t0000000000000000", "CapPrm:\t0000000000000080" },
		{ "CapEff:\t0000000000000000", "CapEff:\t0000000000000020" },
		{ "CapBnd:\t0000000000000000", "CapBnd:\t000001ffffffffff" },
		{ "CapAmb:\t0000000000000000", "CapAmb:\t0000000000000001" },
		{ "NoNewPrivs:\t1", "NoNewPrivs:\t0" },
		{ "Seccomp:\t2", "Seccomp:\t0" },
		{ "Seccomp_filters:\t3", "Seccomp_filters:\t2" },
		{ "Seccomp_filters:\t3", "Seccomp_filters:\t1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(mutants) / sizeof(mutants[0]); i++)
		assert_int_equal(
		    judge(&observer, mutate(status_text, mutants[i].from, mutants[i].to),
			limits_text),
		    -1);
}

/* Silence is no proof: a line that is not there is a deviation. */
static void each_missing_line_is_found(void **state)
{
	static const char *const lines[] = { "Uid:", "Gid:", "Groups:", "PPid:", "TracerPid:",
		"Threads:", "CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:", "NoNewPrivs:",
		"Seccomp:", "Seccomp_filters:", "State:" };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(
		    judge(&observer, mutate(status_text, lines[i], "Other:"), limits_text), -1);
	assert_int_equal(
	    judge(&observer, status_text, mutate(limits_text, "Max processes", "Some")), -1);
	assert_int_equal(judge(&observer, "", limits_text), -1);
}

static void each_mutant_of_limits_is_found(void **state)
{
	(void)state;
	assert_int_equal(
	    judge(&observer, status_text,
		mutate(limits_text, "processes             0 ", "processes             9 ")),
	    -1);
	assert_int_equal(
	    judge(&observer, status_text,
		mutate(limits_text, "core file size        0 ", "core file size        1 ")),
	    -1);
	assert_int_equal(
	    judge(&observer, status_text,
		mutate(limits_text, "64                   64 ", "64                   99 ")),
	    -1);
	assert_int_equal(
	    judge(&observer, status_text,
		mutate(limits_text, "64                   64 ", "65                   65 ")),
	    -1);
	assert_int_equal(judge(&observer, status_text,
			     mutate(limits_text, "file size             0                    0 ",
				 "file size             1                    1 ")),
	    -1);
	assert_int_equal(judge(&observer, status_text,
			     mutate(limits_text, "134217728            134217728",
				 "unlimited            unlimited")),
	    -1);
}

static void dumpable_and_descriptors_are_judged(void **state)
{
	struct verify_facts facts = { 0 };

	(void)state;
	assert_int_equal(verify_parse_status(status_text, &facts, &err), 0);
	assert_int_equal(verify_parse_limits(limits_text, &facts, &err), 0);
	assert_int_equal(verify_judge(&observer, &facts, &err), -1);
	facts.has_first_fds = true;
	assert_int_equal(verify_judge(&observer, &facts, &err), 0);
	facts.fd_count = 60;
	assert_int_equal(verify_judge(&observer, &facts, &err), -1);
	facts.fd_count = 8;
	facts.owner = 20003;
	assert_int_equal(verify_judge(&observer, &facts, &err), -1);
	assert_string_equal(err.text, "is dumpable");
}

static void a_waiver_waives_what_it_names(void **state)
{
	struct verify_expected waived = observer;
	const char *bounding =
	    mutate(status_text, "CapBnd:\t0000000000000000", "CapBnd:\t000001ffffffffff");

	(void)state;
	waived.waived = SANDBOX_MLOCK;
	assert_int_equal(judge(&waived, bounding, limits_text), -1);
	waived.waived = SANDBOX_BOUNDING_SET;
	assert_int_equal(judge(&waived, bounding, limits_text), 0);
}

/* --- Real processes ------------------------------------------------------------------------- */

enum omission { NOTHING, AFTER_EXEC, LOCK, FILTER, GROUPS, OPEN_FILES };

/* Goes the whole way into the observer's row but for one step, says so and waits to be killed. */
_Noreturn static void live(enum omission omission, int ready)
{
	const struct role_id id = { ROLE_OBSERVER, 0 };
	const gid_t groups[] = { 4, 27 };
	struct seccomp_program filter;
	bool fine = true;

	for (int fd = 3; fd < 64; fd++)
		if (fd != ready)
			close(fd);
	if (dup2(0, 3) != 3)
		_exit(1);
	if (omission == OPEN_FILES)
		for (int i = 0; i < 50; i++)
			fine = fine && dup(0) >= 0;
	if (omission == GROUPS)
		fine = setgroups(2, groups) == 0 && setresgid(20003, 20003, 20003) == 0 &&
		       setresuid(20003, 20003, 20003) == 0;
	else
		fine = fine && sandbox_before_exec(id, 20003, 0) == NULL;
	if (omission != AFTER_EXEC)
		fine = fine && sandbox_after_exec(id, NULL) == 0;
	if (omission == FILTER)
		fine = fine && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
	else if (omission == LOCK || omission == GROUPS)
		fine = fine && omission != NOTHING;
	else {
		seccomp_build_second(&filter, ROLE_OBSERVER, getpid());
		fine = fine && seccomp_load(&filter) == 0;
	}
	fine = fine && send(ready, "x", 1, 0) == 1;
	if (!fine)
		_exit(1);
	for (;;)
		(void)recv(ready, &fine, 1, 0);
}

static int verify_live(enum omission omission)
{
	struct verify_expected expected = observer;
	struct verify_facts facts;
	int pair[2], result;
	char byte;
	pid_t pid;

	err.text[0] = '\0';
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	pid = fork();
	if (pid == 0)
		live(omission, pair[1]);
	close(pair[1]);
	assert_int_equal(recv(pair[0], &byte, 1, 0), 1);
	expected.parent = (uint32_t)getpid();
	expected.filters = (uint32_t)verify_own_filters();
	result = verify_read(pid, &facts, &err) ? -2 : verify_judge(&expected, &facts, &err);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(pair[0]);
	return result;
}

static void omitted_steps_are_found_in_real_processes(void **state)
{
	(void)state;
	if (geteuid() != 0 || SECCOMP_SANITIZED)
		skip();
	assert_int_equal(verify_live(NOTHING), 0);
	assert_int_equal(verify_live(AFTER_EXEC), -1);
	assert_int_equal(verify_live(LOCK), -1);
	assert_non_null(strstr(err.text, "filters"));
	assert_int_equal(verify_live(FILTER), -1);
	assert_int_equal(verify_live(GROUPS), -1);
	assert_non_null(strstr(err.text, "groups"));
	assert_int_equal(verify_live(OPEN_FILES), -1);
	assert_non_null(strstr(err.text, "descriptors"));
}

static void a_process_that_is_gone_is_not_verified(void **state)
{
	struct verify_facts facts;

	(void)state;
	assert_int_equal(verify_read(0x7fffffff, &facts, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_honest_process_passes),
		cmocka_unit_test(each_mutant_of_status_is_found),
		cmocka_unit_test(each_missing_line_is_found),
		cmocka_unit_test(each_mutant_of_limits_is_found),
		cmocka_unit_test(dumpable_and_descriptors_are_judged),
		cmocka_unit_test(a_waiver_waives_what_it_names),
		cmocka_unit_test(omitted_steps_are_found_in_real_processes),
		cmocka_unit_test(a_process_that_is_gone_is_not_verified),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
