/*
 * A model of an API server: what becomes of requests for one object (see the header; lists and
 * watches are in watch.c). Objects are JSON; it keeps the promises that the mirror builds on:
 * one counter of versions, preconditions, status apart, finalizers, Namespaces that take their
 * time, immutable fields, admission as policy/admission/hub.yaml has it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "kube/json.h"
#include "tests/sim/mirror/mirror.h"

const char *meta(const json_t *value, const char *key)
{
	return kube_json_text(json_object_get(value, "metadata"), key);
}

const char *label_of(const json_t *value, const char *key)
{
	return kube_json_text(kube_json_at(value, "metadata", "labels", NULL), key);
}

const char *note_of(const json_t *value, const char *key)
{
	return kube_json_text(kube_json_at(value, "metadata", "annotations", NULL), key);
}

uint64_t version_of(const json_t *value)
{
	return strtoull(meta(value, "resourceVersion"), NULL, 10);
}

static void set_meta(json_t *value, const char *key, const char *text)
{
	json_object_set_new(json_object_get(value, "metadata"), key, json_string(text));
}

static void stamp(struct server *server, json_t *value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)++server->version);
	set_meta(value, "resourceVersion", text);
}

static bool has_finalizers(const json_t *value)
{
	return json_array_size(kube_json_at(value, "metadata", "finalizers", NULL)) > 0;
}

void server_open(struct server *server, unsigned id)
{
	*server =
	    (struct server){ .id = id, .version = (uint64_t)1000 * (id + 1), .watch_lists = true };
	(void)snprintf(server->uid, sizeof(server->uid), "cluster-%u", id);
}

void server_close(struct server *server)
{
	while (server->count) {
		struct object *object = server->objects[--server->count];

		json_decref(object->value);
		json_decref(object->mirrored);
		json_decref(object->mirrored_status);
		free(object);
	}
	watch_forget(server);
	free(server->changes);
	json_decref(server->saved);
}

struct object *server_find(
    const struct server *server, enum kind kind, const char *space, const char *name)
{
	for (unsigned i = 0; i < server->count; i++) {
		struct object *object = server->objects[i];

		if (object->kind == kind && strcmp(object->name, name) == 0 &&
		    strcmp(object->space, space) == 0)
			return object;
	}
	return NULL;
}

bool namespace_is_mirrored(const struct server *server, const char *space)
{
	const struct object *object = server_find(server, KIND_NAMESPACE, "", space);

	return object && is_labelled(KIND_NAMESPACE, object->value);
}

struct object *server_put(struct server *server, enum kind kind, json_t *value)
{
	struct object *object = calloc(1, sizeof(*object));
	char uid[37];

	CHECK(object && server->count < MAX_OBJECTS);
	object->kind = kind;
	(void)snprintf(object->space, sizeof(object->space), "%s", meta(value, "namespace"));
	(void)snprintf(object->name, sizeof(object->name), "%s", meta(value, "name"));
	CHECK(!server_find(server, kind, object->space, object->name));
	object->value = value;
	stamp(server, value);
	(void)snprintf(uid, sizeof(uid), "u%u-%llu-%llx", server->id,
	    (unsigned long long)server->version, (unsigned long long)chaos_random(1u << 30));
	set_meta(value, "uid", uid);
	set_meta(value, "creationTimestamp", "2026-01-01T00:00:00Z");
	server->objects[server->count++] = object;
	object->changed = the->now;
	object->collect_at = the->now + MS(100) + (int64_t)chaos_random(MS(600));
	watch_changed(server, kind, NULL, value);
	return object;
}

void server_drop(struct server *server, struct object *object)
{
	json_t *last = json_deep_copy(object->value);
	unsigned at = 0;

	while (server->objects[at] != object)
		at++;
	memmove(&server->objects[at], &server->objects[at + 1],
	    (--server->count - at) *
		sizeof(struct object *)); /* NOLINT(bugprone-sizeof-expression) */
	stamp(server, last);
	if (server->id == SOURCE)
		truth_gone(object->kind, object->space, object->name, false);
	watch_changed(server, object->kind, last, NULL);
	for (unsigned i = 0; i < server->count; i++) /* the collector looks at dependents */
		server->objects[i]->collect_at = the->now + MS(50) + (int64_t)chaos_random(MS(400));
	json_decref(last);
	json_decref(object->value);
	json_decref(object->mirrored);
	json_decref(object->mirrored_status);
	free(object);
}

