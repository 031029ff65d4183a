/*
 * What the publisher is told: the permit and the probe of the elector, connections of its dialer,
 * its one identity. Handlers start work and return.
 */
#define DISPATCH_ROLE    ROLE_PUBLISHER
#define DISPATCH_PREFIX  publisher
#define DISPATCH_CONTEXT struct publisher

#include "base/log.h"
#include "publisher/publisher.h"

#include "ipc/dispatch.h"

enum verdict publisher_on_permit(
    struct publisher *publisher, const struct link *from, const struct msg_permit *m, int fd)
{
	struct plan_permit permit = { m->term, (int64_t)m->valid_until_ns };

	(void)from;
	(void)fd;
	log_term(m->term);
	publish_permit(publisher, &permit);
	return VERDICT_FINE;
}

enum verdict publisher_on_probe_asked(
    struct publisher *publisher, const struct link *from, const struct msg_probe_asked *m, int fd)
{
	(void)from;
	(void)fd;
	probe_start(publisher, m->nonce);
	return VERDICT_FINE;
}

enum verdict publisher_on_dialed(
    struct publisher *publisher, const struct link *from, const struct msg_dialed *m, int fd)
{
	(void)from;
	return kube_client_dialed(publisher->client, m, fd);
}

static void on_credential(void *ctx, const struct msg_credential *m)
{
	struct publisher *publisher = ctx;

	if (!kube_client_take(publisher->client, m))
		return;
	/* Our own API server's CA is the next best: workers reach the same hub. */
	if (!publisher->ca_from_file)
		publish_set_ca(publisher, m->ca);
	publish_begin(publisher);
	bindings_begin(publisher);
	tokens_look_all(publisher);
}

static void on_link(void *ctx, struct link *link)
{
	struct publisher *publisher = ctx;

	if (link->peer.role == ROLE_MONITOR)
		kube_client_show(publisher->client, CREDENTIAL_PUBLISHER);
	else if (link->peer.role == ROLE_REPOINTER)
		tokens_shard_linked(publisher, link->peer.shard);
	else if (link->peer.role == ROLE_ELECTOR && publisher->told.term)
		(void)role_send(
		    publisher->process, ROLE_ELECTOR, 0, MSG_PUBLISHED, &publisher->told);
}

static void on_link_end(void *ctx, struct role_id peer)
{
	struct publisher *publisher = ctx;

	if (peer.role == ROLE_PUBLISHER_DIALER)
		kube_client_dialer_lost(publisher->client);
}

const struct role_ops publisher_ops = {
	.on_message = publisher_dispatch,
	.on_link = on_link,
	.on_link_end = on_link_end,
	.on_credential = on_credential,
};
