/*
 * What must hold (leadership-rules 4), one function each, named as a sentence. Truth is the
 * world's: what API servers hold, when pages are valid in true time; the machine's own view is used
 * only where a rule speaks of what a hub has seen. Called by the model at the moment that counts.
 */
#include <stdarg.h>
#include <string.h>

#include "tests/sim/world.h"

void invariants_broken(struct world *w, const char *sentence, const char *format, ...)
{
	va_list args;

	if (w->broken)
		return;
	w->broken = sentence;
	va_start(args, format);
	(void)vsnprintf(w->detail, sizeof(w->detail), format, args);
	va_end(args);
	if (w->trace)
		fprintf(w->trace, "[%7lld.%03lld] BROKEN %s: %s\n", (long long)(w->now / S(1)),
		    (long long)(w->now / MS(1) % 1000), sentence, w->detail);
}

static bool claims(const struct lease *lease, unsigned slot)
{
	return lease->exists && lease->holder == slot && lease->phase >= PHASE_ACQUIRING &&
	       lease->phase <= PHASE_DRAINING;
}

static const char *name(const struct world *w, const struct node *n)
{
	return faults_node_name(world_index(w, n));
}

static bool all_assumed(const struct world *w)
{
	return w->assumed.P[0] && w->assumed.P[1] && w->assumed.N && w->assumed.L && w->assumed.F &&
	       w->assumed.whole;
}

/* I1: needs nothing. */
static void page_ends_with_the_last_applied_renewal(
    struct world *w, struct node *n, uint64_t term, int64_t valid_until_ns, const char *what)
{
	int64_t limit_ns = n->applied.sent_ns + n->options.renew_deadline_ns;

	if (!n->applied.leading || n->applied.term != term)
		invariants_broken(w, "I1 page_ends_with_the_last_applied_renewal",
		    "%s of %s for term %llu, its API server took term %llu, leading %d", what,
		    name(w, n), (unsigned long long)term, (unsigned long long)n->applied.term,
		    n->applied.leading);
	else if (valid_until_ns > limit_ns || valid_until_ns <= world_boot_ns(w, n))
		invariants_broken(w, "I1 page_ends_with_the_last_applied_renewal",
		    "%s of %s is valid %lld ms beyond its limit", what, name(w, n),
		    (long long)((valid_until_ns - limit_ns) / MS(1)));
}

/* I2: needs P, D, N, L, F; for two processes of one hub N alone. */
static void no_two_pages_open(struct world *w, const struct node *n)
{
	for (unsigned i = 0; i < NODES; i++) {
		const struct node *other = &w->nodes[i];
		bool promised =
		    other->slot == n->slot ? w->assumed.N && w->assumed.P[n->slot] : all_assumed(w);

		if (other != n && promised && world_page_open(w, other) && world_page_open(w, n))
			invariants_broken(w, "I2 no_two_pages_open",
			    "%s with term %llu beside %s with term %llu", name(w, n),
			    (unsigned long long)n->page.term, name(w, other),
			    (unsigned long long)other->page.term);
	}
}

/* I4: needs nothing; terms of one hub are new ones only while its own store is not restored. */
static void terms_are_of_the_hub_and_new(
    struct world *w, unsigned hub, const struct lease *was, const struct node *by)
{
	const struct lease *lease = &w->apis[hub].store.lease;
	bool again = claims(was, hub) && was->term == lease->term;

	if (!claims(lease, hub) || again)
		return;
	if (lease->term % 2 != hub)
		invariants_broken(w, "I4 terms_are_of_the_hub_and_new", "%s claims term %llu",
		    name(w, by), (unsigned long long)lease->term);
	else if (w->assumed.P[hub] && lease->term < w->opened[hub])
		invariants_broken(w, "I4 terms_are_of_the_hub_and_new",
		    "%s claims term %llu, this hub led %llu", name(w, by),
		    (unsigned long long)lease->term, (unsigned long long)w->opened[hub]);
}

static void taken_term_is_above_all_seen(struct world *w, const struct node *n)
{
	const struct machine *m = &n->machine;
	bool taken =
		 m->state == STATE_ACQ && n->last_state != STATE_ACQ && m->kind != KIND_RECOVERER,
	     reclaimed = m->state == STATE_OPENING && n->last_state == STATE_ACTIVE;

	if ((taken || reclaimed) && (m->term <= m->peer.term || m->term <= m->own.term))
		invariants_broken(w, "I4 taken_term_is_above_all_seen",
		    "%s takes term %llu, own: %llu, peer's: %llu", name(w, n),
		    (unsigned long long)m->term, (unsigned long long)m->own.term,
		    (unsigned long long)m->peer.term);
}

