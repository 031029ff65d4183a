/*
 * How the two servers serve a kind (discovery, which every identity may read). Called by feeds.c.
 *
 * What a person lists in mirror.kinds may be called otherwise by a server, have no namespaces, or
 * no status of its own. That would show late, at each object, or never; so each server is asked
 * once before the kind is watched there. A kind that the server does not know is left to the watch,
 * which parks it (M7).
 *
 * A parked kind may be there under another version: each hub is upgraded by itself. Both servers
 * are asked which versions the group has, and the first of the source's order under which both
 * serve the kind is used from then on, and told; without one the kind is Blocked (M7).
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "kube/json.h"
#include "kube/url.h"
#include "syncer/syncer.h"

#define AGAIN_NS (2 * BASE_NS_PER_S)
/* How often a kind under another version than is meant is asked for under that. */
#define LOOK_NS  (30 * BASE_NS_PER_S)
#define STAYS_NS (5 * BASE_NS_PER_S)

/* The member of the list whose text under that key is this one; NULL: none. */
static const json_t *find(const json_t *list, const char *key, const char *text)
{
	const json_t *member;
	size_t i;

	json_array_foreach((json_t *)list, i, member)
	{
		if (strcmp(kube_json_text(member, key), text) == 0)
			return member;
	}
	return NULL;
}

bool served_fits(const struct kind_row *row, const json_t *list, char *why, size_t size)
{
	const json_t *resources = json_object_get(list, "resources");
	const json_t *resource = find(resources, "name", row->plural);
	const char *kind = kube_json_text(resource, "kind");
	char status[80];

	if (!resource)
		return true; /* its watch will say that it is missing */
	(void)snprintf(status, sizeof(status), "%s/status", row->plural);
	if (strcmp(kind, row->kind) != 0)
		(void)snprintf(why, size, "%s is of kind %.63s there, mirror.kinds says %s",
		    row->plural, kind, row->kind);
	else if (!json_is_true(json_object_get(resource, "namespaced")))
		(void)snprintf(why, size,
		    "%s is of the whole cluster there, and only what is in namespaces is mirrored",
		    row->plural);
	else if (row->status && !find(resources, "name", status))
		(void)snprintf(why, size,
		    "%s has no status subresource there, mirror.kinds says status: true",
		    row->plural);
	else
		return true;
	return false;
}

static void on_answer(void *arg, const struct kube_answer *answer)
{
	struct feed *feed = arg;
	json_t *list = NULL;
	char why[256];

	feed->request = 0;
	if (feed->syncer->left)
		return;
	if (answer->class == KUBE_OK)
		list = kube_json_parse(answer->body, NULL);
	if (!list && answer->class != KUBE_NOT_FOUND && answer->class != KUBE_NO_RESOURCE) {
		(void)snprintf(feed->fault, sizeof(feed->fault), "%s: %.200s",
		    kube_class_name(answer->class), answer->message);
		loop_timer_set(feed->syncer->loop, &feed->timer, base_clock_boot_ns() + AGAIN_NS);
	} else if (list && !served_fits(kind_row(feed->kind), list, why, sizeof(why))) {
		feed_park(feed, why);
	} else {
		feed->fits = true;
		feed->misfit = false;
		feed_start(feed);
	}
	json_decref(list);
}

/* What a server has in a group, or in one version of it. */
static uint64_t discover(struct syncer *syncer, enum side side, const char *group,
    const char *version, kube_done_fn *done, void *arg)
{
	struct buf path = buf_make(1024);
	struct kube_ask ask = { .verb = KUBE_GET,
		.target = side == SIDE_SOURCE ? CREDENTIAL_PEER_SYNCER : CREDENTIAL_SYNCER,
		.deadline_ms = SYNCER_REQUEST_MS };
	uint64_t request;

	buf_puts(&path, *group ? "/apis/" : "/api");
	kube_url_escape(&path, group);
	if (version) {
		buf_puts(&path, "/");
		kube_url_escape(&path, version);
	}
	ask.path = path.data;
	request = kube_client_ask(syncer->client, &ask, done, arg);
	buf_free(&path);
	return request;
}

