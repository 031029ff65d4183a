/*
 * Bounded JSON (see the header). The one door through which text of a server becomes values; it
 * knows nothing of Kubernetes.
 */
#include "kube/json.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)32 * 1024 * 1024)
#define MAX_DEPTH 1024 /* jansson recurses, up to 2048 */

/* Marked strings begin with a NUL, which no name or value of Kubernetes does; one that does is
 * marked as itself. */
#define MARK_NUMBER "\\u0000#"
#define MARK_TEXT   "\\u0000$"
#define MARK_BYTES  (sizeof(MARK_NUMBER) - 1)

static bool is_number_byte(char c)
{
	return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

static size_t number_end(struct str text, size_t at)
{
	while (at < text.n && is_number_byte(text.p[at]))
		at++;
	return at;
}

/* An integer of 64 bits, which would be written in the same form. */
static bool is_plain(struct str number)
{
	bool negative = number.n && number.p[0] == '-';
	size_t digits = number.n - negative;

	if (digits == 0 || digits > 19 || (negative && number.p[1] == '0'))
		return false;
	for (size_t i = negative; i < number.n; i++)
		if (number.p[i] < '0' || number.p[i] > '9')
			return false;
	return digits < 19 ||
	       memcmp(number.p + negative, negative ? "9223372036854775808" : "9223372036854775807",
		   19) <= 0;
}

/* RFC 8259's grammar: a marked number escapes jansson's eye. */
static bool is_number(struct str text)
{
	size_t i = 0, start;

	if (i < text.n && text.p[i] == '-')
		i++;
	if (i < text.n && text.p[i] == '0')
		i++;
	else
		while (i < text.n && text.p[i] >= '0' && text.p[i] <= '9')
			i++;
	if (i == 0 || text.p[i - 1] == '-')
		return false;
	if (i < text.n && text.p[i] == '.') {
		for (start = ++i; i < text.n && text.p[i] >= '0' && text.p[i] <= '9'; i++)
			;
		if (i == start)
			return false;
	}
	if (i < text.n && (text.p[i] == 'e' || text.p[i] == 'E')) {
		if (++i < text.n && (text.p[i] == '-' || text.p[i] == '+'))
			i++;
		for (start = i; i < text.n && text.p[i] >= '0' && text.p[i] <= '9'; i++)
			;
		if (i == start)
			return false;
	}
	return i == text.n;
}

/* The byte behind a string whose quote is at `at`. */
static size_t string_end(struct str text, size_t at)
{
	for (at++; at < text.n && text.p[at] != '"'; at++)
		if (text.p[at] == '\\')
			at++;
	return at < text.n ? at + 1 : text.n;
}

static bool begins_with_nul(struct str text, size_t at)
{
	return text.n - at > 7 && memcmp(text.p + at, "\"\\u0000", 7) == 0;
}

/* One look at the text: its deepest nesting (jansson itself recurses up to 2048 levels), and
 * whether anything in it must be marked. */
static unsigned look_at(struct str text, bool *to_mark)
{
	unsigned depth = 0, deepest = 0;
	size_t end;

	for (size_t i = 0; i < text.n;) {
		char c = text.p[i];

		if (c == '"') {
			*to_mark = *to_mark || begins_with_nul(text, i);
			i = string_end(text, i);
			continue;
		}
		if (c == '-' || (c >= '0' && c <= '9')) {
			end = number_end(text, i);
			*to_mark = *to_mark || !is_plain((struct str){ text.p + i, end - i });
			i = end;
			continue;
		}
		if ((c == '{' || c == '[') && ++depth > deepest)
			deepest = depth;
		else if ((c == '}' || c == ']') && depth > 0)
			depth--;
		i++;
	}
	return deepest;
}

static void mark(struct buf *out, struct str text)
{
	size_t done = 0, end;

	for (size_t i = 0; i < text.n; i = end) {
		char c = text.p[i];
		bool number = c == '-' || (c >= '0' && c <= '9');

		end = c == '"' ? string_end(text, i) : number ? number_end(text, i) : i + 1;
		if (c == '"' && begins_with_nul(text, i)) {
			buf_append(out, text.p + done, i + 1 - done);
			buf_puts(out, MARK_TEXT);
			done = i + 7;
		} else if (number && !is_plain((struct str){ text.p + i, end - i }) &&
			   is_number((struct str){ text.p + i, end - i })) {
			buf_append(out, text.p + done, i - done);
			buf_puts(out, "\"" MARK_NUMBER);
			buf_append(out, text.p + i, end - i);
			buf_puts(out, "\"");
			done = end;
		}
	}
	buf_append(out, text.p + done, text.n - done);
}

#define MOST_EXPONENT 1000000000L

/* The value of a number in one form: no fraction's or exponent's zeros, and an integer in full
 * where that is short. */
static void put_value(struct buf *out, struct str number)
{
	char digits[800];
	size_t n = 0, i = number.p[0] == '-';
	long exponent = 0, shown = 0, written;
	bool point = false;

	for (; i < number.n && (number.p[i] | 0x20) != 'e'; i++) {
		if (number.p[i] == '.') {
			point = true;
			continue;
		}
		exponent -= point;
		if (n == 0 && number.p[i] == '0')
			continue;
		if (n < sizeof(digits))
			digits[n++] = number.p[i];
		else
			exponent++; /* no API server stores so many */
	}
	if (i < number.n) {
		written = strtol(number.p + i + 1, NULL, 10);
		/* Beyond it no two numbers differ that an API server would tell apart. */
		written = written > MOST_EXPONENT ? MOST_EXPONENT : written;
		exponent += written < -MOST_EXPONENT ? -MOST_EXPONENT : written;
	}
	for (; n && digits[n - 1] == '0'; n--)
		exponent++;
	if (n && number.p[0] == '-')
		buf_puts(out, "-");
	buf_append(out, n ? digits : "0", n ? n : 1);
	if (n && exponent > 0 && exponent + (long)n <= 21)
		for (; shown < exponent; shown++)
			buf_puts(out, "0");
	else if (n && exponent)
		buf_printf(out, "e%ld", exponent);
}

/* The text as jansson wrote it, marked strings as what they stand for. */
static void unmark(struct buf *out, struct str text, bool by_value)
{
	size_t done = 0, end;

	for (size_t i = 0; i < text.n; i = end) {
		end = text.p[i] == '"' ? string_end(text, i) : i + 1;
		if (text.p[i] != '"' || end - i < MARK_BYTES + 2 || !begins_with_nul(text, i))
			continue;
		buf_append(out, text.p + done, i - done);
		done = end;
		if (text.p[i + MARK_BYTES] == '#') {
			struct str number = { text.p + i + 1 + MARK_BYTES,
				end - i - 2 - MARK_BYTES };

			if (by_value)
				put_value(out, number);
			else
				buf_append(out, number.p, number.n);
		} else {
			buf_puts(out, "\"\\u0000");
			buf_append(out, text.p + i + 1 + MARK_BYTES, end - i - 1 - MARK_BYTES);
		}
	}
	buf_append(out, text.p + done, text.n - done);
}

json_t *kube_json_parse(struct str text, struct err *err)
{
	struct buf marked = buf_make_secret(2 * MAX_BYTES);
	bool to_mark = false;
	json_error_t error;
	json_t *value;

	if (text.n > MAX_BYTES) {
		err_set(err, "JSON of %zu bytes, at most %zu are taken", text.n, MAX_BYTES);
		return NULL;
	}
	if (look_at(text, &to_mark) > MAX_DEPTH) {
		err_set(err, "JSON nested deeper than %d", MAX_DEPTH);
		return NULL;
	}
	if (to_mark) {
		mark(&marked, text);
		text = buf_str(&marked);
		if (marked.failed)
			text.n = 0; /* an error below */
	}
	value = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
	/* jansson's text quotes what it could not read, which may be a secret: position only. */
	if (!value)
		err_set(err, "not JSON: line %d, column %d, byte %d", error.line, error.column,
		    error.position);
	buf_free(&marked);
	return value;
}

static int put_bytes(const char *bytes, size_t n, void *out)
{
	buf_append(out, bytes, n);
	return 0;
}

static void put(struct buf *out, const json_t *value, bool sorted)
{
	struct buf text = buf_make_secret(out->max);

	if (json_dump_callback(value, put_bytes, &text,
		JSON_COMPACT | JSON_ENCODE_ANY | (sorted ? JSON_SORT_KEYS : 0)) != 0 ||
	    text.failed)
		out->failed = true;
	else if (text.len && memmem(text.data, text.len, "\"\\u0000", 7))
		unmark(out, buf_str(&text), sorted);
	else
		buf_append(out, text.data ? text.data : "", text.len);
	buf_free(&text);
}

void kube_json_put(struct buf *out, const json_t *value)
{
	put(out, value, false);
}

void kube_json_put_sorted(struct buf *out, const json_t *value)
{
	put(out, value, true);
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
