/*
 * The yes/no questions of the table. Pure, and they change nothing. Rules are cited where they
 * are answered. Called by the rows of machine.c, and by machine_acts.c.
 */
#include <string.h>

#include "elector/machine_inner.h"
#include "elector/terms.h"

#define OWN_WRITE_NS      (15 * NS_PER_S) /* M1 */
#define STOPPING_GRACE_NS (10 * NS_PER_S)

/* --- Own Lease ------------------------------------------------------------------------------- */

bool own_claims(const struct machine *m)
{
	return m->own.exists && m->own.holder == HOLDER_SELF && m->own.phase >= PHASE_ACQUIRING &&
	       m->own.phase <= PHASE_DRAINING;
}

bool validity_over(const struct machine *m, int64_t now_ns)
{
	return m->valid_until_ns && now_ns >= m->valid_until_ns;
}

/* In YIELD the Lease is released after HubRole (close order), which is waited for but not for
 * ever: the peer leads already, and a claim that stands blocks nobody with a higher term. */
static bool role_closed(const struct machine *m, int64_t now_ns)
{
	return m->role == HUB_STANDBY || m->role == HUB_REJOINING || now_ns >= m->role_wait_ns;
}

enum lease_want lease_wanted(const struct machine *m, int64_t now_ns)
{
	switch (m->state) {
	case STATE_ACQ:
	case STATE_CONFIRM: return WANT_ACQUIRING;
	case STATE_OPENING:
	case STATE_ACTIVE: return WANT_LEADING;
	case STATE_DRAIN:
		/* C13 (2): nobody is told that it drains while anything of it can still write. */
		return m->workload_empty && m->role == HUB_DRAINING ? WANT_DRAINING : WANT_LEADING;
	case STATE_RELEASE:
	case STATE_STANDBY:
	case STATE_SUSPECT:
	case STATE_STOPPING: return WANT_NO_CLAIM;
	case STATE_YIELD: return role_closed(m, now_ns) ? WANT_NO_CLAIM : WANT_NOTHING;
	case STATE_RECOVER:
	case STATE_HELD: return m->own.exists ? WANT_NOTHING : WANT_NO_CLAIM; /* H15 */
	default: return WANT_NOTHING;
	}
}

/* Does the own Lease show this claim, as this process wrote it? */
static bool claims_as(const struct machine *m, enum lease_phase phase)
{
	return m->own.instance == m->options.instance && own_claims(m) && m->own.phase == phase &&
	       m->own.term == m->term;
}

bool lease_mismatch(const struct machine *m, int64_t now_ns)
{
	bool says = m->own.ack_id == m->ack_id && m->own.ack == m->ack &&
		    m->own.paused_us == m->paused_us && m->own.block.term == m->block.term &&
		    m->own.block.acknowledged == m->block.acknowledged;

	switch (lease_wanted(m, now_ns)) {
	case WANT_NO_CLAIM:
		return m->own.instance != m->options.instance || own_claims(m) ||
		       m->own.term != m->term || m->restamp || !says || standby_due(m, now_ns);
	case WANT_ACQUIRING: return !claims_as(m, PHASE_ACQUIRING) || !m->valid_until_ns;
	/* M12: the accepted peer leaves while the Lease names the cluster before it. */
	case WANT_LEADING: return !claims_as(m, PHASE_LEADING) || m->restamp;
	case WANT_DRAINING: return !claims_as(m, PHASE_DRAINING) || m->own.handover != m->handover;
	case WANT_NOTHING: break;
	}
	return false;
}

GUARD(lease_due)
{
	bool claim = lease_wanted(m, s->now_ns) >= WANT_ACQUIRING;

	if (m->lease_busy || s->now_ns < m->lease_at_ns)
		return false;
	if (m->unsure)
		return true;
	return lease_mismatch(m, s->now_ns) || (claim && s->now_ns >= m->renew_at_ns);
}

