/*
 * One question to understudyd: connect to its status socket, read the one document, done. Nothing
 * is sent. Bounded: 8 MiB, 5 s of silence.
 */
#ifndef CTL_CLIENT_H
#define CTL_CLIENT_H

#include "base/buf.h"
#include "base/err.h"

#define CLIENT_DEFAULT_SOCKET "/run/understudy/status.sock"
#define CLIENT_MAX_BYTES      (8UL * 1024 * 1024)

/* Exit codes (interfaces, decision 25). */
enum ctl_exit { CTL_DONE = 0, CTL_REFUSED = 1, CTL_UNKNOWN = 3, CTL_NO_DAEMON = 4, CTL_USAGE = 64 };

/* Appends the document. CTL_DONE, or the exit code with the reason and what to do. */
enum ctl_exit client_read(const char *path, struct buf *out, struct err *err);

#endif
