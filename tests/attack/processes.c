/*
 * Starts and ends the processes of the attack suite (see attack.h): we are the supervisor here, and
 * use its own code to start a role.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "policy/control.h"
#include "policy/sandbox.h"
#include "policy/seccomp.h"
#include "supervisor/start.h"
#include "tests/attack/attack.h"

/* The layers of the process that is being started: what the linker puts around (Makefile) asks. */
static enum layer layers_now = LAYER_ALL;

int __real_seccomp_load(const struct seccomp_program *program);
int __wrap_seccomp_load(const struct seccomp_program *program);
const char *__real_sandbox_before_exec(struct role_id id, uid_t uid, unsigned waived);
const char *__wrap_sandbox_before_exec(struct role_id id, uid_t uid, unsigned waived);

int __wrap_seccomp_load(const struct seccomp_program *program)
{
	bool loads = layers_now & LAYER_SECCOMP && !mutant_forgets_filter();

	return loads ? __real_seccomp_load(program) : 0;
}

/* The supervisor's half of the lock, or what belongs to a single layer of it. */
const char *__wrap_sandbox_before_exec(struct role_id id, uid_t uid, unsigned waived)
{
	struct seccomp_program filter;

	if (layers_now & LAYER_USER)
		return __real_sandbox_before_exec(id, uid, waived);
	if (chdir("/") != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return "no new privileges";
	seccomp_build_first(&filter, id.role);
	return __wrap_seccomp_load(&filter) == 0 ? NULL : "system call filter 1";
}

/* What its row gives it beside the descriptors that all have. */
static void add_row_fds(struct start_plan *plan, const struct place *place)
{
	const struct role_row *row = role_row(plan->id.role);

	memcpy(plan->fds + FD_SCENE, place->fds, sizeof(place->fds));
	if (row->fence != ROLE_FENCE_NONE)
		plan->fds[ROLE_FD_FENCE] = place->fds[FD_PAGE - FD_SCENE];
	if (row->syscalls & SYSCALLS_HANDOVER)
		plan->fds[ROLE_FD_FILES] = place->handover;
}

static bool start(struct started *started, enum role role, enum layer layers, const char *job,
    unsigned number, enum role peer, const struct place *place)
{
	char texts[2][16];
	const char *argv[] = { role_name(role), "0", job, texts[0], texts[1], role_name(peer),
		NULL };
	struct start_plan plan = {
		.id = { (uint8_t)role, 0 }, .argv = argv, .files = RLIM_INFINITY
	};
	int control[2] = { -1, -1 }, log[2] = { -1, -1 }, null = -1, result = -1;
	struct err err = { "no descriptors" };

	(void)snprintf(texts[0], sizeof(texts[0]), "%u", number);
	(void)snprintf(texts[1], sizeof(texts[1]), "%u", (unsigned)layers);
	*started = (struct started){ .pid = -1, .control = -1, .log = -1 };
	start_clear_fds(&plan);
	plan.uid = role_uid(plan.id, ATTACK_UID_BASE);
	plan.program = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (plan.program < 0 || null < 0 || pipe2(log, O_CLOEXEC | O_NONBLOCK) != 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) != 0)
		goto out;
	plan.fds[0] = plan.fds[ROLE_FD_CONFIG] = null;
	plan.fds[1] = plan.fds[2] = log[1];
	plan.fds[ROLE_FD_CONTROL] = control[1];
	if (place)
		add_row_fds(&plan, place);
	layers_now = layers;
	result = start_process(&plan, &started->pid, &err);
	if (result == 0) {
		started->control = control[0];
		started->log = log[0];
		control[0] = log[0] = -1;
	}
out:
	if (result != 0)
		fprintf(stderr, "%s as %s: %s\n", job, role_name(role), err.text);
	for (int i = 0; i < 2; i++) {
		if (control[i] >= 0)
			close(control[i]);
		if (log[i] >= 0)
			close(log[i]);
	}
	if (null >= 0)
		close(null);
	if (plan.program >= 0)
		close(plan.program);
	return result == 0;
}

bool process_start(struct started *started, enum role role, enum layer layers, const char *job,
    unsigned number, const struct place *place)
{
	return start(started, role, layers, job, number, role, place);
}

bool process_start_towards(struct started *started, enum role role, enum role peer, unsigned packet,
    const struct place *place)
{
	return start(started, role, LAYER_ALL, JOB_PACKET, packet, peer, place);
}

bool process_await(struct started *started, unsigned type, uint64_t *a0, int wait_ms)
{
	int64_t end_ns = base_clock_boot_ns() + wait_ms * BASE_NS_PER_MS;
	struct pollfd ready = { started->control, POLLIN, 0 };
	struct us_ctl ctl;

	for (;;) {
		int64_t left_ms = (end_ns - base_clock_boot_ns()) / BASE_NS_PER_MS;

		if (poll(&ready, 1, left_ms > 0 ? (int)left_ms : 0) <= 0 ||
		    recv(started->control, &ctl, sizeof(ctl), MSG_DONTWAIT) != sizeof(ctl))
			return false;
		started->ready = started->ready || ctl.type == CONTROL_READY;
		if (ctl.type != type)
			continue;
		if (a0)
			*a0 = ctl.a[0];
		return true;
	}
}

bool process_tell(struct started *started, unsigned type, const uint64_t a[3], int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct us_ctl ctl = { .magic = CONTROL_MAGIC,
		.type = (uint16_t)type,
		.seq = ++started->told,
		.a = { a[0], a[1], a[2] } };
	struct iovec vector = { &ctl, sizeof(ctl) };
	struct msghdr header = { .msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	return sendmsg(started->control, &header, MSG_NOSIGNAL) == sizeof(ctl);
}

int process_end(struct started *started, bool kill_it, char *text, size_t size)
{
	int status = -1;
	ssize_t n;

	if (started->pid > 0) {
		if (kill_it)
			(void)kill(started->pid, SIGKILL);
		(void)waitpid(started->pid, &status, 0);
	}
	/* What it still said. */
	(void)process_await(started, 0, NULL, 0);
	n = read(started->log, text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	close(started->control);
	close(started->log);
	*started = (struct started){ .pid = -1, .control = -1, .log = -1, .ready = started->ready };
	return status;
}
