/*
 * Requests and watches on their way (see the header): the interface of kube/client.h and
 * kube/watch.h over links that are refused, black or mute. A request that was cancelled still
 * arrives; a reply that is late is never heard. What must hold of each request that leaves is
 * asked here, because it is what a hub is answerable for (H16, B26).
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "kube/json.h"
#include "kube/watch.h"
#include "tests/sim/no_renewal.h"
#include "tests/sim/worker_world.h"

struct request {
	struct request *next;
	uint64_t id;
	struct actor *actor;
	uint32_t life;
	unsigned api, references, identity;
	enum kube_verb verb;
	char *path, *query, *body;
	kube_done_fn *done;
	void *arg;
	int64_t sent;
	bool over; /* answered, or nobody waits any more */
	enum kube_class class;
	json_t *result;
	char message[128];
};

struct kube_watch {
	struct kube_watch *next;
	struct actor *actor;
	unsigned api;
	uint32_t epoch; /* events of an older one are of a list that was given up */
	bool runs, dead;
	char *path;
	const struct kube_watch_ops *ops;
	void *arg;
	int64_t last; /* events come in order */
};

/* For the audit only: nothing hangs on it. */
void kube_rights_watch(struct kube_client *client, unsigned target)
{
	(void)client;
	(void)target;
}

const char *kube_class_name(enum kube_class class)
{
	static const char *const names[] = { "ok", "not-found", "no-resource", "unauthorized",
		"forbidden", "conflict", "exists", "gone", "too-large", "invalid", "throttled",
		"refused", "server-error", "silent", "blind" };

	return names[class];
}

static int64_t latency(struct world *w)
{
	return w->calm ? MS(5) : MS(1) + (int64_t)world_random(w, MS(60));
}

static unsigned identity_of(unsigned target)
{
	return (target & ~KUBE_TRIAL) + (target & KUBE_TRIAL ? CREDENTIAL_LIMIT : 0);
}

/* The API server behind a credential of this actor. */
static unsigned api_of(const struct actor *actor, unsigned target)
{
	target &= ~KUBE_TRIAL;
	if (target >= CREDENTIAL_WORKER)
		return HUBS + target - CREDENTIAL_WORKER;
	if (target == CREDENTIAL_FOLLOWER)
		return actor->index;
	return target - CREDENTIAL_HUB_A;
}

static enum link_state link_of(const struct actor *actor, unsigned api)
{
	if (actor->w->apis[api].down)
		return LINK_REFUSED;
	return actor->w->links[actor->index][api];
}

/* --- What must hold of what leaves ------------------------------------------------------------ */

static bool is_claim(const struct request *r)
{
	return r->verb == KUBE_PATCH_APPLY && strstr(r->path, "/clustercontrollers/active") &&
	       !strstr(r->query, "dryRun");
}

/* H16: needs nothing. */
static void a_claim_leaves_under_a_valid_permit(struct world *w, const struct request *r)
{
	const struct lead *lead = &w->leads[r->actor->index];
	json_t *object = json_loads(r->body, 0, NULL), *spec = json_object_get(object, "spec");
	uint64_t term = (uint64_t)json_integer_value(json_object_get(spec, "term"));
	const char *identity = json_string_value(json_object_get(spec, "identity"));

	if (!lead->leads || lead->term != term || w->now >= lead->valid_until)
		world_broken(w, "H16 a_claim_leaves_under_a_valid_permit",
		    "%s sends term %llu; leads %d, term %llu, %lld ms left",
		    hub_names[r->actor->index], (unsigned long long)term, lead->leads,
		    (unsigned long long)lead->term,
		    (long long)((lead->valid_until - w->now) / MS(1)));
	else if (!identity || strcmp(identity, hub_names[r->actor->index]) != 0)
		world_broken(w, "C11 a_hub_claims_in_its_own_name", "%s sends %s",
		    hub_names[r->actor->index], identity ? identity : "nothing");
	json_decref(object);
}

