/*
 * What an operator does with the mirror of this hub: `understudyctl sync`. Status comes from the
 * monitor, everything else is asked of the mirror's process through the elector (decision 10).
 */
#ifndef CTL_MIRROR_H
#define CTL_MIRROR_H

#include "ctl/commands.h"

command_run_fn mirror_sync;

/* Exit codes of sync diff, as kubectl diff has them (decision 25). */
enum mirror_diff_exit { MIRROR_DIFF_SAME = 0, MIRROR_DIFF_DIFFERS = 1, MIRROR_DIFF_REFUSED = 2 };

#endif
