/*
 * A schedule from a seed (see the header): first anything may happen and what must never happen is
 * watched for, then everything heals, one hub leads with the highest term, and what must happen in
 * the end is demanded.
 */
#include <string.h>

#include "tests/sim/worker_world.h"

#define CHAOS_NS S(240)
#define CALM_NS  S(180) /* B26 gives a dead worker a minute */
#define LONG_NS  S(420) /* C9 gives a foreign edit five */

typedef void fault_fn(struct world *w, unsigned hub, unsigned worker);

static void touch(struct world *w, unsigned worker)
{
	for (unsigned h = 0; h < HUBS; h++)
		w->calm_since[h][worker] = w->now;
}

static void link_changes(struct world *w, unsigned hub, unsigned worker)
{
	unsigned actor, api;
	enum link_state state = (enum link_state)world_random(w, LINK_STATES);

	switch (world_random(w, 3)) {
	case 0: /* a hub and a worker's API server */ actor = hub, api = HUBS + worker; break;
	case 1: /* a follower and a hub */ actor = HUBS + worker, api = hub; break;
	default: /* a follower and its own cluster */ actor = api = HUBS + worker; break;
	}
	w->links[actor][api] = state;
	touch(w, worker);
	world_say(w, "link of actor %u to API server %u: %d", actor, api, (int)state);
}

static void server_changes(struct world *w, unsigned hub, unsigned worker)
{
	unsigned api = world_random(w, 3) ? HUBS + worker : hub;

	w->apis[api].down = !w->apis[api].down;
	for (unsigned i = 0; i < w->workers; i++)
		touch(w, i);
	world_say(w, "API server %u is %s", api, w->apis[api].down ? "down" : "up");
}

static void rights_change(struct world *w, unsigned hub, unsigned worker)
{
	struct api *api = &w->apis[HUBS + worker];

	api->denies[hub] = !api->denies[hub];
	touch(w, worker);
	world_say(w, "worker-%u %s hub %u", worker, api->denies[hub] ? "denies" : "admits", hub);
}

static void kind_changes(struct world *w, unsigned hub, unsigned worker)
{
	struct api *api = &w->apis[HUBS + worker];

	(void)hub;
	if (!api->no_crd)
		api_delete_active(w, worker);
	api->no_crd = !api->no_crd;
	touch(w, worker);
	world_say(w, "worker-%u has %s kind", worker, api->no_crd ? "no" : "the");
}

static void fence_changes(struct world *w, unsigned hub, unsigned worker)
{
	struct api *api = &w->apis[HUBS + worker];

	(void)hub;
	api->unfenced = !api->unfenced;
	api->highest = api_term(api);
	world_say(w, "worker-%u is %s", worker, api->unfenced ? "without fence" : "fenced");
}

static void object_is_edited(struct world *w, unsigned hub, unsigned worker)
{
	uint64_t term = api_term(&w->apis[HUBS + worker]);

	touch(w, worker);
	switch (world_random(w, 3)) {
	case 0: api_delete_active(w, worker); break;
	case 1: api_edit_active(w, worker, term + 2, hub_endpoints[hub]); break; /* a rogue */
	default: api_edit_active(w, worker, term, "https://elsewhere"); break;
	}
	world_say(w, "worker-%u: ClusterController/active edited or deleted by hand", worker);
}

static void hub_restarts(struct world *w, unsigned hub, unsigned worker)
{
	(void)worker;
	hub_die(w, hub);
	hub_start(w, hub);
	for (unsigned i = 0; i < w->workers; i++)
		touch(w, i);
	world_say(w, "repointer of %s restarts", hub_names[hub]);
}

static void follower_restarts(struct world *w, unsigned hub, unsigned worker)
{
	(void)hub;
	world_say(w, "follower of worker-%u restarts", worker);
	follower_die(w, worker);
	follower_start(w, worker);
}

static void disk_changes(struct world *w, unsigned hub, unsigned worker)
{
	(void)hub;
	w->disks[worker].broken = !w->disks[worker].broken;
	world_say(w, "disk of worker-%u %s", worker,
	    w->disks[worker].broken ? "refuses" : "takes writes again");
}

static void tokens_change(struct world *w, unsigned hub, unsigned worker)
{
	(void)hub;
	world_say(w, "worker-%u gets other tokens", worker);
	follower_rotate(w, worker);
}

static void lead_moves(struct world *w, unsigned hub, unsigned worker)
{
	(void)worker;
	hub_take_over(w, hub);
	/* The rival may go on for a while: it cannot read, or was paused. */
	if (world_random(w, 2))
		hub_step_down(w, 1 - hub);
}

static void lead_ends(struct world *w, unsigned hub, unsigned worker)
{
	(void)worker;
	if (world_random(w, 2))
		w->leads[hub].renews = false;
	else
		hub_step_down(w, hub);
}