void server_replace(struct server *server, struct object *object, json_t *value)
{
	json_t *before = object->value;

	if (same(before, value)) { /* nothing is written */
		json_decref(value);
		return;
	}
	stamp(server, value);
	object->value = value;
	object->changed = the->now;
	object->collect_at = the->now + MS(100) + (int64_t)chaos_random(MS(600));
	if (*meta(value, "deletionTimestamp") && !has_finalizers(value) &&
	    object->kind != KIND_NAMESPACE) {
		json_decref(before);
		server_drop(server, object);
		return;
	}
	watch_changed(server, object->kind, before, value);
	json_decref(before);
}

void server_delete(struct server *server, struct object *object)
{
	json_t *value;

	if (!has_finalizers(object->value) && object->kind != KIND_NAMESPACE) {
		server_drop(server, object);
		return;
	}
	if (*meta(object->value, "deletionTimestamp"))
		return;
	value = json_deep_copy(object->value);
	set_meta(value, "deletionTimestamp", "2026-01-01T00:00:01Z");
	if (object->kind == KIND_NAMESPACE)
		json_object_set_new(value, "status", json_pack("{ss}", "phase", "Terminating"));
	server_replace(server, object, value);
}

/* --- Answers -------------------------------------------------------------------------------- */

void server_refuse(struct reply *reply, int status, const char *reason, const char *message,
    const char *name, const char *field)
{
	json_t *details = json_object();

	if (*name)
		json_object_set_new(details, "name", json_string(name));
	if (*field)
		json_object_set_new(details, "causes", json_pack("[{ss}]", "field", field));
	reply->status = status;
	reply->body = json_pack("{sssssssssiso}", "kind", "Status", "status", "Failure", "reason",
	    reason, "message", message, "code", status, "details", details);
}

static void answer_with(struct reply *reply, int status, json_t *value)
{
	reply->status = status;
	reply->body = json_deep_copy(value);
}

/* --- Admission and rights of the syncer ----------------------------------------------------- */

/* The rights in a namespace come with a binding (decision 2). */
static bool is_allowed(const struct server *server, enum kube_verb verb, const struct place *place)
{
	const struct object *binding;

	if (!kind_row(place->kind)->on)
		broken("M8: nothing is asked of a kind that is left out", "%s",
		    kind_row(place->kind)->kind);
	if (place->kind != KIND_SECRET && place->kind != KIND_SERVICE_ACCOUNT)
		return true;
	if (verb == KUBE_POST && strcmp(place->space, HUB_NS) == 0)
		return place->kind == KIND_SECRET;
	binding = server_find(server, KIND_ROLE_BINDING, place->space,
	    server->id == OWN ? KIND_MIRROR_BINDING : KIND_READ_BINDING);
	return binding != NULL;
}

/* policy/admission/hub.yaml: why not, NULL: admitted. */
static const char *fence(const struct server *server, enum kube_verb verb,
    const struct place *place, const struct object *before, const json_t *body)
{
	bool archive = verb == KUBE_POST && place->kind == KIND_SECRET &&
		       strcmp(place->space, HUB_NS) == 0 &&
		       strcmp(kube_json_text(body, "type"), ARCHIVED) == 0;
	bool project = place->kind == KIND_PROJECT && strcmp(place->space, HUB_NS) == 0;
	const json_t *subject = verb == KUBE_DELETE ? before->value : body;

	if (!archive && !*label_of(subject, COPY) && !place->status)
		return "UNDERSTUDY_MIRROR this is no copy";
	if (*place->space && !project && !archive && !namespace_is_mirrored(server, place->space))
		return "UNDERSTUDY_MIRROR this namespace is not mirrored";
	if (place->kind == KIND_NAMESPACE && !is_labelled(KIND_NAMESPACE, subject))
		return "UNDERSTUDY_MIRROR this namespace is not mirrored, or would not be any more";
	if (archive)
		return NULL;
	if (the->role == AS_LEADING)
		return "UNDERSTUDY_MIRROR this hub leads";
	if (verb == KUBE_PUT && the->role != AS_REJOINING && !*label_of(before->value, COPY))
		return "UNDERSTUDY_MIRROR this object is somebody else's";
	return NULL;
}

