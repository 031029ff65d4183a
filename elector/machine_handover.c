/*
 * Switchover with a barrier and a way back at each step (C13), and what an operator asks for:
 * promote, pause, acknowledge (H21, B16), each taken only when its checks pass (B15). Guards and
 * actions of the table's rows; pure. Called by machine.c only.
 */
#include <string.h>

#include "elector/machine_inner.h"

#define ACK_NS       (10 * NS_PER_S) /* C13 (4), from phase draining on; also before a take-back */
#define BARRIER_NS   (9 * NS_PER_S)  /* the syncer declines by itself before that */
#define STANDBY_NS   (10 * NS_PER_S)
#define LAG_LIMIT_MS 5000

/* --- Commands --------------------------------------------------------------------------------- */

static bool passes(
    const struct machine *m, const struct machine_step *s, enum machine_command_verb verb)
{
	struct machine_check checks[MACHINE_MAX_CHECKS];
	unsigned count;

	if (s->event->command.verb != verb)
		return false;
	count = machine_checks(m, &s->event->command, checks);
	for (unsigned i = 0; i < count; i++)
		if (!checks[i].ok)
			return false;
	return true;
}

static void take(struct machine *m, const struct machine_step *s)
{
	m->taken = s->event->command.operation;
}

GUARD(may_switch_over)
{
	return passes(m, s, COMMAND_SWITCHOVER);
}

GUARD(may_call_off)
{
	return passes(m, s, COMMAND_CALL_OFF);
}

GUARD(may_promote)
{
	return passes(m, s, COMMAND_PROMOTE);
}

GUARD(may_force)
{
	return passes(m, s, COMMAND_FORCE);
}

GUARD(may_pause)
{
	return passes(m, s, COMMAND_PAUSE);
}

GUARD(may_end_pause)
{
	return passes(m, s, COMMAND_RESUME);
}

GUARD(may_acknowledge)
{
	return passes(m, s, COMMAND_ACKNOWLEDGE);
}

GUARD(may_accept_peer)
{
	return passes(m, s, COMMAND_ACCEPT_PEER);
}

void act_kind_commanded(struct machine *m, struct machine_step *s)
{
	act_kind_suspect(m, s);
	m->accept_incomplete = s->event->command.accept_incomplete;
	take(m, s);
}

void act_kind_forced(struct machine *m, struct machine_step *s)
{
	m->kind = KIND_FORCED;
	m->accept_incomplete = s->event->command.accept_incomplete;
	take(m, s);
}

/* --- Pause, manual mode, block -----------------------------------------------------------------
 */

bool machine_paused(const struct machine *m, int64_t now_ns)
{
	return now_ns < m->paused_until_ns;
}

bool machine_is_paused(const struct machine *m)
{
	return machine_paused(m, m->now_ns);
}

bool machine_blocked(const struct machine *m, int64_t now_ns)
{
	return now_ns < m->block_until_ns && !m->block.acknowledged;
}

bool machine_permitted(const struct machine *m, int64_t now_ns)
{
	return m->options.automatic && !machine_paused(m, now_ns) && !machine_blocked(m, now_ns);
}

GUARD(pause_over)
{
	return m->paused_until_ns && s->now_ns >= m->paused_until_ns;
}

void act_pause(struct machine *m, struct machine_step *s)
{
	m->paused_us = s->event->wall_us + s->event->command.for_ms * 1000;
	m->paused_until_ns = s->now_ns + s->event->command.for_ms * NS_PER_MS;
	take(m, s);
}

/* The back-off of attempts that were held back is none of the attempt that is allowed now (M2). */
static void allow_now(struct machine *m)
{
	m->back_off_ns = 0;
	m->try_at_ns = 0;
}

void act_end_pause(struct machine *m, struct machine_step *s)
{
	m->paused_us = m->paused_until_ns = 0;
	machine_over(m, REASON_PAUSED);
	allow_now(m);
	if (s->event->input == MACHINE_COMMAND)
		take(m, s);
}

void act_acknowledge(struct machine *m, struct machine_step *s)
{
	m->block.acknowledged = true;
	machine_over(m, REASON_BLOCKED);
	allow_now(m);
	take(m, s);
}

