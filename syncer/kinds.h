/*
 * The kinds of the mirror as rows (kinds.def), and the names that are never mirrored. Constant
 * data: no state, no errors. Rules: H6, C14, L66-L72, L81, L82, decisions 2 and 3.
 */
#ifndef SYNCER_KINDS_H
#define SYNCER_KINDS_H

#include <stdbool.h>

#include "base/str.h"

#define KIND(ID, ...) KIND_##ID,
enum kind {
#include "policy/kinds.def"
	KIND_COUNT
};

enum kind_place { KIND_NOWHERE, KIND_MIRRORED, KIND_CONTROLLER };

struct kind_row {
	const char *kind, *group, *version, *plural;
	enum kind_place place;
	bool each;     /* watched per mirrored namespace */
	bool labelled; /* only objects with KIND_OWNER_LABEL */
	bool status;
	bool map_owners;
};

#define KIND_OWNER_LABEL "kubeslice-resource-owner"
#define KIND_OWNER_VALUE "kubeslice-controller"
/* The binding by which this role may write secrets in a namespace, and the source's twin. */
#define KIND_MIRROR_BINDING "understudy-mirror-secrets"
#define KIND_READ_BINDING   "understudy-mirror-read"
#define KIND_TOKEN_TYPE     "kubernetes.io/service-account-token"

const struct kind_row *kind_row(enum kind kind);
/* The kind of an owner reference, KIND_COUNT when it is not mirrored. The version may differ. */
enum kind kind_by_name(const char *api_version, const char *name);
/* Never mirrored, whatever its labels: what each namespace has by itself, and our own. */
bool kind_excludes(enum kind kind, const char *name);
/* Secrets whose type keeps them out: bootstrap tokens, Helm releases, archives (B1). */
bool kind_excludes_secret(const char *type);

#endif
