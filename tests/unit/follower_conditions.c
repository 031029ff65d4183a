/*
 * Goal: lastTransitionTime moves with the status alone, also over a restart; what others wrote in
 * the list stays (6.6). Method: values compared as texts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "follower/conditions.h"
#include "kube/json.h"

#define WALL 1700000000000000LL

static void the_time_moves_with_the_status(void **state)
{
	struct condition condition = { 0 };

	(void)state;
	assert_true(condition_set(&condition, CONDITION_TRUE, "Connected", "a", WALL));
	assert_false(condition_set(&condition, CONDITION_TRUE, "Connected", "b", WALL + 5000000));
	assert_string_equal(condition.message, "b");
	assert_true(condition_set(
	    &condition, CONDITION_TRUE, "ReconnectedAfterFailover", "c", WALL + 6000000));
	assert_int_equal(condition.since_us, WALL);
	assert_true(condition_set(&condition, CONDITION_FALSE, "DialFailed", "d", WALL + 7000000));
	assert_int_equal(condition.since_us, WALL + 7000000);
}

static const json_t *member(const json_t *list, size_t i, const char *type)
{
	const json_t *value = json_array_get(list, i);

	assert_string_equal(kube_json_text(value, "type"), type);
	return value;
}

static void others_stay(void **state)
{
	json_t *list =
	    kube_json_parse(STR_LIT("[{\"type\":\"Ready\",\"status\":\"True\",\"x\":1}]"), NULL);
	struct condition condition = { 0 };
	bool changed;
	json_t *once, *twice, *back;

	(void)state;
	condition_set(&condition, CONDITION_TRUE, "Connected", "m", WALL + 123456);
	once = condition_merge(list, &condition, "ControllerConnected", &changed);
	assert_true(changed);
	assert_int_equal(json_array_size(once), 2);
	assert_int_equal(kube_json_integer(member(once, 0, "Ready"), "x", 0), 1);
	assert_string_equal(
	    kube_json_text(member(once, 1, "ControllerConnected"), "lastTransitionTime"),
	    "2023-11-14T22:13:20Z");
	assert_int_equal(json_array_size(list), 1); /* The list that was given is as it was. */
	/* After a restart the same status is as old as it was. */
	condition = (struct condition){ 0 };
	condition_set(&condition, CONDITION_TRUE, "Connected", "m", WALL + 900000000);
	twice = condition_merge(once, &condition, "ControllerConnected", &changed);
	assert_false(changed);
	assert_true(json_equal(once, twice));
	condition_set(&condition, CONDITION_UNKNOWN, "Reconnecting", "m", WALL + 900000000);
	back = condition_merge(once, &condition, "ControllerConnected", &changed);
	assert_true(changed);
	assert_string_equal(kube_json_text(json_array_get(back, 1), "status"), "Unknown");
	assert_string_equal(
	    kube_json_text(json_array_get(back, 1), "lastTransitionTime"), "2023-11-14T22:28:20Z");
	json_decref(list);
	json_decref(once);
	json_decref(twice);
	json_decref(back);
}

static void what_is_no_list_is_an_empty_one(void **state)
{
	json_t *text = json_string("x"), *list;
	struct condition condition = { 0 };
	bool changed;

	(void)state;
	condition_set(&condition, CONDITION_FALSE, "DialFailed", "", WALL);
	list = condition_merge(text, &condition, "ControllerConnected", &changed);
	assert_true(changed);
	assert_int_equal(json_array_size(list), 1);
	json_decref(list);
	list = condition_merge(NULL, &condition, "ControllerConnected", &changed);
	assert_int_equal(json_array_size(list), 1);
	json_decref(list);
	json_decref(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_time_moves_with_the_status),
		cmocka_unit_test(others_stay),
		cmocka_unit_test(what_is_no_list_is_an_empty_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
