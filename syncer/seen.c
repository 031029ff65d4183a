/*
 * What feeds report, into items (see engine.h). Pure: no I/O, no clock. Called by source.c and
 * copies.c with facts that are already bounded; a stale or repeated event changes nothing.
 */
#include <string.h>

#include "syncer/judge.h"

/* The account of a token or the owner reference's object, as an item, seen already or not. */
static void link_owner(struct engine *engine, struct item *item, const struct rewrite_facts *facts)
{
	struct item *owner = NULL;

	if (*facts->owner_name)
		owner = store_add(
		    &engine->store, facts->owner_kind, facts->namespace, facts->owner_name);
	if (owner == item)
		owner = NULL;
	if (owner)
		owner->has_dependents = true;
	item->owner = owner;
	item->owner_controls = facts->owner_controls;
}

/* H10: older than its copy. Versions of one API server are of one counter; the copy was written
 * under the same term, so by the same one. A copy that stays as it is, or is held, would say so at
 * each start, whatever a person has accepted. */
static bool is_behind(
    const struct engine *engine, const struct item *item, uint64_t version, uint32_t pass)
{
	return item->copy == COPY_PRESENT && item->copy_term == engine->term &&
	       item->copy_source_version > version && item->fetched_pass < pass &&
	       !engine->restore && !item->copy_says_held && judge_is_followed(engine, item);
}

/* H10: an older version of the same object, in a list that is consistent. What was fetched after
 * the list began may be newer than the list. */
static bool went_back(const struct engine *engine, const struct item *item,
    const struct rewrite_facts *facts, uint32_t pass)
{
	return item->source_version > facts->version && engine->verified &&
	       item->fetched_pass < pass && item->source_uid == rewrite_uid_hash(facts->uid);
}

/* A stranger's versions say nothing (G6): it must prove first who it is. */
static void regress_if_verified(struct engine *engine)
{
	engine->suspect = true;
	if (engine->verified)
		engine_source_regressed(engine);
}

void engine_source_verified(struct engine *engine)
{
	engine->verified = true;
	if (engine->suspect)
		engine_source_regressed(engine);
}

void engine_take_source(struct item *item, const struct rewrite_facts *facts)
{
	item->source_version = facts->version;
	item->source_body = facts->body;
	item->source_status = facts->status;
	item->source_rest = facts->rest;
	item->terminating = facts->terminating;
	item->source_finalizers = facts->finalizers;
	item->left_out = facts->left_out;
	item->on_hold = facts->on_hold;
	item->skipped = facts->skipped;
}

static bool is_as_told(const struct item *item, const struct rewrite_facts *facts)
{
	return hash_equal(&item->source_body, &facts->body) &&
	       hash_equal(&item->source_status, &facts->status) &&
	       item->source_finalizers == facts->finalizers &&
	       item->terminating == facts->terminating;
}

struct item *engine_source_seen(struct engine *engine, enum kind kind,
    const struct rewrite_facts *facts, bool live, uint32_t pass, int64_t now_ns)
{
	struct item *item = store_add(&engine->store, kind, facts->namespace, facts->name);
	enum source_state before;
	bool changed;

	if (!item)
		return NULL;
	if (facts->version < item->source_version && live)
		return NULL; /* stale or reordered */
	/* Read by name since this list began: the list is the older one. */
	if (facts->version < item->source_version && item->source == SOURCE_PRESENT &&
	    item->fetched_pass >= pass) {
		item->source_pass = pass;
		return NULL;
	}
	if (!live && went_back(engine, item, facts, pass))
		engine_source_regressed(engine);
	before = item->source;
	changed = before != SOURCE_PRESENT || !is_as_told(item, facts);
	engine_take_source(item, facts);
	item->source_uid = rewrite_uid_hash(facts->uid);
	item->created_us = facts->created_us;
	item->forbidden = facts->refusal != NULL;
	if (facts->refusal)
		store_say(item, facts->refusal);
	item->shell = facts->shell;
	if (!live && is_behind(engine, item, facts->version, pass))
		regress_if_verified(engine);
	item->source_pass = pass;
	item->proofs = 0;
	item->braked = item->observed = item->kept = false;
	link_owner(engine, item, facts);
	store_set_source(&engine->store, item, SOURCE_PRESENT);
	if (changed) {
		item->attempts = 0;
		item->retry_ns = 0;
		item->refused = item->recreate = false;
		store_release(&engine->store, item);
	}
	if (live)
		engine_make_live(engine, item);
	engine_settle(engine, item, now_ns);
	if (before != SOURCE_PRESENT)
		engine_spread(engine, item, now_ns);
	return (item->state == ITEM_PENDING || item->busy) && !item->held ? item : NULL;
}

