/*
 * What the peer's objects mean to the engine, and whether the peer is who it should be. Reads
 * only. Called by the feeds of the source's side.
 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "kube/json.h"
#include "kube/url.h"
#include "syncer/rules.h"
#include "syncer/syncer.h"

#define VERIFY_RETRY_NS (1 * BASE_NS_PER_S)
#define VERIFY_WRONG_NS (30 * BASE_NS_PER_S)
/* The source is asked again and again: watches that are silent may hang on a dead connection, which
 * only a request finds out, and another cluster may have taken the address (G6). */
#define VERIFY_AGAIN_NS (10 * BASE_NS_PER_S)
/* More writes than any API server takes, all at once and in each second: versions that grow faster
 * were not counted (H10). */
#define JUMP_AT_ONCE 10000000u
#define JUMP_PER_S   20000u

/* NULL: the mirror takes it. */
static const char *why_excluded(const struct syncer *syncer, enum kind kind, const json_t *object,
    const struct rewrite_facts *facts)
{
	const char *controller = syncer->engine.controller_namespace;

	if (kind_excludes(kind, facts->name))
		return kind == KIND_NAMESPACE ? "a namespace of the cluster itself"
		       : kind == KIND_ROLE_BINDING
			   ? "by it the mirror itself reads and writes Secrets"
			   : "each namespace has its own";
	if (kind == KIND_NAMESPACE)
		return strcmp(facts->name, controller) == 0 ? "the controller's own namespace"
							    : NULL;
	/* Everything in the controller's namespace stays out but Projects (decision 3). */
	if (kind_row(kind)->place == KIND_MIRRORED && strcmp(facts->namespace, controller) == 0)
		return "in the controller's own namespace only Projects are mirrored";
	if (kind == KIND_SECRET && kind_excludes_secret(kube_json_text(object, "type")))
		return "Secrets of its type belong to one cluster: bootstrap tokens, Helm's "
		       "records, archives";
	return NULL;
}

bool source_excludes(const struct syncer *syncer, enum kind kind, const json_t *object,
    const struct rewrite_facts *facts)
{
	return why_excluded(syncer, kind, object, facts) != NULL;
}

int source_hold(struct syncer *syncer, struct item *item, const json_t *object,
    const struct rewrite_facts *facts, bool always)
{
	struct buf text = buf_make_secret(REWRITE_MAX_BODY);
	struct rewrite_copy copy;
	int rc = -1;

	if (rewrite_copy((enum kind)item->kind, object, facts, syncer->engine.term, &text, &copy) ==
		0 &&
	    store_hold(&syncer->engine.store, item, buf_str(&text), copy, always))
		rc = 0;
	buf_free(&text);
	return rc;
}

static void keep_newest(
    struct syncer *syncer, enum kind kind, const struct rewrite_facts *facts, bool gone)
{
	struct newest *newest = &syncer->newest;

	if (facts->version <= newest->version)
		return;
	*newest = (struct newest){ .kind = kind, .version = facts->version, .gone = gone };
	(void)str_copy(newest->namespace, sizeof(newest->namespace), str_of(facts->namespace));
	(void)str_copy(newest->name, sizeof(newest->name), str_of(facts->name));
}

void source_object(struct feed *feed, enum kube_watch_event event, const json_t *object)
{
	struct syncer *syncer = feed->syncer;
	int64_t now_ns = base_clock_boot_ns();
	struct rewrite_facts facts;
	bool live = event != KUBE_WATCH_LISTED, late;
	struct item *item;
	struct err err;
	const char *excluded;
	char why[320];

	if (rewrite_read(feed->kind, REWRITE_SOURCE, object, &facts, &err) < 0) {
		log_warn("the source sent an object that cannot be mirrored: %s", err.text);
		(void)str_copy(feed->fault, sizeof(feed->fault), str_of(err.text));
		feed->counts = feed->bad_object = true; /* until the next whole list */
		feed_list_later(feed);
		feeds_tally(syncer);
		return;
	}
	/* A server that does not heed the selector says so of each object. */
	if (!facts.chosen && event != KUBE_WATCH_DELETED) {
		outside_forget(&syncer->outside, feed->kind, facts.namespace, facts.name);
		if (live)
			engine_source_gone(&syncer->engine, feed->kind, facts.namespace, facts.name,
			    facts.version, now_ns);
		return;
	}
	excluded = why_excluded(syncer, feed->kind, object, &facts);
	if (event == KUBE_WATCH_DELETED)
		outside_forget(&syncer->outside, feed->kind, facts.namespace, facts.name);
	else if (excluded)
		outside_exclude(&syncer->outside, feed->kind, &facts, feed->pass, excluded);
	else
		outside_refer(&syncer->outside, feed->kind, object, &facts, feed->pass);
	if (excluded)
		return;
	keep_newest(syncer, feed->kind, &facts, event == KUBE_WATCH_DELETED);
	if (event == KUBE_WATCH_DELETED) {
		engine_source_gone(&syncer->engine, feed->kind, facts.namespace, facts.name,
		    facts.version, now_ns);
		return;
	}
	if (!rules_allow(syncer->config, feed->kind, object, why, sizeof(why)))
		facts.refusal = why;
	item = engine_source_seen(&syncer->engine, feed->kind, &facts, live, feed->pass, now_ns);
	/* An event that is older than one before it may tell of something that is long gone: its
	 * text is not written, the object is read. */
	late = live && facts.version < feed->newest;
	if (item && !late && source_hold(syncer, item, object, &facts, false) < 0 && !live)
		texts_unheld(feed);
	if (live && !late)
		feed->newest = facts.version;
}

