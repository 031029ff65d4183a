/*
 * Items and spaces (see the header). Memory and counts only; decisions are the engine's.
 */
#include "syncer/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/check.h"

/* Whole blocks come from the system: among texts, which come and go, items would leave holes that
 * nobody fills. */
#define BLOCK_BYTES ((size_t)256 * 1024)
#define STEP        16u

struct item_block {
	_Alignas(STEP) struct item_block *next; /* items follow */
};

static struct str key_of(const void *value)
{
	return str_of(((const struct item *)value)->key);
}

static struct str space_name_of(const void *value)
{
	return str_of(((const struct space *)value)->name);
}

void store_open(struct store *store)
{
	*store = (struct store){ .items = map_make(key_of),
		.spaces = map_make(space_name_of),
		.held_most = STORE_MAX_HELD };
}

#ifdef __SANITIZE_ADDRESS__
/* So that whoever uses one that is gone is found. */
static struct item *item_take(struct store *store, size_t size)
{
	(void)store;
	return calloc(1, size);
}

static void item_give_back(struct store *store, struct item *item, size_t size)
{
	(void)store;
	(void)size;
	free(item);
}
#else
/* All zero; NULL: out of memory. */
static struct item *item_take(struct store *store, size_t size)
{
	size_t steps = (size + STEP - 1) / STEP;
	struct item *item = store->spare[steps];
	struct item_block *block;

	if (item) {
		store->spare[steps] = item->next;
		item->next = NULL;
		return item;
	}
	if (store->block_left < steps * STEP) {
		block = mmap(
		    NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (block == MAP_FAILED)
			return NULL;
		block->next = store->blocks;
		store->blocks = block;
		store->block_left = BLOCK_BYTES - sizeof(*block);
	}
	item = (struct item *)(void *)((char *)store->blocks + BLOCK_BYTES - store->block_left);
	store->block_left -= steps * STEP;
	return item;
}

static void item_give_back(struct store *store, struct item *item, size_t size)
{
	size_t steps = (size + STEP - 1) / STEP;

	memset(item, 0, size);
	item->next = store->spare[steps];
	store->spare[steps] = item;
}
#endif

static size_t size_of(const char *key)
{
	return sizeof(struct item) + strlen(key) + 1;
}

static void item_free(struct store *store, struct item *item)
{
	store_release(store, item);
	free(item->why);
	free(item->dropped);
	free(item->made);
	item_give_back(store, item, size_of(item->key));
}

void store_close(struct store *store)
{
	void *value;

	for (size_t at = 0; (value = map_next(&store->items, &at));)
		item_free(store, value);
	for (size_t at = 0; (value = map_next(&store->spaces, &at));)
		free(value);
	map_free(&store->items);
	map_free(&store->spaces);
	while (store->blocks) {
		struct item_block *block = store->blocks;

		store->blocks = block->next;
		(void)munmap(block, BLOCK_BYTES);
	}
}

/* Kind and names as one key; 0 when a name is too long. Slashes in it: no valid name has one. */
static size_t key_make(
    char key[ITEM_KEY_MAX], enum kind kind, const char *namespace, const char *name)
{
	int n = snprintf(key, ITEM_KEY_MAX, "%c%s/%s", 'A' + (int)kind, namespace, name);

	if (n < 0 || n >= ITEM_KEY_MAX || strchr(namespace, '/') || strchr(name, '/'))
		return 0;
	return (size_t)n;
}

struct item *store_find(
    const struct store *store, enum kind kind, const char *namespace, const char *name)
{
	char key[ITEM_KEY_MAX];
	size_t n = key_make(key, kind, namespace, name);

	return n ? map_get(&store->items, (struct str){ key, n }) : NULL;
}

struct space *store_space(struct store *store, const char *name)
{
	struct space *space = map_get(&store->spaces, str_of(name));

	if (space)
		return space;
	space = calloc(1, sizeof(*space));
	if (!space || !str_copy(space->name, sizeof(space->name), str_of(name)) ||
	    !map_add(&store->spaces, space)) {
		free(space);
		return NULL;
	}
	return space;
}

static void space_add(struct space *space, struct item *item)
{
	item->space = space;
	item->space_next = space->items;
	if (space->items)
		space->items->space_previous = item;
	space->items = item;
}

struct item *store_add(struct store *store, enum kind kind, const char *namespace, const char *name)
{
	struct item *item = store_find(store, kind, namespace, name);
	struct space *space;
	char key[ITEM_KEY_MAX];
	size_t n;