/* M12: identity and completeness are forgotten, terms are not. */
void act_accept_peer(struct machine *m, struct machine_step *s)
{
	m->peer.uid[0] = '\0';
	m->record_dirty = true;
	machine_over(m, REASON_PEER_REPLACED);
	take(m, s);
}

/*
 * B16: the peer leads in a term that it took from this hub, and nobody planned that. For a while
 * this hub does not take it back by itself. It counts from the completed takeover, which the peer's
 * own acquireTime tells; the own Lease keeps it and the acknowledgement, so that an elector that
 * starts anew knows as well, also when the peer cannot be asked any more.
 */
void block_consider(struct machine *m, const struct machine_step *s)
{
	const struct machine_peer *peer = &m->peer;
	int64_t age_ns = us_to_ns(s->event->wall_us - s->event->look.acquire_us), left_ns;
	bool planned = m->handover && m->own.phase == PHASE_RELEASED &&
		       peer->ack_id == m->handover && peer->ack == ACK_SYNCED;

	if (!peer->claim || peer->phase != PHASE_LEADING || peer->claim_term == m->judged_term)
		return;
	m->judged_term = peer->claim_term;
	m->block = (struct machine_block){ 0 };
	m->block_until_ns = 0;
	if (m->led_term == 0 || peer->claim_term <= m->led_term || planned ||
	    age_ns >= m->options.block_ns)
		return;
	left_ns = m->options.block_ns - (age_ns > 0 ? age_ns : 0);
	m->block_until_ns = s->now_ns + left_ns;
	m->block.term = peer->claim_term;
	m->block.until_us = s->event->wall_us + left_ns / 1000;
}

void block_load(struct machine *m, const struct machine_step *s)
{
	int64_t left_ns = us_to_ns(m->own.block.until_us - s->event->wall_us);

	m->block = m->own.block;
	m->judged_term = m->block.term;
	/* No longer than what is configured now, whatever the wall clock did. */
	if (left_ns > m->options.block_ns)
		left_ns = m->options.block_ns;
	m->block_until_ns = s->now_ns + left_ns;
}

/* --- Switchover: the Active --------------------------------------------------------------------
 */

/* Page, permits, workload; then HubRole and the Lease follow as levels. It keeps renewing. */
void act_drain(struct machine *m, struct machine_step *s)
{
	struct machine_todo *t;

	m->page_open = false;
	t = machine_todo_new(s, TODO_PAGE);
	t->permit.term = m->term;
	t = machine_todo_new(s, TODO_PERMIT);
	t->permit.term = m->term;
	act_stop_run(m, s);
	m->handover = s->event->command.operation;
	m->drain_shown = false;
	m->drain_until_ns = m->workload_wait_ns + 2 * m->options.request_ns;
	take(m, s);
}

GUARD(drain_over)
{
	/* A workload that does not end leaves no time for the rest of the steps. */
	return s->now_ns >= m->drain_until_ns ||
	       (!m->workload_empty && s->now_ns >= m->workload_wait_ns);
}

GUARD(draining_applied)
{
	return claim_applied(m, s) && s->sent->phase == PHASE_DRAINING && !m->drain_shown;
}

void act_await_ack(struct machine *m, struct machine_step *s)
{
	m->drain_shown = true;
	m->drain_until_ns = s->now_ns + ACK_NS;
}

static bool acked(const struct machine *m, enum machine_ack ack)
{
	return m->drain_shown && m->peer.ack_id == m->handover && m->peer.ack == ack;
}

GUARD(ack_synced)
{
	return acked(m, ACK_SYNCED);
}

GUARD(ack_declined)
{
	return acked(m, ACK_DECLINED);
}

/* Cancelled: the way back is that of a recoverer, which reads the peer first (C8). */
void act_call_off(struct machine *m, struct machine_step *s)
{
	act_close(m, s);
	act_look(m, s);
	if (s->event->input == MACHINE_COMMAND)
		take(m, s);
}

/* From here on only a new term brings this hub back (C13). */
void act_release(struct machine *m, struct machine_step *s)
{
	m->valid_until_ns = 0;
	m->lease_at_ns = s->now_ns;
}

GUARD(let_go)
{
	return !m->lease_busy && !m->unsure && !own_claims(m) && m->own.exists;
}

