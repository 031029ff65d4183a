/*
 * Lists, watches and the history behind them (see the header): pages with tokens that keep their
 * version, WatchList, bookmarks, selectors whose objects come and go, 410 in its forms.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "kube/json.h"
#include "syncer/syncer.h"
#include "tests/sim/mirror/mirror.h"

#define BOOKMARK_NS S(50)

void watch_changed(struct server *server, enum kind kind, json_t *before, json_t *after)
{
	struct change *change;

	if (server->change_count == server->change_room) {
		server->change_room = server->change_room ? 2 * server->change_room : 256;
		server->changes =
		    realloc(server->changes, server->change_room * sizeof(server->changes[0]));
		CHECK(server->changes);
	}
	change = &server->changes[server->change_count++];
	*change =
	    (struct change){ server->version, kind, json_deep_copy(before), json_deep_copy(after) };
	if (server->id == SOURCE && after)
		truth_add(kind, after);
	wire_wake(server);
}

void watch_forget(struct server *server)
{
	for (size_t i = 0; i < server->change_count; i++) {
		json_decref(server->changes[i].before);
		json_decref(server->changes[i].after);
	}
	server->change_count = 0;
}

/* History up to now is gone for who asks for it later; running watches have heard it. */
void watch_compact(struct server *server)
{
	server->oldest = server->version;
}

/* --- Selection ------------------------------------------------------------------------------ */

static bool selects(const struct filter *filter, enum kind kind, const json_t *value)
{
	if (!value || kind != filter->kind)
		return false;
	if (*filter->space && strcmp(meta(value, "namespace"), filter->space) != 0)
		return false;
	return !*filter->label || strcmp(label_of(value, filter->label), filter->value) == 0;
}

/* The value of a parameter, unescaped as far as selectors need it. */
static bool parameter(const char *query, const char *key, char *out, size_t size)
{
	size_t n = strlen(key), used = 0;

	for (const char *at = query; at && *at; at = strchr(at, '&') ? strchr(at, '&') + 1 : NULL) {
		if (strncmp(at, key, n) != 0 || at[n] != '=')
			continue;
		for (at += n + 1; *at && *at != '&' && used + 1 < size; at++) {
			unsigned code;

			if (*at == '%' && sscanf(at + 1, "%2x", &code) == 1) {
				out[used++] = (char)code;
				at += 2;
			} else {
				out[used++] = *at;
			}
		}
		out[used] = '\0';
		return true;
	}
	return false;
}

static void read_filter(const struct request *request, struct filter *filter)
{
	struct place place;
	char text[160], *equals;

	CHECK(place_of(request->path, &place));
	*filter = (struct filter){ .kind = place.kind };
	filter->proves_nothing = parameter(request->query, "limit", text, sizeof(text)) &&
				 (atoi(text) == 1 || atoi(text) == TEXTS_PAGE);
	(void)snprintf(filter->space, sizeof(filter->space), "%s", place.space);
	if (!parameter(request->query, "labelSelector", text, sizeof(text)))
		return;
	/* An API server of somebody's own need not heed a selector. */
	if (place.kind >= KIND_LISTED && request->target == CREDENTIAL_PEER_SYNCER && the->seed % 2)
		return;
	equals = strchr(text, '=');
	CHECK(equals);
	*equals = '\0';
	CHECK(str_copy(filter->label, sizeof(filter->label), str_of(text)));
	CHECK(str_copy(filter->value, sizeof(filter->value), str_of(equals + 1)));
}

/* Not before that key. */
static bool is_at(const json_t *value, const json_t *key)
{
	int order = strcmp(meta(value, "namespace"), meta(key, "namespace"));

	return (order ? order : strcmp(meta(value, "name"), meta(key, "name"))) >= 0;
}

static int by_key(const void *a, const void *b)
{
	const struct object *left = *(struct object *const *)a, *right = *(struct object *const *)b;
	int order = strcmp(left->space, right->space);

	return order ? order : strcmp(left->name, right->name);
}

/* What the filter selects now, in the order of keys. */
static json_t *select_now(struct server *server, const struct filter *filter)
{
	struct object *found[MAX_OBJECTS] = { NULL };
	json_t *items = json_array();
	unsigned n = 0;

	for (unsigned i = 0; i < server->count; i++)
		if (selects(filter, server->objects[i]->kind, server->objects[i]->value))
			found[n++] = server->objects[i];
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are what is sorted */
	qsort(found, n, sizeof(*found), by_key);
	for (unsigned i = 0; i < n; i++)
		json_array_append_new(items, json_deep_copy(found[i]->value));
	return items;
}

