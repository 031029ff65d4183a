/*
 * Credential files: opened here, read by a loader process each, handed from there to the role
 * that holds the identity. No byte of one passes through this process (F7); what it gets is a
 * fixed struct that says where the identity belongs and whose it is, and that is pinned.
 */
#ifndef SUPERVISOR_CREDENTIALS_H
#define SUPERVISOR_CREDENTIALS_H

#include "supervisor/supervisor.h"

#define CREDENTIALS_FILE_BYTES (1 << 20)

/* Opens a file that is root's, regular, not empty, at most 1 MiB, and writable by root alone.
 * Never blocks on a FIFO. -1 with path and reason. */
int credentials_open_file(const char *path, struct err *err);
/* May these read a file with a secret? Refused: a group of ours, at uid_base and behind it. Warned
 * of: everybody. 0, or -1 with the reason. */
int credentials_check_readers(
    const char *path, uint32_t gid, uint32_t mode, uint32_t uid_base, struct err *err);
/* Runs the loader of every configured credential and waits for all. 0, or an exit code with the
 * cause logged. Afterwards nobody holds a credential but the loaders. */
int credentials_check_all(struct supervisor *supervisor);
/* The struct behind CONTROL_LOADED: terminated, in its bounds. Pure. 0, or -1 with the reason. */
int credentials_check_loaded(const struct us_loaded *loaded, struct err *err);
/* A rotated identity is another identity when it names another host, port or subject (F7). */
int credentials_check_pin(
    const struct us_loaded *pinned, const struct us_loaded *loaded, struct err *err);

/* Events of the loaders, and of the roles that wait for them. */
void credentials_on_loaded(struct process *loader, const struct us_loaded *loaded);
void credentials_on_loader_end(struct process *loader, bool clean);
void credentials_on_role_ready(struct process *role);
void credentials_on_role_end(struct process *role);
void credentials_on_answer(struct process *role, const struct us_ctl *ctl);
/* Starts the loaders that are due. Returns when to call it again. */
int64_t credentials_due(struct supervisor *supervisor, int64_t now_ns);
/* Whether the configuration has it; who holds it; "credential worker worker-1" for messages. */
bool credentials_configured(const struct supervisor *supervisor, unsigned number);
struct process *credentials_holder(struct supervisor *supervisor, unsigned number);
const char *credentials_describe(
    const struct supervisor *supervisor, unsigned number, char *text, size_t size);
/* The holder's end of a one-shot link that nobody will get. */
void credentials_drop_link(struct identity *credential);
/* Tells a dialer the targets of its role. */
void credentials_send_targets(struct process *dialer);
/* How many targets a dialer has. */
unsigned credentials_count_targets(const struct supervisor *supervisor, enum role dialer);

#endif
