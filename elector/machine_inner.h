/*
 * What the machine's own files share: facts, the step under way, guards and actions by name. Not
 * for the rest of the elector. Units as in machine.h.
 */
#ifndef ELECTOR_MACHINE_INNER_H
#define ELECTOR_MACHINE_INNER_H

#include "elector/machine.h"

/* What an event turned out to say. */
enum fact {
	FACT_START,
	FACT_TIME,
	FACT_EXPIRED, /* now >= valid until: tested before any event (I1) */
	FACT_JUMPED,  /* the own API server's clock ran ahead of ours while leading (C9 (3)) */
	FACT_LOADED,
	FACT_NOT_LOADED,
	FACT_OWN_APPLIED, /* a write of mine stands in the own Lease; step->sent says which */
	FACT_OWN_SEEN,    /* nothing new */
	FACT_OWN_UNSURE,
	FACT_OWN_REFUSED,
	FACT_OWN_GONE,
	FACT_OWN_FOREIGN, /* other instance, or a renewTime never sent (C15, C9 (4)) */
	FACT_PEER_CHANGED,
	FACT_PEER_SAME,
	FACT_PEER_SILENT,
	FACT_PEER_BLIND,
	FACT_PEER_REPLACED,
	FACT_PEER_CLASH,
	FACT_WORKER_SEEN,
	FACT_WORKER_HIGHER,
	FACT_WORKER_IMPLAUSIBLE,
	FACT_PROBE_SEEN,
	FACT_COMMAND,
	FACT_NOTED, /* became knowledge; the time rows use it */
	FACT_COUNT
};

struct machine_step {
	const struct machine_event *event;
	struct machine_out *out;
	int64_t now_ns;
	bool answers;                    /* PEER_*: the read that was asked for (M18) */
	const struct machine_sent *sent; /* OWN_APPLIED */
};

#define BIT(x) (1u << (x))
#define STATES_CLAIM                                                                               \
	(BIT(STATE_ACQ) | BIT(STATE_CONFIRM) | BIT(STATE_OPENING) | BIT(STATE_ACTIVE) |            \
	    BIT(STATE_DRAIN))
#define STATES_ALL    (BIT(STATE_COUNT) - 1)
#define NS_PER_MS     1000000LL
#define NS_PER_S      1000000000LL
#define ROLE_AGAIN_NS (10 * NS_PER_S)   /* C2: somebody may have deleted or changed it */
#define ROLE_LEAST_NS (200 * NS_PER_MS) /* between two writes against somebody's hand */

/* Wall times come from Leases, which may say anything between the years 1 and 9999. */
static inline int64_t us_to_ns(int64_t us)
{
	const int64_t most_us = INT64_MAX / 4000;

	us = us > most_us ? most_us : us < -most_us ? -most_us : us;
	return us * 1000;
}

#define GUARD(name)                                                                                \
	bool name(const struct machine *m __attribute__((unused)),                                 \
	    const struct machine_step *s __attribute__((unused)))

/* Steps and ends of an attempt to take over: one episode until the peer changes (M2). */
static inline bool machine_of_attempt(enum machine_reason reason)
{
	return (reason >= REASON_PEER_SILENT && reason <= REASON_CLAIMED) ||
	       (reason >= REASON_SELF_UNHEALTHY && reason <= REASON_BLOCKED);
}

/* Reasons that may come back while nothing changes; the first of an episode is told. */
static inline bool machine_is_condition(enum machine_reason reason)
{
	return machine_of_attempt(reason) ||
	       (reason >= REASON_PEER_BLIND && reason <= REASON_OWN_UNWRITABLE);
}

/* Was the condition said, and does it last? */
static inline bool machine_told(const struct machine *m, enum machine_reason reason)
{
	return m->told[reason];
}

/* The condition is over; the next time is another episode. */
static inline void machine_over(struct machine *m, enum machine_reason reason)
{
	m->told[reason] = false;
}

/* machine_facts.c */
enum fact machine_absorb(struct machine *m, struct machine_step *step);
enum fact machine_peer_overdue(struct machine *m, struct machine_step *step);

