/*
 * A schedule out of a seed: how the pair begins, which kinds of faults this run has and when they
 * strike, half of them at a step of the machine. Then the run: safety while faults last, then
 * everything is healed and the pair must settle (liveness). Called by main.c and shrink.c.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world.h"

struct draw {
	struct schedule *schedule;
	uint64_t rng;
	uint64_t kinds; /* of faults that this run has */
	int64_t threshold, at;
	enum when when;
	uint8_t when_node, when_what;
};

static uint64_t draw(struct draw *d, uint64_t below)
{
	uint64_t x = d->rng += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return below ? (x ^ x >> 31) % below : 0;
}

static bool chance(struct draw *d, unsigned percent)
{
	return draw(d, 100) < percent;
}

/* From 20 ms to some thresholds, short ones as likely as long ones. */
static int64_t span(struct draw *d)
{
	int64_t ns = MS(20) << draw(d, 12);

	ns += (int64_t)draw(d, (uint64_t)ns);
	return ns < 3 * d->threshold ? ns / MS(1) * MS(1) : 3 * d->threshold;
}

static void add(
    struct draw *d, int64_t later, enum verb verb, unsigned a, unsigned b, int64_t number)
{
	struct schedule *s = d->schedule;

	if (s->fault_count == MAX_FAULTS - 4)
		return;
	s->faults[s->fault_count++] =
	    (struct fault){ d->at + (d->when ? 0 : later), d->when, d->when_node, d->when_what,
		    d->when ? later : 0, verb, (uint8_t)a, (uint8_t)b, number };
}

/* --- One fault of each kind ------------------------------------------------------------------- */

static void on_process(struct draw *d, int64_t lasts)
{
	unsigned n = (unsigned)draw(d, HUBS);

	switch (draw(d, 9)) {
	case 0:
	case 1: add(d, 0, VERB_KILL, n, 0, 0); break;
	case 2:
		add(d, 0, VERB_STOP, n, 0, 0);
		add(d, lasts, VERB_START, n, 0, 0);
		break;
	case 3:
		add(d, 0, VERB_REBOOT, n, 0, 0);
		add(d, lasts, VERB_START, n, 0, 0);
		break;
	case 4: add(d, 0, VERB_KILL_OBSERVER, n, 0, chance(d, 50) ? 0 : lasts); break;
	case 5: add(d, 0, VERB_KILL_SYNCER, n, 0, 0); break;
	case 6:
		add(d, 0, VERB_SYNCER, n, 0, 1 + (int64_t)draw(d, 3));
		add(d, lasts, VERB_SYNCER, n, 0, 0);
		break;
	case 7:
		add(d, 0, VERB_WORKLOAD, n, 0, 1);
		add(d, lasts, VERB_WORKLOAD, n, 0, 0);
		break;
	default: /* both, as after a power cut */
		add(d, 0, VERB_REBOOT, 0, 0, 0);
		add(d, 0, VERB_REBOOT, 1, 0, 0);
		add(d, lasts, VERB_START, n, 0, 0);
		add(d, lasts + span(d), VERB_START, 1 - n, 0, 0);
	}
}

static void on_time(struct draw *d, int64_t lasts)
{
	unsigned n = (unsigned)draw(d, HUBS);

	switch (draw(d, 4)) {
	case 0: add(d, 0, VERB_PAUSE, n, 0, lasts); break;
	case 1: add(d, 0, VERB_PAUSE_ELECTOR, n, 0, lasts); break;
	case 2: add(d, 0, VERB_PAUSE_OBSERVER, n, 0, lasts); break;
	default: add(d, 0, VERB_WALL, n, 0, (int64_t)(draw(d, 2000)) * S(1) - S(1000));
	}
}

static void on_link(struct draw *d, int64_t lasts)
{
	static const enum verb verbs[] = { VERB_CUT, VERB_CUT, VERB_MUTE, VERB_SLOW, VERB_BLIND };
	enum verb verb = verbs[draw(d, 5)];
	int64_t slow = MS(50 + (int64_t)draw(d, 6000));
	unsigned host = (unsigned)draw(d, HUBS), api = (unsigned)draw(d, APIS);

	if (chance(d, 10)) { /* a follower's way to a hub */
		host = NODES + (unsigned)draw(d, WORKERS);
		api = (unsigned)draw(d, HUBS);
	}
	if (chance(d, 10)) {
		add(d, 0, VERB_DEADEN, host < HUBS ? host : 0, 0, 0);
		return;
	}
	add(d, 0, verb, host, api, slow);
	add(d, lasts, VERB_JOIN, host, api, 0);
}

