/*
 * The watches of the mirror: which run, when they start, what their failures mean. What their
 * objects mean is source.c's and copies.c's. Called by messages.c and by the watches themselves.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "kube/url.h"
#include "syncer/syncer.h"

/* How long a missing kind is left alone (M7). */
#define PARKED_NS (30 * BASE_NS_PER_S)
/* When a kind is listed again whose list was wrong. */
#define LIST_LATER_NS (30 * BASE_NS_PER_S)
/* A right that was just given takes a moment to be known everywhere. */
#define RIGHTS_LAG_NS   (5 * BASE_NS_PER_S)
#define RIGHTS_RETRY_NS (100 * BASE_NS_PER_MS)
#define RIGHTS_LATE_NS  (2 * BASE_NS_PER_S)

static void on_begin(void *arg)
{
	struct feed *feed = arg;

	feed->pass = feed->syncer->engine.pass = ++feed->syncer->pass;
	feed->sweep = SWEEP_DONE; /* of the list before this one: its pass is over */
	feed->bad_object = false;
	texts_forget(feed);
}

static void set_doubted(struct feed *feed, bool doubted)
{
	if (feed->doubted == doubted)
		return;
	feed->doubted = doubted;
	if (feed->side == SIDE_COPIES)
		engine_copies_doubted(
		    &feed->syncer->engine, feed->kind, feed->space, doubted, base_clock_boot_ns());
}

/* A feed that was refused, and is refused again, has told nothing in between. In a hub that lacks a
 * right in many Namespaces the doubt would never end, and nothing would be deleted. */
static bool doubts_source(const struct feed *feed, enum kube_class class)
{
	return feed->side == SIDE_SOURCE && (!feed->doubted || class >= KUBE_SERVER_ERROR);
}

/* The running watch says something: whatever was wrong is over. */
static void on_alive(void *arg)
{
	struct feed *feed = arg;

	set_doubted(feed, false);
	if (feed->side == SIDE_SOURCE)
		source_reached(feed);
	if (!feed->fault[0] || feed->bad_object)
		return;
	feed->fault[0] = '\0';
	feed->counts = feed->misfit = false;
	feeds_tally(feed->syncer);
	report_touch(feed->syncer);
}

static void on_object(void *arg, enum kube_watch_event event, const json_t *object)
{
	struct feed *feed = arg;

	if (event != KUBE_WATCH_LISTED)
		on_alive(feed);
	if (feed->side == SIDE_SOURCE)
		source_object(feed, event, object);
	else
		copies_object(feed, event, object);
	writes_pump(feed->syncer);
}

static void on_synced(void *arg, const char *resource_version)
{
	struct feed *feed = arg;
	uint64_t version = 0;

	(void)str_to_u64(str_of(resource_version), &version);
	if (!feed->bad_object) {
		feed->fault[0] = '\0';
		feed->counts = feed->misfit = false;
	}
	log_debug("%s %s%s%s: listed at %s", feed->side == SIDE_SOURCE ? "source's" : "copied",
	    kind_row(feed->kind)->plural, feed->space ? " in " : "",
	    feed->space ? feed->space->name : "", resource_version);
	set_doubted(feed, false);
	if (feed->side == SIDE_SOURCE)
		source_listed(feed, version);
	else
		copies_listed(feed);
	feeds_tally(feed->syncer);
	syncer_advance_soon(feed->syncer);
	writes_pump(feed->syncer);
}

/* What the server says ends the matter until a person acts; silence does not: a dying Active must
 * not make its own mirror incomplete (C5). */
static bool fault_counts(enum kube_class class)
{
	switch (class) {
	case KUBE_NO_RESOURCE:
	case KUBE_UNAUTHORIZED:
	case KUBE_FORBIDDEN:
	case KUBE_REFUSED:
	case KUBE_INVALID: return true;
	default: return false;
	}
}

