/*
 * The only reader of clocks. Decisions never call it: they are handed `now`.
 * Boot time (CLOCK_BOOTTIME, nanoseconds, names end in _ns) counts through suspend and decides
 * everything; wall time (microseconds since 1970, names end in _us) is only text for people and
 * for API objects (H2, H17, L38).
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#define BASE_NS_PER_MS 1000000LL
#define BASE_NS_PER_S  1000000000LL

/* Nanoseconds of CLOCK_BOOTTIME. Cannot fail. */
int64_t base_clock_boot_ns(void);
/* Microseconds of CLOCK_MONOTONIC, for systemd alone, which wants them. Cannot fail. */
int64_t base_clock_monotonic_us(void);
/* Microseconds of CLOCK_REALTIME since 1970-01-01. Cannot fail. */
int64_t base_clock_wall_us(void);

#endif
