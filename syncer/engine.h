/*
 * What the mirror does next, from what was observed. Pure: no I/O, no clock, its randomness is a
 * seed; the same object file runs in a simulator. Feeds report what source and copies say, writes
 * report how requests ended, and engine_next hands out at most `window` orders at a time, in the
 * order of the kinds, live changes ahead of any backlog, each key with its own back-off.
 * An item is dropped by engine_next only. Times are boot times. Rules: C5, C14, H3, H6-H11, H13,
 * L65-L101.
 */
#ifndef SYNCER_ENGINE_H
#define SYNCER_ENGINE_H

#include "kube/client.h"
#include "syncer/brake.h"
#include "syncer/store.h"

enum engine_action {
	ENGINE_NONE,
	ENGINE_FETCH,   /* GET the source for the copy's text */
	ENGINE_PROVE,   /* GET the source: is it really gone? (C14) */
	ENGINE_INSPECT, /* GET the copy */
	ENGINE_CREATE,
	ENGINE_UPDATE,
	ENGINE_STATUS,
	ENGINE_STRIP,   /* PUT what is there, as a copy without finalizers (C12) */
	ENGINE_NOTE,    /* PUT what is there with annotations about it (H8, H11) */
	ENGINE_ARCHIVE, /* keep what is there in the archive before it is replaced (C12) */
	ENGINE_DELETE
};

struct engine_order {
	struct item *item; /* alive until the order is answered */
	enum engine_action action;
	uint64_t version; /* of the copy that was judged: what is archived is that one (I11) */
	uint64_t heard;   /* of the source: its version then, as the watch or a list told */
	struct hash body, status; /* of the source, as it is being written */
	bool again; /* CREATE: this very version was copied before, and not we took the copy away */
};

/* What people and other roles should hear of; item: NULL for REGRESSED. */
enum engine_note {
	ENGINE_SPACE_CHANGED,
	ENGINE_LEFT_SCOPE,
	ENGINE_REGRESSED,
	ENGINE_TROUBLE,
	ENGINE_PRUNED,
	ENGINE_ARCHIVED
};
typedef void engine_note_fn(void *arg, enum engine_note note, struct item *item);

struct engine {
	struct store store;
	struct item_list ready[2][KIND_COUNT]; /* [0] live, [1] backlog */
	struct item_list delayed, forgotten;
	int64_t wake_ns; /* of the earliest in delayed, or before it */
	struct brake brakes[KIND_COUNT];
	uint16_t kind_busy[KIND_COUNT], kind_streak[KIND_COUNT]; /* requests; failures in a row */
	uint32_t copies_synced;  /* bits of WIDE kinds whose copies are known */
	uint32_t copies_doubted; /* of these, those whose watch was lost (I11) */
	uint32_t window, busy;
	uint64_t term;  /* led-term of the granted source (H9) */
	uint32_t pass;  /* number of the list that began last */
	bool granted;   /* by the elector, not paused */
	bool verified;  /* the source proved to be the granted one (G6) */
	bool regressed; /* the source went back in time (H10): frozen */
	bool suspect;   /* the same, of a source that has not proved yet who it is */
	bool doubted;   /* the source was lost, and has not said since who it is (G6) */
	bool restore;   /* a restored source is followed: what it lost is archived first (H10) */
	bool draining;  /* H3: what is held is written, nothing is read any more */
	bool rejoin; /* objects here are of an own past: adopted, archived, never just replaced */
	bool redo;   /* what waits for other deletions is to be judged anew */
	uint32_t doomed[KIND_COUNT]; /* objects of a rejoin that are still to be deleted */
	uint64_t archived;
	uint64_t written, failed, random;
	char controller_namespace[64];
	engine_note_fn *note;
	void *note_arg;
};

void engine_open(struct engine *engine, const char *controller_namespace, uint32_t window,
    uint64_t seed, engine_note_fn *note, void *note_arg);
void engine_close(struct engine *engine);
/* May anything be written now? */
bool engine_is_open(const struct engine *engine);
/* A new grant, a pause, a drain: everything is judged anew. */
void engine_rejudge(struct engine *engine, int64_t now_ns);
/* Another identity is in use: what failed for the old one is tried now. */
void engine_renewed(struct engine *engine, int64_t now_ns);

/* The source has the object. live: a watch said so; else list number `pass`. Returns the item when
 * its copy's text should be held (store_hold), else NULL. */
struct item *engine_source_seen(struct engine *engine, enum kind kind,
    const struct rewrite_facts *facts, bool live, uint32_t pass, int64_t now_ns);
/* A watch saw it go (DELETED), the object's last version. */
void engine_source_gone(struct engine *engine, enum kind kind, const char *namespace,
    const char *name, uint64_t version, int64_t now_ns);
/* List `pass` is complete and the source is who it should be: what it did not show is absent, and
 * the brake decides. space NULL: the kind in all namespaces. */
void engine_source_listed(
    struct engine *engine, enum kind kind, struct space *space, uint32_t pass, int64_t now_ns);
/* The list's version is lower than one seen before (H10). */
void engine_source_regressed(struct engine *engine);
/* The kind's list number `pass` is complete at that version: no copy can be of a later one (H10),
 * so that a restored source is known for one after a restart, too. space NULL: in all namespaces.
 */
