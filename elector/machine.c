/*
 * The elector's table (leadership-rules 5) and the step that walks it. Pure: no clock, no I/O, no
 * allocation. Called by messages.c and actions.c of the daemon, by tests and by the simulator.
 * States are nouns, facts are past, actions imperative, guards yes/no; the rule stands at the end
 * of its row. Rows of one state and fact are tried in order.
 */
#include "elector/machine.h"

#include <string.h>

#include "base/check.h"
#include "elector/machine_inner.h"

#define IN(state) BIT(STATE_##state)
#define ON(fact)  BIT(FACT_##fact)
#define ALL       STATES_ALL
#define WORKING   (STATES_ALL & ~(IN(INIT) | IN(FATAL)))
#define ALL_FACTS (BIT(FACT_COUNT) - 1)
#define CLOSED    (STATES_ALL & ~(IN(ACTIVE) | IN(FATAL)))
#define STAY      STATE_COUNT
#define READ_OK   (ON(PEER_CHANGED) | ON(PEER_SAME))
#define UNREAD    (ON(PEER_SILENT) | ON(PEER_BLIND) | ON(PEER_REPLACED))
#define ANSWERED  (READ_OK | UNREAD)
#define R(reason) REASON_##reason
#define DO(...)                                                                                    \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define NOTHING                                                                                    \
	{                                                                                          \
		NULL                                                                               \
	}

/* A fact that the state rules out: our bug, and the process starts anew (CHECK). */
static void act_cannot_happen(struct machine *m, struct machine_step *s)
{
	(void)s;
	CHECK(m->state == STATE_COUNT);
}