/* machine_guards.c, machine_watch.c: pure questions; used by rows, some by actions, too. */
bool machine_watched(const struct machine *m, int64_t now_ns);
bool own_claims(const struct machine *m);
bool claim_foreign(const struct machine *m, const struct machine_step *s);
bool foreign_read_due(const struct machine *m, const struct machine_step *s);
bool load_due(const struct machine *m, const struct machine_step *s);
bool init_stop_due(const struct machine *m, const struct machine_step *s);
bool look_due(const struct machine *m, const struct machine_step *s);
bool init_waits(const struct machine *m, const struct machine_step *s);
bool reads_wait(const struct machine *m, const struct machine_step *s);
bool claim_never_opened(const struct machine *m, const struct machine_step *s);
bool peer_ahead(const struct machine *m, const struct machine_step *s);
bool may_resume(const struct machine *m, const struct machine_step *s);
bool may_lead_first(const struct machine *m, const struct machine_step *s);
bool both_active(const struct machine *m, const struct machine_step *s);
bool lease_due(const struct machine *m, const struct machine_step *s);
bool role_due(const struct machine *m, const struct machine_step *s);
bool record_due(const struct machine *m, const struct machine_step *s);
bool probe_due(const struct machine *m, const struct machine_step *s);
bool stop_run_due(const struct machine *m, const struct machine_step *s);
bool mirror_due(const struct machine *m, const struct machine_step *s);
bool own_is_newest(const struct machine *m, const struct machine_step *s);
bool witness_due(const struct machine *m, const struct machine_step *s);
bool threshold_passed(const struct machine *m, const struct machine_step *s);
bool threshold_blind(const struct machine *m, const struct machine_step *s);
bool threshold_paused(const struct machine *m, const struct machine_step *s);
bool threshold_manual(const struct machine *m, const struct machine_step *s);
bool threshold_blocked(const struct machine *m, const struct machine_step *s);
bool unwatched(const struct machine *m, const struct machine_step *s);
bool timing_unsafe(const struct machine *m, const struct machine_step *s);
bool lease_long(const struct machine *m, const struct machine_step *s);
bool veto_holds(const struct machine *m, const struct machine_step *s);
bool own_unhealthy(const struct machine *m, const struct machine_step *s);
bool mirror_incomplete(const struct machine *m, const struct machine_step *s);
bool witness_old(const struct machine *m, const struct machine_step *s);
bool witness_waits(const struct machine *m, const struct machine_step *s);
bool isolated(const struct machine *m, const struct machine_step *s);
bool witness_veto(const struct machine *m, const struct machine_step *s);
bool final_read_due(const struct machine *m, const struct machine_step *s);
bool answers(const struct machine *m, const struct machine_step *s);
bool blind_witnessed(const struct machine *m, const struct machine_step *s);
bool blind_alone(const struct machine *m, const struct machine_step *s);
bool changed_claim(const struct machine *m, const struct machine_step *s);
bool reads_never_asked(const struct machine *m, const struct machine_step *s);
bool claims_behind(const struct machine *m, const struct machine_step *s);
bool grace_over(const struct machine *m, const struct machine_step *s);
bool syncer_out(const struct machine *m, const struct machine_step *s);
bool no_term_left(const struct machine *m, const struct machine_step *s);
bool claim_applied(const struct machine *m, const struct machine_step *s);
bool claim_refused(const struct machine *m, const struct machine_step *s);
bool peer_claims_higher(const struct machine *m, const struct machine_step *s);
bool taker_changed_early(const struct machine *m, const struct machine_step *s);
bool taker_and_changed(const struct machine *m, const struct machine_step *s);
bool confirm_unread(const struct machine *m, const struct machine_step *s);
bool recoverer_late(const struct machine *m, const struct machine_step *s);
bool leading_applied(const struct machine *m, const struct machine_step *s);
bool may_open(const struct machine *m, const struct machine_step *s);
bool hint_denied(const struct machine *m, const struct machine_step *s);
bool may_recover(const struct machine *m, const struct machine_step *s);
bool released(const struct machine *m, const struct machine_step *s);
bool fence_not_enforced(const struct machine *m, const struct machine_step *s);
bool page_is_open(const struct machine *m, const struct machine_step *s);
bool own_unwritable(const struct machine *m, const struct machine_step *s);
bool may_open_new(const struct machine *m, const struct machine_step *s);
bool peer_took_over(const struct machine *m, const struct machine_step *s);
bool validity_over(const struct machine *m, int64_t now_ns);
/* What the state wants of the own Lease and of HubRole. */
enum lease_want { WANT_NOTHING, WANT_NO_CLAIM, WANT_ACQUIRING, WANT_LEADING, WANT_DRAINING };
enum lease_want lease_wanted(const struct machine *m, int64_t now_ns);
bool lease_mismatch(const struct machine *m, int64_t now_ns);
enum hub_role role_wanted(const struct machine *m);
bool mirror_wanted(const struct machine *m);
bool witness_attests(const struct machine *m);
void witness_count(const struct machine *m, unsigned count[WITNESS_CUT + 1]);
int64_t mirror_lag_ns(const struct machine *m);
int64_t witness_at_ns(const struct machine *m);
int64_t threshold_at_ns(const struct machine *m);
uint64_t highest_term(const struct machine *m);
/* The term that a new claim of this hub takes; 0: there is none left. */
/* The newest led-term of the peer that this hub knows of. */
uint64_t newest_led(const struct machine *m);

