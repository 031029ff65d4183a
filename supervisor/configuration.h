/*
 * From the file to a checked struct and a sealed memfd: a loader process reads the YAML, this
 * process checks what came out again, because the loader is the least trusted role.
 */
#ifndef SUPERVISOR_CONFIGURATION_H
#define SUPERVISOR_CONFIGURATION_H

#include "supervisor/supervisor.h"

/* Fills supervisor->config and config_fd. 0, or an exit code with the cause logged. */
int configuration_load(struct supervisor *supervisor);
/* A sealed copy that roles map. The caller's to close; -1 with the reason. */
int configuration_seal(const struct us_config *config, struct err *err);

#endif
