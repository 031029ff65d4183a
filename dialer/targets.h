/*
 * The table of what this dialer connects to. A role asks for a target's number and never names a
 * host (F2, F7); the supervisor sends the rows before the lock, from checked credentials, and they
 * do not change for the life of the process. The table owns its rows.
 */
#ifndef DIALER_TARGETS_H
#define DIALER_TARGETS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "policy/control.h"
#include "policy/roles.h"

struct target {
	unsigned id; /* credential number */
	uint16_t port;
	char host[256]; /* a name or a literal address */
	int told;       /* 1 + the outcome that the log has; 0: none yet */
};

struct targets {
	struct target rows[CREDENTIAL_LIMIT];
	unsigned count;
};

/* Adds the row of a CONTROL_TARGET. 0, or -1 with what is wrong with it. */
int targets_add(
    struct targets *targets, const struct us_ctl *ctl, struct str more, struct err *err);
/* NULL when this dialer has no such target. */
struct target *targets_find(struct targets *targets, uint64_t id);
/* Whether this asker holds the target's credential: a shard gets no other shard's worker (F9). */
bool targets_belongs(uint64_t id, struct role_id asker, unsigned shard_size);
/* The distinct ports of all rows, for Landlock. `ports` holds CREDENTIAL_LIMIT. Returns how many.
 */
unsigned targets_ports(const struct targets *targets, uint16_t *ports);

#endif
