/*
 * The checks of an operator's commands: name, what is, what must be (B15). `switchover --check` and
 * each refusal print them; the machine takes a command exactly when all are ok. Pure. Called by
 * machine_handover.c and admin.c.
 */
#include <inttypes.h>
#include <stdio.h>

#include "elector/machine_inner.h"
#include "elector/terms.h"
#include "elector/trace.h"

#define WORD_LIMIT_MS  25000      /* a Standby says every 10 s how it is */
#define LAG_LIMIT_MS   5000       /* C13 (1) */
#define OWN_LIMIT_MS   15000      /* M1 */
#define PAUSE_LIMIT_MS 14400000LL /* H21 */

struct list {
	struct machine_check *checks;
	unsigned count;
};

static struct machine_check *add(struct list *list, const char *name, bool ok)
{
	struct machine_check *check = &list->checks[list->count++];

	*check = (struct machine_check){ .name = name, .ok = ok };
	return check;
}

static void add_text(
    struct list *list, const char *name, const char *value, const char *limit, bool ok)
{
	struct machine_check *check = add(list, name, ok);

	(void)snprintf(check->value, sizeof(check->value), "%s", value);
	(void)snprintf(check->limit, sizeof(check->limit), "%s", limit);
}

static void add_ms(struct list *list, const char *name, int64_t ms, int64_t most_ms, bool known)
{
	struct machine_check *check = add(list, name, known && ms <= most_ms);

	if (known)
		(void)snprintf(check->value, sizeof(check->value), "%" PRId64 " ms", ms);
	else
		(void)snprintf(check->value, sizeof(check->value), "unknown");
	(void)snprintf(check->limit, sizeof(check->limit), "at most %" PRId64 " ms", most_ms);
}

static void add_state(
    struct list *list, const struct machine *m, const char *limit, uint32_t states)
{
	add_text(list, "state of this hub", machine_state_name(m->state), limit,
	    (states >> m->state & 1) != 0);
}

static const char *yes(bool is)
{
	return is ? "yes" : "no";
}

static int64_t age_ms(const struct machine *m, int64_t then_ns)
{
	return (m->now_ns - then_ns) / NS_PER_MS;
}

/* C13 (1): what the Standby says of itself, and that it says so now. */
static void check_switchover(struct list *list, const struct machine *m)
{
	const struct machine_peer *peer = &m->peer;
	const struct machine_standby *standby = &peer->standby;
	int64_t read_ms = (2 * m->options.retry_ns + m->options.request_ns) / NS_PER_MS;
	bool known = peer->read && standby->known && !peer->replaced;
	uint64_t next = terms_next(highest_term(m), 1 - m->options.slot);

	add_state(list, m, "active", BIT(STATE_ACTIVE));
	add_text(list, "peer's Lease", m->last_class == PEER_OK ? "read" : trace_why(m->last_why),
	    "read, of the same pair", m->last_class == PEER_OK && !peer->replaced);
	add_ms(list, "age of that reading", age_ms(m, m->look_ns), read_ms, m->look_ns > 0);
	add_text(list, "peer's claim", peer->claim ? "leads" : "none", "none", !peer->claim);
	add_ms(list, "age of the standby's word", age_ms(m, peer->word_ns), WORD_LIMIT_MS,
	    known && peer->word_ns);
	add_text(list, "standby armed", known ? yes(standby->armed) : "unknown", "yes",
	    known && standby->armed);
	add_text(list, "standby's mirror complete", known ? yes(standby->complete) : "unknown",
	    "yes", known && standby->complete);
	add_ms(list, "lag of the standby's mirror", standby->lag_ms, LAG_LIMIT_MS - 1, known);
	add_text(list, "a term for the peer", next ? "there is one" : "none left", "there is one",
	    next != 0);
}

static void check_own_hub(struct list *list, const struct machine *m)
{
	add_ms(list, "last write to the own hub", age_ms(m, m->own_write_ns), OWN_LIMIT_MS,
	    m->own_write_ns > 0);
}

static void check_mirror(
    struct list *list, const struct machine *m, const struct machine_command *command)
{
	bool needed = newest_led(m) > m->led_term && !command->accept_incomplete;
	bool complete = machine_complete(m) && m->complete_term >= newest_led(m);
	const char *limit = needed ? "yes, or --accept-incomplete" : "not asked for";

	add_text(list, "mirror complete", yes(complete), limit, !needed || complete);
	if (needed)
		add_ms(list, "lag of the mirror", mirror_lag_ns(m) / NS_PER_MS,
		    m->options.max_lag_ns / NS_PER_MS, true);
}

