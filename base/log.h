/*
 * One line per fact, at most 1 KiB, to descriptor 2, never blocking: when the reader of the pipe
 * is stopped the line is dropped and counted, and the next line that gets through says how many
 * (F21). Control bytes are escaped here, and again by the supervisor, which believes nobody.
 * Never a secret: log lengths and fingerprints. The form is logfmt:
 *
 *   time=2026-01-31T10:20:30.123Z level=info process=elector term=7 operation=1f.. msg="..."
 *
 * or, where the supervisor was told so, one JSON object a line with the same members.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* Names the process in each of its lines; the name is kept, not copied. Lines below `least` are
 * not written. */
void log_open(const char *process, enum log_level least);
/* Own lines are JSON from now on. Only the supervisor: it turns those of the others. */
void log_in_json(void);
bool log_is_in_json(void);
/* A line of the form above, or one of the supervisor's about a process, as JSON with its newline.
 * How many bytes; 0: it has not that form, each name once and in that order, or does not fit. */
size_t log_to_json(const char *line, size_t n, char *out, size_t size);
/* What the lines from now on are about: the leader's term, as far as this process knows it (0:
 * not), and the operation of a person (NULL or "": none; cut to 32 bytes). */
void log_term(uint64_t term);
void log_operation(const char *id);
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A failure that is tried again and again is one line, not one per try (G5). True when this kind of
 * failure (not 0) differs from the last one, which is then remembered: log it. Kind 0, success,
 * ends the episode and is never logged. Zero-initialised = nothing wrong yet. */
struct log_episode {
	int kind;
};
bool log_episode(struct log_episode *episode, int kind);

#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_write(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)

#endif
