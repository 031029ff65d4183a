/*
 * H8's numbers (see the header). No I/O, no clock.
 */
#include "syncer/brake.h"

#include "base/clock.h"

#define WINDOW_NS       (60 * BASE_NS_PER_S)
#define OBSERVED_ALWAYS 1000u
#define ABSENT_ALWAYS   10u
#define EMPTIED_FROM    3u

bool brake_observed(struct brake *brake, uint32_t copies, int64_t now_ns)
{
	uint32_t bound;

	if (brake->passed == 0 || now_ns - brake->since_ns >= WINDOW_NS)
		*brake = (struct brake){ .since_ns = now_ns, .copies = copies };
	bound = brake->copies / 2 > OBSERVED_ALWAYS ? brake->copies / 2 : OBSERVED_ALWAYS;
	if (brake->passed >= bound)
		return false;
	brake->passed++;
	return true;
}

bool brake_absent(bool is_namespace, uint32_t absent, uint32_t copies)
{
	uint32_t bound = copies / 10 > ABSENT_ALWAYS ? copies / 10 : ABSENT_ALWAYS;

	if (absent == 0)
		return true;
	if (is_namespace || absent > bound)
		return false;
	return !(absent >= copies && copies >= EMPTIED_FROM);
}
