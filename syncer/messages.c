/*
 * One handler per message (ipc/dispatch.h), and the process's own events. Handlers do domain work
 * only: sender, form and bounds were checked before.
 */
#include "base/clock.h"
#include "base/log.h"
#include "syncer/diff.h"
#include "syncer/operate.h"
#include "syncer/syncer.h"

#define DISPATCH_ROLE    ROLE_SYNCER
#define DISPATCH_PREFIX  syncer
#define DISPATCH_CONTEXT struct syncer
#include "ipc/dispatch.h"

enum verdict syncer_on_dialed(
    struct syncer *syncer, const struct link *from, const struct msg_dialed *message, int fd)
{
	(void)from;
	return kube_client_dialed(syncer->client, message, fd);
}

/* H9: whom to mirror. Another source or term is another pass (C5). */
enum verdict syncer_on_mirror_grant(
    struct syncer *syncer, const struct link *from, const struct msg_mirror_grant *message, int fd)
{
	struct engine *engine = &syncer->engine;
	bool other_source, other_term;
	int64_t now_ns = base_clock_boot_ns();

	(void)from;
	(void)fd;
	if (message->source_uid.n == 0)
		return VERDICT_PEER_BROKEN;
	log_term(message->term);
	other_source = !str_equal(message->source_uid, str_of(syncer->source_uid));
	other_term = message->term != syncer->term || message->led_term != engine->term;
	if (!str_copy(syncer->source_uid, sizeof(syncer->source_uid), message->source_uid))
		return VERDICT_PEER_BROKEN;
	syncer->term = message->term;
	engine->term = message->led_term;
	engine->granted = true;
	if (other_source || other_term || !syncer->has_grant) {
		log_info("mirroring %s, term %llu", syncer->source_uid,
		    (unsigned long long)syncer->term);
		syncer->has_grant = true;
		syncer->pass_done = false;
		engine->verified = engine->verified && !other_source;
		if (other_source) {
			engine_source_replaced(engine, now_ns);
			syncer->wrong_source = false;
			feeds_begin_anew(syncer);
			outside_close(&syncer->outside);
			outside_open(&syncer->outside);
		} else {
			feeds_relist(syncer);
		}
	}
	/* C12; its end is the syncer's own word: a whole pass. */
	if (message->rejoin) {
		syncer->pass_done = false;
		feeds_rejoin(syncer, true);
	}
	engine_rejudge(engine, now_ns);
	syncer_advance_soon(syncer);
	writes_pump(syncer);
	return VERDICT_FINE;
}

enum verdict syncer_on_mirror_pause(
    struct syncer *syncer, const struct link *from, const struct msg_mirror_pause *message, int fd)
{
	(void)from;
	(void)fd;
	if (syncer->engine.granted)
		log_info("paused: %.*s", STR_ARG(message->why));
	(void)str_copy(syncer->pause_why, sizeof(syncer->pause_why), message->why);
	syncer->engine.granted = false;
	writes_pump(syncer);
	return VERDICT_FINE;
}

enum verdict syncer_on_barrier_asked(
    struct syncer *syncer, const struct link *from, const struct msg_barrier_asked *message, int fd)
{
	(void)from;
	(void)fd;
	report_barrier(syncer, message->handover);
	return VERDICT_FINE;
}

enum verdict syncer_on_drain_asked(
    struct syncer *syncer, const struct link *from, const struct msg_drain_asked *message, int fd)
{
	(void)from;
	(void)fd;
	drain_begin(syncer, (int64_t)message->deadline_ns);
	return VERDICT_FINE;
}

enum verdict syncer_on_sync_asked(
    struct syncer *syncer, const struct link *from, const struct msg_sync_asked *message, int fd)
{
	(void)from;
	(void)fd;
	operate_asked(syncer, message);
	return VERDICT_FINE;
}

static enum verdict on_message(
    void *context, const struct link *link, const struct message *message, int fd)
{
	return syncer_dispatch(context, link, message, fd);
}

static void on_credential(void *context, const struct msg_credential *credential)
{
	struct syncer *syncer = context;

	if (!kube_client_take(syncer->client, credential))
		return;
	engine_renewed(&syncer->engine, base_clock_boot_ns());
	syncer_advance_soon(syncer);
}

static void on_link(void *context, struct link *link)
{
	struct syncer *syncer = context;

	if (link->peer.role == ROLE_MONITOR) {
		kube_client_show(syncer->client, CREDENTIAL_SYNCER);
		kube_client_show(syncer->client, CREDENTIAL_PEER_SYNCER);
	}
	report_all(context);
}

static void on_link_end(void *context, struct role_id peer)
{
	struct syncer *syncer = context;

	if (peer.role == ROLE_SYNCER_DIALER)
		kube_client_dialer_lost(syncer->client);
	if (peer.role != ROLE_ELECTOR)
		return;
	/* No elector, no grant (H9): it says again when it is back. */
	syncer->engine.granted = false;
	diff_stop(syncer);
}

static void on_stop(void *context, int64_t deadline_ns)
{
	struct syncer *syncer = context;

	(void)deadline_ns;
	syncer->left = true;
	kube_client_shutdown(syncer->client);
	role_leave(syncer->process, 0);
}

const struct role_ops syncer_ops = { .on_message = on_message,
	.on_link = on_link,
	.on_link_end = on_link_end,
	.on_credential = on_credential,
	.on_stop = on_stop };
