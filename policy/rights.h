/*
 * The least rights of each identity at its API server, and what differs from them (interfaces (c)).
 * The manifests of policy/rbac/ give exactly these; a role asks its API server what its identity
 * may do, and the audit shows what is missing and what is too much. Pure.
 * A right is a text "verb resource.group name", "*" for any name; one that ends in ".../status" is
 * the subresource. Rights that every authenticated user has are left out on both sides.
 */
#ifndef POLICY_RIGHTS_H
#define POLICY_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "policy/config.h"

/* Where rights are asked for: in the namespace of the identity's own business, and in one where it
 * has none, which shows what it may do everywhere. */
enum rights_place { RIGHTS_AT_HOME, RIGHTS_EVERYWHERE };

/* Owns its texts. Zero-initialised = empty. */
struct rights {
	char **texts;
	size_t count, room;
	bool failed; /* out of memory, or more than RIGHTS_MOST */
};
#define RIGHTS_MOST 4096

void rights_free(struct rights *rights);
/* Each of verbs x resources x names, lists with commas; names "": any. */
void rights_add(struct rights *rights, struct str verbs, struct str resources, struct str names);
/* The namespace to ask in. NULL: nothing is known of this identity's rights there. */
const char *rights_namespace(
    const struct us_config *config, unsigned credential, enum rights_place place);
/* Adds the least rights. False: this identity's rights are not understudy's to give (a worker's
 * KubeSlice account), so that only what is missing counts. */
bool rights_least(const struct us_config *config, unsigned credential, enum rights_place place,
    struct rights *least);
/* Appends what is missing, and what is too much unless `only_missing`; a list that is too long ends
 * with how many more there are. True: nothing differs, and nothing was appended. */
bool rights_compare(const struct rights *held, const struct rights *least, bool only_missing,
    size_t most_bytes, struct buf *out);

#endif
