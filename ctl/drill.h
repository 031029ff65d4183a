/*
 * `understudyctl drill`: on a Standby, everything of a takeover that can be tried while the Active
 * lives, each with its outcome and the time it took, and what would have come of it. Changes
 * nothing; the workers' HubProbe gets a new question.
 */
#ifndef CTL_DRILL_H
#define CTL_DRILL_H

#include "ctl/commands.h"

command_run_fn drill_run;

#endif
