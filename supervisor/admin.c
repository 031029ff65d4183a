/*
 * Passes administrators' connections on (see the header). What protects the elector from a crowd
 * is here: connections beyond a rate are closed unread, and so is everybody whom this user
 * namespace does not know. Called by main; then by the loop.
 */
#include "supervisor/admin.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "supervisor/process.h"
#include "supervisor/wire.h"

#define OVERFLOW_UID 65534
/* The elector gives each client 2 s, so that it never holds many more than these. */
#define TOKENS   16
#define TOKEN_NS (BASE_NS_PER_S / 4)

bool admin_take_token(struct admin *admin, int64_t now_ns)
{
	int64_t earned = (now_ns - admin->earned_ns) / TOKEN_NS;

	if (earned > 0) {
		admin->spent = earned >= admin->spent ? 0 : admin->spent - (unsigned)earned;
		admin->earned_ns += earned * TOKEN_NS;
	}
	if (admin->spent >= TOKENS)
		return false;
	admin->spent++;
	return true;
}

bool admin_knows(const struct ucred *user)
{
	return user->pid > 0 && user->uid != OVERFLOW_UID && user->uid != (uid_t)-1;
}

/* True when the connection went on its way. */
static bool pass_on(struct supervisor *supervisor, int fd)
{
	struct process *elector = process_of(supervisor, (struct role_id){ ROLE_ELECTOR, 0 });
	struct us_ctl ctl = { .type = CONTROL_ADMIN_CLIENT };
	struct ucred user = { 0 };
	socklen_t bytes = sizeof(user);

	if (supervisor->stop_asked || !process_serves(elector) ||
	    !admin_take_token(&supervisor->admin, base_clock_boot_ns()))
		return false;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &bytes) != 0 || !admin_knows(&user)) {
		log_warn("admin.sock: uid %u, pid %d is nobody of this user namespace: refused",
		    user.uid, (int)user.pid);
		return false;
	}
	ctl.a[0] = user.uid;
	ctl.a[1] = user.gid;
	ctl.a[2] = (uint64_t)user.pid;
	process_send(elector, &ctl, NULL, 0, fd);
	return true;
}

static void on_ready(void *arg, uint32_t events)
{
	struct supervisor *supervisor = arg;
	int fd;

	(void)events;
	fd = accept4(supervisor->admin.watch.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	if (!pass_on(supervisor, fd))
		log_debug("admin.sock: a connection was closed: no elector, or too many");
	close(fd);
}

int admin_open(struct supervisor *supervisor, struct err *err)
{
	const struct us_config *config = supervisor->config;
	int fd;

	supervisor->admin = (struct admin){ .watch = { .fd = -1 } };
	if (!(config_roles(config) & ROLE_BIT(ROLE_ELECTOR)))
		return 0;
	fd = wire_open_socket(supervisor, "admin.sock", config->admin_group, 0177, err);
	if (fd < 0)
		return -1;
	if (events_add(&supervisor->events, &supervisor->admin.watch, fd, on_ready, supervisor) ==
	    0)
		return 0;
	(void)err_set(err, "admin.sock: %s", strerror(errno));
	close(fd);
	return -1;
}
