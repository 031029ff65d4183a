/*
 * `understudyctl check-config`: a configuration and the files that it names, and whether it fits
 * the configuration of another machine.
 */
#ifndef CTL_CHECK_CONFIG_H
#define CTL_CHECK_CONFIG_H

#include <jansson.h>

#include "ctl/commands.h"

command_run_fn check_config_command;

/* Pure, for tests: what understudyd has said of config, and of pair unless it is NULL, on its
 * standard output and in its log, both of which are cut up. The caller's. */
json_t *check_config_answer(const char *config, const char *pair, char *said, char *logged);

#endif