struct item *engine_lacks_text(
    const struct engine *engine, enum kind kind, const struct rewrite_facts *facts)
{
	struct item *item = store_find(&engine->store, kind, facts->namespace, facts->name);

	if (!item || item->queue != QUEUE_READY || item->held || item->source != SOURCE_PRESENT ||
	    item->source_version != facts->version ||
	    item->source_uid != rewrite_uid_hash(facts->uid))
		return NULL;
	return is_as_told(item, facts) ? item : NULL;
}

void engine_has_text(struct engine *engine, struct item *item)
{
	item_list_put_first(&engine->ready[!item->live][item->kind], item);
}

/* Copies; and a Namespace of an own past (C12): it would take everything in it along. */
static bool brake_sees(const struct item *item)
{
	return item->copy == COPY_PRESENT || item->copy == COPY_UNSURE ||
	       (item->copy == COPY_FOREIGN && item->kind == KIND_NAMESPACE);
}

/* May anything be here that goes with it: a copy, or one that is being written or still to be
 * listed? All of these are asked about, for their deletion follows when they turn out to be there
 * (H8). */
static bool may_be_here(const struct engine *engine, const struct item *item)
{
	return brake_sees(item) || item->busy || !judge_copies_known(engine, item);
}

void engine_source_gone(struct engine *engine, enum kind kind, const char *namespace,
    const char *name, uint64_t version, int64_t now_ns)
{
	struct item *item = store_find(&engine->store, kind, namespace, name);

	if (!item || version < item->source_version)
		return;
	item->source_version = version;
	if (item->source == SOURCE_ABSENT)
		return;
	store_set_source(&engine->store, item, SOURCE_ABSENT);
	item->observed = true;
	item->proofs = 0;
	item->retry_ns = 0;
	item->attempts = 0;
	item->refused = false;
	engine_make_live(engine, item);
	store_release(&engine->store, item);
	if (may_be_here(engine, item))
		item->braked =
		    !brake_observed(&engine->brakes[kind], engine->store.count_copy[kind], now_ns);
	engine_spread(engine, item, now_ns);
	engine_settle(engine, item, now_ns);
}

/* Calls visit for each item of the kind: in one space, or in all. */
typedef void visit_fn(
    struct engine *engine, struct item *item, uint32_t pass, int64_t now_ns, uint32_t *count);

static uint32_t visit_kind(struct engine *engine, enum kind kind, struct space *only,
    visit_fn *visit, uint32_t pass, int64_t now_ns)
{
	struct space *space = only;
	struct item *next;
	uint32_t count = 0;

	for (size_t at = 0;
	     only ? at++ == 0 : (space = map_next(&engine->store.spaces, &at)) != NULL;)
		for (struct item *item = space->items; item; item = next) {
			next = item->space_next;
			if (item->kind == kind)
				visit(engine, item, pass, now_ns, &count);
		}
	return count;
}

static void count_copy(
    struct engine *engine, struct item *item, uint32_t pass, int64_t now_ns, uint32_t *count)
{
	(void)engine, (void)pass, (void)now_ns;
	*count += brake_sees(item);
}

static bool is_missing(const struct item *item, uint32_t pass)
{
	return item->source_pass != pass &&
	       (item->source == SOURCE_PRESENT || item->source == SOURCE_UNKNOWN);
}

static void count_missing(
    struct engine *engine, struct item *item, uint32_t pass, int64_t now_ns, uint32_t *count)
{
	(void)engine, (void)now_ns;
	*count += is_missing(item, pass) && brake_sees(item);
}

static void mark_missing(
    struct engine *engine, struct item *item, uint32_t pass, int64_t now_ns, uint32_t *count)
{
	(void)count;
	if (!is_missing(item, pass))
		return;
	store_set_source(&engine->store, item, SOURCE_ABSENT);
	store_release(&engine->store, item);
	item->observed = false;
	item->proofs = 0;
	engine_spread(engine, item, now_ns);
	engine_settle(engine, item, now_ns);
}