/* H10, H15. */
static void terms_of_a_lease_never_fall(struct world *w, unsigned hub, const struct lease *was)
{
	const struct lease *lease = &w->apis[hub].store.lease;

	if (lease->term < was->term || lease->led_term < was->led_term)
		invariants_broken(w, "H10 terms_of_a_lease_never_fall",
		    "%llu/%llu to %llu/%llu on %s", (unsigned long long)was->term,
		    (unsigned long long)was->led_term, (unsigned long long)lease->term,
		    (unsigned long long)lease->led_term, faults_node_name(hub));
}

/* I5: needs nothing. */
static void higher_claim_closes_the_page(
    struct world *w, struct node *n, const struct machine_event *event)
{
	const struct machine_look *look = &event->look;
	const struct machine *m = &n->machine;
	bool claim = look->class == PEER_OK && look->holder >= HOLDER_PEER &&
		     look->phase >= PHASE_ACQUIRING && look->phase <= PHASE_DRAINING;

	if (event->input != MACHINE_PEER_SEEN || !claim || look->own_uid || !m->loaded ||
	    look->term <= m->term || strcmp(look->uid, m->peer.uid) != 0)
		return;
	/* Before and while the own claim is written, and after its validity, the read that is
	 * still to come decides (C8, C6). */
	if (n->superseded < m->term && n->last_state >= STATE_CONFIRM &&
	    n->last_state <= STATE_ACTIVE && m->now_ns < n->last_valid_ns)
		n->superseded = m->term;
	if (world_page_open(w, n))
		invariants_broken(w, "I5 higher_claim_closes_the_page",
		    "%s keeps its page for term %llu, the peer claims %llu", name(w, n),
		    (unsigned long long)m->term, (unsigned long long)look->term);
}

static void superseded_term_never_opens(struct world *w, const struct node *n)
{
	if (n->page.term <= n->superseded)
		invariants_broken(w, "I5 superseded_term_never_opens", "%s opens term %llu again",
		    name(w, n), (unsigned long long)n->page.term);
}

/* I6: needs nothing. */
static void syncer_is_gone_while_the_page_is_open(struct world *w, const struct node *n)
{
	if (n->syncer.state == RUNNING || n->syncer.state == LEAVING)
		invariants_broken(
		    w, "I6 syncer_is_gone_while_the_page_is_open", "on %s", name(w, n));
}

/* I7: a worker showed that the peer led later, and the peer's Lease was not read since. */
static void content_is_as_new_as_workers_say(struct world *w, const struct node *n)
{
	const struct machine *m = &n->machine;
	const struct store *store = &w->apis[n->slot].store;

	/* What comes after the guards comes too late. */
	bool counts = m->worker_term_ns < n->guarded_ns &&
		      !(m->peer.read && m->peer.seen_ns > m->worker_term_ns);

	if (m->kind == KIND_SUSPECT && counts && !m->accept_incomplete && w->assumed.P[0] &&
	    w->assumed.P[1] && m->worker_term <= w->claimed[1 - n->slot] &&
	    (store->data_mixed || m->worker_term > store->data_led))
		invariants_broken(w, "I7 content_is_as_new_as_workers_say",
		    "%s has the content of term %llu, a worker follows %llu", name(w, n),
		    (unsigned long long)store->data_led, (unsigned long long)m->worker_term);
}

/* I7, C5, C6: a page opens on the newest content; a mixture never leads. */
static void newest_content_leads(struct world *w, struct node *n)
{
	const struct store *store = &w->apis[n->slot].store;
	const struct machine *m = &n->machine;
	/* Who never saw that anybody led has `mode` alone (C6). */
	bool saw = m->peer.read && (m->peer.led_term || m->worker_term || store->data_led);

	if (n->opened_term == n->page.term)
		return;
	if (store->data_mixed && w->assumed.P[0] && w->assumed.P[1] && w->assumed.whole &&
	    w->assumed.F)
		invariants_broken(
		    w, "I7 newest_content_leads", "%s leads with a mixture", name(w, n));
	else if (all_assumed(w) && saw && store->data_led < w->newest_led)
		invariants_broken(w, "I7 newest_content_leads",
		    "%s has the content of term %llu, the newest is of %llu", name(w, n),
		    (unsigned long long)store->data_led, (unsigned long long)w->newest_led);
	else if (n->machine.kind == KIND_HANDED && all_assumed(w) &&
		 store->data_seq != w->apis[1 - n->slot].store.data_seq)
		invariants_broken(w, "C13 switchover_loses_no_write",
		    "%s has %llu writes, %llu were made", name(w, n),
		    (unsigned long long)store->data_seq,
		    (unsigned long long)w->apis[1 - n->slot].store.data_seq);
	n->opened_term = n->page.term;
	if (w->opened[n->slot] < n->page.term)
		w->opened[n->slot] = n->page.term;
}