static void cut_both(struct draw *d, unsigned x, unsigned y, int64_t lasts)
{
	add(d, 0, VERB_CUT, x, y, 0);
	add(d, lasts, VERB_JOIN, x, y, 0);
}

/* The matrix of section 4. */
static void on_partition(struct draw *d, int64_t lasts)
{
	unsigned n = (unsigned)draw(d, HUBS);

	switch (draw(d, 5)) {
	case 0: /* the two hubs cannot see each other */
		cut_both(d, 0, 1, lasts);
		cut_both(d, 1, 0, lasts + (chance(d, 50) ? 0 : span(d)));
		break;
	case 1: cut_both(d, n, n, lasts); break; /* the own API server */
	case 2:                                  /* one hub sees nobody */
		for (unsigned api = 0; api < APIS; api++)
			if (api != n)
				cut_both(d, n, api, lasts);
		cut_both(d, 1 - n, n, lasts);
		break;
	case 3: /* A with w1, B with w2 and w3 */
		cut_both(d, 0, 1, lasts);
		cut_both(d, 1, 0, lasts);
		cut_both(d, 0, HUBS + 1, lasts);
		cut_both(d, 0, HUBS + 2, lasts);
		cut_both(d, 1, HUBS, lasts);
		break;
	default: /* followers lose a hub */
		for (unsigned i = 0; i < WORKERS; i++)
			cut_both(d, NODES + i, n, lasts);
	}
}

static void on_server(struct draw *d, int64_t lasts)
{
	static const enum verb verbs[] = { VERB_DOWN, VERB_HANG, VERB_REFUSE };
	unsigned api = (unsigned)draw(d, chance(d, 70) ? HUBS : APIS);

	add(d, 0, verbs[draw(d, 3)], api, 0, 0);
	add(d, lasts, VERB_UP, api, 0, 0);
}

static void on_objects(struct draw *d, int64_t lasts)
{
	unsigned hub = (unsigned)draw(d, HUBS);

	switch (draw(d, 6)) {
	case 0: add(d, 0, VERB_UNROLE, hub, 0, 0); break;
	case 1:
		add(d, 0, VERB_UNFENCE, hub, 0, 1);
		add(d, lasts, VERB_UNFENCE, hub, 0, 0);
		break;
	case 2: add(d, 0, VERB_SKEW, hub, 0, (int64_t)draw(d, 20) * S(1) - S(8)); break;
	default: add(d, 0, VERB_DELETE, hub, 0, 0);
	}
}

static void on_worker(struct draw *d, int64_t lasts)
{
	unsigned worker = HUBS + (unsigned)draw(d, WORKERS);
	enum follower now = (enum follower)draw(d, 4);

	switch (draw(d, 4)) {
	case 0:
		if (now == FOLLOWER_LIES && chance(d, 50))
			now = FOLLOWER_ALIVE;
		add(d, 0, VERB_FOLLOWER, worker, 0, now);
		add(d, lasts, VERB_FOLLOWER, worker, 0, FOLLOWER_ALIVE);
		break;
	case 1:
		add(d, 0, VERB_ROGUE, worker, 0,
		    1 + (int64_t)draw(d, chance(d, 80) ? 30 : 1 << 30));
		break;
	case 2:
		add(d, 0, VERB_NO_CRD, worker, 0, 1);
		add(d, lasts, VERB_NO_CRD, worker, 0, 0);
		break;
	default: add(d, 0, VERB_DOWN, worker, 0, 0); add(d, lasts, VERB_UP, worker, 0, 0);
	}
}

