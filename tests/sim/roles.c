/*
 * The processes beside the elector, by their message contracts: observer (looks and watch),
 * supervisor (starts, stops and restarts), syncer (passes, drain), repointer, publisher, runner.
 * They do what they are told, sometimes late; none of them decides who leads. Called by world.c and
 * api.c.
 */
#include <string.h>

#include "tests/sim/world.h"

/* --- Observer --------------------------------------------------------------------------------- */

void roles_look_of(const struct world *w, const struct node *n, const struct lease *lease,
    struct machine_look *out)
{
	(void)w;
	out->class = lease->exists ? PEER_OK : PEER_NOT_FOUND;
	out->why = PEER_WHY_NONE;
	out->holder = HOLDER_NONE;
	if (!lease->exists)
		return;
	out->holder = lease->holder == NOBODY        ? HOLDER_NONE
		      : lease->holder == n->slot     ? HOLDER_SELF
		      : lease->holder == 1 - n->slot ? HOLDER_PEER
						     : HOLDER_OTHER;
	out->holder_hash = lease->holder == NOBODY ? 0 : lease->holder + 1U;
	out->phase = lease->phase;
	out->term = lease->term;
	out->led_term = lease->led_term;
	out->instance = lease->instance;
	out->acquire_us = lease->acquire_us;
	out->renew_us = lease->renew_us;
	out->duration_ms = lease->duration_ms;
	out->renew_deadline_ms = lease->renew_deadline_ms;
	out->handover = lease->handover;
	out->to_me = lease->handover != 0;
	out->ack_id = lease->ack_id;
	out->ack = lease->ack;
	out->standby = lease->standby;
}

/* observer/peer.c: between looks a retry period, or what an event says in their place. */
void roles_pace(struct world *w, struct node *n)
{
	int64_t retry_ns = n->options.retry_ns, next_ns = n->observer.started + retry_ns;
	int64_t event_ns = n->observer.event + retry_ns + retry_ns / 4;

	if (n->observer.event && event_ns > next_ns)
		next_ns = event_ns;
	n->observer.looking = false;
	n->observer.timer =
	    world_post(w, EVENT_LOOK, world_index(w, n), n->observer.life, world_at(n, next_ns))
		->order;
}

void roles_look(struct world *w, struct node *n, uint64_t nonce, bool fresh)
{
	struct request *r;
	int64_t next_ns;

	if (nonce == 0) {
		next_ns = n->observer.event + n->options.retry_ns + n->options.retry_ns / 4;
		if (n->observer.looking)
			return;
		if (n->observer.event && world_boot_ns(w, n) < next_ns && !fresh) {
			roles_pace(w, n); /* an event came since the timer was set */
			return;
		}
		n->observer.looking = true;
		n->observer.started = world_boot_ns(w, n);
	}
	r = api_request(w, n, ASK_LOOK, 1 - n->slot);
	r->nonce = nonce;
	r->fresh = fresh;
	api_send(w, r, n->options.request_ns);
}

static void tell_look(struct world *w, struct node *n, const struct machine_event *look)
{
	if (n->alive)
		world_tell(w, n, look, 0);
}

/* C6: is this hub about to decide whether its own past goes on? What it reads of the peer then
 * counts for more than otherwise. */
bool roles_goes_back(const struct machine *m, enum machine_state state)
{
	return state == STATE_RECOVER || state == STATE_HELD ||
	       (state == STATE_INIT && m->led_term) ||
	       (state == STATE_CONFIRM && m->kind == KIND_RECOVERER);
}

