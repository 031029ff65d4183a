/*
 * One table of words (see the header): what a person reads at night is what a test demanded. The
 * event reasons are upstream's where it has one (kubeslice-ha 3.14). Called by actions.c.
 */
#include "elector/trace.h"

#include <inttypes.h>
#include <stdio.h>

#define PROMOTION  "HAPromotion"
#define STARTUP    "HAStartup"
#define RENEWAL    "HALeaseRenewal"
#define PEER       "HAPeerWatch"
#define FENCE      "HAFence"
#define SWITCHOVER "HASwitchover"

static const struct trace_row rows[REASON_COUNT] = {
	[REASON_NONE] = { "none", NULL, NULL, false, false },
	[REASON_STARTED_STANDBY] = { "started_standby", "BecameStandby", STARTUP, false, false },
	[REASON_BOTH_ACTIVE] = { "both_active", "BothConfiguredActive", STARTUP, true, false },
	[REASON_STARTED_GHOST] = { "started_ghost", NULL, NULL, false, false },
	[REASON_STARTED_BEHIND] = { "started_behind", NULL, NULL, false, false },
	[REASON_RESUMES] = { "resumes", NULL, NULL, false, false },
	[REASON_STARTS_LEADING] = { "starts_leading", NULL, NULL, false, false },
	[REASON_PEER_SILENT] = { "peer_silent", NULL, NULL, false, false },
	[REASON_OWN_IS_NEWEST] = { "own_is_newest", NULL, NULL, false, false },
	[REASON_GUARDS_PASSED] = { "guards_passed", NULL, NULL, false, false },
	[REASON_SYNCER_GONE] = { "syncer_gone", NULL, NULL, false, false },
	[REASON_CLAIMED] = { "claimed", NULL, NULL, false, false },
	[REASON_CONFIRMED] = { "confirmed", NULL, NULL, false, false },
	[REASON_PROMOTED] = { "promoted", "PromotedToActive", PROMOTION, false, false },
	[REASON_LEADS] = { "leads", "BecameActive", STARTUP, false, false },
	[REASON_VALIDITY_OVER] = { "validity_over", "LeadershipLost", RENEWAL, true, false },
	[REASON_TIME_JUMPED] = { "time_jumped", "LeadershipLost", RENEWAL, true, false },
	[REASON_VALIDITY_LOST] = { "validity_lost", "PromotionAborted", PROMOTION, true, true },
	[REASON_PEER_HIGHER] = { "peer_higher", NULL, NULL, false, false },
	[REASON_PEER_TOOK_OVER] = { "peer_took_over", "LeadershipLost", RENEWAL, true, false },
	[REASON_WORKER_HIGHER] = { "worker_higher", "LeadershipLost", RENEWAL, true, false },
	[REASON_BACKED_OUT] = { "backed_out", "PromotionAborted", PROMOTION, true, true },
	[REASON_CONFIRM_UNREAD] = { "confirm_unread", "PromotionAborted", PROMOTION, true, true },
	[REASON_RECOVERY_LATE] = { "recovery_late", NULL, NULL, false, false },
	[REASON_RECOVERY_HELD] = { "recovery_held", "RecoveryHeld", RENEWAL, true, false },
	[REASON_YIELDED] = { "yielded", NULL, NULL, false, false },
	[REASON_DRAINS] = { "drains", "SwitchoverStarted", SWITCHOVER, false, false },
	[REASON_PEER_SYNCED] = { "peer_synced", NULL, NULL, false, false },
	[REASON_RELEASED] = { "released", "LeadershipHandedOver", SWITCHOVER, false, false },
	[REASON_SWITCHOVER_DECLINED] = { "switchover_declined", "SwitchoverAborted", SWITCHOVER,
	    true, false },
	[REASON_SWITCHOVER_LATE] = { "switchover_late", "SwitchoverAborted", SWITCHOVER, true,
	    false },
	[REASON_SWITCHOVER_CALLED_OFF] = { "switchover_called_off", "SwitchoverAborted", SWITCHOVER,
	    false, false },
	[REASON_BARRIER] = { "barrier", NULL, NULL, false, false },
	[REASON_HANDED] = { "handed", NULL, NULL, false, false },
	[REASON_COMMANDED] = { "commanded", NULL, NULL, false, false },
	[REASON_FORCED] = { "forced", "PromotionForced", PROMOTION, true, false },
	[REASON_PAUSE_STARTED] = { "pause_started", "PauseStarted", PROMOTION, true, false },
	[REASON_PAUSE_ENDED] = { "pause_ended", "PauseEnded", PROMOTION, false, false },
	[REASON_ACKNOWLEDGED] = { "acknowledged", NULL, NULL, false, false },
	[REASON_PEER_ACCEPTED] = { "peer_accepted", "PeerIdentityChanged", PEER, true, false },
	[REASON_RECLAIMS] = { "reclaims", "WorkerTermReclaimed", RENEWAL, true, false },
	[REASON_SELF_UNHEALTHY] = { "self_unhealthy", "PromotionAborted", PROMOTION, true, true },
	[REASON_MIRROR_INCOMPLETE] = { "mirror_incomplete", "PromotionAborted", PROMOTION, true,
	    true },
	[REASON_ISOLATED] = { "isolated", "PromotionAborted", PROMOTION, true, true },
	[REASON_WITNESS_VETO] = { "witness_veto", "PromotionAborted", PROMOTION, true, true },
	[REASON_LEASE_LIVE] = { "lease_live", "PromotionAborted", PROMOTION, true, true },
	[REASON_PEER_UNREADABLE] = { "peer_unreadable", "PromotionAborted", PROMOTION, true, true },
	[REASON_MIRROR_NOT_STOPPED] = { "mirror_not_stopped", "PromotionAborted", PROMOTION, true,
	    true },
	[REASON_LEASE_ACQUIRE_FAILED] = { "lease_acquire_failed", "PromotionAborted", PROMOTION,
	    true, true },
	/* B17: they would have promoted. */
	[REASON_PAUSED] = { "paused", "PromotionHeldBack", PROMOTION, true, true },
	[REASON_MANUAL] = { "manual", "PromotionHeldBack", PROMOTION, true, true },
	[REASON_BLOCKED] = { "blocked", "PromotionHeldBack", PROMOTION, true, true },
	/* The observer, which knows the cause, asks for the Event. */
	[REASON_PEER_BLIND] = { "peer_blind", NULL, NULL, true, false },
	[REASON_PEER_UNWATCHED] = { "peer_unwatched", "PeerUnwatched", PEER, true, false },
	[REASON_PEER_REPLACED] = { "peer_replaced", "PeerReplaced", PEER, true, false },
	[REASON_PEER_CLASH_SEEN] = { "peer_clash_seen", "PeerClash", PEER, true, false },
	[REASON_TIMING_UNSAFE] = { "timing_unsafe", "TimingUnsafe", PEER, true, false },
	[REASON_IMPLAUSIBLE_TERM] = { "implausible_term", "ImplausibleTerm", PEER, true, false },
	[REASON_WORKER_ROGUE] = { "worker_rogue", "WorkerTermUnconfirmed", PEER, true, false },
	[REASON_VETO_HOLDS] = { "veto_holds", "WitnessVetoHolding", PROMOTION, true, false },
	[REASON_FENCE_NOT_ENFORCED] = { "fence_not_enforced", "AdmissionFenceNotEnforced", FENCE,
	    true, false },
	[REASON_LEASE_LONG] = { "lease_long", "PeerLeaseLong", PEER, true, false },
	[REASON_OWN_UNWRITABLE] = { "own_unwritable", "OwnHubUnwritable", RENEWAL, true, false },
	[REASON_FOREIGN_INSTANCE] = { "foreign_instance", "IdentityInUse", RENEWAL, true, false },
	[REASON_PEER_CLASH] = { "peer_clash", "PeerClash", PEER, true, false },
};

