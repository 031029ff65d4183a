/*
 * Queues, orders and how orders end (see the header). Pure: no I/O, no clock. What feeds report is
 * in seen.c, the rules for one item in judge.c.
 */
#include "syncer/engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "syncer/judge.h"

#define BACKOFF_FIRST_NS (500 * BASE_NS_PER_MS)
#define BACKOFF_LAST_NS  (60 * BASE_NS_PER_S)
/* Rights that were just given are not known to each authorizer at once. */
#define RIGHTS_FIRST_NS (50 * BASE_NS_PER_MS)
#define RIGHTS_PATIENCE 6
#define UNREADY_NS      (2 * BASE_NS_PER_S)
#define DRAIN_RETRY_NS  (100 * BASE_NS_PER_MS)
#define DOUBT_NS        (200 * BASE_NS_PER_MS) /* until it is looked again who the source is */
#define NO_KIND_NS      (30 * BASE_NS_PER_S)
/* How often an object in the way is looked at: nothing tells when it goes. */
#define FOREIGN_NS (15 * BASE_NS_PER_S)
/* After so many failures in a row a kind may not fill the window any more. */
#define STREAK_LIMIT 3

void engine_open(struct engine *engine, const char *controller_namespace, uint32_t window,
    uint64_t seed, engine_note_fn *note, void *note_arg)
{
	*engine = (struct engine){ .window = window, .random = seed, .wake_ns = INT64_MAX };
	engine->note = note;
	engine->note_arg = note_arg;
	CHECK(window > 0);
	CHECK(str_copy(engine->controller_namespace, sizeof(engine->controller_namespace),
	    str_of(controller_namespace)));
	store_open(&engine->store);
}

void engine_close(struct engine *engine)
{
	store_close(&engine->store);
}

bool engine_is_open(const struct engine *engine)
{
	return engine->granted && engine->verified && !engine->regressed;
}

static void unqueue(struct engine *engine, struct item *item)
{
	if (item->queue == QUEUE_FORGOTTEN)
		item_list_cut(&engine->forgotten, item);
	else if (item->queue == QUEUE_DELAYED)
		item_list_cut(&engine->delayed, item);
	else if (item->queue == QUEUE_READY)
		item_list_cut(&engine->ready[!item->live][item->kind], item);
	item->queue = QUEUE_NOT;
}

static bool is_forgettable(const struct engine *engine, const struct item *item)
{
	return (item->source == SOURCE_ABSENT || item->source == SOURCE_UNKNOWN) &&
	       (item->copy == COPY_NONE || (item->copy == COPY_FOREIGN && !engine->rejoin)) &&
	       !item->has_dependents && !item->busy;
}

/* What is still to be deleted of an own past; the last one of a kind lets others go (C12), and the
 * last one in a Namespace that. */
static void count_doomed(struct engine *engine, struct item *item)
{
	const struct item *home = item->space->self;
	bool doomed = engine->rejoin && item->state == ITEM_PENDING &&
		      item->source == SOURCE_ABSENT && item->copy != COPY_NONE;

	if (home && home->state == ITEM_BLOCKED && home->source == SOURCE_ABSENT &&
	    (item->copy == COPY_NONE || item->archived_version == item->copy_version ||
		judge_is_pristine(item)))
		engine->redo = true;
	if (doomed == item->doomed)
		return;
	item->doomed = doomed;
	if (doomed)
		engine->doomed[item->kind]++;
	else if (--engine->doomed[item->kind] == 0)
		engine->redo = true;
}

static void enqueue(struct engine *engine, struct item *item, int64_t not_before_ns, int64_t now_ns)
{
	item->retry_ns = not_before_ns;
	if (not_before_ns <= now_ns) {
		item->queue = QUEUE_READY;
		item_list_push(&engine->ready[!item->live][item->kind], item);
		return;
	}
	item->queue = QUEUE_DELAYED;
	item_list_push(&engine->delayed, item);
	if (not_before_ns < engine->wake_ns)
		engine->wake_ns = not_before_ns;
}

void engine_make_live(struct engine *engine, struct item *item)
{
	unqueue(engine, item);
	item->live = true;
}

