/*
 * What a hostile role sends to a peer (see attack.h). Good packets come from the real encoder, bad
 * ones are written byte by byte: no code under test could be talked into making them (F4, F20,
 * F22).
 * Pitfalls: P23, P25, P29, P30, P31, P32, P33, P37.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ipc/messages.h"
#include "policy/seccomp.h"
#include "tests/attack/attack.h"

#define FLOOD 20000

/* Every field has the least value that is good; a dial failed, so that no descriptor is due. */
static void least_body(enum message_id id, struct message *message)
{
	const struct message_row *row = message_row(id);
	char *body = (char *)&message->credential; /* where every member of the union begins */

	memset(message, 0, sizeof(*message));
	message->id = id;
	for (size_t i = 0; i < row->field_count; i++) {
		const struct field_row *field = &row->fields[i];

		if (field->type == FIELD_U64)
			memcpy(body + field->offset, &field->least, sizeof(uint64_t));
		else if (field->type == FIELD_TEXT || field->type == FIELD_BYTES)
			memcpy(body + field->offset, &STR_LIT(""), sizeof(struct str));
	}
	if (id == MSG_DIALED)
		message->dialed.outcome = DIAL_REFUSED;
}

static size_t encode(enum message_id id, char *bytes, size_t size)
{
	struct buf packet = buf_make(size);
	struct message message;
	struct err err;
	size_t n = 0;

	least_body(id, &message);
	if (message_encode(id, &message.credential, &packet, &err) == 0 && packet.len <= size) {
		memcpy(bytes, packet.data, packet.len);
		n = packet.len;
	}
	buf_free(&packet);
	return n;
}

size_t packet_bytes(unsigned message, char *packet, size_t size)
{
	return encode((enum message_id)message, packet, size);
}

/* The first message that `from` may (or may not) send to `to`, and that `to` gets from somebody. */
static enum message_id find_message(enum role from, enum role to, bool may)
{
	enum message_id id = 0;

	while (id < MSG_COUNT && !((message_row(id)->receivers & ROLE_BIT(to)) != 0 &&
				     message_may(id, from, to) == may))
		id++;
	return id;
}

/* Its own message, or, of a role that has none, one that the peer would take from another. */
static enum message_id some_message(enum role self, enum role peer)
{
	enum message_id id = find_message(self, peer, true);

	return id < MSG_COUNT ? id : find_message(self, peer, false);
}

uint32_t packet_peers(enum role self)
{
	/* A loader's one-shot link is in no row: it brings an identity to any role that holds one.
	 */
	return self == ROLE_LOADER ? ROLE_KUBE : role_row(self)->links;
}

bool packet_applies(const struct packet *packet, enum role self, enum role peer)
{
	unsigned has = self == ROLE_LOADER ? PACKET_NEEDS_LOADER : PACKET_NEEDS_MANY;

	if (find_message(self, peer, true) < MSG_COUNT)
		has |= PACKET_NEEDS_OWN;
	if (find_message(self, peer, false) < MSG_COUNT)
		has |= PACKET_NEEDS_OTHERS;
	if (role_row(self)->syscalls & (SYSCALLS_DIAL | SYSCALLS_LISTEN))
		has |= PACKET_NEEDS_PASSING;
	return (packet->needs & ~has) == 0;
}

enum role packet_honest_sender(enum role peer, enum role except)
{
	enum role role = ROLE_SUPERVISOR;

	while (role < ROLE_COUNT && (role == except || !(role_row(peer)->links & ROLE_BIT(role)) ||
					find_message(role, peer, true) == MSG_COUNT))
		role++;
	return role;
}

size_t packet_honest(enum role from, enum role to, char *bytes, size_t size)
{
	return encode(find_message(from, to, true), bytes, size);
}

/* --- Sending -------------------------------------------------------------------------------- */

static char bytes[2 * MESSAGE_MAX_BYTES];