static void on_past(struct draw *d, int64_t lasts)
{
	unsigned hub = (unsigned)draw(d, HUBS);

	if (chance(d, 30)) {
		add(d, 0, VERB_STRIP, hub, 0, 0);
		return;
	}
	add(d, 0, VERB_SAVE, hub, 0, 0);
	add(d, lasts, VERB_RESTORE, hub, 0, 0);
}

static void on_identity(struct draw *d, int64_t lasts)
{
	unsigned hub = (unsigned)draw(d, HUBS);
	enum verb verb = chance(d, 50) ? VERB_REPLACE : VERB_CLASH;

	add(d, 0, verb, hub, 0, 1);
	add(d, lasts, verb, hub, 0, 0);
	if (verb == VERB_REPLACE && chance(d, 30))
		add(d, lasts / 2, VERB_ACCEPT, 1 - hub, 0, 0);
}

static void on_freeze(struct draw *d, int64_t lasts)
{
	add(d, 0, VERB_FREEZE, (unsigned)draw(d, HUBS), 0, lasts);
}

static void on_operator(struct draw *d, int64_t lasts)
{
	static const enum verb verbs[] = { VERB_CALL_OFF, VERB_PROMOTE, VERB_HOLD, VERB_HOLD,
		VERB_ACKNOWLEDGE, VERB_ACCEPT, VERB_SWITCHOVER };
	unsigned n = (unsigned)draw(d, HUBS);
	enum verb verb = verbs[draw(d, sizeof(verbs) / sizeof(verbs[0]))];

	if (chance(d, 60)) {
		add(d, 0, VERB_SWITCHOVER, 0, 0, 0);
		add(d, 0, VERB_SWITCHOVER, 1, 0, 0);
		if (chance(d, 20))
			add(d, lasts / 8, VERB_CALL_OFF, n, 0, 0);
		return;
	}
	add(d, 0, verb, n, 0, lasts);
	if (verb == VERB_HOLD)
		add(d, lasts / 2, VERB_LET, n, 0, 0);
}

static void on_force(struct draw *d, int64_t lasts)
{
	unsigned n = (unsigned)draw(d, HUBS);

	(void)lasts;
	add(d, 0, VERB_FORCE, n, 0, (int64_t)draw(d, 2));
}

static void on_twin(struct draw *d, int64_t lasts)
{
	if (!d->schedule->setup.twin)
		return;
	add(d, 0, VERB_START, TWIN, 0, 0);
	add(d, lasts, VERB_STOP, TWIN, 0, 0);
}

/* What makes a promotion hard, at one of its steps. */
static void on_promotion(struct draw *d, unsigned n, int64_t lasts)
{
	unsigned peer = 1 - n;

	switch (draw(d, 11)) {
	case 9: add(d, 0, VERB_PAUSE_ELECTOR, n, 0, S(1 + (int64_t)draw(d, 8))); break;
	case 0:
		add(d, 0, VERB_BLIND, n, peer, 0);
		add(d, lasts, VERB_JOIN, n, peer, 0);
		break;
	case 1:
		add(d, 0, VERB_SYNCER, n, 0, 1 + (int64_t)draw(d, 3));
		add(d, lasts, VERB_SYNCER, n, 0, 0);
		break;
	case 2:
		for (unsigned i = 0; i < WORKERS; i++)
			cut_both(d, n, HUBS + i, lasts);
		break;
	case 3:
		add(d, 0, VERB_REFUSE, n, 0, 0);
		add(d, lasts, VERB_UP, n, 0, 0);
		break;
	case 4: add(d, 0, VERB_KILL_OBSERVER, n, 0, lasts); break;
	case 5:
		add(d, 0, VERB_MUTE, n, n, 0);
		add(d, lasts, VERB_JOIN, n, n, 0);
		break;
	case 6: add(d, 0, VERB_KILL, n, 0, 0); break;
	case 7:
		add(d, 0, VERB_HOLD, n, 0, S(600));
		add(d, d->threshold * 3, VERB_LET, n, 0, 0);
		break;
	case 8: add(d, 0, VERB_PROMOTE, n, 0, 0); break;
	default: add(d, 0, VERB_START, peer, 0, 0);
	}
}

