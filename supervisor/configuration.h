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

/* The same in pieces, for whoever must not wait: starts the loader. 0 and *begun, which
 * configuration_take ends; or an exit code with the cause logged. One at a time. */
int configuration_begin(struct supervisor *supervisor, struct result **begun);
bool configuration_is_being_read(const struct result *result);
/* 0 and *config, checked, the caller's to free; or an exit code with the cause logged. */
int configuration_take(struct result *result, struct us_config **config);

#endif
