/*
 * A source and a hub in memory for the tests of the syncer's engine: real JSON through rewrite,
 * resourceVersions, conflicts, status apart, lost requests and lost replies. The test says what
 * happens at the source, hands events over, and lets orders be carried out.
 * Included by one test program each; one world at a time, made by setup().
 */
#ifndef TESTS_SYNCER_WORLD_H
#define TESTS_SYNCER_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "kube/json.h"
#include "syncer/amend.h"
#include "syncer/engine.h"
#include "syncer/judge.h"

#define MANY 40
#define NS   "kubeslice-cisco"

struct object {
	enum kind kind;
	char name[16];
	bool source, labelled; /* is there; carries the owner's label */
	unsigned uid;
	uint64_t version;
	int spec, status; /* status 0: none */
	bool token;       /* Secret of the account of the same name */
	bool terminating; /* and waits for finalizer f */
	bool owned;       /* by the SliceConfig of the same name */
	json_t *local;
};

static struct world {
	struct engine engine;
	struct object object[MANY];
	unsigned count;
	uint64_t version;
	unsigned uids;
	int64_t now_ns;
	unsigned notes[6], creates, agains, updates, statuses, deletes, fetches, proves, archives;
	enum kind immutable; /* cannot be updated; KIND_NAMESPACE: none */
	const char *field;   /* what a refusal names */
	bool prunes;         /* the hub drops spec.n of SliceConfigs */
	uint32_t random, fault_percent;
	char trace[512];
} w;

static inline void on_note(void *arg, enum engine_note note, struct item *item)
{
	(void)arg;
	(void)item;
	w.notes[note]++;
}

static inline const char *place(const struct object *object)
{
	return object->kind == KIND_NAMESPACE ? "" : NS;
}

static inline json_t *source_json(const struct object *object)
{
	json_t *value = json_object(), *metadata = json_object();
	char text[40];

	json_object_set_new(value, "metadata", metadata);
	json_object_set_new(metadata, "name", json_string(object->name));
	if (object->kind != KIND_NAMESPACE)
		json_object_set_new(metadata, "namespace", json_string(NS));
	(void)snprintf(text, sizeof(text), "s%u", object->uid);
	json_object_set_new(metadata, "uid", json_string(text));
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)object->version);
	json_object_set_new(metadata, "resourceVersion", json_string(text));
	if (object->labelled)
		json_object_set_new(
		    metadata, "labels", json_pack("{ss}", KIND_OWNER_LABEL, KIND_OWNER_VALUE));
	if (object->terminating) {
		json_object_set_new(
		    metadata, "deletionTimestamp", json_string("2026-01-01T00:00:00Z"));
		json_object_set_new(metadata, "finalizers", json_pack("[s]", "f"));
	}
	if (object->token) {
		json_object_set_new(metadata, "annotations",
		    json_pack("{ss}", "kubernetes.io/service-account.name", object->name));
		json_object_set_new(value, "type", json_string(KIND_TOKEN_TYPE));
	}
	if (object->owned)
		json_object_set_new(metadata, "ownerReferences",
		    json_pack("[{ssssssss}]", "apiVersion", "controller.kubeslice.io/v1alpha1",
			"kind", "SliceConfig", "name", object->name, "uid", "foreign"));
	json_object_set_new(value, "spec", json_pack("{si}", "n", object->spec));
	if (object->status)
		json_object_set_new(value, "status", json_pack("{si}", "s", object->status));
	return value;
}

static inline struct rewrite_facts facts_at(
    enum rewrite_side side, enum kind kind, const json_t *value)
{
	struct rewrite_facts facts;
	struct err err;

	if (rewrite_read(kind, side, value, &facts, &err) < 0)
		fail_msg("%s", err.text);
	return facts;
}

static inline struct rewrite_facts facts_of(enum kind kind, const json_t *value)
{
	return facts_at(REWRITE_SOURCE, kind, value);
}

static inline void hold(struct item *item, const json_t *value, const struct rewrite_facts *facts)
{
	struct buf text = buf_make(65536);
	struct rewrite_copy copy;

	assert_int_equal(
	    rewrite_copy((enum kind)item->kind, value, facts, w.engine.term, &text, &copy), 0);
	assert_true(store_hold(&w.engine.store, item, buf_str(&text), copy, true));
	buf_free(&text);
}

static inline struct item *item_of(const struct object *object)
{
	return store_find(&w.engine.store, object->kind, place(object), object->name);
}