static int send_bytes(size_t n)
{
	return send(FD_LINK, bytes, n, MSG_NOSIGNAL) == (ssize_t)n ? 0 : errno;
}

static int send_own(enum role self, enum role peer)
{
	return send_bytes(encode(find_message(self, peer, true), bytes, sizeof(bytes)));
}

static int send_others(enum role self, enum role peer)
{
	return send_bytes(encode(find_message(self, peer, false), bytes, sizeof(bytes)));
}

/* A message of which this peer is no receiver at all. */
static int send_misplaced(enum role self, enum role peer)
{
	enum message_id id = 0;

	(void)self;
	while (id < MSG_COUNT && message_row(id)->receivers & ROLE_BIT(peer))
		id++;
	return send_bytes(encode(id, bytes, sizeof(bytes)));
}

static int send_junk(enum role self, enum role peer)
{
	(void)self;
	(void)peer;
	memset(bytes, 0xc1, 64); /* the one byte that msgpack never uses */
	return send_bytes(64);
}

static int send_text(enum role self, enum role peer)
{
	(void)self;
	(void)peer;
	return send_bytes((size_t)snprintf(bytes, sizeof(bytes), "GET / HTTP/1.1\r\n\r\n"));
}

static int send_empty(enum role self, enum role peer)
{
	(void)self;
	(void)peer;
	return send_bytes(0);
}

static int send_unknown(enum role self, enum role peer)
{
	static const uint8_t packet[] = { 0x92, 0xcc, 0xff, 0x80 }; /* [255, {}] */

	(void)self;
	(void)peer;
	memcpy(bytes, packet, sizeof(packet));
	return send_bytes(sizeof(packet));
}

static int send_cut(enum role self, enum role peer)
{
	return send_bytes(encode(some_message(self, peer), bytes, sizeof(bytes)) / 2);
}

static int send_longer(enum role self, enum role peer)
{
	size_t n = encode(some_message(self, peer), bytes, sizeof(bytes));

	bytes[n] = 0;
	return send_bytes(n + 1);
}

static int send_doubled(enum role self, enum role peer)
{
	size_t n = encode(some_message(self, peer), bytes, sizeof(bytes) / 2);

	memcpy(bytes + n, bytes, n);
	return send_bytes(2 * n);
}

/* Beyond what any link takes, and just beyond what this message may have. */
static int send_oversized(enum role self, enum role peer)
{
	size_t n = encode(some_message(self, peer), bytes, sizeof(bytes) / 2);

	memset(bytes + n, 0, MESSAGE_MAX_BYTES + 1);
	return send_bytes(MESSAGE_MAX_BYTES + 1);
}

static int send_nested(enum role self, enum role peer)
{
	enum message_id id = some_message(self, peer);

	bytes[0] = (char)0x92;
	bytes[1] = (char)id;           /* below 128 */
	memset(bytes + 2, 0x91, 4000); /* an array in an array in an array ... */
	bytes[4002] = 0;
	return send_bytes(4003);
}

/* A map that says it has four thousand million fields. */
static int send_huge_count(enum role self, enum role peer)
{
	bytes[0] = (char)0x92;
	bytes[1] = (char)some_message(self, peer);
	memset(bytes + 2, 0xff, 5);
	bytes[2] = (char)0xdf;
	return send_bytes(7);
}

/* The first field of a good message renamed. */
static int send_misnamed(enum role self, enum role peer)
{
	enum message_id id = some_message(self, peer);
	size_t n = encode(id, bytes, sizeof(bytes));
	const char *name = message_row(id)->fields[0].name;
	char *at = memmem(bytes, n, name, strlen(name));

	if (!at)
		return ENOMSG;
	at[0] ^= 1;
	return send_bytes(n);
}