bool served_ask(struct feed *feed)
{
	const struct kind_row *row = kind_row(feed->kind);

	if (feed->kind < KIND_LISTED || feed->fits)
		return false;
	if (!feed->request && !feed->timer.slot)
		feed->request =
		    discover(feed->syncer, feed->side, row->group, row->version, on_answer, feed);
	return true;
}

/* --- Another version (M7) ---------------------------------------------------------------------
 */

static bool has_version(const json_t *group, const char *name)
{
	return find(json_object_get(group, "versions"), "version", name) != NULL;
}

/* The n-th version of the source's that this hub has, too, but for the present one; NULL: none. */
static const char *common_version(
    const json_t *source, const json_t *own, const char *present, unsigned n)
{
	const json_t *version;
	size_t i;

	json_array_foreach(json_object_get(source, "versions"), i, version)
	{
		const char *name = kube_json_text(version, "version");

		if (*name && strcmp(name, present) != 0 && has_version(own, name) && n-- == 0)
			return name;
	}
	return NULL;
}

static void put_versions(const json_t *group, struct buf *out)
{
	const json_t *version;
	size_t i;

	json_array_foreach(json_object_get(group, "versions"), i, version)
	{
		buf_printf(out, "%s%.63s", i ? ", " : "", kube_json_text(version, "version"));
	}
	if (json_array_size(json_object_get(group, "versions")) == 0)
		buf_puts(out, "none");
}

static void forget_answers(struct versions *versions)
{
	for (unsigned side = 0; side < SIDE_COUNT; side++) {
		json_decref(versions->lists[side]);
		json_decref(versions->groups[side]);
		versions->lists[side] = versions->groups[side] = NULL;
	}
	versions->trial[0] = '\0';
}

/* Where the present version is missing, and another one would not do, the kind is Blocked. */
static void block(struct syncer *syncer, enum kind kind)
{
	struct versions *versions = &syncer->versions;
	const struct kind_row *row = kind_row(kind);
	struct buf why = buf_make(1024);

	buf_printf(&why, "the hubs have no version of %s in common: the source has ", row->plural);
	put_versions(versions->groups[SIDE_SOURCE], &why);
	buf_puts(&why, ", this hub ");
	put_versions(versions->groups[SIDE_COPIES], &why);
	for (unsigned side = 0; side < SIDE_COUNT; side++) {
		struct feed *feed = &syncer->feeds[side][kind];

		if (feed->parked && why.data &&
		    !has_version(versions->groups[side], row->version)) {
			if (feed->watch)
				kube_watch_stop(feed->watch);
			feed->watch = NULL;
			feed_park(feed, why.data);
		}
	}
	buf_free(&why);
}

bool served_may_move(const struct versions *versions, enum kind kind, int64_t now_ns)
{
	return !versions->moved_ns[kind] || now_ns - versions->moved_ns[kind] >= STAYS_NS;
}

static void use(struct syncer *syncer, enum kind kind, const char *version)
{
	kind_use_version(kind, version);
	if (kind_other_version(kind))
		log_warn("%s: not both hubs serve %s: %s is mirrored, which both serve",
		    kind_row(kind)->kind, kind_other_version(kind), version);
	else
		log_info("%s: both hubs serve %s: it is mirrored under that again",
		    kind_row(kind)->kind, version);
	if (!syncer->versions.look.slot)
		loop_timer_set(
		    syncer->loop, &syncer->versions.look, base_clock_boot_ns() + LOOK_NS);
	syncer->versions.moved_ns[kind] = base_clock_boot_ns();
	for (unsigned side = 0; side < SIDE_COUNT; side++)
		feed_stop(&syncer->feeds[side][kind]);
	feeds_tally(syncer);
	report_touch(syncer);
	syncer_advance_soon(syncer);
}

static void on_source(void *arg, const struct kube_answer *answer);
static void on_own(void *arg, const struct kube_answer *answer);

