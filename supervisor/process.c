/*
 * The life of each process (see the header). What a role's end means for others is told to the
 * files that know: wire.c, credentials.c, workload.c. Called by main and by the loop.
 * Pitfalls: P7, P16, P17, P18, P37.
 */
#include "supervisor/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "policy/sandbox.h"
#include "supervisor/canary.h"
#include "supervisor/credentials.h"
#include "supervisor/init.h"
#include "supervisor/requests.h"
#include "supervisor/start.h"
#include "supervisor/wire.h"
#include "supervisor/workload.h"

#define DUE_LATEST_NS    BASE_NS_PER_S
#define PACKETS_PER_WAKE 64

/* --- Slots ---------------------------------------------------------------------------------- */

struct process *process_of(struct supervisor *supervisor, struct role_id id)
{
	return &supervisor->slots[id.role == ROLE_REPOINTER ? ROLE_COUNT + id.shard : id.role];
}

struct process *process_loader(struct supervisor *supervisor, unsigned credential)
{
	CHECK(credential < CREDENTIAL_LIMIT);
	return &supervisor->slots[ROLE_COUNT + ROLE_MAX_SHARDS + credential];
}

static void plan_slot(
    struct supervisor *supervisor, struct process *process, struct role_id id, unsigned credential)
{
	*process = (struct process){ .supervisor = supervisor,
		.id = id,
		.credential = credential,
		.control = { .fd = -1 },
		.control_watch = { .fd = -1 },
		.log_watch = { .fd = -1 } };
	(void)snprintf(process->name, sizeof(process->name),
	    id.role == ROLE_REPOINTER ? "%s/%u" : "%s", role_name(id.role), id.shard);
}

/* The role and shard of a slot before those of the loaders. */
static struct role_id slot_id(unsigned slot)
{
	return slot < ROLE_COUNT ? (struct role_id){ (uint8_t)slot, 0 }
				 : (struct role_id){ ROLE_REPOINTER, (uint8_t)(slot - ROLE_COUNT) };
}

/* Repointers have slots of their own, one for each shard. */
static bool is_of(const struct us_config *config, unsigned slot)
{
	struct role_id id = slot_id(slot);

	if (slot < ROLE_RUNNER || slot == ROLE_LOADER || slot == ROLE_REPOINTER ||
	    !(config_roles(config) & ROLE_BIT(id.role)))
		return false;
	return slot < ROLE_COUNT || id.shard < config_shard_count(config);
}

void process_plan(struct supervisor *supervisor, const struct us_config *config)
{
	struct role_id id = { ROLE_LOADER, 0 };

	if (!config) {
		plan_slot(supervisor, process_of(supervisor, id), id, CREDENTIAL_LIMIT);
		for (unsigned c = 0; c < CREDENTIAL_LIMIT; c++)
			plan_slot(supervisor, process_loader(supervisor, c), id, c);
		return;
	}
	for (unsigned slot = 0; slot < ROLE_COUNT + ROLE_MAX_SHARDS; slot++) {
		if (!is_of(config, slot))
			continue;
		id = slot_id(slot);
		plan_slot(supervisor, &supervisor->slots[slot], id, CREDENTIAL_LIMIT);
		supervisor->slots[slot].wanted = role_row(id.role)->restart == ROLE_RESTART_ALWAYS;
	}
}

void process_plan_again(
    struct supervisor *supervisor, const struct us_config *config, int64_t now_ns)
{
	for (unsigned slot = 0; slot < ROLE_COUNT + ROLE_MAX_SHARDS; slot++) {
		struct process *process = &supervisor->slots[slot];
		struct role_id id = slot_id(slot);

		if (slot == ROLE_LOADER)
			continue;
		if (!is_of(config, slot)) {
			if (process->supervisor)
				process_stop(process, now_ns + PROCESS_LINGER_NS);
			continue;
		}
		if (!process->supervisor)
			plan_slot(supervisor, process, id, CREDENTIAL_LIMIT);
		if (process->wanted || role_row(id.role)->restart != ROLE_RESTART_ALWAYS)
			continue;
		process->wanted = true;
		process->again_ns = now_ns;
		if (!process_runs(process))
			process->state = PROCESS_WAITING;
	}
}

/* --- Control and log ------------------------------------------------------------------------ */

void process_hang_up(struct process *process, int64_t now_ns)
{
	events_remove(&process->supervisor->events, &process->control_watch);
	control_close(&process->control);
	process->state = PROCESS_LEAVING;
	process->kill_ns = now_ns + PROCESS_LINGER_NS;
}

