/*
 * Counts, states and rates for people (see the header). Called by show.c and report.c.
 */
#include "syncer/survey.h"

#include "base/clock.h"

#define SAMPLE_NS (500 * BASE_NS_PER_MS)

static void count_item(const struct item *item, int64_t now_ns, struct survey_kind *out)
{
	bool wanted = item->source == SOURCE_PRESENT && item->state != ITEM_OUTSIDE &&
		      item->state != ITEM_EXCLUDED;

	out->wanted += wanted;
	out->done += wanted && item->state == ITEM_IDLE;
	out->blocked += item->state == ITEM_BLOCKED;
	out->held += item->state == ITEM_HELD;
	out->excluded += item->state == ITEM_EXCLUDED;
	if (item->state == ITEM_PENDING && item->since_ns &&
	    now_ns - item->since_ns > out->oldest_ns)
		out->oldest_ns = now_ns - item->since_ns;
}

void survey_take(const struct engine *engine, int64_t now_ns, struct survey *out)
{
	const uint32_t *count = engine->store.count;
	struct item *item;

	*out = (struct survey){ 0 };
	if (count[ITEM_PENDING] + count[ITEM_BLOCKED] + count[ITEM_HELD] + count[ITEM_EXCLUDED] +
	    count[ITEM_OUTSIDE]) {
		for (size_t at = 0; (item = map_next(&engine->store.items, &at));)
			count_item(item, now_ns, &out->kinds[item->kind]);
	} else {
		for (unsigned kind = 0; kind < kind_end(); kind++)
			out->kinds[kind].wanted = out->kinds[kind].done =
			    engine->store.count_source[kind];
	}
	for (unsigned kind = 0; kind < kind_end(); kind++) {
		const struct survey_kind *counts = &out->kinds[kind];

		out->wanted += counts->wanted;
		out->done += counts->done;
		if (counts->oldest_ns > out->oldest_ns)
			out->oldest_ns = counts->oldest_ns;
	}
}

enum sync_state survey_judge(const struct engine *engine, enum kind kind,
    const struct survey_kind *counts, const struct survey_feeds *feeds)
{
	bool pending = engine->store.count_pending[kind] > 0;

	if (feeds->misfit)
		return SYNC_STATE_BLOCKED;
	/* B19: a kind that cannot be read is not an empty one. */
	if (feeds->source_counts || (!feeds->listed && feeds->source_fault))
		return SYNC_STATE_UNKNOWN;
	if (feeds->copies_counts || counts->blocked || counts->held || engine->regressed)
		return SYNC_STATE_BLOCKED;
	if (feeds->source_fault || feeds->copies_fault || (pending && engine->kind_streak[kind]))
		return SYNC_STATE_DEGRADED;
	if (!feeds->listed || pending)
		return SYNC_STATE_PROGRESSING;
	return engine_is_open(engine) ? SYNC_STATE_SYNCED : SYNC_STATE_DEGRADED;
}

bool survey_is_worse(enum sync_state a, enum sync_state b)
{
	static const unsigned badness[] = { [SYNC_STATE_SYNCED] = 0,
		[SYNC_STATE_PROGRESSING] = 1,
		[SYNC_STATE_DEGRADED] = 2,
		[SYNC_STATE_BLOCKED] = 3,
		[SYNC_STATE_UNKNOWN] = 4,
		[SYNC_STATE_SKIPPED] = 0 };

	return badness[a] > badness[b];
}

/* --- Progress --------------------------------------------------------------------------------
 */

void progress_add(struct progress *progress, int64_t now_ns, uint32_t done)
{
	unsigned last = (progress->count - 1) % PROGRESS_SAMPLES;

	if (progress->count && done < progress->samples[last].done)
		progress->count = 0;
	else if (progress->count && now_ns - progress->samples[last].at_ns < SAMPLE_NS)
		return;
	progress->samples[progress->count % PROGRESS_SAMPLES].at_ns = now_ns;
	progress->samples[progress->count % PROGRESS_SAMPLES].done = done;
	progress->count++;
}

uint64_t progress_rate_milli(const struct progress *progress)
{
	unsigned newest, oldest;
	int64_t span_ms;

	if (progress->count < 2)
		return 0;
	newest = (progress->count - 1) % PROGRESS_SAMPLES;
	oldest = progress->count > PROGRESS_SAMPLES ? progress->count % PROGRESS_SAMPLES : 0;
	span_ms =
	    (progress->samples[newest].at_ns - progress->samples[oldest].at_ns) / BASE_NS_PER_MS;
	if (span_ms <= 0)
		return 0;
	return (uint64_t)(progress->samples[newest].done - progress->samples[oldest].done) *
	       1000000 / (uint64_t)span_ms;
}

uint64_t progress_remaining_ms(const struct progress *progress, uint32_t done, uint32_t total)
{
	uint64_t rate = progress_rate_milli(progress);

	return rate && total > done ? (uint64_t)(total - done) * 1000000 / rate : 0;
}