/* The source's watch (live) or list shows the object. */
static inline void show(struct object *object, bool live, uint32_t pass)
{
	json_t *value = source_json(object);
	struct rewrite_facts facts = facts_of(object->kind, value);
	struct item *item =
	    engine_source_seen(&w.engine, object->kind, &facts, live, pass, w.now_ns);

	if (item)
		hold(item, value, &facts);
	json_decref(value);
}

static inline void show_copy(struct object *object, uint32_t pass)
{
	struct rewrite_facts facts;

	if (!object->local)
		return;
	facts = facts_at(REWRITE_OWN, object->kind, object->local);
	if (facts.is_copy || w.engine.rejoin)
		engine_copy_seen(&w.engine, object->kind, &facts, false, pass, w.now_ns);
}

static inline struct object *add(enum kind kind, const char *name)
{
	struct object *object = &w.object[w.count++];

	assert_true(w.count <= MANY);
	*object = (struct object){ .kind = kind,
		.source = true,
		.labelled = true,
		.uid = ++w.uids,
		.version = ++w.version,
		.spec = 1 };
	(void)snprintf(object->name, sizeof(object->name), "%s", name);
	return object;
}

static inline void change(struct object *object, int spec, int status)
{
	object->spec = spec;
	object->status = status;
	object->version = ++w.version;
	show(object, true, 0);
}

static inline void vanish(struct object *object)
{
	object->source = false;
	object->version = ++w.version;
	engine_source_gone(
	    &w.engine, object->kind, place(object), object->name, object->version, w.now_ns);
}

static inline void stamp(json_t *value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)++w.version);
	json_object_set_new(
	    json_object_get(value, "metadata"), "resourceVersion", json_string(text));
}

static inline void keep_server_fields(const json_t *local, json_t *metadata)
{
	static const char *const names[] = { "uid", "deletionTimestamp" };
	json_t *value;

	for (unsigned i = 0; i < 2; i++) {
		value = json_object_get(json_object_get(local, "metadata"), names[i]);
		if (value)
			json_object_set(metadata, names[i], value);
	}
	json_object_del(metadata, "managedFields");
}

/* What an API server does with the body of a POST or PUT. */
static inline enum kube_class serve_write(
    struct object *object, enum engine_action action, json_t *body)
{
	json_t *metadata = json_object_get(body, "metadata"), *status;
	char uid[24];

	if (action == ENGINE_CREATE && object->local)
		return KUBE_EXISTS;
	if (action != ENGINE_CREATE && !object->local)
		return KUBE_NOT_FOUND;
	if (action != ENGINE_CREATE &&
	    strcmp(kube_json_text(metadata, "resourceVersion"),
		kube_json_text(json_object_get(object->local, "metadata"), "resourceVersion")) != 0)
		return KUBE_CONFLICT;
	if (action == ENGINE_STATUS) {
		status = json_object_get(body, "status");
		if (status)
			json_object_set(object->local, "status", status);
		else
			json_object_del(object->local, "status");
		stamp(object->local);
		return KUBE_OK;
	}
	if (action == ENGINE_UPDATE && w.immutable && object->kind == w.immutable)
		return KUBE_INVALID;
	if (action == ENGINE_CREATE) {
		(void)snprintf(uid, sizeof(uid), "c%u", ++w.uids);
		json_object_set_new(metadata, "uid", json_string(uid));
	}
	status = object->local ? json_object_get(object->local, "status") : NULL;
	json_object_del(body, "status");
	if (status)
		json_object_set(body, "status", status);
	/* What the server decides itself. */
	if (object->local)
		keep_server_fields(object->local, metadata);
	if (json_object_get(metadata, "deletionTimestamp") &&
	    json_array_size(json_object_get(metadata, "finalizers")) == 0) {
		json_decref(object->local);
		object->local = NULL;
		return KUBE_OK;
	}
	if (w.prunes && object->kind == KIND_SLICE_CONFIG)
		json_object_del(json_object_get(body, "spec"), "n");
	json_decref(object->local);
	object->local = json_incref(body);
	stamp(object->local);
	return KUBE_OK;
}

static inline struct object *object_of(const struct item *item)
{
	for (unsigned i = 0; i < w.count; i++)
		if (w.object[i].kind == (enum kind)item->kind &&
		    strcmp(w.object[i].name, item_name(item)) == 0)
			return &w.object[i];
	fail_msg("order for an unknown object");
	return NULL;
}

