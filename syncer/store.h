/*
 * What is known of each object: names, versions, hashes, never the object (H11). One item per key
 * of the mirror, about 350 bytes; the one exception is `held`, the text of a copy that waits to be
 * written (H3: it may be the last one), bounded over all items and wiped when it goes.
 * Pure data: no I/O, no clock. The engine decides on it; feeds and writes report into the engine.
 */
#ifndef SYNCER_STORE_H
#define SYNCER_STORE_H

#include <stdint.h>

#include "base/map.h"
#include "syncer/rewrite.h"

/* What the source says of a key. UNKNOWN: nothing yet, the list is still to come. LEFT: alive, but
 * out of the mirror's scope: the copy is kept (C14). */
enum source_state { SOURCE_UNKNOWN, SOURCE_PRESENT, SOURCE_ABSENT, SOURCE_LEFT };
/* What our own hub says of it. FOREIGN: an object that is no copy (L66). UNSURE: look before the
 * next write. */
enum copy_state { COPY_NONE, COPY_PRESENT, COPY_FOREIGN, COPY_UNSURE };
/* Where the item stands; the engine counts the items of each. */
enum item_state {
	ITEM_IDLE,     /* equal, or nothing to be done */
	ITEM_OUTSIDE,  /* its namespace is not mirrored */
	ITEM_PENDING,  /* to be written: ready, delayed, under way, or waiting for another item */
	ITEM_BLOCKED,  /* refused for good or in conflict; listed, looked at again once a minute */
	ITEM_HELD,     /* the brake holds its deletion (H8) */
	ITEM_EXCLUDED, /* a mark on it keeps it out or its copy as it is; listed (B19) */
	ITEM_STATE_COUNT
};
enum item_queue { QUEUE_NOT, QUEUE_READY, QUEUE_DELAYED, QUEUE_FORGOTTEN };

struct item_list {
	struct item *first, *last;
};

struct held {
	struct rewrite_copy copy;
	size_t n;
	char text[];
};

/* What the server made of what was written last: pruned or defaulted fields (H11, G20). */
struct made {
	struct hash wrote_body, answer_body, wrote_status, answer_status;
};

struct item {
	struct space *space;
	struct item *space_next, *space_previous; /* all items of the space */
	struct item *next, *previous;             /* of the queue that it is in */
	struct item *owner; /* owner reference's or token's item; owner->has_dependents is set */
	struct held *held;
	char *why;         /* of the last failure; NULL: none */
	char *dropped;     /* what the server said that it dropped (G20); NULL: nothing */
	int64_t since_ns;  /* when the oldest change that is not written was seen; 0: none */
	int64_t retry_ns;  /* not before */
	int64_t proved_ns; /* the source's absence was proved then, 0: not */

	uint64_t source_version, source_uid; /* uid: rewrite_uid_hash */
	uint64_t source_finalizers, copy_finalizers;
	uint64_t source_rest, copy_rest; /* of a Cluster's status: rewrite_facts.rest */
	uint64_t archived_version; /* of the object here as the archive has it (C12), 0: not */
	struct hash source_body, source_status;
	int64_t created_us;

	uint64_t copy_version, copy_term, copy_owner; /* owner: hash of the uid it names */
	uint64_t copy_source_version;                 /* which version of the source it is of */
	struct hash copy_mark, copy_body, copy_status;
	struct made *made; /* NULL: nothing is known, or it was taken as it was sent */
	char copy_uid[37];

