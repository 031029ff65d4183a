/*
 * Goal: each key of the configuration either takes a restart or names who starts anew, and nothing
 * else does (decision 20); workers that stay keep their numbers, and only shards with another
 * worker in them are disturbed (F9). Method: one change at a time; random lists of workers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/changes.h"

static struct us_config now, next;
static struct changes changes;
static uint32_t used;

static config_text put(struct us_config *config, const char *text)
{
	config_text at = used + 1;

	used += (uint32_t)strlen(text) + 2;
	assert_true(used < CONFIG_POOL_BYTES);
	memcpy(config->pool + at, text, strlen(text) + 1);
	return at;
}

static int begin(void **state)
{
	(void)state;
	memset(&now, 0, sizeof(now));
	used = 0;
	now.mode = CONFIG_ACTIVE;
	now.hub_count = 2;
	now.shard_size = 2;
	now.self_name = put(&now, "hub-a");
	now.hubs[0] = (struct config_hub){ put(&now, "hub-a"), put(&now, "https://a"), 0 };
	now.hubs[1] = (struct config_hub){ put(&now, "hub-b"), put(&now, "https://b"), 0 };
	next = now;
	return 0;
}

static void compare(void)
{
	changes_between(&now, &next, &changes);
}

static void nothing_changed(void **state)
{
	char text[200];

	(void)state;
	compare();
	assert_int_equal(changes.frozen_count, 0);
	assert_int_equal(changes.key_count, 0);
	assert_int_equal(changes.anew, 0);
	assert_int_equal(changes.shards, 0);
	changes_describe(&changes, text, sizeof(text));
	assert_string_equal(text, "nothing");
	/* The same texts at other places of the pool. */
	next.hubs[0].name = put(&next, "hub-a");
	next.self_name = put(&next, "hub-a");
	compare();
	assert_int_equal(changes.frozen_count + changes.key_count, 0);
}

static void frozen(const char *key)
{
	char text[200];

	compare();
	assert_int_equal(changes.frozen_count, 1);
	assert_string_equal(changes.frozen[0], key);
	changes_describe(&changes, text, sizeof(text));
	assert_string_equal(text, key);
	next = now;
}

static void what_takes_a_restart(void **state)
{
	(void)state;
	next.mode = CONFIG_STANDBY;
	frozen("mode");
	next.self = 1;
	frozen("self");
	next.hubs[1].name = put(&next, "hub-c");
	frozen("hubs");
	next.hub_count = 1;
	frozen("hubs");
	next.namespace = put(&next, "elsewhere");
	frozen("namespace");
	next.lease_duration_ms++;
	frozen("lease");
	next.padding_ms++;
	frozen("lease");
	next.promotion_mode = CONFIG_MANUAL;
	frozen("promotion");
	next.block_window_ms++;
	frozen("promotion");
	next.shard_size = 4;
	frozen("repointer: shard-size");
	next.follower.directory = put(&next, "/run/other");
	frozen("follower: handover-directory");
	next.argument_count = 1;
	next.arguments[0] = put(&next, "/bin/manager");
	frozen("workload");
	next.stop_grace_ms++;
	frozen("workload");
	next.listen_port++;
	frozen("listen");
	next.uid_base++;
	frozen("run");
	next.admin_group = put(&next, "wheel");
	frozen("run");
	next.allow_missing = 1;
	frozen("allow-missing");
}

static void anew(const char *key, uint32_t roles)
{
	compare();
	assert_int_equal(changes.frozen_count, 0);
	assert_int_equal(changes.key_count, 1);
	assert_string_equal(changes.keys[0], key);
	assert_int_equal(changes.anew, roles);
	next = now;
}