/* clang-format off */
static const struct machine_row table[] = {
/* What holds in every state. The page is closed in all but ACTIVE. */
{ IN(FATAL), ALL_FACTS, NULL, R(NONE), NOTHING, STAY, "leaving: ignored" },
{ IN(INIT), ON(START), NULL, R(NONE), DO(act_stop_run, act_load), STAY, "5 C15; init_stop_due stops the syncer" },
{ WORKING, ON(START), NULL, R(NONE), DO(act_cannot_happen), STAY, "cannot happen" },
{ IN(ACTIVE) | IN(DRAIN), ON(EXPIRED), NULL, R(VALIDITY_OVER), DO(act_close, act_look), STATE_RECOVER, "5 I1" },
{ IN(CONFIRM) | IN(OPENING), ON(EXPIRED), NULL, R(VALIDITY_LOST), DO(act_close), STATE_YIELD, "5 I1" },
{ ALL, ON(EXPIRED), NULL, R(NONE), DO(act_cannot_happen), STAY, "cannot happen: no validity" },
{ IN(ACTIVE), ON(JUMPED), NULL, R(TIME_JUMPED), DO(act_close, act_look), STATE_RECOVER, "5 C9 M13" },
{ ALL, ON(JUMPED), NULL, R(NONE), DO(act_cannot_happen), STAY, "cannot happen: page closed" },
{ WORKING, ON(OWN_FOREIGN), NULL, R(FOREIGN_INSTANCE), DO(act_close, act_leave_75), STATE_FATAL, "5 C15 C9" },
{ IN(INIT), ON(OWN_FOREIGN), NULL, R(NONE), DO(act_cannot_happen), STAY, "cannot happen: INIT reads by itself" },
{ IN(ACTIVE), ON(PEER_CLASH), answers, R(WORKER_HIGHER), DO(act_close), STATE_YIELD, "5 C9 H14: as blind" },
{ IN(ACTIVE), ON(PEER_CLASH), NULL, R(PEER_CLASH_SEEN), NOTHING, STAY, "5 H14: as blind" },
{ CLOSED, ON(PEER_CLASH), NULL, R(PEER_CLASH), DO(act_close, act_leave_78), STATE_FATAL, "5 H14" },
{ ALL, ON(OWN_UNSURE) | ON(OWN_REFUSED) | ON(OWN_SEEN) | ON(OWN_GONE), NULL, R(NONE), NOTHING, STAY, "H1 H15: lease_due reads or writes again" },
{ ALL, ON(WORKER_IMPLAUSIBLE), NULL, R(IMPLAUSIBLE_TERM), NOTHING, STAY, "C7" },
{ ALL, ON(WORKER_SEEN) | ON(NOTED), NULL, R(NONE), NOTHING, STAY, "knowledge: the time rows use it" },
{ ALL, ON(PROBE_SEEN), fence_not_enforced, R(FENCE_NOT_ENFORCED), NOTHING, STAY, "C1" },
{ ALL, ON(PROBE_SEEN), NULL, R(NONE), NOTHING, STAY, "H4: may_open uses it" },

/* An operator's commands: those whose checks all pass. */
{ IN(ACTIVE), ON(COMMAND), may_switch_over, R(DRAINS), DO(act_drain), STATE_DRAIN, "5 C13" },
{ IN(DRAIN), ON(COMMAND), may_call_off, R(SWITCHOVER_CALLED_OFF), DO(act_call_off), STATE_RECOVER, "5 C13" },
{ IN(STANDBY), ON(COMMAND), may_promote, R(COMMANDED), DO(act_kind_commanded), STATE_SUSPECT, "B17" },
{ IN(STANDBY), ON(COMMAND), may_force, R(FORCED), DO(act_kind_forced, act_stop_syncer), STATE_STOPPING, "5 C5" },
{ IN(HELD), ON(COMMAND), may_force, R(FORCED), DO(act_kind_forced, act_new_term), STATE_ACQ, "5 C6" },
{ IN(STANDBY), ON(COMMAND), may_pause, R(PAUSE_STARTED), DO(act_pause), STAY, "H21" },
{ IN(STANDBY), ON(COMMAND), may_end_pause, R(PAUSE_ENDED), DO(act_end_pause), STAY, "H21" },
{ IN(STANDBY), ON(COMMAND), may_acknowledge, R(ACKNOWLEDGED), DO(act_acknowledge), STAY, "B16" },
{ WORKING, ON(COMMAND), may_accept_peer, R(PEER_ACCEPTED), DO(act_accept_peer), STAY, "M12" },
{ ALL, ON(COMMAND), NULL, R(NONE), NOTHING, STAY, "B15: refused, the checks say why" },

/* Before the levels, which would write W1 again. */
{ IN(ACQ), ON(TIME), claim_refused, R(LEASE_ACQUIRE_FAILED), DO(act_abort), STATE_STANDBY, "5 H1 I10" },
{ IN(DRAIN), ON(TIME), drain_over, R(SWITCHOVER_LATE), DO(act_call_off), STATE_RECOVER, "5 C13" },

/* Levels: what the state wants of Lease, HubRole, record and probe. Renewals come first. */
{ WORKING, ON(TIME), lease_due, R(NONE), DO(act_lease), STAY, "H1 H4 H15" },
{ WORKING, ON(TIME), role_due, R(NONE), DO(act_role), STAY, "C1" },
{ WORKING, ON(TIME), record_due, R(NONE), DO(act_record), STAY, "M1" },
{ IN(STANDBY) | IN(OPENING) | IN(ACTIVE), ON(TIME), probe_due, R(NONE), DO(act_probe), STAY, "C1 H4" },
{ WORKING, ON(TIME), stop_run_due, R(NONE), DO(act_stop_run), STAY, "H18" },
{ WORKING, ON(TIME), unwatched, R(PEER_UNWATCHED), NOTHING, STAY, "M18" },
{ WORKING, ON(TIME), own_unwritable, R(OWN_UNWRITABLE), NOTHING, STAY, "M1" },

/* INIT: own records, then the peer and the workers, then the first matching row. */
{ IN(INIT), ON(LOADED), reads_never_asked, R(NONE), DO(act_look), STAY, "5 C6" },
{ ALL, ON(LOADED) | ON(NOT_LOADED), NULL, R(NONE), NOTHING, STAY, "5: retried every RP" },
{ IN(INIT), ON(TIME), load_due, R(NONE), DO(act_load), STAY, "5" },
{ IN(INIT), ON(TIME), init_stop_due, R(NONE), DO(act_stop_syncer), STAY, "I6" },
{ IN(INIT), ON(TIME), foreign_read_due, R(NONE), DO(act_load), STAY, "C15" },
{ IN(INIT), ON(TIME), claim_foreign, R(NONE), NOTHING, STAY, "C15: waits" },
{ IN(INIT), ON(TIME), look_due, R(NONE), DO(act_read_peer), STAY, "5 C4" },
{ IN(INIT), ON(TIME), init_waits, R(NONE), NOTHING, STAY, "5" },
{ IN(INIT), ON(TIME), claim_never_opened, R(STARTED_GHOST), DO(act_close), STATE_YIELD, "5 I10" },
{ IN(INIT), ON(TIME), both_active, R(BOTH_ACTIVE), NOTHING, STATE_STANDBY, "H14" },
{ IN(INIT), ON(TIME), claims_behind, R(STARTED_BEHIND), DO(act_close), STATE_YIELD, "5 C6" },
{ IN(INIT), ON(TIME), may_resume, R(RESUMES), NOTHING, STATE_RECOVER, "5 C6" },
{ IN(INIT), ON(TIME), may_lead_first, R(STARTS_LEADING), DO(act_kind_initial, act_new_term), STATE_ACQ, "5 C6" },
{ IN(INIT), ON(TIME), NULL, R(STARTED_STANDBY), NOTHING, STATE_STANDBY, "5" },
{ IN(INIT), ON(OWN_APPLIED), NULL, R(NONE), DO(act_cannot_happen), STAY, "cannot happen: nothing written yet" },
{ IN(INIT), ANSWERED, NULL, R(NONE), NOTHING, STAY, "5: the time rows use it" },

/* STANDBY */
{ IN(STANDBY), ON(TIME), timing_unsafe, R(TIMING_UNSAFE), NOTHING, STAY, "H17" },
{ IN(STANDBY), ON(TIME), lease_long, R(LEASE_LONG), NOTHING, STAY, "H17" },
{ IN(STANDBY), ON(TIME), veto_holds, R(VETO_HOLDS), NOTHING, STAY, "C3" },
{ IN(STANDBY), ON(TIME), mirror_due, R(NONE), DO(act_mirror), STAY, "5 H9" },
{ IN(STANDBY), ON(TIME), pause_over, R(PAUSE_ENDED), DO(act_end_pause), STAY, "H21" },
{ IN(STANDBY), ON(TIME), barrier_due, R(BARRIER), DO(act_barrier), STAY, "5 C13" },
{ IN(STANDBY), ON(TIME), barrier_late, R(NONE), DO(act_decline), STAY, "C13" },
{ IN(STANDBY), READ_OK, offered, R(HANDED), DO(act_kind_handed, act_stop_syncer), STATE_STOPPING, "5 C13" },
{ IN(STANDBY), ON(TIME), offer_read_due, R(NONE), DO(act_read_peer), STAY, "C13: a fresh read" },
{ IN(STANDBY), ON(TIME), own_is_newest, R(OWN_IS_NEWEST), DO(act_kind_mine, act_stop_syncer), STATE_STOPPING, "5 C8" },
{ IN(STANDBY), ON(TIME), witness_due, R(NONE), DO(act_ask_witness), STAY, "5 C3" },
{ IN(STANDBY), ON(TIME), threshold_paused, R(PAUSED), DO(act_abort), STAY, "H21 B17" },
{ IN(STANDBY), ON(TIME), threshold_manual, R(MANUAL), DO(act_abort), STAY, "B17" },
{ IN(STANDBY), ON(TIME), threshold_blocked, R(BLOCKED), DO(act_abort), STAY, "B16" },
{ IN(STANDBY), ON(TIME), threshold_passed, R(PEER_SILENT), DO(act_kind_suspect), STATE_SUSPECT, "5 H2" },
{ IN(STANDBY), ON(TIME), threshold_blind, R(PEER_UNREADABLE), DO(act_abort), STAY, "C4" },

/* SUSPECT: the guards in order, then the final read. */
{ IN(SUSPECT), ON(PEER_CHANGED), NULL, R(LEASE_LIVE), DO(act_abort), STATE_STANDBY, "5 C4 H15" },
{ IN(SUSPECT), ON(PEER_SILENT) | ON(PEER_SAME), answers, R(GUARDS_PASSED), DO(act_stop_syncer), STATE_STOPPING, "5 C4" },
{ IN(SUSPECT), ON(TIME), own_unhealthy, R(SELF_UNHEALTHY), DO(act_abort), STATE_STANDBY, "5 M1" },
{ IN(SUSPECT), ON(TIME), mirror_incomplete, R(MIRROR_INCOMPLETE), DO(act_abort), STATE_STANDBY, "5 C5 I7" },
{ IN(SUSPECT), ON(TIME), witness_old, R(NONE), DO(act_ask_witness), STAY, "C3" },
{ IN(SUSPECT), ON(TIME), witness_waits, R(NONE), NOTHING, STAY, "C3" },
{ IN(SUSPECT), ON(TIME), isolated, R(ISOLATED), DO(act_abort), STATE_STANDBY, "5 C3" },
{ IN(SUSPECT), ON(TIME), witness_veto, R(WITNESS_VETO), DO(act_abort_veto), STATE_STANDBY, "5 C3" },
{ IN(SUSPECT), ON(TIME), blind_witnessed, R(GUARDS_PASSED), DO(act_stop_syncer), STATE_STOPPING, "5 C4" },
{ IN(SUSPECT), ON(TIME), blind_alone, R(PEER_UNREADABLE), DO(act_abort), STATE_STANDBY, "5 C4 M18" },
{ IN(SUSPECT), ON(TIME), final_read_due, R(NONE), DO(act_read_peer), STAY, "5 M18" },

/* STOPPING */
{ IN(STOPPING), READ_OK, changed_claim, R(LEASE_LIVE), DO(act_abort), STATE_STANDBY, "5" },
{ IN(STOPPING), ON(TIME), no_term_left, R(LEASE_ACQUIRE_FAILED), DO(act_abort), STATE_STANDBY, "C7" },
{ IN(STOPPING), ON(TIME), syncer_out, R(SYNCER_GONE), DO(act_new_term), STATE_ACQ, "5 C7 H3 I6" },
{ IN(STOPPING), ON(TIME), grace_over, R(MIRROR_NOT_STOPPED), DO(act_abort), STATE_STANDBY, "5 F8" },

/* ACQ: W1 */
{ IN(ACQ), ON(OWN_APPLIED), claim_applied, R(CLAIMED), DO(act_read_peer), STATE_CONFIRM, "5 C8 H1 H4" },

/* CONFIRM: R; without an answer what was seen while the claim was on its way counts. */
{ IN(CONFIRM), ANSWERED, peer_took_over, R(PEER_HIGHER), DO(act_duel, act_close), STATE_YIELD, "5 C8" },
{ IN(CONFIRM), ANSWERED, taker_and_changed, R(BACKED_OUT), DO(act_abort, act_duel, act_close), STATE_YIELD, "5 C8" },
{ IN(CONFIRM), UNREAD, confirm_unread, R(CONFIRM_UNREAD), DO(act_abort, act_close), STATE_YIELD, "5 C8 M18" },
{ IN(CONFIRM), UNREAD, recoverer_late, R(RECOVERY_LATE), DO(act_close, act_look), STATE_RECOVER, "C6" },
{ IN(CONFIRM), ANSWERED, answers, R(CONFIRMED), NOTHING, STATE_OPENING, "5 C8" },

/* OPENING: W2, HubRole, probe */
{ IN(OPENING) | IN(ACTIVE) | IN(DRAIN), READ_OK, peer_took_over, R(PEER_TOOK_OVER), DO(act_close), STATE_YIELD, "5 C9 C6 I5" },
{ IN(OPENING), READ_OK, taker_changed_early, R(BACKED_OUT), DO(act_abort, act_duel, act_close), STATE_YIELD, "H4" },
{ IN(OPENING), ON(OWN_APPLIED), leading_applied, R(NONE), DO(act_permit), STAY, "5 H4" },
{ IN(OPENING), ON(TIME), may_open_new, R(PROMOTED), DO(act_open), STATE_ACTIVE, "5 H4 I1" },
{ IN(OPENING), ON(TIME), may_open, R(LEADS), DO(act_open), STATE_ACTIVE, "5 H4 I1" },

/* ACTIVE */
{ IN(ACTIVE), ON(OWN_APPLIED), leading_applied, R(NONE), DO(act_extend), STAY, "5 I1 H16" },
{ IN(OPENING) | IN(ACTIVE) | IN(DRAIN), ON(WORKER_HIGHER), NULL, R(NONE), DO(act_hint), STAY, "5 C9" },
{ IN(OPENING) | IN(ACTIVE) | IN(DRAIN), UNREAD, answers, R(WORKER_HIGHER), DO(act_close), STATE_YIELD, "5 C9" },
{ IN(OPENING) | IN(ACTIVE) | IN(DRAIN), READ_OK, hint_denied, R(WORKER_ROGUE), DO(act_hint_over), STAY, "5 C9" },
{ IN(ACTIVE), ON(TIME), rogue_stands, R(RECLAIMS), DO(act_reclaim), STATE_OPENING, "decision 14" },

/* DRAIN, RELEASE */
{ IN(DRAIN), ON(OWN_APPLIED), draining_applied, R(NONE), DO(act_await_ack), STAY, "C13" },
{ IN(DRAIN), READ_OK, ack_synced, R(PEER_SYNCED), DO(act_release), STATE_RELEASE, "5 C13" },
{ IN(DRAIN), READ_OK, ack_declined, R(SWITCHOVER_DECLINED), DO(act_call_off), STATE_RECOVER, "5 C13" },
{ IN(RELEASE), ON(TIME), let_go, R(RELEASED), DO(act_let_go), STATE_STANDBY, "5 C13 I10" },

/* RECOVER, HELD */
{ IN(RECOVER) | IN(HELD), ON(TIME), reads_wait, R(NONE), NOTHING, STAY, "5" },
{ IN(RECOVER) | IN(HELD), ON(TIME), peer_ahead, R(PEER_HIGHER), DO(act_close), STATE_YIELD, "5 C6" },
{ IN(RECOVER) | IN(HELD), ON(TIME), may_recover, R(RESUMES), DO(act_same_term), STATE_ACQ, "5 C6 C7" },
{ IN(RECOVER), ON(TIME), NULL, R(RECOVERY_HELD), NOTHING, STATE_HELD, "5 C6" },
{ IN(HELD), ON(TIME), look_due, R(NONE), DO(act_look), STAY, "5 C6" },

/* YIELD */
{ IN(YIELD), ON(TIME), released, R(YIELDED), NOTHING, STATE_STANDBY, "5 I10" },

/* What the rows above leave. */
{ WORKING, ON(PEER_BLIND), NULL, R(PEER_BLIND), NOTHING, STAY, "C4: once" },
{ WORKING, ON(PEER_REPLACED), NULL, R(PEER_REPLACED), NOTHING, STAY, "5 C4: once" },
{ WORKING, READ_OK | ON(PEER_SILENT), NULL, R(NONE), NOTHING, STAY, "knowledge: the time rows use it" },
{ WORKING, ON(OWN_APPLIED), NULL, R(NONE), NOTHING, STAY, "a write of an earlier claim, or no claim" },
{ ALL, ON(WORKER_HIGHER), NULL, R(NONE), NOTHING, STAY, "knowledge: C6, C7" },
{ WORKING, ON(TIME), NULL, R(NONE), NOTHING, STAY, "nothing is due" },
};
/* clang-format on */

