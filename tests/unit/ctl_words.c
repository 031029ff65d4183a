/*
 * Goal: the usage lines are read as people read them, for they are the parser, the completion and
 * the manual. Method: invented lines, then every command of the table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/words.h"

/* Each word as V, O or A, its text, and its value in brackets. */
static const char *read_all(const char *usage)
{
	static char text[512];
	struct command command = { .name = "name", .usage = usage };
	struct words_scan scan = words_begin(&command);
	struct words_word word;
	size_t n = 0;

	text[0] = '\0';
	while (words_next(&scan, &word))
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%c%.*s%s%.*s%s", n ? " " : "",
		    "VOA"[word.kind], (int)word.text.n, word.text.p, word.value.n ? "(" : "",
		    (int)word.value.n, word.value.p, word.value.n ? ")" : "");
	return text;
}

static void usage_lines_are_read_as_people_do(void **state)
{
	(void)state;
	assert_string_equal(read_all("name"), "");
	assert_string_equal(read_all("name [--check] [--to HUB] [--wait] | --call-off"),
	    "O--check O--to(HUB) O--wait O--call-off");
	assert_string_equal(
	    read_all("name --for DURATION [-o text|json]"), "O--for(DURATION) O-o(text|json)");
	assert_string_equal(read_all("name list [-o text|json] | add NAME |\n       remove NAME"),
	    "Vlist O-o(text|json) Vadd ANAME Vremove ANAME");
	assert_string_equal(read_all("name [COMMAND]"), "ACOMMAND");
	assert_string_equal(read_all("name bash | zsh"), "Vbash Vzsh");
	assert_string_equal(read_all("name x NAME --to-context HUB [--force]"),
	    "Vx ANAME O--to-context(HUB) O--force");
}

static void every_command_is_one_that_can_be_completed(void **state)
{
	const struct command *command;
	struct words_word word, found;
	unsigned options = 0;

	(void)state;
	for (size_t i = 0; (command = command_at(i)); i++) {
		struct words_scan scan = words_begin(command);

		assert_ptr_equal(command_by_name(command->name), command);
		assert_int_equal(strncmp(command->usage, command->name, strlen(command->name)), 0);
		/* What a shell would read in a script that quotes it. */
		assert_null(strpbrk(command->summary, "\"$`\\"));
		while (words_next(&scan, &word)) {
			assert_true(word.text.n > 0);
			assert_null(memchr(word.text.p, '[', word.text.n));
			if (word.kind == WORDS_OPTION) {
				options++;
				assert_true(words_option(command, word.text, &found));
				assert_int_equal(found.value.n > 0, word.value.n > 0);
			}
		}
		assert_false(words_option(command, STR_LIT("--nonsense"), &found));
	}
	assert_true(options > 30);
	assert_null(command_by_name("nonsense"));
}

static void what_no_usage_names_is_refused_before_anybody_is_asked(void **state)
{
	struct buf out = buf_make(1 << 16);
	const struct command *command;
	struct err err;

	(void)state;
	for (size_t i = 0; (command = command_at(i)); i++) {
		char *argv[] = { "understudyctl", "--socket", "/nonexistent/status.sock",
			(char *)command->name, "--nonsense", NULL };

		assert_int_equal(commands_run(5, argv, &out, &err), CTL_USAGE);
		assert_non_null(
		    strstr(err.text, "unknown word --nonsense; expected: understudyctl"));
	}
	assert_int_equal(out.len, 0);
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usage_lines_are_read_as_people_do),
		cmocka_unit_test(every_command_is_one_that_can_be_completed),
		cmocka_unit_test(what_no_usage_names_is_refused_before_anybody_is_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
