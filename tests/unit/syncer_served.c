/*
 * Goal: a kind of mirror.kinds that a server serves otherwise is told as a whole and in words,
 * before any object of it (M10). Method: lists of resources as an API server gives them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "syncer/syncer.h"

static const struct kind_row widget = { .kind = "Widget",
	.group = "shop.example.com",
	.version = "v1",
	.plural = "widgets",
	.status = true };

static const char *judge(const char *list)
{
	static char why[256];
	json_t *value = json_loads(list, 0, NULL);
	bool fits;

	assert_non_null(value);
	why[0] = '\0';
	fits = served_fits(&widget, value, why, sizeof(why));
	assert_int_equal(fits, why[0] == '\0');
	json_decref(value);
	return why;
}

#define STATUS "{\"name\":\"widgets/status\",\"kind\":\"Widget\",\"namespaced\":true}"

static void what_is_served_as_it_is_said_fits(void **state)
{
	(void)state;
	assert_string_equal(
	    judge("{\"resources\":[{\"name\":\"gadgets\",\"kind\":\"Gadget\"},"
		  "{\"name\":\"widgets\",\"kind\":\"Widget\",\"namespaced\":true}," STATUS "]}"),
	    "");
	/* One that is missing is parked by its watch (M7). */
	assert_string_equal(judge("{\"resources\":[]}"), "");
	assert_string_equal(judge("{\"resources\":null}"), "");
	assert_string_equal(judge("[1]"), "");
}

static void what_is_otherwise_is_said(void **state)
{
	(void)state;
	assert_string_equal(judge("{\"resources\":[{\"name\":\"widgets\",\"kind\":\"Gadget\","
				  "\"namespaced\":true}," STATUS "]}"),
	    "widgets is of kind Gadget there, mirror.kinds says Widget");
	assert_string_equal(judge("{\"resources\":[{\"name\":\"widgets\",\"kind\":\"Widget\","
				  "\"namespaced\":false}," STATUS "]}"),
	    "widgets is of the whole cluster there, and only what is in namespaces is mirrored");
	assert_string_equal(
	    judge(
		"{\"resources\":[{\"name\":\"widgets\",\"kind\":\"Widget\",\"namespaced\":true}]}"),
	    "widgets has no status subresource there, mirror.kinds says status: true");
}

static void what_a_server_says_is_bounded(void **state)
{
	(void)state;
	assert_string_equal(
	    judge("{\"resources\":[{\"name\":\"widgets\",\"kind\":7,\"namespaced\":\"x\"}]}"),
	    "widgets is of kind  there, mirror.kinds says Widget");
	assert_string_equal(judge("{\"resources\":[{\"name\":\"widgets\",\"kind\":\""
				  "KKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKK"
				  "KKKKKKKKKKKK\"}]}"),
	    "widgets is of kind KKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKK "
	    "there, mirror.kinds says Widget");
}

/* Else a server that lists two versions and serves none is asked as fast as it answers. */
static void a_kind_that_was_moved_just_now_stays(void **state)
{
	static struct versions versions;
	const int64_t second = 1000000000, moved = 7 * second;

	(void)state;
	assert_true(served_may_move(&versions, KIND_PROJECT, 1));
	versions.moved_ns[KIND_PROJECT] = moved;
	assert_false(served_may_move(&versions, KIND_PROJECT, moved));
	assert_false(served_may_move(&versions, KIND_PROJECT, moved + 5 * second - 1));
	assert_true(served_may_move(&versions, KIND_PROJECT, moved + 5 * second));
	assert_true(served_may_move(&versions, KIND_CLUSTER, moved));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_served_as_it_is_said_fits),
		cmocka_unit_test(what_is_otherwise_is_said),
		cmocka_unit_test(what_a_server_says_is_bounded),
		cmocka_unit_test(a_kind_that_was_moved_just_now_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
