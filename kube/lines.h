/*
 * Cuts a stream of bytes into lines: the framing of a watch. Bounded; a whole line inside one
 * piece is handed out without a copy. Pure.
 */
#ifndef KUBE_LINES_H
#define KUBE_LINES_H

#include "base/buf.h"

/* One line without its line feed, valid during the call only. False: no further lines. */
typedef bool lines_fn(void *arg, struct str line);

struct lines {
	struct buf rest;
};

/* Lines of at most `most` bytes. Wiped: events may carry Secrets. */
struct lines lines_make(size_t most);
/* Forgets an unfinished line. */
void lines_clear(struct lines *lines);
void lines_free(struct lines *lines);
/* Empty lines are skipped. False when a line is too long or line said so. */
bool lines_feed(struct lines *lines, struct str bytes, lines_fn *line, void *arg);

#endif
