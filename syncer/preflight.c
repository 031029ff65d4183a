/*
 * Could the mirror write if it had to (H5)? A webhook that must be asked and does not answer
 * refuses each write of its kind, and where nothing changes nobody notices. So once a minute, and
 * as soon as the mirror is complete, one copy of each kind is created under another name as a dry
 * run: it passes all admission, and nothing is stored. What a webhook says of that object does not
 * matter: a refusal of a real one is named when it comes (B24).
 *
 * The mirror stays complete meanwhile, because it is: a dead webhook here, which nobody needs while
 * the other hub leads, must not keep this hub from being promoted.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "kube/json.h"
#include "kube/url.h"
#include "syncer/judge.h"
#include "syncer/syncer.h"

#define ROUND_NS (60 * BASE_NS_PER_S)
#define NAME     "understudy-preflight"

static void look_at(struct syncer *syncer, unsigned from);

static bool may_ask(struct syncer *syncer)
{
	const struct engine *engine = &syncer->engine;

	return !syncer->left && !engine->draining && !engine->rejoin && !engine->restore &&
	       engine_is_open(engine) && report_is_complete(syncer);
}

static void set_fault(struct syncer *syncer, enum kind kind, const char *fault)
{
	char **known = &syncer->preflight.faults[kind];

	if (fault && !*known)
		log_warn("%s: no copy can be written here: %s", kind_row(kind)->kind, fault);
	else if (!fault && *known)
		log_info("%s: copies can be written here again", kind_row(kind)->kind);
	if (fault)
		role_metric(syncer->process, METRIC_SYNC_ERRORS, kind_row(kind)->kind, "preflight",
		    1000000);
	if (fault || *known)
		report_touch(syncer);
	free(*known);
	*known = fault ? strdup(fault) : NULL;
}

/* One that is in order; a token's shell has no text of the source's. */
static const struct item *sample(const struct engine *engine, enum kind kind)
{
	const struct item *item;

	if (engine->store.count_copy[kind] == 0)
		return NULL;
	for (size_t at = 0; (item = map_next(&engine->store.items, &at));) {
		const struct item *home = item->space->self;

		if (item->kind == kind && item->state == ITEM_IDLE && item->copy == COPY_PRESENT &&
		    !item->copy_shell && !item->copy_terminating &&
		    !(home && home->copy_terminating))
			return item;
	}
	return NULL;
}

static void put_body(const json_t *object, struct buf *body)
{
	static const char *const kept[] = { "namespace", "labels", "annotations" };
	json_t *trial = json_copy((json_t *)object), *metadata = json_object();

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		json_object_set(metadata, kept[i], kube_json_at(object, "metadata", kept[i], NULL));
	json_object_set_new(metadata, "name", json_string(NAME));
	json_object_set_new(trial, "metadata", metadata);
	json_object_del(trial, "status");
	kube_json_put(body, trial);
	json_decref(trial);
}

static void ask(struct syncer *syncer, const char *namespace, const char *name, struct str body,
    kube_done_fn *done)
{
	enum kind kind = syncer->preflight.kind;
	const struct kind_row *row = kind_row(kind);
	struct buf path = buf_make(2048);
	struct kube_ask ask = { .target = CREDENTIAL_SYNCER,
		.verb = name ? KUBE_GET : KUBE_POST,
		.deadline_ms = SYNCER_REQUEST_MS,
		.body = body };

	kube_url_path(&path, row->group, row->version, row->plural,
	    row->place == KIND_NOWHERE ? NULL : namespace, name, NULL);
	ask.path = path.data;
	if (!name)
		ask.query = SYNCER_WRITE_QUERY "&dryRun=All";
	syncer->preflight.request = kube_client_ask(syncer->client, &ask, done, syncer);
	buf_free(&path);
}

static void on_tried(void *arg, const struct kube_answer *answer)
{
	struct syncer *syncer = arg;
	enum kind kind = syncer->preflight.kind;

	syncer->preflight.request = 0;
	if (syncer->left)
		return;
	if (kube_is_dead_webhook(answer))
		set_fault(syncer, kind, answer->message);
	else if (answer->status) /* without an answer nothing new is known */
		set_fault(syncer, kind, NULL);
	look_at(syncer, kind + 1);
}

static void on_copy(void *arg, const struct kube_answer *answer)
{
	struct syncer *syncer = arg;
	struct buf body = buf_make_secret(REWRITE_MAX_BODY);
	json_t *object = NULL;

	syncer->preflight.request = 0;
	if (!may_ask(syncer))
		return;
	if (answer->class == KUBE_OK)
		object = kube_json_parse(answer->body, NULL);
	if (object) {
		put_body(object, &body);
		ask(syncer, kube_json_text(json_object_get(object, "metadata"), "namespace"), NULL,
		    buf_str(&body), on_tried);
	} else {
		look_at(syncer, syncer->preflight.kind + 1);
	}
	json_decref(object);
	buf_free(&body);
}

static void look_at(struct syncer *syncer, unsigned from)
{
	if (!may_ask(syncer))
		return;
	for (unsigned kind = from; kind < kind_end(); kind++) {
		const struct item *item = sample(&syncer->engine, (enum kind)kind);

		if (item) {
			syncer->preflight.kind = (enum kind)kind;
			ask(syncer, item_namespace(item), item_name(item), (struct str){ 0 },
			    on_copy);
			return;
		}
		set_fault(syncer, (enum kind)kind, NULL);
	}
}

static void on_round(void *arg, int64_t now_ns)
{
	struct syncer *syncer = arg;

	loop_timer_set(syncer->loop, &syncer->preflight.timer, now_ns + ROUND_NS);
	if (!syncer->preflight.request)
		look_at(syncer, 0);
}

void preflight_open(struct syncer *syncer)
{
	syncer->preflight.timer.fire = on_round;
	syncer->preflight.timer.arg = syncer;
}

void preflight_soon(struct syncer *syncer)
{
	loop_timer_set(syncer->loop, &syncer->preflight.timer, base_clock_boot_ns());
}

void preflight_close(struct syncer *syncer)
{
	for (unsigned kind = 0; kind < KIND_COUNT; kind++)
		free(syncer->preflight.faults[kind]);
}
