/*
 * What mirror.namespaces, mirror.kinds, mirror.skip and mirror.allow-rules may hold (M8, M10, B1):
 * judged by the loader, which says it with file and line, and again by config_check(). Pure.
 */
#ifndef POLICY_CONFIG_MIRROR_H
#define POLICY_CONFIG_MIRROR_H

#include <stdbool.h>

#include "base/buf.h"
#include "policy/config.h"

/* What is wrong, all literals but `text`, which is the configuration's. */
struct config_fault {
	const char *key; /* of an entry of mirror.kinds; "" else */
	const char *text, *what, *expected;
};

/* Fills the fault and returns true when something is wrong. Entry i is held against those before
 * it, skips against all kinds. The texts lie in the pool. */
bool config_label_fault(
    const struct us_config *config, const struct config_label *label, struct config_fault *fault);
bool config_kind_fault(const struct us_config *config, unsigned i, struct config_fault *fault);
bool config_skip_fault(const struct us_config *config, unsigned i, struct config_fault *fault);

/* M10: what no list may name. */
bool config_never_mirrored(const char *group, const char *resource);
/* GROUP/RESOURCE:VERB[,VERB], none of them empty, at most CONFIG_MAX_RULE_BYTES: letters, digits,
 * "-" and "*", "." in group and resource, "_/:" in the resource. Nothing that would end a text of
 * the policy that bootstrap makes of it, which says the whole rule for each of its verbs: as many
 * as leave CONFIG_MAX_RULES within the 100000 characters that an API server takes. */
bool config_is_rule(const char *text);
#define CONFIG_MAX_RULE_BYTES 253
#define CONFIG_MAX_RULE_VERBS 12

/* For people: KEY=VALUE; RESOURCE.GROUP/VERSION KIND SELECTOR; as in mirror.skip. */
void config_put_label(
    const struct us_config *config, const struct config_label *label, struct buf *out);
void config_put_kind(
    const struct us_config *config, const struct config_kind *kind, struct buf *out);
void config_put_skip(
    const struct us_config *config, const struct config_skip *skip, struct buf *out);
/* Do both mirror the same? One answer for the pair and for a reload. */
bool config_same_label(const struct us_config *a, const struct us_config *b);
bool config_same_kinds(const struct us_config *a, const struct us_config *b);
bool config_same_skips(const struct us_config *a, const struct us_config *b);

#endif
