/*
 * One kubectl as a child (see the header). Called by archive.c and archived.c.
 */
#include "ctl/kubectl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "kube/lease.h"

#define REQUEST_TIMEOUT "--request-timeout=30s"

extern char **environ;

struct child {
	pid_t pid;
	int in, out, err; /* our ends, -1: closed */
};

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Words of others must not drive the terminal. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = ' ';
}

/* Behind the lines that kubectl's own log writes before it says what is wrong: E0102 03:04:05... */
static char *behind_log(char *text)
{
	char *at = text, *end;

	while (at[0] && strchr("IWEF", at[0]) && strspn(at + 1, "0123456789") == 4 &&
	       at[5] == ' ' && (end = strchr(at, '\n')) && end[1])
		at = end + 1;
	return at;
}

static bool start(struct child *child, char *const *argv)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 };
	posix_spawn_file_actions_t actions;
	bool ok =
	    pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0;

	(void)posix_spawn_file_actions_init(&actions);
	ok = ok && posix_spawn_file_actions_adddup2(&actions, in[0], 0) == 0 &&
	     posix_spawn_file_actions_adddup2(&actions, out[1], 1) == 0 &&
	     posix_spawn_file_actions_adddup2(&actions, err[1], 2) == 0 &&
	     posix_spawnp(&child->pid, "kubectl", &actions, NULL, argv, environ) == 0;
	(void)posix_spawn_file_actions_destroy(&actions);
	close_end(&in[0]);
	close_end(&out[1]);
	close_end(&err[1]);
	*child = (struct child){ child->pid, in[1], out[0], err[0] };
	if (ok)
		return true;
	close_end(&child->in);
	close_end(&child->out);
	close_end(&child->err);
	return false;
}

/* whole: a part of it would be no answer; else what fits is kept. */
static void take(int *fd, struct buf *out, bool whole)
{
	char block[16384];
	ssize_t n = read(*fd, block, sizeof(block));
	size_t room = out->max - out->len;

	if (n > 0)
		buf_append(out, block, whole || (size_t)n < room ? (size_t)n : room);
	else if (n == 0 || errno != EINTR)
		close_end(fd);
	explicit_bzero(block, sizeof(block));
}

static void give(struct child *child, struct str *input)
{
	ssize_t n = input->n ? write(child->in, input->p, input->n) : 0;

	if (n > 0) {
		input->p += n;
		input->n -= (size_t)n;
	}
	if (input->n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
		close_end(&child->in);
}

static void talk(struct child *child, struct str input, struct buf *out, struct buf *said)
{
	if (input.n == 0)
		close_end(&child->in);
	else
		(void)fcntl(child->in, F_SETFL, O_NONBLOCK);
	while (child->out >= 0 || child->err >= 0) {
		struct pollfd polled[3] = { { child->in, POLLOUT, 0 }, { child->out, POLLIN, 0 },
			{ child->err, POLLIN, 0 } };

		if (poll(polled, 3, -1) < 0 && errno != EINTR)
			break;
		if (polled[0].revents)
			give(child, &input);
		if (polled[1].revents)
			take(&child->out, out, true);
		if (polled[2].revents)
			take(&child->err, said, false);
	}
	close_end(&child->in);
	close_end(&child->out);
	close_end(&child->err);
}

static enum kubectl_outcome judge(int status, const struct buf *said)
{
	static const struct {
		const char *text;
		enum kubectl_outcome outcome;
	} words[] = { { "(NotFound)", KUBECTL_NOT_FOUND }, { "(Conflict)", KUBECTL_CONFLICT },
		{ "(AlreadyExists)", KUBECTL_EXISTS }, { "Error from server (", KUBECTL_REFUSED },
		{ "is invalid:", KUBECTL_REFUSED }, { "is forbidden:", KUBECTL_REFUSED },
		{ "doesn't have a resource type", KUBECTL_NOT_FOUND } };

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return KUBECTL_OK;
	for (size_t i = 0; said->len && i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(said->data, words[i].text))
			return words[i].outcome;
	return KUBECTL_FAILED;
}

enum kubectl_outcome kubectl_run(const struct kubectl *kubectl, const char *const *words,
    struct str input, struct buf *out, struct err *err)
{
	const char *argv[KUBECTL_MAX_WORDS + 8] = { "kubectl", REQUEST_TIMEOUT };
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	struct buf said = buf_make(8192);
	struct child child = { 0 };
	enum kubectl_outcome outcome;
	size_t n = 2;
	int status = -1; /* an end that nobody saw is no success */

	if (kubectl->kubeconfig) {
		argv[n++] = "--kubeconfig";
		argv[n++] = kubectl->kubeconfig;
	}
	if (kubectl->context) {
		argv[n++] = "--context";
		argv[n++] = kubectl->context;
	}
	for (size_t i = 0; i < KUBECTL_MAX_WORDS && words[i]; i++)
		argv[n++] = words[i];
	/* Strings of argv are not written to; POSIX only lacks the word for it. */
	if (!start(&child, (char *const *)argv)) {
		err_set(err, "kubectl cannot be started: %s; it must be in PATH", strerror(errno));
		buf_free(&said);
		return KUBECTL_FAILED;
	}
	(void)sigaction(SIGPIPE, &ignore, &before);
	talk(&child, input, out, &said);
	(void)sigaction(SIGPIPE, &before, NULL);
	while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR)
		;
	outcome = judge(status, &said);
	if (outcome != KUBECTL_OK) {
		char *text = said.len ? behind_log(said.data) : NULL;

		if (text)
			make_printable(text);
		err_set(err, "kubectl: %.400s", text ? text : "ended without a word");
	}
	buf_free(&said);
	return outcome;
}

enum kubectl_outcome kubectl_lease_holder(
    const struct kubectl *kubectl, const char *namespace, struct buf *holder, struct err *err)
{
	const char *const words[] = { "get", "leases.coordination.k8s.io", KUBE_LEASE_NAME, "-n",
		namespace, "-o", "jsonpath={.spec.holderIdentity}", NULL };
	enum kubectl_outcome outcome = kubectl_run(kubectl, words, (struct str){ 0 }, holder, err);

	if (outcome == KUBECTL_NOT_FOUND)
		err_set(err,
		    "there is no Lease %s in %s: name understudy's namespace by --namespace",
		    KUBE_LEASE_NAME, namespace);
	return outcome;
}

enum ctl_exit kubectl_exit(enum kubectl_outcome outcome, bool writes)
{
	if (outcome == KUBECTL_OK)
		return CTL_DONE;
	return outcome == KUBECTL_FAILED && writes ? CTL_UNKNOWN : CTL_REFUSED;
}
