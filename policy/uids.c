/*
 * Processes by uid (see the header). Reads /proc and forks; keeps no state. The child of
 * uids_signal must lose CAP_KILL before it calls kill(-1): with it the whole machine would go.
 */
#include "policy/uids.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Reads /proc/PID/status. 1; 0 when the process ended meanwhile; -1 with errno when it may well be
 * there and cannot be seen, for want of descriptors, say. */
static int read_status(int proc, const char *pid, char *text, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd, error;

	(void)snprintf(path, sizeof(path), "%.20s/status", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		n = read(fd, text, size - 1);
	error = errno;
	if (fd >= 0)
		close(fd);
	errno = error;
	text[n > 0 ? n : 0] = '\0';
	if (n > 0)
		return 1;
	return n == 0 || error == ENOENT || error == ESRCH ? 0 : -1;
}

/* Whether this status is that of a living process with a uid in the range. */
static bool status_matches(const char *text, uid_t first, uid_t last, struct uids_found *found)
{
	const char *state = strstr(text, "\nState:\t"), *line = strstr(text, "\nUid:\t");
	unsigned uids[4];

	if (!state || state[8] == 'Z' || state[8] == 'X')
		return false;
	if (!line || sscanf(line + 6, "%u %u %u %u", &uids[0], &uids[1], &uids[2], &uids[3]) != 4)
		return false;
	for (int i = 0; i < 4; i++) {
		if (uids[i] < first || uids[i] > last)
			continue;
		found->uid = uids[i];
		(void)sscanf(text, "Name:\t%31[^\n]", found->name);
		return true;
	}
	return false;
}

int uids_each(uid_t first, uid_t last, uids_visit *visit, void *arg)
{
	DIR *proc = opendir("/proc");
	struct uids_found found;
	struct dirent *entry;
	char text[2048];
	int error;

	if (!proc)
		return -1;
	while (errno = 0, (entry = readdir(proc)) != NULL) {
		int read = isdigit((unsigned char)entry->d_name[0])
			       ? read_status(dirfd(proc), entry->d_name, text, sizeof(text))
			       : 0;

		if (read < 0)
			break;
		found = (struct uids_found){ 0 };
		if (read == 0 || !status_matches(text, first, last, &found))
			continue;
		found.pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (!visit(arg, &found)) {
			errno = 0;
			break;
		}
	}
	error = errno;
	closedir(proc);
	errno = error;
	return error == 0 ? 0 : -1;
}

static bool keep_first(void *arg, const struct uids_found *found)
{
	*(struct uids_found *)arg = *found;
	return false;
}

int uids_find(uid_t first, uid_t last, struct uids_found *found)
{
	*found = (struct uids_found){ 0 };
	return uids_each(first, last, keep_first, found);
}

/* In the child. The effective uid is what kill(2) compares; the other two are what a process of
 * the uid would need in order to signal us. */
static int signal_all(uid_t uid, uid_t helper, int signal)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	if (syscall(SYS_setresuid, helper, uid, helper) != 0 ||
	    syscall(SYS_capset, &header, none) != 0)
		return errno;
	return kill(-1, signal) == 0 || errno == ESRCH ? 0 : errno;
}

int uids_signal(uid_t uid, uid_t helper, int signal)
{
	pid_t pid, got;
	int status;

	if (uid == 0 || helper == 0) {
		errno = EINVAL;
		return -1;
	}
	pid = fork();
	if (pid == 0)
		_exit(signal_all(uid, helper, signal));
	if (pid < 0)
		return -1;
	do
		got = waitpid(pid, &status, 0);
	while (got < 0 && errno == EINTR);
	if (got != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		errno = got == pid && WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
		return -1;
	}
	return 0;
}
