/*
 * The table of messages.def and the one encoder and decoder for all of them (see the header).
 * No I/O. A message is described by rows; there is no code per message.
 */
#include "ipc/messages.h"

#include <inttypes.h>
#include <msgpack.h>
#include <string.h>

#include "base/check.h"
#include "ipc/scan.h"

#define FIELD(name, field, type, least, most)                                                      \
	{ #field, type, offsetof(struct msg_##name, field), (uint64_t)(least), (uint64_t)(most) },
#define MESSAGE(ID, name, ...)   static const struct field_row fields_##name[] = {
#define U64(name, field, ...)    FIELD(name, field, FIELD_U64, __VA_ARGS__)
#define I64(name, field, ...)    FIELD(name, field, FIELD_I64, __VA_ARGS__)
#define BOOL(name, field)        FIELD(name, field, FIELD_BOOL, 0, 1)
#define ENUM(name, field, last)  FIELD(name, field, FIELD_ENUM, 0, last)
#define TEXT(name, field, most)  FIELD(name, field, FIELD_TEXT, 0, most)
#define BYTES(name, field, most) FIELD(name, field, FIELD_BYTES, 0, most)
#define MESSAGE_END(ID, name)                                                                      \
	}                                                                                          \
	;
#include "ipc/messages.def"

