/*
 * A worker's configuration: the documented example gives each field its value, one hub is enough
 * (W1), two hubs that are one are refused (W16), and a value that cannot be is named where upstream
 * silently takes its default (W17, D46). Method: one right file; each case replaces one line of it.
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
    "mode: follower\n"
    "self: worker-1\n"
    "hubs:\n"
    "- {name: east, endpoint: \"https://hub-a.example.com:6443\", ca-file: /etc/u/a.crt}\n"
    "- {name: west, endpoint: \"https://hub-b.example.com:6443\", ca-file: /etc/u/b.crt}\n"
    "namespace: kubeslice-controller\n"
    "follower: {project-namespace: kubeslice-cisco, worker-namespace: ks, interval: 3s, timeout: "
    "2s, confirmations: 4, handover-directory: /run/u/hub}\n"
    "credentials:\n"
    "  follower: {kubeconfig: /etc/u/follower}\n"
    "  hub-a: {token-file: /etc/u/a.token}\n"
    "workload: {command: [/manager], stop-grace: 1m}\n";

static struct us_config config;

static const char *text_at(config_text text)
{
	return config_text_at(&config, text);
}

static void read_right(const char *text)
{
	struct err err = { "" };

	if (config_read(&config, str_of(text), "u.yaml", &err))
		fail_msg("%s", err.text);
	assert_int_equal(config_check(&config, &err), 0);
}

static void expect_error(const char *from, const char *to, const char *words)
{
	struct buf text = buf_make(1 << 20);
	const char *at = strstr(example, from);
	struct err err = { "" };

	assert_non_null(at);
	buf_append(&text, example, (size_t)(at - example));
	buf_puts(&text, to);
	buf_puts(&text, strchr(at, '\n'));
	if (config_read(&config, buf_str(&text), "u.yaml", &err) != -1)
		fail_msg("\"%s\" was accepted", to);
	if (strncmp(err.text, words, strlen(words)) != 0)
		fail_msg("\"%s\" gives\n%s\nnot\n%s", to, err.text, words);
	buf_free(&text);
}

static void the_example_gives_each_field(void **state)
{
	(void)state;
	read_right(example);
	assert_int_equal(config.mode, CONFIG_FOLLOWER);
	assert_string_equal(text_at(config.self_name), "worker-1");
	assert_int_equal(config.self, 0);
	assert_string_equal(text_at(config.follower.project_namespace), "kubeslice-cisco");
	assert_string_equal(text_at(config.follower.worker_namespace), "ks");
	assert_string_equal(text_at(config.follower.directory), "/run/u/hub");
	assert_int_equal(config.follower.interval_ms, 3000);
	assert_int_equal(config.follower.timeout_ms, 2000);
	assert_int_equal(config.follower.confirmations, 4);
	/* H19: a hub is reached as the list says; its token may come from elsewhere (H12). */
	assert_string_equal(
	    text_at(config.credentials[CREDENTIAL_HUB_A].token_file), "/etc/u/a.token");
	assert_int_equal(config.credentials[CREDENTIAL_HUB_A].server, config.hubs[0].endpoint);
	assert_int_equal(config.credentials[CREDENTIAL_HUB_B].ca_file, config.hubs[1].ca_file);
	assert_int_equal(config.credentials[CREDENTIAL_HUB_B].token_file, 0);
	/* A worker has no validity that a workload must end before (H18). */
	assert_int_equal(config.stop_grace_ms, 60000);
}

static void one_hub_is_enough_W1(void **state)
{
	static const char alone[] = "mode: follower\n"
				    "self: worker-1\n"
				    "hubs: [{name: a, endpoint: \"https://a\", ca-file: /ca}]\n"
				    "follower: {project-namespace: p}\n"
				    "credentials: {follower: {kubeconfig: /f}}\n";

	(void)state;
	read_right(alone);
	assert_null(config_credential_of(&config, CREDENTIAL_HUB_B));
	assert_int_equal(config.follower.interval_ms, 10000);
	assert_int_equal(config.follower.timeout_ms, 5000);
	assert_int_equal(config.follower.confirmations, 2);
	assert_string_equal(text_at(config.follower.worker_namespace), "kubeslice-system");
	assert_string_equal(text_at(config.follower.directory), "/run/understudy/hub");
}

static void two_hubs_are_two_servers_W16(void **state)
{
	static const char *const same[] = { "https://hub-a.example.com:6443",
		"https://HUB-A.example.com:6443/" };
	char line[256];

	(void)state;
	for (unsigned i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		(void)snprintf(line, sizeof(line),
		    "- {name: west, endpoint: \"%s\", ca-file: /etc/u/b.crt}", same[i]);
		expect_error("- {name: west", line, "u.yaml:5: hubs[1].endpoint: is there twice");
	}
	expect_error("- {name: west", "- {name: west, ca-file: /etc/u/b.crt}",
	    "u.yaml:5: hubs[1].endpoint: is missing");
	expect_error("- {name: west", "- {name: west, endpoint: \"https://b\"}",
	    "u.yaml:5: hubs[1].ca-file: is missing");
}

static void wrong_values_are_named_W17(void **state)
{
	static const char *const cases[][3] = {
		{ "follower:", "follower: {project-namespace: p, interval: 0s}",
		    "u.yaml:7: follower.interval: \"0s\" is too short; expected a duration from "
		    "100ms" },
		{ "follower:", "follower: {project-namespace: p, timeout: soon}",
		    "u.yaml:7: follower.timeout: \"soon\" is no duration" },
		{ "follower:", "follower: {project-namespace: p, confirmations: 0}",
		    "u.yaml:7: follower.confirmations: \"0\" is out of bounds" },
		{ "follower:", "follower: {project-namespace: p, handover-directory: hub}",
		    "u.yaml:7: follower.handover-directory: \"hub\" is not absolute" },
		{ "follower:", "follower: {project-namespace: p, operator-secret: \"../x\"}",
		    "u.yaml:7: follower.operator-secret: " },
		{ "follower:", "follower: {project-namespace: p, operator-deployment: op}",
		    "u.yaml:7: follower.operator-deployment: stands alone" },
		{ "follower:", "follower: {interval: 3s}",
		    "u.yaml:7: follower.project-namespace: is missing" },
		{ "  follower:", "  elector: {kubeconfig: /e}",
		    "u.yaml:9: credentials.elector: is for a hub, not for mode follower" },
		{ "  follower:", "", "u.yaml:8: credentials.follower: is missing" },
		{ "  hub-a:", "  hub-a: {kubeconfig: /k}",
		    "u.yaml:10: credentials.hub-a.kubeconfig: is an unknown key; expected one of "
		    "token-file" },
		{ "workload:", "workers: [{name: w, project-namespace: p, kubeconfig: /k}]",
		    "u.yaml:11: workers: has 1 members; expected none" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_error(cases[i][0], cases[i][1], cases[i][2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_example_gives_each_field),
		cmocka_unit_test(one_hub_is_enough_W1),
		cmocka_unit_test(two_hubs_are_two_servers_W16),
		cmocka_unit_test(wrong_values_are_named_W17),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
