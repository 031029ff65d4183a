/*
 * What people and controllers do on both hubs while the mirror works (see the header): objects of
 * all kinds come, change and go; on the own hub somebody meddles. All by chance, in small numbers,
 * so that names meet again and again.
 */
#include <string.h>

#include "base/check.h"
#include "kube/json.h"
#include "tests/sim/mirror/mirror.h"

static const char *const spaces[] = { "p-red", "p-blue" };
static const char *const names[] = { "a", "b", "c", "d", "e" };

static const char *one_of(const char *const *list, unsigned count)
{
	return list[chaos_random(count)];
}

static bool often(unsigned percent)
{
	return chaos_random(100) < percent;
}

static json_t *new_label(enum kind kind)
{
	const struct kind_label *label = &kind_row(kind)->labels[0];

	return json_pack("{ss}", label->key, label->value);
}

static json_t *new_meta(enum kind kind, const char *space, const char *name)
{
	json_t *metadata = json_pack("{ss}", "name", name);

	if (kind_row(kind)->place != KIND_NOWHERE)
		json_object_set_new(metadata, "namespace", json_string(space));
	if (kind_row(kind)->labelled)
		json_object_set_new(metadata, "labels", new_label(kind));
	return metadata;
}

static void own_it(struct server *server, enum kind kind, const char *space, json_t *value)
{
	const char *name = meta(value, "name");
	const struct object *owner = server_find(server, KIND_SLICE_CONFIG, space, name);

	if (owner && (kind == KIND_VPN_KEY_ROTATION || kind == KIND_WORKER_SLICE_CONFIG))
		json_object_set_new(json_object_get(value, "metadata"), "ownerReferences",
		    json_pack("[{sssssssssb}]", "apiVersion", "controller.kubeslice.io/v1alpha1",
			"kind", "SliceConfig", "name", name, "uid", meta(owner->value, "uid"),
			"controller", 1));
	owner = kind == KIND_LISTED ? server_find(server, KIND_LISTED + 1, space, name) : NULL;
	if (owner)
		json_object_set_new(json_object_get(value, "metadata"), "ownerReferences",
		    json_pack("[{ssssssss}]", "apiVersion", "shop.example.com/v1", "kind", "Widget",
			"name", name, "uid", meta(owner->value, "uid")));
}

static void set_spec(const struct server *server, json_t *value)
{
	json_t *spec = json_pack(
	    "{siss}", "n", (int)chaos_random(1000), "text", often(50) ? "x" : "a \"quoted\" one");

	if (server->id == SOURCE && the->server[OWN].prunes && often(30))
		json_object_set_new(spec, "extra", json_integer((json_int_t)chaos_random(5)));
	if (server->id == SOURCE && the->server[OWN].prunes && often(5))
		json_object_set_new(spec, "bad", json_true());
	json_object_set_new(value, "spec", spec);
}

static void fill_secret(json_t *value)
{
	json_t *metadata = json_object_get(value, "metadata");

	if (often(30)) {
		json_object_set_new(value, "type", json_string(KIND_TOKEN_TYPE));
		json_object_set_new(metadata, "annotations",
		    json_pack("{ss}", "kubernetes.io/service-account.name",
			one_of(names, sizeof(names) / sizeof(names[0]))));
		return;
	}
	json_object_set_new(value, "type", json_string(often(80) ? "Opaque" : "kubernetes.io/tls"));
	json_object_set_new(value, "data", json_pack("{ss}", "k", often(50) ? "djE=" : "djI="));
	if (often(20))
		json_object_set_new(value, "immutable", json_true());
}

static void fill_role(json_t *value)
{
	const char *verb = often(10) ? "*" : "get"; /* the former is more than a mirror may give */

	json_object_set_new(value, "rules",
	    json_pack("[{s[s]s[s]s[s]}]", "apiGroups", "", "resources",
		often(50) ? "secrets" : "pods", "verbs", verb));
}

