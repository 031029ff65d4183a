/*
 * Liveness: is the own hub what docs/mirror.md says it should be, object by object, from what the
 * source is now (L65-L96, H7, H11, H13, situation 4)? It is written from the page, not from the
 * engine.
 */
#include <stdlib.h>
#include <string.h>

#include "kube/json.h"
#include "tests/sim/mirror/mirror.h"

static char found[700];

/* For a trace: is it soon to be called broken? */
static bool is_late(void)
{
	return the->trace && the->now - the->phase_began > S(890);
}

static void show(const char *where, const struct object *object)
{
	char *text = json_dumps(object->value, 0);

	chaos_say(
	    "%s %s (%s)", where, text, process_explain(object->kind, object->space, object->name));
	free(text);
}

/* What may keep a Namespace from going. */
static void show_inside(const char *space)
{
	for (unsigned i = 0; i < the->server[OWN].count; i++)
		if (strcmp(the->server[OWN].objects[i]->space, space) == 0)
			show("inside", the->server[OWN].objects[i]);
}

static const char *say(const struct object *object, const char *what)
{
	if (object->kind == KIND_NAMESPACE && is_late())
		show_inside(object->name);
	(void)snprintf(found, sizeof(found), "%s %s%s%s %s (%s)", kind_row(object->kind)->kind,
	    object->space, *object->space ? "/" : "", object->name, what,
	    process_explain(object->kind, object->space, object->name));
	return found;
}

static bool is_going(const struct object *object)
{
	return *meta(object->value, "deletionTimestamp") != '\0';
}

static bool is_chosen(const struct object *object)
{
	return is_labelled(object->kind, object->value);
}

/* Its Namespace is mirrored: chosen at the source, a copy here. */
static bool is_at_home(enum kind kind, const char *space)
{
	const struct object *there, *here;

	if (kind_row(kind)->place == KIND_NOWHERE)
		return true;
	if (kind_row(kind)->place == KIND_CONTROLLER)
		return strcmp(space, HUB_NS) == 0;
	there = server_find(&the->server[SOURCE], KIND_NAMESPACE, "", space);
	here = server_find(&the->server[OWN], KIND_NAMESPACE, "", space);
	return there && is_chosen(there) && !is_going(there) && here &&
	       *label_of(here->value, COPY);
}

/* What the rules keep out; the copy, if there is one, is not looked at. */
static bool is_kept_out(const struct object *object)
{
	const json_t *value = object->value;

	if (!kind_row(object->kind)->on || is_skipped(object->kind, object->space, object->name) ||
	    kind_excludes(object->kind, object->name) ||
	    (object->kind == KIND_NAMESPACE && strcmp(object->name, HUB_NS) == 0))
		return true;
	return strcmp(note_of(value, MARK "mirror"), "false") == 0 ||
	       *note_of(value, MARK "hold") != '\0';
}

/* Listed as blocked: this hub cannot or must not have it. */
static bool is_blocked(const struct object *object, const struct object *copy)
{
	const json_t *rule = json_array_get(json_object_get(object->value, "rules"), 0);
	const char *verb = json_string_value(json_array_get(json_object_get(rule, "verbs"), 0));

	if (object->kind == KIND_ROLE && verb && strcmp(verb, "*") == 0)
		return true;
	if (the->server[OWN].prunes &&
	    json_is_true(kube_json_at(object->value, "spec", "bad", NULL)))
		return true;
	/* In a rejoin it becomes a copy, if it could be one (C12). */
	if (copy && !*label_of(copy->value, COPY) &&
	    !(the->rejoin && is_chosen(copy) &&
		is_shell_secret(object->kind, object->value) ==
		    is_shell_secret(copy->kind, copy->value)))
		return true;
	if (object->kind == KIND_SECRET && is_shell_secret(object->kind, object->value)) {
		const char *account = note_of(object->value, "kubernetes.io/service-account.name");
		const struct object *there =
		    server_find(&the->server[SOURCE], KIND_SERVICE_ACCOUNT, object->space, account);
		const struct object *here =
		    server_find(&the->server[OWN], KIND_SERVICE_ACCOUNT, object->space, account);

		/* Its account is not here, for whatever reason, and so it cannot stay. */
		if (!there || !here || !is_chosen(there) || is_kept_out(there) ||
		    !*label_of(here->value, COPY))
			return true;
	}
	/* A token is never replaced by another type. */
	return copy && object->kind == KIND_SECRET && is_shell_secret(copy->kind, copy->value) &&
	       !is_shell_secret(object->kind, object->value);
}

static bool lists_hold(const json_t *there, const json_t *here, const char *name)
{
	const json_t *wanted = json_object_get(there, name), *list = json_object_get(here, name);

	for (size_t i = 0; i < json_array_size(wanted); i++) {
		bool has = false;

		for (size_t k = 0; k < json_array_size(list); k++)
			has = has || same(json_array_get(wanted, i), json_array_get(list, k));
		if (!has)
			return false;
	}
	return true;
}

/* H13: the first owner that is mirrored, with the uid that it has here. */
static bool owner_is_right(const struct object *object, const struct object *copy)
{
	const json_t *owner =
	    json_array_get(kube_json_at(object->value, "metadata", "ownerReferences", NULL), 0);
	const json_t *mine =
	    json_array_get(kube_json_at(copy->value, "metadata", "ownerReferences", NULL), 0);
	enum kind kind =
	    owner ? kind_by_name(kube_json_text(owner, "apiVersion"), kube_json_text(owner, "kind"))
		  : KIND_COUNT;
	const struct object *here = kind == KIND_COUNT
					? NULL
					: server_find(&the->server[OWN], kind, object->space,
					      kube_json_text(owner, "name"));

	if (!here || !*label_of(here->value, COPY))
		return mine == NULL;
	return mine && strcmp(kube_json_text(mine, "uid"), meta(here->value, "uid")) == 0;
}