void roles_looked(struct world *w, struct node *n, struct request *r)
{
	struct machine_event *e = &r->result;
	struct observer_model *o = &n->observer;
	bool failed;

	e->input = MACHINE_PEER_SEEN;
	if (!r->ok) {
		e->look.class = PEER_SILENT;
		e->look.why = r->sent ? PEER_WHY_TIMEOUT : PEER_WHY_REFUSED;
		/* A server that is down lets nobody renew there either: a threshold covers that,
		 * but not the way back into the own term (C6). */
		w->assumed.L = w->assumed.L && (w->apis[r->api].down || w->apis[r->api].hung) &&
			       !roles_goes_back(&n->machine, n->machine.state);
	} else if (r->answer == BLIND) {
		e->look.class = PEER_BLIND;
		e->look.why = PEER_WHY_UNAUTHORIZED;
		w->assumed.L = w->assumed.L && w->setup.workers == 0;
	}
	/* A deleted Lease says as little as none that was read. */
	w->assumed.L = w->assumed.L && !(e->look.class == PEER_NOT_FOUND && w->opened[r->api] &&
					   roles_goes_back(&n->machine, n->machine.state));
	failed = e->look.class >= PEER_SILENT;
	if (failed)
		e->look.uid[0] = '\0';
	e->look.nonce = r->nonce;
	e->look.started_ns = r->started_ns;
	e->look.finished_ns = world_boot_ns(w, n);
	if (e->look.finished_ns <= e->look.started_ns)
		e->look.finished_ns = e->look.started_ns + 1;
	o->verified = !failed;
	tell_look(w, n, e);
	if (r->nonce)
		return;
	if (!failed && (o->failing || o->watch_broken)) {
		o->watch_broken = o->dead_connection = false;
		world_post(w, EVENT_PEER_WATCH, world_index(w, n), o->life, w->now + MS(20))
		    ->lease = w->apis[1 - n->slot].store.lease;
	}
	o->failing = failed;
	roles_pace(w, n);
}

void roles_on_peer_watch(struct world *w, struct node *n, const struct lease *lease)
{
	struct machine_event e = { .input = MACHINE_PEER_SEEN };
	const struct api *api = &w->apis[1 - n->slot];
	const struct link *link = &w->links[world_index(w, n)][1 - n->slot];

	if (link->cut || link->mute || api->down || api->hung || n->observer.dead_connection) {
		n->observer.watch_broken = true;
		return;
	}
	if (!n->observer.verified) {
		roles_look(w, n, 0, n->observer.failing);
		return;
	}
	roles_look_of(w, n, lease, &e.look);
	memcpy(e.look.uid, api->uid, sizeof(e.look.uid));
	e.look.own_uid = api->clash;
	e.look.started_ns = e.look.finished_ns = n->observer.event = world_boot_ns(w, n);
	tell_look(w, n, &e);
}

void roles_start_observer(struct world *w, struct node *n)
{
	uint32_t life = n->observer.life;

	n->observer = (struct observer_model){ .alive = true, .life = life + 1 };
	roles_look(w, n, 0, false);
}

/* --- Syncer ----------------------------------------------------------------------------------- */

static void syncer_later(struct world *w, struct node *n, int64_t delay)
{
	world_post(w, EVENT_SYNCER, world_index(w, n), n->syncer.life, w->now + delay);
}

static void syncer_start(struct world *w, struct node *n, int64_t delay)
{
	n->syncer.state = STARTING;
	n->syncer.life++;
	n->syncer.passes = 0;
	n->syncer.granted = n->syncer.paused = false;
	syncer_later(w, n, delay);
}

/* elector_tell_again: a new link gets what holds now. */
static void grant_again(struct node *n)
{
	const struct machine *m = &n->machine;

	if (!n->alive || !m->granted)
		return;
	n->syncer.granted = true;
	n->syncer.paused = false;
	n->syncer.rejoin = m->grant_rejoin;
	n->syncer.term = m->granted_term;
	n->syncer.led_term = m->granted_led;
	memcpy(n->syncer.uid, m->peer.uid, sizeof(n->syncer.uid));
}

