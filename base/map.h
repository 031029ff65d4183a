/*
 * The one hash table: from the bytes of a name to a value that carries its own name. Names come
 * out of peers' objects, so the hash is keyed (SipHash) and nobody can choose colliding ones.
 * The map owns its slots only: values and names belong to the caller, and a value must not change
 * its name while it is in a map. Memory: 16 bytes a slot, at most 7/8 full.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* The name of a value; must stay the same while the value is in the map. */
typedef struct str map_name_fn(const void *value);

struct map_slot {
	uint64_t hash;
	void *value; /* NULL: free */
};

struct map {
	struct map_slot *slots;
	size_t count, capacity; /* capacity is 0 or a power of two */
	uint64_t key[2];
	map_name_fn *name_of;
};

/* An empty map; allocates nothing. */
struct map map_make(map_name_fn *name_of);
/* Frees the slots, not the values. */
void map_free(struct map *map);
/* NULL when there is none. */
void *map_get(const struct map *map, struct str name);
/* Adds a value whose name is not in the map yet (CHECKed). False: out of memory, nothing done. */
bool map_add(struct map *map, void *value);
/* Takes the value out and returns it; NULL when there is none. */
void *map_remove(struct map *map, struct str name);
/* Visits all values in no order: *at starts at 0; NULL at the end. No add or remove between. */
void *map_next(const struct map *map, size_t *at);

#endif
