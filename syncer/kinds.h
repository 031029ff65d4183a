/*
 * The kinds of this mirror: the rows of the configuration, filled once at the start, and what is
 * never mirrored. Until then, and in tests, the set kubeslice. Rows of one process; no errors.
 * Rules: H6, C14, M8, M10, L66-L72, L81, L82, decisions 2 and 3.
 */
#ifndef SYNCER_KINDS_H
#define SYNCER_KINDS_H

#include <jansson.h>

#include "base/buf.h"
#include "policy/kinds.h"

/* The binding by which this role may write secrets in a namespace, and the source's twin. */
#define KIND_MIRROR_BINDING "understudy-mirror-secrets"
#define KIND_READ_BINDING   "understudy-mirror-read"
#define KIND_TOKEN_TYPE     "kubernetes.io/service-account-token"

/* NULL: the set. The configuration must live as long as the process. */
void kinds_fill(const struct us_config *config);
/* Slots from here on are not in use. */
unsigned kind_end(void);
/* Of a slot in use; it may be off. */
const struct kind_row *kind_row(enum kind kind);
/* From now on it is watched and written under that version (M7). At most 63 bytes. */
void kind_use_version(enum kind kind, const char *version);
/* The version that was meant to be used; NULL: it is. */
const char *kind_other_version(enum kind kind);
/* The kind of an owner reference, KIND_COUNT when it is not mirrored. The version may differ. */
enum kind kind_by_name(const char *api_version, const char *name);
/* Does a person mean that kind, which is mirrored? Its kind or its plural, in any case, alone or
 * with its group behind it, for two may be called alike. */
bool kind_is_named(enum kind kind, const char *name);
/* Has it the labels of its row? True for a row without any. */
bool kind_chooses(enum kind kind, const json_t *metadata);
/* Appends "labelSelector=..." to a query; nothing for a row without labels. */
void kind_put_selector(enum kind kind, struct buf *query);
/* mirror.skip lists that object (M8). */
bool kind_skips(enum kind kind, const char *namespace, const char *name);
/* Never mirrored, whatever its labels: what each namespace has by itself, and our own. */
bool kind_excludes(enum kind kind, const char *name);
/* Secrets whose type keeps them out: bootstrap tokens, Helm releases, archives (B1). */
bool kind_excludes_secret(const char *type);
/* Data of a kind whose objects may say that nobody can change them any more (H7). */
bool kind_may_be_immutable(enum kind kind);

#endif