static void ask_both(struct syncer *syncer, const char *version)
{
	struct versions *versions = &syncer->versions;
	const char *group = kind_row(versions->kind)->group;

	versions->requests[SIDE_SOURCE] =
	    discover(syncer, SIDE_SOURCE, group, version, on_source, syncer);
	versions->requests[SIDE_COPIES] =
	    discover(syncer, SIDE_COPIES, group, version, on_own, syncer);
}

static bool serves(const json_t *list, enum kind kind)
{
	char why[256];

	return find(json_object_get(list, "resources"), "name", kind_row(kind)->plural) &&
	       served_fits(kind_row(kind), list, why, sizeof(why));
}

/* Both have answered. */
static void go_on(struct syncer *syncer)
{
	struct versions *versions = &syncer->versions;
	enum kind kind = versions->kind;
	const char *next, *present = kind_row(kind)->version;
	json_t **groups = versions->groups;

	if (versions->trial[0] && serves(versions->lists[SIDE_SOURCE], kind) &&
	    serves(versions->lists[SIDE_COPIES], kind)) {
		if (served_may_move(versions, kind, base_clock_boot_ns()))
			use(syncer, kind, versions->trial);
		forget_answers(versions);
		return;
	}
	next = common_version(groups[SIDE_SOURCE], groups[SIDE_COPIES], present, versions->tried++);
	if (next && str_copy(versions->trial, sizeof(versions->trial), str_of(next))) {
		ask_both(syncer, versions->trial);
		return;
	}
	if (groups[SIDE_SOURCE] && groups[SIDE_COPIES])
		block(syncer, kind);
	forget_answers(versions);
}

static void take(struct syncer *syncer, enum side side, const struct kube_answer *answer)
{
	struct versions *versions = &syncer->versions;
	json_t **place = versions->trial[0] ? &versions->lists[side] : &versions->groups[side];

	versions->requests[side] = 0;
	json_decref(*place);
	*place = answer->class == KUBE_OK ? kube_json_parse(answer->body, NULL) : NULL;
	if (!versions->requests[SIDE_SOURCE] && !versions->requests[SIDE_COPIES] && !syncer->left)
		go_on(syncer);
}

static void on_source(void *arg, const struct kube_answer *answer)
{
	take(arg, SIDE_SOURCE, answer);
}

static void on_own(void *arg, const struct kube_answer *answer)
{
	take(arg, SIDE_COPIES, answer);
}

/* One kind at a time: the others ask when they are tried the next time (M7). */
static bool begin(struct versions *versions, enum kind kind)
{
	if (versions->requests[SIDE_SOURCE] || versions->requests[SIDE_COPIES])
		return false;
	forget_answers(versions);
	versions->kind = kind;
	versions->tried = 0;
	return true;
}

/* Both hubs may be of the version that is meant by now: nothing else would tell. */
static void on_look(void *arg, int64_t now_ns)
{
	struct syncer *syncer = arg;
	struct versions *versions = &syncer->versions;
	enum kind kind = versions->kind;
	unsigned i = 0;

	do
		kind = (enum kind)((kind + 1) % kind_end());
	while (!kind_other_version(kind) && ++i < kind_end());
	if (!kind_other_version(kind))
		return;
	loop_timer_set(syncer->loop, &versions->look, now_ns + LOOK_NS);
	if (syncer->has_grant && !syncer->engine.draining && begin(versions, kind) &&
	    str_copy(versions->trial, sizeof(versions->trial), str_of(kind_other_version(kind))))
		ask_both(syncer, versions->trial);
}

void served_find_version(struct feed *feed)
{
	/* The core group has one version. */
	if (*kind_row(feed->kind)->group && begin(&feed->syncer->versions, feed->kind))
		ask_both(feed->syncer, NULL);
}

void served_open(struct syncer *syncer)
{
	syncer->versions.look.fire = on_look;
	syncer->versions.look.arg = syncer;
}

void served_close(struct syncer *syncer)
{
	forget_answers(&syncer->versions);
}
