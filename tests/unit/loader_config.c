/*
 * The configuration file: the documented example gives each field its value, defaults hold, and
 * every wrong input is named by file, line, key and what was expected (D46, F7, F27, H17, H18).
 * Method: one right file; each hostile case replaces one line of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "loader/config.h"
#include "policy/sandbox.h"

static const char example[] =
    "mode: standby\n"
    "self: hub-b\n"
    "hubs:\n"
    "- {name: hub-a, endpoint: \"https://hub-a.example.com:6443\", ca-file: /etc/u/a.crt}\n"
    "- {name: hub-b, endpoint: \"https://hub-b.example.com:6443\", ca-file: /etc/u/b.crt}\n"
    "namespace: kubeslice-controller\n"
    "lease: {duration: 15s, renew-deadline: 10s, retry-period: 2s, padding: 5s}\n"
    "promotion: {mode: manual, witness: none, max-lag: 1m30s, armed-max-age: 12h, recovery: "
    "resume}\n"
    "mirror: {set: none, window: 4, kinds: [], skip: [], allow-rules: []}\n"
    "credentials:\n"
    "  elector: {kubeconfig: /etc/u/elector}\n"
    "  publisher: {kubeconfig: /etc/u/publisher}\n"
    "  syncer: {kubeconfig: /etc/u/syncer}\n"
    "  peer-observer: {server: \"https://hub-a:6443/\", ca-file: /etc/u/a.crt, token-file: "
    "/etc/u/t}\n"
    "  peer-syncer: {server: \"https://hub-a:6443\", ca-file: /etc/u/a.crt, "
    "client-certificate-file: /c, client-key-file: /k}\n"
    "workers:\n"
    "- {name: worker-1, project-namespace: kubeslice-cisco, kubeconfig: /etc/u/worker-1}\n"
    "- {name: worker-2, project-namespace: kubeslice-cisco, server: \"https://w\", ca-file: /ca, "
    "token-file: /t}\n"
    "repointer: {shard-size: 1}\n"
    "workload: {command: [/usr/local/bin/manager, --x, \"a b\"], stop-grace: 3s}\n"
    "listen: {http: \"[::1]:9090\"}\n"
    "dial: {allow: [10.0.0.0/8, \"fd00::/8\"]}\n"
    "run: {directory: /run/u, uid-base: 30000, status-group: understudy, admin-group: ops}\n"
    "allow-missing: [mlock, landlock-net]\n"
    "shared-credentials: []\n";

static const char least[] =
    "mode: active\n"
    "self: a\n"
    "hubs: [{name: a, endpoint: \"https://a\"}, {name: b, endpoint: \"https://b\"}]\n"
    "credentials:\n"
    "  elector: {kubeconfig: /e}\n"
    "  publisher: {kubeconfig: /p}\n"
    "  syncer: {kubeconfig: /s}\n"
    "  peer-observer: {kubeconfig: /o}\n"
    "  peer-syncer: {kubeconfig: /y}\n";

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

/* A file with the line that starts with `from` replaced ("" in `from`: text in front). */
static struct buf replaced(const char *file, const char *from, const char *to)
{
	struct buf text = buf_make(1 << 20);
	const char *at = from[0] ? strstr(file, from) : file;

	assert_non_null(at);
	buf_append(&text, file, (size_t)(at - file));
	buf_puts(&text, to);
	buf_puts(&text, from[0] ? strchr(at, '\n') : at);
	return text;
}

static void expect_error(const char *from, const char *to, const char *words)
{
	struct buf text = replaced(example, from, to);
	struct err err = { "" };

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
	assert_int_equal(config.mode, CONFIG_STANDBY);
	assert_int_equal(config.self, 1);
	assert_int_equal(config_slot(&config), 1);
	assert_string_equal(text_at(config.self_name), "hub-b");
	assert_int_equal(config.hub_count, 2);
	assert_string_equal(text_at(config.hubs[0].endpoint), "https://hub-a.example.com:6443");
	assert_string_equal(text_at(config.hubs[1].ca_file), "/etc/u/b.crt");
	assert_int_equal(config.lease_duration_ms, 15000);
	assert_int_equal(config.renew_deadline_ms, 10000);
	assert_int_equal(config.retry_period_ms, 2000);
	assert_int_equal(config.padding_ms, 5000);
	assert_int_equal(config.promotion_mode, CONFIG_MANUAL);
	assert_int_equal(config.witness, 0);
	assert_int_equal(config.max_lag_ms, 90000);
	assert_int_equal(config.armed_max_age_ms, 43200000);
	assert_int_equal(config.block_window_ms, 300000); /* the default */
	assert_int_equal(config.recovery, CONFIG_RESUME);
	assert_int_equal(config.mirror_set, CONFIG_MIRROR_NONE);
	assert_int_equal(config.mirror_window, 4);
}

