/*
 * The checked configuration as one fixed struct: bounded arrays, and offsets into a string pool
 * whose last byte is 0. The loader makes it from YAML, the supervisor checks every offset, count
 * and enum again (config_check) because the loader is the least trusted role, and roles get it as
 * a sealed memfd (decision 20). It holds no secret: files are named, not read.
 * Reference of the keys: interfaces (a), docs/configuration.md.
 */
#ifndef POLICY_CONFIG_H
#define POLICY_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "policy/roles.h"

#define CONFIG_MAGIC         0x75736366u
#define CONFIG_VERSION       4u
#define CONFIG_POOL_BYTES    65536
#define CONFIG_MAX_HUBS      2
#define CONFIG_MAX_WORKERS   CREDENTIAL_MAX_WORKERS
#define CONFIG_MAX_ARGUMENTS 32
#define CONFIG_MAX_RANGES    16
#define CONFIG_MAX_RULES     32
#define CONFIG_MAX_KINDS     16
#define CONFIG_MAX_TERMS     4
#define CONFIG_MAX_SKIPS     32

enum config_mode {
	CONFIG_STANDALONE,
	CONFIG_ACTIVE,
	CONFIG_STANDBY,
	CONFIG_REPLICAS,
	CONFIG_FOLLOWER,
	CONFIG_MODE_COUNT
};
enum config_promotion { CONFIG_AUTOMATIC, CONFIG_MANUAL };
enum config_recovery { CONFIG_HOLD, CONFIG_RESUME };
enum config_mirror { CONFIG_MIRROR_KUBESLICE, CONFIG_MIRROR_NONE };

/* Offset of a terminated string in the pool; 0 is the empty string (pool[0] == 0). */
typedef uint32_t config_text;

/* Where one identity comes from: a kubeconfig, or its parts. Unset parts are 0. A follower's hub
 * has its server and CA from the list of hubs; without a token file its token comes from a Secret.
 */
struct config_credential {
	config_text kubeconfig;
	config_text server, ca_file, token_file, certificate_file, key_file;
	uint32_t line; /* of the configuration file, for messages */
};

struct config_hub {
	config_text name, endpoint, ca_file;
};

struct config_worker {
	config_text name, project_namespace;
	struct config_credential credential;
};

/* mode follower: what a worker does about its hubs. */
struct config_follower {
	config_text project_namespace; /* of this worker's Cluster object, on each hub */
	config_text worker_namespace;  /* of understudy's Secrets, on the worker */
	config_text directory;         /* the hand-over directory */
	/* Of an operator that knows of no follower, in worker_namespace; "": there is none. */
	config_text operator_secret, operator_deployment;
	uint32_t interval_ms, timeout_ms;
	uint32_t confirmations; /* looks that must agree before it moves */
};

struct config_label {
	config_text key, value;
};

/* One of mirror.kinds; terms are those of its label-selector (M10). */
struct config_kind {
	config_text group, version, resource, kind;
	uint32_t term_count;
	struct config_label terms[CONFIG_MAX_TERMS];
	uint32_t status; /* 1: it has a status subresource that is mirrored, too */
};

/* One of mirror.skip: a kind, or with namespace and name one object (M8). */
struct config_skip {
	config_text resource, group, namespace, name;
};

/* A CIDR range; IPv4 as v4-mapped IPv6 (::ffff:a.b.c.d, prefix + 96). */
struct config_range {
	uint8_t address[16];
	uint8_t prefix;
};

struct us_config {
	uint32_t magic, version;
	uint32_t mode;      /* enum config_mode */
	uint32_t self;      /* index in hubs; in modes follower and replicas 0 */
	uint32_t hub_count; /* the peer of a pair is hubs[1 - self]; in mode replicas 0 */
	struct config_hub hubs[CONFIG_MAX_HUBS];
	config_text self_name;
	config_text namespace;

	/* lease.*, all in ms (H17: checked against each other by the loader and config_check). */
	uint32_t lease_duration_ms, renew_deadline_ms, retry_period_ms, padding_ms;

	uint32_t promotion_mode, recovery; /* enum config_promotion, enum config_recovery */
	uint32_t witness;                  /* 1: ask the workers (C3) */
	uint32_t max_lag_ms;               /* C5 */
	uint64_t armed_max_age_ms;         /* H2 */
	uint32_t block_window_ms;          /* B16; 0: none */

	uint32_t mirror_set;              /* enum config_mirror */
	uint32_t mirror_window;           /* concurrent writes of the mirror */
	struct config_label mirror_label; /* mirror.namespaces: of those that are mirrored */
	uint32_t kind_count;
	struct config_kind kinds[CONFIG_MAX_KINDS];
	uint32_t skip_count;
	struct config_skip skips[CONFIG_MAX_SKIPS];
	uint32_t rule_count; /* mirror.allow-rules: GROUP/RESOURCE:VERB[,VERB] (B1) */
	config_text rules[CONFIG_MAX_RULES];

	struct config_credential credentials[CREDENTIAL_FIXED_COUNT];
	uint32_t worker_count;
	struct config_worker workers[CONFIG_MAX_WORKERS];
	uint32_t shard_size;

	struct config_follower follower;

	uint32_t argument_count; /* 0: no workload */
	config_text arguments[CONFIG_MAX_ARGUMENTS];
	uint32_t stop_grace_ms;

	config_text listen_address; /* literal address of listen.http */
	uint32_t listen_port;
	uint32_t range_count; /* dial.allow; 0: the default of F23 */
	struct config_range ranges[CONFIG_MAX_RANGES];

	config_text run_directory;
	uint32_t uid_base;
	config_text status_group, admin_group; /* "" = root */
	uint32_t allow_missing;                /* SANDBOX_* bits that allow-missing names (F27) */

	char pool[CONFIG_POOL_BYTES];
};
_Static_assert(
    sizeof(struct us_config) <= (size_t)256 * 1024, "root reads at most 256 KiB from a child");

/* The text at an offset; never NULL, valid as long as the struct. */
const char *config_text_at(const struct us_config *config, config_text text);
/* May a Namespace of this name be mirrored, if its labels say so? The cluster's own and the
 * controller's never are: a label that anybody can put on must open nothing in them (B1, B25). */
bool config_may_mirror(const struct us_config *config, const char *namespace);
/* RT, one request's own deadline: (renew-deadline - retry-period) / 2, in ms (H17). */
uint32_t config_request_deadline_ms(const struct us_config *config);
/* The slot of this hub (C7): its position in `hubs`. */
static inline uint32_t config_slot(const struct us_config *config)
{
	return config->self;
}
/* How many repointer shards the workers need (F9). */
uint32_t config_shard_count(const struct us_config *config);
/* The credential's source, NULL when the configuration has none for this number. */
const struct config_credential *config_credential_of(
    const struct us_config *config, unsigned credential);
/* Bits of the roles that this configuration starts. */
uint32_t config_roles(const struct us_config *config);
/* Checks everything that a hostile loader could have put there. 0, or -1 with the reason. */
int config_check(const struct us_config *config, struct err *err);

#endif