void engine_settle(struct engine *engine, struct item *item, int64_t now_ns)
{
	struct decision decision;
	enum item_state before = item->state;
	struct item *home = item->space->self;

	if (item->busy)
		return; /* judged when its order is answered */
	unqueue(engine, item);
	decision = judge_item(engine, item);
	store_set_state(&engine->store, item, decision.state);
	if (decision.action == ENGINE_NONE && judge_is_unwatched(engine, item))
		item->copy_doubted = true; /* what was just seen of it holds for one write (I11) */
	count_doomed(engine, item);
	if (is_forgettable(engine, item)) {
		item->queue = QUEUE_FORGOTTEN;
		item_list_push(&engine->forgotten, item);
	} else if (decision.action != ENGINE_NONE) {
		enqueue(engine, item, decision.not_before_ns, now_ns);
	}
	if (decision.state == ITEM_IDLE || decision.state == ITEM_OUTSIDE ||
	    decision.state == ITEM_EXCLUDED) {
		item->since_ns = 0;
		item->attempts = 0;
		item->live = item->refused = item->reported = item->created = false;
		store_say(item, NULL);
	} else if (!item->since_ns) {
		item->since_ns = now_ns;
	}
	if (!judge_needs_text(engine, item, &decision, now_ns))
		store_release(&engine->store, item);
	if (decision.why)
		store_say(item, decision.why);
	if (decision.regressed && engine->verified)
		engine_source_regressed(engine);
	if (decision.state == ITEM_BLOCKED && before != ITEM_BLOCKED)
		engine->note(engine->note_arg, ENGINE_TROUBLE, item);
	/* Who waits for it to be written goes on without it (H13). */
	if (before == ITEM_PENDING && decision.state != ITEM_PENDING && item->has_dependents &&
	    item->copy == COPY_NONE)
		engine_spread(engine, item, now_ns);
	if (home && home->source == SOURCE_ABSENT && home->state == ITEM_PENDING &&
	    home->queue == QUEUE_NOT)
		engine_settle(engine, home, now_ns); /* it may have waited for this one */
}

void engine_spread(struct engine *engine, struct item *item, int64_t now_ns)
{
	struct space *space = item->space;
	struct item *next;

	if (item->kind == KIND_NAMESPACE) {
		space = store_space(&engine->store, item_name(item));
		engine->note(engine->note_arg, ENGINE_SPACE_CHANGED, item);
	} else if (!item->has_dependents) {
		return;
	}
	for (struct item *at = space ? space->items : NULL; at; at = next) {
		next = at->space_next;
		if (item->kind == KIND_NAMESPACE || at->owner == item)
			engine_settle(engine, at, now_ns);
	}
}

void engine_rejudge(struct engine *engine, int64_t now_ns)
{
	struct space *space;
	struct item *next;

	for (size_t at = 0; (space = map_next(&engine->store.spaces, &at));)
		for (struct item *item = space->items; item; item = next) {
			next = item->space_next;
			engine_settle(engine, item, now_ns);
		}
}

void engine_renewed(struct engine *engine, int64_t now_ns)
{
	struct item *next;

	for (struct item *item = engine->delayed.first; item; item = next) {
		next = item->next;
		if (!item->unheard)
			continue;
		item->attempts = 0;
		item->retry_ns = 0;
		engine_settle(engine, item, now_ns);
	}
}

static void wake_delayed(struct engine *engine, int64_t now_ns)
{
	struct item *next;

	if (now_ns < engine->wake_ns)
		return;
	engine->wake_ns = INT64_MAX;
	for (struct item *item = engine->delayed.first; item; item = next) {
		next = item->next;
		if (item->retry_ns <= now_ns)
			engine_settle(engine, item, now_ns);
		else if (item->retry_ns < engine->wake_ns)
			engine->wake_ns = item->retry_ns;
	}
}

static void forget(struct engine *engine)
{
	struct item *item;

	while ((item = engine->forgotten.first)) {
		unqueue(engine, item);
		if (is_forgettable(engine, item))
			store_drop(&engine->store, item);
	}
}

/* Draining, nothing is read any more: what has no text here is lost (H3). */
static bool is_lost(const struct engine *engine, enum engine_action action)
{
	return engine->draining && (action == ENGINE_FETCH || action == ENGINE_PROVE ||
				       action == ENGINE_NOTE || action == ENGINE_ARCHIVE);
}

/* Somebody deleted the copy of just this version (3.11: resurrected). */
static bool is_again(const struct item *item, enum engine_action action)
{
	return action == ENGINE_CREATE && item->copy_source_version == item->source_version;
}

/* The first item of the list that has something to do now. */
static bool take(
    struct engine *engine, struct item_list *list, int64_t now_ns, struct engine_order *order)
{
	struct item *item;

