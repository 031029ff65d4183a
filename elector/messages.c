/*
 * What other roles and the supervisor say, turned into the machine's events. Handlers judge texts
 * and bounds of their message and nothing else; what it means is the machine's. Called by the
 * role's loop.
 */
#define DISPATCH_ROLE    ROLE_ELECTOR
#define DISPATCH_PREFIX  elector
#define DISPATCH_CONTEXT struct elector

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "elector/elector.h"

#include "ipc/dispatch.h"

enum verdict elector_on_message(
    void *elector, const struct link *from, const struct message *message, int fd)
{
	return elector_dispatch(elector, from, message, fd);
}

void elector_pair(
    const struct us_config *config, const char *own_uid, const char *peer_uid, char pair[65])
{
	struct buf text = buf_make(4096);
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	pair[0] = '\0';
	if (own_uid[0] && peer_uid[0]) {
		/* The same text on both hubs: identities and uids in the order of `hubs`. */
		buf_printf(&text, "%s\n%s\n%s\n%s\n", config_text_at(config, config->hubs[0].name),
		    config_text_at(config, config->hubs[1].name),
		    config->self == 0 ? own_uid : peer_uid, config->self == 0 ? peer_uid : own_uid);
		CHECK(EVP_Digest(text.data, text.len, digest, &n, EVP_sha256(), NULL) && n == 32);
		for (unsigned i = 0; i < 32; i++)
			(void)snprintf(pair + (size_t)i * 2, 3, "%02x", digest[i]);
	}
	buf_free(&text);
}

/* The peer's renew deadline out of "LD/RD/RP" (H17); 0 when the text is none. */
static int64_t renew_deadline_of(struct str timing)
{
	char text[65];
	unsigned long long duration, deadline, retry;

	if (!str_copy(text, sizeof(text), timing) ||
	    sscanf(text, "%9llu/%9llu/%9llu", &duration, &deadline, &retry) != 3)
		return 0;
	return (int64_t)deadline;
}

enum verdict elector_on_peer_seen(
    struct elector *elector, const struct link *from, const struct msg_peer_seen *m, int fd)
{
	struct machine_event event = { .input = MACHINE_PEER_SEEN };
	struct machine_look *look = &event.look;
	int64_t now_ns = base_clock_boot_ns();
	char pair[65] = "";

	(void)from;
	(void)fd;
	/* H2: a look from the future would count as watched time. */
	if (m->started_ns > m->finished_ns || m->finished_ns > (uint64_t)now_ns)
		return VERDICT_PEER_BROKEN;
	if (drill_look_seen(elector, m))
		return VERDICT_FINE;
	*look = (struct machine_look){ .nonce = m->nonce,
		.started_ns = (int64_t)m->started_ns,
		.finished_ns = (int64_t)m->finished_ns,
		.class = (enum peer_class)m->class,
		.why = (enum peer_why)m->why,
		.holder = (enum lease_holder)m->holder,
		.holder_hash = m->holder_hash,
		.term = m->term,
		.led_term = m->led_term,
		.phase = (enum lease_phase)m->phase,
		.instance = m->instance,
		.acquire_us = m->acquire_us,
		.renew_us = m->renew_us,
		.duration_ms = (int64_t)m->duration_ms,
		.renew_deadline_ms = renew_deadline_of(m->timing) };
	if (look->class <= PEER_NOT_FOUND) {
		/* Whose Lease it is must be known, or nothing was read (C4). */
		if (!str_copy(look->uid, sizeof(look->uid), m->uid) || !look->uid[0]) {
			look->class = PEER_BLIND;
			look->why = PEER_WHY_WRONG_UID;
		}
		look->own_uid = look->uid[0] && strcmp(look->uid, elector->own_uid) == 0;
		elector_pair(elector->config, elector->own_uid, look->uid, pair);
		annotations_read_handover(m->handover,
		    config_text_at(elector->config, elector->config->self_name), &look->handover,
		    &look->to_me);
		annotations_read_ack(m->handover_ack, &look->ack_id, &look->ack, elector->peer_why);
		annotations_read_standby(m->standby, &look->standby);
		look->pair_differs = pair[0] && m->pair.n && !str_equal(m->pair, str_of(pair));
	}
	if (look->class <= PEER_NOT_FOUND)
		elector->peer_since_us = look->holder == HOLDER_PEER ? look->acquire_us : 0;
	/* The first look, also at a cluster that was accepted in the place of another one (M12):
	 * what is written because of it must say so. */
	if (look->class <= PEER_NOT_FOUND && !elector->machine.peer.uid[0] && !look->own_uid &&
	    look->holder != HOLDER_SELF && !look->pair_differs)
		memcpy(elector->pair, pair, sizeof(pair));
	elector_feed(elector, &event);
	if (!elector->pair[0] && elector->machine.peer.uid[0])
		elector_pair(
		    elector->config, elector->own_uid, elector->machine.peer.uid, elector->pair);
	return VERDICT_FINE;
}

enum verdict elector_on_mirror_seen(
    struct elector *elector, const struct link *from, const struct msg_mirror_seen *m, int fd)
{
	struct machine_event event = { .input = MACHINE_MIRROR_SEEN };
	const struct machine *machine = &elector->machine;

