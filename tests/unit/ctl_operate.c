/*
 * Goal: what is sent to admin.sock is what was asked for and nothing else; done is 0, refused is 1
 * with each check and its limit, everything that is not known is 3, never "failed" (B14, B15); a
 * forced promotion happens only under the name and the nonce that were shown. Method: a child plays
 * the daemon on both sockets from a script of answers, and keeps the requests.
 */
#include "ctl/operate.h"
#include "tests/unit/ctl_daemon.h"

#include <time.h>

#define ID "\"operation\":\"00000000000000aa\""

static void a_switchover_is_followed_to_its_end(void **state)
{
	(void)state;
	SERVE(NULL, "{\"outcome\":\"running\"," ID ",\"text\":\"begun\"}",
	    "{\"outcome\":\"running\"," ID ",\"text\":\"draining\"}",
	    "{\"outcome\":\"done\"," ID ",\"text\":\"hub-b leads with term 3\"}");
	assert_int_equal(RUN("switchover", "--to", "hub-b"), CTL_DONE);
	assert_string_equal(
	    out.data, "switchover 00000000000000aa: done: hub-b leads with term 3\n");
	assert_string_equal(asked(),
	    "{\"verb\":\"switchover\",\"to\":\"hub-b\"}\n"
	    "{\"verb\":\"operation\",\"operation\":\"00000000000000aa\"}\n"
	    "{\"verb\":\"operation\",\"operation\":\"00000000000000aa\"}\n");
}

static void B15_a_refusal_names_each_check_value_and_limit(void **state)
{
	(void)state;
	SERVE(NULL,
	    "{\"outcome\":\"refused\",\"checks\":[{\"name\":\"standby armed\",\"value\":\"no\","
	    "\"limit\":\"yes\",\"ok\":false},{\"name\":\"lag\",\"value\":\"3 ms\",\"limit\":\"at "
	    "most 4999 ms\",\"ok\":true}],\"text\":\"nothing was changed\"}");
	assert_int_equal(RUN("switchover", "--check"), CTL_REFUSED);
	assert_string_equal(out.data,
	    "  NO  standby armed                     no                      must be: yes\n"
	    "  ok  lag                               3 ms                    must be: at most "
	    "4999 ms\n");
	assert_string_equal(err.text, "check: refused: nothing was changed");
	assert_string_equal(asked(), "{\"verb\":\"switchover\",\"check\":true}\n");
}

static void B14_what_is_not_known_is_3(void **state)
{
	(void)state;
	/* The elector went away in the middle. */
	SERVE(NULL, "{\"outcome\":\"running\"," ID ",\"text\":\"begun\"}");
	assert_int_equal(RUN("switchover"), CTL_UNKNOWN);
	assert_non_null(strstr(err.text, "00000000000000aa: not known"));
	(void)asked();
	/* Somebody else's is not waited for unasked. */
	SERVE(NULL, "{\"outcome\":\"running\"," ID ",\"earlier\":true,\"text\":\"another\"}");
	assert_int_equal(RUN("switchover"), CTL_UNKNOWN);
	assert_non_null(strstr(err.text, "00000000000000aa: not known yet: another (it goes on"));
	(void)asked();
	/* One that started anew. */
	SERVE(NULL, "{\"outcome\":\"running\"," ID ",\"text\":\"begun\"}",
	    "{\"outcome\":\"unknown\",\"text\":\"no such operation\"}");
	assert_int_equal(RUN("switchover", "--wait"), CTL_UNKNOWN);
	assert_non_null(strstr(err.text, "not known yet: no such operation"));
	(void)asked();
}

static void strange_answers_are_no_success(void **state)
{
	static const char *const answers[] = { "", "[]", "{\"outcome\":\"don", "{}",
		"{\"outcome\":5}" };

	(void)state;
	for (unsigned i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		SERVE(NULL, answers[i]);
		assert_in_set(RUN("resume"),
		    ((const LargestIntegralType[]){ CTL_NO_DAEMON, CTL_UNKNOWN }), 2);
		(void)asked();
	}
	/* What a name does to a terminal. */
	SERVE(NULL, "{\"outcome\":\"done\",\"text\":\"a\\u001b[2Jb\"}");
	assert_int_equal(RUN("resume"), CTL_DONE);
	assert_string_equal(out.data, "resume: done: a?[2Jb\n");
	(void)asked();
}

