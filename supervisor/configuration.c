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
	int file;    /* the pipe; -1: not made */
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

static int take_result(
    struct supervisor *supervisor, const struct result *result, struct us_config **config)
{
	struct us_config *taken;
	struct err err;

	if (result->n != sizeof(*taken)) {
		log_error("the loader's result has %s%zu bytes, expected %zu",
		    result->n > sizeof(*taken) ? "more than " : "", result->n, sizeof(*taken));
		return EXIT_CODE_FAILED;
	}
	taken = malloc(sizeof(*taken));
	CHECK(taken);
	memcpy(taken, result->bytes, sizeof(*taken));
	if (config_check(taken, &err)) {
		log_error("%s: %s", supervisor->options.config, err.text);
		free(taken);
		return EXIT_CODE_CONFIG;
	}
	*config = taken;
	return EXIT_CODE_OK;
}

static struct process *loader_of(struct supervisor *supervisor)
{
	return process_of(supervisor, (struct role_id){ ROLE_LOADER, 0 });
}

static void result_free(struct result *result)
{
	if (result->file >= 0)
		close(result->file);
	events_remove(&result->supervisor->events, &result->watch);
	free(result->bytes);
	free(result);
}

int configuration_begin(struct supervisor *supervisor, struct result **begun)
{
	struct result *result = calloc(1, sizeof(*result));
	int file, pipe_ends[2], extra[2];
	bool started = false;
	struct err err;

	CHECK(result);
	*result = (struct result){ .watch = { .fd = -1 }, .supervisor = supervisor, .file = -1 };
	result->bytes = malloc(sizeof(struct us_config) + 1);
	CHECK(result->bytes);
	file = credentials_open_file(supervisor->options.config, &err);
	if (file < 0) {
		log_error("%s", err.text);
		result_free(result);
		return EXIT_CODE_CONFIG;
	}
	if (pipe2(pipe_ends, O_CLOEXEC) == 0) {
		result->file = pipe_ends[0];
		extra[0] = pipe_ends[1];
		extra[1] = file;
		started = process_start(loader_of(supervisor), extra, 2);
		close(pipe_ends[1]);
	}
	close(file);
	if (!started) {
		result_free(result);
		return EXIT_CODE_FAILED;
	}
	CHECK(fcntl(result->file, F_SETFL, O_NONBLOCK) == 0);
	CHECK(
	    events_add(&supervisor->events, &result->watch, result->file, on_result, result) == 0);
	*begun = result;
	return EXIT_CODE_OK;
}

bool configuration_is_being_read(const struct result *result)
{
	return process_runs(loader_of(result->supervisor)) || !result->ended;
}

int configuration_take(struct result *result, struct us_config **config)
{
	struct supervisor *supervisor = result->supervisor;
	int code = judge_end(loader_of(supervisor)->status);

	if (code == EXIT_CODE_OK)
		code = take_result(supervisor, result, config);
	result_free(result);
	return code;
}

int configuration_load(struct supervisor *supervisor)
{
	struct result *result = NULL;
	struct err err;
	int code = configuration_begin(supervisor, &result);

	if (code != EXIT_CODE_OK)
		return code;
	while (configuration_is_being_read(result))
		process_wait(supervisor);
	code = configuration_take(result, &supervisor->config);
	if (code != EXIT_CODE_OK)
		return code;
	supervisor->config_fd = configuration_seal(supervisor->config, &err);
	if (supervisor->config_fd >= 0)
		return EXIT_CODE_OK;
	log_error("%s", err.text);
	return EXIT_CODE_FAILED;
}