static const char *compare(const struct object *object, const struct object *copy)
{
	json_t *there = normal_body(object->kind, object->value);
	json_t *here = normal_body(copy->kind, copy->value);
	const json_t *waits = kube_json_at(object->value, "metadata", "finalizers", NULL);
	bool equal;

	if (the->server[OWN].prunes && kind_row(object->kind)->status)
		json_object_del(json_object_get(there, "spec"), "extra");
	/* A token's shell is made once and left alone (L85). */
	equal = same(there, here) || (is_shell_secret(object->kind, object->value) &&
					 is_shell_secret(copy->kind, copy->value));
	if (!equal && is_late()) {
		show("there", object);
		show("here", copy);
	}
	json_decref(there);
	json_decref(here);
	if (!equal)
		return "differs";
	if (is_going(object) && is_shell_secret(object->kind, object->value))
		return NULL;
	if (is_going(object))
		return is_going(copy) && same(waits, kube_json_at(copy->value, "metadata",
							 "finalizers", NULL))
			   ? NULL
			   : "does not wait as its source does";
	if (is_going(copy) || kube_json_at(copy->value, "metadata", "finalizers", NULL))
		return "is going";
	if (kind_row(object->kind)->status &&
	    !same(json_object_get(object->value, "status"), json_object_get(copy->value, "status")))
		return "has another status";
	if (kind_row(object->kind)->map_owners && !owner_is_right(object, copy))
		return "has another owner";
	if (!lists_hold(object->value, copy->value, "imagePullSecrets"))
		return "lacks an entry in its lists";
	return NULL;
}

/* From the source's side. blocked: counts what must be listed as such. */
static const char *check_source(unsigned *blocked)
{
	for (unsigned i = 0; i < the->server[SOURCE].count; i++) {
		const struct object *object = the->server[SOURCE].objects[i];
		const struct object *copy =
		    server_find(&the->server[OWN], object->kind, object->space, object->name);
		const char *what;

		if (!is_chosen(object) || is_kept_out(object))
			continue;
		if (object->kind == KIND_NAMESPACE && is_going(object))
			return say(object, "is going at the source");
		if (!is_at_home(object->kind, object->space))
			continue;
		if (object->kind == KIND_SECRET && !is_shell_secret(object->kind, object->value) &&
		    strcmp(kube_json_text(object->value, "type"), ARCHIVED) == 0)
			continue;
		if (is_blocked(object, copy)) {
			++*blocked;
			continue;
		}
		if (!copy && is_going(object) &&
		    kube_json_at(object->value, "metadata", "finalizers", NULL))
			return say(object, "is going there and missing here");
		if (!copy)
			return say(object, "is missing");
		what = compare(object, copy);
		if (what)
			return say(object, what);
	}
	return NULL;
}

/* A Namespace that holds somebody else's object stays until a person takes care (C12). */
static bool holds_foreign(const char *space)
{
	for (unsigned i = 0; i < the->server[OWN].count; i++) {
		const struct object *object = the->server[OWN].objects[i];

		if (strcmp(object->space, space) == 0 && kind_row(object->kind)->on &&
		    !*label_of(object->value, COPY))
			return true;
	}
	return false;
}

static const char *check_own(void)
{
	for (unsigned i = 0; i < the->server[OWN].count; i++) {
		const struct object *copy = the->server[OWN].objects[i];
		const struct object *home =
		    server_find(&the->server[OWN], KIND_NAMESPACE, "", copy->space);

		if (!*label_of(copy->value, COPY) || kind_excludes(copy->kind, copy->name))
			continue;
		if (server_find(&the->server[SOURCE], copy->kind, copy->space, copy->name))
			continue;
		if (*copy->space && kind_row(copy->kind)->place == KIND_MIRRORED &&
		    (!home || !*label_of(home->value, COPY)))
			continue; /* its Namespace is somebody else's here */
		/* Kept, because its source left the scope before it went (C14). */
		if (truth_has_left(copy->kind, copy->space, copy->name))
			continue;
		if (copy->kind == KIND_NAMESPACE && holds_foreign(copy->name))
			continue;
		if (*copy->space &&
		    !server_find(&the->server[SOURCE], KIND_NAMESPACE, "", copy->space) &&
		    holds_foreign(copy->space))
			continue;
		return say(copy, "is too much");
	}
	return NULL;
}

const char *equal_check(void)
{
	unsigned blocked = 0;
	const char *what = check_source(&blocked);

	if (!what)
		what = check_own();
	for (unsigned i = 0; i < the->server[OWN].count; i++) {
		const struct object *copy = the->server[OWN].objects[i];

		/* Listed as blocked, too. */
		blocked += copy->kind == KIND_NAMESPACE && *label_of(copy->value, COPY) &&
			   !server_find(&the->server[SOURCE], copy->kind, "", copy->name) &&
			   holds_foreign(copy->name);
	}
	for (unsigned kind = 0; !what && kind < kind_end(); kind++) {
		const char *meant = kind_other_version((enum kind)kind);

		if (meant && server_knows(&the->server[SOURCE], (enum kind)kind, meant) &&
		    server_knows(&the->server[OWN], (enum kind)kind, meant))
			what = "a kind is under another version than is meant (M7)";
	}
	if (!what && !blocked && !the->complete)
		what = process_not_complete();
	return what;
}
