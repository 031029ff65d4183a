/*
 * The one base64 decoder of the loader (see the header). Strict about everything but white space:
 * no foreign character, nothing behind the padding, no left-over bits. No I/O.
 */
#include "loader/base64.h"

#include <stdint.h>
#include <string.h>

static int value_of(char c, const char *last_two)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == last_two[0] ? 62 : c == last_two[1] ? 63 : -1;
}

static bool decode(struct str text, const char *last_two, bool padded, struct buf *out)
{
	uint32_t bits = 0;
	unsigned have = 0, digits = 0, padding = 0;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i], byte;
		int value = value_of(c, last_two);

		if (padded && c && strchr(" \t\r\n", c))
			continue;
		if (padded && c == '=' && padding < 2) {
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
	return !padded || (digits + padding) % 4 == 0;
}

bool base64_decode(struct str text, struct buf *out)
{
	return decode(text, "+/", true, out);
}

bool base64url_decode(struct str text, struct buf *out)
{
	return decode(text, "-_", false, out);
}