	(void)from;
	(void)fd;
	/* C12; at its end it says what it has archived, until this hub leads again. */
	if (m->rejoin)
		annotations_put_rejoin(elector->rejoin, m->done, m->of, m->archived);
	if (!str_copy(event.mirror.uid, sizeof(event.mirror.uid), m->source_uid))
		return VERDICT_PEER_BROKEN;
	event.mirror.led_term = m->term == machine->granted_term ? machine->granted_led : 0;
	event.mirror.complete = m->complete;
	event.mirror.pristine = m->pristine;
	event.mirror.regressed = m->regressed;
	event.mirror.pending = (unsigned)m->pending;
	event.mirror.failed_kinds = (unsigned)m->failed_kinds;
	event.mirror.held_deletes = (unsigned)m->held_deletes;
	event.mirror.lag_ms =
	    (int64_t)(m->oldest_unapplied_ms < INT32_MAX ? m->oldest_unapplied_ms : INT32_MAX);
	elector_feed(elector, &event);
	return VERDICT_FINE;
}

enum verdict elector_on_drained(
    struct elector *elector, const struct link *from, const struct msg_drained *m, int fd)
{
	(void)elector;
	(void)from;
	(void)fd;
	/* Its end is what counts (SYNCER_GONE); this is for whoever reads the log (H3). */
	log_write(m->lost ? LOG_WARN : LOG_INFO, "mirror drained: %llu written, %llu lost",
	    (unsigned long long)m->written, (unsigned long long)m->lost);
	return VERDICT_FINE;
}

enum verdict elector_on_workers_read(
    struct elector *elector, const struct link *from, const struct msg_workers_read *m, int fd)
{
	struct machine_event event = { .input = MACHINE_WORKERS_READ };

	(void)from;
	(void)fd;
	if (m->answered > m->of)
		return VERDICT_PEER_BROKEN;
	event.workers.nonce = m->nonce;
	event.workers.answered = (unsigned)m->answered;
	event.workers.of = (unsigned)m->of;
	elector_feed(elector, &event);
	return VERDICT_FINE;
}

/* A shard speaks for its own workers only (F9). */
static bool of_shard(const struct elector *elector, const struct link *from, uint64_t worker)
{
	return worker < elector->config->worker_count &&
	       worker / elector->config->shard_size == from->peer.shard;
}

enum verdict elector_on_worker_seen(
    struct elector *elector, const struct link *from, const struct msg_worker_seen *m, int fd)
{
	struct machine_event event = { .input = MACHINE_WORKER_SEEN };

	(void)fd;
	if (!of_shard(elector, from, m->worker))
		return VERDICT_PEER_BROKEN;
	event.worker.worker = (unsigned)m->worker;
	event.worker.slot = (unsigned)m->slot;
	event.worker.state = (enum worker_state)m->state;
	event.worker.term = m->term;
	elector_feed(elector, &event);
	return VERDICT_FINE;
}

enum verdict elector_on_witness_seen(
    struct elector *elector, const struct link *from, const struct msg_witness_seen *m, int fd)
{
	struct machine_event event = { .input = MACHINE_WITNESS_SEEN };

	(void)fd;
	if (!of_shard(elector, from, m->worker))
		return VERDICT_PEER_BROKEN;
	if (drill_witness_seen(elector, m))
		return VERDICT_FINE;
	event.witness.nonce = m->nonce;
	event.witness.worker = (unsigned)m->worker;
	event.witness.answer = (enum witness_answer)m->answer;
	event.witness.holder = (enum lease_holder)m->holder;
	event.witness.age_ms = (int64_t)m->age_ms;
	elector_feed(elector, &event);
	return VERDICT_FINE;
}

enum verdict elector_on_pushed(
    struct elector *elector, const struct link *from, const struct msg_pushed *m, int fd)
{
	(void)fd;
	if (!of_shard(elector, from, m->worker))
		return VERDICT_PEER_BROKEN;
	log_debug("worker %llu: term %llu, outcome %u", (unsigned long long)m->worker,
	    (unsigned long long)m->term, m->outcome);
	return VERDICT_FINE;
}

enum verdict elector_on_published(
    struct elector *elector, const struct link *from, const struct msg_published *m, int fd)
{
	(void)from;
	(void)fd;
	if (m->term == elector->machine.term)
		elector_step_ended(elector, STEP_PUBLISH);
	log_info("published activeController for term %llu: %llu written, %llu failed, %llu pruned",
	    (unsigned long long)m->term, (unsigned long long)m->written,
	    (unsigned long long)m->failed, (unsigned long long)m->pruned);
	return VERDICT_FINE;
}

enum verdict elector_on_probe_seen(
    struct elector *elector, const struct link *from, const struct msg_probe_seen *m, int fd)
{
	struct machine_event event = { .input = MACHINE_PROBE_SEEN };

	(void)from;
	(void)fd;
	event.probe.nonce = m->nonce;
	event.probe.verdict = (enum probe_verdict)m->verdict;
	elector_feed(elector, &event);
	return VERDICT_FINE;
}

