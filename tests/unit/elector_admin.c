/*
 * Goal: whatever comes over admin.sock is answered within bounds or closed, and carried out only
 * when it is exactly a command, its checks pass, and for a forced promotion the operator named this
 * hub and saw it as it is (F1, sandbox-rules 5, B14-B16). Method: an elector without links; its
 * machine is put in a state by hand, clients are socket pairs on the real loop.
 */
#include "tests/unit/elector_admin_bed.h"

/* --- Requests ----------------------------------------------------------------------------------
 */

static void F1_what_is_no_command_is_refused_and_does_nothing(void **state)
{
	static const char *const bad[] = { "", " ", "{", "{}", "[]", "null", "7", "\"pause\"",
		"{\"verb\":null}", "{\"verb\":7}", "{\"verb\":\"\"}", "{\"verb\":\"PAUSE\"}",
		"{\"verb\":\"pause \",\"forMs\":60000}",
		"{\"verb\":\"pause\\u0000\",\"forMs\":60000}",
		"{\"verb\":\"pause\",\"forMs\":60000,\"verb\":\"pause\"}",
		"{\"verb\":\"pause\",\"formS\":60000}",
		"{\"verb\":\"pause\",\"\":1,\"forMs\":60000}",
		"{\"verb\":\"pause\",\"verb forMs\":60000}",
		"{\"verb\":\"pause\",\"forMs\":60000} x", "{\"verb\":\"pause\"}",
		"{\"verb\":\"pause\",\"forMs\":\"60000\"}", "{\"verb\":\"pause\",\"forMs\":6e4}",
		"{\"verb\":\"pause\",\"forMs\":-1}",
		"{\"verb\":\"pause\",\"forMs\":9223372036854775807}",
		"{\"verb\":\"pause\",\"forMs\":99999999999999999999}", "GET / HTTP/1.1", "\xff\xfe",
		"{\"verb\":\"operation\",\"operation\":\"x\",\"to\":\"hub-a\"}" };

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ASSERT_SAYS(bad[i], "{\"outcome\":\"refused\"");
		assert_int_equal(elector->machine.paused_until_ns, 0);
	}
	assert_int_equal(elector->admin.taken_count, 0);
}

/* A member of another type says something else than was meant: no check, no peer, no force. */
static void a_member_of_another_type_is_not_left_out(void **state)
{
	static const char *const bad[] = { "{\"verb\":\"switchover\",\"check\":\"true\"}",
		"{\"verb\":\"switchover\",\"check\":1}", "{\"verb\":\"switchover\",\"to\":null}",
		"{\"verb\":\"promote\",\"check\":true,\"force\":\"yes\"}",
		"{\"verb\":\"sync-resync\",\"check\":\"true\"}",
		"{\"verb\":\"sync-resync\",\"kind\":[]}" };

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ASSERT_SAYS(bad[i], "of another type than it takes");
		ASSERT_SAYS(bad[i], "{\"outcome\":\"refused\"");
	}
	assert_int_equal(elector->admin.taken_count, 0);
	assert_int_equal(role.asked, 0);
}

/* Where there is no peer there is nothing to command, and nothing is touched. */
static void without_a_peer_every_command_is_refused(void **state)
{
	static const char *const commands[] = { "{\"verb\":\"pause\",\"forMs\":60000}",
		"{\"verb\":\"switchover\"}", "{\"verb\":\"promote\"}", "{}" };
	static const uint32_t modes[] = { CONFIG_REPLICAS, CONFIG_STANDALONE };

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		role.config.mode = modes[i / 4];
		ASSERT_SAYS(commands[i % 4], "there is nothing to command");
		ASSERT_SAYS(commands[i % 4], "{\"outcome\":\"refused\"");
	}
	assert_int_equal(elector->admin.taken_count, 0);
}

static void H21_a_pause_is_done_at_once_and_shown(void **state)
{
	(void)state;
	ASSERT_SAYS("{\"verb\":\"pause\",\"forMs\":60000}", "\"done\"");
	assert_true(machine_is_paused(&elector->machine));
	assert_true(role.shown > 0);
	ASSERT_SAYS("{\"verb\":\"resume\"}", "\"done\"");
	assert_false(machine_is_paused(&elector->machine));
	ASSERT_SAYS(
	    "{\"verb\":\"resume\"}", "\"name\":\"paused\",\"value\":\"no\",\"limit\":\"yes\"");
}

