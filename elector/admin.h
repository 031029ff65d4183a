/*
 * admin.sock behind the supervisor's accept (F1): one request a connection, one line of JSON of at
 * most 1 KiB within 2 s, one answer, closed. 16 clients, one operation under way, five commands a
 * minute. What may be done is the machine's to say (machine_checks.c); who may ask is the socket's
 * mode. Every command is logged with uid and pid.
 *
 * Commands to the mirror go through relay.c, drills through drill.c, and are answered later.
 *
 *   {"verb": "switchover", "to": "hub-b"}
 *   {"outcome": "done|refused|running|unknown", "operation": ID, "text": TEXT,
 *    "earlier": true (it ran before this request), "checks": [{"name", "value", "limit", "ok"}]}
 */
#ifndef ELECTOR_ADMIN_H
#define ELECTOR_ADMIN_H

#include "elector/drill.h"
#include "elector/machine.h"
#include "elector/relay.h"
#include "ipc/loop.h"
#include "policy/control.h"

#define ADMIN_CLIENTS     16
#define ADMIN_MAX_REQUEST 1024
#define ADMIN_OPERATIONS  8
#define ADMIN_PER_MINUTE  5

struct elector;
struct buf;

struct admin_client {
	struct elector *elector; /* NULL: free */
	int fd;
	uint32_t uid, pid;
	struct loop_timer deadline;
	bool waits; /* for an answer that comes later */
	size_t n;
	char bytes[ADMIN_MAX_REQUEST];
};

enum admin_outcome { ADMIN_DONE, ADMIN_REFUSED, ADMIN_RUNNING, ADMIN_UNKNOWN };

/* What was asked for and takes time. */
struct admin_operation {
	uint64_t id, term; /* term: of this hub when it began */
	enum machine_command_verb verb;
	enum admin_outcome outcome;
	char why[768];
};

struct admin {
	struct admin_client clients[ADMIN_CLIENTS];
	struct admin_operation operations[ADMIN_OPERATIONS]; /* a ring; the newest is current */
	unsigned operation_count;
	int64_t taken_ns[ADMIN_PER_MINUTE]; /* a ring of the last commands */
	unsigned taken_count;
	struct relay relay;
	struct drill drill;
	uint64_t
	    nonce; /* of what status shows now: what an operator consents to (sandbox-rules 5) */
};

/* Takes over the descriptor; a..: uid, gid, pid. */
void admin_take_client(struct elector *elector, int fd, const struct us_ctl *ctl);
/* After each step of the machine: does the operation under way end with it? */
void admin_follow(struct elector *elector, const struct machine_out *out);
/* Closes all clients. */
void admin_close(struct elector *elector);
/* One line about the operation under way; "" when there is none. */
void admin_put_operation(const struct elector *elector, char *text, size_t size);

/* For tests: one request's answer, as to a client of that uid and pid. */
void admin_answer(
    struct elector *elector, uint32_t uid, uint32_t pid, struct str request, struct buf *out);

#endif