/* Packets that have arrived, at most `most`. A bad one costs the sender its life. */
static void take_packets(struct process *process, int most)
{
	struct us_loaded loaded;
	struct us_ctl ctl;
	struct err err;
	enum control_got got = CONTROL_PACKET;
	bool more;

	while (most-- > 0 && !process->killed && process->control.fd >= 0) {
		more = process->id.role == ROLE_LOADER && process->credential < CREDENTIAL_LIMIT &&
		       process->supervisor->identities[process->credential].expects_more;
		got = more ? control_receive_raw(&process->control, &loaded, sizeof(loaded), &err)
			   : control_receive(&process->control, &ctl, &err);
		if (got == CONTROL_PACKET && more)
			credentials_on_loaded(process, &loaded);
		else if (got == CONTROL_PACKET)
			requests_take(process, &ctl);
		else
			break;
	}
	if (got == CONTROL_BAD && !process->killed)
		process_kill(process, "%s", err.text);
	else if (got == CONTROL_CLOSED)
		process_hang_up(process, base_clock_boot_ns());
}

static void on_control(void *arg, uint32_t events)
{
	struct process *process = arg;

	if (events & EPOLLOUT)
		events_want_write(&process->supervisor->events, &process->control_watch,
		    control_flush(&process->control));
	if (process->killed) /* What a killed process says counts no more; its end is near. */
		process_hang_up(process, base_clock_boot_ns());
	else
		take_packets(process, PACKETS_PER_WAKE);
}

static void on_log(void *arg, uint32_t events)
{
	struct process *process = arg;
	int fd = process->log_watch.fd;

	(void)events;
	if (logs_read(process->logs, fd, base_clock_boot_ns()))
		return;
	events_remove(&process->supervisor->events, &process->log_watch);
	close(fd);
}

void process_send(
    struct process *process, const struct us_ctl *ctl, const void *more, size_t more_bytes, int fd)
{
	if (!process_runs(process) || process->killed)
		return;
	if (!control_send(&process->control, ctl, more, more_bytes, fd))
		process_kill(process, "it does not read its control link");
	else if (process->control.first)
		events_want_write(&process->supervisor->events, &process->control_watch, true);
}

void process_tell(struct process *process, enum control_type type, uint64_t a0, uint64_t a1)
{
	struct us_ctl ctl = { .type = (uint16_t)type, .a = { a0, a1 } };

	process_send(process, &ctl, NULL, 0, -1);
}

/* --- Start ---------------------------------------------------------------------------------- */

/* Descriptor 5 and 6 of a role, by its row (interfaces (d)). -1 with the reason. */
static int open_role_fds(const struct process *process, struct start_plan *plan, struct err *err)
{
	struct supervisor *supervisor = process->supervisor;
	enum role_fence fence = role_row(process->id.role)->fence;
	const char *ca_file;

	if (fence != ROLE_FENCE_NONE) {
		plan->fds[ROLE_FD_FENCE] =
		    fence_page_descriptor(&supervisor->fence, fence == ROLE_FENCE_WRITE);
		if (plan->fds[ROLE_FD_FENCE] < 0)
			return err_set(err, "fence page: %s", strerror(errno));
	}
	if (process->id.role == ROLE_PUBLISHER) {
		CHECK(supervisor->config);
		ca_file = config_text_at(
		    supervisor->config, supervisor->config->hubs[supervisor->config->self].ca_file);
		supervisor->own_ca.used = stamps_of_file(ca_file);
		plan->fds[ROLE_FD_FILES] = *ca_file ? credentials_open_file(ca_file, err)
						    : open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (plan->fds[ROLE_FD_FILES] < 0)
			return -1;
	}
	if (process->id.role == ROLE_FOLLOWER) {
		plan->fds[ROLE_FD_FILES] = fcntl(supervisor->handover, F_DUPFD_CLOEXEC, 0);
		if (plan->fds[ROLE_FD_FILES] < 0)
			return err_set(err, "hand-over directory: %s", strerror(errno));
	}
	return 0;
}

/* The pair, the pipe and the null device; the ends that stay here go into the process. */
static int open_common_fds(
    struct process *process, struct start_plan *plan, int *log_end, struct err *err)
{
	int pipe_ends[2];

