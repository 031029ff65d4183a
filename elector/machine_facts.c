/*
 * What an event means: it becomes knowledge in the machine and one fact for the table. Pure. Only
 * machine_step calls in here. Nothing here decides; what may be believed is decided here (C4, C7,
 * H1, H2, M18).
 */
#include <string.h>

#include "elector/machine_inner.h"
#include "elector/terms.h"

#define DATE_JUMP_NS  (3 * NS_PER_S)     /* C9 (3) */
#define PAUSE_MOST_NS (14400 * NS_PER_S) /* H21 */

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		hash = (hash ^ (value >> (8 * i) & 0xff)) * 0x100000001b3ULL;
	return hash;
}

/* H2: holder, times, term, instance and phase; a label or another annotation changes nothing. */
static uint64_t tuple_of(const struct machine_look *look)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	if (look->class == PEER_NOT_FOUND)
		return mix(hash, 1); /* an absent Lease is a tuple, too: nobody holds it */
	hash = mix(hash, look->holder);
	hash = mix(hash, look->holder_hash);
	/* A Standby renews nothing: what it says of itself is no sign of a leader. */
	hash = mix(hash, look->holder == HOLDER_NONE ? 0 : (uint64_t)look->renew_us);
	hash = mix(hash, (uint64_t)look->acquire_us);
	hash = mix(hash, look->term);
	hash = mix(hash, look->instance);
	return mix(hash, look->phase);
}

/* Watched time starts anew (H2). */
static void watch_restart(struct machine *m, int64_t at_ns)
{
	m->watch_ns = at_ns;
	m->reads = 0;
}

/* --- Own Lease ----------------------------------------------------------------------------- */

static struct machine_sent *sent_find(struct machine *m, int64_t renew_us)
{
	for (unsigned i = 0; i < MACHINE_SENT; i++)
		if (m->sent[i].sent_ns && m->sent[i].renew_us == renew_us)
			return &m->sent[i];
	return NULL;
}

/* A write of this instance is known to stand in the Lease: validity counts from its sending (I1).
 */
static void sent_applied(struct machine *m, struct machine_step *step, struct machine_sent *sent)
{
	sent->applied = true;
	step->sent = sent;
	m->own_write_ns = sent->sent_ns;
	machine_over(m, REASON_OWN_UNWRITABLE);
	if (!sent->claim || sent->epoch != m->epoch || !(BIT(m->state) & STATES_CLAIM))
		return;
	if (m->valid_until_ns < sent->sent_ns + m->options.renew_deadline_ns)
		m->valid_until_ns = sent->sent_ns + m->options.renew_deadline_ns;
	if (sent->phase != PHASE_LEADING)
		return;
	if (!m->leading_applied)
		m->open_by_ns =
		    step->now_ns + 2 * NS_PER_S; /* H4: no longer than that for the probe */
	m->leading_applied = true;
	m->led_renewed_ns = sent->sent_ns;
}

/*
 * The own Lease was seen. renewTime only grows in the object's history (each write raises it), so
 * an older one in a watch is the past, not a restore. A read and an answer are linearizable.
 */
static enum fact own_seen(
    struct machine *m, struct machine_step *step, const struct machine_lease *seen, bool linear)
{
	struct machine_sent *sent = NULL;

	if (!seen->exists) {
		m->own = (struct machine_lease){ 0 };
		return FACT_OWN_GONE;
	}
	if (!linear && seen->renew_us && seen->renew_us < m->own.renew_us)
		return FACT_OWN_SEEN;
	if (seen->instance == m->options.instance) {
		sent = sent_find(m, seen->renew_us);
		if (!sent && seen->renew_us > m->last_renew_us)
			return FACT_OWN_FOREIGN; /* C9 (4): my instance, but I never sent this */
	} else if (seen->instance &&
		   (seen->instance != m->predecessor || seen->renew_us > m->predecessor_us)) {
		return FACT_OWN_FOREIGN; /* C15 */
	}
	m->own = *seen;
	m->term = most(m->term, seen->term); /* H10: terms never follow down */
	m->led_term = most(m->led_term, seen->led_term);
	if (!sent || sent->applied)
		return FACT_OWN_SEEN;
	sent_applied(m, step, sent);
	return FACT_OWN_APPLIED;
}

/* True when the own API server's Date ran ahead of boot time: this machine stood still without
 * noticing, or that clock was set. Either only ever closes (M13). */
static bool date_jumped(struct machine *m, int64_t date_us, int64_t at_ns)
{
	bool jumped = m->date_us && date_us &&
		      us_to_ns(date_us - m->date_us) - (at_ns - m->date_ns) > DATE_JUMP_NS;

	if (date_us) {
		m->date_us = date_us;
		m->date_ns = at_ns;
	}
	return jumped;
}