static void questions(struct world *w, unsigned hub, unsigned worker)
{
	(void)worker;
	hub_question(w, hub);
}

static fault_fn *const faults[] = { link_changes, link_changes, link_changes, server_changes,
	rights_change, kind_changes, fence_changes, object_is_edited, hub_restarts,
	follower_restarts, disk_changes, tokens_change, lead_moves, lead_moves, lead_moves,
	lead_ends, questions };

static void strike(struct world *w, void *arg, uint64_t rest)
{
	(void)arg;
	if (w->now >= w->chaos_ends)
		return;
	faults[world_random(w, sizeof(faults) / sizeof(faults[0]))](
	    w, (unsigned)world_random(w, HUBS), (unsigned)world_random(w, w->workers));
	if (rest > 1)
		world_post(w, w->now + (int64_t)world_random(w, 2 * CHAOS_NS / 40), strike, NULL,
		    rest - 1);
}

/* Answers that a follower never gets, in the middle of its last move. */
static void mute_for_a_moment(struct world *w, void *arg, uint64_t number)
{
	enum link_state *link = &w->links[number / HUBS][number % HUBS];

	*link = arg ? LINK_MUTE : LINK_OK;
	if (arg)
		world_post(w, w->now + MS(1500), mute_for_a_moment, NULL, number);
}

/* C9: somebody means another address; that has a reason, or is made right in the end. */
static void edited_by_hand(struct world *w, void *arg, uint64_t worker)
{
	(void)arg;
	world_say(w, "worker-%llu: another endpoint, by hand", (unsigned long long)worker);
	w->edited = true;
	api_edit_active(
	    w, (unsigned)worker, api_term(&w->apis[HUBS + worker]), "https://elsewhere");
}

static unsigned heal(struct world *w, bool edits)
{
	unsigned leader = (unsigned)world_random(w, HUBS);

	memset(w->links, 0, sizeof(w->links));
	for (unsigned a = 0; a < APIS; a++) {
		w->apis[a].down = w->apis[a].no_crd = w->apis[a].unfenced = false;
		memset(w->apis[a].denies, 0, sizeof(w->apis[a].denies));
		w->apis[a].highest = api_term(&w->apis[a]);
	}
	for (unsigned i = 0; i < w->workers; i++) {
		w->disks[i].broken = false;
		touch(w, i);
	}
	world_say(w, "everything heals");
	w->healed = w->now;
	hub_take_over(w, leader);
	hub_step_down(w, 1 - leader);
	if (edits)
		world_post(w, w->now + S(60), edited_by_hand, NULL, 0);
	for (unsigned i = 0; i < w->workers; i++)
		if (world_random(w, 2))
			world_post(w, w->now + (int64_t)world_random(w, S(5)), mute_for_a_moment, w,
			    (HUBS + i) * HUBS + leader);
	return leader;
}

static void settled(struct world *w, unsigned leader)
{
	for (unsigned i = 0; i < w->workers && !w->broken; i++) {
		const struct api *api = &w->apis[HUBS + i];
		const char *fault = follower_settled(w, i, leader);
		const json_t *spec = json_object_get(api->active, "spec");
		const char *endpoint = json_string_value(json_object_get(spec, "endpoint"));

		if (api_term(api) != w->leads[leader].term ||
		    strcmp(api_identity(api), hub_names[leader]) != 0 ||
		    strcmp(endpoint ? endpoint : "", hub_endpoints[leader]) != 0)
			world_broken(w, "every_worker_ends_at_the_hub_that_leads",
			    "worker-%u names %s with term %llu, %s leads with %llu", i,
			    api_identity(api), (unsigned long long)api_term(api), hub_names[leader],
			    (unsigned long long)w->leads[leader].term);
		else if (fault)
			world_broken(w, "every_follower_ends_at_the_hub_that_leads",
			    "worker-%u: %s", i, fault);
		if (w->disks[i].runs > w->moves)
			world_broken(w, "the_command_starts_once_per_change",
			    "worker-%u: %u of %llu", i, w->disks[i].runs,
			    (unsigned long long)w->moves);
	}
}

bool chaos_run(struct world *w, uint64_t seed, bool trace)
{
	unsigned leader;

	world_make(w, seed);
	w->trace = trace;
	for (unsigned h = 0; h < HUBS; h++)
		hub_start(w, h);
	for (unsigned i = 0; i < w->workers; i++)
		follower_start(w, i);
	hub_take_over(w, (unsigned)world_random(w, HUBS));
	world_post(w, w->now + S(2), strike, NULL, 4 + world_random(w, 36));
	w->chaos_ends = w->now + CHAOS_NS;
	world_run(w, w->chaos_ends);
	if (!w->broken) {
		leader = heal(w, seed % 8 == 0);
		world_run(w, w->now + (seed % 8 ? CALM_NS : LONG_NS));
		if (!w->broken)
			settled(w, leader);
	}
	world_free(w);
	return !w->broken;
}
