/*
 * The elector: holds this hub's Lease and the fence page, decides who leads (leadership-rules 5),
 * and writes what the decision is: Lease, armed record, HubRole, Events, page, permits. One
 * identity, on the own hub only; what it knows of the peer and of workers others told it.
 *
 *   machine*  decides: state, event, now -> actions, reason, next look; pure
 *   terms     which terms may be taken and believed; pure
 *   trace     the reasons in words; pure
 *   annotations  JSON texts of the two Leases (C13)
 *   admin     admin.sock: operators' requests; operations that they started
 *   relay     those of them that are for the mirror
 *   drill     what a takeover would ask of others, asked without one
 *   messages  what other roles and the supervisor say, as events
 *   actions   carries decisions out and shows them
 *   lease     one Lease on the own API server: read, write, watch
 *   claim     the own Lease of a hub in the machine's words, and back
 *   record    armed record, HubRole with its history, and the reading of all records at start
 *   role_watch  what others do to HubRole
 *   steps     how long each step of a promotion took
 *   events    Kubernetes Events, those that other roles ask for, too
 *   fence     the writer of the fence page
 *
 * In mode replicas another, smaller life in the same process, with the same Lease requests, Events,
 * page and history:
 *
 *   replicas  decides; pure; its reasons in words in replicas_words
 *   contend   carries that out
 *
 * And standalone: no decision at all, the page is stamped.
 */
#ifndef ELECTOR_ELECTOR_H
#define ELECTOR_ELECTOR_H

#include <jansson.h>

#include "elector/admin.h"
#include "elector/annotations.h"
#include "elector/claim.h"
#include "elector/contend.h"
#include "elector/events.h"
#include "elector/fence.h"
#include "elector/lease.h"
#include "elector/machine.h"
#include "elector/record.h"
#include "elector/steps.h"
#include "ipc/role.h"
#include "kube/client.h"

struct elector {
	struct role_process *process;
	const struct us_config *config;
	struct kube_client *client;
	struct loop_timer wake;
	struct fence_page page;
	struct machine machine;     /* of a hub of a pair */
	struct contender contender; /* in mode replicas, instead */
	bool stepping;              /* events come one at a time */
	bool stopping;              /* told to leave: no further decision */
	bool page_is_open;

	char own_uid[40]; /* of the own kube-system, "" until read */
	char pair[65];    /* of both hubs; "" until both uids are known */
	char timing[64];  /* "LD/RD/RP" in ms */
	struct lease_keeper lease;
	struct record_keeper record;
	struct event_queue events;

	/* What status shows of the last change. */
	int64_t since_us, promotion_began_ns, suspected_age_ns;
	struct steps steps;
	int64_t peer_since_us;         /* of the peer's claim; 0: it has none */
	char reason[512];              /* of what was said last */
	char lasting[512];             /* of what was said last and cannot be over */
	enum machine_reason condition; /* that reason tells; NONE: it tells none */
	char ack_why[ANNOTATIONS_WHY], peer_why[ANNOTATIONS_WHY]; /* own ack's, the peer's ack's */
	struct admin admin;
	bool syncer_linked;
	char rejoin[ANNOTATIONS_REJOIN]; /* how far (C12); "": none since the start */
	struct msg_status_peer peer_status;
	unsigned shards;
};

extern const struct role_ops elector_ops;

/* --- actions.c --- */

/* The one way into the machine: decides, says, carries out, sets the timer. Never called from
 * inside itself. */
void elector_feed(struct elector *elector, struct machine_event *event);
void elector_wake(void *elector, int64_t now_ns);
/* Closes the page without a decision: the process is leaving (H21). */
void elector_close_page(struct elector *elector);
/* Tells how long the step took, if it was under way. */
void elector_step_ended(struct elector *elector, enum step step);
/* The monitor's first lines: role, reason, nonce. */
void elector_show_leadership(struct elector *elector);
/* Everything that the monitor shows, to a monitor that just came. */
void elector_show_all(struct elector *elector);
/* Permits and grants of now, to a role whose link is new. */
void elector_tell_again(struct elector *elector, struct role_id peer);

/* --- messages.c --- */

enum verdict elector_on_message(
    void *elector, const struct link *from, const struct message *message, int fd);

/* sha256 of the ordered identities and uids, hex (H14); "" when a uid is missing. */
void elector_pair(
    const struct us_config *config, const char *own_uid, const char *peer_uid, char pair[65]);

#endif