/* --- Validation ----------------------------------------------------------------------------- */

/* The field that may not be what it is, NULL: valid. */
static const char *invalid_field(enum kind kind, const json_t *before, const json_t *body)
{
	if (json_is_true(kube_json_at(body, "spec", "bad", NULL)) && the->server[OWN].prunes)
		return "spec.bad";
	if (!before)
		return NULL;
	if (kind == KIND_ROLE_BINDING &&
	    !same(json_object_get(before, "roleRef"), json_object_get(body, "roleRef")))
		return "roleRef";
	if (kind == KIND_SECRET &&
	    strcmp(kube_json_text(before, "type"), kube_json_text(body, "type")) != 0)
		return "type";
	if (kind == KIND_SECRET && json_is_true(json_object_get(before, "immutable")) &&
	    !same(json_object_get(before, "data"), json_object_get(body, "data")))
		return "data";
	return NULL;
}

static void keep(const json_t *before, json_t *value, const char *key)
{
	json_t *old = json_object_get(json_object_get(before, "metadata"), key);
	json_t *metadata = json_object_get(value, "metadata");

	if (old)
		json_object_set(metadata, key, old);
	else
		json_object_del(metadata, key);
}

/* A new finalizer on an object that is going is refused; one less is fine. */
static bool adds_finalizers(const json_t *before, const json_t *value)
{
	const json_t *was = kube_json_at(before, "metadata", "finalizers", NULL);
	const json_t *now = kube_json_at(value, "metadata", "finalizers", NULL);

	for (size_t i = 0; i < json_array_size(now); i++) {
		bool known = false;

		for (size_t k = 0; k < json_array_size(was); k++)
			known = known || same(json_array_get(now, i), json_array_get(was, k));
		if (!known)
			return true;
	}
	return false;
}

/* What this server's schema does not know goes, with a warning (G20). */
static void prune(struct server *server, enum kind kind, json_t *value, struct reply *reply)
{
	json_t *spec = json_object_get(value, "spec");

	if (!server->prunes || kind_row(kind)->group[0] == '\0' || kind == KIND_ROLE ||
	    kind == KIND_ROLE_BINDING)
		return;
	if (json_object_del(spec, "extra") == 0)
		(void)snprintf(
		    reply->warning, sizeof(reply->warning), "unknown field \"spec.extra\"");
}

static void after_write(struct server *server, struct object *object, const json_t *sent)
{
	if (server->id != OWN)
		return;
	(void)sent;
	json_decref(object->mirrored);
	object->mirrored = normal_body(object->kind, object->value);
	json_decref(object->mirrored_status);
	object->mirrored_status = json_incref(json_object_get(object->value, "status"));
}

/* --- One object ----------------------------------------------------------------------------- */

static void create(
    struct server *server, const struct place *place, json_t *body, struct reply *reply)
{
	const struct object *home = server_find(server, KIND_NAMESPACE, "", place->space);
	const char *name = meta(body, "name"), *field;
	struct object *object;
	json_t *value;

