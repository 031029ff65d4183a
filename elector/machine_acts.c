/*
 * What the rows' actions do: they change the state's data and put orders for the outside into the
 * step's output, in order. Pure. Called by machine.c only, never on their own authority.
 */
#include <string.h>

#include "base/check.h"
#include "elector/machine_inner.h"
#include "elector/terms.h"

struct machine_todo *machine_todo_new(struct machine_step *s, enum machine_verb verb)
{
	CHECK(s->out->todo_count < MACHINE_MAX_TODO);
	s->out->todo[s->out->todo_count] = (struct machine_todo){ .verb = verb };
	return &s->out->todo[s->out->todo_count++];
}

static struct machine_todo *todo(struct machine_step *s, enum machine_verb verb)
{
	return machine_todo_new(s, verb);
}

static uint64_t new_nonce(struct machine *m)
{
	return ++m->nonce;
}

/* --- Reads ------------------------------------------------------------------------------------ */

void act_load(struct machine *m, struct machine_step *s)
{
	todo(s, TODO_LOAD);
	m->lease_busy = true;
	m->load_at_ns = s->now_ns + m->options.retry_ns;
}

/* M18: a nonce, and a deadline of our own: an observer that does not answer is blindness. */
void act_read_peer(struct machine *m, struct machine_step *s)
{
	m->answered = false;
	m->peer_nonce = new_nonce(m);
	m->peer_asked_ns = s->now_ns;
	m->peer_deadline_ns = s->now_ns + m->options.request_ns + m->options.retry_ns;
	m->peer_at_ns = s->now_ns + m->options.retry_ns;
	todo(s, TODO_PEER_READ)->nonce = m->peer_nonce;
}

static void read_workers(struct machine *m, struct machine_step *s)
{
	m->workers_nonce = new_nonce(m);
	m->workers_answered = m->workers_of = 0;
	m->workers_deadline_ns = s->now_ns + 2500 * NS_PER_MS;
	m->workers_done = m->options.workers == 0;
	if (!m->workers_done)
		todo(s, TODO_WORKERS_READ)->nonce = m->workers_nonce;
}

void act_look(struct machine *m, struct machine_step *s)
{
	if (!m->look_since_ns)
		m->look_since_ns = s->now_ns;
	act_read_peer(m, s);
	read_workers(m, s);
}

/* C3, and C7 (3) with the same trip: both questions cost the workers one round. */
void act_ask_witness(struct machine *m, struct machine_step *s)
{
	m->witness_nonce = new_nonce(m);
	m->witness_asked_ns = s->now_ns;
	memset(m->witness, 0, sizeof(m->witness));
	todo(s, TODO_WITNESS)->nonce = m->witness_nonce;
	read_workers(m, s);
}

/* --- Own Lease, HubRole, record, probe ---------------------------------------------------------
 */

static struct machine_sent *sent_new(struct machine *m, struct machine_step *s)
{
	struct machine_sent *sent = &m->sent[m->sent_next++ % MACHINE_SENT];
	int64_t renew_us = s->event->wall_us;

	/* H17: renewTime only grows, whatever the wall clock does. */
	if (renew_us <= m->last_renew_us)
		renew_us = m->last_renew_us + 1;
	m->last_renew_us = renew_us;
	*sent =
	    (struct machine_sent){ .renew_us = renew_us, .sent_ns = s->now_ns, .epoch = m->epoch };
	return sent;
}

