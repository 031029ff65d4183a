/*
 * Goal: whatever comes over admin.sock is answered within bounds or closed, and carried out only
 * when it is exactly a command, its checks pass, and for a forced promotion the operator named this
 * hub and saw it as it is (F1, sandbox-rules 5, B14-B16). Method: an elector without links; its
 * machine is put in a state by hand, clients are socket pairs on the real loop.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "elector/elector.h"

/* --- The role process, played by the test ------------------------------------------------------
 */

struct role_process {
	struct loop *loop;
	struct us_config config;
	unsigned shown;
};

static struct role_process role;
static struct elector *elector;
static struct buf out;

struct loop *role_loop(struct role_process *process)
{
	return process->loop;
}

const struct us_config *role_config(const struct role_process *process)
{
	return &process->config;
}

struct role_id role_self(const struct role_process *process)
{
	(void)process;
	return (struct role_id){ ROLE_ELECTOR, 0 };
}

bool role_send(struct role_process *process, enum role peer, unsigned shard, enum message_id id,
    const void *body)
{
	const struct msg_status_leadership *status = body;

	(void)shard;
	if (peer == ROLE_MONITOR && id == MSG_STATUS_LEADERSHIP) {
		process->shown++;
		assert_int_equal(status->nonce.n, 16);
	}
	return true;
}

void role_tell(struct role_process *process, enum control_type type, uint64_t a0, uint64_t a1,
    const char *text)
{
	(void)process;
	(void)type;
	(void)a0;
	(void)a1;
	(void)text;
}

void role_metric(struct role_process *process, enum metric_id id, const char *label,
    const char *label2, int64_t value_micro)
{
	(void)process;
	(void)id;
	(void)label;
	(void)label2;
	(void)value_micro;
}

void role_leave(struct role_process *process, int code)
{
	(void)process;
	(void)code;
}

void role_credential_answer(
    struct role_process *process, const struct msg_credential *credential, const char *why)
{
	(void)process;
	(void)credential;
	(void)why;
}

static config_text put(const char *text)
{
	static uint32_t used = 1;
	uint32_t at = used;

	(void)snprintf(role.config.pool + at, sizeof(role.config.pool) - at, "%s", text);
	used += (uint32_t)strlen(text) + 1;
	return at;
}

/* A Standby, slot 1, whose peer led term 2 and whose mirror is complete. */
static int set_up(void **state)
{
	static uint64_t page[FENCE_WORDS];
	struct machine_options options = { .instance = 1,
		.slot = 1,
		.automatic = true,
		.duration_ns = 15 * BASE_NS_PER_S,
		.renew_deadline_ns = 10 * BASE_NS_PER_S,
		.retry_ns = 2 * BASE_NS_PER_S,
		.padding_ns = 5 * BASE_NS_PER_S,
		.request_ns = 4 * BASE_NS_PER_S,
		.max_lag_ns = 60 * BASE_NS_PER_S,
		.armed_max_age_ns = 86400 * BASE_NS_PER_S };
	struct machine *m;

	(void)state;
	memset(&role, 0, sizeof(role));
	role.loop = loop_new();
	role.config.hubs[0].name = put("hub-a");
	role.config.hubs[1].name = role.config.self_name = put("hub-b");
	role.config.self = 1;
	role.config.hub_count = 2;
	elector = calloc(1, sizeof(*elector));
	elector->process = &role;
	elector->config = &role.config;
	elector->wake = (struct loop_timer){ .fire = elector_wake, .arg = elector };
	elector->admin.nonce = 0xaa;
	elector->events.outstanding = EVENTS_OUTSTANDING; /* no server to post to */
	elector->page.words = page;
	machine_init(&elector->machine, &options);
	m = &elector->machine;
	m->state = STATE_STANDBY;
	m->now_ns = m->own_write_ns = m->look_ns = base_clock_boot_ns();
	m->lease_busy = m->role_busy = m->record_busy = true;
	(void)snprintf(m->peer.uid, sizeof(m->peer.uid), "u");
	(void)snprintf(m->complete_uid, sizeof(m->complete_uid), "u");
	m->peer.term = m->peer.led_term = m->complete_term = 2;
	m->peer.read = m->complete = true;
	m->last_class = PEER_OK;
	m->peer.seen_ns = m->now_ns;
	out = buf_make(1 << 16);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	admin_close(elector);
	loop_timer_cancel(role.loop, &elector->wake);
	loop_free(role.loop);
	free(elector);
	buf_free(&out);
	return 0;
}

static const char *ask(const char *request)
{
	buf_clear(&out);
	admin_answer(elector, 0, 77, str_of(request), &out);
	assert_false(out.failed);
	assert_int_equal(out.data[out.len - 1], '\n');
	return out.data;
}

#define ASSERT_SAYS(request, text) assert_non_null(strstr(ask(request), text))

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

static int connect_client(void)
{
	struct us_ctl ctl = { .type = CONTROL_ADMIN_CLIENT, .a = { 0, 0, 77 } };
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	admin_take_client(elector, pair[1], &ctl);
	return pair[0];
}

static void end_turn(void *arg, int64_t now_ns)
{
	(void)now_ns;
	loop_stop(arg, 0);
}

/* Serves what is readable now. */
static void turn(void)
{
	struct loop_timer limit = { .fire = end_turn, .arg = role.loop };

	loop_timer_cancel(role.loop, &elector->wake);
	loop_timer_set(role.loop, &limit, base_clock_boot_ns());
	(void)loop_run(role.loop, base_clock_boot_ns);
}

static ssize_t answer_of(int fd, char *text, size_t size)
{
	ssize_t n = recv(fd, text, size - 1, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = '\0';
	return n;
}

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
	int fd = connect_client();

	(void)state;
	assert_int_equal(send(fd, endless, sizeof(text), MSG_NOSIGNAL), sizeof(text));
	turn();
	turn();
	assert_true(answer_of(fd, text, sizeof(text)) <= 0);
	assert_null(elector->admin.clients[0].elector);
	close(fd);

	fd = connect_client();
	assert_int_equal(send(fd, "{\"verb\"", 7, MSG_NOSIGNAL), 7);
	turn();
	assert_non_null(elector->admin.clients[0].elector);
	assert_in_range(elector->admin.clients[0].deadline.at_ns, base_clock_boot_ns(),
	    base_clock_boot_ns() + 2 * BASE_NS_PER_S);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(F1_what_is_no_command_is_refused_and_does_nothing),
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
