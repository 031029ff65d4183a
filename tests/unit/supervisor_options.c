/*
 * Goal: the command line says what it means, and an unknown word is refused by name. Method: pure
 * calls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/options.h"

#define PARSE(options, ...) parse(options, (char *[]){ "understudyd", __VA_ARGS__, NULL })

static struct err err;

static int parse(struct options *options, char **argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	err.text[0] = '\0';
	return options_parse(options, argc, argv, &err);
}

static void defaults(void **state)
{
	struct options options;
	char *argv[] = { "understudyd", NULL };

	(void)state;
	assert_int_equal(parse(&options, argv), 0);
	assert_string_equal(options.config, "/etc/understudy/understudy.yaml");
	assert_false(options.check_only || options.verbose || options.help);
}

static void all_options(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(PARSE(&options, "--config", "a.yaml", "-n", "-d", "-v"), 0);
	assert_string_equal(options.config, "a.yaml");
	assert_true(options.check_only && options.verbose);
	assert_int_equal(PARSE(&options, "--config=b.yaml"), 0);
	assert_string_equal(options.config, "b.yaml");
	assert_int_equal(PARSE(&options, "-h"), 0);
	assert_true(options.help);
	assert_int_equal(PARSE(&options, "--version"), 0);
	assert_true(options.version);
	assert_int_equal(PARSE(&options, "--log", "json"), 0);
	assert_true(options.json);
	assert_int_equal(PARSE(&options, "--log=logfmt"), 0);
	assert_false(options.json);
}

static void upstreams_flags_go_on_as_they_are(void **state)
{
	static char long_one[2000];
	struct options options;

	(void)state;
	assert_int_equal(PARSE(&options, "--ha-mode=standby", "-n", "--ha-identity", "hub-b",
			     "--controller-end-point", "https://b"),
	    0);
	assert_int_equal(options.flag_count, 3);
	assert_string_equal(options.flags[0], "--ha-mode=standby");
	assert_string_equal(options.flags[1], "--ha-identity=hub-b");
	assert_string_equal(options.flags[2], "--controller-end-point=https://b");
	assert_true(options.check_only);
	assert_int_equal(PARSE(&options, "--ha-mode"), -1);
	assert_string_equal(err.text, "--ha-mode: expected a value");
	memset(long_one, 'x', sizeof(long_one) - 1);
	assert_int_equal(PARSE(&options, "--ha-mode", long_one), -1);
	assert_non_null(strstr(err.text, "is too long"));
	assert_int_equal(PARSE(&options, "--ha-a=1", "--ha-a=1", "--ha-a=1", "--ha-a=1", "--ha-a=1",
			     "--ha-a=1", "--ha-a=1", "--ha-a=1", "--ha-a=1", "--ha-a=1", "--ha-a=1",
			     "--ha-a=1", "--ha-a=1", "--ha-a=1", "--ha-a=1", "--ha-a=1", "--ha-a=1",
			     "--ha-a=1", "--ha-a=1", "--ha-a=1", "--ha-a=1"),
	    -1);
	/* Upstream's namespace comes from there; its flag stands later in flags.def. */
	assert_int_equal(setenv("KUBESLICE_CONTROLLER_MANAGER_NAMESPACE", "n", 1), 0);
	assert_int_equal(PARSE(&options, "--ha-lease-namespace=m"), 0);
	assert_int_equal(options.flag_count, 2);
	assert_string_equal(options.flags[0], "KUBESLICE_CONTROLLER_MANAGER_NAMESPACE=n");
	assert_int_equal(unsetenv("KUBESLICE_CONTROLLER_MANAGER_NAMESPACE"), 0);
}

static void a_pair_is_only_checked(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(PARSE(&options, "-n", "--pair", "b.yaml"), 0);
	assert_string_equal(options.pair, "b.yaml");
	assert_int_equal(PARSE(&options, "--pair=b.yaml"), -1);
	assert_int_equal(PARSE(&options, "-a", "--pair=b.yaml"), -1);
	assert_int_equal(PARSE(&options, "-n", "--pair"), -1);
	assert_int_equal(PARSE(&options, "-n", "--pairs", "b.yaml"), -1);
}

static void refuses_what_it_does_not_know(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(PARSE(&options, "--confug", "a"), -1);
	assert_non_null(strstr(err.text, "--confug"));
	assert_int_equal(PARSE(&options, "a.yaml"), -1);
	assert_int_equal(PARSE(&options, "--config"), -1);
	assert_int_equal(PARSE(&options, "--config", ""), -1);
	assert_int_equal(PARSE(&options, "--config="), -1);
	assert_int_equal(PARSE(&options, "--configs", "a"), -1);
	assert_int_equal(PARSE(&options, ""), -1);
	assert_int_equal(PARSE(&options, "--log"), -1);
	assert_int_equal(PARSE(&options, "--log="), -1);
	assert_int_equal(PARSE(&options, "--log", "xml"), -1);
	assert_string_equal(err.text, "--log: \"xml\"; expected logfmt or json");
	assert_int_equal(PARSE(&options, "--logs", "json"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(all_options),
		cmocka_unit_test(upstreams_flags_go_on_as_they_are),
		cmocka_unit_test(a_pair_is_only_checked),
		cmocka_unit_test(refuses_what_it_does_not_know),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
