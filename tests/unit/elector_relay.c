/*
 * Goal: a command to the mirror reaches it only from a Standby, once, with consent where something
 * can be lost, and its client gets exactly one answer: the mirror's, or that it is not known; what
 * the mirror sends unasked is a violation, and neither rows nor floods grow without bound (F1, F4,
 * H8, decision 10). Method: the elector of elector_admin_bed.h; the test plays the mirror.
 */
#include "tests/unit/elector_admin_bed.h"

#define ROW(...)                                                                                   \
	relay_row(elector, &(struct msg_sync_row){ .operation = role.operation, __VA_ARGS__ })
#define DONE(...)                                                                                  \
	relay_done(elector, &(struct msg_sync_done){ .operation = role.operation, __VA_ARGS__ })

static char text[400000];

static int client_with(const char *line)
{
	int fd = connect_client();

	assert_true(send(fd, line, strlen(line), MSG_NOSIGNAL) > 0);
	turn();
	return fd;
}

static const char *answer_at(int fd)
{
	(void)answer_of(fd, text, sizeof(text));
	close(fd);
	return text;
}

#define ANSWERED(fd, words) assert_non_null(strstr(answer_at(fd), words))

static void a_command_is_answered_by_the_mirror(void **state)
{
	int fd;

	(void)state;
	elector->syncer_linked = true;
	fd = client_with("{\"verb\":\"sync-resync\",\"kind\":\"Secret\",\"check\":true}\n");
	assert_int_equal(role.asked, 1);
	assert_int_equal(role.verb, SYNC_RESYNC);
	assert_true(role.dry_run);
	assert_string_equal(role.kind, "Secret");
	assert_true(answer_of(fd, text, sizeof(text)) < 0); /* it waits */
	assert_int_equal(
	    ROW(.object = STR_LIT("Secret n/x"), .text = STR_LIT("a \"b\"")), VERDICT_FINE);
	assert_int_equal(ROW(.type = SYNC_ROW_CHECK, .object = STR_LIT("c"), .text = STR_LIT("1"),
			     .limit = STR_LIT("2")),
	    VERDICT_FINE);
	assert_int_equal(
	    DONE(.outcome = SYNC_OUTCOME_REFUSED, .text = STR_LIT("so")), VERDICT_FINE);
	ANSWERED(fd, "\"outcome\":\"refused\"");
	assert_non_null(strstr(text, "{\"object\":\"Secret n/x\",\"text\":\"a \\\"b\\\"\"}"));
	assert_non_null(
	    strstr(text, "{\"name\":\"c\",\"value\":\"1\",\"limit\":\"2\",\"ok\":false}"));
	assert_non_null(strstr(text, "\"text\":\"so\"}"));
	assert_null(elector->admin.clients[0].elector);
	/* It is over: whatever comes for it now was not asked for. */
	assert_int_equal(ROW(.object = STR_LIT("x")), VERDICT_PEER_BROKEN);
	assert_int_equal(DONE(.text = STR_LIT("x")), VERDICT_PEER_BROKEN);
}

static void only_a_standby_with_a_mirror_asks_it(void **state)
{
	(void)state;
	ASSERT_SAYS("{\"verb\":\"sync-diff\"}",
	    "\"name\":\"the mirror's process\",\"value\":\"not connected\"");
	elector->syncer_linked = true;
	elector->machine.state = STATE_ACTIVE;
	ASSERT_SAYS(
	    "{\"verb\":\"sync-diff\"}", "\"value\":\"active\",\"limit\":\"standby: only a Standby");
	elector->machine.state = STATE_STANDBY;
	role.mirror_away = true;
	ANSWERED(
	    client_with("{\"verb\":\"sync-diff\"}\n"), "ended at this moment: nothing was done");
	role.mirror_away = false;
	ASSERT_SAYS("{\"verb\":\"sync-diff\"}", "under way"); /* nobody could wait for it */
	assert_int_equal(role.asked, 0);
}

static void H8_consent_is_for_the_list_that_was_seen(void **state)
{
	int fd;

	(void)state;
	elector->syncer_linked = true;
	elector->admin.nonce = 0xaa;
	ANSWERED(client_with("{\"verb\":\"sync-confirm-deletes\",\"hub\":\"hub-b\",\"nonce\":"
			     "\"00000000000000aa\"}\n"),
	    "no list");
	ANSWERED(client_with("{\"verb\":\"sync-confirm-deletes\",\"list\":\"0000000000000000\"}\n"),
	    "no list");
	ANSWERED(client_with("{\"verb\":\"sync-discard\",\"list\":7}\n"), "of another type");
	ANSWERED(client_with("{\"verb\":\"sync-discard\",\"list\":\"00000000000000bb\"}\n"),
	    "not this one");
	ANSWERED(client_with("{\"verb\":\"sync-discard\",\"list\":\"00000000000000bb\",\"hub\":"
			     "\"hub-b\",\"nonce\":\"00000000000000ab\"}\n"),
	    "look again");
	assert_int_equal(role.asked, 0);
	fd = client_with("{\"verb\":\"sync-discard\",\"list\":\"00000000000000bb\",\"hub\":\"hub-"
			 "b\",\"nonce\":\"00000000000000aa\"}\n");
	assert_int_equal(role.list_hash, 0xbb);
	assert_int_equal(role.verb, SYNC_DISCARD);
	assert_false(role.dry_run);
	assert_int_equal(
	    DONE(.outcome = SYNC_OUTCOME_REFUSED, .text = STR_LIT("no")), VERDICT_FINE);
	ANSWERED(fd, "\"outcome\":\"refused\"");
	/* A dry run takes no consent, and a nonce counts once. */
	fd = client_with(
	    "{\"verb\":\"sync-discard\",\"list\":\"00000000000000bb\",\"check\":true}\n");
	assert_int_equal(DONE(.text = STR_LIT("")), VERDICT_FINE);
	ANSWERED(fd, "\"done\"");
	ANSWERED(client_with("{\"verb\":\"sync-accept-restore\",\"hub\":\"hub-b\",\"nonce\":"
			     "\"00000000000000aa\"}\n"),
	    "look again");
}