static inline json_t *body_of(const struct engine_order *order)
{
	const struct item *item = order->item, *owner = item->owner;
	struct rewrite_target target = { .with_status = order->action == ENGINE_STATUS };
	struct buf text = buf_make(65536);
	json_t *body;

	if (order->action != ENGINE_CREATE) {
		target.version = item->copy_version;
		target.uid = item->copy_uid;
	}
	if (owner && kind_row((enum kind)item->kind)->map_owners && owner->copy == COPY_PRESENT) {
		target.owner_kind = (enum kind)owner->kind;
		target.owner_name = item_name(owner);
		target.owner_uid = owner->copy_uid;
	}
	rewrite_finish(
	    &text, (struct str){ item->held->text, item->held->n }, item->held->copy, &target);
	body = kube_json_parse(buf_str(&text), NULL);
	assert_non_null(body);
	buf_free(&text);
	return body;
}

static inline void fail_order(const struct engine_order *order, enum kube_class class)
{
	struct engine_failure failure = { .class = class, .why = "because", .field = w.field };

	engine_failed(&w.engine, order, &failure, w.now_ns);
}

static inline void carry_read(const struct engine_order *order, struct object *object)
{
	bool source = order->action != ENGINE_INSPECT;
	json_t *value =
	    source ? (object->source ? source_json(object) : NULL) : json_incref(object->local);
	struct rewrite_facts facts;

	if (value)
		facts = facts_at(source ? REWRITE_SOURCE : REWRITE_OWN, object->kind, value);
	if (order->action == ENGINE_INSPECT) {
		engine_inspected(&w.engine, order, value ? &facts : NULL, w.now_ns);
	} else if (order->action == ENGINE_PROVE) {
		w.proves++;
		engine_proved(&w.engine, order, value ? &facts : NULL, w.now_ns);
	} else if (value) {
		w.fetches++;
		hold(order->item, value, &facts);
		engine_fetched(&w.engine, order, &facts, w.now_ns);
	} else {
		fail_order(order, KUBE_NOT_FOUND);
	}
	json_decref(value);
}

static inline json_t *amended(const struct engine_order *order, const struct object *object)
{
	struct amend amend = { .strip = order->action == ENGINE_STRIP, .term = w.engine.term };
	json_t *local = json_deep_copy(object->local), *body;
	struct buf text = buf_make(65536);
	struct rewrite_pruned known = judge_pruned(order->item);
	char pruned[200], body_text[33], from[33], to[33];

	hash_to_text(&known.body, body_text);
	hash_to_text(&known.from, from);
	hash_to_text(&known.status, to);
	(void)snprintf(pruned, sizeof(pruned), "%s %s %s x", body_text, from, to);
	if (order->action == ENGINE_NOTE && order->item->state == ITEM_HELD)
		amend.held = "now";
	else if (order->action == ENGINE_NOTE && order->item->kept)
		amend.kept = "now";
	else if (order->action == ENGINE_NOTE && order->item->source == SOURCE_LEFT)
		amend.anew = true;
	else if (order->action == ENGINE_NOTE)
		amend.pruned = pruned;
	amend_object(object->kind, local, &amend, &text);
	body = kube_json_parse(buf_str(&text), NULL);
	assert_non_null(body);
	json_decref(local);
	buf_free(&text);
	return body;
}

static inline void carry_write(
    const struct engine_order *order, struct object *object, bool reply_lost)
{
	json_t *body = order->action == ENGINE_STRIP || order->action == ENGINE_NOTE
			   ? amended(order, object)
			   : body_of(order);
	enum kube_class class = serve_write(object, order->action, body);
	struct rewrite_facts facts;

	w.creates += order->action == ENGINE_CREATE;
	w.agains += order->again;
	w.updates += order->action == ENGINE_UPDATE;
	w.statuses += order->action == ENGINE_STATUS;
	if (class == KUBE_OK && !object->local) {
		/* Its last finalizer went, and so did it: the answer shows it as it was. */
		facts = facts_at(REWRITE_OWN, object->kind, body);
		(void)engine_wrote(&w.engine, order, &facts, "", w.now_ns);
		engine_copy_gone(
		    &w.engine, object->kind, place(object), object->name, ++w.version, w.now_ns);
	} else if (class == KUBE_OK && !reply_lost) {
		facts = facts_at(REWRITE_OWN, object->kind, object->local);
		(void)engine_wrote(
		    &w.engine, order, &facts, w.prunes ? "unknown field" : "", w.now_ns);
	} else {
		fail_order(order, reply_lost ? KUBE_SILENT : class);
	}
	json_decref(body);
}

