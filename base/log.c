/*
 * Log lines (see the header). One write(2) per line, so that lines of several processes on one
 * pipe do not mix; the pipe is non-blocking (F21). The process context of the log is the only
 * mutable state.
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define LINE_MAX_BYTES 1024

static struct {
	const char *process;
	enum log_level least;
	unsigned long dropped;
} context = { "understudy", LOG_INFO, 0 };

static const char *const level_names[] = { "debug", "info", "warn", "error" };

void log_open(const char *process, enum log_level least)
{
	context.process = process;
	context.least = least;
}

/* 2026-01-31T10:20:30.123Z of wall time; gmtime_r opens no file. */
static size_t put_time(char *line, size_t size)
{
	int64_t us = base_clock_wall_us();
	time_t seconds = (time_t)(us / 1000000);
	struct tm tm;
	size_t n;

	if (!gmtime_r(&seconds, &tm))
		return 0;
	n = strftime(line, size, "%Y-%m-%dT%H:%M:%S", &tm);
	return n + (size_t)snprintf(line + n, size - n, ".%03dZ", (int)(us / 1000 % 1000));
}

static void escape_controls(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

static size_t clip(int n, size_t room)
{
	return n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

void log_write(enum log_level level, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	va_list arguments;
	size_t n, head;

	if (level < context.least)
		return;
	n = put_time(line, sizeof(line));
	n += clip(
	    snprintf(line + n, sizeof(line) - n, " %-5s %s: ", level_names[level], context.process),
	    sizeof(line) - n);
	head = n;
	if (context.dropped)
		n += clip(
		    snprintf(line + n, sizeof(line) - n, "[%lu lines dropped] ", context.dropped),
		    sizeof(line) - n);
	va_start(arguments, format);
	n += clip(
	    vsnprintf(line + n, sizeof(line) - 1 - n, format, arguments), sizeof(line) - 1 - n);
	va_end(arguments);
	escape_controls(line + head);
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, n) == (ssize_t)n)
		context.dropped = 0;
	else
		context.dropped++;
}

bool log_episode(struct log_episode *episode, int kind)
{
	bool fresh = kind != 0 && kind != episode->kind;

	episode->kind = kind;
	return fresh;
}
