/*
 * Every block that this process gives back is wiped first, also those of libyaml, OpenSSL and
 * jansson, which parse secrets and know nothing of them (F30). By taking over free() and realloc()
 * of the whole process; sanitizers bring their own and keep them. Called by everybody.
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__
#endif
#endif

#ifndef __SANITIZE_ADDRESS__
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

extern void __libc_free(void *block);

void free(void *block)
{
	if (block)
		explicit_bzero(block, malloc_usable_size(block));
	__libc_free(block);
}

/* Moves by copy, so that the old block is wiped. */
void *realloc(void *block, size_t size)
{
	size_t old = block ? malloc_usable_size(block) : 0;
	void *moved = malloc(size ? size : 1);

	if (!moved)
		return NULL;
	if (block)
		memcpy(moved, block, old < size ? old : size);
	free(block);
	return moved;
}
#else
/* An empty translation unit is not C. */
extern int loader_wipe_is_off;
#endif