static const char status[] = "{\"identity\":\"hub-b\",\"leadership\":{\"state\":\"standby\","
			     "\"nonce\":\"00000000000000cc\"}}";

static void force_takes_the_name_and_the_nonce_that_were_shown(void **state)
{
	(void)state;
	SERVE(status, "{\"outcome\":\"running\"," ID ",\"text\":\"begun\"}",
	    "{\"outcome\":\"done\"," ID ",\"text\":\"this hub leads with term 3\"}");
	assert_int_equal(
	    RUN("promote", "--force", "--accept-incomplete", "--yes", "hub-b"), CTL_DONE);
	assert_string_equal(asked(),
	    "{\"verb\":\"promote\",\"force\":true,\"acceptIncomplete\":true,\"check\":false,"
	    "\"hub\":\"hub-b\",\"nonce\":\"00000000000000cc\"}\n"
	    "{\"verb\":\"operation\",\"operation\":\"00000000000000aa\"}\n");
}

static void without_consent_nothing_is_asked(void **state)
{
	(void)state;
	serve(status, NULL, 0);
	assert_int_equal(RUN("promote", "--force", "--yes", "hub-a"), CTL_REFUSED);
	assert_string_equal(err.text, "--yes names hub-a, this hub is hub-b: nothing was done");
	assert_string_equal(asked(), "");
	serve(status, NULL, 0);
	assert_int_equal(RUN("promote", "--force"), CTL_REFUSED); /* no terminal to ask at */
	assert_non_null(strstr(err.text, "--yes hub-b"));
	assert_string_equal(asked(), "");
	serve("{\"identity\":\"hub-b\"}", NULL, 0);
	assert_int_equal(RUN("promote", "--yes", "hub-b"), CTL_NO_DAEMON);
	assert_string_equal(asked(), "");
	serve(status, NULL, 0);
	assert_int_equal(RUN("accept-peer"), CTL_REFUSED);
	assert_string_equal(asked(), "");
}

/* The longest name and the longest value make room for all. */
static void checks_stand_in_columns(void **state)
{
	(void)state;
	SERVE(NULL, "{\"outcome\":\"refused\",\"checks\":["
		    "{\"name\":\"a name of more than thirty-four "
		    "letters\",\"value\":\"no\",\"limit\":\"L\","
		    "\"ok\":true},{\"name\":\"n\",\"value\":\"a value of more than "
		    "twenty\",\"limit\":\"M\","
		    "\"ok\":false}],\"text\":\"t\"}");
	assert_int_equal(RUN("switchover", "--check"), CTL_REFUSED);
	assert_string_equal(out.data, "  ok  a name of more than thirty-four letters  no           "
				      "                must be: L\n"
				      "  NO  n                                        a value of "
				      "more than twenty  must be: M\n");
	(void)asked();
}

static void plain_commands_are_one_line(void **state)
{
	(void)state;
	SERVE(NULL, "{\"outcome\":\"done\",\"text\":\"paused\"}");
	assert_int_equal(RUN("pause", "--for", "1h30m"), CTL_DONE);
	assert_string_equal(asked(), "{\"verb\":\"pause\",\"forMs\":5400000}\n");
	SERVE(NULL, "{\"outcome\":\"done\",\"text\":\"fine\"}");
	assert_int_equal(RUN("acknowledge"), CTL_DONE);
	assert_string_equal(asked(), "{\"verb\":\"acknowledge\"}\n");
	SERVE(NULL, "{\"outcome\":\"done\",\"text\":\"fine\"}");
	assert_int_equal(RUN("switchover", "--call-off"), CTL_DONE);
	assert_string_equal(asked(), "{\"verb\":\"call-off\"}\n");
}

