/*
 * The framing of a watch (see the header). It knows nothing of what a line says.
 */
#include "kube/lines.h"

#include <string.h>

struct lines lines_make(size_t most)
{
	return (struct lines){ buf_make_secret(most) };
}

void lines_clear(struct lines *lines)
{
	buf_clear(&lines->rest);
}

void lines_free(struct lines *lines)
{
	buf_free(&lines->rest);
}

bool lines_feed(struct lines *lines, struct str bytes, lines_fn *line, void *arg)
{
	while (bytes.n) {
		const char *end = memchr(bytes.p, '\n', bytes.n);
		struct str piece = { bytes.p, end ? (size_t)(end - bytes.p) : bytes.n };
		bool more = true;

		if (piece.n > lines->rest.max)
			return false;
		if (!end || lines->rest.len) {
			buf_append(&lines->rest, piece.p, piece.n);
			if (lines->rest.failed)
				return false;
		}
		if (!end)
			return true;
		if (lines->rest.len) {
			more = line(arg, buf_str(&lines->rest));
			buf_clear(&lines->rest);
		} else if (piece.n) {
			more = line(arg, piece);
		}
		if (!more)
			return false;
		bytes.n -= piece.n + 1;
		bytes.p = end + 1;
	}
	return true;
}
