/*
 * Goal: a process that went through both halves of the sandbox is confined as its row says (F3,
 * F6, F13, F16, F33). Method: each case runs in a child that really drops root, locks itself and
 * then tries one thing; the parent looks at how it ended. Steps that are left out, waivers and the
 * runner: policy_sandbox_steps.c. Needs root, like understudyd; without it the cases are reported
 * as skipped.
 * Pitfalls: P44, P51, P98.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
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
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy/sandbox.h"
#include "policy/seccomp.h"

#define UID_BASE 20000
enum { PASSED = 0, NOT_LOCKED = 90, NO_ERROR = 91 };

static const uint16_t some_port[] = { 9 };

/* Both halves; ends the child when one of them refuses. */
static int enter(enum role role, unsigned waived)
{
	struct role_id id = { (uint8_t)role, 0 };
	bool dialer = (ROLE_BIT(role) & ROLE_DIALERS) != 0;
	struct err err = { "" };
	const char *step = sandbox_before_exec(id, role_uid(id, UID_BASE), waived);
	int bits;

	if (step) {
		dprintf(2, "before exec: %s: %s\n", step, strerror(errno));
		_exit(NOT_LOCKED);
	}
	if (sandbox_after_exec(id, &err) != 0)
		goto failed;
	bits = sandbox_lock(id, dialer ? some_port : NULL, dialer ? 1 : 0, waived, &err);
	if (bits >= 0)
		return bits;
failed:
	dprintf(2, "%s\n", err.text);
	_exit(NOT_LOCKED);
}

/* 2 is a pipe, as it is for a role: a file would be cut off by RLIMIT_FSIZE (F13). */
static int run(enum role role, int (*probe)(void))
{
	int status, log[2];
	char text[512];
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(log), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(log[1], 2);
		close(ROLE_FD_CONTROL);
		(void)enter(role, 0);
		_exit(probe());
	}
	close(log[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	n = read(log[0], text, sizeof(text) - 1);
	close(log[0]);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_LOCKED)
		fail_msg("%.*s", (int)(n > 0 ? n : 0), text);
	return status;
}

#define assert_passes(role, probe) assert_int_equal(run(role, probe), PASSED)
#define assert_kills(role, probe)                                                                  \
	do {                                                                                       \
		int status_ = run(role, probe);                                                    \
		assert_true(WIFSIGNALED(status_));                                                 \
		assert_int_equal(WTERMSIG(status_), SIGSYS);                                       \
	} while (0)

static int refused_with(long result, int error)
{
	return result >= 0 ? NO_ERROR : errno == error ? PASSED : errno;
}

/* --- What every role can no longer do, and is told so ---------------------------------------- */

static int probe_open(void)
{
	return refused_with(open("/etc/passwd", O_RDONLY), SECCOMP_SANITIZED ? EACCES : ENOENT);
}

static int probe_regain(void)
{
	return refused_with(setresuid(0, 0, 0), EPERM);
}

static int probe_connect(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET };

	return refused_with(connect(0, (struct sockaddr *)&to, sizeof(to)), EINPROGRESS);
}

static int probe_socketpair(void)
{
	int pair[2];

	return refused_with(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), EPERM);
}

static int probe_dumpable(void)
{
	return refused_with(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), EPERM);
}