/* --- Lists ---------------------------------------------------------------------------------- */

/* The rest of a list between its pages; the token is its place here. */
#define SNAPSHOTS 64
static struct snapshot {
	uint64_t version;
	json_t *items;
} snapshots[SNAPSHOTS];
static unsigned next_snapshot;

void watch_close(void)
{
	for (unsigned i = 0; i < SNAPSHOTS; i++) {
		json_decref(snapshots[i].items);
		snapshots[i].items = NULL;
	}
	next_snapshot = 0;
}

static const char *keep_snapshot(uint64_t version, json_t *items)
{
	static char token[24];

	(void)snprintf(token, sizeof(token), "%u", next_snapshot % SNAPSHOTS);
	json_decref(snapshots[next_snapshot % SNAPSHOTS].items);
	snapshots[next_snapshot++ % SNAPSHOTS] = (struct snapshot){ version, items };
	return token;
}

/* Says how the rest can be had as it is by now, at another version than what was read. */
static void expired(struct server *server, const struct filter *filter,
    const struct snapshot *snapshot, struct reply *reply)
{
	const json_t *next = json_array_get(snapshot->items, 0);
	json_t *items;

	server_refuse(reply, 410, "Expired", "the continue parameter is too old", "", "");
	if (!next)
		return;
	items = select_now(server, filter);
	while (json_array_size(items) && !is_at(json_array_get(items, 0), next))
		json_array_remove(items, 0);
	json_object_set_new(reply->body, "metadata",
	    json_pack("{ss}", "continue", keep_snapshot(server->version, items)));
}

static void list(struct server *server, struct request *request, const struct filter *filter,
    struct reply *reply)
{
	char text[32];
	size_t limit = 0, n;
	uint64_t version = server->version;
	json_t *items, *page = json_array(), *metadata = json_object();

	if (parameter(request->query, "continue", text, sizeof(text))) {
		struct snapshot *snapshot = &snapshots[atoi(text) % SNAPSHOTS];

		if (!snapshot->items || chaos_chance(KNOB_GONE, 300)) {
			json_decref(page);
			json_decref(metadata);
			expired(server, filter, snapshot, reply);
			return;
		}
		version = snapshot->version;
		items = snapshot->items;
		snapshot->items = NULL;
	} else {
		items = select_now(server, filter);
	}
	if (parameter(request->query, "limit", text, sizeof(text)))
		limit =
		    1 + chaos_random(atoi(text) < 20 ? atoi(text) : 20); /* less is right, too */
	n = json_array_size(items);
	for (size_t i = 0; i < n && (!limit || i < limit); i++)
		json_array_append(page, json_array_get(items, i));
	if (limit && n > limit) {
		for (size_t i = 0; i < limit; i++)
			json_array_remove(items, 0);
		json_object_set_new(
		    metadata, "continue", json_string(keep_snapshot(version, items)));
	} else {
		json_decref(items);
	}
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)version);
	json_object_set_new(metadata, "resourceVersion", json_string(text));
	reply->status = 200;
	reply->body =
	    json_pack("{sssoso}", "kind", "SomeList", "metadata", metadata, "items", page);
}

/* --- Watches -------------------------------------------------------------------------------- */

static bool send_event(struct request *request, const char *type, json_t *object)
{
	json_t *event = json_pack("{ssso}", "type", type, "object", object);
	bool more = wire_chunk(request, event);

	json_decref(event);
	return more;
}

static bool send_bookmark(struct request *request, uint64_t version, bool end)
{
	char text[24];
	json_t *object;

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)version);
	object = json_pack("{s{ss}}", "metadata", "resourceVersion", text);
	if (end)
		json_object_set_new(json_object_get(object, "metadata"), "annotations",
		    json_pack("{ss}", "k8s.io/initial-events-end", "true"));
	return send_event(request, "BOOKMARK", object);
}

static json_t *with_version(json_t *value, uint64_t version)
{
	json_t *copy = json_deep_copy(value);
	char text[24];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)version);
	json_object_set_new(
	    json_object_get(copy, "metadata"), "resourceVersion", json_string(text));
	return copy;
}

