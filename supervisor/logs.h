/*
 * The log pipe of one process: its lines, bounded and escaped, go to the supervisor's own
 * descriptor 2. Nobody is believed: control bytes are escaped, a line that does not name its own
 * process in the form of base/log.h is relayed as a value under that process's name, and past 200
 * lines in a second lines are dropped and counted (F21, P43).
 */
#ifndef SUPERVISOR_LOGS_H
#define SUPERVISOR_LOGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOGS_LINE_BYTES       1024
#define LOGS_LINES_PER_SECOND 200

struct logs {
	const char *name; /* of the process; the owner's */
	char line[LOGS_LINE_BYTES];
	size_t n;
	int64_t second_ns; /* start of the second that is counted */
	unsigned lines;
	unsigned long dropped;
	void (*put)(const char *line, size_t n); /* where lines go; tests replace it */
};

void logs_open(struct logs *logs, const char *name);
/* Takes what the process wrote. */
void logs_take(struct logs *logs, const char *bytes, size_t n, int64_t now_ns);
/* Reads a non-blocking descriptor until it is empty, at most 64 KiB. False at its end. */
bool logs_read(struct logs *logs, int fd, int64_t now_ns);
/* The process ended: an unfinished line and the count of dropped ones are told. */
void logs_end(struct logs *logs);
/* Makes descriptor 2 non-blocking without touching the description that others share, where the
 * kind of file allows it: a stopped reader of our log must not stop us. */
void logs_unblock_own(void);

#endif
