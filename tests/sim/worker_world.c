/*
 * Time, chance, timers and the queue of events (see the header), and what the code under test calls
 * below itself: loop, clocks, random numbers, log. It knows no rule.
 */
#include "tests/sim/worker_world.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "ipc/role.h"

struct world *world;

const char *const hub_names[HUBS] = { "hub-a", "hub-b" };
const char *const hub_endpoints[HUBS] = { "https://hub-a:6443", "https://hub-b:6443" };
const char *const hub_cas[HUBS] = { "ca of hub-a", "ca of hub-b" };

/* --- What lies below the code under test ------------------------------------------------------ */

int64_t base_clock_boot_ns(void)
{
	return world->now;
}

int64_t base_clock_wall_us(void)
{
	return 1767225600000000LL + world->now / 1000;
}

uint64_t base_random_u64(void)
{
	return world_random(world, 0) | 1;
}

void log_write(enum log_level level, const char *format, ...)
{
	va_list arguments;

	if (!world || !world->trace || level < LOG_INFO)
		return;
	fprintf(stderr, "[%9.3f] ", (double)world->now / 1e9);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

/* What a line is about stands in no trace. */
void log_term(uint64_t term)
{
	(void)term;
}

void log_operation(const char *id)
{
	(void)id;
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t at_ns)
{
	struct actor *actor = loop->actor;

	timer->at_ns = at_ns;
	if (timer->slot)
		return;
	CHECK(actor->timer_count < MAX_TIMERS && timer->fire);
	actor->timers[actor->timer_count++] = timer;
	timer->slot = actor->timer_count;
}

void loop_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
	struct actor *actor = loop->actor;
	struct loop_timer *last;

	if (!timer->slot)
		return;
	last = actor->timers[--actor->timer_count];
	actor->timers[timer->slot - 1] = last;
	last->slot = timer->slot;
	timer->slot = 0;
}

struct loop *role_loop(struct role_process *process)
{
	return &process->actor->loop;
}

const struct us_config *role_config(const struct role_process *process)
{
	return process->actor->config;
}

void role_metric(struct role_process *process, enum metric_id id, const char *label,
    const char *label2, int64_t value_micro)
{
	struct actor *actor = process->actor;

	(void)label2;
	(void)value_micro;
	if (id == METRIC_HUB_SWITCHES)
		actor->w->disks[actor->index - HUBS].counted = true;
	if (id == METRIC_RECONNECTS)
		actor->w->disks[actor->index - HUBS].way = label;
}

/* --- Chance, words ---------------------------------------------------------------------------- */

uint64_t world_random(struct world *w, uint64_t below)
{
	uint64_t x = w->rng += 0x9e3779b97f4a7c15ULL; /* splitmix64 */

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	x ^= x >> 31;
	return below ? x % below : x;
}

