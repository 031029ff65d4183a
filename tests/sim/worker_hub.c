/*
 * A hub (see the header): its repointer is the real one, opened as repointer/main.c opens it and
 * fed as repointer/messages.c feeds it; its elector is a schedule: while it leads and its API
 * server answers, the permit is renewed, and a permit that nobody renews runs out.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "repointer/repointer.h"
#include "tests/sim/worker_world.h"

#define RENEW_NS    MS(400)
#define DEADLINE_NS MS(2500)
#define AT_ONCE_NS  MS(300) /* two trips, and a bundle that was told long ago */

static struct repointer *running[HUBS];
static uint64_t takeovers;

/* --- What the repointer says to others -------------------------------------------------------- */

/* C7: a worker that follows another hub is told to people, and nothing else is told as that. */
static void superseded_is_an_event(struct world *w, enum message_id id, const void *body)
{
	static bool owed;

	if (id == MSG_PUSHED) {
		const struct msg_pushed *m = body;

		if (owed)
			world_broken(w, "C7 superseded_is_an_event", "nobody was told");
		owed = m->outcome == PUSH_SUPERSEDED;
	} else if (id == MSG_EVENT_ASKED) {
		const struct msg_event_asked *m = body;

		if (m->reason != EVENT_WORKER_SUPERSEDED)
			return;
		if (!owed)
			world_broken(w, "C7 superseded_is_an_event", "nobody was superseded");
		owed = false;
	}
}

/* What is shown of a worker was read from the object, never from an answer that is none. */
static void what_is_seen_was_read(struct world *w, enum message_id id, const void *body)
{
	const struct msg_status_worker *m = body;

	if (id == MSG_STATUS_WORKER && m->state == WORKER_OK && m->term == 0)
		world_broken(w, "H20 what_is_seen_was_read",
		    "worker-%llu is shown as well, and nothing stands there",
		    (unsigned long long)m->worker);
}

bool role_send(struct role_process *process, enum role peer, unsigned shard, enum message_id id,
    const void *body)
{
	struct world *w = process->actor->w;

	(void)peer;
	(void)shard;
	superseded_is_an_event(w, id, body);
	what_is_seen_was_read(w, id, body);
	if (id == MSG_PUSHED && process->actor->index < HUBS) {
		const struct msg_pushed *m = body;
		const struct api *api = &w->apis[HUBS + m->worker];

		/* What it tells the elector is so, or was a moment ago. */
		if (m->outcome == PUSH_DONE && !api->unfenced && api->highest < m->term &&
		    api->deleted < m->term)
			world_broken(w, "H16 what_was_pushed_stands_there",
			    "%s says done for term %llu, worker-%llu never had it",
			    hub_names[process->actor->index], (unsigned long long)m->term,
			    (unsigned long long)m->worker);
	}
	return true;
}

/* --- Life ------------------------------------------------------------------------------------- */

static void step_again(void *arg, int64_t now_ns)
{
	(void)now_ns;
	push_step(arg);
}

void hub_start(struct world *w, unsigned hub)
{
	struct actor *actor = &w->actors[hub];
	struct repointer *repointer = calloc(1, sizeof(*repointer));

	CHECK(repointer && !actor->alive);
	actor->alive = true;
	actor->life++;
	actor->config = world_config(w, false, hub);
	running[hub] = repointer;
	repointer->process = &actor->process;
	repointer->client = &actor->client;
	repointer->self = hub_names[hub];
	repointer->endpoint = hub_endpoints[hub];
	repointer->count = w->workers;
	repointer->members = calloc(w->workers, sizeof(*repointer->members));
	CHECK(repointer->members);
	for (unsigned i = 0; i < w->workers; i++) {
		struct member *member = &repointer->members[i];

		member->repointer = repointer;
		member->index = i;
		member->machine.state = WORKER_UNREACHABLE;
		member->timer = (struct loop_timer){ .fire = step_again, .arg = member };
		actor->client.has[CREDENTIAL_WORKER + i] = true;
		watch_start(member);
		rehearse_soon(member);
		hub_deliver(w, hub, i);
	}
	if (w->leads[hub].leads) /* a new link gets what holds now */
		push_permit(repointer, w->leads[hub].term, w->leads[hub].valid_until);
}

void hub_die(struct world *w, unsigned hub)
{
	struct actor *actor = &w->actors[hub];
	struct repointer *repointer = running[hub];

	if (!actor->alive)
		return;
	for (unsigned i = 0; i < QUESTIONS_AT_ONCE; i++)
		if (repointer->questions[i])
			question_free(repointer->questions[i]);
	for (unsigned i = 0; i < repointer->count; i++) {
		struct member *member = &repointer->members[i];

		deliver_forget(member);
		free(member->bundle);
		free(member->seen_identity);
		free(member->seen_endpoint);
		free(member->seen_bundle);
	}
	client_die(actor);
	free(repointer->members);
	free(repointer);
	free(actor->config);
	running[hub] = NULL;
	actor->alive = false;
}

