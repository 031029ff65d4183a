/*
 * What the monitor shows of the mirror: the whole, each kind, and by name what is not mirrored as
 * it is, with the reason (B5, B6, B19). Sends only. Called by report.c, at most once a second.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "syncer/survey.h"
#include "syncer/syncer.h"

#define LISTED_ROWS 256

static void gather(struct feed *feed, void *arg)
{
	struct survey_feeds *feeds = &((struct survey_feeds *)arg)[feed->kind];
	uint64_t version = 0;

	feeds->misfit |= feed->misfit;
	if (feed->side == SIDE_COPIES) {
		if (feed->fault[0])
			feeds->copies_fault = feed->fault;
		feeds->copies_counts |= feed->counts;
		return;
	}
	if (feed->fault[0])
		feeds->source_fault = feed->fault;
	feeds->source_counts |= feed->counts;
	feeds->listed &= feed->synced;
	if (feed->watch)
		(void)str_to_u64(str_of(kube_watch_version(feed->watch)), &version);
	/* Of several namespaces the one that is furthest behind. */
	if (feeds->version == 0 || version < feeds->version)
		feeds->version = version;
}

static void gather_all(struct syncer *syncer, struct survey_feeds feeds[KIND_COUNT])
{
	bool namespaces = syncer->feeds[SIDE_SOURCE][KIND_NAMESPACE].synced;

	memset(feeds, 0, sizeof(*feeds) * KIND_COUNT);
	for (unsigned kind = 0; kind < kind_end(); kind++)
		feeds[kind].listed = namespaces;
	feeds_visit(syncer, SIDE_SOURCE, gather, feeds);
	feeds_visit(syncer, SIDE_COPIES, gather, feeds);
	for (unsigned kind = 0; kind < kind_end(); kind++) {
		if (!feeds[kind].listed)
			feeds[kind].version = 0;
		if (!feeds[kind].copies_fault)
			feeds[kind].copies_fault = syncer->preflight.faults[kind];
	}
}

static void say_kind(enum sync_state state, const struct survey_kind *counts,
    const struct survey_feeds *feeds, uint32_t pending, char *out, size_t size)
{
	if (feeds->source_fault)
		(void)snprintf(out, size, "%s", feeds->source_fault);
	else if (feeds->copies_fault)
		(void)snprintf(out, size, "on this hub: %s", feeds->copies_fault);
	else if (state == SYNC_STATE_BLOCKED && counts->blocked + counts->held)
		(void)snprintf(out, size, "%u objects blocked, %u deletions held", counts->blocked,
		    counts->held);
	else if (state == SYNC_STATE_PROGRESSING && pending)
		(void)snprintf(out, size, "%u changes are being written", pending);
	else if (state == SYNC_STATE_PROGRESSING)
		(void)snprintf(out, size, "it is being listed");
	else if (state == SYNC_STATE_DEGRADED)
		(void)snprintf(out, size, "writes fail and are tried again");
	else
		out[0] = '\0';
}

static void send_kinds(struct syncer *syncer, const struct survey *survey,
    const struct survey_feeds *feeds, enum sync_state *worst, char *why, size_t size)
{
	const struct store *store = &syncer->engine.store;

	*worst = SYNC_STATE_SYNCED;
	why[0] = '\0';
	for (unsigned kind = 0; kind < kind_end(); kind++) {
		const struct survey_kind *counts = &survey->kinds[kind];
		const struct kind_row *is = kind_row((enum kind)kind);
		const char *name = is->kind;
		enum sync_state state = is->skipped ? SYNC_STATE_SKIPPED
						    : survey_judge(&syncer->engine, (enum kind)kind,
							  counts, &feeds[kind]);
		struct msg_status_kind row = { .row = kind,
			.kind = str_of(name),
			.source = store->count_source[kind],
			.copies = store->count_copy[kind],
			.pending = store->count_pending[kind],
			.fault = str_of(feeds[kind].source_fault ? feeds[kind].source_fault
								 : feeds[kind].copies_fault),
			.state = state,
			.blocked = counts->blocked,
			.held = counts->held,
			.excluded = counts->excluded,
			.version = feeds[kind].version,
			.oldest_ms = (uint64_t)(counts->oldest_ns / BASE_NS_PER_MS) };
		char text[200], other[200];

		if (kind_other_version((enum kind)kind) && !row.fault.n) {
			(void)snprintf(other, sizeof(other),
			    "mirrored as %.60s: not both hubs served %.60s", is->version,
			    kind_other_version((enum kind)kind));
			row.fault = str_of(other);
		}
		if (!is->on && !is->skipped)
			continue;
		if (survey_is_worse(state, *worst)) {
			*worst = state;
			say_kind(state, counts, &feeds[kind], store->count_pending[kind], text,
			    sizeof(text));
			(void)snprintf(why, size, "%s%s%s", name, *text ? ": " : "", text);
		}
		(void)role_send(syncer->process, ROLE_MONITOR, 0, MSG_STATUS_KIND, &row);
	}
}

/* --- By name -----------------------------------------------------------------------------------
 */

/* One row of the list; sent only when it says something new. */
static void send_listed(struct syncer *syncer, unsigned row, enum sync_listing listing,
    const char *object, const char *why)
{
	uint64_t hash = rewrite_uid_hash(object) ^ ((rewrite_uid_hash(why) + listing) * 31);
	struct msg_status_blocked message = { .row = row,
		.listing = listing,
		.object = str_of(object),
		.why = str_cut(str_of(why), 512) };

	if (syncer->listed_rows[row] == hash)
		return;
	syncer->listed_rows[row] = hash;
	(void)role_send(syncer->process, ROLE_MONITOR, 0, MSG_STATUS_BLOCKED, &message);
}

