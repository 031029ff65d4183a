/*
 * What differs between the configuration in force and another one, and what follows from it: what
 * cannot change while understudyd runs, who must start anew, which workers came and went. Pure.
 */
#ifndef SUPERVISOR_CHANGES_H
#define SUPERVISOR_CHANGES_H

#include "policy/config.h"

#define CHANGES_MAX 32

struct changes {
	const char *frozen[CHANGES_MAX]; /* keys that take a restart of understudyd */
	unsigned frozen_count;
	const char *keys[CHANGES_MAX]; /* the others; workers are counted */
	unsigned key_count;
	uint32_t anew;   /* ROLE_BITs whose part is another one */
	uint32_t shards; /* bits of repointer shards with another worker in them */
	unsigned added, removed, changed;
};

/* Gives each worker that stays the number that it has, as far as numbers reach, so that its shard
 * is not disturbed because of others; who comes new fills the holes, then the end. */
void changes_place_workers(const struct us_config *now, struct us_config *next);
/* `next` as placed. */
void changes_between(
    const struct us_config *now, const struct us_config *next, struct changes *changes);
/* Whether this number is another worker's, or nobody's, in `next`. */
bool changes_worker(const struct us_config *now, const struct us_config *next, unsigned worker);
/* What a reload does about section.key of the file (a key of the root: its own name and ""): can it
 * change, and who starts anew then. False: no part has it, as is so with workers. */
bool changes_of_key(const char *section, const char *key, bool *may_change, uint32_t *anew);
/* For a person: which keys, how many workers. */
void changes_describe(const struct changes *changes, char *text, size_t size);

#endif