/* A write failed and none was taken for long: who did not try, or slept, knows nothing. */
GUARD(own_unwritable)
{
	int64_t since_ns = m->own_write_ns ? m->own_write_ns : m->look_since_ns;

	return !machine_told(m, REASON_OWN_UNWRITABLE) && m->record_retry_ns && since_ns &&
	       s->now_ns - since_ns > 2 * OWN_WRITE_NS;
}

GUARD(claim_applied)
{
	return s->sent && s->sent->claim && s->sent->epoch == m->epoch;
}

/* H1: refused, every outcome of this claim is known, and a read shows no claim of mine. */
GUARD(claim_refused)
{
	return m->refused && !m->unsure && !m->lease_busy && !m->open_unknowns && !own_claims(m);
}

GUARD(leading_applied)
{
	return claim_applied(m, s) && s->sent->phase == PHASE_LEADING;
}

/* I10: nothing open, and no claim of mine. */
GUARD(released)
{
	return !m->lease_busy && !m->unsure && !own_claims(m) &&
	       (m->role == HUB_STANDBY || m->role == HUB_REJOINING || s->now_ns >= m->role_wait_ns);
}

/* --- INIT ------------------------------------------------------------------------------------ */

GUARD(load_due)
{
	return !m->loaded && !m->lease_busy && s->now_ns >= m->load_at_ns;
}

GUARD(init_stop_due)
{
	return m->syncer != SYNCER_OFF && s->now_ns >= m->syncer_at_ns;
}

/* C15: the Lease of this identity in the hands of another instance is foreign, until it did not
 * change for its duration or the supervisor proved that instance dead. A HubRole that leads without
 * a Lease says that somebody does, whose Lease was deleted and is not written again yet (H15). */
static bool maybe_foreign(const struct machine *m)
{
	if (!m->own.exists)
		return m->role == HUB_LEADING;
	return own_claims(m) && m->own.instance != m->options.instance &&
	       m->own.instance != m->dead;
}

GUARD(claim_foreign)
{
	return maybe_foreign(m) && s->now_ns - m->own_changed_ns < m->options.duration_ns;
}

GUARD(foreign_read_due)
{
	return m->loaded && maybe_foreign(m) && !m->lease_busy && s->now_ns >= m->load_at_ns &&
	       s->now_ns - m->own_changed_ns < m->options.duration_ns + m->options.retry_ns;
}

static bool reads_done(const struct machine *m)
{
	return m->answered && m->workers_done;
}

/* At the start a read is asked again while the fault is ours, for 2 RT: credentials and the dialer
 * may still be on their way. And who is to lead for the first time believes a silent peer, and one
 * without a Lease, only after a threshold: configured active by mistake as well, it may have led
 * until a moment ago, or lead and be about to write its deleted Lease again (H15). */
static bool reads_again(const struct machine *m, int64_t now_ns)
{
	const struct machine_options *o = &m->options;
	int64_t age_ns = now_ns - m->look_since_ns;

	if (m->answer == PEER_BLIND)
		return age_ns < 2 * o->request_ns;
	return (m->answer == PEER_SILENT || m->answer == PEER_NOT_FOUND) && o->active &&
	       m->led_term == 0 && m->peer.led_term == 0 && age_ns < o->duration_ns + o->padding_ns;
}

/* Asked again while nothing came back; at once when the Lease that was missing appeared. */
GUARD(look_due)
{
	bool again = m->answered && m->state == STATE_INIT && reads_again(m, s->now_ns);
	bool appeared = again && m->answer == PEER_NOT_FOUND && m->last_class == PEER_OK;

	if (!m->loaded || m->peer_nonce || (s->now_ns < m->peer_at_ns && !appeared))
		return false;
	return !m->answered || again || (m->state == STATE_HELD && reads_done(m));
}

GUARD(reads_never_asked)
{
	return !m->peer_asked_ns;
}

