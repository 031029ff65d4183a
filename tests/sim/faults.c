/*
 * What can be done to a world: each fault has a name and arguments, as a story has them, and one
 * function. Here also is noted which assumption of the invariants a fault ends. It must not look
 * at what the machine thinks. Called by world.c, chaos.c and story.c.
 */
#include <string.h>

#include "tests/sim/world.h"

static const char *const follower_names[] = { "absent", "alive", "lies", "denied", NULL };
static const char *const syncer_names[] = { "works", "hangs", "fails", "sticks", NULL };
static const char *const worker_names[] = { "works", "bare", NULL };
static const char *const force_names[] = { "complete", "incomplete", NULL };
static const char *const on_names[] = { "off", "on", NULL };

/* --- Processes and hosts ---------------------------------------------------------------------- */

static void up(struct world *w, struct node *n)
{
	n->up = n->exists = true;
	n->boot++;
	n->restart_delay = MS(100);
	/* C15: the supervisor's lock proves that the last writer of the page is dead. */
	n->page.valid_until_ns = 0;
	world_post(w, EVENT_OBSERVER_START, world_index(w, n), n->boot, w->now + MS(60));
	world_post(w, EVENT_ELECTOR_START, world_index(w, n), n->life, w->now + MS(80));
}

static void do_start(struct world *w, const struct fault *f)
{
	if (!w->nodes[f->a].up)
		up(w, &w->nodes[f->a]);
}

/* SIGKILL to the supervisor: its children go with it, the page stays as it is. */
static void do_stop(struct world *w, const struct fault *f)
{
	struct node *n = &w->nodes[f->a];

	if (!n->up)
		return;
	n->up = false;
	world_elector_end(w, n, NEVER);
	n->observer.alive = false;
	n->observer.life++;
	n->syncer.wanted = n->syncer.asked = false;
	if (n->syncer.state != GONE) {
		n->syncer.state = GONE;
		n->syncer.clean = false;
		n->syncer.ended = w->now;
		n->syncer.life++;
	}
	n->running = false;
}

static void do_reboot(struct world *w, const struct fault *f)
{
	struct node *n = &w->nodes[f->a];

	do_stop(w, f);
	n->page = (struct page){ 0 };
	n->page_instance = 0; /* tmpfs: nobody is proven dead */
	n->syncer.ended = 0;
	n->until = n->elector_until = n->observer.until = 0;
	world_reclock(w, n, S(20));
}

static void do_kill(struct world *w, const struct fault *f)
{
	world_elector_end(w, &w->nodes[f->a], w->nodes[f->a].restart_delay);
}

static void do_kill_observer(struct world *w, const struct fault *f)
{
	struct node *n = &w->nodes[f->a];

	n->observer.alive = false;
	n->observer.life++;
	if (n->up)
		world_post(w, EVENT_OBSERVER_START, f->a, n->boot, w->now + f->number + MS(100));
}

static void do_kill_syncer(struct world *w, const struct fault *f)
{
	roles_syncer_end(w, &w->nodes[f->a], false);
}

/* One pause does not end another, or what waits would be read out of order. */
static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* SIGSTOP of everything: the clocks go on. */
static void do_pause(struct world *w, const struct fault *f)
{
	w->nodes[f->a].until = later(w->nodes[f->a].until, w->now + f->number);
}

/* The hypervisor's pause: the clock stands, too. */
static void do_freeze(struct world *w, const struct fault *f)
{
	struct node *n = &w->nodes[f->a];

	world_reclock(w, n, world_boot_ns(w, n));
	n->clock_base = w->now + f->number;
	n->until = later(n->until, w->now + f->number);
	w->assumed.N = false;
}

static void do_pause_elector(struct world *w, const struct fault *f)
{
	struct node *n = &w->nodes[f->a];

	n->elector_until = later(n->elector_until, w->now + f->number);
	if (n->alive && f->number > S(10))
		world_post(w, EVENT_ELECTOR_BEAT, f->a, n->life, w->now + S(10));
}

static void do_pause_observer(struct world *w, const struct fault *f)
{
	w->nodes[f->a].observer.until = later(w->nodes[f->a].observer.until, w->now + f->number);
}

