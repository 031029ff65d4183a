/*
 * Requests on their way, and what the model of an API server does with them: one store, each write
 * at one moment, resourceVersions compared. A request may arrive late, its answer may be lost, and
 * who waits knows neither (H1). It must not decide anything for the machine. Called by world.c and
 * roles.c.
 */
#include <string.h>

#include "base/check.h"
#include "tests/sim/world.h"

#define EPOCH_US 1800000000000000LL

int64_t world_latency(struct world *w, unsigned host, unsigned api)
{
	int64_t slow = w->links[host][api].slow;
	uint64_t draw;

	if (w->setup.calm)
		return MS(2) + slow;
	draw = world_random(w, 0);
	/* Mostly a LAN; now and then something that waits in a queue. */
	return (int64_t)(MS(1) + (draw % MS(4)) + (draw >> 32 & 31 ? 0 : draw % MS(200)) + slow);
}

struct request *api_request(struct world *w, struct node *n, enum ask ask, unsigned api)
{
	struct request *r;

	CHECK(w->free_request_count > 0);
	r = &w->requests[w->free_requests[--w->free_request_count]];
	memset(r, 0, sizeof(*r));
	r->ask = ask;
	r->node = (uint8_t)world_index(w, n);
	r->api = (uint8_t)api;
	r->life = ask == ASK_LOOK ? n->observer.life : ask == ASK_MIRROR ? n->syncer.life : n->life;
	r->started_ns = world_boot_ns(w, n);
	return r;
}

static void post(struct world *w, struct request *r, enum event_kind kind, int64_t at)
{
	r->refs++;
	world_post(w, kind, r->node, r->life, at)->request = (uint16_t)(r - w->requests);
}

static void drop(struct world *w, struct request *r)
{
	if (--r->refs == 0)
		w->free_requests[w->free_request_count++] = (uint16_t)(r - w->requests);
}

static void fail_at(struct world *w, struct request *r, int64_t at)
{
	r->ok = false;
	post(w, r, EVENT_COMPLETE, at);
}

void api_send(struct world *w, struct request *r, int64_t limit)
{
	const struct node *n = &w->nodes[r->node];
	const struct link *link = &w->links[r->node][r->api];
	int64_t take = world_latency(w, r->node, r->api);

	r->deadline = world_at(n, r->started_ns + limit);
	r->sent = true;
	if (link->cut || (r->ask == ASK_LOOK && !r->fresh && n->observer.dead_connection)) {
		r->sent = !w->setup.calm && world_random(w, 2);
		fail_at(w, r, r->deadline);
	} else if (w->apis[r->api].down) {
		r->sent = false;
		fail_at(w, r, w->now + take);
	} else {
		post(w, r, EVENT_ARRIVE, w->now + take);
		r->late = w->now + take >= r->deadline;
		if (r->late)
			fail_at(w, r, r->deadline);
	}
}

/* --- Leases, roles, records ------------------------------------------------------------------- */

void api_changed(struct world *w, unsigned hub)
{
	for (unsigned i = 0; i < NODES; i++) {
		struct node *n = &w->nodes[i];
		bool own = n->slot == hub;
		int64_t *last = own ? &n->last_own_watch : &n->observer.last_watch, at;

		if (!n->exists || !(own ? n->alive : n->observer.alive))
			continue;
		if (w->links[i][hub].cut || w->links[i][hub].mute || w->links[i][hub].blind) {
			*(own ? &n->own_watch_broken : &n->observer.watch_broken) = true;
			continue;
		}
		at = w->now + world_latency(w, i, hub);
		if (!w->setup.calm && world_random(w, 12) == 0) /* watches lag */
			at += (int64_t)world_random(w, (uint64_t)n->options.retry_ns);
		if (at < *last)
			at = *last;
		*last = at;
		world_post(w, own ? EVENT_OWN_WATCH : EVENT_PEER_WATCH, i,
		    own ? n->life : n->observer.life, at)
		    ->lease = w->apis[hub].store.lease;
	}
}

/* HubRole's watch; one that broke is made up for by the level (C2). */
void api_role_changed(struct world *w, unsigned hub)
{
	const struct store *store = &w->apis[hub].store;
	struct machine_event seen = { .input = MACHINE_ROLE_WATCHED };

	seen.hub_role.role = store->role_exists ? store->role : HUB_UNKNOWN;
	seen.hub_role.term = store->role_exists ? store->role_term : 0;
	for (unsigned i = 0; i < NODES; i++) {
		const struct link *link = &w->links[i][hub];
		const struct node *n = &w->nodes[i];

		if (n->exists && n->alive && n->slot == hub && !link->cut && !link->mute &&
		    !link->blind)
			world_tell(w, &w->nodes[i], &seen, world_latency(w, i, hub));
	}
}

