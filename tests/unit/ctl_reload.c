/*
 * `reload` tells the process that listens on admin.sock, waits for what came of it, and ends as
 * done, refused or not known (decision 25); `worker` lists, and says how one comes and goes (M5).
 * A child process is understudyd.
 */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctl/commands.h"

static char directory[] = "/tmp/understudyctl-test-XXXXXX", status_path[64], admin_path[64];
static struct buf out;
static struct err err;
static pid_t daemon_pid;
static volatile sig_atomic_t hangups;

static int make_directory(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	(void)snprintf(status_path, sizeof(status_path), "%s/status.sock", directory);
	(void)snprintf(admin_path, sizeof(admin_path), "%s/admin.sock", directory);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	(void)unlink(status_path);
	(void)unlink(admin_path);
	return rmdir(directory);
}

static int set_up(void **state)
{
	(void)state;
	out = buf_make(1 << 20);
	err.text[0] = '\0';
	daemon_pid = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (daemon_pid) {
		(void)kill(daemon_pid, SIGKILL);
		(void)waitpid(daemon_pid, NULL, 0);
	}
	buf_free(&out);
	return 0;
}

#define RUN(...)                                                                                   \
	commands_run((int)(sizeof((char *[]){ "understudyctl", __VA_ARGS__ }) / sizeof(char *)),   \
	    (char *[]){ "understudyctl", __VA_ARGS__, NULL }, &out, &err)

static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)unlink(path);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 4) != 0)
		_exit(1);
	return fd;
}

static void on_hangup(int number)
{
	(void)number;
	hangups++;
}