/* -o json is the whole answer, whatever came of it; the exit code is the same. */
static void json_is_the_answer_itself(void **state)
{
	(void)state;
	SERVE(NULL, "{\"outcome\":\"done\",\"text\":\"paused\"}");
	assert_int_equal(RUN("pause", "--for", "5m", "-o", "json"), CTL_DONE);
	assert_string_equal(out.data, "{\n  \"outcome\": \"done\",\n  \"text\": \"paused\"\n}\n");
	(void)asked();
	buf_clear(&out);
	SERVE(NULL, "{\"outcome\":\"refused\",\"checks\":[{\"name\":\"n\",\"ok\":false}],"
		    "\"text\":\"nothing was changed\"}");
	assert_int_equal(RUN("switchover", "--check", "-o", "json"), CTL_REFUSED);
	assert_non_null(strstr(out.data, "\"checks\": ["));
	assert_string_equal(err.text, "check: nothing was changed");
	(void)asked();
}

/* B14: who waits no longer is told that it goes on, and under which name. */
static void a_timeout_is_not_known_yet(void **state)
{
	(void)state;
	SERVE(status, "{\"outcome\":\"running\"," ID ",\"text\":\"begun\"}",
	    "{\"outcome\":\"running\"," ID ",\"text\":\"acquiring\"}");
	assert_int_equal(
	    RUN("promote", "--yes", "hub-b", "--timeout", "1s", "--wait"), CTL_UNKNOWN);
	(void)asked();
	SERVE(NULL, "{\"outcome\":\"running\"," ID ",\"earlier\":true,\"text\":\"another\"}",
	    "{\"outcome\":\"done\"," ID ",\"text\":\"hub-b leads\"}");
	assert_int_equal(RUN("switchover", "--timeout", "1m"), CTL_DONE);
	(void)asked();
}

#define OTHERS(look)                                                                               \
	"{\"outcome\":\"done\",\"steps\":[{\"name\":\"last look at the peer's "                    \
	"Lease\",\"ok\":" look ",\"text\":\"read\",\"ms\":7}],\"text\":\"nothing was changed\"}"
#define GUARDS(state, silent)                                                                      \
	"{\"outcome\":\"refused\",\"checks\":[{\"name\":\"state of this hub\",\"value\":\"" state  \
	"\",\"limit\":\"standby\",\"ok\":true},{\"name\":\"peer silent for\",\"value\":\"3 ms\","  \
	"\"limit\":\"at least 20000 ms\",\"ok\":" silent "}],\"text\":\"nothing was changed\"}"

static const char drilled[] =
    "{\"identity\":\"hub-b\",\"peer\":{\"thresholdMs\":20000},\"workers\":[{\"name\":\"w-1\","
    "\"state\":\"ok\"}],\"credentials\":[{\"name\":\"elector\",\"usable\":true}]}";

