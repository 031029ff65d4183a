/*
 * What one key alone cannot be wrong about (see config.h): names against the list of hubs, the
 * Lease's times against each other, what a mode needs. config_check() says the same to root, but
 * without lines. No I/O. Called by config_read().
 */
#include <string.h>
#include <strings.h>

#include "loader/config.h"
#include "loader/values.h"

/* "a.b" or "a" of the root; the nearest map above it when it is not written. */
static const struct yaml_value *at(const struct reader *r, const char *section, const char *key)
{
	const struct yaml_value *map = yaml_value_at(r->root, section);
	const struct yaml_value *value = key ? yaml_value_at(map, key) : map;

	return value ? value : map ? map : r->root;
}

static bool check_mode(struct reader *r)
{
	const struct us_config *config = r->config;
	bool pair = config->mode == CONFIG_ACTIVE || config->mode == CONFIG_STANDBY;

	if (config->hub_count == 0 && config->mode != CONFIG_REPLICAS)
		return config_complain(r, r->root, "hubs",
		    "a list of 1 or 2 hubs, the same on both (C7)", "is missing");
	if (pair && config->hub_count != 2)
		return config_complain(r, at(r, "hubs", NULL), NULL,
		    "2: this hub and its peer (modes active and standby)", "has %u members",
		    config->hub_count);
	return true;
}

/* C7: the place in the list is the slot of the terms. */
static bool check_hubs(struct reader *r)
{
	struct us_config *config = r->config;
	const struct yaml_value *hub = at(r, "hubs", NULL)->first;
	const char *self = config_text_at(config, config->self_name);

	if (config->mode == CONFIG_REPLICAS) /* self names the replica */
		return true;
	for (; hub; hub = hub->next)
		if (!config->hubs[hub->index].endpoint && config->mode != CONFIG_STANDALONE)
			return config_complain(r, hub, "endpoint",
			    "https://HOST[:PORT] of the hub's API server", "is missing");
	if (config->hub_count == 2 && strcmp(config_text_at(config, config->hubs[0].name),
					  config_text_at(config, config->hubs[1].name)) == 0)
		return config_complain(r, yaml_value_at(at(r, "hubs", NULL)->last, "name"), NULL,
		    "another name than that of hubs[0]", "\"%.80s\" is there twice",
		    config_text_at(config, config->hubs[1].name));
	if (config->mode == CONFIG_FOLLOWER) { /* self names the worker */
		config->self = 0;
		return true;
	}
	for (config->self = 0; config->self < config->hub_count; config->self++)
		if (strcmp(self, config_text_at(config, config->hubs[config->self].name)) == 0)
			return true;
	return config_complain(r, at(r, "self", NULL), NULL, "the name of one of the hubs",
	    "\"%.80s\" is no hub's name", self);
}

/* H17. */
static bool check_lease(struct reader *r)
{
	const struct us_config *config = r->config;

	if (config->lease_duration_ms <= config->renew_deadline_ms)
		return config_complain(r, at(r, "lease", "duration"), NULL,
		    "more than renew-deadline (H17)", "%u ms is not more than %u ms",
		    config->lease_duration_ms, config->renew_deadline_ms);
	if (2ULL * config->renew_deadline_ms < 5ULL * config->retry_period_ms)
		return config_complain(r, at(r, "lease", "renew-deadline"), NULL,
		    "at least 2.5 x retry-period (H17)", "%u ms is less than 2.5 x %u ms",
		    config->renew_deadline_ms, config->retry_period_ms);
	return true;
}

/* H18: the workload is gone before the leadership is. */
static bool check_workload(struct reader *r)
{
	const struct us_config *config = r->config;
	uint32_t left;

	if (yaml_value_at(r->root, "workload") && config->argument_count == 0)
		return config_complain(r, at(r, "workload", NULL), "command",
		    "a list of 1 to 32 texts, the first an absolute path", "is missing");
	if (config->argument_count == 0 || config->mode == CONFIG_FOLLOWER)
		return true;
	left = config->renew_deadline_ms - config->retry_period_ms -
	       config_request_deadline_ms(config);
	if (config->stop_grace_ms + 1000ULL <= left)
		return true;
	return config_complain(r, at(r, "workload", "stop-grace"), NULL,
	    "stop-grace + 1s <= (renew-deadline - retry-period) / 2 (H18)",
	    "%u ms and 1 s are more than %u ms", config->stop_grace_ms, left);
}