/* What a frozen mirror hears may be of the restored source, or of a stranger. */
static void reach(struct feed *feed, uint64_t version)
{
	if (version && version >= feed->reached.version && !feed->syncer->engine.regressed)
		feed->reached = (struct reached){ version, base_clock_boot_ns() };
}

void source_reached(struct feed *feed)
{
	uint64_t version = 0;

	if (str_to_u64(str_of(kube_watch_version(feed->watch)), &version))
		reach(feed, version);
}

/* H10: a restore that raises the versions (etcd's --bump-revision, by 1,000,000,000 as a rule)
 * makes nothing fall that tells of it, if all that it lost are objects made since the backup. */
static bool has_jumped(const struct reached *reached, uint64_t version, int64_t now_ns)
{
	uint64_t seconds = (uint64_t)(now_ns - reached->at_ns) / BASE_NS_PER_S;

	return reached->version && version > reached->version + JUMP_AT_ONCE + seconds * JUMP_PER_S;
}

void source_listed(struct feed *feed, uint64_t version)
{
	struct syncer *syncer = feed->syncer;

	if (version < feed->version || has_jumped(&feed->reached, version, base_clock_boot_ns()))
		engine_source_regressed(&syncer->engine); /* H10 */
	else
		feed->version = version;
	reach(feed, version);
	texts_listed(feed);
	feed->sweep = SWEEP_DUE;
	source_verify(syncer);
}

static void start_proving(struct feed *feed, void *arg)
{
	(void)arg;
	if (feed->sweep == SWEEP_DUE)
		feed->sweep = SWEEP_PROVING;
}

static void sweep(struct feed *feed, void *arg)
{
	bool *more = arg;

	if (feed->sweep == SWEEP_PROVING) {
		engine_source_at(
		    &feed->syncer->engine, feed->kind, feed->space, feed->version, feed->pass);
		engine_source_listed(&feed->syncer->engine, feed->kind, feed->space, feed->pass,
		    base_clock_boot_ns());
		outside_listed(&feed->syncer->outside, feed->kind, feed->space, feed->pass);
		feed->sweep = SWEEP_DONE;
		feed->swept = feed->pass;
		feed->proven = feed->version;
		feed->synced = true;
	}
	*more = *more || feed->sweep == SWEEP_DUE;
}

static void back_to_due(struct feed *feed, void *arg)
{
	(void)arg;
	if (feed->sweep == SWEEP_PROVING)
		feed->sweep = SWEEP_DUE;
}

/* H10: watches go on from versions that a restored source reaches again and say nothing of what it
 * has lost. When the last change is not there as it was seen, lists must tell what else is not. */
static void on_newest(void *arg, const struct kube_answer *answer)
{
	struct syncer *syncer = arg;
	const struct newest *newest = &syncer->asked;
	struct rewrite_facts facts;
	json_t *object = NULL;
	bool read, there;

	syncer->newest_id = 0;
	if (syncer->left)
		return;
	if (answer->class == KUBE_OK)
		object = kube_json_parse(answer->body, NULL);
	read = object && rewrite_read(newest->kind, REWRITE_SOURCE, object, &facts, NULL) == 0;
	there = read && facts.version >= newest->version;
	if (!read && answer->class != KUBE_NOT_FOUND) {
		syncer->doubtful = true; /* no answer: again with the next look at who it is */
	} else if (newest->gone ? read && !there : !there) {
		log_warn("the source has not got the last change of %s %s/%s any more as it was "
			 "seen: all is listed anew",
		    kind_row(newest->kind)->kind, newest->namespace, newest->name);
		syncer->newest = (struct newest){ 0 };
		feeds_relist(syncer);
	}
	json_decref(object);
}

