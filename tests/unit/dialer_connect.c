/*
 * Goal: the order of addresses never leaves one family out and never holds a denied one (F23), an
 * errno is silence only when it is the peer's (C4), and nothing of a socket stays behind here once
 * it was handed over (F8, H3). Method: the pure helpers on tables; then real dials to a listener on
 * loopback, this test taking the place of the role's process.
 * Pitfall: P100.
 */
#include "dialer/connect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"

static struct us_config config;
static struct loop *loop;
static struct {
	unsigned count;
	enum dial_outcome outcomes[8];
	int taken; /* the asker's duplicate of the last socket */
} answers;

/* --- In place of ipc/role.c ------------------------------------------------------------------- */

struct loop *role_loop(struct role_process *process)
{
	(void)process;
	return loop;
}

const struct us_config *role_config(const struct role_process *process)
{
	(void)process;
	return &config;
}

bool role_send_fd(struct role_process *process, enum role peer, unsigned shard, enum message_id id,
    const void *body, int fd)
{
	const struct msg_dialed *dialed = body;

	(void)process;
	(void)peer;
	(void)shard;
	assert_int_equal(id, MSG_DIALED);
	assert_int_equal(fd >= 0, dialed->outcome == DIAL_OK);
	assert_true(dialed->id < sizeof(answers.outcomes) / sizeof(answers.outcomes[0]));
	answers.outcomes[dialed->id] = dialed->outcome;
	if (fd >= 0)
		answers.taken = dup(fd);
	if (++answers.count == 3)
		loop_stop(loop, 0);
	return true;
}

/* --- The tests ---------------------------------------------------------------------------------
 */

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

static unsigned open_descriptors(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* A port where nobody listens, and that nobody else gets while the socket is there. */
static uint16_t bind_to_loopback(int *bound)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);

	*bound = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(*bound, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(*bound, (struct sockaddr *)&address, &size), 0);
	return ntohs(address.sin_port);
}

static uint16_t listen_on_loopback(int *listener)
{
	uint16_t port = bind_to_loopback(listener);

	assert_int_equal(listen(*listener, 8), 0);
	return port;
}

static void hands_over_whole_connections_and_keeps_no_copy_F8_H3(void **state)
{
	static struct dialer dialer;
	struct role_id asker = { ROLE_OBSERVER, 0 };
	int listener, closed;
	uint16_t port = listen_on_loopback(&listener), closed_port = bind_to_loopback(&closed);
	struct target targets[] = { { 3, port, "127.0.0.1", 0 }, { 4, closed_port, "127.0.0.1", 0 },
		{ 5, port, "10.0.0.1", 0 } };
	struct sockaddr_storage peer;
	socklen_t size = sizeof(peer);
	unsigned before;
	int unanswered_ms = 0;

	(void)state;
	config.range_count = 1;
	config.ranges[0] = (struct config_range){ { [10] = 0xff, [11] = 0xff, [12] = 127 }, 104 };
	loop = loop_new();
	log_open("dialer", LOG_ERROR);
	dialer.resolver = resolver_new(loop);
	before = open_descriptors();
	for (unsigned i = 0; i < 3; i++)
		assert_true(dial_start(&dialer, asker, &targets[i], i));
	assert_int_equal(loop_run(loop, base_clock_boot_ns), 0);
	assert_int_equal(answers.outcomes[0], DIAL_OK);
	assert_int_equal(answers.outcomes[1], DIAL_REFUSED);
	assert_int_equal(answers.outcomes[2], DIAL_DENIED);
	assert_int_equal(getpeername(answers.taken, (struct sockaddr *)&peer, &size), 0);
	/* Its asker could not set it: a peer that vanished without a word is noticed (P100). */
	size = sizeof(unanswered_ms);
	assert_int_equal(
	    getsockopt(answers.taken, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, &size), 0);
	assert_in_range(unanswered_ms, 1000, 30000);
	assert_null(dialer.dials);
	assert_int_equal(open_descriptors(), before + 1); /* the asker's */
	close(answers.taken);
	close(listener);
	close(closed);
	resolver_free(dialer.resolver);
	loop_free(loop);
	config.range_count = 0;
}

/* G5: a peer that is down is one line, not one a dial. */
static void an_outage_is_told_once(void **state)
{
	static struct dialer dialer;
	struct role_id asker = { ROLE_OBSERVER, 0 };
	int closed, own = dup(STDERR_FILENO), log = memfd_create("log", MFD_CLOEXEC);
	struct target target = { 4, bind_to_loopback(&closed), "127.0.0.1", 0 };
	char text[1024] = "";
	const char *first;

	(void)state;
	config.range_count = 1;
	config.ranges[0] = (struct config_range){ { [10] = 0xff, [11] = 0xff, [12] = 127 }, 104 };
	loop = loop_new();
	dialer.resolver = resolver_new(loop);
	answers.count = 0;
	assert_int_equal(dup2(log, STDERR_FILENO), STDERR_FILENO);
	log_open("dialer", LOG_INFO);
	for (unsigned i = 0; i < 3; i++)
		assert_true(dial_start(&dialer, asker, &target, i));
	assert_int_equal(loop_run(loop, base_clock_boot_ns), 0);
	assert_int_equal(dup2(own, STDERR_FILENO), STDERR_FILENO);
	assert_true(pread(log, text, sizeof(text) - 1, 0) > 0);
	first = strstr(text, ": refused 127.0.0.1");
	assert_non_null(first);
	assert_null(strstr(first + 1, ": refused"));
	close(own);
	close(log);
	close(closed);
	resolver_free(dialer.resolver);
	loop_free(loop);
	config.range_count = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(families_take_turns_and_the_first_stays_first),
		cmocka_unit_test(denied_addresses_are_left_out_F23),
		cmocka_unit_test(only_the_peers_silence_is_silence_C4),
		cmocka_unit_test(hands_over_whole_connections_and_keeps_no_copy_F8_H3),
		cmocka_unit_test(an_outage_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
