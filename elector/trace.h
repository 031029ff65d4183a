/*
 * The machine's reasons in words: the same ones for the log, the Kubernetes Event, status, history
 * and tests. Pure: no I/O, no allocation; texts go into the caller's memory.
 */
#ifndef ELECTOR_TRACE_H
#define ELECTOR_TRACE_H

#include "elector/machine.h"

struct trace_row {
	const char *name;   /* snake_case: history, metric label, tests */
	const char *event;  /* reason of the Event, NULL: none */
	const char *action; /* of the Event */
	bool warning;
	bool abort; /* counts in promotions_aborted_total */
};

/* Never NULL. */
const struct trace_row *trace_row(enum machine_reason reason);
/* The sentence with its numbers, always terminated. */
void trace_text(char *text, size_t size, const struct machine_said *said);
/* "refused", "x509", ... of a look that failed. */
const char *trace_why(enum peer_why why);

#endif