	if (item)
		return item;
	n = key_make(key, kind, namespace, name);
	space = n ? store_space(store, namespace) : NULL;
	item = space ? item_take(store, size_of(key)) : NULL;
	if (!item)
		return NULL;
	item->kind = (uint8_t)kind;
	memcpy(item->key, key, n + 1);
	item->name_at = (uint16_t)(strlen(namespace) + 2);
	if (!map_add(&store->items, item)) {
		item_give_back(store, item, size_of(item->key));
		return NULL;
	}
	space_add(space, item);
	store->count[ITEM_IDLE]++;
	/* A Namespace is where the items of another space live. */
	if (kind == KIND_NAMESPACE && (space = store_space(store, name)))
		space->self = item;
	return item;
}

void store_drop(struct store *store, struct item *item)
{
	struct space *inside;

	CHECK(item->queue == QUEUE_NOT && !item->busy && !item->has_dependents);
	store_set_source(store, item, SOURCE_UNKNOWN);
	store_set_copy(store, item, COPY_NONE);
	store_set_state(store, item, ITEM_IDLE);
	store->count[ITEM_IDLE]--;
	if (item->kind == KIND_NAMESPACE && (inside = store_space(store, item_name(item))))
		inside->self = NULL;
	if (item->space_previous)
		item->space_previous->space_next = item->space_next;
	else
		item->space->items = item->space_next;
	if (item->space_next)
		item->space_next->space_previous = item->space_previous;
	CHECK(map_remove(&store->items, key_of(item)) == item);
	item_free(store, item);
}

void store_set_source(struct store *store, struct item *item, enum source_state state)
{
	store->count_source[item->kind] += (state == SOURCE_PRESENT);
	store->count_source[item->kind] -= (item->source == SOURCE_PRESENT);
	item->source = (uint8_t)state;
}

static bool copy_counts(unsigned state)
{
	return state == COPY_PRESENT || state == COPY_UNSURE;
}

void store_set_copy(struct store *store, struct item *item, enum copy_state state)
{
	store->count_copy[item->kind] += copy_counts(state);
	store->count_copy[item->kind] -= copy_counts(item->copy);
	item->copy = (uint8_t)state;
}

void store_set_state(struct store *store, struct item *item, enum item_state state)
{
	store->count_pending[item->kind] += (state == ITEM_PENDING);
	store->count_pending[item->kind] -= (item->state == ITEM_PENDING);
	store->count[item->state]--;
	store->count[state]++;
	item->state = (uint8_t)state;
}

bool store_hold(
    struct store *store, struct item *item, struct str text, struct rewrite_copy copy, bool always)
{
	struct held *held;

	store_release(store, item);
	if (!always && store->held_bytes + text.n > store->held_most)
		return false;
	held = malloc(sizeof(*held) + text.n + 1);
	if (!held)
		return false;
	held->copy = copy;
	held->n = text.n;
	memcpy(held->text, text.p, text.n);
	held->text[text.n] = '\0';
	item->held = held;
	store->held_bytes += text.n;
	return true;
}

void store_release(struct store *store, struct item *item)
{
	if (!item->held)
		return;
	store->held_bytes -= item->held->n;
	explicit_bzero(item->held->text, item->held->n);
	free(item->held);
	item->held = NULL;
}

const struct made *item_made(const struct item *item)
{
	static const struct made nothing;

	return item->made ? item->made : &nothing;
}

struct made *store_made(struct item *item)
{
	if (!item->made)
		item->made = calloc(1, sizeof(*item->made));
	CHECK(item->made);
	return item->made;
}

void store_set_made(
    struct item *item, bool of_status, const struct hash *sent, const struct hash *got)
{
	bool known = item->made != NULL;
	struct made *made = store_made(item);

	if (!known && hash_equal(&item->copy_mark, &item->copy_body))
		made->wrote_body = made->answer_body = item->copy_body;
	*(of_status ? &made->wrote_status : &made->wrote_body) = *sent;
	*(of_status ? &made->answer_status : &made->answer_body) = *got;
	if (!hash_equal(&made->wrote_body, &made->answer_body) ||
	    !hash_is_zero(&made->wrote_status) || !hash_is_zero(&made->answer_status))
		return;
	free(item->made);
	item->made = NULL;
}

void store_say(struct item *item, const char *why)
{
	free(item->why);
	item->why = why ? strdup(why) : NULL;
}

const char *item_name(const struct item *item)
{
	return item->key + item->name_at;
}

const char *item_namespace(const struct item *item)
{
	return item->space->name;
}

void item_list_push(struct item_list *list, struct item *item)
{
	item->next = NULL;
	item->previous = list->last;
	if (list->last)
		list->last->next = item;
	else
		list->first = item;
	list->last = item;
}

void item_list_cut(struct item_list *list, struct item *item)
{
	if (item->previous)
		item->previous->next = item->next;
	else
		list->first = item->next;
	if (item->next)
		item->next->previous = item->previous;
	else
		list->last = item->previous;
	item->next = item->previous = NULL;
}

void item_list_put_first(struct item_list *list, struct item *item)
{
	item_list_cut(list, item);
	item->next = list->first;
	if (list->first)
		list->first->previous = item;
	else
		list->last = item;
	list->first = item;
}
