/*
 * What each mirrored namespace needs besides its objects: the binding that lets this role write
 * Secrets and ServiceAccounts there (decision 2), and then the feeds of these two kinds. Called by
 * feeds.c from the loop.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "kube/url.h"
#include "syncer/syncer.h"

#define BINDING_RETRY_NS (500 * BASE_NS_PER_MS)
#define BINDING_LAST_NS  (30 * BASE_NS_PER_S)

static const enum kind each_kinds[FEEDS_EACH] = { KIND_SERVICE_ACCOUNT, KIND_SECRET };

/* struct space's `extra`. */
struct place {
	struct syncer *syncer;
	struct space *space;
	struct feed feeds[SIDE_COUNT][FEEDS_EACH];
	bool bound;          /* the binding is there */
	uint32_t bound_pass; /* of the list that showed it */
	bool asked;          /* its POST is under way */
	int64_t retry_ns, wait_ns;
	struct loop_timer timer;
};

static void on_retry(void *arg, int64_t now_ns)
{
	struct place *place = arg;

	(void)now_ns;
	syncer_advance_soon(place->syncer);
}

static struct place *place_of(struct syncer *syncer, struct space *space)
{
	struct place *place = space->extra;

	if (place)
		return place;
	place = calloc(1, sizeof(*place));
	if (!place)
		return NULL;
	*place = (struct place){ .syncer = syncer, .space = space };
	place->timer.fire = on_retry;
	place->timer.arg = place;
	for (unsigned side = 0; side < SIDE_COUNT; side++)
		for (unsigned i = 0; i < FEEDS_EACH; i++)
			feed_init(
			    &place->feeds[side][i], syncer, (enum side)side, each_kinds[i], space);
	space->extra = place;
	return place;
}

static void on_bound(void *arg, const struct kube_answer *answer)
{
	struct place *place = arg;
	int64_t now_ns = base_clock_boot_ns();

	place->asked = false;
	if (answer->class == KUBE_OK || answer->class == KUBE_EXISTS) {
		place->bound = true;
		place->wait_ns = 0;
		syncer_advance_soon(place->syncer);
		return;
	}
	if (!place->wait_ns)
		log_warn("no rights on Secrets in %s yet: %s: %s", place->space->name,
		    kube_class_name(answer->class), answer->message);
	place->wait_ns = place->wait_ns && !engine_policy_unready(answer->message)
			     ? place->wait_ns * 2
			     : BINDING_RETRY_NS;
	if (place->wait_ns > BINDING_LAST_NS)
		place->wait_ns = BINDING_LAST_NS;
	place->retry_ns = now_ns + place->wait_ns;
	loop_timer_set(place->syncer->loop, &place->timer, place->retry_ns);
}

/* The one ClusterRole that this role may bind, labelled so that admission takes it for a copy. */
static void bind_mirror(struct place *place)
{
	struct syncer *syncer = place->syncer;
	struct buf path = buf_make(1024), body = buf_make(2048);
	struct kube_ask ask = { .target = CREDENTIAL_SYNCER,
		.verb = KUBE_POST,
		.query = "timeout=5s",
		.deadline_ms = SYNCER_REQUEST_MS };

	kube_url_path(&path, "rbac.authorization.k8s.io", "v1", "rolebindings", place->space->name,
	    NULL, NULL);
	buf_puts(&body, "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"RoleBinding\","
			"\"metadata\":{\"name\":\"" KIND_MIRROR_BINDING
			"\",\"labels\":{\"" REWRITE_LABEL "\":\"" REWRITE_ORIGIN "\"}},"
			"\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\","
			"\"kind\":\"ClusterRole\",\"name\":\"" KIND_MIRROR_BINDING "\"},"
			"\"subjects\":[{\"kind\":\"ServiceAccount\","
			"\"name\":\"understudy-syncer\",\"namespace\":");
	buf_json_string(&body, str_of(syncer->engine.controller_namespace));
	buf_puts(&body, "}]}");
	ask.path = path.data;
	ask.body = buf_str(&body);
	place->asked = true;
	(void)kube_client_ask(syncer->client, &ask, on_bound, place);
	buf_free(&path);
	buf_free(&body);
}

static void stop_side(struct place *place, enum side side)
{
	for (unsigned i = 0; i < FEEDS_EACH; i++)
		feed_stop(&place->feeds[side][i]);
}

/* The kind is mirrored; else its feeds never run. */
static bool is_on(unsigned i)
{
	return kind_row(each_kinds[i])->on;
}

static bool is_running(const struct place *place, enum side side)
{
	for (unsigned i = 0; i < FEEDS_EACH; i++)
		if (place->feeds[side][i].watch || place->feeds[side][i].parked)
			return true;
	return false;
}

static bool copies_synced(const struct place *place)
{
	for (unsigned i = 0; i < FEEDS_EACH; i++)
		if (is_on(i) && !place->feeds[SIDE_COPIES][i].synced)
			return false;
	return true;
}

/* with_source: the source has that namespace, too. */
static void start_feeds(struct place *place, bool with_source)
{
	for (unsigned i = 0; i < FEEDS_EACH; i++) {
		struct feed *copies = &place->feeds[SIDE_COPIES][i];
		struct feed *source = &place->feeds[SIDE_SOURCE][i];

		if (!is_on(i))
			continue;
		if (!copies->watch && !copies->parked)
			feed_start(copies);
		if (with_source && copies->synced && !source->watch && !source->parked)
			feed_start(source);
	}
	if (!with_source && copies_synced(place))
		engine_source_space_gone(
		    &place->syncer->engine, place->space, base_clock_boot_ns());
}