static bool check_credentials(struct reader *r)
{
	const struct us_config *config = r->config;
	uint32_t roles = config_roles(config);

	if (config->mode == CONFIG_STANDALONE)
		return true;
	for (unsigned n = CREDENTIAL_ELECTOR; n <= CREDENTIAL_FOLLOWER; n++)
		if ((roles & ROLE_BIT(role_holding(n, 1).role)) && !config_credential_of(config, n))
			return config_complain(r, at(r, "credentials", NULL),
			    yaml_value_at(r->root, "credentials") ? credential_name(n)
								  : "credentials",
			    "where that identity comes from: kubeconfig, or server and its files",
			    "is missing (the mode needs %s)", credential_name(n));
	return true;
}

static bool check_workers(struct reader *r)
{
	const struct us_config *config = r->config;
	const struct yaml_value *list = yaml_value_at(r->root, "workers");

	for (const struct yaml_value *m = list ? list->first : NULL; m; m = m->next)
		for (const struct yaml_value *o = list->first; o != m; o = o->next)
			if (strcmp(config_text_at(config, config->workers[m->index].name),
				config_text_at(config, config->workers[o->index].name)) == 0)
				return config_complain(r, yaml_value_at(m, "name"), NULL,
				    "each worker once", "\"%.80s\" is there twice",
				    config_text_at(config, config->workers[m->index].name));
	if (config_shard_count(config) > ROLE_MAX_SHARDS)
		return config_complain(r, at(r, "repointer", "shard-size"), NULL,
		    "a shard-size with which 32 shards are enough", "%u workers make %u shards",
		    config->worker_count, config_shard_count(config));
	return true;
}

/* W16: compared as a server, not as a text. */
static bool check_follower_hubs(struct reader *r)
{
	const struct us_config *config = r->config;
	const struct yaml_value *hub = at(r, "hubs", NULL)->first;
	struct value_server servers[CONFIG_MAX_HUBS] = { 0 };

	for (; hub; hub = hub->next) {
		const struct config_hub *row = &config->hubs[hub->index];

		if (!row->ca_file)
			return config_complain(r, hub, "ca-file",
			    "the certificates that sign the endpoint's (mode follower)",
			    "is missing");
		if (value_server(config_text_at(config, row->endpoint), &servers[hub->index]))
			return config_complain(
			    r, hub, "endpoint", "https://HOST[:PORT]", "is no endpoint");
	}
	if (config->hub_count == 2 && servers[0].port == servers[1].port &&
	    strcasecmp(servers[0].host, servers[1].host) == 0)
		return config_complain(r, at(r, "hubs", NULL)->last, "endpoint",
		    "another API server than that of hubs[0]", "is there twice");
	return true;
}

/* What only a worker has, and how a hub's identity is completed: address and CA are always those
 * of the list of hubs, whatever delivers the token (H19). */
static bool check_follower(struct reader *r)
{
	static const char *const ours[] = { "follower", "hub-a", "hub-b" };
	struct us_config *config = r->config;

	if (config->mode != CONFIG_FOLLOWER) {
		for (unsigned i = 0; i < 3; i++)
			if (yaml_value_at(yaml_value_at(r->root, "credentials"), ours[i]))
				return config_complain(r, at(r, "credentials", ours[i]), NULL,
				    "no such key", "is for mode follower");
		if (yaml_value_at(r->root, "follower"))
			return config_complain(r, at(r, "follower", NULL), NULL, "no such key",
			    "is for mode follower");
		return true;
	}
	if (!check_follower_hubs(r))
		return false;
	if (config->follower.operator_deployment && !config->follower.operator_secret)
		return config_complain(r, at(r, "follower", "operator-deployment"), NULL,
		    "operator-secret beside it, which its pods read", "stands alone");
	for (unsigned n = CREDENTIAL_ELECTOR; n < CREDENTIAL_FOLLOWER; n++)
		if (config_credential_of(config, n))
			return config_complain(r, at(r, "credentials", credential_name(n)), NULL,
			    "no such key", "is for a hub, not for mode follower");
	for (unsigned i = 0; i < CONFIG_MAX_HUBS; i++) {
		struct config_credential *hub = &config->credentials[CREDENTIAL_HUB_A + i];

		if (i >= config->hub_count && hub->token_file)
			return config_complain(r, at(r, "credentials", ours[1 + i]), NULL,
			    "no such key", "is for a hub that is not in hubs");
		if (i < config->hub_count) {
			hub->server = config->hubs[i].endpoint;
			hub->ca_file = config->hubs[i].ca_file;
		}
	}
	if (!config->follower.project_namespace)
		return config_complain(r, at(r, "follower", NULL), "project-namespace",
		    "the namespace of this worker's Cluster object on the hubs", "is missing");
	if (config->worker_count > 0)
		return config_complain(r, at(r, "workers", NULL), NULL,
		    "none: a follower is a worker", "has %u members", config->worker_count);
	return true;
}

