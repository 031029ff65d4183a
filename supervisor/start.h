/*
 * fork, descriptors, exec: the only place that makes processes. A binary is opened once, before
 * the supervisor locks itself down, and executed by its descriptor; between fork and exec the new
 * process enters its row (policy/sandbox.h).
 * Descriptors in a plan stay the caller's.
 */
#ifndef SUPERVISOR_START_H
#define SUPERVISOR_START_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"
#include "policy/config.h"
#include "policy/roles.h"

/* Descriptors 0..START_MAX_FDS-1 of the new process; -1 leaves a number closed. */
#define START_MAX_FDS 16

struct start_plan {
	struct role_id id;
	uid_t uid;
	unsigned waived; /* SANDBOX_* that may be missing */
	int program;     /* opened binary */
	rlim_t files;    /* soft RLIMIT_NOFILE, for the workload; a role lowers its own */
	const char *const *argv;
	int fds[START_MAX_FDS];
};

/* Opens the binary of a role: beside our own, or where packages put it. -1 with the reason. */
int start_open_program(enum role role, struct err *err);
/* Those of the roles (ROLE_BITs) that are not open yet, into programs[role]. 0, or -1. */
int start_open_programs(int *programs, uint32_t roles, struct err *err);
/* The uid that a process gets: the one of its row, or our own, 0, where this machine (SANDBOX_* in
 * `available`) cannot change uids and allow-missing accepts that (F26). */
uid_t start_uid(uid_t uid, unsigned available);
/* The same for a role's process, by its row. And what a process may lack: by name in allow-missing.
 * config NULL: the loader of it, with the default uids and what this machine has. */
uid_t start_role_uid(const struct us_config *config, struct role_id id, unsigned available);
unsigned start_waived(const struct us_config *config, unsigned available);
/* All numbers closed. */
void start_clear_fds(struct start_plan *plan);
/* 0 and the pid, or -1 with the reason. What fails after fork is a line in the new process's log
 * (descriptor 2 of the plan) and exit code 70. */
int start_process(const struct start_plan *plan, pid_t *pid, struct err *err);
/* Drops all capabilities but those named by the bits (1 << CAP_*), from the bounding set as well,
 * for good. Where the bounding set cannot be changed, `bounding_waived` accepts that. NULL, or the
 * step that failed (a literal) with errno. Async-signal-safe. */
const char *start_keep_capabilities(uint64_t keep, bool bounding_waived);

#endif
