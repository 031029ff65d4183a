/*
 * Bounded JSON on top of jansson: what comes from a server is untrusted. Depth and size are
 * limited, duplicate keys refused, and the getters below never fail: a value that is absent or of
 * another type is the default. Numbers keep their meaning whatever their form: 64-bit integers are
 * integers, and every other number (1e3, 0.10, 2^70, -0) is kept as it was written, as a marked
 * string that kube_json_put writes back; jansson's reals would change it.
 */
#ifndef KUBE_JSON_H
#define KUBE_JSON_H

#include <jansson.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* A new reference, or NULL with the reason. At most 32 MiB and a depth of 128. */
json_t *kube_json_parse(struct str text, struct err *err);
/* Compact text of the value appended; keys keep their order. Sorted is for hashing: there equal
 * numbers are equal texts, 1e3 is 1000. */
void kube_json_put(struct buf *out, const json_t *value);
void kube_json_put_sorted(struct buf *out, const json_t *value);
/* The value at a path of keys ("metadata", "name", NULL), borrowed; NULL when there is none. */
#define kube_json_at(value, ...) kube_json_path(value, (const char *const[]){ __VA_ARGS__ })
/* The same; keys ends with NULL. */
json_t *kube_json_path(const json_t *value, const char *const *keys);
/* The string member, "" when absent or no string. Borrowed from the value. */
const char *kube_json_text(const json_t *object, const char *key);
int64_t kube_json_integer(const json_t *object, const char *key, int64_t otherwise);

#endif
