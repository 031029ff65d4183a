/*
 * The role table. A reviewer who wants to know what a process of understudy may do reads this file
 * and policy/syscalls.def, nothing else: supervisor, sandbox, links and docs/privileges.md take it
 * from here. It must not learn anything at run time: no state, no input, no allocation.
 */
#include "policy/roles.h"

#include <string.h>

#include "base/check.h"
#include "policy/seccomp.h"

#define BIT(role)  ROLE_BIT(ROLE_##role)
#define CRED(name) CREDENTIAL_BIT(CREDENTIAL_##name)

/* One dialer per asking role, so that one that lies blinds one role and not witness and observer
 * alike (F2). It holds no credential and sees ciphertext only. */
#define DIALER(asking, text, n)                                                                    \
	[ROLE_##asking##_DIALER] = {                                                               \
		.name = text "-dialer",                                                            \
		.program = "dialer",                                                               \
		.uid_offset = (n),                                                                 \
		.trust = 3,                                                                        \
		.links = BIT(asking),                                                              \
		.restart = ROLE_RESTART_ALWAYS,                                                    \
		.syscalls = SYSCALLS_BASE | SYSCALLS_DIAL,                                         \
		.nofile = ROLE_##asking == ROLE_REPOINTER ? 1024 : 64,                             \
		.data_mib = 32,                                                                    \
		.reason = "the only roles with socket and connect: they connect to the targets "   \
			  "of one role, by Landlock only to those ports, and pass the connection " \
			  "on with sendmsg",                                                       \
	}

static const struct role_row rows[ROLE_COUNT] = {
	[ROLE_SUPERVISOR] = {
		.name = "supervisor",
		.program = "understudyd",
		.trust = 7,
		.fence = ROLE_FENCE_WRITE,
		.restart = ROLE_RESTART_NEVER,
		.syscalls = SYSCALLS_RUN,
		.reason = "uid 0: starts each role under its uid, opens the files that the "
			  "configuration names and reads none of them; all others inherit its "
			  "filter, the workload, too, so that it is no narrower than the "
			  "runner's, and for the same reason there is no Landlock (F29)",
	},
	[ROLE_RUNNER] = {
		.name = "runner",
		.program = "runner",
		.trust = 6,
		.fence = ROLE_FENCE_READ,
		.restart = ROLE_RESTART_ALWAYS,
		.syscalls = SYSCALLS_RUN,
		.reason = "uid 0 with SETUID, SETGID and KILL: starts the workload under its own "
			  "uid and ends that whole uid (F5); the workload inherits its filter, "
			  "so that one refuses only what no controller needs",
	},
	[ROLE_LOADER] = {
		.name = "loader",
		.program = "loader",
		.uid_offset = 1,
		.trust = 1,
		.restart = ROLE_RESTART_NEVER,
		.syscalls = SYSCALLS_BASE | SYSCALLS_LOAD,
		.nofile = 16,
		.data_mib = 64,
		.reason = "reads opened files and writes its result to any descriptor it was given",
	},
	[ROLE_MONITOR] = {
		.name = "monitor",
		.program = "monitor",
		.uid_offset = 2,
		.trust = 2,
		.links = BIT(OBSERVER) | BIT(ELECTOR) | BIT(SYNCER) | BIT(PUBLISHER) |
		    BIT(REPOINTER) | BIT(FOLLOWER),
		.fence = ROLE_FENCE_READ,
		.restart = ROLE_RESTART_ALWAYS,
		.syscalls = SYSCALLS_BASE | SYSCALLS_LISTEN,
		.nofile = 256,
		.data_mib = 64,
		.reason = "accepts on the two listeners that it inherits and answers; parses what "
			  "the network sends, so no message of its own exists (F1)",
	},
	[ROLE_OBSERVER] = {
		.name = "observer",
		.program = "observer",
		.uid_offset = 3,
		.trust = 4,
		.links = BIT(OBSERVER_DIALER) | BIT(ELECTOR) | BIT(MONITOR),
		.credentials = CRED(PEER_OBSERVER),
		.restart = ROLE_RESTART_ALWAYS,
		.syscalls = SYSCALLS_BASE | SYSCALLS_CURL,
		.nofile = 64,
		.data_mib = 128,
		.reason = "parses the peer hub's answers, so that the elector need not (F18)",
	},
	[ROLE_ELECTOR] = {
		.name = "elector",
		.program = "elector",
		.uid_offset = 4,
		.trust = 5,
		.links = BIT(ELECTOR_DIALER) | BIT(OBSERVER) | BIT(SYNCER) | BIT(PUBLISHER) |
		    BIT(REPOINTER) | BIT(MONITOR),
		.credentials = CRED(ELECTOR),
		.fence = ROLE_FENCE_WRITE,
		.restart = ROLE_RESTART_ALWAYS,
		.syscalls = SYSCALLS_BASE | SYSCALLS_CURL,
		.nofile = 96,
		.data_mib = 128,
		.reason = "writes the fence page through a map made before the lock; ftruncate is "
			  "not in its filter (F19); reads the requests of admin.sock (F1)",
	},
	[ROLE_SYNCER] = {
		.name = "syncer",
		.program = "syncer",
		.uid_offset = 5,
		.trust = 4,
		.links = BIT(SYNCER_DIALER) | BIT(ELECTOR) | BIT(MONITOR),
		.credentials = CRED(SYNCER) | CRED(PEER_SYNCER),
		.restart = ROLE_RESTART_ON_REQUEST,
		.syscalls = SYSCALLS_BASE | SYSCALLS_CURL,
		.nofile = 64,
		.data_mib = 256,
		.reason = "runs on a Standby only: the elector asks for its start and its end",
	},
	[ROLE_PUBLISHER] = {
		.name = "publisher",
		.program = "publisher",
		.uid_offset = 6,
		.trust = 4,
		.links = BIT(PUBLISHER_DIALER) | BIT(ELECTOR) | BIT(REPOINTER) | BIT(MONITOR),
		.credentials = CRED(PUBLISHER),
		.restart = ROLE_RESTART_ALWAYS,
		.syscalls = SYSCALLS_BASE | SYSCALLS_CURL,
		.nofile = 64,
		.data_mib = 128,
		.reason = "hands each worker's hub token to the repointer of that worker (H12)",
	},
	[ROLE_REPOINTER] = {
		.name = "repointer",
		.program = "repointer",
		.uid_offset = ROLE_UID_SHARDS,
		.trust = 4,
		.links = BIT(REPOINTER_DIALER) | BIT(ELECTOR) | BIT(PUBLISHER) | BIT(MONITOR),
		.credentials = CREDENTIAL_BIT(CREDENTIAL_WORKER),
		.restart = ROLE_RESTART_ALWAYS,
		.syscalls = SYSCALLS_BASE | SYSCALLS_CURL,
		.nofile = 512,
		.data_mib = 128,
		.reason = "one process and one uid per shard: a hostile worker cluster reaches the "
			  "identities of its own shard (F9)",
	},
	[ROLE_FOLLOWER] = {
		.name = "follower",
		.program = "follower",
		.uid_offset = 7,
		.trust = 4,
		.links = BIT(FOLLOWER_DIALER) | BIT(MONITOR),
		.credentials = CRED(FOLLOWER) | CRED(HUB_A) | CRED(HUB_B),
		.restart = ROLE_RESTART_ALWAYS,
		.syscalls = SYSCALLS_BASE | SYSCALLS_CURL | SYSCALLS_HANDOVER,
		.nofile = 64,
		.data_mib = 128,
		.reason = "writes files, by Landlock only beneath the hand-over directory (F36)",
	},
	DIALER(OBSERVER, "observer", 10),
	DIALER(ELECTOR, "elector", 11),
	DIALER(SYNCER, "syncer", 12),
	DIALER(PUBLISHER, "publisher", 13),
	DIALER(REPOINTER, "repointer", 14),
	DIALER(FOLLOWER, "follower", 15),
};