static void fill_account(json_t *value)
{
	if (often(40))
		json_object_set_new(value, "imagePullSecrets",
		    json_pack("[{ss}]", "name", often(50) ? "pull-a" : "pull-b"));
}

/* The content of an object that is made or remade. */
static void fill(const struct server *server, enum kind kind, json_t *value)
{
	switch (kind) {
	case KIND_NAMESPACE: break;
	case KIND_SERVICE_ACCOUNT: fill_account(value); break;
	case KIND_ROLE: fill_role(value); break;
	case KIND_ROLE_BINDING:
		json_object_set_new(value, "roleRef",
		    json_pack("{ssssss}", "apiGroup", "rbac.authorization.k8s.io", "kind", "Role",
			"name", one_of(names, 2)));
		json_object_set_new(value, "subjects",
		    json_pack("[{ssss}]", "kind", "User", "name", one_of(names, 4)));
		break;
	case KIND_SECRET: fill_secret(value); break;
	default: set_spec(server, value);
	}
}

static struct object *make(
    struct server *server, enum kind kind, const char *space, const char *name)
{
	const struct object *home = server_find(server, KIND_NAMESPACE, "", space);
	json_t *value;

	if (kind == KIND_PROJECT)
		space = HUB_NS;
	if (kind_row(kind)->place == KIND_MIRRORED &&
	    (!home || *meta(home->value, "deletionTimestamp")))
		return NULL;
	if (server_find(server, kind, kind == KIND_NAMESPACE ? "" : space, name))
		return NULL;
	value = json_object();
	json_object_set_new(value, "metadata", new_meta(kind, space, name));
	fill(server, kind, value);
	own_it(server, kind, space, value);
	if (chaos_chance(KNOB_FINALIZE, 150) && kind != KIND_NAMESPACE)
		json_object_set_new(json_object_get(value, "metadata"), "finalizers",
		    json_pack("[s]", "example.com/clean"));
	return server_put(server, kind, value);
}

static void set_note(json_t *value, const char *key, const char *text)
{
	json_t *metadata = json_object_get(value, "metadata");
	json_t *notes = json_object_get(metadata, "annotations");

	if (!notes)
		json_object_set_new(metadata, "annotations", notes = json_object());
	if (text)
		json_object_set_new(notes, key, json_string(text));
	else
		json_object_del(notes, key);
}

static void toggle_mark(json_t *value)
{
	const char *key = often(50) ? MARK "mirror" : MARK "hold";

	set_note(value, key, *note_of(value, key) ? NULL : "false");
}

static void toggle_label(enum kind kind, json_t *value)
{
	const char *key = kind_row(kind)->labels[0].key;
	json_t *metadata = json_object_get(value, "metadata");
	json_t *labels = json_object_get(metadata, "labels");

	if (json_object_get(labels, key))
		json_object_del(labels, key);
	else
		json_object_set_new(metadata, "labels", new_label(kind));
}

static void change(struct server *server, struct object *object)
{
	json_t *value = json_deep_copy(object->value);
	enum kind kind = object->kind;
	bool immutable = json_is_true(json_object_get(value, "immutable"));

	if (server->id == SOURCE && chaos_chance(KNOB_MARKS, 150)) {
		if (kind_row(kind)->labelled && often(50))
			toggle_label(kind, value);
		else if (kind != KIND_NAMESPACE)
			toggle_mark(value);
	} else if (kind_row(kind)->status && often(50)) {
		if (often(15))
			json_object_del(value, "status");
		else
			json_object_set_new(
			    value, "status", json_pack("{si}", "s", (int)chaos_random(50)));
	} else if (often(20) || kind == KIND_NAMESPACE) {
		set_note(value, "example.com/note", often(30) ? NULL : one_of(names, 3));
	} else if (kind == KIND_SECRET && !immutable && !is_shell_secret(kind, value)) {
		json_object_set_new(value, "data", json_pack("{ss}", "k", one_of(names, 4)));
	} else if (kind == KIND_ROLE) {
		fill_role(value);
	} else if (kind == KIND_SERVICE_ACCOUNT) {
		fill_account(value);
	} else if (kind_row(kind)->status || kind == KIND_LISTED) {
		set_spec(server, value);
	}
	server_replace(server, object, value);
}

