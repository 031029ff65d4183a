/*
 * Goal: Landlock alone, without any filter, keeps a process from files, from TCP ports that are
 * not its own, and within the hand-over directory (section 6 of the rules, F33, F36). Method:
 * children that restrict themselves; each probe has a twin without Landlock that succeeds, so that
 * a machine on which everything fails is not taken for a protected one.
 * Pitfall: P92.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy/landlock.h"
#include "policy/sandbox.h"

static char directory[] = "/tmp/understudy-landlock-XXXXXX";

/* The errno of the probe in a child, 0 when it succeeded. */
static int in_child(
    bool restricted, int directory_fd, const uint16_t *ports, unsigned count, int (*probe)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		    (restricted && landlock_restrict(directory_fd, ports, count) <= 0))
			_exit(250);
		errno = 0;
		_exit(probe() < 0 ? errno : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int read_file(void)
{
	return open("/etc/passwd", O_RDONLY);
}
static int read_directory(void)
{
	return open("/", O_RDONLY | O_DIRECTORY);
}
static int make_outside(void)
{
	return open("/tmp", O_TMPFILE | O_RDWR, 0600);
}
static int run_program(void)
{
	static char *const none[] = { NULL };

	return execve("/bin/true", none, none);
}
static int make_inside(void)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/token", directory);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0640);
	return fd < 0 || write(fd, "x", 1) != 1 ? -1 : unlink(path);
}
static int swap_inside(void)
{
	char from[64], to[64];

	(void)snprintf(from, sizeof(from), "%s/new", directory);
	(void)snprintf(to, sizeof(to), "%s/data", directory);
	if (mkdir(from, 0750) != 0 || mkdir(to, 0750) != 0 ||
	    renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) != 0 || rmdir(from) != 0)
		return -1;
	return rmdir(to);
}

static void test_no_file(void **state)
{
	static int (*const probes[])(
	    void) = { read_file, read_directory, make_outside, run_program, make_inside };

	(void)state;
	if (landlock_abi() == 0)
		skip();
	for (unsigned i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		assert_int_equal(in_child(false, -1, NULL, 0, probes[i]), 0);
		assert_int_equal(in_child(true, -1, NULL, 0, probes[i]), EACCES);
	}
}

static void test_only_the_handover_directory(void **state)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	if (landlock_abi() == 0)
		skip();
	assert_int_equal(in_child(true, fd, NULL, 0, make_inside), 0);
	assert_int_equal(in_child(true, fd, NULL, 0, swap_inside), 0);
	assert_int_equal(in_child(true, fd, NULL, 0, make_outside), EACCES);
	assert_int_equal(in_child(true, fd, NULL, 0, read_file), EACCES);
	close(fd);
}

/* A listener that the child connects to. */
static struct sockaddr_in listener;

static int connect_to_listener(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&listener, sizeof(listener));
}
static int bind_any(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return fd < 0 ? -1 : bind(fd, (struct sockaddr *)&any, sizeof(any));
}

static void test_ports(void **state)
{
	uint16_t ports[2] = { 1, 0 };
	socklen_t size = sizeof(listener);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	if (landlock_abi() < 4)
		skip();
	listener.sin_family = AF_INET;
	listener.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&listener, sizeof(listener)), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&listener, &size), 0);
	ports[1] = ntohs(listener.sin_port);
	assert_int_equal(in_child(true, -1, ports, 2, connect_to_listener), 0);
	assert_int_equal(in_child(true, -1, ports, 1, connect_to_listener), EACCES);
	assert_int_equal(in_child(true, -1, NULL, 0, connect_to_listener), EACCES);
	assert_int_equal(in_child(false, -1, NULL, 0, bind_any), 0);
	assert_int_equal(in_child(true, -1, ports, 2, bind_any), EACCES);
	close(fd);
}

static int signal_parent(void)
{
	return kill(getppid(), 0);
}

static void test_signals(void **state)
{
	(void)state;
	if (landlock_abi() < 6)
		skip();
	assert_int_equal(in_child(false, -1, NULL, 0, signal_parent), 0);
	assert_int_equal(in_child(true, -1, NULL, 0, signal_parent), EPERM);
}

static void test_bits_by_abi(void **state)
{
	(void)state;
	assert_int_equal(landlock_bits(0), 0);
	assert_int_equal(landlock_bits(1), SANDBOX_LANDLOCK_FS);
	assert_int_equal(landlock_bits(3), SANDBOX_LANDLOCK_FS);
	assert_int_equal(landlock_bits(4), SANDBOX_LANDLOCK_FS | SANDBOX_LANDLOCK_NET);
	assert_int_equal(
	    landlock_bits(6), SANDBOX_LANDLOCK_FS | SANDBOX_LANDLOCK_NET | SANDBOX_LANDLOCK_SCOPE);
	assert_int_equal(landlock_bits(99), landlock_bits(6));
}

static int make_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
	(void)state;
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_only_the_handover_directory),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_bits_by_abi),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
