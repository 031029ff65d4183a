/*
 * The end in order (see the header). The elector goes first: it closes the page, withdraws its
 * permits and has the workload stopped, which needs everybody else alive. Whether it gives its
 * Lease back is its own matter: a hub does not, a replica does once its workload is gone (H21, R8).
 * Pitfall: P8.
 */
#include "supervisor/stop.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "supervisor/process.h"
#include "supervisor/workload.h"

/* What each stage has, beyond stop-grace where the workload is waited for. */
#define ELECTOR_NS 5000000000LL
#define RUNNER_NS  3000000000LL
#define OTHERS_NS  3000000000LL
/* The same for a stop that was asked for twice. The runner keeps its time: it kills at once then,
 * and what is left of its uid must not outlive us. */
#define HURRIED_NS 300000000LL

enum stop_stage { STOP_BEGIN, STOP_ELECTOR, STOP_WORKLOAD, STOP_RUNNER, STOP_OTHERS, STOP_DONE };

static struct process *slot(struct supervisor *supervisor, enum role role)
{
	return process_of(supervisor, (struct role_id){ (uint8_t)role, 0 });
}

static int64_t grace_ns(const struct supervisor *supervisor)
{
	const struct us_config *config = supervisor->config;

	/* Without a workload nobody has judged that number (config_check). */
	return config && config->argument_count > 0 ? config->stop_grace_ms * BASE_NS_PER_MS : 0;
}

/* From here on nothing is started again. */
static void forbid_starts(struct supervisor *supervisor)
{
	for (unsigned i = 0; i < SUPERVISOR_SLOTS; i++) {
		supervisor->slots[i].wanted = false;
		if (supervisor->slots[i].state == PROCESS_WAITING)
			supervisor->slots[i].state = PROCESS_NONE;
	}
}

/* A dead runner's uid is emptied here, because no successor of it will be due any more. */
static bool runner_is_gone(struct supervisor *supervisor, int64_t now_ns)
{
	return !process_runs(slot(supervisor, ROLE_RUNNER)) &&
	       !workload_uid_ending(supervisor, now_ns);
}

static void stop_others(struct supervisor *supervisor, int64_t deadline_ns)
{
	for (unsigned i = 0; i < SUPERVISOR_SLOTS; i++) {
		struct process *process = &supervisor->slots[i];

		if (process_runs(process) && process->id.role == ROLE_LOADER)
			process_hang_up(process, deadline_ns - PROCESS_LINGER_NS);
		else if (process_runs(process))
			process_stop(process, deadline_ns);
	}
}

static bool all_gone(const struct supervisor *supervisor)
{
	for (unsigned i = 0; i < SUPERVISOR_SLOTS; i++)
		if (process_runs(&supervisor->slots[i]))
			return false;
	return true;
}

void stop_ask(struct supervisor *supervisor)
{
	if (supervisor->stop_asked && !supervisor->stop_hurried)
		log_warn("told again to stop: nobody is waited for any more");
	supervisor->stop_hurried = supervisor->stop_asked;
	supervisor->stop_asked = true;
}

/* The end of a stage that began, or begins, now or before. */
static int64_t bounded(const struct supervisor *supervisor, int64_t until_ns, int64_t now_ns)
{
	bool hurried = supervisor->stop_hurried && supervisor->stop_stage != STOP_RUNNER;

	return hurried && until_ns > now_ns + HURRIED_NS ? now_ns + HURRIED_NS : until_ns;
}

/* Begins the stage. */
static void enter(struct supervisor *supervisor, enum stop_stage stage, int64_t now_ns)
{
	struct process *runner = slot(supervisor, ROLE_RUNNER);
	int64_t until_ns = now_ns + OTHERS_NS;

	supervisor->stop_stage = stage;
	switch (stage) {
	case STOP_ELECTOR:
		log_info("stopping: elector, workload, then the others");
		notify_send(&supervisor->notify, "STOPPING=1\nSTATUS=stopping");
		forbid_starts(supervisor);
		until_ns = now_ns + grace_ns(supervisor) + ELECTOR_NS;
		process_stop(slot(supervisor, ROLE_ELECTOR), until_ns);
		break;
	case STOP_WORKLOAD:
		until_ns = now_ns + grace_ns(supervisor) + RUNNER_NS;
		workload_stop(supervisor);
		break;
	case STOP_RUNNER:
		/* Hang-up ends everything that the runner still has. */
		if (process_runs(runner))
			process_hang_up(runner, now_ns);
		until_ns = now_ns + RUNNER_NS;
		break;
	case STOP_OTHERS: stop_others(supervisor, bounded(supervisor, until_ns, now_ns)); break;
	case STOP_BEGIN:
	case STOP_DONE: break;
	}
	supervisor->stop_until_ns = bounded(supervisor, until_ns, now_ns);
}

static bool finished(struct supervisor *supervisor, int64_t now_ns)
{
	switch ((enum stop_stage)supervisor->stop_stage) {
	case STOP_ELECTOR: return !process_runs(slot(supervisor, ROLE_ELECTOR));
	case STOP_WORKLOAD:
		return supervisor->seen_empty || !process_runs(slot(supervisor, ROLE_RUNNER));
	case STOP_RUNNER: return runner_is_gone(supervisor, now_ns);
	case STOP_OTHERS: return all_gone(supervisor);
	case STOP_BEGIN:
	case STOP_DONE: break;
	}
	return true;
}

bool stop_due(struct supervisor *supervisor, int64_t now_ns, int64_t *next_ns)
{
	supervisor->stop_until_ns = bounded(supervisor, supervisor->stop_until_ns, now_ns);
	while (supervisor->stop_stage != STOP_DONE &&
	       (finished(supervisor, now_ns) || now_ns >= supervisor->stop_until_ns))
		enter(supervisor, supervisor->stop_stage + 1, now_ns);
	*next_ns = supervisor->stop_until_ns;
	if (supervisor->ending_uid && supervisor->ending_at_ns < *next_ns)
		*next_ns = supervisor->ending_at_ns;
	return supervisor->stop_stage == STOP_DONE;
}
