/*
 * `understudyctl check-config`: a configuration and the files that it names, and whether it fits
 * the configuration of another machine.
 */
#ifndef CTL_CHECK_CONFIG_H
#define CTL_CHECK_CONFIG_H

#include "ctl/commands.h"

command_run_fn check_config_command;

#endif
