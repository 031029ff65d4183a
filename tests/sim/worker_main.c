/*
 * Runs schedules of workers and tells what they found. Goal: no schedule breaks a sentence of
 * worker_client.c, worker_api.c, worker_follower.c or worker_chaos.c. Method: seeds; the same seed
 * is the same run. `--seed N`: that one, told step by step.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/worker_world.h"

static int one(struct world *w, uint64_t seed)
{
	bool holds = chaos_run(w, seed, true);

	if (holds)
		printf("workers: seed %llu holds\n", (unsigned long long)seed);
	else
		printf("broken: %s: %s\n", w->broken, w->detail);
	return holds ? 0 : 1;
}

static int many(struct world *w, uint64_t first, uint64_t count, bool stop)
{
	uint64_t broken = 0, steps = 0, pushes = 0, moves = 0, lost = 0, rehearsals = 0;

	for (uint64_t seed = first; seed < first + count; seed++) {
		if (!chaos_run(w, seed, false)) {
			if (broken++ < 10)
				printf("broken: seed %llu: %s: %s\n", (unsigned long long)seed,
				    w->broken, w->detail);
			fflush(stdout);
			if (stop)
				break;
		}
		steps += w->steps;
		pushes += w->pushes;
		moves += w->moves;
		lost += w->lost;
		rehearsals += w->rehearsals;
	}
	if (broken)
		printf("replay: build/sim/workers --seed N\n");
	/* A run in which nothing happened would hold, too. */
	if (!stop && (pushes == 0 || moves == 0 || lost == 0 || rehearsals == 0)) {
		printf("broken: nothing was pushed, moved, lost or rehearsed\n");
		broken++;
	}
	printf("workers: %llu schedules, %llu steps, %llu claims sent, %llu dry runs, %llu moves, "
	       "%llu answers lost, %llu broken\n",
	    (unsigned long long)count, (unsigned long long)steps, (unsigned long long)pushes,
	    (unsigned long long)rehearsals, (unsigned long long)moves, (unsigned long long)lost,
	    (unsigned long long)broken);
	return broken != 0;
}

int main(int argc, char **argv)
{
	static struct world w;
	uint64_t seeds = 1000, first = 1;
	bool stop = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--first") == 0) {
			stop = true;
		} else if (i + 1 < argc && strcmp(argv[i], "--seed") == 0) {
			return one(&w, strtoull(argv[i + 1], NULL, 10));
		} else if (i + 1 < argc && strcmp(argv[i], "--seeds") == 0) {
			seeds = strtoull(argv[++i], NULL, 10);
		} else if (i + 1 < argc && strcmp(argv[i], "--from") == 0) {
			first = strtoull(argv[++i], NULL, 10);
		} else {
			fprintf(stderr, "workers: unknown option %s\n", argv[i]);
			return 2;
		}
	}
	return many(&w, first, seeds, stop);
}
