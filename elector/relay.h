/*
 * Operators' commands to the mirror (decision 10): checked here as far as the elector knows, asked
 * of the syncer, answered when it has answered. One at a time, 30 a minute; its client waits for
 * so long, and gets at most 96 KiB of rows: the rest is counted. A client that goes away does not
 * stop what was begun. Whether anything is written is the syncer's decision.
 *
 *   {"verb": "sync-resync", "kind": "Secret", "check": true}
 *   {"outcome", "operation", "rows": [{"object", "text"}], "rowsLeftOut", "checks", "text"}
 */
#ifndef ELECTOR_RELAY_H
#define ELECTOR_RELAY_H

#include "ipc/link.h"

#define RELAY_PER_MINUTE 30
/* A comparison lasts for less than four minutes. */
#define RELAY_ABANDONED (4 * RELAY_PER_MINUTE)
#define RELAY_MAX_ROWS  ((size_t)96 * 1024)

struct elector;
struct admin_client;
struct request;

struct relay {
	uint64_t operation; /* under way, 0: none */
	/* Those whose answer comes too late, until it has come, 0: none. A ring. */
	uint64_t abandoned[RELAY_ABANDONED];
	unsigned abandoned_count;
	const char *name;
	struct admin_client *client; /* NULL: it went away */
	struct buf rows, checks;
	unsigned row_count, check_count, left_out;
	int64_t taken_ns[RELAY_PER_MINUTE]; /* a ring */
	unsigned taken_count;
};

/* Refused with an answer, or under way: then request->later is set and its client waits. */
void relay_command(struct request *request);
/* Answers of the syncer; PEER_BROKEN for what was not asked. */
enum verdict relay_row(struct elector *elector, const struct msg_sync_row *row);
enum verdict relay_done(struct elector *elector, const struct msg_sync_done *done);
/* The syncer's link ended, or nobody has answered in time: what was done is not known. */
void relay_lost(struct elector *elector, const char *why);
/* Nobody reads the answer any more. */
void relay_client_gone(struct elector *elector, const struct admin_client *client);

#endif
