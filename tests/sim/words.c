/*
 * Faults as text, and back: the verbs of stories. The table is faults.c's. Called by faults.c,
 * chaos.c and story.c.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world.h"

static const char *const node_names[NODES] = { "A", "B", "C" };
static const char *const host_names[HOSTS] = { "A", "B", "C", "f1", "f2", "f3" };
static const char *const api_names[APIS] = { "a", "b", "w1", "w2", "w3" };

const char *faults_node_name(unsigned node)
{
	return node < NODES ? node_names[node] : "?";
}

static int put_time(char *text, size_t size, int64_t ns)
{
	if (ns % S(1) == 0)
		return snprintf(text, size, "%llds", (long long)(ns / S(1)));
	if (ns % MS(1) == 0)
		return snprintf(text, size, "%lldms", (long long)(ns / MS(1)));
	return snprintf(text, size, "%lldns", (long long)ns);
}

static const char *const phase_names[] = { "none", "acquiring", "leading", "draining", "released" };

void faults_print(const struct fault *f, char *text, size_t size)
{
	size_t n = 0;

	if (f->when == WHEN_STATE)
		n += (size_t)snprintf(text + n, size - n, "when %s is %s ",
		    node_names[f->when_node], machine_state_name(f->when_what));
	else if (f->when == WHEN_APPLIED)
		n += (size_t)snprintf(text + n, size - n, "when %s wrote %s ",
		    node_names[f->when_node], phase_names[f->when_what]);
	if (f->when != WHEN_NOW && f->delay) {
		n += (size_t)put_time(text + n, size - n, f->delay);
		n += (size_t)snprintf(text + n, size - n, " ");
	}
	n += (size_t)snprintf(text + n, size - n, "%s", fault_rows[f->verb].name);
	for (const char *c = fault_rows[f->verb].arguments; *c && n < size; c++) {
		n += (size_t)snprintf(text + n, size - n, " ");
		switch (*c) {
		case 'N': n += (size_t)snprintf(text + n, size - n, "%s", node_names[f->a]); break;
		case 'P': n += (size_t)snprintf(text + n, size - n, "%s", api_names[f->a]); break;
		case 'H':
			n += (size_t)snprintf(
			    text + n, size - n, "%s>%s", host_names[f->a], api_names[f->b]);
			break;
		case 'T': n += (size_t)put_time(text + n, size - n, f->number); break;
		case 'U':
			n += (size_t)snprintf(text + n, size - n, "%lld", (long long)f->number);
			break;
		default:
			n += (size_t)snprintf(
			    text + n, size - n, "%s", fault_rows[f->verb].choices[f->number]);
		}
	}
}

static bool name_in(const char *const *names, unsigned count, const char *word, uint8_t *index)
{
	for (unsigned i = 0; i < count; i++)
		if (strcmp(names[i], word) == 0) {
			*index = (uint8_t)i;
			return true;
		}
	return false;
}

static bool parse_time(const char *word, int64_t *ns)
{
	char *end;
	long long value = strtoll(word, &end, 10);

	if (end == word)
		return false;
	if (strcmp(end, "s") == 0)
		*ns = value * S(1);
	else if (strcmp(end, "ms") == 0)
		*ns = value * MS(1);
	else if (strcmp(end, "ns") == 0)
		*ns = value;
	else
		return false;
	return true;
}

static bool parse_argument(char kind, const char *const *choices, char *word, struct fault *f)
{
	char *to;
	uint8_t choice = 0;

	switch (kind) {
	case 'N': return name_in(node_names, NODES, word, &f->a);
	case 'P': return name_in(api_names, APIS, word, &f->a);
	case 'T': return parse_time(word, &f->number);
	case 'U': f->number = strtoll(word, &to, 10); return *to == '\0' && to != word;
	case 'H':
		to = strchr(word, '>');
		if (!to)
			return false;
		*to = '\0';
		return name_in(host_names, HOSTS, word, &f->a) &&
		       name_in(api_names, APIS, to + 1, &f->b);
	default:
		for (; choices[choice]; choice++)
			if (strcmp(choices[choice], word) == 0) {
				f->number = choice;
				return true;
			}
		return false;
	}
}

/* "is STATE" or "wrote PHASE", then perhaps a time. The verb follows. */
static bool parse_when(char **save, struct fault *f, char **word)
{
	const char *node = strtok_r(NULL, " ", save), *how = strtok_r(NULL, " ", save);
	const char *what = strtok_r(NULL, " ", save);

	if (!what || !name_in(node_names, NODES, node, &f->when_node))
		return false;
	f->when = strcmp(how, "is") == 0 ? WHEN_STATE : WHEN_APPLIED;
	if (f->when == WHEN_APPLIED) {
		if (strcmp(how, "wrote") != 0 || !name_in(phase_names, 5, what, &f->when_what))
			return false;
	} else {
		for (f->when_what = 0; f->when_what < STATE_COUNT; f->when_what++)
			if (strcmp(machine_state_name(f->when_what), what) == 0)
				break;
		if (f->when_what == STATE_COUNT)
			return false;
	}
	*word = strtok_r(NULL, " ", save);
	if (*word && parse_time(*word, &f->delay))
		*word = strtok_r(NULL, " ", save);
	return *word != NULL;
}

int faults_parse(const char *text, struct fault *f, char *why, size_t size)
{
	char copy[256], *save = NULL, *word;

	*f = (struct fault){ 0 };
	(void)snprintf(copy, sizeof(copy), "%s", text);
	word = strtok_r(copy, " ", &save);
	if (word && strcmp(word, "when") == 0 && !parse_when(&save, f, &word)) {
		(void)snprintf(why, size, "expected: when NODE is STATE|wrote PHASE [TIME] VERB");
		return -1;
	}
	for (f->verb = VERB_RUN; word && f->verb < VERB_COUNT; f->verb++)
		if (strcmp(fault_rows[f->verb].name, word) == 0)
			break;
	if (!word || f->verb == VERB_COUNT) {
		(void)snprintf(why, size, "%s is no verb", word ? word : "nothing");
		return -1;
	}
	for (const char *c = fault_rows[f->verb].arguments; *c; c++) {
		word = strtok_r(NULL, " ", &save);
		if (word && parse_argument(*c, fault_rows[f->verb].choices, word, f))
			continue;
		(void)snprintf(why, size, "%s: cannot be %s", fault_rows[f->verb].name,
		    word ? word : "without an argument");
		return -1;
	}
	return 0;
}
