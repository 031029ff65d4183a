/*
 * Goal: whatever a hostile loader writes into the configuration struct, the supervisor either
 * refuses it and says why, or can use it safely (F7, F24, F28, H17, H18). Method: one valid
 * configuration; one change at a time; then random damage, after which whatever was accepted is
 * read through all accessors (AddressSanitizer watches).
 * Pitfall: P83.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "policy/config.h"
#include "policy/sandbox.h"

static struct us_config config;
static uint32_t pool_used;

static config_text put(const char *text)
{
	config_text at = pool_used;
	size_t n = strlen(text) + 1;

	memcpy(config.pool + at, text, n);
	pool_used += (uint32_t)n;
	return at;
}

static struct config_credential by_kubeconfig(void)
{
	return (struct config_credential){ .kubeconfig = put("/etc/understudy/a.kubeconfig") };
}

static struct config_credential by_token(void)
{
	return (struct config_credential){ .server = put("https://hub-a.example.com:6443"),
		.ca_file = put("/etc/understudy/ca.crt"),
		.token_file = put("/etc/understudy/token") };
}

static void add_worker(unsigned i)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "worker-%u", i);
	config.workers[i] =
	    (struct config_worker){ put(name), put("kubeslice-cisco"), by_kubeconfig() };
	config.worker_count = i + 1;
}

/* The example of the configuration reference, of a standby. */
static void make_valid(void)
{
	memset(&config, 0, sizeof(config));
	pool_used = 1;
	config.magic = CONFIG_MAGIC;
	config.version = CONFIG_VERSION;
	config.mode = CONFIG_STANDBY;
	config.self = 1;
	config.hub_count = 2;
	config.hubs[0] = (struct config_hub){ put("hub-a"), put("https://hub-a.example.com:6443"),
		put("/etc/understudy/hub-a.crt") };
	config.hubs[1] =
	    (struct config_hub){ put("hub-b"), put("https://hub-b.example.com:6443"), 0 };
	config.self_name = put("hub-b");
	config.namespace = put("kubeslice-controller");
	config.lease_duration_ms = 15000;
	config.renew_deadline_ms = 10000;
	config.retry_period_ms = 2000;
	config.padding_ms = 5000;
	config.witness = 1;
	config.max_lag_ms = 60000;
	config.armed_max_age_ms = 86400000;
	config.mirror_window = 16;
	config.mirror_label =
	    (struct config_label){ put("kubeslice-resource-owner"), put("kubeslice-controller") };
	for (unsigned n = CREDENTIAL_ELECTOR; n <= CREDENTIAL_PEER_SYNCER; n++)
		config.credentials[n] = n % 2 ? by_token() : by_kubeconfig();
	config.shard_size = 8;
	add_worker(0);
	add_worker(1);
	config.argument_count = 2;
	config.arguments[0] = put("/usr/local/bin/manager");
	config.arguments[1] = put("--metrics-bind-address=0");
	config.stop_grace_ms = 3000;
	config.listen_address = put("127.0.0.1");
	config.listen_port = 8080;
	config.range_count = 1;
	config.ranges[0].prefix = 104;
	config.run_directory = put("/run/understudy");
	config.uid_base = 20000;
	config.status_group = put("understudy");
}

static void expect(const char *change, const char *part)
{
	struct err err = { "" };
	int result = config_check(&config, &err);

	if (part && (result == 0 || !strstr(err.text, part)))
		fail_msg(
		    "%s: \"%s\" (expected \"%s\")", change, result ? err.text : "accepted", part);
	if (!part && result != 0)
		fail_msg("%s: %s", change, err.text);
}

