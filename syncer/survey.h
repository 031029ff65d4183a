/*
 * How far the mirror is, per kind: counts over the items, and the one word for it that a person
 * reads (B5: never one word for "all is well" and "parts are missing"). Pure: no I/O, no clock.
 */
#ifndef SYNCER_SURVEY_H
#define SYNCER_SURVEY_H

#include "ipc/messages.h"
#include "syncer/engine.h"

struct survey_kind {
	uint32_t wanted; /* objects of the source that this hub should have */
	uint32_t done;   /* of those: in order */
	uint32_t blocked, held, excluded;
	int64_t oldest_ns; /* age of the oldest change that is not written, 0: none */
};

struct survey {
	struct survey_kind kinds[KIND_COUNT];
	uint32_t wanted, done;
	int64_t oldest_ns;
};

/* What the feeds of a kind say, both sides and all namespaces together. */
struct survey_feeds {
	const char *source_fault, *copies_fault; /* NULL: none */
	bool source_counts, copies_counts;       /* these faults make the mirror incomplete (C5) */
	bool misfit;                             /* a feed's misfit */
	bool listed;                             /* a whole pass of the source is there */
	uint64_t version; /* of the source, that was reached everywhere; 0: not listed */
};

/* One walk over all items, and none when each is in order. */
void survey_take(const struct engine *engine, int64_t now_ns, struct survey *out);
enum sync_state survey_judge(const struct engine *engine, enum kind kind,
    const struct survey_kind *counts, const struct survey_feeds *feeds);
/* Is a worse than b? What cannot be read comes first, then what waits for a person. */
bool survey_is_worse(enum sync_state a, enum sync_state b);

/* The rate of the last seconds, for the time that is left. */
#define PROGRESS_SAMPLES 10
struct progress {
	struct {
		int64_t at_ns;
		uint32_t done;
	} samples[PROGRESS_SAMPLES]; /* a ring */
	unsigned count;
};
/* A sample; those that follow within half a second are not taken. Fewer done than before: it
 * begins anew. */
void progress_add(struct progress *progress, int64_t now_ns, uint32_t done);
/* Objects in 1000 s; 0: not known (yet). */
uint64_t progress_rate_milli(const struct progress *progress);
/* 0: not known. */
uint64_t progress_remaining_ms(const struct progress *progress, uint32_t done, uint32_t total);

#endif
