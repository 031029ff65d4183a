/*
 * Runs schedules of the mirror. Goal: no schedule breaks an invariant, each ends in equality, and
 * an equal mirror writes nothing. Method: seeds; the same seed is the same run. The first that
 * breaks is made small: the fewest knobs and the shortest chaos that still break the same sentence.
 * A list of seeds (tests/sim/mirror/seeds) holds those that once broke, with what they found.
 *
 *   mirror [--from K] [--seeds N] [--list FILE] [--first]
 *   mirror --seed K [--knobs MASK] [--for SECONDS] [--trace]
 */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/mirror/mirror.h"

#define CHAOS_S 90

struct options {
	uint64_t seeds, seed;
	uint32_t knobs;
	int64_t seconds;
	bool one, trace, first, drawn;
	const char *list;
};

static struct mirror m;

static void print_knobs(uint32_t knobs)
{
	for (unsigned knob = 0; knob < KNOB_COUNT; knob++)
		if (knobs & (1u << knob))
			printf(" %s", knob_names[knob]);
	printf("\n");
}

static bool still(uint64_t seed, uint32_t knobs, int64_t seconds, const char *sentence)
{
	return !chaos_run(&m, seed, knobs, S(seconds), NULL) && strcmp(m.broken, sentence) == 0;
}

static void shrink(uint64_t seed, uint32_t *knobs, int64_t *seconds, const char *sentence)
{
	for (unsigned knob = 0; knob < KNOB_COUNT; knob++)
		if ((*knobs & (1u << knob)) &&
		    still(seed, *knobs & ~(1u << knob), *seconds, sentence))
			*knobs &= ~(1u << knob);
	while (*seconds > 4 && still(seed, *knobs, *seconds / 2, sentence))
		*seconds /= 2;
	while (*seconds > 1 && still(seed, *knobs, *seconds - 1, sentence))
		*seconds -= 1;
}

static void tell_broken(uint64_t seed, bool small)
{
	uint32_t knobs = m.knobs;
	int64_t seconds = m.chaos_ns / S(1);
	const char *sentence = m.broken;

	printf("broken: seed %llu at %.3f s: %s: %s\n", (unsigned long long)seed,
	    (double)m.now / 1e9, m.broken, m.detail);
	if (small) {
		shrink(seed, &knobs, &seconds, sentence);
		printf("replay: build/sim/mirror --seed %llu --knobs 0x%x --for %lld --trace\n ",
		    (unsigned long long)seed, knobs, (long long)seconds);
		print_knobs(knobs);
	}
	fflush(stdout);
}

static int run_one(const struct options *o)
{
	uint32_t knobs = o->drawn ? o->knobs : chaos_knobs(o->seed);

	printf("seed %llu for %lld s:", (unsigned long long)o->seed, (long long)o->seconds);
	print_knobs(knobs);
	if (!chaos_run(&m, o->seed, knobs, S(o->seconds), o->trace ? stdout : NULL)) {
		tell_broken(o->seed, false);
		return 1;
	}
	printf("holds: %llu steps, %llu writes, %llu deletions, %llu archived, %u lives\n",
	    (unsigned long long)m.steps, (unsigned long long)m.writes,
	    (unsigned long long)m.deletes, (unsigned long long)m.archives, m.life);
	return 0;
}

static int run_list(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[300];
	unsigned count = 0, bad = 0;

	if (!file) {
		fprintf(stderr, "mirror: %s cannot be read\n", path);
		return 2;
	}
	while (fgets(line, sizeof(line), file)) {
		unsigned long long seed;
		unsigned knobs;
		long long seconds;

		if (*line == '#' || *line == '\n')
			continue;
		if (sscanf(line, "%llu %x %lld", &seed, &knobs, &seconds) != 3) {
			fprintf(stderr, "mirror: %s: no seed, knobs and seconds: %s", path, line);
			bad++;
			continue;
		}
		count++;
		if (!chaos_run(&m, seed, knobs, S(seconds), NULL)) {
			tell_broken(seed, false);
			bad++;
		}
	}
	(void)fclose(file);
	printf("seeds: %u hold, %u broken\n", count - bad, bad);
	return bad > 0;
}

static int run_many(const struct options *o)
{
	uint64_t bad = 0, steps = 0, writes = 0, deletes = 0, archives = 0, lives = 0, run = 0;

	for (uint64_t seed = o->seed; seed < o->seed + o->seeds; seed++) {
		bool holds = chaos_run(&m, seed, chaos_knobs(seed), S(o->seconds), NULL);

		run++;
		steps += m.steps;
		writes += m.writes;
		deletes += m.deletes;
		archives += m.archives;
		lives += m.life;
		if (!holds)
			tell_broken(seed, ++bad == 1 && !o->first);
		if (!holds && o->first)
			break;
	}
	printf("mirror: %llu schedules, %llu steps, %llu writes, %llu deletions, %llu archived, "
	       "%llu lives, %llu broken\n",
	    (unsigned long long)run, (unsigned long long)steps, (unsigned long long)writes,
	    (unsigned long long)deletes, (unsigned long long)archives, (unsigned long long)lives,
	    (unsigned long long)bad);
	return bad > 0;
}

static bool takes_value(const char *word, struct options *o, const char *value)
{
	if (strcmp(word, "--seeds") == 0)
		o->seeds = strtoull(value, NULL, 10);
	else if (strcmp(word, "--from") == 0)
		o->seed = strtoull(value, NULL, 10);
	else if (strcmp(word, "--for") == 0)
		o->seconds = strtoll(value, NULL, 10);
	else if (strcmp(word, "--list") == 0)
		o->list = value;
	else if (strcmp(word, "--seed") == 0) {
		o->seed = strtoull(value, NULL, 10);
		o->one = true;
	} else if (strcmp(word, "--knobs") == 0) {
		o->knobs = (uint32_t)strtoul(value, NULL, 16);
		o->drawn = true;
	} else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	struct options o = { .seeds = 1000, .seed = 1, .seconds = CHAOS_S };
	int code = 0;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--trace") == 0) {
			o.trace = true;
		} else if (strcmp(argv[i], "--first") == 0) {
			o.first = true;
		} else if (i + 1 < argc && takes_value(argv[i], &o, argv[i + 1])) {
			i++;
		} else {
			fprintf(stderr, "mirror: unknown option %s\n", argv[i]);
			return 2;
		}
	}
	if (o.list)
		code = run_list(o.list);
	if (o.one)
		return run_one(&o);
	return o.seeds && !(o.first && code) ? code | run_many(&o) : code;
}
