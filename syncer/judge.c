/*
 * The rules of the mirror for one item (see the header). Pure; called by engine.c only.
 */
#include "syncer/judge.h"

#include <string.h>

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

static struct decision excluded(const char *why)
{
	return (struct decision){ .state = ITEM_EXCLUDED, .why = why };
}

/* Objects of an own past may become copies while the hub rejoins (C12); a Namespace that is not
 * KubeSlice's, never. */
static bool is_adoptable(const struct engine *engine, const struct item *item)
{
	return engine->rejoin && (item->copy_chosen || !kind_row(item->kind)->labelled);
}

static bool is_ours(const struct engine *engine, const struct item *item)
{
	return item->copy == COPY_PRESENT ||
	       (item->copy == COPY_FOREIGN && is_adoptable(engine, item));
}

/* Mirrored namespaces only (L82): its Namespace is chosen at the source and ours here (L66), or one
 * of an own past that is proven to be gone at the source. */
static bool in_scope(const struct engine *engine, const struct item *item)
{
	const struct item *home = item->space->self;

	if (kind_row(item->kind)->place != KIND_MIRRORED)
		return true;
	if (!home || (home->copy == COPY_FOREIGN && !is_adoptable(engine, home)))
		return false;
	return home->source == SOURCE_PRESENT || (engine->rejoin && home->copy != COPY_NONE &&
						     home->source == SOURCE_ABSENT && home->proofs);
}

bool judge_is_followed(const struct engine *engine, const struct item *item)
{
	return in_scope(engine, item) && !item->left_out && !item->on_hold && !item->skipped &&
	       !item->forbidden && !(item->shell && item->copy_shell) && !item->copy_says_kept;
}

static bool copies_listed(const struct engine *engine, const struct space *space, enum kind kind)
{
	uint32_t bits = kind_row(kind)->each ? space->copies_synced : engine->copies_synced;

	return bits & (1u << kind);
}

bool judge_copies_known(const struct engine *engine, const struct item *item)
{
	return copies_listed(engine, item->space, (enum kind)item->kind);
}

