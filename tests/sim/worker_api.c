/*
 * The API servers (see the header): a few objects each, linearizable, with the rules of
 * policy/crds/worker.yaml and policy/admission/worker.yaml, who may do what, and tokens that hubs
 * change. It knows nothing of who is asking but who it is.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "kube/lease.h"
#include "tests/sim/worker_world.h"

#define MAX_TERM ((1LL << 53) - 1)

uint64_t api_term(const struct api *api)
{
	return (uint64_t)json_integer_value(
	    json_object_get(json_object_get(api->active, "spec"), "term"));
}

const char *api_identity(const struct api *api)
{
	const char *identity =
	    json_string_value(json_object_get(json_object_get(api->active, "spec"), "identity"));

	return identity ? identity : "";
}

static bool ends(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

static void stamp(struct api *api, json_t *object)
{
	char version[24];
	json_t *meta = json_object_get(object, "metadata");

	(void)snprintf(version, sizeof(version), "%llu", (unsigned long long)++api->version);
	if (!meta) {
		meta = json_object();
		json_object_set_new(object, "metadata", meta);
	}
	json_object_set_new(meta, "resourceVersion", json_string(version));
}

/* RFC 7386. */
static void merge(json_t *into, const json_t *patch)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)patch, key, value)
	{
		json_t *old = json_object_get(into, key);

		if (json_is_null(value)) {
			json_object_del(into, key);
		} else if (json_is_object(value)) {
			if (!json_is_object(old)) {
				old = json_object();
				json_object_set_new(into, key, old);
			}
			merge(old, value);
		} else {
			json_object_set_new(into, key, json_deep_copy(value));
		}
	}
}

/* --- A worker --------------------------------------------------------------------------------- */

/* I3: what the API server's rule promises, which is the exclusion that is bought. */
static void the_term_of_a_worker_never_falls(struct world *w, unsigned worker)
{
	struct api *api = &w->apis[HUBS + worker];

	if (api->unfenced)
		api->highest = api_term(api);
	else if (api_term(api) < api->highest)
		world_broken(w, "I3 the_term_of_a_worker_never_falls", "worker-%u: %llu to %llu",
		    worker, (unsigned long long)api->highest, (unsigned long long)api_term(api));
	else
		api->highest = api_term(api);
}

static enum kube_class claim(struct world *w, unsigned index, unsigned hub, bool dry,
    const json_t *object, json_t **body, char message[128])
{
	struct api *api = &w->apis[index];
	const json_t *spec = json_object_get(object, "spec");
	json_int_t term = json_integer_value(json_object_get(spec, "term"));
	const char *identity = json_string_value(json_object_get(spec, "identity"));
	json_t *next;

	if (!api->unfenced && strcmp(identity, hub_names[hub]) != 0) {
		(void)snprintf(
		    message, 128, "UNDERSTUDY_IDENTITY a hub claims in its own name only");
		return KUBE_FORBIDDEN;
	}
	if (term < 1 || term > MAX_TERM ||
	    (!api->unfenced && api->active &&
		((uint64_t)term < api_term(api) ||
		    ((uint64_t)term == api_term(api) &&
			strcmp(identity, api_identity(api)) != 0)))) {
		(void)snprintf(
		    message, 128, "UNDERSTUDY_TERM the term must rise, or stay with the same hub");
		return KUBE_INVALID;
	}
	next = api->active ? json_deep_copy(api->active)
			   : json_pack("{s:{s:s}}", "metadata", "name", "active");
	json_object_set_new(next, "spec", json_deep_copy(spec));
	*body = json_incref(next);
	if (dry) {
		json_decref(next);
		return KUBE_OK;
	}
	if (api->active && json_equal(json_object_get(api->active, "spec"), spec)) {
		json_decref(next);
		return KUBE_OK; /* no write where nothing differs */
	}
	stamp(api, next);
	json_decref(api->active);
	api->active = next;
	world_say(w, "worker-%u: ClusterController/active names %s with term %lld", index - HUBS,
	    identity, (long long)term);
	the_term_of_a_worker_never_falls(w, index - HUBS);
	client_changed(w, index, "clustercontrollers", "active", next);
	return KUBE_OK;
}