enum verdict elector_on_event_asked(
    struct elector *elector, const struct link *from, const struct msg_event_asked *m, int fd)
{
	(void)from;
	(void)fd;
	events_asked(elector, m);
	return VERDICT_FINE;
}

enum verdict elector_on_dialed(
    struct elector *elector, const struct link *from, const struct msg_dialed *m, int fd)
{
	(void)from;
	return kube_client_dialed(elector->client, m, fd);
}

enum verdict elector_on_barrier_done(
    struct elector *elector, const struct link *from, const struct msg_barrier_done *m, int fd)
{
	struct machine_event event = { .input = MACHINE_BARRIER_DONE };

	(void)from;
	(void)fd;
	event.barrier.id = annotations_id(m->handover);
	event.barrier.synced = m->synced;
	if (!event.barrier.id)
		return VERDICT_PEER_BROKEN;
	(void)snprintf(elector->ack_why, sizeof(elector->ack_why), "%.*s", STR_ARG(m->why));
	elector_feed(elector, &event);
	return VERDICT_FINE;
}

enum verdict elector_on_sync_row(
    struct elector *elector, const struct link *from, const struct msg_sync_row *m, int fd)
{
	(void)from;
	(void)fd;
	return relay_row(elector, m);
}

enum verdict elector_on_sync_done(
    struct elector *elector, const struct link *from, const struct msg_sync_done *m, int fd)
{
	(void)from;
	(void)fd;
	return relay_done(elector, m);
}

/* --- Supervisor and links ------------------------------------------------------------------------
 */

static void on_credential(void *ctx, const struct msg_credential *m)
{
	struct elector *elector = ctx;
	struct machine_event event = { .input = MACHINE_START };

	if (!kube_client_take(elector->client, m) || elector->lease.watch)
		return; /* a rotation: requests use it from now on */
	lease_watch(elector);
	record_watch_role(elector);
	elector_feed(elector, &event);
}

static void on_link(void *ctx, struct link *link)
{
	struct elector *elector = ctx;

	elector->syncer_linked |= link->peer.role == ROLE_SYNCER;
	if (link->peer.role != ROLE_MONITOR) {
		elector_tell_again(elector, link->peer);
		return;
	}
	kube_client_show(elector->client, CREDENTIAL_ELECTOR);
	elector_show_all(elector);
}

static void on_link_end(void *ctx, struct role_id peer)
{
	struct elector *elector = ctx;
	struct machine_event event = { .input = MACHINE_MIRROR_LOST };

	if (peer.role == ROLE_ELECTOR_DIALER)
		kube_client_dialer_lost(elector->client);
	if (peer.role != ROLE_SYNCER)
		return;
	elector->syncer_linked = false;
	relay_lost(elector, "the mirror's process ended meanwhile; see sync status");
	(void)snprintf(
	    elector->ack_why, sizeof(elector->ack_why), "the standby's mirror process ended");
	elector_feed(elector, &event);
}

static void on_control(void *ctx, const struct us_ctl *ctl, struct str more, int fd)
{
	struct elector *elector = ctx;
	struct machine_event event = { 0 };

	(void)more;
	if (ctl->type == CONTROL_ADMIN_CLIENT && fd >= 0) {
		admin_take_client(elector, fd, ctl);
		return;
	}
	CHECK(fd < 0 || close(fd) == 0);
	switch (ctl->type) {
	case CONTROL_SYNCER_GONE:
		event.input = MACHINE_SYNCER_GONE;
		event.clean = ctl->a[0] == 1;
		break;
	case CONTROL_WORKLOAD_SEEN:
		event.input = MACHINE_WORKLOAD_SEEN;
		event.workload.running = ctl->a[0] == 1;
		event.workload.empty = ctl->a[1] == 1;
		if (event.workload.running)
			elector_step_ended(elector, STEP_KICK);
		break;
	case CONTROL_PREDECESSOR_DEAD:
		event.input = MACHINE_PREDECESSOR_DEAD;
		event.instance = ctl->a[0];
		break;
	default: return;
	}
	elector_feed(elector, &event);
}

/* Workers came or went; nothing else of an elector's part changes while it runs. */
static void on_config(void *ctx, const struct us_config *before)
{
	struct elector *elector = ctx;

	(void)before;
	elector->config = role_config(elector->process);
	elector->shards = config_shard_count(elector->config);
	/* Who was asked and is gone is waited for until its time is over, as any that is silent. */
	elector->machine.options.workers = elector->config->worker_count;
}

/* H21: a stop is no hand-over: the page is closed, the Lease stays as it is and runs out. */
static void on_stop(void *ctx, int64_t deadline_ns)
{
	struct elector *elector = ctx;

	(void)deadline_ns;
	elector_close_page(elector);
	role_leave(elector->process, 0);
}

const struct role_ops elector_ops = {
	.on_message = elector_on_message,
	.on_link = on_link,
	.on_link_end = on_link_end,
	.on_credential = on_credential,
	.on_control = on_control,
	.on_config = on_config,
	.on_stop = on_stop,
};