/* B26: a worker that does not answer is asked less and less often. */
static void a_dead_worker_is_left_in_peace(struct world *w, const struct request *r)
{
	unsigned hub = r->actor->index, worker = r->api - HUBS;
	int64_t *sent = w->sent[hub][worker];

	memmove(sent + 1, sent, 7 * sizeof(*sent));
	sent[0] = w->now;
	if (w->now - w->calm_since[hub][worker] > S(90) && sent[3] > w->now - S(60) &&
	    link_of(r->actor, r->api) != LINK_OK)
		world_broken(w, "B26 a_dead_worker_is_left_in_peace",
		    "%s sends the 4th claim within %lld ms to worker-%u, which is cut off",
		    hub_names[hub], (long long)((w->now - sent[3]) / MS(1)), worker);
}

/* Level-based: what stands there is left alone. Who failed before it healed has tried by then. */
static void a_worker_that_has_it_is_not_told_again(struct world *w, const struct request *r)
{
	if (w->healed && w->now > w->healed + S(100) && !(w->edited && r->api == HUBS))
		world_broken(w, "H16 a_worker_that_has_it_is_not_told_again",
		    "%s sends a claim to worker-%u, %lld s after everything healed",
		    hub_names[r->actor->index], r->api - HUBS,
		    (long long)((w->now - w->healed) / S(1)));
}

unsigned client_under_way(const struct actor *actor)
{
	unsigned count = 0;

	for (const struct request *r = actor->w->requests; r; r = r->next)
		count += r->actor == actor && !r->over;
	return count;
}

static void few_requests_are_under_way(struct world *w, const struct actor *actor)
{
	unsigned most = actor->index < HUBS ? 12 * w->workers : 16;

	if (client_under_way(actor) > most)
		world_broken(w, "B26 few_requests_are_under_way", "actor %u has %u", actor->index,
		    client_under_way(actor));
}

/* --- Requests --------------------------------------------------------------------------------- */

static void release(struct world *w, struct request *r)
{
	struct request **at = &w->requests;

	if (--r->references > 0)
		return;
	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	json_decref(r->result);
	free(r->path);
	free(r->query);
	free(r->body);
	free(r);
}

static void answer(struct world *w, struct request *r, enum kube_class class)
{
	struct kube_answer a = { .class = class,
		.sent = true,
		.sent_ns = r->sent,
		.finished_ns = w->now,
		.date_us = 1767225600000000LL + w->now / 1000 };
	char *text = NULL;

	if (r->over)
		return;
	r->over = true;
	if (!r->actor->alive || r->actor->life != r->life)
		return;
	a.why = class == KUBE_SILENT ? PEER_WHY_TIMEOUT : PEER_WHY_NONE;
	(void)snprintf(a.message, sizeof(a.message), "%s",
	    class == KUBE_SILENT ? "no answer in time" : r->message);
	if (class == KUBE_OK && r->result)
		text = json_dumps(r->result, JSON_COMPACT);
	else if (class != KUBE_SILENT && class != KUBE_BLIND) /* whoever says no says so in JSON */
		text = strdup("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\"}");
	if (text)
		a.body = str_of(text);
	w->lost += class == KUBE_SILENT;
	w->current = r->actor;
	r->done(r->arg, &a);
	free(text);
}

static void on_reply(struct world *w, void *arg, uint64_t number)
{
	struct request *r = arg;

	(void)number;
	if (link_of(r->actor, r->api) == LINK_OK)
		answer(w, r, r->class);
	release(w, r);
}

static void on_arrival(struct world *w, void *arg, uint64_t number)
{
	struct request *r = arg;

	(void)number;
	if (!w->apis[r->api].down) {
		r->actor->client.asking = r->identity;
		r->class = api_do(w, r->api, r->actor, r->verb, r->path, r->query, r->body,
		    &r->result, r->message);
		r->references++;
		world_post(w, w->now + latency(w), on_reply, r, 0);
	}
	release(w, r);
}

static void on_deadline(struct world *w, void *arg, uint64_t number)
{
	(void)number;
	answer(w, arg, KUBE_SILENT);
	release(w, arg);
}

static void on_blind(struct world *w, void *arg, uint64_t number)
{
	(void)number;
	answer(w, arg, KUBE_BLIND);
	release(w, arg);
}

uint64_t kube_client_ask(
    struct kube_client *client, const struct kube_ask *ask, kube_done_fn *done, void *arg)
{
	struct actor *actor = client->actor;
	struct world *w = actor->w;
	struct request *r = calloc(1, sizeof(*r));
	enum link_state link;

