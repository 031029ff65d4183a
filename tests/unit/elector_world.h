/*
 * A hub around the machine, in virtual time: it answers what the machine asks for, as configured,
 * looks at a peer that the test describes, and keeps the pages, permits and reasons that came out.
 * No I/O, no clock. For tests of elector/machine*.c.
 */
#ifndef TESTS_UNIT_ELECTOR_WORLD_H
#define TESTS_UNIT_ELECTOR_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "elector/machine.h"
#include "elector/trace.h"

#define MS(n) ((n)*1000000LL)
#define S(n)  ((n)*1000000000LL)

#define ME     0x1111u
#define OTHER  0x2222u
#define PEER_I 0x9999u
#define UID_P  "22222222-2222-2222-2222-222222222222"

#define LEASE(held, said, t, led, by, at)                                                          \
	(struct machine_lease)                                                                     \
	{                                                                                          \
		.exists = true, .holder = (held), .phase = (said), .term = (t), .led_term = (led), \
		.instance = (by), .renew_us = (at)                                                 \
	}

struct world {
	struct machine m;
	int64_t now_ns, wall_us;
	struct machine_out out;

	/* Own API server. */
	struct machine_lease lease;
	enum hub_role role;
	uint64_t role_term;
	struct machine_record record;
	bool api_down;     /* nothing answers: UNSURE, not applied */
	bool lose_replies; /* writes are applied, answers are lost (H1) */
	bool refuse;       /* 403 */
	int64_t date_skew_us;
	bool role_fails;

	/* Peer. */
	struct machine_look peer;
	bool no_observer;
	int64_t next_look_ns;
	bool renews; /* the peer's renewTime grows */

	/* Others. */
	bool syncer_stays, syncer_killed, workload_stays;
	enum probe_verdict probe;
	bool probe_fixed;        /* else it is what the role asks for */
	unsigned workers_answer; /* of options.workers */
	bool workers_mute;       /* no answer at all */
	enum witness_answer witness[8];
	enum lease_holder witness_holder;
	int64_t witness_age_ms;

	/* What came out. */
	bool page_open, permitted, running;
	int64_t page_until_ns;
	uint64_t page_term;
	int exit_code;
	unsigned claims, releases, syncer_starts, grants, pauses, peer_reads, witness_asks;
	bool rejoin;
	uint64_t barrier; /* asked for */
	struct machine_standby said_of_itself;
	char order[256]; /* verbs of interest, one letter each */
	enum machine_reason said[256];
	unsigned said_count;
	unsigned first[REASON_COUNT];
};

static inline void world_step(struct world *w, struct machine_event *event);

static inline void note(struct world *w, char c)
{
	size_t n = strlen(w->order);

	if (n + 1 < sizeof(w->order))
		w->order[n] = c;
}

static inline bool said(const struct world *w, enum machine_reason reason)
{
	for (unsigned i = 0; i < w->said_count; i++)
		if (w->said[i] == reason)
			return true;
	return false;
}

static inline void write_lease(struct world *w, const struct machine_todo *t)
{
	struct machine_event e = { .input = MACHINE_LEASE_ANSWERED };

	e.answer.write = true;
	e.answer.finished_ns = w->now_ns;
	e.answer.date_us = w->wall_us + w->date_skew_us;
	if (w->refuse) {
		e.answer.outcome = OUTCOME_REFUSED;
	} else if (w->api_down) {
		e.answer.outcome = OUTCOME_UNSURE;
	} else {
		w->lease = (struct machine_lease){ .exists = true,
			.holder = t->lease.claim ? HOLDER_SELF : HOLDER_NONE,
			.phase = t->lease.phase,
			.term = t->lease.term,
			.led_term = t->lease.led_term,
			.instance = w->m.options.instance,
			.renew_us = t->lease.renew_us,
			.handover = t->lease.handover,
			.ack_id = t->lease.ack_id,
			.ack = t->lease.ack,
			.paused_us = t->lease.paused_us,
			.block = t->lease.block };
		w->said_of_itself = t->lease.standby;
		*(t->lease.claim ? &w->claims : &w->releases) += 1;
		note(w, t->lease.claim ? 'C' : 'L');
		e.answer.outcome = w->lose_replies ? OUTCOME_UNSURE : OUTCOME_DONE;
		e.answer.lease = w->lease;
	}
	world_step(w, &e);
}

static inline void read_lease(struct world *w)
{
	struct machine_event e = { .input = MACHINE_LEASE_ANSWERED };

	e.answer.finished_ns = w->now_ns;
	e.answer.date_us = w->wall_us + w->date_skew_us;
	e.answer.outcome = w->api_down ? OUTCOME_UNSURE : OUTCOME_DONE;
	e.answer.lease = w->lease;
	world_step(w, &e);
}

static inline void look(struct world *w, uint64_t nonce)
{
	struct machine_event e = { .input = MACHINE_PEER_SEEN, .look = w->peer };

	if (w->renews)
		w->peer.renew_us = w->wall_us;
	e.look = w->peer;
	e.look.nonce = nonce;
	e.look.started_ns = w->now_ns - MS(5);
	e.look.finished_ns = w->now_ns;
	if (e.look.class > PEER_NOT_FOUND)
		e.look.uid[0] = '\0';
	world_step(w, &e);
}

