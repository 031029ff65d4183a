/*
 * Values of metrics (see the header). One list of series for each row of ipc/metrics.def, searched
 * from its start: a hub has some hundreds. No clock, no I/O. Called by messages.c and pages.c.
 */
#include "monitor/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/log.h"

#define MAX_BUCKETS 16
#define MICRO       1000000

enum type { COUNTER, GAUGE, HISTOGRAM };
static const char *const type_names[] = { "counter", "gauge", "histogram" };

struct metric_row {
	const char *name;
	enum type type;
	const char *label, *label2, *help, *buckets;
};

#define METRIC(id, name, type, label, label2, help, buckets)                                       \
	{ name, type, label, label2, help, buckets },
static const struct metric_row rows[METRIC_COUNT] = {
#include "ipc/metrics.def"
};

struct series {
	struct series *next;
	struct role_id from;
	char label[65], label2[65];
	int64_t value_micro;                    /* histogram: the sum */
	uint64_t count, in_bucket[MAX_BUCKETS]; /* not yet cumulative */
};

struct metrics {
	struct series *first[METRIC_COUNT];
	int64_t bounds_micro[METRIC_COUNT][MAX_BUCKETS];
	unsigned bound_count[METRIC_COUNT];
	unsigned series_count;
	bool full;
};

/* ".25" or "30" at *text, which moves behind it. */
static int64_t parse_micro(const char **text)
{
	int64_t value = 0, scale = MICRO;

	for (; **text >= '0' && **text <= '9'; (*text)++)
		value = value * 10 + (**text - '0');
	value *= MICRO;
	if (**text == '.')
		for ((*text)++; **text >= '0' && **text <= '9'; (*text)++) {
			scale /= 10;
			value += (**text - '0') * scale;
		}
	return value;
}

static void parse_bounds(struct metrics *metrics, unsigned id)
{
	const char *text = rows[id].buckets;

	while (*text) {
		CHECK(metrics->bound_count[id] < MAX_BUCKETS);
		metrics->bounds_micro[id][metrics->bound_count[id]++] = parse_micro(&text);
		text += strspn(text, " ");
	}
}

struct metrics *metrics_new(void)
{
	struct metrics *metrics = calloc(1, sizeof(*metrics));

	CHECK(metrics);
	for (unsigned id = 0; id < METRIC_COUNT; id++)
		parse_bounds(metrics, id);
	return metrics;
}

void metrics_free(struct metrics *metrics)
{
	if (!metrics)
		return;
	for (unsigned id = 0; id < METRIC_COUNT; id++)
		while (metrics->first[id]) {
			struct series *series = metrics->first[id];

			metrics->first[id] = series->next;
			free(series);
		}
	free(metrics);
}

/* The place of the series with these labels in its list, of NULL at the end when there is none. */
static struct series **find(struct metrics *metrics, const struct msg_metric *message)
{
	struct series **at = &metrics->first[message->id];

	while (*at && !(str_equal(str_of((*at)->label), message->label) &&
			  str_equal(str_of((*at)->label2), message->label2)))
		at = &(*at)->next;
	return at;
}

static struct series *add(
    struct metrics *metrics, struct series **at, const struct msg_metric *message)
{
	struct series *series;

	if (metrics->series_count >= METRICS_MAX_SERIES) {
		if (!metrics->full)
			log_warn("more than %d sets of metric labels: new ones of %s and others "
				 "are not shown",
			    METRICS_MAX_SERIES, rows[message->id].name);
		metrics->full = true;
		return NULL;
	}
	series = calloc(1, sizeof(*series));
	CHECK(series);
	/* A text with a NUL in it does not fit: its label stays empty. */
	(void)str_copy(series->label, sizeof(series->label), message->label);
	(void)str_copy(series->label2, sizeof(series->label2), message->label2);
	metrics->series_count++;
	*at = series;
	return series;
}

static void drop(struct metrics *metrics, struct series **at)
{
	struct series *series = *at;

	*at = series->next;
	free(series);
	metrics->series_count--;
}

static void observe(
    const struct metrics *metrics, unsigned id, struct series *series, int64_t micro)
{
	for (unsigned b = 0; b < metrics->bound_count[id]; b++)
		if (micro <= metrics->bounds_micro[id][b]) {
			series->in_bucket[b]++;
			break;
		}
	series->count++;
}

static int64_t add_saturated(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}

static bool has_nul(struct str text)
{
	return text.n && memchr(text.p, '\0', text.n);
}

