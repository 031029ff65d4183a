/*
 * Policy of the reflector (see the header).
 */
#include "kube/resume.h"

#include <string.h>

#include "base/clock.h"
#include "base/random.h"

#define BACKOFF_LEAST_MS 500
#define BACKOFF_MOST_MS  30000
/* No backup is restored, and no API server started upon it, within this time. */
#define AWAY_NS (2 * BASE_NS_PER_S)

int64_t resume_wait_ms(unsigned failures, int64_t retry_after_ms)
{
	int64_t ms = BACKOFF_LEAST_MS;

	for (unsigned i = 1; i < failures && ms < BACKOFF_MOST_MS; i++)
		ms *= 2;
	if (ms > BACKOFF_MOST_MS)
		ms = BACKOFF_MOST_MS;
	ms = ms / 2 + (int64_t)(base_random_u64() % (uint64_t)(ms / 2));
	return ms > retry_after_ms ? ms : retry_after_ms;
}

bool resume_keeps_version(const struct kube_answer *answer)
{
	switch (answer->class) {
	case KUBE_SILENT:
	case KUBE_BLIND:
	case KUBE_THROTTLED:
	case KUBE_UNAUTHORIZED:
	case KUBE_FORBIDDEN: return true;
	case KUBE_SERVER_ERROR: return !strstr(answer->message, "Too large resource version");
	default: return false;
	}
}

uint32_t resume_smaller_page(uint32_t page)
{
	return page > 4 ? page / 4 : 1;
}

bool resume_was_away(int64_t lost_ns, int64_t now_ns)
{
	return lost_ns && now_ns - lost_ns >= AWAY_NS;
}

bool resume_lists_instead(enum kube_class class)
{
	return class == KUBE_INVALID || class == KUBE_REFUSED || class == KUBE_SERVER_ERROR ||
	       class == KUBE_CONFLICT;
}

bool resume_is_behind(const char *reached, const char *wanted)
{
	uint64_t have, want;

	return str_to_u64(str_of(reached), &have) && str_to_u64(str_of(wanted), &want) &&
	       have < want;
}
