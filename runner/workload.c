/*
 * The runner's decisions (see the header). No I/O, no clock, no allocation. The page decides, not
 * the message: the message only says that the workload is due (F5).
 */
#include "runner/workload.h"

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* When a command that runs under this validity has to be told to end. */
static int64_t stop_at(const struct workload *workload, int64_t valid_until_ns)
{
	return valid_until_ns - workload->grace_ns - WORKLOAD_MARGIN_NS;
}

static bool may_run(
    const struct workload *workload, const struct workload_facts *facts, int64_t now_ns)
{
	return facts->wanted && !facts->gone && facts->leading &&
	       facts->page_term == facts->wanted_term &&
	       now_ns < stop_at(workload, facts->page_until_ns);
}

/* The grace ends with the validity that the command was started under, at the latest. */
static enum workload_action end(struct workload *workload, int64_t grace_ns, int64_t now_ns)
{
	workload->state = WORKLOAD_ENDING;
	workload->kill_ns =
	    earlier(now_ns + grace_ns, workload->held_until_ns - WORKLOAD_MARGIN_NS);
	return workload->kill_ns > now_ns ? WORKLOAD_TERMINATE : WORKLOAD_KILL;
}

static enum workload_action step_idle(
    struct workload *workload, const struct workload_facts *facts, int64_t now_ns, int64_t *wake_ns)
{
	if (!facts->empty) /* A former runner's, or what the command left behind. */
		return end(workload, 0, now_ns);
	if (facts->gone)
		return WORKLOAD_LEAVE;
	if (!may_run(workload, facts, now_ns))
		return WORKLOAD_WAIT;
	if (now_ns < workload->again_ns) {
		*wake_ns = workload->again_ns;
		return WORKLOAD_WAIT;
	}
	workload->state = WORKLOAD_RUNNING;
	workload->term = facts->wanted_term;
	workload->started_ns = now_ns;
	workload->held_until_ns = facts->page_until_ns;
	return WORKLOAD_START;
}

/* The command ended by itself: what is left of its uid goes, and it comes back after a while. */
static enum workload_action command_ended(struct workload *workload, int64_t now_ns)
{
	if (workload->delay_ns == 0 || now_ns - workload->started_ns >= WORKLOAD_HEALTHY_NS)
		workload->delay_ns = WORKLOAD_FIRST_NS;
	else
		workload->delay_ns = earlier(2 * workload->delay_ns, WORKLOAD_LONGEST_NS);
	workload->again_ns = now_ns + workload->delay_ns;
	return end(workload, 0, now_ns);
}

static enum workload_action step_running(
    struct workload *workload, const struct workload_facts *facts, int64_t now_ns, int64_t *wake_ns)
{
	if (facts->gone) /* Nobody is left who would know that it runs. */
		return end(workload, 0, now_ns);
	if (!facts->alive)
		return command_ended(workload, now_ns);
	if (facts->wanted_term != workload->term || !may_run(workload, facts, now_ns))
		return end(workload, workload->grace_ns, now_ns);
	workload->held_until_ns = facts->page_until_ns;
	*wake_ns = stop_at(workload, facts->page_until_ns);
	return WORKLOAD_WAIT;
}

/* H18: it goes on to the end, whatever the page says by now. */
static enum workload_action step_ending(
    struct workload *workload, const struct workload_facts *facts, int64_t now_ns, int64_t *wake_ns)
{
	if (facts->empty && !facts->alive) {
		workload->state = WORKLOAD_IDLE;
		return step_idle(workload, facts, now_ns, wake_ns);
	}
	if (now_ns < workload->kill_ns && !facts->gone) {
		*wake_ns = workload->kill_ns;
		return WORKLOAD_WAIT;
	}
	return WORKLOAD_KILL;
}

static enum workload_action step(
    struct workload *workload, const struct workload_facts *facts, int64_t now_ns, int64_t *wake_ns)
{
	switch (workload->state) {
	case WORKLOAD_IDLE: return step_idle(workload, facts, now_ns, wake_ns);
	case WORKLOAD_RUNNING: return step_running(workload, facts, now_ns, wake_ns);
	case WORKLOAD_ENDING: break;
	}
	return step_ending(workload, facts, now_ns, wake_ns);
}

enum workload_action workload_step(
    struct workload *workload, const struct workload_facts *facts, int64_t now_ns, int64_t *wake_ns)
{
	enum workload_action action;

	*wake_ns = INT64_MAX;
	action = step(workload, facts, now_ns, wake_ns);
	/* One round of signals proves nothing: look again at once. */
	if (action == WORKLOAD_KILL)
		*wake_ns = now_ns + WORKLOAD_ROUND_NS;
	return action;
}
