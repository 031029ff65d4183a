/*
 * The reasons of mode replicas in words: the same ones for the log, the Kubernetes Event, status
 * and tests. Pure. Called by contend.c.
 */
#include <inttypes.h>
#include <stdio.h>

#include "elector/replicas.h"

const char *replicas_state_name(enum replicas_state state)
{
	static const char *const names[REPLICAS_STATE_COUNT] = { "starting", "passive", "leading",
		"ending", "leaving" };

	return state < REPLICAS_STATE_COUNT ? names[state] : "?";
}

const struct replicas_words *replicas_words(enum replicas_reason reason)
{
	static const struct replicas_words rows[REPLICAS_REASON_COUNT] = {
		[REPLICAS_REASON_NONE] = { "none", NULL, false },
		[REPLICAS_STARTED] = { "started", NULL, false },
		[REPLICAS_LEADER_SEEN] = { "leader_seen", NULL, false },
		[REPLICAS_TAKEN] = { "taken", "LeaderElection", false },
		[REPLICAS_RESUMED] = { "resumed", "LeaderElection", false },
		[REPLICAS_LAPSED] = { "lapsed", "LeadershipLost", true },
		[REPLICAS_LOST] = { "lost", "LeadershipLost", true },
		[REPLICAS_WORKLOAD_FAILS] = { "workload_fails", "WorkloadFails", true },
		[REPLICAS_PREFERS_OTHER] = { "prefers_other", NULL, false },
		[REPLICAS_STOPPED] = { "stopped", NULL, false },
		[REPLICAS_GIVEN_BACK] = { "given_back", NULL, false },
		[REPLICAS_KEPT] = { "kept", NULL, true },
		[REPLICAS_UNREACHABLE] = { "unreachable", NULL, true },
		[REPLICAS_NO_TERM_LEFT] = { "no_term_left", "NoTermLeft", true },
		[REPLICAS_CLONED] = { "cloned", "IdentityInUse", true },
	};

	return reason < REPLICAS_REASON_COUNT ? &rows[reason] : &rows[REPLICAS_REASON_NONE];
}

#define PRINT(...) (void)snprintf(text, size, __VA_ARGS__)

static void text_of_way(
    char *text, size_t size, const struct replicas_said *said, const char *holder)
{
	switch (said->reason) {
	case REPLICAS_STARTED: PRINT("contends for the Lease"); break;
	case REPLICAS_LEADER_SEEN: PRINT("%s holds the Lease", holder); break;
	case REPLICAS_TAKEN: PRINT("This replica leads with term %" PRIu64 ".", said->term); break;
	case REPLICAS_RESUMED:
		PRINT("This replica leads again: nobody else held the Lease, term %" PRIu64
		      " goes on.",
		    said->term);
		break;
	default: PRINT("%s", replicas_words(said->reason)->name); break;
	}
}

static void text_of_end(
    char *text, size_t size, const struct replicas_said *said, const char *holder)
{
	switch (said->reason) {
	case REPLICAS_LAPSED:
		PRINT("the Lease could not be renewed for %" PRId64 " ms: term %" PRIu64
		      " is not valid any more, page closed",
		    said->quiet_ms, said->term);
		break;
	case REPLICAS_LOST:
		PRINT("the Lease names %s: term %" PRIu64 " is over, page closed",
		    holder[0] ? holder : "nobody", said->term);
		break;
	case REPLICAS_WORKLOAD_FAILS:
		PRINT("the workload does not run or ends again and again: the Lease is given back, "
		      "so that another replica may try");
		break;
	case REPLICAS_PREFERS_OTHER:
		PRINT("the Lease prefers another holder: it is given back");
		break;
	case REPLICAS_STOPPED:
		PRINT("told to stop: page closed, the workload ends, the Lease is given back");
		break;
	case REPLICAS_GIVEN_BACK: PRINT("this replica does not hold the Lease"); break;
	case REPLICAS_KEPT: PRINT("the Lease could not be given back in time: it runs out"); break;
	case REPLICAS_UNREACHABLE:
		PRINT("the Lease was not seen for %" PRId64 " ms: who leads is not known",
		    said->unread_ms);
		break;
	case REPLICAS_NO_TERM_LEFT:
		PRINT("the Lease's term is 2^53-1, there is no higher one: somebody must remove "
		      "the annotation");
		break;
	case REPLICAS_CLONED:
		PRINT("somebody else writes the Lease with this process's identity: leaving");
		break;
	default: text_of_way(text, size, said, holder); break;
	}
}

void replicas_text(char *text, size_t size, const struct replicas_said *said, const char *holder)
{
	text_of_end(text, size, said, holder);
}
