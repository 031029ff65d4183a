/*
 * A Lease with understudy's annotations (leadership-rules 0, interfaces (e)): JSON in, a plain
 * struct out, and back into JSON in such a way that unknown fields and foreign edits survive.
 * Pure: no I/O, no clock.
 */
#ifndef KUBE_LEASE_H
#define KUBE_LEASE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ipc/messages.h"

#define KUBE_LEASE_NAME      "kubeslice-controller-ha"
#define KUBE_LEASE_PEER_NAME "kubeslice-controller-ha-peer"
#define KUBE_TERM_MAX        ((1ULL << 53) - 1) /* C7: exact in every reader of JSON */
/* Of mode replicas, whose several understudyds are no hub of a pair. */
#define KUBE_LEASE_REPLICAS_NAME "understudy-replicas"

struct kube_lease {
	char uid[40], resource_version[64];
	char holder[254]; /* "" = nobody */
	uint64_t term, led_term;
	enum lease_phase phase;
	uint64_t instance;
	int64_t acquire_us, renew_us; /* 0 = absent */
	uint32_t duration_ms;         /* 0 = absent or not positive */
	uint64_t transitions;
	char timing[64], pair[65], handover[256], handover_ack[512], standby[256], paused_until[40];
	char rejoin[128], block[128];
	char preferred_holder[254]; /* read only: somebody else's wish (KEP-4355) */
};

/* 0, or -1 with the field that cannot be what it is (a term above 2^53-1, a broken time). */
int kube_lease_parse(const json_t *object, struct kube_lease *out, struct err *err);
/* A claim: holder set and phase acquiring, leading or draining. */
bool kube_lease_claims(const struct kube_lease *lease);
/*
 * The body of a PUT: a deep copy of `base` (the object as last read; NULL: a new one for a POST)
 * with these fields of `lease` set: holder, duration (rounded up to seconds, L4), times, term,
 * led-term, phase, instance, pair, timing, transitions, and the optional texts (removed when "").
 * New reference.
 */
json_t *kube_lease_write(
    const json_t *base, const struct kube_lease *lease, const char *namespace, const char *name);
/* RFC 3339 with six decimals and Z; 0 and back. -1 when the text is no such time. */
void kube_time_put(char text[40], int64_t us);
int kube_time_parse(const char *text, int64_t *us);
const char *kube_phase_name(enum lease_phase phase);

#endif
