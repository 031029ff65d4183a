/*
 * What a start is refused for, before anything of it exists: not root, a protection that this
 * machine lacks and nobody waived (F27), a uid that is somebody else's (F24).
 */
#ifndef SUPERVISOR_PRECONDITIONS_H
#define SUPERVISOR_PRECONDITIONS_H

#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "policy/config.h"

/* So long a process of a former run may take to end before its uid counts as taken. */
#define PRECONDITIONS_PATIENCE_NS 5000000000LL

/* uid 0 with the capabilities that a supervisor needs. */
int preconditions_check_root(struct err *err);
/* Protections of SANDBOX_REQUIRED that are neither available nor waived: -1 naming them. A waiver
 * that is needed is logged by name, one that is not is warned of. */
int preconditions_check_protections(unsigned available, unsigned waived, struct err *err);
/* What cannot be done with one uid for all, where this machine cannot change uids and allow-missing
 * accepts that (F26): -1 naming it. 0 on any other machine. */
int preconditions_check_one_uid(
    unsigned available, const struct us_config *config, struct err *err);
/* The 64 numbers of run.uid-base: none 0, 65534 or the overflow id, mapped in this user namespace,
 * nobody's in /etc/passwd and /etc/group but ours, no process under one, at the latest after
 * patience_ns. */
int preconditions_check_uids(uint32_t uid_base, int64_t patience_ns, struct err *err);
/* Parts of it, for tests. A passwd-like or group-like file: a foreign name with an id of the range.
 */
int preconditions_check_names(FILE *file, const char *path, uint32_t first, struct err *err);
/* A uid_map-like file: all 64 ids mapped by one of its lines. */
int preconditions_check_map(FILE *file, const char *path, uint32_t first, struct err *err);

#endif