	*log_end = -1;
	plan->fds[0] = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* Non-blocking at both ends: our standstill must not become theirs (F21). */
	if (plan->fds[0] < 0 || pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return err_set(err, "descriptors: %s", strerror(errno));
	*log_end = pipe_ends[0];
	plan->fds[1] = plan->fds[2] = pipe_ends[1];
	if (control_open(&process->control, &plan->fds[ROLE_FD_CONTROL]) != 0)
		return err_set(err, "control link: %s", strerror(errno));
	plan->fds[ROLE_FD_CONFIG] =
	    process->supervisor->config ? process->supervisor->config_fd : plan->fds[0];
	return 0;
}

/* Closes what was opened for the plan: all but the configuration and the extra ones. */
static void close_plan(const struct process *process, const struct start_plan *plan)
{
	bool loader = process->id.role == ROLE_LOADER;

	for (int i = 0; i < (loader ? ROLE_FD_CONFIG : START_MAX_FDS); i++)
		if (i != STDERR_FILENO && i != ROLE_FD_CONFIG && plan->fds[i] >= 0)
			close(plan->fds[i]);
}

/* loader: "config", the path and upstream's flags, or "credential" and its number; dialer: shard
 * and number of targets; others: shard. */
struct arguments {
	const char *argv[4 + OPTIONS_MAX_FLAGS];
	char texts[2][16];
};

static void make_arguments(const struct process *process, struct arguments *arguments)
{
	enum role role = process->id.role;
	unsigned number = process->credential;

	memset(arguments->argv, 0, sizeof(arguments->argv));
	arguments->argv[0] = role_name(role);
	arguments->argv[1] = arguments->texts[0];
	(void)snprintf(arguments->texts[0], sizeof(arguments->texts[0]), "%u", process->id.shard);
	if (role == ROLE_LOADER && number == CREDENTIAL_LIMIT) {
		arguments->argv[1] = "config";
		arguments->argv[2] = process->supervisor->options.config;
		for (unsigned i = 0; i < process->supervisor->options.flag_count; i++)
			arguments->argv[3 + i] = process->supervisor->options.flags[i];
		return;
	}
	if (role == ROLE_LOADER)
		arguments->argv[1] = "credential";
	else if (ROLE_BIT(role) & ROLE_DIALERS)
		number = credentials_count_targets(process->supervisor, role);
	else
		return;
	(void)snprintf(arguments->texts[1], sizeof(arguments->texts[1]), "%u", number);
	arguments->argv[2] = arguments->texts[1];
}

/* The ends that stay here become part of the process. */
static void adopt(struct process *process, int log_end)
{
	struct events *events = &process->supervisor->events;

	process->logs = malloc(sizeof(*process->logs));
	CHECK(process->logs);
	logs_open(process->logs, process->name);
	CHECK(events_add(
		  events, &process->control_watch, process->control.fd, on_control, process) == 0);
	CHECK(events_add(events, &process->log_watch, log_end, on_log, process) == 0);
}

static int spawn(struct process *process, const int *extra, unsigned extra_count, struct err *err)
{
	struct supervisor *supervisor = process->supervisor;
	const struct us_config *config = supervisor->config;
	struct arguments arguments;
	struct start_plan plan = { .id = process->id,
		.argv = arguments.argv,
		.program = supervisor->programs[process->id.role],
		.files = supervisor->files };
	int log_end = -1, result = -1;

	make_arguments(process, &arguments);
	start_clear_fds(&plan);
	plan.uid = start_role_uid(config, process->id, supervisor->available);
	plan.waived = start_waived(config, supervisor->available);
	if (open_common_fds(process, &plan, &log_end, err))
		goto out;
	for (unsigned i = 0; i < extra_count; i++)
		plan.fds[ROLE_FD_FENCE + i] = extra[i];
	if (process->id.role != ROLE_LOADER && open_role_fds(process, &plan, err))
		goto out;
	result = start_process(&plan, &process->pid, err);
out:
	close_plan(process, &plan);
	if (result == 0) {
		adopt(process, log_end);
		return 0;
	}
	control_close(&process->control);
	if (log_end >= 0)
		close(log_end);
	process->pid = 0;
	return -1;
}

bool process_start(struct process *process, const int *extra, unsigned extra_count)
{
	struct err err;

	process->killed = process->reaped = process->anew = false;
	process->started_ns = process->beat_ns = base_clock_boot_ns();
	if (spawn(process, extra, extra_count, &err)) {
		log_error("%s: %s", process->name, err.text);
		process->state = process->wanted ? PROCESS_WAITING : PROCESS_NONE;
		process->again_ns =
		    process->started_ns + children_restart_delay(&process->backoff, 0);
		return false;
	}
	process->state = PROCESS_STARTED;
	log_debug("%s started, pid %d", process->name, (int)process->pid);
	if (ROLE_BIT(process->id.role) & ROLE_DIALERS)
		credentials_send_targets(process);
	return true;
}

/* --- End ------------------------------------------------------------------------------------ */

void process_kill(struct process *process, const char *format, ...)
{
	char why[512];
	va_list arguments;

	if (!process_runs(process) || process->killed)
		return;
	va_start(arguments, format);
	(void)vsnprintf(why, sizeof(why), format, arguments);
	va_end(arguments);
	log_error("%s (pid %d) is %s: %s", process->name, (int)process->pid,
	    process->reaped ? "dead, and lied" : "killed", why);
	process->killed = true;
	if (!process->reaped)
		(void)kill(process->pid, SIGKILL);
}

void process_stop(struct process *process, int64_t deadline_ns)
{
	process->wanted = false;
	if (!process_runs(process)) {
		process->state = PROCESS_NONE;
		return;
	}
	process->state = PROCESS_LEAVING;
	process->kill_ns = deadline_ns;
	process_tell(process, CONTROL_STOP, (uint64_t)deadline_ns, 0);
}

void process_start_anew(struct process *process, int64_t now_ns)
{
	if (!process_runs(process) || process->killed || process->state == PROCESS_LEAVING)
		return;
	process->anew = true;
	process->state = PROCESS_LEAVING;
	process->kill_ns = now_ns + PROCESS_LINGER_NS;
	process_tell(process, CONTROL_STOP, (uint64_t)process->kill_ns, 0);
}

/* H14: two hubs with one identity. A new elector would find the same: a person is needed. */
static void leave_if_clash(const struct process *elector)
{
	struct supervisor *supervisor = elector->supervisor;

	if (elector->killed || !WIFEXITED(elector->status) ||
	    WEXITSTATUS(elector->status) != EXIT_CODE_IDENTITY)
		return;
	log_error("the identity of this hub is in use elsewhere: stopping");
	supervisor->stop_asked = true;
	supervisor->stop_code = EXIT_CODE_IDENTITY;
}

/* What the end of this role means for the rest. */
static void tell_end(struct process *process, bool clean, int64_t now_ns)
{
	struct supervisor *supervisor = process->supervisor;
	struct process *syncer = process_of(supervisor, (struct role_id){ ROLE_SYNCER, 0 });

	wire_forget(process);
	if (ROLE_BIT(process->id.role) & ROLE_KUBE)
		credentials_on_role_end(process);
	switch (process->id.role) {
	case ROLE_LOADER: credentials_on_loader_end(process, clean); break;
	case ROLE_RUNNER: workload_on_runner_end(supervisor); break;
	case ROLE_SYNCER: requests_on_syncer_end(supervisor, clean, now_ns); break;
	case ROLE_ELECTOR:
		/* Decision 16, C15; and its syncer waits for the next elector's word. */
		fence_page_end_validity(&supervisor->fence);
		supervisor->predecessor = fence_page_instance(&supervisor->fence);
		supervisor->syncer_asked = false;
		notify_role(&supervisor->notify, "no role: its elector has ended");
		workload_stop(supervisor);
		process_stop(syncer, now_ns + PROCESS_LINGER_NS);
		leave_if_clash(process);
		break;
	default: break;
	}
}

/* Everything that it still said, then its descriptors. */
static void close_process(struct process *process)
{
	struct supervisor *supervisor = process->supervisor;
	int fd = process->log_watch.fd;

	if (process->control.fd >= 0)
		take_packets(process, INT16_MAX);
	events_remove(&supervisor->events, &process->control_watch);
	control_close(&process->control);
	if (fd >= 0) {
		(void)logs_read(process->logs, fd, base_clock_boot_ns());
		events_remove(&supervisor->events, &process->log_watch);
		close(fd);
	}
	logs_end(process->logs);
	free(process->logs);
	process->logs = NULL;
	process->pid = 0;
}

void process_on_ended(void *arg, pid_t pid, int status)
{
	struct supervisor *supervisor = arg;
	int64_t now_ns = base_clock_boot_ns();
	struct process *process = NULL;
	char cause[64];
	bool clean, expected;

	for (unsigned i = 0; i < SUPERVISOR_SLOTS && !process; i++)
		if (supervisor->slots[i].pid == pid)
			process = &supervisor->slots[i];
	if (!process) {
		(void)canary_on_ended(supervisor, pid, status); /* Or an orphan (P1). */
		return;
	}
	process->reaped = true;
	close_process(process);
	process->status = status;
	clean = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !process->killed;
	if (clean && !process->anew &&
	    role_row(process->id.role)->restart == ROLE_RESTART_ON_REQUEST)
		process->wanted = false; /* Drained and done, before the word to stop it came. */
	/* A loader that refuses its input has said why. */
	expected = (clean && (!process->wanted || process->anew)) ||
		   (process->id.role == ROLE_LOADER && WIFEXITED(status) &&
		       WEXITSTATUS(status) == PROCESS_LOADER_REFUSES);
	process->state = process->wanted ? PROCESS_WAITING : PROCESS_NONE;
	process->again_ns = now_ns;
	if (process->wanted && !process->anew)
		process->again_ns +=
		    children_restart_delay(&process->backoff, now_ns - process->started_ns);
	log_write(expected ? LOG_DEBUG : LOG_WARN, "%s (pid %d) ended: %s%s", process->name,
	    (int)pid, init_cause(status, cause, sizeof(cause)),
	    process->wanted ? "; will be started again" : "");
	tell_end(process, clean, now_ns);
}

/* --- Time ----------------------------------------------------------------------------------- */

/* A loader is done when it has loaded; it does not beat while it holds what it read. */
static int64_t silence_deadline(const struct process *process)
{
	bool loader = process->id.role == ROLE_LOADER;

	if (loader && process->credential < CREDENTIAL_LIMIT &&
	    process->supervisor->identities[process->credential].loaded)
		return INT64_MAX;
	return (loader || process->state != PROCESS_RUNNING ? process->started_ns
							    : process->beat_ns) +
	       PROCESS_SILENCE_NS;
}

/* What is due of one process; when the next is. */
static int64_t due_of(struct process *process, int64_t now_ns)
{
	int64_t at_ns = INT64_MAX;

	if (process->killed && process_runs(process))
		return at_ns;
	switch (process->state) {
	case PROCESS_NONE: break;
	case PROCESS_WAITING:
		at_ns = process->again_ns;
		if (process->id.role == ROLE_RUNNER &&
		    workload_uid_ending(process->supervisor, now_ns))
			return process->supervisor->ending_at_ns;
		if (now_ns >= at_ns) {
			process_start(process, NULL, 0);
			at_ns = now_ns;
		}
		break;
	case PROCESS_STARTED:
	case PROCESS_GREETED:
	case PROCESS_RUNNING:
		at_ns = silence_deadline(process);
		if (now_ns >= at_ns)
			process_kill(process, "%s for %lld s",
			    process->state == PROCESS_RUNNING ? "no sign of life" : "not ready",
			    (long long)(PROCESS_SILENCE_NS / BASE_NS_PER_S));
		break;
	case PROCESS_LEAVING:
		at_ns = process->kill_ns;
		if (now_ns >= at_ns)
			process_kill(process, "it did not leave in time");
		break;
	}
	return at_ns;
}

bool process_all_fresh(const struct supervisor *supervisor, int64_t now_ns)
{
	for (unsigned i = 0; i < SUPERVISOR_SLOTS; i++) {
		const struct process *process = &supervisor->slots[i];
		int64_t due_ns = INT64_MAX;

		if (process_runs(process))
			due_ns = process->state == PROCESS_LEAVING ? process->kill_ns
								   : silence_deadline(process);
		if (due_ns < INT64_MAX && now_ns > due_ns + PROCESS_SILENCE_NS)
			return false;
	}
	return true;
}

int64_t process_due(struct supervisor *supervisor, int64_t now_ns)
{
	int64_t next_ns = now_ns + DUE_LATEST_NS, at_ns;

	for (unsigned i = 0; i < SUPERVISOR_SLOTS; i++) {
		at_ns = due_of(&supervisor->slots[i], now_ns);
		next_ns = at_ns < next_ns ? at_ns : next_ns;
	}
	return next_ns;
}

void process_wait(struct supervisor *supervisor)
{
	events_turn(&supervisor->events, process_due(supervisor, base_clock_boot_ns()));
}

void process_forgive(struct supervisor *supervisor, int64_t now_ns)
{
	for (unsigned i = 0; i < SUPERVISOR_SLOTS; i++) {
		struct process *process = &supervisor->slots[i];

		process->beat_ns = now_ns;
		if (process->state == PROCESS_STARTED || process->state == PROCESS_GREETED)
			process->started_ns = now_ns;
	}
}
