/*
 * The connection to one of the two sockets (see the header). It believes nothing of what comes
 * back: commands.c parses it. Called by commands.c.
 */
#include "ctl/client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/str.h"

/* Who hangs need not be ended by hand. */
#define ENDED                                                                                      \
	"; a process that hangs is ended within 30 s, by understudyd or, understudyd itself, by "  \
	"systemd"

static enum ctl_exit fail(struct err *err, const char *path, const char *name)
{
	if (errno == EACCES || errno == EPERM) {
		/* audit.sock and canary.sock are for whom admin.sock is for. */
		err_set(err, "%s: permission denied; expected root or a member of run.%s-group",
		    path, strcmp(name, "status") == 0 ? name : "admin");
		return CTL_REFUSED;
	}
	if (errno == EAGAIN)
		err_set(err, "%s: nobody takes the question within %d s: understudyd hangs" ENDED,
		    path, CLIENT_PATIENCE_S);
	else
		err_set(err,
		    CLIENT_ABSENT
		    " at %s (%s; elsewhere: --socket): nothing was asked. It may be started at any "
		    "time, for it leads by its guards only: systemctl start understudyd (and if "
		    "that fails: understudyctl check-config)",
		    path, strerror(errno));
	return CTL_NO_DAEMON;
}

static enum ctl_exit read_all(
    int fd, const char *path, const char *who, int patience_s, struct buf *out, struct err *err)
{
	char block[16384];
	ssize_t n;

	/* A stop and its end, by ^Z and fg, interrupt a socket with a time-out (signal(7)). */
	while (((n = recv(fd, block, sizeof(block), 0)) > 0 || (n < 0 && errno == EINTR)) &&
	       !out->failed)
		if (n > 0)
			buf_append(out, block, (size_t)n);
	if (n == 0 && out->len > 0 && !out->failed)
		return CTL_DONE;
	if (out->failed)
		err_set(
		    err, "%s: the answer is larger than 8 MiB; is it understudyd's socket?", path);
	else if (n < 0 && errno == EAGAIN)
		err_set(err, "%s: no answer within %d s; the %s hangs or restarts" ENDED, path,
		    patience_s, who);
	else
		err_set(err,
		    "%s: closed without an answer; the %s restarts or is asked by too many, try "
		    "again",
		    path, who);
	return CTL_NO_DAEMON;
}

static enum ctl_exit connect_to(
    const char *path, const char *name, int patience_s, int *connected, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = patience_s };
	int fd;

	*connected = -1;
	if (!str_copy(address.sun_path, sizeof(address.sun_path), str_of(path))) {
		err_set(err, "%.120s...: longer than the %zu bytes of a socket's path", path,
		    sizeof(address.sun_path) - 1);
		return CTL_USAGE;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) != 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
		enum ctl_exit code = fail(err, path, name);

		if (fd >= 0)
			close(fd);
		return code;
	}
	*connected = fd;
	return CTL_DONE;
}

enum ctl_exit client_read(const char *path, struct buf *out, struct err *err)
{
	int fd;
	enum ctl_exit code = connect_to(path, "status", CLIENT_PATIENCE_S, &fd, err);

	if (code == CTL_DONE)
		code = read_all(fd, path, "monitor", CLIENT_PATIENCE_S, out, err);
	if (fd >= 0)
		close(fd);
	return code;
}

enum ctl_exit client_audit(const char *status_path, bool deep, struct buf *out, struct err *err)
{
	const char *name = deep ? "canary" : "audit";
	int patience_s = deep ? CLIENT_DEEP_PATIENCE_S : CLIENT_PATIENCE_S;
	char path[512];
	const char *slash = strrchr(status_path, '/');
	int directory = slash ? (int)(slash - status_path) + 1 : 0;
	enum ctl_exit code;
	int fd;

	(void)snprintf(path, sizeof(path), "%.*s%s.sock", directory, status_path, name);
	code = connect_to(path, name, patience_s, &fd, err);
	if (code == CTL_DONE)
		code = read_all(fd, path, "supervisor", patience_s, out, err);
	if (fd >= 0)
		close(fd);
	return code == CTL_REFUSED ? CTL_UNVERIFIED : code;
}

enum ctl_exit client_ask(
    const char *path, struct str line, int patience_s, struct buf *out, struct err *err)
{
	int fd;
	enum ctl_exit code = connect_to(path, "admin", patience_s, &fd, err);

	/* From here on an answer that does not come says nothing about what was done (B14). */
	if (code == CTL_DONE &&
	    (send(fd, line.p, line.n, MSG_NOSIGNAL) != (ssize_t)line.n ||
		read_all(fd, path, "elector", patience_s, out, err) != CTL_DONE)) {
		err_set(err,
		    "%s: no answer; whether the command was taken is not known: see status and "
		    "history" ENDED,
		    path);
		code = CTL_UNKNOWN;
	}
	if (fd >= 0)
		close(fd);
	return code;
}

enum ctl_exit client_daemon(const char *path, long *pid, struct err *err)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int fd;
	enum ctl_exit code = connect_to(path, "admin", CLIENT_PATIENCE_S, &fd, err);

	if (code == CTL_DONE && (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
				    peer.pid < 1 || peer.uid != 0)) {
		err_set(err, "%s: its listener is no understudyd", path);
		code = CTL_NO_DAEMON;
	}
	if (code == CTL_DONE)
		*pid = peer.pid;
	if (fd >= 0)
		close(fd);
	return code;
}