#define TABLE_ROWS (sizeof(table) / sizeof(table[0]))

const struct machine_row *machine_table(unsigned *count)
{
	*count = TABLE_ROWS;
	return table;
}

unsigned machine_fact_count(void)
{
	return FACT_COUNT;
}

const char *machine_state_name(enum machine_state state)
{
	static const char *const names[STATE_COUNT] = { "init", "standby", "suspect", "stopping",
		"acquiring", "confirming", "opening", "active", "draining", "releasing",
		"recovering", "held", "yielding", "leaving" };

	return state < STATE_COUNT ? names[state] : "?";
}

void machine_init(struct machine *m, const struct machine_options *options)
{
	memset(m, 0, sizeof(*m));
	CHECK(options->instance && options->slot < 2 && options->retry_ns > 0 &&
	      options->workers <= CREDENTIAL_MAX_WORKERS);
	m->options = *options;
	m->workload_empty = !options->workload;
	m->load_at_ns = INT64_MAX; /* MACHINE_START says that there is a credential */
	m->last_class = PEER_BLIND;
}

/* --- The step --------------------------------------------------------------------------------- */

static void take_numbers(
    const struct machine *m, const struct machine_step *s, struct machine_numbers *n)
{
	unsigned count[WITNESS_CUT + 1];

	witness_count(m, count);
	*n = (struct machine_numbers){
		.term = m->term,
		.led_term = m->led_term,
		.peer_term = m->peer.term,
		.peer_led_term = newest_led(m),
		.worker_term =
		    s->event->input == MACHINE_WORKER_SEEN ? s->event->worker.term : m->worker_term,
		.rogue_term = m->rogue_term,
		.age_ms = (s->now_ns - m->watch_ns) / NS_PER_MS,
		.threshold_ms = machine_threshold_ns(m) / NS_PER_MS,
		.duration_ms = m->peer.duration_ms,
		.lag_ms = mirror_lag_ns(m) / NS_PER_MS,
		.own_write_ms =
		    (s->now_ns - (m->own_write_ns ? m->own_write_ns : m->look_since_ns)) /
		    NS_PER_MS,
		.gap_ms = m->led_renewed_ns ? (s->now_ns - m->led_renewed_ns) / NS_PER_MS : 0,
		.fresh = count[WITNESS_FRESH],
		.stale = count[WITNESS_STALE],
		.mute = count[WITNESS_MUTE],
		.cut = count[WITNESS_CUT],
		.workers = m->options.workers,
		.answered = m->workers_answered,
		.class = m->last_class,
		.why = m->last_why,
		.kind = m->kind,
		.complete = machine_complete(m),
		.timing_safe = !machine_timing_unsafe(m),
		.left_ms =
		    ((machine_paused(m, s->now_ns) ? m->paused_until_ns : m->block_until_ns) -
			s->now_ns) /
		    NS_PER_MS,
	};
}

