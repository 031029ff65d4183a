/*
 * The context of the runner, and the map of its files:
 *   main.c      the story: open, lock, serve
 *   workload.c  when the command runs and when its uid is ended; pure
 *   command.c   starts the command, ends the uid, reads what the command prints
 *   control.c   the link with the supervisor
 * It keeps uid 0 with SETUID, SETGID and KILL, and parses nothing but control structs (F5).
 */
#ifndef RUNNER_RUNNER_H
#define RUNNER_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fence/fence.h"
#include "policy/config.h"
#include "runner/workload.h"

struct runner {
	const struct us_config *config;
	struct fence fence;
	int alarm, signals;
	uid_t uid, helper; /* of the workload; of the child that signals it */

	struct workload workload;
	pid_t pid;  /* the started command, 0: none */
	bool empty; /* nobody of the uid is left; known until the next start */
	int output; /* what the command prints, -1: nothing to read */
	char line[960];
	size_t line_bytes;

	bool wanted; /* the supervisor's word */
	uint64_t wanted_term;
	bool gone;               /* the supervisor hung up */
	uint64_t sent, received; /* control packets */
	int64_t beat_ns;
	bool reported, reported_running, reported_empty; /* reported: since the last word */
};

#endif
