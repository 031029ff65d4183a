/*
 * Reading the configuration struct: the few derived figures that several processes need, each from
 * one place. It must not check anything: policy/config_check.c did, once, in the supervisor.
 */
#include "policy/config.h"

#include <string.h>

const char *config_text_at(const struct us_config *config, config_text text)
{
	/* config_check refuses such an offset; this keeps even an unchecked struct readable. */
	return config->pool + (text < CONFIG_POOL_BYTES ? text : 0);
}

bool config_may_mirror(const struct us_config *config, const char *namespace)
{
	return strncmp(namespace, "kube-", 5) != 0 && strcmp(namespace, "default") != 0 &&
	       strcmp(namespace, config_text_at(config, config->namespace)) != 0;
}

uint32_t config_request_deadline_ms(const struct us_config *config)
{
	return (config->renew_deadline_ms - config->retry_period_ms) / 2;
}

uint32_t config_shard_count(const struct us_config *config)
{
	if (config->worker_count == 0)
		return 0;
	return (config->worker_count + config->shard_size - 1) / config->shard_size;
}

static bool is_set(const struct config_credential *c)
{
	return c->kubeconfig || c->server || c->ca_file || c->token_file || c->certificate_file ||
	       c->key_file;
}

const struct config_credential *config_credential_of(
    const struct us_config *config, unsigned credential)
{
	const struct config_credential *c = NULL;

	if (credential < CREDENTIAL_FIXED_COUNT)
		c = &config->credentials[credential];
	else if (credential >= CREDENTIAL_WORKER &&
		 credential - CREDENTIAL_WORKER < config->worker_count)
		c = &config->workers[credential - CREDENTIAL_WORKER].credential;
	return c && is_set(c) ? c : NULL;
}

uint32_t config_roles(const struct us_config *config)
{
	uint32_t roles = ROLE_BIT(ROLE_MONITOR), dialers = 0;

	switch ((enum config_mode)config->mode) {
	case CONFIG_ACTIVE:
	case CONFIG_STANDBY:
		roles |= ROLE_BIT(ROLE_OBSERVER) | ROLE_BIT(ROLE_ELECTOR) | ROLE_BIT(ROLE_SYNCER) |
			 ROLE_BIT(ROLE_PUBLISHER);
		break;
	case CONFIG_REPLICAS:
	case CONFIG_STANDALONE: roles |= ROLE_BIT(ROLE_ELECTOR); break;
	case CONFIG_FOLLOWER: roles |= ROLE_BIT(ROLE_FOLLOWER); break;
	case CONFIG_MODE_COUNT: break;
	}
	if (config->worker_count > 0)
		roles |= ROLE_BIT(ROLE_REPOINTER);
	/* Standalone stamps the page and asks no API server (decision 17). */
	for (unsigned role = 0; role < ROLE_COUNT && config->mode != CONFIG_STANDALONE; role++)
		if (roles & ROLE_BIT(role) & ROLE_KUBE)
			dialers |= ROLE_BIT(role_dialer_of((enum role)role));
	if (config->argument_count > 0)
		roles |= ROLE_BIT(ROLE_RUNNER);
	return roles | dialers;
}
