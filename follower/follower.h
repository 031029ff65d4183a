/*
 * The follower: on a worker cluster, decides which hub the worker follows, hands that hub over to
 * the worker's own software, and says what it sees to whoever asks. It holds the worker's identity
 * on its own cluster and its KubeSlice tokens for the hubs. It must not lead anybody: it follows
 * claims.
 *
 *   rule        which hub, pure            attest      how old a renewal is, pure
 *   endpoint    spelling, pure             conditions  metav1.Condition, pure
 *   handover    the directory that others read
 *   hubs        tokens for the hubs: from where, and whether they are good (H12)
 *   delivery    a token or CA that a hub delivered: tried, then used
 *   poll        looks at the hubs (6.2), and the decision
 *   follow      carrying a decision out: proof, jitter, swap, command
 *   renewal     the watch of each hub's Lease
 *   controller  ClusterController/active: what was pushed; status
 *   challenge   HubProbes: a hub asks what we see (C3)
 *   report      conditions on the Cluster object of the hub that is followed (6.6)
 *   events      Events about that object (6.6)
 *   operator    the Secret and the Deployment of a worker's operator that knows of no follower
 *   show        what the monitor shows
 *   messages    what it is given
 */
#ifndef FOLLOWER_FOLLOWER_H
#define FOLLOWER_FOLLOWER_H

#include <jansson.h>

#include "follower/attest.h"
#include "follower/conditions.h"
#include "follower/handover.h"
#include "follower/rule.h"
#include "kube/client.h"
#include "kube/lease.h"
#include "kube/watch.h"

#define FOLLOWER_GROUP   "/apis/ha.kubeslice.io/v1alpha1/"
#define OTHER_REQUEST_MS 5000
#define CHALLENGE_MS     1200 /* of the read; the answer must be there within 2 s (C3) */

struct follower;

/* What is known of the token for a hub; names in hubs.c. */
enum token_state {
	TOKEN_ABSENT,      /* nobody delivered one yet */
	TOKEN_UNPROVEN,    /* not tried yet */
	TOKEN_PROVED,      /* the hub says who we are, and lets us read our Cluster object */
	TOKEN_REFUSED,     /* 401 */
	TOKEN_POWERLESS,   /* 403: the right hub, without rights */
	TOKEN_UNREACHABLE, /* the hub does not answer */
	TOKEN_MISTRUSTED,  /* x509: not the hub that the CA vouches for (W27) */
	TOKEN_BROKEN,      /* no token, expired, or for another endpoint */
	TOKEN_STATES
};

struct hub {
	struct follower *follower;
	unsigned index;
	const char *name, *endpoint;
	/* What it is reached with (hubs.c). */
	bool from_file, has_client;
	char *configured_ca; /* as the configuration has it */
	char *ca;            /* in use: that, and what the hub delivered on top of it (B9) */
	struct buf token;    /* wiped */
	uint64_t generation;
	uint64_t secret_id, review_id;
	enum token_state token_state;
	char token_detail[160], subject[254];
	int64_t proved_us;
	/* What was delivered since and is being tried, or was not taken (delivery.c). */
	uint64_t trial_id, trial_generation;
	struct buf trial_token;
	char *trial_ca;                   /* NULL: the one in use */
	enum token_state delivered_state; /* TOKEN_ABSENT: nothing that differs */
	char delivered_detail[160];
	/* The look in progress (poll.c), and what the last one brought. */
	uint64_t cluster_id, lease_id;
	struct rule_look look, next;
	enum kube_class cluster_class;
	enum peer_why cluster_why;
	json_t *conditions; /* of its Cluster object, NULL: not read */
	char version[64];
	bool superseded; /* told: it claims a term that is over */
	uint64_t report_id;
	/* Its Lease (renewal.c). */
	struct kube_watch *watch;
	bool watching;
	struct attest attest;
};

/* One question of a hub. */
struct challenge {
	struct follower *follower; /* NULL: free */
	char asking[254], nonce[40];
	unsigned target;
	uint64_t id;
};

