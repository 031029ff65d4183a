/*
 * Pieces of the status page: text that cannot become markup, spans of time in words, a plot. Pure.
 */
#ifndef MONITOR_HTML_H
#define MONITOR_HTML_H

#include <stdint.h>

#include "base/buf.h"

/* Text from wherever: what HTML would read, control characters, and what turns the direction of
 * writing (so that a name looks like another) are made harmless. */
void html_text(struct buf *out, const char *text);
/* "1.2 s", "4 min 12 s", "3 h 20 min", "12 d 3 h"; negative as 0. */
void html_span(struct buf *out, int64_t ms);
/* <dt>name<dd>value; value is text from wherever. */
void html_fact(struct buf *out, const char *name, const char *value);
/* The head of the page up to and with <body>; title is text from wherever. */
void html_head(struct buf *out, const char *title);
/* A line over `count` samples in ms, the oldest first, negative where nothing is known; period_s:
 * between two. Drawn as SVG with its scale, and said in words for who cannot see it. */
void html_plot(struct buf *out, const int64_t *ms, unsigned count, unsigned period_s);

#endif
