/*
 * The ordered end (elector first, which closes the page and has the workload
 * stopped; then the runner; then everybody else), each stage bounded, the whole as well.
 */
#ifndef SUPERVISOR_STOP_H
#define SUPERVISOR_STOP_H

#include "supervisor/supervisor.h"

/* A signal to stop came; the second one hurries. */
void stop_ask(struct supervisor *supervisor);
/* Begins, or goes on. True when nothing of ours is left. */
bool stop_due(struct supervisor *supervisor, int64_t now_ns, int64_t *next_ns);

#endif
