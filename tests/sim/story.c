/*
 * Schedules as text. A story has a head of settings, then verbs, and under each verb what the
 * machines said until the next one, in the words of elector/trace.c. It is run again and compared
 * line by line; `--rewrite` puts the new transcript in its place. Called by main.c.
 *
 *   # what it is about            kept as it is
 *   seed N | calm                 latencies drawn from a seed, or 2 ms for everything
 *   workers N, timing X Y, active A..., rates X Y Z (ppm), and so on: struct setup
 *   > VERB ARGUMENTS              tests/sim/faults.c; `run T` lets time pass
 *   [seconds] HUB ...             expected
 */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world.h"

#define MAX_STORY ((size_t)256 * 1024)

/* --- Settings --------------------------------------------------------------------------------- */

static bool parse_timing(const char *word, uint8_t *timing)
{
	for (unsigned i = 0; i < world_timing_count; i++)
		if (strcmp(world_timings[i].name, word) == 0) {
			*timing = (uint8_t)i;
			return true;
		}
	return false;
}

static bool parse_followers(char *words, struct setup *s)
{
	static const char *const names[] = { "absent", "alive", "lies", "denied" };
	char *save = NULL, *word = strtok_r(words, " ", &save);

	for (unsigned i = 0; i < WORKERS && word; i++, word = strtok_r(NULL, " ", &save)) {
		unsigned f = 0;

		while (f < 4 && strcmp(names[f], word) != 0)
			f++;
		if (f == 4)
			return false;
		s->follower[i] = (enum follower)f;
	}
	return word == NULL;
}

static bool parse_setting(const char *line, struct setup *s)
{
	char first[32], second[32], words[128];
	unsigned long long number;
	long long rates[3];

	if (sscanf(line, "seed %llu", &number) == 1) {
		s->seed = number;
		s->calm = false;
	} else if (sscanf(line, "workers %llu", &number) == 1 && number <= WORKERS) {
		s->workers = (unsigned)number;
	} else if (sscanf(line, "timing %31s %31s", first, second) == 2) {
		return parse_timing(first, &s->timing[0]) && parse_timing(second, &s->timing[1]);
	} else if (sscanf(line, "rates %lld %lld %lld", &rates[0], &rates[1], &rates[2]) == 3) {
		for (unsigned i = 0; i < NODES; i++)
			s->rate_ppm[i] = rates[i];
	} else if (sscanf(line, "followers %127[^\n]", words) == 1) {
		return parse_followers(words, s);
	} else if (sscanf(line, "block %llus", &number) == 1) {
		s->block_ns = S((int64_t)number);
	} else if (sscanf(line, "led %llu", &number) == 1) {
		s->first_term = number;
	} else if (sscanf(line, "active %31s", first) == 1) {
		s->active[0] = strchr(first, 'A') != NULL;
		s->active[1] = strchr(first, 'B') != NULL;
	} else if (strcmp(line, "twin") == 0) {
		s->twin = true;
	} else if (strcmp(line, "workload") == 0) {
		s->workload = true;
	} else if (strcmp(line, "manual") == 0) {
		s->manual = true;
	} else if (strcmp(line, "unfenced") == 0) {
		s->unfenced = true;
	} else if (strcmp(line, "no-witness") == 0) {
		s->no_witness = true;
	} else if (strcmp(line, "resume") == 0) {
		s->resume[0] = s->resume[1] = true;
	} else {
		return false;
	}
	return true;
}

static void print_settings(const struct setup *s, FILE *out)
{
	static const char *const followers[] = { "absent", "alive", "lies", "denied" };
	const struct {
		bool is;
		const char *word;
	} words[] = { { s->twin, "twin" }, { s->workload, "workload" }, { s->manual, "manual" },
		{ s->unfenced, "unfenced" }, { s->no_witness, "no-witness" },
		{ s->resume[0], "resume" } };

	fprintf(out, "seed %llu\nworkers %u\ntiming %s %s\nactive %s%s\n",
	    (unsigned long long)s->seed, s->workers, world_timings[s->timing[0]].name,
	    world_timings[s->timing[1]].name, s->active[0] ? "A" : "", s->active[1] ? "B" : "");
	fprintf(out, "rates %lld %lld %lld\nfollowers %s %s %s\n", (long long)s->rate_ppm[0],
	    (long long)s->rate_ppm[1], (long long)s->rate_ppm[2], followers[s->follower[0]],
	    followers[s->follower[1]], followers[s->follower[2]]);
	if (s->block_ns)
		fprintf(out, "block %llds\n", (long long)(s->block_ns / S(1)));
	if (s->first_term)
		fprintf(out, "led %llu\n", (unsigned long long)s->first_term);
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].is)
			fprintf(out, "%s\n", words[i].word);
}

/* --- A schedule becomes a story --------------------------------------------------------------- */

static void print_run(FILE *out, int64_t *now, int64_t at)
{
	if (at <= *now)
		return;
	fprintf(out, "> run %lldms\n", (long long)((at - *now) / MS(1)));
	*now = at;
}

int story_write(const struct schedule *schedule, const char *path, const char *sentence)
{
	FILE *out = fopen(path, "w");
	int64_t now = 0;
	char text[160];

	if (!out)
		return -1;
	fprintf(out, "# Broke %s.\n", sentence);
	print_settings(&schedule->setup, out);
	for (unsigned i = 0; i < schedule->fault_count; i++) {
		if (schedule->faults[i].at > schedule->chaos_ends)
			continue;
		print_run(out, &now, schedule->faults[i].at);
		faults_print(&schedule->faults[i], text, sizeof(text));
		fprintf(out, "> %s\n", text);
	}
	print_run(out, &now, schedule->chaos_ends);
	fprintf(out, "> heal\n> run 160s\n");
	return fclose(out);
}