/* Without force an operator's word replaces leave (pause, manual mode, block), never a proof. */
static void check_promote(
    struct list *list, const struct machine *m, const struct machine_command *command)
{
	int64_t silent_ms = m->reads ? age_ms(m, m->watch_ns) : 0;
	int64_t threshold_ms = machine_threshold_ns(m) / NS_PER_MS;
	struct machine_check *check;

	add_state(list, m, "standby", BIT(STATE_STANDBY));
	check_own_hub(list, m);
	check_mirror(list, m, command);
	check = add(list, "peer silent for",
	    m->reads >= 3 && silent_ms >= threshold_ms && machine_watched(m, m->now_ns));
	(void)snprintf(
	    check->value, sizeof(check->value), "%" PRId64 " ms in %u reads", silent_ms, m->reads);
	(void)snprintf(check->limit, sizeof(check->limit),
	    "at least %" PRId64 " ms in 3 reads, or --force", threshold_ms);
	add_text(list, "peer and timing", yes(machine_prepared(m, m->now_ns)),
	    "yes: known, not replaced, safe times", machine_prepared(m, m->now_ns));
}

static void check_force(
    struct list *list, const struct machine *m, const struct machine_command *command)
{
	bool term = machine_next_term(m) != 0;

	add_state(list, m, "standby or held", BIT(STATE_STANDBY) | BIT(STATE_HELD));
	check_own_hub(list, m);
	check_mirror(list, m, command);
	add_text(
	    list, "a term for this hub", term ? "there is one" : "none left", "there is one", term);
}

static void check_block(struct list *list, const struct machine *m)
{
	bool blocked = machine_blocked(m, m->now_ns);

	add_state(list, m, "standby", BIT(STATE_STANDBY));
	add_text(list, "automatic promotion blocked", yes(blocked),
	    "yes, else nothing to acknowledge", blocked);
}

unsigned machine_checks(const struct machine *m, const struct machine_command *command,
    struct machine_check checks[MACHINE_MAX_CHECKS])
{
	struct list list = { checks, 0 };
	bool any = BIT(m->state) & (BIT(STATE_DRAIN) | BIT(STATE_RELEASE));
	bool same = m->handover == command->operation;

	switch (command->verb) {
	case COMMAND_SWITCHOVER: check_switchover(&list, m); break;
	case COMMAND_CALL_OFF:
		add_state(&list, m, "draining: nothing released yet", BIT(STATE_DRAIN));
		add_text(&list, "the switchover under way",
		    any ? same ? "this one" : "another one" : "none", "this one", same);
		break;
	case COMMAND_PROMOTE: check_promote(&list, m, command); break;
	case COMMAND_FORCE: check_force(&list, m, command); break;
	case COMMAND_PAUSE:
		add_state(&list, m, "standby", BIT(STATE_STANDBY));
		add_ms(&list, "for", command->for_ms, PAUSE_LIMIT_MS, command->for_ms > 0);
		break;
	case COMMAND_RESUME:
		add_state(&list, m, "standby", BIT(STATE_STANDBY));
		add_text(&list, "paused", yes(machine_paused(m, m->now_ns)), "yes",
		    machine_paused(m, m->now_ns));
		break;
	case COMMAND_ACKNOWLEDGE: check_block(&list, m); break;
	case COMMAND_ACCEPT_PEER:
		/* While a claim is made or given up the peer is what it was. */
		add_state(&list, m, "one that lasts",
		    (STATES_ALL & ~(STATES_CLAIM | BIT(STATE_INIT) | BIT(STATE_FATAL))) |
			BIT(STATE_ACTIVE));
		add_text(&list, "peer is another cluster than before", yes(m->peer.replaced), "yes",
		    m->peer.replaced);
		break;
	case COMMAND_COUNT: break;
	}
	return list.count;
}

bool machine_holds(const struct machine *m, char text[128])
{
	if (m->page_open)
		return false;
	if (machine_paused(m, m->now_ns))
		(void)snprintf(text, 128, "paused for another %" PRId64 " s",
		    (int64_t)((m->paused_until_ns - m->now_ns) / NS_PER_S + 1));
	else if (machine_blocked(m, m->now_ns))
		(void)snprintf(text, 128,
		    "the peer took over a short time ago: blocked for another %" PRId64
		    " s unless acknowledged",
		    (int64_t)((m->block_until_ns - m->now_ns) / NS_PER_S + 1));
	else if (!m->options.automatic)
		(void)snprintf(text, 128, "promotion mode is manual");
	else
		return false;
	return true;
}
