/*
 * Goal: no struct of a hostile loader is taken for a configuration that reads outside of it: root
 * believes config_check alone (F28). Each text and number that is taken is looked at afterwards.
 */
#include <string.h>

#include "policy/kinds.h"
#include "tests/fuzz/fuzz.h"

static size_t look(const struct us_config *config)
{
	static struct kind_row rows[KIND_COUNT];
	const struct config_credential *source;
	size_t seen = strlen(config_text_at(config, config->self_name)) +
		      strlen(config_text_at(config, config->run_directory));

	for (uint32_t i = 0; i < config->hub_count; i++)
		seen += strlen(config_text_at(config, config->hubs[i].endpoint));
	for (unsigned c = 0; c < CREDENTIAL_LIMIT; c++)
		if ((source = config_credential_of(config, c)))
			seen += strlen(config_text_at(config, source->kubeconfig)) +
				role_holding(c, config->shard_size).shard;
	for (uint32_t i = 0; i < config->argument_count; i++)
		seen += strlen(config_text_at(config, config->arguments[i]));
	for (unsigned end = kinds_of(config, rows), kind = 0; kind < end; kind++)
		for (unsigned i = 0; i < rows[kind].label_count; i++)
			seen += strlen(rows[kind].plural) + strlen(rows[kind].labels[i].value);
	return seen + config_roles(config) + config_shard_count(config);
}

/* A good one with bytes replaced: pairs of offset and value. */
static void make_good(struct us_config *config)
{
	static const char *const texts[] = { "hub-a", "hub-b", "https://a.example:6443",
		"kubeslice-controller", "/run/understudy", "/etc/understudy/a", "127.0.0.1", "team",
		"configmaps", "v1", "ConfigMap" };
	uint32_t at[11], used = 1;

	memset(config, 0, sizeof(*config));
	for (int i = 0; i < 11; i++) {
		at[i] = used;
		memcpy(config->pool + used, texts[i], strlen(texts[i]) + 1);
		used += (uint32_t)strlen(texts[i]) + 1;
	}
	config->magic = CONFIG_MAGIC;
	config->version = CONFIG_VERSION;
	config->mode = CONFIG_STANDBY;
	config->self = 1;
	config->hub_count = 2;
	config->hubs[0] = (struct config_hub){ at[0], at[2], at[5] };
	config->hubs[1] = (struct config_hub){ at[1], at[2], at[5] };
	config->self_name = at[1];
	config->namespace = at[3];
	config->lease_duration_ms = 15000;
	config->renew_deadline_ms = 10000;
	config->retry_period_ms = 2000;
	config->padding_ms = 5000;
	config->max_lag_ms = 60000;
	config->armed_max_age_ms = 86400000;
	config->mirror_window = 16;
	config->mirror_label = (struct config_label){ at[7], at[7] };
	config->kind_count = config->skip_count = 1;
	config->kinds[0] = (struct config_kind){ .version = at[9],
		.resource = at[8],
		.kind = at[10],
		.term_count = 1,
		.terms = { { at[7], at[7] } } };
	config->skips[0] =
	    (struct config_skip){ .resource = at[8], .namespace = at[7], .name = at[8] };
	config->shard_size = 8;
	for (int c = CREDENTIAL_ELECTOR; c <= CREDENTIAL_PEER_SYNCER; c++)
		config->credentials[c].kubeconfig = at[5];
	config->listen_address = at[6];
	config->listen_port = 8080;
	config->run_directory = at[4];
	config->uid_base = 20000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct us_config config;
	struct err err;
	volatile size_t seen = 0;

	make_good(&config);
	for (; size >= 7; size -= 7, data += 7) {
		uint32_t offset = data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16, value;

		memcpy(&value, data + 3, sizeof(value));
		/* Most of it is the pool and the workers: the head is what is worth it. */
		offset %= offset & 1 ? 2048 : sizeof(config) - sizeof(value);
		memcpy((char *)&config + offset, &value, sizeof(value));
	}
	if (config_check(&config, &err) == 0)
		seen = look(&config);
	(void)seen;
	return 0;
}