void engine_source_at(
    struct engine *engine, enum kind kind, struct space *space, uint64_t version, uint32_t pass);
/* The source proved to be the granted one. */
void engine_source_verified(struct engine *engine);
/* A person says that the source may be followed though it went back (H10): its lists are due anew.
 * It ends with engine_restored, after a whole pass. */
void engine_accept_restore(struct engine *engine, int64_t now_ns);
void engine_restored(struct engine *engine);
/* Another source was granted: whatever the old one said is forgotten. */
void engine_source_replaced(struct engine *engine, int64_t now_ns);
/* The namespace is gone from the source, its EACH kinds are no longer watched. */
void engine_source_space_gone(struct engine *engine, struct space *space, int64_t now_ns);

/* listed: list number `pass` shows it; else a watch. True: the source has said nothing of it. */
bool engine_copy_seen(struct engine *engine, enum kind kind, const struct rewrite_facts *facts,
    bool listed, uint32_t pass, int64_t now_ns);
void engine_copy_gone(struct engine *engine, enum kind kind, const char *namespace,
    const char *name, uint64_t version, int64_t now_ns);
void engine_copies_listed(
    struct engine *engine, enum kind kind, struct space *space, uint32_t pass, int64_t now_ns);
/* Their watch was lost, and is there again. What is known of them may be of before a backup of this
 * hub was restored, and versions come again: a precondition alone is no protection (I11). */
void engine_copies_doubted(
    struct engine *engine, enum kind kind, struct space *space, bool doubted, int64_t now_ns);
/* The namespace's copy is gone and everything in it. */
void engine_copy_space_gone(struct engine *engine, struct space *space, int64_t now_ns);

/* The next thing to do; false: nothing now. */
bool engine_next(struct engine *engine, int64_t now_ns, struct engine_order *order);
/* When to ask again though nothing happens; INT64_MAX: never. */
int64_t engine_wake_ns(const struct engine *engine);

/* The source's object as it was in a list that is read once more for its text: the item, when that
 * is of the very version which list or watch told, and is to be written and not at hand. NULL: let
 * it go. The text that was kept (store_hold) is told, and the item is written next (H3). */
struct item *engine_lacks_text(
    const struct engine *engine, enum kind kind, const struct rewrite_facts *facts);
void engine_has_text(struct engine *engine, struct item *item);

/* Each order is answered by exactly one of these. */
/* FETCH: facts of the source as read; its copy's text is held (store_hold, always). */
void engine_fetched(struct engine *engine, const struct engine_order *order,
    const struct rewrite_facts *facts, int64_t now_ns);
/* PROVE: the object that stands at that name, NULL: none. */
void engine_proved(struct engine *engine, const struct engine_order *order,
    const struct rewrite_facts *facts, int64_t now_ns);
/* INSPECT: the local object, NULL: none. */
void engine_inspected(struct engine *engine, const struct engine_order *order,
    const struct rewrite_facts *facts, int64_t now_ns);
/* CREATE, UPDATE, STATUS, STRIP, NOTE: what the server made of it. warning: what it said of fields
 * that it dropped, "": nothing. True: the copy is now as it should be. */
bool engine_wrote(struct engine *engine, const struct engine_order *order,
    const struct rewrite_facts *answer, const char *warning, int64_t now_ns);
/* ARCHIVE: all of the object is in the archive. */
void engine_archived(struct engine *engine, const struct engine_order *order, int64_t now_ns);
void engine_deleted(struct engine *engine, const struct engine_order *order, int64_t now_ns);
/* field: the one that every cause of an invalid object names, "": none or several (H7). */
struct engine_failure {
	enum kube_class class;
	const char *why, *field;
	int64_t retry_after_ms;
};
void engine_failed(struct engine *engine, const struct engine_order *order,
    const struct engine_failure *failure, int64_t now_ns);
/* Does a refusal say that the API server, just started, has not found its policies' parameter yet?
 * It looks for kinds every 30 s, and until then lets nobody write (H7). */
bool engine_policy_unready(const char *why);

/* A rejoin begins or ends: what is here is known anew by the lists that follow (C12). */
void engine_rejoin(struct engine *engine, bool rejoin, int64_t now_ns);

/* Names the held deletions: equal sets have equal hashes; 0: none. */
uint64_t engine_held_hash(const struct engine *engine);
/* Lets exactly that set go (H8). False: it is another set by now. */
bool engine_release_held(struct engine *engine, uint64_t hash, int64_t now_ns);
/* Keeps exactly that set instead: copies without a source, left alone until it has them again.
 * False: it is another set by now. */
bool engine_discard_held(struct engine *engine, uint64_t hash, int64_t now_ns);
/* What failed or is blocked is tried at once. */
void engine_retry(struct engine *engine, int64_t now_ns);
/* Age of the oldest change that is not written; 0: none. */
int64_t engine_oldest_ns(const struct engine *engine, int64_t now_ns);
/* Are all local objects of the mirror exactly what the mirror wrote (C12)? */
bool engine_is_pristine(const struct engine *engine);

const char *engine_action_name(enum engine_action action);

#endif
