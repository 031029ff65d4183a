/*
 * How a process enters its row: the half before exec runs in the supervisor's child, the half
 * after exec in the role itself, in the order of sandbox-rules 3 (F3, F13-F16). Both are the only
 * code that drops privileges in this tree. The probe tells which protections are in force.
 * Pitfall: P96.
 */
#ifndef POLICY_SANDBOX_H
#define POLICY_SANDBOX_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "policy/roles.h"

/* Protections by class (F27). MUST ones are not waivable and have no bit. The names are those of
 * `allow-missing:`. */
enum sandbox_protection {
	SANDBOX_UID_SEPARATION = 1 << 0, /* REQUIRED */
	SANDBOX_LANDLOCK_FS = 1 << 1,    /* REQUIRED */
	SANDBOX_BOUNDING_SET = 1 << 2,   /* REQUIRED */
	SANDBOX_MLOCK = 1 << 3,          /* REQUIRED */
	SANDBOX_REQUIRED = 0xf,
	SANDBOX_LANDLOCK_NET = 1 << 4, /* BONUS from here */
	SANDBOX_LANDLOCK_SCOPE = 1 << 5,
	SANDBOX_MDWE = 1 << 6,
	SANDBOX_ALL = 0x7f
};

/* "uid-separation", ...; NULL for a value that is no single protection. */
const char *sandbox_protection_name(unsigned protection);
/* The bit of a name, 0 when unknown. */
unsigned sandbox_protection_by_name(const char *name);
/* What this kernel and this process can do, before anything is started. Changes nothing. */
unsigned sandbox_available(void);

/*
 * Between fork and execveat, async-signal-safe, single-threaded (sandbox-rules 3): umask, cwd,
 * oom score, MDWE, bounding set, ambient, securebits, groups, gid, uid, capabilities, regain test,
 * PDEATHSIG, NO_NEW_PRIVS, filter 1. `waived`: SANDBOX_* bits that may be missing. On failure
 * returns the name of the step (a literal) with errno set; NULL when all is in force.
 * The runner goes another way (F5): it stays root with SETUID, SETGID and KILL (uid is not read),
 * has no parent-death signal, and a filter 1 that its workload can live with.
 */
const char *sandbox_before_exec(struct role_id id, uid_t uid, unsigned waived);

/* RLIMIT_FSIZE of a role but the runner, in bytes. */
uint64_t sandbox_file_bytes(enum role role);
/* First thing in a role's main: not dumpable, rlimits of the row (F13). 0 or -1 with the step. */
int sandbox_after_exec(struct role_id id, struct err *err);
/*
 * Landlock, its probe ("/" must not open), filter 2, self-check (uids, capabilities, no new
 * privileges, seccomp). After this the role cannot open anything. ports: TCP ports that a dialer
 * may connect to besides 53, DNS (Landlock by port; NULL and 0: none). Returns the SANDBOX_* bits
 * in force, or -1 with the reason.
 */
int sandbox_lock(struct role_id id, const uint16_t *ports, unsigned port_count, unsigned waived,
    struct err *err);

#endif
