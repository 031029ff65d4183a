/*
 * How much more than a bare read of the clock does the question "does this hub lead" cost (C10)?
 * Method: rounds of both in turn on one real page on tmpfs; the smallest round of each counts,
 * because everything else that happens to a round makes it longer. Prints one line per figure for
 * `make bench`. Calls elector/fence.c to write the page and fence/fence.h to read it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "elector/fence.h"

#define ROUNDS 200
#define CALLS  20000
#define TARGET 1.3

static int64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	(void)clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static int64_t bare_round(int64_t *sum)
{
	int64_t begin_ns = now_ns(CLOCK_MONOTONIC);

	for (int i = 0; i < CALLS; i++)
		*sum += now_ns(CLOCK_BOOTTIME);
	return now_ns(CLOCK_MONOTONIC) - begin_ns;
}

static int64_t fence_round(const struct fence *fence, unsigned *yes)
{
	int64_t begin_ns = now_ns(CLOCK_MONOTONIC);

	for (int i = 0; i < CALLS; i++)
		*yes += fence_is_leader(fence);
	return now_ns(CLOCK_MONOTONIC) - begin_ns;
}

static int open_page(char *path, struct fence_page *page, struct fence *fence)
{
	struct err err;
	int fd = mkstemp(path);
	int64_t now = now_ns(CLOCK_BOOTTIME);

	if (fd < 0 || ftruncate(fd, FENCE_BYTES) != 0 || fence_page_map(page, fd, 1, &err))
		return -1;
	fence_page_write(page, FENCE_LEADING, 2, now + 500000000000LL, now);
	return fence_open(fence, path);
}

int main(void)
{
	char path[] = "/dev/shm/understudy-bench-XXXXXX";
	struct fence_page page = { 0 };
	struct fence fence = { 0 };
	int64_t bare_ns = INT64_MAX, check_ns = INT64_MAX, sum = 0;
	unsigned yes = 0;
	double ratio;
	int code = 1;

	if (open_page(path, &page, &fence) != 0) {
		perror("fence bench");
		goto out;
	}
	for (int i = 0; i < ROUNDS; i++) {
		int64_t bare = bare_round(&sum), check = fence_round(&fence, &yes);

		bare_ns = bare < bare_ns ? bare : bare_ns;
		check_ns = check < check_ns ? check : check_ns;
	}
	if (yes != ROUNDS * CALLS || sum == 0) {
		(void)fprintf(stderr, "fence bench: the page was not open\n");
		goto out;
	}
	ratio = (double)check_ns / (double)bare_ns;
	printf("bench fence_clock_c %.1f ns target - ok\n", (double)bare_ns / CALLS);
	printf("bench fence_check_c %.1f ns target - ok\n", (double)check_ns / CALLS);
	printf("bench fence_check_c_ratio %.2f x target %.2f %s\n", ratio, TARGET,
	    ratio <= TARGET ? "ok" : "short");
	code = 0;
out:
	fence_close(&fence);
	fence_page_unmap(&page);
	unlink(path);
	return code;
}