void world_say(struct world *w, const char *format, ...)
{
	va_list arguments;

	if (!w->trace)
		return;
	fprintf(stderr, "[%9.3f]    ", (double)w->now / 1e9);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

void world_broken(struct world *w, const char *sentence, const char *format, ...)
{
	va_list arguments;

	if (w->broken)
		return;
	w->broken = sentence;
	va_start(arguments, format);
	(void)vsnprintf(w->detail, sizeof(w->detail), format, arguments);
	va_end(arguments);
	world_say(w, "BROKEN %s: %s", sentence, w->detail);
}

/* --- Events and timers ------------------------------------------------------------------------ */

void world_post(struct world *w, int64_t at, void (*act)(struct world *, void *, uint64_t),
    void *arg, uint64_t number)
{
	struct event *event = malloc(sizeof(*event)), **place = &w->events;

	CHECK(event);
	*event = (struct event){
		.at = at > w->now ? at : w->now, .act = act, .arg = arg, .number = number
	};
	while (*place && (*place)->at <= event->at)
		place = &(*place)->next;
	event->next = *place;
	*place = event;
}

static struct loop_timer *first_timer(struct world *w, struct actor **whose)
{
	struct loop_timer *first = NULL;

	for (unsigned a = 0; a < ACTORS; a++) {
		struct actor *actor = &w->actors[a];

		for (unsigned t = 0; actor->alive && t < actor->timer_count; t++) {
			if (first && actor->timers[t]->at_ns >= first->at_ns)
				continue;
			first = actor->timers[t];
			*whose = actor;
		}
	}
	return first;
}

void world_run(struct world *w, int64_t end)
{
	world = w;
	while (!w->broken) {
		struct actor *actor = NULL;
		struct loop_timer *timer = first_timer(w, &actor);
		struct event *event = w->events;
		int64_t timer_at = timer ? timer->at_ns : INT64_MAX;
		int64_t event_at = event ? event->at : INT64_MAX;
		int64_t at = timer_at < event_at ? timer_at : event_at;

		if (at >= end)
			break;
		if (at > w->now)
			w->now = at;
		w->steps++;
		if (event_at <= timer_at) { /* what waits is read before a timer fires (H2) */
			w->events = event->next;
			event->act(w, event->arg, event->number);
			free(event);
		} else {
			loop_timer_cancel(&actor->loop, timer);
			w->current = actor;
			timer->fire(timer->arg, w->now);
		}
	}
	if (w->now < end)
		w->now = end;
}

/* --- A world ---------------------------------------------------------------------------------- */

static uint32_t pool_used;

static config_text put(struct us_config *config, const char *text)
{
	config_text at = pool_used;

	memcpy(config->pool + at, text, strlen(text) + 1);
	pool_used += (uint32_t)strlen(text) + 1;
	return at;
}

struct us_config *world_config(struct world *w, bool follower, unsigned self)
{
	struct us_config *config = calloc(1, sizeof(*config));
	char name[16];

	CHECK(config);
	pool_used = 1;
	config->mode = follower ? CONFIG_FOLLOWER : CONFIG_ACTIVE;
	config->hub_count = HUBS;
	for (unsigned h = 0; h < HUBS; h++) {
		config->hubs[h].name = put(config, hub_names[h]);
		config->hubs[h].endpoint = put(config, hub_endpoints[h]);
	}
	config->namespace = put(config, "kubeslice-controller");
	config->renew_deadline_ms = 2500;
	config->retry_period_ms = 400;
	config->shard_size = MAX_WORKERS;
	(void)snprintf(name, sizeof(name), "worker-%u", self);
	config->self = follower ? 0 : self;
	config->self_name = put(config, follower ? name : hub_names[self]);
	config->follower = (struct config_follower){ .project_namespace = put(config, "project"),
		.worker_namespace = put(config, "kubeslice-system"),
		.interval_ms = 2000,
		.timeout_ms = 1000,
		.confirmations = 2 };
	if (follower && self % 2) {
		config->follower.operator_secret = put(config, "kubeslice-hub");
		config->follower.operator_deployment = put(config, "kubeslice-operator");
	}
	config->argument_count = follower && self % 3 == 2 ? 0 : 1; /* one that runs nothing */
	config->worker_count = follower ? 0 : w->workers;
	for (unsigned i = 0; i < w->workers && !follower; i++) {
		(void)snprintf(name, sizeof(name), "worker-%u", i);
		config->workers[i].name = put(config, name);
		config->workers[i].project_namespace = put(config, "project");
	}
	return config;
}

void world_make(struct world *w, uint64_t seed)
{
	memset(w, 0, sizeof(*w));
	world = w;
	w->seed = seed;
	w->rng = seed * 0x2545f4914f6cdd1dULL + 1;
	w->now = S(1000);
	w->workers = 1 + (unsigned)world_random(w, MAX_WORKERS);
	for (unsigned a = 0; a < ACTORS; a++) {
		struct actor *actor = &w->actors[a];

		actor->w = w;
		actor->index = a;
		actor->loop.actor = actor->process.actor = actor->client.actor = actor;
	}
	for (unsigned i = 0; i < MAX_WORKERS; i++)
		w->disks[i].hub = w->disks[i].run = -1;
	api_make(w);
}

void world_free(struct world *w)
{
	for (unsigned h = 0; h < HUBS; h++)
		hub_die(w, h);
	for (unsigned i = 0; i < w->workers; i++)
		follower_die(w, i);
	client_free_requests(w);
	while (w->events) {
		struct event *event = w->events;

		w->events = event->next;
		free(event);
	}
	api_free(w);
}
