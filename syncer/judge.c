/*
 * The rules of the mirror for one item (see the header). Pure; called by engine.c only.
 */
#include "syncer/judge.h"

#include "base/clock.h"

/* A Namespace's absence is looked at twice, so far apart (C14). */
#define SECOND_LOOK_NS (30 * BASE_NS_PER_S)

static const struct decision idle = { .state = ITEM_IDLE };
static const struct decision outside = { .state = ITEM_OUTSIDE };
static const struct decision waits = { .state = ITEM_PENDING };

static struct decision blocked(const char *why)
{
	return (struct decision){ .state = ITEM_BLOCKED, .why = why };
}

/* An item that the server refused stays listed as blocked while it is tried again. */
static struct decision act(const struct item *item, enum engine_action action)
{
	return (struct decision){ .action = action,
		.state = item->refused ? ITEM_BLOCKED : ITEM_PENDING,
		.not_before_ns = item->retry_ns };
}

/* Mirrored namespaces only (L82): its Namespace is chosen at the source and ours here (L66). */
static bool in_scope(const struct item *item)
{
	const struct item *home = item->space->self;

	if (kind_row(item->kind)->place != KIND_MIRRORED)
		return true;
	return home && home->source == SOURCE_PRESENT && home->copy != COPY_FOREIGN;
}

static bool copies_known(const struct engine *engine, const struct item *item)
{
	uint32_t bits =
	    kind_row(item->kind)->each ? item->space->copies_synced : engine->copies_synced;

	return bits & (1u << item->kind);
}

/* Its namespace stands here and is not going away (L74, M6). */
static bool home_is_ready(const struct item *item)
{
	const struct item *home = item->space->self;

	if (kind_row(item->kind)->place != KIND_MIRRORED)
		return true;
	return home->copy == COPY_PRESENT && !home->copy_terminating;
}

bool judge_body_differs(const struct item *item)
{
	if (!hash_equal(&item->copy_mark, &item->source_body))
		return true;
	if (hash_equal(&item->copy_body, &item->source_body))
		return false;
	/* Not what was sent, but what the server made of just that (H11): no loop. */
	return !hash_equal(&item->wrote_body, &item->source_body) ||
	       !hash_equal(&item->answer_body, &item->copy_body);
}

bool judge_status_differs(const struct item *item)
{
	if (!kind_row(item->kind)->status || item->terminating)
		return false; /* L71, L72 */
	if (hash_equal(&item->copy_status, &item->source_status))
		return false;
	return !hash_equal(&item->wrote_status, &item->source_status) ||
	       !hash_equal(&item->answer_status, &item->copy_status);
}

/* The owner reference must name the owner's copy of now (H13). */
static bool owner_differs(const struct item *item)
{
	const struct item *owner = kind_row(item->kind)->map_owners ? item->owner : NULL;
	uint64_t wanted =
	    owner && owner->copy == COPY_PRESENT ? rewrite_uid_hash(owner->copy_uid) : 0;

	return item->copy_owner != wanted;
}

/* The owner's copy is still to come, or not known yet: one write later saves one now. */
static bool owner_is_awaited(const struct engine *engine, const struct item *item)
{
	const struct item *owner = item->owner;

	if (!owner || !kind_row(item->kind)->map_owners)
		return false;
	return !copies_known(engine, owner) || owner->copy == COPY_UNSURE ||
	       (owner->source == SOURCE_PRESENT && owner->copy == COPY_NONE &&
		   owner->state == ITEM_PENDING);
}

/* The copy's text is fetched unless an event brought it. */
static struct decision write(const struct item *item, enum engine_action action)
{
	return act(item, item->held ? action : ENGINE_FETCH);
}

/* A token's shell without its local account is deleted by the token controller (H6). */
static struct decision judge_new_shell(const struct item *item)
{
	const struct item *account = item->owner;

	if (!account)
		return blocked("the token names no ServiceAccount");
	if (account->copy == COPY_PRESENT ||
	    kind_excludes(KIND_SERVICE_ACCOUNT, item_name(account)))
		return write(item, ENGINE_CREATE);
	if (account->source == SOURCE_PRESENT)
		return waits;
	return blocked("the token's ServiceAccount is not mirrored");
}

static struct decision judge_present(const struct engine *engine, const struct item *item)
{
	struct decision decision;

	if (item->copy == COPY_FOREIGN) {
		decision = act(item, ENGINE_INSPECT);
		decision.state = ITEM_BLOCKED;
		decision.why = "an object of that name is there that is no copy of the mirror";
		return decision;
	}
	if (item->copy == COPY_PRESENT && item->copy_term > engine->term)
		return blocked("the copy is of a later term than the source");
	if (!home_is_ready(item) || item->copy_terminating)
		return waits;
	if (item->copy == COPY_NONE && item->shell)
		return judge_new_shell(item);
	if (item->shell)
		return idle; /* filled by this hub's token controller, never touched again (L85) */
	if (owner_is_awaited(engine, item))
		return waits;
	if (item->copy == COPY_NONE)
		return write(item, ENGINE_CREATE);
	if (judge_body_differs(item) || owner_differs(item))
		return write(item, ENGINE_UPDATE);
	if (judge_status_differs(item))
		return write(item, ENGINE_STATUS);
	return idle;
}

static struct decision judge_absent(const struct item *item)
{
	struct decision decision;
	unsigned proofs = item->kind == KIND_NAMESPACE ? 2 : kind_row(item->kind)->labelled ? 1 : 0;

	if (item->copy != COPY_PRESENT)
		return idle; /* nothing of ours to delete (L66, L73) */
	if (item->braked)
		return (struct decision){ .state = ITEM_HELD };
	if (item->copy_terminating)
		return waits;
	if (item->proofs >= proofs)
		return act(item, ENGINE_DELETE);
	decision = act(item, ENGINE_PROVE);
	if (item->proofs && decision.not_before_ns < item->proved_ns + SECOND_LOOK_NS)
		decision.not_before_ns = item->proved_ns + SECOND_LOOK_NS;
	return decision;
}

struct decision judge_item(const struct engine *engine, const struct item *item)
{
	if (!in_scope(item))
		return outside;
	if (item->source == SOURCE_UNKNOWN || item->source == SOURCE_LEFT)
		return idle;
	if (!copies_known(engine, item))
		return waits;
	if (item->copy == COPY_UNSURE)
		return act(item, ENGINE_INSPECT);
	return item->source == SOURCE_PRESENT ? judge_present(engine, item) : judge_absent(item);
}
