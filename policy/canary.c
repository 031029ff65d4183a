/*
 * What a canary tries (see the header). No probe may change anything beyond its process, also where
 * it succeeds: arguments are such that the kernel itself would answer another errno than the filter
 * does. Called by ipc/role.c and runner/main.c, whose programs these are; the list is read by the
 * supervisor's audit. It takes no input but its arguments.
 */
#include "policy/canary.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "policy/control.h"
#include "policy/sandbox.h"

enum { EXIT_NO_SUPERVISOR = 64, EXIT_SANDBOX = 70 };

#define ANY_ROLE (ROLE_BIT(ROLE_COUNT) - 1)
#define RUNNER   ROLE_BIT(ROLE_RUNNER)
/* Those with filter 1 alone, which refuses with an errno. */
#define ROOT   (RUNNER | ROLE_BIT(ROLE_SUPERVISOR))
#define LOCKED (ANY_ROLE & ~ROOT)

#define X32_GETPID   (0x40000000L | SYS_getpid)
#define DISCARD_PORT 9
#define NO_COMMAND   0x7fffffffL

#define TRY(name, expression)                                                                      \
	static long name(void)                                                                     \
	{                                                                                          \
		return (long)(expression);                                                         \
	}

/* The vDSO would answer without the kernel. */
TRY(ask_time, syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &(struct timespec){ 0 }))
TRY(become_root, setresuid(0, 0, 0))
TRY(make_pair, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, (int[2]){ 0 }))
TRY(make_socket, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
TRY(make_local_socket, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))
TRY(make_multipath_socket, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 262))
TRY(name_socket, bind(-1, NULL, 0))
TRY(connect_by_sending, syscall(SYS_sendto, -1, "x", 1, MSG_FASTOPEN, &(struct sockaddr){ 0 }, 16))
TRY(make_process, syscall(SYS_clone, CLONE_SIGHAND, NULL, NULL, NULL, 0))
TRY(execute, execve("", (char *[]){ NULL }, (char *[]){ NULL }))
TRY(signal_process, kill(getpid(), 0))
TRY(trace, syscall(SYS_ptrace, NO_COMMAND, 0, 0, 0))
TRY(read_memory, syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0))
TRY(mount_something, syscall(SYS_mount, NULL, NULL, NULL, 0, NULL))
TRY(leave_namespaces, syscall(SYS_unshare, 0))
TRY(enter_namespace, syscall(SYS_setns, -1, 0))
TRY(load_program, syscall(SYS_bpf, NO_COMMAND, NULL, 0))
TRY(make_ring, syscall(SYS_io_uring_setup, 0, NULL))
TRY(ask_keys, syscall(SYS_keyctl, NO_COMMAND, 0, 0, 0, 0))
TRY(make_memory_file, syscall(SYS_memfd_create, NULL, 0))
TRY(call_other_abi, syscall(X32_GETPID))

static long get_memory(void)
{
	void *map = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return map == MAP_FAILED ? -1 : munmap(map, 1);
}

static long make_executable(void)
{
	void *map = mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return map == MAP_FAILED ? -1 : munmap(map, 1);
}

static long open_root(void)
{
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -1 : close(fd);
}

/* There is none: what counts is whether the kernel was asked. */
static long accept_nothing(void)
{
	return accept4(-1, NULL, NULL, SOCK_CLOEXEC) == 0 || errno == EBADF ? 0 : -1;
}

/* Landlock says no before a packet is sent; any other answer comes of having asked the network. */
static long connect_elsewhere(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(DISCARD_PORT) };
	int fd = (int)make_socket(), error;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	error = connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 ? 0 : errno;
	close(fd);
	errno = error;
	return error == EACCES ? -1 : 0;
}