static void tell_gone(struct world *w, struct node *n, bool clean)
{
	struct machine_event gone = { .input = MACHINE_SYNCER_GONE, .clean = clean };

	if (n->alive)
		world_tell(w, n, &gone, MS(1));
}

void roles_syncer_end(struct world *w, struct node *n, bool clean)
{
	struct machine_event lost = { .input = MACHINE_MIRROR_LOST };
	struct syncer_model *s = &n->syncer;
	bool ran = s->state == RUNNING || s->state == LEAVING;

	if (s->state == GONE)
		return;
	s->state = GONE;
	s->life++;
	s->clean = clean;
	s->ended = w->now;
	if (ran && n->alive)
		world_tell(w, n, &lost, MS(1));
	if (s->asked)
		tell_gone(w, n, clean);
	s->asked = false;
	if (s->wanted)
		syncer_start(w, n, MS(300));
}

/* Leaves when it is told to, or is killed: what a killed one sent may still arrive (H3). */
static void syncer_stop(struct world *w, struct node *n, int64_t deadline_ns, bool asked)
{
	struct syncer_model *s = &n->syncer;
	int64_t deadline = world_at(n, deadline_ns), leaves;

	s->wanted = false;
	if (s->state == GONE) {
		if (asked)
			tell_gone(w, n, s->clean || !s->ended || w->now - s->ended > S(5));
		return;
	}
	s->asked = asked;
	s->state = LEAVING;
	leaves = w->now + (w->setup.calm ? MS(50) : (int64_t)world_random(w, S(3)));
	if (s->hangs || leaves >= deadline)
		leaves = deadline;
	world_post(w, EVENT_SYNCER_DEADLINE, world_index(w, n), s->life, leaves);
}

void roles_syncer_deadline(struct world *w, struct node *n)
{
	bool clean = !n->syncer.hangs && (w->setup.calm || world_random(w, 4));

	if (n->syncer.state == LEAVING && n->syncer.sticks)
		world_post(
		    w, EVENT_SYNCER_DEADLINE, world_index(w, n), n->syncer.life, w->now + MS(500));
	else if (n->syncer.state == LEAVING)
		roles_syncer_end(w, n, clean);
}

/* Reads the source and writes what it found: an ordinary write, the last of a pass, or a barrier.
 */
static void mirror(struct world *w, struct node *n, bool complete, uint64_t barrier)
{
	struct syncer_model *s = &n->syncer;
	unsigned source = 1 - n->slot;
	const struct link *link = &w->links[world_index(w, n)][source];
	const struct api *peer = &w->apis[source];
	struct request *r;

	if (s->state != RUNNING || !s->granted || s->paused || strcmp(s->uid, peer->uid) != 0 ||
	    link->cut || link->mute || link->blind || peer->down || peer->hung)
		return;
	r = api_request(w, n, ASK_MIRROR, n->slot);
	r->led_term = s->led_term;
	r->source = (uint8_t)source;
	r->seq = peer->store.data_seq;
	r->complete = complete && !s->fails;
	r->nonce = barrier;
	s->passes++;
	api_send(w, r, S(5));
}

void roles_syncer(struct world *w, struct node *n)
{
	struct syncer_model *s = &n->syncer;

	if (s->state == STARTING) {
		s->state = RUNNING;
		grant_again(n);
	}
	if (s->state != RUNNING)
		return;
	mirror(w, n, s->passes > 0, 0);
	syncer_later(w, n, s->passes < 3 ? MS(300) : 3 * n->options.retry_ns);
}