	if (*place->space && !home) {
		server_refuse(reply, 404, "NotFound", "namespace not found", place->space, "");
		return;
	}
	if (home && *meta(home->value, "deletionTimestamp")) {
		server_refuse(reply, 403, "Forbidden", "the namespace is being terminated", name,
		    "metadata.namespace");
		return;
	}
	if (server_find(server, place->kind, place->space, name)) {
		server_refuse(reply, 409, "AlreadyExists", "already exists", name, "");
		return;
	}
	field = invalid_field(place->kind, NULL, body);
	if (field) {
		server_refuse(reply, 422, "Invalid", "is invalid", name, field);
		return;
	}
	invariants_on_write(KUBE_POST, place, NULL, body);
	value = json_deep_copy(body);
	json_object_del(json_object_get(value, "metadata"), "managedFields");
	if (*place->space)
		set_meta(value, "namespace", place->space);
	if (kind_row(place->kind)->status)
		json_object_del(value, "status");
	prune(server, place->kind, value, reply);
	object = server_put(server, place->kind, value);
	after_write(server, object, body);
	answer_with(reply, 201, object->value);
}

static void put_status(json_t *value, const json_t *status)
{
	if (status)
		json_object_set_new(value, "status", json_deep_copy(status));
	else
		json_object_del(value, "status");
}

static json_t *merged_for_put(const struct place *place, const struct object *object, json_t *body)
{
	json_t *value;

	if (place->status) {
		value = json_deep_copy(object->value);
		put_status(value, json_object_get(body, "status"));
		return value;
	}
	value = json_deep_copy(body);
	if (kind_row(place->kind)->status || place->kind == KIND_NAMESPACE)
		put_status(value, json_object_get(object->value, "status"));
	if (place->kind == KIND_NAMESPACE && json_object_get(object->value, "spec"))
		json_object_set(value, "spec", json_object_get(object->value, "spec"));
	keep(object->value, value, "uid");
	keep(object->value, value, "creationTimestamp");
	keep(object->value, value, "deletionTimestamp");
	keep(object->value, value, "resourceVersion");
	json_object_del(json_object_get(value, "metadata"), "managedFields");
	return value;
}

