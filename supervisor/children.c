/*
 * Restart policy (see the header). No clock, no I/O, no allocation; called by process.c and
 * wire.c, and by whoever wants to replay it under virtual time.
 * Pitfall: P14.
 */
#include "supervisor/children.h"

#include <string.h>

static int64_t next_delay(
    struct children_backoff *backoff, int64_t lived_ns, int64_t first_ns, int64_t longest_ns)
{
	if (backoff->delay_ns == 0 || lived_ns >= CHILDREN_HEALTHY_NS)
		backoff->delay_ns = first_ns;
	else if (backoff->delay_ns > longest_ns / 2)
		backoff->delay_ns = longest_ns;
	else
		backoff->delay_ns *= 2;
	return backoff->delay_ns;
}

int64_t children_restart_delay(struct children_backoff *backoff, int64_t lived_ns)
{
	return next_delay(backoff, lived_ns, CHILDREN_FIRST_DELAY_NS, CHILDREN_LONGEST_NS);
}

/* Decision 22. */
int64_t children_link_delay(struct children_backoff *backoff, int64_t lived_ns)
{
	return next_delay(backoff, lived_ns, CHILDREN_LINK_FIRST_NS, CHILDREN_LINK_LONGEST_NS);
}

/* F4: otherwise the lowest role could have the elector killed for ever by accusing it. */
enum children_judgement children_judge(struct children_accuser *accuser, unsigned accuser_trust,
    unsigned accused_trust, int64_t now_ns)
{
	if (accuser_trust > accused_trust)
		return CHILDREN_KILL_ACCUSED;
	if (accuser->count == CHILDREN_CUTS_KEPT) {
		memmove(accuser->at_ns, accuser->at_ns + 1,
		    (CHILDREN_CUTS_KEPT - 1) * sizeof(accuser->at_ns[0]));
		accuser->count--;
	}
	accuser->at_ns[accuser->count++] = now_ns;
	if (accuser->count < CHILDREN_CUTS_KEPT ||
	    now_ns - accuser->at_ns[0] > CHILDREN_CUTS_WITHIN_NS)
		return CHILDREN_CUT;
	accuser->count = 0;
	return CHILDREN_RESTART_ACCUSER;
}
