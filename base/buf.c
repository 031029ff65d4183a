/*
 * Bounded buffers (see the header). The one place that grows memory for text.
 */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct buf buf_make(size_t max)
{
	return (struct buf){ .max = max };
}

struct buf buf_make_secret(size_t max)
{
	return (struct buf){ .max = max, .secret = true };
}

/* Room for n more bytes and the NUL. A secret moves by copy and wipe: realloc would leave the old
 * block readable in the heap. */
static bool buf_reserve(struct buf *buf, size_t n)
{
	size_t cap = buf->cap ? buf->cap : 64;
	char *grown;

	if (buf->failed || n > buf->max - buf->len) {
		buf->failed = true;
		return false;
	}
	if (buf->data && buf->len + n < buf->cap)
		return true;
	while (cap <= buf->len + n)
		cap *= 2;
	grown = malloc(cap);
	if (!grown) {
		buf->failed = true;
		return false;
	}
	if (buf->data) {
		memcpy(grown, buf->data, buf->len + 1);
		if (buf->secret)
			explicit_bzero(buf->data, buf->cap);
		free(buf->data);
	}
	buf->data = grown;
	buf->cap = cap;
	return true;
}

void buf_append(struct buf *buf, const void *bytes, size_t n)
{
	if (!buf_reserve(buf, n))
		return;
	if (n)
		memcpy(buf->data + buf->len, bytes, n);
	buf->len += n;
	buf->data[buf->len] = '\0';
}

void buf_puts(struct buf *buf, const char *text)
{
	buf_append(buf, text, strlen(text));
}

void buf_printf(struct buf *buf, const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	if (n < 0 || !buf_reserve(buf, (size_t)n)) {
		buf->failed = true;
		return;
	}
	va_start(arguments, format);
	(void)vsnprintf(buf->data + buf->len, (size_t)n + 1, format, arguments);
	va_end(arguments);
	buf->len += (size_t)n;
}

void buf_json_string(struct buf *buf, struct str text)
{
	buf_puts(buf, "\"");
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (c == '"' || c == '\\')
			buf_printf(buf, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			buf_printf(buf, "\\u%04x", c);
		else
			buf_append(buf, text.p + i, 1);
	}
	buf_puts(buf, "\"");
}

void buf_clear(struct buf *buf)
{
	if (buf->data && buf->secret)
		explicit_bzero(buf->data, buf->cap);
	buf->len = 0;
	buf->failed = false;
	if (buf->data)
		buf->data[0] = '\0';
}

void buf_free(struct buf *buf)
{
	size_t max = buf->max;
	bool secret = buf->secret;

	buf_clear(buf);
	free(buf->data);
	*buf = (struct buf){ .max = max, .secret = secret };
}

struct str buf_str(const struct buf *buf)
{
	return buf->data ? (struct str){ buf->data, buf->len } : (struct str){ "", 0 };
}