static enum kube_class active_status(struct world *w, unsigned index, const json_t *patch)
{
	struct api *api = &w->apis[index];

	if (!api->active)
		return KUBE_NOT_FOUND;
	merge(api->active, patch);
	stamp(api, api->active);
	client_changed(w, index, "clustercontrollers", "active", api->active);
	return KUBE_OK;
}

static int hub_by_name(const char *text)
{
	for (int h = 0; h < HUBS; h++)
		if (ends(text, hub_names[h]))
			return h;
	return -1;
}

static enum kube_class probe(struct world *w, unsigned index, enum kube_verb verb, const char *path,
    const json_t *given, json_t **body)
{
	struct api *api = &w->apis[index];
	bool status = ends(path, "/status");
	char name[300];
	int hub;

	(void)snprintf(name, sizeof(name), "%.*s",
	    (int)(strlen(path) - (status ? sizeof("/status") - 1 : 0)), path);
	hub = hub_by_name(name);
	if (api->no_crd)
		return KUBE_NO_RESOURCE;
	if (hub < 0)
		return KUBE_NOT_FOUND;
	if (verb != KUBE_GET) {
		if (!api->probes[hub] && status)
			return KUBE_NOT_FOUND;
		if (!api->probes[hub])
			api->probes[hub] =
			    json_pack("{s:{s:s}}", "metadata", "name", hub_names[hub]);
		merge(api->probes[hub], given);
		stamp(api, api->probes[hub]);
		client_changed(w, index, "hubprobes", hub_names[hub], api->probes[hub]);
	}
	*body = json_incref(api->probes[hub]);
	return api->probes[hub] ? KUBE_OK : KUBE_NOT_FOUND;
}

static enum kube_class secret(
    struct api *api, enum kube_verb verb, const char *path, const json_t *given, json_t **body)
{
	int hub = hub_by_name(path);

	if (hub < 0)
		return KUBE_NOT_FOUND;
	if (verb == KUBE_PUT) {
		json_decref(api->secrets[hub]);
		api->secrets[hub] = json_deep_copy(given);
		stamp(api, api->secrets[hub]);
	}
	*body = json_incref(api->secrets[hub]);
	return KUBE_OK;
}

static const char *endpoint_of(const json_t *secret)
{
	const char *endpoint =
	    json_string_value(json_object_get(json_object_get(secret, "data"), "endpoint"));

	return endpoint ? endpoint : "";
}

/* What is handed to such an operator is handed over as a whole, and pods are replaced for another
 * hub only. */
static enum kube_class operators(struct world *w, unsigned index, enum kube_verb verb,
    const char *path, const json_t *given, json_t **body)
{
	struct api *api = &w->apis[index];
	json_t **object = strstr(path, "/deployments/") ? &api->deployment : &api->operator;
	json_t *before = json_deep_copy(*object);

	if (verb == KUBE_PATCH_MERGE)
		merge(*object, given);
	if (object == &api->operator)
		api->readdressed += strcmp(endpoint_of(before), endpoint_of(*object)) != 0;
	else
		api->restarts += !json_equal(before, *object);
	json_decref(before);
	if (api->restarts > api->readdressed)
		world_broken(w, "pods_are_replaced_once_per_change", "worker-%u: %u of %u",
		    index - HUBS, api->restarts, api->readdressed);
	*body = json_incref(*object);
	return KUBE_OK;
}

static enum kube_class worker_do(struct world *w, unsigned index, const struct actor *by,
    enum kube_verb verb, const char *path, const char *query, const json_t *given, json_t **body,
    char message[128])
{
	struct api *api = &w->apis[index];

	if (by->index < HUBS && api->denies[by->index]) {
		(void)snprintf(message, 128, "forbidden: no right");
		return KUBE_FORBIDDEN;
	}
	if (ends(path, "/secrets/kubeslice-hub") || strstr(path, "/deployments/"))
		return operators(w, index, verb, path, given, body);
	if (strstr(path, "/secrets/"))
		return secret(api, verb, path, given, body);
	if (strstr(path, "/hubprobes/"))
		return probe(w, index, verb, path, given, body);
	if (api->no_crd)
		return KUBE_NO_RESOURCE;
	if (ends(path, "/status"))
		return active_status(w, index, given);
	if (verb == KUBE_PATCH_APPLY)
		return claim(
		    w, index, by->index, strstr(query, "dryRun=All") != NULL, given, body, message);
	*body = json_incref(api->active);
	return api->active ? KUBE_OK : KUBE_NOT_FOUND;
}