/* I10: needs no restored store. */
static void no_claim_stands_in_standby(struct world *w, const struct node *n)
{
	const struct lease *lease = &w->apis[n->slot].store.lease;
	enum machine_state state = n->machine.state;

	if ((state == STATE_STANDBY || state == STATE_SUSPECT || state == STATE_STOPPING) &&
	    w->assumed.P[n->slot] && claims(lease, n->slot) &&
	    lease->instance == n->options.instance)
		invariants_broken(w, "I10 no_claim_stands_in_standby",
		    "%s is %s, its Lease claims %llu", name(w, n), machine_state_name(state),
		    (unsigned long long)lease->term);
}

/* Controllers write: from now on no other hub has this content. Who goes on with its own, under a
 * new term or the old one, has nothing newer by that. */
void invariants_on_write(struct world *w, struct node *n)
{
	struct store *store = &w->apis[n->slot].store;
	bool own = store->data_led && store->data_led % 2 == n->slot;

	store->data_seq++;
	store->data_mixed = false;
	if (n->machine.kind == KIND_RECOVERER && own)
		return;
	store->data_led = n->page.term;
	if (w->newest_led < n->page.term)
		w->newest_led = n->page.term;
}

/* I1: what is valid is a claim's. */
static void validity_belongs_to_a_claim(struct world *w, const struct node *n)
{
	const struct machine *m = &n->machine;
	bool claim = m->state >= STATE_ACQ && m->state <= STATE_DRAIN;

	if (!claim && m->valid_until_ns)
		invariants_broken(w, "I1 validity_belongs_to_a_claim", "%s is %s", name(w, n),
		    machine_state_name(m->state));
}

/* M2: nothing about the peer changed, and nobody allowed anything. */
static void who_gave_up_waits_two_seconds(struct world *w, struct node *n,
    const struct machine_event *event, const struct machine_out *out)
{
	const struct machine *m = &n->machine;
	bool tries = n->last_state == STATE_STANDBY &&
		     (m->state == STATE_SUSPECT || m->state == STATE_STOPPING);

	if (event->input == MACHINE_COMMAND || m->peer.tuple != n->last_tuple)
		n->gave_up_ns = 0;
	/* What a pause held back is tried as it ends, perhaps in the same step. */
	for (unsigned i = 0; i < out->said_count; i++)
		if (out->said[i].reason == REASON_PAUSE_ENDED)
			n->gave_up_ns = 0;
	n->last_tuple = m->peer.tuple;
	if (tries && n->gave_up_ns && m->now_ns - n->gave_up_ns < S(2))
		invariants_broken(w, "M2 who_gave_up_waits_two_seconds",
		    "%s tries again after %lld ms", name(w, n),
		    (long long)((m->now_ns - n->gave_up_ns) / MS(1)));
	for (unsigned i = 0; i < out->said_count; i++) {
		enum machine_reason reason = out->said[i].reason;

		if ((reason >= REASON_SELF_UNHEALTHY && reason <= REASON_BLOCKED) ||
		    reason == REASON_BACKED_OUT || reason == REASON_CONFIRM_UNREAD)
			n->gave_up_ns = m->now_ns;
	}
}

/* B15: a command is taken exactly when each of its checks passes, and one that is refused changes
 * nothing. */
bool invariants_expect(
    const struct world *w, const struct node *n, const struct machine_event *event)
{
	struct machine_check checks[MACHINE_MAX_CHECKS];
	struct machine then;
	unsigned count;

	if (event->input != MACHINE_COMMAND)
		return false;
	then = n->machine;
	then.now_ns = world_boot_ns(w, n);
	if (then.valid_until_ns && then.now_ns >= then.valid_until_ns && then.state != STATE_ACQ)
		return false; /* the page is over before the command */
	count = machine_checks(&then, &event->command, checks);
	for (unsigned i = 0; i < count; i++)
		if (!checks[i].ok)
			return false;
	return true;
}

void invariants_on_command(struct world *w, const struct node *n, const struct machine_event *event,
    const struct machine_out *out, bool expected)
{
	bool taken = n->machine.taken && n->machine.taken == event->command.operation;
	bool says = false;

	if (event->input != MACHINE_COMMAND)
		return;
	for (unsigned i = 0; i < out->said_count; i++)
		says = says || (out->said[i].reason != REASON_VALIDITY_OVER &&
				   out->said[i].reason != REASON_VALIDITY_LOST);
	if (taken != expected || (!taken && (says || n->machine.taken)))
		invariants_broken(w, "B15 a_command_is_taken_when_its_checks_pass",
		    "%s: command %d, checks %d, taken %d", name(w, n), event->command.verb,
		    expected, taken);
}

/* --- Where they are asked --------------------------------------------------------------------- */

