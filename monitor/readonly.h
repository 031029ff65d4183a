/*
 * status.sock: whoever may connect gets one document and the end. Nothing is read from it. At most
 * READONLY_MAX connections, each for at most 5 s; one more is closed at once. Non-blocking.
 */
#ifndef MONITOR_READONLY_H
#define MONITOR_READONLY_H

#include "base/buf.h"
#include "ipc/loop.h"

#define READONLY_MAX       16
#define READONLY_MAX_BYTES (4UL * 1024 * 1024)

struct readonly;

/* Appends the document. */
typedef void readonly_make_fn(void *arg, struct buf *out);

struct readonly *readonly_new(struct loop *loop, readonly_make_fn *make, void *arg);
/* Takes over a listening stream socket (non-blocking). A second one replaces the first. */
void readonly_listen(struct readonly *readonly, int fd);
void readonly_free(struct readonly *readonly);

#endif
