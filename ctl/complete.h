/*
 * `understudyctl completion SHELL`: a script for bash, zsh or fish that completes every word of the
 * command table.
 */
#ifndef CTL_COMPLETE_H
#define CTL_COMPLETE_H

#include "ctl/commands.h"

command_run_fn complete_run;

#endif