/* Makes the valid configuration, changes it, expects the refusal to say this. */
#define REFUSES(part, ...)                                                                         \
	do {                                                                                       \
		make_valid();                                                                      \
		__VA_ARGS__;                                                                       \
		expect(#__VA_ARGS__, part);                                                        \
	} while (0)
#define ACCEPTS(...) REFUSES(NULL, __VA_ARGS__)

static void test_valid(void **state)
{
	(void)state;
	ACCEPTS((void)0);
	ACCEPTS(config.argument_count = 0);
	ACCEPTS(config.worker_count = 0);
	ACCEPTS(config.range_count = 0);
	ACCEPTS(config.allow_missing = SANDBOX_ALL);
	ACCEPTS(config.listen_address = put("::1"));
	ACCEPTS(config.mode = CONFIG_STANDALONE;
		memset(config.credentials, 0, sizeof(config.credentials));
		config.hubs[0].endpoint = config.hubs[1].endpoint = 0);
}

/* What the loader makes of a replica's file (R1). */
static void become_replica(void)
{
	struct config_credential elector = config.credentials[CREDENTIAL_ELECTOR];

	config.mode = CONFIG_REPLICAS;
	config.self = config.hub_count = config.worker_count = 0;
	config.self_name = put("replica-1");
	memset(config.credentials, 0, sizeof(config.credentials));
	config.credentials[CREDENTIAL_ELECTOR] = elector;
}

static void test_R1_a_replica_has_nothing_of_a_pair(void **state)
{
	(void)state;
	ACCEPTS(become_replica());
	ACCEPTS(become_replica(); config.argument_count = 0);
	REFUSES("hubs: 1 entries (expected none in mode replicas)", become_replica();
		config.hub_count = 1);
	REFUSES("self: index 1 is not in hubs", become_replica(); config.self = 1);
	REFUSES("workers: 1 (expected none in mode replicas)", become_replica();
		config.worker_count = 1);
	REFUSES("credentials: elector is missing", become_replica();
		memset(config.credentials, 0, sizeof(config.credentials)));
	for (unsigned n = CREDENTIAL_PUBLISHER; n <= CREDENTIAL_FOLLOWER; n++)
		REFUSES("(expected none in mode replicas)", become_replica();
			config.credentials[n] = config.credentials[CREDENTIAL_ELECTOR]);
	REFUSES("lease: duration", become_replica();
		config.renew_deadline_ms = config.lease_duration_ms);
	REFUSES("workload: stop-grace", become_replica(); config.stop_grace_ms = 9000);
}

/* What the loader makes of a worker's file: server and CA of the list of hubs, a token for one. */
static void become_follower(void)
{
	config.mode = CONFIG_FOLLOWER;
	config.self = 0;
	config.self_name = put("worker-1");
	config.worker_count = 0;
	config.hubs[1].ca_file = put("/etc/understudy/hub-b.crt");
	memset(config.credentials, 0, sizeof(config.credentials));
	config.credentials[CREDENTIAL_FOLLOWER] = by_kubeconfig();
	for (unsigned i = 0; i < 2; i++)
		config.credentials[CREDENTIAL_HUB_A + i] =
		    (struct config_credential){ .server = config.hubs[i].endpoint,
			    .ca_file = config.hubs[i].ca_file };
	config.credentials[CREDENTIAL_HUB_A].token_file = put("/etc/understudy/hub-a.token");
	config.follower = (struct config_follower){ .project_namespace = put("kubeslice-cisco"),
		.worker_namespace = put("kubeslice-system"),
		.directory = put("/run/understudy/hub"),
		.interval_ms = 10000,
		.timeout_ms = 5000,
		.confirmations = 2 };
}

/* A hostile loader must not send a follower anywhere but to the hubs of the list (H19). */
static void test_follower(void **state)
{
	(void)state;
	ACCEPTS(become_follower());
	ACCEPTS(become_follower(); config.hub_count = 1;
		config.credentials[CREDENTIAL_HUB_B] = (struct config_credential){ 0 });
	ACCEPTS(become_follower(); config.stop_grace_ms = UINT32_MAX); /* no validity to keep */
	REFUSES("hub-b (expected one for each hub", become_follower(); config.hub_count = 1);
	REFUSES(
	    "hub-a (expected one for each hub", config.credentials[CREDENTIAL_HUB_A] = by_token());
	REFUSES("does not belong to hubs[1]", become_follower();
		config.credentials[CREDENTIAL_HUB_B].server = put("https://elsewhere"));
	REFUSES("does not belong to hubs[0]", become_follower();
		config.credentials[CREDENTIAL_HUB_A].ca_file = put("/etc/ssl/other.crt"));
	REFUSES("expected server and ca-file", become_follower(); config.hubs[1].ca_file = 0;
		config.credentials[CREDENTIAL_HUB_B].ca_file = 0);
	REFUSES("follower is missing", become_follower();
		config.credentials[CREDENTIAL_FOLLOWER] = (struct config_credential){ 0 });
	REFUSES("project-namespace", become_follower(); config.follower.project_namespace = 0);
	REFUSES("worker-namespace", become_follower();
		config.follower.worker_namespace = put("../x"));
	REFUSES("handover-directory", become_follower(); config.follower.directory = 0);
	ACCEPTS(become_follower(); config.follower.operator_secret = put("kubeslice-hub");
		config.follower.operator_deployment = put("op"));
	REFUSES("operator-secret or -deployment", become_follower();
		config.follower.operator_secret = put("a/b"));
	REFUSES("without operator-secret", become_follower();
		config.follower.operator_deployment = put("op"));
	REFUSES("outside of the string pool", become_follower();
		config.follower.operator_secret = CONFIG_POOL_BYTES);
	REFUSES("handover-directory", become_follower();
		config.follower.directory = put("/run/../x"));
	REFUSES("outside of the string pool", become_follower();
		config.follower.directory = CONFIG_POOL_BYTES);
	REFUSES("interval", become_follower(); config.follower.interval_ms = 0);
	REFUSES("timeout", become_follower(); config.follower.timeout_ms = UINT32_MAX);
	REFUSES("confirmations", become_follower(); config.follower.confirmations = 0);
	REFUSES("elector (expected none in mode follower", become_follower();
		config.credentials[CREDENTIAL_ELECTOR] = by_kubeconfig());
	REFUSES("expected none in mode follower", become_follower(); config.worker_count = 1;
		config.workers[0].credential = by_token());
}

static void test_frame(void **state)
{
	(void)state;
	REFUSES("not made by the loader", config.magic++);
	REFUSES("not made by the loader", config.version++);
	REFUSES("string pool", config.pool[0] = 'x');
	REFUSES("string pool", config.pool[CONFIG_POOL_BYTES - 1] = 'x');
	REFUSES("mode", config.mode = CONFIG_MODE_COUNT);
	REFUSES("mode", config.mode = UINT32_MAX);
	REFUSES("promotion", config.promotion_mode = 2);
	REFUSES("promotion", config.recovery = 2);
	REFUSES("promotion", config.witness = 2);
	REFUSES("max-lag", config.max_lag_ms = 0);
	REFUSES("block-window", config.block_window_ms = 86400001);
	REFUSES("armed-max-age", config.armed_max_age_ms = 0);
	REFUSES("armed-max-age", config.armed_max_age_ms = UINT64_MAX);
	REFUSES("mirror: set", config.mirror_set = 2);
	REFUSES("mirror: window", config.mirror_window = 0);
	REFUSES("mirror: window", config.mirror_window = 1025);
	REFUSES("allow-missing", config.allow_missing = SANDBOX_ALL + 1);
}

static void list(unsigned i, const char *group, const char *resource, const char *kind)
{
	config.kinds[i] = (struct config_kind){ .group = group[0] ? put(group) : 0,
		.version = put("v1"),
		.resource = put(resource),
		.kind = put(kind) };
	config.kind_count = i + 1;
}

static void leave_out(
    const char *resource, const char *group, const char *namespace, const char *name)
{
	config.skips[config.skip_count++] =
	    (struct config_skip){ put(resource), group[0] ? put(group) : 0,
		    namespace[0] ? put(namespace) : 0, name[0] ? put(name) : 0 };
}

#define MAPS list(0, "", "configmaps", "ConfigMap")

/* M8, M10: the loader says the same with its line first (loader_config_mirror). */
static void test_mirror(void **state)
{
	(void)state;
	ACCEPTS(MAPS; list(1, "shop.example.com", "widgets", "Widget"); config.kinds[1].status = 1);
	ACCEPTS(config.mirror_set = CONFIG_MIRROR_NONE; list(0, "", "secrets", "Secret"));
	ACCEPTS(MAPS; leave_out("configmaps", "", "shop", "big"));
	ACCEPTS(leave_out("sliceqosconfigs", "controller.kubeslice.io", "", ""));
	REFUSES("mirror: 17 kinds", config.kind_count = 17);
	REFUSES("33 of skip", config.skip_count = 33);
	REFUSES("mirror: namespaces: \"\" is no label's key", config.mirror_label.key = 0);
	REFUSES("mirror: namespaces: \"\" is no label's value", config.mirror_label.value = 0);
	REFUSES("outside of the string pool", config.mirror_label.value = CONFIG_POOL_BYTES);
	REFUSES("\"kubeslice-controller\" is a Namespace that is never mirrored",
	    config.mirror_label.key = put("kubernetes.io/metadata.name"));
	REFUSES("copies do not bear", config.mirror_label.key = put("app.kubernetes.io/instance"));
	REFUSES("outside of the string pool", MAPS; config.kinds[0].group = CONFIG_POOL_BYTES);
	REFUSES("outside of the string pool", MAPS; config.kinds[0].kind = UINT32_MAX);
	REFUSES("outside of the string pool", MAPS; config.kinds[0].term_count = 1;
		config.kinds[0].terms[0].key = UINT32_MAX);
	REFUSES("outside of the string pool", config.skip_count = 1;
		config.skips[0].name = UINT32_MAX);
	REFUSES("kinds[0]: 5 terms", MAPS; config.kinds[0].term_count = 5);
	REFUSES("status 2", MAPS; config.kinds[0].status = 2);
	REFUSES("kinds[0]: label-selector: \"\" is no label's key", MAPS;
		config.kinds[0].term_count = 1);
	REFUSES("kinds[0]: version", MAPS; config.kinds[0].version = 0);
	ACCEPTS(config.rule_count = 1; config.rules[0] = put("core/pods:create,delete"));
	REFUSES("33 allow-rules", config.rule_count = 33);
	REFUSES("outside of the string pool", config.rule_count = 1; config.rules[0] = UINT32_MAX);
	REFUSES("allow-rules[0]: \"\" is no such rule", config.rule_count = 1);
	REFUSES("allow-rules[0]: \"core/pods:get']\" is no such rule", config.rule_count = 1;
		config.rules[0] = put("core/pods:get']"));
	REFUSES("kinds[0]: resource: \"\" is no resource", MAPS; config.kinds[0].resource = 0);
	REFUSES("kinds[0]: kind", MAPS; config.kinds[0].kind = 0);
	REFUSES("kinds[0]: resource: \"leases/status\"",
	    list(0, "coordination.k8s.io", "leases/status", "Lease"));
	REFUSES("kinds[0]: group: \"coordination.k8s.io\" is never mirrored",
	    list(0, "coordination.k8s.io", "leases", "Lease"));
	REFUSES("kinds[0]: group: \"x.ha.kubeslice.io\" is never mirrored",
	    list(0, "x.ha.kubeslice.io", "things", "Thing"));
	ACCEPTS(list(0, "xha.kubeslice.io", "things", "Thing"));
	REFUSES("kinds[0]: resource: \"nodes\" is never", list(0, "", "nodes", "Node"));
	ACCEPTS(list(0, "shop.example.com", "nodes", "Node"));
	REFUSES("kinds[0]: resource: \"secrets\" is in the set", list(0, "", "secrets", "Secret"));
	REFUSES("kinds[1]: resource: \"configmaps\" is there twice", MAPS;
		list(1, "", "configmaps", "ConfigMap"));
	REFUSES("kinds[1]: kind: \"ConfigMap\" is there twice", MAPS;
		list(1, "", "configmap", "ConfigMap"));
	REFUSES(
	    "skip[0]: \"configmaps\" is not mirrored", leave_out("configmaps", "", "shop", "big"));
	REFUSES("skip[0]: \"configmaps\" is listed in mirror.kinds", MAPS;
		leave_out("configmaps", "", "", ""));
	REFUSES("skip[0]: \"namespaces\" cannot be left out", leave_out("namespaces", "", "", ""));
	REFUSES("skip[0]: \"secrets\" has a namespace or a name alone",
	    leave_out("secrets", "", "shop", ""));
	REFUSES("skip[0]: \"a.b\" is no namespace", leave_out("secrets", "", "a.b", "c"));
	REFUSES("skip[0]: \"..\" is no name", leave_out("secrets", "", "a", ".."));
	REFUSES("skip[1]: \"secrets\" is there twice", leave_out("secrets", "", "a", "b");
		leave_out("secrets", "", "a", "b"));
	REFUSES("skip[0]: \"secrets\" is not mirrored", config.mirror_set = CONFIG_MIRROR_NONE;
		leave_out("secrets", "", "", ""));
}

static void test_hubs(void **state)
{
	(void)state;
	REFUSES("hubs: 0", config.hub_count = 0);
	REFUSES("hubs: 1", config.hub_count = 1);
	REFUSES("hubs: 3", config.hub_count = 3);
	REFUSES("self: index", config.self = 2);
	REFUSES("self: index", config.self = UINT32_MAX);
	REFUSES("not the name", config.self = 0);
	REFUSES("both are named", config.hubs[1].name = config.hubs[0].name);
	REFUSES("hubs: name", config.hubs[0].name = put("Hub_A"));
	REFUSES("hubs: name", config.hubs[0].name = 0);
	REFUSES("hubs: name", config.hubs[0].name = put("hub-a."));
	REFUSES("outside of the string pool", config.hubs[0].name = CONFIG_POOL_BYTES);
	REFUSES("outside of the string pool", config.hubs[1].ca_file = UINT32_MAX);
	REFUSES("endpoint", config.hubs[0].endpoint = put("http://hub-a"));
	REFUSES("endpoint", config.hubs[0].endpoint = put("https://"));
	REFUSES("endpoint", config.hubs[0].endpoint = put("https://root@hub-a"));
	REFUSES("endpoint", config.hubs[0].endpoint = 0);
	REFUSES("control characters", config.hubs[0].endpoint = put("https://hub-a\n"));
	REFUSES("invalid UTF-8", config.hubs[0].endpoint = put("https://hub-\xff"));
	REFUSES("namespace", config.namespace = 0);
	REFUSES("namespace", config.namespace = put("../kube-system"));
	REFUSES("namespace", config.namespace = put("a.b"));
	REFUSES("self", config.self_name = put("hub b"));
}

/* H17: LD > RD >= 2.5 RP. H18: stop-grace + 1 s <= RD - RP - RT. */
static void test_timing(void **state)
{
	(void)state;
	REFUSES("lease", config.lease_duration_ms = 10000);
	ACCEPTS(config.lease_duration_ms = 10001);
	REFUSES("lease", config.retry_period_ms = 4001; config.stop_grace_ms = 0);
	ACCEPTS(config.retry_period_ms = 4000; config.stop_grace_ms = 0);
	REFUSES("lease", config.retry_period_ms = 0);
	REFUSES("lease", config.renew_deadline_ms = 0);
	REFUSES("lease", config.lease_duration_ms = 300001);
	REFUSES("lease", config.padding_ms = 300001);
	REFUSES("lease", config.renew_deadline_ms = UINT32_MAX);
	REFUSES("stop-grace", config.stop_grace_ms = 3001);
	REFUSES("stop-grace", config.stop_grace_ms = UINT32_MAX);
	ACCEPTS(config.stop_grace_ms = UINT32_MAX; config.argument_count = 0);
	/* Decision 11: the fast profile. */
	ACCEPTS(config.lease_duration_ms = 3000; config.renew_deadline_ms = 2500;
		config.retry_period_ms = 400; config.padding_ms = 800; config.stop_grace_ms = 0);
}

static void test_credentials(void **state)
{
	struct config_credential *elector = &config.credentials[CREDENTIAL_ELECTOR];
	struct config_credential *worker = &config.workers[1].credential;

	(void)state;
	REFUSES("elector is missing", memset(elector, 0, sizeof(*elector)));
	REFUSES("peer-syncer is missing",
	    memset(&config.credentials[CREDENTIAL_PEER_SYNCER], 0, sizeof(config.credentials[0])));
	REFUSES("expected one of the two", elector->token_file = put("/token"));
	REFUSES("elector", elector->kubeconfig = put("relative"));
	REFUSES("elector", elector->kubeconfig = put("/etc/../etc/shadow"));
	REFUSES("elector", elector->kubeconfig = put("/etc//shadow"));
	REFUSES("elector", elector->kubeconfig = put("/etc/"));
	REFUSES("elector", elector->kubeconfig = pool_used + 1); /* set, and empty */
	REFUSES("elector", elector->kubeconfig = CONFIG_POOL_BYTES + 7);
	REFUSES("token-file", *elector = by_token(); elector->token_file = 0);
	REFUSES("token-file", *elector = by_token(); elector->key_file = put("/key"));
	REFUSES("token-file", *elector = by_token(); elector->token_file = 0;
		elector->key_file = put("/key"));
	ACCEPTS(*elector = by_token(); elector->token_file = 0; elector->key_file = put("/key");
		elector->certificate_file = put("/certificate"));
	REFUSES("server and ca-file", *elector = by_token(); elector->server = 0);
	REFUSES("server and ca-file", *elector = by_token(); elector->ca_file = 0);
	REFUSES("https", *elector = by_token(); elector->server = put("https://a@b"));
	REFUSES("worker-1", memset(worker, 0, sizeof(*worker)));
	REFUSES("hub-a", config.credentials[CREDENTIAL_HUB_A].ca_file = put("/ca.crt"));
}

static void test_workers(void **state)
{
	(void)state;
	REFUSES("workers", config.worker_count = CONFIG_MAX_WORKERS + 1);
	REFUSES("workers", config.worker_count = UINT32_MAX);
	REFUSES("workers", config.worker_count = 3); /* the third is empty */
	REFUSES("shard-size", config.shard_size = 0);
	REFUSES("shard-size", config.shard_size = UINT32_MAX);
	REFUSES("twice", config.workers[1].name = config.workers[0].name);
	REFUSES("workers: name", config.workers[1].name = 0);
	REFUSES("project-namespace", config.workers[1].project_namespace = 0);
	make_valid();
	for (unsigned i = 0; i < 33; i++)
		add_worker(i);
	config.shard_size = 1;
	expect("33 shards", "shard-size");
	config.shard_size = 2;
	expect("17 shards", NULL);
}

static void test_workload_and_network(void **state)
{
	(void)state;
	REFUSES("arguments", config.argument_count = CONFIG_MAX_ARGUMENTS + 1);
	REFUSES("workload: command", config.arguments[0] = put("manager"));
	REFUSES("workload: command", config.arguments[1] = CONFIG_POOL_BYTES);
	REFUSES("literal address", config.listen_address = put("localhost"));
	REFUSES("literal address", config.listen_address = 0);
	REFUSES("port", config.listen_port = 0);
	REFUSES("port", config.listen_port = 65536);
	REFUSES("ranges", config.range_count = CONFIG_MAX_RANGES + 1);
	REFUSES("prefix", config.ranges[0].prefix = 129);
}

static void test_run(void **state)
{
	char long_directory[200];

	(void)state;
	memset(long_directory, 'a', sizeof(long_directory));
	long_directory[0] = '/';
	long_directory[sizeof(long_directory) - 1] = '\0';
	REFUSES("run: directory", config.run_directory = 0);
	REFUSES("run: directory", config.run_directory = put("run"));
	REFUSES("run: directory", config.run_directory = put("/run/../etc"));
	REFUSES("run: directory", config.run_directory = put("/"));
	REFUSES("run: directory", config.run_directory = put(long_directory));
	REFUSES("group", config.status_group = put("under study"));
	REFUSES("group", config.admin_group = put("-a"));
	/* F24: none of root, nobody, the overflow id. */
	REFUSES("uid-base", config.uid_base = 0);
	REFUSES("uid-base", config.uid_base = UINT32_MAX);
	REFUSES("uid-base", config.uid_base = UINT32_MAX - 10);
	REFUSES("uid-base", config.uid_base = 65534);
	REFUSES("uid-base", config.uid_base = 65535);
	REFUSES("uid-base", config.uid_base = 65534 - ROLE_UID_RANGE + 1);
	ACCEPTS(config.uid_base = 65534 - ROLE_UID_RANGE);
	ACCEPTS(config.uid_base = 65536);
}

static uint64_t random_state = 88172645463325252ULL;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Everything that a process would do with an accepted configuration. */
static size_t use(void)
{
	size_t sum = config_roles(&config) + config_request_deadline_ms(&config);

	for (unsigned n = 0; n < CREDENTIAL_LIMIT; n++) {
		const struct config_credential *c = config_credential_of(&config, n);
		struct role_id holder = role_holding(n, config.shard_size);

		if (c) {
			assert_true(holder.role < ROLE_COUNT && holder.shard < ROLE_MAX_SHARDS);
			sum += strlen(config_text_at(&config, c->server)) + role_uid(holder, 1000);
		}
	}
	for (unsigned i = 0; i < config.argument_count; i++)
		sum += strlen(config_text_at(&config, config.arguments[i]));
	return sum + strlen(config_text_at(&config, config.hubs[config.self].name));
}

static void test_random_damage(void **state)
{
	unsigned accepted = 0, refused = 0;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		unsigned char *bytes = (unsigned char *)&config;

		make_valid();
		for (uint64_t n = 1 + next_random() % 3; n > 0; n--) {
			size_t area = next_random() % 4
					  ? offsetof(struct us_config, workers[2])
					  : offsetof(struct us_config, pool) + pool_used;
			size_t at = next_random() % area;

			bytes[at] = next_random() % 2 ? (unsigned char)next_random() : 0xff;
		}
		if (config_check(&config, NULL) == 0 && ++accepted)
			assert_true(use() > 0);
		else
			refused++;
	}
	assert_true(accepted > 100);
	assert_true(refused > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_valid),
		cmocka_unit_test(test_R1_a_replica_has_nothing_of_a_pair),
		cmocka_unit_test(test_follower),
		cmocka_unit_test(test_frame),
		cmocka_unit_test(test_mirror),
		cmocka_unit_test(test_hubs),
		cmocka_unit_test(test_timing),
		cmocka_unit_test(test_credentials),
		cmocka_unit_test(test_workers),
		cmocka_unit_test(test_workload_and_network),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_random_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
