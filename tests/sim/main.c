/*
 * Runs schedules, tells what they found, and shrinks the first that breaks into a story. Goal: no
 * schedule breaks an invariant, and no row of the machine's table is out of reach. Method: first
 * the written stories that are named, then seeds; the same seed is the same run.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "tests/sim/world.h"

struct options {
	uint64_t seeds, seed;
	bool one, rewrite, stories;
	bool first; /* stop at the first that breaks, and do not shrink it */
	const char *out;
};

static uint64_t hits[512];

/* Rows that say "cannot happen" are checked by never being taken. */
static unsigned rows_not_hit(bool print)
{
	unsigned count, missing = 0;
	const struct machine_row *table = machine_table(&count);

	for (unsigned i = 0; i < count; i++) {
		if (hits[i] || strncmp(table[i].source, "cannot happen", 13) == 0)
			continue;
		missing++;
		if (print)
			printf("row %u never hit: %s (states %x, facts %x)\n", i, table[i].source,
			    table[i].states, table[i].facts);
	}
	return missing;
}

static void tell_broken(struct world *w, struct schedule *schedule, const struct options *o)
{
	char path[512];

	printf("broken: %s: %s\n", w->broken, w->detail);
	if (o->first)
		return;
	shrink(w, schedule);
	chaos_print(schedule, stdout);
	(void)snprintf(path, sizeof(path), "%s/seed-%llu.story", o->out,
	    (unsigned long long)schedule->setup.seed);
	if (story_write(schedule, path, w->broken) == 0)
		printf("story: %s\n", path);
	printf("replay: make sim SEED=%llu\n", (unsigned long long)schedule->setup.seed);
}

static int run_one(struct world *w, const struct options *o)
{
	struct schedule schedule;

	chaos_make(&schedule, o->seed);
	chaos_print(&schedule, stdout);
	if (chaos_run_guarded(w, &schedule, stdout, hits)) {
		printf("sim: seed %llu holds\n", (unsigned long long)o->seed);
		return 0;
	}
	tell_broken(w, &schedule, o);
	return 1;
}

static int run_many(struct world *w, const struct options *o)
{
	uint64_t steps = 0, broken = 0;
	struct schedule schedule;
	unsigned missing;

	printf("sim: seeds %llu to %llu\n", (unsigned long long)o->seed,
	    (unsigned long long)(o->seed + o->seeds - 1));
	for (uint64_t seed = o->seed; seed < o->seed + o->seeds; seed++) {
		chaos_make(&schedule, seed);
		if (!chaos_run_guarded(w, &schedule, NULL, hits)) {
			if (broken++ == 0)
				tell_broken(w, &schedule, o);
			else
				printf("broken: seed %llu: %s: %s\n", (unsigned long long)seed,
				    w->broken, w->detail);
			fflush(stdout);
			if (o->first)
				break;
		}
		steps += w->steps;
	}
	missing = rows_not_hit(!o->first);
	printf("sim: %llu schedules, %llu steps, %llu broken, %u rows not hit\n",
	    (unsigned long long)o->seeds, (unsigned long long)steps, (unsigned long long)broken,
	    missing);
	return broken || missing;
}

static int run_stories(struct world *w, const struct options *o, char **paths)
{
	unsigned passed = 0, failed = 0;

	for (; *paths; paths++) {
		if (story_run(w, *paths, o->rewrite, hits) == 0)
			passed++;
		else
			failed++;
	}
	printf("stories: %u as expected, %u not\n", passed, failed);
	return failed > 0;
}

/* 0: `*at` is the first story named. */
static int parse_options(int argc, char **argv, struct options *o, int *at)
{
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc) {
			o->seeds = strtoull(argv[++i], NULL, 10);
		} else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
			o->seed = strtoull(argv[++i], NULL, 10);
			o->one = true;
		} else if (strcmp(argv[i], "--from") == 0 && i + 1 < argc) {
			o->seed = strtoull(argv[++i], NULL, 10);
		} else if (strcmp(argv[i], "--out") == 0 && i + 1 < argc) {
			o->out = argv[++i];
		} else if (strcmp(argv[i], "--first") == 0) {
			o->first = true;
		} else if (strcmp(argv[i], "--rewrite") == 0) {
			o->rewrite = true;
		} else if (strcmp(argv[i], "--stories") == 0) {
			o->stories = true;
		} else {
			fprintf(stderr, "sim: unknown option %s\n", argv[i]);
			return 2;
		}
	}
	*at = i;
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = { .seeds = 10000, .seed = 1, .out = "build/sim" };
	struct world *w;
	int at, code = parse_options(argc, argv, &o, &at);

	if (code)
		return code;
	w = malloc(sizeof(*w));
	CHECK(w);
	code = argv[at] ? run_stories(w, &o, argv + at) : 0;
	if (!o.stories && !(o.first && code))
		code |= o.one ? run_one(w, &o) : run_many(w, &o);
	free(w);
	return code;
}
