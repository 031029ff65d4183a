/*
 * Which hub a worker follows: upstream's rule to the letter (W1-W28), and before it terms, which no
 * clock of a hub can confuse (H19). Pure: no I/O, no clock, no allocation. A hub is its place in
 * the configuration's list; what names none of them is RULE_NOWHERE. Nothing here moves a worker: a
 * verdict RULE_SWITCH is carried out by the caller once the target has proven itself, and told back
 * by rule_followed.
 */
#ifndef FOLLOWER_RULE_H
#define FOLLOWER_RULE_H

#include <stdbool.h>
#include <stdint.h>

#define RULE_HUBS           2
#define RULE_NOWHERE        (-1)
#define RULE_IDENTITY_BYTES 254
#define RULE_TERM_MAX       ((1ULL << 53) - 1)
/* C7: a term so far above the highest known one is nobody's. */
#define RULE_TERM_LEAP (1ULL << 20)

/* W12: a hub that answers with an error is reachable, and has no say either. */
enum rule_reach { RULE_UNREACHABLE, RULE_UNREADABLE, RULE_READ };

/* status.activeController of this worker's Cluster object, as one hub has it. */
struct rule_claim {
	int hub;     /* whose endpoint it names */
	bool absent; /* no endpoint or no identity (W14) */
	char identity[RULE_IDENTITY_BYTES];
	int64_t updated_us; /* 0: missing or no time, the oldest (W15) */
};

/* What one look at one hub brought. */
struct rule_look {
	enum rule_reach reach;
	struct rule_claim claim; /* when reach is RULE_READ */
	uint64_t lease_term;     /* its own Lease: held by itself, phase leading; 0: not so */
};

/* ClusterController/active; term 0: there is none. */
struct rule_push {
	uint64_t term;
	int hub; /* whose endpoint and name it has: RULE_NOWHERE unless both are one hub's */
};

struct rule_input {
	struct rule_look looks[RULE_HUBS];
	struct rule_push push;
};

struct rule_choice {
	int hub;
	char identity[RULE_IDENTITY_BYTES]; /* of an upstream claim; "" with a term */
	uint64_t term;                      /* 0: an upstream claim */
};

/* Initialise with rule_init. */
struct rule {
	unsigned hub_count, confirmations;
	bool established;           /* a claim was followed since the start (W9) */
	struct rule_choice current; /* hub RULE_NOWHERE: none yet */
	struct rule_choice pending; /* hub RULE_NOWHERE: no challenger */
	unsigned count;             /* looks in a row that agreed on it */
	uint64_t max_term;          /* never followed below it (C11, I3) */
};

enum rule_verdict {
	RULE_KEEP,    /* nothing to do */
	RULE_CONFIRM, /* another hub, not yet confirmed */
	RULE_SWITCH
};

/* What is worth a line, once per episode. */
enum rule_note {
	RULE_NOTE_FOREIGN = 1,      /* W3: an endpoint that is not in the list */
	RULE_NOTE_DISAGREE = 2,     /* W4: the hubs name different controllers */
	RULE_NOTE_SUPERSEDED = 4,   /* a term below the highest known one */
	RULE_NOTE_TWICE = 8,        /* H19: one term, two hubs */
	RULE_NOTE_IMPLAUSIBLE = 16, /* C7 */
};

struct rule_decision {
	enum rule_verdict verdict;
	struct rule_choice choice; /* RULE_CONFIRM, RULE_SWITCH */
	unsigned notes;
};

/* hub: followed before a restart, or RULE_NOWHERE; term: its term, max_term the highest persisted.
 */
void rule_init(struct rule *rule, unsigned hub_count, unsigned confirmations, int hub,
    uint64_t term, uint64_t max_term);
/* After each completed look at all hubs. Counts confirmations; raises current.term and max_term
 * when the hub that is followed shows a higher one. */
struct rule_decision rule_decide(struct rule *rule, const struct rule_input *input);
/* It claims to lead, with a term below one that was followed. */
bool rule_is_superseded(const struct rule *rule, const struct rule_look *look);
/* The choice was carried out. */
void rule_followed(struct rule *rule, const struct rule_choice *choice);
/* At the start no hub made a claim: the first of the list it is, without being established (W18).
 */
void rule_fall_back(struct rule *rule);

#endif
