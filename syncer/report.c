/*
 * What others hear of the mirror, and when: the elector for its guards (C5), the monitor for people
 * (show.c), and Events through the elector (decision 5). Sends only; decides whether the mirror is
 * complete.
 */
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "syncer/survey.h"
#include "syncer/syncer.h"

#define REPORT_NS  (1 * BASE_NS_PER_S)
#define BARRIER_NS (8 * BASE_NS_PER_S)

static void on_report(void *arg, int64_t now_ns);
static void on_barrier_late(void *arg, int64_t now_ns);

void report_open(struct syncer *syncer)
{
	syncer->report.fire = on_report;
	syncer->report.arg = syncer;
	syncer->barrier.fire = on_barrier_late;
	syncer->barrier.arg = syncer;
}

/*
 * C5: one full pass over all kinds under this source and term with nothing pending. It stays so
 * while changes come and go (their lag is told apart), and is lost with a failed kind, a blocked
 * object (M8) or a source that went back (H10).
 */
bool report_is_complete(struct syncer *syncer)
{
	const struct engine *engine = &syncer->engine;
	const uint32_t *count = engine->store.count;

	if (!syncer->mirrors)
		return true;
	if (syncer->failed_kinds || count[ITEM_BLOCKED] || engine->regressed)
		syncer->pass_done = false;
	else if (engine->verified && syncer->has_grant && !syncer->unsynced &&
		 count[ITEM_PENDING] == 0)
		syncer->pass_done = true;
	return syncer->pass_done;
}

static void send_elector(struct syncer *syncer, int64_t now_ns)
{
	struct engine *engine = &syncer->engine;
	struct survey survey = { 0 };
	struct msg_mirror_seen seen = { .source_uid = str_of(syncer->source_uid),
		.term = syncer->term,
		.complete = report_is_complete(syncer),
		.pristine = engine_is_pristine(engine),
		.pending = engine->store.count[ITEM_PENDING],
		.failed_kinds = syncer->failed_kinds,
		.blocked = engine->store.count[ITEM_BLOCKED],
		.held_deletes = engine->store.count[ITEM_HELD],
		.oldest_unapplied_ms =
		    (uint64_t)(engine_oldest_ns(engine, now_ns) / BASE_NS_PER_MS),
		.regressed = engine->regressed,
		.rejoin = engine->rejoin,
		.archived = engine->archived < UINT32_MAX ? engine->archived : UINT32_MAX };

	/* C12: how far; by objects here, copies or not. */
	if (engine->rejoin) {
		survey_take(engine, now_ns, &survey);
		seen.done = survey.done;
		seen.of = survey.wanted;
	}
	(void)role_send(syncer->process, ROLE_ELECTOR, 0, MSG_MIRROR_SEEN, &seen);
}

static void end_barrier(struct syncer *syncer, bool synced, const char *why)
{
	struct msg_barrier_done done = {
		.handover = str_of(syncer->handover), .synced = synced, .why = str_of(why)
	};

	loop_timer_cancel(syncer->loop, &syncer->barrier);
	(void)role_send(syncer->process, ROLE_ELECTOR, 0, MSG_BARRIER_DONE, &done);
	syncer->handover[0] = '\0';
}

/* C13 (3): a whole pass that began after the peer was seen to drain, with nothing left over. */
static void check_barrier(struct syncer *syncer)
{
	if (syncer->handover[0] && report_is_complete(syncer) && !syncer->unsynced &&
	    syncer->engine.store.count[ITEM_PENDING] == 0)
		end_barrier(syncer, true, "");
}

static void on_barrier_late(void *arg, int64_t now_ns)
{
	struct syncer *syncer = arg;
	char why[160];

	(void)now_ns;
	(void)snprintf(why, sizeof(why),
	    "%u lists to come, %u changes to write, %u kinds failed, %u objects blocked",
	    syncer->unsynced, syncer->engine.store.count[ITEM_PENDING], syncer->failed_kinds,
	    syncer->engine.store.count[ITEM_BLOCKED]);
	end_barrier(syncer, false, why);
}

void report_barrier(struct syncer *syncer, struct str handover)
{
	if (!str_copy(syncer->handover, sizeof(syncer->handover), handover))
		return;
	if (!engine_is_open(&syncer->engine)) {
		end_barrier(syncer, false, "the mirror is paused or frozen");
		return;
	}
	feeds_relist(syncer);
	loop_timer_set(syncer->loop, &syncer->barrier, base_clock_boot_ns() + BARRIER_NS);
}

static void ask_event(struct syncer *syncer, enum event_reason reason, const char *note)
{
	struct msg_event_asked event = { .reason = (uint32_t)reason, .note = str_of(note) };

	(void)role_send(syncer->process, ROLE_ELECTOR, 0, MSG_EVENT_ASKED, &event);
}

/* C12: everything here is a copy now, so only copies are looked at from here on. What would have
 * been lost is told once, where people look for it. */
