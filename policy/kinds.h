/*
 * The kinds of the mirror as rows: those of the set (kinds.def), and slots for what mirror.kinds
 * lists beside it. kinds_of() says which of them a configuration mirrors, and how; the syncer, the
 * least rights and the manifests of bootstrap are made of that one answer. No state, no errors.
 * Rules: H6, C14, L66-L72, L81, L82, M10, decisions 2 and 3.
 */
#ifndef POLICY_KINDS_H
#define POLICY_KINDS_H

#include <stdbool.h>

#include "policy/config.h"

#define KIND(ID, ...) KIND_##ID,
enum kind {
#include "policy/kinds.def"
	KIND_LISTED, /* the first slot of mirror.kinds */
	KIND_COUNT = KIND_LISTED + CONFIG_MAX_KINDS
};
_Static_assert(KIND_COUNT <= 32, "sets of kinds are bits of a word");

enum kind_place { KIND_NOWHERE, KIND_MIRRORED, KIND_CONTROLLER };

struct kind_label {
	const char *key, *value;
};

struct kind_row {
	const char *kind, *group, *version, *plural; /* NULL: a slot that is not in use */
	enum kind_place place;
	bool on;       /* it is mirrored */
	bool skipped;  /* it would be, but for mirror.skip */
	bool each;     /* watched per mirrored namespace */
	bool labelled; /* only objects with these labels, so that one may leave the mirror (C14) */
	bool status;
	bool map_owners;
	unsigned label_count;
	struct kind_label labels[CONFIG_MAX_TERMS];
};

/* What KubeSlice's controller puts on what is its own. */
#define KIND_OWNER_LABEL "kubeslice-resource-owner"
#define KIND_OWNER_VALUE "kubeslice-controller"
/* What a Namespace lets its Pods do; behind it also its version (B1). */
#define KIND_POD_SECURITY "pod-security.kubernetes.io/enforce"

/* As without a configuration: the set kubeslice, nothing beside it. */
extern const struct kind_row kinds_default[KIND_COUNT];

/* Fills all rows. Their texts are the configuration's own, which passed config_check(). Returns how
 * many slots are in use: those behind them are empty. */
unsigned kinds_of(const struct us_config *config, struct kind_row rows[KIND_COUNT]);
/* Is there a mirror at all? Namespaces are on exactly then. */
bool kinds_any(const struct us_config *config);
/* Is one mirrored that is read by a right in each mirrored namespace? */
bool kinds_any_each(const struct kind_row rows[KIND_COUNT]);
/* Are Namespaces chosen by KubeSlice's own label, as by default? */
bool kinds_owner_chooses(const struct us_config *config);
/* The slot of that resource, on or not; KIND_COUNT: none. */
enum kind kinds_by_resource(
    const struct kind_row rows[KIND_COUNT], const char *group, const char *resource);
/* By this label or annotation Argo CD, Flux or Helm knows what it made, and what it may prune: a
 * copy does not bear it (B22). */
bool kinds_is_tracking(const char *key);

#endif
