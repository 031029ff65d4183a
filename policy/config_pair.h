/*
 * Do two configurations belong together: the two hubs of a pair, a hub and a worker, two workers?
 * Pure; both have passed config_check().
 */
#ifndef POLICY_CONFIG_PAIR_H
#define POLICY_CONFIG_PAIR_H

#include "base/buf.h"
#include "policy/config.h"

/* Appends a line "KEY: what is in each; expected ..." for each key that does not fit. Their number.
 */
unsigned config_pair_faults(
    const struct us_config *own, const struct us_config *other, struct buf *out);

/* Of what must be equal on both hubs of a pair, so that two people can compare it over the phone:
 * hubs, namespace, workers with their namespaces, and of mirror: set, namespaces, kinds, skip.
 * Against mistakes, not against anybody (FNV-1a). 0: not a hub of a pair. */
uint64_t config_pair_hash(const struct us_config *config);

#endif
