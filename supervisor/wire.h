/*
 * Links between roles: a pair for each edge of the table whose two ends are verified, in
 * generations (F20, decision 22); and the monitor's two listeners.
 */
#ifndef SUPERVISOR_WIRE_H
#define SUPERVISOR_WIRE_H

#include "supervisor/supervisor.h"

/* One struct wire for each pair of planned processes that the table links; those that are there
 * stay as they are. */
void wire_plan(struct supervisor *supervisor);
/* Makes each pair that is down, due, and has two verified ends. Returns when the next is due. */
int64_t wire_due(struct supervisor *supervisor, int64_t now_ns);
/* A process ended: its links come back as soon as it does. */
void wire_forget(struct process *process);
/* A link between two that live was cut: it comes back after a while. */
void wire_cut(struct process *process, struct role_id peer, int64_t now_ns);
/* The wire between a process and a peer; NULL when the table has none. */
struct wire *wire_between(struct process *process, struct role_id peer);

/* Binds listen.http and run.directory/status.sock. 0, or -1 with the reason. */
int wire_open_listeners(struct supervisor *supervisor, struct err *err);
/* Binds a socket in run.directory: root:group 0660; without a configured group root's alone, or
 * for status.sock root's group. A descriptor, or -1 with the reason. */
int wire_open_socket(struct supervisor *supervisor, enum run_socket which, struct err *err);
/* Once a second: a socket whose file was removed, or is another one now, is told and bound anew;
 * one that cannot be is tried again. Returns when to look again. */
int64_t wire_mend_sockets(struct supervisor *supervisor, int64_t now_ns);
/* Hands the listeners to a verified monitor. */
void wire_grant_listeners(struct process *monitor);
/* The gid of a group of /etc/group, without NSS; 0 for "". -1 when there is none. */
int wire_group(const char *name, const char *path, gid_t *gid);

#endif