/* --- A story is told -------------------------------------------------------------------------- */

struct telling {
	struct world *w;
	const char *path;
	FILE *out;
	unsigned line;
	bool begun, failed;
};

static void begin(struct telling *t, const struct setup *setup, struct hits *hits)
{
	world_make(t->w, setup);
	t->w->trace = t->out;
	t->w->hits = hits;
	t->begun = true;
}

static void tell(struct telling *t, const char *text)
{
	struct world *w = t->w;
	struct fault fault;
	char why[160];

	if (faults_parse(text, &fault, why, sizeof(why))) {
		fprintf(stderr, "%s:%u: %s\n", t->path, t->line, why);
		t->failed = true;
		return;
	}
	fprintf(t->out, "> %s\n", text);
	if (fault.verb == VERB_RUN) {
		world_run(w, w->now + fault.number);
	} else if (fault.when == WHEN_NOW) {
		w->trace = NULL; /* the verb stands there already */
		faults_apply(w, &fault);
		w->trace = t->out;
	} else if (w->fault_count < MAX_FAULTS) {
		fault.at = w->now;
		w->faults[w->fault_count++] = fault;
		w->armed++;
	}
}

static void take_line(struct telling *t, char *line, struct setup *setup, struct hits *hits)
{
	t->line++;
	if (line[0] == '[' || line[0] == '=')
		return; /* the old transcript */
	if (line[0] == '>') {
		if (!t->begun)
			begin(t, setup, hits);
		tell(t, line + 1 + strspn(line + 1, " "));
		return;
	}
	fprintf(t->out, "%s\n", line);
	if (line[0] == '#' || line[0] == '\0')
		return;
	if (t->begun || !parse_setting(line, setup)) {
		fprintf(stderr, "%s:%u: %s is no setting\n", t->path, t->line, line);
		t->failed = true;
	}
}

/* How it ended: a story without a word to say still says something. */
static void tell_end(struct telling *t)
{
	const char *missing = t->begun ? invariants_settled(t->w) : NULL;

	for (unsigned i = 0; t->begun && i < NODES; i++) {
		const struct node *n = &t->w->nodes[i];

		if (n->exists && n->alive)
			fprintf(t->out, "= %s %s, term %llu%s\n", faults_node_name(i),
			    machine_state_name(n->machine.state),
			    (unsigned long long)n->machine.term,
			    world_page_open(t->w, n) ? ", page open" : "");
	}
	fprintf(t->out, "= %s%s\n", missing ? "not settled: " : "",
	    missing ? missing : "one leads, the other stands by with a complete mirror");
}

static char *read_file(const char *path)
{
	FILE *in = fopen(path, "r");
	char *text = calloc(1, MAX_STORY);

	if (!in || !text) {
		perror(path);
		free(text);
		text = NULL;
	} else {
		(void)!fread(text, 1, MAX_STORY - 1, in);
	}
	if (in)
		fclose(in);
	return text;
}

/* The first lines that differ, with the one before them. */
static void show_difference(const char *path, const char *was, const char *is)
{
	const char *start_was = was, *start_is = is, *last = was;
	unsigned line = 1;

	printf("%s differs\n", path);
	for (; *was && *was == *is; was++, is++)
		if (*was == '\n') {
			last = start_was;
			start_was = was + 1;
			start_is = is + 1;
			line++;
		}
	printf("  line %u\n   %.*s\n", line, (int)strcspn(last, "\n"), last);
	for (unsigned i = 0; i < 5 && *start_was; i++, start_was += *start_was == '\n') {
		printf("  -%.*s\n", (int)strcspn(start_was, "\n"), start_was);
		start_was += strcspn(start_was, "\n");
	}
	for (unsigned i = 0; i < 5 && *start_is; i++, start_is += *start_is == '\n') {
		printf("  +%.*s\n", (int)strcspn(start_is, "\n"), start_is);
		start_is += strcspn(start_is, "\n");
	}
}

static int put_file(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	if (!out)
		return -1;
	fputs(text, out);
	return fclose(out);
}

int story_run(struct world *w, const char *path, bool rewrite, struct hits *hits)
{
	struct setup setup = { .seed = 1,
		.calm = true,
		.active = { true, false },
		.rate_ppm = { 1000000, 1000000, 1000000 } };
	struct telling t = { .w = w, .path = path };
	char *was = read_file(path), *copy = was ? strdup(was) : NULL, *is = NULL, *rest = copy,
	     *line;
	size_t size = 0;
	int code = 1;

	if (!copy || !(t.out = open_memstream(&is, &size)))
		goto out;
	while ((line = strsep(&rest, "\n")) && (rest || *line))
		take_line(&t, line, &setup, hits);
	tell_end(&t);
	fclose(t.out);
	if (t.failed || !t.begun) {
		code = 1;
	} else if (rewrite) {
		code = put_file(path, is) != 0 || w->broken;
	} else if (strcmp(was, is) != 0) {
		show_difference(path, was, is);
	} else {
		code = w->broken ? 1 : 0;
	}
	if (w->broken && t.begun)
		printf("%s: broken: %s: %s\n", path, w->broken, w->detail);
out:
	free(is);
	free(copy);
	free(was);
	return code;
}