/* A good message with two descriptors, or with one where none is declared. */
static int send_descriptors(enum role self, enum role peer, unsigned count)
{
	char control[CMSG_SPACE(2 * sizeof(int))] = { 0 };
	const int fds[2] = { FD_PROGRAM, FD_PROGRAM };
	struct iovec vector = { bytes, encode(some_message(self, peer), bytes, sizeof(bytes)) };
	struct msghdr header = { .msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = CMSG_SPACE(count * sizeof(int)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&header);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(c), fds, count * sizeof(int));
	return sendmsg(FD_LINK, &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? errno : 0;
}

static int send_descriptor(enum role self, enum role peer)
{
	return send_descriptors(self, peer, 1);
}

static int send_two_descriptors(enum role self, enum role peer)
{
	return send_descriptors(self, peer, 2);
}

/* As many as fit into the link, and then more. */
static int send_flood(enum role self, enum role peer)
{
	size_t n = encode(find_message(self, peer, true), bytes, sizeof(bytes));

	for (int i = 0; i < FLOOD; i++)
		(void)send(FD_LINK, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	return 0;
}

/* Each in a message of its own: the receiver has room for a few only. */
static int send_many_descriptors(enum role self, enum role peer)
{
	int error = 0;

	for (int i = 0; i < 1000 && error == 0; i++)
		error = send_descriptors(self, peer, 1);
	/* The peer has hung up, or the kernel carries no more descriptors of ours. */
	return error == EPIPE || error == ECONNRESET || error == ETOOMANYREFS || error == EAGAIN
		   ? 0
		   : error;
}

/* F7: an identity for another target than the supervisor announced. */
static int send_other_identity(enum role self, enum role peer)
{
	struct buf packet = buf_make(sizeof(bytes));
	struct message message;
	struct err err;
	int error = ENOMSG;

	(void)self;
	(void)peer;
	least_body(MSG_CREDENTIAL, &message);
	message.credential.target = CREDENTIAL_PEER_SYNCER;
	if (message_encode(MSG_CREDENTIAL, &message.credential, &packet, &err) == 0) {
		memcpy(bytes, packet.data, packet.len);
		error = send_bytes(packet.len);
	}
	buf_free(&packet);
	return error;
}

#define OWN     PACKET_NEEDS_OWN
#define OTHERS  PACKET_NEEDS_OTHERS
#define PASSING PACKET_NEEDS_PASSING

const struct packet packets[] = {
	{ "sends its own message", send_own, PACKET_TAKEN, OWN },
	{ "sends another's message", send_others, PACKET_CUT, OTHERS },
	{ "sends a message that the peer never gets", send_misplaced, PACKET_CUT, 0 },
	{ "sends junk", send_junk, PACKET_CUT, 0 },
	{ "sends text", send_text, PACKET_CUT, 0 },
	{ "sends an empty packet", send_empty, PACKET_CUT, 0 },
	{ "sends an unknown message", send_unknown, PACKET_CUT, 0 },
	{ "sends half a message", send_cut, PACKET_CUT, 0 },
	{ "sends a message with a byte more", send_longer, PACKET_CUT, 0 },
	{ "sends two messages in one packet", send_doubled, PACKET_CUT, 0 },
	{ "sends an oversized packet", send_oversized, PACKET_CUT, 0 },
	{ "sends a deep packet", send_nested, PACKET_CUT, 0 },
	{ "sends a packet with a huge count", send_huge_count, PACKET_CUT, 0 },
	{ "sends a message with a misnamed field", send_misnamed, PACKET_CUT, 0 },
	{ "sends a descriptor where none is declared", send_descriptor, PACKET_CUT, PASSING },
	{ "sends two descriptors", send_two_descriptors, PACKET_CUT, PASSING },
	{ "sends a thousand descriptors", send_many_descriptors, PACKET_CUT, PASSING },
	{ "sends a flood of its own message", send_flood, PACKET_TAKEN, OWN | PACKET_NEEDS_MANY },
	{ "brings another identity than was announced", send_other_identity, PACKET_CUT,
	    PACKET_NEEDS_LOADER },
	{ "sends its own message again", send_own, PACKET_TAKEN, OWN },
};
const unsigned packet_count = sizeof(packets) / sizeof(packets[0]);
