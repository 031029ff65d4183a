/*
 * What hostile roles may find (see attack.h): files, sockets, a neighbour under their own uid. All
 * of it is made for one run and cleared away behind it.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/attack/attack.h"

/* The value in the sibling's memory; the address is the same in every fork. */
static uint64_t secret = 0x7365637265740000;

_Noreturn static void give_up(const char *what)
{
	perror(what);
	exit(1);
}

static int tcp_socket(uint16_t *port, bool listens)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &size) != 0 || (listens && listen(fd, 64) != 0))
		give_up("socket");
	*port = ntohs(at.sin_port);
	return fd;
}

static void write_file(const char *path, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, "secret\n", 7) != 7 || fchmod(fd, mode) != 0)
		give_up(path);
	close(fd);
}

static int make_folder(const char *path)
{
	int fd = -1;

	if (mkdir(path, 0777) != 0 || chmod(path, 0777) != 0 ||
	    (fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
		give_up(path);
	return fd;
}

void scene_lay_out(struct place *place)
{
	struct scene *scene = &place->scene;
	char handover[64];
	uint16_t unused;

	*place = (struct place){ .scene = { .secret = &secret } };
	(void)snprintf(place->root, sizeof(place->root), "/tmp/attack-XXXXXX");
	if (!mkdtemp(place->root) || chmod(place->root, 0755) != 0)
		give_up(place->root);
	(void)snprintf(scene->credential, sizeof(scene->credential), "%s/token", place->root);
	(void)snprintf(scene->readable, sizeof(scene->readable), "%s/readable", place->root);
	(void)snprintf(scene->folder, sizeof(scene->folder), "%s/open", place->root);
	(void)snprintf(scene->victim, sizeof(scene->victim), "%s/open/victim", place->root);
	(void)snprintf(handover, sizeof(handover), "%s/handover", place->root);
	write_file(scene->credential, 0400);
	write_file(scene->readable, 0644);
	close(make_folder(scene->folder));
	place->handover = make_folder(handover);
	write_file(scene->victim, 0666);
	place->listeners[0] = tcp_socket(&scene->port, true);
	place->listeners[1] = tcp_socket(&scene->target_port, true);
	for (int i = 0; i < EXTRA_FDS; i++)
		place->fds[i] = -1;
	place->fds[0] = memfd_create("scene", MFD_CLOEXEC);
	place->fds[FD_BOUND - FD_SCENE] = tcp_socket(&unused, false);
	place->fds[FD_PROGRAM - FD_SCENE] = open("/bin/true", O_RDONLY | O_CLOEXEC);
	place->fds[FD_PAGE - FD_SCENE] = open(scene->readable, O_RDONLY | O_CLOEXEC);
}

void scene_clear_away(const struct place *place)
{
	char handover[64];

	(void)snprintf(handover, sizeof(handover), "%s/handover", place->root);
	(void)unlink(place->scene.victim);
	(void)rmdir(place->scene.folder);
	(void)rmdir(handover);
	(void)unlink(place->scene.credential);
	(void)unlink(place->scene.readable);
	(void)rmdir(place->root);
}

static void replace(int *fd, int by)
{
	if (*fd >= 0)
		close(*fd);
	*fd = by;
	if (by < 0)
		give_up("descriptors");
}

/* What attempts connected is taken and closed, so that no queue of a listener ever is full. */
static void drain(const struct place *place)
{
	for (int i = 0; i < 2; i++)
		for (int fd; (fd = accept4(place->listeners[i], NULL, NULL, SOCK_CLOEXEC)) >= 0;)
			close(fd);
}

/* A connection to the first listener, whose other end is gone: nobody reads, nobody answers. */
static int connection(const struct place *place)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(place->scene.port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		give_up("connection");
	drain(place);
	return fd;
}

int scene_refresh(struct place *place)
{
	int pair[2] = { -1, -1 }, room = 1 << 20;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		give_up("socketpair");
	(void)setsockopt(pair[0], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	replace(&place->fds[FD_SOCKET - FD_SCENE], socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	replace(&place->fds[FD_CONNECTED - FD_SCENE], connection(place));
	replace(&place->fds[FD_LINK - FD_SCENE], pair[0]);
	return pair[1];
}

void scene_start_sibling(struct place *place, uid_t uid)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) != 0)
		give_up("pipe");
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
		give_up("no sibling");
	close(ready[0]);
	place->scene.sibling = pid;
	if (pwrite(place->fds[0], &place->scene, sizeof(place->scene), 0) != sizeof(place->scene))
		give_up("scene");
}

void scene_end_sibling(struct place *place)
{
	(void)kill(place->scene.sibling, SIGKILL);
	(void)waitpid(place->scene.sibling, NULL, 0);
}
