/*
 * Base64 (RFC 4648) both ways. Strict: one text for each value, so that equal values compare equal
 * as texts; no foreign character, nothing behind the padding, no left-over bits. Leaves no copy of
 * what it converts: tokens and keys pass through here (F30).
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

enum base64_form {
	BASE64_PADDED, /* section 4, as Secrets and caBundle fields carry it */
	BASE64_SPACED, /* the same with white space anywhere, as people write it into kubeconfigs */
	BASE64_URL     /* section 5 without padding, as JWTs carry it */
};

/* Appends the text of the bytes, in the form BASE64_PADDED. */
void base64_put(struct buf *out, struct str bytes);
/* Appends the bytes of the text. False, nothing appended: it is no base64 of that form, or does not
 * fit (out->failed). */
bool base64_get(struct buf *out, struct str text, enum base64_form form);

#endif
