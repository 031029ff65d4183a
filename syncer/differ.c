/*
 * Two JSON values, field by field (see the header). Called by diff.c.
 */
#include "syncer/differ.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "kube/json.h"

#define NAMED     12
#define MAX_DEPTH 64
#define MAX_PATH  160

struct walk {
	struct buf *out;
	unsigned count;
	char path[MAX_PATH];
};

static void tell(struct walk *walk, const char *sign)
{
	if (walk->count++ >= NAMED)
		return;
	buf_puts(walk->out, walk->count > 1 ? ", " : "");
	buf_puts(walk->out, sign);
	buf_puts(walk->out, walk->path);
}

static bool equal(const json_t *a, const json_t *b)
{
	struct buf x = buf_make_secret(8u << 20), y = buf_make_secret(8u << 20);
	bool same;

	if (json_equal(a, b))
		return true;
	kube_json_put_sorted(&x, a); /* 1e3 is 1000 there */
	kube_json_put_sorted(&y, b);
	same = !x.failed && !y.failed && str_equal(buf_str(&x), buf_str(&y));
	buf_free(&x);
	buf_free(&y);
	return same;
}

/* The path grows by one step and shrinks again; a part that does not fit is left out. */
static size_t step(struct walk *walk, const char *key)
{
	size_t before = strlen(walk->path);

	(void)snprintf(
	    walk->path + before, sizeof(walk->path) - before, "%s%s", before ? "." : "", key);
	return before;
}

static void compare(struct walk *walk, const json_t *source, const json_t *copy, unsigned depth);

static void compare_objects(
    struct walk *walk, const json_t *source, const json_t *copy, unsigned depth)
{
	const char *key;
	json_t *value;
	size_t before;

	json_object_foreach((json_t *)source, key, value)
	{
		before = step(walk, key);
		if (!json_object_get(copy, key))
			tell(walk, "+");
		else
			compare(walk, value, json_object_get(copy, key), depth + 1);
		walk->path[before] = '\0';
	}
	json_object_foreach((json_t *)copy, key, value)
	{
		before = step(walk, key);
		if (!json_object_get(source, key))
			tell(walk, "-");
		walk->path[before] = '\0';
	}
}

static void compare(struct walk *walk, const json_t *source, const json_t *copy, unsigned depth)
{
	size_t n = json_array_size(source);

	if (equal(source, copy))
		return;
	if (depth < MAX_DEPTH && json_is_object(source) && json_is_object(copy)) {
		compare_objects(walk, source, copy, depth);
		return;
	}
	if (depth == MAX_DEPTH || !json_is_array(source) || n != json_array_size(copy)) {
		tell(walk, "");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		size_t before = strlen(walk->path);

		(void)snprintf(walk->path + before, sizeof(walk->path) - before, "[%zu]", i);
		compare(walk, json_array_get(source, i), json_array_get(copy, i), depth + 1);
		walk->path[before] = '\0';
	}
}

unsigned differ_describe(const json_t *source, const json_t *copy, struct buf *out)
{
	struct walk walk = { .out = out };

	compare(&walk, source, copy, 0);
	if (walk.count > NAMED)
		buf_printf(out, " and %u more", walk.count - NAMED);
	return walk.count;
}
