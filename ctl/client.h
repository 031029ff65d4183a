/*
 * One question to understudyd: status.sock gives its one document unasked, admin.sock answers one
 * line. Bounded: 8 MiB, and silence.
 */
#ifndef CTL_CLIENT_H
#define CTL_CLIENT_H

#include "base/buf.h"
#include "base/err.h"

#define CLIENT_DEFAULT_SOCKET "/run/understudy/status.sock"
#define CLIENT_MAX_BYTES      (8UL * 1024 * 1024)
#define CLIENT_PATIENCE_S     5
/* Longer than understudyd gives one run of canaries and the one before. */
#define CLIENT_DEEP_PATIENCE_S 400

/* How the text of an error begins when nobody listens: no understudyd runs. */
#define CLIENT_ABSENT "no daemon answers"

/* Exit codes (interfaces, decision 25). */
enum ctl_exit {
	CTL_DONE = 0,
	CTL_REFUSED = 1,
	CTL_UNVERIFIED = 2, /* audit */
	CTL_UNKNOWN = 3,
	CTL_NO_DAEMON = 4,
	CTL_USAGE = 64
};

/* Appends the document. CTL_DONE, or the exit code with the reason and what to do. */
enum ctl_exit client_read(const char *path, struct buf *out, struct err *err);
/* Appends the rows of the audit.sock beside this status.sock; deep: of canary.sock, when all
 * canaries have ended. Who may not read it has verified nothing: CTL_UNVERIFIED. */
enum ctl_exit client_audit(const char *status_path, bool deep, struct buf *out, struct err *err);
/* Sends one line (with its newline) to admin.sock and appends the answer, which may take so long.
 */
enum ctl_exit client_ask(
    const char *path, struct str line, int patience_s, struct buf *out, struct err *err);

/* The process that listens on admin.sock, which is understudyd itself, by the kernel's word. */
enum ctl_exit client_daemon(const char *path, long *pid, struct err *err);

#endif
