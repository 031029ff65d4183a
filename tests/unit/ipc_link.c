/*
 * Goal: a link lets through what its two ends may exchange and nothing else; whoever breaks the
 * rules loses the link and the receiver goes on; queues keep what their message's rule says (F4,
 * F20, F22). Method: two links over a socketpair in one loop; hostile packets are written to the
 * raw descriptor.
 * Pitfalls: P22, P23, P26, P29, P34, P35, P38.
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

#include "base/clock.h"
#include "ipc/link.h"

struct end {
	struct link *link;
	unsigned messages, ends;
	bool broken;
	uint64_t last;
	int fd;
	enum verdict answer;
};

static struct loop *loop;
static struct loop_timer stop;

static enum verdict on_message(void *owner, struct link *link, const struct message *m, int fd)
{
	struct end *end = owner;

	(void)link;
	end->messages++;
	end->fd = fd;
	if (m->id == MSG_PERMIT)
		end->last = m->permit.term;
	if (m->id == MSG_METRIC)
		end->last = (uint64_t)m->metric.value_micro;
	return end->answer;
}

static void on_end(void *owner, struct link *link, bool broken, const char *why)
{
	struct end *end = owner;

	assert_true(why[0] != '\0');
	end->ends++;
	end->broken = broken;
	end->link = NULL;
	link_free(link);
}

static const struct link_ops ops = { on_message, on_end };

static void on_stop(void *arg, int64_t now_ns)
{
	(void)arg;
	(void)now_ns;
	loop_stop(loop, 0);
}

/* Serves all that is ready, then returns. The loop ends for good, so it is made anew each time. */
static void serve(void)
{
	stop.fire = on_stop;
	loop_timer_set(loop, &stop, base_clock_boot_ns());
	loop_run(loop, base_clock_boot_ns);
}

/* A receiver with this role, its sender's raw descriptor in *raw. */
static void make(struct end *receiver, int *raw, enum role from, enum role to)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	loop = loop_new();
	*receiver = (struct end){ .fd = -1 };
	receiver->link = link_new(loop, pair[1], (struct role_id){ (uint8_t)to, 0 },
	    (struct role_id){ (uint8_t)from, 0 }, 1, &ops, receiver);
	*raw = pair[0];
}

static void finish(struct end *receiver, int raw)
{
	link_free(receiver->link);
	if (raw >= 0)
		close(raw);
	loop_free(loop);
}

static void send_raw(int raw, enum message_id id, const void *body)
{
	struct buf packet = buf_make(MESSAGE_MAX_BYTES);
	struct err err;

	assert_int_equal(message_encode(id, body, &packet, &err), 0);
	assert_int_equal(send(raw, packet.data, packet.len, 0), packet.len);
	buf_free(&packet);
}

static void send_fds(int raw, enum message_id id, const void *body, int count)
{
	struct buf packet = buf_make(MESSAGE_MAX_BYTES);
	char control[CMSG_SPACE(sizeof(int) * 4)] = { 0 };
	struct err err;
	struct iovec vector;
	struct msghdr header = { .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control };
	struct cmsghdr *c;

	assert_int_equal(message_encode(id, body, &packet, &err), 0);
	vector = (struct iovec){ packet.data, packet.len };
	header.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count);
	c = CMSG_FIRSTHDR(&header);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
	for (int i = 0; i < count; i++)
		memcpy(CMSG_DATA(c) + sizeof(int) * (size_t)i, &raw, sizeof(int));
	assert_int_equal(sendmsg(raw, &header, 0), packet.len);
	buf_free(&packet);
}

static void send_empty_with_fd(int raw)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec vector = { NULL, 0 };
	struct msghdr header = { .msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&header);
	const int fd =
	    STDIN_FILENO; /* on its way, raw itself would not hang up when it is closed */

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	assert_int_equal(sendmsg(raw, &header, 0), 0);
}

static const struct msg_permit permit = { .term = 5, .valid_until_ns = 9 };

