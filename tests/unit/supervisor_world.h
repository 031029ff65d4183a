/*
 * A supervisor for tests: its own code starts the test program itself as a role (real fork, uid,
 * sandbox), which sends what the test says. Needs root.
 */
#ifndef TESTS_UNIT_SUPERVISOR_WORLD_H
#define TESTS_UNIT_SUPERVISOR_WORLD_H

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/build.h"
#include "base/clock.h"
#include "base/log.h"
#include "policy/sandbox.h"
#include "policy/seccomp.h"
#include "supervisor/configuration.h"
#include "supervisor/init.h"
#include "supervisor/process.h"
#include "supervisor/verify.h"
#include "supervisor/wire.h"

/* What the role is told to do: in a[0] of a CONTROL_TARGET; `more` is what it sends. */
enum order { GO, GO_UNLOCKED, GO_OTHER_BUILD, SEND, SEND_WITH_FD, LEAVE };

/* --- The role ------------------------------------------------------------------------------- */

static uint64_t role_sent;

static inline void role_tell(enum control_type type, uint64_t a0, uint64_t a1)
{
	struct us_ctl ctl = {
		.magic = CONTROL_MAGIC, .type = (uint16_t)type, .seq = ++role_sent, .a = { a0, a1 }
	};

	if (send(3, &ctl, sizeof(ctl), MSG_NOSIGNAL) != sizeof(ctl))
		_exit(1);
}

static inline void role_enter(struct role_id id, enum order order)
{
	struct err err;
	int bits = SANDBOX_REQUIRED;

	close(4);
	if (sandbox_after_exec(id, &err))
		_exit(70);
	role_tell(CONTROL_HELLO, build_id[0], build_id[1] + (order == GO_OTHER_BUILD));
	if (order == GO)
		bits = sandbox_lock(id, NULL, 0, 0, &err);
	role_tell(CONTROL_READY, (uint64_t)bits, 0);
}

static inline void role_send(const void *bytes, size_t n, bool with_fd)
{
	char room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec vector = { (void *)bytes, n };
	struct msghdr header = { .msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = room,
		.msg_controllen = sizeof(room) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&header);
	int fd = 0;

	if (!with_fd) {
		(void)send(3, bytes, n, MSG_NOSIGNAL);
		return;
	}
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	(void)sendmsg(3, &header, MSG_NOSIGNAL);
}

_Noreturn static inline void role_main(char **argv)
{
	struct role_id id = { (uint8_t)role_by_name(argv[0]), 0 };
	static char more[CONTROL_MAX_MORE];
	struct us_ctl ctl;
	struct iovec vectors[] = { { &ctl, sizeof(ctl) }, { more, sizeof(more) } };
	struct msghdr header = { .msg_iov = vectors, .msg_iovlen = 2 };
	ssize_t n;

	while ((n = recvmsg(3, &header, 0)) >= (ssize_t)sizeof(ctl)) {
		if (ctl.type == CONTROL_ACCUSED)
			_exit((int)(40 + 20 * ctl.a[1] + ctl.a[2]));
		if (ctl.type != CONTROL_TARGET)
			continue;
		if (ctl.a[0] <= GO_OTHER_BUILD)
			role_enter(id, ctl.a[0]);
		else if (ctl.a[0] == LEAVE)
			_exit((int)ctl.a[1]);
		else
			role_send(more, (size_t)n - sizeof(ctl), ctl.a[0] == SEND_WITH_FD);
	}
	_exit(0);
}

/* --- The supervisor ------------------------------------------------------------------------- */

/* Signals that the supervisor sent to a number that is no child of its own any more. */
static unsigned strays;

int kill(pid_t pid, int number)
{
	siginfo_t info;

	strays += waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) != 0;
	return (int)syscall(SYS_kill, pid, number);
}

static struct supervisor supervisor;
static struct us_config config;
static struct process *observer, *dialer;

static inline void on_signal(void *arg, uint32_t events)
{
	(void)events;
	while (init_next_signal(supervisor.signals.fd) != 0)
		init_reap(process_on_ended, arg);
}