static enum fact lease_answered(struct machine *m, struct machine_step *step)
{
	int64_t at_ns = step->event->answer.finished_ns, now_ns = step->now_ns;
	bool write = step->event->answer.write;
	enum fact fact;

	m->lease_busy = false;
	switch (step->event->answer.outcome) {
	case OUTCOME_REFUSED:
		m->refused = true;
		m->unsure = true; /* the read tells whether an earlier write got through */
		m->lease_at_ns = now_ns + m->options.retry_ns;
		return FACT_OWN_REFUSED;
	case OUTCOME_UNSURE:
		if (write && !step->event->answer.conflict && !step->event->answer.never_sent)
			m->open_unknowns++;
		m->unsure = true;
		m->lease_at_ns = now_ns + (step->event->answer.conflict ? 0 : m->options.retry_ns);
		return FACT_OWN_UNSURE;
	case OUTCOME_DONE: break;
	}
	m->unsure = false;
	fact = own_seen(m, step, &step->event->answer.lease, true);
	if (date_jumped(m, step->event->answer.date_us, at_ns) && fact != FACT_OWN_FOREIGN) {
		if (m->page_open)
			return FACT_JUMPED;
		watch_restart(m, now_ns);
	}
	return fact;
}

static enum fact own_loaded(struct machine *m, struct machine_step *step)
{
	const struct machine_event *e = step->event;
	const struct machine_record *record = &e->loaded.record;

	m->load_at_ns = step->now_ns + m->options.retry_ns;
	m->lease_busy = false;
	if (!e->loaded.ok)
		return FACT_NOT_LOADED;
	if (!m->loaded || m->own.instance != e->loaded.lease.instance ||
	    m->own.renew_us != e->loaded.lease.renew_us || m->own.phase != e->loaded.lease.phase)
		m->own_changed_ns = step->now_ns;
	m->own = e->loaded.lease;
	m->loaded = true;
	date_jumped(m, e->loaded.date_us, step->now_ns);
	m->predecessor = m->own.instance;
	m->predecessor_us = m->own.renew_us;
	m->last_renew_us = m->own.renew_us;
	m->role = e->loaded.role;
	m->role_term = e->loaded.role_term;
	/* HubRole holds the second copy of the term (H15). What an earlier look showed counts, too:
	 * either may be deleted while INIT waits (H10). */
	m->term = most(m->term, most(m->own.term, m->role_term));
	m->led_term = most(m->led_term, m->own.led_term);
	m->handover = m->own.handover;
	m->ack_id = m->own.ack_id;
	m->ack = m->own.ack;
	m->released_ns = step->now_ns; /* C13: when it was is not known, so that it is now */
	m->paused_us = m->own.paused_us;
	m->paused_until_ns = m->paused_us ? step->now_ns + us_to_ns(m->paused_us - e->wall_us) : 0;
	if (m->paused_until_ns > step->now_ns + PAUSE_MOST_NS) /* nobody of ours wrote that */
		m->paused_until_ns = step->now_ns + PAUSE_MOST_NS;
	block_load(m, step);
	if (!m->own.exists && m->role == HUB_LEADING)
		m->led_term = most(m->led_term, m->role_term);
	/* C6: without a boot time of that renewal, by the own server's clock, and 2 s against it.
	 */
	if (m->own.renew_us && e->loaded.date_us)
		m->led_renewed_ns =
		    step->now_ns - us_to_ns(e->loaded.date_us - m->own.renew_us) - 2 * NS_PER_S;
	if (m->led_renewed_ns > step->now_ns)
		m->led_renewed_ns = 0; /* of the future: nobody knows how long ago it was */
	if (record->exists && !record->other_pair && record->uid[0] && !m->peer.read) {
		memcpy(m->peer.uid, record->uid, sizeof(m->peer.uid));
		m->peer.term = record->term;
		m->peer.led_term = record->led_term;
		/* H17: the threshold of an outage that began before this process is the peer's. */
		m->peer.duration_ms = record->duration_ms;
		m->peer.renew_deadline_ms = record->renew_deadline_ms;
		m->peer.seen_ns = step->now_ns - record->age_ns;
		m->complete = record->complete;
		m->complete_term = record->mirror_term;
		/* Until a syncer says so again, nothing since then was mirrored (C5). */
		m->mirror_lost_ns = m->peer.seen_ns;
		memcpy(m->complete_uid, record->mirror_uid, sizeof(m->complete_uid));
	}
	return FACT_LOADED;
}

