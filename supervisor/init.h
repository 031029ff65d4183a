/*
 * What a process 1 owes, always (a supervisor does not know whether it is one: F26): clean
 * descriptors and signals at the start, signals as a descriptor, every orphan reaped.
 */
#ifndef SUPERVISOR_INIT_H
#define SUPERVISOR_INIT_H

#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"

/* Descriptors 0-2 open and no other, dispositions and mask reset, SIGPIPE ignored, subreaper, not
 * dumpable, room for descriptors. *files: the soft limit that was there before, for the workload.
 */
int init_prepare(rlim_t *files, struct err *err);
/* No new privileges, not dumpable, and the filter of our row, which all that we start inherits
 * (F29). Needs no file; nothing of it can be taken back. */
int init_lock_down(struct err *err);
/* Blocks the signals that we handle and returns the descriptor that they come in by. */
int init_open_signals(struct err *err);
/* The next signal; 0 when there is none now. */
int init_next_signal(int fd);
/* Reaps everything that has ended: calls ended(arg, pid, status) for each. */
void init_reap(void (*ended)(void *arg, pid_t pid, int status), void *arg);
/* "exit code 3", "SIGKILL", "SIGSYS: a sandbox violation"; returns text. */
const char *init_cause(int status, char *text, size_t size);

#endif