bool metrics_take(struct metrics *metrics, struct role_id from, const struct msg_metric *message)
{
	const struct metric_row *row = &rows[message->id];
	bool vanishes = row->type == GAUGE && message->value_micro == INT64_MIN;
	struct series **at, *series;

	if ((message->label.n && !row->label[0]) || (message->label2.n && !row->label2[0]) ||
	    has_nul(message->label) || has_nul(message->label2) ||
	    (row->type == COUNTER && message->value_micro < 0))
		return false;
	at = find(metrics, message);
	if (vanishes) {
		if (*at)
			drop(metrics, at);
		return true;
	}
	series = *at ? *at : add(metrics, at, message);
	if (!series)
		return true;
	series->from = from;
	if (row->type == GAUGE)
		series->value_micro = message->value_micro;
	else
		series->value_micro = add_saturated(series->value_micro, message->value_micro);
	if (row->type == HISTOGRAM)
		observe(metrics, (unsigned)message->id, series, message->value_micro);
	return true;
}

void metrics_forget_gauges(struct metrics *metrics, struct role_id from)
{
	for (unsigned id = 0; id < METRIC_COUNT; id++) {
		struct series **at = &metrics->first[id];

		while (rows[id].type == GAUGE && *at)
			if ((*at)->from.role == from.role && (*at)->from.shard == from.shard)
				drop(metrics, at);
			else
				at = &(*at)->next;
	}
}

/* --- Exposition ----------------------------------------------------------------------------- */

static void put_micro(struct buf *out, int64_t micro)
{
	uint64_t size = micro < 0 ? 0 - (uint64_t)micro : (uint64_t)micro;
	unsigned fraction = (unsigned)(size % MICRO);
	int digits = 6;

	buf_printf(out, "%s%llu", micro < 0 ? "-" : "", (unsigned long long)(size / MICRO));
	if (fraction == 0)
		return;
	for (; fraction % 10 == 0; digits--)
		fraction /= 10;
	buf_printf(out, ".%0*u", digits, fraction);
}

/* name="value", escaped. */
static void put_label(struct buf *out, bool *first, const char *name, const char *value)
{
	if (!name[0])
		return;
	buf_printf(out, "%s%s=\"", *first ? "{" : ",", name);
	*first = false;
	for (; *value; value++)
		if (*value == '\n')
			buf_puts(out, "\\n");
		else if (*value == '"' || *value == '\\')
			buf_printf(out, "\\%c", *value);
		else
			buf_append(out, value, 1);
	buf_puts(out, "\"");
}

/* The start of a line, up to its value. bound_micro: of a bucket; INT64_MAX: +Inf; -1: none. */
static void put_head(struct buf *out, const struct metric_row *row, const char *suffix,
    const struct series *series, int64_t bound_micro)
{
	bool first = true;

	buf_printf(out, "%s%s", row->name, suffix);
	put_label(out, &first, row->label, series->label);
	put_label(out, &first, row->label2, series->label2);
	if (bound_micro >= 0) {
		buf_printf(out, "%sle=\"", first ? "{" : ",");
		first = false;
		if (bound_micro == INT64_MAX)
			buf_puts(out, "+Inf");
		else
			put_micro(out, bound_micro);
		buf_puts(out, "\"");
	}
	buf_puts(out, first ? " " : "} ");
}

static void put_count(struct buf *out, uint64_t count)
{
	buf_printf(out, "%llu\n", (unsigned long long)count);
}

static void put_histogram(
    struct buf *out, const struct metrics *metrics, unsigned id, const struct series *series)
{
	const struct metric_row *row = &rows[id];
	uint64_t below = 0;

	for (unsigned b = 0; b < metrics->bound_count[id]; b++) {
		below += series->in_bucket[b];
		put_head(out, row, "_bucket", series, metrics->bounds_micro[id][b]);
		put_count(out, below);
	}
	put_head(out, row, "_bucket", series, INT64_MAX);
	put_count(out, series->count);
	put_head(out, row, "_sum", series, -1);
	put_micro(out, series->value_micro);
	buf_puts(out, "\n");
	put_head(out, row, "_count", series, -1);
	put_count(out, series->count);
}

static void put_series(
    struct buf *out, const struct metrics *metrics, unsigned id, const struct series *series)
{
	if (rows[id].type == HISTOGRAM) {
		put_histogram(out, metrics, id, series);
		return;
	}
	put_head(out, &rows[id], "", series, -1);
	put_micro(out, series->value_micro);
	buf_puts(out, "\n");
}

void metrics_put(const struct metrics *metrics, struct buf *out)
{
	static const struct series nothing;

	for (unsigned id = 0; id < METRIC_COUNT; id++) {
		const struct metric_row *row = &rows[id];
		const struct series *series = metrics->first[id];

		buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", row->name, row->help, row->name,
		    type_names[row->type]);
		/* What counts from 0 says 0, so that its first step is seen as one. */
		if (!series && row->type != GAUGE && !row->label[0])
			put_series(out, metrics, id, &nothing);
		for (; series; series = series->next)
			put_series(out, metrics, id, series);
	}
}
