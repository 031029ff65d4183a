/*
 * What a hostile role tries with files (see calls.h): those of root, those of everybody, those of
 * other processes, and the descriptors that it was given.
 */
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/time.h>

#include "tests/attack/calls.h"

#define PAGE 4096

TRY(read_credential, open(scene->credential, O_RDONLY | O_CLOEXEC))
TRY(read_file, open(scene->readable, O_RDONLY | O_CLOEXEC))
TRY(write_file, open(scene->victim, O_WRONLY | O_CLOEXEC))
TRY(nameless, open(scene->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600))
TRY(list_folder, open(scene->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
TRY(rename_file, rename(scene->victim, scene->victim))
TRY(rename_file_at, syscall(SYS_renameat2, AT_FDCWD, scene->victim, AT_FDCWD, scene->victim, 0))
TRY(cut_file, truncate(scene->victim, 7))
TRY(change_mode, chmod(scene->credential, 0400))
TRY(change_owner, chown(scene->credential, 0, 0))
TRY(read_link, readlinkat(AT_FDCWD, "/proc/self/exe", (char[64]){ 0 }, 63))
TRY(read_link_old, syscall(SYS_readlink, "/proc/self/exe", (char[64]){ 0 }, 63))
TRY(look_at, syscall(SYS_newfstatat, AT_FDCWD, scene->readable, &(struct stat){ 0 }, 0))
TRY(look_at_x, syscall(SYS_statx, AT_FDCWD, scene->readable, 0, 0, (char[256]){ 0 }))
TRY(may_access, access(scene->readable, F_OK))
TRY(may_access_at, syscall(SYS_faccessat2, AT_FDCWD, scene->readable, F_OK, 0))
TRY(file_system, statfs(scene->folder, &(struct statfs){ 0 }))
TRY(change_directory, chdir(scene->folder))
TRY(open_own_program, open("/proc/self/exe", O_RDONLY | O_CLOEXEC))
TRY(open_own_memory, open("/proc/self/mem", O_RDWR | O_CLOEXEC))
TRY(reopen_page, open("/proc/self/fd/13", O_RDWR | O_CLOEXEC))
TRY(page_mode, fchmod(FD_PAGE, 0644))
TRY(page_lock, syscall(SYS_flock, FD_PAGE, 2 | 4))
TRY(open_two, syscall(SYS_openat2, AT_FDCWD, scene->readable, &(struct open_how){ 0 },
		  sizeof(struct open_how)))
TRY(open_creat, syscall(SYS_open, scene->readable, O_RDONLY | O_CLOEXEC))
TRY(send_file, sendfile(FD_CONNECTED, FD_PROGRAM, NULL, 16))
TRY(read_page, pread(FD_PAGE, (char[8]){ 0 }, 7, 0))
TRY(write_scene, pwrite(FD_SCENE, "x", 1, 16384))
TRY(write_descriptor, write(FD_CONNECTED, "x", 1))
TRY(list_descriptor, syscall(SYS_fstat, FD_PROGRAM, &(struct stat){ 0 }))
TRY(watch_files, inotify_init1(IN_CLOEXEC))
TRY(watch_all_files, fanotify_init(FAN_CLOEXEC, O_RDONLY))
TRY(copy_mounts, syscall(SYS_open_tree, AT_FDCWD, scene->folder, 1 | O_CLOEXEC))
TRY(make_file_system, syscall(SYS_fsopen, "tmpfs", 1))
TRY(write_back, syncfs(FD_PROGRAM))

static int map_shared(const struct scene *scene)
{
	(void)scene;
	return mmap(NULL, PAGE, PROT_READ, MAP_SHARED, FD_PAGE, 0) == MAP_FAILED ? errno : 0;
}

/* What makes something has to take it away again: the scene serves the next attempt, too. */
static int made(const struct scene *scene, int result, int flags, const char *name)
{
	char path[96];
	int error = errno;

	if (result != 0)
		return error;
	(void)snprintf(path, sizeof(path), "%s/%s", scene->folder, name);
	return unlinkat(AT_FDCWD, path, flags) == 0 ? 0 : errno;
}

#define MAKE(name, flags, call)                                                                    \
	static int name(const struct scene *scene)                                                 \
	{                                                                                          \
		char path[96];                                                                     \
                                                                                                   \
		(void)snprintf(path, sizeof(path), "%s/" #name, scene->folder);                    \
		return made(scene, (call), flags, #name);                                          \
	}

MAKE(make_file, 0, close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)))
MAKE(make_folder, AT_REMOVEDIR, mkdir(path, 0700))
MAKE(make_folder_at, AT_REMOVEDIR, mkdirat(AT_FDCWD, path, 0700))
MAKE(make_symlink, 0, symlink(scene->credential, path))
MAKE(make_symlink_at, 0, symlinkat(scene->credential, AT_FDCWD, path))
MAKE(make_link, 0, link(scene->victim, path))
MAKE(make_fifo, 0, mknod(path, S_IFIFO | 0600, 0))

static int file_by_handle(const struct scene *scene)
{
	union {
		struct file_handle handle;
		char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} at = { .handle = { .handle_bytes = MAX_HANDLE_SZ } };
	int mount;

	return attempt_outcome(
	    name_to_handle_at(AT_FDCWD, scene->credential, &at.handle, &mount, 0));
}

static int mount_over(const struct scene *scene)
{
	if (mount("none", scene->folder, "tmpfs", 0, NULL) != 0)
		return errno;
	return umount2(scene->folder, MNT_DETACH) == 0 ? 0 : errno;
}

#define FOLLOWER BIT(FOLLOWER)

static const struct attempt table[] = {
	{ "opens a credential file", read_credential, RUNNER, USER | LANDLOCK, false },
	{ "opens a file that all may read", read_file, RUNNER, LANDLOCK, false },
	{ "opens it by an older call", open_creat, RUNNER, LANDLOCK | SECCOMP, false },
	{ "opens it by a newer call", open_two, RUNNER, LANDLOCK | SECCOMP, false },
	{ "opens a file that all may write", write_file, RUNNER, LANDLOCK, false },
	{ "makes a file", make_file, RUNNER, LANDLOCK, false },
	{ "makes a file without a name", nameless, RUNNER, LANDLOCK, false },
	{ "makes a folder", make_folder, RUNNER, LANDLOCK | SECCOMP, false },
	{ "makes a folder by a newer call", make_folder_at, RUNNER, LANDLOCK, false },
	{ "makes a symbolic link", make_symlink, RUNNER, LANDLOCK | SECCOMP, false },
	{ "makes one by a newer call", make_symlink_at, RUNNER, LANDLOCK, false },
	{ "makes a link to a file", make_link, RUNNER, SECCOMP, false },
	{ "makes a pipe with a name", make_fifo, RUNNER, LANDLOCK | SECCOMP, false },
	{ "lists a folder", list_folder, RUNNER, LANDLOCK, false },
	{ "renames a file", rename_file, RUNNER, SECCOMP, false },
	{ "renames a file by a newer call", rename_file_at, RUNNER, LANDLOCK, false },
	{ "cuts a file off", cut_file, RUNNER, LANDLOCK | SECCOMP, false },
	{ "changes the mode of a credential", change_mode, RUNNER, USER | SECCOMP, false },
	{ "changes the owner of a credential", change_owner, RUNNER, USER | SECCOMP, false },
	{ "reads a symbolic link", read_link, RUNNER, SECCOMP, false },
	{ "reads one by an older call", read_link_old, RUNNER, SECCOMP, false },
	{ "looks at a file", look_at, RUNNER, SECCOMP, false },
	{ "looks at it by a newer call", look_at_x, RUNNER, SECCOMP, false },
	{ "looks at a descriptor", list_descriptor, RUNNER, SECCOMP, false },
	{ "asks whether a file is there", may_access, RUNNER, SECCOMP, false },
	{ "asks by a newer call", may_access_at, RUNNER, SECCOMP, false },
	{ "asks for a file system", file_system, RUNNER, SECCOMP, false },
	{ "changes its directory", change_directory, RUNNER, SECCOMP, false },
	{ "opens its own program", open_own_program, RUNNER, LANDLOCK, false },
	{ "opens its own memory for writing", open_own_memory, RUNNER, USER | LANDLOCK, false },
	{ "opens the page again, for writing", reopen_page, RUNNER, USER | LANDLOCK, false },
	{ "changes the mode of the page", page_mode, RUNNER, USER | SECCOMP, false },
	{ "locks the page", page_lock, RUNNER, SECCOMP, false },
	{ "maps the page as shared", map_shared, RUNNER, SECCOMP, false },
	{ "reads a handed file in place", read_page, RUNNER | BIT(LOADER), 0, false },
	{ "writes a handed file in place", write_scene, RUNNER, SECCOMP, false },
	{ "writes to any descriptor", write_descriptor, RUNNER | BIT(LOADER) | FOLLOWER, 0, false },
	{ "sends a file over a connection", send_file, RUNNER, SECCOMP, false },
	{ "writes back a file system", write_back, RUNNER, SECCOMP, false },
	{ "watches files", watch_files, RUNNER, SECCOMP, false },
	{ "watches all files", watch_all_files, 0, SECCOMP, true },
	{ "takes a file by a handle", file_by_handle, 0, SECCOMP, true },
	{ "mounts over a folder", mount_over, 0, USER | LANDLOCK | SECCOMP, true },
	{ "copies a mount", copy_mounts, 0, USER | SECCOMP, true },
	{ "makes a file system", make_file_system, 0, USER | SECCOMP, true },
};
LIST(file_attempts, table);
