/*
 * Prints docs/metrics.md from the table of metrics; with --sample an exposition in which each
 * metric has a value, as the monitor's own code makes it, for promtool. Run by tools/docs.sh and
 * tests/docs/check.sh; no part of the product.
 */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "monitor/metrics.h"

#define METRIC(id, name, type, label, label2, help, buckets)                                       \
	{ name, #type, label, label2, help, buckets },
static const struct row {
	const char *name, *type, *label, *label2, *help, *buckets;
} rows[METRIC_COUNT] = {
#include "ipc/metrics.def"
};

static void print_rows(bool upstream)
{
	printf("| metric | type | labels | meaning |\n|---|---|---|---|\n");
	for (unsigned id = 0; id < METRIC_COUNT; id++) {
		const struct row *row = &rows[id];
		static const struct {
			const char *word, *text;
		} types[] = { { "COUNTER", "counter" }, { "GAUGE", "gauge" },
			{ "HISTOGRAM", "histogram" } };

		if (upstream != (strncmp(row->name, "kubeslice_", 10) == 0))
			continue;
		printf("| `%s` | ", row->name);
		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
			if (strcmp(types[i].word, row->type) == 0)
				printf("%s | ", types[i].text);
		printf("%s%s%s%s%s | %s |\n", row->label[0] ? "`" : "", row->label,
		    row->label2[0] ? "`, `" : "", row->label2, row->label[0] ? "`" : "", row->help);
	}
}

static void print_page(void)
{
	printf(
	    "# Metrics\n\n"
	    "Printed by `make docs` from `ipc/metrics.def`. `GET /metrics` on `listen.http` says "
	    "them; what alerts on them is `packaging/prometheus/alerts.yaml`, each with its "
	    "section of "
	    "[the runbook](runbook.md), and `packaging/prometheus/dashboard.json` is a dashboard "
	    "for Grafana.\n\n"
	    "A gauge that says nothing on a hub in its present role is absent, not 0, and goes "
	    "with "
	    "the process that told it (L114). A counter without labels begins with 0.\n\n"
	    "## Under upstream's names\n\n");
	print_rows(true);
	printf("\n## Ours\n\n");
	print_rows(false);
}

static void print_sample(void)
{
	struct metrics *metrics = metrics_new();
	struct buf out = buf_make(1 << 20);

	for (unsigned id = 0; id < METRIC_COUNT; id++) {
		struct msg_metric metric = { .id = id,
			.label = str_of(rows[id].label),
			.label2 = str_of(rows[id].label2),
			.value_micro = 1500000 };

		CHECK(metrics_take(metrics, (struct role_id){ ROLE_MONITOR, 0 }, &metric));
	}
	metrics_put(metrics, &out);
	CHECK(!out.failed);
	printf("%s", out.data);
	buf_free(&out);
	metrics_free(metrics);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--sample") == 0)
		print_sample();
	else
		print_page();
	return ferror(stdout) ? 1 : 0;
}