/* RLIMIT_DATA; not malloc, which a compiler may leave out. */
static int probe_much_memory(void)
{
	void *memory = mmap(
	    NULL, (size_t)512 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory != MAP_FAILED ? NO_ERROR : errno == ENOMEM ? PASSED : errno;
}

static int probe_work(void)
{
	char *small = malloc(8 << 20), *large;
	bool kept;

	if (!small)
		return 1;
	memset(small, 1, 8 << 20);
	large = realloc(small, 16 << 20);
	if (!large) {
		free(small);
		return 2;
	}
	kept = large[1] == 1;
	free(large);
	if (!kept)
		return 2;
	return write(2, "x", 1) == 1 && getpid() > 0 ? PASSED : 3;
}

static void test_quiet_refusals(void **state)
{
	static const enum role roles[] = { ROLE_LOADER, ROLE_MONITOR, ROLE_OBSERVER, ROLE_ELECTOR,
		ROLE_SYNCER, ROLE_PUBLISHER, ROLE_REPOINTER, ROLE_SYNCER_DIALER };

	(void)state;
	for (unsigned i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		assert_passes(roles[i], probe_open);
		assert_passes(roles[i], probe_regain);
		assert_passes(roles[i], probe_work);
		if (!(ROLE_BIT(roles[i]) & ROLE_DIALERS))
			assert_passes(roles[i], probe_connect);
		if (SECCOMP_SANITIZED)
			continue;
		assert_passes(roles[i], probe_socketpair);
		assert_passes(roles[i], probe_dumpable);
		assert_passes(roles[i], probe_much_memory);
	}
}

/* --- What ends the process -------------------------------------------------------------------- */

static int probe_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0) >= 0;
}
static int probe_mptcp(void)
{
	return socket(AF_INET, SOCK_STREAM, 262) >= 0;
}
static int probe_unix_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
}
static int probe_fork(void)
{
	return syscall(SYS_fork) >= 0;
}
static int probe_exec(void)
{
	static char *const none[] = { NULL };

	return execve("/bin/true", none, none);
}
static int probe_kill(void)
{
	return kill(getpid(), SIGKILL);
}
static int probe_ptrace(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;
}
static int probe_executable_memory(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	       MAP_FAILED;
}
static int probe_send_to_address(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET };

	return sendto(0, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)) == 1;
}
static int probe_listen(void)
{
	return listen(0, 1);
}
static int probe_write_elsewhere(void)
{
	return write(0, "x", 1) == 1;
}
static int probe_truncate(void)
{
	return ftruncate(ROLE_FD_FENCE, 0);
}
static int probe_x32(void)
{
	return syscall(SYS_getpid | 0x40000000) >= 0;
}
static int probe_i386(void)
{
	long result;

	/* getpid of the 32-bit table, which is another call's number here. */
	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(20L)
			 : "memory", "r8", "r9", "r10", "r11");
	return result >= 0;
}

static void test_fatal_calls(void **state)
{
	static int (*const probes[])(void) = { probe_socket, probe_mptcp, probe_unix_socket,
		probe_fork, probe_exec, probe_kill, probe_ptrace, probe_executable_memory,
		probe_send_to_address, probe_listen, probe_write_elsewhere, probe_truncate,
		probe_x32, probe_i386 };

	(void)state;
	if (SECCOMP_SANITIZED)
		skip();
	for (unsigned i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		assert_kills(ROLE_ELECTOR, probes[i]);
	assert_kills(ROLE_SYNCER, probe_socket);
	assert_kills(ROLE_LOADER, probe_socket);
	assert_kills(ROLE_MONITOR, probe_socket);
	assert_kills(ROLE_SYNCER_DIALER, probe_mptcp);
	assert_kills(ROLE_SYNCER_DIALER, probe_unix_socket);
	assert_kills(ROLE_SYNCER_DIALER, probe_listen);
}

/* A bug is reported as a bug, not as a breach of the sandbox (F6). */
static int probe_abort(void)
{
	abort();
}

static void test_abort_is_sigabrt(void **state)
{
	int status;

	(void)state;
	status = run(ROLE_SYNCER, probe_abort);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

/* --- Dialers ---------------------------------------------------------------------------------- */

static int dial(uint16_t port, int error)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);

	if (fd < 0)
		return 1;
	return refused_with(connect(fd, (struct sockaddr *)&to, sizeof(to)), error);
}
static int probe_dial_its_target(void)
{
	return dial(some_port[0], ECONNREFUSED);
}
static int probe_dial_dns(void)
{
	return dial(53, ECONNREFUSED);
}
static int probe_dial_elsewhere(void)
{
	return dial(some_port[0] + 1, EACCES);
}

/* Landlock by port, section 6: its targets' ports and that of DNS. */
static void test_a_dialer_reaches_its_ports_only(void **state)
{
	(void)state;
	if (!(sandbox_available() & SANDBOX_LANDLOCK_NET))
		skip();
	assert_passes(ROLE_SYNCER_DIALER, probe_dial_its_target);
	assert_passes(ROLE_SYNCER_DIALER, probe_dial_dns);
	assert_passes(ROLE_SYNCER_DIALER, probe_dial_elsewhere);
}

/* --- Being stopped ---------------------------------------------------------------------------- */

static int wait_for_input(void)
{
	struct pollfd fd = { .fd = 0, .events = POLLIN };
	char byte;

	if (write(2, "r", 1) != 1 || poll(&fd, 1, 10000) != 1)
		return 1;
	return read(0, &byte, 1) == 1 ? PASSED : 2;
}