static void five_a_minute_are_carried_out_and_refusals_are_free(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++)
		ASSERT_SAYS("{\"verb\":\"pause\",\"forMs\":0}", "\"refused\"");
	for (int i = 0; i < 5; i++)
		ASSERT_SAYS("{\"verb\":\"pause\",\"forMs\":60000}", "\"done\"");
	ASSERT_SAYS("{\"verb\":\"pause\",\"forMs\":60000}", "five commands a minute");
	for (int i = 0; i < ADMIN_PER_MINUTE; i++) /* a minute later */
		elector->admin.taken_ns[i] -= 60 * BASE_NS_PER_S;
	ASSERT_SAYS("{\"verb\":\"pause\",\"forMs\":60000}", "\"done\"");
}

static void B15_checks_are_told_and_change_nothing(void **state)
{
	(void)state;
	ASSERT_SAYS("{\"verb\":\"switchover\",\"check\":true}",
	    "{\"name\":\"state of this "
	    "hub\",\"value\":\"standby\",\"limit\":\"active\",\"ok\":false}");
	ASSERT_SAYS("{\"verb\":\"promote\",\"force\":true,\"check\":true}", "\"done\"");
	assert_int_equal(elector->machine.state, STATE_STANDBY);
	ASSERT_SAYS("{\"verb\":\"switchover\",\"to\":\"hub-b\"}", "not the peer");
	ASSERT_SAYS("{\"verb\":\"switchover\",\"to\":\"\"}", "not the peer");
	assert_int_equal(elector->admin.taken_count, 0);
}

/* --- Consent, operations -----------------------------------------------------------------------
 */

#define FORCE(hub, nonce)                                                                          \
	"{\"verb\":\"promote\",\"force\":true,\"hub\":\"" hub "\",\"nonce\":\"" nonce "\"}"

static void force_names_the_hub_and_the_nonce_of_now(void **state)
{
	char nonce[20], request[160];

	(void)state;
	ASSERT_SAYS("{\"verb\":\"promote\",\"force\":true}", "not this one");
	ASSERT_SAYS(FORCE("hub-a", "00000000000000aa"), "not this one");
	ASSERT_SAYS(FORCE("hub-b", "00000000000000ab"), "look again");
	ASSERT_SAYS(FORCE("hub-b", ""), "look again");
	ASSERT_SAYS(FORCE("hub-b", "00000000000000AA"), "look again");
	elector->admin.nonce = 0; /* never a nonce */
	ASSERT_SAYS(FORCE("hub-b", "0000000000000000"), "look again");
	assert_int_equal(elector->machine.state, STATE_STANDBY);
	elector->admin.nonce = 0xaa;
	ASSERT_SAYS(FORCE("hub-b", "00000000000000aa"), "\"running\"");
	assert_int_equal(elector->machine.state, STATE_STOPPING);
	assert_int_not_equal(elector->admin.nonce, 0xaa); /* used */
	(void)snprintf(nonce, sizeof(nonce), "%016llx", (unsigned long long)elector->admin.nonce);
	(void)snprintf(request, sizeof(request),
	    "{\"verb\":\"promote\",\"force\":true,\"hub\":\"hub-b\",\"nonce\":\"%s\"}", nonce);
	ASSERT_SAYS(request, "\"earlier\":true"); /* one at a time */
	ASSERT_SAYS("{\"verb\":\"switchover\"}", "\"earlier\":true");
}

static void C5_an_incomplete_mirror_takes_a_word_of_its_own(void **state)
{
	(void)state;
	elector->machine.complete = false;
	ASSERT_SAYS(
	    FORCE("hub-b", "00000000000000aa"), "\"name\":\"mirror complete\",\"value\":\"no\"");
	assert_int_equal(elector->admin.nonce, 0xaa); /* nothing was used up */
	ASSERT_SAYS(
	    "{\"verb\":\"promote\",\"force\":true,\"acceptIncomplete\":true,\"hub\":\"hub-b\","
	    "\"nonce\":\"00000000000000aa\"}",
	    "\"running\"");
}

static const char *ask_operation(void)
{
	char request[80];

	(void)snprintf(request, sizeof(request),
	    "{\"verb\":\"operation\",\"operation\":\"%016llx\"}",
	    (unsigned long long)elector->admin.operations[0].id);
	return ask(request);
}

