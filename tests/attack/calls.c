/*
 * What a hostile role tries with system calls alone (see attack.h): files, network, other
 * processes, identity, memory. Each function does one thing and nothing else; it is called in a
 * locked process and, as the control, in an unlocked one of root.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policy/sandbox.h"
#include "tests/attack/attack.h"

#define PAGE 4096

static int outcome(long result)
{
	return result >= 0 ? 0 : errno;
}

/* --- Files ---------------------------------------------------------------------------------- */

static int read_credential(const struct scene *scene)
{
	return outcome(open(scene->credential, O_RDONLY | O_CLOEXEC));
}

static int read_file(const struct scene *scene)
{
	return outcome(open(scene->readable, O_RDONLY | O_CLOEXEC));
}

static int make_file(const struct scene *scene)
{
	return outcome(open(scene->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
}

static int list_folder(const struct scene *scene)
{
	return outcome(open(scene->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int remove_file(const struct scene *scene)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/victim", scene->folder);
	return outcome(rename(path, path));
}

/* --- Network -------------------------------------------------------------------------------- */

static int connect_to(int fd, uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in peer;
	socklen_t size = sizeof(peer);
	int error = 0;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		error = errno;
	/* The answer of a filter is not believed: is it connected? */
	return getpeername(fd, (struct sockaddr *)&peer, &size) == 0 ? 0 : error ? error : EIO;
}

static int dial(const struct scene *scene)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? errno : connect_to(fd, scene->port);
}

static int dial_target(const struct scene *scene)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? errno : connect_to(fd, scene->target_port);
}

static int connect_handed(const struct scene *scene)
{
	return connect_to(FD_SOCKET, scene->port);
}

static int send_to_address(const struct scene *scene)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(scene->port) };

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return outcome(sendto(
	    FD_SOCKET, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, (struct sockaddr *)&to, sizeof(to)));
}

static int bind_handed(const struct scene *scene)
{
	struct sockaddr_in to = { .sin_family = AF_INET };

	(void)scene;
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return outcome(bind(FD_SOCKET, (struct sockaddr *)&to, sizeof(to)));
}

static int listen_handed(const struct scene *scene)
{
	(void)scene;
	return outcome(listen(FD_BOUND, 1));
}

static int unix_socket(const struct scene *scene)
{
	(void)scene;
	return outcome(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int netlink_socket(const struct scene *scene)
{
	(void)scene;
	return outcome(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0));
}

static int pass_descriptor(const struct scene *scene)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec vector = { "x", 1 };
	struct msghdr header = { .msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	const int fd = FD_PROGRAM;

	(void)scene;
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	return outcome(sendmsg(FD_LINK, &header, MSG_NOSIGNAL));
}

/* --- Other processes ------------------------------------------------------------------------ */

static int execute(const struct scene *scene)
{
	static char *const argv[] = { (char *)"true", NULL };
	static char *const none[] = { NULL };

	(void)scene;
	/* When it works it exits with 0, which is what a success is here. */
	return execve("/bin/true", argv, none) == 0 ? 0 : errno;
}

static int execute_handed(const struct scene *scene)
{
	static char *const argv[] = { (char *)"true", NULL };
	static char *const none[] = { NULL };

	(void)scene;
	return syscall(SYS_execveat, FD_PROGRAM, "", argv, none, AT_EMPTY_PATH) == 0 ? 0 : errno;
}

static int duplicate(const struct scene *scene)
{
	pid_t pid = fork();

	(void)scene;
	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return errno;
	(void)waitpid(pid, NULL, 0);
	return 0;
}

static int signal_sibling(const struct scene *scene)
{
	return outcome(kill(scene->sibling, SIGWINCH));
}

static int signal_parent(const struct scene *scene)
{
	(void)scene;
	return outcome(kill(getppid(), SIGWINCH));
}

static int trace_sibling(const struct scene *scene)
{
	return outcome(ptrace(PTRACE_SEIZE, scene->sibling, NULL, NULL));
}

static int read_sibling(const struct scene *scene)
{
	uint64_t copy = 0;
	struct iovec here = { &copy, sizeof(copy) };
	struct iovec there = { (void *)scene->secret, sizeof(copy) };

	return outcome(process_vm_readv(scene->sibling, &here, 1, &there, 1, 0));
}

static int open_memory(const struct scene *scene)
{
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)scene->sibling);
	return outcome(open(path, O_RDONLY | O_CLOEXEC));
}

static int read_environment(const struct scene *scene)
{
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)scene->sibling);
	return outcome(open(path, O_RDONLY | O_CLOEXEC));
}

static int borrow_descriptor(const struct scene *scene)
{
	long pidfd = syscall(SYS_pidfd_open, scene->sibling, 0);

	return pidfd < 0 ? errno : outcome(syscall(SYS_pidfd_getfd, pidfd, 0, 0));
}