static void on_error(void *arg, const struct kube_answer *answer)
{
	struct feed *feed = arg;
	int64_t now_ns = base_clock_boot_ns();

	role_metric(feed->syncer->process, METRIC_SYNC_ERRORS, kind_row(feed->kind)->kind, "prune",
	    1000000);
	if (!feed->fault[0])
		log_warn("%s of %s%s%s: %s: %s", kind_row(feed->kind)->plural,
		    feed->side == SIDE_SOURCE ? "the source" : "the own hub",
		    feed->space ? " in " : "", feed->space ? feed->space->name : "",
		    kube_class_name(answer->class), answer->message);
	(void)snprintf(feed->fault, sizeof(feed->fault), "%s: %.200s",
	    kube_class_name(answer->class), answer->message);
	if (answer->class == KUBE_NO_RESOURCE) {
		feed->parked = feed->counts = true;
		loop_timer_set(feed->syncer->loop, &feed->timer, now_ns);
		served_find_version(feed);
	} else if (answer->class == KUBE_FORBIDDEN && feed->space) {
		bool lag = now_ns - feed->started_ns < RIGHTS_LAG_NS;

		/* The right comes, and with its namespace goes, by a binding in it. */
		feed->counts = !lag && !(feed->space->self && feed->space->self->terminating);
		if (!lag && feed->side == SIDE_COPIES)
			spaces_bind_again(feed->space);
		loop_timer_set(feed->syncer->loop, &feed->timer,
		    now_ns + (lag ? RIGHTS_RETRY_NS : RIGHTS_LATE_NS));
	} else {
		feed->counts = feed->counts || fault_counts(answer->class);
	}
	if (doubts_source(feed, answer->class))
		source_doubt(feed->syncer);
	if (feed->side == SIDE_SOURCE || answer->class != KUBE_NO_RESOURCE)
		set_doubted(feed, true); /* of a kind that is gone here there is no copy */
	feeds_tally(feed->syncer);
	report_touch(feed->syncer);
}

/* Stops a parked feed, starts it again, or asks at once where a right was lacking. */
static void on_timer(void *arg, int64_t now_ns)
{
	struct feed *feed = arg;

	if (!feed->parked) {
		if (feed->watch)
			kube_watch_restart(feed->watch);
		else
			feed_start(feed);
	} else if (feed->watch) {
		kube_watch_stop(feed->watch);
		feed->watch = NULL;
		loop_timer_set(feed->syncer->loop, &feed->timer, now_ns + PARKED_NS);
	} else {
		feed->fits = false;
		feed_start(feed);
	}
}

void feed_park(struct feed *feed, const char *why)
{
	if (!feed->misfit)
		log_warn("%s of %s: %s", kind_row(feed->kind)->plural,
		    feed->side == SIDE_SOURCE ? "the source" : "the own hub", why);
	(void)str_copy(feed->fault, sizeof(feed->fault), str_cut(str_of(why), 200));
	feed->parked = feed->counts = feed->misfit = true;
	loop_timer_set(feed->syncer->loop, &feed->timer, base_clock_boot_ns() + PARKED_NS);
	feeds_tally(feed->syncer);
	report_touch(feed->syncer);
}

void feed_init(
    struct feed *feed, struct syncer *syncer, enum side side, enum kind kind, struct space *space)
{
	*feed = (struct feed){ .syncer = syncer, .side = side, .kind = kind, .space = space };
	feed->timer.fire = on_timer;
	feed->timer.arg = feed;
}

void feed_put_question(const struct feed *feed, struct buf *path, struct buf *query)
{
	const struct kind_row *row = kind_row(feed->kind);
	const struct engine *engine = &feed->syncer->engine;
	const char *where = feed->space ? feed->space->name : NULL;

	if (row->place == KIND_CONTROLLER)
		where = engine->controller_namespace;
	kube_url_path(path, row->group, row->version, row->plural, where, NULL, NULL);
	if (feed->side == SIDE_COPIES && engine->rejoin)
		; /* everything: what is of an own past bears no label (C12) */
	else if (feed->side == SIDE_COPIES)
		kube_url_query(query, "labelSelector", REWRITE_LABEL "=" REWRITE_ORIGIN);
	else
		kind_put_selector(feed->kind, query);
}