/* A living peer is no fault of a drill; everything else is. */
static void a_drill_says_what_would_come_of_it(void **state)
{
	(void)state;
	SERVE(drilled, GUARDS("standby", "false"), OTHERS("true"),
	    "{\"outcome\":\"done\",\"rows\":[],\"text\":\"20 objects compared: all are equal\"}");
	assert_int_equal(RUN("drill"), CTL_DONE);
	assert_non_null(strstr(out.data, "would take over after 20.000 s of silence"));
	assert_non_null(strstr(out.data, "     7 ms  read\n"));
	assert_non_null(strstr(out.data, "not tried: the end of the mirror"));
	assert_null(strstr(out.data, "  NO  "));
	assert_non_null(strstr(out.data, "  ok  automatic promotion "));
	assert_string_equal(asked(), "{\"verb\":\"promote\",\"check\":true}\n{\"verb\":\"drill\"}"
				     "\n{\"verb\":\"sync-diff\"}\n");
	buf_clear(&out);
	SERVE(drilled, GUARDS("standby", "false"), OTHERS("true"),
	    "{\"outcome\":\"done\",\"rows\":[{\"object\":\"a\"}],\"text\":\"one differs\"}");
	assert_int_equal(RUN("drill", "-o", "json"), CTL_REFUSED);
	assert_non_null(strstr(out.data, "\"wouldTakeOver\": false"));
	assert_non_null(strstr(out.data, "\"text\": \"one differs\""));
	(void)asked();
	buf_clear(&out);
	SERVE("{\"identity\":\"hub-b\",\"workers\":[{\"name\":\"w-1\",\"state\":\"denied\"}],"
	      "\"credentials\":[{\"name\":\"syncer\",\"usable\":false}]}",
	    GUARDS("standby", "false"), OTHERS("true"),
	    "{\"outcome\":\"done\",\"text\":\"all are equal\"}");
	assert_int_equal(RUN("drill"), CTL_REFUSED);
	assert_non_null(strstr(out.data, "  NO  worker w-1 rehearsed"));
	assert_non_null(strstr(out.data, "  NO  credentials usable"));
	assert_non_null(strstr(out.data, "syncer is not"));
	(void)asked();
	/* A pause, manual mode and a block are no guards, and keep it from taking over all the
	 * same. */
	buf_clear(&out);
	SERVE("{\"identity\":\"hub-b\",\"leadership\":{\"role\":\"standby\",\"holdsPromotion\":"
	      "\"paused for another 60 s\"}}",
	    GUARDS("standby", "false"), OTHERS("true"),
	    "{\"outcome\":\"done\",\"text\":\"all are equal\"}");
	assert_int_equal(RUN("drill"), CTL_REFUSED);
	assert_non_null(strstr(out.data, "  NO  automatic promotion"));
	assert_non_null(strstr(out.data, "paused for another 60 s\n"));
	assert_non_null(strstr(out.data, "would not take over by itself"));
	(void)asked();
	/* On the hub that leads there is nothing to try. */
	buf_clear(&out);
	SERVE("{\"identity\":\"hub-a\",\"leadership\":{\"role\":\"leading\"}}",
	    GUARDS("active", "true"));
	assert_int_equal(RUN("drill"), CTL_REFUSED);
	assert_non_null(strstr(out.data, "drill: this hub is no Standby: nothing was tried\n"));
	assert_null(strstr(out.data, "rehearsed"));
	assert_null(strstr(out.data, "not tried:"));
	assert_string_equal(asked(), "{\"verb\":\"promote\",\"check\":true}\n");
	/* What the elector cannot do now, or has seen fail, is a NO. */
	buf_clear(&out);
	SERVE(drilled, GUARDS("standby", "false"), OTHERS("false"),
	    "{\"outcome\":\"done\",\"text\":\"all are equal\"}");
	assert_int_equal(RUN("drill"), CTL_REFUSED);
	assert_non_null(strstr(out.data, "  NO  last look at the peer's Lease"));
	(void)asked();
	buf_clear(&out);
	SERVE(drilled, GUARDS("standby", "false"),
	    "{\"outcome\":\"refused\",\"text\":\"another drill is under way\"}",
	    "{\"outcome\":\"done\",\"text\":\"all are equal\"}");
	assert_int_equal(RUN("drill"), CTL_REFUSED);
	assert_non_null(strstr(out.data, "another drill is under way\n"));
	(void)asked();
	/* In a mode that commands nothing there is nothing to drill. */
	SERVE(drilled, "{\"outcome\":\"refused\",\"text\":\"nothing to command\"}");
	assert_int_equal(RUN("drill"), CTL_REFUSED);
	assert_string_equal(err.text, "drill: nothing to command");
	(void)asked();
	assert_int_equal(RUN("drill", "now"), CTL_USAGE);
	assert_int_equal(RUN("drill", "-o", "yaml"), CTL_USAGE);
}