static void a_permitted_message_arrives(void **state)
{
	struct end receiver;
	int raw;

	(void)state;
	make(&receiver, &raw, ROLE_ELECTOR, ROLE_PUBLISHER);
	send_raw(raw, MSG_PERMIT, &permit);
	serve();
	assert_int_equal(receiver.messages, 1);
	assert_int_equal(receiver.last, 5);
	assert_int_equal(receiver.ends, 0);
	finish(&receiver, raw);
}

static void whoever_may_not_send_it_loses_the_link(void **state)
{
	struct end receiver;
	int raw;

	(void)state;
	make(&receiver, &raw, ROLE_OBSERVER, ROLE_PUBLISHER); /* an observer grants no permits */
	send_raw(raw, MSG_PERMIT, &permit);
	serve();
	assert_int_equal(receiver.messages, 0);
	assert_int_equal(receiver.ends, 1);
	assert_true(receiver.broken);
	finish(&receiver, raw);
}

static void junk_loses_the_link(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
	} rows[] = { { "junk", 4 }, { "", 0 }, { "\x92\x7f\x80", 3 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct end receiver;
		int raw;

		make(&receiver, &raw, ROLE_ELECTOR, ROLE_PUBLISHER);
		assert_int_equal(send(raw, rows[i].bytes, rows[i].n, 0), rows[i].n);
		serve();
		assert_int_equal(receiver.messages, 0);
		assert_true(receiver.broken);
		finish(&receiver, raw);
	}
}

static void a_packet_over_the_limit_loses_the_link(void **state)
{
	static char big[MESSAGE_MAX_BYTES + 100];
	struct end receiver;
	int raw;

	(void)state;
	make(&receiver, &raw, ROLE_ELECTOR, ROLE_PUBLISHER);
	assert_int_equal(send(raw, big, sizeof(big), 0), sizeof(big));
	serve();
	assert_true(receiver.broken);
	finish(&receiver, raw);
}