/* Whether one is there is seen before it is made. Where RoleBindings are not mirrored they are not
 * read, and one that is there already is found by making it. */
static bool bindings_are_known(const struct syncer *syncer)
{
	return !kind_row(KIND_ROLE_BINDING)->on ||
	       syncer->feeds[SIDE_COPIES][KIND_ROLE_BINDING].synced;
}

static void space_advance(struct syncer *syncer, struct space *space)
{
	struct item *home = space->self;
	bool rejoin = syncer->engine.rejoin;
	/* It is about to go, or waits for a person's word in a rejoin: what is in it must be known
	 * first (C12, I11). */
	bool left =
	    home && home->source == SOURCE_ABSENT && home->proofs && (rejoin || !home->braked);
	bool chosen = home && (home->source == SOURCE_PRESENT || left);
	bool here = home && (home->copy == COPY_PRESENT || home->copy == COPY_UNSURE ||
				(rejoin && home->copy == COPY_FOREIGN && home->copy_chosen));
	struct place *place = chosen && here ? place_of(syncer, space) : space->extra;
	int64_t now_ns = base_clock_boot_ns();

	if (!place)
		return;
	if (!here && (place->bound || is_running(place, SIDE_COPIES))) {
		stop_side(place, SIDE_COPIES);
		place->bound = false;
		engine_copy_space_gone(&syncer->engine, space, now_ns);
	}
	/* The rights went with our own backup, and nobody needs them any more. */
	if (!chosen && !place->bound && is_running(place, SIDE_COPIES))
		stop_side(place, SIDE_COPIES);
	if ((!chosen || left || !here) && is_running(place, SIDE_SOURCE)) {
		stop_side(place, SIDE_SOURCE);
		if (!home || home->source == SOURCE_ABSENT)
			engine_source_space_gone(&syncer->engine, space, now_ns);
	}
	if (!chosen || !here || home->copy_terminating)
		return;
	if (place->bound)
		start_feeds(place, !left);
	else if (home->copy == COPY_UNSURE)
		; /* no rights are taken before it is known to be ours (L66) */
	else if (!place->asked && now_ns >= place->retry_ns && engine_is_open(&syncer->engine) &&
		 bindings_are_known(syncer))
		bind_mirror(place);
}

void spaces_advance(struct syncer *syncer)
{
	struct space *space;

	if (!is_on(0) && !is_on(1))
		return;
	for (size_t at = 0; (space = map_next(&syncer->engine.store.spaces, &at));)
		space_advance(syncer, space);
}

struct feed *spaces_feed(struct space *space, enum side side, enum kind kind)
{
	struct place *place = space->extra;

	for (unsigned i = 0; place && i < FEEDS_EACH; i++)
		if (each_kinds[i] == kind)
			return &place->feeds[side][i];
	return NULL;
}

void spaces_visit(struct syncer *syncer, enum side side, feed_visit_fn *visit, void *arg)
{
	struct space *space;

	for (size_t at = 0; (space = map_next(&syncer->engine.store.spaces, &at));) {
		struct place *place = space->extra;

		for (unsigned i = 0; place && i < FEEDS_EACH; i++)
			if (is_on(i))
				visit(&place->feeds[side][i], arg);
	}
}

void spaces_bind_again(struct space *space)
{
	struct place *place = space->extra;

	if (!place || !place->bound)
		return;
	place->bound = false;
	place->retry_ns = base_clock_boot_ns() + BINDING_RETRY_NS;
	loop_timer_set(place->syncer->loop, &place->timer, place->retry_ns);
}

void spaces_binding(struct syncer *syncer, const char *namespace, bool present)
{
	struct space *space = store_space(&syncer->engine.store, namespace);
	struct place *place = space ? place_of(syncer, space) : NULL;

	if (!place)
		return;
	place->bound = present;
	place->bound_pass = syncer->feeds[SIDE_COPIES][KIND_ROLE_BINDING].pass;
	syncer_advance_soon(syncer);
}

void spaces_bindings_listed(struct syncer *syncer)
{
	uint32_t pass = syncer->feeds[SIDE_COPIES][KIND_ROLE_BINDING].pass;
	struct space *space;

	for (size_t at = 0; (space = map_next(&syncer->engine.store.spaces, &at));) {
		struct place *place = space->extra;

		if (place && place->bound_pass != pass)
			place->bound = false; /* one that we have just made is there already */
	}
}

uint32_t spaces_unsynced(struct syncer *syncer)
{
	struct space *space;
	uint32_t count = 0;

	for (size_t at = 0; (space = map_next(&syncer->engine.store.spaces, &at));) {
		struct place *place = space->extra;

		if (!space->self)
			continue;
		/* A namespace of an own past: all of it is known before the rejoin is over. */
		if (syncer->engine.rejoin && space->self->copy != COPY_NONE &&
		    space->self->source != SOURCE_PRESENT && space->self->source != SOURCE_LEFT)
			count += (is_on(0) || is_on(1)) && (!place || !copies_synced(place));
		if (space->self->source != SOURCE_PRESENT)
			continue;
		for (unsigned i = 0; i < FEEDS_EACH; i++)
			count += is_on(i) && (!place || !place->feeds[SIDE_SOURCE][i].synced);
	}
	return count;
}

void spaces_close(struct syncer *syncer)
{
	struct space *space;

	for (size_t at = 0; (space = map_next(&syncer->engine.store.spaces, &at));) {
		struct place *place = space->extra;

		if (!place)
			continue;
		stop_side(place, SIDE_SOURCE);
		stop_side(place, SIDE_COPIES);
		loop_timer_cancel(syncer->loop, &place->timer);
		free(place);
		space->extra = NULL;
	}
}