static void B14_a_mirror_that_ends_leaves_it_unknown(void **state)
{
	int fd, second;

	(void)state;
	elector->syncer_linked = true;
	fd = client_with("{\"verb\":\"sync-diff\"}\n");
	second = client_with("{\"verb\":\"sync-resync\"}\n");
	ANSWERED(second, "another command to the mirror is under way");
	relay_lost(elector, "gone");
	ANSWERED(fd, "\"outcome\":\"unknown\"");
	assert_int_equal(ROW(.object = STR_LIT("late")), VERDICT_FINE);
	assert_int_equal(DONE(.text = STR_LIT("late")), VERDICT_FINE);
	/* One that does not answer in time is the same. */
	fd = client_with("{\"verb\":\"sync-diff\"}\n");
	elector->admin.clients[0].deadline.fire(&elector->admin.clients[0], base_clock_boot_ns());
	ANSWERED(fd, "has not answered in time");
	assert_null(elector->admin.clients[0].elector);
}

static void a_client_that_goes_stops_nothing(void **state)
{
	int fd;

	(void)state;
	elector->syncer_linked = true;
	fd = client_with("{\"verb\":\"sync-diff\"}\n");
	close(fd);
	turn();
	assert_null(elector->admin.clients[0].elector);
	assert_int_equal(ROW(.object = STR_LIT("x")), VERDICT_FINE);
	assert_int_equal(DONE(.text = STR_LIT("x")), VERDICT_FINE);
	fd = client_with("{\"verb\":\"sync-diff\"}\n"); /* the next one may ask */
	assert_int_equal(role.asked, 2);
	/* Who says more while he waits is no client any more. */
	assert_int_equal(send(fd, "{}\n", 3, MSG_NOSIGNAL), 3);
	turn();
	assert_null(elector->admin.clients[0].elector);
	close(fd);
}

/* The mirror works one off after the other: none of their answers comes unasked, each once. */
static void many_clients_that_go_stop_nothing(void **state)
{
	uint64_t operations[RELAY_PER_MINUTE];

	(void)state;
	elector->syncer_linked = true;
	for (int i = 0; i < RELAY_PER_MINUTE; i++) {
		close(client_with("{\"verb\":\"sync-diff\"}\n"));
		turn();
		operations[i] = role.operation;
	}
	assert_int_equal(role.asked, RELAY_PER_MINUTE);
	for (int i = 0; i < RELAY_PER_MINUTE; i++) {
		role.operation = operations[i];
		assert_int_equal(ROW(.object = STR_LIT("x")), VERDICT_FINE);
		assert_int_equal(DONE(.text = STR_LIT("x")), VERDICT_FINE);
		assert_int_equal(ROW(.object = STR_LIT("x")), VERDICT_PEER_BROKEN);
		assert_int_equal(DONE(.text = STR_LIT("x")), VERDICT_PEER_BROKEN);
	}
	role.operation = 0;
	assert_int_equal(ROW(.object = STR_LIT("x")), VERDICT_PEER_BROKEN);
}

static void rows_and_floods_are_bounded(void **state)
{
	static char wide[1024];
	int fd;

	(void)state;
	memset(wide, 1, sizeof(wide)); /* six bytes each in JSON */
	elector->syncer_linked = true;
	fd = client_with("{\"verb\":\"sync-diff\"}\n");
	for (int i = 0; i < 1000; i++)
		assert_int_equal(
		    ROW(.object = STR_LIT("x"), .text = { wide, sizeof(wide) }), VERDICT_FINE);
	for (int i = 0; i < 100; i++)
		assert_int_equal(ROW(.type = SYNC_ROW_CHECK, .object = STR_LIT("c")), VERDICT_FINE);
	assert_int_equal(DONE(.text = STR_LIT("")), VERDICT_FINE);
	ANSWERED(fd, "\"rowsLeftOut\":9");
	assert_true(strlen(text) < RELAY_MAX_ROWS + 4096);
	assert_int_equal(text[strlen(text) - 2], '}');
	for (int i = 1; i < RELAY_PER_MINUTE; i++) {
		fd = client_with("{\"verb\":\"sync-diff\"}\n");
		assert_int_equal(DONE(.text = STR_LIT("")), VERDICT_FINE);
		close(fd);
	}
	ANSWERED(client_with("{\"verb\":\"sync-diff\"}\n"), "30 commands a minute");
	/* They take nothing from the commands of the hub itself. */
	ASSERT_SAYS("{\"verb\":\"pause\",\"forMs\":60000}", "\"done\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_command_is_answered_by_the_mirror),
		TEST(only_a_standby_with_a_mirror_asks_it),
		TEST(H8_consent_is_for_the_list_that_was_seen),
		TEST(B14_a_mirror_that_ends_leaves_it_unknown),
		TEST(a_client_that_goes_stops_nothing),
		TEST(many_clients_that_go_stop_nothing),
		TEST(rows_and_floods_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
