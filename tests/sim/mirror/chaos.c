/*
 * One schedule: a seed draws knobs and everything after them. First chaos, in which nothing may be
 * destroyed or invented (invariants.c); then all faults end, and the copy must become equal to the
 * source (equal.c), stay so without a write, and a restart must write nothing (H11).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "tests/sim/mirror/mirror.h"

#define CONVERGES_IN S(900)
/* A restart that finds something to do is followed by another one, but not for ever. */
#define ROUNDS_MAX 10u
#define QUIET_FOR  (the->seed % 8 ? S(150) : S(420)) /* the latter: watches end and begin anew */
#define AGAIN_FOR  S(180)

struct mirror *the;
static jmp_buf out;

const char *const knob_names[KNOB_COUNT] = { "lose-request", "lose-reply", "errors", "gone", "cut",
	"outage", "slow", "repeat", "restart", "restore", "own-restore", "edits", "foreign",
	"marks", "spaces", "no-crd", "burst", "bad", "finalize", "pause", "promote", "no-watchlist",
	"other", "ahead", "listed", "versions", "tight" };

/* --- Chance, time, words -------------------------------------------------------------------- */

uint64_t chaos_random(uint64_t below)
{
	uint64_t x;

	the->rng += 0x9e3779b97f4a7c15ULL;
	x = the->rng;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	x ^= x >> 31;
	return below ? x % below : x;
}

bool chaos_on(enum knob knob)
{
	return the->knobs & (1u << knob);
}

bool chaos_chance(enum knob knob, unsigned per_mille)
{
	return chaos_on(knob) && the->phase == PHASE_CHAOS && chaos_random(1000) < per_mille;
}

void chaos_say(const char *format, ...)
{
	va_list list;

	if (!the->trace)
		return;
	fprintf(the->trace, "[%8.3f] ", (double)the->now / 1e9);
	va_start(list, format);
	(void)vfprintf(the->trace, format, list);
	va_end(list);
	fputc('\n', the->trace);
}

void broken(const char *sentence, const char *format, ...)
{
	va_list list;

	if (the->broken)
		return;
	the->broken = sentence;
	va_start(list, format);
	(void)vsnprintf(the->detail, sizeof(the->detail), format, list);
	va_end(list);
	chaos_say("BROKEN: %s: %s", sentence, the->detail);
}

/* In place of base/check.c: a bug that a CHECK found ends the schedule, not the simulator. */
_Noreturn void base_check_failed(const char *file, int line, const char *condition)
{
	broken("no CHECK fails", "%s:%d: %s", file, line, condition);
	longjmp(out, 1);
}

/* --- Events --------------------------------------------------------------------------------- */

