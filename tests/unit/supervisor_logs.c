/*
 * Goal: what a process writes reaches the log as one line under its own name, and never as an
 * escape sequence, a forged line or a flood (F21, P43). Method: bytes in, lines out.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "supervisor/logs.h"

#define HEAD "time=2026-01-31T10:20:30.123Z level=info process="
#define S    1000000000LL

static char out[1 << 20];
static size_t out_bytes;

static void put(const char *line, size_t n)
{
	assert_true(out_bytes + n < sizeof(out));
	memcpy(out + out_bytes, line, n);
	out_bytes += n;
	out[out_bytes] = '\0';
}

static struct logs *fresh(const char *name)
{
	static struct logs logs;

	logs_open(&logs, name);
	logs.put = put;
	out_bytes = 0;
	out[0] = '\0';
	return &logs;
}

static const char *relay(const char *name, const char *bytes)
{
	struct logs *logs = fresh(name);

	logs_take(logs, bytes, strlen(bytes), S);
	logs_end(logs);
	return out;
}

static void own_lines_pass(void **state)
{
	(void)state;
	assert_string_equal(
	    relay("elector", HEAD "elector term=7 msg=\"x\"\n"), HEAD "elector term=7 msg=\"x\"\n");
	assert_string_equal(
	    relay("repointer/3", HEAD "repointer/3 msg=\"a\"\n" HEAD "repointer/3 msg=\"b\"\n"),
	    HEAD "repointer/3 msg=\"a\"\n" HEAD "repointer/3 msg=\"b\"\n");
}

static void another_name_is_not_believed(void **state)
{
	static const char *const others[] = { HEAD "elector msg=\\\"promoted\\\"",
		HEAD "monitors msg=\\\"x\\\"", HEAD "monitor msg=x", "raw", "cut off",
		"time=2026-01-31T10:20:30.123Z", "time=", "\\\"" };

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		char bytes[256], expected[256];
		size_t n = 0;

		for (const char *c = others[i]; *c; c++) /* as it is before it is a value */
			if (*c != '\\')
				bytes[n++] = *c;
		bytes[n] = '\0';
		(void)snprintf(
		    expected, sizeof(expected), "process=monitor raw=\"%s\"\n", others[i]);
		assert_string_equal(relay("monitor", bytes), expected);
	}
}

static void control_bytes_are_escaped(void **state)
{
	(void)state;
	assert_string_equal(
	    relay("loader", "a\x1b[2Jb\rc\x7f\n"), "process=loader raw=\"a?[2Jb?c?\"\n");
	assert_string_equal(relay("loader", "\xc2\x9b"
					    "31m\n"),
	    "process=loader raw=\"??31m\"\n");
	assert_string_equal(relay("loader", "Stra\xc3\x9f"
					    "e\n"),
	    "process=loader raw=\"Stra\xc3\x9f"
	    "e\"\n");
	assert_string_equal(relay("loader", "bad \xff\n"), "process=loader raw=\"bad ?\"\n");
}

static void long_lines_are_cut(void **state)
{
	static char bytes[5000];
	struct logs *logs = fresh("loader");

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	logs_take(logs, bytes, sizeof(bytes), S);
	logs_end(logs);
	for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= LOGS_LINE_BYTES + strlen("process=loader raw=\"\""));
}

static unsigned count_lines(void)
{
	unsigned lines = 0;

	for (size_t i = 0; i < out_bytes; i++)
		lines += out[i] == '\n';
	return lines;
}

/* F21: 200 lines a second, then a count. */
static void a_flood_is_dropped_and_counted(void **state)
{
	struct logs *logs = fresh("syncer");

	(void)state;
	for (int i = 0; i < 10000; i++)
		logs_take(logs, "x\n", 2, 5 * S + i);
	assert_int_equal(count_lines(), LOGS_LINES_PER_SECOND);
	logs_take(logs, "y\n", 2, 6 * S);
	assert_int_equal(count_lines(), LOGS_LINES_PER_SECOND + 2);
	assert_non_null(strstr(out, "process=syncer dropped=9800 msg="));
	assert_non_null(strstr(out, "process=syncer raw=\"y\"\n"));
}

static void reads_until_the_pipe_is_empty(void **state)
{
	struct logs *logs = fresh("syncer");
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], "a\nb", 3), 3);
	assert_true(logs_read(logs, ends[0], S));
	assert_string_equal(out, "process=syncer raw=\"a\"\n");
	close(ends[1]);
	assert_false(logs_read(logs, ends[0], S));
	logs_end(logs);
	assert_string_equal(out, "process=syncer raw=\"a\"\nprocess=syncer raw=\"b\"\n");
	close(ends[0]);
}

/* Each of them one object, whatever a process writes. */
static void lines_are_json_where_that_is_asked_for(void **state)
{
	static const char bytes[] = HEAD "elector term=7 msg=\"x\"\n" HEAD
					 "elector msg=\"a\" process=supervisor msg=\"b\"\n"
					 "panic: \"\x1b\n";
	int ends[2], saved = dup(2);
	struct logs logs;
	char text[2048];
	ssize_t n;

	(void)state;
	log_in_json();
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(dup2(ends[1], 2), 2);
	logs_open(&logs, "elector");
	logs_take(&logs, bytes, sizeof(bytes) - 1, S);
	logs_end(&logs);
	n = read(ends[0], text, sizeof(text) - 1);
	assert_int_equal(dup2(saved, 2), 2);
	close(saved);
	close(ends[0]);
	close(ends[1]);
	text[n > 0 ? n : 0] = '\0';
	assert_string_equal(text,
	    "{\"time\":\"2026-01-31T10:20:30.123Z\",\"level\":\"info\",\"process\":\"elector\","
	    "\"term\":7,\"msg\":\"x\"}\n"
	    "{\"process\":\"elector\",\"raw\":\"time=2026-01-31T10:20:30.123Z level=info "
	    "process=elector msg=\\\"a\\\" process=supervisor msg=\\\"b\\\"\"}\n"
	    "{\"process\":\"elector\",\"raw\":\"panic: \\\"?\"}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_lines_pass), cmocka_unit_test(another_name_is_not_believed),
		cmocka_unit_test(control_bytes_are_escaped), cmocka_unit_test(long_lines_are_cut),
		cmocka_unit_test(a_flood_is_dropped_and_counted),
		cmocka_unit_test(reads_until_the_pipe_is_empty),
		cmocka_unit_test(lines_are_json_where_that_is_asked_for), /* the last one */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
