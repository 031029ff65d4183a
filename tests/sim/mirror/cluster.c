/*
 * The controllers that every cluster has (see the header): the namespace controller, the garbage
 * collector, the token controller. Their writes need no rights.
 */
#include <string.h>

#include "kube/json.h"
#include "tests/sim/mirror/mirror.h"

static bool uid_lives(const struct server *server, const char *uid)
{
	for (unsigned i = 0; i < server->count; i++)
		if (strcmp(meta(server->objects[i]->value, "uid"), uid) == 0)
			return true;
	return false;
}

/* H13: none of its owners is there any more. */
static bool is_orphaned(const struct server *server, const struct object *object)
{
	const json_t *owners = kube_json_at(object->value, "metadata", "ownerReferences", NULL);

	for (size_t i = 0; i < json_array_size(owners); i++)
		if (uid_lives(server, kube_json_text(json_array_get(owners, i), "uid")))
			return false;
	return json_array_size(owners) > 0;
}

/* L84, L85, H6: a token without its account goes, one with it is filled. True: it is gone. */
static bool tend_token(struct server *server, struct object *object)
{
	const char *name = note_of(object->value, "kubernetes.io/service-account.name");
	struct object *account = server_find(server, KIND_SERVICE_ACCOUNT, object->space, name);
	const char *uid = note_of(object->value, "kubernetes.io/service-account.uid");
	json_t *value, *notes;

	if (!account || (*uid && strcmp(uid, meta(account->value, "uid")) != 0)) {
		server_drop(server, object);
		return true;
	}
	if (json_object_get(object->value, "data"))
		return false;
	value = json_deep_copy(object->value);
	notes = kube_json_at(value, "metadata", "annotations", NULL);
	json_object_set_new(
	    notes, "kubernetes.io/service-account.uid", json_string(meta(account->value, "uid")));
	json_object_set_new(
	    value, "data", json_pack("{ss}", "token", server->id == OWN ? "own" : "theirs"));
	server_replace(server, object, value);
	return false;
}

/* Everything in it goes, then it. True: it is gone. */
static bool tend_namespace(struct server *server, struct object *home)
{
	bool empty = true;

	for (unsigned i = 0; i < server->count; i++) {
		struct object *object = server->objects[i];

		if (object == home || strcmp(object->space, home->name) != 0)
			continue;
		empty = false;
		if (*meta(object->value, "deletionTimestamp"))
			continue;
		server_delete(server, object);
		i = (unsigned)-1; /* the list has moved */
	}
	if (empty)
		server_drop(server, home);
	return empty;
}

static bool tend(struct server *server, struct object *object)
{
	object->collect_at = 0;
	if (object->kind == KIND_NAMESPACE && *meta(object->value, "deletionTimestamp")) {
		if (tend_namespace(server, object))
			return true;
		object->collect_at = the->now + MS(500);
		return true; /* the list has moved */
	}
	if (is_orphaned(server, object)) {
		server_delete(server, object);
		return true;
	}
	return object->kind == KIND_SECRET && is_shell_secret(object->kind, object->value) &&
	       tend_token(server, object);
}

void cluster_run(struct server *server)
{
	for (unsigned i = 0; i < server->count; i++) {
		struct object *object = server->objects[i];

		if (!object->collect_at || object->collect_at > the->now)
			continue;
		if (tend(server, object))
			i = (unsigned)-1;
	}
}