/* machine_handover.c */
bool may_switch_over(const struct machine *m, const struct machine_step *s);
bool may_call_off(const struct machine *m, const struct machine_step *s);
bool may_promote(const struct machine *m, const struct machine_step *s);
bool may_force(const struct machine *m, const struct machine_step *s);
bool may_pause(const struct machine *m, const struct machine_step *s);
bool may_end_pause(const struct machine *m, const struct machine_step *s);
bool may_acknowledge(const struct machine *m, const struct machine_step *s);
bool may_accept_peer(const struct machine *m, const struct machine_step *s);
bool pause_over(const struct machine *m, const struct machine_step *s);
bool drain_over(const struct machine *m, const struct machine_step *s);
bool draining_applied(const struct machine *m, const struct machine_step *s);
bool ack_synced(const struct machine *m, const struct machine_step *s);
bool ack_declined(const struct machine *m, const struct machine_step *s);
bool let_go(const struct machine *m, const struct machine_step *s);
bool barrier_due(const struct machine *m, const struct machine_step *s);
bool barrier_late(const struct machine *m, const struct machine_step *s);
bool offer_read_due(const struct machine *m, const struct machine_step *s);
bool offered(const struct machine *m, const struct machine_step *s);
bool rogue_stands(const struct machine *m, const struct machine_step *s);
bool machine_paused(const struct machine *m, int64_t now_ns);
bool machine_blocked(const struct machine *m, int64_t now_ns);
/* May a promotion follow without an operator's word? */
bool machine_permitted(const struct machine *m, int64_t now_ns);
/* What this hub would say of itself as a Standby; differs from what it said so that it must say it
 * again. */
struct machine_standby standby_now(const struct machine *m);
bool standby_due(const struct machine *m, int64_t now_ns);
/* Everything that a promotion needs but an operator's leave (C4, H2, H17). */
bool machine_prepared(const struct machine *m, int64_t now_ns);
void barrier_answered(struct machine *m, uint64_t id, enum machine_ack ack);
void block_consider(struct machine *m, const struct machine_step *s);
/* The block as the own Lease has it, at the start. */
void block_load(struct machine *m, const struct machine_step *s);
machine_act_fn act_drain, act_await_ack, act_release, act_let_go, act_barrier, act_decline,
    act_kind_handed, act_kind_forced, act_kind_commanded, act_pause, act_end_pause, act_acknowledge,
    act_accept_peer, act_reclaim, act_call_off;

/* machine_acts.c */
void machine_attempt_over(struct machine *m);
struct machine_todo *machine_todo_new(struct machine_step *s, enum machine_verb verb);
machine_act_fn act_load, act_look, act_read_peer, act_stop_syncer, act_stop_run, act_lease,
    act_role, act_record, act_probe, act_mirror, act_ask_witness, act_new_term, act_same_term,
    act_extend, act_open, act_close, act_abort, act_abort_veto, act_leave_75, act_leave_78,
    act_hint, act_hint_over, act_duel, act_kind_suspect, act_kind_mine, act_kind_initial,
    act_permit;
/* Next moment at which something may be due (a time row is not asked before). */
int64_t machine_wake_at_ns(const struct machine *m);

#endif
