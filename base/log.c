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
#include "base/str.h"

#define LINE_MAX_BYTES 1024

static struct {
	const char *process;
	enum log_level least;
	unsigned long dropped;
	uint64_t term;
	char operation[33];
	bool json;
} context = { .process = "understudy", .least = LOG_INFO };

static const char *const level_names[] = { "debug", "info", "warn", "error" };

void log_open(const char *process, enum log_level least)
{
	context.process = process;
	context.least = least;
}

void log_in_json(void)
{
	context.json = true;
}

bool log_is_in_json(void)
{
	return context.json;
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

/* --- JSON ------------------------------------------------------------------------------------ */

struct turn {
	const char *at, *end;
	char *out, *out_end;
	bool ascii; /* what is not well-formed UTF-8 as a whole */
};

static bool emit(struct turn *turn, const char *bytes, size_t n)
{
	if ((size_t)(turn->out_end - turn->out) < n)
		return false;
	for (size_t i = 0; i < n; i++)
		*turn->out++ = turn->ascii && (unsigned char)bytes[i] > 0x7f ? '?' : bytes[i];
	return true;
}

/* The name that stands there, if it is one of those from *next on, and its '='. */
static const char *take_name(struct turn *turn, unsigned *next)
{
	static const char *const names[] = { "time", "level", "process", "term", "operation",
		"dropped", "raw", "msg" };

	for (; *next < sizeof(names) / sizeof(names[0]); ++*next) {
		const char *name = names[*next];
		size_t n = strlen(name);

		if ((size_t)(turn->end - turn->at) > n && memcmp(turn->at, name, n) == 0 &&
		    turn->at[n] == '=') {
			turn->at += n + 1;
			++*next;
			return name;
		}
	}
	return NULL;
}

/* Behind the opening quote, to behind the closing one. Its two escapes are JSON's, too. */
static bool take_quoted(struct turn *turn)
{
	const char *from = turn->at;

	for (; turn->at < turn->end && *turn->at != '"'; turn->at++) {
		if ((unsigned char)*turn->at < 0x20)
			return false;
		if (*turn->at == '\\' &&
		    (++turn->at == turn->end || (*turn->at != '"' && *turn->at != '\\')))
			return false;
	}
	if (turn->at == turn->end || !emit(turn, "\"", 1) ||
	    !emit(turn, from, (size_t)(turn->at - from)) || !emit(turn, "\"", 1))
		return false;
	turn->at++;
	return true;
}

static bool take_plain(struct turn *turn, const char *name)
{
	bool number = strcmp(name, "term") == 0 || strcmp(name, "dropped") == 0;
	const char *from = turn->at;

	for (; turn->at < turn->end && *turn->at != ' '; turn->at++) {
		unsigned char c = (unsigned char)*turn->at;

		if (c < 0x20 || c == '"' || c == '\\' || (number && (c < '0' || c > '9')))
			return false;
	}
	return turn->at > from && !(number && *from == '0' && turn->at > from + 1) &&
	       emit(turn, "\"", !number) && emit(turn, from, (size_t)(turn->at - from)) &&
	       emit(turn, "\"", !number);
}

size_t log_to_json(const char *line, size_t n, char *out, size_t size)
{
	struct turn turn = { line, line + n, out, out + size,
		!str_is_utf8((struct str){ line, n }) };
	unsigned next = 0;
	const char *name;

	if (n && line[n - 1] == '\n')
		turn.end--;
	while (turn.at < turn.end) {
		bool quoted;

		if (turn.at != line && *turn.at++ != ' ')
			return 0;
		if (!(name = take_name(&turn, &next)) ||
		    !emit(&turn, turn.out == out ? "{\"" : ",\"", 2) ||
		    !emit(&turn, name, strlen(name)) || !emit(&turn, "\":", 2))
			return 0;
		quoted = turn.at < turn.end && *turn.at == '"';
		turn.at += quoted;
		if (!(quoted ? take_quoted(&turn) : take_plain(&turn, name)))
			return 0;
	}
	return turn.out > out && emit(&turn, "}\n", 2) ? (size_t)(turn.out - out) : 0;
}

void log_write(enum log_level level, const char *format, ...)
{
	char line[LINE_MAX_BYTES], text[LINE_MAX_BYTES], json[2 * LINE_MAX_BYTES];
	const char *what = line;
	va_list arguments;
	size_t n, turned;

	if (level < context.least)
		return;
	va_start(arguments, format);
	if (vsnprintf(text, sizeof(text), format, arguments) < 0)
		text[0] = '\0';
	va_end(arguments);
	n = put_message(line, put_head(line, level), text);
	if (context.json && (turned = log_to_json(line, n, json, sizeof(json))) > 0) {
		what = json;
		n = turned;
	}
	if (write(STDERR_FILENO, what, n) == (ssize_t)n)
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
