/*
 * audit.sock: what the supervisor itself finds out about this hub (F1, decision 10). A connection
 * is the request; it writes rows (policy/audit.h) and reads nothing. The same rows, and those of
 * canaries, answer canary.sock (canary.h). Three parts: audit.c the
 * socket, audit_read.c what is there, audit_judge.c the verdict over it, which is pure, so that
 * tests can lie to it.
 */
#ifndef SUPERVISOR_AUDIT_H
#define SUPERVISOR_AUDIT_H

#include "policy/audit.h"
#include "supervisor/supervisor.h"
#include "supervisor/verify.h"

/* Of all rows: 256 workers with their files and processes need a tenth. */
#define AUDIT_MAX_BYTES (4UL * 1024 * 1024)

/* Binds run.directory/audit.sock, for whom admin.sock is for. 0, or -1 with the reason. */
int audit_open(struct supervisor *supervisor, struct err *err);
/* Serves one connection at a time; others wait in the kernel's queue. Returns when to be called
 * again. */
int64_t audit_due(struct supervisor *supervisor, int64_t now_ns);

/* Logs who asked; false when it is nobody of this user namespace. */
bool audit_admits(int fd, const char *socket, const char *what);
/* Gives all rows to who is connected there, as its reader. Nobody may be served now. */
void audit_answer(struct supervisor *supervisor, int fd, bool deep, int64_t now_ns);

/* AUDIT_OFFLINE: no process of this configuration runs, what they should be is said as declared;
 * AUDIT_DEEP: with what the last canaries found. */
enum audit_depth { AUDIT_OFFLINE, AUDIT_PLAIN, AUDIT_DEEP };
/* All rows, head and end included. */
void audit_collect(struct supervisor *supervisor, enum audit_depth depth, struct buf *out);

/* --- audit_judge.c: pure. Each appends one row for each property. ---------------------------- */

/* What the process was found to be. in_force: its word of READY; available: this machine's. */
void audit_judge_process(struct buf *out, const char *subject,
    const struct verify_expected *expected, const struct verify_facts *facts, unsigned in_force,
    unsigned available);
/* The same rows without facts: verdict DECLARED, or UNVERIFIED with the reason. */
void audit_judge_unseen(
    struct buf *out, const char *subject, const struct verify_expected *expected, const char *why);
/* The supervisor itself: root with four capabilities. filters: when it had locked itself down;
 * bounding_waived: allow-missing names it. */
void audit_judge_supervisor(
    struct buf *out, const struct verify_facts *facts, uint32_t filters, bool bounding_waived);

/* Whether a canary got into the role's row, and that row's answer to one probe of the list. */
void audit_judge_canary(struct buf *out, const char *subject, const struct canary_answers *answers);
void audit_judge_probe(struct buf *out, enum role role, const struct canary_probe *probe,
    const struct canary_answers *answers, unsigned number);

/* Somebody's file, as stat says. */
struct audit_file {
	const char *path;
	int error; /* errno of stat; 0: the rest counts */
	uint32_t uid, gid, mode;
	bool right_kind; /* regular file, socket, directory on tmpfs: what it should be */
};
struct audit_wanted_file {
	const char *words;  /* for the column "declared" */
	uint32_t gid;       /* group that may have more than others; root's when 0 */
	uint32_t forbidden; /* mode bits that must not be set */
	uint32_t needed;    /* mode bits that must be set */
	bool any_group;     /* what it lets a group do, it may let anybody do */
};
void audit_judge_file(struct buf *out, enum audit_kind kind, const char *subject,
    const struct audit_file *file, const struct audit_wanted_file *wanted);

struct audit_identity {
	const char *name;   /* "publisher", "worker worker-1" */
	const char *holder; /* process that must hold it, and nobody else */
	bool holder_runs;   /* verified */
	bool holder_wanted; /* it should run */
	bool known;         /* its files were read */
	bool delivered;     /* a generation of it is with the holder */
	const struct us_loaded *pinned;
	uint64_t generation;
	const char *same;  /* a credential of another role that is the same identity; NULL: none */
	bool same_allowed; /* they have one file, which shared-credentials names */
};
void audit_judge_identity(
    struct buf *out, const struct audit_identity *identity, bool offline, int64_t now_us);

/* A pair of the table. */
void audit_judge_link(struct buf *out, const char *name, bool up, uint64_t generation,
    bool ends_run, bool ends_wanted, bool offline);

#endif