	CHECK(r);
	*r = (struct request){ .next = w->requests,
		.id = ++w->last_id,
		.actor = actor,
		.life = actor->life,
		.api = api_of(actor, ask->target),
		.identity = identity_of(ask->target),
		.references = 1,
		.verb = ask->verb,
		.path = strdup(ask->path),
		.query = strdup(ask->query ? ask->query : ""),
		.body = ask->body.n ? strndup(ask->body.p, ask->body.n) : strdup(""),
		.done = done,
		.arg = arg,
		.sent = w->now };
	w->requests = r;
	if (!client->has[r->identity]) {
		world_post(w, w->now, on_blind, r, 0);
		return r->id;
	}
	if (is_claim(r)) {
		w->pushes++;
		a_claim_leaves_under_a_valid_permit(w, r);
		a_dead_worker_is_left_in_peace(w, r);
		a_worker_that_has_it_is_not_told_again(w, r);
	}
	w->rehearsals += strstr(r->query, "dryRun") != NULL;
	few_requests_are_under_way(w, actor);
	link = link_of(actor, r->api);
	if (link == LINK_REFUSED) {
		world_post(w, w->now + latency(w), on_deadline, r, 0);
		return r->id;
	}
	world_post(w, w->now + ask->deadline_ms * MS(1), on_deadline, r, 0);
	if (link != LINK_BLACK) {
		r->references++;
		world_post(w, w->now + latency(w), on_arrival, r, 0);
	}
	return r->id;
}

void kube_client_cancel(struct kube_client *client, uint64_t id)
{
	for (struct request *r = client->actor->w->requests; r; r = r->next)
		if (id && r->id == id && r->actor == client->actor)
			r->over = true;
}

/* --- Identities ------------------------------------------------------------------------------- */

bool kube_client_has(const struct kube_client *client, unsigned target)
{
	return client->has[identity_of(target)];
}

void kube_client_forget(struct kube_client *client, unsigned target)
{
	client->has[identity_of(target)] = false;
}

int kube_client_credential(
    struct kube_client *client, const struct msg_credential *credential, struct err *err)
{
	unsigned target = identity_of((unsigned)credential->target);

	if (credential->ca.n == 0)
		return err_set(err, "ca: expected certificates in PEM form");
	client->has[target] = true;
	client->generation[target] = credential->generation;
	(void)str_copy(client->tokens[target], sizeof(client->tokens[target]), credential->token);
	return 0;
}

bool kube_client_identity(
    const struct kube_client *client, unsigned target, struct kube_identity *identity)
{
	target = identity_of(target);
	*identity = (struct kube_identity){ .generation = client->generation[target] };
	return client->has[target];
}

void kube_client_redial(struct kube_client *client, unsigned target)
{
	(void)client;
	(void)target;
}

/* --- Watches ---------------------------------------------------------------------------------- */

static void list_later(struct kube_watch *watch, int64_t delay);

static void fail(struct kube_watch *watch, enum kube_class class)
{
	struct world *w = watch->actor->w;
	struct kube_answer a = { .class = class };

	watch->runs = false;
	(void)snprintf(a.message, sizeof(a.message), "%s", kube_class_name(class));
	list_later(watch, S(1) + (int64_t)world_random(w, S(2)));
	w->current = watch->actor;
	watch->ops->on_error(watch->arg, &a);
}

/* A connection that is dead shows after a while, as kube/watch.c finds out by its own polls. */
static void on_look(struct world *w, void *arg, uint64_t epoch)
{
	struct kube_watch *watch = arg;

	if (watch->dead || watch->epoch != epoch || !watch->runs)
		return;
	if (link_of(watch->actor, watch->api) != LINK_OK)
		fail(watch, KUBE_SILENT);
	else
		world_post(w, w->now + S(4), on_look, watch, epoch);
}