struct follower {
	struct role_process *process;
	struct kube_client *client;
	const struct us_config *config;
	unsigned hub_count;
	struct hub hubs[RULE_HUBS];
	struct rule rule;
	unsigned noted; /* RULE_NOTE_* of the running episode */
	struct loop_timer poll_timer, secret_timer;
	bool polling, poll_again;
	int64_t polled_ns;
	/* A decision on its way (follow.c). */
	struct rule_choice wanted; /* hub RULE_NOWHERE: none */
	struct loop_timer move_timer;
	uint64_t proof_id;
	uint64_t handover_generation;
	int handed; /* whose files lie there; RULE_NOWHERE */
	uint64_t handed_term, handed_token;
	uint64_t kept_term;  /* on the disk */
	bool reconnected;    /* to be told once (W25) */
	bool told_connected; /* as an Event, of the hub that is followed */
	/* The own cluster (controller.c). */
	struct kube_watch *controller, *probes;
	bool listed, has_object;
	struct rule_push push;
	struct loop_timer status_timer;
	json_t *conditions; /* of the object as it was seen, NULL: none */
	char *status;       /* body that was written last */
	uint64_t status_id;
	struct condition connected, synced, ready[RULE_HUBS];
	struct challenge challenges[RULE_HUBS];
	/* operator.c */
	struct loop_timer operator_timer;
	uint64_t operator_id;
	bool operator_again; /* something was handed over while a request ran */
	const char *operator_said;
};

extern const struct role_ops follower_ops;

const char *follower_text(const struct follower *follower, config_text text);
/* The hub that is followed, NULL: none yet. */
struct hub *follower_current(struct follower *follower);
unsigned hub_target(const struct hub *hub);
/* A request to a hub; the body may be empty. arg of the callback: hub. */
uint64_t hub_ask(struct hub *hub, enum kube_verb verb, const char *path, struct str body,
    uint32_t deadline_ms, bool fresh, kube_done_fn *done);
void hub_cluster_path(const struct hub *hub, struct buf *path, const char *subresource);
void hub_lease_path(const struct hub *hub, struct buf *path, const char *name);

/* --- hubs.c --- */
/* What the loader brought for a hub: CA, and a token if the configuration names a file. NULL, or
 * why it cannot be used. */
const char *hubs_loaded(struct hub *hub, const struct msg_credential *m);
/* Looks for tokens that hubs delivered, again and again. */
void hubs_look(void *arg, int64_t now_ns);
/* What a look at the Cluster object said of the token. */
void hubs_seen(struct hub *hub, const struct kube_answer *answer);
/* Takes an identity into use; proven: it has just been tried. False: it cannot be one, the one
 * before stays. */
bool hubs_adopt(struct hub *hub, const char *ca, struct str token, bool proven, struct err *err);
void hubs_set_state(struct hub *hub, enum token_state state, const char *detail);
/* What an answer other than OK says of the token that asked. */
enum token_state hubs_state_of(const struct kube_answer *answer);
const char *hubs_state_name(enum token_state state);
void hubs_tell_monitor(const struct hub *hub);
void hubs_close(struct hub *hub);

/* --- delivery.c --- */
/* What lies in the Secret of that hub. */
void delivery_seen(struct hub *hub, const json_t *object);
void delivery_close(struct hub *hub);

/* --- poll.c --- */
/* Looks at all hubs at once; at once again afterwards when it runs. */
void poll_now(struct follower *follower);
void poll_timer(void *arg, int64_t now_ns);

/* --- follow.c --- */
/* Carries out a decision: after a jitter, and once the target has proven itself (H19). */
void follow_decided(struct follower *follower, const struct rule_decision *decision);
/* What lies in the directory is that hub's, in its present form. */
void follow_hand_over(struct follower *follower);
void follow_timer(void *arg, int64_t now_ns);
/* How long a worker waits before it moves, so that hundreds do not move, and start their software,
 * in one moment (H19): 0 to 2 s. */
int64_t follow_delay_ns(uint64_t random);

/* --- renewal.c --- */
void renewal_start(struct hub *hub);
/* Reads the term that a Lease claims for its hub: 0 unless it is held by it and leads (H19). */
uint64_t renewal_term(const struct hub *hub, const struct kube_lease *lease);

/* --- controller.c --- */
void controller_start(struct follower *follower);
/* Something that the status shows may have changed. */
void controller_changed(struct follower *follower);
void controller_timer(void *arg, int64_t now_ns);

/* --- challenge.c --- */
void challenge_start(struct follower *follower);

/* --- show.c --- */
void show_follower(struct follower *follower);

/* --- operator.c --- */
/* Keeps the Secret equal to what is handed over, now and then and after each hand-over. */
void operator_step(struct follower *follower);
void operator_timer(void *arg, int64_t now_ns);
/* For a person; "" without such a Secret. */
const char *operator_state(const struct follower *follower);

/* --- events.c --- */
/* reason: one of upstream's. Waited for by nobody. */
void events_post(struct hub *hub, const char *reason, bool warning, const char *note);

/* --- report.c --- */
/* Conditions of the hub that is followed, after a look at it. */
void report_followed(struct hub *hub);
/* To the hub that is left: best effort, waited for by nobody (W22). */
void report_left(struct hub *hub);

#endif