void act_lease(struct machine *m, struct machine_step *s)
{
	enum lease_want want = lease_wanted(m, s->now_ns);
	struct machine_sent *sent;
	struct machine_todo *t;

	m->lease_busy = true;
	if (m->unsure || want == WANT_NOTHING) {
		todo(s, TODO_LEASE_READ);
		return;
	}
	sent = sent_new(m, s);
	sent->claim = want != WANT_NO_CLAIM;
	sent->phase = want == WANT_LEADING     ? PHASE_LEADING
		      : want == WANT_ACQUIRING ? PHASE_ACQUIRING
		      : want == WANT_DRAINING  ? PHASE_DRAINING
		      : m->state == STATE_RELEASE || m->own.phase == PHASE_RELEASED ? PHASE_RELEASED
										    : PHASE_NONE;
	m->restamp = false;
	m->renew_at_ns = s->now_ns + m->options.retry_ns;
	t = todo(s, TODO_LEASE_WRITE);
	t->lease.claim = sent->claim;
	t->lease.acquire = sent->claim && !(own_claims(m) && m->own.term == m->term);
	t->lease.phase = sent->phase;
	t->lease.term = m->term;
	t->lease.led_term = want == WANT_LEADING ? m->term : m->led_term;
	t->lease.renew_us = sent->renew_us;
	t->lease.handover = m->handover;
	t->lease.ack_id = m->ack_id;
	t->lease.ack = m->ack;
	t->lease.paused_us = m->paused_us;
	t->lease.block = m->block;
	t->lease.standby = m->standby = standby_now(m);
	m->standby_ns = s->now_ns;
}

void act_role(struct machine *m, struct machine_step *s)
{
	struct machine_todo *t = todo(s, TODO_ROLE);

	m->role_busy = true;
	m->role_strange = false;
	m->role_asked = role_wanted(m);
	m->role_asked_term = m->term;
	t->role.role = m->role_asked;
	t->role.term = m->term;
}

void act_record(struct machine *m, struct machine_step *s)
{
	m->record_busy = true;
	m->record_dirty = false;
	todo(s, TODO_RECORD);
}

void act_probe(struct machine *m, struct machine_step *s)
{
	m->probe_nonce = new_nonce(m);
	m->probe_at_ns = s->now_ns + (m->state == STATE_OPENING ? 500 * NS_PER_MS : 30 * NS_PER_S);
	todo(s, TODO_PROBE)->nonce = m->probe_nonce;
}

/* --- Mirror ------------------------------------------------------------------------------------
 */

/* H9: one grant per source, term and led-term; the claim gone, the mirror rests. */
void act_mirror(struct machine *m, struct machine_step *s)
{
	struct machine_todo *t;

	if (!mirror_wanted(m)) {
		m->granted = false;
		todo(s, TODO_PAUSE);
		return;
	}
	if (m->syncer != SYNCER_ON)
		todo(s, TODO_SYNCER_START);
	m->syncer = SYNCER_ON;
	m->granted = true;
	m->granted_term = m->peer.claim_term;
	m->granted_led = m->peer.led_term;
	/* C12: a hub that led has objects of its own; until one pass is through they may differ. */
	m->grant_rejoin = m->led_term > 0 && !machine_complete(m);
	t = todo(s, TODO_GRANT);
	memcpy(t->grant.uid, m->peer.uid, sizeof(t->grant.uid));
	t->grant.term = m->granted_term;
	t->grant.led_term = m->granted_led;
	t->grant.rejoin = m->grant_rejoin;
}

/* H3: two seconds to write what was received, then it is killed. Also at the start, where nobody
 * knows whether one runs. The decision to take over is bound to the peer as seen now (C8). */
void act_stop_syncer(struct machine *m, struct machine_step *s)
{
	int64_t drain_ns = m->state == STATE_INIT ? s->now_ns : s->now_ns + 2 * NS_PER_S;

	m->guard_tuple = m->peer.tuple;
	if (m->syncer == SYNCER_ON)
		todo(s, TODO_DRAIN)->deadline_ns = drain_ns;
	m->syncer = SYNCER_LEAVING;
	m->granted = false;
	m->syncer_at_ns = s->now_ns + m->options.retry_ns;
	todo(s, TODO_SYNCER_STOP)->deadline_ns = drain_ns + NS_PER_S / 2;
}

void machine_attempt_over(struct machine *m)
{
	for (enum machine_reason r = REASON_NONE; r < REASON_COUNT; r++)
		m->told[r] = m->told[r] && !machine_of_attempt(r);
}

/* --- Taking over --------------------------------------------------------------------------------
 */

void act_kind_suspect(struct machine *m, struct machine_step *s)
{
	(void)s;
	m->kind = KIND_SUSPECT;
	m->answered = false; /* the final read starts after the guards (M18) */
	m->peer_nonce = 0;
}

