/*
 * The table of parts (see the header): each key of the configuration stands in it once. It must
 * not do anything about a change: reload.c does.
 */
#include "supervisor/changes.h"

#include <stdio.h>
#include <string.h>

#include "policy/config_mirror.h"

#define BIT(role) ROLE_BIT(ROLE_##role)
#define FROZEN    0 /* nobody starts anew: understudyd itself must */

typedef bool differs_fn(const struct us_config *a, const struct us_config *b);

static bool text(const struct us_config *a, config_text x, const struct us_config *b, config_text y)
{
	return strcmp(config_text_at(a, x), config_text_at(b, y)) != 0;
}

static bool mode(const struct us_config *a, const struct us_config *b)
{
	return a->mode != b->mode;
}

static bool self(const struct us_config *a, const struct us_config *b)
{
	return a->self != b->self || text(a, a->self_name, b, b->self_name);
}

static bool hubs(const struct us_config *a, const struct us_config *b)
{
	for (unsigned i = 0; i < a->hub_count && i < b->hub_count; i++)
		if (text(a, a->hubs[i].name, b, b->hubs[i].name))
			return true;
	return a->hub_count != b->hub_count;
}

static bool endpoints(const struct us_config *a, const struct us_config *b)
{
	for (unsigned i = 0; i < a->hub_count && i < b->hub_count; i++)
		if (text(a, a->hubs[i].endpoint, b, b->hubs[i].endpoint))
			return true;
	return false;
}

static bool own_ca(const struct us_config *a, const struct us_config *b)
{
	return a->mode != CONFIG_FOLLOWER && a->self == b->self &&
	       text(a, a->hubs[a->self].ca_file, b, b->hubs[b->self].ca_file);
}

static bool namespace(const struct us_config *a, const struct us_config *b)
{
	return text(a, a->namespace, b, b->namespace);
}

static bool lease(const struct us_config *a, const struct us_config *b)
{
	return a->lease_duration_ms != b->lease_duration_ms ||
	       a->renew_deadline_ms != b->renew_deadline_ms ||
	       a->retry_period_ms != b->retry_period_ms || a->padding_ms != b->padding_ms;
}

static bool promotion(const struct us_config *a, const struct us_config *b)
{
	return a->promotion_mode != b->promotion_mode || a->recovery != b->recovery ||
	       a->witness != b->witness || a->max_lag_ms != b->max_lag_ms ||
	       a->armed_max_age_ms != b->armed_max_age_ms ||
	       a->block_window_ms != b->block_window_ms;
}

static bool mirror(const struct us_config *a, const struct us_config *b)
{
	for (unsigned i = 0; i < a->rule_count && i < b->rule_count; i++)
		if (text(a, a->rules[i], b, b->rules[i]))
			return true;
	return a->mirror_window != b->mirror_window || a->rule_count != b->rule_count;
}

/* The publisher of the hub that leads lets the other one read Secrets, if they are mirrored. */
static bool mirror_set(const struct us_config *a, const struct us_config *b)
{
	return a->mirror_set != b->mirror_set;
}

static bool mirror_namespaces(const struct us_config *a, const struct us_config *b)
{
	return !config_same_label(a, b);
}

static bool mirror_kinds(const struct us_config *a, const struct us_config *b)
{
	return !config_same_kinds(a, b);
}

static bool mirror_skip(const struct us_config *a, const struct us_config *b)
{
	return !config_same_skips(a, b);
}

static bool shard_size(const struct us_config *a, const struct us_config *b)
{
	return a->shard_size != b->shard_size;
}

static bool follower(const struct us_config *a, const struct us_config *b)
{
	const struct config_follower *x = &a->follower, *y = &b->follower;

	return text(a, x->project_namespace, b, y->project_namespace) ||
	       text(a, x->worker_namespace, b, y->worker_namespace) ||
	       text(a, x->operator_secret, b, y->operator_secret) ||
	       text(a, x->operator_deployment, b, y->operator_deployment) ||
	       x->interval_ms != y->interval_ms || x->timeout_ms != y->timeout_ms ||
	       x->confirmations != y->confirmations;
}

static bool directory(const struct us_config *a, const struct us_config *b)
{
	return text(a, a->follower.directory, b, b->follower.directory);
}