static void do_syncer(struct world *w, const struct fault *f)
{
	w->nodes[f->a].syncer.hangs = f->number == 1;
	w->nodes[f->a].syncer.fails = f->number == 2;
	w->nodes[f->a].syncer.sticks = f->number == 3; /* not even a SIGKILL ends it soon */
}

static void do_workload(struct world *w, const struct fault *f)
{
	w->nodes[f->a].workload_hangs = f->number == 1;
}

static void do_wall(struct world *w, const struct fault *f)
{
	w->nodes[f->a].wall_us += f->number / 1000;
}

/* --- Network ---------------------------------------------------------------------------------- */

static void do_cut(struct world *w, const struct fault *f)
{
	w->links[f->a][f->b].cut = true;
}

static void do_mute(struct world *w, const struct fault *f)
{
	w->links[f->a][f->b].mute = true;
}

static void do_slow(struct world *w, const struct fault *f)
{
	w->links[f->a][f->b].slow = f->number;
}

static void do_blind(struct world *w, const struct fault *f)
{
	w->links[f->a][f->b].blind = true;
}

static void do_join(struct world *w, const struct fault *f)
{
	w->links[f->a][f->b] = (struct link){ 0 };
}

static void do_deaden(struct world *w, const struct fault *f)
{
	w->nodes[f->a].observer.dead_connection = true;
}

/* --- API servers ------------------------------------------------------------------------------ */

static void do_down(struct world *w, const struct fault *f)
{
	w->apis[f->a].down = true;
}

static void do_hang(struct world *w, const struct fault *f)
{
	w->apis[f->a].hung = true;
}

static void do_up(struct world *w, const struct fault *f)
{
	struct api *api = &w->apis[f->a];

	api->down = api->hung = api->refusing = false;
	for (unsigned i = 0; i < NODES; i++)
		if (w->nodes[i].slot == f->a)
			w->nodes[i].own_watch_broken = true;
}

static void do_refuse(struct world *w, const struct fault *f)
{
	w->apis[f->a].refusing = true;
}

static void do_delete(struct world *w, const struct fault *f)
{
	struct store *store = &w->apis[f->a].store;

	/* The led-term stands in the Lease alone: who was not there has lost it (H15 keeps terms).
	 */
	if (!w->nodes[f->a].alive || !w->nodes[f->a].machine.loaded)
		w->assumed.P[f->a] = false;
	store->lease = (struct lease){ .holder = NOBODY };
	store->version++;
	api_changed(w, f->a);
}

/* Somebody edits the annotations away. */
static void do_strip(struct world *w, const struct fault *f)
{
	struct store *store = &w->apis[f->a].store;

	if (!store->lease.exists)
		return;
	store->lease.version = ++store->version;
	store->lease.phase = PHASE_NONE;
	store->lease.term = store->lease.led_term = store->lease.instance = 0;
	store->lease.renew_deadline_ms = 0;
	w->assumed.P[f->a] = false;
	api_changed(w, f->a);
}

static void do_unrole(struct world *w, const struct fault *f)
{
	w->apis[f->a].store.role_exists = false;
	api_role_changed(w, f->a);
}

static void do_save(struct world *w, const struct fault *f)
{
	w->apis[f->a].saved = w->apis[f->a].store;
}

static void do_restore(struct world *w, const struct fault *f)
{
	struct api *api = &w->apis[f->a];

	api->store = api->saved;
	if (!api->store.version)
		api->store.lease.holder = NOBODY;
	w->assumed.P[f->a] = false;
	api_changed(w, f->a);
	api_role_changed(w, f->a);
}

static void do_skew(struct world *w, const struct fault *f)
{
	w->apis[f->a].skew_us += f->number / 1000;
}

/* Behind the same address another cluster answers; and back again. */
static void do_replace(struct world *w, const struct fault *f)
{
	(void)snprintf(w->apis[f->a].uid, sizeof(w->apis[f->a].uid),
	    f->number ? "other-%u" : "cluster-%u", f->a);
	w->assumed.whole = false;
}

static void do_clash(struct world *w, const struct fault *f)
{
	w->apis[f->a].clash = f->number;
	w->assumed.whole = false;
}

static void do_unfence(struct world *w, const struct fault *f)
{
	w->apis[f->a].unfenced = f->number;
}

