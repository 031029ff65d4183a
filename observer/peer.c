/*
 * Answers and Leases into numbers (see the header). Called by look.c and watch.c; nothing else in
 * this directory decides.
 */
#include "observer/peer.h"

#include <string.h>

static const struct {
	enum peer_class class;
	enum peer_why why; /* PEER_WHY_NONE: the transport's own */
} meanings[] = {
	[KUBE_OK] = { PEER_OK, PEER_WHY_NONE },
	[KUBE_NOT_FOUND] = { PEER_NOT_FOUND, PEER_WHY_NONE },
	/* A hub whose API has no Leases is not the peer that we know. */
	[KUBE_NO_RESOURCE] = { PEER_BLIND, PEER_WHY_UNPARSABLE },
	[KUBE_UNAUTHORIZED] = { PEER_BLIND, PEER_WHY_UNAUTHORIZED },
	[KUBE_FORBIDDEN] = { PEER_BLIND, PEER_WHY_FORBIDDEN },
	[KUBE_CONFLICT] = { PEER_BLIND, PEER_WHY_UNPARSABLE },
	[KUBE_EXISTS] = { PEER_BLIND, PEER_WHY_UNPARSABLE },
	[KUBE_GONE] = { PEER_BLIND, PEER_WHY_UNPARSABLE },
	[KUBE_TOO_LARGE] = { PEER_BLIND, PEER_WHY_UNPARSABLE },
	[KUBE_INVALID] = { PEER_BLIND, PEER_WHY_UNPARSABLE },
	[KUBE_THROTTLED] = { PEER_SILENT, PEER_WHY_THROTTLED },
	[KUBE_REFUSED] = { PEER_BLIND, PEER_WHY_UNPARSABLE },
	[KUBE_SERVER_ERROR] = { PEER_SILENT, PEER_WHY_SERVER_ERROR },
	[KUBE_SILENT] = { PEER_SILENT, PEER_WHY_NONE },
	[KUBE_BLIND] = { PEER_BLIND, PEER_WHY_NONE },
};

void peer_classify(enum kube_class class, enum peer_why why, struct msg_peer_seen *seen)
{
	bool known = (size_t) class < sizeof(meanings) / sizeof(meanings[0]);

	seen->class = known ? meanings[class].class : PEER_BLIND;
	seen->why = known ? meanings[class].why : PEER_WHY_UNPARSABLE;
	if (class != KUBE_SILENT && class != KUBE_BLIND)
		return;
	seen->why = why;
	if (why == PEER_WHY_NONE || why > PEER_WHY_LAST)
		seen->why = class == KUBE_SILENT ? PEER_WHY_TIMEOUT : PEER_WHY_UNPARSABLE;
}

enum lease_holder peer_holder(const char *holder, const struct peer_names *names)
{
	if (holder[0] == '\0')
		return HOLDER_NONE;
	if (strcmp(holder, names->peer) == 0)
		return HOLDER_PEER;
	return strcmp(holder, names->self) == 0 ? HOLDER_SELF : HOLDER_OTHER;
}

uint64_t peer_holder_hash(const char *holder)
{
	uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */

	if (holder[0] == '\0')
		return 0;
	for (; *holder; holder++)
		hash = (hash ^ (unsigned char)*holder) * 0x100000001b3;
	return hash ? hash : 1;
}

void peer_from_lease(
    const struct kube_lease *lease, const struct peer_names *names, struct msg_peer_seen *seen)
{
	seen->class = PEER_OK;
	seen->why = PEER_WHY_NONE;
	seen->holder = peer_holder(lease->holder, names);
	seen->holder_hash = peer_holder_hash(lease->holder);
	seen->term = lease->term;
	seen->led_term = lease->led_term;
	seen->phase = lease->phase;
	seen->instance = lease->instance;
	seen->acquire_us = lease->acquire_us;
	seen->renew_us = lease->renew_us;
	seen->duration_ms = lease->duration_ms;
	seen->timing = str_of(lease->timing);
	seen->pair = str_of(lease->pair);
	seen->handover = str_of(lease->handover);
	seen->handover_ack = str_of(lease->handover_ack);
	seen->standby = str_of(lease->standby);
}

const char *peer_class_name(enum peer_class class)
{
	static const char *const names[] = { "ok", "not-found", "silent", "blind" };

	return (size_t) class < sizeof(names) / sizeof(names[0]) ? names[class] : "?";
}

const char *peer_why_name(enum peer_why why)
{
	static const char *const names[] = { "in order", "refused", "timeout", "reset",
		"server error", "throttled", "certificate", "unauthorized", "forbidden",
		"another cluster", "unparsable", "no address", "no credential", "dialer" };

	_Static_assert(sizeof(names) / sizeof(names[0]) == PEER_WHY_LAST + 1, "one name each");
	return (size_t)why < sizeof(names) / sizeof(names[0]) ? names[why] : "?";
}

int64_t peer_next_look_ns(const struct peer_pace *pace)
{
	int64_t own_ns = pace->started_ns ? pace->started_ns + pace->retry_ns : 0;
	/* The peer renews every retry period itself: its event gets a quarter more before a look
	 * takes its place. */
	int64_t event_ns =
	    pace->event_ns ? pace->event_ns + pace->retry_ns + pace->retry_ns / 4 : 0;

	return own_ns > event_ns ? own_ns : event_ns;
}
