/*
 * Commands that change something: each is one request on admin.sock, beside the status socket.
 * Three outcomes and no fourth (B14): done, refused and nothing changed, or not known yet.
 */
#ifndef CTL_OPERATE_H
#define CTL_OPERATE_H

#include <jansson.h>

#include "ctl/commands.h"

command_run_fn operate_switchover, operate_promote, operate_pause, operate_resume,
    operate_acknowledge, operate_accept_peer;

/* One request, which it takes over; *answer is the caller's, NULL when there is none. */
enum ctl_exit operate_ask(const struct ctl_options *options, json_t *request, int patience_s,
    json_t **answer, struct err *err);
enum ctl_exit operate_exit_of(const json_t *answer);
/* The answer as text; the reason of what is not done goes to err. */
enum ctl_exit operate_tell(
    const char *what, const json_t *answer, struct buf *out, struct err *err);
/* Asks on the terminal for this hub's name unless yes gives it; then the hub's name and the nonce
 * of what was shown are in the request. */
enum ctl_exit operate_consent(const struct ctl_options *options, const char *yes, const char *what,
    json_t *request, struct err *err);

/* Pure, for tests: "90s", "30m", "1h30m" in ms. False: it is none. */
bool operate_duration(const char *text, long long *ms);

#endif
