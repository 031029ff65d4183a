/*
 * The command line and the socket: exit codes of decision 25, words for each misuse, and answers
 * of a daemon that is absent, mute, lying or endless. A child process is the daemon.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctl/commands.h"

static char directory[] = "/tmp/understudyctl-test-XXXXXX", path[64];
static struct buf out;
static struct err err;

static int make_directory(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/status.sock", directory);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(directory);
}

static int set_up(void **state)
{
	(void)state;
	out = buf_make(1 << 20);
	err.text[0] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	buf_free(&out);
	return 0;
}

#define RUN(...)                                                                                   \
	commands_run((int)(sizeof((char *[]){ "understudyctl", __VA_ARGS__ }) / sizeof(char *)),   \
	    (char *[]){ "understudyctl", __VA_ARGS__, NULL }, &out, &err)

static int listen_at_path(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)unlink(path);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 4), 0);
	return fd;
}

/* A daemon that answers one connection with `answer`, `times` over. */
static pid_t serve(const char *answer, unsigned times)
{
	int fd = listen_at_path();
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		int client = accept(fd, NULL, NULL);
		size_t n = strlen(answer);

		while (times-- > 0 && send(client, answer, n, MSG_NOSIGNAL) == (ssize_t)n)
			;
		_exit(0);
	}
	close(fd);
	return pid;
}

static void misuse_is_64_with_its_words(void **state)
{
	(void)state;
	assert_int_equal(
	    commands_run(1, (char *[]){ "understudyctl", NULL }, &out, &err), CTL_USAGE);
	assert_string_equal(err.text, "no command; see understudyctl help");
	assert_int_equal(RUN("stauts"), CTL_USAGE);
	assert_string_equal(err.text, "no command is called stauts; see understudyctl help");
	assert_int_equal(RUN("--sock", "x", "status"), CTL_USAGE);
	assert_string_equal(err.text, "unknown option --sock; see understudyctl help");
	assert_int_equal(RUN("--socket"), CTL_USAGE);
	assert_string_equal(err.text, "--socket takes a path; see understudyctl help");
	assert_int_equal(RUN("--socket", "", "status"), CTL_USAGE);
	assert_int_equal(RUN("status", "-o"), CTL_USAGE);
	assert_int_equal(RUN("status", "-o", "yaml"), CTL_USAGE);
	assert_string_equal(err.text,
	    "-o takes json or text; expected: understudyctl [--socket PATH] status [--watch] "
	    "[-o text|json] |\n       --context HUB [--kubeconfig FILE] [--namespace N] "
	    "[-o text|json]");
	assert_int_equal(RUN("status", "now"), CTL_USAGE);
	assert_int_equal(RUN("help", "x"), CTL_USAGE);
	assert_int_equal(RUN("help", "x", "y"), CTL_USAGE);
	assert_int_equal(out.len, 0);
}

static void help_names_every_command(void **state)
{
	(void)state;
	assert_int_equal(RUN("help"), CTL_DONE);
	assert_non_null(strstr(out.data, "  switchover     hands the lead"));
	assert_non_null(strstr(out.data, "4 no daemon"));
	buf_clear(&out);
	assert_int_equal(RUN("--help"), CTL_DONE);
	assert_non_null(strstr(out.data, "usage: understudyctl"));
	buf_clear(&out);
	assert_int_equal(RUN("help", "status"), CTL_DONE);
	assert_non_null(strstr(out.data, "-o json prints the whole document"));
}

/* Whatever else stands there, and before anybody is asked. */
static void a_question_behind_a_command_is_answered(void **state)
{
	const struct command *command;

	(void)state;
	for (size_t i = 0; (command = command_at(i)); i++) {
		buf_clear(&out);
		assert_int_equal(RUN((char *)command->name, "--help"), CTL_DONE);
		assert_non_null(strstr(out.data, command->help));
		buf_clear(&out);
		assert_int_equal(RUN((char *)command->name, "--nonsense", "-h"), CTL_DONE);
		assert_non_null(strstr(out.data, command->usage));
	}
}

static void no_daemon_is_4(void **state)
{
	char longer[200];

	(void)state;
	assert_int_equal(RUN("--socket", "/nonexistent/status.sock", "status"), CTL_NO_DAEMON);
	assert_non_null(strstr(err.text, "no daemon answers at /nonexistent/status.sock"));
	close(listen_at_path());
	assert_int_equal(RUN("--socket", path, "status"), CTL_NO_DAEMON);
	assert_non_null(strstr(err.text, "Connection refused"));
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(RUN("--socket", longer, "status"), CTL_USAGE);
	assert_non_null(strstr(err.text, "longer than the 107 bytes"));
}

/* A person who finds no daemon is told that nothing was done, what to type next and what there is
 * without it. */