GUARD(reads_wait)
{
	bool proof = m->state == STATE_RECOVER && m->own_write_ns < m->since_ns &&
		     s->now_ns - m->since_ns < m->options.request_ns;

	return !reads_done(m) || proof;
}

GUARD(init_waits)
{
	return !m->loaded || !reads_done(m) || reads_again(m, s->now_ns) ||
	       m->syncer != SYNCER_OFF || s->now_ns < m->syncer_clear_ns;
}

GUARD(claim_never_opened)
{
	return own_claims(m) && (m->own.term > m->own.led_term || !m->own.term);
}

GUARD(peer_ahead)
{
	return (m->peer.led_term > m->led_term) ||
	       (m->peer.read && m->peer.claim && m->peer.claim_term > m->term) ||
	       (m->answer > PEER_NOT_FOUND && m->worker_term > m->term);
}

/* C6. Without a claim of ours there is nothing to withdraw: the last row leads to STANDBY. */
GUARD(claims_behind)
{
	return own_claims(m) && peer_ahead(m, s);
}

GUARD(may_resume)
{
	return own_claims(m);
}

/* C6: mode decides only while nobody has ever led, as far as anyone here can tell. A peer that
 * cannot be seen through a fault of ours (blind) is no reason to lead. */
GUARD(may_lead_first)
{
	return m->options.active && m->led_term == 0 && m->peer.led_term == 0 && !m->peer.claim &&
	       !m->workers_max && m->answer != PEER_BLIND && machine_next_term(m) != 0;
}

GUARD(both_active)
{
	return m->options.active && m->led_term == 0 && m->peer.led_term == 0 && m->peer.claim;
}

/* --- Levels: HubRole, record, mirror, probe --------------------------------------------------- */

enum hub_role role_wanted(const struct machine *m)
{
	switch (m->state) {
	case STATE_INIT:
	case STATE_FATAL: return HUB_UNKNOWN;
	case STATE_OPENING: return m->leading_applied ? HUB_LEADING : HUB_STANDBY;
	case STATE_ACTIVE: return HUB_LEADING;
	case STATE_DRAIN:
	case STATE_RELEASE: return HUB_DRAINING;
	case STATE_STANDBY:
		/* C12: objects of an own past may only be adopted under Rejoining. */
		return m->granted && m->grant_rejoin ? HUB_REJOINING : HUB_STANDBY;
	default: return HUB_STANDBY;
	}
}

/* Close order: no lower HubRole before the workload is gone, which is waited for with a bound. */
GUARD(role_due)
{
	enum hub_role wanted = role_wanted(m);

	if (wanted == HUB_UNKNOWN || m->role_busy || s->now_ns < m->role_at_ns)
		return false;
	if (wanted != HUB_LEADING && !m->workload_empty && s->now_ns < m->workload_wait_ns)
		return false;
	if (m->role_strange && s->now_ns - m->role_written_ns >= ROLE_LEAST_NS)
		return true;
	/* C2: a level, whoever deleted it, and whichever late write of ours came after this one. */
	if ((m->state == STATE_STANDBY || m->state == STATE_ACTIVE || m->state == STATE_HELD) &&
	    s->now_ns - m->role_written_ns >= ROLE_AGAIN_NS)
		return true;
	/* While the claim is being made the new term waits for its own HubRole, after W2. */
	return m->role != wanted ||
	       (m->role_term != m->term && m->state != STATE_ACQ && m->state != STATE_CONFIRM &&
		   (m->state != STATE_OPENING || wanted == HUB_LEADING));
}

GUARD(stop_run_due)
{
	return !m->workload_empty && !m->page_open && s->now_ns >= m->workload_wait_ns &&
	       m->workload_wait_ns;
}