void act_kind_mine(struct machine *m, struct machine_step *s)
{
	(void)s;
	m->kind = KIND_MINE;
}

void act_kind_initial(struct machine *m, struct machine_step *s)
{
	(void)s;
	m->kind = KIND_INITIAL;
}

static void claim_begin(struct machine *m, struct machine_step *s)
{
	CHECK(!m->valid_until_ns); /* I1: each way here has closed what was before */
	m->epoch++;
	m->leading_applied = false;
	m->refused = false;
	m->open_unknowns = 0;
	m->hint = false;
	m->rogue_ns = 0;
	m->handover = 0; /* what was offered is offered no more */
	m->probe_known = false;
	m->lease_at_ns = s->now_ns;
}

void act_new_term(struct machine *m, struct machine_step *s)
{
	m->term = machine_next_term(m); /* C7, I4 */
	CHECK(m->term != 0);
	claim_begin(m, s);
}

void act_same_term(struct machine *m, struct machine_step *s)
{
	m->kind = KIND_RECOVERER; /* C7 (2) */
	machine_attempt_over(m);
	claim_begin(m, s);
}

/* M2: 2 s doubled to 30 s, and a part of RP, so that two hubs do not try in step. */
void act_abort(struct machine *m, struct machine_step *s)
{
	int64_t back_ns = m->back_off_ns ? m->back_off_ns * 2 : 2 * NS_PER_S;

	if (back_ns > 30 * NS_PER_S)
		back_ns = 30 * NS_PER_S;
	m->back_off_ns = back_ns;
	m->try_at_ns =
	    s->now_ns + back_ns + (int64_t)(s->event->random % (uint64_t)m->options.retry_ns);
	m->syncer_hold = back_ns < 5 * NS_PER_S;
	m->witness_asked_ns = 0;
	m->peer_nonce = 0;
	m->accept_incomplete = false;
}

/* Two hubs that claimed at once would do so again after the same threshold: each waits for a part
 * of RP more, by chance (section 5). */
void act_duel(struct machine *m, struct machine_step *s)
{
	m->duel_ns = (int64_t)(s->event->random % (uint64_t)m->options.retry_ns);
}

void act_abort_veto(struct machine *m, struct machine_step *s)
{
	if (!m->veto_since_ns)
		m->veto_since_ns = s->now_ns;
	act_abort(m, s);
}

/* --- Page ----------------------------------------------------------------------------------------
 */

static void put_page(struct machine *m, struct machine_step *s)
{
	struct machine_todo *t = todo(s, TODO_PAGE);

	t->permit.open = m->page_open;
	t->permit.term = m->term;
	t->permit.valid_until_ns = m->page_open ? m->valid_until_ns : 0;
}

void act_permit(struct machine *m, struct machine_step *s)
{
	struct machine_todo *t = todo(s, TODO_PERMIT);

	t->permit.term = m->term;
	t->permit.valid_until_ns = m->valid_until_ns;
}

void act_extend(struct machine *m, struct machine_step *s)
{
	struct machine_todo *t;

	put_page(m, s);
	act_permit(m, s);
	if (!m->options.workload)
		return;
	t = todo(s, TODO_RUN);
	t->permit.term = m->term;
	t->permit.valid_until_ns = m->valid_until_ns;
}

void act_open(struct machine *m, struct machine_step *s)
{
	CHECK(m->leading_applied && s->now_ns < m->valid_until_ns); /* I1 */
	m->page_open = true;
	if (m->options.workload)
		m->workload_empty = false;
	m->back_off_ns = 0;
	m->duel_ns = 0;
	m->try_at_ns = 0;
	m->veto_since_ns = 0;
	memset(m->told, 0, sizeof(m->told));
	m->accept_incomplete = false;
	m->paused_us = m->paused_until_ns = 0;
	m->block = (struct machine_block){ 0 };
	m->block_until_ns = 0;
	act_extend(m, s);
}

