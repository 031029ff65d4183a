/*
 * Operators' commands to the mirror (see the header). Each checks first, says what it would do, and
 * then does it unless it is a dry run. Called by messages.c.
 */
#include "syncer/operate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "syncer/diff.h"
#include "syncer/judge.h"
#include "syncer/syncer.h"

/* Rows of one command: a link's queue is bounded. */
#define MAX_ROWS 150u

static struct str cut(const char *text, size_t most)
{
	return str_cut(str_of(text), most);
}

void operate_row(struct syncer *syncer, uint64_t operation, const char *object, const char *text)
{
	struct msg_sync_row row = { .operation = operation,
		.type = SYNC_ROW_OBJECT,
		.object = cut(object, 512),
		.text = cut(text, 1024) };

	(void)role_send(syncer->process, ROLE_ELECTOR, 0, MSG_SYNC_ROW, &row);
}

void operate_check(struct syncer *syncer, uint64_t operation, const char *name, const char *value,
    const char *limit, bool ok)
{
	struct msg_sync_row row = { .operation = operation,
		.type = SYNC_ROW_CHECK,
		.object = cut(name, 512),
		.text = cut(value, 1024),
		.limit = cut(limit, 160),
		.ok = ok };

	(void)role_send(syncer->process, ROLE_ELECTOR, 0, MSG_SYNC_ROW, &row);
}

void operate_done(
    struct syncer *syncer, uint64_t operation, enum sync_outcome outcome, const char *text)
{
	struct msg_sync_done done = {
		.operation = operation, .outcome = outcome, .text = cut(text, 512)
	};

	(void)role_send(syncer->process, ROLE_ELECTOR, 0, MSG_SYNC_DONE, &done);
}

/* --- Conditions --------------------------------------------------------------------------------
 */

static bool source_is_known(struct syncer *syncer, uint64_t operation)
{
	bool granted = syncer->has_grant && syncer->engine.granted;
	bool ok = granted && syncer->engine.verified;

	operate_check(syncer, operation, "the source",
	    !granted ? "not granted: the peer does not lead, or is not seen to"
	    : !ok    ? "has not proved yet that it is the granted one"
		     : "granted and verified",
	    "granted and verified", ok);
	if (!ok)
		operate_done(syncer, operation, SYNC_OUTCOME_REFUSED, "nothing was changed");
	return ok;
}

/* KIND_COUNT: all. False: there is none of that name (told). */
static bool read_kind(struct syncer *syncer, const struct msg_sync_asked *asked, enum kind *kind)
{
	char name[64];

	*kind = KIND_COUNT;
	if (asked->kind.n == 0 || !str_copy(name, sizeof(name), asked->kind))
		return asked->kind.n == 0;
	for (unsigned i = 0; i < kind_end(); i++)
		if (kind_is_named((enum kind)i, name)) {
			*kind = (enum kind)i;
			return true;
		}
	operate_check(
	    syncer, asked->operation, "the kind", name, "one that is mirrored: sync status", false);
	operate_done(syncer, asked->operation, SYNC_OUTCOME_REFUSED, "nothing was changed");
	return false;
}

/* --- Rows --------------------------------------------------------------------------------------
 */

static void put_item(struct syncer *syncer, uint64_t operation, const struct item *item,
    const char *text, unsigned *count)
{
	char object[400];

	if (++*count > MAX_ROWS)
		return;
	(void)snprintf(object, sizeof(object), "%s %s%s%s", kind_row((enum kind)item->kind)->kind,
	    item_namespace(item), *item_namespace(item) ? "/" : "", item_name(item));
	operate_row(syncer, operation, object, text);
}

static unsigned put_held(struct syncer *syncer, uint64_t operation, const char *text)
{
	struct item *item;
	unsigned count = 0;

	for (size_t at = 0; (item = map_next(&syncer->engine.store.items, &at));)
		if (item->state == ITEM_HELD)
			put_item(syncer, operation, item, text, &count);
	return count;
}

/* What the mirror would have to write: all of it in a resync, what it waits for to be let. */
static const char *what_is_due(const struct item *item)
{
	if (item->source == SOURCE_PRESENT && item->copy == COPY_NONE)
		return "would be created";
	if (item->source == SOURCE_PRESENT)
		return "would be written";
	return "would be deleted";
}

static unsigned put_due(struct syncer *syncer, uint64_t operation, enum kind only)
{
	struct item *item;
	unsigned count = 0;

	for (size_t at = 0; (item = map_next(&syncer->engine.store.items, &at));)
		if ((item->state == ITEM_PENDING || item->state == ITEM_BLOCKED) &&
		    (only == KIND_COUNT || item->kind == only))
			put_item(syncer, operation, item, what_is_due(item), &count);
	return count;
}

