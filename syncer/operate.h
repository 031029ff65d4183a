/*
 * What an operator asks of the mirror (SYNC_ASKED): each is answered by rows and one end. Refused
 * with each condition, its value and what it must be; nothing is done then.
 */
#ifndef SYNCER_OPERATE_H
#define SYNCER_OPERATE_H

#include "ipc/messages.h"

struct syncer;

void operate_asked(struct syncer *syncer, const struct msg_sync_asked *asked);

/* To the elector. Texts that are too long are cut. */
void operate_row(struct syncer *syncer, uint64_t operation, const char *object, const char *text);
void operate_check(struct syncer *syncer, uint64_t operation, const char *name, const char *value,
    const char *limit, bool ok);
void operate_done(
    struct syncer *syncer, uint64_t operation, enum sync_outcome outcome, const char *text);

#endif
