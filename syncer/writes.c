/*
 * Carries the engine's orders out: one request per order, conditions attached (H3, I9), and the
 * answer back into the engine. The only file that writes to the own hub besides spaces.c. Bodies
 * are handed to the client and not kept here.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "kube/json.h"
#include "kube/url.h"
#include "syncer/rules.h"
#include "syncer/syncer.h"

struct writing {
	struct syncer *syncer;
	struct engine_order order;
};

static bool reads_source(enum engine_action action)
{
	return action == ENGINE_FETCH || action == ENGINE_PROVE;
}

/* How upstream's metrics name it (kubeslice-ha 3.13). */
static const char *operation_of(const struct item *item, enum engine_action action)
{
	if (action == ENGINE_DELETE || action == ENGINE_PROVE)
		return "delete";
	if (action == ENGINE_CREATE || item->created)
		return "create";
	return action == ENGINE_UPDATE || action == ENGINE_STATUS ? "update" : "sync";
}

/* Time from the change to its copy: a new object says itself when it was made, anything else
 * counts from when we first saw it (L65, 3.10). */
static void observe_lag(struct syncer *syncer, enum kind kind, const char *operation, bool live,
    int64_t created_us, int64_t since_ns)
{
	int64_t lag_us = (base_clock_boot_ns() - since_ns) / 1000;

	if (live && created_us && strcmp(operation, "create") == 0)
		lag_us = base_clock_wall_us() - created_us;
	role_metric(syncer->process, METRIC_SYNC_LAG, kind_row(kind)->kind, operation,
	    lag_us > 0 ? lag_us : 0);
}

/* facts: what the server made of it; NULL for a deletion. */
static void write_succeeded(struct syncer *syncer, const struct engine_order *order,
    const struct rewrite_facts *facts, const char *warning)
{
	struct item *item = order->item;
	const char *operation = operation_of(item, order->action);
	int64_t since_ns = item->since_ns, created_us = item->created_us;
	bool live = item->live, done = true;
	int64_t now_ns = base_clock_boot_ns();

	if (facts)
		done = engine_wrote(&syncer->engine, order, facts, warning, now_ns);
	else
		engine_deleted(&syncer->engine, order, now_ns);
	log_debug(
	    "%s %s/%s", engine_action_name(order->action), item_namespace(item), item_name(item));
	if (order->again)
		role_metric(syncer->process, METRIC_RESURRECTED,
		    kind_row((enum kind)item->kind)->kind, NULL, 1000000);
	if (done)
		observe_lag(syncer, (enum kind)item->kind, operation, live, created_us, since_ns);
}

void writes_failed(
    struct syncer *syncer, const struct engine_order *order, const struct engine_failure *failure)
{
	enum kube_class class = failure->class;

	if (class != KUBE_CONFLICT && class != KUBE_EXISTS && class != KUBE_NOT_FOUND)
		role_metric(syncer->process, METRIC_SYNC_ERRORS,
		    kind_row((enum kind)order->item->kind)->kind,
		    operation_of(order->item, order->action), 1000000);
	/* Their watch goes on without the right, for as long as an hour (decision 2). */
	if (class == KUBE_FORBIDDEN && kind_row((enum kind)order->item->kind)->each &&
	    !reads_source(order->action) && !strstr(failure->why, "UNDERSTUDY_"))
		spaces_bind_again(order->item->space);
	engine_failed(&syncer->engine, order, failure, base_clock_boot_ns());
}

static void failed(
    struct syncer *syncer, const struct engine_order *order, enum kube_class class, const char *why)
{
	struct engine_failure failure = { .class = class, .why = why, .field = "" };

	writes_failed(syncer, order, &failure);
}

static void fetched(struct syncer *syncer, const struct engine_order *order, const json_t *object,
    struct rewrite_facts *facts)
{
	char why[320];

	/* Read a moment later than its watch said: it may say more by now (B1), or have left the
	 * mirror, which its watch is about to tell (C14). */
	if (!facts->chosen)
		failed(syncer, order, KUBE_NOT_FOUND, "it has lost its label");
	else if (!rules_allow(
		     syncer->config, (enum kind)order->item->kind, object, why, sizeof(why)))
		failed(syncer, order, KUBE_REFUSED, why);
	else if (source_hold(syncer, order->item, object, facts, true) < 0)
		failed(syncer, order, KUBE_TOO_LARGE, "the object is larger than 4 MiB");
	else
		engine_fetched(&syncer->engine, order, facts, base_clock_boot_ns());
}

/* What is there after all was missing in a list or in what a stranger said, and its watch does not
 * tell it again: its kind is listed anew. */
static void proved(struct syncer *syncer, const struct engine_order *order,
    const struct rewrite_facts *facts, int64_t now_ns)
{
	struct item *item = order->item;
	enum kind kind = (enum kind)item->kind;
	struct feed *feed =
	    feed_of(syncer, SIDE_SOURCE, kind, kind_row(kind)->each ? item->space : NULL);

	engine_proved(&syncer->engine, order, facts, now_ns);
	if (feed && item->source == SOURCE_UNKNOWN)
		feed_list_later(feed);
}

static void succeeded(
    struct syncer *syncer, const struct engine_order *order, const struct kube_answer *answer)
{
	int64_t now_ns = base_clock_boot_ns();
	struct rewrite_facts facts;
	struct err err;
	json_t *object = NULL;

