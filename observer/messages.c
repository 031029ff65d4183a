/*
 * What the observer is told: a question of the elector, connections of its dialer, its one
 * credential. Handlers start work and return; nothing here waits.
 */
#define DISPATCH_ROLE    ROLE_OBSERVER
#define DISPATCH_PREFIX  observer
#define DISPATCH_CONTEXT struct observer

#include "base/clock.h"
#include "base/log.h"
#include "observer/observer.h"

#include "ipc/dispatch.h"

/* Answered by a read that starts now, never by what is known (M18). */
enum verdict observer_on_peer_read_asked(
    struct observer *observer, const struct link *from, const struct msg_peer_read_asked *m, int fd)
{
	(void)from;
	(void)fd;
	look_start(observer, m->nonce, m->fresh);
	return VERDICT_FINE;
}

enum verdict observer_on_dialed(
    struct observer *observer, const struct link *from, const struct msg_dialed *m, int fd)
{
	(void)from;
	return kube_client_dialed(observer->client, m, fd);
}

static void on_credential(void *ctx, const struct msg_credential *m)
{
	struct observer *observer = ctx;

	if (kube_client_take(observer->client, m))
		watch_begin(observer);
}

static void on_link(void *ctx, struct link *link)
{
	struct observer *observer = ctx;

	if (link->peer.role == ROLE_MONITOR)
		kube_client_show(observer->client, CREDENTIAL_PEER_OBSERVER);
	/* A new elector knows nothing: it gets a look of now, not of then. */
	if (link->peer.role == ROLE_ELECTOR && observer->watch)
		watch_look_now(observer, base_clock_boot_ns());
}

static void on_link_end(void *ctx, struct role_id peer)
{
	struct observer *observer = ctx;

	if (peer.role == ROLE_OBSERVER_DIALER)
		kube_client_dialer_lost(observer->client);
}

const struct role_ops observer_ops = {
	.on_message = observer_dispatch,
	.on_link = on_link,
	.on_link_end = on_link_end,
	.on_credential = on_credential,
};