	while ((item = list->first)) {
		struct decision decision = judge_item(engine, item);

		if (judge_must_wait(engine, item, decision.action))
			item->retry_ns = decision.not_before_ns = now_ns + DOUBT_NS;
		if (decision.action == ENGINE_NONE || decision.not_before_ns > now_ns) {
			engine_settle(engine, item, now_ns);
			continue;
		}
		unqueue(engine, item);
		if (is_lost(engine, decision.action))
			continue;
		item->busy = true;
		engine->busy++;
		engine->kind_busy[item->kind]++;
		*order = (struct engine_order){ item, decision.action, item->copy_version,
			item->source_version, item->source_body, item->source_status,
			is_again(item, decision.action) };
		return true;
	}
	return false;
}

bool engine_next(struct engine *engine, int64_t now_ns, struct engine_order *order)
{
	forget(engine);
	if (!engine_is_open(engine) || engine->busy >= engine->window)
		return false;
	if (engine->redo) {
		engine->redo = false;
		engine_rejudge(engine, now_ns);
	}
	wake_delayed(engine, now_ns);
	for (unsigned backlog = 0; backlog < 2; backlog++)
		for (unsigned kind = 0, end = kind_end(); kind < end; kind++) {
			if (engine->kind_streak[kind] >= STREAK_LIMIT && engine->kind_busy[kind])
				continue;
			if (take(engine, &engine->ready[backlog][kind], now_ns, order))
				return true;
		}
	return false;
}

int64_t engine_wake_ns(const struct engine *engine)
{
	/* Closed or full, time changes nothing. */
	return engine_is_open(engine) && engine->busy < engine->window ? engine->wake_ns
								       : INT64_MAX;
}

static struct item *finish(struct engine *engine, const struct engine_order *order)
{
	struct item *item = order->item;

	CHECK(item->busy && engine->busy && engine->kind_busy[item->kind]);
	item->busy = false;
	engine->busy--;
	engine->kind_busy[item->kind]--;
	return item;
}

static void went_well(struct engine *engine, struct item *item)
{
	item->attempts = 0;
	item->retry_ns = 0;
	engine->kind_streak[item->kind] = 0;
}

/* A look between two tries of a write makes the second one no first one: else an object that is
 * refused again and again would be tried without a pause. */
static void looked(struct engine *engine, struct item *item)
{
	item->retry_ns = 0;
	engine->kind_streak[item->kind] = 0;
}

/* Doubled from `first`, at most a minute, +-20 % so that keys do not march in step. */
static int64_t backoff(struct engine *engine, const struct item *item, int64_t first_ns)
{
	unsigned doublings = item->attempts > 12 ? 12 : item->attempts - 1u;
	int64_t wait_ns = first_ns << doublings;

	if (engine->draining)
		return DRAIN_RETRY_NS;
	if (wait_ns > BACKOFF_LAST_NS)
		wait_ns = BACKOFF_LAST_NS;
	engine->random = engine->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return wait_ns * (80 + (int64_t)((engine->random >> 33) % 41)) / 100;
}

/* The source's watch has told more since: an answer may be of before that, and what the watch has
 * told once it does not tell again. */
static bool has_told_more(const struct engine_order *order)
{
	return order->item->source_version != order->heard;
}

/* It was made anew while it was read: what was read is another object's, and of before. */
static bool was_replaced(const struct engine_order *order, const struct rewrite_facts *facts)
{
	return has_told_more(order) && facts->version < order->item->source_version;
}

void engine_fetched(struct engine *engine, const struct engine_order *order,
    const struct rewrite_facts *facts, int64_t now_ns)
{
	struct item *item = finish(engine, order);

	if (judge_is_of_the_past(engine, item, facts) || was_replaced(order, facts)) {
		/* A watch was quicker, or the source was restored, which its next proof of identity
		 * tells (H10): in no case is this written. */
		store_release(&engine->store, item);
		if (item->attempts < UINT8_MAX)
			item->attempts++;
		item->retry_ns = now_ns + backoff(engine, item, BACKOFF_FIRST_NS);
		engine_settle(engine, item, now_ns);
		return;
	}
	looked(engine, item);
	item->fetched_pass = engine->pass;
	engine_take_source(item, facts);
	engine_settle(engine, item, now_ns);
	/* It is written before others are read: no more than a window full is in memory (H3). */
	if (item->queue == QUEUE_READY)
		item_list_put_first(&engine->ready[!item->live][item->kind], item);
}

/* Of an object that this process never saw at the source nobody knows the uid: it is believed to be
 * the one that was copied. */
static bool is_another(const struct item *item, const struct rewrite_facts *facts)
{
	return item->source_uid && rewrite_uid_hash(facts->uid) != item->source_uid;
}