/* What the workload may do, because it inherits filter 1, is no part of the list for ROOT. */
static const struct canary_probe probes[] = {
	{ "asks for the time", ask_time, ANY_ROLE, 0, 0, 0, 0 },
	{ "gets memory", get_memory, ANY_ROLE, 0, 0, 0, 0 },
	{ "opens \"/\"", open_root, RUNNER, LOCKED & ~ROLE_BIT(ROLE_FOLLOWER), 0, ENOENT, 0 },
	{ "opens \"/\" instead of the hand-over directory", open_root, 0, ROLE_BIT(ROLE_FOLLOWER),
	    0, EACCES, SANDBOX_LANDLOCK_FS },
	{ "becomes root", become_root, RUNNER, LOCKED, 0, EPERM, 0 },
	{ "makes a pair of sockets", make_pair, RUNNER, LOCKED, 0, EPERM, 0 },
	{ "makes a TCP socket", make_socket, RUNNER | ROLE_DIALERS, 0, LOCKED & ~ROLE_DIALERS, 0,
	    0 },
	{ "connects to a port of no target", connect_elsewhere, 0, ROLE_DIALERS, 0, EACCES,
	    SANDBOX_LANDLOCK_NET },
	{ "makes a socket that Landlock does not see (MPTCP)", make_multipath_socket, 0, 0, LOCKED,
	    0, 0 },
	{ "makes a local socket", make_local_socket, ROOT, 0, LOCKED, 0, 0 },
	{ "names a socket", name_socket, 0, 0, LOCKED, 0, 0 },
	{ "accepts a connection", accept_nothing, ROLE_BIT(ROLE_MONITOR), 0,
	    LOCKED & ~ROLE_BIT(ROLE_MONITOR), 0, 0 },
	{ "connects by sending", connect_by_sending, 0, 0, LOCKED, 0, 0 },
	{ "makes a process", make_process, 0, 0, LOCKED, 0, 0 },
	{ "executes a program", execute, 0, 0, LOCKED, 0, 0 },
	{ "signals a process", signal_process, RUNNER, 0, LOCKED, 0, 0 },
	{ "traces a process", trace, 0, ROOT, LOCKED, EPERM, 0 },
	{ "reads a process's memory", read_memory, 0, ROOT, LOCKED, EPERM, 0 },
	{ "makes memory executable", make_executable, 0, 0, LOCKED, 0, 0 },
	{ "makes a file in memory", make_memory_file, 0, 0, LOCKED, 0, 0 },
	{ "mounts a file system", mount_something, 0, ROOT, LOCKED, EPERM, 0 },
	{ "leaves its namespaces", leave_namespaces, 0, ROOT, LOCKED, EPERM, 0 },
	{ "enters a namespace", enter_namespace, 0, ROOT, LOCKED, EPERM, 0 },
	{ "loads a program into the kernel", load_program, 0, ROOT, LOCKED, EPERM, 0 },
	{ "makes an io_uring", make_ring, 0, ROOT, LOCKED, EPERM, 0 },
	{ "asks for keys of the kernel", ask_keys, 0, ROOT, LOCKED, EPERM, 0 },
	{ "calls by the numbers of another ABI", call_other_abi, 0, 0, LOCKED | RUNNER, 0, 0 },
};
#define PROBES (sizeof(probes) / sizeof(probes[0]))
_Static_assert(PROBES <= CANARY_MAX && PROBES < sizeof(((struct us_ctl *)0)->blob),
    "the answers fit into one control packet, whose last byte ends a text");

const struct canary_probe *canary_probes(unsigned *count)
{
	*count = PROBES;
	return probes;
}

enum canary_expected canary_expects(
    const struct canary_probe *probe, enum role role, unsigned in_force)
{
	if (probe->needs & ~in_force)
		return CANARY_NOT_TRIED;
	if (probe->works & ROLE_BIT(role))
		return CANARY_WORKS;
	if (probe->refused & ROLE_BIT(role))
		return CANARY_REFUSED;
	return probe->killed & ROLE_BIT(role) ? CANARY_KILLED : CANARY_NOT_TRIED;
}

uint8_t canary_try(const struct canary_probe *probe)
{
	errno = 0;
	if (probe->try() >= 0)
		return CANARY_WORKED;
	return errno > 0 && errno < CANARY_UNANSWERED ? (uint8_t)errno : EIO;
}

int canary_is_asked(int argc, char **argv)
{
	return argc > 3 && strcmp(argv[1], CANARY_WORD) == 0;
}

/* All that are answered; the supervisor does not believe what should have killed. */
static void answer(enum role role, unsigned in_force, struct us_ctl *ready)
{
	enum canary_expected expected;

	for (unsigned i = 0; i < PROBES; i++) {
		expected = canary_expects(&probes[i], role, in_force);
		ready->blob[i] = (char)CANARY_UNANSWERED;
		if (expected == CANARY_WORKS || expected == CANARY_REFUSED)
			ready->blob[i] = (char)canary_try(&probes[i]);
	}
}

_Noreturn void canary_main(struct role_id self, int argc, char **argv)
{
	struct us_ctl ready = { .magic = CONTROL_MAGIC, .type = CONTROL_READY, .seq = 1 }, go;
	uint64_t number = 0, waived = 0;
	struct stat st;
	struct err err;
	int bits;

	(void)alarm(CANARY_LIFE_S);
	log_open("canary", LOG_INFO);
	if (!canary_is_asked(argc, argv) || !str_to_u64(str_of(argv[2]), &number) ||
	    !str_to_u64(str_of(argv[3]), &waived) || fstat(ROLE_FD_CONTROL, &st) != 0 ||
	    !S_ISSOCK(st.st_mode)) {
		log_error("started by hand: only understudyd starts a canary");
		_exit(EXIT_NO_SUPERVISOR);
	}
	if (sandbox_after_exec(self, &err) ||
	    (bits = sandbox_lock(self, NULL, 0, (unsigned)waived, &err)) < 0) {
		log_error("%s", err.text);
		_exit(EXIT_SANDBOX);
	}
	ready.a[0] = (uint64_t)bits;
	answer((enum role)self.role, (unsigned)bits, &ready);
	if (send(ROLE_FD_CONTROL, &ready, sizeof(ready), MSG_NOSIGNAL) != sizeof(ready) ||
	    read(ROLE_FD_CONTROL, &go, sizeof(go)) != sizeof(go) || go.type != CONTROL_RELEASE)
		_exit(EXIT_NO_SUPERVISOR);
	_exit(number < PROBES ? canary_try(&probes[number]) : 0);
}