static void the_example_gives_who_and_whom(void **state)
{
	(void)state;
	read_right(example);
	assert_string_equal(
	    text_at(config.credentials[CREDENTIAL_SYNCER].kubeconfig), "/etc/u/syncer");
	assert_string_equal(
	    text_at(config.credentials[CREDENTIAL_PEER_OBSERVER].server), "https://hub-a:6443");
	assert_int_equal(config.credentials[CREDENTIAL_PEER_OBSERVER].line, 14);
	assert_string_equal(text_at(config.credentials[CREDENTIAL_PEER_SYNCER].key_file), "/k");
	assert_int_equal(config.worker_count, 2);
	assert_string_equal(text_at(config.workers[1].name), "worker-2");
	assert_string_equal(text_at(config.workers[1].credential.token_file), "/t");
	assert_int_equal(config_shard_count(&config), 2);
	assert_int_equal(config.argument_count, 3);
	assert_string_equal(text_at(config.arguments[2]), "a b");
	assert_string_equal(text_at(config.listen_address), "::1");
	assert_int_equal(config.listen_port, 9090);
	assert_int_equal(config.range_count, 2);
	assert_int_equal(config.ranges[0].prefix, 104);
	assert_string_equal(text_at(config.run_directory), "/run/u");
	assert_int_equal(config.uid_base, 30000);
	assert_string_equal(text_at(config.admin_group), "ops");
	assert_int_equal(config.allow_missing, SANDBOX_MLOCK | SANDBOX_LANDLOCK_NET);
}

static void what_is_not_written_has_its_default(void **state)
{
	(void)state;
	read_right(least);
	assert_int_equal(config.mode, CONFIG_ACTIVE);
	assert_string_equal(text_at(config.namespace), "kubeslice-controller");
	assert_int_equal(config.lease_duration_ms, 15000);
	assert_int_equal(config.padding_ms, 5000);
	assert_int_equal(config.promotion_mode, CONFIG_AUTOMATIC);
	assert_int_equal(config.witness, 1);
	assert_int_equal(config.recovery, CONFIG_HOLD);
	assert_int_equal(config.mirror_set, CONFIG_MIRROR_KUBESLICE);
	assert_int_equal(config.mirror_window, 16);
	assert_int_equal(config.shard_size, 8);
	assert_int_equal(config.argument_count, 0);
	assert_string_equal(text_at(config.listen_address), "127.0.0.1");
	assert_int_equal(config.listen_port, 8080);
	assert_int_equal(config.range_count, 0);
	assert_string_equal(text_at(config.run_directory), "/run/understudy");
	assert_int_equal(config.uid_base, 20000);
	assert_string_equal(text_at(config.status_group), "");
	assert_int_equal(config.allow_missing, 0);
}

/* Decision 11: the profile for fast failovers. */
static void the_fast_profile_is_right(void **state)
{
	char text[2048];

	(void)state;
	(void)snprintf(text, sizeof(text),
	    "%slease: {duration: 3s, renew-deadline: 2.5s, retry-period: 0.4s, padding: 0.8s}\n"
	    "workload: {command: [/m], stop-grace: 0s}\n",
	    least);
	read_right(text);
	assert_int_equal(config.renew_deadline_ms, 2500);
	assert_int_equal(config.retry_period_ms, 400);
	assert_int_equal(config_request_deadline_ms(&config), 1050);
}

static void unknown_and_repeated_keys_are_named(void **state)
{
	(void)state;
	expect_error("namespace:", "namespaces: x",
	    "u.yaml:6: namespaces: is an unknown key; expected namespace");
	expect_error("lease:", "lease: {duraton: 15s}",
	    "u.yaml:7: lease.duraton: is an unknown key; expected duration");
	expect_error("lease:", "lease: {length: 15s}",
	    "u.yaml:7: lease.length: is an unknown key; expected one of duration, renew-deadline, "
	    "retry-period, padding");
	expect_error("lease:", "lease: {duration: 15s, duration: 16s}",
	    "u.yaml:7: duration: is there twice");
	expect_error("self:", "mode: active", "u.yaml:2: mode: is there twice");
	expect_error("- {name: worker-1", "- {name: w, project-namespace: p, token: x}",
	    "u.yaml:17: workers[0].token: is an unknown key; expected one of kubeconfig, server");
	expect_error("  syncer:", "  folower: {kubeconfig: /f}",
	    "u.yaml:13: credentials.folower: is an unknown key; expected follower");
	expect_error("  syncer:", "  syncer: {kubeconfig: /s}\n  follower: {kubeconfig: /f}",
	    "u.yaml:14: credentials.follower: is for mode follower");
	expect_error(
	    "repointer:", "follower: {interval: 10s}", "u.yaml:19: follower: is for mode follower");
}

