/*
 * A bounded, growing buffer. Appending never fails loudly: past `max` bytes or out of memory it
 * sets `failed` and keeps what was there, and the caller checks once at the end. A secret buffer
 * wipes each block that it gives back, also when it grows (F30).
 * The buffer owns its bytes; `data` moves when it grows and is NUL-terminated when not NULL.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct buf {
	char *data;
	size_t len, cap, max;
	bool secret, failed;
};

/* An empty buffer of at most max bytes (the terminating NUL not counted). Allocates nothing. */
struct buf buf_make(size_t max);
struct buf buf_make_secret(size_t max);
void buf_append(struct buf *buf, const void *bytes, size_t n);
void buf_puts(struct buf *buf, const char *text);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A JSON string with its quotes: control characters, quote and backslash escaped (RFC 8259). */
void buf_json_string(struct buf *buf, struct str text);
/* Forgets the content, keeps the memory; wipes it when secret. */
void buf_clear(struct buf *buf);
void buf_free(struct buf *buf);
struct str buf_str(const struct buf *buf);

#endif
