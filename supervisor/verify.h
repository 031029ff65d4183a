/*
 * What the kernel says of a process, against its row of the role table (F15). The supervisor asks
 * between READY and the first link or credential; a process that is more than its row allows gets
 * neither. What is in no file of /proc (Landlock, MDWE, securebits, the filters' content) stays
 * the role's own word and is not judged here.
 */
#ifndef SUPERVISOR_VERIFY_H
#define SUPERVISOR_VERIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "policy/roles.h"

/* Descriptors that a process may have opened itself before it is ready (loop, timer, wake-ups). */
#define VERIFY_OWN_FDS 24

struct verify_facts {
	bool ended; /* a zombie: it has nothing left that could be judged */
	uint32_t uids[4], gids[4];
	uint32_t owner; /* of its files in /proc: 0 when it is not dumpable */
	bool has_groups;
	uint64_t caps[5]; /* inheritable, permitted, effective, bounding, ambient */
	uint32_t no_new_privs, seccomp, filters, threads, tracer, parent;
	/* Soft limits; UINT64_MAX: unlimited. */
	uint64_t core, processes, files, data_bytes, file_bytes;
	bool limits_fixed; /* soft equals hard in all five */
	uint32_t fd_count;
	bool has_first_fds; /* 0 to 3 are open */
};

struct verify_expected {
	struct role_id id;
	uint32_t uid;
	uint32_t parent;
	uint32_t filters; /* of this supervisor; a role has two more, the runner one */
	unsigned waived;  /* SANDBOX_* */
};

/* The two files, parsed. -1 when a line that is judged is not there: silence is no proof. */
int verify_parse_status(const char *text, struct verify_facts *facts, struct err *err);
int verify_parse_limits(const char *text, struct verify_facts *facts, struct err *err);
/* Pure. 0, or -1 with the first deviation. */
int verify_judge(
    const struct verify_expected *expected, const struct verify_facts *facts, struct err *err);
/* Reads /proc/PID. 0, or -1 with what could not be read. */
int verify_read(pid_t pid, struct verify_facts *facts, struct err *err);
/* Seccomp filters on the calling process; -1 when the kernel does not tell. */
int verify_own_filters(void);

#endif
