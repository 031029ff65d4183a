/*
 * The table of mode replicas and the step that walks it (see the header). Pure. Called by contend.c
 * and by tests. What an event means is found out first (replicas_facts.c), then the first row that
 * fits is taken; rules stand at the end of their rows (R: docs/rules.md).
 */
#include <string.h>

#include "base/check.h"
#include "elector/replicas_inner.h"

#define FAILING_NS (60 * NS_PER_S) /* R16: so long without a workload, or 5 exits in it */
#define HOLD_NS    (30 * NS_PER_S) /* who gave the Lease up leaves it to the others for so long */
#define ENDING_NS  (5 * NS_PER_S)  /* beyond stop-grace, for the workload and for the write */
#define LEAVE_NS   (NS_PER_S / 2)  /* before the supervisor's deadline */

#define IN(state) BIT(REPLICAS_##state)
#define ON(fact)  BIT(FACT_##fact)
#define ALL       (BIT(REPLICAS_STATE_COUNT) - 1)
#define ALL_FACTS (BIT(FACT_COUNT) - 1)
#define WORKING   (IN(PASSIVE) | IN(LEADING) | IN(ENDING))
#define STAY      REPLICAS_STATE_COUNT
#define GUARD(name)                                                                                \
	static bool name(const struct replicas *r __attribute__((unused)),                         \
	    const struct replicas_step *s __attribute__((unused)))
#define ACT(name)                                                                                  \
	static void name(struct replicas *r __attribute__((unused)),                               \
	    struct replicas_step *s __attribute__((unused)))

/* --- Guards ----------------------------------------------------------------------------------- */

GUARD(may_take)
{
	return !r->busy && s->now_ns >= replicas_free_at_ns(r);
}

GUARD(valid)
{
	return s->now_ns < r->valid_until_ns && s->now_ns >= r->hold_until_ns &&
	       s->now_ns >= r->closed_until_ns;
}

GUARD(valid_anew)
{
	return valid(r, s) && r->new_term;
}

GUARD(new_leader)
{
	return r->record.holder == REPLICAS_OTHER && r->record.holder_hash != r->told_holder;
}

GUARD(read_due)
{
	return !r->busy && s->now_ns >= r->read_at_ns;
}

GUARD(write_due)
{
	return !r->busy && s->now_ns >= r->write_at_ns;
}

GUARD(no_term)
{
	return !replicas_term_left(r) && r->record.holder != REPLICAS_SELF &&
	       !(r->told & BIT(REPLICAS_NO_TERM_LEFT));
}

GUARD(unreachable)
{
	return !(r->told & BIT(REPLICAS_UNREACHABLE)) &&
	       s->now_ns - r->seen_ns > r->options.request_ns + 3 * r->options.retry_ns;
}

/* R16: it is down for a minute, or five of it ended within one. */
GUARD(workload_fails)
{
	if (!r->options.workload)
		return false;
	return (r->down_ns && s->now_ns - r->down_ns >= FAILING_NS) ||
	       (r->exit_count >= REPLICAS_EXITS &&
		   s->now_ns - r->exits_ns[r->exit_count % REPLICAS_EXITS] < FAILING_NS);
}

GUARD(prefers_other)
{
	return r->record.prefers_other;
}

GUARD(given_back)
{
	return !r->busy && !r->unsure && r->empty && r->record.holder != REPLICAS_SELF;
}

GUARD(given_back_to_leave)
{
	return r->leave && given_back(r, s);
}

GUARD(end_late)
{
	return s->now_ns >= r->end_by_ns || (!r->unsure && s->now_ns < r->closed_until_ns);
}

GUARD(end_late_to_leave)
{
	return r->leave && end_late(r, s);
}

GUARD(look_before_giving_back)
{
	return r->unsure && read_due(r, s);
}

GUARD(release_due)
{
	return r->empty && !r->unsure && r->record.holder == REPLICAS_SELF && write_due(r, s);
}