/* The peer's Lease stood still for as long as this hub led: that is not its silence now. */
void act_let_go(struct machine *m, struct machine_step *s)
{
	m->released_ns = s->now_ns;
	m->watch_ns = s->now_ns;
	m->reads = 0;
}

/* --- Switchover: the one that takes over -------------------------------------------------------
 */

GUARD(barrier_due)
{
	return m->peer.claim && m->peer.phase == PHASE_DRAINING && m->peer.to_me &&
	       m->peer.handover && m->peer.handover != m->barrier && m->last_class == PEER_OK;
}

void barrier_answered(struct machine *m, uint64_t id, enum machine_ack ack)
{
	if (!m->barrier_until_ns || id != m->barrier)
		return;
	m->barrier_until_ns = 0;
	m->ack_id = id;
	m->ack = ack;
}

void act_barrier(struct machine *m, struct machine_step *s)
{
	m->barrier = m->peer.handover;
	m->barrier_until_ns = s->now_ns + BARRIER_NS;
	if (m->granted)
		machine_todo_new(s, TODO_BARRIER)->nonce = m->barrier;
	else
		barrier_answered(m, m->barrier, ACK_DECLINED);
}

GUARD(barrier_late)
{
	return m->barrier_until_ns && s->now_ns >= m->barrier_until_ns;
}

void act_decline(struct machine *m, struct machine_step *s)
{
	(void)s;
	barrier_answered(m, m->barrier, ACK_DECLINED);
}

/* C13 (5): released to this hub, under the id that it acknowledged, which its own Lease shows, too.
 * A peer whose led-term is not above ours has nothing to hand over: that offer is an old one. */
static bool is_offered(const struct machine *m, int64_t now_ns)
{
	return m->peer.read && !m->peer.claim && m->peer.phase == PHASE_RELEASED &&
	       m->last_class == PEER_OK && m->peer.to_me && m->peer.handover &&
	       m->ack == ACK_SYNCED && m->ack_id == m->peer.handover &&
	       m->own.ack_id == m->ack_id && m->own.ack == ACK_SYNCED &&
	       m->peer.led_term > m->led_term && machine_complete(m) && now_ns >= m->try_at_ns;
}

GUARD(offer_read_due)
{
	return is_offered(m, s->now_ns) && !m->peer_nonce && s->now_ns >= m->peer_at_ns;
}

GUARD(offered)
{
	return s->answers && is_offered(m, s->now_ns);
}

void act_kind_handed(struct machine *m, struct machine_step *s)
{
	(void)s;
	m->kind = KIND_HANDED;
}

/* --- What a Standby says of itself -------------------------------------------------------------
 */

struct machine_standby standby_now(const struct machine *m)
{
	return (struct machine_standby){ .known = m->state == STATE_STANDBY,
		.armed = machine_prepared(m, m->now_ns) && m->last_class != PEER_BLIND,
		.complete = machine_complete(m),
		.lag_ms = mirror_lag_ns(m) / NS_PER_MS };
}

/* At once what an Active would refuse for, else every 10 s; at most once a second. */
bool standby_due(const struct machine *m, int64_t now_ns)
{
	struct machine_standby now = standby_now(m);
	const struct machine_standby *said = &m->standby;

	if (!now.known || now_ns - m->standby_ns < NS_PER_S)
		return false;
	return !said->known || now.armed != said->armed || now.complete != said->complete ||
	       (now.lag_ms < LAG_LIMIT_MS) != (said->lag_ms < LAG_LIMIT_MS) ||
	       now_ns - m->standby_ns >= STANDBY_NS;
}

/* --- A worker's term that nobody claims (decision 14) ------------------------------------------
 */

GUARD(rogue_stands)
{
	return m->rogue_ns && s->now_ns - m->rogue_ns >= 300 * NS_PER_S && m->rogue_reads >= 2 &&
	       m->rogue_term > m->term && m->last_class <= PEER_NOT_FOUND &&
	       !peer_claims_higher(m, s);
}

/* The page closes in the order of every close; the claim goes on under a higher term, so that the
 * validity of the old one bounds the time until it is written. */
void act_reclaim(struct machine *m, struct machine_step *s)
{
	int64_t valid_until_ns = m->valid_until_ns;

	act_close(m, s);
	m->kind = KIND_RECOVERER;
	act_new_term(m, s);
	m->valid_until_ns = valid_until_ns;
}
