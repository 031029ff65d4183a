/*
 * `audit --deep`: canaries in the row of each role of this configuration, one process after the
 * other, and what became of them as rows of the audit (F16; policy/canary.h). canary.sock is for
 * whom audit.sock is for: a connection is the request, of which nothing is read; the answer is the
 * whole audit with these rows in it. One run at a time, with a pause behind it; who comes meanwhile
 * waits in the kernel's queue. A stop of understudyd ends it.
 */
#ifndef SUPERVISOR_CANARY_H
#define SUPERVISOR_CANARY_H

#include <sys/types.h>

#include "base/buf.h"
#include "supervisor/supervisor.h"

/* A canary has so long, and all of them together. */
#define CANARY_ONE_NS (20 * BASE_NS_PER_S)
#define CANARY_ALL_NS (180 * BASE_NS_PER_S)
/* Between two runs. */
#define CANARY_PAUSE_NS (2 * BASE_NS_PER_S)

/* Binds run.directory/canary.sock. 0, or -1 with the reason. */
int canary_open(struct supervisor *supervisor, struct err *err);
/* Accepts, starts, ends what takes too long, answers. Returns when to be called again. */
int64_t canary_due(struct supervisor *supervisor, int64_t now_ns);
/* True when it was a canary that ended. */
bool canary_on_ended(struct supervisor *supervisor, pid_t pid, int status);
/* Kills the one that runs and hangs up on who asked. */
void canary_stop(struct supervisor *supervisor);
/* The rows of the run that ended last. */
void canary_put(const struct supervisor *supervisor, struct buf *out);

#endif
