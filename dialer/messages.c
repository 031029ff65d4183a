/*
 * What the dialer is told: one message, and links that come and go. The sender is the link; asking
 * for what belongs to another role or shard costs it (F2, F9).
 */
#define DISPATCH_ROLE    ROLE_OBSERVER_DIALER /* all dialers get the same message */
#define DISPATCH_PREFIX  dialer
#define DISPATCH_CONTEXT struct dialer

#include "dialer/connect.h"
#include "dialer/dialer.h"
#include "ipc/dispatch.h"

enum verdict dialer_on_dial_asked(
    struct dialer *dialer, const struct link *from, const struct msg_dial_asked *m, int fd)
{
	struct target *target = targets_find(&dialer->targets, m->target);

	(void)fd;
	if (!targets_belongs(m->target, from->peer, role_config(dialer->process)->shard_size))
		return VERDICT_PEER_BROKEN;
	if (!target || !dial_start(dialer, from->peer, target, m->id))
		dial_answer(dialer, from->peer, m->id, DIAL_DENIED, "", -1);
	return VERDICT_FINE;
}

static void on_link_end(void *ctx, struct role_id peer)
{
	dial_forget(ctx, peer);
}

const struct role_ops dialer_ops = {
	.on_message = dialer_dispatch,
	.on_link_end = on_link_end,
};
