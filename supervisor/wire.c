/*
 * Makes the links and the listeners (see the header). The supervisor keeps no end of any link: it
 * is not in the data path. Called by the loop, by requests.c and when a process ended.
 * Pitfalls: P40, P84.
 */
#include "supervisor/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "supervisor/process.h"

#define LISTEN_BACKLOG 64
/* Asked for each link: the most that a user may have; a burst of status texts fits. */
#define LINK_BUFFER_BYTES (1 << 20)

/* --- Links ---------------------------------------------------------------------------------- */

static bool planned(const struct process *process)
{
	return process->supervisor != NULL && process->id.role != ROLE_LOADER;
}

static bool linked(const struct process *a, const struct process *b)
{
	return planned(a) && planned(b) &&
	       (role_row(a->id.role)->links & ROLE_BIT(b->id.role)) != 0;
}

struct wire *wire_between(struct process *process, struct role_id peer)
{
	struct supervisor *supervisor = process->supervisor;
	const struct process *other = process_of(supervisor, peer);

	for (unsigned i = 0; i < supervisor->wire_count; i++) {
		struct wire *wire = &supervisor->wires[i];

		if ((wire->ends[0] == process && wire->ends[1] == other) ||
		    (wire->ends[1] == process && wire->ends[0] == other))
			return wire;
	}
	return NULL;
}

void wire_plan(struct supervisor *supervisor)
{
	struct process *slots = supervisor->slots;
	unsigned end = ROLE_COUNT + ROLE_MAX_SHARDS, count = 0;

	for (unsigned a = 0; a < end; a++)
		for (unsigned b = 0; b < a; b++)
			count += linked(&slots[a], &slots[b]);
	supervisor->wires =
	    realloc(supervisor->wires, (count ? count : 1) * sizeof(*supervisor->wires));
	CHECK(supervisor->wires);
	for (unsigned a = 0; a < end; a++)
		for (unsigned b = 0; b < a; b++)
			if (linked(&slots[a], &slots[b]) && !wire_between(&slots[a], slots[b].id))
				supervisor->wires[supervisor->wire_count++] =
				    (struct wire){ .ends = { &slots[a], &slots[b] } };
}

/* F20: both ends learn the generation and name it in their reports, so that the end of a former
 * link is not taken for that of this one (requests.c). */
static void grant(struct wire *wire, int64_t now_ns)
{
	int pair[2], room = LINK_BUFFER_BYTES;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		log_error("no link for %s and %s: %s", wire->ends[0]->name, wire->ends[1]->name,
		    strerror(errno));
		wire->again_ns = now_ns + children_link_delay(&wire->backoff, 0);
		return;
	}
	wire->generation++;
	wire->up = true;
	wire->cut = false;
	wire->since_ns = now_ns;
	for (int i = 0; i < 2; i++) {
		const struct role_id peer = wire->ends[1 - i]->id;
		struct us_ctl ctl = { .type = CONTROL_LINK,
			.a = { peer.role, peer.shard, wire->generation } };

		(void)setsockopt(pair[i], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
		process_send(wire->ends[i], &ctl, NULL, 0, pair[i]);
		close(pair[i]);
	}
}

int64_t wire_due(struct supervisor *supervisor, int64_t now_ns)
{
	int64_t next_ns = INT64_MAX;

	for (unsigned i = 0; i < supervisor->wire_count; i++) {
		struct wire *wire = &supervisor->wires[i];

		if (wire->up || !process_serves(wire->ends[0]) || !process_serves(wire->ends[1]))
			continue;
		if (now_ns >= wire->again_ns)
			grant(wire, now_ns);
		else if (wire->again_ns < next_ns)
			next_ns = wire->again_ns;
	}
	return next_ns;
}

void wire_forget(struct process *process)
{
	struct supervisor *supervisor = process->supervisor;

	for (unsigned i = 0; i < supervisor->wire_count; i++) {
		struct wire *wire = &supervisor->wires[i];

		if (wire->ends[0] != process && wire->ends[1] != process)
			continue;
		wire->up = wire->cut = false;
		wire->again_ns = 0;
		wire->backoff = (struct children_backoff){ 0 };
	}
}

