/*
 * What a shard is told: the permit and questions of the elector, tokens of the publisher,
 * connections of the dialer, identities of its workers. Handlers start work and return.
 */
#define DISPATCH_ROLE    ROLE_REPOINTER
#define DISPATCH_PREFIX  repointer
#define DISPATCH_CONTEXT struct repointer

#include "base/log.h"
#include "repointer/repointer.h"

#include "ipc/dispatch.h"

enum verdict repointer_on_permit(
    struct repointer *repointer, const struct link *from, const struct msg_permit *m, int fd)
{
	(void)from;
	(void)fd;
	push_permit(repointer, m->term, (int64_t)m->valid_until_ns);
	return VERDICT_FINE;
}

enum verdict repointer_on_hub_token(
    struct repointer *repointer, const struct link *from, const struct msg_hub_token *m, int fd)
{
	struct member *member = repointer_member(repointer, m->worker);

	(void)from;
	(void)fd;
	if (!member)
		return VERDICT_PEER_BROKEN;
	push_bundle(member, m->ca);
	deliver_begin(member, m);
	return VERDICT_FINE;
}

enum verdict repointer_on_workers_read_asked(struct repointer *repointer, const struct link *from,
    const struct msg_workers_read_asked *m, int fd)
{
	(void)from;
	(void)fd;
	question_start(repointer, m->nonce);
	return VERDICT_FINE;
}

enum verdict repointer_on_witness_asked(
    struct repointer *repointer, const struct link *from, const struct msg_witness_asked *m, int fd)
{
	(void)from;
	(void)fd;
	if (m->target_slot >= role_config(repointer->process)->hub_count)
		return VERDICT_PEER_BROKEN;
	for (unsigned i = 0; i < repointer->count; i++)
		witness_start(&repointer->members[i], m->nonce, m->target_slot);
	return VERDICT_FINE;
}

enum verdict repointer_on_dialed(
    struct repointer *repointer, const struct link *from, const struct msg_dialed *m, int fd)
{
	(void)from;
	return kube_client_dialed(repointer->client, m, fd);
}

/* Never called: credentials come by on_credential. */
enum verdict repointer_on_credential(
    struct repointer *repointer, const struct link *from, const struct msg_credential *m, int fd)
{
	(void)repointer;
	return link_refuse(NULL, from, m, fd);
}

static void tell_credential(struct repointer *repointer, unsigned target, uint64_t refused)
{
	struct kube_identity identity = { .generation = refused };
	struct msg_status_credential status = { .credential = target, .usable = refused == 0 };

	if (!refused && !kube_client_identity(repointer->client, target, &identity))
		return;
	status.generation = identity.generation;
	status.subject = str_of(identity.subject);
	status.expires_us = identity.expires_us;
	(void)role_send(repointer->process, ROLE_MONITOR, 0, MSG_STATUS_CREDENTIAL, &status);
}

static void on_credential(void *ctx, const struct msg_credential *m)
{
	struct repointer *repointer = ctx;
	struct member *member = m->target < CREDENTIAL_WORKER
				    ? NULL
				    : repointer_member(repointer, m->target - CREDENTIAL_WORKER);
	struct err err = { "another shard's worker" };

	if (!member || kube_client_credential(repointer->client, m, &err)) {
		log_error("credential of worker %llu: %s", (unsigned long long)m->target, err.text);
		role_credential_answer(repointer->process, m, err.text);
		tell_credential(repointer, (unsigned)m->target, m->generation);
		return;
	}
	role_credential_answer(repointer->process, m, NULL);
	tell_credential(repointer, (unsigned)m->target, 0);
	watch_start(member);
}

static void on_link(void *ctx, struct link *link)
{
	struct repointer *repointer = ctx;

	for (unsigned i = 0; i < repointer->count; i++) {
		struct member *member = &repointer->members[i];

		if (link->peer.role == ROLE_ELECTOR) {
			watch_tell_elector(member);
		} else if (link->peer.role == ROLE_MONITOR) {
			tell_credential(repointer, member_target(member), 0);
			watch_tell_monitor(member);
		}
	}
}

static void on_link_end(void *ctx, struct role_id peer)
{
	struct repointer *repointer = ctx;

	if (peer.role == ROLE_REPOINTER_DIALER)
		kube_client_dialer_lost(repointer->client);
}

const struct role_ops repointer_ops = {
	.on_message = repointer_dispatch,
	.on_link = on_link,
	.on_link_end = on_link_end,
	.on_credential = on_credential,
};
