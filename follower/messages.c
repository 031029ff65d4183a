/*
 * What the follower is given: connections of its dialer, its identities. Handlers start work and
 * return.
 */
#define DISPATCH_ROLE    ROLE_FOLLOWER
#define DISPATCH_PREFIX  follower
#define DISPATCH_CONTEXT struct follower

#include "base/log.h"
#include "follower/follower.h"

#include "ipc/dispatch.h"

enum verdict follower_on_dialed(
    struct follower *follower, const struct link *from, const struct msg_dialed *m, int fd)
{
	(void)from;
	return kube_client_dialed(follower->client, m, fd);
}

/* Never called: credentials come by on_credential. */
enum verdict follower_on_credential(
    struct follower *follower, const struct link *from, const struct msg_credential *m, int fd)
{
	(void)follower;
	return link_refuse(NULL, from, m, fd);
}

static void tell_own(struct follower *follower, uint64_t refused_generation)
{
	struct kube_identity identity = { .generation = refused_generation };
	struct msg_status_credential status = { .credential = CREDENTIAL_FOLLOWER,
		.usable = refused_generation == 0 };

	/* A rotation that was refused takes nothing away: the one in use is what counts. */
	if (kube_client_identity(follower->client, CREDENTIAL_FOLLOWER, &identity))
		status.usable = true;
	else if (refused_generation)
		identity.generation = refused_generation;
	else
		return;
	status.generation = identity.generation;
	status.subject = str_of(identity.subject);
	status.expires_us = identity.expires_us;
	(void)role_send(follower->process, ROLE_MONITOR, 0, MSG_STATUS_CREDENTIAL, &status);
}

static const char *take_own(
    struct follower *follower, const struct msg_credential *m, struct err *err)
{
	if (kube_client_credential(follower->client, m, err)) {
		tell_own(follower, m->generation);
		return err->text;
	}
	tell_own(follower, 0);
	kube_rights_watch(follower->client, CREDENTIAL_FOLLOWER);
	/* W1: with one hub there is nothing to be told and nobody who asks. */
	if (follower->hub_count == 2) {
		controller_start(follower);
		challenge_start(follower);
	}
	hubs_look(follower, 0);
	operator_step(follower);
	return NULL;
}

static void on_credential(void *ctx, const struct msg_credential *m)
{
	struct follower *follower = ctx;
	unsigned hub = (unsigned)m->target - CREDENTIAL_HUB_A;
	const char *why = "an identity that a follower does not hold";
	struct err err = { "" };

	if (m->target == CREDENTIAL_FOLLOWER)
		why = take_own(follower, m, &err);
	else if (hub < follower->hub_count)
		why = hubs_loaded(&follower->hubs[hub], m);
	if (why)
		log_error("credential %s: %s", credential_name((unsigned)m->target), why);
	role_credential_answer(follower->process, m, why);
}

static void on_link(void *ctx, struct link *link)
{
	struct follower *follower = ctx;

	if (link->peer.role != ROLE_MONITOR)
		return;
	tell_own(follower, 0);
	kube_rights_show(follower->client, CREDENTIAL_FOLLOWER);
	show_follower(follower);
	for (unsigned i = 0; i < follower->hub_count; i++) {
		hubs_tell_monitor(&follower->hubs[i]);
		kube_rights_show(follower->client, hub_target(&follower->hubs[i]));
	}
}

static void on_link_end(void *ctx, struct role_id peer)
{
	struct follower *follower = ctx;

	if (peer.role == ROLE_FOLLOWER_DIALER)
		kube_client_dialer_lost(follower->client);
}

const struct role_ops follower_ops = {
	.on_message = follower_dispatch,
	.on_link = on_link,
	.on_link_end = on_link_end,
	.on_credential = on_credential,
};