static inline void ask_witnesses(struct world *w, uint64_t nonce)
{
	w->witness_asks++;
	for (unsigned i = 0; i < w->m.options.workers; i++) {
		struct machine_event e = { .input = MACHINE_WITNESS_SEEN };

		e.witness.nonce = nonce;
		e.witness.worker = i;
		e.witness.answer = w->witness[i];
		e.witness.holder = w->witness_holder;
		e.witness.age_ms = w->witness_age_ms;
		world_step(w, &e);
	}
}

static inline void answer(struct world *w, const struct machine_todo *t)
{
	struct machine_event e = { 0 };

	switch (t->verb) {
	case TODO_LOAD:
		e.input = MACHINE_LOADED;
		e.loaded.ok = !w->api_down;
		e.loaded.lease = w->lease;
		e.loaded.role = w->role;
		e.loaded.role_term = w->role_term;
		e.loaded.record = w->record;
		e.loaded.date_us = w->wall_us;
		break;
	case TODO_LEASE_READ: read_lease(w); return;
	case TODO_LEASE_WRITE: write_lease(w, t); return;
	case TODO_ROLE:
		e.input = MACHINE_ROLE_WRITTEN;
		e.ok = !w->api_down && !w->role_fails;
		if (e.ok) {
			w->role = t->role.role;
			w->role_term = t->role.term;
			note(w, w->role == HUB_LEADING ? 'H' : 'h');
		}
		break;
	case TODO_RECORD:
		e.input = MACHINE_RECORD_WRITTEN;
		e.ok = !w->api_down;
		break;
	case TODO_PEER_READ:
		w->peer_reads++;
		if (!w->no_observer)
			look(w, t->nonce);
		return;
	case TODO_WORKERS_READ:
		if (w->workers_mute)
			return;
		e.input = MACHINE_WORKERS_READ;
		e.workers.nonce = t->nonce;
		e.workers.answered = w->workers_answer;
		e.workers.of = w->m.options.workers;
		break;
	case TODO_WITNESS: ask_witnesses(w, t->nonce); return;
	case TODO_SYNCER_STOP:
		note(w, 'D');
		if (w->syncer_stays)
			return;
		e.input = MACHINE_SYNCER_GONE;
		e.clean = !w->syncer_killed;
		break;
	case TODO_STOP_RUN:
		note(w, 'r');
		w->running = false;
		if (w->workload_stays)
			return;
		e.input = MACHINE_WORKLOAD_SEEN;
		e.workload.empty = true;
		break;
	case TODO_PROBE:
		e.input = MACHINE_PROBE_SEEN;
		e.probe.nonce = t->nonce;
		e.probe.verdict = w->probe_fixed           ? w->probe
				  : w->role == HUB_LEADING ? PROBE_ACCEPTED
							   : PROBE_FENCED;
		break;
	default: return;
	}
	world_step(w, &e);
}

/* I1, as far as it can be seen from here: an open page ends RD after the last claim at most. */
static inline void see(struct world *w, const struct machine_todo *t)
{
	switch (t->verb) {
	case TODO_PAGE:
		w->page_open = t->permit.open;
		w->page_until_ns = t->permit.valid_until_ns;
		w->page_term = t->permit.term;
		note(w, t->permit.open ? 'P' : 'p');
		if (w->page_open) {
			assert_true(w->page_until_ns > w->now_ns);
			assert_true(w->page_until_ns <= w->now_ns + w->m.options.renew_deadline_ns);
			assert_int_equal(w->lease.phase, PHASE_LEADING);
			assert_int_equal(w->m.syncer, SYNCER_OFF); /* I6 */
		}
		break;
	case TODO_PERMIT:
		w->permitted = t->permit.valid_until_ns != 0;
		note(w, w->permitted ? 'T' : 't');
		break;
	case TODO_RUN:
		w->running = true;
		note(w, 'R');
		break;
	case TODO_SYNCER_START: w->syncer_starts++; break;
	case TODO_GRANT:
		w->grants++;
		w->rejoin = t->grant.rejoin;
		break;
	case TODO_PAUSE: w->pauses++; break;
	case TODO_BARRIER:
		w->barrier = t->nonce;
		note(w, 'B');
		break;
	case TODO_EXIT: w->exit_code = t->code; break;
	default: break;
	}
}

static inline void world_step(struct world *w, struct machine_event *event)
{
	struct machine_out out;

	event->wall_us = w->wall_us;
	event->random = 7;
	machine_step(&w->m, event, w->now_ns, &out);
	for (unsigned i = 0; i < out.said_count; i++) {
		if (w->said_count < 256)
			w->said[w->said_count++] = out.said[i].reason;
		w->first[out.said[i].reason] += out.said[i].first;
	}
	for (unsigned i = 0; i < out.todo_count; i++)
		see(w, &out.todo[i]);
	/* I5, I10: no open page outside ACTIVE; no claim of ours known in STANDBY. */
	assert_true(w->m.page_open == (w->m.state == STATE_ACTIVE));
	if (w->m.state == STATE_STANDBY)
		assert_true(w->m.own.holder != HOLDER_SELF || w->m.own.phase == PHASE_NONE ||
			    w->m.own.phase == PHASE_RELEASED);
	w->out = out; /* the answers below make newer ones */
	for (unsigned i = 0; i < out.todo_count; i++)
		answer(w, &out.todo[i]);
}