static void who_starts_anew(void **state)
{
	(void)state;
	next.hubs[1].endpoint = put(&next, "https://b:6443");
	anew("hubs: endpoint",
	    ROLE_BIT(ROLE_PUBLISHER) | ROLE_BIT(ROLE_REPOINTER) | ROLE_BIT(ROLE_FOLLOWER));
	next.hubs[0].ca_file = put(&next, "/a.crt");
	anew("hubs: ca-file", ROLE_BIT(ROLE_PUBLISHER));
	next.mirror_window++;
	anew("mirror", ROLE_BIT(ROLE_SYNCER));
	next.rule_count = 1;
	next.rules[0] = put(&next, "core/pods:create");
	anew("mirror", ROLE_BIT(ROLE_SYNCER));
	next.mirror_set = CONFIG_MIRROR_NONE;
	anew("mirror: set", ROLE_BIT(ROLE_SYNCER) | ROLE_BIT(ROLE_PUBLISHER));
	next.mirror_label.key = put(&next, "team");
	anew("mirror: namespaces", ROLE_BIT(ROLE_SYNCER) | ROLE_BIT(ROLE_PUBLISHER));
	next.kind_count = 1;
	anew("mirror: kinds", ROLE_BIT(ROLE_SYNCER) | ROLE_BIT(ROLE_PUBLISHER));
	now.kind_count = next.kind_count = 1;
	next.kinds[0].status = 1;
	anew("mirror: kinds", ROLE_BIT(ROLE_SYNCER) | ROLE_BIT(ROLE_PUBLISHER));
	next.skip_count = 1;
	anew("mirror: skip", ROLE_BIT(ROLE_SYNCER) | ROLE_BIT(ROLE_PUBLISHER));
	next.credentials[CREDENTIAL_ELECTOR].kubeconfig = put(&next, "/elector");
	anew("credentials", 0);
	next.follower.interval_ms++;
	anew("follower", ROLE_BIT(ROLE_FOLLOWER));
	next.range_count = 1;
	anew("dial: allow", ROLE_DIALERS);
}

/* Each key that a person can write: one whose change nobody noticed would be said to be in force.
 */
static void each_key_of_the_file_is_in_the_table(void **state)
{
#define KEY(section, key, reader, of, field, least, most, fallback, expected, meaning)             \
	{ #section "." key, #of, #field, offsetof(struct of, field),                               \
		sizeof(((struct of *)0)->field) },
	static const struct {
		const char *key, *of, *field;
		size_t offset, size;
	} rows[] = {
#include "loader/config.def"
	};
	unsigned tried = 0;

	(void)state;
	now.worker_count = now.rule_count = now.range_count = now.argument_count = 1;
	now.pool[CONFIG_POOL_BYTES - 2] = '\0';
	memcpy(now.pool + 1, "x", 2);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t other = 1;

		/* Maps stand for their keys, and keys that have no value yet for nothing. */
		if (strcmp(rows[i].of, "us_config") != 0 || strcmp(rows[i].field, "magic") == 0)
			continue;
		next = now;
		for (size_t at = 0; at + sizeof(other) <= rows[i].size; at += sizeof(other)) {
			memcpy((char *)&other, (char *)&next + rows[i].offset + at, sizeof(other));
			other = other == 1 ? 0 : 1;
			memcpy((char *)&next + rows[i].offset + at, &other, sizeof(other));
		}
		compare();
		if (changes.frozen_count + changes.key_count + changes.added + changes.removed +
			changes.changed ==
		    0)
			fail_msg("%s: a reload does not notice it", rows[i].key);
		tried++;
	}
	assert_true(tried > 30);
#undef KEY
}

/* --- Workers --------------------------------------------------------------------------------- */

static void add(struct us_config *config, const char *name)
{
	config->workers[config->worker_count++] = (struct config_worker){ put(config, name),
		put(config, "project"), { .kubeconfig = put(config, name) } };
}

static const char *name_at(const struct us_config *config, unsigned i)
{
	return config_text_at(config, config->workers[i].name);
}

