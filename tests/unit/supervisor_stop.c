/*
 * Goal: a stop goes elector, workload, runner, others, each stage bounded, and starts nothing again
 * (P8). Method: slots of a supervisor with real control pairs, processes that "end" when the
 * test says so, made-up times.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "fence/fence.h"
#include "supervisor/process.h"
#include "supervisor/stop.h"

#define S BASE_NS_PER_S

static struct supervisor supervisor;
static struct us_config config;
static struct process *elector, *runner, *monitor, *syncer;
static int elector_end, runner_end, monitor_end;
static int64_t next_ns;

static int open_slot(struct process *process, int *end)
{
	process->pid = getpid();
	process->state = PROCESS_RUNNING;
	return control_open(&process->control, end);
}

static struct process *slot(enum role role)
{
	return process_of(&supervisor, (struct role_id){ (uint8_t)role, 0 });
}

static int open_supervisor(void **state)
{
	(void)state;
	memset(&supervisor, 0, sizeof(supervisor));
	config.mode = CONFIG_STANDBY;
	config.hub_count = 2;
	config.shard_size = 8;
	config.argument_count = 1;
	config.stop_grace_ms = 3000;
	supervisor.config = &config;
	supervisor.notify.fd = -1;
	supervisor.stop_asked = true;
	process_plan(&supervisor, &config);
	elector = slot(ROLE_ELECTOR);
	runner = slot(ROLE_RUNNER);
	monitor = slot(ROLE_MONITOR);
	syncer = slot(ROLE_SYNCER);
	syncer->state = PROCESS_WAITING;
	return open_slot(elector, &elector_end) || open_slot(runner, &runner_end) ||
	       open_slot(monitor, &monitor_end);
}

static int close_supervisor(void **state)
{
	(void)state;
	control_close(&elector->control);
	control_close(&runner->control);
	control_close(&monitor->control);
	close(elector_end);
	close(runner_end);
	close(monitor_end);
	return 0;
}

static unsigned heard(int end)
{
	struct us_ctl ctl = { 0 };
	ssize_t n = recv(end, &ctl, sizeof(ctl), MSG_DONTWAIT);

	return n == sizeof(ctl) ? ctl.type : 0;
}

static bool stop(int64_t now_ns)
{
	return stop_due(&supervisor, now_ns, &next_ns);
}

static void elector_then_workload_then_runner_then_others(void **state)
{
	(void)state;
	assert_false(stop(0));
	assert_int_equal(heard(elector_end), CONTROL_STOP);
	assert_int_equal(heard(runner_end), 0);
	assert_int_equal(heard(monitor_end), 0);
	assert_int_equal(syncer->state, PROCESS_NONE);
	assert_false(elector->wanted || monitor->wanted || runner->wanted);
	assert_false(stop(S));
	assert_int_equal(heard(monitor_end), 0);
	elector->pid = 0;
	assert_false(stop(2 * S));
	assert_int_equal(heard(runner_end), CONTROL_STOP);
	assert_int_equal(heard(monitor_end), 0);
	assert_true(runner->control.fd >= 0);
	supervisor.seen_empty = true;
	assert_false(stop(3 * S));
	assert_int_equal(runner->control.fd, -1); /* Hung up: it leaves. */
	assert_int_equal(heard(monitor_end), 0);
	runner->pid = 0;
	assert_false(stop(4 * S));
	assert_int_equal(heard(monitor_end), CONTROL_STOP);
	monitor->pid = 0;
	assert_true(stop(5 * S));
}

/* Nobody can hold up the end: the sum of the stages is its bound. */
static void each_stage_is_bounded(void **state)
{
	int64_t now_ns = 0;
	int stages = 0;

	(void)state;
	while (!stop(now_ns)) {
		assert_true(next_ns > now_ns);
		now_ns = next_ns;
		assert_true(stages++ < 10);
	}
	assert_true(now_ns <= 25 * S);
}

/* A second SIGTERM: no stage waits for its time, and the runner, which then kills at once, still
 * has what it needs to empty the workload's uid. */
static void asked_again_nobody_is_waited_for(void **state)
{
	int64_t now_ns = S;

	(void)state;
	supervisor.stop_asked = false;
	stop_ask(&supervisor);
	assert_true(supervisor.stop_asked && !supervisor.stop_hurried);
	assert_false(stop(0));
	assert_true(next_ns >= 5 * S);
	stop_ask(&supervisor);
	assert_false(stop(now_ns));
	assert_true(next_ns < 2 * S);
	while (runner->control.fd >= 0) {
		now_ns = next_ns;
		assert_false(stop(now_ns));
	}
	assert_true(now_ns < 2 * S);
	assert_true(next_ns >= now_ns + 3 * S);
	runner->pid = 0;
	assert_false(stop(now_ns));
	assert_int_equal(heard(monitor_end), CONTROL_STOP);
	assert_true(monitor->kill_ns < 3 * S);
	assert_true(stop(next_ns));
}

/* An elector that ended so, as the reaper sees it. */
static void elector_ends(int code)
{
	static uint64_t page[FENCE_BYTES / sizeof(uint64_t)];
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(code);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	supervisor.fence.words = page;
	supervisor.stop_asked = false;
	elector->pid = pid;
	elector->wanted = true;
	elector->logs = malloc(sizeof(*elector->logs));
	assert_non_null(elector->logs);
	logs_open(elector->logs, "elector");
	process_on_ended(&supervisor, pid, status);
}

/* H14: the elector that finds its identity in use leaves with 78, and so do we; any other end is
 * followed by a new start. */
static void an_identity_clash_ends_us_with_its_code(void **state)
{
	(void)state;
	elector_ends(75);
	assert_false(supervisor.stop_asked);
	assert_int_equal(elector->state, PROCESS_WAITING);
	elector_ends(EXIT_CODE_IDENTITY);
	assert_true(supervisor.stop_asked);
	assert_int_equal(supervisor.stop_code, EXIT_CODE_IDENTITY);
	(void)stop(0);
	assert_int_equal(elector->state, PROCESS_NONE);
}

/* What nobody judged must not hold up the end: without a workload there is no grace. */
static void without_a_workload_there_is_no_grace(void **state)
{
	(void)state;
	config.argument_count = 0;
	config.stop_grace_ms = UINT32_MAX;
	assert_false(stop(0));
	assert_true(next_ns <= 10 * S);
}

static void with_nothing_running_it_ends_at_once(void **state)
{
	(void)state;
	elector->pid = runner->pid = monitor->pid = 0;
	supervisor.seen_empty = true;
	assert_true(stop(0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_supervisor, close_supervisor)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(elector_then_workload_then_runner_then_others),
		TEST(each_stage_is_bounded),
		TEST(asked_again_nobody_is_waited_for),
		TEST(with_nothing_running_it_ends_at_once),
		TEST(without_a_workload_there_is_no_grace),
		TEST(an_identity_clash_ends_us_with_its_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
