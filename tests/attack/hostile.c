/*
 * What runs inside a role's row (see attack.h): the row is entered by the library that real roles
 * use, then one attempt is made, or packets are received as a real role receives them.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ipc/role.h"
#include "policy/control.h"
#include "policy/landlock.h"
#include "policy/seccomp.h"
#include "tests/attack/attack.h"

enum { EXIT_USAGE = 64 };

/* --- A peer that receives: says from whom something arrived ---------------------------------- */

static void arrived(struct role_process *process, enum role from)
{
	role_tell(process, CONTROL_WORKLOAD_SEEN, from, 0, NULL);
}

static enum verdict on_message(
    void *ctx, const struct link *from, const struct message *message, int fd)
{
	(void)message;
	if (fd >= 0)
		close(fd);
	arrived(ctx, (enum role)from->peer.role);
	return VERDICT_FINE;
}

static void on_credential(void *ctx, const struct msg_credential *credential)
{
	(void)credential;
	arrived(ctx, ROLE_LOADER);
}

static const struct role_ops receiver_ops = { .on_message = on_message,
	.on_credential = on_credential };

/* --- A hostile role --------------------------------------------------------------------------- */

/* Waits whether the peer cuts the link. The link's own end is all that is left to look at. */
static int watch_link(int wait_ms)
{
	struct pollfd link = { FD_LINK, POLLIN, 0 };

	if (poll(&link, 1, wait_ms) <= 0)
		return EXIT_LINKED;
	return EXIT_CUT;
}

static int attack(
    const char *job, unsigned number, enum role self, enum role peer, const struct scene *scene)
{
	int error;

	if (strcmp(job, JOB_CALL) == 0)
		return attempt_at(number)->try(scene);
	error = packets[number].send(self, peer);
	if (error)
		return error;
	return watch_link(packets[number].wanted == PACKET_CUT ? PACKET_CUT_MS : PACKET_TAKEN_MS);
}

/* Landlock or filter 2 with nothing else of the lock, as role_lock would switch it on. */
static bool lock_by_one(enum role self, enum layer layer, const struct scene *scene)
{
	const uint16_t ports[] = { 53, scene->target_port };
	bool dialer = (ROLE_BIT(self) & ROLE_DIALERS) != 0;
	uint32_t groups = role_row(self)->syscalls;
	struct seccomp_program filter;

	if (self == ROLE_RUNNER) /* It has neither: its workload would inherit them (F5). */
		return true;
	if (layer == LAYER_LANDLOCK)
		return landlock_restrict(groups & SYSCALLS_HANDOVER ? ROLE_FD_FILES : -1, ports,
			   dialer ? 2 : 0) >= 0;
	seccomp_build_second(&filter, self, getpid());
	return layer != LAYER_SECCOMP || seccomp_load(&filter) == 0;
}

/* The launcher judges only attempts of processes that said it. */
static void tell_ready(void)
{
	struct us_ctl ready = { .magic = CONTROL_MAGIC, .type = CONTROL_READY };

	(void)send(ROLE_FD_CONTROL, &ready, sizeof(ready), MSG_NOSIGNAL);
}

int hostile_main(enum role self, int argc, char **argv)
{
	const char *job = argc > 4 ? argv[2] : "";
	unsigned number = argc > 4 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
	enum layer layers = argc > 4 ? (enum layer)strtoul(argv[4], NULL, 10) : LAYER_ALL;
	bool dialer = (ROLE_BIT(self) & ROLE_DIALERS) != 0;
	bool receives = strcmp(job, JOB_RECEIVE) == 0;
	struct role_process *process;
	struct scene scene = { 0 };

	mutant_become(receives ? number : 0, true);
	process = layers & LAYER_USER ? role_begin(self, argc, argv) : NULL;

	if (!receives && pread(FD_SCENE, &scene, sizeof(scene), 0) != sizeof(scene))
		return EXIT_USAGE;
	if (layers == LAYER_ALL) {
		role_attach(process, &receiver_ops, process);
		role_lock(process, dialer ? &scene.target_port : NULL, dialer ? 1 : 0);
		if (receives)
			return role_run(process);
	} else {
		if (!lock_by_one(self, layers, &scene))
			return EXIT_USAGE;
		tell_ready();
	}
	/* Not through exit: it would run code of libraries that the attempt is not about. */
	_exit(attack(job, number, self, argc > 5 ? role_by_name(argv[5]) : self, &scene));
}