/* M1: this write is also the proof that the own API server takes writes. */
GUARD(record_due)
{
	bool proof =
	    (m->state == STATE_RECOVER || m->state == STATE_HELD) && m->own_write_ns < m->since_ns;

	return !m->record_busy && s->now_ns >= m->record_retry_ns &&
	       (m->record_dirty || proof || s->now_ns >= m->record_at_ns);
}

GUARD(probe_due)
{
	return s->now_ns >= m->probe_at_ns && m->role != HUB_UNKNOWN && m->role == role_wanted(m);
}

/* C1: a Leading hub must be let in, any other one must be kept out. */
GUARD(fence_not_enforced)
{
	return m->state != STATE_OPENING && m->role == role_wanted(m) &&
	       m->probe_verdict == (m->role == HUB_LEADING ? PROBE_FENCED : PROBE_ACCEPTED);
}

/* H9: the source has a claim, leads or drains, and led later than this hub. */
bool mirror_wanted(const struct machine *m)
{
	return m->peer.read && m->peer.claim && !m->peer.replaced && m->peer.uid[0] &&
	       (m->peer.phase == PHASE_LEADING || m->peer.phase == PHASE_DRAINING) &&
	       m->peer.led_term > m->led_term;
}

GUARD(mirror_due)
{
	bool current = m->granted && m->granted_term == m->peer.claim_term &&
		       m->granted_led == m->peer.led_term && m->syncer == SYNCER_ON;

	if (mirror_wanted(m))
		return !current && !m->syncer_hold; /* M2 */
	return m->granted;
}

bool machine_complete(const struct machine *m)
{
	return m->complete && m->complete_term == m->peer.led_term &&
	       strcmp(m->complete_uid, m->peer.uid) == 0;
}

/* How far the mirror was behind at the peer's last sign of life: a syncer that was not there
 * cannot say, so its absence counts. */
int64_t mirror_lag_ns(const struct machine *m)
{
	int64_t away_ns = m->mirror_lost_ns ? m->peer.seen_ns - m->mirror_lost_ns : 0;

	return m->mirror_lag_ns + (away_ns > 0 ? away_ns : 0);
}

/* --- SUSPECT, STOPPING, CONFIRM, OPENING ------------------------------------------------------ */

GUARD(own_unhealthy)
{
	return !m->own_write_ns || s->now_ns - m->own_write_ns > OWN_WRITE_NS; /* M1 */
}

/* Whoever pushed a term to a worker had led in it. That counts until the peer's own Lease, which
 * is the better witness, was read after it. */
uint64_t newest_led(const struct machine *m)
{
	bool read_since = m->peer.read && m->peer.seen_ns > m->worker_term_ns;

	return !read_since && m->worker_term > m->peer.led_term ? m->worker_term : m->peer.led_term;
}

GUARD(mirror_incomplete)
{
	return newest_led(m) > m->led_term && !m->accept_incomplete &&
	       (!machine_complete(m) || m->complete_term < newest_led(m) ||
		   mirror_lag_ns(m) > m->options.max_lag_ns); /* C5, I7 */
}

GUARD(final_read_due)
{
	return !m->answered && !m->peer_nonce;
}

GUARD(answers)
{
	return s->answers;
}

/* The final read is blind: what the workers say decides, and what they said before it is too old
 * for that (C3, C4), so that witness_old() comes first. */
GUARD(blind_witnessed)
{
	return blind_alone(m, s) && witness_attests(m);
}

GUARD(blind_alone)
{
	return m->answered && m->answer == PEER_BLIND;
}

GUARD(changed_claim)
{
	return m->kind != KIND_FORCED && m->peer.claim && m->peer.tuple != m->guard_tuple;
}

GUARD(no_term_left)
{
	return syncer_out(m, s) && machine_next_term(m) == 0;
}

GUARD(grace_over)
{
	return s->now_ns - m->since_ns >= STOPPING_GRACE_NS;
}

GUARD(syncer_out)
{
	return m->syncer == SYNCER_OFF && s->now_ns >= m->syncer_clear_ns;
}

