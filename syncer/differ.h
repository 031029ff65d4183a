/*
 * In what two objects differ, by the names of fields only: what stands in them may be a Secret, and
 * is nobody's to print. Pure: JSON in, text out.
 */
#ifndef SYNCER_DIFFER_H
#define SYNCER_DIFFER_H

#include <jansson.h>

#include "base/buf.h"

/* Appends "spec.a, +spec.b, -status": differs, only at the source, only in the copy; the first few
 * of them and how many more. Returns how many there are; 0: they are equal. Numbers are equal when
 * their values are. */
unsigned differ_describe(const json_t *source, const json_t *copy, struct buf *out);

#endif