static bool before(const struct event *a, const struct event *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

struct event *event_post(enum event_kind kind, int64_t at, uint64_t id)
{
	size_t i;

	if (the->event_count == the->event_room) {
		the->event_room = the->event_room ? 2 * the->event_room : 256;
		the->events = realloc(the->events, the->event_room * sizeof(the->events[0]));
		CHECK(the->events);
	}
	i = the->event_count++;
	the->events[i] = (struct event){ at, ++the->order, kind, id };
	while (i && before(&the->events[i], &the->events[(i - 1) / 2])) {
		struct event swap = the->events[i];

		the->events[i] = the->events[(i - 1) / 2];
		the->events[(i - 1) / 2] = swap;
		i = (i - 1) / 2;
	}
	return &the->events[i];
}

static struct event pop(void)
{
	struct event first = the->events[0];
	size_t i = 0, child;

	the->events[0] = the->events[--the->event_count];
	while ((child = 2 * i + 1) < the->event_count) {
		struct event swap = the->events[i];

		if (child + 1 < the->event_count &&
		    before(&the->events[child + 1], &the->events[child]))
			child++;
		if (!before(&the->events[child], &swap))
			break;
		the->events[i] = the->events[child];
		the->events[child] = swap;
		i = child;
	}
	return first;
}

/* --- Faults --------------------------------------------------------------------------------- */

static void outage(void)
{
	unsigned id = (unsigned)chaos_random(SERVERS);
	struct server *server = &the->server[id];

	if (server->down || server->hung)
		return;
	server->down = chaos_random(2);
	server->hung = !server->down;
	chaos_say("server %u is %s", id, server->down ? "down" : "hung");
	if (server->down)
		wire_cut(id, false);
	event_post(EVENT_UP, the->now + S(1) + (int64_t)chaos_random(S(40)), id);
}

static void restore(unsigned id)
{
	struct server *server = &the->server[id];
	uint64_t before;

	if (!server->saved || chaos_random(3) == 0) {
		server_save(server);
		chaos_say(
		    "server %u is backed up at %llu", id, (unsigned long long)server->version);
		return;
	}
	if (the->pinned_objects || the->role == AS_LEADING)
		return;
	before = server->version;
	server_restore(server, chaos_on(KNOB_AHEAD) && chaos_random(2));
	chaos_say("server %u is restored: from %llu to %llu, and goes on at %llu", id,
	    (unsigned long long)before, (unsigned long long)server->saved_version,
	    (unsigned long long)server->version);
	if (id == SOURCE)
		the->restored_at = the->now;
	/* Nobody restores a backup beneath a server that runs. */
	server->down = true;
	server->restored_until = the->now + S(3) + (int64_t)chaos_random(S(10));
	wire_cut(id, true);
	event_post(EVENT_UP, server->restored_until, id);
}

static void come_up(unsigned id)
{
	struct server *server = &the->server[id];

	server->hung = false;
	kinds_back(id);
	if (server->down && the->now >= server->restored_until) {
		chaos_say("server %u is up", id);
		server->down = false;
	}
}

static void put_back_aside(void)
{
	server_close(&the->server[SOURCE]);
	the->server[SOURCE] = the->aside;
	the->aside = (struct server){ 0 };
	json_decref(the->pinned_objects);
	the->pinned_objects = NULL;
	the->stranger_left = the->now;
	wire_cut(SOURCE, false);
	come_up(SOURCE);
}

/* `peer accept` (M12): the other cluster is the source from here on, under a term of its own. */
static void accept_other(void)
{
	server_close(&the->aside);
	the->aside = (struct server){ 0 };
	json_decref(the->pinned_objects);
	the->pinned_objects = NULL;
	the->stranger_left = the->now;
	(void)snprintf(the->pinned, sizeof(the->pinned), "%s", the->server[SOURCE].uid);
	the->term += 2;
	the->led_term += 2;
	the->complete = the->frozen = false;
	invariants_life();
	the->rejoin = the->ever_led;
	if (the->rejoin && the->role == AS_STANDBY)
		the->role = AS_REJOINING;
	chaos_say("accepted: %s", the->pinned);
	process_tell();
}

static void become_other(void)
{
	struct server *source = &the->server[SOURCE];

	if (the->pinned_objects) {
		chaos_say("the granted cluster is back");
		if (chaos_random(2))
			put_back_aside();
		else
			accept_other();
		return;
	}
	if (the->role == AS_LEADING)
		return;
	chaos_say("another cluster answers for the source");
	the->ever_stranger = true;
	the->other_since = the->now;
	the->pinned_objects = json_object();
	for (unsigned i = 0; i < source->count; i++) {
		struct object *object = source->objects[i];
		char key[200];

		(void)snprintf(
		    key, sizeof(key), "%d/%s/%s", (int)object->kind, object->space, object->name);
		json_object_set_new(the->pinned_objects, key, json_deep_copy(object->value));
	}
	wire_cut(SOURCE, false);
	the->aside = *source;
	server_open(source, SOURCE);
	source->version = 100 + chaos_random(3000);
	source->watch_lists = the->aside.watch_lists;
	(void)snprintf(
	    source->uid, sizeof(source->uid), "other-%llu", (unsigned long long)chaos_random(1000));
	(void)server_put(source, KIND_NAMESPACE, json_pack("{s{ss}}", "metadata", "name", HUB_NS));
}

static void pause_or_grant(void)
{
	if (chaos_random(3) == 0) {
		process_elector_again();
		return;
	}
	the->granted = !the->granted;
	if (the->granted && chaos_random(3) == 0) {
		the->term += 2; /* the source led anew */
		the->led_term += 2;
		the->complete = false;
	}
	if (the->granted && the->ever_led && !the->complete) {
		the->rejoin = true;
		the->role = AS_REJOINING;
	}
	process_tell();
	if (!the->granted)
		event_post(EVENT_REGRANT, the->now + (int64_t)chaos_random(S(10)), 0);
}

static void fault(void)
{
	if (chaos_chance(KNOB_CUT, 300))
		wire_cut((unsigned)chaos_random(SERVERS), false);
	if (chaos_chance(KNOB_GONE, 300))
		watch_compact(&the->server[chaos_random(SERVERS)]);
	if (chaos_chance(KNOB_OUTAGE, 100))
		outage();
	if (chaos_chance(KNOB_RESTART, 120) && the->alive)
		process_kill();
	if (chaos_chance(KNOB_RESTORE, 120))
		restore(SOURCE);
	if (chaos_chance(KNOB_OWN_RESTORE, 80))
		restore(OWN);
	if (chaos_chance(KNOB_NO_CRD, 80))
		kinds_fault();
	if (chaos_chance(KNOB_PAUSE, 150) && the->role != AS_LEADING)
		pause_or_grant();
	if (chaos_chance(KNOB_PROMOTE, 60) && the->alive && the->credentials && !the->draining)
		process_promote();
	if (chaos_chance(KNOB_OTHER, 60))
		become_other();
	if (chaos_chance(KNOB_RESTORE, 100) || chaos_chance(KNOB_BURST, 50))
		process_operate();
}

/* --- Phases --------------------------------------------------------------------------------- */

static void lead_no_more(void)
{
	if (the->role != AS_LEADING)
		return;
	chaos_say("this hub does not lead any more");
	the->role = AS_REJOINING;
	the->rejoin = the->ever_led = true;
	the->complete = false;
	the->term += 2;
	the->led_term += 2;
	the->granted = the->start_due = true;
}

static void enter(enum phase phase)
{
	the->phase = phase;
	the->phase_began = the->now;
}

static void heal(void)
{
	chaos_say("all faults end");
	enter(PHASE_HEALED);
	for (unsigned i = 0; i < SERVERS; i++)
		come_up(i);
	if (the->pinned_objects) {
		if (chaos_random(2))
			put_back_aside();
		else
			accept_other();
	}
	lead_no_more();
	the->granted = true;
	people_calm();
	event_post(EVENT_TELL, the->now, 0);
}

static void settle(void)
{
	const char *what;

	event_post(EVENT_SETTLE, the->now + (the->phase < PHASE_QUIET ? S(1) : S(10)), 0);
	if (the->phase == PHASE_CHAOS) {
		if (the->now >= the->chaos_ns)
			heal();
		return;
	}
	lead_no_more(); /* a promotion that was under way */
	if (the->now / S(1) % 5 == 0)
		process_operate();
	what = equal_check();
	if (the->phase == PHASE_HEALED) {
		if (!what)
			the->phase = PHASE_QUIET;
		else if (the->now - the->phase_began > CONVERGES_IN)
			broken("liveness: the copies become equal", "%s", what);
		return;
	}
	if (what && the->phase == PHASE_AGAIN && the->now - the->phase_began < S(60))
		return; /* it has to look first */
	if (what) {     /* something was still on its way; the time for it runs on */
		the->phase = PHASE_HEALED;
		return;
	}
	if (the->phase == PHASE_QUIET) {
		if (the->now - the->last_write >= QUIET_FOR) {
			if (++the->rounds > ROUNDS_MAX)
				broken("liveness: a restart comes to rest", "after %u of them",
				    ROUNDS_MAX);
			enter(PHASE_AGAIN);
			process_kill();
		} else if (the->now - the->phase_began > CONVERGES_IN) {
			broken("H11: what is equal is not written", "the last one at %.3f",
			    (double)the->last_write / 1e9);
		}
		return;
	}
	/* A hub that led once and is not complete adopts what is in its way. */
	if (the->last_write > the->phase_began && !the->ever_led)
		broken("H11: a restart writes nothing", "at %.3f", (double)the->last_write / 1e9);
	if (the->now - the->phase_began >= AGAIN_FOR)
		enter(PHASE_DONE);
}

static void promoted(uint64_t life)
{
	if (!the->draining || life != the->life)
		return;
	if (the->alive) {
		process_kill();
		event_post(EVENT_PROMOTED, the->now + S(5), life); /* F8 */
		return;
	}
	the->draining = false;
	the->role = AS_LEADING;
	the->ever_led = true;
	chaos_say("this hub leads");
	event_post(EVENT_RETURN, the->now + S(5) + (int64_t)chaos_random(S(30)), 0);
}

static void handle(const struct event *event)
{
	switch (event->kind) {
	case EVENT_ARRIVE: wire_arrive(event->id); break;
	case EVENT_REPLY: wire_reply(event->id); break;
	case EVENT_DEADLINE: wire_deadline(event->id); break;
	case EVENT_PUMP: wire_pump(event->id); break;
	case EVENT_CLUSTER:
		cluster_run(&the->server[SOURCE]);
		cluster_run(&the->server[OWN]);
		event_post(
		    EVENT_CLUSTER, the->now + (the->phase < PHASE_QUIET ? MS(150) : S(1)), 0);
		break;
	case EVENT_PEOPLE:
		people_act();
		event_post(EVENT_PEOPLE,
		    the->now + (the->phase == PHASE_CHAOS ? (int64_t)chaos_random(MS(900)) : S(2)),
		    0);
		break;
	case EVENT_FAULT:
		fault();
		event_post(EVENT_FAULT, the->now + MS(500) + (int64_t)chaos_random(S(2)), 0);
		break;
	case EVENT_TELL: process_tell(); break;
	case EVENT_START: the->start_due = !the->alive && the->role != AS_LEADING; break;
	case EVENT_PROMOTED: promoted(event->id); break;
	case EVENT_RETURN: lead_no_more(); break;
	case EVENT_REGRANT:
		if (!the->granted && the->phase == PHASE_CHAOS) {
			the->granted = true;
			process_tell();
		}
		break;
	case EVENT_UP: come_up((unsigned)event->id); break;
	case EVENT_SETTLE: settle(); break;
	}
}

bool chaos_step(int64_t until)
{
	int64_t timer = process_next_timer();

	if (!the->event_count && timer == NEVER)
		return false;
	the->steps++;
	/* What is readable comes before timers (H2). */
	if (the->event_count && the->events[0].at <= timer) {
		struct event event = pop();

		if (event.at > the->now)
			the->now = event.at;
		handle(&event);
		return true;
	}
	return process_fire_timer(until);
}

/* --- The run -------------------------------------------------------------------------------- */

uint32_t chaos_knobs(uint64_t seed)
{
	struct mirror draw = { .rng = seed * 77 + 1 }, *was = the;
	uint32_t knobs = 0;

	the = &draw;
	for (unsigned knob = 0; knob < KNOB_LISTED; knob++)
		if (chaos_random(100) < 30)
			knobs |= 1u << knob;
	/* Another cluster in its place is rare, and hides much else. */
	if (chaos_random(100) < 70)
		knobs &= ~(1u << KNOB_OTHER);
	if (chaos_random(100) < 40)
		knobs |= 1u << KNOB_LISTED;
	if (chaos_random(100) < 50)
		knobs |= 1u << KNOB_VERSIONS;
	if (chaos_random(100) < 25)
		knobs |= 1u << KNOB_TIGHT;
	the = was;
	return knobs;
}

static void begin(void)
{
	process_configure(chaos_on(KNOB_LISTED));
	for (unsigned i = 0; i < SERVERS; i++)
		server_open(&the->server[i], i);
	(void)snprintf(the->pinned, sizeof(the->pinned), "%s", the->server[SOURCE].uid);
	the->server[SOURCE].watch_lists = the->server[OWN].watch_lists =
	    !chaos_on(KNOB_NO_WATCHLIST);
	the->server[OWN].prunes = chaos_on(KNOB_BAD);
	the->archive = json_object();
	the->term = the->led_term = 2;
	the->granted = true;
	the->ever_led = chaos_on(KNOB_PROMOTE) && chaos_random(2);
	if (the->ever_led) {
		the->term = the->led_term = 4;
		the->rejoin = true;
		the->role = AS_REJOINING;
	}
	people_begin();
	event_post(EVENT_CLUSTER, MS(10), 0);
	event_post(EVENT_PEOPLE, MS(20), 0);
	event_post(EVENT_FAULT, S(1), 0);
	event_post(EVENT_SETTLE, S(1), 0);
	the->start_due = true;
}

static void end(void)
{
	wire_close();
	watch_close();
	for (unsigned i = 0; i < SERVERS; i++)
		server_close(&the->server[i]);
	if (the->pinned_objects)
		server_close(&the->aside);
	for (size_t i = 0; i < the->truth_count; i++) {
		json_decref(the->truths[i].body);
		json_decref(the->truths[i].status);
	}
	free(the->truths);
	free(the->events);
	json_decref(the->archive);
	json_decref(the->listed);
	json_decref(the->pinned_objects);
}

/* After a life: who leads now, and when the next one begins (a role restarts after a second). */
static void after_life(void)
{
	if (the->draining) {
		event_post(EVENT_PROMOTED, the->now + (the->exit_code ? S(5) : 0), the->life);
		return;
	}
	event_post(EVENT_START, the->now + MS(200) + (int64_t)chaos_random(S(3)), 0);
}

bool chaos_run(struct mirror *m, uint64_t seed, uint32_t knobs, int64_t chaos_ns, FILE *trace)
{
	*m = (struct mirror){
		.seed = seed, .rng = seed, .knobs = knobs, .chaos_ns = chaos_ns, .trace = trace
	};
	the = m;
	if (setjmp(out) == 0) {
		begin();
		while (!m->broken && m->phase != PHASE_DONE) {
			if (m->start_due && !m->alive) {
				m->start_due = false;
				process_live();
				after_life();
			} else if (!chaos_step(NEVER)) {
				break;
			}
		}
		end();
	}
	return !m->broken;
}
