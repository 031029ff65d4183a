/*
 * Questions about the peer's silence and about what the workers saw: when the threshold passes,
 * who watched meanwhile, what witnesses attest (H2, C3, C4, H17). Pure, and they change nothing.
 * Called by the rows of machine.c, and by the other machine files.
 */
#include <string.h>

#include "elector/machine_inner.h"

#define WITNESS_LEAD_NS (2 * NS_PER_S) /* C3 */
#define WITNESS_WAIT_NS (2300 * NS_PER_MS)
#define WITNESS_OLD_NS  (3 * NS_PER_S)
#define VETO_ALERT_NS   (600 * NS_PER_S)
#define LONG_LEASE_MS   300000

/* --- Detection ------------------------------------------------------------------------------- */

int64_t machine_threshold_ns(const struct machine *m)
{
	int64_t duration_ns =
	    m->peer.duration_ms > 0 ? m->peer.duration_ms * NS_PER_MS : m->options.duration_ns;

	return duration_ns + m->options.padding_ns;
}

bool machine_timing_unsafe(const struct machine *m)
{
	return machine_threshold_ns(m) * 2 < m->peer.renew_deadline_ms * NS_PER_MS * 3;
}

GUARD(timing_unsafe)
{
	return machine_timing_unsafe(m) && !machine_told(m, REASON_TIMING_UNSAFE);
}

bool machine_lease_long(const struct machine *m)
{
	return m->peer.read && m->peer.duration_ms > LONG_LEASE_MS;
}

GUARD(lease_long)
{
	return machine_lease_long(m) && !machine_told(m, REASON_LEASE_LONG);
}

/* Blind looks do not disarm here: threshold_blind() answers for them. */
bool machine_prepared(const struct machine *m, int64_t now_ns)
{
	return m->peer.uid[0] && !m->peer.replaced && !machine_timing_unsafe(m) &&
	       now_ns - m->peer.seen_ns <= m->options.armed_max_age_ns &&
	       (m->peer.led_term > 0 || m->led_term > 0 || m->options.active);
}

bool machine_armed(const struct machine *m)
{
	return machine_prepared(m, m->now_ns) && machine_permitted(m, m->now_ns) &&
	       m->last_class != PEER_BLIND;
}

int64_t threshold_at_ns(const struct machine *m)
{
	int64_t at_ns = m->watch_ns + machine_threshold_ns(m) + m->duel_ns;

	return at_ns > m->try_at_ns ? at_ns : m->try_at_ns;
}

/* H2: someone looked until now; what nobody watched is not silence. */
bool machine_watched(const struct machine *m, int64_t now_ns)
{
	return m->look_ns && now_ns - m->look_ns <= m->options.request_ns + 2 * m->options.retry_ns;
}

static bool silence_passed(const struct machine *m, int64_t now_ns)
{
	return m->reads >= 3 && machine_watched(m, now_ns) && now_ns >= threshold_at_ns(m) &&
	       machine_prepared(m, now_ns);
}

static bool blind_in_threshold(const struct machine *m, int64_t now_ns)
{
	return m->blind_ns && now_ns - m->blind_ns < machine_threshold_ns(m);
}

GUARD(threshold_passed)
{
	return silence_passed(m, s->now_ns) &&
	       (!blind_in_threshold(m, s->now_ns) || witness_attests(m));
}

/* B17: without an operator's leave it is told what would have been done, and not done. */
GUARD(threshold_paused)
{
	return threshold_passed(m, s) && machine_paused(m, s->now_ns);
}

GUARD(threshold_manual)
{
	return threshold_passed(m, s) && !m->options.automatic;
}

GUARD(threshold_blocked)
{
	return threshold_passed(m, s) && machine_blocked(m, s->now_ns);
}

GUARD(threshold_blind)
{
	return silence_passed(m, s->now_ns) && blind_in_threshold(m, s->now_ns) &&
	       !witness_waits(m, s);
}

GUARD(unwatched)
{
	return !machine_told(m, REASON_PEER_UNWATCHED) && m->loaded &&
	       s->now_ns - (m->look_ns ? m->look_ns : m->look_since_ns) >
		   m->options.request_ns + 3 * m->options.retry_ns;
}

GUARD(veto_holds)
{
	return m->veto_since_ns && s->now_ns - m->veto_since_ns > VETO_ALERT_NS &&
	       !machine_told(m, REASON_VETO_HOLDS);
}

GUARD(own_is_newest)
{
	/* C13: after a release the peer has 10 s to take what was given to it. */
	bool given = m->own.phase == PHASE_RELEASED && s->now_ns - m->released_ns < 10 * NS_PER_S;

	return m->peer.read && !m->peer.claim && m->last_class <= PEER_NOT_FOUND &&
	       m->led_term > m->peer.led_term && s->now_ns >= m->try_at_ns &&
	       machine_watched(m, s->now_ns) && !given;
}

/* --- Witness (C3) ---------------------------------------------------------------------------- */

static bool has_witness(const struct machine *m)
{
	return m->options.witness && m->options.workers > 0;
}

int64_t witness_at_ns(const struct machine *m)
{
	return threshold_at_ns(m) - WITNESS_LEAD_NS;
}

/* Asked before the threshold so that it costs no time, and once per attempt. */
GUARD(witness_due)
{
	return has_witness(m) && machine_prepared(m, s->now_ns) && m->reads > 0 &&
	       machine_watched(m, s->now_ns) && s->now_ns >= witness_at_ns(m) &&
	       (!m->witness_asked_ns || s->now_ns - m->witness_asked_ns > WITNESS_OLD_NS);
}

/* A renewal that a worker saw ages on while its answer waits: only one that is younger than the
 * peer's duration now is fresh. Who did not answer at all counts as cut off. */
void witness_count(const struct machine *m, unsigned count[WITNESS_CUT + 1])
{
	int64_t limit_ns = machine_threshold_ns(m) - m->options.padding_ns;

	memset(count, 0, sizeof(count[0]) * (WITNESS_CUT + 1));
	for (unsigned i = 0; i < m->options.workers; i++) {
		const struct machine_witness *w = &m->witness[i];
		unsigned class = w->class == WITNESS_CLASS_NONE ? WITNESS_CUT : w->class;

		if (class == WITNESS_FRESH && w->age_ns + (m->now_ns - w->received_ns) > limit_ns)
			class = WITNESS_STALE;
		count[class]++;
	}
}

bool witness_attests(const struct machine *m)
{
	unsigned count[WITNESS_CUT + 1];

	witness_count(m, count);
	return has_witness(m) && m->witness_asked_ns && count[WITNESS_STALE] >= 1 &&
	       count[WITNESS_FRESH] == 0;
}

GUARD(witness_old)
{
	return has_witness(m) && !m->peer_nonce &&
	       (!m->witness_asked_ns || s->now_ns - m->witness_asked_ns > WITNESS_OLD_NS);
}

GUARD(witness_waits)
{
	for (unsigned i = 0; has_witness(m) && i < m->options.workers; i++)
		if (m->witness[i].class == WITNESS_CLASS_NONE)
			return s->now_ns - m->witness_asked_ns < WITNESS_WAIT_NS;
	return false;
}

GUARD(isolated)
{
	unsigned count[WITNESS_CUT + 1];

	witness_count(m, count);
	return has_witness(m) && count[WITNESS_CUT] == m->options.workers;
}

GUARD(witness_veto)
{
	unsigned count[WITNESS_CUT + 1];

	witness_count(m, count);
	return has_witness(m) && count[WITNESS_FRESH] >= 1 &&
	       count[WITNESS_FRESH] >= count[WITNESS_STALE];
}