const struct trace_row *trace_row(enum machine_reason reason)
{
	return reason < REASON_COUNT ? &rows[reason] : &rows[REASON_NONE];
}

const char *trace_why(enum peer_why why)
{
	static const char *const names[PEER_WHY_LAST + 1] = { "read", "refused", "time-out",
		"reset", "server error", "throttled", "certificate", "unauthorized", "forbidden",
		"wrong uid", "unparsable", "no address", "no credential", "no dialer or observer" };

	return why <= PEER_WHY_LAST ? names[why] : "?";
}

#define PRINT(...) snprintf(text, size, __VA_ARGS__)

/* The way to leadership. */
static bool text_of_way(
    char *text, size_t size, enum machine_reason reason, const struct machine_numbers *n)
{
	const char *look = trace_why(n->why);

	switch (reason) {
	case REASON_STARTED_STANDBY:
		PRINT("standby: own led-term %" PRIu64 ", peer's %" PRIu64 ", last look: %s",
		    n->led_term, n->peer_led_term, look);
		break;
	case REASON_BOTH_ACTIVE:
		PRINT("both hubs are configured active; the peer claimed first, term %" PRIu64
		      ": this one is standby",
		    n->peer_term);
		break;
	case REASON_STARTED_GHOST:
		PRINT("own claim of term %" PRIu64 " never opened: withdrawn", n->term);
		break;
	case REASON_STARTED_BEHIND:
		PRINT("peer led term %" PRIu64 ", this hub %" PRIu64 ": it has the newer data",
		    n->peer_led_term, n->led_term);
		break;
	case REASON_RESUMES:
		PRINT("term %" PRIu64 " goes on: last renewal %" PRId64 " ms ago, peer: %s",
		    n->term, n->gap_ms, look);
		break;
	case REASON_STARTS_LEADING:
		PRINT("nobody ever led and mode is active: takes term %" PRIu64 ", peer: %s",
		    n->term, look);
		break;
	case REASON_PEER_SILENT:
		PRINT("peer lease unchanged for %" PRId64 " ms, threshold %" PRId64
		      " ms (%s): promotion considered",
		    n->age_ms, n->threshold_ms, look);
		break;
	case REASON_OWN_IS_NEWEST:
		PRINT("peer has no claim and led term %" PRIu64 " at most, this hub %" PRIu64
		      ": takes over",
		    n->peer_led_term, n->led_term);
		break;
	case REASON_GUARDS_PASSED:
		PRINT("guards passed, final read: %s, workers: %u fresh, %u stale, %u mute, %u "
		      "cut off: stops the mirror",
		    look, n->fresh, n->stale, n->mute, n->cut);
		break;
	case REASON_SYNCER_GONE: PRINT("mirror stopped: claims term %" PRIu64, n->term); break;
	case REASON_CLAIMED:
		PRINT("claim of term %" PRIu64 " written: reads the peer once more", n->term);
		break;
	case REASON_CONFIRMED: PRINT("peer after the claim: %s: opens", look); break;
	default: return false;
	}
	return true;
}

