/*
 * Orders that begin with a look at our own hub's object, because what is written is made of it:
 * adopt it as it is, note something on it, merge an account's lists, or archive it (C12, H8, H11,
 * B23). The look must show the version that was judged, else the order has failed as a conflict.
 * Called by writes.c; the answers go back through it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "kube/json.h"
#include "kube/lease.h"
#include "kube/url.h"
#include "syncer/amend.h"
#include "syncer/archive.h"
#include "syncer/judge.h"
#include "syncer/syncer.h"

struct local {
	struct syncer *syncer;
	struct engine_order order;
	struct archive archive;
	unsigned part;
};

static void finish(struct local *local)
{
	archive_free(&local->archive);
	free(local);
}

static void fail(struct local *local, enum kube_class class, const char *why)
{
	struct engine_failure failure = { .class = class, .why = why, .field = "" };

	writes_failed(local->syncer, &local->order, &failure);
	finish(local);
}

static void on_put(void *arg, const struct kube_answer *answer)
{
	struct local *local = arg;

	if (!local->syncer->left)
		writes_answered(local->syncer, &local->order, answer);
	finish(local);
}

static void put(struct local *local, struct buf *body)
{
	struct syncer *syncer = local->syncer;
	const struct item *item = local->order.item;
	const struct kind_row *row = kind_row((enum kind)item->kind);
	struct buf path = buf_make(2048);
	struct kube_ask ask = { .target = CREDENTIAL_SYNCER,
		.verb = KUBE_PUT,
		.query = SYNCER_WRITE_QUERY,
		.deadline_ms = SYNCER_REQUEST_MS };

	kube_url_path(&path, row->group, row->version, row->plural,
	    row->place == KIND_NOWHERE ? NULL : item_namespace(item), item_name(item), NULL);
	ask.path = path.data;
	ask.body = buf_str(body);
	(void)kube_client_ask(syncer->client, &ask, on_put, local);
	buf_free(&path);
}

static void post_part(struct local *local);

static void on_part(void *arg, const struct kube_answer *answer)
{
	struct local *local = arg;
	struct syncer *syncer = local->syncer;

	if (syncer->left) {
		finish(local);
		return;
	}
	/* The name holds the version: one that is there already is this one. */
	if (answer->class != KUBE_OK && answer->class != KUBE_EXISTS) {
		enum kube_class class =
		    answer->class == KUBE_NOT_FOUND ? KUBE_REFUSED : answer->class;

		fail(local, class, answer->message);
	} else if (++local->part < local->archive.parts) {
		post_part(local);
		return;
	} else {
		log_info("archived %s %s (%s) as %s", kind_row(local->archive.kind)->kind,
		    local->archive.object, local->archive.why, local->archive.name);
		engine_archived(&syncer->engine, &local->order, base_clock_boot_ns());
		finish(local);
	}
	writes_pump(syncer);
}

static void post_part(struct local *local)
{
	struct syncer *syncer = local->syncer;
	const char *namespace = syncer->engine.controller_namespace;
	struct buf path = buf_make(1024), body = buf_make_secret(REWRITE_MAX_BODY);
	struct kube_ask ask = { .target = CREDENTIAL_SYNCER,
		.verb = KUBE_POST,
		.query = "timeout=5s",
		.deadline_ms = SYNCER_REQUEST_MS };

	kube_url_path(&path, "", "v1", "secrets", namespace, NULL, NULL);
	archive_put(&local->archive, local->part, namespace, &body);
	ask.path = path.data;
	ask.body = buf_str(&body);
	(void)kube_client_ask(syncer->client, &ask, on_part, local);
	buf_free(&path);
	buf_free(&body);
}

static void archive(struct local *local, const json_t *object, const struct rewrite_facts *facts)
{
	const struct item *item = local->order.item;
	const char *why = item->source == SOURCE_PRESENT ? "changed" : "extra";

	if (archive_pack(&local->archive, (enum kind)item->kind, object, facts, why,
		local->syncer->engine.term) < 0)
		fail(local, KUBE_TOO_LARGE, "it is too large for the archive");
	else
		post_part(local);
}

/* Three hashes, then what the server said of the fields; zeros: the status came through. */
static void describe_pruned(const struct item *item, char *out, size_t size)
{
	struct rewrite_pruned pruned = judge_pruned(item);
	char body[33], from[33], to[33];

	hash_to_text(&pruned.body, body);
	hash_to_text(&pruned.from, from);
	hash_to_text(&pruned.status, to);
	(void)snprintf(
	    out, size, "%s %s %s %s", body, from, to, item->dropped ? item->dropped : "");
}