static void misuse_is_64_and_asks_nothing(void **state)
{
	(void)state;
	assert_int_equal(RUN("switchover", "--timeout"), CTL_USAGE);
	assert_int_equal(RUN("switchover", "--timeout", "0s"), CTL_USAGE);
	assert_int_equal(RUN("switchover", "-o", "yaml"), CTL_USAGE);
	assert_int_equal(RUN("pause", "--for", "5m", "--wait"), CTL_USAGE);
	assert_int_equal(RUN("switchover", "now"), CTL_USAGE);
	assert_int_equal(RUN("switchover", "--to"), CTL_USAGE);
	assert_int_equal(RUN("switchover", "--call-off", "--wait"), CTL_USAGE);
	assert_int_equal(RUN("promote", "--yes"), CTL_USAGE);
	assert_int_equal(RUN("promote", "--force", "please"), CTL_USAGE);
	assert_int_equal(RUN("pause"), CTL_USAGE);
	assert_int_equal(RUN("pause", "--for", "soon"), CTL_USAGE);
	assert_int_equal(RUN("pause", "--for", "-5m"), CTL_USAGE);
	assert_int_equal(RUN("resume", "x"), CTL_USAGE);
	assert_int_equal(RUN("acknowledge", "x"), CTL_USAGE);
	assert_int_equal(RUN("accept-peer", "x"), CTL_USAGE);
	assert_non_null(strstr(err.text, "expected: understudyctl"));
}

static void durations(void **state)
{
	static const char *const bad[] = { "", "5", "m", "5x", "5m ", "1h-3m", "99999999999999999s",
		"1.5h", "+3m" };
	long long ms;

	(void)state;
	assert_true(operate_duration("90s", &ms) && ms == 90000);
	assert_true(operate_duration("4h", &ms) && ms == 14400000);
	assert_true(operate_duration("1h2m3s", &ms) && ms == 3723000);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(operate_duration(bad[i], &ms));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* As /proc has it: S sleeps, Z has ended. */
static char state_of(pid_t pid)
{
	char name[32], text[512] = "";
	FILE *file;
	const char *at;

	(void)snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	file = fopen(name, "r");
	if (!file)
		return 'X';
	(void)!fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	at = strrchr(text, ')');
	return at && at[1] == ' ' ? at[2] : 'X';
}

/* ^Z and fg while the answer is awaited: the command was taken, and that is what is told. */
static void a_stop_and_its_end_lose_no_answer(void **state)
{
	const struct timespec moment = { 0, 1000000 };
	int ended;
	pid_t pid;

	(void)state;
	SERVE(NULL, "{\"outcome\":\"done\",\"text\":\"acknowledged\"}");
	assert_int_equal(kill(daemon_pid, SIGSTOP), 0);
	pid = fork();
	if (pid == 0)
		_exit((int)RUN("acknowledge"));
	assert_true(pid > 0);
	for (int i = 0; i < 10000 && state_of(pid) != 'S'; i++)
		(void)nanosleep(&moment, NULL);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitpid(pid, &ended, WUNTRACED), pid);
	assert_true(WIFSTOPPED(ended));
	assert_int_equal(kill(pid, SIGCONT), 0);
	/* It is back in its wait, or has given up. */
	for (int i = 0; i < 10000 && !strchr("SZ", state_of(pid)); i++)
		(void)nanosleep(&moment, NULL);
	assert_int_equal(kill(daemon_pid, SIGCONT), 0);
	assert_int_equal(waitpid(pid, &ended, 0), pid);
	assert_true(WIFEXITED(ended));
	assert_int_equal(WEXITSTATUS(ended), CTL_DONE);
	assert_non_null(strstr(asked(), "acknowledge"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_switchover_is_followed_to_its_end),
		TEST(B15_a_refusal_names_each_check_value_and_limit),
		TEST(B14_what_is_not_known_is_3),
		TEST(strange_answers_are_no_success),
		TEST(force_takes_the_name_and_the_nonce_that_were_shown),
		TEST(without_consent_nothing_is_asked),
		TEST(checks_stand_in_columns),
		TEST(plain_commands_are_one_line),
		TEST(a_drill_says_what_would_come_of_it),
		TEST(json_is_the_answer_itself),
		TEST(a_timeout_is_not_known_yet),
		TEST(a_stop_and_its_end_lose_no_answer),
		TEST(misuse_is_64_and_asks_nothing),
		TEST(durations),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