/* A condition is said once while it lasts (G5, M2); a change of state always. True: it is new. */
static bool say(struct machine *m, struct machine_step *s, const struct machine_row *row,
    enum machine_state next)
{
	bool condition = machine_is_condition(row->reason);
	bool again = condition && machine_told(m, row->reason);
	struct machine_said *said;

	if (row->reason == REASON_NONE || (again && next == m->state))
		return false;
	if (s->out->said_count == MACHINE_MAX_SAID)
		return false;
	said = &s->out->said[s->out->said_count++];
	said->reason = row->reason;
	said->from = m->state;
	said->to = next;
	said->first = !again;
	said->condition = condition;
	take_numbers(m, s, &said->numbers);
	m->told[row->reason] = condition;
	return condition && !again;
}

/* Takes the first matching row. True when it did something, so that a further time row may fire. */
static bool take_row(struct machine *m, struct machine_step *s, enum fact fact)
{
	for (unsigned i = 0; i < TABLE_ROWS; i++) {
		const struct machine_row *row = &table[i];
		enum machine_state next = row->next == STAY ? m->state : row->next;
		bool new;

		if (!(row->states & BIT(m->state)) || !(row->facts & BIT(fact)) ||
		    (row->guard && !row->guard(m, s)))
			continue;
		if (s->out->row_count < MACHINE_MAX_ROWS)
			s->out->rows[s->out->row_count++] = (uint16_t)i;
		for (unsigned a = 0; a < MACHINE_MAX_ACTS && row->acts[a]; a++)
			row->acts[a](m, s);
		new = say(m, s, row, next); /* with the numbers as the actions left them */
		new = new || row->acts[0] || next != m->state;
		if (next != m->state) {
			m->state = next;
			m->since_ns = s->now_ns;
		}
		return new;
	}
	CHECK(!"the table has a row for each state and fact");
	return false;
}

