/*
 * The decision (see the header). Two layers: claims that carry a term, and where there are none and
 * never were any, upstream's. It must not read a clock and must not act.
 */
#include "follower/rule.h"

#include <stdio.h>
#include <string.h>

void rule_init(struct rule *rule, unsigned hub_count, unsigned confirmations, int hub,
    uint64_t term, uint64_t max_term)
{
	*rule = (struct rule){ .hub_count = hub_count,
		.confirmations = confirmations,
		.current = { .hub = hub, .term = term },
		.pending = { .hub = RULE_NOWHERE },
		.max_term = max_term > term ? max_term : term };
}

/* W7: when the claim was made does not count; with a term the hub alone does. */
static bool is_same(const struct rule_choice *a, const struct rule_choice *b)
{
	return a->hub == b->hub && (a->term || b->term || strcmp(a->identity, b->identity) == 0);
}

static void forget_challenger(struct rule *rule)
{
	rule->pending = (struct rule_choice){ .hub = RULE_NOWHERE };
	rule->count = 0;
}

/* Upstream's confirm(): W5, W6, W9. needed: looks in a row. */
static enum rule_verdict confirm(
    struct rule *rule, const struct rule_choice *winner, unsigned needed)
{
	if (is_same(winner, &rule->current) && (rule->established || winner->term)) {
		forget_challenger(rule);
		rule->established = true;
		return RULE_KEEP;
	}
	if (!rule->established)
		return RULE_SWITCH;
	if (is_same(winner, &rule->pending)) {
		rule->pending.term = winner->term;
		rule->count++;
	} else {
		rule->pending = *winner;
		rule->count = 1;
	}
	return rule->count >= needed ? RULE_SWITCH : RULE_CONFIRM;
}

/* --- Terms (H19) ----------------------------------------------------------------------------- */

struct termed {
	struct rule_choice best; /* hub RULE_NOWHERE: nobody's */
	unsigned sources;        /* that say so */
	bool any, twice;
};

static void take(
    struct termed *termed, const struct rule *rule, int hub, uint64_t term, unsigned *notes)
{
	if (term == 0 || (unsigned)hub >= rule->hub_count) /* RULE_NOWHERE, too */
		return;
	if (term > RULE_TERM_MAX || term > rule->max_term + RULE_TERM_LEAP) {
		*notes |= RULE_NOTE_IMPLAUSIBLE;
		return;
	}
	termed->any = true;
	if (term < rule->max_term) {
		*notes |= RULE_NOTE_SUPERSEDED;
		return;
	}
	if (term > termed->best.term) {
		termed->best = (struct rule_choice){ .hub = hub, .term = term };
		termed->sources = 1;
		termed->twice = false;
	} else if (term == termed->best.term) {
		termed->twice |= hub != termed->best.hub;
		termed->sources++;
	}
}

static struct termed find_term(
    const struct rule *rule, const struct rule_input *input, unsigned *notes)
{
	struct termed termed = { .best = { .hub = RULE_NOWHERE } };

	for (unsigned i = 0; i < rule->hub_count; i++)
		take(&termed, rule, (int)i, input->looks[i].lease_term, notes);
	take(&termed, rule, input->push.hub, input->push.term, notes);
	if (input->push.term && input->push.hub == RULE_NOWHERE)
		*notes |= RULE_NOTE_FOREIGN;
	/* The term that is followed belongs to the hub that is followed. */
	if (termed.best.term && termed.best.term == rule->current.term &&
	    termed.best.hub != rule->current.hub)
		termed.twice = true;
	return termed;
}

static void decide_by_term(
    struct rule *rule, const struct termed *termed, struct rule_decision *decision)
{
	if (termed->twice) {
		decision->notes |= RULE_NOTE_TWICE;
		return;
	}
	if (termed->best.hub == RULE_NOWHERE)
		return;
	decision->choice = termed->best;
	/* Push and Lease are two witnesses of one look. */
	decision->verdict =
	    confirm(rule, &termed->best, termed->sources > 1 ? 1 : rule->confirmations);
	if (decision->verdict != RULE_KEEP)
		return;
	rule->current.term = termed->best.term;
	rule->max_term = termed->best.term;
}

/* --- Upstream's rule -------------------------------------------------------------------------- */

static bool is_newer(const struct rule_claim *a, const struct rule_claim *b)
{
	if (a->updated_us != b->updated_us)
		return a->updated_us > b->updated_us;
	return strcmp(a->identity, b->identity) < 0; /* W4: total, and the same each time */
}

static void decide_by_claim(
    struct rule *rule, const struct rule_input *input, struct rule_decision *decision)
{
	const struct rule_claim *first = NULL, *newest = NULL;
	bool agree = true;

	for (unsigned i = 0; i < rule->hub_count; i++) {
		const struct rule_claim *claim = &input->looks[i].claim;

		if (input->looks[i].reach != RULE_READ || claim->absent)
			continue;
		if (claim->hub == RULE_NOWHERE) {
			decision->notes |= RULE_NOTE_FOREIGN;
			continue;
		}
		agree = agree && (!first || strcmp(first->identity, claim->identity) == 0);
		first = first ? first : claim;
		newest = !newest || is_newer(claim, newest) ? claim : newest;
	}
	if (!first) /* W8: nothing usable: neither target nor count changes. */
		return;
	if (agree)
		newest = first;
	else
		decision->notes |= RULE_NOTE_DISAGREE;
	decision->choice.hub = newest->hub;
	(void)snprintf(
	    decision->choice.identity, sizeof(decision->choice.identity), "%s", newest->identity);
	decision->verdict = confirm(rule, &decision->choice, rule->confirmations);
}

struct rule_decision rule_decide(struct rule *rule, const struct rule_input *input)
{
	struct rule_decision decision = { .verdict = RULE_KEEP, .choice = { .hub = RULE_NOWHERE } };
	struct termed termed;

	if (rule->hub_count < 2) /* W1 */
		return decision;
	termed = find_term(rule, input, &decision.notes);
	/* Who once followed a term is moved by a term alone: the claims of a hub that was restored
	 * or cut off for a week carry none (I3). */
	if (termed.any || rule->max_term)
		decide_by_term(rule, &termed, &decision);
	else
		decide_by_claim(rule, input, &decision);
	return decision;
}

bool rule_is_superseded(const struct rule *rule, const struct rule_look *look)
{
	return look->lease_term != 0 && look->lease_term < rule->max_term;
}

void rule_followed(struct rule *rule, const struct rule_choice *choice)
{
	rule->current = *choice;
	rule->established = true;
	if (choice->term > rule->max_term)
		rule->max_term = choice->term;
	forget_challenger(rule);
}

void rule_fall_back(struct rule *rule)
{
	if (rule->current.hub == RULE_NOWHERE)
		rule->current = (struct rule_choice){ .hub = 0 };
}