void engine_proved(struct engine *engine, const struct engine_order *order,
    const struct rewrite_facts *facts, int64_t now_ns)
{
	struct item *item = finish(engine, order);

	went_well(engine, item);
	if (item->source == SOURCE_PRESENT || has_told_more(order)) {
		/* It came back while we looked, or came and went: of that nothing is proved. */
	} else if (engine->doubted) {
		item->retry_ns = now_ns + DOUBT_NS;
	} else if (!facts || is_another(item, facts)) {
		item->proofs++;
		item->proved_ns = now_ns;
		if (item->kind == KIND_NAMESPACE)
			engine_spread(engine, item, now_ns);
	} else if (kind_row(item->kind)->labelled && !facts->chosen) {
		store_set_source(&engine->store, item, SOURCE_LEFT);
		engine->note(engine->note_arg, ENGINE_LEFT_SCOPE, item);
		engine_spread(engine, item, now_ns);
	} else {
		store_set_source(&engine->store, item, SOURCE_UNKNOWN); /* its watch will tell */
	}
	engine_settle(engine, item, now_ns);
}

/* The watch has told more meanwhile: a newer state, or that it is gone. */
static bool is_overtaken(const struct engine_order *order, const struct rewrite_facts *facts)
{
	return order->item->copy != COPY_UNSURE && order->item->copy_version != order->version &&
	       facts->version < order->item->copy_version;
}

void engine_inspected(struct engine *engine, const struct engine_order *order,
    const struct rewrite_facts *facts, int64_t now_ns)
{
	struct item *item = finish(engine, order);

	looked(engine, item);
	if (facts && !is_overtaken(order, facts))
		engine_take_copy(engine, item, facts);
	else if (!facts)
		store_set_copy(&engine->store, item, COPY_NONE);
	if (item->copy == COPY_FOREIGN && judge_item(engine, item).action == ENGINE_INSPECT)
		item->retry_ns = now_ns + FOREIGN_NS;
	engine_spread(engine, item, now_ns);
	engine_settle(engine, item, now_ns);
}

/* What was sent, and what became of it (H11). */
static void compare_answer(struct engine *engine, struct item *item,
    const struct engine_order *order, const struct rewrite_facts *answer, const char *warning)
{
	bool of_status = order->action == ENGINE_STATUS;
	const struct hash *sent = of_status ? &order->status : &order->body;
	const struct hash *got = of_status ? &answer->status : &answer->body;

	store_set_made(item, of_status, sent, got);
	if (!*warning || hash_equal(got, sent))
		return;
	free(item->dropped);
	item->dropped = strdup(warning);
	if (!item->pruned)
		engine->note(engine->note_arg, ENGINE_PRUNED, item); /* once (G20) */
	item->pruned = true;
}

bool engine_wrote(struct engine *engine, const struct engine_order *order,
    const struct rewrite_facts *answer, const char *warning, int64_t now_ns)
{
	struct item *item = finish(engine, order);
	bool overtaken = is_overtaken(order, answer), unsure = item->copy == COPY_UNSURE;
	bool moved =
	    !overtaken && (strcmp(item->copy_uid, answer->uid) != 0 || item->copy != COPY_PRESENT);
	/* The server has replaced just what was judged: of what is not ours the archive has all. */
	bool archived = !overtaken && order->version && item->archived_version == order->version;

	went_well(engine, item);
	item->refused = false;
	item->created = item->created || order->action == ENGINE_CREATE;
	/* Anew, whatever became of the deletion's answer. */
	item->recreate = item->recreate && order->action != ENGINE_CREATE;
	engine->written++;
	if (!overtaken)
		engine_take_copy(engine, item, answer);
	if (unsure) /* a list that came meanwhile did not show it */
		store_set_copy(&engine->store, item, COPY_UNSURE);
	if (archived)
		item->archived_version = answer->version;
	if (order->action == ENGINE_CREATE || order->action == ENGINE_UPDATE ||
	    order->action == ENGINE_STATUS)
		compare_answer(engine, item, order, answer, warning);
	if (moved)
		engine_spread(engine, item, now_ns);
	engine_settle(engine, item, now_ns);
	return item->state == ITEM_IDLE;
}

void engine_archived(struct engine *engine, const struct engine_order *order, int64_t now_ns)
{
	struct item *item = finish(engine, order);

	went_well(engine, item);
	engine->archived++;
	item->archived_version = order->version; /* it may have changed meanwhile */
	/* It can be had again: no brake is needed, but for what a Namespace takes along. */
	if (item->kind != KIND_NAMESPACE && (engine->rejoin || engine->restore))
		item->braked = false;
	engine->note(engine->note_arg, ENGINE_ARCHIVED, item);
	engine_settle(engine, item, now_ns);
}

