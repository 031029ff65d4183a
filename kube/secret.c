/*
 * Memory for secrets (see the header). It must not log and must not know what it holds.
 * Pitfall: P72.
 */
#include "kube/secret.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/check.h"

struct secret_arena {
	char *pages;
	unsigned slots;
	bool *taken;
};

struct secret_arena *secret_arena_new(unsigned slots, bool *locked)
{
	struct secret_arena *arena = calloc(1, sizeof(*arena));
	size_t size = (size_t)slots * SECRET_SLOT_BYTES;

	*locked = false;
	if (!arena)
		return NULL;
	arena->slots = slots;
	arena->taken = calloc(slots, sizeof(bool));
	arena->pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!arena->taken || arena->pages == MAP_FAILED) {
		if (arena->pages != MAP_FAILED)
			(void)munmap(arena->pages, size);
		free(arena->taken);
		free(arena);
		return NULL;
	}
	(void)madvise(arena->pages, size, MADV_DONTDUMP);
	/* On fault: slots that nobody uses cost no memory. */
	*locked = mlock2(arena->pages, size, MLOCK_ONFAULT) == 0;
	return arena;
}

void secret_arena_free(struct secret_arena *arena)
{
	size_t size;

	if (!arena)
		return;
	for (unsigned i = 0; i < arena->slots; i++)
		if (arena->taken[i])
			secret_give_back(arena, arena->pages + (size_t)i * SECRET_SLOT_BYTES);
	size = (size_t)arena->slots * SECRET_SLOT_BYTES;
	(void)munmap(arena->pages, size);
	free(arena->taken);
	free(arena);
}

char *secret_take(struct secret_arena *arena)
{
	for (unsigned i = 0; i < arena->slots; i++)
		if (!arena->taken[i]) {
			arena->taken[i] = true;
			return arena->pages + (size_t)i * SECRET_SLOT_BYTES;
		}
	return NULL;
}

void secret_give_back(struct secret_arena *arena, char *slot)
{
	size_t index = (size_t)(slot - arena->pages) / SECRET_SLOT_BYTES;

	CHECK(index < arena->slots && arena->taken[index]);
	explicit_bzero(slot, SECRET_SLOT_BYTES);
	arena->taken[index] = false;
}

void secret_free(void *block)
{
	if (!block)
		return;
	explicit_bzero(block, malloc_usable_size(block));
	free(block);
}

/* Never in place of a block that moves: realloc would leave the old one readable. */
void *secret_realloc(void *block, size_t size)
{
	size_t held = block ? malloc_usable_size(block) : 0;
	void *moved;

	if (size <= held && size > held / 2)
		return block;
	moved = malloc(size ? size : 1);
	if (!moved)
		return NULL;
	if (block)
		memcpy(moved, block, held < size ? held : size);
	secret_free(block);
	return moved;
}