static bool send_change(struct request *request, const struct change *change)
{
	bool was = selects(&request->filter, change->kind, change->before);
	bool is = selects(&request->filter, change->kind, change->after);

	if (!was && !is)
		return true;
	if (!is) /* deleted, or not selected any more: the last that was */
		return send_event(
		    request, "DELETED", with_version(change->before, change->version));
	return send_event(request, was ? "MODIFIED" : "ADDED", json_deep_copy(change->after));
}

static bool send_initial(struct request *request)
{
	json_t *items = select_now(request->server, &request->filter), *item;
	uint64_t version = request->server->version;
	size_t i;
	bool more = true;

	json_array_foreach(items, i, item)
	{
		more = more && send_event(request, "ADDED", json_deep_copy(item));
		if (more && chaos_chance(KNOB_CUT, 10)) {
			wire_end(request, 0, NULL);
			more = false;
		}
	}
	json_decref(items);
	request->position = version;
	if (!more || !send_bookmark(request, version, true))
		return false;
	if (request->server->id == SOURCE)
		invariants_on_list(&request->filter, request->cluster, version);
	return true;
}

void watch_pump(struct request *request)
{
	struct server *server = request->server;
	size_t at = server->change_count;

	if (request->position == 0 && !send_initial(request))
		return;
	while (at > 0 && server->changes[at - 1].version > request->position)
		at--;
	for (; at < server->change_count; at++) {
		struct change *change = &server->changes[at];
		unsigned life = the->life;

		request->position = change->version;
		if (!send_change(request, change))
			return;
		if (the->life != life || !request->streaming)
			return;
		if (chaos_chance(KNOB_REPEAT, 100) && !send_change(request, change))
			return;
		if (chaos_chance(KNOB_CUT, 20)) {
			wire_end(request, 0, NULL);
			return;
		}
	}
	if (the->now - request->heard >= BOOKMARK_NS)
		(void)send_bookmark(request, server->version, false);
}

static void too_old(struct request *request, struct reply *reply)
{
	(void)request;
	server_refuse(reply, 410, "Expired", "too old resource version", "", "");
}

static void start_watch(struct server *server, struct request *request, struct reply *reply)
{
	char text[32];

	request->server = server;
	if (parameter(request->query, "sendInitialEvents", text, sizeof(text))) {
		if (!server->watch_lists) {
			server_refuse(reply, 422, "Invalid",
			    "sendInitialEvents is forbidden for watch", "", "sendInitialEvents");
			return;
		}
		request->position = 0;
	} else {
		CHECK(parameter(request->query, "resourceVersion", text, sizeof(text)));
		request->position = strtoull(text, NULL, 10);
		if (request->position < server->oldest || chaos_chance(KNOB_GONE, 50)) {
			too_old(request, reply);
			return;
		}
	}
	CHECK(parameter(request->query, "timeoutSeconds", text, sizeof(text)));
	request->ends = the->now + S(atoi(text));
	request->heard = the->now;
	reply->status = 200;
}

/* Who may not see Secrets and accounts there yet. */
static bool may_list(const struct server *server, const struct filter *filter)
{
	if (!kind_row(filter->kind)->on)
		broken("M8: nothing is asked of a kind that is left out", "%s",
		    kind_row(filter->kind)->kind);
	if (filter->kind != KIND_SECRET && filter->kind != KIND_SERVICE_ACCOUNT)
		return true;
	return *filter->space && server_find(server, KIND_ROLE_BINDING, filter->space,
				     server->id == OWN ? KIND_MIRROR_BINDING : KIND_READ_BINDING);
}

void watch_serve(struct server *server, struct request *request, struct reply *reply)
{
	struct filter filter;
	struct place place;

	read_filter(request, &filter);
	request->filter = filter;
	CHECK(place_of(request->path, &place));
	if (!server_knows(server, filter.kind, place.version))
		server_refuse(reply, 404, "NotFound",
		    "the server could not find the requested resource", "", "");
	else if (!may_list(server, &filter))
		server_refuse(reply, 403, "Forbidden", "no right in that namespace", "", "");
	else if (request->chunk)
		start_watch(server, request, reply);
	else
		list(server, request, &filter, reply);
}
