/*
 * `reload` and `worker`: the configuration of the running understudyd. The file is people's; these
 * commands have it read again, and show what came of it.
 */
#ifndef CTL_RELOAD_H
#define CTL_RELOAD_H

#include "ctl/commands.h"

command_run_fn reload_run, reload_worker;

#endif
