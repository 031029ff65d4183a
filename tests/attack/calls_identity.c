/*
 * What a hostile role tries with what it is (see calls.h): uid, groups, capabilities, limits, its
 * own filters, namespaces, names.
 * Pitfalls: P6, P56, P62, P65, P68, P71.
 */
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "tests/attack/calls.h"

TRY(become_root, setresuid(0, 0, 0))
TRY(become_root_old, setuid(0))
TRY(become_other, setresuid(1, 1, 1))
TRY(join_group, setresgid(0, 0, 0))
TRY(join_group_old, setgid(0))
TRY(join_groups, setgroups(1, (gid_t[]){ 0 }))
TRY(ask_groups, getgroups(0, NULL))
TRY(ask_uid, syscall(SYS_getuid))
TRY(be_dumpable, prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
TRY(outlive_parent, prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0))
TRY(keep_capabilities, prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
TRY(change_securebits, prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0))
TRY(adopt_orphans, prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
TRY(rename_itself, prctl(PR_SET_NAME, "understudyd", 0, 0, 0))
TRY(ask_dumpable, prctl(PR_GET_DUMPABLE, 0, 0, 0, 0))
TRY(be_looked_at, prctl(0x59616d61, -1L, 0, 0, 0))
TRY(change_root, chroot(scene->folder))
TRY(new_mounts, unshare(CLONE_NEWNS))
TRY(new_users, unshare(CLONE_NEWUSER))
TRY(new_network, unshare(CLONE_NEWNET))
TRY(new_files, unshare(CLONE_FILES))
TRY(new_session, setpgid(0, 0))
TRY(other_kernel, personality(0xffffffff))
TRY(raise_core, setrlimit(RLIMIT_CORE, &(struct rlimit){ 1 << 20, 1 << 20 }))
TRY(raise_files, setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 8192, 8192 }))
TRY(raise_processes, setrlimit(RLIMIT_NPROC, &(struct rlimit){ 4096, 4096 }))
TRY(ask_limit, syscall(SYS_getrlimit, RLIMIT_NOFILE, &(struct rlimit){ 0, 0 }))
TRY(raise_priority, setpriority(PRIO_PROCESS, 0, -20))
TRY(run_first, sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ 1 }))
TRY(choose_processor, sched_setaffinity(0, sizeof(cpu_set_t), &(cpu_set_t){ { ~0UL } }))
TRY(ask_usage, getrusage(RUSAGE_SELF, &(struct rusage){ 0 }))
TRY(change_mask, umask(0))
TRY(other_domain, syscall(SYS_landlock_create_ruleset, &(uint64_t){ 1 }, 8, 0))

static int file_system_root(const struct scene *scene)
{
	(void)scene;
	(void)setfsuid(1);
	return setfsuid((uid_t)-1) == 1 ? 0 : EPERM;
}

static int regain_capability(const struct scene *scene)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 1u << CAP_SETPCAP, 1u << CAP_SETPCAP, 0 },
		{ 0, 0, 0 } };

	(void)scene;
	return attempt_outcome(syscall(SYS_capset, &header, data));
}

static int ask_capabilities(const struct scene *scene)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	(void)scene;
	return attempt_outcome(syscall(SYS_capget, &header, data));
}

static struct sock_filter all = { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW };
static const struct sock_fprog program = { 1, &all };

/* It could make calls lie; NNP, or root, is all that it needs. */
TRY(another_filter, prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
TRY(another_filter_new, syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))

static int join_namespace(const struct scene *scene)
{
	int fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);

	(void)scene;
	return fd < 0 ? errno : attempt_outcome(setns(fd, CLONE_NEWUTS));
}

/* The name that it has already. */
static int rename_host(const struct scene *scene)
{
	struct utsname names;

	(void)scene;
	return uname(&names) != 0
		   ? errno
		   : attempt_outcome(sethostname(names.nodename, strlen(names.nodename)));
}

static const struct attempt table[] = {
	{ "becomes root", become_root, RUNNER, USER | SECCOMP, false },
	{ "becomes root by an older call", become_root_old, RUNNER, USER | SECCOMP, false },
	{ "becomes another user", become_other, RUNNER, USER | SECCOMP, false },
	{ "becomes another user for files", file_system_root, RUNNER, USER | SECCOMP, false },
	{ "joins root's group", join_group, RUNNER, USER | SECCOMP, false },
	{ "joins it by an older call", join_group_old, RUNNER, USER | SECCOMP, false },
	{ "joins supplementary groups", join_groups, RUNNER, USER | SECCOMP, false },
	{ "asks for its groups", ask_groups, RUNNER, SECCOMP, false },
	{ "asks for its user", ask_uid, RUNNER, SECCOMP, false },
	{ "regains a capability", regain_capability, 0, USER | SECCOMP, false },
	{ "asks for its capabilities", ask_capabilities, RUNNER, SECCOMP, false },
	{ "keeps capabilities over a change", keep_capabilities, RUNNER, USER | SECCOMP, false },
	{ "changes what root means", change_securebits, 0, USER | SECCOMP, false },
	{ "makes itself dumpable", be_dumpable, RUNNER, SECCOMP, false },
	{ "asks whether it is dumpable", ask_dumpable, RUNNER, SECCOMP, false },
	{ "lets everybody trace it", be_looked_at, RUNNER, SECCOMP, true },
	{ "outlives the supervisor", outlive_parent, RUNNER, SECCOMP, false },
	{ "adopts orphans", adopt_orphans, RUNNER, SECCOMP, false },
	{ "takes another name", rename_itself, RUNNER, SECCOMP, false },
	{ "loads a filter of its own", another_filter, RUNNER, SECCOMP, false },
	{ "loads one by a newer call", another_filter_new, RUNNER, SECCOMP, false },
	{ "makes a Landlock domain", other_domain, RUNNER, SECCOMP, true },
	{ "changes its root", change_root, 0, USER | SECCOMP, false },
	{ "leaves the mount namespace", new_mounts, 0, USER | SECCOMP, true },
	{ "makes a user namespace", new_users, 0, SECCOMP, true },
	{ "makes a network namespace", new_network, 0, USER | SECCOMP, true },
	{ "separates its descriptors", new_files, 0, SECCOMP, false },
	{ "enters a namespace", join_namespace, 0, USER, true },
	{ "leaves its process group", new_session, 0, USER | SECCOMP, false },
	{ "takes another kernel's ways", other_kernel, 0, SECCOMP, false },
	{ "allows core files", raise_core, RUNNER, USER | SECCOMP, false },
	{ "raises its limit of files", raise_files, RUNNER, USER | SECCOMP, false },
	{ "raises its limit of processes", raise_processes, RUNNER, USER | SECCOMP, false },
	{ "asks for a limit", ask_limit, RUNNER, SECCOMP, false },
	{ "asks for what it used", ask_usage, RUNNER, SECCOMP, false },
	{ "raises its priority", raise_priority, 0, USER | SECCOMP, true },
	{ "runs before all others", run_first, 0, USER | SECCOMP, true },
	{ "chooses a processor", choose_processor, RUNNER, SECCOMP, false },
	{ "makes its files open to all", change_mask, RUNNER, SECCOMP, false },
	{ "renames the host", rename_host, 0, USER | SECCOMP, true },
};
LIST(identity_attempts, table);
