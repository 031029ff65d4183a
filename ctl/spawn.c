/*
 * Starts understudyd (see the header). Called by audit.c and check_config.c.
 */
#include "ctl/spawn.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int spawn_understudyd(char *const *argv, int out, int err, pid_t *pid)
{
	char program[512] = "";
	const char *slash;
	posix_spawn_file_actions_t actions;
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - sizeof("understudyd"));
	size_t at;
	int error;

	program[n > 0 ? n : 0] = '\0';
	slash = strrchr(program, '/');
	at = slash ? (size_t)(slash - program) + 1 : 0;
	(void)snprintf(program + at, sizeof(program) - at, "understudyd");
	(void)posix_spawn_file_actions_init(&actions);
	if (out >= 0)
		(void)posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (err >= 0)
		(void)posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
	error = posix_spawnp(pid, program, &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	errno = error;
	return error == 0 ? 0 : -1;
}

int spawn_wait(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
