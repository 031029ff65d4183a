/*
 * The runner: runs the workload while this hub leads and ends its whole uid before the leadership
 * does, also when every other process of understudy is dead or stopped (F5, H18). On a worker it
 * runs the command for the hub that is followed, anew for another one. main() is the story; started
 * by understudyd only: {"runner"}, 3 control, 4 configuration, 5 fence page.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/build.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"
#include "policy/canary.h"
#include "policy/sandbox.h"
#include "runner/command.h"
#include "runner/control.h"
#include "runner/runner.h"

enum { EXIT_NO_SUPERVISOR = 64, EXIT_SANDBOX = 70 };

static const struct role_id self = { ROLE_RUNNER, 0 };

_Noreturn static void die(struct runner *runner, int code, const char *why)
{
	log_error("%s", why);
	(void)control_tell(runner, CONTROL_EXITING, (uint64_t)code, 0);
	exit(code);
}

/* The configuration and the page: mapped, checked, closed. */
static void map_inputs(struct runner *runner)
{
	void *config =
	    mmap(NULL, sizeof(struct us_config), PROT_READ, MAP_PRIVATE, ROLE_FD_CONFIG, 0);
	struct err err;

	if (config == MAP_FAILED || fence_map(&runner->fence, ROLE_FD_FENCE) != 0)
		die(runner, EXIT_NO_SUPERVISOR,
		    "started by hand: only understudyd starts this program");
	runner->config = config;
	if (config_check(runner->config, &err) || runner->config->argument_count == 0)
		die(runner, EXIT_NO_SUPERVISOR, "the configuration on descriptor 4 is not valid");
	close(ROLE_FD_CONFIG);
	close(ROLE_FD_FENCE);
	runner->uid = runner->config->uid_base + ROLE_UID_WORKLOAD;
	runner->helper = runner->config->uid_base + ROLE_UID_SIGNALLER;
	runner->workload.grace_ns = runner->config->stop_grace_ms * BASE_NS_PER_MS;
}

/* It leaves when the supervisor hangs up, never by a signal (F25). */
static void open_events(struct runner *runner)
{
	sigset_t child;

	signals_ignore();
	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	CHECK(sigprocmask(SIG_BLOCK, &child, NULL) == 0);
	runner->signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	runner->alarm = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	CHECK(runner->signals >= 0 && runner->alarm >= 0);
	/* Orphans of the workload become ours, so that none is missed as a zombie. */
	CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
}

static void open_and_lock(struct runner *runner)
{
	struct err err;
	int in_force;

	log_open("runner", LOG_INFO);
	(void)prctl(PR_SET_NAME, "runner", 0, 0, 0);
	if (sandbox_after_exec(self, &err))
		die(runner, EXIT_SANDBOX, err.text);
	(void)control_tell(runner, CONTROL_HELLO, build_id[0], build_id[1]);
	map_inputs(runner);
	open_events(runner);
	CHECK(runner->config);
	in_force = sandbox_lock(self, NULL, 0, runner->config->allow_missing, &err);
	if (in_force < 0)
		die(runner, EXIT_SANDBOX, err.text);
	(void)control_tell(runner, CONTROL_READY, (uint64_t)in_force, 0);
}

static struct workload_facts look(struct runner *runner, int64_t now_ns)
{
	struct workload_facts facts = { .wanted = runner->wanted,
		.wanted_term = runner->wanted_term,
		.gone = runner->gone,
		.alive = runner->pid != 0 };
	struct fence_view view = { 0 };

	CHECK(runner->config);
	if (runner->config->mode == CONFIG_FOLLOWER) {
		/* No page: a worker's operator runs beside whichever hub leads (W19). */
		facts.leading = runner->wanted;
		facts.page_term = runner->wanted_term;
		facts.page_until_ns = INT64_MAX;
	} else if (fence_read(&runner->fence, &view)) {
		facts.leading = fence_view_left_ns(&view, now_ns) > 0;
		facts.page_term = view.term;
		facts.page_until_ns = view.valid_until_ns;
	}
	facts.empty = (runner->workload.state == WORKLOAD_RUNNING && facts.alive)
			  ? false
			  : command_is_empty(runner);
	return facts;
}

/* Decides and acts until there is nothing to do now. False: it is time to leave. */
static bool step(struct runner *runner, int64_t *wake_ns)
{
	enum workload_action action;
	struct workload_facts facts;
	int64_t now_ns;

	do {
		now_ns = base_clock_boot_ns();
		facts = look(runner, now_ns);
		action = workload_step(&runner->workload, &facts, now_ns, wake_ns);
		if (action == WORKLOAD_START)
			(void)command_start(runner, runner->workload.term);
		else if (action == WORKLOAD_TERMINATE)
			command_signal(runner, SIGTERM);
		else if (action == WORKLOAD_KILL)
			command_signal(runner, SIGKILL);
		command_reap(runner);
	} while (action == WORKLOAD_START || action == WORKLOAD_TERMINATE);
	control_report(
	    runner, runner->workload.state == WORKLOAD_RUNNING && runner->pid != 0, runner->empty);
	return action != WORKLOAD_LEAVE;
}

static void wait_for_events(struct runner *runner, int64_t wake_ns)
{
	struct pollfd fds[] = { { runner->gone ? -1 : ROLE_FD_CONTROL, POLLIN, 0 },
		{ runner->alarm, POLLIN, 0 }, { runner->signals, POLLIN, 0 },
		{ runner->output, POLLIN, 0 } };
	struct itimerspec when = { .it_value = {
				       wake_ns / BASE_NS_PER_S, wake_ns % BASE_NS_PER_S } };
	struct signalfd_siginfo info;
	uint64_t ticks;

	/* On a timerfd of boot time: a time-out of poll would stand still in suspend. */
	CHECK(timerfd_settime(runner->alarm, TFD_TIMER_ABSTIME, &when, NULL) == 0);
	(void)poll(fds, sizeof(fds) / sizeof(fds[0]), -1);
	while (read(runner->signals, &info, sizeof(info)) > 0)
		continue;
	(void)!read(runner->alarm, &ticks, sizeof(ticks));
	command_reap(runner);
	command_read_output(runner);
	control_take(runner);
}

static void serve(struct runner *runner)
{
	int64_t now_ns, wake_ns;

	while (step(runner, &wake_ns)) {
		now_ns = base_clock_boot_ns();
		if (now_ns >= runner->beat_ns) {
			(void)control_tell(runner, CONTROL_BEAT, 0, 0);
			runner->beat_ns = now_ns + CONTROL_BEAT_MS * BASE_NS_PER_MS;
		}
		wait_for_events(runner, wake_ns < runner->beat_ns ? wake_ns : runner->beat_ns);
	}
}

int main(int argc, char **argv)
{
	static struct runner runner = { .output = -1 };

	if (canary_is_asked(argc, argv))
		canary_main(self, argc, argv);
	open_and_lock(&runner);
	serve(&runner);
	log_info("the supervisor is gone, and so is the workload");
	return EXIT_SUCCESS;
}