/* What a restored source has lost or has older. */
static unsigned put_ahead(struct syncer *syncer, uint64_t operation)
{
	struct item *item;
	unsigned count = 0;

	for (size_t at = 0; (item = map_next(&syncer->engine.store.items, &at));) {
		if (item->copy != COPY_PRESENT || item->state == ITEM_OUTSIDE)
			continue;
		if (item->source == SOURCE_ABSENT)
			put_item(syncer, operation, item,
			    "not on the source: archived, then deleted", &count);
		else if (item->source == SOURCE_PRESENT && !item->shell &&
			 (judge_body_differs(item) || judge_status_differs(item)))
			put_item(syncer, operation, item,
			    "other on the source: archived, then replaced", &count);
	}
	return count;
}

/* --- Verbs -------------------------------------------------------------------------------------
 */

static void done_with(
    struct syncer *syncer, uint64_t operation, unsigned count, const char *what, bool dry_run)
{
	char text[300];
	int n = snprintf(text, sizeof(text), "%u %s", count, what);

	if (count > MAX_ROWS)
		n += snprintf(
		    text + n, sizeof(text) - (size_t)n, ", the first %u of them above", MAX_ROWS);
	if (dry_run)
		(void)snprintf(text + n, sizeof(text) - (size_t)n, "; nothing was written");
	operate_done(syncer, operation, SYNC_OUTCOME_DONE, text);
}

static void resync(struct syncer *syncer, const struct msg_sync_asked *asked)
{
	unsigned due;
	enum kind only;

	if (!read_kind(syncer, asked, &only) || !source_is_known(syncer, asked->operation))
		return;
	due = put_due(syncer, asked->operation, only);
	if (!asked->dry_run) {
		engine_retry(&syncer->engine, base_clock_boot_ns());
		feeds_resync(syncer, only == KIND_COUNT ? NULL : &only);
		preflight_soon(syncer);
	}
	done_with(syncer, asked->operation, due,
	    asked->dry_run ? "changes are known now; both hubs would be listed anew"
			   : "changes were known; both hubs are listed anew",
	    asked->dry_run);
}

/* H8: exactly the list that was seen. */
static void end_hold(struct syncer *syncer, const struct msg_sync_asked *asked)
{
	struct engine *engine = &syncer->engine;
	bool confirm = asked->verb == SYNC_CONFIRM_DELETES;
	uint64_t now = engine_held_hash(engine);
	char value[40], limit[60];
	unsigned count;

	(void)snprintf(value, sizeof(value), "%u", engine->store.count[ITEM_HELD]);
	operate_check(syncer, asked->operation, "held deletions", value, "1 or more", now != 0);
	(void)snprintf(value, sizeof(value), "%016" PRIx64, now);
	(void)snprintf(
	    limit, sizeof(limit), "%016" PRIx64 ", the list that was seen", asked->list_hash);
	operate_check(
	    syncer, asked->operation, "their list", value, limit, now == asked->list_hash);
	if (!now || now != asked->list_hash) {
		operate_done(syncer, asked->operation, SYNC_OUTCOME_REFUSED,
		    now ? "another list of deletions is held by now: nothing was changed"
			: "no deletion is held: nothing was changed");
		return;
	}
	count = put_held(syncer, asked->operation, confirm ? "is deleted" : "stays");
	if (!asked->dry_run) {
		log_warn("an operator %s %u held deletions, list %016" PRIx64,
		    confirm ? "confirmed" : "discarded", count, now);
		(void)(confirm ? engine_release_held(engine, now, base_clock_boot_ns())
			       : engine_discard_held(engine, now, base_clock_boot_ns()));
	}
	done_with(syncer, asked->operation, count,
	    confirm ? "copies are deleted" : "copies stay and are left alone", asked->dry_run);
}

static void accept_restore(struct syncer *syncer, const struct msg_sync_asked *asked)
{
	struct engine *engine = &syncer->engine;
	unsigned count;

	operate_check(syncer, asked->operation, "the source",
	    engine->regressed ? "went back in time" : "has not gone back in time",
	    "gone back in time", engine->regressed);
	if (!engine->regressed) {
		operate_done(syncer, asked->operation, SYNC_OUTCOME_REFUSED, "nothing was changed");
		return;
	}
	count = put_ahead(syncer, asked->operation);
	if (!asked->dry_run) {
		log_warn(
		    "an operator accepted that the source was restored: %u copies differ", count);
		engine_accept_restore(engine, base_clock_boot_ns());
		feeds_begin_anew(syncer);
	}
	done_with(syncer, asked->operation, count,
	    "copies differ from the restored source; they are archived first", asked->dry_run);
}

void operate_asked(struct syncer *syncer, const struct msg_sync_asked *asked)
{
	enum kind only;

	switch ((enum sync_verb)asked->verb) {
	case SYNC_RESYNC: resync(syncer, asked); break;
	case SYNC_CONFIRM_DELETES:
	case SYNC_DISCARD: end_hold(syncer, asked); break;
	case SYNC_ACCEPT_RESTORE: accept_restore(syncer, asked); break;
	case SYNC_DIFF:
		if (read_kind(syncer, asked, &only) && source_is_known(syncer, asked->operation))
			diff_begin(syncer, asked->operation, only);
		break;
	}
	writes_pump(syncer);
}