void invariants_on_page(struct world *w, struct node *n)
{
	if (!n->page.open)
		return;
	page_ends_with_the_last_applied_renewal(w, n, n->page.term, n->page.valid_until_ns, "page");
	superseded_term_never_opens(w, n);
	syncer_is_gone_while_the_page_is_open(w, n);
	if (n->opened_term != n->page.term)
		content_is_as_new_as_workers_say(w, n);
	newest_content_leads(w, n);
	no_two_pages_open(w, n);
}

void invariants_after_step(struct world *w, struct node *n, const struct machine_event *event,
    const struct machine_out *out)
{
	if (n->page.open != (n->machine.state == STATE_ACTIVE))
		invariants_broken(w, "the_page_is_open_in_active_alone", "%s is %s", name(w, n),
		    machine_state_name(n->machine.state));
	/* A dead observer's silence is no read either; without `resume` and workers it holds. */
	if (n->machine.answered && n->machine.last_why == PEER_WHY_DIALER &&
	    roles_goes_back(&n->machine, n->last_state) &&
	    (n->options.resume || n->options.workers))
		w->assumed.L = false;
	higher_claim_closes_the_page(w, n, event);
	no_claim_stands_in_standby(w, n);
	validity_belongs_to_a_claim(w, n);
	who_gave_up_waits_two_seconds(w, n, event, out);
	taken_term_is_above_all_seen(w, n);
	if (n->machine.state == STATE_STOPPING && n->last_state != STATE_STOPPING)
		n->guarded_ns = n->machine.now_ns;
	n->last_state = n->machine.state;
	n->last_valid_ns = n->machine.valid_until_ns;
}

void invariants_on_lease(
    struct world *w, unsigned hub, const struct lease *was, const struct node *by)
{
	const struct lease *lease = &w->apis[hub].store.lease;

	terms_of_a_lease_never_fall(w, hub, was);
	terms_are_of_the_hub_and_new(w, hub, was, by);
	if (claims(lease, hub) && lease->phase == PHASE_LEADING && w->claimed[hub] < lease->term)
		w->claimed[hub] = lease->term;
}

/* I6, I8: a write of the mirror that the API server took. */
void invariants_on_mirror(struct world *w, struct node *n, const struct request *r)
{
	const struct lease *lease = &w->apis[r->api].store.lease;

	for (unsigned i = 0; i < NODES; i++)
		if (w->nodes[i].slot == n->slot && world_page_open(w, &w->nodes[i]) &&
		    (&w->nodes[i] == n || w->assumed.N)) /* as for two pages of one hub */
			invariants_broken(
			    w, "I6 mirror_never_writes_beside_an_open_page", "on %s", name(w, n));
	if (w->assumed.P[n->slot] && lease->exists && r->led_term <= lease->led_term)
		invariants_broken(w, "I8 mirror_follows_a_later_leader",
		    "%s led %llu and mirrors led-term %llu", name(w, n),
		    (unsigned long long)lease->led_term, (unsigned long long)r->led_term);
}

/* I3: the API server's rule is the model's; what is checked is that the term was really led. */
void invariants_on_push(struct world *w, unsigned worker, uint64_t was, uint64_t term)
{
	if (term <= was || (w->assumed.P[term % 2] && term > w->claimed[term % 2]))
		invariants_broken(w, "I3 workers_get_terms_that_were_led",
		    "worker %u: %llu to %llu, led so far: %llu", worker + 1,
		    (unsigned long long)was, (unsigned long long)term,
		    (unsigned long long)w->claimed[term % 2]);
}

void invariants_on_permit(struct world *w, struct node *n, const struct machine_todo *todo)
{
	if (todo->permit.valid_until_ns)
		page_ends_with_the_last_applied_renewal(
		    w, n, todo->permit.term, todo->permit.valid_until_ns, "permit");
}

/* --- Liveness --------------------------------------------------------------------------------- */

/* I12: one leads, the other stands by with a complete mirror, and both API servers say so. */
const char *invariants_settled(const struct world *w)
{
	const struct node *a = &w->nodes[0], *b = &w->nodes[1];
	const struct node *leader = world_page_open(w, a) ? a : b;
	const struct node *other = leader == a ? b : a;
	const struct store *led = &w->apis[leader->slot].store;
	const struct store *copy = &w->apis[other->slot].store;

	if (!world_page_open(w, leader))
		return "I12 exactly_one_leads: nobody does";
	if (world_page_open(w, other))
		return "I12 exactly_one_leads: two do";
	if (other->machine.state != STATE_STANDBY)
		return "I12 the_other_stands_by: it does not";
	if (!claims(&led->lease, leader->slot) || claims(&copy->lease, other->slot))
		return "I12 leases_agree: they do not";
	if (led->role != HUB_LEADING || copy->role != HUB_STANDBY)
		return "I12 hub_roles_agree: they do not";
	if (!machine_complete(&other->machine) || copy->data_mixed ||
	    copy->data_led < led->data_led)
		return "I12 the_mirror_is_complete: it is not";
	return NULL;
}
