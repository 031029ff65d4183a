/*
 * One step for many clusters (see bootstrap.h): far servers answer slowly, and a kubectl costs a
 * tenth of a second. A child has its own memory, so that steps need no lock; it sends back its exit
 * code, its error and what it tells, through a pipe. Called by bootstrap.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctl/bootstrap.h"

#define AT_ONCE 8

struct head {
	enum ctl_exit code;
	struct err err;
};

static void write_all(int fd, const void *bytes, size_t n)
{
	const char *at = bytes;

	while (n > 0) {
		ssize_t wrote = write(fd, at, n);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return;
		at += wrote;
		n -= (size_t)wrote;
	}
}

/* The end that its result comes from, -1 when there is none. */
static int begin(struct bootstrap *b, unsigned i,
    enum ctl_exit (*step)(struct bootstrap *, unsigned), pid_t *pid)
{
	struct buf said = buf_make(1 << 20);
	struct head head = { .code = CTL_REFUSED };
	int ends[2];

	if (pipe(ends) != 0)
		return -1;
	*pid = fork();
	if (*pid == 0) {
		close(ends[0]);
		/* Until _exit below they are there. */
		/* cppcheck-suppress autoVariables */
		b->said = &said;
		/* cppcheck-suppress autoVariables */
		b->err = &head.err;
		b->quiet = true;
		head.code = step(b, i);
		write_all(ends[1], &head, sizeof(head));
		write_all(ends[1], said.data, said.len);
		_exit(0);
	}
	close(ends[1]);
	if (*pid > 0)
		return ends[0];
	close(ends[0]);
	return -1;
}

/* Waits for the end of one and takes what it sent. */
static enum ctl_exit take(struct bootstrap *b, int fd, pid_t pid, struct head *head)
{
	struct buf all = buf_make(2 << 20);
	char block[4096];
	ssize_t n;

	*head = (struct head){ .code = CTL_UNKNOWN, .err = { "a process of ours ended badly" } };
	while ((n = read(fd, block, sizeof(block))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0)
			buf_append(&all, block, (size_t)n);
	close(fd);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (all.len >= sizeof(*head)) {
		memcpy(head, all.data, sizeof(*head));
		buf_append(b->said, all.data + sizeof(*head), all.len - sizeof(*head));
		bootstrap_show(b);
	}
	buf_free(&all);
	return head->code;
}

enum ctl_exit bootstrap_many(
    struct bootstrap *b, unsigned count, enum ctl_exit (*step)(struct bootstrap *, unsigned))
{
	int fds[AT_ONCE];
	pid_t pids[AT_ONCE];
	enum ctl_exit code = CTL_DONE;
	unsigned begun = 0;
	struct head head;

	for (unsigned i = 0; i < begun || (i < count && code == CTL_DONE); i++) {
		while (begun < count && begun < i + AT_ONCE && code == CTL_DONE) {
			fds[begun % AT_ONCE] = begin(b, begun, step, &pids[begun % AT_ONCE]);
			if (fds[begun % AT_ONCE] < 0) {
				err_set(b->err, "no process can be started: %s", strerror(errno));
				code = CTL_REFUSED;
				break;
			}
			begun++;
		}
		if (i < begun && take(b, fds[i % AT_ONCE], pids[i % AT_ONCE], &head) != CTL_DONE &&
		    code == CTL_DONE) {
			code = head.code;
			*b->err = head.err;
		}
	}
	return code;
}
