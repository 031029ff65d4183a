/*
 * Goal: a step of the sandbox that was left out is found; waivers waive what they name and nothing
 * else; the runner keeps three capabilities (F5, F14, F15, F27). Method: children that do part of
 * the way by hand, or without capabilities, and then lock themselves. Needs root, like understudyd;
 * without it the cases are reported as skipped.
 * Pitfalls: P64, P96.
 */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy/sandbox.h"
#include "policy/seccomp.h"

#define UID_BASE 20000
#define NO_PORTS NULL, 0
enum { PASSED = 0, NOT_LOCKED = 90, NO_ERROR = 91 };

static const uint16_t some_port[] = { 9 };

static int in_child(int (*function)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(function());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* --- What is left out is found -----------------------------------------------------------------
 */

/* PASSED when the lock fails with a text that has `part` in it. */
static int lock_complains(enum role role, unsigned waived, const char *part)
{
	struct err err = { "" };

	if (sandbox_lock((struct role_id){ (uint8_t)role, 0 }, NO_PORTS, waived, &err) >= 0)
		return NO_ERROR;
	return strstr(err.text, part) ? PASSED : 1;
}

static int before_exec(enum role role)
{
	struct role_id id = { (uint8_t)role, 0 };

	return sandbox_before_exec(id, role_uid(id, UID_BASE), 0) ? NOT_LOCKED : 0;
}

static int forget_all(void)
{
	return lock_complains(ROLE_SYNCER, SANDBOX_ALL, "capabilities are left");
}
static int forget_groups(void)
{
	const gid_t groups[] = { 4, 27 };

	/* As a supervisor that dropped everything but its groups. */
	if (setgroups(2, groups) != 0 || setresuid(UID_BASE, UID_BASE, UID_BASE) != 0)
		return NOT_LOCKED;
	return lock_complains(ROLE_SYNCER, SANDBOX_ALL, "groups are left");
}
static int forget_no_new_privileges(void)
{
	if (setgroups(0, NULL) != 0 || setresuid(UID_BASE, UID_BASE, UID_BASE) != 0)
		return NOT_LOCKED;
	return lock_complains(ROLE_SYNCER, SANDBOX_ALL, "no-new-privs");
}
static int forget_filter_1(void)
{
	if (setgroups(0, NULL) != 0 || setresuid(UID_BASE, UID_BASE, UID_BASE) != 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return NOT_LOCKED;
	return lock_complains(ROLE_SYNCER, SANDBOX_ALL, "filter 1");
}
static int forget_after_exec(void)
{
	if (before_exec(ROLE_SYNCER) != 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0)
		return NOT_LOCKED;
	return lock_complains(ROLE_SYNCER, SANDBOX_ALL, "dumpable");
}
/* By hand, as a supervisor would that got the order wrong; the rest of the first half is done. */
static int half_dropped(uid_t saved, unsigned securebits, bool drop_capabilities)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
	struct seccomp_program filter;

	if (setgroups(0, NULL) != 0 || prctl(PR_SET_SECUREBITS, securebits, 0, 0, 0) != 0 ||
	    setresuid(UID_BASE, UID_BASE, saved) != 0 ||
	    (drop_capabilities && syscall(SYS_capset, &header, none) != 0) ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return NOT_LOCKED;
	seccomp_build_first(&filter, ROLE_SYNCER);
	return seccomp_load(&filter) == 0 ? 0 : NOT_LOCKED;
}
static int forget_saved_uid(void)
{
	return half_dropped(0, 0, true)
		   ? NOT_LOCKED
		   : lock_complains(ROLE_SYNCER, SANDBOX_ALL, "root could be regained");
}
/* F14: with this bit a change of uid keeps every capability. */
static int forget_capset(void)
{
	return half_dropped(UID_BASE, SECBIT_NO_SETUID_FIXUP, false)
		   ? NOT_LOCKED
		   : lock_complains(ROLE_SYNCER, SANDBOX_ALL, "capabilities are left");
}
/* Everything but one prctl, which no file of /proc would show. */
static int undo(unsigned option, unsigned long value, const char *part)
{
	struct err err = { "" };
	struct role_id id = { ROLE_SYNCER, 0 };

	if (before_exec(ROLE_SYNCER) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
	    prctl((int)option, value, 0, 0, 0) != 0)
		return NOT_LOCKED;
	if (sandbox_lock(id, NO_PORTS, 0, &err) >= 0)
		return NO_ERROR;
	return strstr(err.text, part) ? PASSED : 1;
}
static int forget_parent_death_signal(void)
{
	return undo(PR_SET_PDEATHSIG, 0, "outlive");
}
/* They are locked once set: the whole way by hand, without them. */
static int forget_securebits(void)
{
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0)
			return NOT_LOCKED;
	if (half_dropped(UID_BASE, 0, true) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
		return NOT_LOCKED;
	return lock_complains(ROLE_SYNCER, 0, "securebits");
}
static int ports_for_a_role_without(void)
{
	struct role_id id = { ROLE_SYNCER, 0 };
	struct err err = { "" };

	if (before_exec(ROLE_SYNCER) != 0 || sandbox_after_exec(id, &err) != 0)
		return NOT_LOCKED;
	return sandbox_lock(id, some_port, 1, 0, &err) < 0 && strstr(err.text, "ports") ? PASSED
											: 1;
}

static void test_a_forgotten_step_is_found(void **state)
{
	static int (*const mutants[])(void) = { forget_all, forget_groups, forget_no_new_privileges,
		forget_filter_1, forget_after_exec, forget_saved_uid, forget_capset,
		forget_parent_death_signal, forget_securebits, ports_for_a_role_without };

	(void)state;
	for (unsigned i = 0; i < sizeof(mutants) / sizeof(mutants[0]); i++) {
		int code = in_child(mutants[i]);

		if (code != PASSED)
			fail_msg("mutant %u: %d", i, code);
	}
}

/* --- Waivers (F27) ------------------------------------------------------------------------------
 */

/* A supervisor without any capability. */
static int without_capabilities(unsigned waived, const char **step)
{
	struct role_id id = { ROLE_SYNCER, 0 };

	if (setgroups(0, NULL) != 0 || setresgid(65533, 65533, 65533) != 0 ||
	    setresuid(65533, 65533, 65533) != 0)
		return NOT_LOCKED;
	*step = sandbox_before_exec(id, role_uid(id, UID_BASE), waived);
	return 0;
}
static int unwaived(void)
{
	const char *step = NULL;

	if (without_capabilities(0, &step) != 0)
		return NOT_LOCKED;
	return step && strcmp(step, "bounding set") == 0 ? PASSED : 1;
}
static int half_waived(void)
{
	const char *step = NULL;

	if (without_capabilities(SANDBOX_BOUNDING_SET, &step) != 0)
		return NOT_LOCKED;
	return step && strcmp(step, "setgroups") == 0 ? PASSED : 1;
}
static int waived(void)
{
	const unsigned bits = SANDBOX_UID_SEPARATION | SANDBOX_BOUNDING_SET;
	struct role_id id = { ROLE_SYNCER, 0 };
	struct err err = { "" };
	const char *step = NULL;
	int pair[2], in_force;

	/* The control link says who made it: a supervisor of the same uid separates nothing. */
	if (setresuid(65533, 65533, 0) != 0 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0 ||
	    dup2(pair[0], ROLE_FD_CONTROL) < 0 || setresuid(0, 0, 0) != 0)
		return NOT_LOCKED;
	if (without_capabilities(bits, &step) != 0 || step || sandbox_after_exec(id, &err) != 0)
		return NOT_LOCKED;
	in_force = sandbox_lock(id, NO_PORTS, bits, &err);
	if (in_force < 0)
		return 1;
	return (unsigned)in_force & bits ? 2 : PASSED;
}
static int waived_but_not_here(void)
{
	struct role_id id = { ROLE_SYNCER, 0 };
	const char *step = NULL;
	struct err err = { "" };

	if (without_capabilities(SANDBOX_UID_SEPARATION | SANDBOX_BOUNDING_SET, &step) != 0 ||
	    step || sandbox_after_exec(id, &err) != 0)
		return NOT_LOCKED;
	return lock_complains(ROLE_SYNCER, SANDBOX_UID_SEPARATION, "bounding-set");
}

static void test_waivers(void **state)
{
	(void)state;
	assert_int_equal(in_child(unwaived), PASSED);
	assert_int_equal(in_child(half_waived), PASSED);
	assert_int_equal(in_child(waived), PASSED);
	assert_int_equal(in_child(waived_but_not_here), PASSED);
}

/* --- The runner (F5) ----------------------------------------------------------------------------
 */

/* Another uid, no capability, no way back, and sockets as usual. */
static char be_the_workload(void)
{
	const uid_t uid = UID_BASE + ROLE_UID_WORKLOAD;

	if (setgroups(0, NULL) != 0 || setresgid(uid, uid, uid) != 0 ||
	    setresuid(uid, uid, uid) != 0)
		return 1;
	if (setresuid(0, 0, 0) == 0 || kill(getppid(), 0) == 0)
		return 2;
	return socket(AF_INET, SOCK_STREAM, 0) < 0 ? 3 : PASSED;
}

/* It keeps what it takes to start and end a workload, and nothing else of root. */
static int be_the_runner(void)
{
	struct role_id id = { ROLE_RUNNER, 0 };
	struct err err;
	int status, death = -1, ready[2];
	char byte = 0;
	pid_t pid;

	if (sandbox_before_exec(id, 0, 0) || sandbox_after_exec(id, &err) != 0 ||
	    sandbox_lock(id, NO_PORTS, 0, &err) < 0)
		return NOT_LOCKED;
	if (prctl(PR_GET_PDEATHSIG, &death, 0, 0, 0) != 0 || death != 0)
		return 1;
	if (chown("/", 1, 1) == 0 || chroot("/") == 0 || errno != EPERM)
		return 2;
	if (pipe(ready) != 0)
		return 3;
	pid = fork();
	if (pid == 0) {
		byte = be_the_workload();
		_exit(write(ready[1], &byte, 1) == 1 && byte == PASSED ? pause() : 1);
	}
	if (pid < 0 || read(ready[0], &byte, 1) != 1 || byte != PASSED)
		return 10 + byte;
	if (kill(pid, SIGKILL) != 0 || waitpid(pid, &status, 0) != pid)
		return 4;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? PASSED : 5;
}

static int be_a_runner_with_more(void)
{
	struct role_id id = { ROLE_RUNNER, 0 };

	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0
		   ? lock_complains((enum role)id.role, SANDBOX_ALL, "capabilities are left")
		   : NOT_LOCKED;
}

static void test_runner(void **state)
{
	(void)state;
	assert_int_equal(in_child(be_the_runner), PASSED);
	assert_int_equal(in_child(be_a_runner_with_more), PASSED);
}

static int need_root(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	return 0;
}

#define ROOT_TEST(test) cmocka_unit_test_setup(test, need_root)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROOT_TEST(test_a_forgotten_step_is_found),
		ROOT_TEST(test_waivers),
		ROOT_TEST(test_runner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
