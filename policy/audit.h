/*
 * One row of the audit: what a thing should be, what the kernel says it is, what somebody who tried
 * found, and the verdict. The supervisor writes rows about what it can see itself (audit.sock),
 * understudyctl adds what roles tried at their API servers, prints and counts them. What cannot be
 * looked at is UNVERIFIED, never OK; what is in no file of /proc is "probed", never "effective"
 * (F15).
 * On the socket a row is one line of eight fields with tabs between them; the first line says
 * AUDIT_HEAD, the last one AUDIT_END, so that a cut answer is no clean one.
 */
#ifndef POLICY_AUDIT_H
#define POLICY_AUDIT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

#define AUDIT_HEAD "understudy audit 1"
#define AUDIT_END  "end"

enum audit_kind {
	AUDIT_PROTECTION, /* of a process */
	AUDIT_PROBE,      /* what a canary tried in a role's row (audit --deep) */
	AUDIT_PROCESS,    /* who runs, and who must not */
	AUDIT_FILE,
	AUDIT_CREDENTIAL,
	AUDIT_LINK,
	AUDIT_ENDPOINT, /* where a process may connect to, or listens */
	AUDIT_RIGHT,    /* what an API server lets an identity do */
	AUDIT_DOOR,     /* what a worker's API server must refuse (C11) */
	AUDIT_FENCE,    /* whether the own API server enforces this hub's role (C1) */
	AUDIT_KIND_COUNT
};

enum audit_verdict {
	AUDIT_OK,
	AUDIT_WAIVED,     /* not there, and allow-missing names it */
	AUDIT_DECLARED,   /* said, and here and now not looked at */
	AUDIT_UNVERIFIED, /* should have been looked at and could not be */
	AUDIT_FINDING,
	AUDIT_VERDICT_COUNT
};

struct audit_row {
	enum audit_kind kind;
	enum audit_verdict verdict;
	char subject[64];    /* a process, a credential, ... */
	char what[256];      /* which property of it, or which path */
	char declared[1088]; /* "" in these three: this column says nothing */
	char effective[1088];
	char probed[1088];
	char text[512]; /* for a person; "" when there is nothing to add */
};

/* "protection", "ok", ...; never NULL. */
const char *audit_kind_word(enum audit_kind kind);
const char *audit_verdict_word(enum audit_verdict verdict);
/* Appends the row as a line. Control characters become '?'. */
void audit_put(struct buf *out, const struct audit_row *row);
/* Takes the next line off `rest`. 1 with a row; 0 where the rows end as they should; -1 where they
 * do not: a cut answer, or a line that is no row. */
int audit_take(struct str *rest, struct audit_row *row);
/* Takes the first line; false when it is not AUDIT_HEAD. */
bool audit_take_head(struct str *rest);
/* Of these verdicts (decision 25): 1 with a finding, else 2 with something unverified, else 0. */
int audit_exit_code(const unsigned counts[AUDIT_VERDICT_COUNT]);

#endif