/* --- Actions -----------------------------------------------------------------------------------
 */

static struct replicas_todo *todo(struct replicas_step *s, enum replicas_verb verb)
{
	CHECK(s->out->todo_count < REPLICAS_MAX_TODO);
	s->out->todo[s->out->todo_count] = (struct replicas_todo){ .verb = verb };
	return &s->out->todo[s->out->todo_count++];
}

ACT(act_read)
{
	r->busy = true;
	r->asked_ns = s->now_ns;
	r->read_at_ns = INT64_MAX;
	todo(s, REPLICAS_READ);
}

/* H17: renewTime only grows, whatever the wall clock does. */
static struct replicas_todo *write_new(
    struct replicas *r, struct replicas_step *s, bool claim, int64_t closed_ns)
{
	struct replicas_sent *sent = &r->sent[r->sent_next++ % REPLICAS_SENT];
	struct replicas_todo *t = todo(s, REPLICAS_WRITE);

	r->last_renew_us = later(s->event->wall_us, r->last_renew_us + 1);
	*sent = (struct replicas_sent){ .renew_us = r->last_renew_us,
		.sent_ns = s->now_ns,
		.closed_ns = closed_ns,
		.claim = claim };
	r->busy = true;
	r->asked_ns = s->now_ns;
	t->claim = claim;
	t->renew_us = r->last_renew_us;
	return t;
}

ACT(act_renew)
{
	struct replicas_todo *t = write_new(r, s, true, 0);

	t->term = r->term;
}

/* A claim that still stands goes on under its term: nobody can have held it in between, for each
 * holder writes its name. Every other one takes a new term, above all that was seen (R21). Where
 * there is no Lease, one that was deleted may still be valid, and nobody who looks can tell since
 * when: the claim, which stands in the way of its renewals, waits closed for as long as it may
 * believe in itself (R14). */
ACT(act_claim)
{
	struct replicas_todo *t;
	int64_t closed_ns = 0;

	if (!r->record.exists)
		closed_ns = later(r->held_ms * NS_PER_MS, r->options.duration_ns);
	if (r->record.holder != REPLICAS_SELF) {
		r->new_term = true;
		r->term = ++r->highest_term;
	}
	t = write_new(r, s, true, closed_ns);
	t->term = r->term;
	t->acquire = r->record.holder != REPLICAS_SELF;
}

ACT(act_release)
{
	struct replicas_todo *t = write_new(r, s, false, 0);

	t->term = r->term;
}

static void put_page(struct replicas *r, struct replicas_step *s, bool open)
{
	struct replicas_todo *t = todo(s, REPLICAS_PAGE);

	CHECK(!open || s->now_ns < r->valid_until_ns);
	t->open = open;
	t->term = r->term;
	t->valid_until_ns = open ? r->valid_until_ns : 0;
}

ACT(act_extend)
{
	struct replicas_todo *t;

	put_page(r, s, true);
	if (!r->options.workload)
		return;
	t = todo(s, REPLICAS_RUN);
	t->term = r->term;
	t->valid_until_ns = r->valid_until_ns;
}

ACT(act_open)
{
	r->new_term = false;
	r->down_ns = r->options.workload ? s->now_ns : 0;
	r->running = false;
	r->exit_count = 0;
	r->told_holder = 0;
	r->read_at_ns = INT64_MAX; /* from here on its renewals tell what a read would */
	act_extend(r, s);
}

/* Page first, then the workload, whose end is waited for before the Lease is given back (R8). */
ACT(act_close)
{
	r->valid_until_ns = 0;
	put_page(r, s, false);
	r->empty = !r->options.workload; /* what was seen before the stop says nothing (H18) */
	if (r->options.workload)
		todo(s, REPLICAS_STOP_RUN);
	r->read_at_ns = s->now_ns;
	r->write_at_ns = s->now_ns;
}