static void wrong_types_and_values_are_named(void **state)
{
	static const char *const cases[][3] = {
		{ "mode:", "mode: stand-by",
		    "u.yaml:1: mode: \"stand-by\" is none of the choices; expected standalone, "
		    "active" },
		{ "mode:", "mode: [standby]", "u.yaml:1: mode: is a list; expected standalone" },
		{ "mode:", "mode:", "u.yaml:1: mode: is empty; expected standalone" },
		{ "mode:", "x-mode: standby", "u.yaml:1: x-mode: is an unknown key" },
		{ "mode:", "", "u.yaml:2: mode: is missing; expected standalone" },
		{ "mode:", "mode: follower",
		    "u.yaml:11: credentials.elector: is for a hub, not for mode follower" },
		{ "self:", "self: hub-c", "u.yaml:2: self: \"hub-c\" is no hub's name" },
		{ "self:", "self: Hub_B", "u.yaml:2: self: \"Hub_B\" is no DNS name" },
		{ "namespace:", "namespace: a.b", "u.yaml:6: namespace: \"a.b\" is no DNS label" },
		{ "namespace:", "namespace: \"a\\0b\"", "u.yaml:6: namespace: holds a NUL byte" },
		{ "lease:", "lease: 15s", "u.yaml:7: lease: is a text; expected a map" },
		{ "lease:", "lease: {duration: 5}",
		    "u.yaml:7: lease.duration: \"5\" has no unit; expected a duration from 1s to "
		    "5m" },
		{ "lease:", "lease: {duration: -1s}",
		    "u.yaml:7: lease.duration: \"-1s\" is negative" },
		{ "lease:", "lease: {duration: yes}",
		    "u.yaml:7: lease.duration: \"yes\" is no duration" },
		{ "lease:", "lease: {padding: 0s}",
		    "u.yaml:7: lease.padding: \"0s\" is too short" },
		{ "lease:", "lease: {duration: 301s}",
		    "u.yaml:7: lease.duration: \"301s\" is too long" },
		{ "mirror:", "mirror: {window: 0}",
		    "u.yaml:9: mirror.window: \"0\" is out of bounds" },
		{ "mirror:", "mirror: {window: many}",
		    "u.yaml:9: mirror.window: \"many\" is no number" },
		{ "mirror:", "mirror: {kinds: [a]}",
		    "u.yaml:9: mirror.kinds[0]: is a text; expected a map" },
		{ "listen:", "listen: {http: \"localhost:1\"}",
		    "u.yaml:21: listen.http: \"localhost:1\" has no literal address" },
		{ "dial:", "dial: {allow: [10.0.0.1/8]}",
		    "u.yaml:22: dial.allow[0]: \"10.0.0.1/8\" has bits behind its prefix" },
		{ "dial:", "dial: {allow: {}}",
		    "u.yaml:22: dial.allow: is a map; expected a list" },
		{ "run:", "run: {directory: run}",
		    "u.yaml:23: run.directory: \"run\" is not absolute" },
		{ "run:", "run: {directory: /a/../b}",
		    "u.yaml:23: run.directory: \"/a/../b\" has an empty, . or .. part" },
		{ "run:", "run: {uid-base: 0}", "u.yaml:23: run.uid-base: \"0\" is out of bounds" },
		{ "run:", "run: {uid-base: 65500}", "u.yaml: configuration: run: uid-base 65500" },
		{ "run:", "run: {status-group: \"a b\"}",
		    "u.yaml:23: run.status-group: \"a b\" is no group's name" },
		{ "allow-missing:", "allow-missing: [mlok]",
		    "u.yaml:24: allow-missing[0]: \"mlok\" is no protection that can be waived; "
		    "expected one of uid-separation, " },
		{ "allow-missing:", "allow-missing: [seccomp]",
		    "u.yaml:24: allow-missing[0]: \"seccomp\" is no protection" },
		{ "workload:", "workload: {command: []}",
		    "u.yaml:20: workload.command: has 0 members" },
		{ "workload:", "workload: {command: [manager]}",
		    "u.yaml:20: workload.command[0]: \"manager\" is not absolute" },
		{ "workload:", "workload: {command: [/m, {a: b}]}",
		    "u.yaml:20: workload.command[1]: is a map" },
		{ "workload:", "workload: {stop-grace: 1s}",
		    "u.yaml:20: workload.command: is missing" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_error(cases[i][0], cases[i][1], cases[i][2]);
}

/* H17, H18, C7. */
static void keys_are_held_against_each_other(void **state)
{
	static const char *const cases[][3] = {
		{ "lease:", "lease: {duration: 10s}",
		    "u.yaml:7: lease.duration: 10000 ms is not more than 10000 ms; expected more "
		    "than renew-deadline" },
		{ "lease:", "lease: {duration: 15s, renew-deadline: 4s, retry-period: 2s}",
		    "u.yaml:7: lease.renew-deadline: 4000 ms is less than 2.5 x 2000 ms" },
		{ "workload:", "workload: {command: [/m], stop-grace: 3.1s}",
		    "u.yaml:20: workload.stop-grace: 3100 ms and 1 s are more than 4000 ms" },
		{ "- {name: hub-b", "- {name: hub-a, endpoint: \"https://b\"}",
		    "u.yaml:5: hubs[1].name: \"hub-a\" is there twice" },
		{ "- {name: hub-b", "- {name: hub-b}", "u.yaml:5: hubs[1].endpoint: is missing" },
		{ "- {name: hub-a", "", "u.yaml:3: hubs: has 1 members; expected 2" },
		{ "- {name: hub-a", "- {name: hub-a, endpoint: \"http://hub-a\"}",
		    "u.yaml:4: hubs[0].endpoint: is http, not https" },
		{ "- {name: worker-2", "- {name: worker-1, project-namespace: p, kubeconfig: /k}",
		    "u.yaml:18: workers[1].name: \"worker-1\" is there twice" },
	};
	struct buf many = buf_make(1 << 16);

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_error(cases[i][0], cases[i][1], cases[i][2]);
	for (unsigned i = 0; i < 32; i++)
		buf_printf(&many, "- {name: w%u, project-namespace: p, kubeconfig: /k}\n", i);
	expect_error("- {name: worker-1", many.data,
	    "u.yaml:51: repointer.shard-size: 33 workers make 33 shards");
	buf_free(&many);
}

/* F7: the syncer with the elector's token could claim to lead. */
static void an_identity_is_one_roles(void **state)
{
	(void)state;
	expect_error("  publisher:", "  publisher: {kubeconfig: /etc/u/elector}",
	    "u.yaml:12: credentials.publisher: has a file that credentials.elector has, too; "
	    "expected an identity of its own for each role");
	expect_error("- {name: worker-1",
	    "- {name: worker-1, project-namespace: p, kubeconfig: /etc/u/syncer}",
	    "u.yaml:16: workers: has a file that credentials.syncer has, too");
	expect_error("shared-credentials: []", "shared-credentials: [elector, worker-1]",
	    "u.yaml:25: shared-credentials[1]: is none; expected a key of credentials");
}

/* Two that are both named may; a third one beside them may not. */
static void who_shares_is_named(void **state)
{
	struct buf same =
	    replaced(example, "  publisher:", "  publisher: {kubeconfig: /etc/u/elector}");
	struct buf both =
	    replaced(same.data, "shared-credentials", "shared-credentials: [publisher, elector]");
	struct buf one =
	    replaced(same.data, "shared-credentials", "shared-credentials: [publisher, syncer]");
	struct err err = { "" };

	(void)state;
	read_right(both.data);
	assert_int_equal(config_read(&config, buf_str(&one), "u.yaml", &err), -1);
	assert_non_null(strstr(err.text, "has a file that credentials.elector has, too"));
	buf_free(&same);
	buf_free(&both);
	buf_free(&one);
}

/* F7: one way to say who. */
static void a_credential_comes_from_one_source(void **state)
{
	static const char *const cases[][3] = {
		{ "  elector:", "  elector: {}",
		    "u.yaml:11: credentials.elector: does not say where the identity comes from; "
		    "expected kubeconfig, or server, ca-file" },
		{ "  elector:", "  elector: /etc/x",
		    "u.yaml:11: credentials.elector: is a text; expected a map" },
		{ "  elector:", "",
		    "u.yaml:10: credentials.elector: is missing (the mode needs elector)" },
		{ "  elector:", "  elector: {kubeconfig: x}",
		    "u.yaml:11: credentials.elector.kubeconfig: \"x\" is not absolute" },
		{ "  elector:", "  elector: {kubeconfig: /x, token-file: /t}",
		    "u.yaml:11: credentials.elector: has a kubeconfig and parts beside it" },
		{ "  elector:", "  elector: {ca-file: /x, token-file: /t}",
		    "u.yaml:11: credentials.elector: has no server" },
		{ "  elector:", "  elector: {server: \"https://x\", token-file: /t}",
		    "u.yaml:11: credentials.elector: has no ca-file" },
		{ "  elector:", "  elector: {server: \"https://x\", ca-file: /t}",
		    "u.yaml:11: credentials.elector: has neither a token nor a client "
		    "certificate" },
		{ "  elector:",
		    "  elector: {server: \"https://x\", ca-file: /t, client-key-file: /k}",
		    "u.yaml:11: credentials.elector: has one of client-certificate-file and "
		    "client-key-file" },
		{ "  elector:",
		    "  elector: {server: \"https://x\", ca-file: /t, token-file: /t, "
		    "client-certificate-file: /c, client-key-file: /k}",
		    "u.yaml:11: credentials.elector: has a token and a client certificate" },
		{ "  elector:",
		    "  elector: {server: \"https://u:geheim@x\", ca-file: /t, token-file: /t}",
		    "u.yaml:11: credentials.elector.server: holds user info; expected https://" },
	};
	struct err err;

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_error(cases[i][0], cases[i][1], cases[i][2]);
	assert_int_equal(config_read(&config,
			     str_of("self: a\nmode: active\nhubs: [{name: a, endpoint: "
				    "\"https://a\"}, {name: b, endpoint: \"https://b\"}]\n"),
			     "u.yaml", &err),
	    -1);
	assert_string_equal(err.text,
	    "u.yaml:1: credentials: is missing (the mode needs elector); expected where "
	    "that identity comes from: kubeconfig, or server and its files");
}

static void files_that_are_no_configuration_are_refused(void **state)
{
	struct buf big = buf_make(2 << 20);
	struct err err;

	(void)state;
	assert_int_equal(config_read(&config, str_of(""), "u.yaml", &err), -1);
	assert_string_equal(err.text, "u.yaml:1: is empty; expected a YAML document");
	assert_int_equal(config_read(&config, str_of("just words\n"), "u.yaml", &err), -1);
	assert_string_equal(err.text, "u.yaml:1: is a text; expected a map");
	assert_int_equal(config_read(&config, str_of("- mode: active\n"), "u.yaml", &err), -1);
	assert_string_equal(err.text, "u.yaml:1: is a list; expected a map");
	assert_int_equal(
	    config_read(&config, str_of("mode: &m active\nself: *m\n"), "u.yaml", &err), -1);
	assert_non_null(strstr(err.text, "u.yaml:1: has an anchor or alias"));
	while (big.len <= 1 << 20)
		buf_puts(&big, "# a comment that is not short\n");
	assert_int_equal(config_read(&config, buf_str(&big), "u.yaml", &err), -1);
	assert_non_null(strstr(err.text, "u.yaml: is larger than 1 MiB"));
	buf_free(&big);
}

/* 32 arguments of 4 KiB do not fit into the pool: an error, not a cut text. */
static void a_full_pool_is_an_error(void **state)
{
	struct buf line = buf_make(1 << 20);

	(void)state;
	buf_puts(&line, "workload: {command: [/m");
	for (int i = 0; i < 31; i++) {
		buf_puts(&line, ", ");
		for (int j = 0; j < 4000; j++)
			buf_puts(&line, "x");
	}
	buf_puts(&line, "]}");
	expect_error("workload:", line.data, "u.yaml:20: workload.command[17]: does not fit");
	buf_free(&line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_example_gives_each_field),
		cmocka_unit_test(the_example_gives_who_and_whom),
		cmocka_unit_test(what_is_not_written_has_its_default),
		cmocka_unit_test(the_fast_profile_is_right),
		cmocka_unit_test(unknown_and_repeated_keys_are_named),
		cmocka_unit_test(wrong_types_and_values_are_named),
		cmocka_unit_test(keys_are_held_against_each_other),
		cmocka_unit_test(an_identity_is_one_roles),
		cmocka_unit_test(who_shares_is_named),
		cmocka_unit_test(a_credential_comes_from_one_source),
		cmocka_unit_test(files_that_are_no_configuration_are_refused),
		cmocka_unit_test(a_full_pool_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
