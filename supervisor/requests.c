/*
 * The table of requests and what each one does (see the header). The first thing that a child's
 * packet meets behind control_receive: keep it short.
 */
#include "supervisor/requests.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/build.h"
#include "base/clock.h"
#include "base/log.h"
#include "fence/fence.h"
#include "policy/sandbox.h"
#include "supervisor/credentials.h"
#include "supervisor/process.h"
#include "supervisor/reload.h"
#include "supervisor/rotation.h"
#include "supervisor/start.h"
#include "supervisor/verify.h"
#include "supervisor/wire.h"
#include "supervisor/workload.h"

/* The elector's deadlines are believed up to here. */
#define STOP_LATEST_NS 30000000000LL
/* A syncer that was killed so recently may still have a request on its way (F8). */
#define SYNCER_ECHO_NS 10000000000LL

#define EVERYBODY (ROLE_BIT(ROLE_COUNT) - 1 - ROLE_BIT(ROLE_SUPERVISOR))
#define LINKED    (ROLE_KUBE | ROLE_DIALERS | ROLE_BIT(ROLE_MONITOR))
#define ELECTOR   ROLE_BIT(ROLE_ELECTOR)
#define FOLLOWER  ROLE_BIT(ROLE_FOLLOWER)
#define IN(state) (1u << PROCESS_##state)
#define VERIFIED  (IN(RUNNING) | IN(LEAVING))

typedef void request_fn(struct process *process, const struct us_ctl *ctl);

struct request_row {
	uint32_t roles, states;
	request_fn *act;
};

/* --- Greeting ------------------------------------------------------------------------------- */

/* F38: native structs are exchanged within one build only. */
static void on_hello(struct process *process, const struct us_ctl *ctl)
{
	if (ctl->a[0] != build_id[0] || ctl->a[1] != build_id[1])
		process_kill(process, "its program is of another build than understudyd");
	else
		process->state = PROCESS_GREETED;
}

/* Names of the bits, for people. */
static const char *name_protections(unsigned bits, char *text, size_t size)
{
	size_t n = 0;

	text[0] = '\0';
	for (unsigned bit = 1; bit <= SANDBOX_ALL && n < size; bit <<= 1)
		if (bits & bit)
			n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "",
			    sandbox_protection_name(bit));
	return text;
}

/* F15: what the kernel says, not what the process says; and its own word where the kernel says
 * nothing. *ended: it said READY and is no more; its reaping is near. */
static int verify_process(
    const struct process *process, unsigned in_force, bool *ended, struct err *err)
{
	const struct supervisor *supervisor = process->supervisor;
	unsigned waived = start_waived(supervisor->config, supervisor->available);
	/* A bonus that this machine has is due as well: a process without it left out a step. */
	unsigned missing = (SANDBOX_REQUIRED | supervisor->available) & ~in_force & ~waived;
	struct verify_expected expected = { .id = process->id,
		.waived = waived,
		.parent = (uint32_t)getpid(),
		.filters = (uint32_t)supervisor->own_filters };
	struct verify_facts facts;
	char names[160];

	if (missing && process->id.role != ROLE_RUNNER)
		return err_set(
		    err, "not in force: %s", name_protections(missing, names, sizeof(names)));
	if (process->id.role != ROLE_RUNNER)
		expected.uid =
		    start_role_uid(supervisor->config, process->id, supervisor->available);
	if (verify_read(process->pid, &facts, err))
		return -1;
	*ended = facts.ended;
	return facts.ended ? 0 : verify_judge(&expected, &facts, err);
}

static void tell_accusations(struct supervisor *supervisor, enum role accused)
{
	struct process *monitor = process_of(supervisor, (struct role_id){ ROLE_MONITOR, 0 });

	for (unsigned killed = 0; killed < 2; killed++) {
		struct us_ctl ctl = { .type = CONTROL_ACCUSED,
			.a = { accused, killed, supervisor->accusations[accused][killed] } };

		if (ctl.a[2] && process_serves(monitor))
			process_send(monitor, &ctl, NULL, 0, -1);
	}
}

void requests_tell_accusations(struct supervisor *supervisor)
{
	for (unsigned role = 0; role < ROLE_COUNT; role++)
		tell_accusations(supervisor, (enum role)role);
}

static void on_monitor_ready(struct process *monitor)
{
	wire_grant_listeners(monitor);
	reload_tell_monitor(monitor->supervisor);
	requests_tell_accusations(monitor->supervisor);
}

