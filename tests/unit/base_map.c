/*
 * Goal: the hash table finds what was added and nothing else, through growth and through removal
 * in the middle of probe runs. Method: 20,000 seeded random steps against a plain array.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"

#define NAMES 500

struct thing {
	char name[16];
	bool in;
};

static struct str name_of(const void *value)
{
	return str_of(((const struct thing *)value)->name);
}

static void empty_map_has_nothing(void **state)
{
	struct map map = map_make(name_of);
	size_t at = 0;

	(void)state;
	assert_null(map_get(&map, STR_LIT("a")));
	assert_null(map_remove(&map, STR_LIT("a")));
	assert_null(map_next(&map, &at));
	map_free(&map);
}

static void add_and_remove_agree_with_an_array(void **state)
{
	static struct thing things[NAMES];
	struct map map = map_make(name_of);
	size_t in = 0;
	uint32_t random = 7;

	(void)state;
	for (unsigned i = 0; i < NAMES; i++)
		(void)snprintf(things[i].name, sizeof(things[i].name), "n%u", i * 7919);
	for (int step = 0; step < 20000; step++) {
		struct thing *thing;
		struct str name;

		random = random * 1664525u + 1013904223u;
		thing = &things[(random >> 8) % NAMES];
		name = str_of(thing->name);
		assert_ptr_equal(map_get(&map, name), thing->in ? thing : NULL);
		if (thing->in) {
			assert_ptr_equal(map_remove(&map, name), thing);
			in--;
		} else {
			assert_true(map_add(&map, thing));
			in++;
		}
		thing->in = !thing->in;
		assert_int_equal(map.count, in);
	}
	for (unsigned i = 0; i < NAMES; i++)
		assert_ptr_equal(
		    map_get(&map, str_of(things[i].name)), things[i].in ? &things[i] : NULL);
	map_free(&map);
}

static void visit_sees_each_once(void **state)
{
	struct thing things[100] = { 0 };
	struct map map = map_make(name_of);
	struct thing *thing;
	size_t at = 0;

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		(void)snprintf(things[i].name, sizeof(things[i].name), "%u", i);
		things[i].in = false;
		assert_true(map_add(&map, &things[i]));
	}
	while ((thing = map_next(&map, &at))) {
		assert_false(thing->in);
		thing->in = true;
	}
	for (unsigned i = 0; i < 100; i++)
		assert_true(things[i].in);
	map_free(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_map_has_nothing),
		cmocka_unit_test(add_and_remove_agree_with_an_array),
		cmocka_unit_test(visit_sees_each_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