static inline void carry_delete(
    const struct engine_order *order, struct object *object, bool reply_lost)
{
	const json_t *metadata = json_object_get(object->local, "metadata");
	char version[24];

	w.deletes++;
	(void)snprintf(
	    version, sizeof(version), "%llu", (unsigned long long)order->item->copy_version);
	if (object->local &&
	    (strcmp(kube_json_text(metadata, "uid"), order->item->copy_uid) != 0 ||
		strcmp(kube_json_text(metadata, "resourceVersion"), version) != 0)) {
		fail_order(order, KUBE_CONFLICT);
		return;
	}
	if (json_array_size(json_object_get(metadata, "finalizers"))) {
		json_object_set_new((json_t *)metadata, "deletionTimestamp", json_string("now"));
		stamp(object->local);
		engine_deleted(&w.engine, order, w.now_ns);
		show_copy(object, 1);
		return;
	}
	json_decref(object->local);
	object->local = NULL;
	++w.version;
	if (reply_lost) {
		fail_order(order, KUBE_SILENT);
		return;
	}
	engine_deleted(&w.engine, order, w.now_ns);
	if (object->kind == KIND_NAMESPACE)
		engine_copy_gone(&w.engine, object->kind, "", object->name, w.version, w.now_ns);
}

static inline bool chance(uint32_t percent)
{
	w.random = w.random * 1664525u + 1013904223u;
	return (w.random >> 8) % 100 < percent;
}

static inline void carry(const struct engine_order *order)
{
	struct object *object = object_of(order->item);
	size_t n = strlen(w.trace);

	(void)snprintf(w.trace + n, sizeof(w.trace) - n, "%s %s; ",
	    engine_action_name(order->action), object->name);
	if (chance(w.fault_percent)) {
		fail_order(order, chance(50) ? KUBE_SILENT : KUBE_SERVER_ERROR);
		return;
	}
	if (order->action < ENGINE_CREATE) {
		carry_read(order, object);
	} else if (order->action == ENGINE_ARCHIVE) {
		w.archives++;
		engine_archived(&w.engine, order, w.now_ns);
	} else if (order->action == ENGINE_DELETE) {
		carry_delete(order, object, chance(w.fault_percent));
	} else {
		carry_write(order, object, chance(w.fault_percent));
	}
}

/* Carries out what is due now. */
static inline void run(void)
{
	struct engine_order order;

	w.trace[0] = '\0';
	while (engine_next(&w.engine, w.now_ns, &order))
		carry(&order);
	assert_int_equal(w.engine.busy, 0);
}

/* The same, and what becomes due within the time. */
static inline void run_for(int64_t ns)
{
	int64_t end_ns = w.now_ns + ns;

	for (run(); engine_wake_ns(&w.engine) <= end_ns; run())
		if (engine_wake_ns(&w.engine) > w.now_ns)
			w.now_ns = engine_wake_ns(&w.engine);
	w.now_ns = end_ns;
}

/* All copies are known. */
static inline void sync_copies(uint32_t pass)
{
	struct space *space;

	for (unsigned i = 0; i < w.count; i++)
		show_copy(&w.object[i], pass);
	for (unsigned kind = 0; kind < kind_end(); kind++)
		if (!kind_row((enum kind)kind)->each)
			engine_copies_listed(&w.engine, (enum kind)kind, NULL, pass, w.now_ns);
	space = store_space(&w.engine.store, NS);
	engine_copies_listed(&w.engine, KIND_SECRET, space, pass, w.now_ns);
	engine_copies_listed(&w.engine, KIND_SERVICE_ACCOUNT, space, pass, w.now_ns);
}

static inline void list_source(uint32_t pass)
{
	for (unsigned i = 0; i < w.count; i++)
		if (w.object[i].source)
			show(&w.object[i], false, pass);
	for (unsigned kind = 0; kind < kind_end(); kind++)
		engine_source_listed(&w.engine, (enum kind)kind, NULL, pass, w.now_ns);
}

/* The first list of each side. */
static inline void first_lists(void)
{
	sync_copies(1);
	list_source(2);
}

/* And what follows from them: what the source has is copied. */
static inline void first_mirror(void)
{
	first_lists();
	run();
}

static inline void open_engine(void)
{
	engine_open(&w.engine, "kubeslice-controller", 16, 1, on_note, NULL);
	w.engine.granted = w.engine.verified = true;
	w.engine.term = 2;
}

static inline int setup(void **state)
{
	(void)state;
	memset(&w, 0, sizeof(w));
	w.now_ns = 1000 * BASE_NS_PER_S;
	w.random = 5;
	w.field = "";
	open_engine();
	add(KIND_NAMESPACE, NS);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	engine_close(&w.engine);
	for (unsigned i = 0; i < w.count; i++)
		json_decref(w.object[i].local);
	return 0;
}

/* The syncer starts anew on the hub as it is. */
static inline void restart(void)
{
	engine_close(&w.engine);
	open_engine();
	first_lists();
}

static inline uint32_t pending(void)
{
	return w.engine.store.count[ITEM_PENDING];
}

#define STORY(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
