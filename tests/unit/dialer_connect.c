/*
 * Goal: the order of addresses never leaves one family out and never holds a denied one (F23), and
 * an errno is silence only when it is the peer's (C4). Method: the pure helpers on tables.
 */
#include "dialer/connect.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct us_config config;

static struct resolve_answer answer_of(const char *const *texts, unsigned count)
{
	struct resolve_answer answer = { 0 };
	uint8_t address[16];

	for (unsigned i = 0; i < count; i++) {
		assert_true(resolve_literal(texts[i], address));
		resolve_add(&answer, address);
	}
	return answer;
}

static void families_take_turns_and_the_first_stays_first(void **state)
{
	static const char *const texts[] = { "10.0.0.1", "10.0.0.2", "10.0.0.3", "2001:db8::1",
		"2001:db8::2" };
	struct resolve_answer answer = answer_of(texts, 5);
	uint8_t out[DIAL_MAX_ADDRESSES][16];

	(void)state;
	assert_int_equal(dial_order(&config, &answer, out), 4);
	assert_memory_equal(out[0], answer.addresses[0], 16);
	assert_memory_equal(out[1], answer.addresses[3], 16);
	assert_memory_equal(out[2], answer.addresses[1], 16);
	assert_memory_equal(out[3], answer.addresses[4], 16);
}

static void denied_addresses_are_left_out_F23(void **state)
{
	static const char *const texts[] = { "127.0.0.1", "169.254.169.254", "10.0.0.1", "::1" };
	struct resolve_answer answer = answer_of(texts, 4);
	uint8_t out[DIAL_MAX_ADDRESSES][16];

	(void)state;
	assert_int_equal(dial_order(&config, &answer, out), 1);
	assert_memory_equal(out[0], answer.addresses[2], 16);
	answer = answer_of(texts, 2);
	assert_int_equal(dial_order(&config, &answer, out), 0);
}

static void only_the_peers_silence_is_silence_C4(void **state)
{
	(void)state;
	assert_int_equal(dial_outcome_of(ECONNREFUSED), DIAL_REFUSED);
	assert_int_equal(dial_outcome_of(ETIMEDOUT), DIAL_TIMEOUT);
	assert_int_equal(dial_outcome_of(ENETUNREACH), DIAL_TIMEOUT);
	assert_int_equal(dial_outcome_of(ECONNRESET), DIAL_RESET);
	assert_int_equal(dial_outcome_of(EACCES), DIAL_DENIED);
	assert_int_equal(dial_outcome_of(EMFILE), DIAL_DENIED);
	assert_string_equal(dial_outcome_name(DIAL_NO_NAME), "no-name");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(families_take_turns_and_the_first_stays_first),
		cmocka_unit_test(denied_addresses_are_left_out_F23),
		cmocka_unit_test(only_the_peers_silence_is_silence_C4),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
