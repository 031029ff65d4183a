/*
 * The two halves of a process's way into its row (see the header). Every step that can fail is
 * checked, and the regain test stands last: a drop that the kernel accepted but did not do is the
 * classic hole (F14). It must not decide what a role may do: that is policy/roles.c.
 * Pitfalls: P9, P44, P51, P60, P62, P63, P64, P65, P66, P67, P68, P69, P70, P71, P98, P99.
 */
#include "policy/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "policy/landlock.h"
#include "policy/seccomp.h"

/* Linux 6.3; Debian 12's headers do not have them. */
#define SET_MDWE              65
#define GET_MDWE              66
#define MDWE_REFUSE_EXEC_GAIN 1u
#define LAST_CAPABILITY       63u
#define DNS_PORT              53
#define MAX_PORTS             512

#define CAPABILITY(c) (1ULL << (c))
/* What the runner keeps: to change to the workload's uid and to end that uid (F5). */
#define RUNNER_CAPABILITIES (CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID) | CAPABILITY(CAP_KILL))
#define SECUREBITS                                                                                 \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                           \
	    SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |                              \
	    SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

static const char *const protection_names[] = { "uid-separation", "landlock-fs", "bounding-set",
	"mlock", "landlock-net", "landlock-scope", "mdwe" };
#define PROTECTIONS (sizeof(protection_names) / sizeof(protection_names[0]))

const char *sandbox_protection_name(unsigned protection)
{
	for (unsigned i = 0; i < PROTECTIONS; i++)
		if (protection == 1u << i)
			return protection_names[i];
	return NULL;
}

unsigned sandbox_protection_by_name(const char *name)
{
	for (unsigned i = 0; i < PROTECTIONS; i++)
		if (strcmp(name, protection_names[i]) == 0)
			return 1u << i;
	return 0;
}

/* --- Facts about this process ------------------------------------------------------------- */

struct capabilities {
	uint64_t effective, permitted, inheritable;
};

static int capabilities_get(struct capabilities *capabilities)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) != 0)
		return -1;
	capabilities->effective = data[0].effective | (uint64_t)data[1].effective << 32;
	capabilities->permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
	capabilities->inheritable = data[0].inheritable | (uint64_t)data[1].inheritable << 32;
	return 0;
}

/* Effective and permitted become keep, inheritable becomes empty. */
static int capabilities_set(uint64_t keep)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { (uint32_t)keep, (uint32_t)keep, 0 },
		{ (uint32_t)(keep >> 32), (uint32_t)(keep >> 32), 0 } };

	return (int)syscall(SYS_capset, &header, data);
}

static bool has_capability(unsigned capability)
{
	struct capabilities now;

	return capabilities_get(&now) == 0 && (now.effective & CAPABILITY(capability)) != 0;
}

/* What is left of the bounding set; the loop ends where the kernel's list ends. */
static uint64_t bounding_set(void)
{
	uint64_t set = 0;

	for (unsigned c = 0; c <= LAST_CAPABILITY; c++) {
		int is_in = prctl(PR_CAPBSET_READ, c, 0, 0, 0);

		if (is_in < 0)
			break;
		if (is_in)
			set |= CAPABILITY(c);
	}
	return set;
}

static bool can_lock_memory(void)
{
	long page = sysconf(_SC_PAGESIZE);
	void *map =
	    mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rlimit limit;
	bool locked;

	if (map == MAP_FAILED)
		return false;
	/* Root's capability hides a limit that a role will meet. */
	if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur < (rlim_t)page) {
		munmap(map, (size_t)page);
		return false;
	}
	locked = mlock(map, (size_t)page) == 0;
	munmap(map, (size_t)page);
	return locked;
}

unsigned sandbox_available(void)
{
	unsigned bits = landlock_bits(landlock_abi());

	if (has_capability(CAP_SETUID) && has_capability(CAP_SETGID))
		bits |= SANDBOX_UID_SEPARATION;
	if (has_capability(CAP_SETPCAP))
		bits |= SANDBOX_BOUNDING_SET;
	if (can_lock_memory())
		bits |= SANDBOX_MLOCK;
	if (prctl(GET_MDWE, 0, 0, 0, 0) >= 0)
		bits |= SANDBOX_MDWE;
	return bits;
}

/* --- Before exec, in the supervisor's child: async-signal-safe ------------------------------ */

