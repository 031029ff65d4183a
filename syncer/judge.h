/*
 * One item's facts in, what to do about it out: the rules of the mirror as one pure function. It
 * changes nothing; engine.c queues what it says. And the primitives that the engine's own files
 * share, engine.c and seen.c.
 */
#ifndef SYNCER_JUDGE_H
#define SYNCER_JUDGE_H

#include "syncer/engine.h"

struct decision {
	enum engine_action action;
	enum item_state state; /* PENDING with ENGINE_NONE: waits for another item */
	int64_t not_before_ns;
	const char *why; /* a literal, for BLOCKED */
	bool regressed;  /* it shows that the source went back in time (H10) */
};

struct decision judge_item(const struct engine *engine, const struct item *item);
/* Were the copies of its kind listed here, so that one that was not seen is not there? */
bool judge_copies_known(const struct engine *engine, const struct item *item);
/* Was the watch of its copies lost, so that one may change unseen (I11)? */
bool judge_is_unwatched(const struct engine *engine, const struct item *item);
/* Does its copy follow the source, then and when it is there? That of a Namespace that left, of a
 * marked object, of one whose rules grant too much, one that a person kept, and a token's shell
 * stay as they are. */
bool judge_is_followed(const struct engine *engine, const struct item *item);
/* Nothing goes, and nothing is proved, on the word of a source that may be another one by now (G6).
 * Draining, nobody can be asked any more. */
bool judge_must_wait(
    const struct engine *engine, const struct item *item, enum engine_action action);
/* Is it exactly what the mirror wrote (C12)? */
bool judge_is_pristine(const struct item *item);
/* Older than what was seen of the same object, or than what its copy was made of (H10). */
bool judge_is_of_the_past(
    const struct engine *engine, const struct item *item, const struct rewrite_facts *facts);
/* H7: only these fields may never be changed in place, and only a refusal that names nothing else
 * is cured by making the object anew. */
bool judge_is_immutable(const struct item *item, const char *field);
/* What to note about it on the copy: what the server made of what was written last (H11). What the
 * source or somebody here says meanwhile was never written, and the server has made nothing of it.
 */
struct rewrite_pruned judge_pruned(const struct item *item);
bool judge_body_differs(const struct item *item);
bool judge_status_differs(const struct item *item);
/* After that decision: does its copy's text stay in memory until it is written? Past the bound one
 * that is not due is read again when its time comes, while a source can be read (H3). */
bool judge_needs_text(const struct engine *engine, const struct item *item,
    const struct decision *decision, int64_t now_ns);

/* Judges the item and puts it where it belongs. One of which nothing is left to know is dropped by
 * the next engine_next only, so that loops over items may call this. */
void engine_settle(struct engine *engine, struct item *item, int64_t now_ns);
/* Judges what depends on the item: a Namespace's items, an owner's dependents. */
void engine_spread(struct engine *engine, struct item *item, int64_t now_ns);
/* Puts its next write ahead of the backlog. */
void engine_make_live(struct engine *engine, struct item *item);
/* Takes over what the source showed of its object. */
void engine_take_source(struct item *item, const struct rewrite_facts *facts);
/* The same of the copy. */
void engine_take_copy(struct engine *engine, struct item *item, const struct rewrite_facts *facts);

#endif
