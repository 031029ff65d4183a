/*
 * Bounded JSON (see the header). The one door through which text of a server becomes values; it
 * knows nothing of Kubernetes.
 */
#include "kube/json.h"

#include <string.h>

#define MAX_BYTES ((size_t)32 * 1024 * 1024)
#define MAX_DEPTH 128

/* The deepest nesting of brackets outside strings; jansson itself recurses up to 2048 levels. */
static unsigned depth_of(struct str text)
{
	unsigned depth = 0, deepest = 0;
	bool quoted = false;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (quoted) {
			if (c == '\\')
				i++;
			else if (c == '"')
				quoted = false;
		} else if (c == '"') {
			quoted = true;
		} else if (c == '{' || c == '[') {
			if (++depth > deepest)
				deepest = depth;
		} else if ((c == '}' || c == ']') && depth > 0) {
			depth--;
		}
	}
	return deepest;
}

json_t *kube_json_parse(struct str text, struct err *err)
{
	json_error_t error;
	json_t *value;

	if (text.n > MAX_BYTES) {
		err_set(err, "JSON of %zu bytes, at most %zu are taken", text.n, MAX_BYTES);
		return NULL;
	}
	if (depth_of(text) > MAX_DEPTH) {
		err_set(err, "JSON nested deeper than %d", MAX_DEPTH);
		return NULL;
	}
	value = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
	/* jansson's text quotes what it could not read, which may be a secret: position only. */
	if (!value)
		err_set(err, "not JSON: line %d, column %d, byte %d", error.line, error.column,
		    error.position);
	return value;
}

static int put_bytes(const char *bytes, size_t n, void *out)
{
	buf_append(out, bytes, n);
	return 0;
}

static void put(struct buf *out, const json_t *value, size_t flags)
{
	if (json_dump_callback(value, put_bytes, out, flags | JSON_COMPACT | JSON_ENCODE_ANY) != 0)
		out->failed = true;
}

void kube_json_put(struct buf *out, const json_t *value)
{
	put(out, value, 0);
}

void kube_json_put_sorted(struct buf *out, const json_t *value)
{
	put(out, value, JSON_SORT_KEYS);
}

json_t *kube_json_path(const json_t *value, const char *const *keys)
{
	for (; value && *keys; keys++)
		value = json_object_get(value, *keys);
	return (json_t *)value;
}

const char *kube_json_text(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	const char *text = json_string_value(value);

	/* A text with a NUL inside would be read as a shorter, other one. */
	if (!text || strlen(text) != json_string_length(value))
		return "";
	return text;
}

int64_t kube_json_integer(const json_t *object, const char *key, int64_t otherwise)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) ? (int64_t)json_integer_value(value) : otherwise;
}
