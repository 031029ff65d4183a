/*
 * Clocks, the queue of events, and the machine's way in and out. What an order of the machine means
 * is api.c's and roles.c's; nothing here knows a rule. Called by chaos.c and story.c.
 */
#include "tests/sim/world.h"

#include <string.h>

#include "base/check.h"
#include "elector/trace.h"

const struct timing world_timings[] = {
	{ "15/10/2+5", S(15), S(10), S(2), S(5) }, { "3/2/0.5+1", S(3), S(2), MS(500), S(1) },
	{ "15/12/2+5", S(15), S(12), S(2), S(5) }, { "40/30/2+5", S(40), S(30), S(2), S(5) },
	{ "60/10/2+5", S(60), S(10), S(2), S(5) },
	{ "600/10/2+5", S(600), S(10), S(2), S(5) }, /* in stories only: nothing happens for long */
};
const unsigned world_timing_count = sizeof(world_timings) / sizeof(world_timings[0]);

/* --- Chance and clocks ------------------------------------------------------------------------ */

uint64_t world_random(struct world *w, uint64_t below)
{
	uint64_t x = w->rng += 0x9e3779b97f4a7c15ULL; /* splitmix64 */

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	x ^= x >> 31;
	return below ? x % below : x;
}

unsigned world_index(const struct world *w, const struct node *n)
{
	return (unsigned)(n - w->nodes);
}

static int64_t boot_at(const struct node *n, int64_t at)
{
	if (at <= n->clock_base) /* the clock stands until then */
		return n->clock_boot_ns;
	return n->clock_boot_ns + (at - n->clock_base) * n->rate_ppm / 1000000;
}

int64_t world_boot_ns(const struct world *w, const struct node *n)
{
	return boot_at(n, w->now);
}

/* The true time at which the node's clock shows this, not before. */
int64_t world_at(const struct node *n, int64_t boot_ns)
{
	if (boot_ns - n->clock_boot_ns > S(4000))
		return NEVER;
	if (boot_ns <= n->clock_boot_ns)
		return n->clock_base;
	return n->clock_base +
	       ((boot_ns - n->clock_boot_ns) * 1000000 + n->rate_ppm - 1) / n->rate_ppm;
}

int64_t world_wall_us(const struct world *w, const struct node *n)
{
	return n->wall_us + world_boot_ns(w, n) / 1000;
}

void world_reclock(struct world *w, struct node *n, int64_t boot_ns)
{
	int64_t was_us = world_wall_us(w, n);

	n->clock_base = w->now;
	n->clock_boot_ns = boot_ns;
	n->wall_us += was_us - world_wall_us(w, n);
}

bool world_page_open(const struct world *w, const struct node *n)
{
	int64_t now_ns = world_boot_ns(w, n);

	return n->exists && n->page.open && now_ns >= n->page.written_at_ns &&
	       now_ns < n->page.valid_until_ns;
}

/* --- Queue ----------------------------------------------------------------------------------- */

static bool before(const struct event *a, const struct event *b)
{
	bool late_a = a->kind == EVENT_WAKE, late_b = b->kind == EVENT_WAKE;

	if (a->at != b->at)
		return a->at < b->at;
	if (late_a != late_b) /* readable I/O before timers (H2) */
		return late_b;
	return a->order < b->order;
}

static void heap_up(struct world *w, unsigned i)
{
	uint16_t slot = w->heap[i];

	for (unsigned parent; i > 0; i = parent) {
		parent = (i - 1) / 2;
		if (!before(&w->events[slot], &w->events[w->heap[parent]]))
			break;
		w->heap[i] = w->heap[parent];
	}
	w->heap[i] = slot;
}

static uint16_t heap_pop(struct world *w)
{
	uint16_t top = w->heap[0], slot = w->heap[--w->heap_count];
	unsigned i = 0, child;

	while ((child = 2 * i + 1) < w->heap_count) {
		if (child + 1 < w->heap_count &&
		    before(&w->events[w->heap[child + 1]], &w->events[w->heap[child]]))
			child++;
		if (!before(&w->events[w->heap[child]], &w->events[slot]))
			break;
		w->heap[i] = w->heap[child];
		i = child;
	}
	w->heap[i] = slot;
	return top;
}

