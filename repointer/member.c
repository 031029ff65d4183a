/*
 * Members of a shard: which of the configuration's workers are ours, and requests to one of them.
 * It must not reach a worker of another shard.
 */
#include "repointer/repointer.h"

struct member *repointer_member(struct repointer *repointer, uint64_t worker)
{
	uint64_t first = repointer->count ? repointer->members[0].index : 0;

	if (worker < first || worker - first >= repointer->count)
		return NULL;
	return &repointer->members[worker - first];
}

const char *member_name(const struct member *member)
{
	const struct us_config *config = role_config(member->repointer->process);

	return config_text_at(config, config->workers[member->index].name);
}

unsigned member_target(const struct member *member)
{
	return CREDENTIAL_WORKER + member->index;
}

uint64_t member_ask(struct member *member, enum kube_verb verb, const char *path, const char *query,
    struct str body, uint32_t deadline_ms, kube_done_fn *done)
{
	struct kube_ask ask = { .target = member_target(member),
		.verb = verb,
		.path = path,
		.query = query,
		.body = body,
		.deadline_ms = deadline_ms };

	return kube_client_ask(member->repointer->client, &ask, done, member);
}
