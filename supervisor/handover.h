/*
 * The hand-over directory of a follower (interfaces (d), F36): made before the supervisor gives its
 * capabilities up, kept open for each follower that is started. The follower writes in it, the
 * workload's group reads; nobody else but root does.
 */
#ifndef SUPERVISOR_HANDOVER_H
#define SUPERVISOR_HANDOVER_H

#include "base/err.h"
#include "policy/config.h"

/* The open directory, or -1 with path and reason. Takes over an existing one only when it is the
 * follower's already, or root's and empty: a path that was mistyped is not given away. */
int handover_open(const struct us_config *config, struct err *err);

#endif