static void end_rejoin(struct syncer *syncer)
{
	struct engine *engine = &syncer->engine;
	char note[200];

	if (!engine->rejoin || !report_is_complete(syncer))
		return;
	(void)snprintf(note, sizeof(note),
	    "%llu objects that were here other than on the peer are archived: understudyctl "
	    "archive "
	    "list --term %llu",
	    (unsigned long long)engine->archived, (unsigned long long)engine->term);
	log_info("rejoin: %s", note);
	if (engine->archived)
		ask_event(syncer, EVENT_REJOINED, note);
	feeds_rejoin(syncer, false);
}

/* H10: what the source lost is archived, everything here follows it again. */
static void end_restore(struct syncer *syncer)
{
	if (!syncer->engine.restore || !report_is_complete(syncer))
		return;
	log_info("the restored source is followed; %llu objects archived",
	    (unsigned long long)syncer->engine.archived);
	engine_restored(&syncer->engine);
}

static void on_report(void *arg, int64_t now_ns)
{
	struct syncer *syncer = arg;

	syncer->reported_ns = now_ns;
	send_elector(syncer, now_ns);
	show_mirror(syncer, now_ns);
	role_metric(syncer->process, METRIC_SYNC_QUEUE, NULL, NULL,
	    (int64_t)syncer->engine.store.count[ITEM_PENDING] * 1000000);
	end_rejoin(syncer);
	end_restore(syncer);
	/* An unwritten change grows older by itself. */
	if (syncer->engine.store.count[ITEM_PENDING])
		loop_timer_set(syncer->loop, &syncer->report, now_ns + REPORT_NS);
}

void report_touch(struct syncer *syncer)
{
	bool complete = report_is_complete(syncer), regressed = syncer->engine.regressed;
	bool urgent = complete != syncer->was_complete || regressed != syncer->was_regressed;
	bool holds = syncer->engine.store.count[ITEM_HELD] > 0;
	int64_t now_ns = base_clock_boot_ns(), at_ns = syncer->reported_ns + REPORT_NS;

	if (complete != syncer->was_complete)
		log_info("mirror of %s, term %llu: %s, %u objects pending, %u blocked",
		    syncer->source_uid, (unsigned long long)syncer->term,
		    complete ? "complete" : "not complete",
		    syncer->engine.store.count[ITEM_PENDING],
		    syncer->engine.store.count[ITEM_BLOCKED]);
	if (holds && !syncer->holds) {
		static const char words[] = "many deletions at once are held until a person "
					    "confirms or discards them: understudyctl sync status";

		log_warn("%s", words);
		ask_event(syncer, EVENT_DELETES_HELD, words);
	}
	syncer->holds = holds;
	/* What a first pass took is not needed again. */
	if (complete && !syncer->was_complete) {
		(void)malloc_trim(0);
		preflight_soon(syncer);
	}
	syncer->was_complete = complete;
	syncer->was_regressed = regressed;
	check_barrier(syncer);
	if (urgent || at_ns < now_ns)
		at_ns = now_ns;
	if (!syncer->report.slot || urgent)
		loop_timer_set(syncer->loop, &syncer->report, at_ns);
}

void report_all(struct syncer *syncer)
{
	memset(syncer->listed_rows, 0, sizeof(syncer->listed_rows));
	loop_timer_set(syncer->loop, &syncer->report, base_clock_boot_ns());
}

void report_note(void *arg, enum engine_note note, struct item *item)
{
	static const enum event_reason reasons[] = { [ENGINE_LEFT_SCOPE] = EVENT_LEFT_SCOPE,
		[ENGINE_REGRESSED] = EVENT_SOURCE_REGRESSED,
		[ENGINE_TROUBLE] = EVENT_MIRROR_SYNC_FAILED,
		[ENGINE_PRUNED] = EVENT_PRUNED_FIELD };
	static const char *const texts[] = { [ENGINE_LEFT_SCOPE] =
						 "left the mirror, its copy is kept",
		[ENGINE_REGRESSED] = "the source went back in time, nothing is written",
		[ENGINE_TROUBLE] = "cannot be mirrored now",
		[ENGINE_PRUNED] = "this hub drops fields that the source has" };
	struct syncer *syncer = arg;
	struct msg_event_asked event = { 0 };

	if (note == ENGINE_SPACE_CHANGED) {
		syncer_advance_soon(syncer);
		return;
	}
	if (note == ENGINE_ARCHIVED)
		return; /* the archive is the list; local.c logs the name */
	if (note == ENGINE_TROUBLE) {
		if (item->reported)
			return;
		item->reported = true; /* once until it is in order again (G5) */
	}
	event.reason = (uint32_t)reasons[note];
	event.note = str_of(note == ENGINE_PRUNED && item->dropped ? item->dropped
			    : item && item->why                    ? item->why
								   : texts[note]);
	event.kind = str_of(item ? kind_row((enum kind)item->kind)->kind : "");
	event.namespace = str_of(item ? item_namespace(item) : "");
	event.object = str_of(item ? item_name(item) : "");
	event.note = str_cut(event.note, 512);
	log_warn("%.*s %.*s/%.*s: %s: %.*s", STR_ARG(event.kind), STR_ARG(event.namespace),
	    STR_ARG(event.object), texts[note], STR_ARG(event.note));
	(void)role_send(syncer->process, ROLE_ELECTOR, 0, MSG_EVENT_ASKED, &event);
}