static void push(struct world *w, uint16_t slot)
{
	w->heap[w->heap_count++] = slot;
	heap_up(w, w->heap_count - 1);
}

struct event *world_post(
    struct world *w, enum event_kind kind, unsigned node, uint32_t life, int64_t at)
{
	struct event *event;
	uint16_t slot;

	CHECK(w->free_event_count > 0);
	slot = w->free_events[--w->free_event_count];
	event = &w->events[slot];
	event->at = at < w->now ? w->now : at;
	event->order = w->order++;
	event->kind = (uint8_t)kind;
	event->node = (uint8_t)node;
	event->life = life;
	push(w, slot);
	return event;
}

void world_tell(struct world *w, struct node *n, const struct machine_event *message, int64_t delay)
{
	struct event *event =
	    world_post(w, EVENT_MESSAGE, world_index(w, n), n->life, w->now + delay);

	event->message = *message;
}

/* --- The machine ------------------------------------------------------------------------------ */

void world_say(struct world *w, unsigned node, const char *text)
{
	if (w->trace)
		fprintf(w->trace, "[%7lld.%03lld] %s %s\n", (long long)(w->now / S(1)),
		    (long long)(w->now / MS(1) % 1000), faults_node_name(node), text);
}

static void say(struct world *w, const struct node *n, const struct machine_said *said)
{
	char text[640], line[720];

	if (!w->trace || !said->first)
		return;
	trace_text(text, sizeof(text), said);
	(void)snprintf(line, sizeof(line), "%s > %s: %s", machine_state_name(said->from),
	    machine_state_name(said->to), text);
	world_say(w, world_index(w, n), line);
}

static void put_page(struct world *w, struct node *n, const struct machine_todo *todo)
{
	n->page.open = todo->permit.open;
	n->page.term = todo->permit.term;
	n->page.valid_until_ns = todo->permit.valid_until_ns;
	n->page.written_at_ns = world_boot_ns(w, n);
	n->page_instance = n->options.instance;
	invariants_on_page(w, n);
	if (n->page.open && !w->apis[n->slot].down && !w->apis[n->slot].hung)
		invariants_on_write(w, n);
}

static void carry_out(struct world *w, struct node *n, const struct machine_todo *todo)
{
	switch (todo->verb) {
	case TODO_PAGE: put_page(w, n, todo); break;
	case TODO_LOAD: api_ask(w, n, ASK_LOAD, n->slot, todo, false); break;
	case TODO_LEASE_READ: api_ask(w, n, ASK_LEASE_READ, n->slot, todo, false); break;
	case TODO_LEASE_WRITE: api_ask(w, n, ASK_LEASE_WRITE, n->slot, todo, false); break;
	case TODO_ROLE: api_ask(w, n, ASK_ROLE, n->slot, todo, false); break;
	case TODO_RECORD: api_ask(w, n, ASK_RECORD, n->slot, todo, false); break;
	case TODO_PROBE: api_ask(w, n, ASK_PROBE, n->slot, todo, false); break;
	case TODO_EXIT:
		world_say(w, world_index(w, n), todo->code == 75 ? "exits 75" : "exits 78");
		n->exit_code = todo->code;
		/* What is under way to it still arrives. */
		world_post(w, EVENT_ELECTOR_EXIT, world_index(w, n), n->life, w->now + MS(50));
		break;
	default: roles_do(w, n, todo); break;
	}
}

static void set_wake(struct world *w, struct node *n, int64_t boot_ns)
{
	int64_t at = boot_ns == NEVER ? NEVER : world_at(n, boot_ns);

	if (at < w->now)
		at = w->now;
	if (n->wake != NEVER && n->wake <= at && n->wake >= w->now && at != NEVER)
		return; /* the one under way comes first; the machine bears being asked early */
	if (at == NEVER)
		return;
	n->wake = at;
	(void)world_post(w, EVENT_WAKE, world_index(w, n), n->life, at);
}