static inline void tick(struct world *w)
{
	struct machine_event e = { .input = MACHINE_TIME };

	world_step(w, &e);
}

/* Runs until now + span: the machine's own wake-ups, and a look each RP. */
static inline void run(struct world *w, int64_t span_ns)
{
	int64_t end_ns = w->now_ns + span_ns;

	for (unsigned guard = 0;; guard++) {
		int64_t next_ns =
		    w->out.wake_at_ns < w->next_look_ns ? w->out.wake_at_ns : w->next_look_ns;

		assert_true(guard < 100000); /* no spinning */
		if (next_ns > end_ns)
			break;
		if (next_ns > w->now_ns) {
			w->wall_us += (next_ns - w->now_ns) / 1000;
			w->now_ns = next_ns;
		}
		if (w->now_ns >= w->next_look_ns) { /* readable I/O before timers (H2) */
			w->next_look_ns = w->now_ns + w->m.options.retry_ns;
			if (!w->no_observer) {
				look(w, 0);
				continue;
			}
		}
		tick(w);
	}
	w->wall_us += (end_ns - w->now_ns) / 1000;
	w->now_ns = end_ns;
}

/* Runs until the state is reached, not longer than span. */
static inline void run_to(struct world *w, enum machine_state state, int64_t span_ns)
{
	int64_t end_ns = w->now_ns + span_ns;

	while (w->m.state != state && w->now_ns < end_ns)
		run(w, MS(10));
	assert_int_equal(w->m.state, state);
}

/* Boot time goes on and nobody runs: SIGSTOP, suspend. */
static inline void freeze(struct world *w, int64_t span_ns)
{
	w->now_ns += span_ns;
	w->wall_us += span_ns / 1000;
	w->next_look_ns = w->now_ns;
}

static inline void world_make(struct world *w, unsigned slot, bool active)
{
	struct machine_options o = { .instance = ME,
		.slot = slot,
		.active = active,
		.automatic = true,
		.witness = true,
		.duration_ns = S(15),
		.renew_deadline_ns = S(10),
		.retry_ns = S(2),
		.padding_ns = S(5),
		.request_ns = S(4),
		.max_lag_ns = S(60),
		.armed_max_age_ns = S(86400),
		.stop_grace_ns = 0 };

	memset(w, 0, sizeof(*w));
	machine_init(&w->m, &o);
	w->now_ns = S(1000);
	w->wall_us = 1700000000000000LL;
	w->next_look_ns = w->now_ns + S(1);
	w->out.wake_at_ns = INT64_MAX;
	w->role = HUB_STANDBY;
	w->peer = (struct machine_look){
		.class = PEER_OK, .duration_ms = 15000, .renew_deadline_ms = 10000
	};
	memcpy(w->peer.uid, UID_P, sizeof(UID_P));
	w->witness_holder = HOLDER_PEER;
	for (int i = 0; i < 8; i++)
		w->witness[i] = WITNESS_NO_ANSWER;
}

static inline void start(struct world *w)
{
	struct machine_event e = { .input = MACHINE_START };

	world_step(w, &e);
	run(w, MS(100));
}

/* The peer leads with this term and renews. */
static inline void peer_leads(struct world *w, uint64_t term)
{
	w->peer.class = PEER_OK;
	w->peer.why = PEER_WHY_NONE;
	w->peer.holder = HOLDER_PEER;
	w->peer.holder_hash = 77;
	w->peer.phase = PHASE_LEADING;
	w->peer.term = w->peer.led_term = term;
	w->peer.instance = PEER_I;
	w->peer.renew_us = w->wall_us;
	w->renews = true;
}

static inline void peer_fails(struct world *w, enum peer_class class, enum peer_why why)
{
	w->peer.class = class;
	w->peer.why = why;
	w->renews = false;
}

static inline void mirror(struct world *w, bool complete)
{
	struct machine_event e = { .input = MACHINE_MIRROR_SEEN };

	memcpy(e.mirror.uid, UID_P, sizeof(UID_P));
	e.mirror.led_term = w->m.granted_led;
	e.mirror.complete = complete;
	world_step(w, &e);
}

/* hub-b, complete, hub-a leads with term 2. */
static inline void standby_complete(struct world *w)
{
	peer_leads(w, 2);
	start(w);
	run(w, S(5));
	assert_int_equal(w->m.state, STATE_STANDBY);
	mirror(w, true);
	run(w, S(5));
	assert_true(machine_complete(&w->m));
}

/* And armed. */
static inline void standby_ready(struct world *w)
{
	standby_complete(w);
	assert_true(machine_armed(&w->m));
}

#endif
