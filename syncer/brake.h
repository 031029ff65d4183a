/*
 * The brake on deletions (H8): how many may pass. Pure numbers; the engine asks, one brake per
 * kind. A deletion that was seen happen is believed up to a rate; an object that is merely missing
 * from a list is believed in small numbers only, because an emptied or restored source looks just
 * like that (G6).
 */
#ifndef SYNCER_BRAKE_H
#define SYNCER_BRAKE_H

#include <stdbool.h>
#include <stdint.h>

struct brake {
	int64_t since_ns;        /* start of the present minute */
	uint32_t passed, copies; /* in it; copies of the kind at its start */
};

/* Counts one observed deletion; false: held. A whole project of 300 objects must pass, so the
 * bound is the larger one of 1,000 and half of the kind. */
bool brake_observed(struct brake *brake, uint32_t copies, int64_t now_ns);
/* `absent` of `copies` are missing from a complete list; false: all of them are held. */
bool brake_absent(bool is_namespace, uint32_t absent, uint32_t copies);

#endif
