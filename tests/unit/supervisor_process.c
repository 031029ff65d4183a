/*
 * Goal: a process is greeted, verified and only then linked; one that breaks the control protocol,
 * lies about itself or goes silent is killed, and comes back; accusations kill downwards (F4, F15,
 * F20, F38, sandbox-rules 4). Method: the supervisor's own code starts this very program as a role
 * (real fork, uid, sandbox), and it sends what the test says. Needs root. P7, P16, P17, P27, P102.
 */
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

static void role_tell(enum control_type type, uint64_t a0, uint64_t a1)
{
	struct us_ctl ctl = {
		.magic = CONTROL_MAGIC, .type = (uint16_t)type, .seq = ++role_sent, .a = { a0, a1 }
	};

	if (send(3, &ctl, sizeof(ctl), MSG_NOSIGNAL) != sizeof(ctl))
		_exit(1);
}

static void role_enter(struct role_id id, enum order order)
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

static void role_send(const void *bytes, size_t n, bool with_fd)
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

_Noreturn static void role_main(char **argv)
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

static void on_signal(void *arg, uint32_t events)
{
	(void)events;
	while (init_next_signal(supervisor.signals.fd) != 0)
		init_reap(process_on_ended, arg);
}

static int open_supervisor(void **state)
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

static void turn(void)
{
	int64_t now_ns = base_clock_boot_ns(), next_ns = process_due(&supervisor, now_ns);
	int64_t wire_ns = wire_due(&supervisor, now_ns);

	events_turn(&supervisor.events, wire_ns < next_ns ? wire_ns : next_ns);
}

/* Links that are due, without waiting for anything. */
static void link_up(void)
{
	(void)wire_due(&supervisor, base_clock_boot_ns());
}

static void await_state(struct process *process, enum process_state state)
{
	int64_t until_ns = base_clock_boot_ns() + 20 * BASE_NS_PER_S;

	while (process->state != state) {
		assert_true(base_clock_boot_ns() < until_ns);
		turn();
	}
}

static void order(
    struct process *process, enum order what, uint64_t argument, const void *bytes, size_t n)
{
	struct us_ctl ctl = { .type = CONTROL_TARGET, .a = { what, argument } };

	process_send(process, &ctl, bytes, n, -1);
}

static void start(struct process *process)
{
	assert_true(process_start(process, NULL, 0));
	order(process, GO, 0, NULL, 0);
	await_state(process, PROCESS_RUNNING);
}

static int close_supervisor(void **state)
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

#define NEED_ROOT()                                                                                \
	do                                                                                         \
		if (geteuid() != 0 || SECCOMP_SANITIZED)                                           \
			skip();                                                                    \
	while (0)

/* --- Greeting and check --------------------------------------------------------------------- */

static void an_honest_role_is_verified(void **state)
{
	(void)state;
	NEED_ROOT();
	start(dialer);
	assert_true(process_serves(dialer));
}

/* F15: its own word counts for nothing. */
static void a_role_that_did_not_lock_itself_is_killed(void **state)
{
	(void)state;
	NEED_ROOT();
	dialer->wanted = false;
	assert_true(process_start(dialer, NULL, 0));
	order(dialer, GO_UNLOCKED, 0, NULL, 0);
	await_state(dialer, PROCESS_NONE);
	assert_true(dialer->killed);
}

/* F38 */
static void a_role_of_another_build_is_killed(void **state)
{
	(void)state;
	NEED_ROOT();
	dialer->wanted = false;
	assert_true(process_start(dialer, NULL, 0));
	order(dialer, GO_OTHER_BUILD, 0, NULL, 0);
	await_state(dialer, PROCESS_NONE);
	assert_true(dialer->killed);
}

static void silence_is_death(void **state)
{
	(void)state;
	NEED_ROOT();
	start(dialer);
	dialer->wanted = false;
	dialer->beat_ns -= PROCESS_SILENCE_NS;
	await_state(dialer, PROCESS_NONE);
	assert_true(dialer->killed);
	/* Not greeted in time. */
	assert_true(process_start(dialer, NULL, 0));
	dialer->started_ns -= PROCESS_SILENCE_NS;
	await_state(dialer, PROCESS_NONE);
	assert_true(dialer->killed);
}

static void a_standstill_of_ours_is_nobodys_silence(void **state)
{
	(void)state;
	NEED_ROOT();
	start(dialer);
	dialer->beat_ns -= PROCESS_SILENCE_NS;
	process_forgive(&supervisor, base_clock_boot_ns());
	(void)process_due(&supervisor, base_clock_boot_ns());
	assert_true(process_serves(dialer));
}

