/*
 * SIGHUP: the configuration is read again while the one before stays in force (decision 20). What
 * cannot change under way refuses it as a whole, as an invalid file does; else roles whose part
 * changed start anew, workers come and go, and every credential is read again.
 */
#ifndef SUPERVISOR_RELOAD_H
#define SUPERVISOR_RELOAD_H

#include "supervisor/supervisor.h"

/* Begins a reload that was asked for, ends one that was read. Called in each turn of the loop. */
void reload_due(struct supervisor *supervisor, int64_t now_ns);
/* How the last one ended, for a monitor that is new. */
void reload_tell_monitor(struct supervisor *supervisor);

#endif