ACT(act_resign)
{
	act_close(r, s);
	r->end_by_ns = s->now_ns + r->options.stop_grace_ns + ENDING_NS;
	r->hold_until_ns = s->now_ns + later(HOLD_NS, r->options.duration_ns);
}

ACT(act_end)
{
	r->leave = true;
	r->end_by_ns = s->event->deadline_ns - LEAVE_NS;
}

ACT(act_leave)
{
	todo(s, REPLICAS_EXIT)->code = 0;
}

ACT(act_leave_75)
{
	todo(s, REPLICAS_EXIT)->code = 75;
}

ACT(act_tell_leader)
{
	r->told_holder = r->record.holder_hash;
}

ACT(act_cannot_happen)
{
	CHECK(r->state == REPLICAS_STATE_COUNT);
}

/* clang-format off */
static const struct replicas_row table[] = {
{ IN(LEAVING), ALL_FACTS, NULL, REPLICAS_REASON_NONE, { NULL }, STAY, "leaving: ignored" },

{ IN(STARTING), ON(START), NULL, REPLICAS_STARTED, { act_read }, REPLICAS_PASSIVE, "R17" },
{ IN(STARTING), ON(STOP), NULL, REPLICAS_REASON_NONE, { act_leave }, REPLICAS_LEAVING, "R9: nothing to give back" },
{ IN(STARTING), ON(TIME) | ON(NOTED), NULL, REPLICAS_REASON_NONE, { NULL }, STAY, "no credential yet" },
{ IN(STARTING), ALL_FACTS, NULL, REPLICAS_REASON_NONE, { act_cannot_happen }, STAY, "cannot happen: nothing was asked" },
{ WORKING, ON(START), NULL, REPLICAS_REASON_NONE, { act_cannot_happen }, STAY, "cannot happen" },

{ IN(LEADING), ON(EXPIRED), NULL, REPLICAS_LAPSED, { act_close }, REPLICAS_PASSIVE, "R5 I1" },
{ ALL, ON(EXPIRED), NULL, REPLICAS_REASON_NONE, { act_cannot_happen }, STAY, "cannot happen: nothing is valid" },
{ IN(LEADING), ON(CLONED), NULL, REPLICAS_CLONED, { act_close, act_leave_75 }, REPLICAS_LEAVING, "R11 C9 (4)" },
{ IN(PASSIVE) | IN(ENDING), ON(CLONED), NULL, REPLICAS_CLONED, { act_leave_75 }, REPLICAS_LEAVING, "R11 C9 (4)" },
{ IN(LEADING), ON(LOST), NULL, REPLICAS_LOST, { act_close }, REPLICAS_PASSIVE, "R7" },
{ IN(LEADING), ON(GONE), NULL, REPLICAS_REASON_NONE, { act_renew }, STAY, "R14: still valid by the own clock" },
{ ALL, ON(LOST) | ON(GONE), NULL, REPLICAS_REASON_NONE, { act_cannot_happen }, STAY, "cannot happen: not leading" },

{ IN(LEADING), ON(STOP), NULL, REPLICAS_STOPPED, { act_close, act_end }, REPLICAS_ENDING, "R9 H21" },
{ IN(PASSIVE) | IN(ENDING), ON(STOP), NULL, REPLICAS_REASON_NONE, { act_end }, REPLICAS_ENDING, "R9: a claim may be on its way" },

{ IN(PASSIVE), ON(APPLIED), valid_anew, REPLICAS_TAKEN, { act_open }, REPLICAS_LEADING, "R5 R21" },
{ IN(PASSIVE), ON(APPLIED), valid, REPLICAS_RESUMED, { act_open }, REPLICAS_LEADING, "R15" },
{ IN(LEADING), ON(APPLIED), NULL, REPLICAS_REASON_NONE, { act_extend }, STAY, "R5" },
{ IN(PASSIVE) | IN(ENDING), ON(APPLIED), NULL, REPLICAS_REASON_NONE, { NULL }, STAY, "too late, or to be given back" },

/* PASSIVE: a decision to take is made upon a read of now, never upon a watch (R7). */
{ IN(PASSIVE), ON(READ), may_take, REPLICAS_REASON_NONE, { act_claim }, STAY, "R2 R3 R14" },
{ IN(PASSIVE), ON(READ) | ON(NOTED), new_leader, REPLICAS_LEADER_SEEN, { act_tell_leader }, STAY, "OnNewLeader of client-go" },
{ IN(PASSIVE), ON(TIME), no_term, REPLICAS_NO_TERM_LEFT, { NULL }, STAY, "C7" },
{ IN(PASSIVE), ON(TIME), unreachable, REPLICAS_UNREACHABLE, { NULL }, STAY, "R17" },
{ IN(PASSIVE), ON(TIME), read_due, REPLICAS_REASON_NONE, { act_read }, STAY, "R10" },

{ IN(LEADING), ON(TIME), prefers_other, REPLICAS_PREFERS_OTHER, { act_resign }, REPLICAS_ENDING, "R13" },
{ IN(LEADING), ON(TIME), workload_fails, REPLICAS_WORKLOAD_FAILS, { act_resign }, REPLICAS_ENDING, "R16" },
{ IN(LEADING), ON(TIME), read_due, REPLICAS_REASON_NONE, { act_read }, STAY, "R7: somebody may have written it" },
{ IN(LEADING), ON(TIME), write_due, REPLICAS_REASON_NONE, { act_renew }, STAY, "R5 R6" },

{ IN(ENDING), ON(TIME), given_back_to_leave, REPLICAS_GIVEN_BACK, { act_leave }, REPLICAS_LEAVING, "R8 R9" },
{ IN(ENDING), ON(TIME), given_back, REPLICAS_GIVEN_BACK, { NULL }, REPLICAS_PASSIVE, "R8 R15" },
{ IN(ENDING), ON(TIME), end_late_to_leave, REPLICAS_KEPT, { act_leave }, REPLICAS_LEAVING, "R8: it runs out" },
{ IN(ENDING), ON(TIME), end_late, REPLICAS_KEPT, { NULL }, REPLICAS_PASSIVE, "R8: it runs out" },
{ IN(ENDING), ON(TIME), look_before_giving_back, REPLICAS_REASON_NONE, { act_read }, STAY, "R8 H1" },
{ IN(ENDING), ON(TIME), release_due, REPLICAS_REASON_NONE, { act_release }, STAY, "R8" },

{ WORKING, ON(READ) | ON(NOTED), NULL, REPLICAS_REASON_NONE, { NULL }, STAY, "knowledge: the time rows use it" },
{ WORKING, ON(TIME), NULL, REPLICAS_REASON_NONE, { NULL }, STAY, "nothing is due" },
};
/* clang-format on */