/* One hub is away for longer than the threshold, and the other meets with something, too. */
static void on_outage(struct draw *d, int64_t lasts)
{
	unsigned n = (unsigned)draw(d, HUBS), peer = 1 - n;
	int64_t away = d->threshold + (int64_t)draw(d, (uint64_t)d->threshold * 2);

	switch (draw(d, 4)) {
	case 0: add(d, 0, VERB_STOP, n, 0, 0); break;
	case 1: add(d, 0, VERB_DOWN, n, 0, 0); break;
	case 2: add(d, 0, VERB_HANG, n, 0, 0); break;
	default: add(d, 0, VERB_REBOOT, n, 0, 0);
	}
	add(d, away, VERB_UP, n, 0, 0);
	add(d, away, VERB_START, n, 0, 0);
	if (chance(d, 20))
		add(d, away + S(1), VERB_ACKNOWLEDGE, n, 0, 0);
	if (d->when == WHEN_NOW && chance(d, 70)) {
		d->when = WHEN_STATE;
		d->when_node = (uint8_t)peer;
		d->when_what = (uint8_t)(STATE_STANDBY + draw(d, 6));
	} else {
		d->at += (int64_t)draw(d, (uint64_t)d->threshold);
	}
	on_promotion(d, peer, lasts);
}

/* The last ones end an assumption of many invariants, so most runs have none of them. */
static const struct {
	void (*make)(struct draw *d, int64_t lasts);
	unsigned percent;
} kinds[] = { { on_process, 60 }, { on_process, 40 }, { on_time, 50 }, { on_link, 40 },
	{ on_partition, 30 }, { on_server, 50 }, { on_outage, 50 }, { on_objects, 35 },
	{ on_worker, 40 }, { on_twin, 100 }, { on_operator, 35 }, { on_force, 8 },
	{ on_freeze, 10 }, { on_past, 8 }, { on_identity, 6 } };
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* --- A schedule ------------------------------------------------------------------------------- */

static void make_setup(struct draw *d, struct setup *s)
{
	bool drift = chance(d, 50);

	s->workers = (unsigned)draw(d, WORKERS + 1);
	s->timing[0] = s->timing[1] = chance(d, 65) ? 0 : 1;
	if (chance(d, 10)) {
		s->timing[0] = (uint8_t)draw(d, world_timing_count - 1);
		s->timing[1] = (uint8_t)draw(d, world_timing_count - 1);
	}
	s->active[0] = !chance(d, 5);
	s->active[1] = !s->active[0] || chance(d, 5);
	s->twin = chance(d, 6);
	for (unsigned i = 0; i < NODES; i++)
		s->rate_ppm[i] = !drift || s->twin ? 1000000
				 : s->timing[0] > 1 || s->timing[1] > 1
				     ? 900000 + (int64_t)draw(d, 200001)
				     : 800000 + (int64_t)draw(d, 400001);
	s->workload = chance(d, 30);
	s->unfenced = chance(d, 30);
	s->no_witness = chance(d, 10);
	s->manual = chance(d, 3);
	s->block_ns = chance(d, 15) ? S(30) : 0;
	s->resume[0] = s->resume[1] = chance(d, 5);
	for (unsigned i = 0; i < WORKERS; i++)
		s->follower[i] = chance(d, 60) ? FOLLOWER_ALIVE : FOLLOWER_NONE;
	s->first_term = chance(d, 4) ? 2 : chance(d, 1) ? (1ULL << 53) - 4 : 0;
}

static void make_trigger(struct draw *d)
{
	static const uint8_t states[] = { STATE_INIT, STATE_STANDBY, STATE_SUSPECT, STATE_STOPPING,
		STATE_ACQ, STATE_CONFIRM, STATE_OPENING, STATE_ACTIVE, STATE_DRAIN, STATE_RELEASE,
		STATE_RECOVER, STATE_YIELD };

	d->when = chance(d, 50) ? WHEN_STATE : WHEN_APPLIED;
	d->when_node = (uint8_t)draw(d, HUBS);
	d->when_what =
	    d->when == WHEN_STATE ? states[draw(d, sizeof(states))] : (uint8_t)draw(d, 5);
}