/* F25: a process that should be dead and is not, because the kernel holds it, is the service
 * manager's matter: the watchdog is no longer fed. */
static void who_outlives_its_kill_stops_the_watchdog(void **state)
{
	int64_t now_ns;

	(void)state;
	NEED_ROOT();
	start(dialer);
	now_ns = dialer->beat_ns;
	assert_true(process_all_fresh(&supervisor, now_ns + PROCESS_SILENCE_NS));
	assert_true(process_all_fresh(&supervisor, now_ns + 2 * PROCESS_SILENCE_NS));
	assert_false(process_all_fresh(&supervisor, now_ns + 2 * PROCESS_SILENCE_NS + 1));
	process_stop(dialer, now_ns + 1);
	assert_true(process_all_fresh(&supervisor, now_ns + 1 + PROCESS_SILENCE_NS));
	assert_false(process_all_fresh(&supervisor, now_ns + 2 + PROCESS_SILENCE_NS));
	await_state(dialer, PROCESS_NONE);
	assert_true(process_all_fresh(&supervisor, INT64_MAX));
}

/* --- Hostile packets ------------------------------------------------------------------------ */

static void killed_by(enum order what, const void *bytes, size_t n)
{
	start(dialer);
	dialer->wanted = false;
	order(dialer, what, 0, bytes, n);
	await_state(dialer, PROCESS_NONE);
	assert_true(dialer->killed);
}

static struct us_ctl packet(unsigned type)
{
	return (struct us_ctl){ .magic = CONTROL_MAGIC, .type = (uint16_t)type, .seq = 3 };
}

static void hostile_packets_cost_the_sender_its_life(void **state)
{
	static char many[4000];
	const unsigned types[] = { 0, CONTROL_HELLO, CONTROL_READY, CONTROL_START_SYNCER,
		CONTROL_STOP_SYNCER, CONTROL_RUN, CONTROL_LEADING, CONTROL_WORKLOAD_SEEN,
		CONTROL_LOADED, CONTROL_CRED_ACK, CONTROL_STOP, CONTROL_PREDECESSOR_DEAD, 999 };
	struct us_ctl ctl = packet(CONTROL_BEAT);

	(void)state;
	NEED_ROOT();
	killed_by(SEND, "short", 5);
	killed_by(SEND, "", 0);
	killed_by(SEND, many, sizeof(many));
	killed_by(SEND_WITH_FD, &ctl, sizeof(ctl));
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		ctl = packet(types[i]);
		killed_by(SEND, &ctl, sizeof(ctl));
	}
	ctl = packet(CONTROL_ACCUSE); /* Somebody with whom it has no link; a role that is none. */
	ctl.a[0] = ROLE_ELECTOR;
	killed_by(SEND, &ctl, sizeof(ctl));
	ctl.a[0] = UINT64_MAX;
	killed_by(SEND, &ctl, sizeof(ctl));
	ctl = packet(CONTROL_LINK_CUT);
	ctl.a[0] = ROLE_MONITOR;
	killed_by(SEND, &ctl, sizeof(ctl));
	ctl.a[0] = ROLE_OBSERVER;
	ctl.a[1] = ROLE_MAX_SHARDS;
	killed_by(SEND, &ctl, sizeof(ctl));
}

/* Its number may be somebody else's as soon as it is reaped; what it left behind is read then. */
static void the_dead_are_not_signalled(void **state)
{
	siginfo_t info;
	pid_t pid;

	(void)state;
	NEED_ROOT();
	start(dialer);
	dialer->wanted = false;
	pid = dialer->pid;
	order(dialer, SEND, 0, "short", 5);
	order(dialer, LEAVE, 0, NULL, 0);
	/* It lies and ends before we look: a zombie whose last packet waits. */
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	init_reap(process_on_ended, &supervisor);
	assert_true(dialer->killed);
	assert_int_equal(dialer->state, PROCESS_NONE);
	assert_int_equal(strays, 0);
}