/* --- Identity ------------------------------------------------------------------------------- */

static int become_root(const struct scene *scene)
{
	(void)scene;
	return outcome(setresuid(0, 0, 0));
}

static int become_sibling_group(const struct scene *scene)
{
	(void)scene;
	return outcome(setresgid(0, 0, 0));
}

static int regain_capability(const struct scene *scene)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 1u << CAP_SETUID, 1u << CAP_SETUID, 0 },
		{ 0, 0, 0 } };

	(void)scene;
	return outcome(syscall(SYS_capset, &header, data));
}

static int be_dumpable(const struct scene *scene)
{
	(void)scene;
	return outcome(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}

static int outlive_parent(const struct scene *scene)
{
	(void)scene;
	return outcome(prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0));
}

static int change_root(const struct scene *scene)
{
	return outcome(chroot(scene->folder));
}

static int leave_namespace(const struct scene *scene)
{
	(void)scene;
	return outcome(unshare(CLONE_NEWNS));
}

static int raise_limit(const struct scene *scene)
{
	const struct rlimit limit = { 1 << 20, 1 << 20 };

	(void)scene;
	return outcome(setrlimit(RLIMIT_CORE, &limit));
}

/* --- Memory --------------------------------------------------------------------------------- */

static int map(int protection, int flags, int fd)
{
	return mmap(NULL, PAGE, protection, flags, fd, 0) == MAP_FAILED ? errno : 0;
}

static int executable_memory(const struct scene *scene)
{
	(void)scene;
	return map(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static int executable_later(const struct scene *scene)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)scene;
	/* Not errno of mmap: a page to work on is no attempt. */
	return page == MAP_FAILED ? 0 : outcome(mprotect(page, PAGE, PROT_READ | PROT_EXEC));
}

static int executable_file(const struct scene *scene)
{
	(void)scene;
	return map(PROT_READ | PROT_EXEC, MAP_PRIVATE, FD_PROGRAM);
}

static int nameless_file(const struct scene *scene)
{
	(void)scene;
	return outcome(memfd_create("x", MFD_CLOEXEC));
}

#define BIT(role) ROLE_BIT(ROLE_##role)

const struct attempt attempts[] = {
	{ "opens a credential file", read_credential, 0, 0 },
	{ "opens a file that all may read", read_file, 0, 0 },
	{ "makes a file", make_file, 0, 0 },
	{ "lists a folder", list_folder, 0, 0 },
	{ "renames a file", remove_file, 0, 0 },
	{ "connects a socket of its own", dial, 0, SANDBOX_LANDLOCK_NET },
	{ "connects to a target of its own", dial_target, ROLE_DIALERS, 0 },
	{ "connects a handed socket", connect_handed, 0, SANDBOX_LANDLOCK_NET },
	{ "sends to an address", send_to_address, 0, 0 },
	{ "binds a handed socket", bind_handed, 0, 0 },
	{ "listens on a handed socket", listen_handed, 0, 0 },
	{ "makes a local socket", unix_socket, 0, 0 },
	{ "makes a netlink socket", netlink_socket, 0, 0 },
	/* Judged by the receiver instead: packets.c. */
	{ "passes a descriptor on", pass_descriptor, ROLE_DIALERS | BIT(MONITOR), 0 },
	{ "executes a program", execute, 0, 0 },
	{ "executes a handed program", execute_handed, 0, 0 },
	{ "makes a process", duplicate, 0, 0 },
	{ "signals a sibling", signal_sibling, 0, 0 },
	{ "signals the supervisor", signal_parent, 0, 0 },
	{ "traces a sibling", trace_sibling, 0, 0 },
	{ "reads a sibling's memory", read_sibling, 0, 0 },
	{ "opens a sibling's memory", open_memory, 0, 0 },
	{ "opens a sibling's environment", read_environment, 0, 0 },
	{ "takes a sibling's descriptor", borrow_descriptor, 0, 0 },
	{ "becomes root", become_root, 0, 0 },
	{ "joins root's group", become_sibling_group, 0, 0 },
	{ "regains a capability", regain_capability, 0, 0 },
	{ "makes itself dumpable", be_dumpable, 0, 0 },
	{ "outlives the supervisor", outlive_parent, 0, 0 },
	{ "changes its root", change_root, 0, 0 },
	{ "leaves the mount namespace", leave_namespace, 0, 0 },
	{ "raises a limit", raise_limit, 0, 0 },
	{ "maps executable memory", executable_memory, 0, 0 },
	{ "makes memory executable", executable_later, 0, 0 },
	{ "maps an executable file", executable_file, 0, 0 },
	{ "makes a nameless file", nameless_file, 0, 0 },
};
const unsigned attempt_count = sizeof(attempts) / sizeof(attempts[0]);
