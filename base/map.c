/*
 * Open addressing with linear probing (see the header). Removing shifts later entries back, so
 * there are no graves and a look-up ends at the first free slot. No I/O; the key is random.
 */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/random.h"

#define ROTATE(x, n) (((x) << (n)) | ((x) >> (64 - (n))))

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = ROTATE(v[1], 13) ^ v[0];
	v[3] = ROTATE(v[3], 16) ^ v[2];
	v[0] = ROTATE(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = ROTATE(v[1], 17) ^ v[2];
	v[3] = ROTATE(v[3], 21) ^ v[0];
	v[2] = ROTATE(v[2], 32);
}

/* SipHash-1-3. */
static uint64_t hash_name(const struct map *map, struct str name)
{
	uint64_t v[4] = { map->key[0] ^ 0x736f6d6570736575ULL, map->key[1] ^ 0x646f72616e646f6dULL,
		map->key[0] ^ 0x6c7967656e657261ULL, map->key[1] ^ 0x7465646279746573ULL };
	uint64_t word = 0;

	for (size_t i = 0; i < name.n; i++) {
		word |= (uint64_t)(unsigned char)name.p[i] << (8 * (i % 8));
		if (i % 8 == 7) {
			v[3] ^= word;
			sip_round(v);
			v[0] ^= word;
			word = 0;
		}
	}
	word |= (uint64_t)name.n << 56;
	v[3] ^= word;
	sip_round(v);
	v[0] ^= word;
	v[2] ^= 0xff;
	sip_round(v);
	sip_round(v);
	sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

struct map map_make(map_name_fn *name_of)
{
	return (struct map){ .name_of = name_of, .key = { base_random_u64(), base_random_u64() } };
}

void map_free(struct map *map)
{
	free(map->slots);
	map->slots = NULL;
	map->count = map->capacity = 0;
}

/* The slot that holds the name, or the free one where it would go. Needs a free slot. */
static size_t find(const struct map *map, uint64_t hash, struct str name)
{
	size_t mask = map->capacity - 1, at = hash & mask;

	while (map->slots[at].value) {
		if (map->slots[at].hash == hash &&
		    str_equal(map->name_of(map->slots[at].value), name))
			break;
		at = (at + 1) & mask;
	}
	return at;
}

void *map_get(const struct map *map, struct str name)
{
	if (map->count == 0)
		return NULL;
	return map->slots[find(map, hash_name(map, name), name)].value;
}

static bool grow(struct map *map)
{
	struct map grown = *map;

	grown.capacity = map->capacity ? map->capacity * 2 : 16;
	grown.slots = calloc(grown.capacity, sizeof(*grown.slots));
	if (!grown.slots)
		return false;
	for (size_t i = 0; i < map->capacity; i++) {
		size_t at = map->slots[i].hash & (grown.capacity - 1);

		if (!map->slots[i].value)
			continue;
		while (grown.slots[at].value)
			at = (at + 1) & (grown.capacity - 1);
		grown.slots[at] = map->slots[i];
	}
	free(map->slots);
	*map = grown;
	return true;
}

bool map_add(struct map *map, void *value)
{
	struct str name = map->name_of(value);
	uint64_t hash = hash_name(map, name);
	size_t at;

	if (map->count + 1 > map->capacity / 8 * 7 && !grow(map))
		return false;
	at = find(map, hash, name);
	CHECK(!map->slots[at].value);
	map->slots[at] = (struct map_slot){ hash, value };
	map->count++;
	return true;
}

void *map_remove(struct map *map, struct str name)
{
	size_t mask = map->capacity - 1, hole, at;
	void *value;

	if (map->count == 0)
		return NULL;
	hole = find(map, hash_name(map, name), name);
	value = map->slots[hole].value;
	if (!value)
		return NULL;
	for (at = (hole + 1) & mask; map->slots[at].value; at = (at + 1) & mask) {
		size_t home = map->slots[at].hash & mask;

		/* It may move into the hole unless its home lies behind the hole. */
		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		map->slots[hole] = map->slots[at];
		hole = at;
	}
	map->slots[hole] = (struct map_slot){ 0 };
	map->count--;
	return value;
}

void *map_next(const struct map *map, size_t *at)
{
	while (*at < map->capacity) {
		void *value = map->slots[(*at)++].value;

		if (value)
			return value;
	}
	return NULL;
}
