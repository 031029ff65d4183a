/*
 * Writes the fence page: a sequence lock that is odd while the words change, so that a writer
 * killed in the middle leaves a page that nobody believes (C10). The supervisor may write word 3
 * of the same page, but only after this process is dead (decision 16). Called by actions.c.
 */
#include "elector/fence.h"

static void put(struct fence_page *page, int word, uint64_t value)
{
	__atomic_store_n(&page->words[word], value, __ATOMIC_RELAXED);
}

int fence_page_map(struct fence_page *page, int fd, uint64_t instance, struct err *err)
{
	struct stat st;
	void *map = MAP_FAILED;
	int code = -1;

	*page = (struct fence_page){
		.instance = instance, .boot = fence_boot_id(), .time_ns = fence_time_ns()
	};
	if (page->boot == 0) {
		err_set(err, "fence page: /proc/sys/kernel/random/boot_id cannot be read");
		goto out;
	}
	if (fstat(fd, &st) != 0 || st.st_size < FENCE_BYTES) {
		err_set(err, "fence page: descriptor %d is not a file of at least %d bytes", fd,
		    FENCE_BYTES);
		goto out;
	}
	map = mmap(NULL, FENCE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		err_set(err, "fence page: mmap: %s", strerror(errno));
		goto out;
	}
	page->words = map;
	code = 0;
out:
	if (fd >= 0)
		close(fd);
	return code;
}

void fence_page_unmap(struct fence_page *page)
{
	if (page->words)
		munmap((void *)page->words, FENCE_BYTES);
	page->words = NULL;
}

void fence_page_write(struct fence_page *page, enum fence_role role, uint64_t term,
    int64_t valid_until_ns, int64_t written_at_ns)
{
	/* A predecessor may have died inside and left it odd: the next odd number, then even. */
	uint64_t sequence =
	    __atomic_load_n(&page->words[FENCE_WORD_SEQUENCE], __ATOMIC_RELAXED) | 1;

	put(page, FENCE_WORD_SEQUENCE, sequence);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	put(page, FENCE_WORD_HEAD, fence_head(role));
	put(page, FENCE_WORD_TERM, term);
	put(page, FENCE_WORD_VALID_UNTIL, (uint64_t)valid_until_ns);
	put(page, FENCE_WORD_WRITTEN_AT, (uint64_t)written_at_ns);
	put(page, FENCE_WORD_BOOT, page->boot);
	put(page, FENCE_WORD_TIME_NS, page->time_ns);
	put(page, FENCE_WORD_INSTANCE, page->instance);
	__atomic_store_n(&page->words[FENCE_WORD_SEQUENCE], sequence + 1, __ATOMIC_RELEASE);
}