static void end_finalizers(struct server *server, struct object *object)
{
	json_t *value = json_deep_copy(object->value);

	json_object_del(json_object_get(value, "metadata"), "finalizers");
	server_replace(server, object, value);
}

static struct object *any(const struct server *server)
{
	struct object *object;

	if (!server->count)
		return NULL;
	object = server->objects[chaos_random(server->count)];
	/* What is not KubeSlice's is not what this is about. */
	if (strcmp(object->name, KIND_READ_BINDING) == 0 ||
	    strcmp(object->name, KIND_MIRROR_BINDING) == 0 ||
	    (object->kind == KIND_SECRET && strcmp(object->space, HUB_NS) == 0) ||
	    strcmp(object->name, HUB_NS) == 0)
		return NULL;
	return object;
}

/* A Secret or binding with another type, reference or data, at once (situation 5). */
static void remake(struct server *server, struct object *object)
{
	enum kind kind = object->kind;
	char space[64], name[64];

	(void)snprintf(space, sizeof(space), "%s", object->space);
	(void)snprintf(name, sizeof(name), "%s", object->name);
	server_delete(server, object);
	(void)make(server, kind, space, name);
}

static void work(struct server *server)
{
	struct object *object = any(server);
	uint64_t what = chaos_random(100);

	if (what < 40 || !object) {
		enum kind kind = (enum kind)(1 + chaos_random(kind_end() - 1));

		(void)make(server, kind, one_of(spaces, 2), one_of(names, 5));
	} else if (*meta(object->value, "deletionTimestamp")) {
		if (often(50))
			end_finalizers(server, object);
	} else if (what < 80 || object->kind == KIND_NAMESPACE) {
		change(server, object);
	} else if (what < 86) {
		remake(server, object);
	} else {
		server_delete(server, object);
	}
}

static void burst(struct server *server)
{
	enum kind kind = (enum kind)(KIND_PROJECT + chaos_random(kind_end() - KIND_PROJECT));
	char name[16];

	for (unsigned i = 0; i < 25; i++) {
		(void)snprintf(name, sizeof(name), "m%u", i);
		(void)make(server, kind, spaces[i % 2], name);
	}
}

static void burst_ends(struct server *server)
{
	for (unsigned i = server->count; i-- > 0;)
		if (i < server->count && server->objects[i]->name[0] == 'm' &&
		    server->objects[i]->name[1] >= '0' && server->objects[i]->name[1] <= '9')
			server_delete(server, server->objects[i]);
}

static void change_spaces(struct server *server)
{
	const char *space = one_of(spaces, 2);
	struct object *home = server_find(server, KIND_NAMESPACE, "", space);

	if (home)
		server_delete(server, home);
	else if (server->id == SOURCE)
		(void)make(server, KIND_NAMESPACE, "", space);
}

/* By break-glass, or by a controller that the fence lets through. */
static void meddle(struct server *own)
{
	struct object *object = any(own);
	json_t *value;

	if (!object || *meta(object->value, "deletionTimestamp"))
		return;
	switch (chaos_random(4)) {
	case 0: change(own, object); return;
	case 1:
		if (object->kind != KIND_NAMESPACE || often(20))
			server_delete(own, object);
		return;
	case 2:
		value = json_deep_copy(object->value);
		json_object_del(kube_json_at(value, "metadata", "labels", NULL), COPY);
		server_replace(own, object, value);
		return;
	default:
		value = json_deep_copy(object->value);
		set_note(value, MARK "content-hash", "0123");
		server_replace(own, object, value);
	}
}

static void in_the_way(struct server *own)
{
	enum kind kind = (enum kind)(1 + chaos_random(kind_end() - 1));

	(void)make(own, kind, one_of(spaces, 2), one_of(names, 5));
}

