/*
 * The age of a renewal (see the header). It must not judge: whether an age is fresh is the asking
 * hub's business.
 */
#include "follower/attest.h"

#define NS_PER_MS 1000000
#define US_PER_MS 1000

void attest_see(struct attest *attest, int64_t renew_us, bool live, int64_t now_ns)
{
	if (!attest->seen || attest->renew_us != renew_us) {
		attest->exact = attest->seen && live;
		attest->renew_us = renew_us;
		attest->since_ns = now_ns;
	}
	attest->seen = true;
	attest->heard_ns = now_ns;
}

int64_t attest_age_ms(
    const struct attest *attest, int64_t renew_us, int64_t date_us, int64_t now_ns)
{
	bool same = attest->seen && attest->renew_us == renew_us;
	int64_t least = same ? (now_ns - attest->since_ns) / NS_PER_MS : 0;
	int64_t most = INT64_MAX, age = date_us ? (date_us - renew_us) / US_PER_MS : least;

	if (renew_us == 0)
		return -1;
	if (same && attest->exact)
		return least;
	/* It is younger than the last sight of its predecessor. */
	if (attest->seen && !same)
		most = (now_ns - attest->heard_ns) / NS_PER_MS;
	if (age > most)
		age = most;
	return age < least ? least : age;
}
