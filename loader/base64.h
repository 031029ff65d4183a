/*
 * Base64 of kubeconfigs (RFC 4648 section 4, line breaks and spaces allowed) and of JWTs (section
 * 5, no padding). Pure.
 */
#ifndef LOADER_BASE64_H
#define LOADER_BASE64_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

/* Appends the bytes. False when the text is no such base64, or out is full: out then holds part. */
bool base64_decode(struct str text, struct buf *out);
bool base64url_decode(struct str text, struct buf *out);

#endif