/* What it shows before the first SIGHUP, and after it. */
static void serve(const char *before, const char *after)
{
	int ready[2];
	char byte = 0;

	assert_int_equal(pipe(ready), 0);
	daemon_pid = fork();
	assert_true(daemon_pid >= 0);
	if (daemon_pid == 0) {
		struct pollfd fds[2] = { { listen_at(status_path), POLLIN, 0 },
			{ listen_at(admin_path), POLLIN, 0 } };

		(void)signal(SIGHUP, on_hangup);
		(void)!write(ready[1], &byte, 1);
		for (;;) {
			const char *text;
			int client;

			if (poll(fds, 2, -1) <= 0)
				continue;
			for (int i = 0; i < 2; i++) {
				if (!(fds[i].revents & POLLIN))
					continue;
				client = accept(fds[i].fd, NULL, NULL);
				text = hangups ? after : before;
				if (i == 0)
					(void)send(client, text, strlen(text), MSG_NOSIGNAL);
				close(client);
			}
		}
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
}

#define STATUS(reload)                                                                             \
	"{\"workers\":[{\"name\":\"w1\",\"state\":\"ok\",\"term\":4,"                              \
	"\"identity\":\"hub-a\"}],\"reload\":" reload "}\n"

static void a_reload_is_done(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	serve(STATUS("null"), STATUS("{\"count\":1,\"done\":true,\"text\":\"reloaded; it is\"}"));
	assert_int_equal(RUN("--socket", status_path, "reload"), CTL_DONE);
	assert_string_equal(out.data, "reloaded; it is\n");
}

static void a_reload_is_refused(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	serve(STATUS("{\"count\":3,\"done\":true,\"text\":\"before\"}"),
	    STATUS("{\"count\":4,\"done\":false,\"text\":\"not reloaded: lease\"}"));
	assert_int_equal(RUN("--socket", status_path, "reload"), CTL_REFUSED);
	assert_string_equal(err.text, "not reloaded: lease");
}

/* Who listens there is no understudyd: nobody is signalled. */
static void a_reload_is_told_as_json(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	serve("{\"reload\":null}", "{\"reload\":{\"count\":1,\"done\":false,\"text\":\"no\"}}");
	assert_int_equal(RUN("--socket", status_path, "reload", "-o", "json"), CTL_REFUSED);
	assert_string_equal(
	    out.data, "{\n  \"count\": 1,\n  \"done\": false,\n  \"text\": \"no\"\n}\n");
	assert_string_equal(err.text, "no");
	assert_int_equal(RUN("reload", "-o"), CTL_USAGE);
	assert_int_equal(RUN("reload", "-o", "yaml"), CTL_USAGE);
}

static void a_listener_of_another_user_is_none(void **state)
{
	int ready[2], status;
	char byte = 0;
	pid_t stranger;

	(void)state;
	if (geteuid() != 0)
		skip();
	serve(STATUS("null"), STATUS("null"));
	(void)unlink(admin_path);
	assert_int_equal(chmod(directory, 0777), 0);
	assert_int_equal(pipe(ready), 0);
	stranger = fork();
	if (stranger == 0) {
		if (setresuid(1234, 1234, 1234) != 0)
			_exit(1);
		(void)listen_at(admin_path);
		(void)!write(ready[1], &byte, 1);
		(void)pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	assert_int_equal(RUN("--socket", status_path, "reload"), CTL_NO_DAEMON);
	assert_non_null(strstr(err.text, "no understudyd"));
	/* The stranger still lives: it ends by this signal. */
	assert_int_equal(kill(stranger, SIGUSR1), 0);
	assert_int_equal(waitpid(stranger, &status, 0), stranger);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
}

static void no_daemon_and_lies(void **state)
{
	(void)state;
	assert_int_equal(RUN("--socket", "/nonexistent/status.sock", "reload"), CTL_NO_DAEMON);
	assert_int_equal(
	    RUN("--socket", "/nonexistent/status.sock", "worker", "list"), CTL_NO_DAEMON);
	serve("[]\n", "[]\n");
	assert_int_equal(RUN("--socket", status_path, "reload"), CTL_NO_DAEMON);
	assert_non_null(strstr(err.text, "no status document"));
	assert_int_equal(RUN("--socket", status_path, "worker", "list"), CTL_NO_DAEMON);
	assert_int_equal(RUN("--socket", status_path, "worker", "remove", "w1"), CTL_NO_DAEMON);
}

static void workers_are_listed_and_their_coming_and_going_explained(void **state)
{
	(void)state;
	serve(STATUS("null"), STATUS("null"));
	assert_int_equal(RUN("--socket", status_path, "worker", "list"), CTL_DONE);
	assert_non_null(strstr(out.data, "w1"));
	assert_non_null(strstr(out.data, "hub-a"));
	assert_true(out.data[0] == 'W'); /* its head first */
	buf_clear(&out);
	assert_int_equal(RUN("--socket", status_path, "worker", "list", "-o", "json"), CTL_DONE);
	assert_non_null(strstr(out.data, "\"name\": \"w1\""));
	buf_clear(&out);
	assert_int_equal(RUN("--socket", status_path, "worker", "remove", "w1"), CTL_DONE);
	assert_non_null(strstr(out.data, "take w1 out of `workers`"));
	assert_non_null(strstr(out.data, "break-glass"));
	buf_clear(&out);
	assert_int_equal(RUN("--socket", status_path, "worker", "remove", "w2"), CTL_REFUSED);
	assert_non_null(strstr(err.text, "no worker is called w2"));
	assert_int_equal(out.len, 0);
	assert_int_equal(RUN("--socket", status_path, "worker", "add", "w2"), CTL_DONE);
	assert_non_null(strstr(out.data, "- {name: w2, project-namespace: "));
	assert_non_null(strstr(out.data, "understudyctl reload"));
	buf_clear(&out);
	assert_int_equal(RUN("--socket", status_path, "worker", "add", "w1"), CTL_REFUSED);
	assert_non_null(strstr(err.text, "w1 is one of this hub's workers already"));
	assert_int_equal(out.len, 0);
}

static void misuse(void **state)
{
	(void)state;
	assert_int_equal(RUN("reload", "now"), CTL_USAGE);
	assert_int_equal(RUN("worker"), CTL_USAGE);
	assert_int_equal(RUN("worker", "list", "-o"), CTL_USAGE);
	assert_int_equal(RUN("worker", "list", "-o", "yaml"), CTL_USAGE);
	assert_int_equal(RUN("worker", "list", "all"), CTL_USAGE);
	assert_int_equal(RUN("worker", "remove"), CTL_USAGE);
	assert_int_equal(RUN("worker", "add"), CTL_USAGE);
	assert_int_equal(RUN("worker", "add", "w", "now"), CTL_USAGE);
	assert_int_equal(RUN("worker", "move", "w"), CTL_USAGE);
	assert_non_null(strstr(err.text, "unknown word move"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_reload_is_done),
		TEST(a_reload_is_refused),
		TEST(a_reload_is_told_as_json),
		TEST(a_listener_of_another_user_is_none),
		TEST(no_daemon_and_lies),
		TEST(workers_are_listed_and_their_coming_and_going_explained),
		TEST(misuse),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
