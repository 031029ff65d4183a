/*
 * Goal: upstream's flags override keys of the file before anything is checked, a wrong value is an
 * error that names the flag, and what has no counterpart is told, not dropped (L1). Method: one
 * right file, and flags over it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "loader/flags.h"

static const char file[] = "mode: active\n"
			   "self: hub-a\n"
			   "hubs:\n"
			   "- {name: hub-a, endpoint: \"https://a\", ca-file: /a}\n"
			   "- {name: hub-b, endpoint: \"https://b\"}\n"
			   "credentials:\n"
			   "  elector: {kubeconfig: /e}\n"
			   "  publisher: {kubeconfig: /p}\n"
			   "  syncer: {kubeconfig: /s}\n"
			   "  peer-observer: {server: \"https://b\", ca-file: /b, token-file: /t}\n"
			   "  peer-syncer: {kubeconfig: /y}\n";

static struct us_config config;

static int read_with(const char *text, const char *const *flags, struct err *err)
{
	unsigned count = 0;

	while (flags[count])
		count++;
	err->text[0] = '\0';
	return config_read_with(&config, str_of(text), "u.yaml", flags, count, err);
}

#define READ(err, ...) read_with(file, (const char *const[]){ __VA_ARGS__, NULL }, err)

static const char *text_at(config_text text)
{
	return config_text_at(&config, text);
}

static void each_flag_overrides_its_key(void **state)
{
	struct err err;

	(void)state;
	if (READ(&err, "--ha-mode= Standby ", "--ha-identity=hub-b", "--ha-active-kubeconfig=/peer",
		"KUBESLICE_CONTROLLER_MANAGER_NAMESPACE=env", "--ha-lease-namespace=flag",
		"--ha-lease-duration=30s", "--ha-renew-deadline=20s", "--ha-retry-period=3s",
		"--ha-padding-seconds=7s", "--controller-end-point=https://b.example.com:6443/",
		"--ha-self-ca-bundle-path=/new.crt", "--ha-sync-workers=4",
		"--ha-sync-interval=60s", "--ha-promotion-dial-timeout=5s",
		"--ha-promotion-grace-period=10s"))
		fail_msg("%s", err.text);
	assert_int_equal(config.mode, CONFIG_STANDBY);
	assert_string_equal(text_at(config.self_name), "hub-b");
	assert_int_equal(config.self, 1);
	assert_string_equal(text_at(config.namespace), "flag");
	assert_int_equal(config.lease_duration_ms, 30000);
	assert_int_equal(config.renew_deadline_ms, 20000);
	assert_int_equal(config.retry_period_ms, 3000);
	assert_int_equal(config.padding_ms, 7000);
	assert_int_equal(config.mirror_window, 4);
	/* The endpoint is that of the hub that --ha-identity names, whose place is behind it. */
	assert_string_equal(text_at(config.hubs[1].endpoint), "https://b.example.com:6443");
	assert_string_equal(text_at(config.hubs[1].ca_file), "/new.crt");
	assert_string_equal(text_at(config.hubs[0].endpoint), "https://a");
	/* The parts of the identity that was there are gone. */
	assert_string_equal(
	    text_at(config.credentials[CREDENTIAL_PEER_OBSERVER].kubeconfig), "/peer");
	assert_int_equal(config.credentials[CREDENTIAL_PEER_OBSERVER].token_file, 0);
	assert_string_equal(
	    text_at(config.credentials[CREDENTIAL_PEER_SYNCER].kubeconfig), "/peer");
}

static void nothing_is_no_override(void **state)
{
	struct err err;

	(void)state;
	if (READ(&err, "--ha-mode=", "--ha-lease-duration=0s", "--ha-sync-workers=0",
		"--ha-lease-namespace=", "KUBESLICE_CONTROLLER_MANAGER_NAMESPACE=env"))
		fail_msg("%s", err.text);
	assert_int_equal(config.mode, CONFIG_ACTIVE);
	assert_int_equal(config.lease_duration_ms, 15000);
	assert_int_equal(config.mirror_window, 16);
	assert_string_equal(text_at(config.namespace), "env");
}

static void the_last_of_two_wins(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(READ(&err, "--ha-mode=standby", "--ha-mode=active"), 0);
	assert_int_equal(config.mode, CONFIG_ACTIVE);
}

static void L1_a_wrong_value_names_its_flag(void **state)
{
	static const char *const cases[][2] = {
		{ "--ha-mode=stanby",
		    "--ha-mode: mode: \"stanby\" is none of the choices; expected "
		    "standalone, active, standby, replicas or follower" },
		{ "--ha-identity=hub-c", "--ha-identity: self: \"hub-c\" is no hub's name" },
		{ "--ha-lease-duration=9s",
		    "--ha-lease-duration: lease.duration: 9000 ms is not more than 10000 ms" },
		{ "--ha-lease-duration=5",
		    "--ha-lease-duration: lease.duration: \"5\" has no unit" },
		{ "--ha-active-kubeconfig=peer",
		    "--ha-active-kubeconfig: credentials.peer-observer.kubeconfig: \"peer\" is not "
		    "absolute" },
		{ "--controller-end-point=http://x",
		    "--controller-end-point: hubs[0].endpoint: is http" },
		{ "--ha-lease-namespace=N",
		    "--ha-lease-namespace: namespace: \"N\" is no DNS label" },
		{ "--ha-sync-workers=many",
		    "--ha-sync-workers: mirror.window: \"many\" is no number" },
		{ "--ha-what=1", "--ha-what: is no flag of understudyd" },
		{ "--ha-modes=active", "--ha-modes: is no flag of understudyd" },
		{ "--ha-mode", "--ha-mode: is no flag of understudyd" },
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(READ(&err, cases[i][0]), -1);
		if (strncmp(err.text, cases[i][1], strlen(cases[i][1])) != 0)
			fail_msg("%s gives %s", cases[i][0], err.text);
	}
}

static void files_of_another_shape(void **state)
{
	const char *const flags[] = { "--controller-end-point=https://x", NULL };
	const char *const lease[] = { "--ha-lease-duration=20s", NULL };
	struct err err;

	(void)state;
	assert_int_equal(read_with("- a\n", flags, &err), -1);
	assert_int_equal(read_with("", flags, &err), -1);
	assert_int_equal(read_with("mode: active\nself: a\nhubs: none\n", flags, &err), -1);
	assert_non_null(strstr(err.text, "--controller-end-point: has no place in the file"));
	assert_int_equal(read_with("mode: active\nself: a\nhubs: [a, [b]]\n", flags, &err), -1);
	assert_int_equal(read_with("lease: 5\n", lease, &err), -1);
	assert_non_null(strstr(err.text, "--ha-lease-duration: has no place"));
}

static void what_has_no_counterpart_is_told(void **state)
{
	(void)state;
	assert_null(flags_note("--ha-mode=active"));
	assert_null(flags_note("--other=1"));
	assert_non_null(strstr(flags_note("--ha-sync-interval=60s"), "changes nothing"));
	assert_non_null(strstr(flags_note("--ha-promotion-dial-timeout=5s"), "changes nothing"));
	assert_non_null(strstr(flags_note("--ha-active-kubeconfig=/x"), "share one credential"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_flag_overrides_its_key),
		cmocka_unit_test(nothing_is_no_override),
		cmocka_unit_test(the_last_of_two_wins),
		cmocka_unit_test(L1_a_wrong_value_names_its_flag),
		cmocka_unit_test(files_of_another_shape),
		cmocka_unit_test(what_has_no_counterpart_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