bool judge_is_unwatched(const struct engine *engine, const struct item *item)
{
	uint32_t bits =
	    kind_row(item->kind)->each ? item->space->copies_doubted : engine->copies_doubted;

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

bool judge_is_pristine(const struct item *item)
{
	if (item->copy != COPY_PRESENT)
		return false;
	return item->copy_shell || hash_equal(&item->copy_mark, &item->copy_body) ||
	       (hash_equal(&item->copy_mark, &item_made(item)->wrote_body) &&
		   hash_equal(&item->copy_body, &item_made(item)->answer_body));
}

/* I11: is there anything in it that neither the mirror wrote nor the source has? Of a source that
 * was restored, what the mirror wrote may be the last copy, too (H10). */
static bool must_be_archived(const struct engine *engine, const struct item *item)
{
	bool has_source = item->source == SOURCE_PRESENT, ours = !engine->restore;
	bool body = (ours && judge_is_pristine(item)) ||
		    (has_source && hash_equal(&item->copy_body, &item->source_body));
	bool status = hash_is_zero(&item->copy_status) ||
		      (has_source && hash_equal(&item->copy_status, &item->source_status)) ||
		      (has_source && item->copy_rest && item->copy_rest == item->source_rest) ||
		      (ours && hash_equal(&item->copy_status, &item_made(item)->answer_status));

	/* Whose status it is nobody knows after a restart: only an own past is asked for it. */
	return (!body || ((engine->rejoin || engine->restore) && !status)) &&
	       item->archived_version != item->copy_version;
}

/* Terms never fall, so the copy is of what the source was before a backup of it was restored, also
 * one whose versions were raised beyond those that it had given (H10, I8). */
static bool is_of_later_term(const struct engine *engine, const struct item *item)
{
	return item->copy == COPY_PRESENT && item->copy_term > engine->term;
}

static const struct decision later_term = { .state = ITEM_BLOCKED,
	.regressed = true,
	.why = "the copy is of a later term than the source" };

/* I11: what is kept nowhere else goes into the archive first. */
static struct decision archived_first(
    const struct engine *engine, const struct item *item, enum engine_action action)
{
	return act(item, must_be_archived(engine, item) ? ENGINE_ARCHIVE : action);
}

/* Its mark names a version that a restored source has not reached again, or a term (H10). */
static bool is_ahead(const struct engine *engine, const struct item *item)
{
	return engine->restore && !item->shell &&
	       (item->copy_source_version > item->source_version || is_of_later_term(engine, item));
}

/* What the source shows is older than what the copy was made of (H10): a backup was restored, of
 * the source or of this hub, and nobody has accepted it. */
static bool is_newer(const struct engine *engine, const struct item *item)
{
	return !engine->restore && item->copy_term == engine->term &&
	       item->copy_source_version > item->source_version;
}

bool judge_body_differs(const struct item *item)
{
	if (!hash_equal(&item->copy_mark, &item->source_body))
		return true;
	if (hash_equal(&item->copy_body, &item->source_body))
		return false;
	/* Not what was sent, but what the server made of just that (H11): no loop. */
	return !hash_equal(&item_made(item)->wrote_body, &item->source_body) ||
	       !hash_equal(&item_made(item)->answer_body, &item->copy_body);
}

bool judge_status_differs(const struct item *item)
{
	if (!kind_row(item->kind)->status || item->terminating)
		return false; /* L71, L72 */
	if (hash_equal(&item->copy_status, &item->source_status))
		return false;
	return !hash_equal(&item_made(item)->wrote_status, &item->source_status) ||
	       !hash_equal(&item_made(item)->answer_status, &item->copy_status);
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
	return !judge_copies_known(engine, owner) || owner->copy == COPY_UNSURE ||
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

	if (!kind_row(KIND_SERVICE_ACCOUNT)->on)
		return excluded("a token, and ServiceAccounts are not mirrored");
	if (!account)
		return blocked("the token names no ServiceAccount");
	if (account->copy == COPY_PRESENT ||
	    kind_excludes(KIND_SERVICE_ACCOUNT, item_name(account)))
		return write(item, ENGINE_CREATE);
	if (account->source == SOURCE_PRESENT)
		return waits;
	return blocked("the token's ServiceAccount is not mirrored");
}

/* It bears no mark of ours. On a hub that rejoins it becomes a copy, archived first unless it is
 * equal; a token's Secret keeps the bytes that are good here (L85). */
static struct decision judge_foreign(const struct engine *engine, const struct item *item)
{
	struct decision decision;

	if (!is_adoptable(engine, item) || item->shell != item->copy_shell) {
		decision = act(item, ENGINE_INSPECT);
		decision.state = ITEM_BLOCKED;
		decision.why = "an object of that name is there that is no copy of the mirror";
		return decision;
	}
	if (!home_is_ready(item) || (item->copy_terminating && !item->copy_finalizers))
		return waits;
	if (item->shell)
		return act(item, ENGINE_STRIP);
	if (must_be_archived(engine, item))
		return act(item, ENGINE_ARCHIVE);
	/* Only a copy may be deleted, to be made anew (H7); and nobody here does any more what its
	 * finalizers wait for. */
	if (item->recreate || item->copy_terminating)
		return act(item, ENGINE_STRIP);
	return owner_is_awaited(engine, item) ? waits : write(item, ENGINE_UPDATE);
}

/* The server made something else of it, and the copy does not say so yet (H11, G20). */
static bool must_be_noted(const struct item *item)
{
	return !item->noted && !item->shell &&
	       (!hash_equal(&item->copy_body, &item->source_body) ||
		   (kind_row(item->kind)->status && !item->terminating &&
		       !hash_equal(&item->copy_status, &item->source_status)));
}

struct rewrite_pruned judge_pruned(const struct item *item)
{
	struct rewrite_pruned pruned = { .body = item_made(item)->answer_body };

	if (kind_row(item->kind)->status && !item->terminating &&
	    !hash_equal(&item_made(item)->wrote_status, &item_made(item)->answer_status)) {
		pruned.from = item_made(item)->wrote_status;
		pruned.status = item_made(item)->answer_status;
	}
	return pruned;
}

static const struct decision newer = { .state = ITEM_BLOCKED,
	.regressed = true,
	.why = "the copy is of a later version than the source has" };

/* Its copy is being deleted and still has finalizers: as the source's own object, or it is in the
 * way of that (situation 4). */
static struct decision judge_going(const struct engine *engine, const struct item *item)
{
	if (!item->copy_finalizers)
		return waits;
	if (item->terminating && item->copy_finalizers == item->source_finalizers &&
	    !judge_body_differs(item) && !is_ahead(engine, item))
		return must_be_noted(item) ? act(item, ENGINE_NOTE) : idle;
	if (is_newer(engine, item))
		return newer;
	if (must_be_archived(engine, item))
		return act(item, ENGINE_ARCHIVE);
	return item->terminating ? write(item, ENGINE_UPDATE) : act(item, ENGINE_STRIP);
}

static bool must_go_along(const struct item *item)
{
	return item->terminating && item->source_finalizers && item->kind != KIND_NAMESPACE;
}

static struct decision judge_copy(const struct engine *engine, const struct item *item)
{
	bool body = judge_body_differs(item) || owner_differs(item) || item->copy_says_held ||
		    item->copy_says_kept || is_ahead(engine, item);
	bool finalizers =
	    item->copy_finalizers != (must_go_along(item) ? item->source_finalizers : 0);
	bool status = judge_status_differs(item);
	bool anew = item->recreate || item->shell != item->copy_shell;

	if (anew && item->copy_shell)
		return blocked("a token's Secret is never replaced by another type");
	if ((anew || body || status || finalizers) && is_newer(engine, item))
		return newer;
	if (anew)
		return archived_first(engine, item, ENGINE_DELETE);
	if ((body || status || finalizers) && must_be_archived(engine, item))
		return act(item, ENGINE_ARCHIVE);
	if (body || finalizers)
		return write(item, ENGINE_UPDATE);
	if (status)
		return write(item, ENGINE_STATUS);
	/* The source's status is of no use to it any more, but its own may be kept nowhere else
	 * (I11). */
	if (must_go_along(item))
		return archived_first(engine, item, ENGINE_DELETE);
	return must_be_noted(item) ? act(item, ENGINE_NOTE) : idle;
}

static struct decision judge_present(const struct engine *engine, const struct item *item)
{
	if (item->left_out)
		return excluded("left out: it is marked " MARK_PREFIX "mirror: \"false\"");
	if (item->on_hold)
		return excluded("its copy stays as it is: it is marked " MARK_PREFIX "hold");
	if (item->skipped)
		return excluded("its copy, if there is one, stays as it is: mirror.skip lists it");
	if (item->forbidden)
		return blocked(NULL);
	if (item->copy == COPY_FOREIGN)
		return judge_foreign(engine, item);
	if (is_of_later_term(engine, item) && !engine->restore && !item->shell)
		return later_term;
	if (!home_is_ready(item))
		return waits;
	if (item->copy == COPY_PRESENT && item->copy_terminating)
		return judge_going(engine, item);
	if (item->copy == COPY_NONE && item->shell)
		return judge_new_shell(item);
	if (item->shell && item->copy_shell)
		return idle; /* filled by this hub's token controller, never touched again (L85) */
	if (owner_is_awaited(engine, item))
		return waits;
	return item->copy == COPY_NONE ? write(item, ENGINE_CREATE) : judge_copy(engine, item);
}

/* All copies that a Namespace may hold were listed and are watched: nothing in it goes unseen. */
static bool inside_is_known(const struct engine *engine, const struct space *inside)
{
	if (engine->copies_doubted || inside->copies_doubted)
		return false;
	for (unsigned kind = 0; kind < kind_end(); kind++)
		if (kind_row((enum kind)kind)->on &&
		    kind_row((enum kind)kind)->place == KIND_MIRRORED &&
		    !copies_listed(engine, inside, (enum kind)kind))
			return false;
	return true;
}

/* Nobody here would ever do what these finalizers wait for, and in a Namespace that is being
 * deleted the right to take them off goes first. */
static bool must_be_freed(const struct item *item)
{
	return item->copy == COPY_PRESENT && item->source == SOURCE_ABSENT && item->copy_finalizers;
}

/* C12: what an own past left goes in the reverse order of the kinds. A Namespace takes everything
 * in it along, so nothing may be in it that is kept nowhere else (I11). */
static struct decision judge_last(const struct engine *engine, const struct item *item)
{
	const struct space *inside = NULL;
	bool finalizers = false;

	for (unsigned kind = item->kind + 1u; engine->rejoin && kind < kind_end(); kind++)
		if (engine->doomed[kind])
			return waits;
	if (item->kind == KIND_NAMESPACE) {
		inside = map_get(&engine->store.spaces, str_of(item_name(item)));
		if (!inside_is_known(engine, inside))
			return waits;
	}
	for (const struct item *at = inside ? inside->items : NULL; at; at = at->space_next) {
		if (at->copy != COPY_NONE && !judge_is_pristine(at) &&
		    at->archived_version != at->copy_version)
			return blocked("it holds an object that is neither a copy nor archived");
		finalizers = finalizers || must_be_freed(at);
	}
	return finalizers ? waits : act(item, ENGINE_DELETE);
}

static struct decision judge_held(const struct item *item)
{
	struct decision decision = act(item, ENGINE_NOTE);

	if (item->copy_says_held || item->shell || item->copy_shell)
		decision.action = ENGINE_NONE;
	decision.state = ITEM_HELD;
	return decision;
}

/* A person kept the copy though its source is gone (H8). */
static struct decision judge_kept(const struct item *item)
{
	struct decision decision = act(item, ENGINE_NOTE);

	if (item->copy_says_kept || item->shell || item->copy_shell)
		decision.action = ENGINE_NONE;
	decision.state = ITEM_EXCLUDED;
	decision.why = "kept though the source has not got it: its deletion was discarded";
	return decision;
}

static struct decision prove(const struct item *item)
{
	struct decision decision = act(item, ENGINE_PROVE);

	if (item->proofs && decision.not_before_ns < item->proved_ns + SECOND_LOOK_NS)
		decision.not_before_ns = item->proved_ns + SECOND_LOOK_NS;
	return decision;
}

static struct decision judge_absent(const struct engine *engine, const struct item *item)
{
	const struct item *home = item->space->self;
	bool mirrored = kind_row(item->kind)->place == KIND_MIRRORED;
	bool home_is_gone = mirrored && home->source == SOURCE_ABSENT;
	/* What a list does not show is looked at by name: it may have left the scope, or the list
	 * may be wrong. */
	bool looked =
	    item->proofs > 0 || home_is_gone || (item->observed && !kind_row(item->kind)->labelled);

	if (!is_ours(engine, item))
		return idle; /* nothing of ours to delete (L66, L73) */
	if (item->kept || item->copy_says_kept)
		return judge_kept(item);
	/* No copy of it was to be at the source, so that it is not there says nothing (C12, M8). */
	if (item->copy == COPY_FOREIGN && !home_is_gone && item->copy_kept_out)
		return excluded("this hub's own, and not on its peer: " MARK_PREFIX
				"mirror: \"false\" or mirror.skip keeps it out of the mirror");
	if (item->copy_terminating && !item->copy_finalizers)
		return waits;
	/* Whether its Namespace is ours is still to be seen (L66). */
	if (mirrored && (home->copy == COPY_NONE || home->copy == COPY_UNSURE))
		return waits;
	if (!looked)
		return prove(item); /* what only left the scope is no deletion to be held */
	if (is_of_later_term(engine, item) && !engine->restore && !item->braked)
		return later_term;
	if (item->braked && !engine->rejoin && !engine->restore)
		return judge_held(item);
	if (must_be_archived(engine, item))
		return act(item, ENGINE_ARCHIVE);
	if (item->copy == COPY_FOREIGN)
		return home_is_ready(item) ? act(item, ENGINE_STRIP) : waits;
	if (item->braked)
		return judge_held(item);
	if (item->kind == KIND_NAMESPACE && item->proofs < 2)
		return prove(item);
	if (item->copy_finalizers)
		return act(item, ENGINE_STRIP);
	return judge_last(engine, item);
}

/* I11: a Namespace that is about to go takes it along. */
static struct decision judge_outside(const struct engine *engine, const struct item *item)
{
	const struct item *home = item->space->self;

	if (!home || home->braked || home->source != SOURCE_ABSENT || !home->proofs ||
	    home->copy != COPY_PRESENT)
		return outside;
	if (item->copy == COPY_UNSURE)
		return act(item, ENGINE_INSPECT);
	/* It keeps the Namespace while it is known, and no list here tells when it goes. */
	if (item->copy == COPY_FOREIGN && !engine->rejoin)
		return (struct decision){ .action = ENGINE_INSPECT,
			.state = ITEM_OUTSIDE,
			.not_before_ns = item->retry_ns };
	if (item->copy == COPY_PRESENT && must_be_archived(engine, item))
		return act(item, ENGINE_ARCHIVE);
	if (must_be_freed(item))
		return act(item, ENGINE_STRIP);
	return outside;
}

/* Both are going here, and its finalizers keep its Namespace, too, whatever the source says of
 * them: nobody here would ever do what they wait for. */
static bool keeps_home(const struct engine *engine, const struct item *item)
{
	const struct item *home = item->space->self;

	return kind_row(item->kind)->place == KIND_MIRRORED && home && is_ours(engine, home) &&
	       home->copy_terminating && (is_ours(engine, item) || item->copy == COPY_UNSURE) &&
	       item->copy_terminating && item->copy_finalizers &&
	       (!is_of_later_term(engine, item) || engine->restore);
}

/* It is kept because it left the mirror, but in a rejoin its Namespace is about to go. */
static bool goes_with_home(const struct item *item)
{
	return item->source == SOURCE_LEFT && kind_row(item->kind)->place == KIND_MIRRORED &&
	       item->space->self->source == SOURCE_ABSENT;
}

static struct decision decide(const struct engine *engine, const struct item *item)
{
	if (keeps_home(engine, item))
		return item->copy == COPY_UNSURE ? act(item, ENGINE_INSPECT)
						 : archived_first(engine, item, ENGINE_STRIP);
	if (!in_scope(engine, item) || goes_with_home(item))
		return judge_outside(engine, item);
	if (item->source == SOURCE_UNKNOWN)
		return idle;
	/* Its list never shows it again, so each start would take its mark for a way back. */
	if (item->source == SOURCE_LEFT)
		return item->copy == COPY_PRESENT && !item->copy_terminating &&
			       is_ahead(engine, item)
			   ? act(item, ENGINE_NOTE)
			   : idle;
	if (!judge_copies_known(engine, item))
		return waits;
	if (item->copy == COPY_UNSURE)
		return act(item, ENGINE_INSPECT);
	return item->source == SOURCE_PRESENT ? judge_present(engine, item)
					      : judge_absent(engine, item);
}

static bool overwrites(enum engine_action action)
{
	return action == ENGINE_UPDATE || action == ENGINE_STATUS || action == ENGINE_STRIP ||
	       action == ENGINE_NOTE || action == ENGINE_DELETE;
}

struct decision judge_item(const struct engine *engine, const struct item *item)
{
	struct decision decision = decide(engine, item);

	if (item->copy_doubted && overwrites(decision.action) && !engine->draining)
		decision.action = ENGINE_INSPECT;
	return decision;
}

bool judge_must_wait(
    const struct engine *engine, const struct item *item, enum engine_action action)
{
	return engine->doubted && !engine->draining &&
	       (action == ENGINE_DELETE || action == ENGINE_PROVE ||
		   (action == ENGINE_STRIP && item->source == SOURCE_ABSENT));
}

bool judge_is_of_the_past(
    const struct engine *engine, const struct item *item, const struct rewrite_facts *facts)
{
	/* Of a restored source only the copy's mark says nothing: what its list or watch has shown
	 * since a person accepted it is newer than a read that is late. */
	return (item->source_uid == rewrite_uid_hash(facts->uid) &&
		   facts->version < item->source_version) ||
	       (!engine->restore && item->copy == COPY_PRESENT && item->copy_term == engine->term &&
		   facts->version < item->copy_source_version);
}

bool judge_is_immutable(const struct item *item, const char *field)
{
	if (item->kind == KIND_ROLE_BINDING)
		return strcmp(field, "roleRef") == 0;
	return kind_may_be_immutable((enum kind)item->kind) && !item->shell && !item->copy_shell &&
	       (strcmp(field, "type") == 0 || strcmp(field, "data") == 0 ||
		   strcmp(field, "binaryData") == 0 || strcmp(field, "immutable") == 0);
}

bool judge_needs_text(const struct engine *engine, const struct item *item,
    const struct decision *decision, int64_t now_ns)
{
	if (item->queue != QUEUE_READY && engine->store.held_bytes > engine->store.held_most &&
	    !engine->draining)
		return false;
	return decision->state == ITEM_PENDING ||
	       (decision->not_before_ns <= now_ns &&
		   (decision->action == ENGINE_CREATE || decision->action == ENGINE_UPDATE ||
		       decision->action == ENGINE_STATUS));
}

bool engine_policy_unready(const char *why)
{
	return strstr(why, "failed to configure policy") ||
	       strstr(why, "failed to configure binding") ||
	       strstr(why, "not yet ready to handle request");
}

const char *engine_action_name(enum engine_action action)
{
	static const char *const names[] = { "none", "fetch", "prove", "inspect", "create",
		"update", "status", "strip", "note", "archive", "delete" };

	return names[action];
}
