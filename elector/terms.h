/*
 * Terms (C7): which numbers a hub may take, and which numbers on a worker may be believed. Pure.
 * A term is 1..2^53-1 (exact in every JSON reader); 0 is "none". Term mod 2 is the hub's slot, so
 * two hubs never hold the same term (I4).
 */
#ifndef ELECTOR_TERMS_H
#define ELECTOR_TERMS_H

#include <stdbool.h>
#include <stdint.h>

#define TERMS_MAX ((1ULL << 53) - 1)
/* How far a worker's term may be ahead of everything known before nobody believes it (C7 (4)). */
#define TERMS_LEAP (1ULL << 20)

/* The least term above `seen` that belongs to `slot` (0 or 1); 0 when there is none left. */
uint64_t terms_next(uint64_t seen, unsigned slot);
/* May this be a term of that slot that somebody really took, with `known` the highest known? */
bool terms_plausible(uint64_t term, unsigned slot, uint64_t known);

#endif