void world_feed(struct world *w, struct node *n, struct machine_event *event)
{
	enum machine_state was = n->machine.state;
	uint32_t life = n->life;
	struct machine_out out;
	bool expected = invariants_expect(w, n, event);

	event->wall_us = world_wall_us(w, n);
	event->random = w->setup.calm ? 700000007ULL * (1 + world_index(w, n)) : world_random(w, 0);
	machine_step(&n->machine, event, world_boot_ns(w, n), &out);
	w->steps++;
	for (unsigned i = 0; i < out.row_count && w->hits; i++)
		w->hits->rows[out.rows[i]]++;
	if (event->input == MACHINE_COMMAND && w->hits)
		w->hits->words[event->command.verb][was]++;
	for (unsigned i = 0; i < out.said_count; i++)
		say(w, n, &out.said[i]);
	if (n->machine.state != was && w->armed)
		world_trigger(w, world_index(w, n), WHEN_STATE, n->machine.state);
	for (unsigned i = 0; i < out.todo_count && n->life == life && n->alive; i++)
		carry_out(w, n, &out.todo[i]);
	if (n->life != life || !n->alive)
		return;
	invariants_after_step(w, n, event, &out);
	invariants_on_command(w, n, event, &out, expected);
	set_wake(w, n, out.wake_at_ns);
}

void world_elector_end(struct world *w, struct node *n, int64_t restart_in)
{
	if (!n->alive)
		return;
	n->alive = false;
	n->life++;
	n->wake = NEVER;
	/* Decision 16: the supervisor ends the validity of a dead elector's page. */
	if (n->up)
		n->page.valid_until_ns = 0;
	roles_elector_ended(w, n);
	if (!n->up || restart_in == NEVER)
		return;
	n->restart_delay = w->now - n->born > S(60)  ? MS(100)
			   : n->restart_delay > S(5) ? S(10)
						     : n->restart_delay * 2;
	(void)world_post(w, EVENT_ELECTOR_START, world_index(w, n), n->life, w->now + restart_in);
}

static void elector_start(struct world *w, struct node *n)
{
	struct machine_event start = { .input = MACHINE_START },
			     dead = { .input = MACHINE_PREDECESSOR_DEAD };

	n->alive = true;
	n->born = w->now;
	n->options.instance = ++w->instances;
	machine_init(&n->machine, &n->options);
	n->base_exists = false;
	n->record_stale = false;
	n->wake = NEVER;
	memset(&n->applied, 0, sizeof(n->applied));
	n->superseded = n->opened_term = 0;
	n->last_state = STATE_INIT;
	n->gave_up_ns = 0;
	dead.instance = n->page_instance;
	n->page = (struct page){ .written_at_ns = world_boot_ns(w, n) };
	n->page_instance = n->options.instance;
	if (dead.instance)
		world_tell(w, n, &dead, world_latency(w, world_index(w, n), n->slot));
	world_tell(w, n, &start, world_latency(w, world_index(w, n), n->slot));
	n->observer.event = 0;
	if (n->observer.alive)
		roles_look(w, n, 0, n->observer.failing);
	if (w->armed)
		world_trigger(w, world_index(w, n), WHEN_STATE, STATE_INIT);
}

/* --- Running ---------------------------------------------------------------------------------- */

/* Until when the one whom the event is for stands still. */
static int64_t stands_until(const struct world *w, const struct node *n, const struct event *event)
{
	int64_t until = n->until;

	switch (event->kind) {
	case EVENT_COMPLETE:
		if (w->requests[event->request].ask > ASK_RECORD)
			return until;
		return n->elector_until > until ? n->elector_until : until;
	case EVENT_ARRIVE:
	case EVENT_FAULT: return 0;
	case EVENT_LOOK:
	case EVENT_PEER_WATCH: return n->observer.until > until ? n->observer.until : until;
	case EVENT_MESSAGE:
	case EVENT_OWN_WATCH:
	case EVENT_WAKE: return n->elector_until > until ? n->elector_until : until;
	default: return until;
	}
}