static void descriptors_only_where_declared(void **state)
{
	struct msg_dialed ok = { .id = 1, .outcome = DIAL_OK };
	struct msg_dialed refused = { .id = 1, .outcome = DIAL_REFUSED };
	static const struct {
		enum message_id id;
		bool ok_body;
		int count;
		bool good;
	} rows[] = {
		{ MSG_DIALED, true, 1, true },
		{ MSG_DIALED, true, 0, false },
		{ MSG_DIALED, true, 2, false },
		{ MSG_DIALED, false, 0, true },
		{ MSG_DIALED, false, 1, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct msg_dialed *body = rows[i].ok_body ? &ok : &refused;
		struct end receiver;
		int raw;

		make(&receiver, &raw, ROLE_OBSERVER_DIALER, ROLE_OBSERVER);
		if (rows[i].count)
			send_fds(raw, rows[i].id, body, rows[i].count);
		else
			send_raw(raw, rows[i].id, body);
		serve();
		assert_int_equal(receiver.messages, rows[i].good);
		assert_int_equal(receiver.broken, !rows[i].good);
		if (receiver.fd >= 0)
			close(receiver.fd);
		finish(&receiver, raw);
	}
}

static unsigned count_open(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* A refused packet must not leak the descriptors that came with it: one too many, two, or one that
 * comes with nothing, the last from somebody who is gone by then. */
static void refused_descriptors_are_closed(void **state)
{
	struct end receiver;
	int raw;

	(void)state;
	for (int count = 0; count <= 3; count++) {
		unsigned before;

		make(&receiver, &raw, ROLE_ELECTOR, ROLE_PUBLISHER);
		before = count_open();
		if (count == 0)
			send_empty_with_fd(raw);
		else
			send_fds(raw, MSG_PERMIT, &permit, count);
		if (count == 0)
			close(raw);
		serve();
		assert_int_equal(receiver.ends, 1);
		assert_int_equal(receiver.broken, count > 0);
		/* The link's own descriptor is gone, and the sender's where it hung up. */
		assert_int_equal(count_open(), before - (count == 0 ? 2 : 1));
		finish(&receiver, count == 0 ? -1 : raw);
	}
}

static void a_handler_can_refuse(void **state)
{
	struct end receiver;
	int raw;

	(void)state;
	make(&receiver, &raw, ROLE_ELECTOR, ROLE_PUBLISHER);
	receiver.answer = VERDICT_PEER_BROKEN;
	send_raw(raw, MSG_PERMIT, &permit);
	send_raw(raw, MSG_PERMIT, &permit);
	serve();
	assert_int_equal(receiver.messages, 1);
	assert_true(receiver.broken);
	finish(&receiver, raw);
}

static void hang_up_is_no_message(void **state)
{
	struct end receiver;
	int raw;

	(void)state;
	make(&receiver, &raw, ROLE_ELECTOR, ROLE_PUBLISHER);
	send_raw(raw, MSG_PERMIT, &permit);
	close(raw);
	serve();
	assert_int_equal(receiver.messages, 1); /* what was queued is still delivered */
	assert_int_equal(receiver.ends, 1);
	assert_false(receiver.broken);
	finish(&receiver, -1);
}

/* What an unread link keeps: the newest of each KEEP message, never more than the queue's bound. */
static void queues_follow_their_rules(void **state)
{
	struct end sender, receiver = { .fd = -1 };
	int raw;
	struct link *link;

	(void)state;
	make(&sender, &raw, ROLE_PUBLISHER, ROLE_ELECTOR);
	for (uint64_t term = 1; term <= 5000; term++) {
		struct msg_permit p = { .term = term };

		assert_true(link_send(sender.link, MSG_PERMIT, &p, -1));
	}
	assert_true(sender.link->queued <= 1);
	link = link_new(loop, raw, (struct role_id){ ROLE_PUBLISHER, 0 },
	    (struct role_id){ ROLE_ELECTOR, 0 }, 1, &ops, &receiver);
	receiver.link = link;
	serve();
	assert_int_equal(receiver.last, 5000);
	link_free(receiver.link);
	finish(&sender, -1);
}

static void oldest_is_dropped_and_counted(void **state)
{
	struct end sender;
	int raw;

	(void)state;
	make(&sender, &raw, ROLE_MONITOR, ROLE_ELECTOR);
	for (int64_t i = 0; i < 5000; i++) {
		struct msg_metric metric = { .id = METRIC_TERM, .value_micro = i };

		assert_true(link_send(sender.link, MSG_METRIC, &metric, -1));
	}
	assert_true(sender.link->queued <= LINK_MAX_QUEUED);
	assert_true(sender.link->dropped > 0);
	assert_false(sender.link->cut);
	finish(&sender, raw);
}

static void a_peer_that_never_reads_is_cut(void **state)
{
	struct end sender;
	struct msg_barrier_asked barrier = { .handover = STR_LIT("h") };
	int raw;
	bool sent = true;

	(void)state;
	make(&sender, &raw, ROLE_SYNCER, ROLE_ELECTOR);
	for (int i = 0; i < 5000 && sent; i++)
		sent = link_send(sender.link, MSG_BARRIER_ASKED, &barrier, -1);
	assert_false(sent);
	serve();
	assert_int_equal(sender.ends, 1);
	assert_false(sender.broken);
	finish(&sender, raw);
}

static void own_bugs_do_not_leave(void **state)
{
	struct end sender;
	int raw;
	char byte;

	(void)state;
	make(&sender, &raw, ROLE_MONITOR, ROLE_ELECTOR); /* self elector, peer monitor */
	assert_false(link_send(sender.link, MSG_PERMIT, &permit, -1));
	assert_int_equal(recv(raw, &byte, 1, MSG_DONTWAIT), -1);
	finish(&sender, raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_permitted_message_arrives),
		cmocka_unit_test(whoever_may_not_send_it_loses_the_link),
		cmocka_unit_test(junk_loses_the_link),
		cmocka_unit_test(a_packet_over_the_limit_loses_the_link),
		cmocka_unit_test(descriptors_only_where_declared),
		cmocka_unit_test(refused_descriptors_are_closed),
		cmocka_unit_test(a_handler_can_refuse),
		cmocka_unit_test(hang_up_is_no_message),
		cmocka_unit_test(queues_follow_their_rules),
		cmocka_unit_test(oldest_is_dropped_and_counted),
		cmocka_unit_test(a_peer_that_never_reads_is_cut),
		cmocka_unit_test(own_bugs_do_not_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