/* --- Leadership by schedule ------------------------------------------------------------------- */

static void tell(struct world *w, unsigned hub, int64_t valid_until)
{
	if (running[hub])
		push_permit(running[hub], w->leads[hub].term, valid_until);
}

static void renew(struct world *w, void *arg, uint64_t number)
{
	unsigned hub = (unsigned)(number & 1);
	struct lead *lead = &w->leads[hub];

	(void)arg;
	if (!lead->leads || lead->since != (int64_t)(number >> 1))
		return;
	if (w->now >= lead->valid_until && lead->valid_until) {
		world_say(
		    w, "%s: its term %llu ran out", hub_names[hub], (unsigned long long)lead->term);
		lead->leads = false;
		tell(w, hub, 0);
		return;
	}
	if (lead->renews && !w->apis[hub].down) {
		lead->valid_until = w->now + DEADLINE_NS;
		api_write_lease(w, hub, "leading");
		tell(w, hub, lead->valid_until);
	}
	world_post(w, w->now + RENEW_NS, renew, NULL, number);
}

/* B26: whoever can be reached is told at once, whatever others do. */
static void a_reachable_worker_is_told_at_once(struct world *w, void *arg, uint64_t number)
{
	unsigned hub = (unsigned)(number & 1);
	const struct lead *lead = &w->leads[hub];

	(void)arg;
	if (!lead->leads || lead->since != (int64_t)(number >> 1) || !running[hub])
		return;
	for (unsigned i = 0; i < w->workers; i++) {
		const struct api *api = &w->apis[HUBS + i];

		if (w->calm_since[hub][i] != w->now - AT_ONCE_NS || api->down || api->no_crd ||
		    api->unfenced || api->denies[hub] || w->links[hub][HUBS + i] != LINK_OK)
			continue;
		if (api_term(api) < lead->term)
			world_broken(w, "B26 a_reachable_worker_is_told_at_once",
			    "worker-%u has term %llu, %s leads with %llu since %lld ms", i,
			    (unsigned long long)api_term(api), hub_names[hub],
			    (unsigned long long)lead->term, (long long)(AT_ONCE_NS / MS(1)));
	}
}

void hub_take_over(struct world *w, unsigned hub)
{
	struct lead *lead = &w->leads[hub];
	uint64_t term = 0;

	if (w->apis[hub].down)
		return;
	for (unsigned h = 0; h < HUBS; h++)
		term = w->leads[h].term > term ? w->leads[h].term : term;
	for (unsigned i = 0; i < w->workers; i++)
		term = api_term(&w->apis[HUBS + i]) > term ? api_term(&w->apis[HUBS + i]) : term;
	for (unsigned i = 0; i < w->workers; i++)
		term = w->disks[i].max_term > term ? w->disks[i].max_term : term;
	term++;
	term += (term % 2 == 1) == (hub == 0); /* slot 0: even terms */
	*lead = (struct lead){
		.leads = true, .renews = true, .term = term, .since = (int64_t)++takeovers
	};
	world_say(w, "%s leads with term %llu", hub_names[hub], (unsigned long long)term);
	for (unsigned i = 0; i < w->workers; i++)
		w->calm_since[hub][i] = w->now;
	api_write_lease(w, hub, "leading");
	api_publish(w, hub);
	lead->valid_until = w->now + DEADLINE_NS;
	tell(w, hub, lead->valid_until);
	world_post(w, w->now + RENEW_NS, renew, NULL, (uint64_t)lead->since << 1 | hub);
	world_post(w, w->now + AT_ONCE_NS, a_reachable_worker_is_told_at_once, NULL,
	    (uint64_t)lead->since << 1 | hub);
}

void hub_step_down(struct world *w, unsigned hub)
{
	struct lead *lead = &w->leads[hub];

	if (!lead->leads)
		return;
	world_say(
	    w, "%s steps down from term %llu", hub_names[hub], (unsigned long long)lead->term);
	lead->leads = false;
	tell(w, hub, 0);
	if (!w->apis[hub].down)
		api_write_lease(w, hub, "none");
}

void hub_deliver(struct world *w, unsigned hub, unsigned worker)
{
	struct msg_hub_token m = { .worker = worker,
		.endpoint = str_of(hub_endpoints[hub]),
		.namespace = STR_LIT("project"),
		.ca = str_of(hub_cas[hub]) };
	struct member *member;
	char token[64];

	if (!running[hub])
		return;
	member = repointer_member(running[hub], worker);
	CHECK(member);
	(void)snprintf(
	    token, sizeof(token), "token-%u-%u-%u", hub, worker, w->apis[hub].token[worker]);
	m.token = str_of(token);
	push_bundle(member, m.ca);
	deliver_begin(member, &m);
}

void hub_question(struct world *w, unsigned hub)
{
	uint64_t nonce = world_random(w, 0) | 1;

	if (!running[hub])
		return;
	question_start(running[hub], nonce);
	for (unsigned i = 0; i < running[hub]->count; i++)
		witness_start(&running[hub]->members[i], nonce, 1 - hub);
}
