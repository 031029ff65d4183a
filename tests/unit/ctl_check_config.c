/*
 * Goal: what is no word is refused before anything is started, and an understudyd that is not there
 * is said so. Method: the command line; what understudyd says is policy_config_pair's and the
 * scenario's (bed scenario bootstrap).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/check_config.h"

static struct err err;

static enum ctl_exit run(char *a, char *b, char *c, char *d)
{
	char *argv[] = { "understudyctl", "check-config", a, b, c, d, NULL };
	struct buf out = buf_make(1024);
	enum ctl_exit code;
	int argc = 2;

	while (argv[argc])
		argc++;
	err.text[0] = '\0';
	code = commands_run(argc, argv, &out, &err);
	assert_int_equal(out.len, 0);
	buf_free(&out);
	return code;
}

static void words(void **state)
{
	(void)state;
	assert_int_equal(run("--pair", NULL, NULL, NULL), CTL_USAGE);
	assert_int_equal(run("--pair", "", NULL, NULL), CTL_USAGE);
	assert_int_equal(run("a.yaml", "b.yaml", NULL, NULL), CTL_USAGE);
	assert_non_null(strstr(err.text, "unknown word b.yaml"));
	assert_int_equal(run("-n", NULL, NULL, NULL), CTL_USAGE);
	assert_int_equal(run("a.yaml", "--pair", "b.yaml", "c.yaml"), CTL_USAGE);
	/* Beside this test there is none. */
	assert_int_equal(run("a.yaml", "--pair", "b.yaml", NULL), CTL_REFUSED);
	assert_non_null(strstr(err.text, "understudyd cannot be started: No such file"));
	assert_int_equal(run("--pair", "b.yaml", "a.yaml", NULL), CTL_REFUSED);
	assert_int_equal(run(NULL, NULL, NULL, NULL), CTL_REFUSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(words) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