/* --- Workers ---------------------------------------------------------------------------------- */

static void do_follower(struct world *w, const struct fault *f)
{
	w->apis[f->a].follower = (enum follower)f->number;
	if (f->number == FOLLOWER_LIES)
		w->assumed.whole = false;
}

/* A worker's admin writes a term, in the name of a hub: even ones are hub-a's. */
static void do_rogue(struct world *w, const struct fault *f)
{
	struct api *api = &w->apis[f->a];
	uint64_t term = (uint64_t)f->number;

	if (term <= api->term)
		return;
	api->term = term;
	api->slot = term % 2;
	for (unsigned i = 0; i < NODES; i++) {
		struct machine_event seen = { .input = MACHINE_WORKER_SEEN };

		if (!w->nodes[i].alive || w->links[i][f->a].cut || f->a >= HUBS + w->setup.workers)
			continue;
		seen.worker.worker = f->a - HUBS;
		seen.worker.slot = api->slot;
		seen.worker.term = term;
		world_tell(w, &w->nodes[i], &seen, MS(2));
	}
}

static void do_bare(struct world *w, const struct fault *f)
{
	w->apis[f->a].no_crd = f->number;
}

/* --- An operator ------------------------------------------------------------------------------ */

static void command(struct world *w, const struct fault *f, enum machine_command_verb verb)
{
	struct machine_event e = { .input = MACHINE_COMMAND };
	struct node *n = &w->nodes[f->a];

	if (!n->alive)
		return;
	e.command.verb = verb;
	e.command.operation = verb == COMMAND_CALL_OFF ? n->machine.handover : ++w->operations;
	e.command.for_ms = f->number / MS(1);
	e.command.accept_incomplete = verb == COMMAND_FORCE && f->number;
	world_tell(w, n, &e, 0);
}

static void do_switchover(struct world *w, const struct fault *f)
{
	command(w, f, COMMAND_SWITCHOVER);
}

static void do_call_off(struct world *w, const struct fault *f)
{
	command(w, f, COMMAND_CALL_OFF);
}

static void do_promote(struct world *w, const struct fault *f)
{
	command(w, f, COMMAND_PROMOTE);
}

static void do_force(struct world *w, const struct fault *f)
{
	w->assumed.F = false;
	command(w, f, COMMAND_FORCE);
}

static void do_hold(struct world *w, const struct fault *f)
{
	command(w, f, COMMAND_PAUSE);
}

static void do_let(struct world *w, const struct fault *f)
{
	command(w, f, COMMAND_RESUME);
}

static void do_acknowledge(struct world *w, const struct fault *f)
{
	command(w, f, COMMAND_ACKNOWLEDGE);
}

static void do_accept(struct world *w, const struct fault *f)
{
	w->assumed.whole = false;
	command(w, f, COMMAND_ACCEPT_PEER);
}

/* --- Everything well again -------------------------------------------------------------------- */

static void do_heal(struct world *w, const struct fault *f)
{
	(void)f;
	memset(w->links, 0, sizeof(w->links));
	for (unsigned i = 0; i < APIS; i++) {
		struct fault one = { .a = (uint8_t)i };

		do_up(w, &one);
		w->apis[i].clash = w->apis[i].no_crd = false;
		w->apis[i].unfenced = w->setup.unfenced;
		if (w->apis[i].follower == FOLLOWER_LIES)
			w->apis[i].follower = FOLLOWER_ALIVE;
		(void)snprintf(w->apis[i].uid, sizeof(w->apis[i].uid), "cluster-%u", i);
	}
	for (unsigned i = 0; i < NODES; i++) {
		struct fault one = { .a = (uint8_t)i };
		struct node *n = &w->nodes[i];

		n->syncer.hangs = n->syncer.fails = n->syncer.sticks = false;
		n->workload_hangs = false;
		n->observer.dead_connection = false;
		if (i == TWIN)
			do_stop(w, &one);
		else
			do_start(w, &one);
	}
	w->armed = 0;
	w->fired = UINT64_MAX;
}

/* --- Names ------------------------------------------------------------------------------------ */

