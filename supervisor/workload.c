/*
 * Passes words between elector and runner, and is the runner's stand-in when it died (see the
 * header). The page decides whether a workload may run, the runner obeys it; nothing here does.
 */
#include "supervisor/workload.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "policy/uids.h"
#include "supervisor/process.h"

/* Between two rounds of ending the uid. */
#define ROUND_NS 20000000LL

static struct process *runner_of(struct supervisor *supervisor)
{
	return process_of(supervisor, (struct role_id){ ROLE_RUNNER, 0 });
}

static bool has_workload(const struct supervisor *supervisor)
{
	return supervisor->config && supervisor->config->argument_count > 0;
}

static void tell_elector(struct supervisor *supervisor, bool running, bool empty)
{
	supervisor->seen_running = running;
	supervisor->seen_empty = empty;
	process_tell(process_of(supervisor, (struct role_id){ ROLE_ELECTOR, 0 }),
	    CONTROL_WORKLOAD_SEEN, running, empty);
}

/* From here on until the runner says otherwise a workload may run: nobody is told that the uid is
 * empty on the strength of what was seen before (H18). */
static void tell_start(struct supervisor *supervisor)
{
	struct process *runner = runner_of(supervisor);

	supervisor->seen_empty = false;
	process_tell(runner, CONTROL_START, supervisor->run_term, supervisor->run_valid_until_ns);
	supervisor->run_seq = runner->control.sent;
}

void workload_run(struct supervisor *supervisor, uint64_t term, uint64_t valid_until_ns)
{
	supervisor->run_wanted = true;
	supervisor->run_term = term;
	supervisor->run_valid_until_ns = valid_until_ns;
	if (process_serves(runner_of(supervisor)))
		tell_start(supervisor);
}

/* While a command may run, one that ended by itself may just be starting again, so that only what
 * the runner sees after this word counts (H18). Else the answer is what is known: an empty uid, or
 * one that is being emptied. */
void workload_stop(struct supervisor *supervisor)
{
	struct process *runner = runner_of(supervisor);
	bool may_run = supervisor->run_wanted && has_workload(supervisor) && process_serves(runner);

	supervisor->run_wanted = false;
	if (process_serves(runner))
		process_tell(runner, CONTROL_STOP, 0, 0);
	if (may_run) {
		supervisor->seen_empty = false;
		supervisor->run_seq = runner->control.sent;
	} else if (!has_workload(supervisor) || supervisor->seen_empty) {
		tell_elector(supervisor, false, true);
	}
}

void workload_on_seen(struct supervisor *supervisor, const struct us_ctl *ctl)
{
	/* What it saw before it knew of the last START says nothing about the uid now. */
	tell_elector(
	    supervisor, ctl->a[0] == 1, ctl->a[1] == 1 && ctl->a[2] >= supervisor->run_seq);
}

void workload_on_runner_ready(struct process *runner)
{
	struct supervisor *supervisor = runner->supervisor;

	supervisor->run_seq = 0;
	if (supervisor->run_wanted)
		tell_start(supervisor);
}

void workload_on_runner_end(struct supervisor *supervisor)
{
	if (!has_workload(supervisor))
		return;
	supervisor->ending_uid = true;
	supervisor->ending_at_ns = 0;
	/* What it last said may be old by now: nobody is believed but /proc. */
	if (!supervisor->seen_empty)
		tell_elector(supervisor, false, false);
	(void)workload_uid_ending(supervisor, base_clock_boot_ns());
}

bool workload_uid_ending(struct supervisor *supervisor, int64_t now_ns)
{
	struct uids_found found;
	uid_t base, uid;

	if (!supervisor->ending_uid || now_ns < supervisor->ending_at_ns)
		return supervisor->ending_uid;
	base = supervisor->config->uid_base;
	uid = base + ROLE_UID_WORKLOAD;
	if (uids_signal(uid, base + ROLE_UID_SIGNALLER, SIGKILL) != 0)
		log_error("cannot end the processes of uid %u: %s", uid, strerror(errno));
	if (uids_find(uid, uid, &found) == 0 && found.pid == 0) {
		supervisor->ending_uid = false;
		if (!supervisor->seen_empty)
			log_info(
			    "the runner's workload is ended: no process of uid %u is left", uid);
		tell_elector(supervisor, false, true);
	}
	supervisor->ending_at_ns = now_ns + ROUND_NS;
	return supervisor->ending_uid;
}
