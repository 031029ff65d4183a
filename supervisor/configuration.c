/*
 * Loads the configuration (see the header). The loader's result is taken as a whole, of exactly
 * the struct's size, and then judged; a loader that says nothing in time is killed by process.c.
 */
#include "supervisor/configuration.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/log.h"
#include "supervisor/credentials.h"
#include "supervisor/process.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

/* The pipe that the loader writes its result to. */
struct result {
	struct watch watch;
	struct supervisor *supervisor;
	char *bytes; /* one more than a result has: room to notice too much */
	size_t n;
	bool ended;
};

static void on_result(void *arg, uint32_t events)
{
	struct result *result = arg;
	size_t room = sizeof(struct us_config) + 1 - result->n;
	ssize_t n = read(result->watch.fd, result->bytes + result->n, room);

	(void)events;
	if (n > 0)
		result->n += (size_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		result->ended = true;
	if (result->n > sizeof(struct us_config))
		result->ended = true;
	if (result->ended)
		events_remove(&result->supervisor->events, &result->watch);
}

int configuration_seal(const struct us_config *config, struct err *err)
{
	int fd =
	    memfd_create("understudy-config", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL) /* A kernel before 6.3. */
		fd = memfd_create("understudy-config", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd >= 0 && write(fd, config, sizeof(*config)) == (ssize_t)sizeof(*config) &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0)
		return fd;
	(void)err_set(err, "memfd for the configuration: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Runs the loader to its end with the opened file. */
static int run_loader(struct supervisor *supervisor, int file, struct result *result)
{
	struct process *loader = process_of(supervisor, (struct role_id){ ROLE_LOADER, 0 });
	int pipe_ends[2], extra[2] = { -1, file };
	bool started;

	if (pipe2(pipe_ends, O_CLOEXEC) != 0)
		return -1;
	extra[0] = pipe_ends[1];
	started = process_start(loader, extra, 2);
	close(pipe_ends[1]);
	if (started) {
		CHECK(fcntl(pipe_ends[0], F_SETFL, O_NONBLOCK) == 0);
		CHECK(events_add(&supervisor->events, &result->watch, pipe_ends[0], on_result,
			  result) == 0);
		while (process_runs(loader) || !result->ended)
			process_wait(supervisor);
	}
	close(pipe_ends[0]);
	return started ? 0 : -1;
}

/* The loader has said what is wrong; how it ended says whose fault it is. */
static int judge_end(int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return EXIT_CODE_OK;
	if (WIFEXITED(status) && WEXITSTATUS(status) == PROCESS_LOADER_REFUSES)
		return EXIT_CODE_CONFIG;
	log_error("the configuration could not be read: its loader failed");
	/* Killed while it read: by its limits, or by its filter, because of what it read. */
	return WIFSIGNALED(status) ? EXIT_CODE_CONFIG : EXIT_CODE_FAILED;
}

static int take_result(struct supervisor *supervisor, const struct result *result)
{
	struct us_config *config;
	struct err err;

	if (result->n != sizeof(*config)) {
		log_error("the loader's result has %s%zu bytes, expected %zu",
		    result->n > sizeof(*config) ? "more than " : "", result->n, sizeof(*config));
		return EXIT_CODE_FAILED;
	}
	config = malloc(sizeof(*config));
	CHECK(config);
	memcpy(config, result->bytes, sizeof(*config));
	if (config_check(config, &err)) {
		log_error("%s: %s", supervisor->options.config, err.text);
		free(config);
		return EXIT_CODE_CONFIG;
	}
	supervisor->config_fd = configuration_seal(config, &err);
	if (supervisor->config_fd < 0) {
		log_error("%s", err.text);
		free(config);
		return EXIT_CODE_FAILED;
	}
	supervisor->config = config;
	return EXIT_CODE_OK;
}

int configuration_load(struct supervisor *supervisor)
{
	struct process *loader = process_of(supervisor, (struct role_id){ ROLE_LOADER, 0 });
	struct result result = { .watch = { .fd = -1 }, .supervisor = supervisor };
	struct err err;
	int file, code;

	file = credentials_open_file(supervisor->options.config, &err);
	if (file < 0) {
		log_error("%s", err.text);
		return EXIT_CODE_CONFIG;
	}
	result.bytes = malloc(sizeof(struct us_config) + 1);
	CHECK(result.bytes);
	code = run_loader(supervisor, file, &result) == 0 ? judge_end(loader->status)
							  : EXIT_CODE_FAILED;
	if (code == EXIT_CODE_OK)
		code = take_result(supervisor, &result);
	free(result.bytes);
	close(file);
	return code;
}
