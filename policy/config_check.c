/*
 * What a hostile loader could have put into the configuration struct: every offset, count, enum,
 * number and text is judged again here, in the supervisor, because the loader parses what people
 * write and is trusted least (sandbox-rules 4, F7, F28). The loader calls the same code before it
 * answers, so that an honest mistake is told with its line first. It must not touch a file.
 */
#include <arpa/inet.h>
#include <string.h>

#include "base/str.h"
#include "policy/config_mirror.h"
#include "policy/sandbox.h"

#define MAX_DURATION_MS 300000u   /* H17: a longer Lease gets an alert, a longer one here none */
#define MAX_LAG_MS      86400000u /* a day */
#define MAX_AGE_MS      31536000000ULL /* a year */
#define MAX_WINDOW      1024
#define MAX_DIRECTORY   90 /* the longest socket name behind it fits sun_path */
#define NOBODY          65534u
#define STOP_SLACK_MS   1000u
#define MAX_CONFIRMED   100

#define FAIL(err, ...) return err_set(err, "configuration: " __VA_ARGS__)

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

/* RFC 1123 label, as names of namespaces; with dots: names of clusters. */
static bool is_label(const char *text, bool dots)
{
	size_t n = strlen(text);

	if (n == 0 || n > (dots ? 253 : 63) || text[0] == '-' || text[n - 1] == '-' ||
	    text[0] == '.' || text[n - 1] == '.')
		return false;
	for (; *text; text++)
		if (!is_name_byte(*text) && !(dots && *text == '.'))
			return false;
	return true;
}

static bool is_group(const char *text)
{
	for (const char *c = text; *c; c++)
		if (!is_name_byte(*c) && *c != '_' && !(c != text && *c >= 'A' && *c <= 'Z'))
			return false;
	return strlen(text) <= 32 && text[0] != '-';
}

/* Absolute, and the same for everybody who reads it: no "..", "." or empty part. */
static bool is_path(const char *text)
{
	if (text[0] != '/' || strlen(text) >= 4096)
		return false;
	for (const char *part = text; part; part = strchr(part + 1, '/')) {
		size_t n = strcspn(part + 1, "/");

		if (n == 0 || (n == 1 && part[1] == '.') ||
		    (n == 2 && part[1] == '.' && part[2] == '.'))
			return false;
	}
	return true;
}

/* https, a host, no user info, query or fragment; the loader's parser says more. */
static bool is_server(const char *text)
{
	return strncmp(text, "https://", 8) == 0 && text[8] != '\0' && text[8] != '/' &&
	       !strpbrk(text, "@?#\\ ") && strlen(text) <= 512;
}

static bool is_printable(const char *text)
{
	if (!str_is_utf8(str_of(text)))
		return false;
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	return true;
}

/* The offset lies in the pool and what stands there can be shown to a person. */
static int check_text(
    const struct us_config *config, config_text text, const char *what, struct err *err)
{
	if (text >= CONFIG_POOL_BYTES)
		FAIL(err, "%s: offset %u lies outside of the string pool", what, text);
	if (!is_printable(config->pool + text))
		FAIL(err, "%s: control characters or invalid UTF-8", what);
	return 0;
}

static int check_path(
    const struct us_config *config, config_text text, const char *what, struct err *err)
{
	if (check_text(config, text, what, err) != 0)
		return -1;
	if (text != 0 && !is_path(config->pool + text))
		FAIL(err, "%s: \"%.200s\" (expected an absolute path without \"..\")", what,
		    config->pool + text);
	return 0;
}

/* One way to say who: a kubeconfig, or its parts (F7). A follower's hub may have no token here:
 * then the hub delivers it into a Secret (H12). */
