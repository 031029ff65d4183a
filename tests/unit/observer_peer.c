/*
 * Goal: only the peer's own silence is silence (C4), a Lease becomes exactly its numbers (F18), and
 * looks leave no unwatched gap (H2, M3). Method: the pure functions on every answer and on rhythms.
 */
#include "observer/peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct peer_names names = { .self = "hub-b", .peer = "hub-a" };

static void every_answer_has_its_class_C4(void **state)
{
	static const struct {
		enum kube_class answer;
		enum peer_why why;
		enum peer_class expected;
		enum peer_why expected_why;
	} rows[] = {
		{ KUBE_OK, PEER_WHY_NONE, PEER_OK, PEER_WHY_NONE },
		{ KUBE_NOT_FOUND, PEER_WHY_NONE, PEER_NOT_FOUND, PEER_WHY_NONE },
		{ KUBE_NO_RESOURCE, PEER_WHY_NONE, PEER_BLIND, PEER_WHY_UNPARSABLE },
		{ KUBE_UNAUTHORIZED, PEER_WHY_NONE, PEER_BLIND, PEER_WHY_UNAUTHORIZED },
		{ KUBE_FORBIDDEN, PEER_WHY_NONE, PEER_BLIND, PEER_WHY_FORBIDDEN },
		{ KUBE_CONFLICT, PEER_WHY_NONE, PEER_BLIND, PEER_WHY_UNPARSABLE },
		{ KUBE_EXISTS, PEER_WHY_NONE, PEER_BLIND, PEER_WHY_UNPARSABLE },
		{ KUBE_GONE, PEER_WHY_NONE, PEER_BLIND, PEER_WHY_UNPARSABLE },
		{ KUBE_TOO_LARGE, PEER_WHY_NONE, PEER_BLIND, PEER_WHY_UNPARSABLE },
		{ KUBE_INVALID, PEER_WHY_NONE, PEER_BLIND, PEER_WHY_UNPARSABLE },
		{ KUBE_THROTTLED, PEER_WHY_NONE, PEER_SILENT, PEER_WHY_THROTTLED },
		{ KUBE_REFUSED, PEER_WHY_NONE, PEER_BLIND, PEER_WHY_UNPARSABLE },
		{ KUBE_SERVER_ERROR, PEER_WHY_NONE, PEER_SILENT, PEER_WHY_SERVER_ERROR },
		{ KUBE_SILENT, PEER_WHY_REFUSED, PEER_SILENT, PEER_WHY_REFUSED },
		{ KUBE_SILENT, PEER_WHY_NONE, PEER_SILENT, PEER_WHY_TIMEOUT },
		{ KUBE_BLIND, PEER_WHY_X509, PEER_BLIND, PEER_WHY_X509 },
		{ KUBE_BLIND, PEER_WHY_NO_NAME, PEER_BLIND, PEER_WHY_NO_NAME },
		{ KUBE_BLIND, PEER_WHY_NONE, PEER_BLIND, PEER_WHY_UNPARSABLE },
		{ (enum kube_class)99, PEER_WHY_NONE, PEER_BLIND, PEER_WHY_UNPARSABLE },
		{ KUBE_SILENT, (enum peer_why)99, PEER_SILENT, PEER_WHY_TIMEOUT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct msg_peer_seen seen = { 0 };

		peer_classify(rows[i].answer, rows[i].why, &seen);
		if (seen.class != rows[i].expected || seen.why != rows[i].expected_why)
			fail_msg("answer %d (why %d): %s, %s", (int)rows[i].answer,
			    (int)rows[i].why, peer_class_name(seen.class), peer_why_name(seen.why));
	}
}

static void the_holder_is_told_from_this_hubs_view(void **state)
{
	(void)state;
	assert_int_equal(peer_holder("", &names), HOLDER_NONE);
	assert_int_equal(peer_holder("hub-a", &names), HOLDER_PEER);
	assert_int_equal(peer_holder("hub-b", &names), HOLDER_SELF);
	assert_int_equal(peer_holder("hub-a2", &names), HOLDER_OTHER);
	assert_int_equal(peer_holder("hub-a ", &names), HOLDER_OTHER);
	assert_int_equal(peer_holder(" ", &names), HOLDER_OTHER);
	assert_int_equal(peer_holder("HUB-A", &names), HOLDER_OTHER);
	assert_int_not_equal(peer_holder_hash("hub-a"), peer_holder_hash("hub-a "));
	assert_int_equal(peer_holder_hash(""), 0);
	assert_int_not_equal(peer_holder_hash("hub-a"), peer_holder_hash("hub-b"));
}

static void a_lease_becomes_its_numbers_F18(void **state)
{
	struct kube_lease lease = { .holder = "hub-a",
		.term = 4,
		.led_term = 2,
		.phase = PHASE_ACQUIRING,
		.instance = 77,
		.acquire_us = 5,
		.renew_us = 6,
		.duration_ms = 15000,
		.timing = "15000/10000/2000",
		.pair = "p",
		.handover = "h",
		.handover_ack = "a",
		.standby = "s" };
	struct msg_peer_seen seen = { .class = PEER_BLIND, .why = PEER_WHY_X509 };

	(void)state;
	peer_from_lease(&lease, &names, &seen);
	assert_int_equal(seen.class, PEER_OK);
	assert_int_equal(seen.why, PEER_WHY_NONE);
	assert_int_equal(seen.holder, HOLDER_PEER);
	assert_int_equal(seen.term, 4);
	assert_int_equal(seen.led_term, 2);
	assert_int_equal(seen.phase, PHASE_ACQUIRING);
	assert_int_equal(seen.instance, 77);
	assert_int_equal(seen.acquire_us, 5);
	assert_int_equal(seen.renew_us, 6);
	assert_int_equal(seen.duration_ms, 15000);
	assert_true(str_equal(seen.timing, STR_LIT("15000/10000/2000")));
	assert_true(str_equal(seen.pair, STR_LIT("p")));
	assert_true(str_equal(seen.handover, STR_LIT("h")));
	assert_true(str_equal(seen.handover_ack, STR_LIT("a")));
	assert_true(str_equal(seen.standby, STR_LIT("s")));
}

static void looks_leave_no_gap_H2_M3(void **state)
{
	struct peer_pace pace = { .retry_ns = 2000 };

	(void)state;
	assert_int_equal(peer_next_look_ns(&pace), 0); /* never looked: now */
	pace.started_ns = 10000;
	assert_int_equal(peer_next_look_ns(&pace), 12000);
	pace.event_ns = 11000; /* the watch speaks: no look of our own for a period and a quarter */
	assert_int_equal(peer_next_look_ns(&pace), 13500);
	pace.event_ns = 12900;
	assert_int_equal(peer_next_look_ns(&pace), 15400);
	pace.started_ns = 15400; /* it fell silent: every period from now on */
	assert_int_equal(peer_next_look_ns(&pace), 17400);
	pace.event_ns = 0; /* it failed: its last word counts no more */
	assert_int_equal(peer_next_look_ns(&pace), 17400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_answer_has_its_class_C4),
		cmocka_unit_test(the_holder_is_told_from_this_hubs_view),
		cmocka_unit_test(a_lease_becomes_its_numbers_F18),
		cmocka_unit_test(looks_leave_no_gap_H2_M3),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
