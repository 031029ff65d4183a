/*
 * Runs schedules, tells what they found, and shrinks the first that breaks into a story. Goal: no
 * schedule breaks an invariant, and no row of the machine's table is out of reach. Method: first
 * the written stories that are named, then seeds, shared out among one process per core; the same
 * seed is the same run wherever it runs.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "tests/sim/world.h"

struct options {
	uint64_t seeds, seed;
	unsigned jobs;
	bool one, rewrite, stories;
	bool first; /* stop at the first that breaks, and do not shrink it */
	const char *out;
};

#define MAX_JOBS 64

/* What one process found. */
struct tally {
	uint64_t steps, broken, lowest; /* lowest: broken seed */
	struct hits hits;
};

static struct hits hits;

/* Rows that say "cannot happen" are checked by never being taken. */
static unsigned rows_not_hit(bool print)
{
	unsigned count, missing = 0;
	const struct machine_row *table = machine_table(&count);

	for (unsigned i = 0; i < count; i++) {
		if (hits.rows[i] || strncmp(table[i].source, "cannot happen", 13) == 0)
			continue;
		missing++;
		if (print)
			printf("row %u never hit: %s (states %x, facts %x)\n", i, table[i].source,
			    table[i].states, table[i].facts);
	}
	return missing;
}

/* B15, C13: a command that came in no state of its kind proves nothing there. A process without its
 * own records takes none. */
static unsigned words_not_met(void)
{
	unsigned missing = 0;

	for (unsigned verb = 0; verb < COMMAND_COUNT; verb++)
		for (unsigned state = 0; state < STATE_COUNT; state++) {
			if (hits.words[verb][state])
				continue;
			missing++;
			printf(
			    "command %u never came in state %s\n", verb, machine_state_name(state));
		}
	return missing;
}

static void tell_broken(struct world *w, struct schedule *schedule, const struct options *o)
{
	char path[512];

	printf("broken: %s: %s\n", w->broken, w->detail);
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
	if (chaos_run_guarded(w, &schedule, stdout, &hits)) {
		printf("sim: seed %llu holds\n", (unsigned long long)o->seed);
		return 0;
	}
	tell_broken(w, &schedule, o);
	return 1;
}

static void run_seed(struct world *w, uint64_t seed, struct tally *tally)
{
	struct schedule schedule;

	chaos_make(&schedule, seed);
	if (!chaos_run_guarded(w, &schedule, NULL, &tally->hits)) {
		if (tally->broken++ == 0)
			tally->lowest = seed;
		printf(
		    "broken: seed %llu: %s: %s\n", (unsigned long long)seed, w->broken, w->detail);
		fflush(stdout);
	}
	tally->steps += w->steps;
}

/* Each jobs-th of the numbered schedules and of the seeds, from the job's own on. */
static void run_some(struct world *w, const struct options *o, unsigned job, struct tally *tally)
{
	uint64_t seed;

	for (seed = o->seed + job; seed < o->seed + o->seeds; seed += o->jobs) {
		run_seed(w, seed, tally);
		if (o->first && tally->broken)
			return;
	}
	for (seed = SWEEP + job; !o->first && seed < SWEEP + sweep_count(); seed += o->jobs)
		run_seed(w, seed, tally);
}

/* One process per job; one that dies has broken something, too. */
static void run_jobs(struct world *w, const struct options *o, struct tally *tallies)
{
	pid_t pids[MAX_JOBS];
	int status;

	fflush(stdout);
	for (unsigned i = 0; i < o->jobs; i++) {
		pids[i] = fork();
		CHECK(pids[i] >= 0);
		if (pids[i] == 0) {
			run_some(w, o, i, &tallies[i]);
			fflush(stdout);
			_exit(0);
		}
	}
	for (unsigned i = 0; i < o->jobs; i++) {
		CHECK(waitpid(pids[i], &status, 0) == pids[i]);
		if (status == 0)
			continue;
		printf("broken: a process of seeds from %llu on ended with status %d\n",
		    (unsigned long long)(o->seed + i), status);
		tallies[i].broken++;
	}
}

static int run_many(struct world *w, const struct options *o)
{
	struct tally *tallies = mmap(NULL, MAX_JOBS * sizeof(*tallies), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t steps = 0, broken = 0, lowest = 0;
	struct schedule schedule;
	unsigned missing;

	CHECK(tallies != MAP_FAILED);
	printf("sim: seeds %llu to %llu, and %llu in which an operator speaks up\n",
	    (unsigned long long)o->seed, (unsigned long long)(o->seed + o->seeds - 1),
	    (unsigned long long)sweep_count());
	if (o->jobs == 1)
		run_some(w, o, 0, tallies);
	else
		run_jobs(w, o, tallies);
	for (unsigned i = 0; i < o->jobs; i++) {
		steps += tallies[i].steps;
		broken += tallies[i].broken;
		if (tallies[i].lowest && (!lowest || tallies[i].lowest < lowest))
			lowest = tallies[i].lowest;
		for (unsigned k = 0; k < sizeof(hits) / sizeof(uint64_t); k++)
			((uint64_t *)&hits)[k] += ((const uint64_t *)&tallies[i].hits)[k];
	}
	(void)munmap(tallies, MAX_JOBS * sizeof(*tallies));
	if (lowest && !o->first) {
		chaos_make(&schedule, lowest);
		if (!chaos_run_guarded(w, &schedule, NULL, NULL))
			tell_broken(w, &schedule, o);
	}
	/* For mutants an invariant must speak. */
	missing = o->first ? 0 : rows_not_hit(true) + words_not_met();
	printf("sim: %llu schedules, %llu steps, %llu broken, %u rows not hit\n",
	    (unsigned long long)(o->seeds + (o->first ? 0 : sweep_count())),
	    (unsigned long long)steps, (unsigned long long)broken, missing);
	return broken || missing;
}

static int run_stories(struct world *w, const struct options *o, char **paths)
{
	unsigned passed = 0, failed = 0;

	for (; *paths && !(o->first && failed); paths++) {
		if (story_run(w, *paths, o->rewrite, &hits) == 0)
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
		} else if (strcmp(argv[i], "--jobs") == 0 && i + 1 < argc) {
			o->jobs = (unsigned)strtoul(argv[++i], NULL, 10);
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
	if (o->first)
		o->jobs = 1;
	if (o->jobs == 0 || o->jobs > MAX_JOBS)
		o->jobs = 1;
	*at = i;
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = { .seeds = 10000,
		.seed = 1,
		.jobs = (unsigned)sysconf(_SC_NPROCESSORS_ONLN),
		.out = "build/sim" };
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
