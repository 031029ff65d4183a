/*
 * Goal: a log line is one line, bounded, and never blocks (F21). Method: descriptor 2 becomes a
 * pipe that nobody reads; the test reads what got through.
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

static int pipe_ends[2], saved;

static void open_pipe(void)
{
	assert_int_equal(pipe2(pipe_ends, O_NONBLOCK), 0);
	saved = dup(2);
	assert_int_equal(dup2(pipe_ends[1], 2), 2);
	log_open("tester", LOG_INFO);
}

static size_t close_pipe(char *text, size_t size)
{
	size_t n = 0;
	ssize_t got;

	while (n < size - 1 && (got = read(pipe_ends[0], text + n, size - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	dup2(saved, 2);
	close(saved);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	return n;
}

static void controls_cannot_forge_a_line(void **state)
{
	char text[4096];

	(void)state;
	open_pipe();
	log_info("name=%s", "x\nfake info supervisor: all is well\x1b[2J");
	log_debug("not written");
	close_pipe(text, sizeof(text));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	assert_null(strchr(text, '\x1b'));
	assert_non_null(strstr(text, " level=info process=tester msg=\"name=x?fake"));
}

/* A value ends where its quote does, whatever is in it. */
static void a_line_is_logfmt_with_term_and_operation(void **state)
{
	char text[4096];
	unsigned year;

	(void)state;
	log_term(7);
	log_operation("00000000000000ab");
	open_pipe();
	log_warn("he said \"no\" \\ level=error");
	log_term(0);
	log_operation(NULL);
	log_info("later");
	close_pipe(text, sizeof(text));
	assert_int_equal(sscanf(text, "time=%u-", &year), 1);
	assert_non_null(
	    strstr(text, "Z level=warn process=tester term=7 operation=00000000000000ab "
			 "msg=\"he said \\\"no\\\" \\\\ level=error\"\n"));
	assert_non_null(strstr(text, "Z level=info process=tester msg=\"later\"\n"));
}

static void long_lines_are_cut(void **state)
{
	static char big[5000], text[8192];
	size_t n;

	(void)state;
	memset(big, '"', sizeof(big) - 1);
	open_pipe();
	log_info("%s", big);
	n = close_pipe(text, sizeof(text));
	assert_true(n > 1000 && n <= 1024);
	assert_ptr_equal(strchr(text, '\n'), text + n - 1);
	assert_string_equal(text + n - 4, "\\\"\"\n"); /* its quote is there, and no half escape */
}

static void a_full_pipe_drops_and_counts(void **state)
{
	static char text[1 << 17];
	size_t n;

	(void)state;
	open_pipe();
	for (int i = 0; i < 10000; i++)
		log_info("line %d of very many that nobody reads", i);
	n = (size_t)read(pipe_ends[0], text, 32768);
	assert_int_equal(n, 32768);
	log_info("after");
	close_pipe(text, sizeof(text));
	assert_non_null(strstr(text, " dropped="));
	assert_non_null(strstr(text, " msg=\"after\"\n"));
}

#define HEAD "time=2026-01-31T10:20:30.123Z level=info process=elector "

static void a_line_is_turned_into_json(void **state)
{
	static const struct {
		const char *line, *json; /* "": it is not turned */
	} lines[] = {
		{ HEAD "term=7 operation=00ab dropped=3 msg=\"he said \\\"no\\\" \\\\\"\n",
		    "{\"time\":\"2026-01-31T10:20:30.123Z\",\"level\":\"info\",\"process\":"
		    "\"elector\",\"term\":7,\"operation\":\"00ab\",\"dropped\":3,\"msg\":\"he "
		    "said \\\"no\\\" \\\\\"}\n" },
		{ "process=workload raw=\"a=b \xc3\xa9\"",
		    "{\"process\":\"workload\",\"raw\":\"a=b \xc3\xa9\"}\n" },
		{ "process=x dropped=9 msg=\"\xff\"\n",
		    "{\"process\":\"x\",\"dropped\":9,\"msg\":\"?\"}\n" },
		/* Twice, or in another order: who wins would be up to the reader. */
		{ HEAD "msg=\"a\" process=supervisor msg=\"b\"", "" },
		{ "process=a process=b msg=\"\"", "" },
		{ "msg=\"a\" process=b", "" },
		{ HEAD "other=1 msg=\"a\"", "" },
		{ HEAD "term=07 msg=\"\"", "" },
		{ HEAD "term=-7 msg=\"\"", "" },
		{ HEAD "term= msg=\"\"", "" },
		{ HEAD "operation=a\"b msg=\"\"", "" },
		{ HEAD "msg=\"a", "" },
		{ HEAD "msg=\"a\\\"", "" },
		{ HEAD "msg=\"a\\n\"", "" },
		{ HEAD "msg=\"a\nb\"", "" },
		{ HEAD "msg=\"a\"b", "" },
		{ HEAD " msg=\"a\"", "" },
		{ HEAD "msg=\"a\" ", "" },
		{ "words", "" },
		{ "\n", "" },
		{ "", "" },
	};
	char json[512];

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		size_t n =
		    log_to_json(lines[i].line, strlen(lines[i].line), json, sizeof(json) - 1);

		json[n] = '\0';
		assert_string_equal(json, lines[i].json);
		/* Cut anywhere, or with less room, it is turned whole or not at all. */
		for (size_t room = 0; room < n; room++)
			assert_int_equal(
			    log_to_json(lines[i].line, strlen(lines[i].line), json, room), 0);
		for (size_t cut = 0; cut < strlen(lines[i].line); cut++) {
			n = log_to_json(lines[i].line, cut, json, sizeof(json));
			assert_true(n == 0 || (json[0] == '{' && json[n - 2] == '}'));
		}
	}
}

static void own_lines_are_json_where_that_is_asked_for(void **state)
{
	char text[4096];

	(void)state;
	log_in_json();
	open_pipe();
	log_info("a \"b\"");
	close_pipe(text, sizeof(text));
	assert_memory_equal(text, "{\"time\":\"20", 11);
	assert_non_null(strstr(
	    text, "Z\",\"level\":\"info\",\"process\":\"tester\",\"msg\":\"a \\\"b\\\"\"}\n"));
}

/* G5: what lasts is said once, and again when it changes or comes back. */
static void a_lasting_failure_is_one_line(void **state)
{
	static const struct {
		int kind;
		bool said;
	} tries[] = { { 0, false }, { 3, true }, { 3, false }, { 4, true }, { 4, false },
		{ 0, false }, { 0, false }, { 4, true } };
	struct log_episode episode = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++)
		assert_int_equal(log_episode(&episode, tries[i].kind), tries[i].said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(controls_cannot_forge_a_line),
		cmocka_unit_test(a_line_is_logfmt_with_term_and_operation),
		cmocka_unit_test(long_lines_are_cut),
		cmocka_unit_test(a_full_pipe_drops_and_counts),
		cmocka_unit_test(a_lasting_failure_is_one_line),
		cmocka_unit_test(a_line_is_turned_into_json),
		cmocka_unit_test(own_lines_are_json_where_that_is_asked_for), /* the last one */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