/* --- Peer ---------------------------------------------------------------------------------- */

static enum fact peer_read_ok(struct machine *m, struct machine_step *step)
{
	const struct machine_look *look = &step->event->look;
	struct machine_peer *peer = &m->peer;
	bool changed;

	if (look->own_uid || look->holder == HOLDER_SELF || look->pair_differs ||
	    (peer->uid[0] && strcmp(peer->uid, look->uid) != 0)) {
		/* C4, H14: this is not the peer, so nothing was read of it. */
		m->blind_ns = step->now_ns;
		m->last_class = PEER_BLIND;
		m->last_why = PEER_WHY_WRONG_UID;
		m->answer = step->answers ? PEER_BLIND : m->answer;
		if (look->own_uid || look->holder == HOLDER_SELF || look->pair_differs)
			return FACT_PEER_CLASH;
		peer->replaced = true;
		m->record_dirty = m->record_dirty || m->complete;
		m->complete = false;
		return FACT_PEER_REPLACED;
	}
	m->restamp = m->restamp || !peer->uid[0];
	memcpy(peer->uid, look->uid, sizeof(peer->uid));
	changed = !peer->read || tuple_of(look) != peer->tuple;
	if (look->class == PEER_OK && look->renew_us != peer->renew_us)
		peer->word_ns = look->finished_ns;
	if (look->led_term > peer->led_term || look->term > peer->term || !peer->read)
		m->record_dirty = true;
	peer->read = true;
	peer->replaced = false;
	peer->seen_ns = look->finished_ns;
	peer->tuple = tuple_of(look);
	peer->holder = look->class == PEER_OK ? look->holder : HOLDER_NONE;
	peer->phase = look->class == PEER_OK ? look->phase : PHASE_NONE;
	peer->claim = peer->holder != HOLDER_NONE && peer->phase >= PHASE_ACQUIRING &&
		      peer->phase <= PHASE_DRAINING;
	peer->claim_term = look->class == PEER_OK ? look->term : 0;
	peer->term = most(peer->term, look->term);
	peer->led_term = most(peer->led_term, look->led_term);
	if (look->class == PEER_OK) {
		peer->renew_us = look->renew_us;
		peer->duration_ms = look->duration_ms;
		peer->renew_deadline_ms = look->renew_deadline_ms;
	}
	peer->handover = look->handover;
	peer->to_me = look->to_me;
	peer->ack_id = look->ack_id;
	peer->ack = look->ack;
	peer->standby = look->standby;
	m->rogue_reads += m->rogue_reads < 2;
	block_consider(m, step);
	machine_over(m, REASON_PEER_BLIND);
	machine_over(m, REASON_PEER_REPLACED);
	machine_over(m, REASON_PEER_CLASH_SEEN);
	if (!machine_timing_unsafe(m))
		machine_over(m, REASON_TIMING_UNSAFE);
	if (!machine_lease_long(m))
		machine_over(m, REASON_LEASE_LONG);
	if (!changed)
		return FACT_PEER_SAME;
	peer->changed_ns = look->finished_ns;
	watch_restart(m, look->finished_ns);
	m->back_off_ns = 0;
	m->try_at_ns = 0;
	m->veto_since_ns = 0;
	m->syncer_hold = false;
	machine_attempt_over(m);
	machine_over(m, REASON_VETO_HOLDS);
	return FACT_PEER_CHANGED;
}

static enum fact peer_seen(struct machine *m, struct machine_step *step)
{
	const struct machine_look *look = &step->event->look;
	const struct machine_options *o = &m->options;

	if (!m->loaded)
		return FACT_NOTED; /* the record pins whose Lease this must be */
	step->answers = look->nonce && look->nonce == m->peer_nonce;
	if (step->answers) {
		m->peer_nonce = 0;
		m->answered = true;
		m->answer = look->class;
	}
	/* H2: nobody looked between the last look's end and this one's start, or the look itself
	 * took longer than any request may: that time was not watched. */
	if (!m->look_ns || look->started_ns - m->look_ns > 2 * o->retry_ns ||
	    look->finished_ns - look->started_ns > o->request_ns + 2 * o->retry_ns)
		watch_restart(m, look->started_ns > m->look_ns ? look->started_ns : m->look_ns);
	if (look->finished_ns > m->look_ns)
		m->look_ns = look->finished_ns;
	machine_over(m, REASON_PEER_UNWATCHED);
	m->last_class = look->class;
	m->last_why = look->why;
	m->reads++;
	switch (look->class) {
	case PEER_SILENT: return FACT_PEER_SILENT;
	case PEER_BLIND: m->blind_ns = step->now_ns; return FACT_PEER_BLIND;
	case PEER_OK:
	case PEER_NOT_FOUND: break;
	}
	return peer_read_ok(m, step);
}