struct machine_lease api_lease_of(const struct lease *lease, unsigned slot)
{
	if (!lease->exists)
		return (struct machine_lease){ 0 };
	return (struct machine_lease){ .exists = true,
		.holder = lease->holder == slot     ? HOLDER_SELF
			  : lease->holder == NOBODY ? HOLDER_NONE
						    : HOLDER_OTHER,
		.phase = lease->phase,
		.term = lease->term,
		.led_term = lease->led_term,
		.instance = lease->instance,
		.renew_us = lease->renew_us,
		.handover = lease->handover,
		.ack_id = lease->ack_id,
		.ack = lease->ack,
		.paused_us = lease->paused_us,
		.block = lease->block };
}

static void to_machine(const struct world *w, const struct request *r, struct machine_lease *out)
{
	*out = api_lease_of(&w->apis[r->api].store.lease, w->nodes[r->node].slot);
}

static void write_lease(struct world *w, struct request *r)
{
	struct node *n = &w->nodes[r->node];
	struct store *store = &w->apis[r->api].store;
	struct lease was = store->lease, *lease = &store->lease;
	const struct machine_todo *todo = &r->todo;

	if (was.exists != r->base_exists || (was.exists && was.version != r->base_version)) {
		r->answer = CONFLICT;
		return;
	}
	lease->exists = true;
	lease->version = ++store->version;
	lease->holder = todo->lease.claim ? (uint8_t)n->slot : NOBODY;
	lease->phase = todo->lease.phase;
	lease->term = todo->lease.term;
	lease->led_term = todo->lease.led_term;
	lease->renew_us = todo->lease.renew_us;
	if (todo->lease.acquire)
		lease->acquire_us = todo->lease.renew_us;
	lease->instance = r->instance;
	lease->duration_ms = n->options.duration_ns / MS(1);
	lease->renew_deadline_ms = n->options.renew_deadline_ns / MS(1);
	lease->handover = todo->lease.handover;
	lease->ack_id = todo->lease.ack_id;
	lease->ack = todo->lease.ack;
	lease->paused_us = todo->lease.paused_us;
	lease->block = todo->lease.block;
	lease->standby = todo->lease.standby;
	lease->written = w->now;
	if (n->life == r->life && todo->lease.claim) {
		n->applied.term = todo->lease.term;
		if (n->applied.sent_ns < r->started_ns)
			n->applied.sent_ns = r->started_ns;
		n->applied.leading = todo->lease.phase == PHASE_LEADING;
	}
	invariants_on_lease(w, r->api, &was, n);
	if (w->armed && (was.phase != lease->phase || was.term != lease->term))
		world_trigger(w, r->node, WHEN_APPLIED, lease->phase);
	api_changed(w, r->api);
}

static void load(struct world *w, struct request *r)
{
	const struct store *store = &w->apis[r->api].store;

	to_machine(w, r, &r->result.loaded.lease);
	r->result.loaded.role = store->role_exists ? store->role : HUB_UNKNOWN;
	r->result.loaded.role_term = store->role_exists ? store->role_term : 0;
	r->record = store->record;
}

static void write_record(struct world *w, struct request *r)
{
	struct store *store = &w->apis[r->api].store;

	if (store->record_version != r->base_version) {
		r->answer = CONFLICT;
		return;
	}
	store->record = r->record;
	store->record_version = ++store->version;
}

static void push_term(struct world *w, struct request *r)
{
	struct api *api = &w->apis[r->api];
	uint8_t slot = (uint8_t)w->nodes[r->node].slot;

	if (api->no_crd || r->led_term < api->term ||
	    (r->led_term == api->term && api->slot != slot)) {
		r->answer = REFUSED; /* C11 */
		return;
	}
	if (r->led_term == api->term)
		return;
	invariants_on_push(w, r->api - HUBS, api->term, r->led_term);
	api->term = r->led_term;
	api->slot = slot;
	for (unsigned i = 0; i < NODES; i++) {
		struct machine_event seen = { .input = MACHINE_WORKER_SEEN };

		if (!w->nodes[i].exists || !w->nodes[i].alive || w->links[i][r->api].cut)
			continue;
		seen.worker.worker = r->api - HUBS;
		seen.worker.slot = slot;
		seen.worker.term = api->term;
		world_tell(w, &w->nodes[i], &seen, world_latency(w, i, r->api));
	}
}

