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

/* Never called: credentials come by on_credential. */
enum verdict observer_on_credential(
    struct observer *observer, const struct link *from, const struct msg_credential *m, int fd)
{
	(void)observer;
	return link_refuse(NULL, from, m, fd);
}

static void tell_credential(struct observer *observer, uint64_t refused_generation)
{
	struct kube_identity identity = { .generation = refused_generation };
	struct msg_status_credential status = { .credential = CREDENTIAL_PEER_OBSERVER };

	if (!refused_generation &&
	    !kube_client_identity(observer->client, CREDENTIAL_PEER_OBSERVER, &identity))
		return;
	status.generation = identity.generation;
	status.usable = refused_generation == 0;
	status.subject = str_of(identity.subject);
	status.expires_us = identity.expires_us;
	(void)role_send(observer->process, ROLE_MONITOR, 0, MSG_STATUS_CREDENTIAL, &status);
}

static void on_credential(void *ctx, const struct msg_credential *m)
{
	struct observer *observer = ctx;
	struct err err = { "" };

	if (kube_client_credential(observer->client, m, &err)) {
		log_error("credential %s: %s", credential_name((unsigned)m->target), err.text);
		role_credential_answer(observer->process, m, err.text);
		tell_credential(observer, m->generation);
		return;
	}
	role_credential_answer(observer->process, m, NULL);
	tell_credential(observer, 0);
	watch_begin(observer);
}

static void on_link(void *ctx, struct link *link)
{
	struct observer *observer = ctx;

	if (link->peer.role == ROLE_MONITOR)
		tell_credential(observer, 0);
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
