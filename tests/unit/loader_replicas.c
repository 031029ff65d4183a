/*
 * A replica's configuration (decision 17): the documented example gives each field its value, the
 * least one is enough, and what only a pair of hubs or a worker has is refused by its name, with
 * its line. Method: one right file; each case adds one line to it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "loader/config.h"

static const char example[] =
    "mode: replicas\n"
    "self: replica-1\n"
    "namespace: submariner-operator\n"
    "lease: {duration: 15s, renew-deadline: 10s, retry-period: 2s}\n"
    "credentials:\n"
    "  elector: {kubeconfig: /etc/understudy/credentials/elector.kubeconfig}\n"
    "workload: {command: [/usr/local/bin/lighthouse-agent], stop-grace: 3s}\n"
    "listen: {http: \"127.0.0.1:8080\"}\n"
    "dial: {allow: [10.0.0.0/8]}\n"
    "run: {directory: /run/understudy, uid-base: 20000}\n";

static struct us_config config;

static void read_right(const char *text)
{
	struct err err = { "" };

	if (config_read(&config, str_of(text), "u.yaml", &err))
		fail_msg("%s", err.text);
	assert_int_equal(config_check(&config, &err), 0);
}

static void expect_error(const char *line, const char *words)
{
	struct buf text = buf_make(1 << 20);
	struct err err = { "" };

	buf_puts(&text, example);
	buf_puts(&text, line);
	if (config_read(&config, buf_str(&text), "u.yaml", &err) != -1)
		fail_msg("\"%s\" was accepted", line);
	if (!strstr(err.text, words))
		fail_msg("\"%s\" gives\n%s\nnot\n%s", line, err.text, words);
	buf_free(&text);
}

static void the_example_gives_each_field(void **state)
{
	(void)state;
	read_right(example);
	assert_int_equal(config.mode, CONFIG_REPLICAS);
	assert_int_equal(config.hub_count, 0);
	assert_string_equal(config_text_at(&config, config.self_name), "replica-1");
	assert_string_equal(config_text_at(&config, config.namespace), "submariner-operator");
	assert_int_equal(config.lease_duration_ms, 15000);
	assert_int_equal(config.argument_count, 1);
	assert_int_equal(config_roles(&config), ROLE_BIT(ROLE_MONITOR) | ROLE_BIT(ROLE_ELECTOR) |
						    ROLE_BIT(ROLE_ELECTOR_DIALER) |
						    ROLE_BIT(ROLE_RUNNER));
}

static void little_is_enough(void **state)
{
	(void)state;
	read_right("mode: replicas\nself: r\ncredentials: {elector: {kubeconfig: /e}}\n");
	assert_int_equal(config.renew_deadline_ms, 10000);
	assert_string_equal(config_text_at(&config, config.namespace), "kubeslice-controller");
}

static void what_is_for_others_is_refused_by_name(void **state)
{
	static const struct {
		const char *line, *words;
	} cases[] = {
		{ "hubs: [{name: a, endpoint: \"https://a\"}]\n",
		    "u.yaml:11: hubs: is for a pair of hubs, not for mode replicas" },
		{ "promotion: {mode: manual}\n", "promotion: is for a pair of hubs" },
		{ "mirror: {set: none}\n", "mirror: is for a pair of hubs" },
		{ "workers: []\n", "workers: is for a pair of hubs" },
		{ "repointer: {shard-size: 4}\n", "repointer: is for a pair of hubs" },
		{ "follower: {project-namespace: p}\n", "follower: is for mode follower" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_error(cases[i].line, cases[i].words);
}

static void members_for_others_are_refused_by_name(void **state)
{
	static const char *const names[] = { "publisher", "syncer", "peer-observer", "peer-syncer",
		"follower" };
	struct err err;
	char text[512];

	(void)state;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(text, sizeof(text),
		    "mode: replicas\nself: r\ncredentials:\n  elector: {kubeconfig: /e}\n"
		    "  %s: {kubeconfig: /p}\n",
		    names[i]);
		assert_int_equal(config_read(&config, str_of(text), "u.yaml", &err), -1);
		assert_non_null(strstr(err.text, "u.yaml:5: "));
		assert_non_null(strstr(err.text, names[i]));
	}
	(void)snprintf(text, sizeof(text),
	    "mode: replicas\nself: r\nlease: {padding: 5s}\ncredentials: {elector: {kubeconfig: "
	    "/e}}\n");
	assert_int_equal(config_read(&config, str_of(text), "u.yaml", &err), -1);
	assert_non_null(strstr(err.text, "padding"));
}

static void what_is_missing_is_named(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(
	    config_read(&config, STR_LIT("mode: replicas\nself: r\n"), "u.yaml", &err), -1);
	assert_non_null(strstr(err.text, "credentials"));
	assert_int_equal(
	    config_read(&config, STR_LIT("mode: standby\nself: r\n"), "u.yaml", &err), -1);
	assert_non_null(strstr(err.text, "hubs"));
	assert_non_null(strstr(err.text, "is missing"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_example_gives_each_field),
		cmocka_unit_test(little_is_enough),
		cmocka_unit_test(what_is_for_others_is_refused_by_name),
		cmocka_unit_test(members_for_others_are_refused_by_name),
		cmocka_unit_test(what_is_missing_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
