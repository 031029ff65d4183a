/*
 * Runs the canaries (see the header). They get the null device, a log and a control link, and
 * nothing else: no configuration, page, link or credential. Nothing of what a canary says decides
 * anything but its own rows. Called by main and the reaper.
 */
#include "supervisor/canary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "policy/sandbox.h"
#include "policy/seccomp.h"
#include "supervisor/audit.h"
#include "supervisor/init.h"
#include "supervisor/start.h"
#include "supervisor/wire.h"

static bool is_tried(const struct supervisor *supervisor, enum role role)
{
	uint32_t roles = config_roles(supervisor->config) | ROLE_BIT(ROLE_LOADER);

	return role != ROLE_SUPERVISOR && (roles & ROLE_BIT(role)) &&
	       supervisor->programs[role] >= 0;
}

static bool kills(const struct canary *canary, unsigned probe)
{
	const struct canary_answers *answers = &canary->answers[canary->role];
	unsigned count;
	const struct canary_probe *list = canary_probes(&count);

	/* Before the first one is READY nothing is known to be in force, and nothing that kills
	 * needs it. */
	return probe < count &&
	       canary_expects(&list[probe], canary->role, answers->in_force) == CANARY_KILLED;
}

/* The next probe that kills in this row, or the next row. False: all are done. */
static bool advance(struct supervisor *supervisor, bool row_done)
{
	struct canary *canary = &supervisor->canary;
	unsigned probe = canary->probe + 1;

	while (!row_done && probe < CANARY_MAX && !kills(canary, probe))
		probe++;
	if (!row_done && probe < CANARY_MAX) {
		canary->probe = probe;
		return true;
	}
	do
		canary->role++;
	while (canary->role < ROLE_COUNT && !is_tried(supervisor, canary->role));
	if (canary->role >= ROLE_COUNT)
		return false;
	for (probe = 0; probe < CANARY_MAX && !kills(canary, probe);)
		probe++;
	canary->probe = probe;
	return true;
}

static uid_t uid_of_canaries(const struct supervisor *supervisor)
{
	return start_uid(supervisor->config->uid_base + ROLE_UID_CANARY, supervisor->available);
}

/* --- One canary ----------------------------------------------------------------------------- */

static void fault(struct supervisor *supervisor, const char *what, const char *text)
{
	struct canary_answers *answers = &supervisor->canary.answers[supervisor->canary.role];

	if (!answers->fault[0])
		(void)snprintf(answers->fault, sizeof(answers->fault), "%.40s%.200s", what, text);
}

/* It is not what it should be: that is no mishap. */
static void expose(struct supervisor *supervisor, const char *what, const char *text)
{
	struct canary *canary = &supervisor->canary;

	canary->answers[canary->role].deviates = true;
	fault(supervisor, what, text);
	(void)kill(canary->pid, SIGKILL);
}

/* It is what the role would be, by the kernel's word; then it may try. */
static void on_ready(struct supervisor *supervisor, const struct us_ctl *ready)
{
	struct canary *canary = &supervisor->canary;
	struct canary_answers *answers = &canary->answers[canary->role];
	const struct us_ctl go = { .type = CONTROL_RELEASE };
	struct verify_expected expected = { .id = { (uint8_t)canary->role, 0 },
		.uid = canary->role == ROLE_RUNNER ? 0 : uid_of_canaries(supervisor),
		.parent = (uint32_t)getpid(),
		.filters = (uint32_t)supervisor->own_filters,
		.waived = supervisor->config->allow_missing };
	struct verify_facts facts;
	unsigned count, in_force = (unsigned)ready->a[0] & SANDBOX_ALL;
	unsigned missing = (SANDBOX_REQUIRED | supervisor->available) & ~in_force &
			   ~supervisor->config->allow_missing;
	const struct canary_probe *list = canary_probes(&count);
	struct err err;

	if (missing && canary->role != ROLE_RUNNER) {
		expose(supervisor, "not in force: ", sandbox_protection_name(missing & -missing));
		return;
	}
	if (verify_read(canary->pid, &facts, &err) || verify_judge(&expected, &facts, &err)) {
		expose(supervisor, "it is not what its row says: ", err.text);
		return;
	}
	for (unsigned i = 0; i < count; i++)
		if (!answers->entered &&
		    canary_expects(&list[i], canary->role, in_force) != CANARY_KILLED)
			answers->outcomes[i] = (uint8_t)ready->blob[i];
	answers->entered = true;
	answers->in_force = in_force;
	canary->released = true;
	(void)control_send(&canary->control, &go, NULL, 0, -1);
}