uint64_t highest_term(const struct machine *m)
{
	uint64_t highest = m->term > m->peer.term ? m->term : m->peer.term;

	return m->workers_max > highest ? m->workers_max : highest;
}

/* A worker's term that nobody claims is above all: a peer that led may just have claimed anew above
 * it (decision 14), unseen. Then who takes over must be higher, or that claim would outrank it
 * (C6).
 */
uint64_t machine_next_term(const struct machine *m)
{
	uint64_t highest = highest_term(m), above;

	if (m->kind == KIND_RECOVERER || m->workers_max <= m->term ||
	    m->workers_max <= m->peer.term)
		return terms_next(highest, m->options.slot);
	above = terms_next(highest, 1 - m->options.slot);
	return above ? terms_next(above, m->options.slot) : 0;
}

GUARD(peer_claims_higher)
{
	return m->peer.claim && m->peer.claim_term > m->term;
}

static bool peer_led_later(const struct machine *m)
{
	return m->peer.led_term > m->led_term; /* C6: whatever its phase */
}

/* A led-term above ours that our mirror does not hold is newer data than ours (C6, I7), which an
 * operator may have accepted to lose. */
GUARD(peer_took_over)
{
	return peer_claims_higher(m, s) ||
	       (peer_led_later(m) && !machine_complete(m) && !m->accept_incomplete);
}

GUARD(taker_and_changed)
{
	return m->kind != KIND_RECOVERER && m->kind != KIND_FORCED && m->peer.claim &&
	       m->peer.tuple != m->guard_tuple;
}

GUARD(taker_changed_early)
{
	return !m->leading_applied && taker_and_changed(m, s);
}

/* C8: who claims because its own data is the newest must have read the peer; a taker that cannot
 * tell silence from its own blindness needs a worker's word. */
GUARD(confirm_unread)
{
	if (!s->answers || m->kind == KIND_RECOVERER || m->kind == KIND_FORCED)
		return false;
	return m->kind == KIND_MINE || (m->answer == PEER_BLIND && !witness_attests(m));
}

GUARD(recoverer_late)
{
	return s->answers && m->kind == KIND_RECOVERER && !may_recover(m, s);
}

GUARD(may_open)
{
	return m->leading_applied && s->now_ns < m->valid_until_ns &&
	       ((m->role == HUB_LEADING && m->probe_known && m->probe_verdict == PROBE_ACCEPTED) ||
		   s->now_ns >= m->open_by_ns);
}

GUARD(may_open_new)
{
	return may_open(m, s) && m->kind != KIND_INITIAL && m->kind != KIND_RECOVERER;
}

/* --- ACTIVE, RECOVER ---------------------------------------------------------------------------
 */

GUARD(page_is_open)
{
	return m->page_open;
}

/* A hub that leads asks only for a hint (C9). */
GUARD(hint_denied)
{
	return s->answers && !peer_took_over(m, s);
}

/* C6. A gap shorter than the peer's threshold: nobody can have taken over meanwhile. */
GUARD(may_recover)
{
	/* H15: a Lease that was deleted a moment ago is on its way back and may say more. */
	bool gone_long = s->now_ns - m->watch_ns >= machine_threshold_ns(m);
	bool peer_ok = m->answer == PEER_OK || (m->answer == PEER_NOT_FOUND && gone_long);
	bool brief = m->led_renewed_ns &&
		     s->now_ns - m->led_renewed_ns < m->options.duration_ns + m->options.padding_ns;
	bool workers = m->workers_answered * 2 > m->options.workers && m->worker_term <= m->term;

	/* "Own write ok": one of this state's own, and not long ago. */
	if ((m->state == STATE_RECOVER || m->state == STATE_HELD) &&
	    (m->own_write_ns < m->since_ns || own_unhealthy(m, s)))
		return false;
	return peer_ok || brief || workers || m->options.resume;
}
