/*
 * The canary of `audit --deep`: a short-lived process in a role's row that tries what the row
 * refuses, so that what no file of /proc shows is probed (F15), also by calls that end whoever
 * makes them (F16). It is the role's own program, started by the supervisor's own code under a uid
 * of its own, without configuration, page, links and credential; the supervisor checks it in /proc
 * before it may try anything. One such process makes all calls that are answered, and one call that
 * is not.
 *
 * Towards the supervisor: CONTROL_READY, whose blob has one answer for each probe; then, told
 * CONTROL_RELEASE, it makes the call that should be its last. Its exit code is an answer, too.
 */
#ifndef POLICY_CANARY_H
#define POLICY_CANARY_H

#include <stdint.h>

#include "policy/roles.h"

/* argv[1] of a canary; then the probe that kills, and the SANDBOX_* bits that are waived. */
#define CANARY_WORD "canary"
/* It ends itself after that, whatever happened to its supervisor. */
#define CANARY_LIFE_S 30

/* What a row makes of a probe. */
enum canary_expected {
	CANARY_NOT_TRIED, /* says nothing about this role */
	CANARY_WORKS,     /* the control: a canary to which nothing works proves nothing */
	CANARY_REFUSED,   /* answered with the errno of the list */
	CANARY_KILLED     /* by SIGSYS */
};

/* Answers: an errno, or one of these. */
#define CANARY_UNANSWERED 255
#define CANARY_WORKED     0

struct canary_probe {
	const char *what; /* for a person: "makes a TCP socket" */
	/* Returns 0, or -1 with errno. What it does to the process goes with the process. */
	long (*try)(void);
	uint32_t works, refused, killed; /* ROLE_BITs */
	int with;                        /* the errno of a refusal */
	unsigned needs;                  /* SANDBOX_* that refuses it; not tried without */
};

/* The list, in the order of the blob; count gets their number, at most CANARY_MAX. */
#define CANARY_MAX 48
const struct canary_probe *canary_probes(unsigned *count);
/* in_force: SANDBOX_* bits of that canary. */
enum canary_expected canary_expects(
    const struct canary_probe *probe, enum role role, unsigned in_force);
/* 0 or the errno. */
uint8_t canary_try(const struct canary_probe *probe);

/* Whether a role's main was called to be a canary. */
int canary_is_asked(int argc, char **argv);
/* Its whole life. Exit codes: 64 not started by a supervisor, 70 its row could not be entered; else
 * what the last call answered. */
_Noreturn void canary_main(struct role_id self, int argc, char **argv);

#endif
