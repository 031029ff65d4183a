/*
 * Relays the lines of the processes (see the header). Never blocks; interprets nothing but the
 * name in a line's head.
 */
#include "supervisor/logs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"

/* "2026-01-31T10:20:30.123Z" */
#define TIME_BYTES 24

#define JSON_BYTES (4 * LOGS_LINE_BYTES) /* the most that a pipe takes at once */

static void put_stderr(const char *line, size_t n)
{
	(void)!write(STDERR_FILENO, line, n);
}

void logs_open(struct logs *logs, const char *name)
{
	*logs = (struct logs){ .name = name, .put = put_stderr };
}

/* Control bytes, and what terminals take for such in UTF-8 (U+0080..U+009F), become '?'; bytes
 * above 0x7f survive in well-formed UTF-8 only. */
static void escape(char *line, size_t n)
{
	bool utf8 = str_is_utf8((struct str){ line, n });

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)line[i];
		bool high_control = c == 0xc2 && i + 1 < n && (unsigned char)line[i + 1] < 0xa0;

		if (c < 0x20 || c == 0x7f || (c > 0x7f && !utf8))
			line[i] = '?';
		else if (high_control)
			line[i] = line[i + 1] = '?';
	}
}

/* Moves *at behind a text that stands there. */
static bool skip(const char **at, const char *end, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(end - *at) < n || memcmp(*at, text, n) != 0)
		return false;
	*at += n;
	return true;
}

/* Whether the line has the head of base/log.h with this process's name in it, and the end. */
static bool names_itself(const struct logs *logs)
{
	const char *at = logs->line, *end = logs->line + logs->n;

	if (!skip(&at, end, "time=") || end - at < TIME_BYTES)
		return false;
	at += TIME_BYTES;
	if (!skip(&at, end, " level="))
		return false;
	while (at < end && *at >= 'a' && *at <= 'z')
		at++;
	return skip(&at, end, " process=") && skip(&at, end, logs->name) && skip(&at, end, " ") &&
	       end[-1] == '"';
}

/* In the form that was asked for. False: as JSON it cannot be told, for what is behind its head
 * nobody has looked at; lines of our own always can. */
static bool tell(struct logs *logs, const char *line, size_t n)
{
	char json[JSON_BYTES];

	if (log_is_in_json()) {
		n = log_to_json(line, n, json, sizeof(json));
		line = json;
	}
	if (n > 0)
		logs->put(line, n);
	return n > 0;
}

/* Somebody else's words, as a value of their own. */
static void put_raw(struct logs *logs)
{
	char whole[2 * LOGS_LINE_BYTES + 64];
	size_t n = (size_t)snprintf(whole, 64, "process=%.40s raw=\"", logs->name);

	for (size_t i = 0; i < logs->n; i++) {
		if (logs->line[i] == '"' || logs->line[i] == '\\')
			whole[n++] = '\\';
		whole[n++] = logs->line[i];
	}
	whole[n++] = '"';
	whole[n++] = '\n';
	(void)tell(logs, whole, n);
}

static void put_line(struct logs *logs)
{
	char whole[LOGS_LINE_BYTES + 2];

	escape(logs->line, logs->n);
	memcpy(whole, logs->line, logs->n);
	whole[logs->n] = '\n';
	if (!names_itself(logs) || !tell(logs, whole, logs->n + 1))
		put_raw(logs);
	logs->n = 0;
}

static void tell_dropped(struct logs *logs)
{
	char text[128];
	int n;

	if (logs->dropped == 0)
		return;
	n = snprintf(text, sizeof(text),
	    "process=%.40s dropped=%lu msg=\"over %d log lines in a second\"\n", logs->name,
	    logs->dropped, LOGS_LINES_PER_SECOND);
	logs->dropped = 0;
	(void)tell(logs, text, (size_t)n);
}

static void end_line(struct logs *logs, int64_t now_ns)
{
	if (now_ns - logs->second_ns >= BASE_NS_PER_S) {
		tell_dropped(logs);
		logs->second_ns = now_ns;
		logs->lines = 0;
	}
	if (logs->lines++ < LOGS_LINES_PER_SECOND)
		put_line(logs);
	else
		logs->dropped++;
	logs->n = 0;
}

void logs_take(struct logs *logs, const char *bytes, size_t n, int64_t now_ns)
{
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] == '\n') {
			end_line(logs, now_ns);
			continue;
		}
		if (logs->n == sizeof(logs->line))
			end_line(logs, now_ns);
		logs->line[logs->n++] = bytes[i];
	}
}

bool logs_read(struct logs *logs, int fd, int64_t now_ns)
{
	char bytes[4096];
	ssize_t n = 0;

	for (int i = 0; i < 16; i++) {
		n = read(fd, bytes, sizeof(bytes));
		if (n <= 0)
			break;
		logs_take(logs, bytes, (size_t)n, now_ns);
	}
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

void logs_end(struct logs *logs)
{
	if (logs->n > 0)
		put_line(logs);
	tell_dropped(logs);
}

void logs_unblock_own(void)
{
	struct stat st;
	int flags, own;

	if (fstat(STDERR_FILENO, &st) != 0 || S_ISREG(st.st_mode))
		return;
	own = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own >= 0) {
		(void)dup2(own, STDERR_FILENO);
		close(own);
		return;
	}
	/* A socket cannot be opened again; a service manager gives it to us alone. */
	flags = fcntl(STDERR_FILENO, F_GETFL);
	if (S_ISSOCK(st.st_mode) && flags >= 0)
		(void)fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK);
}