void wire_cut(struct process *process, struct role_id peer, int64_t now_ns)
{
	struct wire *wire = wire_between(process, peer);

	/* The other end reports the same cut; and a dying process's links need no delay. */
	if (!wire || !wire->up || process_of(process->supervisor, peer)->killed)
		return;
	wire->up = false;
	wire->cut = true;
	wire->again_ns = now_ns + children_link_delay(&wire->backoff, now_ns - wire->since_ns);
	log_debug("link of %s and %s was cut: comes back in %lld s", wire->ends[0]->name,
	    wire->ends[1]->name, (long long)((wire->again_ns - now_ns) / BASE_NS_PER_S));
}

/* --- Listeners ------------------------------------------------------------------------------ */

/* A literal address, so that nothing is resolved here. */
static int make_address(
    const char *text, uint16_t port, struct sockaddr_storage *address, socklen_t *bytes)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
		memcpy(address, &v4, *bytes = sizeof(v4));
		return 0;
	}
	if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1) {
		memcpy(address, &v6, *bytes = sizeof(v6));
		return 0;
	}
	return -1;
}

static int open_http(const struct us_config *config, struct err *err)
{
	const char *text = config_text_at(config, config->listen_address);
	struct sockaddr_storage address = { 0 };
	socklen_t bytes;
	int fd, one = 1;

	if (make_address(text, (uint16_t)config->listen_port, &address, &bytes))
		return err_set(err, "listen.http: \"%s\" is no literal address", text);
	fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
	    bind(fd, (struct sockaddr *)&address, bytes) == 0 && listen(fd, LISTEN_BACKLOG) == 0)
		return fd;
	(void)err_set(err, "listen.http %s:%u: %s", text, config->listen_port, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

int wire_group(const char *name, const char *path, gid_t *gid)
{
	FILE *file;
	struct group *group;
	int result = -1;

	*gid = 0;
	if (*name == '\0')
		return 0;
	file = fopen(path, "re");
	while (file && result != 0 && (group = fgetgrent(file)) != NULL) {
		if (strcmp(group->gr_name, name) != 0)
			continue;
		*gid = group->gr_gid;
		result = 0;
	}
	if (file)
		fclose(file);
	return result;
}

/* Owner and mode are right from the first moment on: the effective gid while it is bound gives the
 * file its group without CAP_CHOWN, the umask its mode (sandbox-rules 8). */
static int bind_as(int fd, const struct sockaddr_un *address, gid_t gid, mode_t forbidden)
{
	mode_t mask = umask(forbidden);
	int result = -1, error;

	if (setegid(gid) == 0)
		result = bind(fd, (const struct sockaddr *)address, sizeof(*address));
	error = errno;
	CHECK(setegid(0) == 0);
	(void)umask(mask);
	errno = error;
	return result;
}

static const char *const socket_names[SOCKET_COUNT] = { "status.sock", "admin.sock", "audit.sock",
	"canary.sock" };

/* The lock on the fence page says that no other supervisor lives here: a socket that lies there
 * is a dead one's. */
int wire_open_socket(struct supervisor *supervisor, enum run_socket which, struct err *err)
{
	const struct us_config *config = supervisor->config;
	const char *directory = config_text_at(config, config->run_directory);
	const char *name = socket_names[which];
	config_text group = which == SOCKET_STATUS ? config->status_group : config->admin_group;
	mode_t forbidden = group || which == SOCKET_STATUS ? 0117 : 0177;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct stat st;
	gid_t gid;
	int fd, n;

	n = snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", directory, name);
	if (n < 0 || (size_t)n >= sizeof(address.sun_path))
		return err_set(err, "run.directory %s: too long for a socket in it", directory);
	if (wire_group(config_text_at(config, group), "/etc/group", &gid))
		return err_set(
		    err, "%s: no group \"%s\" in /etc/group", name, config_text_at(config, group));
	if (fstatat(supervisor->fence.directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISSOCK(st.st_mode))
		(void)unlinkat(supervisor->fence.directory, name, 0);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && bind_as(fd, &address, gid, forbidden) == 0 &&
	    listen(fd, LISTEN_BACKLOG) == 0 &&
	    fstatat(supervisor->fence.directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		supervisor->sockets[which] =
		    (struct socket_file){ .device = st.st_dev, .inode = st.st_ino };
		return fd;
	}
	(void)err_set(err, "%s: %s%s", address.sun_path, strerror(errno),
	    errno == EPERM && gid != 0 ? " (another group than root takes CAP_SETGID)" : "");
	if (fd >= 0)
		close(fd);
	return -1;
}

int wire_open_listeners(struct supervisor *supervisor, struct err *err)
{
	int *listeners = supervisor->listeners;

	if (!(config_roles(supervisor->config) & ROLE_BIT(ROLE_MONITOR)))
		return 0;
	listeners[CONTROL_LISTENER_HTTP] = open_http(supervisor->config, err);
	if (listeners[CONTROL_LISTENER_HTTP] < 0)
		return -1;
	listeners[CONTROL_LISTENER_STATUS] = wire_open_socket(supervisor, SOCKET_STATUS, err);
	return listeners[CONTROL_LISTENER_STATUS] < 0 ? -1 : 0;
}

static void hand_over(struct process *monitor, enum control_listener which)
{
	struct us_ctl ctl = { .type = CONTROL_LISTENER, .a = { which } };

	if (monitor->supervisor->listeners[which] >= 0)
		process_send(monitor, &ctl, NULL, 0, monitor->supervisor->listeners[which]);
}

void wire_grant_listeners(struct process *monitor)
{
	hand_over(monitor, CONTROL_LISTENER_HTTP);
	hand_over(monitor, CONTROL_LISTENER_STATUS);
}

/* --- Sockets that somebody removes ------------------------------------------------------------
 */

static const char *socket_fault(const struct supervisor *supervisor, enum run_socket which)
{
	const struct socket_file *file = &supervisor->sockets[which];
	struct stat st;

	if (file->inode == 0)
		return NULL;
	if (fstatat(supervisor->fence.directory, socket_names[which], &st, AT_SYMLINK_NOFOLLOW))
		return "was removed";
	return st.st_ino != file->inode || st.st_dev != file->device ? "was replaced" : NULL;
}

/* Who was connected stays so. The watch comes back by the turn of its owner. */
static void listen_anew(struct supervisor *supervisor, enum run_socket which, int fd)
{
	struct process *monitor = process_of(supervisor, (struct role_id){ ROLE_MONITOR, 0 });
	int *listeners[SOCKET_COUNT] = { &supervisor->listeners[CONTROL_LISTENER_STATUS],
		&supervisor->admin.listener, &supervisor->audit.listener,
		&supervisor->canary.listener };
	struct watch *watches[SOCKET_COUNT] = { NULL, &supervisor->admin.watch,
		&supervisor->audit.watch, &supervisor->canary.watch };

	if (watches[which])
		events_remove(&supervisor->events, watches[which]);
	close(*listeners[which]);
	*listeners[which] = fd;
	if (which == SOCKET_STATUS && process_serves(monitor))
		hand_over(monitor, CONTROL_LISTENER_STATUS);
}

static void mend(struct supervisor *supervisor, enum run_socket which, const char *fault)
{
	struct socket_file *file = &supervisor->sockets[which];
	bool told = file->lost;
	struct err err;
	int fd;

	if (!told)
		log_warn("%s in run.directory %s", socket_names[which], fault);
	file->lost = true;
	fd = wire_open_socket(supervisor, which, &err);
	if (fd >= 0) {
		listen_anew(supervisor, which, fd);
		log_info("%s is there again", socket_names[which]);
	} else if (!told) {
		log_error("%s; nobody can ask there until it can be bound", err.text);
	}
}

int64_t wire_mend_sockets(struct supervisor *supervisor, int64_t now_ns)
{
	if (now_ns - supervisor->sockets_ns < BASE_NS_PER_S)
		return supervisor->sockets_ns + BASE_NS_PER_S;
	supervisor->sockets_ns = now_ns;
	for (unsigned which = 0; which < SOCKET_COUNT; which++) {
		const char *fault = socket_fault(supervisor, (enum run_socket)which);

		if (fault)
			mend(supervisor, (enum run_socket)which, fault);
	}
	return now_ns + BASE_NS_PER_S;
}