void feed_start(struct feed *feed)
{
	static const struct kube_watch_ops ops = { .on_begin = on_begin,
		.on_object = on_object,
		.on_synced = on_synced,
		.on_alive = on_alive,
		.on_error = on_error };
	struct syncer *syncer = feed->syncer;
	struct buf path = buf_make(1024), query = buf_make(1024);
	struct kube_watch_options options = { .deadline_ms = 30000, .initial_events = true };

	feed->parked = false;
	if (served_ask(feed))
		return;
	feed_put_question(feed, &path, &query);
	options.target = feed->side == SIDE_SOURCE ? CREDENTIAL_PEER_SYNCER : CREDENTIAL_SYNCER;
	options.path = path.data;
	options.query = query.data;
	feed->started_ns = base_clock_boot_ns();
	feed->watch = kube_watch_start(syncer->client, syncer->loop, &options, &ops, feed);
	buf_free(&path);
	buf_free(&query);
}

void feed_list_later(struct feed *feed)
{
	if (!feed->parked && !feed->timer.slot)
		loop_timer_set(
		    feed->syncer->loop, &feed->timer, base_clock_boot_ns() + LIST_LATER_NS);
}

void feed_stop(struct feed *feed)
{
	loop_timer_cancel(feed->syncer->loop, &feed->timer);
	if (feed->watch)
		kube_watch_stop(feed->watch);
	feed->watch = NULL;
	kube_client_cancel(feed->syncer->client, feed->request);
	feed->request = 0;
	texts_forget(feed);
	feed->synced = feed->parked = feed->counts = feed->misfit = feed->fits = false;
	feed->sweep = SWEEP_DONE;
	feed->fault[0] = '\0';
}

static void on_advance(void *arg, int64_t now_ns)
{
	(void)now_ns;
	feeds_advance(arg);
}

void syncer_advance_soon(struct syncer *syncer)
{
	loop_timer_set(syncer->loop, &syncer->advance, base_clock_boot_ns());
}

void feeds_open(struct syncer *syncer)
{
	syncer->advance.fire = on_advance;
	syncer->advance.arg = syncer;
	for (unsigned side = 0; side < SIDE_COUNT; side++)
		for (unsigned kind = 0; kind < kind_end(); kind++)
			feed_init(&syncer->feeds[side][kind], syncer, (enum side)side,
			    (enum kind)kind, NULL);
}

/* Mirrored, by one watch of all namespaces. */
static bool is_wide(enum kind kind)
{
	return kind_row(kind)->on && !kind_row(kind)->each;
}

static bool is_started(const struct feed *feed)
{
	return feed->watch || feed->parked;
}

/* Namespaces first: their copies, then they, then everything else, each kind's copies before its
 * source, so that what is equal is known to be equal (H11). */
void feeds_advance(struct syncer *syncer)
{
	struct feed *copies = syncer->feeds[SIDE_COPIES], *source = syncer->feeds[SIDE_SOURCE];

	if (!syncer->mirrors || syncer->engine.draining ||
	    !kube_client_has(syncer->client, CREDENTIAL_SYNCER) ||
	    !kube_client_has(syncer->client, CREDENTIAL_PEER_SYNCER))
		return;
	for (unsigned kind = 0; kind < kind_end(); kind++) {
		bool early = kind == KIND_NAMESPACE || source[KIND_NAMESPACE].synced;

		if (!is_wide((enum kind)kind))
			continue;
		if (!is_started(&copies[kind]))
			feed_start(&copies[kind]);
		if (syncer->has_grant && copies[kind].synced && early && !is_started(&source[kind]))
			feed_start(&source[kind]);
	}
	if (syncer->has_grant)
		spaces_advance(syncer);
	feeds_tally(syncer);
	writes_pump(syncer);
}

