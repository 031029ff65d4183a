/*
 * Goal: the elector's word reaches the runner, also one that starts later; without a runner the
 * elector is answered; when the runner died, its workload is ended before the uid is called empty
 * (decision 15). Method: slots of a supervisor with real control pairs and no processes behind
 * them; a stray process under the workload's uid (root only).
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "supervisor/process.h"
#include "supervisor/workload.h"

static struct supervisor supervisor;
static struct us_config config;
static struct process *elector, *runner;
static int elector_end, runner_end;

/* A slot that looks like a verified process. */
static int open_slot(struct process *process, int *end)
{
	process->pid = getpid();
	process->state = PROCESS_RUNNING;
	return control_open(&process->control, end);
}

static int open_supervisor(void **state)
{
	(void)state;
	memset(&supervisor, 0, sizeof(supervisor));
	memset(&config, 0, sizeof(config));
	config.mode = CONFIG_STANDBY;
	config.hub_count = 2;
	config.shard_size = 8;
	config.uid_base = 55000;
	config.argument_count = 1;
	supervisor.config = &config;
	supervisor.seen_empty = true;
	process_plan(&supervisor, &config);
	elector = process_of(&supervisor, (struct role_id){ ROLE_ELECTOR, 0 });
	runner = process_of(&supervisor, (struct role_id){ ROLE_RUNNER, 0 });
	return open_slot(elector, &elector_end) || open_slot(runner, &runner_end);
}

static int close_supervisor(void **state)
{
	(void)state;
	control_close(&elector->control);
	control_close(&runner->control);
	close(elector_end);
	close(runner_end);
	return 0;
}

static void hears(int end, unsigned type, uint64_t a0, uint64_t a1)
{
	struct us_ctl ctl = { 0 };

	assert_int_equal(recv(end, &ctl, sizeof(ctl), MSG_DONTWAIT), sizeof(ctl));
	assert_int_equal(ctl.type, type);
	assert_int_equal(ctl.a[0], a0);
	assert_int_equal(ctl.a[1], a1);
}

static void hears_nothing(int end)
{
	struct us_ctl ctl = { 0 };

	assert_int_equal(recv(end, &ctl, sizeof(ctl), MSG_DONTWAIT), -1);
}

static void words_are_passed_on(void **state)
{
	struct us_ctl seen = { .type = CONTROL_WORKLOAD_SEEN, .a = { 1, 0 } };

	(void)state;
	workload_run(&supervisor, 7, 1000);
	hears(runner_end, CONTROL_START, 7, 1000);
	workload_on_seen(&supervisor, &seen);
	hears(elector_end, CONTROL_WORKLOAD_SEEN, 1, 0);
	workload_stop(&supervisor);
	hears(runner_end, CONTROL_STOP, 0, 0);
	hears_nothing(elector_end); /* The runner has to say it. */
	seen.a[0] = 0;
	seen.a[1] = 1;
	seen.a[2] = 2;
	workload_on_seen(&supervisor, &seen);
	hears(elector_end, CONTROL_WORKLOAD_SEEN, 0, 1);
}

/* H18: a workload may just be starting; what the runner said before it knew is no answer. */
static void a_stop_right_behind_a_start_is_answered_by_the_runner(void **state)
{
	struct us_ctl seen = { .type = CONTROL_WORKLOAD_SEEN, .a = { 0, 1, 0 } };

	(void)state;
	workload_run(&supervisor, 7, 1000);
	workload_stop(&supervisor);
	hears(runner_end, CONTROL_START, 7, 1000);
	hears(runner_end, CONTROL_STOP, 0, 0);
	hears_nothing(elector_end);
	workload_on_seen(&supervisor, &seen);
	hears(elector_end, CONTROL_WORKLOAD_SEEN, 0, 0);
	seen.a[2] = 2;
	workload_on_seen(&supervisor, &seen);
	hears(elector_end, CONTROL_WORKLOAD_SEEN, 0, 1);
	workload_stop(&supervisor); /* Nothing was started since: known without the runner. */
	hears(elector_end, CONTROL_WORKLOAD_SEEN, 0, 1);
}

/* H18: a command that ended by itself is started again by the runner, without a word. */
static void a_stop_of_a_command_that_ended_by_itself_is_answered_by_the_runner(void **state)
{
	struct us_ctl seen = { .type = CONTROL_WORKLOAD_SEEN, .a = { 0, 1, 1 } };

	(void)state;
	workload_run(&supervisor, 7, 1000);
	hears(runner_end, CONTROL_START, 7, 1000);
	workload_on_seen(&supervisor, &seen);
	hears(elector_end, CONTROL_WORKLOAD_SEEN, 0, 1);
	workload_stop(&supervisor);
	hears(runner_end, CONTROL_STOP, 0, 0);
	hears_nothing(elector_end);
	assert_false(supervisor.seen_empty); /* the stop in order waits for it, too */
	seen.a[2] = 2;
	workload_on_seen(&supervisor, &seen);
	hears(elector_end, CONTROL_WORKLOAD_SEEN, 0, 1);
}

static void a_new_runner_hears_the_last_word(void **state)
{
	(void)state;
	runner->state = PROCESS_STARTED;
	workload_run(&supervisor, 9, 2000);
	hears_nothing(runner_end);
	runner->state = PROCESS_RUNNING;
	workload_on_runner_ready(runner);
	hears(runner_end, CONTROL_START, 9, 2000);
	workload_stop(&supervisor);
	hears(runner_end, CONTROL_STOP, 0, 0);
	workload_on_runner_ready(runner);
	hears_nothing(runner_end);
}

static void without_a_workload_the_elector_is_answered(void **state)
{
	(void)state;
	config.argument_count = 0;
	supervisor.seen_empty = false;
	workload_stop(&supervisor);
	hears(elector_end, CONTROL_WORKLOAD_SEEN, 0, 1);
}

/* decision 15 */
static void a_dead_runners_workload_is_ended(void **state)
{
	int ready[2];
	pid_t pid;
	char byte;
	int status;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		if (setresuid(55008, 55008, 55008) != 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	supervisor.seen_empty = false;
	runner->state = PROCESS_NONE;
	workload_on_runner_end(&supervisor);
	hears(elector_end, CONTROL_WORKLOAD_SEEN, 0, 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	while (workload_uid_ending(&supervisor, INT64_MAX - BASE_NS_PER_S))
		supervisor.ending_at_ns = 0;
	hears(elector_end, CONTROL_WORKLOAD_SEEN, 0, 1);
	close(ready[0]);
	close(ready[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_supervisor, close_supervisor)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(words_are_passed_on),
		TEST(a_stop_right_behind_a_start_is_answered_by_the_runner),
		TEST(a_stop_of_a_command_that_ended_by_itself_is_answered_by_the_runner),
		TEST(a_new_runner_hears_the_last_word),
		TEST(without_a_workload_the_elector_is_answered),
		TEST(a_dead_runners_workload_is_ended),
	};

	(void)alarm(300); /* A hang is a failure. */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