static inline int open_supervisor(void **state)
{
	struct err err;
	int fd, self;

	(void)state;
	if (geteuid() != 0 || SECCOMP_SANITIZED)
		return 0;
	memset(&supervisor, 0, sizeof(supervisor));
	supervisor.config = &config;
	supervisor.available = sandbox_available();
	supervisor.own_filters = verify_own_filters();
	supervisor.files = 1024;
	supervisor.listeners[0] = supervisor.listeners[1] = -1;
	config.mode = CONFIG_STANDBY;
	config.hub_count = 2;
	config.uid_base = 53000;
	config.shard_size = 8;
	supervisor.config_fd = configuration_seal(&config, &err);
	self = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	for (unsigned role = 0; role < ROLE_COUNT; role++)
		supervisor.programs[role] = self;
	fd = init_open_signals(&err);
	if (self < 0 || supervisor.config_fd < 0 || fd < 0 || events_open(&supervisor.events, &err))
		return -1;
	(void)events_add(&supervisor.events, &supervisor.signals, fd, on_signal, &supervisor);
	process_plan(&supervisor, &config);
	wire_plan(&supervisor);
	observer = process_of(&supervisor, (struct role_id){ ROLE_OBSERVER, 0 });
	dialer = process_of(&supervisor, (struct role_id){ ROLE_OBSERVER_DIALER, 0 });
	return 0;
}

static inline void turn(void)
{
	int64_t now_ns = base_clock_boot_ns(), next_ns = process_due(&supervisor, now_ns);
	int64_t wire_ns = wire_due(&supervisor, now_ns);

	events_turn(&supervisor.events, wire_ns < next_ns ? wire_ns : next_ns);
}

/* Links that are due, without waiting for anything. */
static inline void link_up(void)
{
	(void)wire_due(&supervisor, base_clock_boot_ns());
}

static inline void await_state(struct process *process, enum process_state state)
{
	int64_t until_ns = base_clock_boot_ns() + 60 * BASE_NS_PER_S;

	while (process->state != state) {
		assert_true(base_clock_boot_ns() < until_ns);
		turn();
	}
}

static inline void order(
    struct process *process, enum order what, uint64_t argument, const void *bytes, size_t n)
{
	struct us_ctl ctl = { .type = CONTROL_TARGET, .a = { what, argument } };

	process_send(process, &ctl, bytes, n, -1);
}

static inline void start(struct process *process)
{
	assert_true(process_start(process, NULL, 0));
	order(process, GO, 0, NULL, 0);
	await_state(process, PROCESS_RUNNING);
}

static inline int close_supervisor(void **state)
{
	(void)state;
	if (geteuid() != 0 || SECCOMP_SANITIZED)
		return 0;
	for (unsigned i = 0; i < SUPERVISOR_SLOTS; i++) {
		struct process *process = &supervisor.slots[i];

		process->wanted = false;
		if (process->state == PROCESS_WAITING)
			process->state = PROCESS_NONE;
		if (process_runs(process) && !process->killed)
			process_kill(process, "the test ends");
	}
	for (unsigned i = 0; i < SUPERVISOR_SLOTS; i++)
		while (process_runs(&supervisor.slots[i]))
			turn();
	close(supervisor.signals.fd);
	close(supervisor.events.epoll);
	close(supervisor.events.alarm);
	close(supervisor.config_fd);
	close(supervisor.programs[0]);
	free(supervisor.wires);
	return 0;
}

static inline struct us_ctl packet(unsigned type)
{
	return (struct us_ctl){ .magic = CONTROL_MAGIC, .type = (uint16_t)type, .seq = 3 };
}

#define NEED_ROOT()                                                                                \
	do                                                                                         \
		if (geteuid() != 0 || SECCOMP_SANITIZED)                                           \
			skip();                                                                    \
	while (0)

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_supervisor, close_supervisor)

/* The main of a test program: it is its own role. */
#define RUN(tests)                                                                                 \
	do {                                                                                       \
		if (argc > 0 && role_by_name(argv[0]) != ROLE_COUNT)                               \
			role_main(argv);                                                           \
		(void)alarm(500); /* A hang is a failure. */                                       \
		return cmocka_run_group_tests(tests, NULL, NULL);                                  \
	} while (0)

#endif