/* The kernel brings a continued process back into poll by a call that no program makes itself. */
static void test_survives_stop_and_continue(void **state)
{
	int input[2], log[2], status;
	char text[256] = "";
	pid_t pid;

	(void)state;
	for (int round = 0; round < 20; round++) {
		assert_int_equal(pipe(input) | pipe(log), 0);
		pid = fork();
		if (pid == 0) {
			dup2(input[0], 0);
			dup2(log[1], 2);
			(void)enter(ROLE_OBSERVER, 0);
			_exit(wait_for_input());
		}
		close(log[1]);
		assert_int_equal(read(log[0], text, sizeof(text) - 1), 1);
		assert_int_equal(kill(pid, SIGSTOP), 0);
		assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
		assert_true(WIFSTOPPED(status));
		assert_int_equal(kill(pid, SIGCONT), 0);
		assert_int_equal(write(input[1], "x", 1), 1);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, PASSED);
		close(input[0]);
		close(input[1]);
		close(log[0]);
	}
}

/* --- Limits and identity ---------------------------------------------------------------------- */

static uint64_t limit_of(enum __rlimit_resource resource)
{
	struct rlimit limit;

	return getrlimit(resource, &limit) == 0 && limit.rlim_cur == limit.rlim_max ? limit.rlim_cur
										    : 12345;
}

/* In a child without filter 2, so that it can ask. */
static int look_before_lock(void)
{
	struct role_id id = { ROLE_REPOINTER, 3 };
	struct err err;
	mode_t mask;

	if (sandbox_before_exec(id, role_uid(id, UID_BASE), 0) || sandbox_after_exec(id, &err) != 0)
		return NOT_LOCKED;
	mask = umask(0);
	if (getuid() != UID_BASE + 35 || getgid() != UID_BASE + 35 || getgroups(0, NULL) != 0)
		return 1;
	if (limit_of(RLIMIT_CORE) != 0 || limit_of(RLIMIT_FSIZE) != 0 || mask != 077)
		return 2;
	if (limit_of(RLIMIT_NOFILE) != role_row(ROLE_REPOINTER)->nofile)
		return 3;
	if (!SECCOMP_SANITIZED &&
	    (limit_of(RLIMIT_NPROC) != 0 ||
		limit_of(RLIMIT_DATA) != (uint64_t)role_row(ROLE_REPOINTER)->data_mib << 20))
		return 4;
	if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return 5;
	if (prctl(PR_CAPBSET_READ, 0, 0, 0, 0) != 0)
		return 6;
	return access("/etc/shadow", R_OK) == 0 ? 7 : PASSED;
}

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

static void test_limits_and_identity(void **state)
{
	(void)state;
	assert_int_equal(in_child(look_before_lock), PASSED);
}

/* F27: what root's capability hides, a role would meet. */
static int look_without_locked_memory(void)
{
	const struct rlimit none = { 0, 0 };

	if (setrlimit(RLIMIT_MEMLOCK, &none) != 0)
		return NOT_LOCKED;
	return sandbox_available() & SANDBOX_MLOCK ? NO_ERROR : PASSED;
}

static void test_a_limit_of_locked_memory_is_seen(void **state)
{
	(void)state;
	assert_int_equal(in_child(look_without_locked_memory), PASSED);
}

static void test_names_of_protections(void **state)
{
	(void)state;
	for (unsigned bit = 1; bit <= SANDBOX_ALL; bit <<= 1)
		assert_int_equal(sandbox_protection_by_name(sandbox_protection_name(bit)), bit);
	assert_int_equal(sandbox_protection_by_name("seccomp"), 0);
	assert_int_equal(sandbox_protection_by_name(""), 0);
	assert_null(sandbox_protection_name(3));
	assert_null(sandbox_protection_name(SANDBOX_ALL + 1));
	assert_string_equal(sandbox_protection_name(SANDBOX_MLOCK), "mlock");
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
		ROOT_TEST(test_quiet_refusals),
		ROOT_TEST(test_fatal_calls),
		ROOT_TEST(test_abort_is_sigabrt),
		ROOT_TEST(test_a_dialer_reaches_its_ports_only),
		ROOT_TEST(test_survives_stop_and_continue),
		ROOT_TEST(test_limits_and_identity),
		ROOT_TEST(test_a_limit_of_locked_memory_is_seen),
		cmocka_unit_test(test_names_of_protections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