static bool workload(const struct us_config *a, const struct us_config *b)
{
	for (unsigned i = 0; i < a->argument_count && i < b->argument_count; i++)
		if (text(a, a->arguments[i], b, b->arguments[i]))
			return true;
	return a->argument_count != b->argument_count || a->stop_grace_ms != b->stop_grace_ms;
}

static bool listener(const struct us_config *a, const struct us_config *b)
{
	return a->listen_port != b->listen_port || text(a, a->listen_address, b, b->listen_address);
}

static bool dial(const struct us_config *a, const struct us_config *b)
{
	for (unsigned i = 0; i < a->range_count && i < b->range_count; i++)
		if (a->ranges[i].prefix != b->ranges[i].prefix ||
		    memcmp(a->ranges[i].address, b->ranges[i].address,
			sizeof(a->ranges[i].address)) != 0)
			return true;
	return a->range_count != b->range_count;
}

static bool run(const struct us_config *a, const struct us_config *b)
{
	return a->uid_base != b->uid_base || text(a, a->run_directory, b, b->run_directory) ||
	       text(a, a->status_group, b, b->status_group) ||
	       text(a, a->admin_group, b, b->admin_group);
}

static bool missing(const struct us_config *a, const struct us_config *b)
{
	return a->allow_missing != b->allow_missing;
}

static bool source(const struct us_config *a, const struct config_credential *x,
    const struct us_config *b, const struct config_credential *y)
{
	return text(a, x->kubeconfig, b, y->kubeconfig) || text(a, x->server, b, y->server) ||
	       text(a, x->ca_file, b, y->ca_file) || text(a, x->token_file, b, y->token_file) ||
	       text(a, x->certificate_file, b, y->certificate_file) ||
	       text(a, x->key_file, b, y->key_file);
}

/* Whoever holds one gets the next generation: nobody starts anew. */
static bool credentials(const struct us_config *a, const struct us_config *b)
{
	for (unsigned c = 0; c < CREDENTIAL_FIXED_COUNT; c++)
		if (source(a, &a->credentials[c], b, &b->credentials[c]))
			return true;
	return false;
}

/* Of leadership nothing is here that could change under way: an elector that starts anew closes
 * the page, and its workload ends. */
static const struct part {
	const char *key;
	differs_fn *differs;
	uint32_t anew;
	bool may_change;
} parts[] = {
	{ "mode", mode, FROZEN, false },
	{ "self", self, FROZEN, false },
	{ "hubs", hubs, FROZEN, false },
	{ "hubs: endpoint", endpoints, BIT(PUBLISHER) | BIT(REPOINTER) | BIT(FOLLOWER), true },
	{ "hubs: ca-file", own_ca, BIT(PUBLISHER), true },
	{ "namespace", namespace, FROZEN, false },
	{ "lease", lease, FROZEN, false },
	{ "promotion", promotion, FROZEN, false },
	{ "mirror", mirror, BIT(SYNCER), true },
	{ "mirror: set", mirror_set, BIT(SYNCER) | BIT(PUBLISHER), true },
	{ "mirror: namespaces", mirror_namespaces, BIT(SYNCER) | BIT(PUBLISHER), true },
	{ "mirror: kinds", mirror_kinds, BIT(SYNCER) | BIT(PUBLISHER), true },
	{ "mirror: skip", mirror_skip, BIT(SYNCER) | BIT(PUBLISHER), true },
	{ "credentials", credentials, FROZEN, true },
	{ "repointer: shard-size", shard_size, FROZEN, false },
	{ "follower", follower, BIT(FOLLOWER), true },
	{ "follower: handover-directory", directory, FROZEN, false },
	{ "workload", workload, FROZEN, false },
	{ "listen", listener, FROZEN, false },
	{ "dial: allow", dial, ROLE_DIALERS, true },
	{ "run", run, FROZEN, false },
	{ "allow-missing", missing, FROZEN, false },
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))
_Static_assert(PARTS <= CHANGES_MAX, "each part has a place");

