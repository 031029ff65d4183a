/*
 * An engine with a Namespace and a SliceConfig in it that a test sets by hand, for the tests of
 * single conditions: the engine, the rules for one item, what feeds report.
 * Included by one test program each.
 */
#ifndef TESTS_SYNCER_ITEM_H
#define TESTS_SYNCER_ITEM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/clock.h"
#include "syncer/judge.h"

#define NS "kubeslice-cisco"

static struct engine engine;
static struct item *home, *item; /* its Namespace, and a SliceConfig in it */
static unsigned notes[6];
static const int64_t now_ns = 1000 * BASE_NS_PER_S;

static const struct hash A = { { 1 } }, B = { { 2 } }, C = { { 3 } };

static inline void on_note(void *arg, enum engine_note note, struct item *of)
{
	(void)of;
	((unsigned *)arg)[note]++;
}

/* Both are at the source and have copies that are equal, and everything is known. */
static inline struct item *add(enum kind kind, const char *name)
{
	struct item *added = store_add(&engine.store, kind, kind == KIND_NAMESPACE ? "" : NS, name);

	assert_non_null(added);
	store_set_source(&engine.store, added, SOURCE_PRESENT);
	store_set_copy(&engine.store, added, COPY_PRESENT);
	added->source_version = added->copy_source_version = 10;
	added->source_uid = rewrite_uid_hash("s");
	added->copy_version = 100;
	added->copy_term = 2;
	added->copy_chosen = true;
	added->source_body = added->copy_body = added->copy_mark = A;
	added->space->copies_synced = UINT32_MAX;
	return added;
}

static inline int setup(void **state)
{
	(void)state;
	memset(notes, 0, sizeof(notes));
	engine_open(&engine, "kubeslice-controller", 16, 1, on_note, notes);
	engine.granted = engine.verified = true;
	engine.term = 2;
	engine.copies_synced = UINT32_MAX;
	home = add(KIND_NAMESPACE, NS);
	item = add(KIND_SLICE_CONFIG, "red");
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	engine_close(&engine);
	return 0;
}

static inline void anew(void)
{
	(void)teardown(NULL);
	(void)setup(NULL);
}

/* The item is still to be created, and its dependent waits for that. */
static inline struct item *dependent_that_waits(void)
{
	struct item *dependent = add(KIND_VPN_KEY_ROTATION, "red");

	dependent->owner = item;
	dependent->source_body = B;
	item->has_dependents = true;
	store_set_copy(&engine.store, item, COPY_NONE);
	engine_settle(&engine, item, now_ns);
	engine_settle(&engine, dependent, now_ns);
	assert_int_equal(dependent->queue, QUEUE_NOT);
	return dependent;
}

static inline void source_is(struct item *of, enum source_state state)
{
	store_set_source(&engine.store, of, state);
}

static inline void copy_is(struct item *of, enum copy_state state)
{
	store_set_copy(&engine.store, of, state);
}

#define STORY(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