/* Roles die before the supervisor when memory is short. Not a protection: where /proc
 * is read-only or hidden the process runs without. */
static void prefer_for_oom(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	ssize_t ignored;

	if (fd < 0)
		return;
	ignored = write(fd, "200", 3);
	(void)ignored;
	close(fd);
}

static int drop_bounding_set(uint64_t keep)
{
	for (unsigned c = 0; c <= LAST_CAPABILITY; c++) {
		if (keep & CAPABILITY(c))
			continue;
		if (prctl(PR_CAPBSET_DROP, c, 0, 0, 0) != 0)
			return errno == EINVAL ? 0 : -1;
	}
	return 0;
}

/* Ambient and bounding sets; for all but the runner, whose exec as root gives it what the bounding
 * set has left, the bits that make uid 0 an ordinary uid. */
static const char *shed_inheritance(uint64_t keep, unsigned waived)
{
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
		return "ambient capabilities";
	if (!has_capability(CAP_SETPCAP) && (waived & SANDBOX_BOUNDING_SET))
		return NULL;
	if (drop_bounding_set(keep) != 0)
		return "bounding set";
	if (keep == 0 && prctl(PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0) != 0)
		return "securebits";
	return NULL;
}

/* Groups, gid, uid, and then a look at what the kernel made of it (F14). */
static const char *change_identity(uid_t uid)
{
	uid_t real, effective, saved;
	gid_t real_gid, effective_gid, saved_gid;

	if (setgroups(0, NULL) != 0)
		return "setgroups";
	if (setresgid(uid, uid, uid) != 0)
		return "setresgid";
	if (setresuid(uid, uid, uid) != 0)
		return "setresuid";
	if (getresuid(&real, &effective, &saved) != 0 || real != uid || effective != uid ||
	    saved != uid)
		return "setresuid left another uid";
	if (getresgid(&real_gid, &effective_gid, &saved_gid) != 0 || real_gid != uid ||
	    effective_gid != uid || saved_gid != uid)
		return "setresgid left another gid";
	return NULL;
}

/* Last of all: what was given up must not come back (F14). */
static const char *regain(uid_t uid)
{
	if (uid != 0 && (setresuid(0, 0, 0) == 0 || setresgid(0, 0, 0) == 0))
		return "root could be regained";
	if (capabilities_set(CAPABILITY(CAP_SETUID)) == 0)
		return "a capability could be regained";
	return NULL;
}

static const char *drop_privileges(uid_t uid, unsigned waived)
{
	bool can_change = has_capability(CAP_SETUID) && has_capability(CAP_SETGID);
	const char *step = shed_inheritance(0, waived);

	if (!step && (can_change || !(waived & SANDBOX_UID_SEPARATION)))
		step = change_identity(uid);
	if (step)
		return step;
	if (getgroups(0, NULL) != 0)
		return "groups are left";
	if (capabilities_set(0) != 0)
		return "capset";
	return regain(getuid());
}

static const char *drop_to_runner(unsigned waived)
{
	const char *step = shed_inheritance(RUNNER_CAPABILITIES, waived);

	if (step)
		return step;
	if (setgroups(0, NULL) != 0)
		return "setgroups";
	return capabilities_set(RUNNER_CAPABILITIES) == 0 ? NULL : "capset";
}

const char *sandbox_before_exec(struct role_id id, uid_t uid, unsigned waived)
{
	uint32_t kill_process = SECCOMP_RET_KILL_PROCESS;
	struct seccomp_program filter;
	const char *step;

	/* The workload inherits the runner's. */
	(void)umask(id.role == ROLE_RUNNER ? 022 : 077);
	if (chdir("/") != 0)
		return "working directory";
	prefer_for_oom();
	/* BONUS: older kernels have none. A workload may need to make code at run time. */
	if (id.role != ROLE_RUNNER)
		(void)prctl(SET_MDWE, MDWE_REFUSE_EXEC_GAIN, 0, 0, 0);
	step = id.role == ROLE_RUNNER ? drop_to_runner(waived) : drop_privileges(uid, waived);
	if (step)
		return step;
	/* After the change of uid, which clears it (F39). Not the runner: it outlives the
	 * supervisor by the moment that it takes to end the workload (F5). */
	if (id.role != ROLE_RUNNER && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
		return "parent death signal";
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return "no new privileges";
	/* Without this action a forbidden call would end one thread only (F27). */
	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &kill_process) != 0 &&
	    errno == EOPNOTSUPP)
		return "seccomp kill-process";
	seccomp_build_first(&filter, id.role);
	if (seccomp_load(&filter) != 0)
		return "system call filter 1";
	return NULL;
}

