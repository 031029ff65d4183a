/*
 * The structural bounds of a packet, checked before msgpack-c sees a byte: [unsigned, {str:
 * scalar, ...}], nothing deeper, nothing after it. Own code because the library allocates by the
 * counts that a sender wrote (pitfalls on IPC). Pure.
 */
#ifndef IPC_SCAN_H
#define IPC_SCAN_H

#include "base/err.h"
#include "base/str.h"

#define SCAN_MAX_FIELDS 64

/* 0 when the packet has that form; -1 with the offset and what was expected there. */
int scan_packet(struct str packet, struct err *err);

#endif
