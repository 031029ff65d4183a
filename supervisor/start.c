/*
 * Makes processes (see the header; order: sandbox-rules 3). Between fork and exec only
 * async-signal-safe calls are made and nothing is allocated. Called by process.c.
 * Pitfalls: P6, P10, P27, P73, P74.
 */
#include "supervisor/start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/signals.h"
#include "policy/sandbox.h"

/* uid-base of interfaces (d): the loader runs under it while the configuration is not yet read. */
#define DEFAULT_UID_BASE 20000

#define PACKAGED_IN "/usr/bin"
#define PACKAGED_TO "/usr/libexec/understudy"

enum { EXIT_SANDBOX = 70 };

int start_open_program(enum role role, struct err *err)
{
	const char *program = role_row(role)->program;
	char self[PATH_MAX], path[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;
	int fd;

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return err_set(
		    err, "cannot tell where understudyd itself lies: %s", strerror(errno));
	*slash = '\0';
	(void)snprintf(path, sizeof(path), "%s/%s",
	    strcmp(self, PACKAGED_IN) == 0 ? PACKAGED_TO : self, program);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return err_set(
		    err, "%s: %s (the program of role %s)", path, strerror(errno), role_name(role));
	return fd;
}

int start_open_programs(int *programs, uint32_t roles, struct err *err)
{
	for (unsigned role = ROLE_RUNNER; role < ROLE_COUNT; role++) {
		if (!(roles & ROLE_BIT(role)) || programs[role] >= 0)
			continue;
		programs[role] = start_open_program(role, err);
		if (programs[role] < 0)
			return -1;
	}
	return 0;
}

uid_t start_uid(uid_t uid, unsigned available)
{
	return available & SANDBOX_UID_SEPARATION ? uid : 0;
}

uid_t start_role_uid(const struct us_config *config, struct role_id id, unsigned available)
{
	return start_uid(role_uid(id, config ? config->uid_base : DEFAULT_UID_BASE), available);
}

unsigned start_waived(const struct us_config *config, unsigned available)
{
	return config ? config->allow_missing : SANDBOX_REQUIRED & ~available;
}

void start_clear_fds(struct start_plan *plan)
{
	for (int i = 0; i < START_MAX_FDS; i++)
		plan->fds[i] = -1;
}

const char *start_keep_capabilities(uint64_t keep, bool bounding_waived)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 0 }, { 0 } };

	/* Up to the last one that the kernel knows, not that the headers know. */
	for (unsigned cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if ((keep >> cap & 1) == 0 && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1 &&
		    prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0 && !bounding_waived)
			return "bounding set";
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
		return "ambient capabilities";
	if (syscall(SYS_capget, &header, data) != 0)
		return "capget";
	for (int i = 0; i < 2; i++) {
		uint32_t half = (uint32_t)(keep >> (32 * i));

		data[i].permitted &= half;
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, data) == 0 ? NULL : "capset";
}

/* --- In the child --------------------------------------------------------------------------- */

_Noreturn static void give_up(const char *step)
{
	const char *parts[] = { "cannot start: ", step, ": ", strerrordesc_np(errno), "\n" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i])
			(void)!write(STDERR_FILENO, parts[i], strlen(parts[i]));
	_exit(EXIT_SANDBOX);
}

/* First all to high numbers, so that no target is still somebody's source; then to their places.
 * Everything else is closed by exec. The program gets a number of its own as well. */
static int place_fds(const struct start_plan *plan)
{
	int moved[START_MAX_FDS], program;

	for (int i = 0; i < START_MAX_FDS; i++)
		if ((moved[i] = plan->fds[i]) >= 0 &&
		    (moved[i] = fcntl(plan->fds[i], F_DUPFD_CLOEXEC, START_MAX_FDS)) < 0)
			give_up("descriptors");
	program = fcntl(plan->program, F_DUPFD_CLOEXEC, START_MAX_FDS);
	if (program < 0)
		give_up("descriptors");
	for (int i = 0; i < START_MAX_FDS; i++) {
		if (moved[i] < 0)
			(void)close(i);
		else if (dup2(moved[i], i) != i)
			give_up("descriptors");
	}
	if (syscall(SYS_close_range, START_MAX_FDS, ~0U, CLOSE_RANGE_CLOEXEC) != 0)
		give_up("close_range");
	return program;
}

/* The workload gets the limit that we were started with, not the one that we need. */
static void restore_files(rlim_t files)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || files >= limit.rlim_cur)
		return;
	limit.rlim_cur = files;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

_Noreturn static void run_child(const struct start_plan *plan)
{
	/* Nothing of ours. libcurl loads GnuTLS for protocols that nobody speaks here; it would
	 * make its tables in each process (F9). */
	static char *const environment[] = { "GNUTLS_NO_IMPLICIT_INIT=1", NULL };
	const char *failed;
	int program;

	signals_reset();
	(void)setsid();
	program = place_fds(plan);
	restore_files(plan->files);
	failed = sandbox_before_exec(plan->id, plan->uid, plan->waived);
	if (failed)
		give_up(failed);
	(void)syscall(SYS_execveat, program, "", plan->argv, environment, AT_EMPTY_PATH);
	give_up("exec");
}

int start_process(const struct start_plan *plan, pid_t *pid, struct err *err)
{
	*pid = fork();
	if (*pid == 0)
		run_child(plan);
	if (*pid < 0)
		return err_set(
		    err, "cannot start %s: fork: %s", role_name(plan->id.role), strerror(errno));
	return 0;
}