/* --- After exec, in the role ---------------------------------------------------------------- */

static int lower_limit(int resource, rlim_t most)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit) != 0)
		return -1;
	if (limit.rlim_max > most)
		limit.rlim_max = most;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit((__rlimit_resource_t)resource, &limit);
}

/* A limit of 0 would silence a log that is a file; it is a pipe (F13). */
uint64_t sandbox_file_bytes(enum role role)
{
	return role_row(role)->syscalls & SYSCALLS_HANDOVER ? 1024 * 1024 : 0;
}

int sandbox_after_exec(struct role_id id, struct err *err)
{
	const struct role_row *row = role_row(id.role);
	rlim_t file_bytes = sandbox_file_bytes(id.role);

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return err_set(err, "sandbox: not dumpable: %s", strerror(errno));
	/* The workload inherits the runner's limits. */
	if (id.role == ROLE_RUNNER)
		return 0;
	if (lower_limit(RLIMIT_CORE, 0) != 0 || lower_limit(RLIMIT_FSIZE, file_bytes) != 0 ||
	    lower_limit(RLIMIT_NOFILE, row->nofile) != 0)
		return err_set(err, "sandbox: resource limits: %s", strerror(errno));
	/* A sanitizer reserves terabytes and, at the end, forks (F32). */
	if (!SECCOMP_SANITIZED && (lower_limit(RLIMIT_NPROC, 0) != 0 ||
				      lower_limit(RLIMIT_DATA, (rlim_t)row->data_mib << 20) != 0))
		return err_set(err, "sandbox: resource limits: %s", strerror(errno));
	return 0;
}

/* The socketpair on the control descriptor was made by the supervisor: the kernel remembers as
 * whom. False when there is none (a test), or when that uid is ours. */
static bool has_own_uid(void)
{
	struct ucred maker = { 0, 0, 0 };
	socklen_t size = sizeof(maker);

	if (getuid() == 0)
		return false;
	return getsockopt(ROLE_FD_CONTROL, SOL_SOCKET, SO_PEERCRED, &maker, &size) != 0 ||
	       maker.uid != getuid();
}

/* What libraries open once and then never again (F31). */
static void warm_up(void)
{
	time_t now = 0;
	struct tm tm;
	char byte;
	ssize_t ignored = getrandom(&byte, sizeof(byte), 0);

	(void)ignored;
	tzset();
	(void)localtime_r(&now, &tm);
}

/* What an exec as root would give back, and what ends the process with its supervisor: no file of
 * /proc tells of either, so that each process looks at itself (F15, F39). */
static int check_inheritance(unsigned waived, struct err *err)
{
	int death = 0;

	if (!(waived & SANDBOX_BOUNDING_SET) && prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) != SECUREBITS)
		return err_set(err, "sandbox: securebits are not those of the row");
	if (prctl(PR_GET_PDEATHSIG, &death, 0, 0, 0) != 0 || death != SIGKILL)
		return err_set(err, "sandbox: the process would outlive its supervisor");
	return 0;
}

/* What has to hold in every role, waivers or not. */
static int check_must(enum role role, struct err *err)
{
	uint64_t keep = role == ROLE_RUNNER ? RUNNER_CAPABILITIES : 0;
	struct capabilities now;

	if (capabilities_get(&now) != 0 || (now.permitted & ~keep) || (now.effective & ~keep) ||
	    now.inheritable)
		return err_set(err, "sandbox: capabilities are left");
	if (getgroups(0, NULL) != 0)
		return err_set(err, "sandbox: supplementary groups are left");
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return err_set(err, "sandbox: privileges can be gained (no-new-privs is off)");
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_FILTER)
		return err_set(err, "sandbox: filter 1 is missing");
	if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
		return err_set(err, "sandbox: the process is dumpable");
	if (role != ROLE_RUNNER && getuid() != 0 && setresuid(0, 0, 0) == 0)
		return err_set(err, "sandbox: root could be regained");
	return 0;
}

