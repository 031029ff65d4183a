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
	uint64_t term;
	char operation[33];
} context = { .process = "understudy", .least = LOG_INFO };

static const char *const level_names[] = { "debug", "info", "warn", "error" };

void log_open(const char *process, enum log_level least)
{
	context.process = process;
	context.least = least;
}

void log_term(uint64_t term)
{
	context.term = term;
}

void log_operation(const char *id)
{
	(void)snprintf(context.operation, sizeof(context.operation), "%s", id ? id : "");
}

/* time=2026-01-31T10:20:30.123Z of wall time; gmtime_r opens no file. */
static size_t put_time(char *line, size_t size)
{
	int64_t us = base_clock_wall_us();
	time_t seconds = (time_t)(us / 1000000);
	struct tm tm;
	size_t n;

	if (!gmtime_r(&seconds, &tm))
		return 0;
	n = strftime(line, size, "time=%Y-%m-%dT%H:%M:%S", &tm);
	return n + (size_t)snprintf(line + n, size - n, ".%03dZ", (int)(us / 1000 % 1000));
}

static size_t clip(int n, size_t room)
{
	return n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

__attribute__((format(printf, 3, 4))) static size_t put(
    char *line, size_t n, const char *format, ...)
{
	va_list arguments;
	int more;

	va_start(arguments, format);
	more = vsnprintf(line + n, LINE_MAX_BYTES - n, format, arguments);
	va_end(arguments);
	return n + clip(more, LINE_MAX_BYTES - n);
}

/* What is before the message. */
static size_t put_head(char *line, enum log_level level)
{
	size_t n = put_time(line, LINE_MAX_BYTES);

	n = put(line, n, " level=%s process=%s", level_names[level], context.process);
	if (context.term)
		n = put(line, n, " term=%llu", (unsigned long long)context.term);
	if (context.operation[0])
		n = put(line, n, " operation=%s", context.operation);
	if (context.dropped)
		n = put(line, n, " dropped=%lu", context.dropped);
	return put(line, n, " msg=\"");
}

/* With the quote and the end of the line, cut to what fits. */
static size_t put_message(char *line, size_t n, const char *text)
{
	for (; *text && n < LINE_MAX_BYTES - 4; text++) {
		bool is_control = (unsigned char)*text < 0x20 || *text == 0x7f;

		if (*text == '"' || *text == '\\')
			line[n++] = '\\';
		line[n++] = is_control ? '?' : *text;
	}
	line[n++] = '"';
	line[n++] = '\n';
	return n;
}

void log_write(enum log_level level, const char *format, ...)
{
	char line[LINE_MAX_BYTES], text[LINE_MAX_BYTES];
	va_list arguments;
	size_t n;

	if (level < context.least)
		return;
	va_start(arguments, format);
	if (vsnprintf(text, sizeof(text), format, arguments) < 0)
		text[0] = '\0';
	va_end(arguments);
	n = put_message(line, put_head(line, level), text);
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
