/*
 * THE table: one row per role says what its process is, holds, may reach and may do. The
 * supervisor, the sandbox, the links, the audit, the tests and docs/privileges.md read these rows;
 * nothing repeats them. Rules: interfaces (d), F4 (trust), F5 (runner), F9 (shards), F24 (uids).
 */
#ifndef POLICY_ROLES_H
#define POLICY_ROLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum role {
	ROLE_SUPERVISOR,
	ROLE_RUNNER,
	ROLE_LOADER,
	ROLE_MONITOR,
	ROLE_OBSERVER,
	ROLE_ELECTOR,
	ROLE_SYNCER,
	ROLE_PUBLISHER,
	ROLE_REPOINTER,
	ROLE_FOLLOWER,
	ROLE_OBSERVER_DIALER,
	ROLE_ELECTOR_DIALER,
	ROLE_SYNCER_DIALER,
	ROLE_PUBLISHER_DIALER,
	ROLE_REPOINTER_DIALER,
	ROLE_FOLLOWER_DIALER,
	ROLE_COUNT
};

/* One running process: a role, and which shard of it (only repointers have more than shard 0). */
struct role_id {
	uint8_t role;
	uint8_t shard;
};

#define ROLE_MAX_SHARDS 32
#define ROLE_BIT(r)     (1u << (r))
#define ROLE_DIALERS                                                                               \
	(ROLE_BIT(ROLE_OBSERVER_DIALER) | ROLE_BIT(ROLE_ELECTOR_DIALER) |                          \
	    ROLE_BIT(ROLE_SYNCER_DIALER) | ROLE_BIT(ROLE_PUBLISHER_DIALER) |                       \
	    ROLE_BIT(ROLE_REPOINTER_DIALER) | ROLE_BIT(ROLE_FOLLOWER_DIALER))
/* Roles that talk to API servers: each has a dialer of its own (F2). */
#define ROLE_KUBE                                                                                  \
	(ROLE_BIT(ROLE_OBSERVER) | ROLE_BIT(ROLE_ELECTOR) | ROLE_BIT(ROLE_SYNCER) |                \
	    ROLE_BIT(ROLE_PUBLISHER) | ROLE_BIT(ROLE_REPOINTER) | ROLE_BIT(ROLE_FOLLOWER))

/* The fence page as a role gets it at exec, on descriptor ROLE_FD_FENCE. */
enum role_fence { ROLE_FENCE_NONE, ROLE_FENCE_READ, ROLE_FENCE_WRITE };

/* Descriptors at exec: 0 null, 1 and 2 the log pipe, then these. */
enum { ROLE_FD_CONTROL = 3, ROLE_FD_CONFIG = 4, ROLE_FD_FENCE = 5, ROLE_FD_FILES = 6 };

/* What happens when a process of the role ends without having been told to. */
enum role_restart { ROLE_RESTART_ALWAYS, ROLE_RESTART_ON_REQUEST, ROLE_RESTART_NEVER };

struct role_row {
	const char *name;     /* directory, process title, log prefix and metric label alike */
	const char *program;  /* file beside understudyd: build/<program> */
	uint8_t uid_offset;   /* n of interfaces (d): uid = gid = uid-base + n (+ shard) */
	uint8_t trust;        /* F4: a higher number outranks a lower one */
	uint32_t links;       /* ROLE_BITs of the roles it has a link with; symmetric, tested */
	uint32_t credentials; /* CREDENTIAL_BITs that it may hold */
	enum role_fence fence;
	enum role_restart restart;
	uint32_t syscalls;  /* SYSCALLS_* groups of policy/syscalls.def */
	uint16_t nofile;    /* RLIMIT_NOFILE */
	uint16_t data_mib;  /* RLIMIT_DATA */
	const char *reason; /* why each exception of this row is there; for docs/privileges.md */
};

/* A credential is one identity on one API server; its number is also the id of its target, the
 * only name by which a role can ask for a connection (F7). Worker i of the configuration is
 * CREDENTIAL_WORKER + i. */
enum credential {
	CREDENTIAL_ELECTOR,
	CREDENTIAL_PUBLISHER,
	CREDENTIAL_SYNCER,
	CREDENTIAL_PEER_OBSERVER,
	CREDENTIAL_PEER_SYNCER,
	CREDENTIAL_FOLLOWER,
	CREDENTIAL_HUB_A,
	CREDENTIAL_HUB_B,
	CREDENTIAL_FIXED_COUNT,
	CREDENTIAL_WORKER = 16
};
#define CREDENTIAL_MAX_WORKERS 256
#define CREDENTIAL_LIMIT       (CREDENTIAL_WORKER + CREDENTIAL_MAX_WORKERS)
#define CREDENTIAL_BIT(c)      (1u << ((c) < CREDENTIAL_WORKER ? (c) : CREDENTIAL_WORKER))

/* The row of a role; aborts on a number outside the table (our bug, never input). */
const struct role_row *role_row(enum role role);
const char *role_name(enum role role);
/* The role with this name, ROLE_COUNT when there is none. */
enum role role_by_name(const char *name);
/* The dialer of a role of ROLE_KUBE. */
enum role role_dialer_of(enum role role);
/* uid (= gid) of a process, from run.uid-base (F24). */
uint32_t role_uid(struct role_id id, uint32_t uid_base);
/* Which role holds a credential, and which shard when it is a worker's (decision 23). */
struct role_id role_holding(unsigned credential, unsigned shard_size);
/* "elector", "peer-syncer", ... as in the configuration; "worker" for the workers'. */
const char *credential_name(unsigned credential);
/* Why the table contradicts itself (asymmetric link, shared uid, ...), NULL when it does not. */
const char *role_table_fault(void);
/* The same of any table of ROLE_COUNT rows, so that the tests can break one. */
const char *role_table_fault_of(const struct role_row *rows);

#define ROLE_UID_WORKLOAD 8
#define ROLE_UID_CANARY   9
/* Nobody: the spare uids of the child that signals the workload (policy/uids.h). */
#define ROLE_UID_SIGNALLER 16
#define ROLE_UID_SHARDS    32
#define ROLE_UID_RANGE     64

#endif