static void mark_missing_and_hold(
    struct engine *engine, struct item *item, uint32_t pass, int64_t now_ns, uint32_t *count)
{
	if (is_missing(item, pass))
		item->braked = brake_sees(item);
	mark_missing(engine, item, pass, now_ns, count);
}

void engine_source_listed(
    struct engine *engine, enum kind kind, struct space *space, uint32_t pass, int64_t now_ns)
{
	uint32_t copies = visit_kind(engine, kind, space, count_copy, pass, now_ns);
	uint32_t absent = visit_kind(engine, kind, space, count_missing, pass, now_ns);
	bool passes = brake_absent(kind == KIND_NAMESPACE, absent, copies);

	(void)visit_kind(
	    engine, kind, space, passes ? mark_missing : mark_missing_and_hold, pass, now_ns);
}

static void find_ahead(
    struct engine *engine, struct item *item, uint32_t pass, int64_t now_ns, uint32_t *count)
{
	/* A version stands where others have a time. What was seen since the list began was judged
	 * by its own version, and may be newer than the list. */
	*count += item->source_pass != pass && is_behind(engine, item, (uint64_t)now_ns, pass);
}

void engine_source_at(
    struct engine *engine, enum kind kind, struct space *space, uint64_t version, uint32_t pass)
{
	if (visit_kind(engine, kind, space, find_ahead, pass, (int64_t)version))
		regress_if_verified(engine);
}

void engine_accept_restore(struct engine *engine, int64_t now_ns)
{
	struct item *item;

	engine->regressed = engine->suspect = false;
	engine->restore = true;
	for (size_t at = 0; (item = map_next(&engine->store.items, &at));) {
		item->source_version = 0;
		store_release(&engine->store, item); /* its mark names a version that is lost */
		item->archived_version = 0;
		item->retry_ns = 0;
		item->attempts = 0;
	}
	engine_rejudge(engine, now_ns);
}

void engine_restored(struct engine *engine)
{
	engine->restore = false;
}

void engine_retry(struct engine *engine, int64_t now_ns)
{
	struct item *item;

	for (size_t at = 0; (item = map_next(&engine->store.items, &at));) {
		item->retry_ns = 0;
		item->attempts = 0;
	}
	engine_rejudge(engine, now_ns);
}

void engine_source_regressed(struct engine *engine)
{
	if (engine->regressed)
		return;
	engine->regressed = true;
	engine->note(engine->note_arg, ENGINE_REGRESSED, NULL);
}

void engine_source_replaced(struct engine *engine, int64_t now_ns)
{
	struct item *item;

	engine->regressed = engine->suspect = false;
	for (size_t at = 0; (item = map_next(&engine->store.items, &at));) {
		store_set_source(&engine->store, item, SOURCE_UNKNOWN);
		store_release(&engine->store, item);
		item->source_version = item->source_uid = 0;
		item->braked = false;
		item->proofs = 0;
	}
	engine_rejudge(engine, now_ns);
}

void engine_source_space_gone(struct engine *engine, struct space *space, int64_t now_ns)
{
	struct item *next;

	for (struct item *item = space->items; item; item = next) {
		next = item->space_next;
		if (!kind_row(item->kind)->each)
			continue;
		/* What is in a Namespace that is merely missing is missing, too: should that come
		 * back without it, no list tells any more (H8). */
		if (item->source != SOURCE_ABSENT && !engine->rejoin)
			item->braked = space->self && space->self->braked && brake_sees(item);
		store_set_source(&engine->store, item, SOURCE_ABSENT);
		store_release(&engine->store, item);
		engine_settle(engine, item, now_ns);
	}
}

static bool is_as_known(const struct item *item, const struct rewrite_facts *facts)
{
	return hash_equal(&facts->body, &item->copy_body) &&
	       hash_equal(&facts->mark, &item->copy_mark) &&
	       hash_equal(&facts->status, &item->copy_status) &&
	       facts->terminating == item->copy_terminating &&
	       facts->finalizers == item->copy_finalizers;
}

/* What an earlier process learned of this server's ways (H11). */
static void remember_pruned(struct item *item, const struct rewrite_facts *facts)
{
	const struct rewrite_pruned *pruned = &facts->pruned;
	struct made *made = store_made(item);

	made->wrote_body = facts->mark;
	made->answer_body = pruned->body;
	if (!hash_is_zero(&pruned->from)) {
		made->wrote_status = pruned->from;
		made->answer_status = pruned->status;
	}
	item->noted = hash_equal(&pruned->body, &facts->body) &&
		      (hash_is_zero(&pruned->from) || hash_equal(&pruned->status, &facts->status));
}