static void the_last_one_fills_the_hole(void **state)
{
	char text[200];

	(void)state;
	add(&now, "a");
	add(&now, "b");
	add(&now, "c");
	add(&now, "d");
	add(&now, "e");
	add(&next, "a");
	add(&next, "c");
	add(&next, "d");
	add(&next, "e");
	changes_place_workers(&now, &next);
	assert_string_equal(name_at(&next, 0), "a");
	assert_string_equal(name_at(&next, 1), "e");
	assert_string_equal(name_at(&next, 2), "c");
	assert_string_equal(name_at(&next, 3), "d");
	compare();
	assert_int_equal(changes.removed, 1);
	assert_int_equal(changes.added + changes.changed, 0);
	assert_int_equal(changes.shards, 1 << 0 | 1 << 2);
	assert_int_equal(changes.anew, ROLE_BIT(ROLE_PUBLISHER));
	assert_true(changes_worker(&now, &next, 1) && changes_worker(&now, &next, 4));
	assert_false(changes_worker(&now, &next, 0) || changes_worker(&now, &next, 2));
	assert_false(changes_worker(&now, &next, 5));
	changes_describe(&changes, text, sizeof(text));
	assert_string_equal(text, "workers (0 added, 1 removed, 0 changed)");
}

static void another_source_is_another_generation_alone(void **state)
{
	(void)state;
	add(&now, "a");
	add(&next, "a");
	next.workers[0].credential.kubeconfig = put(&next, "/elsewhere");
	compare();
	assert_int_equal(changes.changed, 1);
	assert_int_equal(changes.shards | changes.anew, 0);
	next.workers[0].project_namespace = put(&next, "other");
	compare();
	assert_int_equal(changes.shards, 1);
}

/* Each list holds each name once, everybody who stays and fits stays where it was. */
static void random_lists(void **state)
{
	char name[16];

	srand(7);
	for (unsigned run = 0; run < 2000; run++) {
		bool seen[20] = { false };
		unsigned stayed = 0;

		(void)begin(state);
		for (unsigned i = 0; i < 20; i++) {
			(void)snprintf(name, sizeof(name), "w%u", i);
			if (rand() % 2)
				add(&now, name);
		}
		for (unsigned i = 20; i-- > 0;) {
			(void)snprintf(name, sizeof(name), "w%u", i);
			if (rand() % 2)
				add(&next, name);
		}
		changes_place_workers(&now, &next);
		for (unsigned i = 0; i < next.worker_count; i++) {
			unsigned n = (unsigned)atoi(name_at(&next, i) + 1);

			assert_false(seen[n]);
			seen[n] = true;
			stayed += i < now.worker_count &&
				  strcmp(name_at(&now, i), name_at(&next, i)) == 0;
		}
		for (unsigned i = 0; i < now.worker_count && i < next.worker_count; i++)
			if (seen[atoi(name_at(&now, i) + 1)])
				assert_string_equal(name_at(&now, i), name_at(&next, i));
		compare();
		assert_true(changes.removed + stayed <= now.worker_count);
	}
}

static void the_page_of_the_configuration_asks_the_same_table(void **state)
{
	bool may_change;
	uint32_t anew;

	(void)state;
	assert_true(changes_of_key("mode", "", &may_change, &anew));
	assert_false(may_change);
	assert_true(changes_of_key("hubs", "name", &may_change, &anew));
	assert_false(may_change);
	assert_true(changes_of_key("hubs", "endpoint", &may_change, &anew));
	assert_true(may_change);
	assert_true(anew & ROLE_BIT(ROLE_PUBLISHER));
	assert_true(changes_of_key("follower", "interval", &may_change, &anew));
	assert_int_equal(anew, ROLE_BIT(ROLE_FOLLOWER));
	assert_true(changes_of_key("follower", "handover-directory", &may_change, &anew));
	assert_false(may_change);
	assert_false(changes_of_key("workers", "name", &may_change, &anew));
	assert_false(changes_of_key("lease:", "", &may_change, &anew));
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_changed),
		TEST(what_takes_a_restart),
		TEST(who_starts_anew),
		TEST(each_key_of_the_file_is_in_the_table),
		TEST(the_last_one_fills_the_hole),
		TEST(another_source_is_another_generation_alone),
		TEST(random_lists),
		TEST(the_page_of_the_configuration_asks_the_same_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
