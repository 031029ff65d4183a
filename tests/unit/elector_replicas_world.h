/*
 * Replicas around one Lease, in virtual time: a model of the API server (one record, versions
 * compared, requests that come late, answers that are lost, a watch that lags), a clock of its own
 * for each replica, its page, and its workload under a runner that obeys the page. After each step
 * it is checked that no two run at once. No I/O, no clock. For tests of elector/replicas.c.
 */
#ifndef TESTS_UNIT_REPLICAS_WORLD_H
#define TESTS_UNIT_REPLICAS_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "elector/replicas.h"

#define MS(n)       ((n)*1000000LL)
#define S(n)        ((n)*1000000000LL)
#define NODES       3
#define FOREIGN     NODES /* a program with client-go: its index as a holder */
#define NOBODY      9
#define MAX_PENDING 256
#define LD          S(15)
#define RD          S(10)
#define RP          S(2)
#define RT          S(4)

struct lease {
	bool exists, prefers_other;
	unsigned holder;
	uint64_t instance, version, term, transitions;
	int64_t acquire_us, renew_us, duration_ms;
};

enum pending_kind { ARRIVES, ANSWERS, WATCH, WORKLOAD, DEATH, COMES_BACK };

struct pending {
	bool used;
	enum pending_kind kind;
	int64_t at;
	uint32_t order;
	unsigned node;
	uint32_t life;
	/* A request: what was asked, upon which version; then what came of it. */
	struct replicas_todo todo;
	bool base_exists, lost, applied, conflict;
	uint64_t base_version;
	int64_t deadline;
	struct lease lease;
	bool running, empty;
	uint64_t instance;
};

struct node {
	struct replicas m;
	struct replicas_out out;
	bool up, paused, cut; /* cut: from the API server */
	bool mute;            /* its requests arrive, nothing comes back */
	uint32_t life;
	uint64_t instance, dead;
	int64_t rate_ppm, base, base_ns; /* own clock: base_ns at true time base */
	int64_t wall_skew_us;
	int64_t paused_until;
	bool page_open;
	uint64_t page_term;
	int64_t page_until_ns;
	bool running;
	bool base_exists;
	uint64_t base_version, transitions;
	int64_t acquire_us;
	int exit_code;
	unsigned opened, exits, said[REPLICAS_REASON_COUNT];
	bool workload, crashes; /* its command ends at once */
};

struct world {
	int64_t now;
	uint64_t rng;
	uint32_t order;
	bool calm, down, deleted;
	struct lease lease;
	struct node nodes[NODES];
	struct pending pending[MAX_PENDING];
	/* The foreign program: its own idea of how long it leads, as client-go has it. */
	int64_t foreign_until;
	uint64_t last_term;
	unsigned last_opener;
	unsigned writes, reads, releases;
	uint64_t row_hits[64], steps, instances;
	char why[160]; /* what was broken, "" = nothing */
};

static inline uint64_t draw(struct world *w, uint64_t below)
{
	w->rng ^= w->rng << 13;
	w->rng ^= w->rng >> 7;
	w->rng ^= w->rng << 17;
	return below ? w->rng % below : w->rng;
}

static inline int64_t latency(struct world *w)
{
	if (w->calm)
		return MS(2);
	return (int64_t)(MS(1) + draw(w, MS(20)) + (draw(w, 20) ? 0 : draw(w, S(3))));
}

static inline int64_t clock_of(const struct node *n, int64_t at)
{
	return n->base_ns + (int64_t)((__int128)(at - n->base) * n->rate_ppm / 1000000);
}

/* The first true time at which the clock shows ns. */
static inline int64_t time_of(const struct node *n, int64_t ns)
{
	if (ns == INT64_MAX)
		return INT64_MAX;
	return n->base + (int64_t)((__int128)(ns - n->base_ns) * 1000000 / n->rate_ppm) + 1;
}

static inline bool page_valid(const struct world *w, const struct node *n)
{
	return n->page_open && clock_of(n, w->now) < n->page_until_ns;
}

static inline struct pending *post(
    struct world *w, enum pending_kind kind, unsigned node, int64_t at)
{
	for (unsigned i = 0; i < MAX_PENDING; i++) {
		struct pending *p = &w->pending[i];

		if (p->used)
			continue;
		*p = (struct pending){ .used = true,
			.kind = kind,
			.at = at,
			.order = w->order++,
			.node = node,
			.life = w->nodes[node].life };
		return p;
	}
	fail_msg("more than %d things under way", MAX_PENDING);
	return NULL;
}

static inline void broken(struct world *w, const char *what, unsigned a, unsigned b)
{
	if (!w->why[0])
		(void)snprintf(w->why, sizeof(w->why), "%s: %u and %u at %lld.%03lld s", what, a, b,
		    (long long)(w->now / S(1)), (long long)(w->now / MS(1) % 1000));
}