void act_stop_run(struct machine *m, struct machine_step *s)
{
	m->workload_wait_ns = s->now_ns + m->options.stop_grace_ns + 5 * NS_PER_S;
	if (m->options.workload)
		todo(s, TODO_STOP_RUN);
}

/* The order is the rule: page, permits, workload; then HubRole and the Lease follow as levels once
 * the workload is gone, within bounds (interfaces (f)). */
void act_close(struct machine *m, struct machine_step *s)
{
	m->page_open = false;
	put_page(m, s);
	m->valid_until_ns = 0;
	act_permit(m, s);
	act_stop_run(m, s);
	m->role_wait_ns = m->workload_wait_ns + 2 * m->options.request_ns;
	m->accept_incomplete = false; /* it was this attempt's */
	m->peer_nonce = 0;
	m->lease_at_ns = s->now_ns;
}

void act_hint(struct machine *m, struct machine_step *s)
{
	if (m->hint)
		return;
	m->hint = true;
	act_read_peer(m, s);
}

void act_hint_over(struct machine *m, struct machine_step *s)
{
	m->hint = false;
	m->rogue_term = m->worker_term;
	m->rogue_worker = m->higher_worker;
	m->rogue_ns = s->now_ns;
	m->rogue_reads = 1;
}

void act_leave_75(struct machine *m, struct machine_step *s)
{
	(void)m;
	todo(s, TODO_EXIT)->code = 75;
}

void act_leave_78(struct machine *m, struct machine_step *s)
{
	(void)m;
	todo(s, TODO_EXIT)->code = 78;
}

/* --- When to look again
 * --------------------------------------------------------------------------- */

static void consider(const struct machine *m, int64_t *wake_ns, int64_t at_ns)
{
	if (at_ns > m->now_ns && at_ns < *wake_ns)
		*wake_ns = at_ns;
}

int64_t machine_wake_at_ns(const struct machine *m)
{
	const struct machine_options *o = &m->options;
	const int64_t at_ns[] = {
		m->valid_until_ns,
		m->lease_busy ? 0 : m->lease_at_ns,
		m->lease_busy ? 0 : m->renew_at_ns,
		m->load_at_ns,
		m->role_at_ns,
		m->role_wait_ns,
		m->role_written_ns + ROLE_AGAIN_NS,
		m->role_strange ? m->role_written_ns + ROLE_LEAST_NS : 0,
		m->record_at_ns,
		m->record_retry_ns,
		m->probe_at_ns,
		m->open_by_ns,
		m->workload_wait_ns,
		m->peer_nonce ? m->peer_deadline_ns : 0,
		m->peer_at_ns,
		m->workers_done ? 0 : m->workers_deadline_ns,
		m->try_at_ns,
		m->syncer_at_ns,
		m->syncer_clear_ns,
		m->own_changed_ns + o->duration_ns,
		m->look_since_ns + 2 * o->request_ns,
		m->look_since_ns + o->duration_ns + o->padding_ns,
		m->since_ns + o->request_ns,
		m->since_ns + 10 * NS_PER_S,
		m->look_ns + o->request_ns + 3 * o->retry_ns + 1,
		m->witness_asked_ns + 2300 * NS_PER_MS,
		m->witness_asked_ns + 3 * NS_PER_S + 1,
		threshold_at_ns(m),
		witness_at_ns(m),
		m->own_write_ns + 15 * NS_PER_S + 1,
		m->own_write_ns + 30 * NS_PER_S + 1,
		m->veto_since_ns + 600 * NS_PER_S + 1,
		m->drain_until_ns,
		m->released_ns + 10 * NS_PER_S,
		m->barrier_until_ns,
		m->standby_ns + NS_PER_S,
		m->standby_ns + 10 * NS_PER_S,
		m->paused_until_ns,
		m->block_until_ns,
		m->rogue_ns + 300 * NS_PER_S,
	};
	int64_t wake_ns = INT64_MAX;

	if (m->state == STATE_FATAL)
		return INT64_MAX;
	for (unsigned i = 0; i < sizeof(at_ns) / sizeof(at_ns[0]); i++)
		consider(m, &wake_ns, at_ns[i]);
	return wake_ns;
}