void roles_mirrored(struct world *w, struct node *n, const struct request *r)
{
	struct machine_event seen = { .input = MACHINE_MIRROR_SEEN },
			     barrier = { .input = MACHINE_BARRIER_DONE };

	memcpy(seen.mirror.uid, n->syncer.uid, sizeof(n->syncer.uid));
	/* elector/messages.c: the term tells which grant it speaks of. */
	seen.mirror.led_term =
	    n->syncer.term == n->machine.granted_term ? n->machine.granted_led : 0;
	seen.mirror.complete = r->complete;
	barrier.barrier.id = r->nonce;
	barrier.barrier.synced = r->complete;
	seen.mirror.pristine = true;
	seen.mirror.failed_kinds = n->syncer.fails;
	if (!n->alive || n->syncer.state != RUNNING)
		return;
	world_tell(w, n, &seen, MS(1));
	if (r->nonce)
		world_tell(w, n, &barrier, MS(1));
}

void roles_elector_ended(struct world *w, struct node *n)
{
	if (!n->up)
		return;
	n->syncer.asked = false;
	n->running = false;
	syncer_stop(w, n, world_boot_ns(w, n) + S(2), false);
}

/* --- What the elector says to the others ------------------------------------------------------ */

static void ask_workers(
    struct world *w, struct node *n, enum ask ask, const struct machine_todo *todo)
{
	for (unsigned i = 0; i < w->setup.workers; i++)
		api_ask(w, n, ask, HUBS + i, todo, false);
}

/* H16: level-based; each permit is a try where the worker does not have the term yet. */
static void permit(struct world *w, struct node *n, const struct machine_todo *todo)
{
	invariants_on_permit(w, n, todo);
	if (todo->permit.valid_until_ns <= world_boot_ns(w, n))
		return;
	for (unsigned i = HUBS; i < HUBS + w->setup.workers; i++) {
		struct request *r;

		if (w->apis[i].term == todo->permit.term)
			continue;
		r = api_request(w, n, ASK_PUSH, i);
		r->led_term = todo->permit.term;
		api_send(w, r, n->options.request_ns);
	}
}

static void syncer_do(struct world *w, struct node *n, const struct machine_todo *todo)
{
	struct syncer_model *s = &n->syncer;

	switch (todo->verb) {
	case TODO_SYNCER_START:
		s->wanted = true;
		s->asked = false;
		if (s->state == GONE)
			syncer_start(
			    w, n, w->setup.calm ? MS(100) : MS(100 + world_random(w, 400)));
		break;
	case TODO_SYNCER_STOP: syncer_stop(w, n, todo->deadline_ns, true); break;
	case TODO_GRANT:
		if (s->state != RUNNING)
			break; /* it is told when it has a link */
		s->granted = true;
		s->paused = false;
		s->passes = 0;
		s->rejoin = todo->grant.rejoin;
		s->term = todo->grant.term;
		s->led_term = todo->grant.led_term;
		memcpy(s->uid, todo->grant.uid, sizeof(s->uid));
		break;
	case TODO_BARRIER: mirror(w, n, true, todo->nonce); break;
	case TODO_PAUSE: s->paused = s->state == RUNNING; break;
	default: break;
	}
}

/* Nothing runs: that is said at once, else a start could come between. */
static void stop_run(struct world *w, struct node *n)
{
	struct machine_event seen = { .input = MACHINE_WORKLOAD_SEEN };
	bool ran = n->running;

	if (n->workload_hangs)
		return;
	n->running = false;
	seen.workload.empty = true;
	world_tell(w, n, &seen, !ran ? MS(1) : w->setup.calm ? MS(200) : MS(world_random(w, 500)));
}

void roles_do(struct world *w, struct node *n, const struct machine_todo *todo)
{
	switch (todo->verb) {
	case TODO_PEER_READ:
		if (n->observer.alive)
			roles_look(w, n, todo->nonce, true);
		break;
	case TODO_WORKERS_READ: ask_workers(w, n, ASK_WORKER, todo); break;
	case TODO_WITNESS: ask_workers(w, n, ASK_WITNESS, todo); break;
	case TODO_PERMIT: permit(w, n, todo); break;
	case TODO_RUN: n->running = true; break;
	case TODO_STOP_RUN: stop_run(w, n); break;
	default: syncer_do(w, n, todo); break;
	}
}
