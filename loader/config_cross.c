/*
 * What one key alone cannot be wrong about (see config.h): names against the list of hubs, the
 * Lease's times against each other, what a mode needs. config_check() says the same to root, but
 * without lines. No I/O. Called by config_read().
 */
#include <string.h>

#include "loader/config.h"

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

	if (config->mode == CONFIG_FOLLOWER)
		return config_complain(r, at(r, "mode", NULL), NULL,
		    "standalone, active, standby or replicas",
		    "follower is not part of this version");
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

	for (; hub; hub = hub->next)
		if (!config->hubs[hub->index].endpoint && config->mode != CONFIG_STANDALONE)
			return config_complain(r, hub, "endpoint",
			    "https://HOST[:PORT] of the hub's API server", "is missing");
	if (config->hub_count == 2 && strcmp(config_text_at(config, config->hubs[0].name),
					  config_text_at(config, config->hubs[1].name)) == 0)
		return config_complain(r, yaml_value_at(at(r, "hubs", NULL)->last, "name"), NULL,
		    "another name than that of hubs[0]", "\"%.80s\" is there twice",
		    config_text_at(config, config->hubs[1].name));
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
	if (config->argument_count == 0)
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
	for (unsigned n = CREDENTIAL_ELECTOR; n <= CREDENTIAL_PEER_SYNCER; n++)
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

bool config_check_cross(struct reader *r)
{
	return check_mode(r) && check_hubs(r) && check_lease(r) && check_workload(r) &&
	       check_credentials(r) && check_workers(r);
}