#define TABLE_ROWS (sizeof(table) / sizeof(table[0]))

const struct replicas_row *replicas_table(unsigned *count)
{
	*count = TABLE_ROWS;
	return table;
}

unsigned replicas_fact_count(void)
{
	return FACT_COUNT;
}

/* --- The step ----------------------------------------------------------------------------------
 */

void replicas_init(struct replicas *r, const struct replicas_options *options)
{
	memset(r, 0, sizeof(*r));
	CHECK(options->instance && options->retry_ns > 0 &&
	      options->renew_deadline_ns < options->duration_ns);
	r->options = *options;
	r->empty = true;
}

static void say(const struct replicas *r, struct replicas_step *s, const struct replicas_row *row,
    enum replicas_state next)
{
	if (row->reason == REPLICAS_REASON_NONE || s->out->said_count == REPLICAS_MAX_SAID)
		return;
	s->out->said[s->out->said_count++] = (struct replicas_said){ .reason = row->reason,
		.from = r->state,
		.to = next,
		.term = r->term,
		.quiet_ms = r->known ? (s->now_ns - r->observed_ns) / NS_PER_MS : 0,
		.unread_ms = (s->now_ns - r->seen_ns) / NS_PER_MS };
}

bool replicas_is_condition(enum replicas_reason reason)
{
	return reason == REPLICAS_UNREACHABLE || reason == REPLICAS_NO_TERM_LEFT;
}

