/*
 * admin.sock: who may command this hub (F1, decision 10). The supervisor accepts, asks the kernel
 * who is there, and passes the connection on to the elector; it reads and writes none of its bytes.
 */
#ifndef SUPERVISOR_ADMIN_H
#define SUPERVISOR_ADMIN_H

#include <sys/socket.h>

#include "supervisor/supervisor.h"

/* Binds run.directory/admin.sock where the configuration has an elector: root 0600, or 0660 for
 * run.admin-group. 0, or -1 with the reason. */
int admin_open(struct supervisor *supervisor, struct err *err);

/* Listens while there is an elector and the rate allows; who comes meanwhile waits in the kernel's
 * queue. Returns when to be called again. */
int64_t admin_due(struct supervisor *supervisor, int64_t now_ns);

/* Pure, for tests: how many more connections may be passed on now? */
unsigned admin_tokens(struct admin *admin, int64_t now_ns);
/* Pure: is this a user of our own user namespace? One that is not shows as the overflow uid. */
bool admin_knows(const struct ucred *user);

#endif