static void no_daemon_says_what_next(void **state)
{
	const struct {
		char *const *words;
		const char *says;
	} all[] = {
#define WORDS(...)                                                                                 \
	((char *[]){ "understudyctl", "--socket", "/nonexistent/status.sock", __VA_ARGS__, NULL })
		{ WORDS("status"), "Without it: understudyctl status --context HUB" },
		{ WORDS("history"), "Without it: understudyctl history --context HUB" },
		{ WORDS("promote", "--check"), "Nothing was promoted" },
		{ WORDS("promote", "--yes", "hub-a"), "Nothing was promoted" },
		{ WORDS("promote", "--force", "--yes", "hub-a"), "with --force where a guard" },
		{ WORDS("switchover", "--to", "hub-b"), "its peer takes over by itself" },
		{ WORDS("switchover", "--check"), "Nothing was handed over" },
		{ WORDS("pause", "--for", "1m"), "" },
		{ WORDS("resume"), "" },
		{ WORDS("acknowledge"), "" },
		{ WORDS("accept-peer", "--yes", "hub-a"), "" },
		{ WORDS("sync", "status"), "" },
		{ WORDS("sync", "diff"), "" },
		{ WORDS("sync", "confirm-deletes", "--yes", "hub-a"), "" },
		{ WORDS("sync", "accept-restore", "--yes", "hub-a"), "" },
		{ WORDS("reload"), "" },
		{ WORDS("worker", "list"), "" },
		{ WORDS("worker", "add", "w"), "" },
		{ WORDS("audit"), "audit --offline CONFIG" },
		{ WORDS("drill"), "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int argc = 0;

		while (all[i].words[argc])
			argc++;
		assert_int_equal(
		    commands_run(argc, (char **)all[i].words, &out, &err), CTL_NO_DAEMON);
		if (!strstr(err.text, CLIENT_ABSENT " at /nonexistent/") ||
		    !strstr(err.text, "nothing was asked") ||
		    !strstr(err.text, "systemctl start understudyd") ||
		    !strstr(err.text, all[i].says) || strchr(err.text, '\n'))
			fail_msg("%s says: %s", all[i].words[3], err.text);
		assert_int_equal(out.len, 0);
	}
}

/* Who listens and does not answer is no absent daemon: then that advice would be wrong. */
static void a_daemon_that_hangs_is_not_started(void **state)
{
	int fd = listen_at_path();

	(void)state;
	assert_int_equal(RUN("--socket", path, "status"), CTL_NO_DAEMON);
	assert_non_null(strstr(err.text, "hangs or restarts; a process that hangs is ended"));
	assert_null(strstr(err.text, "Without it"));
	assert_int_equal(RUN("--socket", path, "promote", "--yes", "hub-a"), CTL_NO_DAEMON);
	assert_null(strstr(err.text, "Nothing was promoted"));
	close(fd);
}

static void a_document_is_shown(void **state)
{
	static const char answer[] = "{\"identity\":\"hub-a\",\"ready\":true,\"leadership\":null}";

	(void)state;
	serve(answer, 1);
	assert_int_equal(RUN("--socket", path, "status"), CTL_DONE);
	assert_memory_equal(out.data, "hub-a  state unknown", 20);
	assert_true(wait(NULL) > 0);
	buf_clear(&out);
	serve(answer, 1);
	assert_int_equal(RUN("--socket", path, "status", "-o", "json"), CTL_DONE);
	assert_string_equal(out.data,
	    "{\n  \"identity\": \"hub-a\",\n  \"ready\": true,\n  \"leadership\": null\n}\n");
	assert_true(wait(NULL) > 0);
}

static void a_strange_answer_is_4(void **state)
{
	static const struct {
		const char *answer;
		unsigned times;
		const char *words;
	} cases[] = {
		{ "", 0, "closed without an answer" },
		{ "HTTP/1.1 400\r\n", 1, "what came back is no status document" },
		{ "[1]", 1, "what came back is no status document (no object)" },
		{ "{\"identity\":", 1, "what came back is no status document" },
		{ "{}", 2, "what came back is no status document" },
		{ "{\"a\":1,\"a\":2}", 1, "what came back is no status document" },
		{ "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 1000,
		    "what came back is no status document" },
		{ "\xff\xfe", 1, "what came back is no status document" },
		{ "                                                                ", 1u << 20,
		    "the answer is larger than 8 MiB" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		serve(cases[i].answer, cases[i].times);
		assert_int_equal(RUN("--socket", path, "status"), CTL_NO_DAEMON);
		if (!strstr(err.text, cases[i].words))
			fail_msg("case %u: %s", i, err.text);
		assert_int_equal(out.len, 0);
		assert_true(wait(NULL) > 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(misuse_is_64_with_its_words),
		TEST(help_names_every_command),
		TEST(a_question_behind_a_command_is_answered),
		TEST(no_daemon_is_4),
		TEST(no_daemon_says_what_next),
		TEST(a_daemon_that_hangs_is_not_started),
		TEST(a_document_is_shown),
		TEST(a_strange_answer_is_4),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
