/*
 * Goal: the end of a credential is told in its last tenth, at most a day ahead (C4). Method: one
 * row per kind of credential, at both sides of the moment.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/expiry.h"

#define MINUTE_US (60 * 1000000LL)
#define HOUR_US   (60 * MINUTE_US)
#define ISSUED_US (500000 * HOUR_US)

static void the_last_tenth_at_most_a_day(void **state)
{
	static const struct {
		int64_t issued_us, life_us, early_us;
	} rows[] = {
		{ ISSUED_US, 10 * MINUTE_US, MINUTE_US },          /* the shortest token there is */
		{ ISSUED_US, HOUR_US, 6 * MINUTE_US },             /* a Pod's */
		{ ISSUED_US, 240 * HOUR_US, 24 * HOUR_US },        /* ten days: both agree */
		{ ISSUED_US, 365LL * 24 * HOUR_US, 24 * HOUR_US }, /* a certificate */
		{ 0, HOUR_US + 500000 * HOUR_US, 24 * HOUR_US },   /* does not say when it began */
		{ ISSUED_US, -HOUR_US, -HOUR_US / 10 },            /* ended before it began */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t end_us = rows[i].issued_us + rows[i].life_us;

		assert_false(
		    expiry_is_soon(rows[i].issued_us, end_us, end_us - rows[i].early_us - 1));
		assert_true(expiry_is_soon(rows[i].issued_us, end_us, end_us - rows[i].early_us));
	}
	assert_false(expiry_is_soon(ISSUED_US, 0, INT64_MAX)); /* never ends */
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_last_tenth_at_most_a_day) };

	return cmocka_run_group_tests_name("base/expiry", tests, NULL, NULL);
}
