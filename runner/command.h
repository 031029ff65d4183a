/*
 * The command under its own uid: start, end of the whole uid, and its output as log lines.
 */
#ifndef RUNNER_COMMAND_H
#define RUNNER_COMMAND_H

#include "runner/runner.h"

/* What a workload may have in processes and threads. */
#define COMMAND_PROCESSES 1024

/* Starts the command with this term in its environment; sets pid and output. False: logged. */
bool command_start(struct runner *runner, uint64_t term);
/* A signal to every process of the uid. */
void command_signal(struct runner *runner, int signal);
/* Whether no process of the uid is left; reads /proc only until it is so. */
bool command_is_empty(struct runner *runner);
/* Reaps whatever ended: the command, and orphans of it that became ours. */
void command_reap(struct runner *runner);
/* Reads what the command prints; closes at its end. */
void command_read_output(struct runner *runner);

#endif
