/*
 * Processes that leave out one step of their start each (F3, F14, F15): the linker puts what stands
 * here around the calls that make the steps (Makefile). Such a process must find it itself, before
 * it says READY, or the supervisor's own look at it must; one that leaves out nothing is accepted,
 * else this would prove nothing.
 * Pitfalls: P57, P62, P63, P64, P66, P68, P71.
 */
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "policy/control.h"
#include "policy/landlock.h"
#include "policy/sandbox.h"
#include "policy/seccomp.h"
#include "supervisor/verify.h"
#include "tests/attack/attack.h"

#define READY_MS 20000
#define SET_MDWE 65

enum step_kind { STEP_NONE, STEP_CALL, STEP_PRCTL, STEP_LIMIT };
enum call { SETGROUPS, SETRESGID, SETRESUID, CAPSET, FILTER_1, FILTER_2, LANDLOCK };

/* number: of the call, the option of prctl, or the resource. */
static const struct step {
	const char *name;
	enum step_kind kind;
	int number;
	unsigned bonus; /* SANDBOX_*: not every kernel can do it (F27) */
} steps[] = {
	{ "leaves out nothing", STEP_NONE, 0, 0 },
	{ "keeps its groups", STEP_CALL, SETGROUPS, 0 },
	{ "keeps its gid", STEP_CALL, SETRESGID, 0 },
	{ "keeps its uid", STEP_CALL, SETRESUID, 0 },
	{ "keeps its capabilities", STEP_CALL, CAPSET, 0 },
	{ "keeps its bounding set", STEP_PRCTL, PR_CAPBSET_DROP, 0 },
	{ "may gain privileges", STEP_PRCTL, PR_SET_NO_NEW_PRIVS, 0 },
	{ "outlives its supervisor", STEP_PRCTL, PR_SET_PDEATHSIG, 0 },
	{ "may make memory executable", STEP_PRCTL, SET_MDWE, SANDBOX_MDWE },
	{ "stays dumpable", STEP_PRCTL, PR_SET_DUMPABLE, 0 },
	{ "may write core files", STEP_LIMIT, RLIMIT_CORE, 0 },
	{ "may write long files", STEP_LIMIT, RLIMIT_FSIZE, 0 },
	{ "may have many files open", STEP_LIMIT, RLIMIT_NOFILE, 0 },
	{ "may make processes", STEP_LIMIT, RLIMIT_NPROC, 0 },
	{ "may take much memory", STEP_LIMIT, RLIMIT_DATA, 0 },
	{ "forgets filter 1", STEP_CALL, FILTER_1, 0 },
	{ "forgets filter 2", STEP_CALL, FILTER_2, 0 },
	{ "only says that Landlock is on", STEP_CALL, LANDLOCK, 0 },
};

#define STEPS (sizeof(steps) / sizeof(steps[0]))

static unsigned skipped; /* place in steps */
static bool after_exec;

void mutant_become(unsigned number, bool executed)
{
	skipped = number < STEPS ? number : 0;
	after_exec = executed;
}

static bool skips(enum step_kind kind, int number)
{
	return skipped > 0 && steps[skipped].kind == kind && steps[skipped].number == number;
}

/* --- What the linker puts around ------------------------------------------------------------- */

int __real_setgroups(size_t count, const gid_t *groups);
int __wrap_setgroups(size_t count, const gid_t *groups);
int __real_setresgid(gid_t real, gid_t effective, gid_t saved);
int __wrap_setresgid(gid_t real, gid_t effective, gid_t saved);
int __real_setresuid(uid_t real, uid_t effective, uid_t saved);
int __wrap_setresuid(uid_t real, uid_t effective, uid_t saved);
int __real_prctl(int option, ...);
int __wrap_prctl(int option, ...);
int __real_setrlimit(int resource, const struct rlimit *limit);
int __wrap_setrlimit(int resource, const struct rlimit *limit);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
int __real_landlock_restrict(int directory_fd, const uint16_t *ports, unsigned port_count);
int __wrap_landlock_restrict(int directory_fd, const uint16_t *ports, unsigned port_count);

int __wrap_setgroups(size_t count, const gid_t *groups)
{
	return skips(STEP_CALL, SETGROUPS) ? 0 : __real_setgroups(count, groups);
}