static void B14_an_operation_has_an_end_that_is_remembered(void **state)
{
	struct machine_out nothing = { .said_count = 0 };
	char text[64];

	(void)state;
	ASSERT_SAYS("{\"verb\":\"operation\",\"operation\":\"00000000000000bb\"}", "\"unknown\"");
	ASSERT_SAYS(FORCE("hub-b", "00000000000000aa"), "\"running\"");
	admin_put_operation(elector, text, sizeof(text));
	assert_memory_equal(text, "promote ", 8);
	assert_non_null(strstr(ask_operation(), "\"outcome\":\"running\""));
	elector->machine.state = STATE_ACTIVE;
	elector->machine.term = 3;
	admin_follow(elector, &nothing);
	assert_non_null(strstr(ask_operation(), "\"outcome\":\"done\""));
	assert_non_null(strstr(out.data, "this hub leads with term 3"));
	admin_put_operation(elector, text, sizeof(text));
	assert_string_equal(text, "");
}

static void B14_what_was_given_up_says_why(void **state)
{
	struct machine_out gave_up = { .said_count = 1 };

	(void)state;
	ASSERT_SAYS(FORCE("hub-b", "00000000000000aa"), "\"running\"");
	gave_up.said[0] = (struct machine_said){
		.reason = REASON_MIRROR_NOT_STOPPED, .from = STATE_STOPPING, .to = STATE_STANDBY
	};
	elector->machine.state = STATE_STANDBY;
	admin_follow(elector, &gave_up);
	assert_non_null(strstr(ask_operation(), "\"outcome\":\"refused\""));
	assert_non_null(strstr(out.data, "not gone within 10 s"));
}

static void C13_a_switchover_is_done_when_the_peer_leads(void **state)
{
	struct machine_out nothing = { .said_count = 0 };
	struct machine *m = &elector->machine;

	(void)state;
	elector->admin.operations[0] = (struct admin_operation){
		.id = 9, .term = 2, .verb = COMMAND_SWITCHOVER, .outcome = ADMIN_RUNNING
	};
	elector->admin.operation_count = 1;
	admin_follow(elector, &nothing); /* released, nobody leads: not known yet */
	assert_non_null(strstr(ask_operation(), "running"));
	m->peer.claim = true;
	m->peer.claim_term = 3;
	m->peer.phase = PHASE_ACQUIRING;
	admin_follow(elector, &nothing);
	assert_non_null(strstr(ask_operation(), "running"));
	m->peer.phase = PHASE_LEADING;
	admin_follow(elector, &nothing);
	assert_non_null(strstr(ask_operation(), "hub-a leads with term 3"));
}

/* --- Clients -----------------------------------------------------------------------------------
 */

static void F1_a_request_may_come_in_pieces_and_only_once(void **state)
{
	static const char line[] = "{\"verb\":\"pause\",\"forMs\":60000}\n{\"verb\":\"resume\"}\n";
	char text[512];
	int fd = connect_client();

	(void)state;
	for (size_t i = 0; i + 1 < sizeof(line) && send(fd, line + i, 1, MSG_NOSIGNAL) == 1; i++)
		turn();
	assert_true(answer_of(fd, text, sizeof(text)) > 0);
	assert_non_null(strstr(text, "\"done\""));
	assert_true(machine_is_paused(&elector->machine)); /* the second line was not read */
	assert_true(recv(fd, text, 1, MSG_DONTWAIT) <= 0);
	close(fd);
}

static void F1_too_long_too_late_and_gone_clients_are_closed(void **state)
{
	char text[2048], *endless = memset(text, 'x', sizeof(text));
	int64_t before_ns;
	int fd = connect_client();

	(void)state;
	assert_int_equal(send(fd, endless, sizeof(text), MSG_NOSIGNAL), sizeof(text));
	turn();
	turn();
	assert_true(answer_of(fd, text, sizeof(text)) <= 0);
	assert_null(elector->admin.clients[0].elector);
	close(fd);

	before_ns = base_clock_boot_ns();
	fd = connect_client();
	assert_in_range(elector->admin.clients[0].deadline.at_ns, before_ns + 1,
	    base_clock_boot_ns() + 2 * BASE_NS_PER_S);
	assert_int_equal(send(fd, "{\"verb\"", 7, MSG_NOSIGNAL), 7);
	turn();
	assert_non_null(elector->admin.clients[0].elector);
	elector->admin.clients[0].deadline.fire(&elector->admin.clients[0], base_clock_boot_ns());
	assert_null(elector->admin.clients[0].elector);
	assert_int_equal(recv(fd, text, 1, MSG_DONTWAIT), 0); /* end of file */
	close(fd);

	fd = connect_client();
	close(fd);
	turn();
	assert_null(elector->admin.clients[0].elector);
}