/* R1: at most one, by its own clock; the foreign program counts as one. */
static inline void check(struct world *w)
{
	unsigned who = NOBODY;

	if (w->now < w->foreign_until)
		who = FOREIGN;
	for (unsigned i = 0; i < NODES; i++) {
		struct node *n = &w->nodes[i];

		/* The runner ends what outlives the page; a reaped one has ended it (F5, H18). */
		if (n->running && !page_valid(w, n) && n->page_open)
			n->running = false;
		if (!page_valid(w, n) && !n->running)
			continue;
		if (who != NOBODY)
			broken(w, "two at once", who, i);
		who = i;
	}
}

static inline struct replicas_record record_for(
    const struct world *w, const struct node *n, const struct lease *l)
{
	unsigned self = (unsigned)(n - w->nodes);

	if (!l->exists)
		return (struct replicas_record){ 0 };
	return (struct replicas_record){ .exists = true,
		.holder = l->holder == NOBODY                               ? REPLICAS_NOBODY
			  : l->holder == self && l->instance == n->instance ? REPLICAS_SELF
									    : REPLICAS_OTHER,
		.holder_hash = l->holder == NOBODY ? 0 : l->instance * 131 + l->holder + 1,
		.instance = l->holder == self ? l->instance : 0,
		.term = l->term,
		.transitions = l->transitions,
		.acquire_us = l->acquire_us,
		.renew_us = l->renew_us,
		.duration_ms = l->duration_ms,
		.prefers_other = l->prefers_other };
}

static inline void changed(struct world *w)
{
	for (unsigned i = 0; i < NODES; i++) {
		struct node *n = &w->nodes[i];

		if (!n->up || n->cut || n->mute || (!w->calm && draw(w, 10) == 0))
			continue;
		post(w, WATCH, i, w->now + latency(w))->lease = w->lease;
	}
}

static inline void write_lease(struct world *w, struct pending *p)
{
	struct node *n = &w->nodes[p->node];
	struct lease *l = &w->lease;

	if (l->exists != p->base_exists || (l->exists && l->version != p->base_version)) {
		p->conflict = true;
		return;
	}
	l->exists = true;
	l->version++;
	l->holder = p->todo.claim ? p->node : NOBODY;
	l->instance = p->instance;
	l->term = p->todo.term;
	l->renew_us = p->todo.renew_us;
	l->acquire_us = n->acquire_us;
	l->transitions = n->transitions;
	l->duration_ms = p->todo.claim ? LD / MS(1) : 1000;
	l->prefers_other = p->todo.claim && l->prefers_other;
	w->writes++;
	if (!p->todo.claim) {
		w->releases++;
		if (n->running && n->life == p->life)
			broken(w, "given back beside a workload", p->node, p->node); /* R8 */
	}
	changed(w);
}

static inline void ask(struct world *w, struct node *n, const struct replicas_todo *todo)
{
	unsigned self = (unsigned)(n - w->nodes);
	int64_t take = latency(w);
	struct pending *p = post(w, ARRIVES, self, w->now + take);

	if (todo->verb == REPLICAS_WRITE && todo->acquire) {
		n->acquire_us = todo->renew_us;
		n->transitions = n->base_exists ? w->lease.transitions + 1 : 0;
	}
	if (todo->verb == REPLICAS_READ)
		w->reads++;
	p->todo = *todo;
	p->base_exists = n->base_exists;
	p->base_version = n->base_version;
	p->instance = n->instance;
	p->deadline = time_of(n, clock_of(n, w->now) + RT);
	/* H1: now and then a request is executed when its sender has long given up. */
	if (!w->calm && draw(w, 40) == 0)
		p->at += (int64_t)draw(w, S(8));
	p->lost = n->cut || w->down || (!w->calm && draw(w, 60) == 0);
	if (p->at >= p->deadline || p->lost) {
		struct pending *late = post(w, ANSWERS, self, p->deadline);

		late->todo = *todo;
		late->lost = true;
		p->life = UINT32_MAX; /* nobody waits for it */
	}
}

static inline void feed(struct world *w, struct node *n, struct replicas_event *event);

static inline void arrives(struct world *w, struct pending *p)
{
	struct node *n = &w->nodes[p->node];
	struct pending *back;
	struct pending was = *p;

	p->used = false;
	if (was.lost)
		return;
	if (was.todo.verb == REPLICAS_WRITE)
		write_lease(w, &was);
	if (was.life == UINT32_MAX)
		return;
	back = post(w, ANSWERS, was.node, w->now + latency(w));
	back->life = was.life;
	back->todo = was.todo;
	back->conflict = was.conflict;
	back->lease = w->lease;
	if (n->mute || n->cut || back->at >= was.deadline || (!w->calm && draw(w, 40) == 0)) {
		back->lost = true;
		back->at = was.deadline > w->now ? was.deadline : w->now;
	}
}