/* C3: the follower looks for itself, at once. */
static void witness(struct world *w, struct request *r)
{
	const struct api *worker = &w->apis[r->api];
	unsigned target = 1 - w->nodes[r->node].slot;
	const struct api *api = &w->apis[target];
	const struct link *link = &w->links[NODES + r->api - HUBS][target];
	const struct lease *lease = &api->store.lease;
	struct machine_event *e = &r->result;

	e->witness.answer = WITNESS_NO_ANSWER;
	if (worker->follower == FOLLOWER_NONE || worker->no_crd)
		return;
	if (worker->follower == FOLLOWER_LIES) {
		e->witness.answer = WITNESS_READ;
		e->witness.holder = HOLDER_PEER;
	} else if (worker->follower == FOLLOWER_DENIED || link->blind) {
		e->witness.answer = WITNESS_DENIED;
	} else if (link->cut || link->mute || api->down || api->hung) {
		e->witness.answer = WITNESS_CUT_OFF;
	} else if (!lease->exists) {
		e->witness.answer = WITNESS_ABSENT;
	} else {
		e->witness.answer = WITNESS_READ;
		e->witness.holder = lease->holder == target ? HOLDER_PEER : HOLDER_NONE;
		e->witness.age_ms = (w->now - lease->written) / MS(1);
	}
}

static void probe(struct world *w, struct request *r)
{
	const struct api *api = &w->apis[r->api];
	bool in = api->unfenced || (api->store.role_exists && api->store.role == HUB_LEADING);

	r->result.probe.verdict = in ? PROBE_ACCEPTED : PROBE_FENCED;
}

/* Policies 3 and 4: the mirror may write while this hub does not lead. */
static void mirror(struct world *w, struct request *r)
{
	struct api *api = &w->apis[r->api];
	struct store *store = &api->store;
	const struct store *source = &w->apis[r->source].store;
	uint64_t led;

	if (!api->unfenced &&
	    !(store->role_exists && (store->role == HUB_STANDBY || store->role == HUB_REJOINING))) {
		r->answer = REFUSED;
		return;
	}
	invariants_on_mirror(w, &w->nodes[r->node], r);
	/* Between W2 and the open page the source has nothing that is newer than its led-term. */
	led = source->lease.led_term > source->data_led ? source->lease.led_term : source->data_led;
	if (r->complete) {
		store->data_led = led;
		store->data_seq = r->seq;
		store->data_mixed = source->data_mixed;
	} else if (store->data_led != led) {
		store->data_mixed = true;
	}
}

static void apply(struct world *w, struct request *r)
{
	struct store *store = &w->apis[r->api].store;
	bool write = r->ask == ASK_LEASE_WRITE || r->ask == ASK_ROLE || r->ask == ASK_RECORD ||
		     r->ask == ASK_MIRROR;

	if (write && w->apis[r->api].refusing) {
		r->answer = REFUSED;
		return;
	}
	switch (r->ask) {
	case ASK_LOAD: load(w, r); break;
	case ASK_LEASE_READ: break;
	case ASK_LEASE_WRITE: write_lease(w, r); break;
	case ASK_ROLE:
		store->role_exists = true;
		store->role = r->todo.role.role;
		store->role_term = r->todo.role.term;
		api_role_changed(w, r->api);
		break;
	case ASK_RECORD: write_record(w, r); break;
	case ASK_PROBE: probe(w, r); break;
	case ASK_LOOK:
		roles_look_of(w, &w->nodes[r->node], &store->lease, &r->result.look);
		memcpy(r->result.look.uid, w->apis[r->api].uid, sizeof(r->result.look.uid));
		if (w->apis[r->api].clash)
			r->result.look.own_uid = true;
		break;
	case ASK_WORKER:
		r->led_term = w->apis[r->api].term;
		r->source = w->apis[r->api].slot;
		r->answer = w->apis[r->api].no_crd ? NO_CRD : r->led_term ? GOOD : ABSENT;
		break;
	case ASK_WITNESS: witness(w, r); break;
	case ASK_PUSH: push_term(w, r); break;
	case ASK_MIRROR: mirror(w, r); break;
	}
	if (r->ask == ASK_LEASE_READ || r->ask == ASK_LEASE_WRITE || r->ask == ASK_LOAD) {
		if (r->ask != ASK_LOAD)
			to_machine(w, r, &r->result.answer.lease);
		r->version = store->lease.exists ? store->lease.version : 0;
	}
}

