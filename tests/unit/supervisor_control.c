/*
 * Goal: root takes from a role exactly one struct of 128 bytes at a time, without a descriptor,
 * in order; everything else is told apart from the end of the link (F20, F28, sandbox-rules 4,
 * P21, P22, P23, P24, P25). What it sends arrives whole, with its descriptor, in order, also to a
 * role that reads late. Method: a real pair, hostile bytes at the other end.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/control.h"

static struct control control;
static int role;
static struct err err;

static int open_pair(void **state)
{
	(void)state;
	return control_open(&control, &role);
}

static int close_pair(void **state)
{
	(void)state;
	control_close(&control);
	close(role);
	return 0;
}

static struct us_ctl packet(uint64_t seq)
{
	return (struct us_ctl){ .magic = CONTROL_MAGIC, .type = CONTROL_BEAT, .seq = seq };
}

static enum control_got receive(void)
{
	struct us_ctl ctl = { 0 };

	err.text[0] = '\0';
	return control_receive(&control, &ctl, &err);
}

static void put(const void *bytes, size_t n)
{
	assert_int_equal(send(role, bytes, n, MSG_NOSIGNAL), n);
}

static void put_with_fds(const void *bytes, size_t n, unsigned count)
{
	char room[CMSG_SPACE(8 * sizeof(int))] = { 0 };
	struct iovec vector = { (void *)bytes, n };
	struct msghdr header = { .msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = room,
		.msg_controllen = CMSG_LEN(count * sizeof(int)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&header);
	int fds[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(c), fds, count * sizeof(int));
	assert_int_equal(sendmsg(role, &header, MSG_NOSIGNAL), n);
}

static void takes_packets_in_order(void **state)
{
	struct us_ctl ctl = packet(1);

	(void)state;
	assert_int_equal(receive(), CONTROL_NOTHING);
	put(&ctl, sizeof(ctl));
	ctl = packet(5); /* What a full queue swallowed is missing, no more. */
	put(&ctl, sizeof(ctl));
	assert_int_equal(receive(), CONTROL_PACKET);
	assert_int_equal(receive(), CONTROL_PACKET);
	assert_int_equal(receive(), CONTROL_NOTHING);
}

static void refuses_other_sizes(void **state)
{
	static char bytes[100000];
	struct us_ctl ctl = packet(1);
	const size_t sizes[] = { 1, 127, 129, 4096, sizeof(bytes) };

	(void)state;
	memcpy(bytes, &ctl, sizeof(ctl));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		put(bytes, sizes[i]);
		assert_int_equal(receive(), CONTROL_BAD);
		assert_non_null(strstr(err.text, "expected 128"));
	}
}

/* F20: an empty packet reads like the end. */
static void an_empty_packet_is_not_the_end(void **state)
{
	struct us_ctl ctl = packet(1);

	(void)state;
	put("", 0);
	assert_int_equal(receive(), CONTROL_BAD);
	put(&ctl, sizeof(ctl));
	close(role);
	role = -1;
	assert_int_equal(receive(), CONTROL_PACKET);
	assert_int_equal(receive(), CONTROL_CLOSED);
}

static int count_fds(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void a_descriptor_is_refused_and_not_kept(void **state)
{
	struct us_ctl ctl = packet(1);
	int before = count_fds();

	(void)state;
	for (unsigned count = 1; count <= 8; count++) {
		put_with_fds(&ctl, sizeof(ctl), count);
		assert_int_equal(receive(), CONTROL_BAD);
		assert_non_null(strstr(err.text, "descriptor"));
	}
	assert_int_equal(count_fds(), before);
}

static void refuses_what_is_no_control_struct(void **state)
{
	struct us_ctl ctl = packet(1);

	(void)state;
	ctl.magic++;
	put(&ctl, sizeof(ctl));
	assert_int_equal(receive(), CONTROL_BAD);
	ctl = packet(1);
	memset(ctl.blob, 'x', sizeof(ctl.blob));
	put(&ctl, sizeof(ctl));
	assert_int_equal(receive(), CONTROL_BAD);
	ctl = packet(0);
	put(&ctl, sizeof(ctl));
	assert_int_equal(receive(), CONTROL_BAD);
	ctl = packet(9);
	put(&ctl, sizeof(ctl));
	assert_int_equal(receive(), CONTROL_PACKET);
	put(&ctl, sizeof(ctl)); /* The same once more. */
	assert_int_equal(receive(), CONTROL_BAD);
}

static void raw_packets_have_their_size(void **state)
{
	struct us_loaded loaded = { .magic = CONTROL_MAGIC }, got = { 0 };

	(void)state;
	put(&loaded, sizeof(loaded));
	assert_int_equal(control_receive_raw(&control, &got, sizeof(got), &err), CONTROL_PACKET);
	put(&loaded, sizeof(loaded) - 1);
	assert_int_equal(control_receive_raw(&control, &got, sizeof(got), &err), CONTROL_BAD);
}

static void take_sent(uint64_t seq, const char *more, bool with_fd)
{
	char room[CMSG_SPACE(sizeof(int))], text[64] = { 0 };
	struct us_ctl ctl;
	struct iovec vectors[] = { { &ctl, sizeof(ctl) }, { text, sizeof(text) } };
	struct msghdr header = { .msg_iov = vectors,
		.msg_iovlen = 2,
		.msg_control = room,
		.msg_controllen = sizeof(room) };
	struct cmsghdr *c;
	int fd;

	assert_int_equal(recvmsg(role, &header, MSG_DONTWAIT), sizeof(ctl) + strlen(more));
	assert_int_equal(ctl.magic, CONTROL_MAGIC);
	assert_int_equal(ctl.seq, seq);
	assert_string_equal(text, more);
	c = CMSG_FIRSTHDR(&header);
	assert_int_equal(c != NULL, with_fd);
	if (!c)
		return;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	close(fd);
}

static void sends_text_and_descriptor(void **state)
{
	struct us_ctl ctl = { .type = CONTROL_TARGET };

	(void)state;
	assert_true(control_send(&control, &ctl, "hub-a", 5, -1));
	assert_true(control_send(&control, &ctl, NULL, 0, 0));
	take_sent(1, "hub-a", false);
	take_sent(2, "", true);
}

/* A fleet's targets do not fit a socket at once; a role that never reads is given up. */
static void what_does_not_fit_waits_and_is_bounded(void **state)
{
	struct us_ctl ctl = { .type = CONTROL_TARGET };
	uint64_t sent = 0;

	(void)state;
	while (control_send(&control, &ctl, "x", 1, 0))
		assert_true(++sent < 100000);
	assert_int_equal(control.queued, CONTROL_MAX_QUEUED + 1);
	for (uint64_t seq = 1; seq <= sent + 1; seq++) {
		take_sent(seq, "x", true);
		(void)control_flush(&control);
	}
	assert_int_equal(control.queued, 0);
}

static void a_dead_role_takes_everything(void **state)
{
	struct us_ctl ctl = { .type = CONTROL_STOP };

	(void)state;
	close(role);
	role = -1;
	for (int i = 0; i < 10000; i++)
		assert_true(control_send(&control, &ctl, NULL, 0, -1));
	assert_int_equal(control.queued, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(takes_packets_in_order),
		TEST(refuses_other_sizes),
		TEST(an_empty_packet_is_not_the_end),
		TEST(a_descriptor_is_refused_and_not_kept),
		TEST(refuses_what_is_no_control_struct),
		TEST(raw_packets_have_their_size),
		TEST(sends_text_and_descriptor),
		TEST(what_does_not_fit_waits_and_is_bounded),
		TEST(a_dead_role_takes_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
