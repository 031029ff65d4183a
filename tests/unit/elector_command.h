/*
 * What the tests of operators' words and of second times share: a command to the hub of
 * elector_world.h and which of its checks refuses it, a promotion on its way, a worker's word. For
 * inclusion by those tests only.
 */
#ifndef TESTS_UNIT_ELECTOR_COMMAND_H
#define TESTS_UNIT_ELECTOR_COMMAND_H

#include "elector_world.h"

#define ID 0x0123456789abcdefULL

static inline bool command_with(struct world *w, struct machine_command command)
{
	struct machine_event e = { .input = MACHINE_COMMAND };
	unsigned before = w->said_count;

	e.command = command;
	e.command.operation = ID;
	world_step(w, &e);
	return w->said_count > before; /* one that is refused says nothing */
}

static inline bool command(struct world *w, enum machine_command_verb verb)
{
	return command_with(w, (struct machine_command){ .verb = verb });
}

/* The check that is not ok; NULL when all are. The first of them. */
static inline const char *refusal(const struct world *w, struct machine_command c)
{
	static struct machine_check checks[MACHINE_MAX_CHECKS];
	unsigned count;

	c.operation = ID;
	count = machine_checks(&w->m, &c, checks);
	assert_in_range(count, 1, MACHINE_MAX_CHECKS);
	for (unsigned i = 0; i < count; i++) {
		assert_true(checks[i].name && checks[i].value[0] && checks[i].limit[0]);
		if (!checks[i].ok)
			return checks[i].name;
	}
	return NULL;
}

static inline const char *refused(const struct world *w, enum machine_command_verb verb)
{
	return refusal(w, (struct machine_command){ .verb = verb });
}

/* hub-a leads with term 2 beside a ready Standby. */
static inline void active_ready(struct world *w)
{
	world_make(w, 0, true);
	w->m.options.workload = true;
	w->peer.class = PEER_OK;
	w->peer.instance = PEER_I;
	start(w);
	run(w, S(5));
	assert_int_equal(w->m.state, STATE_ACTIVE);
	w->peer.standby = (struct machine_standby){ true, true, true, 40 };
	w->peer.renew_us = w->wall_us;
	w->renews = true;
	run(w, S(3));
	memset(w->order, 0, sizeof(w->order));
}

static inline void peer_acks(struct world *w, enum machine_ack ack)
{
	w->peer.ack_id = ID;
	w->peer.ack = ack;
}

static inline void stopping(struct world *w)
{
	world_make(w, 1, false);
	standby_ready(w);
	peer_fails(w, PEER_SILENT, PEER_WHY_REFUSED);
	w->syncer_stays = true;
	run_to(w, STATE_STOPPING, S(25));
}

static inline void syncer_gone(struct world *w)
{
	struct machine_event gone = { .input = MACHINE_SYNCER_GONE, .clean = true };

	w->syncer_stays = false;
	world_step(w, &gone);
	tick(w);
}

static inline void worker_says(struct world *w, unsigned worker, unsigned slot, uint64_t term)
{
	struct machine_event e = { .input = MACHINE_WORKER_SEEN };

	w->m.options.workers = 2;
	e.worker.worker = worker;
	e.worker.slot = slot;
	e.worker.state = WORKER_OK;
	e.worker.term = term;
	world_step(w, &e);
}

#endif
