/*
 * What an event means to a replica: it becomes knowledge and one fact for the table, and tells when
 * the Lease may be taken (R2-R5, R14). Pure. Only replicas_step calls in here.
 */
#include "elector/replicas_inner.h"
#include "kube/lease.h"

/* --- When the Lease may be taken ---------------------------------------------------------------
 */

bool replicas_term_left(const struct replicas *r)
{
	return r->highest_term < KUBE_TERM_MAX;
}

/* From when on, as things are now; INT64_MAX: not as long as they are so. */
int64_t replicas_free_at_ns(const struct replicas *r)
{
	const struct replicas_record *record = &r->record;
	int64_t wait_ns = record->duration_ms * NS_PER_MS, at_ns;

	if (wait_ns <= 0)
		wait_ns = r->options.duration_ns;
	if (!record->exists) /* R14: a holder that is valid writes it again */
		wait_ns = 2 * r->options.retry_ns;
	else if (record->holder == REPLICAS_NOBODY)
		wait_ns = 0;
	at_ns = r->observed_ns + wait_ns; /* R2, R3 */
	/* R14: a dead one that made the Lease and never renewed it may not have led yet. */
	if (record->holder == REPLICAS_SELF ||
	    (record->instance && record->instance == r->dead &&
		(record->transitions || record->renew_us != record->acquire_us)))
		at_ns = 0;
	if (!r->known || (record->holder != REPLICAS_SELF && !replicas_term_left(r)))
		return INT64_MAX;
	return later(at_ns, later(r->hold_until_ns, r->closed_until_ns));
}

bool replicas_holder_is_live(const struct replicas *r)
{
	return r->known && r->record.holder == REPLICAS_OTHER && r->now_ns < replicas_free_at_ns(r);
}

/* --- What an event means ------------------------------------------------------------------------
 */

/* R4: to the microsecond; a label or an annotation changes nothing. */
static bool same_record(const struct replicas_record *a, const struct replicas_record *b)
{
	return a->exists == b->exists && a->holder_hash == b->holder_hash &&
	       a->acquire_us == b->acquire_us && a->renew_us == b->renew_us &&
	       a->transitions == b->transitions && a->duration_ms == b->duration_ms;
}

/* The next look: RP and a part of 1.2 RP by chance, as client-go (R10); or the moment at which the
 * Lease becomes free, and a little by chance, for all contenders see it at once. */
static void schedule(struct replicas *r, const struct replicas_step *s, bool changed)
{
	int64_t retry_ns = r->options.retry_ns;
	int64_t poll_ns =
	    s->now_ns + retry_ns + (int64_t)(s->event->random % (uint64_t)(retry_ns * 6 / 5));
	int64_t jitter_ns = (int64_t)((s->event->random >> 32) % (uint64_t)(retry_ns / 10 + 1));
	int64_t free_ns = later(replicas_free_at_ns(r), s->now_ns);

	r->read_at_ns = poll_ns;
	if (free_ns != INT64_MAX && (changed || free_ns > s->now_ns) &&
	    free_ns + jitter_ns < poll_ns)
		r->read_at_ns = free_ns + jitter_ns;
}

static bool take_record(
    struct replicas *r, const struct replicas_step *s, const struct replicas_record *record)
{
	bool changed = !r->known || !same_record(&r->record, record);

	if (changed)
		r->observed_ns = s->now_ns;
	if (record->exists && record->holder == REPLICAS_NOBODY)
		r->told_holder = 0;
	r->record = *record;
	r->known = true;
	r->seen_ns = s->now_ns;
	r->told &= ~BIT(REPLICAS_UNREACHABLE);
	if (record->holder == REPLICAS_OTHER)
		r->held_ms = record->duration_ms;
	if (record->term > r->highest_term)
		r->highest_term = record->term;
	if (record->transitions > r->highest_term && record->transitions <= KUBE_TERM_MAX)
		r->highest_term = record->transitions;
	return changed;
}

static struct replicas_sent *sent_find(struct replicas *r, int64_t renew_us)
{
	for (unsigned i = 0; i < REPLICAS_SENT; i++)
		if (r->sent[i].sent_ns && r->sent[i].renew_us == renew_us)
			return &r->sent[i];
	return NULL;
}