	if (order->action == ENGINE_DELETE) {
		write_succeeded(syncer, order, NULL, "");
		return;
	}
	object = kube_json_parse(answer->body, &err);
	if (!object || rewrite_read((enum kind)order->item->kind,
			   reads_source(order->action) ? REWRITE_SOURCE : REWRITE_OWN, object,
			   &facts, &err) < 0)
		failed(syncer, order, KUBE_BLIND, err.text);
	else if (order->action == ENGINE_FETCH)
		fetched(syncer, order, object, &facts);
	else if (order->action == ENGINE_PROVE)
		proved(syncer, order, &facts, now_ns);
	else if (order->action == ENGINE_INSPECT)
		engine_inspected(&syncer->engine, order, &facts, now_ns);
	else
		write_succeeded(syncer, order, &facts, answer->warning);
	json_decref(object);
}

void writes_answered(
    struct syncer *syncer, const struct engine_order *order, const struct kube_answer *answer)
{
	struct engine_failure failure = { .class = answer->class,
		.why = answer->message[0] ? answer->message : kube_class_name(answer->class),
		.field = answer->cause_field,
		.retry_after_ms = answer->retry_after_ms };

	if (answer->class == KUBE_OK)
		succeeded(syncer, order, answer);
	else if (answer->class == KUBE_NOT_FOUND && order->action == ENGINE_PROVE)
		engine_proved(&syncer->engine, order, NULL, base_clock_boot_ns());
	else if (answer->class == KUBE_NOT_FOUND && order->action == ENGINE_INSPECT)
		engine_inspected(&syncer->engine, order, NULL, base_clock_boot_ns());
	else
		writes_failed(syncer, order, &failure);
	writes_pump(syncer);
}

static void on_answer(void *arg, const struct kube_answer *answer)
{
	struct writing *writing = arg;
	struct syncer *syncer = writing->syncer;
	struct engine_order order = writing->order;

	free(writing);
	if (!syncer->left)
		writes_answered(syncer, &order, answer);
}

void writes_put_body(const struct engine_order *order, struct buf *body)
{
	const struct item *item = order->item, *owner = item->owner;
	struct rewrite_target target = { .with_status = order->action == ENGINE_STATUS,
		.owner_kind = KIND_COUNT };

	if (order->action == ENGINE_DELETE) {
		buf_printf(body,
		    "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"propagationPolicy\":"
		    "\"Background\",\"preconditions\":{\"uid\":\"%s\",\"resourceVersion\":"
		    "\"%" PRIu64 "\"}}",
		    item->copy_uid, item->copy_version);
		return;
	}
	CHECK(item->held);
	if (order->action != ENGINE_CREATE) {
		target.version = item->copy_version;
		target.uid = item->copy_uid;
	}
	if (owner && kind_row((enum kind)item->kind)->map_owners && owner->copy == COPY_PRESENT) {
		target.owner_kind = (enum kind)owner->kind;
		target.owner_name = item_name(owner);
		target.owner_uid = owner->copy_uid;
		target.owner_controls = item->owner_controls;
	}
	rewrite_finish(
	    body, (struct str){ item->held->text, item->held->n }, item->held->copy, &target);
}

static enum kube_verb verb_of(enum engine_action action)
{
	switch (action) {
	case ENGINE_CREATE: return KUBE_POST;
	case ENGINE_UPDATE:
	case ENGINE_STATUS: return KUBE_PUT;
	case ENGINE_DELETE: return KUBE_DELETE;
	default: return KUBE_GET;
	}
}

static void carry_out(struct syncer *syncer, const struct engine_order *order)
{
	const struct item *item = order->item;
	const struct kind_row *row = kind_row((enum kind)item->kind);
	struct writing *writing = malloc(sizeof(*writing));
	struct buf path = buf_make(2048), body = buf_make_secret((size_t)2 * REWRITE_MAX_BODY);
	struct kube_ask ask = { .verb = verb_of(order->action), .deadline_ms = SYNCER_REQUEST_MS };

	CHECK(writing);
	*writing = (struct writing){ syncer, *order };
	kube_url_path(&path, row->group, row->version, row->plural,
	    row->place == KIND_NOWHERE ? NULL : item_namespace(item),
	    order->action == ENGINE_CREATE ? NULL : item_name(item),
	    order->action == ENGINE_STATUS ? "status" : NULL);
	ask.target = reads_source(order->action) ? CREDENTIAL_PEER_SYNCER : CREDENTIAL_SYNCER;
	ask.path = path.data;
	if (ask.verb != KUBE_GET) {
		ask.query = SYNCER_WRITE_QUERY;
		writes_put_body(order, &body);
		ask.body = buf_str(&body);
	}
	(void)kube_client_ask(syncer->client, &ask, on_answer, writing);
	buf_free(&path);
	buf_free(&body);
}

void writes_pump(struct syncer *syncer)
{
	struct engine_order order;
	int64_t wake_ns;

	if (syncer->left)
		return;
	while (engine_next(&syncer->engine, base_clock_boot_ns(), &order)) {
		if (local_is_for(&order))
			local_carry_out(syncer, &order);
		else
			carry_out(syncer, &order);
	}
	wake_ns = engine_wake_ns(&syncer->engine);
	if (wake_ns == INT64_MAX)
		loop_timer_cancel(syncer->loop, &syncer->wake);
	else if (wake_ns != syncer->wake.at_ns || !syncer->wake.slot)
		loop_timer_set(syncer->loop, &syncer->wake, wake_ns);
	texts_pump(syncer);
	report_touch(syncer);
	drain_check(syncer);
}

static void on_wake(void *arg, int64_t now_ns)
{
	(void)now_ns;
	writes_pump(arg);
}

void writes_open(struct syncer *syncer)
{
	syncer->wake.fire = on_wake;
	syncer->wake.arg = syncer;
}