static void on_control(void *arg, uint32_t events)
{
	struct supervisor *supervisor = arg;
	struct canary *canary = &supervisor->canary;
	struct us_ctl ctl;
	struct err err = { "another message than READY" };
	enum control_got got = control_receive(&canary->control, &ctl, &err);

	(void)events;
	if (got == CONTROL_NOTHING)
		return;
	if (got == CONTROL_PACKET && ctl.type == CONTROL_READY && !canary->released) {
		on_ready(supervisor, &ctl);
		return;
	}
	events_remove(&supervisor->events, &canary->control_watch);
	if (got == CONTROL_CLOSED) /* It ends: the reaper comes. */
		return;
	expose(supervisor, "a bad control message: ", err.text);
}

static int open_fds(struct supervisor *supervisor, struct start_plan *plan, struct err *err)
{
	struct canary *canary = &supervisor->canary;
	int pipe_ends[2];

	plan->fds[0] = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (plan->fds[0] < 0 || pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return err_set(err, "descriptors: %s", strerror(errno));
	canary->log_end = pipe_ends[0];
	plan->fds[1] = plan->fds[2] = pipe_ends[1];
	if (control_open(&canary->control, &plan->fds[ROLE_FD_CONTROL]) != 0)
		return err_set(err, "control link: %s", strerror(errno));
	/* What Landlock has to allow the role. In this directory the uid may write nothing. */
	if (role_row(canary->role)->syscalls & SYSCALLS_HANDOVER)
		plan->fds[ROLE_FD_FILES] = supervisor->fence.directory;
	return 0;
}

static int spawn(struct supervisor *supervisor, struct err *err)
{
	struct canary *canary = &supervisor->canary;
	char number[16], waived[16];
	const char *argv[] = { role_name(canary->role), CANARY_WORD, number, waived, NULL };
	struct start_plan plan = { .id = { (uint8_t)canary->role, 0 },
		.uid = uid_of_canaries(supervisor),
		.waived = supervisor->config->allow_missing,
		.program = supervisor->programs[canary->role],
		.files = supervisor->files,
		.argv = argv };
	int result;

	(void)snprintf(number, sizeof(number), "%u", canary->probe);
	(void)snprintf(waived, sizeof(waived), "%u", plan.waived);
	start_clear_fds(&plan);
	result = open_fds(supervisor, &plan, err);
	if (result == 0)
		result = start_process(&plan, &canary->pid, err);
	for (int i = 0; i <= ROLE_FD_CONTROL; i++)
		if (i != STDERR_FILENO && plan.fds[i] >= 0)
			close(plan.fds[i]);
	if (result == 0 && events_add(&supervisor->events, &canary->control_watch,
			       canary->control.fd, on_control, supervisor) != 0) {
		(void)kill(canary->pid, SIGKILL);
		return err_set(err, "descriptors: %s", strerror(errno));
	}
	return result;
}

static void forget(struct supervisor *supervisor)
{
	struct canary *canary = &supervisor->canary;

	events_remove(&supervisor->events, &canary->control_watch);
	control_close(&canary->control);
	if (canary->log_end >= 0)
		close(canary->log_end);
	canary->log_end = -1;
	canary->pid = 0;
}

/* Its last words, as other processes' are told. */
static void tell_log(struct canary *canary)
{
	struct logs logs;

	logs_open(&logs, "canary");
	(void)logs_read(&logs, canary->log_end, base_clock_boot_ns());
	logs_end(&logs);
}

bool canary_on_ended(struct supervisor *supervisor, pid_t pid, int status)
{
	struct canary *canary = &supervisor->canary;
	struct canary_answers *answers = &canary->answers[canary->role];
	char cause[64];

	if (canary->pid != pid || pid == 0)
		return false;
	tell_log(canary);
	/* One that we killed says nothing. */
	if (canary->released && canary->probe < CANARY_MAX && !answers->fault[0])
		answers->outcomes[canary->probe] = WIFSIGNALED(status)
						       ? (uint16_t)(CANARY_DIED | WTERMSIG(status))
						       : (uint16_t)WEXITSTATUS(status);
	else if (!canary->released)
		fault(supervisor,
		    "it ended before it was ready: ", init_cause(status, cause, sizeof(cause)));
	forget(supervisor);
	if (canary->client >= 0)
		canary->ended = !advance(supervisor, answers->fault[0] != '\0');
	return true;
}

/* --- A run ---------------------------------------------------------------------------------- */

static void on_client(void *arg, uint32_t events)
{
	struct supervisor *supervisor = arg;
	struct canary *canary = &supervisor->canary;
	int64_t now_ns = base_clock_boot_ns();
	unsigned count;
	int fd;

	(void)events;
	(void)canary_probes(&count);
	fd = accept4(canary->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	if (!audit_admits(fd, "canary.sock", "audit --deep")) {
		close(fd);
		return;
	}
	events_remove(&supervisor->events, &canary->watch);
	memset(canary->answers, 0, sizeof(canary->answers));
	for (unsigned role = 0; role < ROLE_COUNT; role++)
		for (unsigned i = 0; i < count; i++)
			canary->answers[role].outcomes[i] = CANARY_UNANSWERED;
	canary->client = fd;
	canary->all_until_ns = now_ns + CANARY_ALL_NS;
	canary->role = ROLE_SUPERVISOR;
	canary->ended = !advance(supervisor, true);
}

static void start_one(struct supervisor *supervisor, int64_t now_ns)
{
	struct canary *canary = &supervisor->canary;
	struct err err;

	canary->released = false;
	canary->one_until_ns = now_ns + CANARY_ONE_NS;
	if (spawn(supervisor, &err) == 0)
		return;
	fault(supervisor, "it cannot be started: ", err.text);
	if (canary->pid) /* Killed: the reaper goes on. */
		return;
	forget(supervisor);
	canary->ended = !advance(supervisor, true);
}

static void finish(struct supervisor *supervisor, int64_t now_ns)
{
	struct canary *canary = &supervisor->canary;
	int client = canary->client;

	canary->client = -1;
	canary->again_ns = now_ns + CANARY_PAUSE_NS;
	audit_answer(supervisor, client, true, now_ns);
}

/* What is due of a run; when the next is. */
static int64_t go_on(struct supervisor *supervisor, int64_t now_ns)
{
	struct canary *canary = &supervisor->canary;

	if (now_ns >= canary->all_until_ns)
		canary->ended = true;
	if (canary->pid && (canary->ended || now_ns >= canary->one_until_ns)) {
		fault(supervisor, "it took too long", "");
		(void)kill(canary->pid, SIGKILL);
		return INT64_MAX;
	}
	if (!canary->pid && !canary->ended)
		start_one(supervisor, now_ns);
	if (!canary->pid && canary->ended) {
		/* One reader at a time: who is served now has his deadline. */
		if (supervisor->audit.client.fd >= 0)
			return supervisor->audit.until_ns;
		finish(supervisor, now_ns);
		return canary->again_ns;
	}
	return canary->pid ? canary->one_until_ns : now_ns;
}

int64_t canary_due(struct supervisor *supervisor, int64_t now_ns)
{
	struct canary *canary = &supervisor->canary;

	if (canary->client >= 0)
		return go_on(supervisor, now_ns);
	if (canary->listener < 0 || canary->watch.fd >= 0)
		return INT64_MAX;
	if (now_ns < canary->again_ns)
		return canary->again_ns;
	(void)events_add(
	    &supervisor->events, &canary->watch, canary->listener, on_client, supervisor);
	return INT64_MAX;
}

void canary_stop(struct supervisor *supervisor)
{
	struct canary *canary = &supervisor->canary;

	events_remove(&supervisor->events, &canary->watch);
	if (canary->client >= 0)
		close(canary->client);
	canary->client = -1;
	if (canary->pid)
		(void)kill(canary->pid, SIGKILL);
}

/* Its one filter answers, so that it can try what that refuses itself, and needs no canary. */
static void put_own(struct buf *out, const struct canary_probe *list, unsigned count)
{
	struct canary_answers answers = { .entered = true };

	for (unsigned i = 0; i < count; i++) {
		enum canary_expected expected = canary_expects(&list[i], ROLE_SUPERVISOR, 0);

		if (expected == CANARY_WORKS || expected == CANARY_REFUSED)
			answers.outcomes[i] = canary_try(&list[i]);
		audit_judge_probe(out, ROLE_SUPERVISOR, &list[i], &answers, i);
	}
}

void canary_put(const struct supervisor *supervisor, struct buf *out)
{
	unsigned count;
	const struct canary_probe *list = canary_probes(&count);

	put_own(out, list, count);
	for (unsigned role = 0; role < ROLE_COUNT; role++) {
		const struct canary_answers *answers = &supervisor->canary.answers[role];

		if (!is_tried(supervisor, (enum role)role))
			continue;
		audit_judge_canary(out, role_name((enum role)role), answers);
		for (unsigned i = 0; i < count; i++)
			audit_judge_probe(out, (enum role)role, &list[i], answers, i);
	}
}

int canary_open(struct supervisor *supervisor, struct err *err)
{
	struct canary *canary = &supervisor->canary;

	canary->listener = wire_open_socket(supervisor, SOCKET_CANARY, err);
	return canary->listener < 0 ? -1 : 0;
}