static void on_list(struct world *w, void *arg, uint64_t epoch)
{
	struct kube_watch *watch = arg;
	const json_t *entry;
	json_t *list;
	size_t i;

	if (watch->dead || watch->epoch != epoch)
		return;
	if (link_of(watch->actor, watch->api) != LINK_OK) {
		fail(watch, KUBE_SILENT);
		return;
	}
	list = api_list(w, watch->api, watch->path);
	if (!list) {
		fail(watch, KUBE_NOT_FOUND);
		return;
	}
	watch->runs = true;
	watch->last = w->now;
	w->current = watch->actor;
	watch->ops->on_begin(watch->arg);
	json_array_foreach(list, i, entry)
	{
		if (!watch->dead && watch->epoch == epoch)
			watch->ops->on_object(
			    watch->arg, KUBE_WATCH_LISTED, json_array_get(entry, 1));
	}
	if (!watch->dead && watch->epoch == epoch) {
		world_post(w, w->now + S(4), on_look, watch, epoch);
		watch->ops->on_synced(watch->arg, "1");
	}
	json_decref(list);
}

static void list_later(struct kube_watch *watch, int64_t delay)
{
	struct world *w = watch->actor->w;

	world_post(w, w->now + delay, on_list, watch, ++watch->epoch);
}

struct change {
	struct kube_watch *watch;
	json_t *object;
	bool gone;
};

static void on_change(struct world *w, void *arg, uint64_t epoch)
{
	struct change *change = arg;
	struct kube_watch *watch = change->watch;

	w->current = watch->actor;
	if (!watch->dead && watch->epoch == epoch && watch->runs) {
		if (link_of(watch->actor, watch->api) != LINK_OK)
			fail(watch, KUBE_SILENT);
		else
			watch->ops->on_object(watch->arg,
			    change->gone ? KUBE_WATCH_DELETED : KUBE_WATCH_MODIFIED,
			    change->object);
	}
	json_decref(change->object);
	free(change);
}

void client_changed(
    struct world *w, unsigned api, const char *collection, const char *name, const json_t *object)
{
	for (unsigned a = 0; a < ACTORS; a++)
		for (struct kube_watch *watch = w->actors[a].watches; watch; watch = watch->next) {
			struct change *change;

			if (watch->dead || !watch->runs || watch->api != api ||
			    !strstr(watch->path, collection))
				continue;
			change = calloc(1, sizeof(*change));
			CHECK(change);
			change->watch = watch;
			change->gone = object == NULL;
			change->object = object ? json_deep_copy(object)
						: json_pack("{s:{s:s}}", "metadata", "name", name);
			watch->last += MS(1);
			if (watch->last < w->now + latency(w))
				watch->last = w->now + latency(w);
			world_post(w, watch->last, on_change, change, watch->epoch);
		}
}

struct kube_watch *kube_watch_start(struct kube_client *client, struct loop *loop,
    const struct kube_watch_options *options, const struct kube_watch_ops *ops, void *arg)
{
	struct actor *actor = client->actor;
	struct kube_watch *watch = calloc(1, sizeof(*watch));

	(void)loop;
	CHECK(watch);
	*watch = (struct kube_watch){ .next = actor->watches,
		.actor = actor,
		.api = api_of(actor, options->target),
		.path = strdup(options->path),
		.ops = ops,
		.arg = arg };
	actor->watches = watch;
	list_later(watch, latency(actor->w));
	return watch;
}

void kube_watch_restart(struct kube_watch *watch)
{
	watch->runs = false;
	list_later(watch, latency(watch->actor->w));
}

/* It stays in the list until the world ends: events may still name it. */
void kube_watch_stop(struct kube_watch *watch)
{
	watch->dead = true;
	watch->runs = false;
}

void client_die(struct actor *actor)
{
	for (struct request *r = actor->w->requests; r; r = r->next)
		r->over = r->over || r->actor == actor;
	for (struct kube_watch *watch = actor->watches; watch; watch = watch->next)
		kube_watch_stop(watch);
	actor->timer_count = 0;
	memset(&actor->client.has, 0, sizeof(actor->client.has));
}

void client_free_requests(struct world *w)
{
	/* Changes hold an object each. */
	for (struct event *event = w->events; event; event = event->next)
		if (event->act == on_change) {
			json_decref(((struct change *)event->arg)->object);
			free(event->arg);
		}
	while (w->requests) {
		w->requests->references = 1;
		release(w, w->requests);
	}
	for (unsigned a = 0; a < ACTORS; a++)
		while (w->actors[a].watches) {
			struct kube_watch *watch = w->actors[a].watches;

			w->actors[a].watches = watch->next;
			free(watch->path);
			free(watch);
		}
}
