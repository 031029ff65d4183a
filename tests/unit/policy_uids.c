/*
 * Goal: every process of a uid is found and ended, also those that left the group, the session and
 * the parent, ignore SIGTERM and go on forking; nobody else is reached; the signalling child cannot
 * be stopped by them (F5). Method: real processes under spare uids; needs root.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy/uids.h"

enum { VICTIM = 52008, HELPER = 52016, BYSTANDER = 52009 };

static int ready[2];

static int open_ready(void **state)
{
	(void)state;
	if (geteuid() != 0)
		return 0;
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) || pipe(ready) ? -1 : 0;
}

static int close_ready(void **state)
{
	(void)state;
	if (geteuid() != 0)
		return 0;
	close(ready[0]);
	close(ready[1]);
	return 0;
}

static void become(uid_t uid)
{
	if (setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0)
		_exit(1);
}

_Noreturn static void stay(void)
{
	if (write(ready[1], "x", 1) != 1)
		_exit(1);
	for (;;)
		(void)pause();
}

static void await(int count)
{
	char byte;

	while (count-- > 0)
		assert_int_equal(read(ready[0], &byte, 1), 1);
}

/* Leaves group, session and parent, and does not mind SIGTERM. */
static void start_escapist(void)
{
	if (fork() != 0)
		return;
	become(VICTIM);
	(void)signal(SIGTERM, SIG_IGN);
	for (int i = 0; i < 3; i++)
		if (fork() == 0) {
			(void)setsid();
			if (fork() == 0) {
				(void)setsid();
				stay();
			}
			_exit(0);
		}
	stay();
}

static void reap_all(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		continue;
}

static bool is_empty(uid_t uid)
{
	struct uids_found found;

	reap_all();
	assert_int_equal(uids_find(uid, uid, &found), 0);
	return found.pid == 0;
}

/* Rounds until none is left, as runner and supervisor do it. */
static void end_all(uid_t uid)
{
	int rounds = 0;

	while (!is_empty(uid)) {
		assert_true(rounds++ < 10000);
		assert_int_equal(uids_signal(uid, HELPER, SIGKILL), 0);
	}
}

static void finds_by_any_uid_and_names_it(void **state)
{
	struct uids_found found;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_true(is_empty(VICTIM));
	pid = fork();
	if (pid == 0) {
		if (setresuid(0, 0, VICTIM) != 0)
			_exit(1);
		stay();
	}
	await(1);
	assert_int_equal(uids_find(VICTIM - 3, VICTIM + 3, &found), 0);
	assert_int_equal(found.pid, pid);
	assert_int_equal(found.uid, VICTIM);
	assert_true(found.name[0] != '\0');
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_zombie_is_nobody(void **state)
{
	siginfo_t info;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	pid = fork();
	if (pid == 0) {
		become(VICTIM);
		_exit(0);
	}
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	struct uids_found found;
	assert_int_equal(uids_find(VICTIM, VICTIM, &found), 0);
	assert_int_equal(found.pid, 0);
	reap_all();
}

/* F5: a process group would have left six of seven. */
static void escapists_are_ended(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	start_escapist();
	await(4);
	assert_int_equal(uids_signal(VICTIM, HELPER, SIGTERM), 0);
	assert_false(is_empty(VICTIM));
	end_all(VICTIM);
}

static void a_fork_bomb_is_ended(void **state)
{
	const struct rlimit limit = { 40, 40 };

	(void)state;
	if (geteuid() != 0)
		skip();
	if (fork() == 0) {
		become(VICTIM);
		(void)setrlimit(RLIMIT_NPROC, &limit);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			(void)fork();
	}
	await(1);
	end_all(VICTIM);
}

/* A victim that stops and kills everything that it may, all the time. */
static void victims_cannot_stop_the_helper(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	if (fork() == 0) {
		become(VICTIM);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			(void)kill(-1, SIGSTOP);
	}
	await(1);
	end_all(VICTIM);
}

static void nobody_else_is_reached(void **state)
{
	pid_t bystander;
	int status;

	(void)state;
	if (geteuid() != 0)
		skip();
	bystander = fork();
	if (bystander == 0) {
		become(BYSTANDER);
		stay();
	}
	start_escapist();
	await(5);
	end_all(VICTIM);
	assert_int_equal(waitpid(bystander, &status, WNOHANG), 0);
	assert_int_equal(kill(bystander, SIGKILL), 0);
	assert_int_equal(waitpid(bystander, &status, 0), bystander);
}

/* F5, F24: a process that could not be looked at is not one that is not there. */
static void without_descriptors_nobody_is_called_absent(void **state)
{
	struct rlimit limit, tight;
	struct uids_found found;
	int lowest = dup(STDIN_FILENO), result, error;

	(void)state;
	close(lowest);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	tight = (struct rlimit){ (rlim_t)lowest + 1, limit.rlim_max }; /* the folder, and no more */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	result = uids_find(VICTIM, VICTIM, &found);
	error = errno;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(result, -1);
	assert_int_equal(error, EMFILE);
	assert_int_equal(found.pid, 0);
}

static void root_is_never_the_uid(void **state)
{
	(void)state;
	assert_int_equal(uids_signal(0, HELPER, SIGCONT), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(uids_signal(VICTIM, 0, SIGCONT), -1);
	if (geteuid() != 0)
		assert_int_equal(uids_signal(VICTIM, HELPER, SIGCONT), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_ready, close_ready)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(finds_by_any_uid_and_names_it),
		TEST(a_zombie_is_nobody),
		TEST(escapists_are_ended),
		TEST(a_fork_bomb_is_ended),
		TEST(victims_cannot_stop_the_helper),
		TEST(nobody_else_is_reached),
		TEST(root_is_never_the_uid),
		TEST(without_descriptors_nobody_is_called_absent),
	};

	(void)alarm(300); /* A hang is a failure. */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
