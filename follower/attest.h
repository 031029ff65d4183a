/*
 * How long ago a hub renewed its Lease, as this worker saw it (C3). What a watch saw change is
 * known by this machine's clock alone; only what was found that way, and not seen change, leans on
 * the clocks of the hub. Pure: boot time in ns, wall time in us.
 */
#ifndef FOLLOWER_ATTEST_H
#define FOLLOWER_ATTEST_H

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialised: nothing seen. */
struct attest {
	bool seen;
	bool exact;       /* since_ns is when it changed, not when it was first found */
	int64_t renew_us; /* what was seen last */
	int64_t since_ns; /* since when we see it so */
	int64_t heard_ns; /* when it was last known to be so */
};

/* live: an event of a watch that was running, so that the change is of now. */
void attest_see(struct attest *attest, int64_t renew_us, bool live, int64_t now_ns);
/* The age of the renewal that a fresh read found; -1: it has no time in it. date_us: what the hub's
 * API server said of the time (0: nothing). */
int64_t attest_age_ms(
    const struct attest *attest, int64_t renew_us, int64_t date_us, int64_t now_ns);

#endif