const struct fault_row fault_rows[VERB_COUNT] = {
	[VERB_NONE] = { "nothing", NULL, "", NULL },
	[VERB_RUN] = { "run", NULL, "T", NULL },
	[VERB_START] = { "start", do_start, "N", NULL },
	[VERB_STOP] = { "stop", do_stop, "N", NULL },
	[VERB_REBOOT] = { "reboot", do_reboot, "N", NULL },
	[VERB_KILL] = { "kill", do_kill, "N", NULL },
	[VERB_KILL_OBSERVER] = { "kill-observer", do_kill_observer, "NT", NULL },
	[VERB_KILL_SYNCER] = { "kill-syncer", do_kill_syncer, "N", NULL },
	[VERB_PAUSE] = { "pause", do_pause, "NT", NULL },
	[VERB_FREEZE] = { "freeze", do_freeze, "NT", NULL },
	[VERB_PAUSE_ELECTOR] = { "pause-elector", do_pause_elector, "NT", NULL },
	[VERB_PAUSE_OBSERVER] = { "pause-observer", do_pause_observer, "NT", NULL },
	[VERB_CUT] = { "cut", do_cut, "H", NULL },
	[VERB_MUTE] = { "mute", do_mute, "H", NULL },
	[VERB_SLOW] = { "slow", do_slow, "HT", NULL },
	[VERB_BLIND] = { "blind", do_blind, "H", NULL },
	[VERB_JOIN] = { "join", do_join, "H", NULL },
	[VERB_DEADEN] = { "deaden", do_deaden, "N", NULL },
	[VERB_DOWN] = { "down", do_down, "P", NULL },
	[VERB_HANG] = { "hang", do_hang, "P", NULL },
	[VERB_UP] = { "up", do_up, "P", NULL },
	[VERB_REFUSE] = { "refuse", do_refuse, "P", NULL },
	[VERB_DELETE] = { "delete", do_delete, "P", NULL },
	[VERB_STRIP] = { "strip", do_strip, "P", NULL },
	[VERB_UNROLE] = { "unrole", do_unrole, "P", NULL },
	[VERB_SAVE] = { "save", do_save, "P", NULL },
	[VERB_RESTORE] = { "restore", do_restore, "P", NULL },
	[VERB_SKEW] = { "skew", do_skew, "PT", NULL },
	[VERB_WALL] = { "wall", do_wall, "NT", NULL },
	[VERB_REPLACE] = { "replace", do_replace, "PC", on_names },
	[VERB_CLASH] = { "clash", do_clash, "PC", on_names },
	[VERB_UNFENCE] = { "unfence", do_unfence, "PC", on_names },
	[VERB_FOLLOWER] = { "follower", do_follower, "PC", follower_names },
	[VERB_ROGUE] = { "rogue", do_rogue, "PU", NULL },
	[VERB_NO_CRD] = { "worker", do_bare, "PC", worker_names },
	[VERB_SYNCER] = { "syncer", do_syncer, "NC", syncer_names },
	[VERB_WORKLOAD] = { "workload", do_workload, "NC", syncer_names },
	[VERB_SWITCHOVER] = { "switchover", do_switchover, "N", NULL },
	[VERB_CALL_OFF] = { "call-off", do_call_off, "N", NULL },
	[VERB_PROMOTE] = { "promote", do_promote, "N", NULL },
	[VERB_FORCE] = { "force", do_force, "NC", force_names },
	[VERB_HOLD] = { "hold", do_hold, "NT", NULL },
	[VERB_LET] = { "let", do_let, "N", NULL },
	[VERB_ACKNOWLEDGE] = { "acknowledge", do_acknowledge, "N", NULL },
	[VERB_ACCEPT] = { "accept-peer", do_accept, "N", NULL },
	[VERB_HEAL] = { "heal", do_heal, "", NULL },
};

void faults_apply(struct world *w, const struct fault *fault)
{
	char text[128] = "* ";

	if (w->trace) {
		struct fault now = *fault;

		now.when = WHEN_NOW;
		faults_print(&now, text + 2, sizeof(text) - 2);
		fprintf(w->trace, "[%7lld.%03lld] %s\n", (long long)(w->now / S(1)),
		    (long long)(w->now / MS(1) % 1000), text);
	}
	if (fault_rows[fault->verb].act)
		fault_rows[fault->verb].act(w, fault);
}
