/*
 * How the lists of attempts are written (see attack.h): one function does one thing and nothing
 * else, and is called in a locked process and, as the control, in an unlocked one of root. Nothing
 * that works may change the machine beyond the process that did it.
 */
#ifndef ATTACK_CALLS_H
#define ATTACK_CALLS_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "policy/seccomp.h"
#include "tests/attack/attack.h"

#define BIT(role) ROLE_BIT(ROLE_##role)
/* uid 0 with three capabilities and no filter 2: it may what any controller may (F5). */
#define RUNNER BIT(RUNNER)

#define USER     LAYER_USER
#define LANDLOCK LAYER_LANDLOCK
#define SECCOMP  LAYER_SECCOMP

/* An attempt that is one expression; negative when it fails. */
#define TRY(name, expression)                                                                      \
	static int name(const struct scene *scene)                                                 \
	{                                                                                          \
		(void)scene;                                                                       \
		return attempt_outcome((long)(expression));                                        \
	}

#define LIST(list, table)                                                                          \
	const struct attempt_list list = { table, sizeof(table) / sizeof((table)[0]) }

#endif