struct feed *feed_of(struct syncer *syncer, enum side side, enum kind kind, struct space *space)
{
	return space ? spaces_feed(space, side, kind) : &syncer->feeds[side][kind];
}

void feeds_visit(struct syncer *syncer, enum side side, feed_visit_fn *visit, void *arg)
{
	for (unsigned kind = 0; kind < kind_end(); kind++)
		if (is_wide((enum kind)kind))
			visit(&syncer->feeds[side][kind], arg);
	spaces_visit(syncer, side, visit, arg);
}

static void relist(struct feed *feed, void *arg)
{
	const enum kind *only = arg;

	if (only && feed->kind != *only)
		return;
	feed->synced = false;
	feed->sweep = SWEEP_DONE;
	if (feed->watch)
		kube_watch_restart(feed->watch);
}

void feeds_relist(struct syncer *syncer)
{
	feeds_visit(syncer, SIDE_SOURCE, relist, NULL);
	feeds_tally(syncer);
}

static void list_copies(struct feed *feed, void *arg)
{
	const enum kind *only = arg;

	if (feed->watch && (!only || feed->kind == *only))
		kube_watch_restart(feed->watch);
}

void feeds_resync(struct syncer *syncer, const enum kind *only)
{
	feeds_visit(syncer, SIDE_COPIES, list_copies, (void *)only);
	feeds_visit(syncer, SIDE_SOURCE, relist, (void *)only);
	feeds_tally(syncer);
}

static void forget_version(struct feed *feed, void *arg)
{
	(void)arg;
	feed->version = feed->proven = 0;
	feed->reached = (struct reached){ 0 };
}

void feeds_begin_anew(struct syncer *syncer)
{
	syncer->newest = (struct newest){ 0 };
	syncer->went_back = syncer->asked_regressed = false;
	feeds_visit(syncer, SIDE_SOURCE, forget_version, NULL);
	feeds_relist(syncer);
}

static void stop(struct feed *feed, void *arg)
{
	(void)arg;
	feed_stop(feed);
}

void feeds_stop_source(struct syncer *syncer)
{
	feeds_visit(syncer, SIDE_SOURCE, stop, NULL);
}

void feeds_rejoin(struct syncer *syncer, bool rejoin)
{
	if (syncer->engine.rejoin == rejoin)
		return;
	log_info("rejoin: %s", rejoin
				   ? "what is here becomes copies, differences are archived first"
				   : "done, everything here is a copy");
	/* What is here is known before the source's lists say what is too much. */
	if (rejoin)
		feeds_stop_source(syncer);
	feeds_visit(syncer, SIDE_COPIES, stop, NULL);
	engine_rejoin(&syncer->engine, rejoin, base_clock_boot_ns());
	syncer_advance_soon(syncer);
}

static void tally_fault(struct feed *feed, void *arg)
{
	uint32_t *bits = arg;

	if (feed->counts)
		*bits |= 1u << feed->kind;
}

void feeds_tally(struct syncer *syncer)
{
	uint32_t bits = 0, before;

	if (syncer->engine.draining)
		return;
	feeds_visit(syncer, SIDE_SOURCE, tally_fault, &bits);
	feeds_visit(syncer, SIDE_COPIES, tally_fault, &bits);
	syncer->failed_kinds = (uint32_t)__builtin_popcount(bits);
	before = syncer->unsynced;
	syncer->unsynced = spaces_unsynced(syncer);
	for (unsigned kind = 0; kind < kind_end(); kind++)
		if (is_wide((enum kind)kind) && !syncer->feeds[SIDE_SOURCE][kind].synced)
			syncer->unsynced++;
	if (before && !syncer->unsynced && syncer->has_grant)
		role_metric(
		    syncer->process, METRIC_LAST_PRUNE, "standby", NULL, base_clock_wall_us());
}