void engine_take_copy(struct engine *engine, struct item *item, const struct rewrite_facts *facts)
{
	store_set_copy(&engine->store, item, facts->is_copy ? COPY_PRESENT : COPY_FOREIGN);
	item->copy_version = facts->version;
	item->copy_term = facts->source_term;
	item->copy_owner = facts->owner_uid;
	item->copy_mark = facts->mark;
	item->copy_body = facts->body;
	item->copy_status = facts->status;
	item->copy_rest = facts->rest;
	item->copy_terminating = facts->terminating;
	item->copy_finalizers = facts->finalizers;
	item->copy_chosen = facts->chosen;
	item->copy_kept_out = facts->left_out || facts->skipped;
	item->copy_shell = facts->shell;
	item->copy_says_held = facts->is_copy && facts->says_held;
	item->copy_says_kept = facts->is_copy && facts->says_kept;
	item->copy_source_version = facts->is_copy ? facts->source_version : 0;
	item->noted = item->copy_doubted = false;
	if (facts->is_copy && facts->says_pruned)
		remember_pruned(item, facts);
	(void)str_copy(item->copy_uid, sizeof(item->copy_uid), str_of(facts->uid));
}

bool engine_copy_seen(struct engine *engine, enum kind kind, const struct rewrite_facts *facts,
    bool listed, uint32_t pass, int64_t now_ns)
{
	struct item *item = store_add(&engine->store, kind, facts->namespace, facts->name);
	bool moved;

	if (!item)
		return false;
	item->copy_pass = pass;
	if (!facts->is_copy && !engine->rejoin)
		return false;
	item->copy_doubted = false;
	item->copy_behind = listed && facts->version < item->copy_version;
	/* Our own write's answer was quicker. An older version of the same object is stale. */
	if ((item->copy == COPY_PRESENT || item->copy == COPY_FOREIGN) &&
	    facts->version <= item->copy_version && strcmp(item->copy_uid, facts->uid) == 0 &&
	    (facts->version < item->copy_version || is_as_known(item, facts)))
		return false;
	moved = item->copy != COPY_PRESENT || !facts->is_copy ||
		strcmp(item->copy_uid, facts->uid) != 0 ||
		item->copy_terminating != facts->terminating;
	engine_take_copy(engine, item, facts);
	if (moved)
		engine_spread(engine, item, now_ns);
	engine_settle(engine, item, now_ns);
	return item->source == SOURCE_UNKNOWN;
}

static void lose_copy(struct engine *engine, struct item *item, int64_t now_ns)
{
	store_set_copy(&engine->store, item, COPY_NONE);
	item->copy_terminating = false;
	item->copy_uid[0] = '\0';
	engine_spread(engine, item, now_ns);
	engine_settle(engine, item, now_ns);
}

void engine_copy_gone(struct engine *engine, enum kind kind, const char *namespace,
    const char *name, uint64_t version, int64_t now_ns)
{
	struct item *item = store_find(&engine->store, kind, namespace, name);

	if (!item || item->copy == COPY_NONE || version < item->copy_version)
		return;
	item->copy_version = version; /* answers that are older come too late */
	lose_copy(engine, item, now_ns);
}

static void mark_copy_missing(
    struct engine *engine, struct item *item, uint32_t pass, int64_t now_ns, uint32_t *count)
{
	bool listed = item->copy == COPY_PRESENT || (engine->rejoin && item->copy == COPY_FOREIGN);

	(void)count;
	if (listed && item->copy_pass != pass && !item->busy) {
		lose_copy(engine, item, now_ns);
		return;
	}
	/* The answer that is still to come may be older than the list; and what the list has in an
	 * older version was just written by us, or this hub's backup was restored. */
	if ((listed && item->copy_pass != pass) || (item->copy_behind && item->copy != COPY_NONE))
		store_set_copy(&engine->store, item, COPY_UNSURE);
	item->copy_behind = false;
	engine_settle(engine, item, now_ns);
}

