/*
 * Goal: each probe of a canary is answered in each role's row as the list says, and otherwise where
 * there is no row, so that it can fail (F16). Method: children that really enter the row and become
 * canaries, asked as the supervisor asks; and children of root that enter none. Needs root.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy/canary.h"
#include "policy/control.h"
#include "policy/sandbox.h"
#include "policy/seccomp.h"

#define UID_BASE 58000

static unsigned count;
static const struct canary_probe *list;

static bool can_be_tried(void)
{
	list = canary_probes(&count);
	return geteuid() == 0 && !SECCOMP_SANITIZED;
}

/* --- The list -------------------------------------------------------------------------------- */

static void every_row_is_tried_by_each_kind_of_probe(void **state)
{
	(void)state;
	(void)can_be_tried();
	for (unsigned role = ROLE_RUNNER; role < ROLE_COUNT; role++) {
		unsigned seen[CANARY_KILLED + 1] = { 0 };

		for (unsigned i = 0; i < count; i++)
			seen[canary_expects(&list[i], role, SANDBOX_ALL)]++;
		assert_true(seen[CANARY_WORKS] >= 2);
		assert_true(seen[CANARY_REFUSED] >= (role == ROLE_RUNNER ? 7 : 3));
		assert_true(seen[CANARY_KILLED] >= (role == ROLE_RUNNER ? 1 : 17));
	}
	/* The supervisor tries for itself, and must survive it. */
	for (unsigned i = 0; i < count; i++)
		assert_int_not_equal(
		    canary_expects(&list[i], ROLE_SUPERVISOR, SANDBOX_ALL), CANARY_KILLED);
}

static void no_probe_is_expected_to_end_in_two_ways(void **state)
{
	(void)state;
	(void)can_be_tried();
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(list[i].works & list[i].refused, 0);
		assert_int_equal((list[i].works | list[i].refused) & list[i].killed, 0);
		assert_int_equal(list[i].refused != 0, list[i].with != 0);
		/* A call that kills needs no protection but the filters, which are no waivable one.
		 */
		assert_true(list[i].killed == 0 || list[i].needs == 0);
	}
}

/* --- In a row -------------------------------------------------------------------------------- */

/* A canary as the supervisor starts it, but for the program. */
static pid_t start(enum role role, unsigned number, int *link)
{
	struct role_id id = { (uint8_t)role, 0 };
	char text[16];
	char *argv[] = { (char *)role_name(role), (char *)CANARY_WORD, text, (char *)"0", NULL };
	int pair[2];
	pid_t pid;

	(void)snprintf(text, sizeof(text), "%u", number);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	pid = fork();
	if (pid == 0) {
		close(pair[0]);
		if (dup2(pair[1], ROLE_FD_CONTROL) != ROLE_FD_CONTROL ||
		    dup2(STDIN_FILENO, ROLE_FD_FILES) != ROLE_FD_FILES ||
		    sandbox_before_exec(id, UID_BASE + ROLE_UID_CANARY, 0))
			_exit(71);
		canary_main(id, 4, argv);
	}
	close(pair[1]);
	*link = pair[0];
	return pid;
}

/* Status of waitpid; what it answered before in ready. */
static int run(enum role role, unsigned number, struct us_ctl *ready)
{
	const struct us_ctl go = { .magic = CONTROL_MAGIC, .type = CONTROL_RELEASE };
	int link, status = -1;
	pid_t pid = start(role, number, &link);

	if (recv(link, ready, sizeof(*ready), 0) != sizeof(*ready))
		fail_msg("no canary in the row of %s", role_name(role));
	assert_int_equal(ready->magic, CONTROL_MAGIC);
	assert_int_equal(ready->type, CONTROL_READY);
	assert_int_equal(send(link, &go, sizeof(go), MSG_NOSIGNAL), sizeof(go));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(link);
	return status;
}

