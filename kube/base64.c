/*
 * Base64 (see the header). It must leave no copy of what it converts: tokens pass through here.
 */
#include "kube/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void kube_base64_put(struct buf *out, struct str bytes)
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

static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static size_t padding(struct str text)
{
	if (text.n < 2 || text.p[text.n - 1] != '=')
		return 0;
	return text.p[text.n - 2] == '=' ? 2 : 1;
}

/* The 24 bits of one group, of which the last `pad` characters stand for nothing; -1: it is none.
 */
static long group_of(const char *four, size_t pad)
{
	long group = 0;

	for (size_t i = 0; i < 4; i++) {
		int value = i < 4 - pad ? value_of(four[i]) : 0;

		if (value < 0)
			return -1;
		group = group << 6 | value;
	}
	/* Bits behind the last byte must be 0, else two texts would mean one value. */
	if ((pad == 1 && group & 0xff) || (pad == 2 && group & 0xffff))
		return -1;
	return group;
}

bool kube_base64_get(struct buf *out, struct str text)
{
	size_t pad = padding(text);

	if (text.n % 4 != 0)
		return false;
	for (size_t i = 0; i < text.n; i += 4)
		if (group_of(text.p + i, i + 4 == text.n ? pad : 0) < 0)
			return false;
	for (size_t i = 0; i < text.n; i += 4) {
		size_t missing = i + 4 == text.n ? pad : 0;
		long group = group_of(text.p + i, missing);
		char three[3] = { (char)(group >> 16), (char)(group >> 8), (char)group };

		buf_append(out, three, sizeof(three) - missing);
	}
	return true;
}
