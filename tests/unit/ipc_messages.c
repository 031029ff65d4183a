/*
 * Goal: each message survives encoding and decoding with any value inside its bounds, and nothing
 * else is accepted: not one byte more, less, or of another form (F4, F20). Method: every row of
 * messages.def is filled through its own field rows; hostile packets are made from good ones.
 * Pitfalls: P30, P31, P32, P33.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ipc/messages.h"
#include "ipc/scan.h"

static char filler[MESSAGE_MAX_BYTES];

static char *body_of(struct message *message)
{
	return (char *)message + offsetof(struct message, credential);
}

/* All fields at their least or at their most value. */
static void fill(struct message *message, enum message_id id, bool most)
{
	const struct message_row *row = message_row(id);

	memset(message, 0, sizeof(*message));
	message->id = id;
	memset(filler, 'x', sizeof(filler));
	for (size_t i = 0; i < row->field_count; i++) {
		void *at = body_of(message) + row->fields[i].offset;
		uint64_t value = most ? row->fields[i].most : row->fields[i].least;

		switch (row->fields[i].type) {
		case FIELD_BOOL: *(bool *)at = most; break;
		case FIELD_ENUM: *(uint32_t *)at = (uint32_t)value; break;
		case FIELD_TEXT:
		case FIELD_BYTES: *(struct str *)at = (struct str){ filler, value }; break;
		case FIELD_U64:
		case FIELD_I64: *(uint64_t *)at = value; break;
		}
	}
}

static void assert_same(const struct message *a, const struct message *b)
{
	const struct message_row *row = message_row(a->id);

	assert_int_equal(a->id, b->id);
	for (size_t i = 0; i < row->field_count; i++) {
		const char *at = (const char *)a + offsetof(struct message, credential);
		const char *bt = (const char *)b + offsetof(struct message, credential);
		size_t offset = row->fields[i].offset;

		switch (row->fields[i].type) {
		case FIELD_BOOL: assert_int_equal(at[offset], bt[offset]); break;
		case FIELD_ENUM: assert_memory_equal(at + offset, bt + offset, 4); break;
		case FIELD_TEXT:
		case FIELD_BYTES:
			assert_true(str_equal(*(const struct str *)(at + offset),
			    *(const struct str *)(bt + offset)));
			break;
		case FIELD_U64:
		case FIELD_I64: assert_memory_equal(at + offset, bt + offset, 8); break;
		}
	}
}

static void every_message_goes_round_at_both_bounds(void **state)
{
	(void)state;
	for (int id = 0; id < MSG_COUNT; id++)
		for (int most = 0; most < 2; most++) {
			struct buf packet = buf_make(MESSAGE_MAX_BYTES);
			struct message in, out;
			struct err err = { "" };

			fill(&in, (enum message_id)id, most);
			if (message_encode(in.id, body_of(&in), &packet, &err))
				fail_msg("%s", err.text);
			if (message_decode(buf_str(&packet), &out, &err))
				fail_msg("%s", err.text);
			assert_same(&in, &out);
			buf_free(&packet);
		}
}

static void out_of_bounds_never_leaves(void **state)
{
	struct msg_permit permit = { .term = (1ULL << 53) + 1 };
	struct msg_mirror_pause pause = { .why = { filler, 129 } };
	struct msg_barrier_asked barrier = { .handover = STR_LIT("\xff") };
	struct buf packet = buf_make(MESSAGE_MAX_BYTES);
	struct err err;

	(void)state;
	assert_int_equal(message_encode(MSG_PERMIT, &permit, &packet, &err), -1);
	assert_string_equal(
	    err.text, "PERMIT.term: 9007199254740993 is not in 0..9007199254740992");
	buf_clear(&packet);
	memset(filler, 'x', 129);
	assert_int_equal(message_encode(MSG_MIRROR_PAUSE, &pause, &packet, &err), -1);
	assert_string_equal(err.text, "MIRROR_PAUSE.why: 129 bytes, at most 128");
	buf_clear(&packet);
	assert_int_equal(message_encode(MSG_BARRIER_ASKED, &barrier, &packet, &err), -1);
	assert_string_equal(err.text, "BARRIER_ASKED.handover: expected UTF-8 without NUL");
	buf_free(&packet);
}

/* Each prefix, each single-byte change and each appended byte of a good packet: decoding may only
 * succeed when the result encodes back to the same meaning. */
