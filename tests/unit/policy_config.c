/*
 * Goal: the figures that processes derive from a configuration, and which roles it starts. Method:
 * a small valid configuration, changed. What a hostile one may hold: policy_config_check.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/config.h"

static struct us_config config;

static int reset(void **state)
{
	(void)state;
	config = (struct us_config){ .mode = CONFIG_STANDBY, .shard_size = 8 };
	return 0;
}

static void test_request_deadline(void **state)
{
	(void)state;
	config.renew_deadline_ms = 10000;
	config.retry_period_ms = 2000;
	assert_int_equal(config_request_deadline_ms(&config), 4000);
	config.renew_deadline_ms = 2500;
	config.retry_period_ms = 400;
	assert_int_equal(config_request_deadline_ms(&config), 1050);
}

static void test_never_mirrored_B25(void **state)
{
	static const char *const never[] = { "kube-system", "kube-x", "default", "n" };

	(void)state;
	config.namespace = 1;
	config.pool[1] = 'n';
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		assert_false(config_may_mirror(&config, never[i]));
	assert_true(config_may_mirror(&config, "kubeslice-cisco"));
	assert_true(config_may_mirror(&config, "defaults"));
}

static void test_shards(void **state)
{
	(void)state;
	assert_int_equal(config_shard_count(&config), 0);
	config.worker_count = 1;
	assert_int_equal(config_shard_count(&config), 1);
	config.worker_count = 8;
	assert_int_equal(config_shard_count(&config), 1);
	config.worker_count = 9;
	assert_int_equal(config_shard_count(&config), 2);
	config.worker_count = 200;
	assert_int_equal(config_shard_count(&config), 25);
}

static void test_text(void **state)
{
	(void)state;
	config.pool[5] = 'x';
	assert_string_equal(config_text_at(&config, 5), "x");
	assert_string_equal(config_text_at(&config, 0), "");
	assert_string_equal(config_text_at(&config, CONFIG_POOL_BYTES), "");
	assert_string_equal(config_text_at(&config, UINT32_MAX), "");
}

static void test_credentials(void **state)
{
	(void)state;
	assert_null(config_credential_of(&config, CREDENTIAL_ELECTOR));
	config.credentials[CREDENTIAL_ELECTOR].kubeconfig = 1;
	assert_ptr_equal(config_credential_of(&config, CREDENTIAL_ELECTOR),
	    &config.credentials[CREDENTIAL_ELECTOR]);
	assert_null(config_credential_of(&config, CREDENTIAL_FIXED_COUNT));
	config.workers[1].credential.token_file = 1;
	assert_null(config_credential_of(&config, CREDENTIAL_WORKER + 1));
	config.worker_count = 2;
	assert_ptr_equal(
	    config_credential_of(&config, CREDENTIAL_WORKER + 1), &config.workers[1].credential);
	assert_null(config_credential_of(&config, CREDENTIAL_WORKER + 2));
	assert_null(config_credential_of(&config, CREDENTIAL_LIMIT));
}

static void test_roles_of_a_mode(void **state)
{
	uint32_t pair = ROLE_BIT(ROLE_MONITOR) | ROLE_BIT(ROLE_OBSERVER) | ROLE_BIT(ROLE_ELECTOR) |
			ROLE_BIT(ROLE_SYNCER) | ROLE_BIT(ROLE_PUBLISHER) |
			ROLE_BIT(ROLE_OBSERVER_DIALER) | ROLE_BIT(ROLE_ELECTOR_DIALER) |
			ROLE_BIT(ROLE_SYNCER_DIALER) | ROLE_BIT(ROLE_PUBLISHER_DIALER);

	(void)state;
	assert_int_equal(config_roles(&config), pair);
	config.mode = CONFIG_ACTIVE;
	config.worker_count = 1;
	config.argument_count = 1;
	assert_int_equal(config_roles(&config), pair | ROLE_BIT(ROLE_REPOINTER) |
						    ROLE_BIT(ROLE_REPOINTER_DIALER) |
						    ROLE_BIT(ROLE_RUNNER));
	config = (struct us_config){ .mode = CONFIG_FOLLOWER };
	assert_int_equal(config_roles(&config),
	    ROLE_BIT(ROLE_MONITOR) | ROLE_BIT(ROLE_FOLLOWER) | ROLE_BIT(ROLE_FOLLOWER_DIALER));
	/* Decision 17: it stamps the page and asks no API server. */
	config.mode = CONFIG_STANDALONE;
	assert_int_equal(config_roles(&config), ROLE_BIT(ROLE_MONITOR) | ROLE_BIT(ROLE_ELECTOR));
	config.mode = CONFIG_REPLICAS;
	assert_int_equal(config_roles(&config),
	    ROLE_BIT(ROLE_MONITOR) | ROLE_BIT(ROLE_ELECTOR) | ROLE_BIT(ROLE_ELECTOR_DIALER));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_request_deadline, reset),
		cmocka_unit_test_setup(test_never_mirrored_B25, reset),
		cmocka_unit_test_setup(test_shards, reset),
		cmocka_unit_test_setup(test_text, reset),
		cmocka_unit_test_setup(test_credentials, reset),
		cmocka_unit_test_setup(test_roles_of_a_mode, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
