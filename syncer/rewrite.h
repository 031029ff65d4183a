/*
 * From an object of the source to its copy, and from any object to what must be compared. Pure:
 * JSON in, facts and text out; no I/O, no clock, nothing kept. What is left out of a copy: uid,
 * resourceVersion, managedFields (reset, so that no tool finds its fields owned by the mirror:
 * B21), deletionTimestamp, generateName, owner references (written with local uids at the last
 * moment), a Namespace's spec, a token's bytes; finalizers, unless the source's object is being
 * deleted: then its copy is, too, and waits for the same finalizers (measured situation 4). Rules:
 * L67-L72, L82-L87, H6, H11, H13, M9, M14, B21-B23.
 */
#ifndef SYNCER_REWRITE_H
#define SYNCER_REWRITE_H

#include <jansson.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "syncer/kinds.h"
#include "syncer/marks.h"

/* The first 128 bits of SHA-256 over sorted JSON; all zero: nothing there. */
struct hash {
	uint8_t byte[16];
};

#define REWRITE_LABEL    MARK_LABEL
#define REWRITE_ORIGIN   "active"
#define REWRITE_PREFIX   MARK_PREFIX
#define REWRITE_MAX_BODY (4u << 20)

/* Where an object was read: on the own hub one with our label is compared as a copy. */
enum rewrite_side { REWRITE_SOURCE, REWRITE_OWN };

/* What a copy's annotation `pruned` says: what this hub's server made of what it was sent (H11). */
struct rewrite_pruned {
	struct hash body;         /* of the copy as it came back */
	struct hash from, status; /* of the source's status, and of what became of it */
};

/* What one object says. Texts are views into the JSON value. */
struct rewrite_facts {
	const char *name, *namespace; /* "" when cluster-scoped */
	const char *uid;
	uint64_t version;         /* resourceVersion as a number, 0 when it is none */
	struct hash body, status; /* status all zero: it has none */
	uint64_t rest; /* hash of a Cluster's status without what understudy says there; else 0 */
	int64_t created_us;
	bool terminating;
	bool chosen;         /* carries the labels of its kind's row */
	bool shell;          /* a service account's token Secret: its bytes never travel (L84) */
	bool left_out;       /* marked mirror: "false" */
	bool on_hold;        /* marked hold: its copy stays as it is */
	bool skipped;        /* the same by mirror.skip (M8) */
	const char *refusal; /* why it must not be mirrored (rules.h), NULL: it may */
	uint64_t
	    finalizers;   /* hash of them, in any order; 0: none that a controller has to handle */
	bool is_copy;     /* carries our label; the fields below are then filled */
	struct hash mark; /* annotation content-hash: what the mirror wrote */
	uint64_t source_version, source_term;
	bool says_held, says_pruned; /* annotations delete-held (H8), pruned (H11) */
	bool says_kept; /* annotation delete-discarded: it stays without a source (H8) */
	struct rewrite_pruned pruned;
	uint64_t owner_uid; /* hash of the uid in its first owner reference, 0: none */
	/* The owner in the mirror, or for a shell its account; owner_name "" when none. */
	enum kind owner_kind;
	const char *owner_name;
	bool owner_controls;
};

/* 0, or -1 with what the object lacks (name, uid, resourceVersion, another kind's scope). */
int rewrite_read(enum kind kind, enum rewrite_side side, const json_t *object,
    struct rewrite_facts *out, struct err *err);

/* What is compared of an object, status included: new; for people who want to know what differs. */
json_t *rewrite_compared(enum kind kind, enum rewrite_side side, const json_t *object);

/* The text of a copy. It begins with {"metadata":{ so that a version and owners can be put in,
 * and ends with the status, so that it can be cut off. */
struct rewrite_copy {
	size_t status_at; /* the text up to here and a '}' is the object without its status */
};

/* Appends the copy's text to out, with label and annotations. -1: too large. */
int rewrite_copy(enum kind kind, const json_t *object, const struct rewrite_facts *facts,
    uint64_t term, struct buf *out, struct rewrite_copy *copy);

/* What is known at the moment of the write only. */
struct rewrite_target {
	uint64_t version; /* 0: a new object */
	const char *uid;  /* of the present copy, with version */
	bool with_status;
	enum kind owner_kind;               /* with owner_uid */
	const char *owner_name, *owner_uid; /* NULL: no owner */
	bool owner_controls;
};

/* Appends the request's body made of a copy's text. */
void rewrite_finish(struct buf *out, struct str text, struct rewrite_copy copy,
    const struct rewrite_target *target);

/* The annotations that make an object a copy of this content. */
void rewrite_mark(json_t *metadata, const struct rewrite_facts *facts, uint64_t term);

bool hash_equal(const struct hash *a, const struct hash *b);
bool hash_is_zero(const struct hash *hash);
void hash_to_text(const struct hash *hash, char text[33]);
/* 64 bits that stand for a uid; 0 only for "". */
uint64_t rewrite_uid_hash(const char *uid);

#endif
