/*
 * The one base64 of this tree (see the header). No I/O, no table that depends on a secret's bytes
 * but the alphabet.
 */
#include "base/base64.h"

#include <stdint.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_put(struct buf *out, struct str bytes)
{
	for (size_t i = 0; i < bytes.n; i += 3) {
		size_t left = bytes.n - i;
		unsigned group = (unsigned)(unsigned char)bytes.p[i] << 16;
		char four[4];

		if (left > 1)
			group |= (unsigned)(unsigned char)bytes.p[i + 1] << 8;
		if (left > 2)
			group |= (unsigned char)bytes.p[i + 2];
		four[0] = alphabet[group >> 18];
		four[1] = alphabet[group >> 12 & 63];
		four[2] = left > 1 ? alphabet[group >> 6 & 63] : '=';
		four[3] = left > 2 ? alphabet[group & 63] : '=';
		buf_append(out, four, sizeof(four));
	}
}

static int value_of(char c, enum base64_form form)
{
	const char *last_two = form == BASE64_URL ? "-_" : "+/";

	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == last_two[0] ? 62 : c == last_two[1] ? 63 : -1;
}

static bool decode(struct buf *out, struct str text, enum base64_form form)
{
	uint32_t bits = 0;
	unsigned have = 0;
	size_t digits = 0, padding = 0;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i], byte;
		int value = value_of(c, form);

		if (form == BASE64_SPACED && c && strchr(" \t\r\n", c))
			continue;
		if (form != BASE64_URL && c == '=' && padding < 2) {
			padding++;
			continue;
		}
		if (value < 0 || padding > 0)
			return false;
		digits++;
		bits = (bits << 6 | (uint32_t)value) & 0xffff;
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		byte = (char)(bits >> have);
		buf_append(out, &byte, 1);
	}
	if (digits % 4 == 1 || (bits & ((1u << have) - 1)) != 0 || out->failed)
		return false;
	return form == BASE64_URL || (digits + padding) % 4 == 0;
}

bool base64_get(struct buf *out, struct str text, enum base64_form form)
{
	size_t before = out->len;

	if (decode(out, text, form))
		return true;
	if (out->data) {
		explicit_bzero(out->data + before, out->len - before);
		out->len = before;
	}
	return false;
}
