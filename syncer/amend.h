/*
 * Bodies that are made of what stands on our own hub: an object that becomes a copy as it is, a
 * copy with a note about itself, an account whose lists two sides fill (B23). Pure: JSON in, text
 * out; the caller sends it with the version that was read. Rules: C12, H8, H11.
 */
#ifndef SYNCER_AMEND_H
#define SYNCER_AMEND_H

#include "syncer/rewrite.h"

struct amend {
	bool strip;    /* becomes a copy of its own content, without finalizers */
	bool anew;     /* its mark names version 0 of this term: what it was of is lost (H10) */
	uint64_t term; /* with strip or anew */
	const char *held, *kept, *pruned; /* annotations of the copy; NULL: as they are */
};

/* Appends the object with what is to be changed. The object is changed, too. */
void amend_object(enum kind kind, json_t *object, const struct amend *amend, struct buf *out);
/* Appends a ServiceAccount's body with the lists of body and of what is present merged. False: it
 * is no JSON. */
bool amend_account(struct str body, const json_t *present, struct buf *out);

#endif