void api_arrive(struct world *w, struct request *r)
{
	struct api *api = &w->apis[r->api];
	struct link *link = &w->links[r->node][r->api];
	int64_t reply;

	if (api->hung) { /* read when it runs again, whoever still waits */
		if (!r->late)
			fail_at(w, r, r->deadline);
		r->late = true;
		if (w->now < r->deadline + S(10))
			post(w, r, EVENT_ARRIVE, w->now + MS(500));
		goto out;
	}
	if (api->down || link->cut) {
		if (!r->late)
			fail_at(w, r, link->cut ? r->deadline : w->now + MS(1));
		goto out;
	}
	/* `timeout=5s` on the server's side, and a clean end has no request under way (H3). */
	if (r->ask == ASK_MIRROR &&
	    (w->now > r->deadline ||
		(r->life != w->nodes[r->node].syncer.life && w->nodes[r->node].syncer.clean)))
		goto out_late;
	if (link->blind)
		r->answer = BLIND;
	else
		apply(w, r);
	if (r->late)
		goto out;
	reply = w->now + world_latency(w, r->node, r->api);
	r->ok = !link->mute && reply < r->deadline;
	/* The question of a follower that does not answer is asked until the limit. */
	if (r->ask == ASK_WITNESS && r->result.witness.answer == WITNESS_NO_ANSWER)
		reply = r->deadline - 1;
	post(w, r, EVENT_COMPLETE, r->ok ? reply : r->deadline);
	goto out;
out_late:
	if (!r->late)
		fail_at(w, r, r->deadline);
out:
	drop(w, r);
}

/* --- Answers ---------------------------------------------------------------------------------- */

static void answer_lease(struct world *w, struct node *n, struct request *r)
{
	struct machine_event *e = &r->result;

	e->input = MACHINE_LEASE_ANSWERED;
	e->answer.write = r->ask == ASK_LEASE_WRITE;
	e->answer.finished_ns = world_boot_ns(w, n);
	e->answer.date_us = 0;
	e->answer.outcome = OUTCOME_UNSURE;
	if (!r->ok || r->answer == BLIND) {
		memset(&e->answer.lease, 0, sizeof(e->answer.lease));
		e->answer.never_sent = !r->sent;
		/* 401 says that it was not applied. */
		if (r->ok && e->answer.write)
			e->answer.outcome = OUTCOME_REFUSED;
		return;
	}
	e->answer.date_us =
	    (EPOCH_US + w->now / 1000 + w->apis[r->api].skew_us) / 1000000 * 1000000;
	if (r->answer == CONFLICT) {
		e->answer.conflict = true;
		memset(&e->answer.lease, 0, sizeof(e->answer.lease));
	} else if (r->answer == REFUSED) {
		e->answer.outcome = OUTCOME_REFUSED;
		memset(&e->answer.lease, 0, sizeof(e->answer.lease));
	} else {
		e->answer.outcome = OUTCOME_DONE;
		n->base_exists = e->answer.lease.exists;
		n->base_version = r->version;
	}
}

static void answer_load(struct world *w, struct node *n, struct request *r)
{
	struct machine_event *e = &r->result;
	const struct record *record = &r->record;
	int64_t wall_us = world_wall_us(w, n);

	e->input = MACHINE_LOADED;
	e->loaded.ok = r->ok && r->answer == GOOD;
	if (!e->loaded.ok)
		return;
	n->base_exists = e->loaded.lease.exists;
	n->base_version = r->version;
	e->loaded.date_us =
	    (EPOCH_US + w->now / 1000 + w->apis[r->api].skew_us) / 1000000 * 1000000;
	memset(&e->loaded.record, 0, sizeof(e->loaded.record));
	if (!record->exists || !record->uid[0])
		return;
	e->loaded.record = (struct machine_record){ .exists = true,
		.term = record->term,
		.led_term = record->led_term,
		.mirror_term = record->mirror_term,
		.complete = record->complete,
		.duration_ms = record->duration_ms,
		.renew_deadline_ms = record->renew_deadline_ms,
		.age_ns = wall_us > record->seen_us ? (wall_us - record->seen_us) * 1000 : 0 };
	memcpy(e->loaded.record.uid, record->uid, sizeof(record->uid));
	memcpy(e->loaded.record.mirror_uid, record->mirror_uid, sizeof(record->mirror_uid));
}

static void answer_worker(struct world *w, struct node *n, struct request *r)
{
	struct machine_event seen = { .input = MACHINE_WORKER_SEEN },
			     read = { .input = MACHINE_WORKERS_READ };
	bool answered = r->ok && r->answer != BLIND;

	seen.worker.worker = r->api - HUBS;
	seen.worker.slot = r->source == NOBODY ? 2 : r->source;
	seen.worker.term = answered ? r->led_term : 0;
	seen.worker.state = !r->ok                ? WORKER_UNREACHABLE
			    : r->answer == BLIND  ? WORKER_DENIED
			    : r->answer == NO_CRD ? WORKER_NO_CRD
			    : r->answer == ABSENT ? WORKER_NO_OBJECT
						  : WORKER_OK;
	world_feed(w, n, &seen);
	read.workers.nonce = r->nonce;
	read.workers.answered = answered;
	read.workers.of = 1; /* as of a shard with one worker */
	if (n->alive && n->life == r->life)
		world_feed(w, n, &read);
}

