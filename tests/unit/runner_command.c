/*
 * Goal: the command gets its uid, term, page and nothing else of ours; all that it starts is ended,
 * also what left the session, ignores SIGTERM and goes on forking (F5); its lines reach the log,
 * bounded. Method: shells under a spare uid; needs root, as the runner does.
 */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runner/command.h"
#include "tests/unit/config_pool.h"

static struct us_config config;
static struct runner runner;
static int log_lines[2], saved_stderr;
static char log_text[65536];

static config_text put(const char *text)
{
	return config_put(&config, text);
}

static void set_script(const char *script)
{
	config.argument_count = 3;
	config.arguments[0] = put("/bin/sh");
	config.arguments[1] = put("-c");
	config.arguments[2] = put(script);
}

/* The log goes to a pipe while a case runs. */
static int open_runner(void **state)
{
	(void)state;
	memset(&runner, 0, sizeof(runner));
	config.uid_base = 54000;
	config.run_directory = put("/dev/shm/some");
	runner.config = &config;
	runner.output = -1;
	runner.uid = 54008;
	runner.helper = 54016;
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) || pipe2(log_lines, O_CLOEXEC | O_NONBLOCK))
		return -1;
	saved_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	return dup2(log_lines[1], STDERR_FILENO) < 0 ? -1 : 0;
}

static const char *log_so_far(void)
{
	size_t n = strlen(log_text);
	ssize_t got;

	while ((got = read(log_lines[0], log_text + n, sizeof(log_text) - 1 - n)) > 0)
		n += (size_t)got;
	log_text[n] = '\0';
	return log_text;
}

static int close_runner(void **state)
{
	(void)state;
	(void)dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	close(log_lines[0]);
	close(log_lines[1]);
	if (runner.output >= 0)
		close(runner.output);
	log_text[0] = '\0';
	return 0;
}

static void await_more(void)
{
	struct pollfd fd = { runner.output, POLLIN, 0 };

	assert_true(runner.output >= 0);
	assert_true(poll(&fd, 1, 20000) == 1);
	command_read_output(&runner);
}

static int count(const char *text)
{
	int n = 0;

	for (const char *at = log_so_far(); (at = strstr(at, text)) != NULL; at++)
		n++;
	return n;
}

/* Until the command has said this. */
static void await(const char *text)
{
	while (count(text) == 0)
		await_more();
}

static void end_all(void)
{
	int rounds = 0;

	while (!command_is_empty(&runner)) {
		assert_true(rounds++ < 10000);
		command_signal(&runner, SIGKILL);
		command_reap(&runner);
	}
}

static void the_command_gets_what_it_should(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	set_script("echo \"[$UNDERSTUDY_TERM $UNDERSTUDY_FENCE $(id -u) $(id -g) $(id -G) $PWD]\";"
		   "grep -E 'CapEff|CapPrm' /proc/$$/status;"
		   "echo \"names $(env | cut -d= -f1 | sort | tr '\\n' ' ')\"; echo done");
	assert_true(command_start(&runner, 7));
	assert_true(runner.pid > 0);
	await("workload: done");
	assert_non_null(strstr(log_text, "[7 /dev/shm/some/fence 54008 54008 54008 "));
	assert_non_null(strstr(log_text, "CapPrm:?0000000000000000"));
	assert_non_null(strstr(log_text, "CapEff:?0000000000000000"));
	assert_null(strstr(log_text, "HOME"));
	end_all();
}

/* What today's worker operator reads: endpoint, and token and CA of the same hub (W10). */
static void a_workers_command_gets_its_hub_W10(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	config.mode = CONFIG_FOLLOWER;
	config.hub_count = 2;
	config.hubs[0].endpoint = put("https://hub-a:6443");
	config.hubs[1].endpoint = put("https://hub-b:6443");
	config.self_name = put("worker-1");
	config.follower.project_namespace = put("kubeslice-cisco");
	config.follower.directory = put("/run/hub");
	set_script(
	    "echo \"[$HUB_HOST_ENDPOINT $HUB_TOKEN_FILE $HUB_CA_FILE "
	    "$HUB_PROJECT_NAMESPACE $CLUSTER_NAME]\"; echo \"[$UNDERSTUDY_TERM]\"; echo done");
	assert_true(command_start(&runner, 2));
	await("workload: done");
	assert_non_null(strstr(log_text,
	    "[https://hub-b:6443 /run/hub/token /run/hub/ca.crt kubeslice-cisco worker-1]"));
	assert_non_null(strstr(log_text, "[]"));
	end_all();
	config.mode = CONFIG_STANDALONE;
}

static void the_command_inherits_three_descriptors(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	set_script("exec ls /proc/self/fd"); /* The fourth is ls's own. */
	assert_true(command_start(&runner, 7));
	await("workload: 3");
	end_all();
	assert_non_null(strstr(log_text, "workload: 2"));
	assert_null(strstr(log_so_far(), "workload: 4"));
}

/* F5: double forks, no SIGTERM, own sessions. */
static void what_escapes_is_ended(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	set_script("trap '' TERM; for i in 1 2 3; do (setsid sh -c 'trap \"\" TERM; echo up; "
		   "while :; do sleep 1000; done' &); done; echo up; while :; do sleep 1000; done");
	assert_true(command_start(&runner, 7));
	while (count("workload: up") < 4)
		await_more();
	command_signal(&runner, SIGTERM);
	command_reap(&runner);
	assert_true(runner.pid > 0);
	assert_false(command_is_empty(&runner));
	end_all();
	assert_int_equal(runner.pid, 0);
	assert_true(command_is_empty(&runner));
	assert_non_null(strstr(log_so_far(), "workload ended: signal 9"));
}

/* Faster than anybody could count it: only its limit of processes bounds it (F5). */
static void what_forks_without_end_is_ended(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	set_script("trap '' TERM; fork() { fork & fork & wait; }; echo up; fork 2>/dev/null");
	assert_true(command_start(&runner, 7));
	await("workload: up");
	end_all();
	assert_int_equal(runner.pid, 0);
	assert_true(command_is_empty(&runner));
}

static void a_command_that_is_not_there_is_said(void **state)
{
	siginfo_t info;

	(void)state;
	if (geteuid() != 0)
		skip();
	config.argument_count = 1;
	config.arguments[0] = put("/no/such/program");
	assert_true(command_start(&runner, 7));
	assert_int_equal(waitid(P_PID, (id_t)runner.pid, &info, WEXITED | WNOWAIT), 0);
	command_reap(&runner);
	assert_int_equal(runner.pid, 0);
	assert_int_equal(count("cannot start: exec: No such file or directory"), 1);
	end_all();
	assert_non_null(strstr(log_so_far(), "exit code 127"));
}

static void a_flood_of_output_is_bounded(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	set_script("head -c 3000 /dev/zero | tr '\\0' x; echo; echo 'e\033[2Jnd'; exec yes");
	assert_true(command_start(&runner, 7));
	await("workload: e?[2Jnd");
	for (int i = 0; i < 100; i++) {
		command_read_output(&runner); /* Comes back although `yes` goes on. */
		(void)log_so_far();
		log_text[0] = '\0';
	}
	end_all();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_runner, close_runner)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_command_gets_what_it_should),
		TEST(a_workers_command_gets_its_hub_W10),
		TEST(the_command_inherits_three_descriptors),
		TEST(what_escapes_is_ended),
		TEST(what_forks_without_end_is_ended),
		TEST(a_command_that_is_not_there_is_said),
		TEST(a_flood_of_output_is_bounded),
	};

	(void)alarm(300); /* A hang is a failure. */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