static bool is_same_text(const struct us_config *config, config_text a, config_text b)
{
	return a && b && strcmp(config_text_at(config, a), config_text_at(config, b)) == 0;
}

static bool share_a_file(const struct us_config *config, unsigned a, unsigned b)
{
	const struct config_credential *first = config_credential_of(config, a),
				       *second = config_credential_of(config, b);

	return first && second && role_holding(a, 0).role != role_holding(b, 0).role &&
	       (is_same_text(config, first->kubeconfig, second->kubeconfig) ||
		   is_same_text(config, first->token_file, second->token_file) ||
		   is_same_text(config, first->key_file, second->key_file));
}

/* shared-credentials names both, or upstream's one flag set both. */
static bool may_share(const struct reader *r, unsigned a, unsigned b)
{
	const char *const names[] = { credential_name(a), credential_name(b) };
	const struct yaml_value *list = yaml_value_at(r->root, "shared-credentials");
	const char *by[2] = { NULL, NULL };
	bool listed[2] = { false, false };

	for (unsigned i = 0; i < 2; i++) {
		const struct yaml_value *file =
		    yaml_value_at(at(r, "credentials", names[i]), "kubeconfig");

		by[i] = file ? file->by : NULL;
		for (const struct yaml_value *m = list ? list->first : NULL; m; m = m->next)
			listed[i] = listed[i] || str_equal(m->text, str_of(names[i]));
	}
	return (listed[0] && listed[1]) || (by[0] && by[1] && strcmp(by[0], by[1]) == 0);
}

static bool check_sharers(struct reader *r)
{
	const struct yaml_value *list = yaml_value_at(r->root, "shared-credentials");
	unsigned known;

	for (const struct yaml_value *m = list ? list->first : NULL; m; m = m->next) {
		for (known = 0; known < CREDENTIAL_FIXED_COUNT; known++)
			if (m->kind == YAML_TEXT &&
			    str_equal(m->text, str_of(credential_name(known))))
				break;
		if (known == CREDENTIAL_FIXED_COUNT)
			return config_complain(r, m, NULL, "a key of credentials", "is none");
	}
	return true;
}

/* One identity is one role's (F7): else each of them could do what any may. */
static bool check_shared(struct reader *r)
{
	for (unsigned a = 0; a < CREDENTIAL_FIXED_COUNT; a++)
		for (unsigned b = a + 1; b < CREDENTIAL_LIMIT; b++)
			if (share_a_file(r->config, a, b) &&
			    (b >= CREDENTIAL_FIXED_COUNT || !may_share(r, a, b)))
				return config_complain(r,
				    b < CREDENTIAL_WORKER ? at(r, "credentials", credential_name(b))
							  : at(r, "workers", NULL),
				    NULL, "an identity of its own for each role",
				    "has a file that credentials.%s has, too", credential_name(a));
	return true;
}

/* R1: one Lease on the one API server that the elector's identity names. What a pair of hubs has
 * beside that would say nothing here, so that who writes it means something else. */
static bool check_replicas(struct reader *r)
{
	static const char *const not_ours[][2] = { { "hubs", NULL }, { "promotion", NULL },
		{ "mirror", NULL }, { "workers", NULL }, { "repointer", NULL },
		{ "lease", "padding" }, { "credentials", "publisher" }, { "credentials", "syncer" },
		{ "credentials", "peer-observer" }, { "credentials", "peer-syncer" } };

	if (r->config->mode != CONFIG_REPLICAS)
		return true;
	for (unsigned i = 0; i < sizeof(not_ours) / sizeof(not_ours[0]); i++) {
		const struct yaml_value *value = yaml_value_at(r->root, not_ours[i][0]);

		if (value && not_ours[i][1])
			value = yaml_value_at(value, not_ours[i][1]);
		if (value)
			return config_complain(r, value, NULL, "no such key",
			    "is for a pair of hubs, not for mode replicas");
	}
	return true;
}

bool config_check_cross(struct reader *r)
{
	return check_mode(r) && check_replicas(r) && check_hubs(r) && check_follower(r) &&
	       check_lease(r) && check_workload(r) && check_credentials(r) && check_workers(r) &&
	       check_sharers(r) && check_shared(r);
}