static bool text_of_end(
    char *text, size_t size, enum machine_reason reason, const struct machine_numbers *n)
{
	switch (reason) {
	case REASON_PROMOTED:
		PRINT("This hub was promoted to Active with term %" PRIu64 " (peer's was %" PRIu64
		      ").",
		    n->term, n->peer_term);
		break;
	case REASON_LEADS: PRINT("This hub is Active with term %" PRIu64 ".", n->term); break;
	case REASON_YIELDED:
		PRINT("no claim of this hub stands; term %" PRIu64 " is kept", n->term);
		break;
	default: return false;
	}
	return true;
}

/* C13, from either side. */
static bool text_of_switchover(
    char *text, size_t size, enum machine_reason reason, const struct machine_numbers *n)
{
	switch (reason) {
	case REASON_DRAINS:
		PRINT("switchover asked for: page of term %" PRIu64 " closed, the workload ends, "
		      "the peer catches up",
		    n->term);
		break;
	case REASON_PEER_SYNCED: PRINT("the peer holds everything: gives it the lead"); break;
	case REASON_RELEASED:
		PRINT("term %" PRIu64 " released to the peer; this hub is standby", n->term);
		break;
	case REASON_SWITCHOVER_DECLINED:
		PRINT("switchover given up: the peer's mirror could not catch up; term %" PRIu64
		      " goes on here",
		    n->term);
		break;
	case REASON_SWITCHOVER_LATE:
		PRINT("switchover given up: a step took too long; term %" PRIu64 " goes on here",
		    n->term);
		break;
	case REASON_SWITCHOVER_CALLED_OFF:
		PRINT("switchover called off; term %" PRIu64 " goes on here", n->term);
		break;
	case REASON_BARRIER:
		PRINT("the peer drains for this hub, term %" PRIu64 ": the mirror is compared "
		      "with it",
		    n->peer_term);
		break;
	case REASON_HANDED:
		PRINT("the peer released term %" PRIu64 " to this hub: stops the mirror, claims",
		    n->peer_term);
		break;
	default: return false;
	}
	return true;
}

