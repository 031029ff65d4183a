/*
 * The plan of one Cluster (see the header). publish.c carries it out and asks for the permit once
 * more right before the request leaves.
 */
#include "publisher/plan.h"

#include <string.h>

bool plan_is_permitted(const struct plan_permit *permit, int64_t now_ns)
{
	return permit->term != 0 && now_ns < permit->valid_until_ns;
}

bool plan_endpoint_usable(const char *endpoint)
{
	size_t n = strlen(PLAN_PLACEHOLDER) - 1; /* with or without the slash at its end */

	if (endpoint[0] == '\0')
		return false;
	return strncmp(endpoint, PLAN_PLACEHOLDER, n) != 0 ||
	       (endpoint[n] != '\0' && strcmp(endpoint + n, "/") != 0);
}

struct plan_action plan_step(
    const struct plan *plan, const struct plan_permit *permit, bool same, int64_t now_ns)
{
	bool stamped = plan->stamped_term == permit->term;

	if (!plan_is_permitted(permit, now_ns) || plan->writing || (stamped && same))
		return (struct plan_action){ PLAN_WAIT, 0 };
	if (now_ns < plan->next_try_ns)
		return (struct plan_action){ PLAN_WAIT, plan->next_try_ns };
	return (struct plan_action){ PLAN_WRITE, 0 };
}

void plan_renewed(struct plan *plan)
{
	if (!plan->failed)
		return;
	plan->failures = 0;
	plan->next_try_ns = 0;
}

void plan_written(struct plan *plan, uint64_t term, enum plan_outcome outcome, int64_t now_ns)
{
	int64_t delay_ns = PLAN_BACKOFF_MIN_NS;

	plan->writing = false;
	plan->failed = outcome == PLAN_FAILED;
	plan->pruned = outcome == PLAN_PRUNED;
	plan->next_try_ns = 0;
	switch (outcome) {
	case PLAN_WRITTEN:
	case PLAN_GONE:
		plan->stamped_term = term;
		plan->failures = plan->fenced = 0;
		return;
	case PLAN_PRUNED:
		plan->stamped_term = term;
		plan->next_try_ns = now_ns + PLAN_PRUNED_NS;
		return;
	case PLAN_FENCED:
		/* A policy is some ms behind HubRole; one that stays behind is no reason to hammer.
		 */
		plan->next_try_ns =
		    now_ns + PLAN_FENCED_NS * (plan->fenced < PLAN_FENCED_FAST ? 1 : 20);
		plan->fenced++;
		return;
	case PLAN_FAILED: break;
	}
	for (unsigned i = 0; i < plan->failures && delay_ns < PLAN_BACKOFF_MAX_NS; i++)
		delay_ns *= 2;
	plan->failures++;
	plan->next_try_ns =
	    now_ns + (delay_ns < PLAN_BACKOFF_MAX_NS ? delay_ns : PLAN_BACKOFF_MAX_NS);
}

enum plan_outcome plan_outcome_of(const struct kube_answer *answer, bool persisted)
{
	if (answer->class == KUBE_OK)
		return persisted ? PLAN_WRITTEN : PLAN_PRUNED;
	if (answer->class == KUBE_FORBIDDEN && strstr(answer->message, "UNDERSTUDY_FENCE"))
		return PLAN_FENCED;
	return answer->class == KUBE_NOT_FOUND ? PLAN_GONE : PLAN_FAILED;
}

int64_t plan_last_updated_us(int64_t now_us, int64_t seen_us)
{
	const int64_t second = 1000000;
	int64_t now = now_us - now_us % second, seen = seen_us - seen_us % second;

	return now > seen ? now : seen + second;
}
