/*
 * Makes or takes over the follower's directory (see the header). It must not look into the files
 * and must not follow a link. Called once, by main.c.
 * Pitfalls: P86, P103.
 */
#include "supervisor/handover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"

#define MODE 02750 /* setgid: what is made in it is the workload's to read */

static bool is_empty(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *entry;
	unsigned found = 0;

	if (!entries) {
		if (copy >= 0)
			close(copy);
		return false;
	}
	while ((entry = readdir(entries)) != NULL)
		found += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(entries);
	return found == 0;
}

static int check(int fd, const char *path, uid_t follower, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return err_set(err, "follower.handover-directory %s: %s", path, strerror(errno));
	if (st.st_uid == follower && (st.st_mode & 0022) == 0)
		return 0;
	if (st.st_uid == 0 && is_empty(fd))
		return 0;
	return err_set(err,
	    "follower.handover-directory %s: is there, has owner %u and mode %03o (expected an "
	    "empty one of root, or one of uid %u that nobody else writes)",
	    path, st.st_uid, st.st_mode & 0777, follower);
}

/* As it must be: made by whoever prepared the machine (tmpfiles.d), or by an earlier start. What is
 * so need not be changed, which takes a right (CHOWN) that the unit does not leave us. */
static bool is_ready(int fd, uid_t follower, gid_t readers)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == follower && st.st_gid == readers &&
	       (st.st_mode & 07777) == MODE;
}

/* Root without DAC_OVERRIDE is a stranger to a directory of the follower's, and asks as its owner.
 */
static int open_as_owner(const char *path, uid_t follower)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = open(path, flags), error;

	if (fd >= 0 || errno != EACCES || seteuid(follower) != 0)
		return fd;
	fd = open(path, flags);
	error = errno;
	CHECK(seteuid(0) == 0);
	errno = error;
	return fd;
}

int handover_open(const struct us_config *config, struct err *err)
{
	const char *path = config_text_at(config, config->follower.directory);
	uid_t follower = role_uid((struct role_id){ ROLE_FOLLOWER, 0 }, config->uid_base);
	gid_t readers = config->uid_base + ROLE_UID_WORKLOAD;
	int fd;

	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return err_set(err, "follower.handover-directory %s: %s", path, strerror(errno));
	fd = open_as_owner(path, follower);
	if (fd < 0)
		return err_set(err, "follower.handover-directory %s: %s", path, strerror(errno));
	if (check(fd, path, follower, err) == 0) {
		/* The mode last: a change of owner takes the setgid bit away. */
		if (is_ready(fd, follower, readers) ||
		    (fchown(fd, follower, readers) == 0 && fchmod(fd, MODE) == 0))
			return fd;
		(void)err_set(err,
		    "follower.handover-directory %s: %s; without CAP_CHOWN it must be there "
		    "already, with owner %u, group %u and mode %o",
		    path, strerror(errno), follower, readers, MODE);
	}
	close(fd);
	return -1;
}