static void permitted_packets_do_not(void **state)
{
	struct us_ctl beat = packet(CONTROL_BEAT), exiting = packet(CONTROL_EXITING);
	int64_t before_ns;

	(void)state;
	NEED_ROOT();
	start(dialer);
	before_ns = dialer->beat_ns;
	order(dialer, SEND, 0, &beat, sizeof(beat));
	while (dialer->beat_ns == before_ns)
		turn();
	exiting.seq = 4;
	(void)strcpy(exiting.blob, "a reason\x1b[2J");
	order(dialer, SEND, 0, &exiting, sizeof(exiting));
	order(dialer, LEAVE, 0, NULL, 0);
	await_state(dialer, PROCESS_WAITING);
	assert_false(dialer->killed);
}

/* --- Restart -------------------------------------------------------------------------------- */

static void comes_back_after_its_delay(void **state)
{
	int64_t ended_ns;

	(void)state;
	NEED_ROOT();
	start(dialer);
	order(dialer, LEAVE, 3, NULL, 0);
	await_state(dialer, PROCESS_WAITING);
	ended_ns = base_clock_boot_ns();
	assert_true(dialer->again_ns <= ended_ns + 100 * BASE_NS_PER_MS);
	await_state(dialer, PROCESS_STARTED);
	assert_true(base_clock_boot_ns() >= dialer->again_ns);
	order(dialer, LEAVE, 3, NULL, 0);
	await_state(dialer, PROCESS_WAITING);
	assert_true(dialer->again_ns > base_clock_boot_ns() + 100 * BASE_NS_PER_MS);
}

static void one_that_was_told_to_leave_stays_away(void **state)
{
	(void)state;
	NEED_ROOT();
	start(dialer);
	process_stop(dialer, base_clock_boot_ns() + 50 * BASE_NS_PER_MS);
	await_state(dialer, PROCESS_NONE); /* It ignores STOP: killed at the deadline. */
	assert_true(dialer->killed);
	assert_false(dialer->wanted);
}

/* --- Links ---------------------------------------------------------------------------------- */

/* F20 */
static void links_have_generations(void **state)
{
	struct wire *wire;

	(void)state;
	NEED_ROOT();
	wire = wire_between(observer, dialer->id);
	start(dialer);
	link_up();
	assert_false(wire->up);
	start(observer);
	link_up();
	assert_true(wire->up);
	assert_int_equal(wire->generation, 1);
	order(dialer, LEAVE, 0, NULL, 0);
	await_state(dialer, PROCESS_WAITING);
	await_state(dialer, PROCESS_STARTED);
	order(dialer, GO, 0, NULL, 0);
	await_state(dialer, PROCESS_RUNNING);
	link_up();
	assert_true(wire->up);
	assert_int_equal(wire->generation, 2);
}

static struct wire *linked(void)
{
	start(dialer);
	start(observer);
	link_up();
	return wire_between(observer, dialer->id);
}

/* decision 22 */
static void a_cut_link_waits(void **state)
{
	struct us_ctl cut = packet(CONTROL_LINK_CUT);
	struct wire *wire;

	(void)state;
	NEED_ROOT();
	wire = linked();
	cut.a[0] = ROLE_OBSERVER;
	cut.a[2] = wire->generation;
	order(dialer, SEND, 0, &cut, sizeof(cut));
	while (wire->up)
		turn();
	assert_true(wire->again_ns > base_clock_boot_ns() + 800 * BASE_NS_PER_MS);
	assert_int_equal(wire_due(&supervisor, base_clock_boot_ns()), wire->again_ns);
	(void)wire_due(&supervisor, wire->again_ns);
	assert_true(wire->up);
	assert_int_equal(wire->generation, 2);
}

/* F4: and it does not help the accused to end the link before it is accused. */
static void an_accusation_from_above_kills(void **state)
{
	struct us_ctl accuse = packet(CONTROL_ACCUSE), cut = packet(CONTROL_LINK_CUT);
	struct wire *wire;

	(void)state;
	NEED_ROOT();
	wire = linked();
	cut.a[0] = ROLE_OBSERVER;
	accuse.a[0] = ROLE_OBSERVER_DIALER;
	accuse.a[2] = cut.a[2] = 1;
	order(dialer, SEND, 0, &cut, sizeof(cut));
	while (wire->up)
		turn();
	order(observer, SEND, 0, &accuse, sizeof(accuse));
	await_state(dialer, PROCESS_WAITING);
	assert_true(dialer->killed && process_serves(observer));
	assert_int_equal(supervisor.accusations[ROLE_OBSERVER_DIALER][1], 1);
}