static void assert_answers(enum role role, const struct us_ctl *ready)
{
	for (unsigned i = 0; i < count; i++) {
		enum canary_expected expected =
		    canary_expects(&list[i], role, (unsigned)ready->a[0]);
		unsigned wanted = expected == CANARY_WORKS     ? CANARY_WORKED
				  : expected == CANARY_REFUSED ? (unsigned)list[i].with
							       : CANARY_UNANSWERED;

		if ((uint8_t)ready->blob[i] != wanted)
			fail_msg("%s %s: %u, expected %u", role_name(role), list[i].what,
			    (uint8_t)ready->blob[i], wanted);
	}
}

static void in_each_row_a_canary_meets_what_the_list_says(void **state)
{
	struct us_ctl ready;

	(void)state;
	if (!can_be_tried())
		skip();
	/* The follower's directory is standard input here: Landlock takes directories only. */
	assert_int_equal(dup2(open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC), STDIN_FILENO), 0);
	for (unsigned role = ROLE_RUNNER; role < ROLE_COUNT; role++) {
		assert_int_equal(run(role, CANARY_MAX, &ready), 0);
		assert_answers(role, &ready);
		for (unsigned i = 0; i < count; i++) {
			if (canary_expects(&list[i], role, SANDBOX_ALL) != CANARY_KILLED)
				continue;
			int status = run(role, i, &ready);

			if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
				fail_msg("%s %s: status %#x", role_name(role), list[i].what,
				    (unsigned)status);
		}
	}
}

/* Who does not say RELEASE gets nothing done. */
static void without_a_word_of_the_supervisor_it_leaves(void **state)
{
	int link, status = -1;
	pid_t pid;

	(void)state;
	if (!can_be_tried())
		skip();
	pid = start(ROLE_OBSERVER, 10, &link);
	close(link);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 64);
}

/* A shell under any uid can start a role's program. */
static void started_by_hand_it_tries_nothing(void **state)
{
	char *argv[] = { (char *)"observer", (char *)CANARY_WORD, (char *)"10", (char *)"0", NULL };
	struct role_id id = { ROLE_OBSERVER, 0 };
	int status = -1;
	pid_t pid;

	(void)state;
	assert_true(canary_is_asked(4, argv));
	assert_false(canary_is_asked(3, argv));
	argv[1] = (char *)"0";
	assert_false(canary_is_asked(4, argv));
	argv[1] = (char *)CANARY_WORD;
	pid = fork();
	if (pid == 0) {
		close(ROLE_FD_CONTROL);
		canary_main(id, 4, argv);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 64);
}

/* --- The control ----------------------------------------------------------------------------- */

static bool is_filtered(void)
{
	char text[4096] = "";
	FILE *file = fopen("/proc/self/status", "r");
	size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	if (file)
		(void)fclose(file);
	text[n] = '\0';
	return !strstr(text, "\nSeccomp:\t0\n");
}

/* A machine may have switched one of them off for everybody. */
static bool is_off(const struct canary_probe *probe)
{
	int fd = open("/proc/sys/kernel/io_uring_disabled", O_RDONLY | O_CLOEXEC);
	char c = '0';

	if (fd >= 0 && read(fd, &c, 1) == 1)
		close(fd);
	return c != '0' && strstr(probe->what, "io_uring");
}

/* Without a row every call is answered, and none as a row would. */
static void without_a_row_each_probe_ends_otherwise(void **state)
{
	(void)state;
	if (!can_be_tried() || is_filtered()) /* In a container whose own filter answers. */
		skip();
	for (unsigned i = 0; i < count; i++) {
		int status = -1;
		pid_t pid = fork();

		if (pid == 0)
			_exit(canary_try(&list[i]));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (!WIFEXITED(status))
			fail_msg("%s: killed without a filter", list[i].what);
		if (list[i].refused && WEXITSTATUS(status) == list[i].with && !is_off(&list[i]))
			fail_msg("%s: refused without a row", list[i].what);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_tried_by_each_kind_of_probe),
		cmocka_unit_test(no_probe_is_expected_to_end_in_two_ways),
		cmocka_unit_test(in_each_row_a_canary_meets_what_the_list_says),
		cmocka_unit_test(without_a_word_of_the_supervisor_it_leaves),
		cmocka_unit_test(started_by_hand_it_tries_nothing),
		cmocka_unit_test(without_a_row_each_probe_ends_otherwise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
