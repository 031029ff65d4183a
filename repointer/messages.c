/*
 * What a shard is told: the permit and questions of the elector, tokens of the publisher,
 * connections of the dialer, identities of its workers. Handlers start work and return.
 */
#define DISPATCH_ROLE    ROLE_REPOINTER
#define DISPATCH_PREFIX  repointer
#define DISPATCH_CONTEXT struct repointer

#include "base/check.h"
#include "base/log.h"
#include "repointer/repointer.h"

#include "ipc/dispatch.h"

enum verdict repointer_on_permit(
    struct repointer *repointer, const struct link *from, const struct msg_permit *m, int fd)
{
	(void)from;
	(void)fd;
	log_term(m->term);
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

static void on_credential(void *ctx, const struct msg_credential *m)
{
	struct repointer *repointer = ctx;
	struct member *member = m->target < CREDENTIAL_WORKER
				    ? NULL
				    : repointer_member(repointer, m->target - CREDENTIAL_WORKER);

	/* The supervisor deals the workers' identities by the same rule: another's is its bug. */
	CHECK(member);
	if (!kube_client_take(repointer->client, m))
		return; /* what failed would fail again */
	watch_start(member);
	deliver_soon(member);
	rehearse_soon(member);
	doors_soon(member);
}

static void on_link(void *ctx, struct link *link)
{
	struct repointer *repointer = ctx;

	for (unsigned i = 0; i < repointer->count; i++) {
		struct member *member = &repointer->members[i];

		if (link->peer.role == ROLE_ELECTOR) {
			watch_tell_elector(member);
		} else if (link->peer.role == ROLE_MONITOR) {
			kube_client_show(repointer->client, member_target(member));
			watch_tell_monitor(member);
			doors_show(member);
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