/* No answer to a read that was asked for is a fault of ours, not the peer's silence (M18). */
enum fact machine_peer_overdue(struct machine *m, struct machine_step *step)
{
	m->peer_nonce = 0;
	m->answered = true;
	m->answer = PEER_BLIND;
	m->last_class = PEER_BLIND;
	m->last_why = PEER_WHY_DIALER;
	m->blind_ns = step->now_ns;
	step->answers = true;
	return FACT_PEER_BLIND;
}

/* --- Workers, mirror, the rest --------------------------------------------------------------- */

static enum fact worker_seen(struct machine *m, struct machine_step *step)
{
	unsigned slot = step->event->worker.slot, worker = step->event->worker.worker;
	uint64_t term = step->event->worker.term;

	if (step->event->worker.state != WORKER_OK || term == 0)
		return FACT_WORKER_SEEN;
	if (!terms_plausible(term, slot, highest_term(m)))
		return FACT_WORKER_IMPLAUSIBLE; /* C7 (4) */
	m->workers_max = most(m->workers_max, term);
	if (worker == m->rogue_worker && term < m->rogue_term)
		m->rogue_ns = 0; /* it was made right */
	if (slot == m->options.slot) {
		/* Ours, and we never took it: pushes fail until a higher one is (decision 14). */
		if (m->state == STATE_ACTIVE && term > m->term && !m->rogue_ns) {
			m->rogue_term = term;
			m->rogue_worker = worker;
			m->rogue_ns = step->now_ns;
			m->rogue_reads = 0;
		}
		return FACT_WORKER_SEEN;
	}
	if (term > m->worker_term)
		m->worker_term_ns = step->now_ns;
	m->worker_term = most(m->worker_term, term);
	m->higher_worker = worker;
	return term > m->term && term != m->rogue_term ? FACT_WORKER_HIGHER : FACT_WORKER_SEEN;
}

static void workers_read(struct machine *m, const struct machine_event *e)
{
	if (e->workers.nonce != m->workers_nonce)
		return;
	m->workers_answered += e->workers.answered;
	m->workers_of += e->workers.of;
	if (m->workers_of >= m->options.workers)
		m->workers_done = true;
}

enum witness_class machine_witness_class(enum witness_answer answer, enum lease_holder holder)
{
	switch (answer) {
	case WITNESS_NO_API: return WITNESS_CUT;
	case WITNESS_NO_ANSWER:
	case WITNESS_DENIED: return WITNESS_MUTE;
	case WITNESS_CUT_OFF:
	case WITNESS_ABSENT: return WITNESS_STALE;
	case WITNESS_READ: return holder == HOLDER_PEER ? WITNESS_FRESH : WITNESS_STALE;
	}
	return WITNESS_CLASS_NONE;
}

/* Its age runs on until it is judged. */
static void witness_seen(struct machine *m, struct machine_step *step)
{
	const struct machine_event *e = step->event;
	struct machine_witness *w;

	if (e->witness.nonce != m->witness_nonce || e->witness.worker >= m->options.workers)
		return;
	w = &m->witness[e->witness.worker];
	w->received_ns = step->now_ns;
	w->age_ns = e->witness.age_ms * NS_PER_MS;
	w->class = (uint8_t)machine_witness_class(e->witness.answer, e->witness.holder);
}

/* C5: complete is set by a full pass under the newest led-term and stands until its source
 * changes, regresses or a kind fails; a restart of the syncer alone only lets the lag run. */
static void mirror_seen(struct machine *m, struct machine_step *step)
{
	const struct machine_event *e = step->event;
	bool same =
		 strcmp(e->mirror.uid, m->peer.uid) == 0 && e->mirror.led_term == m->peer.led_term,
	     before = m->complete;

	m->pending = e->mirror.pending;
	m->failed_kinds = e->mirror.failed_kinds;
	m->held_deletes = e->mirror.held_deletes;
	m->pristine = e->mirror.pristine;
	m->mirror_seen_ns = step->now_ns;
	m->mirror_lag_ns = e->mirror.lag_ms * NS_PER_MS;
	if (!same || e->mirror.regressed || e->mirror.failed_kinds) {
		m->complete = false;
	} else if (e->mirror.complete) {
		m->complete = true;
		m->complete_term = e->mirror.led_term;
		memcpy(m->complete_uid, e->mirror.uid, sizeof(m->complete_uid));
		m->mirror_lost_ns = 0;
		m->grant_rejoin = false; /* the pass is through: HubRole Standby again (C12) */
	}
	if (m->complete != before)
		m->record_dirty = true;
}