static void F1_the_seventeenth_client_is_closed(void **state)
{
	int fds[ADMIN_CLIENTS + 1];
	char c;

	(void)state;
	for (int i = 0; i <= ADMIN_CLIENTS; i++)
		fds[i] = connect_client();
	assert_int_equal(recv(fds[ADMIN_CLIENTS], &c, 1, MSG_DONTWAIT), 0);
	assert_int_equal(recv(fds[0], &c, 1, MSG_DONTWAIT), -1);
	for (int i = 0; i <= ADMIN_CLIENTS; i++)
		close(fds[i]);
	turn();
}

/* As the dispatch of messages.c calls it. */
enum verdict elector_on_peer_seen(
    struct elector *elector, const struct link *from, const struct msg_peer_seen *m, int fd);

/* Else the rebuilt hub would read the pair of before in this hub's Lease, and leave (H14). */
static void M12_an_accepted_peer_is_another_pair(void **state)
{
	uint64_t now_ns = (uint64_t)base_clock_boot_ns();
	struct msg_peer_seen seen = {
		.started_ns = now_ns, .finished_ns = now_ns, .class = PEER_OK, .uid = STR_LIT("v")
	};
	char before[65], now[65];

	(void)state;
	elector->machine.loaded = elector->record.history_busy = true;
	(void)snprintf(elector->own_uid, sizeof(elector->own_uid), "o");
	elector_pair(elector->config, "o", "u", before);
	elector_pair(elector->config, "o", "v", now);
	memcpy(elector->pair, before, sizeof(before));
	/* Not accepted: it stays the pair of before. */
	assert_int_equal(elector_on_peer_seen(elector, NULL, &seen, -1), VERDICT_FINE);
	assert_true(elector->machine.peer.replaced);
	assert_string_equal(elector->pair, before);
	elector->machine.peer.uid[0] = '\0';
	assert_int_equal(elector_on_peer_seen(elector, NULL, &seen, -1), VERDICT_FINE);
	assert_false(elector->machine.peer.replaced);
	assert_string_equal(elector->pair, now);
}

/* G5, M2: who reads it at night takes it for what is now. */
static void a_condition_that_is_over_is_not_shown_as_the_reason(void **state)
{
	static const struct {
		enum peer_class class;
		enum peer_why why;
		const char *shown;
	} looks[] = {
		{ PEER_OK, PEER_WHY_NONE, "before" },
		{ PEER_BLIND, PEER_WHY_FORBIDDEN, "peer cannot be read" },
		{ PEER_BLIND, PEER_WHY_FORBIDDEN, "peer cannot be read" },
		{ PEER_OK, PEER_WHY_NONE, "before" },
		{ PEER_BLIND, PEER_WHY_X509, "peer cannot be read" },
	};

	(void)state;
	elector->machine.loaded = elector->record.history_busy = true;
	(void)snprintf(elector->lasting, sizeof(elector->lasting), "before");
	memcpy(elector->reason, elector->lasting, sizeof(elector->reason));
	for (unsigned i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		uint64_t now_ns = (uint64_t)base_clock_boot_ns();
		struct msg_peer_seen seen = { .started_ns = now_ns,
			.finished_ns = now_ns,
			.class = looks[i].class,
			.why = looks[i].why,
			.uid = STR_LIT("u"),
			.term = 2,
			.led_term = 2 };

		role.reason[0] = '\0';
		assert_int_equal(elector_on_peer_seen(elector, NULL, &seen, -1), VERDICT_FINE);
		assert_memory_equal(role.reason, looks[i].shown, strlen(looks[i].shown));
	}
	/* What is no condition stands until something else is said. */
	ASSERT_SAYS("{\"verb\":\"pause\",\"forMs\":60000}", "paused for 60 s");
	assert_string_equal(role.reason, "automatic promotion paused for 60 s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(F1_what_is_no_command_is_refused_and_does_nothing),
		TEST(a_member_of_another_type_is_not_left_out),
		TEST(without_a_peer_every_command_is_refused),
		TEST(H21_a_pause_is_done_at_once_and_shown),
		TEST(five_a_minute_are_carried_out_and_refusals_are_free),
		TEST(B15_checks_are_told_and_change_nothing),
		TEST(force_names_the_hub_and_the_nonce_of_now),
		TEST(C5_an_incomplete_mirror_takes_a_word_of_its_own),
		TEST(B14_an_operation_has_an_end_that_is_remembered),
		TEST(B14_what_was_given_up_says_why),
		TEST(C13_a_switchover_is_done_when_the_peer_leads),
		TEST(F1_a_request_may_come_in_pieces_and_only_once),
		TEST(F1_too_long_too_late_and_gone_clients_are_closed),
		TEST(F1_the_seventeenth_client_is_closed),
		TEST(M12_an_accepted_peer_is_another_pair),
		TEST(a_condition_that_is_over_is_not_shown_as_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
