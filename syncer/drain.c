/*
 * The last words (H3): what was received and is not written may be the last copy of it, so it is
 * written within the deadline, and then this process leaves with nothing of it under way. Called
 * by messages.c, then by each pump.
 */
#include "base/clock.h"
#include "base/log.h"
#include "syncer/diff.h"
#include "syncer/syncer.h"

static void leave(struct syncer *syncer)
{
	const struct engine *engine = &syncer->engine;
	struct msg_drained drained = { .written = engine->written - syncer->drain_written,
		.lost = engine->store.count[ITEM_PENDING] };

	syncer->left = true;
	loop_timer_cancel(syncer->loop, &syncer->last_call);
	log_info("drained: %llu written, %llu lost", (unsigned long long)drained.written,
	    (unsigned long long)drained.lost);
	(void)role_send(syncer->process, ROLE_ELECTOR, 0, MSG_DRAINED, &drained);
	kube_client_shutdown(syncer->client);
	role_leave(syncer->process, 0);
}

static void on_last_call(void *arg, int64_t now_ns)
{
	(void)now_ns;
	leave(arg);
}

static bool anything_ready(const struct engine *engine)
{
	for (unsigned backlog = 0; backlog < 2; backlog++)
		for (unsigned kind = 0; kind < kind_end(); kind++)
			if (engine->ready[backlog][kind].first)
				return true;
	return false;
}

void drain_check(struct syncer *syncer)
{
	const struct engine *engine = &syncer->engine;

	if (!engine->draining || syncer->left)
		return;
	if (engine_is_open(engine) && (engine->busy || anything_ready(engine) ||
					  engine_wake_ns(engine) < syncer->drain_deadline_ns))
		return;
	/* Not from inside the answer that brought us here. */
	loop_timer_set(syncer->loop, &syncer->last_call, base_clock_boot_ns());
}

void drain_begin(struct syncer *syncer, int64_t deadline_ns)
{
	if (syncer->engine.draining)
		return;
	log_info("draining: %u changes to write", syncer->engine.store.count[ITEM_PENDING]);
	diff_stop(syncer);
	feeds_stop_source(syncer);
	loop_timer_cancel(syncer->loop, &syncer->verify);
	syncer->engine.draining = true;
	syncer->drain_written = syncer->engine.written;
	syncer->drain_deadline_ns = deadline_ns;
	syncer->last_call.fire = on_last_call;
	syncer->last_call.arg = syncer;
	loop_timer_set(syncer->loop, &syncer->last_call, deadline_ns);
	engine_rejudge(&syncer->engine, base_clock_boot_ns());
	writes_pump(syncer);
}