static inline void answers(struct world *w, struct pending *p)
{
	struct node *n = &w->nodes[p->node];
	struct replicas_event e = { .input = REPLICAS_ON_ANSWER };

	p->used = false;
	e.answer.write = p->todo.verb == REPLICAS_WRITE;
	e.answer.outcome = OUTCOME_UNSURE;
	if (!p->lost && p->conflict) {
		e.answer.conflict = true;
	} else if (!p->lost) {
		e.answer.outcome = OUTCOME_DONE;
		n->base_exists = p->lease.exists;
		n->base_version = p->lease.version;
		e.answer.record = record_for(w, n, &p->lease);
	}
	feed(w, n, &e);
}

static inline void elector_starts(struct world *w, struct node *n)
{
	struct replicas_options options = { .instance = ++w->instances,
		.workload = n->workload,
		.duration_ns = LD,
		.renew_deadline_ns = RD,
		.retry_ns = RP,
		.request_ns = RT,
		.stop_grace_ns = S(1) };
	struct replicas_event dead = { .input = REPLICAS_ON_DEATH, .instance = n->dead };
	struct replicas_event start = { .input = REPLICAS_ON_START };

	n->instance = options.instance;
	n->life++;
	n->up = true;
	n->base_exists = false;
	n->base_version = 0;
	n->exit_code = -1;
	replicas_init(&n->m, &options);
	n->out = (struct replicas_out){ .wake_at_ns = INT64_MAX };
	if (n->dead)
		feed(w, n, &dead);
	feed(w, n, &start);
}

/* The supervisor reaps the elector: the page is over (decision 16), the runner sees it. */
static inline void elector_ends(struct world *w, struct node *n, bool reaped)
{
	n->up = false;
	n->life++;
	n->dead = n->instance;
	if (reaped)
		n->page_open = n->running = false;
	else
		n->running = false; /* understudyd is gone: the runner leaves, the page stands */
	(void)w;
}

static inline void carry_out(struct world *w, struct node *n, const struct replicas_todo *t)
{
	unsigned self = (unsigned)(n - w->nodes);
	struct pending *p;

	switch (t->verb) {
	case REPLICAS_READ:
	case REPLICAS_WRITE: ask(w, n, t); break;
	case REPLICAS_PAGE:
		assert_true(t->open == (n->m.state == REPLICAS_LEADING) || !t->open);
		if (t->open && !n->page_open) {
			n->opened++;
			if (!w->deleted && (t->term < w->last_term ||
					       (t->term == w->last_term && w->last_opener != self)))
				broken(
				    w, "a term that is not above the last", self, w->last_opener);
			w->last_term = t->term;
			w->last_opener = self;
		}
		n->page_open = t->open;
		n->page_term = t->term;
		n->page_until_ns = t->valid_until_ns;
		if (t->open)
			assert_true(t->valid_until_ns <= clock_of(n, w->now) + RD);
		break;
	case REPLICAS_RUN:
		if (n->running)
			break;
		p = post(w, WORKLOAD, self, w->now + MS(5));
		p->running = true;
		break;
	case REPLICAS_STOP_RUN:
		p = post(
		    w, WORKLOAD, self, w->now + (w->calm ? MS(20) : (int64_t)draw(w, MS(900))));
		p->empty = true;
		break;
	case REPLICAS_EXIT:
		n->exit_code = t->code;
		n->exits++;
		elector_ends(w, n, true);
		break;
	}
}

static inline void feed(struct world *w, struct node *n, struct replicas_event *event)
{
	struct replicas_out out;
	uint32_t life = n->life;
	unsigned rows;

	(void)replicas_table(&rows);
	assert_in_range(rows, 1, 64);
	w->steps++;
	event->wall_us = 1700000000000000LL + w->now / 1000 + n->wall_skew_us;
	event->random = draw(w, 0);
	replicas_step(&n->m, event, clock_of(n, w->now), &out);
	for (unsigned i = 0; i < out.row_count; i++)
		w->row_hits[out.rows[i]]++;
	n->out = out;
	for (unsigned i = 0; i < out.said_count; i++) {
		assert_int_not_equal(out.said[i].reason, REPLICAS_REASON_NONE);
		n->said[out.said[i].reason]++;
	}
	for (unsigned i = 0; i < out.todo_count && n->life == life; i++)
		carry_out(w, n, &out.todo[i]);
	check(w);
}