static const char *const credential_names[CREDENTIAL_FIXED_COUNT] = { "elector", "publisher",
	"syncer", "peer-observer", "peer-syncer", "follower", "hub-a", "hub-b" };

const struct role_row *role_row(enum role role)
{
	CHECK((unsigned)role < ROLE_COUNT);
	return &rows[role];
}

const char *role_name(enum role role)
{
	return role_row(role)->name;
}

enum role role_by_name(const char *name)
{
	enum role role = ROLE_SUPERVISOR;

	while (role < ROLE_COUNT && strcmp(rows[role].name, name) != 0)
		role++;
	return role;
}

enum role role_dialer_of(enum role role)
{
	CHECK((unsigned)role < ROLE_COUNT && (ROLE_BIT(role) & ROLE_KUBE) != 0);
	return ROLE_OBSERVER_DIALER + (role - ROLE_OBSERVER);
}

uint32_t role_uid(struct role_id id, uint32_t uid_base)
{
	const struct role_row *row = role_row(id.role);

	CHECK(id.shard == 0 || (id.role == ROLE_REPOINTER && id.shard < ROLE_MAX_SHARDS));
	return row->uid_offset == 0 ? 0 : uid_base + row->uid_offset + id.shard;
}

struct role_id role_holding(unsigned credential, unsigned shard_size)
{
	struct role_id id = { ROLE_COUNT, 0 };

	for (unsigned role = 0; role < ROLE_COUNT && credential < CREDENTIAL_LIMIT; role++)
		if (rows[role].credentials & CREDENTIAL_BIT(credential))
			id.role = (uint8_t)role;
	if (id.role == ROLE_REPOINTER && shard_size > 0)
		id.shard = (uint8_t)((credential - CREDENTIAL_WORKER) / shard_size);
	return id;
}

const char *credential_name(unsigned credential)
{
	if (credential < CREDENTIAL_FIXED_COUNT)
		return credential_names[credential];
	return credential >= CREDENTIAL_WORKER && credential < CREDENTIAL_LIMIT ? "worker" : "none";
}

const char *role_table_fault(void)
{
	return role_table_fault_of(rows);
}
