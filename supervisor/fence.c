/*
 * The page's file and the supervisor's map of it (see the header). Writes one word of it, ever.
 * Called by main at the start and by process.c when an elector was reaped.
 * Pitfall: P103.
 */
#include "supervisor/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "fence/fence.h"

#define FENCE_FILE "fence"

static int check_directory(int fd, const char *path, struct err *err)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) != 0 || fstatfs(fd, &fs) != 0)
		return err_set(err, "run.directory %s: %s", path, strerror(errno));
	if (st.st_uid != 0 || (st.st_mode & 022) != 0)
		return err_set(err,
		    "run.directory %s: has owner %u and mode %03o, expected root's and writable by "
		    "root alone",
		    path, st.st_uid, st.st_mode & 0777);
	if (fs.f_type != FENCE_TMPFS_MAGIC)
		return err_set(err,
		    "run.directory %s: not on a tmpfs; a fence page on a disk would survive the "
		    "boot that its times belong to",
		    path);
	return 0;
}

static int open_directory(const char *path, struct err *err)
{
	bool made = mkdir(path, 0755) == 0;
	int fd;

	if (!made && errno != EEXIST)
		return err_set(err, "run.directory %s: %s", path, strerror(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && check_directory(fd, path, err) == 0)
		return fd;
	if (fd < 0)
		(void)err_set(err, "run.directory %s: %s", path, strerror(errno));
	else
		close(fd);
	if (made) /* What is refused is left as it was. */
		(void)rmdir(path);
	return -1;
}

/* An existing inode is used again: readers have it mapped. It only ever grows, and has its memory
 * from now on: on a full tmpfs the first store into a hole would be a SIGBUS. */
static int open_page(struct fence_page *page, const char *path, struct err *err)
{
	struct stat st;

	page->lock = openat(page->directory, FENCE_FILE,
	    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
	if (page->lock < 0 || fstat(page->lock, &st) != 0)
		return err_set(err, "%s/" FENCE_FILE ": %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & 0777) != 0644)
		return err_set(err, "%s/" FENCE_FILE ": not a file of root with mode 0644", path);
	if (flock(page->lock, LOCK_EX | LOCK_NB) != 0)
		return err_set(err,
		    errno == EWOULDBLOCK ? "run.directory %s: another understudyd runs on it"
					 : "%s/" FENCE_FILE ": cannot be locked",
		    path);
	if (fallocate(page->lock, 0, 0, FENCE_BYTES) != 0)
		return err_set(err, "%s/" FENCE_FILE ": %s", path, strerror(errno));
	page->words = mmap(NULL, FENCE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, page->lock, 0);
	if (page->words == MAP_FAILED) {
		page->words = NULL;
		return err_set(err, "%s/" FENCE_FILE ": %s", path, strerror(errno));
	}
	return 0;
}

int fence_page_open(struct fence_page *page, const char *directory, struct err *err)
{
	*page = (struct fence_page){ .directory = -1, .lock = -1 };
	page->directory = open_directory(directory, err);
	if (page->directory < 0)
		return -1;
	if (open_page(page, directory, err)) {
		fence_page_close(page);
		return -1;
	}
	return 0;
}

void fence_page_close(struct fence_page *page)
{
	if (page->words)
		munmap(page->words, FENCE_BYTES);
	if (page->lock >= 0)
		close(page->lock);
	if (page->directory >= 0)
		close(page->directory);
	*page = (struct fence_page){ .directory = -1, .lock = -1 };
}

int fence_page_descriptor(const struct fence_page *page, bool writable)
{
	return openat(
	    page->directory, FENCE_FILE, (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_CLOEXEC);
}

const char *fence_page_fault(const struct fence_page *page)
{
	struct stat ours, named;

	if (fstat(page->lock, &ours) != 0 ||
	    fstatat(page->directory, FENCE_FILE, &named, AT_SYMLINK_NOFOLLOW) != 0)
		return "was removed";
	if (ours.st_ino != named.st_ino || ours.st_dev != named.st_dev)
		return "was replaced";
	if (ours.st_size < FENCE_BYTES)
		return "was truncated";
	if (ours.st_uid != 0 || (ours.st_mode & 0777) != 0644)
		return "is not root's with mode 0644 any more";
	return NULL;
}

/* A look at a page that somebody cut short would be a SIGBUS. */
static bool whole(const struct fence_page *page)
{
	struct stat st;

	return fstat(page->lock, &st) == 0 && st.st_size >= FENCE_BYTES;
}

uint64_t fence_page_instance(const struct fence_page *page)
{
	uint64_t boot;

	if (!whole(page))
		return 0;
	boot = __atomic_load_n(&page->words[FENCE_WORD_BOOT], __ATOMIC_ACQUIRE);
	/* C15: an instance of another boot, or another machine, is not proven dead by our lock. */
	return boot != 0 && boot == fence_boot_id()
		   ? __atomic_load_n(&page->words[FENCE_WORD_INSTANCE], __ATOMIC_RELAXED)
		   : 0;
}

void fence_page_end_validity(struct fence_page *page)
{
	if (whole(page)) /* Else it says nothing that anybody could take for valid. */
		__atomic_store_n(&page->words[FENCE_WORD_VALID_UNTIL], 0, __ATOMIC_RELEASE);
}
