/*
 * The status document as one screen of text: what somebody needs who was woken by it. First what
 * is wrong, then who leads, then the rest. Pure.
 */
#ifndef CTL_SHOW_H
#define CTL_SHOW_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"

/* Appends the text. A document of another shape shows as unknown values, never as an error. Texts
 * of others lose their control characters: a name must not drive the terminal. */
void show_status(const json_t *document, struct buf *out);
/* Its first part: both hubs and the mirror. */
void show_hubs(const json_t *document, struct buf *out);
/* The mirror in a few lines; all of it, with each kind and, with excluded, all that is listed by
 * name; and that list alone: only: words of the wanted states, NULL: all; at most so many. */
void show_mirror_lines(const json_t *document, struct buf *out);
void show_sync(const json_t *document, bool excluded, struct buf *out);
void show_listed(const json_t *document, const char *only, size_t most, struct buf *out);
/* Each worker of the configuration, a line or two; nothing when there is none. */
void show_workers(const json_t *document, struct buf *out);
/* All transitions that are known, one a line. */
void show_history(const json_t *document, struct buf *out);
/* One text without control characters; the same in a column, where a longer one pushes the rest. */
void show_text(struct buf *out, const char *text);
void show_column(struct buf *out, const char *text, size_t width);

#endif
