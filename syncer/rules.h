/*
 * What a mirrored Role may grant and a mirrored RoleBinding refer to (B1, B25): the mirror writes
 * with the right to escalate, so whoever feeds it must not gain more on this hub than KubeSlice
 * itself gives. Pure: JSON in, a verdict out.
 *
 * Allowed without a word: everything in KubeSlice's own groups; reading of named resources;
 * Secrets, ConfigMaps and Events by named verbs. The rest needs an entry of mirror.allow-rules:
 * "GROUP/RESOURCE:VERB[,VERB]", the core group being "core", a reference to a ClusterRole
 * "clusterrole/NAME:bind", and * standing for any.
 */
#ifndef SYNCER_RULES_H
#define SYNCER_RULES_H

#include <jansson.h>

#include "policy/config.h"
#include "syncer/kinds.h"

/* True: it may be mirrored. False: why says what it would give. */
bool rules_allow(
    const struct us_config *config, enum kind kind, const json_t *object, char *why, size_t size);

#endif