static bool is_role(const struct machine_event *e, enum hub_role role, uint64_t term)
{
	return e->hub_role.role == role && e->hub_role.term == term;
}

static enum fact noted(struct machine *m, struct machine_step *step)
{
	const struct machine_event *e = step->event;

	switch (e->input) {
	case MACHINE_WORKERS_READ: workers_read(m, e); break;
	case MACHINE_WITNESS_SEEN: witness_seen(m, step); break;
	case MACHINE_MIRROR_SEEN: mirror_seen(m, step); break;
	case MACHINE_MIRROR_LOST:
		if (!m->mirror_lost_ns)
			m->mirror_lost_ns = step->now_ns;
		barrier_answered(m, m->barrier, ACK_DECLINED);
		break;
	case MACHINE_BARRIER_DONE:
		barrier_answered(m, e->barrier.id, e->barrier.synced ? ACK_SYNCED : ACK_DECLINED);
		break;
	case MACHINE_SYNCER_GONE:
		if (m->syncer == SYNCER_ON)
			break; /* the answer to an earlier stop; it was started again since */
		m->syncer = SYNCER_OFF;
		/* F8, H3: what a killed process sent may still be applied while requests live. */
		m->syncer_clear_ns = step->now_ns + (e->clean ? 0 : 5 * NS_PER_S);
		break;
	case MACHINE_ROLE_WATCHED:
		/* C2. What our own write has not brought yet is no other's hand. */
		m->role_strange = m->loaded && !is_role(e, m->role, m->role_term) &&
				  !is_role(e, m->role_asked, m->role_asked_term);
		break;
	case MACHINE_ROLE_WRITTEN:
		m->role_busy = false;
		m->role_at_ns = step->now_ns + (e->ok ? 0 : m->options.retry_ns);
		m->role_strange = m->role_strange || !e->ok;
		if (e->ok)
			m->role_written_ns = step->now_ns;
		if (e->ok && (m->role != m->role_asked || m->role_term != m->role_asked_term)) {
			m->role = m->role_asked;
			m->role_term = m->role_asked_term;
			m->probe_known = false;
			m->probe_nonce = 0;
			/* The server may lag for a moment; only the opening cannot wait. */
			m->probe_at_ns = step->now_ns + (m->state == STATE_OPENING ? 0 : NS_PER_S);
		}
		break;
	case MACHINE_RECORD_WRITTEN:
		m->record_busy = false;
		m->record_at_ns = step->now_ns + (e->ok ? 10 * NS_PER_S : 0);
		m->record_retry_ns = e->ok ? 0 : step->now_ns + m->options.retry_ns;
		if (e->ok) {
			m->own_write_ns = step->now_ns; /* M1 */
			machine_over(m, REASON_OWN_UNWRITABLE);
		}
		break;
	case MACHINE_WORKLOAD_SEEN: m->workload_empty = e->workload.empty; break;
	case MACHINE_PREDECESSOR_DEAD: m->dead = e->instance; break;
	default: break;
	}
	return FACT_NOTED;
}

enum fact machine_absorb(struct machine *m, struct machine_step *step)
{
	switch (step->event->input) {
	case MACHINE_START: return FACT_START;
	case MACHINE_TIME: return FACT_TIME;
	case MACHINE_LOADED: return own_loaded(m, step);
	case MACHINE_LEASE_ANSWERED: return lease_answered(m, step);
	case MACHINE_LEASE_WATCHED:
		if (m->state == STATE_INIT)
			return FACT_OWN_SEEN; /* INIT reads for itself */
		return own_seen(m, step, &step->event->watched, false);
	case MACHINE_PEER_SEEN: return peer_seen(m, step);
	case MACHINE_COMMAND: return FACT_COMMAND;
	case MACHINE_WORKER_SEEN: return worker_seen(m, step);
	case MACHINE_PROBE_SEEN:
		if (step->event->probe.nonce != m->probe_nonce)
			return FACT_NOTED;
		m->probe_known = true;
		m->probe_verdict = step->event->probe.verdict;
		if (m->state == STATE_OPENING)
			m->probe_at_ns = step->now_ns + 50 * NS_PER_MS;
		if (m->probe_verdict == (m->role == HUB_LEADING ? PROBE_ACCEPTED : PROBE_FENCED))
			machine_over(m, REASON_FENCE_NOT_ENFORCED);
		return FACT_PROBE_SEEN;
	default: return noted(m, step);
	}
}
