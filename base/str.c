/*
 * Views of characters (see the header). No allocation, no locale, no I/O.
 */
#include "base/str.h"

#include <string.h>

struct str str_of(const char *text)
{
	return text ? (struct str){ text, strlen(text) } : (struct str){ "", 0 };
}

bool str_equal(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool str_copy(char *dst, size_t size, struct str src)
{
	dst[0] = '\0';
	if (src.n >= size || (src.n && memchr(src.p, '\0', src.n)))
		return false;
	if (src.n)
		memcpy(dst, src.p, src.n);
	dst[src.n] = '\0';
	return true;
}

struct str str_cut(struct str text, size_t most)
{
	size_t n = most;

	if (text.n <= most)
		return text;
	while (n && ((unsigned char)text.p[n] & 0xc0) == 0x80)
		n--;
	return (struct str){ text.p, n };
}

bool str_to_u64(struct str text, uint64_t *value)
{
	uint64_t sum = 0;

	if (text.n == 0)
		return false;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] < '0' || text.p[i] > '9')
			return false;
		if (__builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(text.p[i] - '0'), &sum))
			return false;
	}
	*value = sum;
	return true;
}

/* Length of the well-formed sequence at p (n bytes are left), 0 when there is none: the table of
 * RFC 3629, section 4, as ranges of the second byte. */
static size_t utf8_sequence(const unsigned char *p, size_t n)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t length;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	length = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (n < length || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

bool str_is_utf8(struct str text)
{
	const unsigned char *p = (const unsigned char *)text.p;
	size_t left = text.n;

	while (left > 0) {
		size_t length = utf8_sequence(p, left);

		if (length == 0)
			return false;
		p += length;
		left -= length;
	}
	return true;
}