void engine_copies_listed(
    struct engine *engine, enum kind kind, struct space *space, uint32_t pass, int64_t now_ns)
{
	if (space)
		space->copies_synced |= 1u << kind;
	else
		engine->copies_synced |= 1u << kind;
	(void)visit_kind(engine, kind, space, mark_copy_missing, pass, now_ns);
	/* Those who wait for an owner of this kind; a Namespace that waits for what is in it. */
	if (!space)
		engine_rejudge(engine, now_ns);
	else if (space->self)
		engine_settle(engine, space->self, now_ns);
}

static void doubt(
    struct engine *engine, struct item *item, uint32_t doubted, int64_t now_ns, uint32_t *count)
{
	(void)engine, (void)now_ns, (void)count;
	item->copy_doubted = doubted;
	if (doubted)
		item->archived_version = 0; /* that version, too, may come again */
}

void engine_copies_doubted(
    struct engine *engine, enum kind kind, struct space *space, bool doubted, int64_t now_ns)
{
	uint32_t *bits = space ? &space->copies_doubted : &engine->copies_doubted;
	struct space *waits;

	*bits = doubted ? *bits | 1u << kind : *bits & ~(1u << kind);
	(void)visit_kind(engine, kind, space, doubt, doubted, now_ns);
	/* A Namespace waits until all in it is known. */
	if (space && space->self)
		engine_settle(engine, space->self, now_ns);
	for (size_t at = 0; !space && (waits = map_next(&engine->store.spaces, &at));)
		if (waits->self)
			engine_settle(engine, waits->self, now_ns);
}

void engine_copy_space_gone(struct engine *engine, struct space *space, int64_t now_ns)
{
	struct item *next;

	space->copies_synced = 0;
	for (struct item *item = space->items; item; item = next) {
		next = item->space_next;
		if (!kind_row(item->kind)->each)
			continue;
		store_set_copy(&engine->store, item, COPY_NONE);
		engine_settle(engine, item, now_ns);
	}
}

/* FNV-1a over key and uid; the sum of all is independent of their order. */
static uint64_t key_hash(const struct item *item)
{
	return rewrite_uid_hash(item->key) ^ (rewrite_uid_hash(item->copy_uid) * 31);
}

uint64_t engine_held_hash(const struct engine *engine)
{
	struct item *item;
	uint64_t sum = 0;

	if (engine->store.count[ITEM_HELD] == 0)
		return 0;
	for (size_t at = 0; (item = map_next(&engine->store.items, &at));)
		if (item->state == ITEM_HELD)
			sum += key_hash(item);
	return sum;
}

static bool end_hold(struct engine *engine, uint64_t hash, bool keep, int64_t now_ns)
{
	struct item *item;

	if (!hash || engine_held_hash(engine) != hash)
		return false;
	for (size_t at = 0; (item = map_next(&engine->store.items, &at));)
		if (item->state == ITEM_HELD) {
			item->braked = false;
			item->kept = keep;
			item->retry_ns = 0;
		}
	engine_rejudge(engine, now_ns);
	return true;
}

bool engine_release_held(struct engine *engine, uint64_t hash, int64_t now_ns)
{
	return end_hold(engine, hash, false, now_ns);
}

bool engine_discard_held(struct engine *engine, uint64_t hash, int64_t now_ns)
{
	return end_hold(engine, hash, true, now_ns);
}

int64_t engine_oldest_ns(const struct engine *engine, int64_t now_ns)
{
	struct item *item;
	int64_t oldest_ns = now_ns;

	if (engine->store.count[ITEM_PENDING] == 0)
		return 0;
	for (size_t at = 0; (item = map_next(&engine->store.items, &at));)
		if (item->state == ITEM_PENDING && item->since_ns && item->since_ns < oldest_ns)
			oldest_ns = item->since_ns;
	return now_ns - oldest_ns;
}

bool engine_is_pristine(const struct engine *engine)
{
	struct item *item;

	for (size_t at = 0; (item = map_next(&engine->store.items, &at));) {
		if (item->copy == COPY_FOREIGN ||
		    (item->copy == COPY_PRESENT && !judge_is_pristine(item)))
			return false;
	}
	return true;
}

void engine_rejoin(struct engine *engine, bool rejoin, int64_t now_ns)
{
	struct space *space;

	engine->rejoin = rejoin;
	if (rejoin) {
		/* Until its lists are complete nobody knows what is here. */
		engine->copies_synced = 0;
		for (size_t at = 0; (space = map_next(&engine->store.spaces, &at));)
			space->copies_synced = 0;
	}
	engine_rejudge(engine, now_ns);
}
