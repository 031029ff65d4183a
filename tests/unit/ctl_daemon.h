/*
 * The daemon's two sockets, played by a child from a script of answers, for tests of understudyctl:
 * it keeps the requests; and a kubectl. Included by one test program each.
 */
#ifndef TESTS_CTL_DAEMON_H
#define TESTS_CTL_DAEMON_H

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

static char directory[] = "/tmp/understudyctl-test-XXXXXX", path[64], requests[96];
static struct buf out;
static struct err err;

static inline int make_directory(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/status.sock", directory);
	(void)snprintf(requests, sizeof(requests), "%s/requests", directory);
	return freopen("/dev/null", "r", stdin) ? 0 : -1; /* no terminal */
}

/* The same, where a kubectl is looked for first. */
static inline int make_kubectl_directory(void **state)
{
	char place[600];

	if (make_directory(state) != 0)
		return -1;
	(void)snprintf(place, sizeof(place), "%s:%.500s", directory, getenv("PATH"));
	return setenv("PATH", place, 1);
}

/* A kubectl of these lines of shell, with its words in $all. */
static inline void put_kubectl(const char *text)
{
	char script[96];
	FILE *file;

	(void)snprintf(script, sizeof(script), "%s/kubectl", directory);
	file = fopen(script, "w");
	assert_non_null(file);
	(void)fprintf(file, "#!/bin/sh\nall=\" $* \"\n%s\n", text);
	(void)fclose(file);
	assert_int_equal(chmod(script, 0755), 0);
}

static inline int remove_directory(void **state)
{
	char other[96];

	(void)state;
	(void)unlink(path);
	(void)unlink(requests);
	(void)snprintf(other, sizeof(other), "%s/admin.sock", directory);
	(void)unlink(other);
	(void)snprintf(other, sizeof(other), "%s/kubectl", directory);
	(void)unlink(other);
	return rmdir(directory);
}

static inline int set_up(void **state)
{
	(void)state;
	out = buf_make(1 << 20);
	err.text[0] = '\0';
	(void)unlink(requests);
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	buf_free(&out);
	return 0;
}

#define RUN(...)                                                                                   \
	commands_run((int)(sizeof((char *[]){ "understudyctl", "--socket", path, __VA_ARGS__ }) /  \
			   sizeof(char *)),                                                        \
	    (char *[]){ "understudyctl", "--socket", path, __VA_ARGS__, NULL }, &out, &err)

static inline int listen_at(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", directory, name);
	(void)unlink(address.sun_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 4), 0);
	return fd;
}

/* kept: what was asked goes there; may be NULL. */
static inline void answer_one(int fd, const char *text, FILE *kept)
{
	char line[2048] = "";
	int client = accept(fd, NULL, NULL);
	ssize_t n = kept ? read(client, line, sizeof(line) - 1) : 0;

	if (kept && n > 0) {
		(void)fputs(line, kept);
		(void)fflush(kept);
	}
	if (text)
		(void)!write(client, text, strlen(text));
	close(client);
}

static pid_t daemon_pid;

/* status: the one document, for whoever asks; NULL: nobody is there. Then one answer for each
 * connection to admin.sock, in that order; none for those that follow. */
static inline void serve(const char *status, const char *const *answers, unsigned count)
{
	int status_fd = status ? listen_at("status.sock") : -1, fd = listen_at("admin.sock");
	struct pollfd polled[2] = { { fd, POLLIN, 0 }, { status_fd, POLLIN, 0 } };
	unsigned next = 0;
	FILE *kept;

	daemon_pid = fork();
	assert_true(daemon_pid >= 0);
	if (daemon_pid == 0) {
		(void)alarm(60);
		kept = fopen(requests, "w");
		while (poll(polled, 2, -1) > 0) {
			if (polled[1].revents)
				answer_one(status_fd, status, NULL);
			if (polled[0].revents)
				answer_one(fd, next < count ? answers[next] : "", kept);
			next += polled[0].revents != 0;
		}
		_exit(0);
	}
	close(fd);
	if (status)
		close(status_fd);
	else
		(void)unlink(path);
}

#define SERVE(status, ...)                                                                         \
	serve(status, (const char *const[]){ __VA_ARGS__ },                                        \
	    sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static inline const char *asked(void)
{
	static char text[4096];
	FILE *file;
	size_t n;

	assert_int_equal(kill(daemon_pid, SIGKILL), 0);
	assert_int_equal(waitpid(daemon_pid, NULL, 0), daemon_pid);
	file = fopen(requests, "r");
	assert_non_null(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	text[n] = '\0';
	return text;
}

#endif