/* --- A hub ------------------------------------------------------------------------------------ */

static enum kube_class hub_do(struct world *w, unsigned index, const struct actor *by,
    enum kube_verb verb, const char *path, const json_t *given, json_t **body)
{
	struct api *api = &w->apis[index];
	unsigned worker = by->index - HUBS;
	char token[64];

	(void)snprintf(token, sizeof(token), "token-%u-%u-%u", index, worker, api->token[worker]);
	if (strcmp(by->client.tokens[by->client.asking], token) != 0)
		return KUBE_UNAUTHORIZED;
	if (strstr(path, "/selfsubjectreviews")) {
		*body = json_pack("{s:{s:{s:s}}}", "status", "userInfo", "username", "worker");
		return KUBE_OK;
	}
	if (ends(path, "/events")) {
		const char *reason = json_string_value(json_object_get(given, "reason"));

		/* W25: told once per move. */
		api->changed += reason && strcmp(reason, "ControllerEndpointChanged") == 0;
		if (api->changed > w->moves)
			world_broken(w, "W25 a_move_is_told_once", "%u of %llu on %s", api->changed,
			    (unsigned long long)w->moves, hub_names[index]);
		w->told++;
		return KUBE_OK;
	}
	if (strstr(path, "/leases/")) {
		*body = json_incref(api->lease);
		return KUBE_OK;
	}
	if (verb != KUBE_GET) {
		const char *version = json_string_value(
		    json_object_get(json_object_get(given, "metadata"), "resourceVersion"));
		const char *now = json_string_value(json_object_get(
		    json_object_get(api->clusters[worker], "metadata"), "resourceVersion"));

		if (version && now && strcmp(version, now) != 0)
			return KUBE_CONFLICT;
		merge(api->clusters[worker], given);
		stamp(api, api->clusters[worker]);
	}
	*body = json_incref(api->clusters[worker]);
	return KUBE_OK;
}

/* --- Both ------------------------------------------------------------------------------------- */

enum kube_class api_do(struct world *w, unsigned api, const struct actor *by, enum kube_verb verb,
    const char *path, const char *query, const char *body_text, json_t **body, char message[128])
{
	json_t *given = *body_text ? json_loads(body_text, 0, NULL) : NULL, *result = NULL;
	enum kube_class class;

	CHECK(!*body_text || given);
	class = api < HUBS ? hub_do(w, api, by, verb, path, given, &result)
			   : worker_do(w, api, by, verb, path, query, given, &result, message);
	/* A reply shows what was, whatever happens to the object afterwards. */
	*body = result ? json_deep_copy(result) : NULL;
	json_decref(result);
	json_decref(given);
	return class;
}

static void add(json_t *list, const char *name, const json_t *object)
{
	if (object)
		json_array_append_new(list, json_pack("[s,o]", name, json_deep_copy(object)));
}

json_t *api_list(struct world *w, unsigned index, const char *path)
{
	const struct api *api = &w->apis[index];
	json_t *list;

	if (index >= HUBS && api->no_crd)
		return NULL;
	list = json_array();
	if (strstr(path, "/leases")) {
		add(list, "lease", api->lease);
	} else if (strstr(path, "hubprobes")) {
		for (unsigned h = 0; h < HUBS; h++)
			add(list, hub_names[h], api->probes[h]);
	} else {
		add(list, "active", api->active);
	}
	return list;
}