static const struct message_row rows[MSG_COUNT] = {
#define MESSAGE(ID, name, from, to, fd, queue, limit)                                              \
	[MSG_##ID] = { #ID, from, to, fd, QUEUE_##queue, limit, fields_##name,                     \
		sizeof(fields_##name) / sizeof(fields_##name[0]) },
#include "ipc/messages.def"
};

const struct message_row *message_row(enum message_id id)
{
	CHECK((unsigned)id < MSG_COUNT);
	return &rows[id];
}

bool message_may(enum message_id id, enum role from, enum role to)
{
	return (unsigned)id < MSG_COUNT && (rows[id].senders & ROLE_BIT(from)) &&
	       (rows[id].receivers & ROLE_BIT(to));
}

bool message_wants_fd(const struct message *message)
{
	enum message_fd fd = message_row(message->id)->fd;

	return fd == FD_ONE || (fd == FD_IF_OK && message->dialed.outcome == DIAL_OK);
}

static int bad_field(struct err *err, const struct message_row *row, const struct field_row *field,
    const char *expected)
{
	return err_set(err, "%s.%s: expected %s", row->name, field->name, expected);
}

static int check_integer(
    struct err *err, const struct message_row *row, const struct field_row *field, uint64_t value)
{
	bool fits = field->type == FIELD_I64 ? (int64_t)value >= (int64_t)field->least &&
						   (int64_t)value <= (int64_t)field->most
					     : value >= field->least && value <= field->most;

	if (fits)
		return 0;
	return field->type == FIELD_I64
		   ? err_set(err, "%s.%s: %" PRId64 " is not in %" PRId64 "..%" PRId64, row->name,
			 field->name, (int64_t)value, (int64_t)field->least, (int64_t)field->most)
		   : err_set(err, "%s.%s: %" PRIu64 " is not in %" PRIu64 "..%" PRIu64, row->name,
			 field->name, value, field->least, field->most);
}

/* The text itself is never named: it may be a secret. */
static int check_text(
    struct err *err, const struct message_row *row, const struct field_row *field, struct str text)
{
	if (text.n > field->most)
		return err_set(err, "%s.%s: %zu bytes, at most %" PRIu64, row->name, field->name,
		    text.n, field->most);
	if (field->type == FIELD_TEXT && text.n &&
	    (!str_is_utf8(text) || memchr(text.p, 0, text.n)))
		return bad_field(err, row, field, "UTF-8 without NUL");
	return 0;
}

static int write_buf(void *out, const char *bytes, size_t n)
{
	buf_append(out, bytes, n);
	return ((struct buf *)out)->failed ? -1 : 0;
}

static int encode_field(msgpack_packer *packer, const struct message_row *row,
    const struct field_row *field, const char *body, struct err *err)
{
	const void *at = body + field->offset;
	const struct str *text = at;
	uint64_t value = 0;

	msgpack_pack_str(packer, strlen(field->name));
	msgpack_pack_str_body(packer, field->name, strlen(field->name));
	switch (field->type) {
	case FIELD_TEXT:
		if (check_text(err, row, field, *text))
			return -1;
		msgpack_pack_str(packer, text->n);
		return msgpack_pack_str_body(packer, text->n ? text->p : "", text->n);
	case FIELD_BYTES:
		if (check_text(err, row, field, *text))
			return -1;
		msgpack_pack_bin(packer, text->n);
		return msgpack_pack_bin_body(packer, text->n ? text->p : "", text->n);
	case FIELD_BOOL:
		return *(const bool *)at ? msgpack_pack_true(packer) : msgpack_pack_false(packer);
	case FIELD_ENUM: value = *(const uint32_t *)at; break;
	case FIELD_U64:
	case FIELD_I64: value = *(const uint64_t *)at; break;
	}
	if (check_integer(err, row, field, value))
		return -1;
	return field->type == FIELD_I64 ? msgpack_pack_int64(packer, (int64_t)value)
					: msgpack_pack_uint64(packer, value);
}

int message_encode(enum message_id id, const void *body, struct buf *out, struct err *err)
{
	const struct message_row *row = message_row(id);
	msgpack_packer packer;

	msgpack_packer_init(&packer, out, write_buf);
	msgpack_pack_array(&packer, 2);
	msgpack_pack_uint64(&packer, id);
	msgpack_pack_map(&packer, row->field_count);
	for (size_t i = 0; i < row->field_count; i++)
		if (encode_field(&packer, row, &row->fields[i], body, err))
			return -1;
	if (out->failed || out->len > row->limit)
		return err_set(err, "%s: %zu bytes, at most %zu", row->name, out->len, row->limit);
	return 0;
}

/* msgpack-c reports a non-negative integer as POSITIVE_INTEGER however it was packed. */
static int decode_integer(const msgpack_object *value, const struct message_row *row,
    const struct field_row *field, uint64_t *out, struct err *err)
{
	if (value->type == MSGPACK_OBJECT_POSITIVE_INTEGER) {
		if (field->type == FIELD_I64 && value->via.u64 > INT64_MAX)
			return bad_field(err, row, field, "a signed integer of 64 bits");
		*out = value->via.u64;
	} else if (value->type == MSGPACK_OBJECT_NEGATIVE_INTEGER && field->type == FIELD_I64) {
		*out = (uint64_t)value->via.i64;
	} else {
		return bad_field(err, row, field, "an integer");
	}
	return check_integer(err, row, field, *out);
}

static int decode_field(const msgpack_object *value, const struct message_row *row,
    const struct field_row *field, char *body, struct err *err)
{
	void *at = body + field->offset;
	uint64_t number = 0;
	struct str text;

	switch (field->type) {
	case FIELD_TEXT:
		if (value->type != MSGPACK_OBJECT_STR)
			return bad_field(err, row, field, "text");
		text = (struct str){ value->via.str.ptr, value->via.str.size };
		*(struct str *)at = text;
		return check_text(err, row, field, text);
	case FIELD_BYTES:
		if (value->type != MSGPACK_OBJECT_BIN)
			return bad_field(err, row, field, "bytes");
		text = (struct str){ value->via.bin.ptr, value->via.bin.size };
		*(struct str *)at = text;
		return check_text(err, row, field, text);
	case FIELD_BOOL:
		if (value->type != MSGPACK_OBJECT_BOOLEAN)
			return bad_field(err, row, field, "true or false");
		*(bool *)at = value->via.boolean;
		return 0;
	case FIELD_ENUM:
		if (decode_integer(value, row, field, &number, err))
			return -1;
		*(uint32_t *)at = (uint32_t)number;
		return 0;
	case FIELD_U64:
	case FIELD_I64: return decode_integer(value, row, field, at, err);
	}
	return -1;
}

static int decode_fields(
    const msgpack_object *map, const struct message_row *row, char *body, struct err *err)
{
	if (map->type != MSGPACK_OBJECT_MAP || map->via.map.size != row->field_count)
		return err_set(err, "%s: expected exactly %zu fields", row->name, row->field_count);
	for (size_t i = 0; i < row->field_count; i++) {
		const msgpack_object_kv *pair = &map->via.map.ptr[i];
		struct str key = { pair->key.via.str.ptr, pair->key.via.str.size };

		if (pair->key.type != MSGPACK_OBJECT_STR ||
		    !str_equal(key, str_of(row->fields[i].name)))
			return bad_field(err, row, &row->fields[i], "this field here");
		if (decode_field(&pair->val, row, &row->fields[i], body, err))
			return -1;
	}
	return 0;
}

int message_decode(struct str packet, struct message *out, struct err *err)
{
	msgpack_unpacked unpacked;
	size_t offset = 0;
	const msgpack_object *root = &unpacked.data;
	int result = -1;

	memset(out, 0, sizeof(*out));
	if (scan_packet(packet, err))
		return -1;
	msgpack_unpacked_init(&unpacked);
	if (msgpack_unpack_next(&unpacked, packet.p, packet.n, &offset) != MSGPACK_UNPACK_SUCCESS ||
	    root->type != MSGPACK_OBJECT_ARRAY || root->via.array.size != 2 ||
	    root->via.array.ptr[0].type != MSGPACK_OBJECT_POSITIVE_INTEGER) {
		err_set(err, "not [number, fields]");
	} else if (root->via.array.ptr[0].via.u64 >= MSG_COUNT) {
		err_set(err, "message %" PRIu64 " is unknown, the last is %d",
		    root->via.array.ptr[0].via.u64, MSG_COUNT - 1);
	} else {
		out->id = (enum message_id)root->via.array.ptr[0].via.u64;
		result = packet.n > rows[out->id].limit
			     ? err_set(err, "%s: %zu bytes, at most %zu", rows[out->id].name,
				   packet.n, rows[out->id].limit)
			     : decode_fields(&root->via.array.ptr[1], &rows[out->id],
				   (char *)out + offsetof(struct message, credential), err);
	}
	msgpack_unpacked_destroy(&unpacked);
	return result;
}