bool replicas_still(const struct replicas *r, enum replicas_reason reason)
{
	return !replicas_is_condition(reason) || (r->told & BIT(reason));
}

static bool does_something(const struct replicas_row *row)
{
	return row->acts[0] || row->next != STAY || row->reason != REPLICAS_REASON_NONE;
}

/* Takes the first matching row. True when it did something, so that a further time row may fire. */
static bool take_row(struct replicas *r, struct replicas_step *s, enum fact fact)
{
	for (unsigned i = 0; i < TABLE_ROWS; i++) {
		const struct replicas_row *row = &table[i];
		enum replicas_state next = row->next == STAY ? r->state : row->next;

		if (!(row->states & BIT(r->state)) || !(row->facts & BIT(fact)) ||
		    (row->guard && !row->guard(r, s)))
			continue;
		if (s->out->row_count < REPLICAS_MAX_ROWS)
			s->out->rows[s->out->row_count++] = (uint16_t)i;
		for (unsigned a = 0; a < 3 && row->acts[a]; a++)
			row->acts[a](r, s);
		say(r, s, row, next);
		if (replicas_is_condition(row->reason))
			r->told |= BIT(row->reason);
		r->state = next;
		return does_something(row);
	}
	CHECK(!"the table has a row for each state and fact");
	return false;
}

/* Is a time row due at once? Then the caller comes back with ON_TIME after it has read what is
 * readable (H2). */
static bool time_row_due(const struct replicas *r, const struct replicas_step *s)
{
	for (unsigned i = 0; i < TABLE_ROWS; i++) {
		const struct replicas_row *row = &table[i];

		if ((row->states & BIT(r->state)) && (row->facts & BIT(FACT_TIME)) &&
		    (!row->guard || row->guard(r, s)))
			return does_something(row);
	}
	return false;
}

static int64_t wake_at_ns(const struct replicas *r)
{
	const struct replicas_options *o = &r->options;
	bool passive = r->state == REPLICAS_PASSIVE, ending = r->state == REPLICAS_ENDING;
	const int64_t at_ns[] = {
		r->read_at_ns,
		r->write_at_ns,
		r->valid_until_ns,
		ending ? r->end_by_ns : 0,
		r->down_ns ? r->down_ns + FAILING_NS : 0,
		passive ? r->seen_ns + o->request_ns + 3 * o->retry_ns + 1 : 0,
	};
	int64_t wake_ns = INT64_MAX;

	for (unsigned i = 0; i < sizeof(at_ns) / sizeof(at_ns[0]); i++)
		if (at_ns[i] > r->now_ns && at_ns[i] < wake_ns)
			wake_ns = at_ns[i];
	return wake_ns;
}

void replicas_step(struct replicas *r, const struct replicas_event *event, int64_t now_ns,
    struct replicas_out *out)
{
	struct replicas_step step = { .event = event, .out = out };
	enum fact fact;

	out->todo_count = out->said_count = out->row_count = 0;
	r->now_ns = now_ns > r->now_ns ? now_ns : r->now_ns;
	step.now_ns = r->now_ns;
	/* R5, I1: no event may stretch what is over. */
	if (r->state == REPLICAS_LEADING && r->now_ns >= r->valid_until_ns)
		take_row(r, &step, FACT_EXPIRED);
	fact = replicas_absorb(r, &step);
	if (fact != FACT_TIME)
		take_row(r, &step, fact);
	else
		for (int i = 0; i < 8 && take_row(r, &step, FACT_TIME); i++)
			continue;
	out->wake_at_ns = time_row_due(r, &step) ? r->now_ns : wake_at_ns(r);
}
