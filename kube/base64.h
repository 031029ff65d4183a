/*
 * Base64 as Secrets and caBundle fields carry it (RFC 4648, section 4, padded). Strict: one text
 * for each value, so that equal values compare equal as texts.
 */
#ifndef KUBE_BASE64_H
#define KUBE_BASE64_H

#include <stdbool.h>

#include "base/buf.h"

/* Appends the text of the bytes. */
void kube_base64_put(struct buf *out, struct str bytes);
/* Appends the bytes of the text. False, nothing appended: it is none (length, alphabet, padding).
 */
bool kube_base64_get(struct buf *out, struct str text);

#endif