static void changed_packets_do_no_harm(void **state)
{
	struct msg_worker_seen seen = {
		.worker = 3, .state = WORKER_OK, .term = 5, .slot = 1, .seen_ns = 1234567890123
	};
	struct buf good = buf_make(4096);
	struct message out;
	struct err err;

	(void)state;
	assert_int_equal(message_encode(MSG_WORKER_SEEN, &seen, &good, &err), 0);
	for (size_t n = 0; n < good.len; n++)
		assert_int_equal(message_decode((struct str){ good.data, n }, &out, &err), -1);
	for (size_t at = 0; at < good.len; at++)
		for (int value = 0; value < 256; value++) {
			char *copy = malloc(good.len); /* exact size: ASan sees each overrun */

			assert_non_null(copy);
			memcpy(copy, good.data, good.len);
			copy[at] = (char)value;
			if (message_decode((struct str){ copy, good.len }, &out, &err) == 0)
				assert_true(out.id < MSG_COUNT);
			free(copy);
		}
	buf_append(&good, "\xc0", 1);
	assert_int_equal(message_decode(buf_str(&good), &out, &err), -1);
	buf_free(&good);
}

static void hostile_structures_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
	} rows[] = {
		{ "", 0 }, { "\x92", 1 }, { "\x93\x00\x80", 3 },        /* array of 3 */
		{ "\x92\xcf\x00\x00\x00\x00\x00\x00\x00\x01\x80", 11 }, /* number of 8 bytes */
		{ "\x92\x00\xdf\xff\xff\xff\xff", 7 },                  /* map of 4 billion */
		{ "\x92\x00\xde\xff\xff", 5 },                          /* map of 65535 */
		{ "\x92\x00\x81\xa1x\xdb\xff\xff\xff\xff", 10 },        /* text of 4 GiB */
		{ "\x92\x00\x81\xa1x\xc6\xff\xff\xff\xff", 10 },        /* bytes of 4 GiB */
		{ "\x92\x00\x81\xa1x\x91\x00", 7 },                     /* nested array */
		{ "\x92\x00\x81\xa1x\x81\xa1y\x00", 9 },                /* nested map */
		{ "\x92\x00\x81\xa1x\xc0", 6 },                         /* nil */
		{ "\x92\x00\x81\xa1x\xca\x00\x00\x00\x00", 10 },        /* float */
		{ "\x92\x00\x81\xa1x\xd4\x00\x00", 8 },                 /* extension */
		{ "\x92\x00\x81\x01\x00", 5 },                          /* integer key */
		{ "\x92\x00\x80\x00", 4 },                              /* trailing byte */
		{ "\x92\x7f\x80", 3 },                                  /* unknown message */
		{ "\x92\x00\x80", 3 },                                  /* fields missing */
	};
	struct message out;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *copy = malloc(rows[i].n + 1);

		assert_non_null(copy);
		memcpy(copy, rows[i].bytes, rows[i].n);
		assert_int_equal(message_decode((struct str){ copy, rows[i].n }, &out, &err), -1);
		assert_true(err.text[0] != '\0');
		free(copy);
	}
}

static void oversized_packet_of_a_small_message(void **state)
{
	struct msg_permit permit = { .term = 1 };
	struct buf packet = buf_make(MESSAGE_MAX_BYTES);
	struct message out;
	struct err err;

	(void)state;
	assert_int_equal(message_encode(MSG_PERMIT, &permit, &packet, &err), 0);
	while (packet.len < message_row(MSG_PERMIT)->limit + 10)
		buf_append(&packet, "\0", 1);
	assert_int_equal(message_decode(buf_str(&packet), &out, &err), -1);
	buf_free(&packet);
}

static void rights_follow_the_table(void **state)
{
	(void)state;
	assert_true(message_may(MSG_PERMIT, ROLE_ELECTOR, ROLE_PUBLISHER));
	assert_false(message_may(MSG_PERMIT, ROLE_SYNCER, ROLE_PUBLISHER));
	assert_false(message_may(MSG_PERMIT, ROLE_ELECTOR, ROLE_SYNCER));
	assert_false(message_may((enum message_id)MSG_COUNT, ROLE_ELECTOR, ROLE_SYNCER));
	/* F1: the monitor sends nothing to anybody. */
	for (int id = 0; id < MSG_COUNT; id++)
		assert_false(message_row((enum message_id)id)->senders & ROLE_BIT(ROLE_MONITOR));
}

static void dialed_carries_a_socket_iff_ok(void **state)
{
	struct message message = { .id = MSG_DIALED };

	(void)state;
	message.dialed.outcome = DIAL_OK;
	assert_true(message_wants_fd(&message));
	message.dialed.outcome = DIAL_TIMEOUT;
	assert_false(message_wants_fd(&message));
	message.id = MSG_PERMIT;
	assert_false(message_wants_fd(&message));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_message_goes_round_at_both_bounds),
		cmocka_unit_test(out_of_bounds_never_leaves),
		cmocka_unit_test(changed_packets_do_no_harm),
		cmocka_unit_test(hostile_structures_are_refused),
		cmocka_unit_test(oversized_packet_of_a_small_message),
		cmocka_unit_test(rights_follow_the_table),
		cmocka_unit_test(dialed_carries_a_socket_iff_ok),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
