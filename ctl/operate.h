/*
 * Commands that change something: each is one request on admin.sock, beside the status socket.
 * Three outcomes and no fourth (B14): done, refused and nothing changed, or not known yet.
 */
#ifndef CTL_OPERATE_H
#define CTL_OPERATE_H

#include "ctl/commands.h"

command_run_fn operate_switchover, operate_promote, operate_pause, operate_resume,
    operate_acknowledge, operate_accept_peer;

/* Pure, for tests: "90s", "30m", "1h30m" in ms. False: it is none. */
bool operate_duration(const char *text, long long *ms);

#endif