static void answer_witness(struct request *r)
{
	struct machine_event *e = &r->result;

	e->input = MACHINE_WITNESS_SEEN;
	e->witness.nonce = r->nonce;
	e->witness.worker = r->api - HUBS;
	if (!r->ok)
		e->witness.answer = WITNESS_NO_API;
	else if (r->answer == BLIND)
		e->witness.answer = WITNESS_NO_ANSWER;
}

/* An answer that waited while its reader stood still may be younger than its own time limit. */
static bool forgotten(struct world *w, const struct request *r)
{
	return r->ok && w->now > r->deadline && !w->setup.calm && world_random(w, 2);
}

static void to_elector(struct world *w, struct node *n, struct request *r)
{
	struct machine_event *e = &r->result;

	switch (r->ask) {
	case ASK_LEASE_READ:
	case ASK_LEASE_WRITE: answer_lease(w, n, r); break;
	case ASK_LOAD: answer_load(w, n, r); break;
	case ASK_ROLE:
		e->input = MACHINE_ROLE_WRITTEN;
		e->ok = r->ok && r->answer == GOOD;
		break;
	case ASK_RECORD:
		e->input = MACHINE_RECORD_WRITTEN;
		e->ok = r->ok && r->answer == GOOD;
		break;
	case ASK_PROBE:
		e->input = MACHINE_PROBE_SEEN;
		e->probe.nonce = r->nonce;
		if (!r->ok || r->answer != GOOD)
			e->probe.verdict = PROBE_FAILED;
		break;
	case ASK_WORKER: answer_worker(w, n, r); return;
	case ASK_WITNESS: answer_witness(r); break;
	default: return;
	}
	world_feed(w, n, e);
}

void api_complete(struct world *w, struct request *r)
{
	struct node *n = &w->nodes[r->node];
	struct link *link = &w->links[r->node][r->api];

	if (r->ok && (link->cut || link->mute) && w->now < r->deadline) {
		fail_at(w, r, r->deadline); /* on its way when the link went */
		drop(w, r);
		return;
	}
	if (forgotten(w, r) || (r->ok && w->apis[r->api].down))
		r->ok = false;
	if (r->ok && n->own_watch_broken && r->api == n->slot) {
		n->own_watch_broken = false;
		world_post(w, EVENT_OWN_WATCH, r->node, n->life, w->now + S(1))->lease =
		    w->apis[r->api].store.lease;
	}
	if (r->ask == ASK_LOOK) {
		if (n->observer.alive && r->life == n->observer.life)
			roles_looked(w, n, r);
	} else if (r->ask == ASK_MIRROR) {
		if (n->up && r->life == n->syncer.life && r->ok && r->answer == GOOD)
			roles_mirrored(w, n, r);
	} else if (n->alive && r->life == n->life) {
		to_elector(w, n, r);
	}
	drop(w, r);
}

void api_ask(struct world *w, struct node *n, enum ask ask, unsigned api,
    const struct machine_todo *todo, bool fresh)
{
	struct request *r = api_request(w, n, ask, api);
	const struct machine *m = &n->machine;
	bool worker = ask == ASK_WORKER || ask == ASK_WITNESS;

	r->todo = *todo;
	r->fresh = fresh;
	r->instance = n->options.instance;
	r->base_exists = n->base_exists;
	r->base_version = n->base_version;
	r->nonce = todo->nonce;
	if (ask == ASK_RECORD) {
		r->base_version = w->apis[api].store.record_version;
		r->record = (struct record){ .exists = true,
			.complete = machine_complete(m),
			.term = m->peer.term,
			.led_term = m->peer.led_term,
			.mirror_term = m->complete_term,
			.duration_ms = m->peer.duration_ms,
			.renew_deadline_ms = m->peer.renew_deadline_ms,
			.seen_us = world_wall_us(w, n) - (m->now_ns - m->peer.seen_ns) / 1000 };
		memcpy(r->record.uid, m->peer.uid, sizeof(r->record.uid));
		memcpy(r->record.mirror_uid, m->complete_uid, sizeof(r->record.mirror_uid));
	}
	api_send(w, r, worker ? S(2) : n->options.request_ns);
}