/* No link and no credential before this (design 1). */
static void on_ready(struct process *process, const struct us_ctl *ctl)
{
	struct supervisor *supervisor = process->supervisor;
	struct err err;
	bool ended = process->reaped;

	if (!ended && verify_process(process, (unsigned)ctl->a[0], &ended, &err)) {
		process_kill(process, "the check of its process failed: %s", err.text);
		return;
	}
	if (ended)
		return;
	process->in_force = (unsigned)ctl->a[0];
	process->state = PROCESS_RUNNING;
	process->beat_ns = base_clock_boot_ns();
	log_debug("%s (pid %d) is locked down and verified", process->name, (int)process->pid);
	if (process->id.role == ROLE_ELECTOR) {
		if (supervisor->predecessor) /* C15: it may resume what that one held. */
			process_tell(process, CONTROL_PREDECESSOR_DEAD, supervisor->predecessor, 0);
		process_tell(process, CONTROL_WORKLOAD_SEEN, supervisor->seen_running,
		    supervisor->seen_empty);
	}
	if (process->id.role == ROLE_RUNNER)
		workload_on_runner_ready(process);
	if (process->id.role == ROLE_MONITOR)
		on_monitor_ready(process);
	if (ROLE_BIT(process->id.role) & ROLE_KUBE)
		credentials_on_role_ready(process);
}

static void on_beat(struct process *process, const struct us_ctl *ctl)
{
	(void)ctl;
	process->beat_ns = base_clock_boot_ns();
}

static void on_exiting(struct process *process, const struct us_ctl *ctl)
{
	log_debug("%s leaves: %s", process->name, ctl->blob);
}

/* --- Links ---------------------------------------------------------------------------------- */

/* Whether a report is about a link of the two processes that run now: the one that is up, or was
 * until its other end told first. One of a former generation says nothing about its successor,
 * whose far end may be another process (F20); one of no link at all kills. */
static bool is_about_a_link(struct process *process, const struct us_ctl *ctl, struct role_id *peer)
{
	struct wire *wire = NULL;

	*peer = (struct role_id){ (uint8_t)ctl->a[0], (uint8_t)ctl->a[1] };
	if (ctl->a[0] < ROLE_COUNT && ctl->a[1] < ROLE_MAX_SHARDS)
		wire = wire_between(process, *peer);
	if (!wire)
		process_kill(process, "it reports a link that it cannot have");
	return wire && (wire->up || wire->cut) && wire->generation == ctl->a[2];
}

static void on_link_cut(struct process *process, const struct us_ctl *ctl)
{
	struct role_id peer;

	if (is_about_a_link(process, ctl, &peer))
		wire_cut(process, peer, base_clock_boot_ns());
}

/* F4. */
static void on_accuse(struct process *process, const struct us_ctl *ctl)
{
	struct supervisor *supervisor = process->supervisor;
	int64_t now_ns = base_clock_boot_ns();
	enum children_judgement judgement;
	struct process *accused;
	struct role_id peer;

	if (!is_about_a_link(process, ctl, &peer))
		return;
	accused = process_of(supervisor, peer);
	log_error("%s accuses %s of a bad message", process->name, accused->name);
	wire_cut(process, peer, now_ns);
	judgement = children_judge(&process->accuser, role_row(process->id.role)->trust,
	    role_row(peer.role)->trust, now_ns);
	supervisor->accusations[peer.role][judgement == CHILDREN_KILL_ACCUSED]++;
	switch (judgement) {
	case CHILDREN_CUT: break;
	case CHILDREN_KILL_ACCUSED:
		process_kill(
		    accused, "%s, which outranks it, had a bad message from it", process->name);
		break;
	case CHILDREN_RESTART_ACCUSER:
		process_kill(process, "it accused others %d times", CHILDREN_CUTS_KEPT);
		break;
	}
	tell_accusations(supervisor, (enum role)peer.role);
}

/* --- The elector's requests ------------------------------------------------------------------ */

static struct process *syncer_of(struct supervisor *supervisor)
{
	return process_of(supervisor, (struct role_id){ ROLE_SYNCER, 0 });
}

static void on_start_syncer(struct process *process, const struct us_ctl *ctl)
{
	struct supervisor *supervisor = process->supervisor;
	struct process *syncer = syncer_of(supervisor);

	(void)ctl;
	if (supervisor->stop_asked || !(config_roles(supervisor->config) & ROLE_BIT(ROLE_SYNCER)))
		return;
	supervisor->syncer_asked = false;
	syncer->wanted = true;
	if (syncer->state == PROCESS_NONE) {
		syncer->state = PROCESS_WAITING;
		syncer->again_ns = 0;
	}
}

static void tell_syncer_gone(struct supervisor *supervisor, bool clean)
{
	process_tell(process_of(supervisor, (struct role_id){ ROLE_ELECTOR, 0 }),
	    CONTROL_SYNCER_GONE, clean, 0);
}

void requests_on_syncer_end(struct supervisor *supervisor, bool clean, int64_t now_ns)
{
	supervisor->syncer_clean = clean;
	supervisor->syncer_ended_ns = now_ns;
	if (supervisor->syncer_asked)
		tell_syncer_gone(supervisor, clean);
	supervisor->syncer_asked = false;
}