/* Each mirrored namespace of the source is opened to the peer's syncer by its publisher. */
static void publish(struct server *source)
{
	for (unsigned i = 0; i < source->count; i++) {
		struct object *home = source->objects[i];

		if (home->kind != KIND_NAMESPACE || !namespace_is_mirrored(source, home->name) ||
		    *meta(home->value, "deletionTimestamp") ||
		    server_find(source, KIND_ROLE_BINDING, home->name, KIND_READ_BINDING))
			continue;
		(void)server_put(source, KIND_ROLE_BINDING,
		    json_pack("{s{ssss}s{ss}}", "metadata", "name", KIND_READ_BINDING, "namespace",
			home->name, "roleRef", "name", "understudy-mirror-secrets-read"));
	}
}

/* What is somebody else's and is going, its own controller lets go; so does what is of a kind that
 * the mirror leaves out. The mirror's rights on Secrets and accounts go with the binding of a
 * Namespace that is going: an administrator takes over. */
static void finish_foreign(struct server *own)
{
	for (unsigned i = own->count; i-- > 0;) {
		struct object *object = i < own->count ? own->objects[i] : NULL;
		bool copy = object && *label_of(object->value, COPY);

		if (!object || !*meta(object->value, "deletionTimestamp"))
			continue;
		if ((!copy && !the->rejoin) || !kind_row(object->kind)->on ||
		    (kind_row(object->kind)->each &&
			!server_find(own, KIND_ROLE_BINDING, object->space, KIND_MIRROR_BINDING)))
			end_finalizers(own, object);
	}
}

void people_act(void)
{
	struct server *source = &the->server[SOURCE], *own = &the->server[OWN];

	publish(source);
	if (the->phase != PHASE_CHAOS) {
		finish_foreign(own);
		return;
	}
	if (the->role == AS_LEADING) {
		work(own);
	} else {
		if (chaos_chance(KNOB_EDITS, 120))
			meddle(own);
		if (chaos_chance(KNOB_FOREIGN, 60))
			in_the_way(own);
		if (chaos_chance(KNOB_SPACES, 10))
			change_spaces(own);
	}
	if (!source->down || often(10))
		work(source);
	if (chaos_chance(KNOB_SPACES, 25))
		change_spaces(source);
	if (chaos_chance(KNOB_BURST, 20))
		burst(source);
	if (chaos_chance(KNOB_BURST, 20))
		burst_ends(source);
}

void people_begin(void)
{
	for (unsigned i = 0; i < SERVERS; i++) {
		struct server *server = &the->server[i];

		(void)server_put(
		    server, KIND_NAMESPACE, json_pack("{s{ss}}", "metadata", "name", HUB_NS));
	}
	for (unsigned i = 0; i < 2; i++)
		(void)make(&the->server[SOURCE], KIND_NAMESPACE, "", spaces[i]);
	for (unsigned i = 0; i < 30; i++)
		work(&the->server[SOURCE]);
	publish(&the->server[SOURCE]);
	if (!the->ever_led)
		return;
	/* An own past. */
	for (unsigned i = 0; i < 2; i++)
		(void)make(&the->server[OWN], KIND_NAMESPACE, "", spaces[i]);
	for (unsigned i = 0; i < 30; i++)
		work(&the->server[OWN]);
}

void people_calm(void)
{
	struct server *source = &the->server[SOURCE];

	for (unsigned i = source->count; i-- > 0;)
		if (i < source->count && *meta(source->objects[i]->value, "deletionTimestamp") &&
		    often(70))
			end_finalizers(source, source->objects[i]);
	for (unsigned i = source->count; i-- > 0;) {
		const struct object *home;

		if (i >= source->count)
			continue;
		home = server_find(source, KIND_NAMESPACE, "", source->objects[i]->space);
		if (home && *meta(home->value, "deletionTimestamp"))
			end_finalizers(source, source->objects[i]);
	}
}
