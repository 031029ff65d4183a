/*
 * Dials: resolve, check ranges, connect fully, hand the socket over, close the own copy. At most
 * DIAL_AT_ONCE connect at the same time for one asker, so that dead workers of one shard never
 * hold up another's (F9, B26); further ones wait in order. Each ends within DIAL_LIMIT_MS of being
 * asked for, with exactly one DIALED, unless its asker goes away first.
 */
#ifndef DIALER_CONNECT_H
#define DIALER_CONNECT_H

#include <stdbool.h>
#include <stdint.h>

#include "dialer/dialer.h"

#define DIAL_LIMIT_MS      5000
#define DIAL_STAGGER_MS    250  /* before the next address of a name is tried, too (RFC 8305) */
#define DIAL_PATIENCE_MS   2000 /* with DNS, when an older answer is there (C4) */
#define DIAL_AT_ONCE       16
#define DIAL_MAX_WAITING   256 /* of one asker, running ones included */
#define DIAL_MAX_ADDRESSES 4

/* Starts or queues. False when this asker has DIAL_MAX_WAITING dials already. */
bool dial_start(struct dialer *dialer, struct role_id asker, struct target *target, uint64_t id);
/* The asker is gone (or is a new process): forgets its dials without an answer (F20). */
void dial_forget(struct dialer *dialer, struct role_id asker);
/* Ends every dial; for the end of the process. */
void dial_forget_all(struct dialer *dialer);
/* Sends one DIALED; fd -1 unless the outcome is DIAL_OK. The descriptor stays the caller's. */
void dial_answer(struct dialer *dialer, struct role_id asker, uint64_t id,
    enum dial_outcome outcome, const char *address, int fd);

/* Chooses what to connect to: allowed addresses only, IPv6 and IPv4 in turn, the first one kept
 * first. Returns how many of `out` are filled. Pure. */
unsigned dial_order(const struct us_config *config, const struct resolve_answer *answer,
    uint8_t out[DIAL_MAX_ADDRESSES][16]);
/* What an errno of connect means (C4). Pure. */
enum dial_outcome dial_outcome_of(int error);
/* "ok", "refused", ... Pure. */
const char *dial_outcome_name(enum dial_outcome outcome);

#endif