static void amend(struct local *local, json_t *object)
{
	const struct item *item = local->order.item;
	struct amend amend = { .strip = local->order.action == ENGINE_STRIP,
		.term = local->syncer->engine.term };
	struct buf body = buf_make_secret((size_t)2 * REWRITE_MAX_BODY);
	char pruned[400], when[40];

	if (local->order.action == ENGINE_NOTE && item->state == ITEM_HELD) {
		kube_time_put(when, base_clock_wall_us());
		amend.held = when;
	} else if (local->order.action == ENGINE_NOTE && item->kept) {
		kube_time_put(when, base_clock_wall_us());
		amend.kept = when;
	} else if (local->order.action == ENGINE_NOTE && item->source == SOURCE_LEFT) {
		amend.anew = true;
	} else if (local->order.action == ENGINE_NOTE) {
		describe_pruned(item, pruned, sizeof(pruned));
		amend.pruned = pruned;
	}
	amend_object((enum kind)item->kind, object, &amend, &body);
	put(local, &body);
	buf_free(&body);
}

static void merge_account(struct local *local, const json_t *object)
{
	struct buf text = buf_make_secret((size_t)2 * REWRITE_MAX_BODY);
	struct buf body = buf_make_secret((size_t)2 * REWRITE_MAX_BODY);

	/* What is held is the source's newest, which came during the look. */
	local->order.body = local->order.item->source_body;
	writes_put_body(&local->order, &text);
	if (amend_account(buf_str(&text), object, &body))
		put(local, &body);
	else
		fail(local, KUBE_BLIND, "the account's body cannot be merged");
	buf_free(&text);
	buf_free(&body);
}

static void looked(struct local *local, json_t *object)
{
	const struct item *item = local->order.item;
	struct rewrite_facts facts;
	struct err err;

	if (rewrite_read((enum kind)item->kind, REWRITE_OWN, object, &facts, &err) < 0)
		fail(local, KUBE_BLIND, err.text);
	else if (!engine_is_open(&local->syncer->engine))
		fail(local, KUBE_CONFLICT, "the grant ended meanwhile"); /* H9 */
	else if (facts.version != local->order.version || facts.version != item->copy_version ||
		 strcmp(facts.uid, item->copy_uid) != 0 ||
		 (local->order.action == ENGINE_UPDATE && !item->held))
		fail(local, KUBE_CONFLICT, "it has changed meanwhile");
	else if (local->order.action == ENGINE_ARCHIVE)
		archive(local, object, &facts);
	else if (local->order.action == ENGINE_UPDATE)
		merge_account(local, object);
	else
		amend(local, object);
}

static void on_look(void *arg, const struct kube_answer *answer)
{
	struct local *local = arg;
	struct syncer *syncer = local->syncer;
	struct err err;
	json_t *object;

	if (syncer->left) {
		finish(local);
		return;
	}
	if (answer->class != KUBE_OK) {
		writes_answered(syncer, &local->order, answer);
		finish(local);
		return;
	}
	object = kube_json_parse(answer->body, &err);
	if (object)
		looked(local, object);
	else
		fail(local, KUBE_BLIND, err.text);
	json_decref(object);
	writes_pump(syncer);
}

bool local_is_for(const struct engine_order *order)
{
	return order->action == ENGINE_STRIP || order->action == ENGINE_NOTE ||
	       order->action == ENGINE_ARCHIVE ||
	       (order->action == ENGINE_UPDATE && order->item->kind == KIND_SERVICE_ACCOUNT);
}

void local_carry_out(struct syncer *syncer, const struct engine_order *order)
{
	const struct item *item = order->item;
	const struct kind_row *row = kind_row((enum kind)item->kind);
	struct local *local = calloc(1, sizeof(*local));
	struct buf path = buf_make(2048);
	struct kube_ask ask = {
		.target = CREDENTIAL_SYNCER, .verb = KUBE_GET, .deadline_ms = SYNCER_REQUEST_MS
	};

	CHECK(local);
	local->syncer = syncer;
	local->order = *order;
	kube_url_path(&path, row->group, row->version, row->plural,
	    row->place == KIND_NOWHERE ? NULL : item_namespace(item), item_name(item), NULL);
	ask.path = path.data;
	(void)kube_client_ask(syncer->client, &ask, on_look, local);
	buf_free(&path);
}