static void on_stop_syncer(struct process *process, const struct us_ctl *ctl)
{
	struct supervisor *supervisor = process->supervisor;
	struct process *syncer = syncer_of(supervisor);
	int64_t now_ns = base_clock_boot_ns(), deadline_ns = (int64_t)ctl->a[0];

	if (deadline_ns < now_ns || deadline_ns > now_ns + STOP_LATEST_NS)
		deadline_ns = deadline_ns < now_ns ? now_ns : now_ns + STOP_LATEST_NS;
	if (process_runs(syncer)) {
		supervisor->syncer_asked = true;
		process_stop(syncer, deadline_ns);
		return;
	}
	process_stop(syncer, 0);
	/* F8: one that was killed a moment ago may still have a request under way. */
	tell_syncer_gone(supervisor, supervisor->syncer_clean || supervisor->syncer_ended_ns == 0 ||
					 now_ns - supervisor->syncer_ended_ns > SYNCER_ECHO_NS);
}

/* A follower's term is the place of its hub in the list, counted from 1: another hub is another
 * command, and the same hub after a restart of the follower is not. */
static void on_run(struct process *process, const struct us_ctl *ctl)
{
	if (process->id.role == ROLE_FOLLOWER &&
	    (ctl->a[0] == 0 || ctl->a[0] > process->supervisor->config->hub_count)) {
		process_kill(process, "it follows a hub that is not in the list");
		return;
	}
	if (process->id.role == ROLE_FOLLOWER && process->supervisor->run_term != ctl->a[0])
		notify_role(&process->supervisor->notify, "follows %s",
		    config_text_at(process->supervisor->config,
			process->supervisor->config->hubs[ctl->a[0] - 1].name));
	workload_run(process->supervisor, ctl->a[0], ctl->a[1]);
}

static void on_stop_run(struct process *process, const struct us_ctl *ctl)
{
	(void)ctl;
	workload_stop(process->supervisor);
}

static void on_leading(struct process *process, const struct us_ctl *ctl)
{
	static const char *const names[] = { "no role yet", "standby", "leading", "draining" };

	if (ctl->a[0] > FENCE_DRAINING)
		process_kill(process, "it is in a role that does not exist");
	else
		notify_role(&process->supervisor->notify, "%s, term %llu", names[ctl->a[0]],
		    (unsigned long long)ctl->a[1]);
}

static void on_workload_seen(struct process *process, const struct us_ctl *ctl)
{
	workload_on_seen(process->supervisor, ctl);
}

static void on_loaded(struct process *process, const struct us_ctl *ctl)
{
	(void)ctl;
	if (process->credential >= CREDENTIAL_LIMIT ||
	    process->supervisor->identities[process->credential].loaded)
		process_kill(process, "it loaded what it was not asked for");
	else
		process->supervisor->identities[process->credential].expects_more = true;
}

/* --- The table ------------------------------------------------------------------------------- */

static const struct request_row rows[] = {
	[CONTROL_HELLO] = { EVERYBODY, IN(STARTED), on_hello },
	[CONTROL_READY] = { EVERYBODY, IN(GREETED), on_ready },
	[CONTROL_BEAT] = { EVERYBODY, VERIFIED, on_beat },
	[CONTROL_EXITING] = { EVERYBODY, IN(STARTED) | IN(GREETED) | VERIFIED, on_exiting },
	[CONTROL_LINK_CUT] = { LINKED, VERIFIED, on_link_cut },
	[CONTROL_ACCUSE] = { LINKED, VERIFIED, on_accuse },
	[CONTROL_CRED_ACK] = { ROLE_KUBE, VERIFIED, credentials_on_answer },
	[CONTROL_CRED_NACK] = { ROLE_KUBE, VERIFIED, credentials_on_answer },
	[CONTROL_CRED_REFUSED] = { ROLE_KUBE, VERIFIED, rotation_on_refused },
	[CONTROL_START_SYNCER] = { ELECTOR, VERIFIED, on_start_syncer },
	[CONTROL_STOP_SYNCER] = { ELECTOR, VERIFIED, on_stop_syncer },
	[CONTROL_RUN] = { ELECTOR | FOLLOWER, VERIFIED, on_run },
	[CONTROL_STOP_RUN] = { ELECTOR, VERIFIED, on_stop_run },
	[CONTROL_LEADING] = { ELECTOR, VERIFIED, on_leading },
	[CONTROL_WORKLOAD_SEEN] = { ROLE_BIT(ROLE_RUNNER), VERIFIED, on_workload_seen },
	[CONTROL_LOADED] = { ROLE_BIT(ROLE_LOADER), IN(RUNNING), on_loaded },
};

bool requests_permitted(uint16_t type, enum role role, enum process_state state)
{
	return type < sizeof(rows) / sizeof(rows[0]) && rows[type].act &&
	       (rows[type].roles & ROLE_BIT(role)) && (rows[type].states & 1u << state);
}

/* Who is told to leave while it still starts has not heard of it when it says so; it stays what it
 * is, unverified. */
static bool comes_too_late(const struct process *process, const struct us_ctl *ctl)
{
	return process->state == PROCESS_LEAVING &&
	       (ctl->type == CONTROL_HELLO || ctl->type == CONTROL_READY);
}

void requests_take(struct process *process, const struct us_ctl *ctl)
{
	if (comes_too_late(process, ctl))
		return;
	if (requests_permitted(ctl->type, process->id.role, process->state))
		rows[ctl->type].act(process, ctl);
	else
		process_kill(process, "it may not send control message %u now", ctl->type);
}
