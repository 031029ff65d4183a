/*
 * Process 1 duties (see the header). No signal handler does any work: signals are read from a
 * descriptor (P5), and reaping goes on until nothing is left, however many signals merged
 * (P1).
 * Pitfalls: P2, P3, P13, P61.
 */
#include "supervisor/init.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/signals.h"
#include "policy/seccomp.h"

/* Two per process of a large fleet's start: one loader per worker. */
#define INIT_FILES 4096
/* With fewer a small pair starts half of its processes and tries for the others for ever. */
#define INIT_FILES_LEAST 512

int init_prepare(rlim_t *files, struct err *err)
{
	struct rlimit limit;
	int fd;

	do /* Else a socket could become descriptor 2 (P20). */
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		return err_set(err, "/dev/null: %s", strerror(errno));
	/* Whatever our parent left open is nobody's business here (P19). */
	if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0) != 0)
		return err_set(err, "close_range: %s", strerror(errno));
	signals_reset();
	(void)signal(SIGPIPE, SIG_IGN);
	(void)umask(022);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return err_set(err, "prctl: %s", strerror(errno));
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return err_set(err, "getrlimit: %s", strerror(errno));
	*files = limit.rlim_cur;
	if (limit.rlim_cur < INIT_FILES) {
		limit.rlim_cur = limit.rlim_max < INIT_FILES ? limit.rlim_max : INIT_FILES;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur < INIT_FILES_LEAST)
		return err_set(err, "RLIMIT_NOFILE: the hard limit is %llu, expected at least %d",
		    (unsigned long long)limit.rlim_max, INIT_FILES_LEAST);
	return 0;
}

int init_lock_down(struct err *err)
{
	struct seccomp_program filter;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return err_set(err, "cannot lock down: %s", strerror(errno));
	seccomp_build_first(&filter, ROLE_SUPERVISOR);
	if (seccomp_load(&filter) != 0)
		return err_set(err, "cannot lock down: system call filter: %s", strerror(errno));
	return 0;
}

int init_open_signals(struct err *err)
{
	static const int handled[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1,
		SIGUSR2 };
	sigset_t set;
	int fd;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
		(void)sigaddset(&set, handled[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return err_set(err, "sigprocmask: %s", strerror(errno));
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd >= 0 ? fd : err_set(err, "signalfd: %s", strerror(errno));
}

int init_next_signal(int fd)
{
	struct signalfd_siginfo info;

	return read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info) ? (int)info.ssi_signo : 0;
}

void init_reap(void (*ended)(void *arg, pid_t pid, int status), void *arg)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) != 0) {
		if (pid > 0)
			ended(arg, pid, status);
		else if (errno != EINTR)
			break;
	}
}

const char *init_cause(int status, char *text, size_t size)
{
	const char *name;

	if (WIFEXITED(status)) {
		(void)snprintf(text, size, "exit code %d", WEXITSTATUS(status));
		return text;
	}
	name = sigabbrev_np(WTERMSIG(status));
	(void)snprintf(text, size, "SIG%s%s", name ? name : "?",
	    WTERMSIG(status) == SIGSYS ? ": a sandbox violation" : "");
	return text;
}