void engine_deleted(struct engine *engine, const struct engine_order *order, int64_t now_ns)
{
	struct item *item = finish(engine, order);

	went_well(engine, item);
	engine->written++;
	item->recreate = false;
	/* These go slowly: a watch says when they are gone. */
	if (item->kind == KIND_NAMESPACE || item->copy_finalizers)
		item->copy_terminating = true;
	else if (item->copy != COPY_NONE) /* unless it was made anew: the watch told */
		store_set_copy(&engine->store, item,
		    item->copy_version == order->version ? COPY_NONE : COPY_UNSURE);
	engine_spread(engine, item, now_ns);
	engine_settle(engine, item, now_ns);
}

static bool is_write(enum engine_action action)
{
	return action >= ENGINE_CREATE;
}

/* 404 on the object itself. True: no failure. */
static bool not_found(struct engine *engine, const struct engine_order *order, int64_t now_ns)
{
	struct item *item = order->item;

	if (order->action == ENGINE_CREATE)
		return false; /* its namespace is not there (yet) */
	if (order->action != ENGINE_FETCH) {
		store_set_copy(&engine->store, item, COPY_NONE);
	} else if (item->source == SOURCE_PRESENT && !has_told_more(order)) {
		/* The watch will tell; unless another cluster said so in the source's place (G6).
		 */
		if (item->attempts < UINT8_MAX)
			item->attempts++;
		item->retry_ns = now_ns + backoff(engine, item, BACKOFF_FIRST_NS);
	}
	return true;
}

/* How long to wait after a failure (M8, H7: some refusals end the matter until something changes).
 */
static int64_t wait_after(struct engine *engine, struct item *item, enum engine_action action,
    const struct engine_failure *failure)
{
	switch (failure->class) {
	case KUBE_CONFLICT:
	case KUBE_EXISTS:
		if (is_write(action))
			store_set_copy(&engine->store, item, COPY_UNSURE);
		return item->attempts > 1 ? backoff(engine, item, RIGHTS_FIRST_NS) : 0;
	case KUBE_INVALID:
		if (action == ENGINE_UPDATE && !item->recreate &&
		    judge_is_immutable(item, failure->field)) {
			item->recreate = true;
			return 0;
		} /* fall through */
	case KUBE_TOO_LARGE:
	case KUBE_REFUSED: item->refused = true; return BACKOFF_LAST_NS;
	case KUBE_FORBIDDEN:
		if (engine_policy_unready(failure->why)) {
			item->attempts = 1; /* a wait for somebody else, not a try */
			return backoff(engine, item, UNREADY_NS);
		}
		item->refused = item->refused || item->attempts > RIGHTS_PATIENCE;
		return backoff(engine, item, RIGHTS_FIRST_NS);
	case KUBE_NO_RESOURCE: return NO_KIND_NS;
	case KUBE_THROTTLED: {
		int64_t wait_ns = backoff(engine, item, BACKOFF_FIRST_NS);
		int64_t told_ns = failure->retry_after_ms * BASE_NS_PER_MS;

		return told_ns > wait_ns ? told_ns : wait_ns;
	}
	case KUBE_SILENT:
	case KUBE_SERVER_ERROR:
		/* It may have been done: look before doing it again. */
		if (is_write(action) && !engine->draining)
			store_set_copy(&engine->store, item, COPY_UNSURE);
		return backoff(engine, item, BACKOFF_FIRST_NS);
	default: return backoff(engine, item, BACKOFF_FIRST_NS);
	}
}

void engine_failed(struct engine *engine, const struct engine_order *order,
    const struct engine_failure *failure, int64_t now_ns)
{
	enum kube_class class = failure->class;
	struct item *item = finish(engine, order);
	bool first = item->attempts == 0;

	if (class == KUBE_NOT_FOUND && not_found(engine, order, now_ns)) {
		engine_spread(engine, item, now_ns);
		engine_settle(engine, item, now_ns);
		return;
	}
	if (item->attempts < UINT8_MAX)
		item->attempts++;
	item->unheard = class == KUBE_BLIND || class == KUBE_UNAUTHORIZED;
	item->retry_ns = now_ns + wait_after(engine, item, order->action, failure);
	if (class != KUBE_CONFLICT && class != KUBE_EXISTS && !item->recreate) {
		if (engine->kind_streak[item->kind] < UINT16_MAX)
			engine->kind_streak[item->kind]++;
		engine->failed++;
		store_say(item, failure->why);
		if (first)
			engine->note(engine->note_arg, ENGINE_TROUBLE, item);
	}
	engine_settle(engine, item, now_ns);
}
