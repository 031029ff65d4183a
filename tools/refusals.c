/*
 * Prints docs/refusals.md from the elector's table of reasons and the words that it says at night:
 * each reason for which a hub does not promote itself, with what to do. A reason that stops a
 * promotion and has no advice here ends the program, and so the check that compares pages. No part
 * of the product.
 */
#include <stdio.h>

#include "base/check.h"
#include "elector/trace.h"

static const struct {
	const char *text;
} advice[REASON_COUNT] = {
	[REASON_SELF_UNHEALTHY] = { "This hub's own API server takes no writes: it could not lead. "
				    "Mend it." },
	[REASON_MIRROR_INCOMPLETE] = { "This hub does not hold everything of the Active. "
				       "`understudyctl sync status` names "
				       "the kind and "
				       "why. If the Active is lost for good: `promote --force "
				       "--accept-incomplete`." },
	[REASON_ISOLATED] = { "This hub reaches no worker: rather this side is cut off than the "
			      "peer dead. Mend "
			      "its network, or `promote --force`." },
	[REASON_WITNESS_VETO] = { "Workers see the peer renew: it lives, and the way to it is "
				  "broken. Mend the "
				  "way; the peer goes on leading." },
	[REASON_LEASE_LIVE] = { "The peer renewed in the last moment: it leads. Nothing is to be "
				"done." },
	[REASON_PEER_UNREADABLE] = { "A credential, a certificate or an address of this side is "
				     "wrong, which "
				     "says nothing about the peer. `status` names it; put a right "
				     "file in its "
				     "place. With workers that see the peer stale it would have "
				     "promoted." },
	[REASON_MIRROR_NOT_STOPPED] = { "The mirror's process did not end. It is tried again; if "
					"it repeats, "
					"restart understudyd." },
	[REASON_LEASE_ACQUIRE_FAILED] = { "The own API server refused the claim: the elector's "
					  "right to update "
					  "its Lease, or another hand on it. The log says what was "
					  "answered." },
	[REASON_VALIDITY_LOST] = { "The own API server is too slow: the claim ran out before the "
				   "page opened. It "
				   "is tried again." },
	[REASON_BACKED_OUT] = { "Both hubs claimed at once; this one gave way. Nothing is to be "
				"done." },
	[REASON_CONFIRM_UNREAD] = { "The peer became unreadable for a fault of this side in the "
				    "middle. As "
				    "`peer_unreadable`." },
	[REASON_PAUSED] = { "Somebody paused this hub: `resume`, or `promote`." },
	[REASON_MANUAL] = { "`promotion.mode: manual`: a person decides, by `promote`." },
	[REASON_BLOCKED] = { "The peer took the lead from this hub a short time ago. "
			     "`acknowledge`, or wait for "
			     "the end of `promotion.block-window`." },
	[REASON_PEER_BLIND] = { "As `peer_unreadable`: silence is not counted while this side is "
				"at fault." },
	[REASON_PEER_UNWATCHED] = { "The observer or its dialer does not run: `status`, the log." },
	[REASON_PEER_REPLACED] = { "The peer's API server is another one than before. If that is "
				   "meant: "
				   "`accept-peer`." },
	[REASON_TIMING_UNSAFE] = { "The peer's lease times and this hub's do not fit: make `lease` "
				   "equal on both." },
	[REASON_LEASE_LONG] = { "The peer's Lease says that it lasts very long; so long its "
				"silence proves nothing." },
};

static void print_row(enum machine_reason reason)
{
	struct machine_said said = { .reason = reason,
		.numbers = { .term = 4,
		    .peer_term = 3,
		    .peer_led_term = 3,
		    .age_ms = 21000,
		    .threshold_ms = 20000,
		    .own_write_ms = 18000,
		    .lag_ms = 0,
		    .workers = 3,
		    .fresh = 2,
		    .stale = 1,
		    .left_ms = 240000,
		    .duration_ms = 900000,
		    .why = PEER_WHY_X509 } };
	char text[512];

	trace_text(text, sizeof(text), &said);
	CHECK(advice[reason].text);
	printf("| `%s` | %s | %s |\n", trace_row(reason)->name, text, advice[reason].text);
}

static void print_table(bool abort)
{
	printf("| reason | what it says, for example | what to do |\n|---|---|---|\n");
	for (enum machine_reason reason = 0; reason < REASON_COUNT; reason++)
		if (trace_row(reason)->abort == abort && (abort || advice[reason].text))
			print_row(reason);
}

int main(void)
{
	printf("# Why did it not promote?\n\n"
	       "Printed by `make docs` from the elector's reasons. `understudyctl status` and "
	       "`history` say "
	       "the reason, an Event `PromotionAborted` or `PromotionHeldBack` too, and it is the "
	       "label of "
	       "`kubeslice_controller_ha_promotions_aborted_total`. `promote --check` asks all "
	       "conditions at "
	       "once.\n\n"
	       "## A promotion was considered, and refused or given up\n\n");
	print_table(true);
	printf("\n## None is considered\n\n"
	       "A Standby that is not armed does not count silence; `status` says `armed NO`. It "
	       "has then "
	       "never read the peer, or one of these holds:\n\n");
	print_table(false);
	printf("\nAnd if the peer is only gone for less than its Lease lasts plus `lease.padding`: "
	       "wait.\n");
	return ferror(stdout) ? 1 : 0;
}
