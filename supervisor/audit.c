/*
 * audit.sock (see the header). One reader at a time gets the rows, without our waiting for it; one
 * that does not read is hung up on. Reads nothing of what a client sends. Called by main; then by
 * the loop.
 */
#include "supervisor/audit.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "supervisor/admin.h"
#include "supervisor/wire.h"

/* A reader has so long for all rows. */
#define PATIENCE_NS (2 * BASE_NS_PER_S)
/* Between two readers: looking at everything costs some milliseconds, and the loop has other work.
 */
#define PAUSE_NS (BASE_NS_PER_S / 4)

static void hang_up(struct supervisor *supervisor)
{
	struct audit *audit = &supervisor->audit;
	int fd = audit->client.fd;

	events_remove(&supervisor->events, &audit->client);
	close(fd);
	buf_free(&audit->rows);
}

/* As much as there is room for. */
static void give(struct supervisor *supervisor)
{
	struct audit *audit = &supervisor->audit;
	ssize_t n;

	while (audit->sent < audit->rows.len) {
		n = send(audit->client.fd, audit->rows.data + audit->sent,
		    audit->rows.len - audit->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0)
			break;
		audit->sent += (size_t)n;
	}
	hang_up(supervisor);
}

static void on_client(void *arg, uint32_t events)
{
	/* Room, or it hung up, and then sending fails. */
	(void)events;
	give(arg);
}

bool audit_admits(int fd, const char *socket, const char *what)
{
	struct ucred user = { 0 };
	socklen_t bytes = sizeof(user);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &bytes) != 0 || !admin_knows(&user)) {
		log_warn("%s: uid %u, pid %d is nobody of this user namespace: refused", socket,
		    user.uid, (int)user.pid);
		return false;
	}
	log_info("%s: %s, by uid %u, pid %d", socket, what, user.uid, (int)user.pid);
	return true;
}

void audit_answer(struct supervisor *supervisor, int fd, bool deep, int64_t now_ns)
{
	struct audit *audit = &supervisor->audit;

	audit->rows = buf_make(AUDIT_MAX_BYTES);
	audit->sent = 0;
	audit->until_ns = now_ns + PATIENCE_NS;
	audit_collect(supervisor, deep ? AUDIT_DEEP : AUDIT_PLAIN, &audit->rows);
	/* Rows that were too many lack their end, and the reader says so. */
	if (events_add(&supervisor->events, &audit->client, fd, on_client, supervisor) != 0) {
		close(fd);
		buf_free(&audit->rows);
		return;
	}
	events_only_write(&supervisor->events, &audit->client);
}

static void serve(struct supervisor *supervisor, int fd, int64_t now_ns)
{
	if (audit_admits(fd, "audit.sock", "audit"))
		audit_answer(supervisor, fd, false, now_ns);
	else
		close(fd);
}

static void on_ready(void *arg, uint32_t events)
{
	struct supervisor *supervisor = arg;
	struct audit *audit = &supervisor->audit;
	int64_t now_ns = base_clock_boot_ns();
	int fd;

	(void)events;
	events_remove(&supervisor->events, &audit->watch);
	if (audit->client.fd >= 0) /* A canary's reader came first. */
		return;
	fd = accept4(audit->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	audit->again_ns = now_ns + PAUSE_NS;
	if (fd >= 0)
		serve(supervisor, fd, now_ns);
}

int64_t audit_due(struct supervisor *supervisor, int64_t now_ns)
{
	struct audit *audit = &supervisor->audit;

	if (audit->listener < 0)
		return INT64_MAX;
	if (audit->client.fd >= 0) {
		if (now_ns < audit->until_ns)
			return audit->until_ns;
		hang_up(supervisor);
	}
	if (audit->watch.fd >= 0)
		return INT64_MAX;
	if (now_ns < audit->again_ns)
		return audit->again_ns;
	(void)events_add(&supervisor->events, &audit->watch, audit->listener, on_ready, supervisor);
	return INT64_MAX;
}

int audit_open(struct supervisor *supervisor, struct err *err)
{
	struct audit *audit = &supervisor->audit;

	*audit = (struct audit){ .listener = -1, .watch = { .fd = -1 }, .client = { .fd = -1 } };
	audit->listener = wire_open_socket(supervisor, SOCKET_AUDIT, err);
	return audit->listener < 0 ? -1 : 0;
}