static void put(struct server *server, const struct place *place, struct object *object,
    json_t *body, struct reply *reply)
{
	const char *uid = meta(body, "uid"), *version = meta(body, "resourceVersion"), *field;
	json_t *value, *metadata;

	if ((*uid && strcmp(uid, meta(object->value, "uid")) != 0) ||
	    (*version && version_of(body) != version_of(object->value))) {
		server_refuse(
		    reply, 409, "Conflict", "the object has been modified", object->name, "");
		return;
	}
	field = place->status ? NULL : invalid_field(place->kind, object->value, body);
	if (field) {
		server_refuse(reply, 422, "Invalid", "is invalid", object->name, field);
		return;
	}
	value = merged_for_put(place, object, body);
	metadata = json_object_get(value, "metadata");
	if (json_array_size(json_object_get(metadata, "finalizers")) == 0)
		json_object_del(metadata, "finalizers");
	if (*meta(object->value, "deletionTimestamp") && adds_finalizers(object->value, value)) {
		json_decref(value);
		server_refuse(reply, 422, "Invalid", "no new finalizers can be added", object->name,
		    "metadata.finalizers");
		return;
	}
	invariants_on_write(KUBE_PUT, place, object, body);
	if (!place->status)
		prune(server, place->kind, value, reply);
	if (*meta(value, "deletionTimestamp") && !has_finalizers(value) &&
	    place->kind != KIND_NAMESPACE) {
		answer_with(reply, 200, value);
		server_replace(server, object, value);
		return;
	}
	server_replace(server, object, value);
	/* What goes with this write has left above. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	after_write(server, object, body);
	answer_with(reply, 200, object->value);
}

static void delete (struct server *server, const struct place *place, struct object *object,
    const json_t *body, struct reply *reply)
{
	const json_t *wanted = json_object_get(body, "preconditions");

	if (strcmp(kube_json_text(wanted, "uid"), meta(object->value, "uid")) != 0 ||
	    strtoull(kube_json_text(wanted, "resourceVersion"), NULL, 10) !=
		version_of(object->value)) {
		server_refuse(reply, 409, "Conflict", "precondition failed", object->name, "");
		return;
	}
	invariants_on_write(KUBE_DELETE, place, object, body);
	answer_with(reply, 200, object->value);
	the->deletes++;
	server_delete(server, object);
}

void server_serve(struct server *server, enum kube_verb verb, const struct place *place,
    json_t *body, struct reply *reply)
{
	const char *name = verb == KUBE_POST ? meta(body, "name") : place->name, *why;
	struct object *object = server_find(server, place->kind, place->space, name);

	if (place->kind == KIND_NAMESPACE && strcmp(name, "kube-system") == 0) {
		reply->status = 200;
		reply->body = json_pack("{s{ssssss}}", "metadata", "name", "kube-system", "uid",
		    server->uid, "resourceVersion", "1");
		return;
	}
	if (!server_knows(server, place->kind, place->version)) {
		server_refuse(reply, 404, "NotFound",
		    "the server could not find the requested resource", "", "");
		return;
	}
	if (!is_allowed(server, verb, place)) {
		server_refuse(reply, 403, "Forbidden", "no right in that namespace", name, "");
		return;
	}
	if (!object && verb != KUBE_POST) {
		server_refuse(reply, 404, "NotFound", "not found", name, "");
		return;
	}
	if (verb == KUBE_GET) {
		answer_with(reply, 200, object->value);
		return;
	}
	why = fence(server, verb, place, object, body);
	if (why) {
		server_refuse(reply, 403, "Forbidden", why, name, "");
		return;
	}
	if (verb == KUBE_POST)
		create(server, place, body, reply);
	else if (verb == KUBE_PUT)
		put(server, place, object, body, reply);
	else
		delete (server, place, object, body, reply);
}

/* --- Backups -------------------------------------------------------------------------------- */

void server_save(struct server *server)
{
	json_decref(server->saved);
	server->saved = json_array();
	server->saved_version = server->version;
	for (unsigned i = 0; i < server->count; i++) {
		struct object *object = server->objects[i];

		json_array_append_new(server->saved,
		    json_pack("[ioo?o?]", (int)object->kind, json_deep_copy(object->value),
			json_deep_copy(object->mirrored), json_deep_copy(object->mirrored_status)));
	}
}

static bool is_saved(const struct server *server, const struct object *object)
{
	size_t i;
	json_t *row;

	json_array_foreach(server->saved, i,
	    row) if (json_integer_value(json_array_get(row, 0)) == object->kind &&
		     strcmp(meta(json_array_get(row, 1), "name"), object->name) == 0 &&
		     strcmp(meta(json_array_get(row, 1), "namespace"), object->space) ==
			 0) return true;
	return false;
}

void server_restore(struct server *server, bool ahead)
{
	size_t i;
	json_t *row;

	if (!server->saved)
		return;
	server->epoch++;
	watch_close(); /* tokens of pages are of that time, too */
	server->version = ahead ? server->version + 1000000000 : server->saved_version;
	while (server->count) {
		struct object *object = server->objects[--server->count];

		if (server->id == SOURCE && !is_saved(server, object))
			truth_gone(object->kind, object->space, object->name, true);
		json_decref(object->value);
		json_decref(object->mirrored);
		json_decref(object->mirrored_status);
		free(object);
	}
	json_array_foreach(server->saved, i, row)
	{
		struct object *object = calloc(1, sizeof(*object));

		CHECK(object);
		object->kind = (enum kind)json_integer_value(json_array_get(row, 0));
		object->value = json_deep_copy(json_array_get(row, 1));
		(void)snprintf(
		    object->space, sizeof(object->space), "%s", meta(object->value, "namespace"));
		(void)snprintf(
		    object->name, sizeof(object->name), "%s", meta(object->value, "name"));
		if (!json_is_null(json_array_get(row, 2)))
			object->mirrored = json_deep_copy(json_array_get(row, 2));
		if (!json_is_null(json_array_get(row, 3)))
			object->mirrored_status = json_deep_copy(json_array_get(row, 3));
		object->changed = the->now;
		object->collect_at = the->now + MS(500);
		server->objects[server->count++] = object;
	}
	watch_forget(server);
	server->oldest = server->version;
}
