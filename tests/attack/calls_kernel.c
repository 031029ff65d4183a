/*
 * What a hostile role tries with the kernel itself (see calls.h): its largest interfaces, other
 * ways into it, descriptors bent to another use, clocks. Nothing here changes the machine.
 * Pitfalls: P46, P50, P55.
 */
#include <linux/bpf.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/io.h>
#include <sys/klog.h>
#include <sys/select.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <time.h>

#include "tests/attack/calls.h"

#define LOG_SIZE 10 /* SYSLOG_ACTION_SIZE_BUFFER */

TRY(ring, syscall(SYS_io_uring_setup, 1, &(struct io_uring_params){ 0 }))
TRY(old_ring, syscall(SYS_io_setup, 1, &(unsigned long){ 0 }))
TRY(ask_system, sysinfo(&(struct sysinfo){ 0 }))
TRY(ask_version, uname(&(struct utsname){ 0 }))
TRY(read_log, klogctl(LOG_SIZE, NULL, 0))
TRY(ports, ioperm(0x80, 1, 1))
TRY(all_ports, iopl(3))
TRY(segment, syscall(SYS_modify_ldt, 0, (char[16]){ 0 }, 16))
TRY(adjust_clock, adjtimex(&(struct timex){ 0 }))
TRY(adjust_clock_new, clock_adjtime(CLOCK_REALTIME, &(struct timex){ 0 }))
TRY(resolution, syscall(SYS_clock_getres, CLOCK_REALTIME, &(struct timespec){ 0, 0 }))
TRY(sleep_a_moment, syscall(SYS_nanosleep, &(struct timespec){ 0, 1 }, NULL))
TRY(sleep_new, syscall(SYS_clock_nanosleep, CLOCK_REALTIME, 0, &(struct timespec){ 0, 1 }, NULL))
TRY(wait_old, syscall(SYS_select, 0, NULL, NULL, NULL, &(struct timeval){ 0, 1 }))
TRY(interval, setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 0 }, { 0, 0 } }, NULL))
TRY(alarm_clock, (long)alarm(0))
TRY(process_times, times(&(struct tms){ 0 }) < 0 ? -1 : 0)
TRY(processors, sched_getaffinity(0, sizeof(cpu_set_t), &(cpu_set_t){ { 0 } }))
TRY(yield, sched_yield())
TRY(copy, dup(FD_PROGRAM))
TRY(copy_high, fcntl(FD_PROGRAM, F_DUPFD_CLOEXEC, 20))
TRY(copy_over_control, dup2(FD_PROGRAM, 3))
TRY(owner_of_signals, fcntl(FD_CONNECTED, F_SETOWN, getpid()))
TRY(chosen_signal, fcntl(FD_CONNECTED, F_SETSIG, SIGWINCH))
TRY(ask_owner, fcntl(FD_CONNECTED, F_GETOWN))
TRY(close_all, syscall(SYS_close_range, 20, 30, 0))
TRY(lock_for_priority,
    syscall(SYS_futex, &(uint32_t){ 0 }, FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG, 0, NULL))
TRY(robust_list, syscall(SYS_set_robust_list, (char[24]){ 0 }, 24))

static int packet_filter(const struct scene *scene)
{
	struct bpf_insn code[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0 },
		{ .code = BPF_JMP | BPF_EXIT } };
	union bpf_attr attributes = { .prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insn_cnt = 2,
		.insns = (uint64_t)(uintptr_t)code,
		.license = (uint64_t)(uintptr_t) "GPL" };

	(void)scene;
	return attempt_outcome(syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof(attributes)));
}

static int count_events(const struct scene *scene)
{
	struct perf_event_attr attributes = { .type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.exclude_kernel = 1 };

	(void)scene;
	return attempt_outcome(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
}

static int own_timer(const struct scene *scene)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	int id = 0;

	(void)scene;
	return attempt_outcome(syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id));
}

/* The numbers of another architecture, by its own gate. */
static int other_gate(const struct scene *scene)
{
	long result = 20; /* getpid */

	(void)scene;
	__asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
	return result > 0 ? 0 : (int)-result;
}

static const struct attempt table[] = {
	{ "makes a ring of requests", ring, 0, SECCOMP, true },
	{ "makes an older one", old_ring, 0, SECCOMP, true },
	{ "loads a program into the kernel", packet_filter, 0, SECCOMP, true },
	{ "counts events of the processor", count_events, 0, SECCOMP, true },
	{ "asks the other gate of the kernel", other_gate, 0, SECCOMP, true },
	{ "reads the log of the kernel", read_log, 0, USER | SECCOMP, true },
	{ "asks for the system", ask_system, RUNNER, SECCOMP, false },
	{ "asks for the version", ask_version, RUNNER, SECCOMP, false },
	{ "takes a port of the machine", ports, 0, USER | SECCOMP, true },
	{ "takes all ports of the machine", all_ports, 0, USER | SECCOMP, true },
	{ "reads its table of segments", segment, 0, SECCOMP, true },
	{ "asks how the clock is set", adjust_clock, 0, SECCOMP, false },
	{ "asks by a newer call", adjust_clock_new, 0, SECCOMP, false },
	{ "asks how fine a clock is", resolution, RUNNER, SECCOMP, false },
	{ "sleeps", sleep_a_moment, RUNNER, SECCOMP, false },
	{ "sleeps by a newer call", sleep_new, RUNNER, SECCOMP, false },
	{ "waits by an older call", wait_old, RUNNER, SECCOMP, false },
	{ "sets an interval timer", interval, RUNNER, SECCOMP, false },
	{ "sets an alarm", alarm_clock, RUNNER, SECCOMP, false },
	{ "makes a timer of signals", own_timer, RUNNER, SECCOMP, false },
	{ "asks for its times", process_times, RUNNER, SECCOMP, false },
	{ "asks for its processors", processors, RUNNER, SECCOMP, false },
	{ "yields", yield, RUNNER, SECCOMP, false },
	{ "copies a descriptor", copy, RUNNER, SECCOMP, false },
	{ "copies one to a high number", copy_high, RUNNER, SECCOMP, false },
	{ "copies one over its control link", copy_over_control, RUNNER, SECCOMP, false },
	{ "owns the signals of a connection", owner_of_signals, RUNNER, SECCOMP, false },
	{ "chooses the signal of a connection", chosen_signal, RUNNER, SECCOMP, false },
	{ "asks who owns the signals", ask_owner, RUNNER, SECCOMP, false },
	{ "closes many descriptors", close_all, RUNNER, SECCOMP, false },
	{ "locks with priority", lock_for_priority, RUNNER, SECCOMP, true },
	{ "names locks to free at its end", robust_list, RUNNER, SECCOMP, false },
};
LIST(kernel_attempts, table);
