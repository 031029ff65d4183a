/*
 * Goal: rows of the audit come back as they were written, and whatever is no whole answer is none:
 * a reader must never take a cut list for a clean one. Method: each field through the line and
 * back, then lines and lists that are wrong in one thing each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "policy/audit.h"

#define LINE "file\ts\tw\td\te\tp\tok\tt\n"

static const struct audit_row sample = { .kind = AUDIT_DOOR,
	.verdict = AUDIT_UNVERIFIED,
	.subject = "worker worker-1",
	.what = "a claim",
	.declared = "refused",
	.effective = "",
	.probed = "r\303\251fus\303\251",
	.text = "the role's own word" };

static void a_row_comes_back(void **state)
{
	struct buf out = buf_make(65536);
	struct audit_row row;
	struct str rest;

	(void)state;
	buf_puts(&out, AUDIT_HEAD "\n");
	audit_put(&out, &sample);
	buf_puts(&out, AUDIT_END "\n");
	rest = buf_str(&out);
	assert_true(audit_take_head(&rest));
	assert_int_equal(audit_take(&rest, &row), 1);
	assert_int_equal(row.kind, sample.kind);
	assert_int_equal(row.verdict, sample.verdict);
	assert_string_equal(row.subject, sample.subject);
	assert_string_equal(row.what, sample.what);
	assert_string_equal(row.declared, sample.declared);
	assert_string_equal(row.effective, "");
	assert_string_equal(row.probed, sample.probed);
	assert_string_equal(row.text, sample.text);
	assert_int_equal(audit_take(&rest, &row), 0);
	buf_free(&out);
}

static void no_value_makes_a_field_or_a_row(void **state)
{
	struct audit_row row = { .kind = AUDIT_FILE, .subject = "a\tb\nfile\t\033[2J" };
	struct buf out = buf_make(65536);
	struct str rest;

	(void)state;
	audit_put(&out, &row);
	buf_puts(&out, AUDIT_END "\n");
	rest = buf_str(&out);
	assert_int_equal(audit_take(&rest, &row), 1);
	assert_string_equal(row.subject, "a?b?file??[2J");
	assert_int_equal(audit_take(&rest, &row), 0);
	buf_free(&out);
}

static void what_is_no_row_is_refused(void **state)
{
	static const char *const bad[] = {
		"", "file\ts\tw\td\te\tp\tok\tt",    /* no end of line */
		"file\ts\tw\td\te\tp\tok\n",         /* too few fields */
		"file\ts\tw\td\te\tp\tok\tt\tu\n",   /* too many */
		"files\ts\tw\td\te\tp\tok\tt\n",     /* no such kind */
		"file\ts\tw\td\te\tp\tfine\tt\n",    /* no such verdict */
		"file\ts\tw\td\te\tp\tok\t\377\n",   /* no UTF-8 */
		"file\ts\tw\td\te\tp\tok\t\033[m\n", /* drives a terminal */
		"\n", (AUDIT_END "\n" LINE),         /* rows behind the end */
		AUDIT_END,                           /* an end that is cut */
	};
	char subject[80], line[128];
	struct audit_row row;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct str rest = str_of(bad[i]);

		assert_int_equal(audit_take(&rest, &row), -1);
	}
	memset(subject, 's', 64); /* one more than fits */
	subject[64] = '\0';
	(void)snprintf(line, sizeof(line), "file\t%s\tw\td\te\tp\tok\tt\n", subject);
	assert_int_equal(audit_take(&(struct str){ line, strlen(line) }, &row), -1);
}

static void only_our_head_is_a_head(void **state)
{
	struct str good = STR_LIT(AUDIT_HEAD "\nrest"), later = STR_LIT("understudy audit 2\n"),
		   cut = STR_LIT(AUDIT_HEAD), none = STR_LIT("");

	(void)state;
	assert_true(audit_take_head(&good));
	assert_true(str_equal(good, STR_LIT("rest")));
	assert_false(audit_take_head(&later));
	assert_false(audit_take_head(&cut));
	assert_false(audit_take_head(&none));
}

static void the_worst_verdict_is_the_exit_code(void **state)
{
	unsigned counts[AUDIT_VERDICT_COUNT] = {
		[AUDIT_OK] = 5, [AUDIT_WAIVED] = 1, [AUDIT_DECLARED] = 3
	};

	(void)state;
	assert_int_equal(audit_exit_code(counts), 0);
	counts[AUDIT_UNVERIFIED] = 1;
	assert_int_equal(audit_exit_code(counts), 2);
	counts[AUDIT_FINDING] = 1;
	assert_int_equal(audit_exit_code(counts), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_comes_back),
		cmocka_unit_test(no_value_makes_a_field_or_a_row),
		cmocka_unit_test(what_is_no_row_is_refused),
		cmocka_unit_test(only_our_head_is_a_head),
		cmocka_unit_test(the_worst_verdict_is_the_exit_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