static bool text_of_command(
    char *text, size_t size, enum machine_reason reason, const struct machine_numbers *n)
{
	switch (reason) {
	case REASON_COMMANDED:
		PRINT("promotion asked for; peer silent for %" PRId64 " ms, threshold %" PRId64
		      " ms: guards next",
		    n->age_ms, n->threshold_ms);
		break;
	case REASON_FORCED:
		PRINT("promotion forced by an operator; peer's term %" PRIu64 ", mirror %s, lag "
		      "%" PRId64 " ms",
		    n->peer_term, n->complete ? "complete" : "not complete", n->lag_ms);
		break;
	case REASON_PAUSE_STARTED:
		PRINT("automatic promotion paused for %" PRId64 " s", n->left_ms / 1000);
		break;
	case REASON_PAUSE_ENDED: PRINT("automatic promotion is not paused any more"); break;
	case REASON_ACKNOWLEDGED:
		PRINT("the peer's takeover with term %" PRIu64 " is acknowledged: automatic "
		      "promotion is allowed again",
		    n->peer_term);
		break;
	case REASON_PEER_ACCEPTED:
		PRINT("the peer's new cluster is accepted; terms are kept, the mirror starts "
		      "anew");
		break;
	case REASON_RECLAIMS:
		PRINT("a worker has shown term %" PRIu64 " for 5 minutes and the peer does not "
		      "claim it: claims anew with term %" PRIu64,
		    n->rogue_term, n->term);
		break;
	case REASON_PAUSED:
		PRINT("would promote (peer silent for %" PRId64 " ms), but is paused for another "
		      "%" PRId64 " s",
		    n->age_ms, n->left_ms / 1000);
		break;
	case REASON_MANUAL:
		PRINT("would promote (peer silent for %" PRId64 " ms), but promotion mode is "
		      "manual",
		    n->age_ms);
		break;
	case REASON_BLOCKED:
		PRINT("would promote (peer silent for %" PRId64 " ms), but the peer took over a "
		      "short time ago: blocked for another %" PRId64 " s unless acknowledged",
		    n->age_ms, n->left_ms / 1000);
		break;
	default: return false;
	}
	return true;
}

static bool text_of_loss(
    char *text, size_t size, enum machine_reason reason, const struct machine_numbers *n)
{
	switch (reason) {
	case REASON_VALIDITY_OVER:
		PRINT("own lease not renewed for %" PRId64 " ms: term %" PRIu64 " is not valid "
		      "any more, page closed",
		    n->gap_ms, n->term);
		break;
	case REASON_TIME_JUMPED:
		PRINT("the API server's clock ran more than 3 s ahead of this machine's: "
		      "page closed, peer is read first");
		break;
	case REASON_VALIDITY_LOST:
		PRINT("claim of term %" PRIu64 " ran out before it opened", n->term);
		break;
	case REASON_PEER_HIGHER:
		PRINT("peer is ahead: term %" PRIu64 ", led %" PRIu64 "; own %" PRIu64
		      ", led %" PRIu64,
		    n->peer_term, n->peer_led_term, n->term, n->led_term);
		break;
	case REASON_PEER_TOOK_OVER:
		PRINT("peer claims term %" PRIu64 ", led %" PRIu64 ", above own %" PRIu64
		      ": page closed",
		    n->peer_term, n->peer_led_term, n->term);
		break;
	case REASON_WORKER_HIGHER:
		PRINT("a worker follows the peer's term %" PRIu64 " and the peer cannot be read "
		      "(%s): page closed",
		    n->worker_term, trace_why(n->why));
		break;
	case REASON_BACKED_OUT:
		PRINT("peer's claim changed while this hub claimed term %" PRIu64 ": backs out",
		    n->term);
		break;
	case REASON_CONFIRM_UNREAD:
		PRINT("peer could not be read after the claim (%s): backs out", trace_why(n->why));
		break;
	case REASON_RECOVERY_LATE:
		PRINT("last renewal %" PRId64 " ms ago and the peer was not read (%s)", n->gap_ms,
		    trace_why(n->why));
		break;
	case REASON_RECOVERY_HELD:
		PRINT("term %" PRIu64 " is held: last renewal %" PRId64
		      " ms ago, threshold %" PRId64 " ms, peer: %s, workers: %u of %u answered",
		    n->term, n->gap_ms, n->threshold_ms, trace_why(n->why), n->answered,
		    n->workers);
		break;
	case REASON_FOREIGN_INSTANCE:
		PRINT("another process writes the own lease under this identity: leaving");
		break;
	case REASON_PEER_CLASH:
		PRINT("peer has this hub's identity or cluster, or another pair of hubs: "
		      "leaving");
		break;
	default: return false;
	}
	return true;
}