static inline void workload_seen(struct world *w, struct pending *p)
{
	struct node *n = &w->nodes[p->node];
	struct replicas_event e = { .input = REPLICAS_ON_WORKLOAD };

	p->used = false;
	if (p->running && (!page_valid(w, n) || !n->workload))
		return; /* the runner looks at the page */
	n->running = p->running;
	if (n->running && n->crashes) {
		struct pending *end = post(w, WORKLOAD, p->node, w->now + MS(200));

		end->empty = true;
		end = post(w, WORKLOAD, p->node, w->now + S(2));
		end->running = true;
	}
	e.workload.running = p->running;
	e.workload.empty = p->empty;
	feed(w, n, &e);
}

static inline void deliver(struct world *w, struct pending *p)
{
	struct node *n = &w->nodes[p->node];
	struct replicas_event e = { .input = REPLICAS_ON_WATCH };

	if (p->kind == ARRIVES) {
		arrives(w, p);
		return;
	}
	if (p->kind == COMES_BACK) {
		p->used = false;
		if (!n->up) {
			n->page_open = false; /* understudyd ends the page before anything starts */
			elector_starts(w, n);
		}
		return;
	}
	if (!n->up || p->life != n->life) {
		p->used = false;
		return;
	}
	if (p->kind != WORKLOAD && n->paused_until > w->now) {
		p->at = n->paused_until;
		p->order = w->order++;
		return;
	}
	switch (p->kind) {
	case ANSWERS: answers(w, p); return;
	case WORKLOAD:
		if (n->paused_until > w->now && p->empty) { /* the runner does not wait */
			n->running = false;
			p->at = n->paused_until;
			return;
		}
		workload_seen(w, p);
		return;
	case WATCH:
		p->used = false;
		e.watched = record_for(w, n, &p->lease);
		if (!p->lease.exists)
			n->base_exists = false;
		feed(w, n, &e);
		return;
	default: break;
	}
	p->used = false;
}

/* Runs until the true time `end`, or until something is broken. */
static inline void run_until(struct world *w, int64_t end)
{
	unsigned spins = 0;

	while (!w->why[0]) {
		struct pending *next = NULL;
		struct node *waker = NULL;
		int64_t at = end + 1;

		for (unsigned i = 0; i < MAX_PENDING; i++) {
			struct pending *p = &w->pending[i];

			if (p->used &&
			    (p->at < at || (next && p->at == at && p->order < next->order))) {
				at = p->at;
				next = p;
			}
		}
		for (unsigned i = 0; i < NODES; i++) { /* timers after what is readable (H2) */
			struct node *n = &w->nodes[i];
			int64_t wake = n->up ? time_of(n, n->out.wake_at_ns) : INT64_MAX;

			if (wake < n->paused_until && n->up)
				wake = n->paused_until;
			if (wake < w->now)
				wake = w->now;
			if (wake < at) {
				at = wake;
				waker = n;
				next = NULL;
			}
		}
		if (at > end)
			break;
		assert_true(at > w->now || ++spins < 10000); /* no spinning */
		if (at > w->now) {
			w->now = at;
			spins = 0;
		}
		check(w);
		if (next) {
			deliver(w, next);
		} else {
			struct replicas_event e = { .input = REPLICAS_ON_TIME };

			feed(w, waker, &e);
		}
	}
	if (!w->why[0])
		w->now = end;
	check(w);
}

static inline void run(struct world *w, int64_t span)
{
	run_until(w, w->now + span);
}

static inline void world_make(struct world *w, uint64_t seed)
{
	memset(w, 0, sizeof(*w));
	w->rng = seed * 0x9e3779b97f4a7c15ULL + 1;
	w->calm = seed == 0;
	w->now = S(100);
	w->lease.holder = NOBODY;
	w->last_opener = NOBODY;
	for (unsigned i = 0; i < NODES; i++) {
		w->nodes[i] = (struct node){ .rate_ppm = 1000000,
			.base = 0,
			.base_ns = S(1000) * (i + 1),
			.wall_skew_us = (int64_t)i * 3600000000LL,
			.exit_code = -1,
			.out = { .wake_at_ns = INT64_MAX } };
	}
}

static inline void start(struct world *w, unsigned node)
{
	elector_starts(w, &w->nodes[node]);
}

/* The one that leads; NOBODY. */
static inline unsigned leader(const struct world *w)
{
	for (unsigned i = 0; i < NODES; i++)
		if (w->nodes[i].up && page_valid(w, &w->nodes[i]))
			return i;
	return NOBODY;
}

static inline void stop(struct world *w, unsigned node)
{
	struct node *n = &w->nodes[node];
	struct replicas_event e = { .input = REPLICAS_ON_STOP };

	e.deadline_ns = clock_of(n, w->now) + S(6);
	feed(w, n, &e);
}

/* A write by another hand or program: at once. */
static inline void edit(struct world *w, unsigned holder, uint64_t instance, int64_t renew_us)
{
	w->lease.exists = true;
	w->lease.version++;
	w->lease.holder = holder;
	w->lease.instance = instance;
	w->lease.renew_us = renew_us;
	changed(w);
}

#endif
