/*
 * What a hostile role tries with other processes (see calls.h): new ones, the supervisor, and a
 * neighbour under its own uid, whom the rules for users would not protect.
 * Pitfalls: P48, P69, P70.
 */
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tests/attack/calls.h"

static char *const argv[] = { (char *)"true", NULL };
static char *const none[] = { NULL };

/* When these work they exit with 0, which is what a success is here. */
TRY(execute, execve("/bin/true", argv, none))
TRY(execute_handed, syscall(SYS_execveat, FD_PROGRAM, "", argv, none, AT_EMPTY_PATH))

/* The new one leaves at once. */
static int born(long pid)
{
	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return errno;
	(void)waitpid((pid_t)pid, NULL, __WALL);
	return 0;
}

static int duplicate(const struct scene *scene)
{
	(void)scene;
	return born(fork());
}

static int duplicate_old(const struct scene *scene)
{
	(void)scene;
	return born(syscall(SYS_fork));
}

static int duplicate_new(const struct scene *scene)
{
	struct clone_args arguments = { .exit_signal = SIGCHLD };

	(void)scene;
	return born(syscall(SYS_clone3, &arguments, sizeof(arguments)));
}

static int duplicate_as_root(const struct scene *scene)
{
	(void)scene;
	return born(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
}

/* A thread, but for the memory that it shares: it would run on our stack. */
static int duplicate_sharing(const struct scene *scene)
{
	(void)scene;
	return born(syscall(SYS_clone, CLONE_FILES | CLONE_FS | SIGCHLD, 0, 0, 0, 0));
}

TRY(signal_sibling, kill(scene->sibling, SIGWINCH))
TRY(signal_thread, syscall(SYS_tgkill, scene->sibling, scene->sibling, SIGWINCH))
TRY(signal_task, syscall(SYS_tkill, scene->sibling, SIGWINCH))
TRY(signal_parent, kill(getppid(), SIGWINCH))
TRY(signal_all, kill(-1, 0))
TRY(signal_own, kill(getpid(), SIGWINCH))
TRY(queue_signal, sigqueue(scene->sibling, SIGWINCH, (union sigval){ 0 }))
TRY(catch_signal, signal(SIGWINCH, SIG_IGN) == SIG_ERR ? -1 : 0)
TRY(hold_process, syscall(SYS_pidfd_open, scene->sibling, 0))
TRY(hold_parent, syscall(SYS_pidfd_open, getppid(), 0))
TRY(trace_sibling, ptrace(PTRACE_SEIZE, scene->sibling, NULL, NULL))
TRY(be_traced, ptrace(PTRACE_TRACEME, 0, NULL, NULL))
TRY(bind_sibling, sched_setaffinity(scene->sibling, sizeof(cpu_set_t), &(cpu_set_t){ { ~0UL } }))
TRY(slow_sibling, setpriority(PRIO_PROCESS, (id_t)scene->sibling, 0))
TRY(slow_parent, setpriority(PRIO_PROCESS, (id_t)getppid(), getpriority(PRIO_PROCESS, 0)))
TRY(schedule_sibling, sched_setscheduler(scene->sibling, SCHED_OTHER, &(struct sched_param){ 0 }))
TRY(limits_of_sibling, prlimit(scene->sibling, RLIMIT_NOFILE, NULL, &(struct rlimit){ 0, 0 }))
TRY(limits_of_parent, prlimit(getppid(), RLIMIT_NOFILE, NULL, &(struct rlimit){ 0, 0 }))
TRY(group_of_sibling, getpgid(scene->sibling))
TRY(compare_with_sibling, syscall(SYS_kcmp, getpid(), scene->sibling, 1, 0, 0))
TRY(who_is_parent, syscall(SYS_getppid))
TRY(wait_for_all, waitpid(-1, NULL, WNOHANG) == -1 && errno != ECHILD ? -1 : 0)

static int copy_from_sibling(const struct scene *scene)
{
	uint64_t copy = 0;
	struct iovec here = { &copy, sizeof(copy) };
	struct iovec there = { (void *)scene->secret, sizeof(copy) };

	return attempt_outcome(process_vm_readv(scene->sibling, &here, 1, &there, 1, 0));
}

static int copy_to_sibling(const struct scene *scene)
{
	uint64_t copy = 0x7365637265740000;
	struct iovec here = { &copy, sizeof(copy) };
	struct iovec there = { (void *)scene->secret, sizeof(copy) };

	return attempt_outcome(process_vm_writev(scene->sibling, &here, 1, &there, 1, 0));
}

static int open_of(pid_t pid, const char *file)
{
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	return attempt_outcome(open(path, O_RDONLY | O_CLOEXEC));
}

#define OPEN(name, pid, file)                                                                      \
	static int name(const struct scene *scene)                                                 \
	{                                                                                          \
		(void)scene;                                                                       \
		return open_of(pid, file);                                                         \
	}

OPEN(memory_of_sibling, scene->sibling, "mem")
OPEN(environment_of_sibling, scene->sibling, "environ")
OPEN(maps_of_sibling, scene->sibling, "maps")
OPEN(files_of_sibling, scene->sibling, "fd")
OPEN(status_of_sibling, scene->sibling, "status")
OPEN(memory_of_parent, getppid(), "mem")
OPEN(environment_of_parent, getppid(), "environ")
OPEN(files_of_parent, getppid(), "fd")

static int borrow_descriptor(const struct scene *scene)
{
	long pidfd = syscall(SYS_pidfd_open, scene->sibling, 0);

	return pidfd < 0 ? errno : attempt_outcome(syscall(SYS_pidfd_getfd, pidfd, 0, 0));
}

static int signal_by_descriptor(const struct scene *scene)
{
	long pidfd = syscall(SYS_pidfd_open, scene->sibling, 0);

	return pidfd < 0
		   ? errno
		   : attempt_outcome(syscall(SYS_pidfd_send_signal, pidfd, SIGWINCH, NULL, 0));
}

static const struct attempt table[] = {
	{ "executes a program", execute, RUNNER, LANDLOCK | SECCOMP, false },
	{ "executes a handed program", execute_handed, RUNNER, LANDLOCK | SECCOMP, false },
	{ "makes a process", duplicate, RUNNER, USER | SECCOMP, false },
	{ "makes a process by an older call", duplicate_old, RUNNER, USER | SECCOMP, false },
	{ "makes a process by a newer call", duplicate_new, RUNNER, USER | SECCOMP, true },
	{ "makes a process that shares files", duplicate_sharing, RUNNER, USER | SECCOMP, false },
	{ "makes a process in a new user namespace", duplicate_as_root, RUNNER, USER | SECCOMP,
	    true },
	{ "signals a sibling", signal_sibling, RUNNER, LANDLOCK | SECCOMP, false },
	{ "signals its thread", signal_thread, RUNNER, LANDLOCK | SECCOMP, false },
	{ "signals its task", signal_task, RUNNER, LANDLOCK | SECCOMP, false },
	{ "signals it by a descriptor", signal_by_descriptor, RUNNER, LANDLOCK | SECCOMP, false },
	{ "queues a signal for it", queue_signal, RUNNER, LANDLOCK | SECCOMP, false },
	{ "signals the supervisor", signal_parent, RUNNER, USER | LANDLOCK | SECCOMP, false },
	{ "signals everybody", signal_all, RUNNER, SECCOMP, false },
	{ "signals itself", signal_own, RUNNER, SECCOMP, false },
	{ "catches a signal", catch_signal, RUNNER, SECCOMP, false },
	{ "holds a sibling by a descriptor", hold_process, RUNNER, SECCOMP, false },
	{ "holds the supervisor by one", hold_parent, RUNNER, SECCOMP, false },
	{ "traces a sibling", trace_sibling, 0, LANDLOCK | SECCOMP, false },
	{ "has itself traced", be_traced, 0, SECCOMP, false },
	{ "reads a sibling's memory", copy_from_sibling, 0, LANDLOCK | SECCOMP, false },
	{ "writes a sibling's memory", copy_to_sibling, 0, LANDLOCK | SECCOMP, false },
	{ "opens a sibling's memory", memory_of_sibling, 0, LANDLOCK, false },
	{ "opens a sibling's environment", environment_of_sibling, 0, LANDLOCK, false },
	{ "opens a sibling's maps", maps_of_sibling, 0, LANDLOCK, false },
	{ "opens a sibling's descriptors", files_of_sibling, RUNNER, LANDLOCK, false },
	{ "opens a sibling's status", status_of_sibling, RUNNER, LANDLOCK, false },
	{ "takes a sibling's descriptor", borrow_descriptor, 0, LANDLOCK | SECCOMP, false },
	{ "compares itself with a sibling", compare_with_sibling, 0, LANDLOCK | SECCOMP, true },
	{ "opens the supervisor's memory", memory_of_parent, 0, USER | LANDLOCK, false },
	{ "opens the supervisor's environment", environment_of_parent, 0, USER | LANDLOCK, false },
	{ "opens the supervisor's descriptors", files_of_parent, RUNNER, USER | LANDLOCK, false },
	{ "binds a sibling to a processor", bind_sibling, 0, SECCOMP, false },
	{ "gives a sibling another priority", slow_sibling, 0, SECCOMP, false },
	{ "gives the supervisor one", slow_parent, 0, USER | SECCOMP, false },
	{ "schedules a sibling", schedule_sibling, 0, SECCOMP, false },
	{ "reads the limits of a sibling", limits_of_sibling, RUNNER, SECCOMP, true },
	{ "reads the limits of the supervisor", limits_of_parent, RUNNER, USER | SECCOMP, true },
	{ "asks for a sibling's group", group_of_sibling, RUNNER, SECCOMP, false },
	{ "asks for the supervisor's number", who_is_parent, RUNNER, SECCOMP, false },
	{ "waits for a process", wait_for_all, RUNNER, SECCOMP, false },
};
LIST(process_attempts, table);
