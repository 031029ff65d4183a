/*
 * The JSON annotations of section 0 that carry a switchover and a Standby's word over the two
 * Leases (C13), as numbers of the machine and back. Pure. Those of the peer are untrusted: what is
 * not exactly of the form says nothing, and never fails.
 */
#ifndef ELECTOR_ANNOTATIONS_H
#define ELECTOR_ANNOTATIONS_H

#include "base/str.h"
#include "elector/machine.h"

#define ANNOTATIONS_WHY    160
#define ANNOTATIONS_REJOIN 128

/* {"id": 16 hexadecimal digits, "to": a hub}. *id 0: no such text. */
void annotations_read_handover(struct str text, const char *self, uint64_t *id, bool *to_me);
/* {"id", "synced": true} or {"id", "declined": true, "why"}; why may be NULL. */
void annotations_read_ack(
    struct str text, uint64_t *id, enum machine_ack *ack, char why[ANNOTATIONS_WHY]);
/* {"armed", "complete", "lagMs"}; not known when one of them is missing or of another type. */
void annotations_read_standby(struct str text, struct machine_standby *standby);
/* {"term", "until": RFC 3339, "acknowledged"}; term 0 when one of them is not there (B16). */
void annotations_read_block(struct str text, struct machine_block *block);

/* "" for id 0, a Standby that says nothing, term 0. */
void annotations_put_handover(char *text, size_t size, uint64_t id, const char *to);
void annotations_put_ack(
    char *text, size_t size, uint64_t id, enum machine_ack ack, const char *why);
void annotations_put_standby(char *text, size_t size, const struct machine_standby *standby);
void annotations_put_block(char *text, size_t size, const struct machine_block *block);

/* {"done", "of", "archived"}: how far a rejoin is (C12). */
void annotations_put_rejoin(
    char text[ANNOTATIONS_REJOIN], uint64_t done, uint64_t of, uint64_t archived);

/* 16 hexadecimal digits, not all zero; 0: it is none. */
uint64_t annotations_id(struct str text);

#endif