int __wrap_setresgid(gid_t real, gid_t effective, gid_t saved)
{
	/* 0: the test whether root can be regained, which is no step. */
	return skips(STEP_CALL, SETRESGID) && real != 0 ? 0
							: __real_setresgid(real, effective, saved);
}

int __wrap_setresuid(uid_t real, uid_t effective, uid_t saved)
{
	return skips(STEP_CALL, SETRESUID) && real != 0 ? 0
							: __real_setresuid(real, effective, saved);
}

int __wrap_prctl(int option, ...)
{
	unsigned long a[4];
	va_list arguments;

	va_start(arguments, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(arguments, unsigned long);
	va_end(arguments);
	return skips(STEP_PRCTL, option) ? 0 : __real_prctl(option, a[0], a[1], a[2], a[3]);
}

int __wrap_setrlimit(int resource, const struct rlimit *limit)
{
	return skips(STEP_LIMIT, resource) ? 0 : __real_setrlimit(resource, limit);
}

long __wrap_syscall(long number, ...)
{
	static bool seen;
	long a[6];
	va_list arguments;

	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(arguments, long);
	va_end(arguments);
	/* The first one drops; the next ones try to regain. */
	if (number == SYS_capset && skips(STEP_CALL, CAPSET) && !seen) {
		seen = true;
		return 0;
	}
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int __wrap_landlock_restrict(int directory_fd, const uint16_t *ports, unsigned port_count)
{
	return skips(STEP_CALL, LANDLOCK)
		   ? (int)landlock_bits(landlock_abi())
		   : __real_landlock_restrict(directory_fd, ports, port_count);
}

bool mutant_forgets_filter(void)
{
	return skips(STEP_CALL, after_exec ? FILTER_2 : FILTER_1);
}

/* --- Judging --------------------------------------------------------------------------------- */

/* What the supervisor would say of it; NULL: it would be given links and credentials. */
static const char *accepted(pid_t pid, enum role role, unsigned in_force, struct err *err)
{
	struct role_id id = { (uint8_t)role, 0 };
	struct verify_expected expected = { .id = id,
		.uid = role_uid(id, ATTACK_UID_BASE),
		.parent = (uint32_t)getpid(),
		.filters = (uint32_t)verify_own_filters() };
	unsigned missing = sandbox_available() & ~in_force;
	struct verify_facts facts;

	if (missing) {
		(void)err_set(
		    err, "%s is not in force", sandbox_protection_name(missing & -missing));
		return err->text;
	}
	return verify_read(pid, &facts, err) || verify_judge(&expected, &facts, err) ? err->text
										     : NULL;
}

unsigned mutants_run(enum role role)
{
	const gid_t groups[] = { 4, 27 };
	unsigned wrong = 0, by_itself = 0, by_us = 0;

	if (__real_setgroups(2, groups) != 0)
		perror("setgroups"); /* then nothing is kept, and the mutant of it is not found */
	for (unsigned i = 0; i < STEPS; i++) {
		char text[256] = "", how[400];
		const char *why = NULL;
		struct started started;
		struct err err = { "" };
		uint64_t in_force = 0;
		bool said, refused;

		if (steps[i].bonus & ~sandbox_available())
			continue;
		mutant_become(i, false);
		if (!process_start(&started, role, LAYER_ALL, JOB_RECEIVE, i, NULL))
			return wrong + 1;
		mutant_become(0, false);
		said = process_await(&started, CONTROL_READY, &in_force, READY_MS);
		if (said)
			why = accepted(started.pid, role, (unsigned)in_force, &err);
		(void)process_end(&started, true, text, sizeof(text));
		refused = !said || why;
		by_itself += !said;
		by_us += said && why;
		(void)snprintf(how, sizeof(how), "%s%s",
		    !said ? "finds it itself: "
		    : why ? "found: "
			  : "accepted",
		    !said ? text
		    : why ? why
			  : "");
		printf("%-14s %-56s %-21s %-8s %s\n", "mutant", steps[i].name, "-",
		    i == 0 ? "accepted" : "refused", how);
		if (refused != (i > 0)) {
			printf("not ok - a mutant that %s: %s\n", steps[i].name, how);
			wrong++;
		}
	}
	(void)__real_setgroups(0, NULL);
	if (wrong == 0)
		printf("ok - mutants that leave out one step of their start: %u find it "
		       "themselves, %u "
		       "are found by the supervisor, none is accepted\n",
		    by_itself, by_us);
	return wrong;
}
