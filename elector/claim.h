/*
 * The own Lease of a hub of a pair in the machine's words: what it says becomes a machine_lease,
 * what the machine orders becomes its fields and annotations (leadership-rules 0).
 */
#ifndef ELECTOR_CLAIM_H
#define ELECTOR_CLAIM_H

#include "elector/machine.h"

struct elector;

/* Before the first credential. */
void claim_open(struct elector *elector);
/* The Lease that the keeper holds. One that cannot be parsed is there, without a claim (H15: terms
 * are kept, all is written anew). */
void claim_judge(const struct elector *elector, struct machine_lease *out);
void claim_write(struct elector *elector, const struct machine_todo *order);

#endif
