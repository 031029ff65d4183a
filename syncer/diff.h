/*
 * `sync diff`: both hubs are listed anew, apart from what the mirror believes, and compared object
 * by object; what differs is read once more by name before it is reported, since both hubs live. It
 * reads only. One at a time; a new one replaces one that runs. Bounded: one page of one kind in
 * memory, a name and two hashes for each object of it, 400 differences told.
 */
#ifndef SYNCER_DIFF_H
#define SYNCER_DIFF_H

#include <stdint.h>

#include "syncer/kinds.h"

struct syncer;
struct diff;

/* Rows and its end go to the elector, under that number. only: that kind, KIND_COUNT: all. */
void diff_begin(struct syncer *syncer, uint64_t operation, enum kind only);
/* Ends without a word. */
void diff_stop(struct syncer *syncer);

#endif