/* L114: the count is not lost with the monitor that heard it. */
static void a_monitor_that_comes_later_hears_of_accusations(void **state)
{
	struct process *monitor = process_of(&supervisor, (struct role_id){ ROLE_MONITOR, 0 });
	char directory[] = "/dev/shm/understudy-test-XXXXXX", fence[64];
	struct err err;

	(void)state;
	NEED_ROOT();
	assert_non_null(mkdtemp(directory));
	assert_int_equal(fence_page_open(&supervisor.fence, directory, &err), 0);
	supervisor.accusations[ROLE_SYNCER][1] = 7;
	monitor->wanted = false;
	assert_true(process_start(monitor, NULL, 0));
	order(monitor, GO, 0, NULL, 0);
	await_state(monitor, PROCESS_NONE);
	assert_true(WIFEXITED(monitor->status));
	assert_int_equal(WEXITSTATUS(monitor->status), 40 + 20 + 7);
	fence_page_close(&supervisor.fence);
	(void)snprintf(fence, sizeof(fence), "%s/fence", directory);
	(void)unlink(fence);
	assert_int_equal(rmdir(directory), 0);
}

/* F20: who was slow to notice the end of a link must not have the next process killed for it. */
static void a_report_of_a_former_link_does_not_touch_the_present_one(void **state)
{
	struct us_ctl report = packet(CONTROL_ACCUSE), beat = packet(CONTROL_BEAT);
	struct wire *wire;
	int64_t before_ns;

	(void)state;
	NEED_ROOT();
	wire = linked();
	order(dialer, LEAVE, 0, NULL, 0);
	await_state(dialer, PROCESS_WAITING);
	await_state(dialer, PROCESS_STARTED);
	order(dialer, GO, 0, NULL, 0);
	await_state(dialer, PROCESS_RUNNING);
	link_up();
	assert_int_equal(wire->generation, 2);
	report.a[0] = ROLE_OBSERVER_DIALER;
	report.a[2] = 1;
	order(observer, SEND, 0, &report, sizeof(report));
	report.type = CONTROL_LINK_CUT;
	report.seq++;
	order(observer, SEND, 0, &report, sizeof(report));
	beat.seq = report.seq + 1;
	before_ns = observer->beat_ns;
	order(observer, SEND, 0, &beat, sizeof(beat));
	while (observer->beat_ns == before_ns)
		turn();
	assert_true(wire->up);
	assert_true(process_serves(dialer));
	assert_true(process_serves(observer));
}

/* F4 */
static void accusations_from_below_wear_out_the_accuser(void **state)
{
	struct us_ctl accuse = packet(CONTROL_ACCUSE);
	struct wire *wire;

	(void)state;
	NEED_ROOT();
	wire = wire_between(observer, dialer->id);
	start(dialer);
	start(observer);
	dialer->wanted = false;
	accuse.a[0] = ROLE_OBSERVER;
	for (int i = 0; i < 3; i++) {
		wire->again_ns = 0;
		link_up();
		assert_true(wire->up);
		accuse.a[2] = wire->generation;
		order(dialer, SEND, 0, &accuse, sizeof(accuse));
		accuse.seq++;
		while (wire->up)
			turn();
	}
	await_state(dialer, PROCESS_NONE);
	assert_true(dialer->killed);
	assert_true(process_serves(observer));
	assert_int_equal(supervisor.accusations[ROLE_OBSERVER][0], 3);
	assert_int_equal(supervisor.accusations[ROLE_OBSERVER][1], 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_supervisor, close_supervisor)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(an_honest_role_is_verified),
		TEST(a_role_that_did_not_lock_itself_is_killed),
		TEST(a_role_of_another_build_is_killed),
		TEST(silence_is_death),
		TEST(a_standstill_of_ours_is_nobodys_silence),
		TEST(who_outlives_its_kill_stops_the_watchdog),
		TEST(hostile_packets_cost_the_sender_its_life),
		TEST(the_dead_are_not_signalled),
		TEST(permitted_packets_do_not),
		TEST(comes_back_after_its_delay),
		TEST(one_that_was_told_to_leave_stays_away),
		TEST(links_have_generations),
		TEST(a_cut_link_waits),
		TEST(an_accusation_from_above_kills),
		TEST(a_monitor_that_comes_later_hears_of_accusations),
		TEST(a_report_of_a_former_link_does_not_touch_the_present_one),
		TEST(accusations_from_below_wear_out_the_accuser),
	};

	if (argc > 0 && role_by_name(argv[0]) != ROLE_COUNT)
		role_main(argv);
	(void)alarm(120); /* A hang is a failure. */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
