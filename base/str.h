/*
 * A view of characters that somebody else owns: pointer and length, not terminated. Messages and
 * parsers hand out views; who keeps a value copies it. Nothing here allocates.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str {
	const char *p;
	size_t n;
};

/* A view of a terminated string; NULL gives the empty view. */
struct str str_of(const char *text);
bool str_equal(struct str a, struct str b);
/* Copies and terminates. False (and an empty dst) when it does not fit or holds a NUL: a cut
 * identity or endpoint is another identity or endpoint. */
bool str_copy(char *dst, size_t size, struct str src);
/* At most so many bytes of it, not ending inside a character; what is cut must be well-formed. */
struct str str_cut(struct str text, size_t most);
/* Decimal digits only, no sign, no space, no overflow. False: *value untouched. */
bool str_to_u64(struct str text, uint64_t *value);
/* True when every byte belongs to well-formed UTF-8 (RFC 3629: no surrogates, nothing overlong). */
bool str_is_utf8(struct str text);

#define STR_LIT(text) ((struct str){ (text), sizeof(text) - 1 })
/* For printf: "%.*s". */
#define STR_ARG(s) (int)(s).n, (s).p

#endif