static bool text_of_refusal(
    char *text, size_t size, enum machine_reason reason, const struct machine_numbers *n)
{
	switch (reason) {
	case REASON_SELF_UNHEALTHY:
		PRINT("promotion refused: last own write %" PRId64 " ms ago, limit 15000 ms",
		    n->own_write_ms);
		break;
	case REASON_MIRROR_INCOMPLETE:
		PRINT("promotion refused: mirror %s for led-term %" PRIu64 ", lag %" PRId64 " ms",
		    n->complete ? "complete" : "not complete", n->peer_led_term, n->lag_ms);
		break;
	case REASON_ISOLATED:
		PRINT("promotion refused: none of %u workers can be reached from here", n->workers);
		break;
	case REASON_WITNESS_VETO:
		PRINT("promotion refused: %u of %u workers see the peer renew, %u see it stale",
		    n->fresh, n->workers, n->stale);
		break;
	case REASON_LEASE_LIVE: PRINT("promotion given up: the peer's lease changed"); break;
	case REASON_PEER_UNREADABLE:
		PRINT("promotion refused: peer cannot be read for a fault of this side (%s), and "
		      "no worker attests that it is stale",
		    trace_why(n->why));
		break;
	case REASON_MIRROR_NOT_STOPPED:
		PRINT("promotion given up: the mirror was not gone within 10 s");
		break;
	case REASON_LEASE_ACQUIRE_FAILED:
		PRINT(
		    "promotion given up: own lease could not be taken with term %" PRIu64, n->term);
		break;
	default: return false;
	}
	return true;
}

static void text_of_condition(
    char *text, size_t size, enum machine_reason reason, const struct machine_numbers *n)
{
	switch (reason) {
	case REASON_PEER_BLIND:
		PRINT("peer cannot be read for a fault of this side: %s", trace_why(n->why));
		break;
	case REASON_PEER_UNWATCHED:
		PRINT("no look at the peer came from the observer: nothing counts as silence");
		break;
	case REASON_PEER_REPLACED:
		PRINT("the peer is another cluster than before: disarmed until it is accepted");
		break;
	case REASON_PEER_CLASH_SEEN:
		PRINT("peer shows this hub's identity or another pair while this hub leads");
		break;
	case REASON_TIMING_UNSAFE:
		PRINT("threshold %" PRId64 " ms is below 1.5 times the peer's renew deadline: "
		      "disarmed",
		    n->threshold_ms);
		break;
	case REASON_IMPLAUSIBLE_TERM:
		PRINT("a worker shows term %" PRIu64 " that no hub of this pair can have: ignored",
		    n->worker_term);
		break;
	case REASON_WORKER_ROGUE:
		PRINT("a worker shows the peer's term %" PRIu64 ", the peer does not claim it",
		    n->worker_term);
		break;
	case REASON_VETO_HOLDS:
		PRINT("workers have vetoed the promotion for 10 minutes (%u fresh of %u)", n->fresh,
		    n->workers);
		break;
	case REASON_FENCE_NOT_ENFORCED:
		PRINT("the API server does not enforce this hub's role");
		break;
	case REASON_LEASE_LONG:
		PRINT("the peer's lease lasts %" PRId64
		      " s, expected at most 300 s: so long nobody "
		      "takes over when it dies",
		    n->duration_ms / 1000);
		break;
	case REASON_OWN_UNWRITABLE:
		PRINT("own API server took no write for %" PRId64 " ms", n->own_write_ms);
		break;
	default: PRINT("%s", trace_row(reason)->name); break;
	}
}

void trace_text(char *text, size_t size, const struct machine_said *said)
{
	const struct machine_numbers *n = &said->numbers;

	if (!text_of_way(text, size, said->reason, n) &&
	    !text_of_end(text, size, said->reason, n) &&
	    !text_of_switchover(text, size, said->reason, n) &&
	    !text_of_command(text, size, said->reason, n) &&
	    !text_of_loss(text, size, said->reason, n) &&
	    !text_of_refusal(text, size, said->reason, n))
		text_of_condition(text, size, said->reason, n);
}