/* A promotion that lying followers hold off for more than ten minutes (C3). */
static void make_veto(struct draw *d)
{
	struct setup *s = &d->schedule->setup;

	s->workers = 1 + (unsigned)draw(d, WORKERS);
	s->no_witness = false;
	for (unsigned i = 0; i < WORKERS; i++)
		add(d, 0, VERB_FOLLOWER, HUBS + i, 0, FOLLOWER_LIES);
	add(d, 0, VERB_REBOOT, draw(d, 2) == 0, 0, 0);
	d->schedule->chaos_ends = d->at + S(700);
}

/* A worker with a term of its hub that this one never took, for longer than five minutes. */
static void make_rogue(struct draw *d)
{
	struct setup *s = &d->schedule->setup;

	s->workers = 1 + (unsigned)draw(d, WORKERS);
	add(d, 0, VERB_ROGUE, HUBS, 0, 100);
	d->schedule->chaos_ends = d->at + S(400);
}

static void sort(struct schedule *s)
{
	for (unsigned i = 1; i < s->fault_count; i++)
		for (unsigned j = i; j && s->faults[j].at < s->faults[j - 1].at; j--) {
			struct fault swap = s->faults[j];

			s->faults[j] = s->faults[j - 1];
			s->faults[j - 1] = swap;
		}
}

void chaos_make(struct schedule *schedule, uint64_t seed)
{
	struct draw d = { .schedule = schedule, .rng = seed * 0x2545f4914f6cdd1dULL + 1 };
	int64_t from, length;
	unsigned count;

	if (seed >= SWEEP) {
		sweep_make(schedule, seed - SWEEP);
		return;
	}
	memset(schedule, 0, sizeof(*schedule));
	schedule->setup.seed = seed;
	make_setup(&d, &schedule->setup);
	for (unsigned i = 0; i < HUBS; i++) {
		const struct timing *timing = &world_timings[schedule->setup.timing[i]];

		if (d.threshold < timing->duration_ns + timing->padding_ns)
			d.threshold = timing->duration_ns + timing->padding_ns;
	}
	add(&d, 0, VERB_START, 0, 0, 0);
	add(&d, chance(&d, 50) ? 0 : span(&d) / 4, VERB_START, 1, 0, 0);
	from = chance(&d, 20) ? 0 : S(5) + (int64_t)draw(&d, (uint64_t)d.threshold);
	length = d.threshold / 4 + (int64_t)draw(&d, (uint64_t)d.threshold * 4);
	for (unsigned i = 0; i < KINDS; i++)
		if (chance(&d, kinds[i].percent))
			d.kinds |= 1ULL << i;
	count = 1 + (unsigned)draw(&d, 10);
	for (unsigned i = 0; i < count && d.kinds; i++) {
		unsigned kind = (unsigned)draw(&d, KINDS);

		while (!(d.kinds >> kind & 1))
			kind = (kind + 1) % KINDS;
		d.at = (from + (int64_t)draw(&d, (uint64_t)length)) / MS(1) * MS(1);
		d.when = WHEN_NOW;
		if (chance(&d, 45))
			make_trigger(&d);
		kinds[kind].make(&d, span(&d));
	}
	d.when = WHEN_NOW;
	d.at = from;
	if (seed % 128 == 77)
		make_veto(&d);
	if (seed % 128 == 33)
		make_rogue(&d);
	sort(schedule);
	if (schedule->chaos_ends < from + length)
		schedule->chaos_ends = from + length;
}

void chaos_print(const struct schedule *schedule, FILE *out)
{
	const struct setup *s = &schedule->setup;
	char text[128];

	fprintf(out,
	    "seed %llu: %u workers, timing %s and %s, clock rates %lld %lld %lld ppm,%s%s%s%s%s\n",
	    (unsigned long long)s->seed, s->workers, world_timings[s->timing[0]].name,
	    world_timings[s->timing[1]].name, (long long)s->rate_ppm[0], (long long)s->rate_ppm[1],
	    (long long)s->rate_ppm[2], s->active[0] ? " A active" : "",
	    s->active[1] ? " B active" : "", s->workload ? " workload" : "",
	    s->unfenced ? " unfenced" : "", s->resume[0] ? " resume" : "");
	for (unsigned i = 0; i < schedule->fault_count; i++) {
		faults_print(&schedule->faults[i], text, sizeof(text));
		fprintf(out, "  %9.3f %s\n", (double)schedule->faults[i].at / 1e9, text);
	}
	fprintf(out, "  %9.3f heal\n", (double)schedule->chaos_ends / 1e9);
}