/* R5: what was applied counts from its sending. */
static enum fact own_record(struct replicas *r, struct replicas_step *s)
{
	struct replicas_sent *sent = sent_find(r, r->record.renew_us);

	if (!sent)
		return r->record.renew_us > r->last_renew_us ? FACT_CLONED : FACT_READ;
	if (sent->applied || !sent->claim)
		return FACT_READ;
	sent->applied = true;
	s->sent = sent;
	if (sent->closed_ns)
		r->closed_until_ns = s->now_ns + sent->closed_ns;
	if (r->state == REPLICAS_ENDING)
		return FACT_APPLIED;
	r->valid_until_ns = later(r->valid_until_ns, sent->sent_ns + r->options.renew_deadline_ns);
	r->write_at_ns = sent->sent_ns + r->options.retry_ns;
	return FACT_APPLIED;
}

/* A read, or a write that was taken: the record as it is now. */
static enum fact record_read(
    struct replicas *r, struct replicas_step *s, const struct replicas_record *record)
{
	bool changed = take_record(r, s, record);
	bool leading = r->state == REPLICAS_LEADING;

	r->unsure = false;
	if (!leading)
		schedule(r, s, changed);
	if (record->holder == REPLICAS_SELF)
		return own_record(r, s);
	if (leading)
		return record->exists ? FACT_LOST : FACT_GONE;
	return FACT_READ;
}

static enum fact answered(struct replicas *r, struct replicas_step *s)
{
	const struct replicas_event *e = s->event;
	int64_t again_ns = later(r->asked_ns + r->options.retry_ns, s->now_ns);

	r->busy = false;
	if (e->answer.outcome == OUTCOME_DONE)
		return record_read(r, s, &e->answer.record);
	if (e->answer.write && e->answer.outcome == OUTCOME_UNSURE && !e->answer.never_sent)
		r->unsure = true;
	r->write_at_ns = again_ns;
	if (r->state == REPLICAS_PASSIVE && !r->unsure)
		schedule(r, s, false);
	else if (r->state !=
		 REPLICAS_LEADING) /* there the next renewal tells as well, and counts */
		r->read_at_ns = again_ns;
	if (e->answer.conflict) {
		r->read_at_ns = s->now_ns;
		r->write_at_ns = s->now_ns + r->options.retry_ns / 10;
	}
	return FACT_NOTED;
}

/* A watch may run behind: it makes a contender wait longer, and everybody else look (R7). That this
 * replica holds the Lease is never news from there, but it may be long past: who believed it would
 * give back what is another one's (R8). */
static enum fact watched(struct replicas *r, struct replicas_step *s)
{
	const struct replicas_record *record = &s->event->watched;

	if (r->known && same_record(&r->record, record))
		return FACT_NOTED;
	if (r->state == REPLICAS_PASSIVE && !r->unsure && record->holder != REPLICAS_SELF) {
		schedule(r, s, take_record(r, s, record));
	} else if (record->holder != REPLICAS_SELF || !sent_find(r, record->renew_us)) {
		r->read_at_ns = s->now_ns;
		/* Who gives it back must know that it is still there. */
		r->unsure = r->unsure || r->state == REPLICAS_ENDING;
	}
	return FACT_NOTED;
}

static void workload_seen(struct replicas *r, const struct replicas_step *s)
{
	bool running = s->event->workload.running;

	r->empty = s->event->workload.empty;
	if (running)
		r->down_ns = 0;
	else if (r->running && r->state == REPLICAS_LEADING) {
		r->down_ns = s->now_ns;
		r->exits_ns[r->exit_count++ % REPLICAS_EXITS] = s->now_ns;
	}
	r->running = running;
}

enum fact replicas_absorb(struct replicas *r, struct replicas_step *s)
{
	switch (s->event->input) {
	case REPLICAS_ON_START: r->seen_ns = s->now_ns; return FACT_START;
	case REPLICAS_ON_TIME: return FACT_TIME;
	case REPLICAS_ON_ANSWER: return answered(r, s);
	case REPLICAS_ON_WATCH: return watched(r, s);
	case REPLICAS_ON_STOP: return FACT_STOP;
	case REPLICAS_ON_WORKLOAD: workload_seen(r, s); break;
	case REPLICAS_ON_DEATH: r->dead = s->event->instance; break;
	}
	return FACT_NOTED;
}