void api_write_lease(struct world *w, unsigned hub, const char *phase)
{
	struct api *api = &w->apis[hub];
	const struct lead *lead = &w->leads[hub];
	char term[24], renewed[40];

	kube_time_put(renewed, 1767225600000000LL + w->now / 1000);
	(void)snprintf(term, sizeof(term), "%llu", (unsigned long long)lead->term);
	json_decref(api->lease);
	api->lease = json_pack("{s:{s:s, s:s, s:{s:s, s:s, s:s}}, s:{s:s, s:s, s:i}}", "metadata",
	    "name", KUBE_LEASE_NAME, "uid", hub_names[hub], "annotations", "ha.kubeslice.io/term",
	    term, "ha.kubeslice.io/led-term", term, "ha.kubeslice.io/phase", phase, "spec",
	    "holderIdentity", strcmp(phase, "leading") == 0 ? hub_names[hub] : "", "renewTime",
	    renewed, "leaseDurationSeconds", 3);
	CHECK(api->lease);
	stamp(api, api->lease);
	client_changed(w, hub, "leases", KUBE_LEASE_NAME, api->lease);
}

void api_publish(struct world *w, unsigned hub)
{
	char updated[40];

	kube_time_put(updated, 1767225600000000LL + w->now / 1000);
	for (unsigned i = 0; i < w->workers; i++) {
		json_t *patch = json_pack("{s:{s:{s:s, s:s, s:s}}}", "status", "activeController",
		    "endpoint", hub_endpoints[hub], "activeIdentity", hub_names[hub], "lastUpdated",
		    updated);

		merge(w->apis[hub].clusters[i], patch);
		stamp(&w->apis[hub], w->apis[hub].clusters[i]);
		json_decref(patch);
	}
}

void api_edit_active(struct world *w, unsigned worker, uint64_t term, const char *endpoint)
{
	struct api *api = &w->apis[HUBS + worker];
	json_t *patch;

	if (!api->active || api->no_crd)
		return;
	patch = json_pack("{s:{s:s, s:I}}", "spec", "endpoint", endpoint, "term", (json_int_t)term);
	merge(api->active, patch);
	json_decref(patch);
	stamp(api, api->active);
	api->highest = api_term(api);
	client_changed(w, HUBS + worker, "clustercontrollers", "active", api->active);
}

void api_delete_active(struct world *w, unsigned worker)
{
	struct api *api = &w->apis[HUBS + worker];

	if (!api->active)
		return;
	json_decref(api->active);
	api->active = NULL;
	if (api->highest > api->deleted)
		api->deleted = api->highest;
	api->highest = 0;
	client_changed(w, HUBS + worker, "clustercontrollers", "active", NULL);
}

void api_make(struct world *w)
{
	for (unsigned h = 0; h < HUBS; h++) {
		w->leads[h].term = 0;
		api_write_lease(w, h, "none");
		for (unsigned i = 0; i < w->workers; i++) {
			w->apis[h].token[i] = 1;
			w->apis[h].clusters[i] =
			    json_pack("{s:{s:s}, s:{}}", "metadata", "name", "worker", "status");
			stamp(&w->apis[h], w->apis[h].clusters[i]);
		}
	}
	for (unsigned i = 0; i < w->workers; i++) {
		w->apis[HUBS + i].operator= json_pack("{s:{s:s}}", "data", "endpoint", "");
		w->apis[HUBS + i].deployment = json_pack("{s:{}}", "spec", "template");
		for (unsigned h = 0; h < HUBS; h++) {
			w->apis[HUBS + i].secrets[h] =
			    json_pack("{s:{s:s}}", "metadata", "name", hub_names[h]);
			stamp(&w->apis[HUBS + i], w->apis[HUBS + i].secrets[h]);
		}
	}
}

void api_free(struct world *w)
{
	for (unsigned a = 0; a < APIS; a++) {
		struct api *api = &w->apis[a];

		json_decref(api->active);
		json_decref(api->lease);
		json_decref(api->operator);
		json_decref(api->deployment);
		for (unsigned h = 0; h < HUBS; h++) {
			json_decref(api->probes[h]);
			json_decref(api->secrets[h]);
		}
		for (unsigned i = 0; i < MAX_WORKERS; i++)
			json_decref(api->clusters[i]);
	}
}
