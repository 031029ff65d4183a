/*
 * Landlock by its raw system calls (see the header): the distribution's headers know its first
 * version only, so the numbers of the kernel's interface stand here. It must open nothing.
 * Pitfall: P92.
 */
#include "policy/landlock.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "policy/sandbox.h"

#define CREATE_RULESET_VERSION 1u
#define RULE_PATH_BENEATH      1
#define RULE_NET_PORT          2

#define FS_WRITE_FILE          (1ULL << 1)
#define FS_READ_FILE           (1ULL << 2)
#define FS_READ_DIR            (1ULL << 3)
#define FS_REMOVE_DIR          (1ULL << 4)
#define FS_REMOVE_FILE         (1ULL << 5)
#define FS_MAKE_DIR            (1ULL << 7)
#define FS_MAKE_REG            (1ULL << 8)
#define FS_MAKE_SYM            (1ULL << 12)
#define FS_TRUNCATE            (1ULL << 14)
#define FS_ABI_1               0x1fffULL
#define FS_ABI_2               0x3fffULL /* + moves between directories */
#define FS_ABI_3               0x7fffULL /* + truncation */
#define FS_ABI_5               0xffffULL /* + ioctl on devices */
#define NET_BIND_TCP           1ULL
#define NET_CONNECT_TCP        2ULL
#define SCOPE_ABSTRACT_SOCKETS 1ULL
#define SCOPE_SIGNALS          2ULL

/* What the hand-over directory takes: the swap of two directories of one parent (F36). */
#define HANDOVER                                                                                   \
	(FS_WRITE_FILE | FS_READ_FILE | FS_READ_DIR | FS_REMOVE_DIR | FS_REMOVE_FILE |             \
	    FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SYM | FS_TRUNCATE)

struct ruleset {
	uint64_t fs, net, scoped;
};
struct path_beneath {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));
struct net_port {
	uint64_t allowed, port;
};

int landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);

	return abi > 0 ? (int)abi : 0;
}

unsigned landlock_bits(int abi)
{
	return (abi >= 1 ? SANDBOX_LANDLOCK_FS : 0u) | (abi >= 4 ? SANDBOX_LANDLOCK_NET : 0u) |
	       (abi >= 6 ? SANDBOX_LANDLOCK_SCOPE : 0u);
}

static struct ruleset handled_by(int abi)
{
	struct ruleset handled = { 0 };

	handled.fs = abi >= 5 ? FS_ABI_5 : abi >= 3 ? FS_ABI_3 : abi >= 2 ? FS_ABI_2 : FS_ABI_1;
	if (abi >= 4)
		handled.net = NET_BIND_TCP | NET_CONNECT_TCP;
	if (abi >= 6)
		handled.scoped = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS;
	return handled;
}

/* How much of the struct a kernel of this ABI reads. */
static size_t ruleset_size(int abi)
{
	if (abi >= 6)
		return sizeof(struct ruleset);
	return abi >= 4 ? offsetof(struct ruleset, scoped) : offsetof(struct ruleset, net);
}

int landlock_restrict(int directory_fd, const uint16_t *ports, unsigned port_count)
{
	int abi = landlock_abi(), result = -1, error;
	struct ruleset handled = handled_by(abi);
	struct path_beneath beneath = { HANDOVER & handled.fs, directory_fd };
	long fd;

	if (abi == 0)
		return 0;
	fd = syscall(SYS_landlock_create_ruleset, &handled, ruleset_size(abi), 0);
	if (fd < 0)
		return -1;
	if (directory_fd >= 0 &&
	    syscall(SYS_landlock_add_rule, fd, RULE_PATH_BENEATH, &beneath, 0) != 0)
		goto out;
	for (unsigned i = 0; i < port_count && handled.net; i++) {
		struct net_port port = { NET_CONNECT_TCP, ports[i] };

		if (syscall(SYS_landlock_add_rule, fd, RULE_NET_PORT, &port, 0) != 0)
			goto out;
	}
	if (syscall(SYS_landlock_restrict_self, fd, 0) == 0)
		result = (int)landlock_bits(abi);
out:
	error = errno;
	close((int)fd);
	errno = error;
	return result;
}
