/*
 * What the worker's own software reads: five files of one hub, replaced as a whole by the swap of
 * one symbolic link, so that no reader ever sees the endpoint of one hub beside the token of the
 * other (W10, M11). Beside them the highest term that was ever followed (H19). The layout is that
 * of a mounted Secret: NAME -> ..data/NAME, ..data -> ..GENERATION. All paths are relative to one
 * directory descriptor; Landlock allows nothing else (F36).
 */
#ifndef FOLLOWER_HANDOVER_H
#define FOLLOWER_HANDOVER_H

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct handover_content {
	struct str endpoint, token, ca, namespace;
	uint64_t term;
};

/* What lies there after a restart. */
struct handover_found {
	char endpoint[600]; /* "": nothing is handed over */
	uint64_t term;
	uint64_t max_term; /* 0: none known */
	uint64_t generation;
};

/* Reads, and removes what a former process left half done. 0, or -1: a maxTerm that is there and
 * cannot be read, which must not pass for none (I3). */
int handover_read(int directory, struct handover_found *found, struct err *err);
/* 0 when the number is on the disk: written, synced, renamed, directory synced. */
int handover_keep_term(int directory, uint64_t max_term, struct err *err);
/* Writes the next generation and swaps. *generation: the last one, raised on success. On failure
 * what was handed over before stays. */
int handover_swap(
    int directory, uint64_t *generation, const struct handover_content *content, struct err *err);

#endif
