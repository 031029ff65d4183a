/*
 * The only reader of clocks (see the header). No state, no allocation, no error path: both clocks
 * exist on each kernel that has Landlock, and a failing clock is a broken machine: CHECK.
 */
#include "base/clock.h"

#include <time.h>

#include "base/check.h"

static struct timespec read_clock(clockid_t clock)
{
	struct timespec ts;

	CHECK(clock_gettime(clock, &ts) == 0);
	return ts;
}

int64_t base_clock_boot_ns(void)
{
	struct timespec ts = read_clock(CLOCK_BOOTTIME);

	return (int64_t)ts.tv_sec * BASE_NS_PER_S + ts.tv_nsec;
}

int64_t base_clock_monotonic_us(void)
{
	struct timespec ts = read_clock(CLOCK_MONOTONIC);

	return (int64_t)ts.tv_sec * 1000000LL + ts.tv_nsec / 1000;
}

int64_t base_clock_wall_us(void)
{
	struct timespec ts = read_clock(CLOCK_REALTIME);

	return (int64_t)ts.tv_sec * 1000000LL + ts.tv_nsec / 1000;
}
