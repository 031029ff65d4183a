/*
 * Labels and annotations on their way into a copy and back: which stay behind, which are parked,
 * which are ours. Pure: JSON in, JSON out. Called by rewrite.c and amend.c only.
 * Rules: L84, H11, M14, B22 (tracking marks of deployment tools are parked on the copy, or a pruner
 * at work on the Standby would take the copy for a leftover and delete it), B23.
 */
#ifndef SYNCER_MARKS_H
#define SYNCER_MARKS_H

#include <jansson.h>
#include <stdbool.h>

/* Annotations of a copy behind "ha.kubeslice.io/". */
#define MARK_LABEL  "ha.kubeslice.io/synced-from"
#define MARK_PREFIX "ha.kubeslice.io/"
#define MARK_PARKED MARK_PREFIX "parked"
#define MARK_LISTS  MARK_PREFIX "lists"

enum marks_use {
	MARKS_COPY,        /* of a source's object, into its copy */
	MARKS_HASH,        /* the same, compared: also without what others change by themselves */
	MARKS_HASH_OF_COPY /* of a copy: tracking marks on it are a difference */
};

/* A new object without what stays behind, NULL when nothing is left; which: "labels" or
 * "annotations". */
json_t *marks_take(const json_t *metadata, const char *which, bool shell, enum marks_use use);
/* The marks that are parked, by their old place; new, NULL: none. */
json_t *marks_parked(const json_t *metadata, enum marks_use use);
/* A JSON text in an annotation; new, NULL: none or no object. */
json_t *marks_annotation(const json_t *metadata, const char *key);

/* A ServiceAccount's two lists of references, as the source has them; new, NULL: none (B23). */
json_t *marks_lists(const json_t *account);
/* Are all entries of the lists in the account's own ones? */
bool marks_lists_hold(const json_t *account, const json_t *lists);
/* One list of an account: what the source lists, and what is there by this hub's own controllers:
 * everything but what the mirror listed before. New. */
json_t *marks_merge(const json_t *wanted, const json_t *present, const json_t *listed_before);

extern const char *const marks_list_names[2];

#endif
