/*
 * Goal: no role leaves a core file, whatever becomes of its limits: what it holds stays in memory
 * (F30). Method: a child with a planted token in its memory that really enters the row and aborts
 * in a folder where it may write, with its limits raised again by root; first the same outside of
 * the row, where the core must be there, with the token in it. Needs root. Pitfall: P99.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy/sandbox.h"
#include "policy/seccomp.h"

#define UID_BASE 20000
enum { NOT_LOCKED = 90 };

static char folder[] = "/tmp/understudy-cores-XXXXXX";

/* Not in this program's text, so that it is found in memory only. */
static void plant(char *memory)
{
	for (int i = 0; i < 24; i++)
		memory[i] = (char)('A' + (i * 7 + 3) % 26);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) && chmod(folder, 0777) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

static bool holds_token(int fd)
{
	struct stat st;
	char token[24];
	void *map, *found;

	plant(token);
	if (fstat(fd, &st) != 0 || st.st_size == 0)
		return false;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(map != MAP_FAILED);
	found = memmem(map, (size_t)st.st_size, token, sizeof(token));
	(void)munmap(map, (size_t)st.st_size);
	return found != NULL;
}

/* Takes away what lies in the folder; how many files, and whether one has the token. */
static unsigned collect(bool *has_token)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	unsigned count = 0;

	*has_token = false;
	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL) {
		int fd;

		if (entry->d_name[0] == '.')
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		*has_token = *has_token || holds_token(fd);
		close(fd);
		(void)unlinkat(dirfd(dir), entry->d_name, 0);
		count++;
	}
	closedir(dir);
	return count;
}

enum how { OUTSIDE, DUMPABLE, IN_ROW, WITHOUT_LIMITS };

/* The row's limits on cores and files are left out where the test says so. */
static bool leaves_out;

int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	if (leaves_out && (resource == RLIMIT_CORE || resource == RLIMIT_FSIZE))
		return 0;
	return prlimit(0, resource, limit, NULL);
}

/* In the child: says when it is where it should be, and aborts when told. */
_Noreturn static void live(enum role role, enum how how)
{
	struct role_id id = { (uint8_t)role, 0 };
	bool dialer = (ROLE_BIT(role) & ROLE_DIALERS) != 0;
	uint16_t port = 9;
	struct rlimit limit;
	struct err err;
	char *memory = malloc(64), c;

	if (!memory || getrlimit(RLIMIT_CORE, &limit) != 0)
		_exit(NOT_LOCKED);
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_CORE, &limit);
	leaves_out = how == WITHOUT_LIMITS;
	plant(memory);
	__asm__ volatile("" : : "r"(memory) : "memory"); /* Nobody reads it, and it stays. */
	if (how != OUTSIDE && sandbox_before_exec(id, role_uid(id, UID_BASE), 0))
		_exit(NOT_LOCKED);
	if (chdir(folder) != 0)
		_exit(NOT_LOCKED);
	if (how >= IN_ROW && (sandbox_after_exec(id, &err) ||
				 sandbox_lock(id, dialer ? &port : NULL, dialer, 0, &err) < 0))
		_exit(NOT_LOCKED);
	/* As exec leaves it. */
	if (how == DUMPABLE && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0)
		_exit(NOT_LOCKED);
	if (write(STDERR_FILENO, "x", 1) != 1 || read(STDIN_FILENO, &c, 1) != 1)
		_exit(NOT_LOCKED);
	abort();
}

/* Status of waitpid of one that aborted. */
static int end(enum role role, enum how how)
{
	int input[2], output[2], status = -1;
	pid_t pid;
	char c;

	assert_int_equal(pipe2(input, O_CLOEXEC) | pipe2(output, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		(void)dup2(input[0], STDIN_FILENO);
		(void)dup2(output[1], STDERR_FILENO);
		/* The follower's directory. */
		(void)dup2(open("/dev", O_PATH | O_DIRECTORY), ROLE_FD_FILES);
		live(role, how);
	}
	close(output[1]);
	assert_int_equal(read(output[0], &c, 1), 1);
	assert_int_equal(write(input[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(input[0]);
	close(input[1]);
	close(output[0]);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	return status;
}

static bool cores_are_files_here(void)
{
	char pattern[128] = "";
	int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, pattern, sizeof(pattern) - 1) > 0)
		close(fd);
	return pattern[0] && pattern[0] != '|' && !strchr(pattern, '/');
}

static void no_role_leaves_a_core(void **state)
{
	bool has_token;

	(void)state;
	if (geteuid() != 0 || SECCOMP_SANITIZED)
		skip();
	/* Where root's own process leaves none either, nothing can be shown. */
	if (!WCOREDUMP(end(ROLE_OBSERVER, OUTSIDE)))
		skip();
	assert_int_equal(collect(&has_token) > 0, cores_are_files_here());
	assert_int_equal(has_token, cores_are_files_here());
	/* With the row's uid and filter 1, as a role that forgot the rest: this is what would be.
	 */
	assert_true(WCOREDUMP(end(ROLE_OBSERVER, DUMPABLE)));
	assert_int_equal(collect(&has_token) > 0, cores_are_files_here());
	assert_int_equal(has_token, cores_are_files_here());
	for (unsigned role = ROLE_RUNNER; role < ROLE_COUNT; role++) {
		for (unsigned how = IN_ROW; how <= WITHOUT_LIMITS; how++) {
			if (WCOREDUMP(end(role, how)))
				fail_msg("%s left a core", role_name(role));
			assert_int_equal(collect(&has_token), 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(no_role_leaves_a_core) };

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