static void on_wake(struct world *w, struct node *n)
{
	struct machine_event time = { .input = MACHINE_TIME };

	n->wake = NEVER;
	world_feed(w, n, &time);
}

static void on_own_watch(struct world *w, struct node *n, const struct lease *lease)
{
	struct machine_event event = { .input = MACHINE_LEASE_WATCHED };
	const struct api *api = &w->apis[n->slot];

	if (w->links[world_index(w, n)][n->slot].cut || w->links[world_index(w, n)][n->slot].mute ||
	    api->down || api->hung) {
		n->own_watch_broken = true;
		return;
	}
	if (!lease->exists)
		n->base_exists = false; /* elector/lease.c: the next write is a POST */
	event.watched = api_lease_of(lease, n->slot);
	world_feed(w, n, &event);
}

static void dispatch(struct world *w, struct event *event)
{
	struct node *n = &w->nodes[event->node];
	bool mine = event->life == n->life && n->alive;

	switch ((enum event_kind)event->kind) {
	case EVENT_ARRIVE: api_arrive(w, &w->requests[event->request]); break;
	case EVENT_COMPLETE: api_complete(w, &w->requests[event->request]); break;
	case EVENT_MESSAGE:
		if (mine)
			world_feed(w, n, &event->message);
		break;
	case EVENT_OWN_WATCH:
		if (mine)
			on_own_watch(w, n, &event->lease);
		break;
	case EVENT_PEER_WATCH:
		if (n->observer.alive && event->life == n->observer.life)
			roles_on_peer_watch(w, n, &event->lease);
		break;
	case EVENT_LOOK:
		if (n->observer.alive && event->life == n->observer.life &&
		    event->order == n->observer.timer)
			roles_look(w, n, 0, n->observer.failing);
		break;
	case EVENT_OBSERVER_START:
		if (n->up && event->life == n->boot)
			roles_start_observer(w, n);
		break;
	case EVENT_SYNCER:
		if (n->up && event->life == n->syncer.life)
			roles_syncer(w, n);
		break;
	case EVENT_SYNCER_DEADLINE:
		if (n->up && event->life == n->syncer.life)
			roles_syncer_deadline(w, n);
		break;
	case EVENT_ELECTOR_START:
		if (n->up && !n->alive && event->life == n->life)
			elector_start(w, n);
		break;
	case EVENT_ELECTOR_BEAT:
		/* 10 s without a beat: killed and started again. */
		if (mine && n->elector_until > w->now)
			world_elector_end(w, n, n->restart_delay);
		break;
	case EVENT_ELECTOR_EXIT:
		if (!mine)
			break;
		if (n->exit_code == 78) /* understudyd ends, too: a person must look */
			fault_rows[VERB_STOP].act(
			    w, &(struct fault){ .verb = VERB_STOP, .a = event->node });
		else
			world_elector_end(w, n, n->restart_delay);
		break;
	case EVENT_FAULT: faults_apply(w, &w->faults[event->fault]); break;
	case EVENT_WAKE:
		if (mine && event->at >= n->wake)
			on_wake(w, n);
		break;
	}
}

void world_run(struct world *w, int64_t end)
{
	unsigned at_once = 0;

	while (w->heap_count && w->events[w->heap[0]].at <= end && !w->broken) {
		uint16_t slot = heap_pop(w);
		struct event *event = &w->events[slot];
		int64_t until = stands_until(w, &w->nodes[event->node], event);

		at_once = event->at > w->now ? 0 : at_once + 1;
		if (at_once > 5000)
			invariants_broken(w, "the_machine_comes_to_rest", "%s does not",
			    faults_node_name(event->node));
		w->now = event->at;
		if (until > w->now) {
			if (event->kind == EVENT_WAKE && w->nodes[event->node].wake == event->at)
				w->nodes[event->node].wake = until;
			event->at = until;
			push(w, slot);
			continue;
		}
		dispatch(w, event);
		w->free_events[w->free_event_count++] = slot;
	}
	if (!w->broken)
		w->now = end;
}

