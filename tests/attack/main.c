/*
 * The launcher of the attack suite (see attack.h): lays out what hostile roles may find, runs each
 * attempt unlocked as the control, then each role's attempts and packets, one line each:
 * `ok - hostile syncer: ...` or `not ok - hostile syncer: ...: why`.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ipc/messages.h"
#include "policy/control.h"
#include "policy/sandbox.h"
#include "tests/attack/attack.h"

#define ANSWER_MS 2000

static const enum role hostile_roles[] = { ROLE_ELECTOR, ROLE_SYNCER, ROLE_OBSERVER, ROLE_PUBLISHER,
	ROLE_REPOINTER, ROLE_MONITOR, ROLE_LOADER, ROLE_SYNCER_DIALER };

/* The value in the sibling's memory; the address is the same in every fork. */
static uint64_t secret = 0x7365637265740000;
static unsigned failures;

static void report(const char *who, const char *what, const char *how, const char *wrong)
{
	if (wrong)
		printf("not ok - %s: %s: %s\n", who, what, wrong);
	else
		printf("ok - %s: %s%s%s\n", who, what, how[0] ? ": " : "", how);
	failures += wrong != NULL;
}

/* --- The scene ---------------------------------------------------------------------------------
 */

struct place {
	struct scene scene;
	char root[32];
	int listeners[2];
	int fds[EXTRA_FDS]; /* from FD_SCENE on; FD_LINK is made for each attempt */
};

static int tcp_socket(uint16_t *port, bool listens)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &size) != 0 ||
	    (listens && listen(fd, 64) != 0)) {
		perror("socket");
		exit(1);
	}
	*port = ntohs(at.sin_port);
	return fd;
}

static void write_file(const char *path, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, "secret\n", 7) != 7 || fchmod(fd, mode) != 0) {
		perror(path);
		exit(1);
	}
	close(fd);
}

static void lay_out(struct place *place)
{
	char victim[96];
	struct scene *scene = &place->scene;
	uint16_t unused;

	(void)snprintf(place->root, sizeof(place->root), "/tmp/attack-XXXXXX");
	if (!mkdtemp(place->root) || chmod(place->root, 0755) != 0) {
		perror(place->root);
		exit(1);
	}
	(void)snprintf(scene->credential, sizeof(scene->credential), "%s/token", place->root);
	(void)snprintf(scene->readable, sizeof(scene->readable), "%s/readable", place->root);
	(void)snprintf(scene->folder, sizeof(scene->folder), "%s/open", place->root);
	(void)snprintf(victim, sizeof(victim), "%s/victim", scene->folder);
	write_file(scene->credential, 0400);
	write_file(scene->readable, 0644);
	if (mkdir(scene->folder, 0777) != 0 || chmod(scene->folder, 0777) != 0) {
		perror(scene->folder);
		exit(1);
	}
	write_file(victim, 0666);
	scene->secret = &secret;
	place->listeners[0] = tcp_socket(&scene->port, true);
	place->listeners[1] = tcp_socket(&scene->target_port, true);
	for (int i = 0; i < EXTRA_FDS; i++)
		place->fds[i] = -1;
	place->fds[0] = memfd_create("scene", MFD_CLOEXEC);
	place->fds[FD_BOUND - FD_SCENE] = tcp_socket(&unused, false);
	place->fds[FD_PROGRAM - FD_SCENE] = open("/bin/true", O_RDONLY | O_CLOEXEC);
}

static void clear_away(const struct place *place)
{
	char victim[96];

	(void)snprintf(victim, sizeof(victim), "%s/victim", place->scene.folder);
	(void)unlink(victim);
	(void)rmdir(place->scene.folder);
	(void)unlink(place->scene.credential);
	(void)unlink(place->scene.readable);
	(void)rmdir(place->root);
}

/* What an attempt may have used up: an unconnected socket, a link. The other end of the link. */
static int refresh(struct place *place)
{
	int pair[2] = { -1, -1 }, room = 1 << 20;
	int *socket_fd = &place->fds[FD_SOCKET - FD_SCENE], *link = &place->fds[FD_LINK - FD_SCENE];

	if (*socket_fd >= 0)
		close(*socket_fd);
	if (*link >= 0)
		close(*link);
	*socket_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*socket_fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		perror("descriptors");
		exit(1);
	}
	(void)setsockopt(pair[0], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	*link = pair[0];
	return pair[1];
}

