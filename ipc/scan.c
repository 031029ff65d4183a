/*
 * A walk over msgpack bytes (see the header; format: the msgpack specification). It reads lengths,
 * follows none, allocates nothing. Extension types, floats, nil, nested containers and binary keys
 * have no place in a message and are refused.
 * Pitfalls: P30, P31, P32, P33.
 */
#include "ipc/scan.h"

#include <stdint.h>

struct cursor {
	const unsigned char *p;
	size_t n, at;
};

static bool take(struct cursor *c, size_t n)
{
	if (n > c->n - c->at)
		return false;
	c->at += n;
	return true;
}

/* Reads a big-endian length of 1, 2 or 4 bytes. */
static bool take_length(struct cursor *c, size_t bytes, size_t *length)
{
	size_t value = 0, from = c->at;

	if (!take(c, bytes))
		return false;
	for (size_t i = 0; i < bytes; i++)
		value = value << 8 | c->p[from + i];
	*length = value;
	return true;
}

/* One string; keys are strings of at most 31 bytes. */
static bool skip_text(struct cursor *c, bool key)
{
	unsigned char type;
	size_t length;

	if (!take(c, 1))
		return false;
	type = c->p[c->at - 1];
	if (type >= 0xa0 && type <= 0xbf)
		length = type & 0x1f;
	else if (key || type < 0xd9 || type > 0xdb || !take_length(c, 1u << (type - 0xd9), &length))
		return false;
	return take(c, length);
}

static bool skip_scalar(struct cursor *c)
{
	unsigned char type;
	size_t length;

	if (c->at >= c->n)
		return false;
	type = c->p[c->at];
	if ((type >= 0xa0 && type <= 0xbf) || (type >= 0xd9 && type <= 0xdb))
		return skip_text(c, false);
	c->at++;
	if (type <= 0x7f || type >= 0xe0 || type == 0xc2 || type == 0xc3)
		return true;
	if (type >= 0xcc && type <= 0xd3)
		return take(c, 1u << (type & 3));
	if (type >= 0xc4 && type <= 0xc6)
		return take_length(c, 1u << (type - 0xc4), &length) && take(c, length);
	return false;
}

static int fail(const struct cursor *c, struct err *err, const char *expected)
{
	return err_set(err, "byte %zu of %zu: expected %s", c->at, c->n, expected);
}

int scan_packet(struct str packet, struct err *err)
{
	struct cursor c = { (const unsigned char *)packet.p, packet.n, 0 };
	unsigned char head;
	size_t fields;

	if (!take(&c, 1) || c.p[0] != 0x92)
		return fail(&c, err, "an array of 2");
	if (c.at >= c.n || (c.p[c.at] > 0x7f && c.p[c.at] != 0xcc))
		return fail(&c, err, "a message number");
	if (!skip_scalar(&c))
		return fail(&c, err, "a message number");
	if (!take(&c, 1))
		return fail(&c, err, "a map");
	head = c.p[c.at - 1];
	if (head >= 0x80 && head <= 0x8f)
		fields = head & 0x0f;
	else if (head != 0xde || !take_length(&c, 2, &fields))
		return fail(&c, err, "a map");
	if (fields > SCAN_MAX_FIELDS)
		return fail(&c, err, "at most 64 fields");
	for (size_t i = 0; i < fields; i++) {
		if (!skip_text(&c, true))
			return fail(&c, err, "a field name");
		if (!skip_scalar(&c))
			return fail(&c, err, "an integer, boolean, text or bytes");
	}
	return c.at == c.n ? 0 : fail(&c, err, "the end of the packet");
}