/* --- The run ---------------------------------------------------------------------------------- */

/* What no hub may decide by itself: which of two pasts counts (H10), whether another cluster is the
 * peer now (C4), what was paused or configured unsafe, and what comes after the last term. */
static bool for_a_person(const struct world *w)
{
	bool other = false;

	for (unsigned i = 0; i < HUBS; i++) {
		const char *uid = w->nodes[i].machine.peer.uid;

		/* Who left with 78 does not come back by itself (H14). */
		other =
		    other || !w->nodes[i].up || (uid[0] && strcmp(uid, w->apis[1 - i].uid) != 0);
	}
	for (unsigned i = 0; i < HUBS; i++)
		other = other || machine_is_paused(&w->nodes[i].machine) ||
			machine_timing_unsafe(&w->nodes[i].machine);
	return other || w->setup.manual || !w->assumed.P[0] || !w->assumed.P[1] ||
	       w->setup.first_term > 1U << 30;
}

/* I12: settled for one and a half thresholds, within the bound. */
static void liveness(struct world *w)
{
	int64_t threshold = 0, healed = w->now, since = 0, end;
	const char *missing = NULL;

	for (unsigned i = 0; i < HUBS; i++) {
		const struct timing *t = &world_timings[w->setup.timing[i]];
		int64_t one = (t->duration_ns + t->padding_ns) * 5 / 4;

		threshold = one > threshold ? one : threshold;
	}
	for (unsigned i = 0; i < NODES; i++) /* who stands still goes on first */
		healed = w->nodes[i].until > healed ? w->nodes[i].until : healed;
	world_run(w, healed);
	end = healed + 4 * threshold + S(60);
	while (!w->broken && w->now < end) {
		world_run(w, w->now + MS(500));
		if (w->now - healed > 2 * threshold)
			w->assumed.L = w->assumed.N = w->assumed.P[0] && w->assumed.P[1];
		missing = invariants_settled(w);
		if (missing)
			since = 0;
		else if (!since)
			since = w->now;
		if (since && w->now - since > threshold * 3 / 2)
			return;
	}
	if (!w->broken && missing && !for_a_person(w))
		invariants_broken(w, missing, "%lld s after everything was well again",
		    (long long)((w->now - healed) / S(1)));
}

bool chaos_run(struct world *w, const struct schedule *schedule, FILE *trace, struct hits *hits)
{
	static const struct fault heal = { .verb = VERB_HEAL };

	world_make(w, &schedule->setup);
	w->trace = trace;
	w->hits = hits;
	memcpy(w->faults, schedule->faults, sizeof(w->faults));
	w->fault_count = schedule->fault_count;
	for (unsigned i = 0; i < w->fault_count; i++)
		w->armed += w->faults[i].when != WHEN_NOW;
	for (unsigned i = 0; i < w->fault_count && !w->broken; i++) {
		if (w->faults[i].when != WHEN_NOW || w->faults[i].at > schedule->chaos_ends)
			continue;
		world_run(w, w->faults[i].at);
		if (!w->broken)
			faults_apply(w, &w->faults[i]);
	}
	world_run(w, schedule->chaos_ends);
	if (!w->broken)
		faults_apply(w, &heal);
	liveness(w);
	return !w->broken;
}

/* --- A CHECK is a broken schedule, too -------------------------------------------------------- */

static sigjmp_buf back;

static void on_abort(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

bool chaos_run_guarded(
    struct world *w, const struct schedule *schedule, FILE *trace, struct hits *hits)
{
	struct sigaction action = { .sa_handler = on_abort, .sa_flags = SA_NODEFER };

	sigaction(SIGABRT, &action, NULL);
	if (sigsetjmp(back, 0)) {
		w->broken = "CHECK the_machine_has_no_bug_of_its_own";
		(void)snprintf(w->detail, sizeof(w->detail), "see above");
		return false;
	}
	return chaos_run(w, schedule, trace, hits);
}
