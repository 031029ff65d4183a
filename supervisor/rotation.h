/*
 * When the files of an identity are read again (F7, B10): they changed, its server answers 401, or
 * an operator reloads. And the warning before it expires (C4).
 */
#ifndef SUPERVISOR_ROTATION_H
#define SUPERVISOR_ROTATION_H

#include "supervisor/supervisor.h"

/* Looks at all files now and then. Returns when to call it again. */
int64_t rotation_due(struct supervisor *supervisor, int64_t now_ns);
/* CONTROL_CRED_REFUSED of a role. */
void rotation_on_refused(struct process *role, const struct us_ctl *ctl);
/* An operator reloads: the files are read again, and may hold another server or subject. */
void rotation_authorise(struct supervisor *supervisor, unsigned number, int64_t now_ns);
/* Nobody has this credential any more, or it is another one's number now. */
void rotation_forget(struct supervisor *supervisor, unsigned number, int64_t now_ns);

#endif