	uint8_t kind, source, copy, state, queue;
	uint8_t attempts, proofs; /* failures in a row; looks that showed the source's absence */
	uint32_t source_pass, copy_pass; /* of the list that showed it last */
	uint32_t
	    fetched_pass; /* of the list that had begun last when the source was read by name */
	bool live : 1;    /* its change came by a watch, ahead of any backlog */
	bool busy : 1;    /* a request for it is under way */
	bool shell : 1;   /* of a token: created, never updated (L85) */
	bool terminating : 1, copy_terminating : 1;
	bool left_out : 1, on_hold : 1; /* marks on the source's object */
	bool skipped : 1;               /* by mirror.skip */
	bool forbidden : 1;             /* its rules grant too much (B1); `why` says what */
	bool copy_chosen : 1, copy_shell : 1;
	bool copy_kept_out : 1;  /* a mark on it or mirror.skip keeps it out */
	bool copy_says_held : 1; /* annotation delete-held (H8) */
	bool copy_says_kept : 1; /* annotation delete-discarded (H8) */
	bool kept : 1;           /* an operator said so, and the copy does not yet */
	bool copy_doubted : 1;   /* its watch was lost: it is looked at before it is overwritten */
	bool copy_behind : 1;    /* the present list shows an older version of it */
	bool noted : 1;          /* annotation pruned says what is known (H11) */
	bool recreate : 1;       /* a field that cannot be changed: deleted, then made anew (H7) */
	bool doomed : 1;         /* counted in engine.doomed */
	bool owner_controls : 1, has_dependents : 1;
	bool observed : 1; /* a watch saw the source's object go */
	bool braked : 1;   /* the brake holds its deletion */
	bool refused : 1;  /* the server will not take it as it is */
	bool unheard : 1;  /* the last failure was our identity's: nobody looked at the write */
	bool reported : 1; /* an event was asked for since it last was in order */
	bool pruned : 1;   /* the server dropped fields; told once */
	bool created : 1;  /* by us, and not yet as it should be */
	uint16_t name_at;  /* of the name in key */
	char key[];        /* kind character, namespace, '/', name */
};

/* One namespace with the items in it; "" holds the cluster-scoped ones. Never freed while the
 * process lives: namespaces are few, and `extra` belongs to spaces.c. */
struct space {
	struct item *items;
	struct item *self; /* its Namespace, NULL until seen; NULL for "" */
	void *extra;
	uint32_t copies_synced;  /* bits of EACH kinds whose copies here are known */
	uint32_t copies_doubted; /* of these, those whose watch was lost (I11) */
	char name[64];
};

/* Sizes of an item with its key, in steps of 16 bytes. */
#define ITEM_KEY_MAX (1 + 63 + 1 + 253 + 1)
#define ITEM_SIZES   ((sizeof(struct item) + ITEM_KEY_MAX) / 16 + 2)

struct store {
	struct map items, spaces;
	size_t held_bytes, held_most;
	struct item_block *blocks; /* the newest first; items lie in nothing else */
	size_t block_left;         /* bytes of it */
	struct item *spare[ITEM_SIZES];
	uint32_t count_source[KIND_COUNT], count_copy[KIND_COUNT], count_pending[KIND_COUNT];
	uint32_t count[ITEM_STATE_COUNT];
};

#define STORE_MAX_HELD (8u << 20) /* H3: held_most of a store that was just opened */

void store_open(struct store *store);
void store_close(struct store *store);
/* NULL when out of memory or a name is too long; a new one is UNKNOWN and NONE. */
struct item *store_add(
    struct store *store, enum kind kind, const char *namespace, const char *name);
struct item *store_find(
    const struct store *store, enum kind kind, const char *namespace, const char *name);
/* Only an item that no queue holds and that nothing depends on. */
void store_drop(struct store *store, struct item *item);
struct space *store_space(struct store *store, const char *name);
/* The only writers of these fields, so that the counts are right. */
void store_set_source(struct store *store, struct item *item, enum source_state state);
void store_set_copy(struct store *store, struct item *item, enum copy_state state);
void store_set_state(struct store *store, struct item *item, enum item_state state);
/* Keeps a copy's text, replacing an older one. false (and nothing held): out of memory, or past the
 * bound; `always` for one that is written at once, of which there are at most a window full. */
bool store_hold(
    struct store *store, struct item *item, struct str text, struct rewrite_copy copy, bool always);
void store_release(struct store *store, struct item *item);
/* What is known of the item, all zero when nothing is; and the same to be written. */
const struct made *item_made(const struct item *item);
struct made *store_made(struct item *item);
/* What was sent of body or status, and what the server made of it. Most objects have no status and
 * are taken as they are sent: of these nothing is kept, for their mark says it, too. */
void store_set_made(
    struct item *item, bool of_status, const struct hash *sent, const struct hash *got);
/* Why it failed last; NULL clears. */
void store_say(struct item *item, const char *why);

const char *item_name(const struct item *item);
const char *item_namespace(const struct item *item);

void item_list_push(struct item_list *list, struct item *item);
void item_list_cut(struct item_list *list, struct item *item);
/* One that is in the list. */
void item_list_put_first(struct item_list *list, struct item *item);

#endif
