/*
 * Passes administrators' connections on (see the header). What protects the elector from a crowd
 * is here: connections beyond a rate wait, and whom this user namespace does not know is sent
 * away. Called by main; then by the loop.
 * Pitfall: P41.
 */
#include "supervisor/admin.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "supervisor/process.h"
#include "supervisor/wire.h"

#define OVERFLOW_UID 65534
/* The elector gives each client 2 s and holds 16 at most; understudyctl asks four times a second.
 */
#define TOKENS   16
#define TOKEN_NS (BASE_NS_PER_S / 10)

unsigned admin_tokens(struct admin *admin, int64_t now_ns)
{
	int64_t earned = (now_ns - admin->earned_ns) / TOKEN_NS;

	if (earned > 0) {
		admin->spent = earned >= admin->spent ? 0 : admin->spent - (unsigned)earned;
		admin->earned_ns += earned * TOKEN_NS;
	}
	return TOKENS - admin->spent;
}

bool admin_knows(const struct ucred *user)
{
	return user->pid > 0 && user->uid != OVERFLOW_UID && user->uid != (uid_t)-1;
}

static void pass_on(struct supervisor *supervisor, int fd)
{
	struct us_ctl ctl = { .type = CONTROL_ADMIN_CLIENT };
	struct ucred user = { 0 };
	socklen_t bytes = sizeof(user);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &bytes) != 0 || !admin_knows(&user)) {
		log_warn("admin.sock: uid %u, pid %d is nobody of this user namespace: refused",
		    user.uid, (int)user.pid);
		return;
	}
	ctl.a[0] = user.uid;
	ctl.a[1] = user.gid;
	ctl.a[2] = (uint64_t)user.pid;
	process_send(
	    process_of(supervisor, (struct role_id){ ROLE_ELECTOR, 0 }), &ctl, NULL, 0, fd);
}

static bool may_accept(struct supervisor *supervisor, int64_t now_ns)
{
	return !supervisor->stop_asked &&
	       process_serves(process_of(supervisor, (struct role_id){ ROLE_ELECTOR, 0 })) &&
	       admin_tokens(&supervisor->admin, now_ns) > 0;
}

static void on_ready(void *arg, uint32_t events)
{
	struct supervisor *supervisor = arg;
	int fd;

	(void)events;
	if (!may_accept(supervisor, base_clock_boot_ns())) {
		events_remove(&supervisor->events, &supervisor->admin.watch);
		return;
	}
	/* Also for one that cannot be accepted, for want of descriptors: it stays ready. */
	supervisor->admin.spent++;
	fd = accept4(supervisor->admin.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	pass_on(supervisor, fd);
	close(fd);
}

int64_t admin_due(struct supervisor *supervisor, int64_t now_ns)
{
	struct admin *admin = &supervisor->admin;

	if (admin->listener < 0 || admin->watch.fd >= 0)
		return INT64_MAX;
	/* An elector that comes wakes the loop by itself. */
	if (!may_accept(supervisor, now_ns))
		return admin->spent >= TOKENS ? admin->earned_ns + TOKEN_NS : INT64_MAX;
	(void)events_add(&supervisor->events, &admin->watch, admin->listener, on_ready, supervisor);
	return INT64_MAX;
}

int admin_open(struct supervisor *supervisor, struct err *err)
{
	struct admin *admin = &supervisor->admin;

	*admin = (struct admin){ .listener = -1, .watch = { .fd = -1 } };
	if (!(config_roles(supervisor->config) & ROLE_BIT(ROLE_ELECTOR)))
		return 0;
	admin->listener = wire_open_socket(supervisor, SOCKET_ADMIN, err);
	return admin->listener < 0 ? -1 : 0;
}