static void look_at_newest(struct syncer *syncer)
{
	const struct newest *newest = &syncer->newest;
	const struct kind_row *row = kind_row(newest->kind);
	struct kube_ask ask = {
		.target = CREDENTIAL_PEER_SYNCER, .verb = KUBE_GET, .deadline_ms = SYNCER_REQUEST_MS
	};
	struct buf path = buf_make(2048);

	if (!newest->version || syncer->newest_id)
		return;
	syncer->doubtful = false;
	syncer->asked = *newest;
	kube_url_path(&path, row->group, row->version, row->plural,
	    row->place == KIND_NOWHERE ? NULL : newest->namespace, newest->name, NULL);
	ask.path = path.data;
	syncer->newest_id = kube_client_ask(syncer->client, &ask, on_newest, syncer);
	buf_free(&path);
}

void source_doubt(struct syncer *syncer)
{
	int64_t at_ns = base_clock_boot_ns() + VERIFY_RETRY_NS;

	syncer->doubtful = syncer->lost_again = syncer->engine.doubted = true;
	if (syncer->has_grant && !syncer->verify_id && !syncer->engine.draining &&
	    (!syncer->verify.slot || syncer->verify.at_ns > at_ns))
		loop_timer_set(syncer->loop, &syncer->verify, at_ns);
}

static void back_to_proven(struct feed *feed, void *arg)
{
	(void)arg;
	feed->version = feed->proven;
}

static void verified(struct syncer *syncer)
{
	bool more = false;

	if (!syncer->engine.verified)
		log_info("the source is the one that was granted (%s)", syncer->source_uid);
	if (syncer->wrong_source) {
		/* What a stranger said in its place is forgotten, and all is listed anew (G6). */
		engine_source_replaced(&syncer->engine, base_clock_boot_ns());
		if (syncer->went_back)
			engine_source_regressed(&syncer->engine);
		feeds_visit(syncer, SIDE_SOURCE, back_to_proven, NULL);
		feeds_relist(syncer);
	} else if (syncer->asked_regressed) {
		syncer->went_back = true;
	}
	engine_source_verified(&syncer->engine);
	syncer->engine.doubted = syncer->lost_again;
	syncer->wrong_source = false;
	feeds_visit(syncer, SIDE_SOURCE, sweep, &more);
	feeds_tally(syncer);
	syncer_advance_soon(syncer);
	if (syncer->doubtful)
		look_at_newest(syncer);
	if (more)
		source_verify(syncer);
	else
		loop_timer_set(syncer->loop, &syncer->verify,
		    base_clock_boot_ns() +
			(syncer->engine.doubted ? VERIFY_RETRY_NS : VERIFY_AGAIN_NS));
	writes_pump(syncer);
}

static void on_identity(void *arg, const struct kube_answer *answer)
{
	struct syncer *syncer = arg;
	json_t *object = NULL;
	const char *uid = "";
	int64_t wait_ns = VERIFY_RETRY_NS;

	syncer->verify_id = 0;
	if (answer->class == KUBE_OK) {
		object = kube_json_parse(answer->body, NULL);
		uid = kube_json_text(json_object_get(object, "metadata"), "uid");
	}
	if (*uid && strcmp(uid, syncer->source_uid) == 0) {
		json_decref(object);
		verified(syncer);
		return;
	}
	feeds_visit(syncer, SIDE_SOURCE, back_to_due, NULL);
	syncer->doubtful = true;
	if (*uid) {
		if (!syncer->wrong_source)
			log_error("the peer's kube-system has uid %.36s, granted was %s: "
				  "nothing is written",
			    uid, syncer->source_uid);
		syncer->wrong_source = true;
		syncer->engine.suspect = false; /* of a stranger */
		syncer->engine.verified = false;
		wait_ns = VERIFY_WRONG_NS;
	}
	json_decref(object);
	loop_timer_set(syncer->loop, &syncer->verify, base_clock_boot_ns() + wait_ns);
	report_touch(syncer);
}

static void on_verify(void *arg, int64_t now_ns)
{
	(void)now_ns;
	source_verify(arg);
}

void source_open(struct syncer *syncer)
{
	syncer->verify.fire = on_verify;
	syncer->verify.arg = syncer;
}

void source_verify(struct syncer *syncer)
{
	struct kube_ask ask = { .target = CREDENTIAL_PEER_SYNCER,
		.verb = KUBE_GET,
		.path = "/api/v1/namespaces/kube-system",
		.deadline_ms = SYNCER_REQUEST_MS };

	if (syncer->verify_id || syncer->engine.draining || !syncer->has_grant)
		return;
	loop_timer_cancel(syncer->loop, &syncer->verify);
	feeds_visit(syncer, SIDE_SOURCE, start_proving, NULL);
	syncer->asked_regressed = syncer->engine.regressed;
	syncer->lost_again = false;
	syncer->verify_id = kube_client_ask(syncer->client, &ask, on_identity, syncer);
}