/* Is a time row due at once? Then the caller comes back with MACHINE_TIME after it has read what
 * is readable. */
static bool time_row_due(const struct machine *m, const struct machine_step *s)
{
	for (unsigned i = 0; i < TABLE_ROWS; i++) {
		const struct machine_row *row = &table[i];

		if ((row->states & BIT(m->state)) && (row->facts & BIT(FACT_TIME)) &&
		    (!row->guard || row->guard(m, s)))
			return row->acts[0] || row->next != STAY || row->reason != REASON_NONE;
	}
	return false;
}

void machine_step(
    struct machine *m, const struct machine_event *event, int64_t now_ns, struct machine_out *out)
{
	struct machine_step step = { .event = event, .out = out };
	enum fact fact;

	out->todo_count = out->said_count = out->row_count = 0;
	m->taken = 0;
	m->now_ns = now_ns > m->now_ns ? now_ns : m->now_ns;
	step.now_ns = m->now_ns;
	/* I1: validity is tested before any event; no event may stretch what is over. */
	if ((BIT(m->state) & (STATES_CLAIM & ~IN(ACQ))) && validity_over(m, m->now_ns))
		take_row(m, &step, FACT_EXPIRED);
	fact = machine_absorb(m, &step);
	if (fact != FACT_TIME) {
		take_row(m, &step, fact);
	} else {
		if (m->peer_nonce && m->now_ns >= m->peer_deadline_ns)
			take_row(m, &step, machine_peer_overdue(m, &step));
		if (!m->workers_done && m->now_ns >= m->workers_deadline_ns)
			m->workers_done = true;
		for (int i = 0; i < 16 && take_row(m, &step, FACT_TIME); i++)
			continue;
	}
	out->wake_at_ns = time_row_due(m, &step) ? m->now_ns : machine_wake_at_ns(m);
}