static void send_items(
    struct syncer *syncer, enum item_state state, enum sync_listing listing, unsigned *row)
{
	const struct store *store = &syncer->engine.store;
	struct item *item;

	if (store->count[state] == 0)
		return;
	for (size_t at = 0; *row < LISTED_ROWS && (item = map_next(&store->items, &at));) {
		char object[400];

		if (item->state != state)
			continue;
		(void)snprintf(object, sizeof(object), "%s %s%s%s",
		    kind_row((enum kind)item->kind)->kind, item_namespace(item),
		    *item_namespace(item) ? "/" : "", item_name(item));
		send_listed(syncer, (*row)++, listing, object,
		    state == ITEM_HELD ? "its deletion is held until confirmed"
		    : item->why        ? item->why
				       : "");
	}
}

struct listing {
	struct syncer *syncer;
	unsigned *row;
};

static bool send_outside(void *arg, enum sync_listing listing, const char *object, const char *why)
{
	struct listing *list = arg;

	if (*list->row == LISTED_ROWS)
		return false;
	send_listed(list->syncer, (*list->row)++, listing, object, why);
	return true;
}

/* What waits for a person comes first: the rows are bounded. Returns how many references are not
 * met. */
static unsigned send_all_listed(struct syncer *syncer)
{
	unsigned row = 0, unmet = 0;
	struct listing listing = { syncer, &row };

	send_items(syncer, ITEM_BLOCKED, LISTED_BLOCKED, &row);
	send_items(syncer, ITEM_HELD, LISTED_HELD, &row);
	send_items(syncer, ITEM_EXCLUDED, LISTED_EXCLUDED, &row);
	/* While lists are to come, what they will show is not missing. */
	if (!syncer->unsynced && syncer->has_grant)
		unmet = outside_visit(&syncer->outside, &syncer->engine, send_outside, &listing);
	for (; row < LISTED_ROWS; row++)
		if (syncer->listed_rows[row]) {
			send_listed(syncer, row, LISTED_BLOCKED, "", "");
			syncer->listed_rows[row] = 0;
		}
	return unmet;
}

/* --- The whole ---------------------------------------------------------------------------------
 */

/* What holds for all kinds comes before what holds for one. */
static void judge_whole(const struct syncer *syncer, enum sync_state *state, char *why, size_t size)
{
	const char *text = NULL;

	if (!syncer->mirrors) {
		*state = SYNC_STATE_SYNCED;
		text = "mirror.set is none, and mirror.kinds lists nothing";
	} else if (!syncer->has_grant) {
		*state = SYNC_STATE_UNKNOWN;
		text = "the peer does not lead, or has not been seen to: nothing is mirrored";
	} else if (syncer->wrong_source) {
		*state = SYNC_STATE_UNKNOWN;
		text = "the peer's API server is not the one that was granted";
	} else if (syncer->engine.regressed) {
		*state = SYNC_STATE_BLOCKED;
		text = "the source went back in time: sync accept-restore, or promote";
	} else if (!syncer->engine.granted) {
		*state = SYNC_STATE_DEGRADED;
		(void)snprintf(
		    why, size, "paused%s%s", syncer->pause_why[0] ? ": " : "", syncer->pause_why);
	}
	if (text)
		(void)snprintf(why, size, "%s", text);
}

void show_mirror(struct syncer *syncer, int64_t now_ns)
{
	const struct engine *engine = &syncer->engine;
	struct survey_feeds feeds[KIND_COUNT];
	struct survey survey;
	enum sync_state state;
	char why[256];
	struct msg_status_mirror status = { .complete = report_is_complete(syncer),
		.pending = engine->store.count[ITEM_PENDING],
		.blocked = engine->store.count[ITEM_BLOCKED],
		.held_deletes = engine->store.count[ITEM_HELD],
		.written = engine->written,
		.failed = engine->failed,
		.excluded = engine->store.count[ITEM_EXCLUDED] + syncer->outside.excluded,
		.held_list = engine_held_hash(engine),
		.rejoin = engine->rejoin,
		.archived = engine->archived,
		.passing = syncer->has_grant && !syncer->pass_done };

	survey_take(engine, now_ns, &survey);
	gather_all(syncer, feeds);
	send_kinds(syncer, &survey, feeds, &state, why, sizeof(why));
	judge_whole(syncer, &state, why, sizeof(why));
	for (unsigned kind = 0; kind < kind_end(); kind++)
		status.objects += engine->store.count_copy[kind];
	status.state = state;
	status.why = str_cut(str_of(why), sizeof(why) - 4); /* snprintf may have cut a character */
	status.lag_ms = (uint64_t)(survey.oldest_ns / BASE_NS_PER_MS);
	if (status.passing) {
		progress_add(&syncer->progress, now_ns, survey.done);
		status.done = survey.done;
		status.total = survey.wanted;
		status.rate_milli = progress_rate_milli(&syncer->progress);
		status.remaining_ms =
		    progress_remaining_ms(&syncer->progress, survey.done, survey.wanted);
	} else {
		syncer->progress.count = 0;
	}
	status.referenced = send_all_listed(syncer);
	(void)role_send(syncer->process, ROLE_MONITOR, 0, MSG_STATUS_MIRROR, &status);
}
