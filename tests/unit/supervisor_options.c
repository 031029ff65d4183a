/*
 * Goal: the command line says what it means, and an unknown word is refused by name. Method: pure
 * calls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(all_options),
		cmocka_unit_test(refuses_what_it_does_not_know),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
