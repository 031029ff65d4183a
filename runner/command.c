/*
 * Starts and ends the workload's processes (see the header). Between fork and exec only
 * async-signal-safe calls are made. Which uid is whose is decided by the configuration; when to
 * start and to end by workload.c.
 */
#include "runner/command.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/log.h"
#include "base/signals.h"
#include "policy/uids.h"

#define COMMAND_PATH "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* What a worker's operator reads today, so that it follows without a change (6.1). */
#define ENVIRONMENT_TEXTS 5

struct command {
	char *argv[CONFIG_MAX_ARGUMENTS + 1];
	char texts[ENVIRONMENT_TEXTS][4096 + 64];
	char *environment[ENVIRONMENT_TEXTS + 2];
	unsigned text_count;
	pid_t parent;
	uid_t uid;
	int output;
};

static void put(struct command *command, const char *name, const char *value, const char *more)
{
	char *text = command->texts[command->text_count];

	(void)snprintf(text, sizeof(command->texts[0]), "%s=%s%s", name, value, more);
	command->environment[++command->text_count] = text;
}

static void put_hub(const struct runner *runner, uint64_t hub, struct command *command)
{
	const struct us_config *config = runner->config;
	const struct config_follower *follower = &config->follower;
	const char *directory = config_text_at(config, follower->directory);

	put(command, "HUB_HOST_ENDPOINT", config_text_at(config, config->hubs[hub].endpoint), "");
	put(command, "HUB_PROJECT_NAMESPACE", config_text_at(config, follower->project_namespace),
	    "");
	put(command, "CLUSTER_NAME", config_text_at(config, config->self_name), "");
	put(command, "HUB_TOKEN_FILE", directory, "/token");
	put(command, "HUB_CA_FILE", directory, "/ca.crt");
}

/* Everything that the child needs, made before the fork. */
static void prepare(const struct runner *runner, uint64_t term, struct command *command)
{
	const struct us_config *config = runner->config;
	char text[24];

	for (unsigned i = 0; i < config->argument_count; i++)
		command->argv[i] = (char *)config_text_at(config, config->arguments[i]);
	command->argv[config->argument_count] = NULL;
	memset(command->environment, 0, sizeof(command->environment));
	command->environment[0] = (char *)COMMAND_PATH;
	command->text_count = 0;
	if (config->mode == CONFIG_FOLLOWER) {
		CHECK(term > 0 && term <= config->hub_count);
		put_hub(runner, term - 1, command);
	} else {
		(void)snprintf(text, sizeof(text), "%" PRIu64, term);
		put(command, "UNDERSTUDY_TERM", text, "");
		put(command, "UNDERSTUDY_FENCE", config_text_at(config, config->run_directory),
		    "/fence");
	}
	command->parent = getpid();
	command->uid = runner->uid;
}

/* --- In the child --------------------------------------------------------------------------- */

static const char *become_workload(const struct command *command)
{
	const struct rlimit processes = { COMMAND_PROCESSES, COMMAND_PROCESSES };
	uid_t real, effective, saved;

	if (setrlimit(RLIMIT_NPROC, &processes) != 0)
		return "limit of processes";
	if (setgroups(0, NULL) != 0 || setresgid(command->uid, command->uid, command->uid) != 0)
		return "gid";
	if (setresuid(command->uid, command->uid, command->uid) != 0 ||
	    getresuid(&real, &effective, &saved) != 0 || real != command->uid ||
	    effective != command->uid || saved != command->uid || setuid(0) == 0)
		return "uid";
	/* After the uid, which clears it (F39). What else runs under the uid is ended by uid. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != command->parent)
		return "parent";
	return NULL;
}

static bool place_fds(int output)
{
	int null = open("/dev/null", O_RDWR);

	return null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
	       dup2(output, STDERR_FILENO) >= 0 &&
	       syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0) == 0;
}

_Noreturn static void run_child(const struct command *command)
{
	enum { EXIT_CANNOT = 126, EXIT_NOT_FOUND = 127 };
	const char *failed = "descriptors", *why;

	signals_reset();
	(void)setsid();
	if (place_fds(command->output) && !(failed = become_workload(command))) {
		(void)execve(command->argv[0], command->argv, command->environment);
		failed = "exec";
	}
	why = strerrordesc_np(errno);
	(void)!write(STDERR_FILENO, "cannot start: ", 14);
	(void)!write(STDERR_FILENO, failed, strlen(failed));
	(void)!write(STDERR_FILENO, ": ", 2);
	(void)!write(STDERR_FILENO, why ? why : "?", why ? strlen(why) : 1);
	(void)!write(STDERR_FILENO, "\n", 1);
	_exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT);
}

/* --- In the runner -------------------------------------------------------------------------- */

static void close_output(struct runner *runner)
{
	if (runner->output >= 0)
		close(runner->output);
	runner->output = -1;
}

bool command_start(struct runner *runner, uint64_t term)
{
	struct command command;
	int ends[2];

	close_output(runner);
	prepare(runner, term, &command);
	if (pipe2(ends, O_CLOEXEC) != 0) {
		log_error("workload: pipe: %s", strerror(errno));
		return false;
	}
	/* The read end does not block us, the write end may block the workload. */
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	command.output = ends[1];
	runner->pid = fork();
	if (runner->pid == 0)
		run_child(&command);
	close(ends[1]);
	if (runner->pid < 0) {
		log_error("workload: fork: %s", strerror(errno));
		close(ends[0]);
		runner->pid = 0;
		return false;
	}
	runner->output = ends[0];
	runner->empty = false;
	log_info("workload started with term %" PRIu64 ", pid %d", term, (int)runner->pid);
	return true;
}

void command_signal(struct runner *runner, int signal)
{
	if (uids_signal(runner->uid, runner->helper, signal) != 0)
		log_error("cannot signal uid %u: %s", runner->uid, strerror(errno));
}

bool command_is_empty(struct runner *runner)
{
	struct uids_found found;

	if (!runner->empty)
		runner->empty = runner->pid == 0 &&
				uids_find(runner->uid, runner->uid, &found) == 0 && found.pid == 0;
	return runner->empty;
}

static void tell_end(int status)
{
	if (WIFEXITED(status))
		log_info("workload ended: exit code %d", WEXITSTATUS(status));
	else
		log_info("workload ended: signal %d", WTERMSIG(status));
}

void command_reap(struct runner *runner)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) != 0) {
		if (pid < 0 && errno != EINTR)
			break;
		if (pid <= 0 || pid != runner->pid)
			continue;
		runner->pid = 0;
		command_read_output(runner);
		tell_end(status);
	}
}

static void put_line(struct runner *runner)
{
	if (runner->line_bytes > 0)
		log_info("workload: %.*s", (int)runner->line_bytes, runner->line);
	runner->line_bytes = 0;
}

static void take_output(struct runner *runner, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] == '\n' || runner->line_bytes == sizeof(runner->line))
			put_line(runner);
		if (bytes[i] != '\n')
			runner->line[runner->line_bytes++] = bytes[i] ? bytes[i] : '?';
	}
}

void command_read_output(struct runner *runner)
{
	char bytes[4096];
	ssize_t n = -1;

	/* A bound: a workload that prints without end must not keep us from the clock. */
	for (int i = 0; i < 16 && runner->output >= 0; i++) {
		n = read(runner->output, bytes, sizeof(bytes));
		if (n > 0) {
			take_output(runner, bytes, (size_t)n);
			continue;
		}
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		put_line(runner);
		close_output(runner);
	}
}
