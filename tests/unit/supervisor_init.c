/*
 * Goal: every child is reaped however many end at once, and the cause of an end is named; a
 * sandbox violation is told apart from other signals (P1, P4, P13); it locks
 * itself. Method: children of this
 * process.
 * Pitfalls: P2, P3, P5, P19, P20, P61.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy/seccomp.h"
#include "supervisor/init.h"
#include "supervisor/verify.h"

static int ended;

static void count(void *arg, pid_t pid, int status)
{
	(void)arg;
	assert_true(pid > 0);
	assert_true(WIFEXITED(status));
	ended++;
}

static void many_children_are_all_reaped(void **state)
{
	siginfo_t info;
	struct err err;
	int fd;

	(void)state;
	fd = init_open_signals(&err);
	assert_true(fd >= 0);
	for (int i = 0; i < 200; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		/* Dead, not reaped: their signals merge. */
		assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	}
	assert_int_equal(init_next_signal(fd), SIGCHLD);
	assert_int_equal(init_next_signal(fd), 0);
	init_reap(count, NULL);
	assert_int_equal(ended, 200);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	close(fd);
}

static void signals_come_by_the_descriptor(void **state)
{
	struct err err;
	int fd;

	(void)state;
	fd = init_open_signals(&err);
	assert_int_equal(init_next_signal(fd), 0);
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	assert_int_equal(init_next_signal(fd), SIGTERM);
	close(fd);
}

static const char *cause_of(int number, int code)
{
	static char text[64];
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		(void)signal(number, SIG_DFL); /* cmocka catches some. */
		if (number)
			(void)raise(number);
		_exit(code);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return init_cause(status, text, sizeof(text));
}

static void causes_are_named(void **state)
{
	(void)state;
	assert_string_equal(cause_of(0, 3), "exit code 3");
	assert_string_equal(cause_of(SIGKILL, 0), "SIGKILL");
	assert_string_equal(cause_of(SIGSYS, 0), "SIGSYS: a sandbox violation");
	assert_string_equal(cause_of(SIGABRT, 0), "SIGABRT");
}

/* P20: started with 0 to 2 closed, nothing that is opened later becomes one of them; P19: what a
 * parent left open is gone; P2: orphans come to us. */
static int start_bare(void)
{
	struct err err;
	rlim_t files;
	int left = fcntl(0, F_DUPFD, 50), reaper = 0;

	if (left < 0 || close(0) != 0 || close(1) != 0 || close(2) != 0)
		return 1;
	if (init_prepare(&files, &err) != 0 || dup(0) <= STDERR_FILENO)
		return 2;
	if (fcntl(left, F_GETFD) >= 0 || errno != EBADF)
		return 3;
	return prctl(PR_GET_CHILD_SUBREAPER, &reaper, 0, 0, 0) == 0 && reaper == 1 ? 0 : 4;
}

static void it_begins_with_three_descriptors(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(start_bare());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void inherited_dispositions_are_reset(void **state)
{
	struct sigaction now;
	rlim_t files;
	struct err err;

	(void)state;
	(void)signal(SIGCHLD, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	assert_int_equal(init_prepare(&files, &err), 0);
	assert_int_equal(sigaction(SIGCHLD, NULL, &now), 0);
	assert_ptr_equal(now.sa_handler, SIG_DFL);
	assert_int_equal(sigaction(SIGPIPE, NULL, &now), 0);
	assert_ptr_equal(now.sa_handler, SIG_IGN);
	assert_true(files > 0);
}

/* F29: what nobody below us needs is refused to us as well, and we still can do our work. */
static int lock_and_try(void)
{
	struct err err;
	int before = verify_own_filters(), pair[2];
	pid_t pid;

	if (init_lock_down(&err) != 0 || verify_own_filters() != before + 1)
		return 1;
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 || errno != EPERM)
		return 2;
	if (unshare(CLONE_FILES) == 0 || errno != EPERM || personality(0xffffffff) != -1)
		return 3;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
		return 4;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0 ||
	    socket(AF_INET, SOCK_STREAM, 0) < 0)
		return 5;
	pid = fork();
	if (pid == 0)
		_exit(0);
	return pid > 0 && waitpid(pid, NULL, 0) == pid ? 0 : 6;
}

static void the_supervisor_locks_itself(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (SECCOMP_SANITIZED)
		skip();
	pid = fork();
	if (pid == 0)
		_exit(lock_and_try());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void too_few_descriptors_are_refused(void **state)
{
	const struct rlimit few = { 64, 64 };
	rlim_t files;
	struct err err = { "" };
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		if (setrlimit(RLIMIT_NOFILE, &few) != 0)
			_exit(1);
		_exit(init_prepare(&files, &err) == -1 &&
			      strstr(err.text, "RLIMIT_NOFILE: the hard limit is 64, expected")
			  ? 0
			  : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inherited_dispositions_are_reset),
		cmocka_unit_test(many_children_are_all_reaped),
		cmocka_unit_test(signals_come_by_the_descriptor),
		cmocka_unit_test(causes_are_named),
		cmocka_unit_test(it_begins_with_three_descriptors),
		cmocka_unit_test(the_supervisor_locks_itself),
		cmocka_unit_test(too_few_descriptors_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
