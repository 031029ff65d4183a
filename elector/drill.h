/*
 * The elector's part of `understudyctl drill`: what a takeover would ask of others, asked while the
 * peer lives. A last look at the peer's Lease over a new connection, the question to the workers'
 * followers, and the claim as a dry run, which the API server judges and does not keep. The
 * machine hears of none of it: no state, no Lease and no page changes. One at a time, 30 a minute,
 * on a Standby whose peer is not about to be missed, for a question of the machine's own must not
 * be overtaken by this one.
 *
 *   {"verb": "drill"}
 *   {"outcome", "steps": [{"name", "ok", "text", "ms"}], "text"}
 */
#ifndef ELECTOR_DRILL_H
#define ELECTOR_DRILL_H

#include "ipc/link.h"
#include "ipc/loop.h"
#include "policy/control.h"

#define DRILL_PER_MINUTE 30

struct elector;
struct admin_client;
struct request;
struct msg_peer_seen;
struct msg_witness_seen;

enum drill_step { DRILL_LOOK, DRILL_WITNESS, DRILL_CLAIM, DRILL_STEPS };

struct drill {
	uint64_t nonce;              /* of what was asked; 0: none is under way */
	struct admin_client *client; /* NULL: it went away */
	int64_t began_ns;
	struct loop_timer timer; /* the end of patience, and the claim's next try */
	uint64_t claim;          /* request under way, 0: none */
	uint64_t term;           /* that the claim is tried with */
	unsigned tries;
	struct {
		bool ended, ok;
		int64_t took_ns;
		char text[256];
	} steps[DRILL_STEPS];
	uint8_t answered[CREDENTIAL_MAX_WORKERS]; /* enum witness_class, 0: not yet */
	int64_t taken_ns[DRILL_PER_MINUTE];       /* a ring */
	unsigned taken_count;
};

/* Refused with an answer, or under way: then request->later is set and its client waits. */
void drill_command(struct request *request);
/* True: it was the drill's question that was answered, and nobody else's. */
bool drill_look_seen(struct elector *elector, const struct msg_peer_seen *seen);
bool drill_witness_seen(struct elector *elector, const struct msg_witness_seen *seen);
/* Nobody reads the answer any more. */
void drill_client_gone(struct elector *elector, const struct admin_client *client);
/* The elector is leaving. */
void drill_close(struct elector *elector);

#endif
