/*
 * See the header. Called by source.c with what feeds show, and by show.c.
 */
#include "syncer/outside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "kube/json.h"

#define MAX_DEPTH     16
#define MAX_OF_OBJECT 32

/* From a field of one object to another object, by name. */
struct reference {
	struct reference *next;
	enum kind kind; /* KIND_COUNT: not mirrored, kind_name says which */
	char *namespace, *name;
	char kind_name[40], field[80];
};

struct outside_object {
	enum kind kind;
	uint32_t pass;
	const char *why; /* excluded; NULL: it is not */
	struct reference *references;
	size_t namespace_n;
	char key[]; /* kind character, namespace, '/', name, as in the store */
};

static struct str key_of(const void *value)
{
	return str_of(((const struct outside_object *)value)->key);
}

static size_t key_make(
    char *key, size_t size, enum kind kind, const char *namespace, const char *name)
{
	int n = snprintf(key, size, "%c%s/%s", 'A' + (int)kind, namespace, name);

	return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

void outside_open(struct outside *outside)
{
	*outside = (struct outside){ .objects = map_make(key_of) };
}

static void drop_references(struct outside *outside, struct outside_object *object)
{
	struct reference *next;

	for (struct reference *at = object->references; at; at = next) {
		next = at->next;
		free(at->namespace);
		free(at->name);
		free(at);
		outside->references--;
	}
	object->references = NULL;
}

static void drop(struct outside *outside, struct outside_object *object)
{
	drop_references(outside, object);
	outside->excluded -= object->why != NULL;
	free(object);
}

void outside_close(struct outside *outside)
{
	void *object;

	for (size_t at = 0; (object = map_next(&outside->objects, &at));)
		drop(outside, object);
	map_free(&outside->objects);
}

static struct outside_object *find(
    const struct outside *outside, enum kind kind, const char *namespace, const char *name)
{
	char key[64 + 254 + 4];
	size_t n = key_make(key, sizeof(key), kind, namespace, name);

	return n ? map_get(&outside->objects, (struct str){ key, n }) : NULL;
}

static struct outside_object *add(
    struct outside *outside, enum kind kind, const char *namespace, const char *name)
{
	struct outside_object *object = find(outside, kind, namespace, name);
	size_t n = strlen(namespace) + strlen(name) + 3;

	if (object)
		return object;
	object = calloc(1, sizeof(*object) + n);
	if (!object || !key_make(object->key, n, kind, namespace, name)) {
		free(object);
		return NULL;
	}
	object->kind = kind;
	object->namespace_n = strlen(namespace);
	if (map_add(&outside->objects, object))
		return object;
	free(object);
	return NULL;
}

void outside_forget(
    struct outside *outside, enum kind kind, const char *namespace, const char *name)
{
	struct outside_object *object = find(outside, kind, namespace, name);

	if (!object)
		return;
	CHECK(map_remove(&outside->objects, key_of(object)) == object);
	drop(outside, object);
}

void outside_exclude(struct outside *outside, enum kind kind, const struct rewrite_facts *facts,
    uint32_t pass, const char *why)
{
	struct outside_object *object = find(outside, kind, facts->namespace, facts->name);

	if (!object && outside->excluded < OUTSIDE_MAX_EXCLUDED)
		object = add(outside, kind, facts->namespace, facts->name);
	if (!object)
		return;
	drop_references(outside, object);
	outside->excluded += object->why == NULL;
	object->why = why;
	object->pass = pass;
}

void outside_listed(
    struct outside *outside, enum kind kind, const struct space *space, uint32_t pass)
{
	struct outside_object *object;

	/* A map is not changed while it is walked: from the start after each. */
	for (size_t at = 0; (object = map_next(&outside->objects, &at));) {
		if (object->kind != kind || object->pass == pass ||
		    (space && (strlen(space->name) != object->namespace_n ||
				  strncmp(object->key + 1, space->name, object->namespace_n) != 0)))
			continue;
		CHECK(map_remove(&outside->objects, key_of(object)) == object);
		drop(outside, object);
		at = 0;
	}
}

/* --- References --------------------------------------------------------------------------------
 */

struct search {
	struct outside *outside;
	struct outside_object *object; /* NULL until the first one is found */
	enum kind kind;
	const struct rewrite_facts *facts;
	unsigned count;
	char field[80];
};

static void found(struct search *search, enum kind kind, const char *kind_name,
    const char *namespace, const char *name)
{
	struct reference *reference;

	if (!*name || strlen(name) > 253 || strlen(namespace) > 63 ||
	    search->count >= MAX_OF_OBJECT)
		return;
	if (search->outside->references >= OUTSIDE_MAX_REFERENCES) {
		search->outside->untold++;
		return;
	}
	if (!search->object)
		search->object = add(
		    search->outside, search->kind, search->facts->namespace, search->facts->name);
	reference = search->object ? calloc(1, sizeof(*reference)) : NULL;
	if (!reference)
		return;
	reference->kind = kind;
	reference->namespace = strdup(namespace);
	reference->name = strdup(name);
	CHECK(reference->namespace && reference->name);
	(void)snprintf(reference->kind_name, sizeof(reference->kind_name), "%.39s", kind_name);
	(void)snprintf(reference->field, sizeof(reference->field), "%s", search->field);
	reference->next = search->object->references;
	search->object->references = reference;
	search->outside->references++;
	search->count++;
}

/* A field of such a name holds a name, or an object with one, or a list of these. */
static const struct {
	const char *field, *kind;
} fields[] = {
	{ "secretName", "Secret" },
	{ "secretRef", "Secret" },
	{ "secretKeyRef", "Secret" },
	{ "imagePullSecrets", "Secret" },
	{ "configMapName", "ConfigMap" },
	{ "configMapRef", "ConfigMap" },
	{ "configMapKeyRef", "ConfigMap" },
	{ "serviceAccountName", "ServiceAccount" },
};

/* All of these are of the core group. */
static void take_names(struct search *search, const json_t *value, const char *name)
{
	enum kind kind = kind_by_name("v1", name);
	const char *namespace = search->facts->namespace;
	size_t i;
	json_t *entry;

	if (json_is_string(value)) {
		found(search, kind, name, namespace, json_string_value(value));
	} else if (json_is_object(value)) {
		const char *other = kube_json_text(value, "namespace");

		found(
		    search, kind, name, *other ? other : namespace, kube_json_text(value, "name"));
	} else {
		json_array_foreach((json_t *)value, i, entry) if (json_is_object(entry))
		    take_names(search, entry, name);
	}
}

static void look_into(struct search *search, const json_t *value, unsigned depth)
{
	size_t before = strlen(search->field), i, f;
	const char *key;
	json_t *member;

	if (depth == MAX_DEPTH)
		return;
	json_array_foreach((json_t *)value, i, member)
	{
		look_into(search, member, depth + 1);
	}
	json_object_foreach((json_t *)value, key, member)
	{
		(void)snprintf(search->field + before, sizeof(search->field) - before, "%s%s",
		    before ? "." : "", key);
		for (f = 0; f < sizeof(fields) / sizeof(fields[0]); f++)
			if (strcmp(fields[f].field, key) == 0)
				break;
		if (f < sizeof(fields) / sizeof(fields[0]))
			take_names(search, member, fields[f].kind);
		else
			look_into(search, member, depth + 1);
		search->field[before] = '\0';
	}
}

static void look_into_binding(struct search *search, const json_t *binding)
{
	const json_t *role = json_object_get(binding, "roleRef"), *subject;
	bool is_role = strcmp(kube_json_text(role, "kind"), "Role") == 0;
	size_t i;

	(void)snprintf(search->field, sizeof(search->field), "roleRef");
	found(search, is_role ? KIND_ROLE : KIND_COUNT, kube_json_text(role, "kind"),
	    is_role ? search->facts->namespace : "", kube_json_text(role, "name"));
	(void)snprintf(search->field, sizeof(search->field), "subjects");
	json_array_foreach(json_object_get(binding, "subjects"), i, subject)
	{
		if (strcmp(kube_json_text(subject, "kind"), "ServiceAccount") == 0)
			found(search, KIND_SERVICE_ACCOUNT, "ServiceAccount",
			    kube_json_text(subject, "namespace"), kube_json_text(subject, "name"));
	}
	search->field[0] = '\0';
}

/* Owners that are mirrored are mapped (H13); all others are stripped. */
static void look_at_owners(struct search *search, const json_t *metadata)
{
	const json_t *owner;
	size_t i;

	(void)snprintf(search->field, sizeof(search->field), "metadata.ownerReferences");
	json_array_foreach(json_object_get(metadata, "ownerReferences"), i, owner)
	{
		const char *kind = kube_json_text(owner, "kind");
		enum kind mirrored = kind_by_name(kube_json_text(owner, "apiVersion"), kind);

		found(search, mirrored, kind,
		    mirrored != KIND_COUNT && kind_row(mirrored)->place == KIND_NOWHERE
			? ""
			: search->facts->namespace,
		    kube_json_text(owner, "name"));
	}
	search->field[0] = '\0';
}

void outside_refer(struct outside *outside, enum kind kind, const json_t *object,
    const struct rewrite_facts *facts, uint32_t pass)
{
	struct search search = { .outside = outside, .kind = kind, .facts = facts };

	outside_forget(outside, kind, facts->namespace, facts->name);
	look_at_owners(&search, json_object_get(object, "metadata"));
	if (kind == KIND_ROLE_BINDING) {
		look_into_binding(&search, object);
	} else if (kind == KIND_SERVICE_ACCOUNT) {
		(void)snprintf(search.field, sizeof(search.field), "secrets");
		take_names(&search, json_object_get(object, "secrets"), "Secret");
		(void)snprintf(search.field, sizeof(search.field), "imagePullSecrets");
		take_names(&search, json_object_get(object, "imagePullSecrets"), "Secret");
	} else if (kind != KIND_SECRET && kind != KIND_ROLE && kind != KIND_NAMESPACE) {
		(void)snprintf(search.field, sizeof(search.field), "spec");
		look_into(&search, json_object_get(object, "spec"), 0);
		(void)snprintf(search.field, sizeof(search.field), "status");
		look_into(&search, json_object_get(object, "status"), 0);
	}
	if (search.object)
		search.object->pass = pass;
}

/* --- What is not met ---------------------------------------------------------------------------
 */

/* NULL: it is mirrored, or is here by itself. Blocked and held objects are listed as such. */
static const char *why_not_met(const struct engine *engine, const struct reference *to)
{
	const struct item *item, *home;

	if (to->kind == KIND_COUNT || !kind_row(to->kind)->on)
		return "its kind is not mirrored: it must be on this hub by other means";
	if (kind_excludes(to->kind, to->name))
		return NULL;
	item = store_find(&engine->store, to->kind, to->namespace, to->name);
	if (item && item->state == ITEM_EXCLUDED)
		return "a mark on it or mirror.skip keeps it out";
	if (item && item->source == SOURCE_PRESENT && item->state != ITEM_OUTSIDE)
		return NULL;
	home = store_find(&engine->store, KIND_NAMESPACE, "", to->namespace);
	if (kind_row(to->kind)->place == KIND_MIRRORED && (!home || home->source != SOURCE_PRESENT))
		return "its namespace is not mirrored";
	return "the source has none of that name that is mirrored";
}

static unsigned visit_references(const struct outside_object *object, const struct engine *engine,
    const char *from, outside_visit_fn *visit, void *arg, bool *more)
{
	unsigned count = 0;

	for (const struct reference *to = object->references; to; to = to->next) {
		const char *why = why_not_met(engine, to);
		char name[400], text[900];

		if (!why)
			continue;
		count++;
		(void)snprintf(name, sizeof(name), "%s %s%s%s", to->kind_name, to->namespace,
		    *to->namespace ? "/" : "", to->name);
		(void)snprintf(
		    text, sizeof(text), "%s; referenced by %s in %s", why, from, to->field);
		if (*more)
			*more = visit(arg, LISTED_REFERENCED, name, text);
	}
	return count;
}

unsigned outside_visit(
    const struct outside *outside, const struct engine *engine, outside_visit_fn *visit, void *arg)
{
	const struct outside_object *object;
	unsigned count = 0;
	bool more = true;

	for (size_t at = 0; (object = map_next(&outside->objects, &at));) {
		const char *name = object->key + 2 + object->namespace_n;
		const struct item *item;
		char from[400], namespace[64];

		(void)snprintf(namespace, sizeof(namespace), "%.*s", (int)object->namespace_n,
		    object->key + 1);
		(void)snprintf(from, sizeof(from), "%s %s%s%s", kind_row(object->kind)->kind,
		    namespace, *namespace ? "/" : "", name);
		if (object->why) {
			if (more)
				more = visit(arg, LISTED_EXCLUDED, from, object->why);
			continue;
		}
		item = store_find(&engine->store, object->kind, namespace, name);
		if (!item || item->source != SOURCE_PRESENT || item->state == ITEM_OUTSIDE ||
		    item->state == ITEM_EXCLUDED)
			continue;
		count += visit_references(object, engine, from, visit, arg, &more);
	}
	return count;
}