void world_trigger(struct world *w, unsigned node, enum when when, unsigned what)
{
	for (unsigned i = 0; i < w->fault_count; i++) {
		const struct fault *fault = &w->faults[i];

		if (fault->when != when || w->fired >> i & 1 || w->now < fault->at ||
		    fault->when_node != node || fault->when_what != what)
			continue;
		w->fired |= 1ULL << i;
		w->armed--;
		if (fault->delay == 0) /* before the step's orders are carried out */
			faults_apply(w, fault);
		else
			world_post(w, EVENT_FAULT, node, 0, w->now + fault->delay)->fault = i;
	}
}

/* --- Beginning -------------------------------------------------------------------------------- */

static void make_options(struct world *w, struct node *n, unsigned hub, const struct setup *setup)
{
	const struct timing *timing = &world_timings[setup->timing[hub]];

	n->slot = hub;
	n->options = (struct machine_options){ .slot = hub,
		.workers = setup->workers,
		.active = setup->active[hub],
		.automatic = !setup->manual,
		.block_ns = setup->block_ns,
		.resume = setup->resume[hub],
		.witness = !setup->no_witness,
		.workload = setup->workload,
		.duration_ns = timing->duration_ns,
		.renew_deadline_ns = timing->renew_deadline_ns,
		.retry_ns = timing->retry_ns,
		.padding_ns = timing->padding_ns,
		.request_ns = (timing->renew_deadline_ns - timing->retry_ns) / 2,
		.max_lag_ns = S(60),
		.armed_max_age_ns = S(86400),
		.stop_grace_ns = setup->workload ? MS(500) : 0 };
	n->clock_boot_ns = S(1000);
	n->rate_ppm = setup->rate_ppm[world_index(w, n)];
	n->wall_us = 1800000000000000LL - 1000000000LL;
	n->restart_delay = MS(100);
	n->wake = NEVER;
}

void world_make(struct world *w, const struct setup *setup)
{
	memset(w, 0, offsetof(struct world, events));
	w->setup = *setup;
	w->rng = setup->seed;
	w->heap_count = w->order = 0;
	memset(&w->steps, 0, sizeof(*w) - offsetof(struct world, steps));
	w->free_event_count = POOL_EVENTS;
	w->free_request_count = POOL_REQUESTS;
	for (unsigned i = 0; i < POOL_EVENTS; i++)
		w->free_events[i] = (uint16_t)i;
	for (unsigned i = 0; i < POOL_REQUESTS; i++)
		w->free_requests[i] = (uint16_t)i;
	w->assumed = (struct assumed){ { true, true }, true, true, true, true };
	for (unsigned i = 0; i < APIS; i++) {
		struct api *api = &w->apis[i];

		(void)snprintf(api->uid, sizeof(api->uid), "cluster-%u", i);
		api->unfenced = setup->unfenced;
		api->slot = NOBODY;
		if (i >= HUBS)
			api->follower = setup->follower[i - HUBS];
		api->store.lease.holder = NOBODY;
	}
	for (unsigned i = 0; i < NODES; i++)
		make_options(w, &w->nodes[i], i == TWIN ? 0 : i, setup);
	w->nodes[0].exists = w->nodes[1].exists = true;
	w->nodes[TWIN].exists = setup->twin;
	if (setup->first_term) {
		struct store *store = &w->apis[0].store;

		store->version = 1;
		store->lease = (struct lease){ true, NOBODY, 1, PHASE_NONE, setup->first_term,
			setup->first_term, 0, 1, 1, 15000, 10000, .written = 0 };
		store->data_led = setup->first_term;
		store->role_exists = true;
		store->role = HUB_STANDBY;
		store->role_term = setup->first_term;
		w->opened[0] = w->claimed[0] = w->newest_led = setup->first_term;
	}
}
