/*
 * Is this hub the leader, now? A reader of the fence page for controllers: header only, no I/O and
 * no allocation after fence_open(), right even when every understudy process is dead or stopped,
 * because validity is a time (C10, F19). Link with nothing; include and call:
 *
 *	struct fence fence;
 *	if (fence_open(&fence, "/run/understudy/fence") == 0 && fence_is_leader(&fence)) write();
 *
 * The page: eight native 64-bit words at the start of a 4096-byte file on tmpfs.
 *   0  magic (16 bits), version (16 bits), role (32 bits)
 *   1  sequence: odd while the writer is inside
 *   2  term
 *   3  valid until, CLOCK_BOOTTIME ns
 *   4  written at, CLOCK_BOOTTIME ns
 *   5  first 8 bytes of the boot id, big-endian
 *   6  inode of the time namespace, 0 where the kernel has none
 *   7  instance of the writer
 */
#ifndef FENCE_FENCE_H
#define FENCE_FENCE_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define FENCE_MAGIC       0x5546u
#define FENCE_VERSION     1u
#define FENCE_BYTES       4096
#define FENCE_MAX_SPAN_NS 600000000000LL
#define FENCE_TRIES       64
#define FENCE_TMPFS_MAGIC 0x01021994

enum fence_role { FENCE_NONE, FENCE_STANDBY, FENCE_LEADING, FENCE_DRAINING };
enum {
	FENCE_WORD_HEAD,
	FENCE_WORD_SEQUENCE,
	FENCE_WORD_TERM,
	FENCE_WORD_VALID_UNTIL,
	FENCE_WORD_WRITTEN_AT,
	FENCE_WORD_BOOT,
	FENCE_WORD_TIME_NS,
	FENCE_WORD_INSTANCE,
	FENCE_WORDS
};

struct fence {
	const volatile uint64_t *words;
	uint64_t boot, time_ns;
};

/* One consistent reading of the page. */
struct fence_view {
	uint32_t role;
	uint64_t term, instance;
	int64_t valid_until_ns, written_at_ns;
	bool here; /* magic, version, boot and time namespace are ours */
};

static inline uint64_t fence_head(uint32_t role)
{
	return FENCE_MAGIC | (uint64_t)FENCE_VERSION << 16 | (uint64_t)role << 32;
}

/* The first 16 hex digits of the boot id as a number; 0 when it cannot be read. */
static inline uint64_t fence_boot_id(void)
{
	char text[40] = { 0 };
	uint64_t value = 0;
	int digits = 0, fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i < n && digits < 16; i++) {
		char c = text[i];
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
						   : -1;

		if (digit < 0)
			continue;
		value = value << 4 | (uint64_t)digit;
		digits++;
	}
	return digits == 16 ? value : 0;
}

static inline uint64_t fence_time_ns(void)
{
	struct stat st;

	return stat("/proc/self/ns/time", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/* Maps the page of an opened file read-only; the descriptor stays the caller's. 0, or -1 with
 * errno: ENODEV when it is not on tmpfs, EINVAL when it is no regular file, or too short. */
static inline int fence_map(struct fence *fence, int fd)
{
	struct statfs fs;
	struct stat st;
	void *map;

	if (fstatfs(fd, &fs) != 0 || fstat(fd, &st) != 0)
		return -1;
	if (fs.f_type != FENCE_TMPFS_MAGIC || !S_ISREG(st.st_mode) || st.st_size < FENCE_BYTES) {
		errno = fs.f_type != FENCE_TMPFS_MAGIC ? ENODEV : EINVAL;
		return -1;
	}
	map = mmap(NULL, FENCE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -1;
	fence->words = (const volatile uint64_t *)map;
	fence->boot = fence_boot_id();
	fence->time_ns = fence_time_ns();
	return 0;
}

/* The same by its path. fence_close() unmaps. */
static inline int fence_open(struct fence *fence, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), result, error;

	if (fd < 0)
		return -1;
	result = fence_map(fence, fd);
	error = errno;
	close(fd);
	errno = error;
	return result;
}

static inline void fence_close(struct fence *fence)
{
	if (fence->words)
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): this is what takes qualifiers away */
		munmap((void *)(uintptr_t)fence->words, FENCE_BYTES);
	fence->words = NULL;
}

/* False when the writer did not leave the page in 64 tries (a killed writer leaves it odd). */
static inline bool fence_read(const struct fence *fence, struct fence_view *view)
{
	const volatile uint64_t *w = fence->words;

	for (int i = 0; i < FENCE_TRIES; i++) {
		uint64_t before = __atomic_load_n(&w[FENCE_WORD_SEQUENCE], __ATOMIC_ACQUIRE);
		uint64_t head = __atomic_load_n(&w[FENCE_WORD_HEAD], __ATOMIC_RELAXED);
		uint64_t boot = __atomic_load_n(&w[FENCE_WORD_BOOT], __ATOMIC_RELAXED);
		uint64_t time_ns = __atomic_load_n(&w[FENCE_WORD_TIME_NS], __ATOMIC_RELAXED);

		view->term = __atomic_load_n(&w[FENCE_WORD_TERM], __ATOMIC_RELAXED);
		view->valid_until_ns =
		    (int64_t)__atomic_load_n(&w[FENCE_WORD_VALID_UNTIL], __ATOMIC_RELAXED);
		view->written_at_ns =
		    (int64_t)__atomic_load_n(&w[FENCE_WORD_WRITTEN_AT], __ATOMIC_RELAXED);
		view->instance = __atomic_load_n(&w[FENCE_WORD_INSTANCE], __ATOMIC_RELAXED);
		view->role = (uint32_t)(head >> 32);
		view->here = (uint32_t)head == (uint32_t)fence_head(0) && boot == fence->boot &&
			     boot != 0 && time_ns == fence->time_ns;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (before % 2 == 0 &&
		    __atomic_load_n(&w[FENCE_WORD_SEQUENCE], __ATOMIC_RELAXED) == before)
			return true;
	}
	return false;
}

/* Nanoseconds of leadership left at now_ns (CLOCK_BOOTTIME), 0 when this hub is not the leader. */
static inline int64_t fence_view_left_ns(const struct fence_view *view, int64_t now_ns)
{
	if (!view->here || view->role != FENCE_LEADING || view->written_at_ns > now_ns ||
	    view->valid_until_ns <= now_ns || view->written_at_ns < 0 ||
	    view->valid_until_ns - view->written_at_ns > FENCE_MAX_SPAN_NS)
		return 0;
	return view->valid_until_ns - now_ns;
}

/* Time left, 0 when not the leader. A caller whose write takes longer than this must not start. */
static inline int64_t fence_left_ns(const struct fence *fence)
{
	struct fence_view view;
	struct timespec ts;

	if (!fence->words || !fence_read(fence, &view) || clock_gettime(CLOCK_BOOTTIME, &ts) != 0)
		return 0;
	return fence_view_left_ns(&view, (int64_t)ts.tv_sec * 1000000000LL + ts.tv_nsec);
}

static inline bool fence_is_leader(const struct fence *fence)
{
	return fence_left_ns(fence) > 0;
}

#endif
