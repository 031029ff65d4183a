/*
 * understudyd as a child: what only it may read, it reads.
 */
#ifndef CTL_SPAWN_H
#define CTL_SPAWN_H

#include <sys/types.h>

/* Starts the understudyd that lies beside this program with these words; out, err: its standard
 * output and standard error, -1: ours. 0 and *pid, or -1 with errno. */
int spawn_understudyd(char *const *argv, int out, int err, pid_t *pid);
/* Its exit code; -1: it ended otherwise. */
int spawn_wait(pid_t pid);

#endif