static int check_credential(const struct us_config *config, const struct config_credential *c,
    bool is_hub, const char *what, struct err *err)
{
	bool by_token = c->token_file != 0, by_key = c->certificate_file != 0 || c->key_file != 0;
	const config_text paths[] = { c->kubeconfig, c->ca_file, c->token_file, c->certificate_file,
		c->key_file };

	for (unsigned i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (check_path(config, paths[i], what, err) != 0)
			return -1;
	if (check_text(config, c->server, what, err) != 0)
		return -1;
	if (c->kubeconfig) {
		if (c->server || c->ca_file || by_token || by_key)
			FAIL(err, "%s: kubeconfig and its parts (expected one of the two)", what);
		return 0;
	}
	if (!c->server || !c->ca_file)
		FAIL(err, "%s: expected server and ca-file, or kubeconfig", what);
	if (!is_server(config->pool + c->server))
		FAIL(err, "%s: server \"%.200s\" (expected https://host[:port], no user info)",
		    what, config->pool + c->server);
	if (is_hub && !by_token && !by_key)
		return 0;
	if (by_token == by_key || (by_key && (!c->certificate_file || !c->key_file)))
		FAIL(err, "%s: expected token-file, or client-certificate-file and client-key-file",
		    what);
	return 0;
}

static int check_credentials(const struct us_config *config, struct err *err)
{
	uint32_t roles = config_roles(config);

	for (unsigned n = 0; n < CREDENTIAL_FIXED_COUNT; n++) {
		const struct config_credential *c = config_credential_of(config, n);
		bool is_hub = n == CREDENTIAL_HUB_A || n == CREDENTIAL_HUB_B;
		uint32_t holder = ROLE_BIT(role_holding(n, 1).role);

		if (c && check_credential(config, c, is_hub, credential_name(n), err) != 0)
			return -1;
		if (is_hub && (c != NULL) != (config->mode == CONFIG_FOLLOWER &&
						 n - CREDENTIAL_HUB_A < config->hub_count))
			FAIL(err, "credentials: %s (expected one for each hub of a follower)",
			    credential_name(n));
		if (!c && !is_hub && (roles & holder) && config->mode != CONFIG_STANDALONE)
			FAIL(err, "credentials: %s is missing (expected in this mode)",
			    credential_name(n));
	}
	return 0;
}

static int check_hubs(const struct us_config *config, struct err *err)
{
	bool is_pair = config->mode == CONFIG_ACTIVE || config->mode == CONFIG_STANDBY;
	bool is_replica = config->mode == CONFIG_REPLICAS;
	uint32_t least = is_pair ? 2 : is_replica ? 0 : 1;

	if (config->hub_count < least || config->hub_count > (is_replica ? 0 : CONFIG_MAX_HUBS))
		FAIL(err, "hubs: %u entries (expected %s)", config->hub_count,
		    is_pair      ? "2"
		    : is_replica ? "none in mode replicas"
				 : "1 or 2");
	if ((config->self >= config->hub_count || config->mode == CONFIG_FOLLOWER) &&
	    !((config->mode == CONFIG_FOLLOWER || is_replica) && config->self == 0))
		FAIL(err, "self: index %u is not in hubs", config->self);
	for (unsigned i = 0; i < config->hub_count; i++) {
		const struct config_hub *hub = &config->hubs[i];

		if (check_text(config, hub->name, "hubs: name", err) != 0 ||
		    check_text(config, hub->endpoint, "hubs: endpoint", err) != 0 ||
		    check_path(config, hub->ca_file, "hubs: ca-file", err) != 0)
			return -1;
		if (!is_label(config->pool + hub->name, true))
			FAIL(err, "hubs: name \"%.200s\" (expected a DNS name)",
			    config->pool + hub->name);
		if (config->mode != CONFIG_STANDALONE && !is_server(config->pool + hub->endpoint))
			FAIL(err, "hubs: endpoint \"%.200s\" (expected https://host[:port])",
			    config->pool + hub->endpoint);
	}
	if (config->hub_count == 2 &&
	    strcmp(config->pool + config->hubs[0].name, config->pool + config->hubs[1].name) == 0)
		FAIL(err, "hubs: both are named %s", config->pool + config->hubs[0].name);
	if (check_text(config, config->self_name, "self", err) != 0 ||
	    check_text(config, config->namespace, "namespace", err) != 0)
		return -1;
	if (!is_label(config->pool + config->self_name, true))
		FAIL(err, "self: \"%.200s\" (expected a DNS name)",
		    config->pool + config->self_name);
	if (config->mode != CONFIG_FOLLOWER && !is_replica &&
	    strcmp(config->pool + config->self_name,
		config->pool + config->hubs[config->self].name) != 0)
		FAIL(err, "self: %s is not the name of hubs[%u]", config->pool + config->self_name,
		    config->self);
	if (!is_label(config->pool + config->namespace, false))
		FAIL(err, "namespace: \"%.200s\" (expected a DNS label)",
		    config->pool + config->namespace);
	return 0;
}

/* H17, and H18 for a workload: it has stopped before validity ends. */
static int check_timing(const struct us_config *config, struct err *err)
{
	uint64_t lease = config->lease_duration_ms, renew = config->renew_deadline_ms;
	uint64_t retry = config->retry_period_ms;

	if (lease > MAX_DURATION_MS || config->padding_ms > MAX_DURATION_MS)
		FAIL(err, "lease: duration or padding above %u s", MAX_DURATION_MS / 1000);
	if (retry == 0 || 2 * renew < 5 * retry || lease <= renew)
		FAIL(err,
		    "lease: duration %llu ms, renew-deadline %llu ms, retry-period %llu ms "
		    "(expected "
		    "duration > renew-deadline >= 2.5 x retry-period > 0)",
		    (unsigned long long)lease, (unsigned long long)renew,
		    (unsigned long long)retry);
	if (config->argument_count > 0 && (uint64_t)config->stop_grace_ms + STOP_SLACK_MS >
					      renew - retry - config_request_deadline_ms(config))
		FAIL(err,
		    "workload: stop-grace %u ms (expected at most %lld ms: renew-deadline - "
		    "retry-period - half of that - 1 s)",
		    config->stop_grace_ms,
		    (long long)(renew - retry - config_request_deadline_ms(config)) -
			(long long)STOP_SLACK_MS);
	return 0;
}

static int check_label(
    const struct us_config *config, const struct config_label *label, struct err *err)
{
	return check_text(config, label->key, "mirror: a label", err) != 0 ||
		       check_text(config, label->value, "mirror: a label", err) != 0
		   ? -1
		   : 0;
}

/* All texts are readable before they are held against each other. */
static int check_mirror_texts(const struct us_config *config, struct err *err)
{
	if (config->kind_count > CONFIG_MAX_KINDS || config->skip_count > CONFIG_MAX_SKIPS)
		FAIL(err, "mirror: %u kinds, %u of skip (expected at most %d, %d)",
		    config->kind_count, config->skip_count, CONFIG_MAX_KINDS, CONFIG_MAX_SKIPS);
	if (check_label(config, &config->mirror_label, err) != 0)
		return -1;
	for (unsigned i = 0; i < config->kind_count; i++) {
		const struct config_kind *kind = &config->kinds[i];
		const config_text texts[] = { kind->group, kind->version, kind->resource,
			kind->kind };

		for (unsigned t = 0; t < 4; t++)
			if (check_text(config, texts[t], "mirror: kinds", err) != 0)
				return -1;
		if (kind->term_count > CONFIG_MAX_TERMS || kind->status > 1)
			FAIL(err, "mirror: kinds[%u]: %u terms, status %u (one is out of range)", i,
			    kind->term_count, kind->status);
		for (unsigned t = 0; t < kind->term_count; t++)
			if (check_label(config, &kind->terms[t], err) != 0)
				return -1;
	}
	for (unsigned i = 0; i < config->skip_count; i++) {
		const struct config_skip *skip = &config->skips[i];
		const config_text texts[] = { skip->resource, skip->group, skip->namespace,
			skip->name };

		for (unsigned t = 0; t < 4; t++)
			if (check_text(config, texts[t], "mirror: skip", err) != 0)
				return -1;
	}
	return 0;
}

/* M8, M10. */
static int check_mirror(const struct us_config *config, struct err *err)
{
	struct config_fault fault;

	if (check_mirror_texts(config, err) != 0)
		return -1;
	if (config_label_fault(config, &config->mirror_label, &fault))
		FAIL(err, "mirror: namespaces: \"%.200s\" %s (expected %s)", fault.text, fault.what,
		    fault.expected);
	for (unsigned i = 0; i < config->kind_count; i++)
		if (config_kind_fault(config, i, &fault))
			FAIL(err, "mirror: kinds[%u]: %s: \"%.200s\" %s (expected %s)", i,
			    fault.key, fault.text, fault.what, fault.expected);
	for (unsigned i = 0; i < config->skip_count; i++)
		if (config_skip_fault(config, i, &fault))
			FAIL(err, "mirror: skip[%u]: \"%.200s\" %s (expected %s)", i, fault.text,
			    fault.what, fault.expected);
	return 0;
}

static int check_choices(const struct us_config *config, struct err *err)
{
	if (config->mode >= CONFIG_MODE_COUNT)
		FAIL(err, "mode: %u is no mode", config->mode);
	if (config->promotion_mode > CONFIG_MANUAL || config->recovery > CONFIG_RESUME ||
	    config->witness > 1)
		FAIL(err, "promotion: mode %u, recovery %u, witness %u (one is out of range)",
		    config->promotion_mode, config->recovery, config->witness);
	if (config->max_lag_ms == 0 || config->max_lag_ms > MAX_LAG_MS ||
	    config->armed_max_age_ms == 0 || config->armed_max_age_ms > MAX_AGE_MS)
		FAIL(err, "promotion: max-lag or armed-max-age (expected above 0, at most a day "
			  "and a year)");
	if (config->block_window_ms > MAX_LAG_MS)
		FAIL(err, "promotion: block-window (expected at most a day)");
	if (config->mirror_set > CONFIG_MIRROR_NONE)
		FAIL(err, "mirror: set %u is no set", config->mirror_set);
	if (config->mirror_window == 0 || config->mirror_window > MAX_WINDOW)
		FAIL(
		    err, "mirror: window %u (expected 1 to %d)", config->mirror_window, MAX_WINDOW);
	if (config->rule_count > CONFIG_MAX_RULES)
		FAIL(err, "mirror: %u allow-rules (expected at most %d)", config->rule_count,
		    CONFIG_MAX_RULES);
	for (unsigned i = 0; i < config->rule_count; i++) {
		if (check_text(config, config->rules[i], "mirror: allow-rules", err) != 0)
			return -1;
		if (!config_is_rule(config_text_at(config, config->rules[i])))
			FAIL(err, "mirror: allow-rules[%u]: \"%.200s\" is no such rule", i,
			    config_text_at(config, config->rules[i]));
	}
	if (check_mirror(config, err) != 0)
		return -1;
	if (config->allow_missing & ~(uint32_t)SANDBOX_ALL)
		FAIL(err, "allow-missing: unknown protection (bits %#x)",
		    config->allow_missing & ~(uint32_t)SANDBOX_ALL);
	return 0;
}

static int check_workers(const struct us_config *config, struct err *err)
{
	if (config->worker_count > CONFIG_MAX_WORKERS)
		FAIL(err, "workers: %u (expected at most %d)", config->worker_count,
		    CONFIG_MAX_WORKERS);
	if (config->shard_size == 0 || config->shard_size > CONFIG_MAX_WORKERS ||
	    config_shard_count(config) > ROLE_MAX_SHARDS)
		FAIL(err, "repointer: shard-size %u for %u workers (expected at most %d shards)",
		    config->shard_size, config->worker_count, ROLE_MAX_SHARDS);
	for (unsigned i = 0; i < config->worker_count; i++) {
		const struct config_worker *worker = &config->workers[i];
		const char *name;

		if (check_text(config, worker->name, "workers: name", err) != 0 ||
		    check_text(
			config, worker->project_namespace, "workers: project-namespace", err) != 0)
			return -1;
		name = config->pool + worker->name;
		if (!is_label(name, true))
			FAIL(err, "workers: name \"%.200s\" (expected a DNS name)", name);
		if (!is_label(config->pool + worker->project_namespace, false))
			FAIL(err, "workers: %s: project-namespace (expected a DNS label)", name);
		if (check_credential(config, &worker->credential, false, name, err) != 0)
			return -1;
		for (unsigned j = 0; j < i; j++)
			if (strcmp(name, config->pool + config->workers[j].name) == 0)
				FAIL(err, "workers: %s stands there twice", name);
	}
	return 0;
}

static int check_workload(const struct us_config *config, struct err *err)
{
	if (config->argument_count > CONFIG_MAX_ARGUMENTS)
		FAIL(err, "workload: %u arguments (expected at most %d)", config->argument_count,
		    CONFIG_MAX_ARGUMENTS);
	for (unsigned i = 0; i < config->argument_count; i++)
		if (check_text(config, config->arguments[i], "workload: command", err) != 0)
			return -1;
	if (config->argument_count > 0 && !is_path(config->pool + config->arguments[0]))
		FAIL(err, "workload: command \"%.200s\" (expected an absolute path)",
		    config->pool + config->arguments[0]);
	return 0;
}

/* A follower's connections are made as the list of hubs says, whoever else says what (H19). */
static int check_follower(const struct us_config *config, struct err *err)
{
	const struct config_follower *follower = &config->follower;

	for (unsigned i = 0; i < config->hub_count; i++)
		if (config->credentials[CREDENTIAL_HUB_A + i].server != config->hubs[i].endpoint ||
		    config->credentials[CREDENTIAL_HUB_A + i].ca_file != config->hubs[i].ca_file)
			FAIL(err, "credentials: %s does not belong to hubs[%u]",
			    credential_name(CREDENTIAL_HUB_A + i), i);
	if (check_text(config, follower->project_namespace, "follower: project-namespace", err) !=
		0 ||
	    check_text(config, follower->worker_namespace, "follower: worker-namespace", err) !=
		0 ||
	    check_path(config, follower->directory, "follower: handover-directory", err) != 0)
		return -1;
	if (!is_label(config->pool + follower->project_namespace, false) ||
	    !is_label(config->pool + follower->worker_namespace, false))
		FAIL(err, "follower: project-namespace or worker-namespace (expected a DNS label)");
	if (follower->directory == 0)
		FAIL(err, "follower: handover-directory (expected an absolute path)");
	if (check_text(config, follower->operator_secret, "follower: operator-secret", err) != 0 ||
	    check_text(
		config, follower->operator_deployment, "follower: operator-deployment", err) != 0)
		return -1;
	if ((follower->operator_secret &&
		!is_label(config->pool + follower->operator_secret, true)) ||
	    (follower->operator_deployment &&
		!is_label(config->pool + follower->operator_deployment, true)))
		FAIL(err, "follower: operator-secret or -deployment (expected a name)");
	if (follower->operator_deployment && !follower->operator_secret)
		FAIL(err, "follower: operator-deployment without operator-secret");
	if (follower->interval_ms == 0 || follower->interval_ms > MAX_DURATION_MS ||
	    follower->timeout_ms == 0 || follower->timeout_ms > MAX_DURATION_MS)
		FAIL(err, "follower: interval or timeout (expected above 0, at most %u s)",
		    MAX_DURATION_MS / 1000);
	if (follower->confirmations == 0 || follower->confirmations > MAX_CONFIRMED)
		FAIL(err, "follower: confirmations %u (expected 1 to %d)", follower->confirmations,
		    MAX_CONFIRMED);
	if (config->worker_count > 0)
		FAIL(err, "workers: %u (expected none in mode follower)", config->worker_count);
	for (unsigned n = CREDENTIAL_ELECTOR; n < CREDENTIAL_FOLLOWER; n++)
		if (config_credential_of(config, n))
			FAIL(err, "credentials: %s (expected none in mode follower)",
			    credential_name(n));
	return 0;
}

/* R1: what a pair of hubs has beside the Lease does not exist here. */
static int check_replicas(const struct us_config *config, struct err *err)
{
	if (config->worker_count > 0)
		FAIL(err, "workers: %u (expected none in mode replicas)", config->worker_count);
	for (unsigned n = CREDENTIAL_ELECTOR + 1; n < CREDENTIAL_FIXED_COUNT; n++)
		if (config_credential_of(config, n))
			FAIL(err, "credentials: %s (expected none in mode replicas)",
			    credential_name(n));
	return 0;
}

static int check_network(const struct us_config *config, struct err *err)
{
	unsigned char address[16];
	const char *text;

	if (check_text(config, config->listen_address, "listen: http", err) != 0)
		return -1;
	text = config->pool + config->listen_address;
	if (inet_pton(AF_INET, text, address) != 1 && inet_pton(AF_INET6, text, address) != 1)
		FAIL(err, "listen: http: \"%.200s\" (expected a literal address)", text);
	if (config->listen_port == 0 || config->listen_port > UINT16_MAX)
		FAIL(err, "listen: http: port %u (expected 1 to 65535)", config->listen_port);
	if (config->range_count > CONFIG_MAX_RANGES)
		FAIL(err, "dial: %u ranges (expected at most %d)", config->range_count,
		    CONFIG_MAX_RANGES);
	for (unsigned i = 0; i < config->range_count; i++)
		if (config->ranges[i].prefix > 128)
			FAIL(err, "dial: allow: prefix %u (expected at most 128)",
			    config->ranges[i].prefix);
	return 0;
}

/* F24: no uid of the range is root, nobody or the overflow id; the supervisor asks the kernel and
 * /etc/passwd about the rest. */
static int check_run(const struct us_config *config, struct err *err)
{
	const char *directory;

	if (check_path(config, config->run_directory, "run: directory", err) != 0 ||
	    check_text(config, config->status_group, "run: status-group", err) != 0 ||
	    check_text(config, config->admin_group, "run: admin-group", err) != 0)
		return -1;
	directory = config->pool + config->run_directory;
	if (config->run_directory == 0 || strlen(directory) > MAX_DIRECTORY)
		FAIL(err, "run: directory \"%.200s\" (expected an absolute path, at most %d bytes)",
		    directory, MAX_DIRECTORY);
	if (!is_group(config->pool + config->status_group) ||
	    !is_group(config->pool + config->admin_group))
		FAIL(err, "run: status-group or admin-group (expected the name of a group)");
	if (config->uid_base == 0 || config->uid_base > (uint32_t)INT32_MAX - ROLE_UID_RANGE ||
	    (config->uid_base <= NOBODY + 1 && config->uid_base + ROLE_UID_RANGE > NOBODY))
		FAIL(err,
		    "run: uid-base %u (expected %d uids that include none of 0, 65534, 65535)",
		    config->uid_base, ROLE_UID_RANGE);
	return 0;
}

int config_check(const struct us_config *config, struct err *err)
{
	if (config->magic != CONFIG_MAGIC || config->version != CONFIG_VERSION)
		FAIL(err, "not made by the loader of this build");
	if (config->pool[0] != '\0' || config->pool[CONFIG_POOL_BYTES - 1] != '\0')
		FAIL(err, "the string pool is not terminated");
	if (check_choices(config, err) != 0 || check_hubs(config, err) != 0 ||
	    check_workers(config, err) != 0 || check_workload(config, err) != 0)
		return -1;
	/* A follower has no Lease of its own. */
	if (config->mode == CONFIG_FOLLOWER ? check_follower(config, err) != 0
					    : check_timing(config, err) != 0)
		return -1;
	if (config->mode == CONFIG_REPLICAS && check_replicas(config, err) != 0)
		return -1;
	if (check_credentials(config, err) != 0 || check_network(config, err) != 0)
		return -1;
	return check_run(config, err);
}