/* Somebody else under the same uid who lets himself be looked at. */
static pid_t start_sibling(uid_t uid)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setresgid(uid, uid, uid) == 0 && setresuid(uid, uid, uid) == 0 &&
		    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0 && write(ready[1], "r", 1) == 1)
			for (;;)
				(void)pause();
		_exit(1);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		fprintf(stderr, "no sibling under uid %u\n", (unsigned)uid);
	close(ready[0]);
	return pid;
}

static void end_sibling(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

/* --- Attempts ----------------------------------------------------------------------------------
 */

/* Unlocked and root: what must work, or the attempt proves nothing. */
static void control(struct place *place, const struct attempt *attempt)
{
	int other = refresh(place), status = -1;
	pid_t pid = fork();
	char wrong[64];

	if (pid == 0) {
		for (int i = 0; i < EXTRA_FDS; i++)
			if (dup2(place->fds[i], 100 + i) < 0)
				_exit(99);
		for (int i = 0; i < EXTRA_FDS; i++)
			if (dup2(100 + i, FD_SCENE + i) < 0)
				_exit(99);
		_exit(attempt->try(&place->scene));
	}
	(void)waitpid(pid, &status, 0);
	close(other);
	(void)snprintf(wrong, sizeof(wrong), "unlocked it ends with status 0x%x", (unsigned)status);
	report("unlocked", attempt->name, "works", status == 0 ? NULL : wrong);
}

static void attempt_as(struct place *place, enum role role, unsigned number)
{
	const struct attempt *attempt = &attempts[number];
	const bool without =
	    (ROLE_BIT(role) & ROLE_DIALERS) != 0 && (attempt->bonus & ~sandbox_available()) != 0;
	const bool allowed = (attempt->allowed & ROLE_BIT(role)) != 0 || without;
	int other = refresh(place), status;
	char who[48], text[256] = "", wrong[400];
	const char *how = "killed";
	struct started started;
	bool refused;

	(void)snprintf(who, sizeof(who), "hostile %s", role_name(role));
	if (!process_start(&started, role, JOB_CALL, number, place->fds)) {
		close(other);
		report(who, attempt->name, "", "it could not be started");
		return;
	}
	status = process_end(&started, false, text, sizeof(text));
	close(other);
	refused = (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) ||
		  (WIFEXITED(status) && WEXITSTATUS(status) != 0);
	if (WIFEXITED(status))
		how = WEXITSTATUS(status) ? strerrorname_np(WEXITSTATUS(status)) : "allowed";
	(void)snprintf(wrong, sizeof(wrong), "%s; status 0x%x %s",
	    !started.ready ? "it never was locked"
	    : refused      ? "refused"
			   : "not refused",
	    (unsigned)status, text);
	report(who, attempt->name, how ? how : "refused",
	    started.ready && (allowed ? status == 0 : refused) ? NULL : wrong);
}

/* --- Packets -----------------------------------------------------------------------------------
 */

/* The receiver of a role's packets, with one more sender that behaves. */
struct target {
	struct started started;
	enum role peer, honest;
	uint64_t generation;
	int honest_link;
};

static bool grant(struct target *target, enum role from, int fd)
{
	uint64_t link[3] = { from, 0, ++target->generation };
	/* What the loader's own message says it brings (encode() fills in the least values). */
	uint64_t credential[3] = { CREDENTIAL_ELECTOR, 1, 0 };

	return from == ROLE_LOADER ? process_tell(&target->started, CONTROL_CRED, credential, fd)
				   : process_tell(&target->started, CONTROL_LINK, link, fd);
}

static bool open_target(struct target *target, enum role hostile)
{
	const int none[EXTRA_FDS] = { -1, -1, -1, -1, -1 };
	int pair[2];

	*target = (struct target){ .peer = packet_peer(hostile), .honest_link = -1 };
	target->honest = packet_honest_sender(target->peer, hostile);
	if (target->honest == ROLE_COUNT ||
	    !process_start(&target->started, target->peer, JOB_RECEIVE, 0, none))
		return false;
	if (!process_await(&target->started, CONTROL_READY, NULL, ANSWER_MS) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return false;
	target->honest_link = pair[0];
	if (!grant(target, target->honest, pair[1]))
		return false;
	close(pair[1]);
	return true;
}

/* The receiver goes on: what the honest peer says still arrives, on the link that it had. */
static bool still_serves(struct target *target)
{
	char bytes[4096];
	size_t n = packet_honest(target->honest, target->peer, bytes, sizeof(bytes));
	uint64_t from = 0;

	return send(target->honest_link, bytes, n, MSG_NOSIGNAL) == (ssize_t)n &&
	       process_await(&target->started, CONTROL_WORKLOAD_SEEN, &from, ANSWER_MS) &&
	       from == target->honest;
}

static const char *judge_packet(
    struct target *target, enum role role, const struct packet *packet, int status)
{
	const bool cut = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CUT;
	uint64_t from = 0;

	if (packet->wanted == PACKET_TAKEN)
		return !process_await(&target->started, CONTROL_WORKLOAD_SEEN, &from, ANSWER_MS) ||
			       from != role
			   ? "it did not arrive"
		       : cut && role != ROLE_LOADER ? "the link was cut"
						    : NULL;
	if (!cut)
		return "the peer did not cut the link";
	/* Reported to the supervisor (F4); the loader's one-shot link is in no table. */
	if (role != ROLE_LOADER &&
	    (!process_await(&target->started, CONTROL_ACCUSE, &from, ANSWER_MS) || from != role))
		return "the peer did not report the sender";
	return NULL;
}

static void packet_as(
    struct place *place, struct target *target, enum role role, const struct packet *packet)
{
	int other = refresh(place), status;
	char who[48], text[256] = "", wrong[400];
	struct started started;
	const char *fault;
	bool granted = grant(target, role, other);

	close(other);
	(void)snprintf(who, sizeof(who), "hostile %s", role_name(role));
	if (!granted ||
	    !process_start(&started, role, JOB_PACKET, (unsigned)(packet - packets), place->fds)) {
		report(who, packet->name, "", "it could not be started");
		return;
	}
	/* Ours would keep the link open. */
	close(place->fds[FD_LINK - FD_SCENE]);
	place->fds[FD_LINK - FD_SCENE] = -1;
	status = process_end(&started, false, text, sizeof(text));
	fault = started.ready ? judge_packet(target, role, packet, status) : "it never was locked";
	if (!fault && !still_serves(target))
		fault = "the peer serves nobody any more";
	(void)snprintf(wrong, sizeof(wrong), "%s (status 0x%x %s)", fault ? fault : "",
	    (unsigned)status, text);
	report(who, packet->name,
	    packet->wanted == PACKET_CUT ? "link cut, the peer goes on" : "arrives",
	    fault ? wrong : NULL);
}

static void packets_of(struct place *place, enum role role)
{
	struct target target;
	char text[256] = "";

	if (!open_target(&target, role)) {
		report(role_name(role), "packets", "", "no peer to receive them");
		return;
	}
	for (unsigned i = 0; i < packet_count; i++)
		if (packets[i].roles & ROLE_BIT(role))
			packet_as(place, &target, role, &packets[i]);
	(void)process_end(&target.started, true, text, sizeof(text));
	close(target.honest_link);
}

/* --- All ---------------------------------------------------------------------------------------
 */

static void attack_as(struct place *place, enum role role)
{
	struct role_id id = { (uint8_t)role, 0 };

	place->scene.sibling = start_sibling(role_uid(id, ATTACK_UID_BASE));
	(void)!pwrite(place->fds[0], &place->scene, sizeof(place->scene), 0);
	for (unsigned i = 0; i < attempt_count; i++)
		attempt_as(place, role, i);
	end_sibling(place->scene.sibling);
	packets_of(place, role);
}

int main(int argc, char **argv)
{
	enum role self = argc > 0 ? role_by_name(argv[0]) : ROLE_COUNT;
	struct place place = { 0 };

	if (self != ROLE_COUNT)
		return hostile_main(self, argc, argv);
	if (geteuid() != 0) {
		fprintf(stderr, "attack: root is needed: each probe runs under a uid of its own\n");
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	lay_out(&place);
	place.scene.sibling = start_sibling(ATTACK_UID_BASE);
	for (unsigned i = 0; i < attempt_count; i++)
		control(&place, &attempts[i]);
	end_sibling(place.scene.sibling);
	for (unsigned i = 0; i < sizeof(hostile_roles) / sizeof(hostile_roles[0]); i++)
		attack_as(&place, hostile_roles[i]);
	clear_away(&place);
	return failures > 0;
}
