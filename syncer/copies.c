/*
 * What our own hub's labelled objects mean to the engine: the copies as they are, wherever they
 * came from, so that a local edit or deletion is repaired (L96); in a rejoin also those without a
 * label (C12). Reads only. Called by the feeds
 * of the copies' side.
 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "kube/json.h"
#include "syncer/syncer.h"

/* C12: while the hub rejoins, objects without our label are looked at, too: those that the mirror
 * would hold if they were at the source. */
static bool may_be_ours(
    const struct feed *feed, const json_t *object, const struct rewrite_facts *facts)
{
	const struct engine *engine = &feed->syncer->engine;
	const struct kind_row *row = kind_row(feed->kind);

	if (!engine->rejoin || (row->labelled && !facts->chosen))
		return false;
	if (feed->kind == KIND_NAMESPACE)
		return strcmp(facts->name, engine->controller_namespace) != 0;
	if (row->place == KIND_MIRRORED &&
	    strcmp(facts->namespace, engine->controller_namespace) == 0)
		return false;
	return feed->kind != KIND_SECRET || !kind_excludes_secret(kube_json_text(object, "type"));
}

/* A copy of which the source said nothing, while it has told everything: somebody made it, or a
 * backup brought it. The source's last list says that it is too much, and the brake is asked. */
static void sweep_again(struct feed *feed)
{
	struct syncer *syncer = feed->syncer;
	const struct feed *source = feed_of(syncer, SIDE_SOURCE, feed->kind, feed->space);

	/* A list that is under way tells it by itself. */
	if (source && source->synced && source->swept == source->pass && syncer->engine.verified)
		engine_source_listed(
		    &syncer->engine, feed->kind, feed->space, source->pass, base_clock_boot_ns());
}

void copies_object(struct feed *feed, enum kube_watch_event event, const json_t *object)
{
	struct syncer *syncer = feed->syncer;
	int64_t now_ns = base_clock_boot_ns();
	struct rewrite_facts facts;
	struct err err;

	if (rewrite_read(feed->kind, REWRITE_OWN, object, &facts, &err) < 0) {
		log_warn("the own hub sent an object that cannot be a copy: %s", err.text);
		return;
	}
	if (feed->kind == KIND_ROLE_BINDING && strcmp(facts.name, KIND_MIRROR_BINDING) == 0)
		spaces_binding(syncer, facts.namespace, event != KUBE_WATCH_DELETED);
	if (kind_excludes(feed->kind, facts.name) ||
	    (!facts.is_copy && !may_be_ours(feed, object, &facts)))
		return;
	if (event == KUBE_WATCH_DELETED) {
		engine_copy_gone(&syncer->engine, feed->kind, facts.namespace, facts.name,
		    facts.version, now_ns);
		return;
	}
	if (engine_copy_seen(&syncer->engine, feed->kind, &facts, event == KUBE_WATCH_LISTED,
		feed->pass, now_ns) &&
	    event != KUBE_WATCH_LISTED)
		sweep_again(feed);
}

void copies_listed(struct feed *feed)
{
	feed->synced = true;
	if (feed->kind == KIND_ROLE_BINDING)
		spaces_bindings_listed(feed->syncer);
	engine_copies_listed(
	    &feed->syncer->engine, feed->kind, feed->space, feed->pass, base_clock_boot_ns());
	sweep_again(feed);
}