bool changes_of_key(const char *section, const char *key, bool *may_change, uint32_t *anew)
{
	const struct part *found = NULL;
	char name[96];

	(void)snprintf(name, sizeof(name), "%s: %s", section, key);
	for (unsigned i = 0; i < PARTS; i++) {
		if (strcmp(parts[i].key, name) == 0)
			found = &parts[i];
		else if (!found && strcmp(parts[i].key, section) == 0)
			found = &parts[i];
	}
	if (!found)
		return false;
	*may_change = found->may_change;
	*anew = found->anew;
	return true;
}

/* --- Workers ---------------------------------------------------------------------------------- */

static int find_worker(
    const struct us_config *in, const struct us_config *of, const struct config_worker *worker)
{
	for (unsigned i = 0; i < in->worker_count; i++)
		if (!text(in, in->workers[i].name, of, worker->name))
			return (int)i;
	return -1;
}

void changes_place_workers(const struct us_config *now, struct us_config *next)
{
	struct config_worker placed[CONFIG_MAX_WORKERS] = { 0 };
	bool taken[CONFIG_MAX_WORKERS] = { false }, done[CONFIG_MAX_WORKERS] = { false };
	unsigned at = 0;
	int was;

	for (unsigned i = 0; i < next->worker_count; i++) {
		was = find_worker(now, next, &next->workers[i]);
		if (was < 0 || (unsigned)was >= next->worker_count || taken[was])
			continue;
		placed[was] = next->workers[i];
		taken[was] = done[i] = true;
	}
	for (unsigned i = 0; i < next->worker_count; i++) {
		if (done[i])
			continue;
		while (taken[at])
			at++;
		placed[at] = next->workers[i];
		taken[at] = true;
	}
	memcpy(next->workers, placed, next->worker_count * sizeof(placed[0]));
}

bool changes_worker(const struct us_config *now, const struct us_config *next, unsigned worker)
{
	const struct config_worker *a = &now->workers[worker], *b = &next->workers[worker];

	if (worker >= now->worker_count || worker >= next->worker_count)
		return worker < now->worker_count || worker < next->worker_count;
	return text(now, a->name, next, b->name) ||
	       text(now, a->project_namespace, next, b->project_namespace);
}

static void count_workers(
    const struct us_config *now, const struct us_config *next, struct changes *changes)
{
	const struct config_worker *a, *b;
	int was;

	for (unsigned i = 0; i < now->worker_count; i++)
		changes->removed += find_worker(next, now, &now->workers[i]) < 0;
	for (unsigned i = 0; i < next->worker_count; i++) {
		b = &next->workers[i];
		was = find_worker(now, next, b);
		if (was < 0) {
			changes->added++;
			continue;
		}
		a = &now->workers[was];
		changes->changed += text(now, a->project_namespace, next, b->project_namespace) ||
				    source(now, &a->credential, next, &b->credential);
	}
}

void changes_between(
    const struct us_config *now, const struct us_config *next, struct changes *changes)
{
	*changes = (struct changes){ 0 };
	for (unsigned i = 0; i < PARTS; i++) {
		if (!parts[i].differs(now, next))
			continue;
		if (parts[i].may_change)
			changes->keys[changes->key_count++] = parts[i].key;
		else
			changes->frozen[changes->frozen_count++] = parts[i].key;
		changes->anew |= parts[i].anew;
	}
	if (changes->frozen_count)
		return;
	count_workers(now, next, changes);
	for (unsigned i = 0; i < CONFIG_MAX_WORKERS; i++) {
		if (!changes_worker(now, next, i))
			continue;
		changes->shards |= 1u << i / next->shard_size;
		/* It knows each worker's place, and hands tokens over by it. */
		changes->anew |= BIT(PUBLISHER);
	}
}

void changes_describe(const struct changes *changes, char *text, size_t size)
{
	const char *const *keys = changes->frozen_count ? changes->frozen : changes->keys;
	unsigned count = changes->frozen_count ? changes->frozen_count : changes->key_count;
	size_t n = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < count && n < size; i++)
		n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "", keys[i]);
	if (changes->added + changes->removed + changes->changed && n < size)
		n += (size_t)snprintf(text + n, size - n,
		    "%sworkers (%u added, %u removed, %u changed)", n ? ", " : "", changes->added,
		    changes->removed, changes->changed);
	if (n == 0)
		(void)snprintf(text, size, "nothing");
}