/* Everything but Landlock, which is asked when it is switched on. */
static unsigned bits_in_force(enum role role)
{
	uint64_t keep = role == ROLE_RUNNER ? RUNNER_CAPABILITIES : 0;
	unsigned bits = 0;

	if (has_own_uid() || role == ROLE_RUNNER)
		bits |= SANDBOX_UID_SEPARATION;
	if ((bounding_set() & ~keep) == 0)
		bits |= SANDBOX_BOUNDING_SET;
	if (can_lock_memory())
		bits |= SANDBOX_MLOCK;
	if (prctl(GET_MDWE, 0, 0, 0, 0) > 0)
		bits |= SANDBOX_MDWE;
	return bits;
}

static int check_required(unsigned bits, unsigned waived, struct err *err)
{
	unsigned missing = SANDBOX_REQUIRED & ~bits & ~waived;

	if (missing == 0)
		return 0;
	return err_set(err, "sandbox: %s is not in force (expected, or named in allow-missing)",
	    sandbox_protection_name(missing & -missing));
}

/* Landlock, and the proof: "/" does not open. Bits in force, or -1. */
static int restrict_files(
    enum role role, const uint16_t *ports, unsigned port_count, struct err *err)
{
	bool is_dialer = (ROLE_BIT(role) & ROLE_DIALERS) != 0;
	bool hands_over = (role_row(role)->syscalls & SYSCALLS_HANDOVER) != 0;
	uint16_t allowed[MAX_PORTS + 1] = { DNS_PORT };
	int bits, fd;

	if (port_count > MAX_PORTS || (port_count > 0 && !is_dialer))
		return err_set(err, "sandbox: %u ports for %s (at most %u, dialers only)",
		    port_count, role_name(role), is_dialer ? MAX_PORTS : 0);
	if (port_count > 0)
		memcpy(allowed + 1, ports, port_count * sizeof(*ports));
	bits = landlock_restrict(
	    hands_over ? ROLE_FD_FILES : -1, allowed, is_dialer ? port_count + 1 : 0);
	if (bits < 0)
		return err_set(err, "sandbox: Landlock: %s", strerror(errno));
	if (bits & SANDBOX_LANDLOCK_FS) {
		fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 || errno != EACCES)
			return err_set(err, "sandbox: Landlock is on, and \"/\" opens");
	}
	return bits;
}

/* Calls that the filter answers itself: a wrong answer means that it is not there (F16). */
static int check_filter(enum role role, struct err *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 || errno != EPERM)
		return err_set(err, "sandbox: filter 2 is not in force (socketpair)");
	if (setresuid(0, 0, 0) == 0 || errno != EPERM)
		return err_set(err, "sandbox: filter 2 is not in force (setresuid)");
	if (!(ROLE_BIT(role) & ROLE_DIALERS) && (connect(-1, NULL, 0) == 0 || errno != EINPROGRESS))
		return err_set(err, "sandbox: filter 2 is not in force (connect)");
	if (!(role_row(role)->syscalls & SYSCALLS_HANDOVER) &&
	    (open("/", O_RDONLY | O_CLOEXEC) >= 0 || errno != ENOENT))
		return err_set(err, "sandbox: filter 2 is not in force (openat)");
	return 0;
}

int sandbox_lock(
    struct role_id id, const uint16_t *ports, unsigned port_count, unsigned waived, struct err *err)
{
	struct seccomp_program filter;
	unsigned bits;
	int landlock;

	warm_up();
	if (check_must(id.role, err) != 0)
		return -1;
	bits = bits_in_force(id.role);
	if (id.role == ROLE_RUNNER) {
		/* The workload would inherit Landlock and filter 2. */
		return check_required(bits, waived | SANDBOX_LANDLOCK_FS, err) == 0 ? (int)bits
										    : -1;
	}
	landlock = restrict_files(id.role, ports, port_count, err);
	if (landlock < 0)
		return -1;
	bits |= (unsigned)landlock;
	if (check_required(bits, waived, err) != 0 || check_inheritance(waived, err) != 0)
		return -1;
	seccomp_build_second(&filter, id.role, getpid());
	if (seccomp_load(&filter) != 0)
		return err_set(err, "sandbox: filter 2: %s", strerror(errno));
	if (!SECCOMP_SANITIZED && check_filter(id.role, err) != 0)
		return -1;
	return (int)bits;
}
