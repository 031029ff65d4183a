/*
 * Where tokens and keys lie: a few locked pages, made before the sandbox, never in a core dump or
 * in swap, wiped when given back; and an allocator that wipes for libcurl and jansson, through
 * whose hands secrets pass (F30: this is what is attainable, the threat model says the rest).
 * A slot is SECRET_SLOT_BYTES long and belongs to its taker until it is given back.
 */
#ifndef KUBE_SECRET_H
#define KUBE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#define SECRET_SLOT_BYTES 32768

struct secret_arena;

/* NULL when the pages cannot be mapped. *locked: they cannot be swapped. */
struct secret_arena *secret_arena_new(unsigned slots, bool *locked);
/* Wipes and unmaps. NULL is fine. */
void secret_arena_free(struct secret_arena *arena);
/* NULL when all slots are taken. */
char *secret_take(struct secret_arena *arena);
void secret_give_back(struct secret_arena *arena, char *slot);

void secret_free(void *block);
void *secret_realloc(void *block, size_t size);

#endif
