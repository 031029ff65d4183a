/*
 * Conditions (see the header). No I/O; who writes them where is report.c's and controller.c's
 * business.
 */
#include "follower/conditions.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "kube/json.h"
#include "kube/lease.h"

static const char *const status_names[] = { "Unknown", "True", "False" };

bool condition_set(struct condition *condition, enum condition_status status, const char *reason,
    const char *message, int64_t wall_us)
{
	bool changed = condition->since_us == 0 || condition->status != status ||
		       strcmp(condition->reason, reason) != 0;

	if (condition->since_us == 0 || condition->status != status)
		condition->since_us = wall_us;
	condition->status = status;
	condition->reason = reason;
	(void)snprintf(condition->message, sizeof(condition->message), "%s", message);
	return changed;
}

json_t *condition_value(const struct condition *condition, const char *type)
{
	char time[40];
	json_t *value;

	kube_time_put(time, condition->since_us - condition->since_us % 1000000);
	if (strchr(time, '.'))
		(void)snprintf(strchr(time, '.'), 2, "Z");
	value = json_pack("{s:s, s:s, s:s, s:s, s:s}", "type", type, "status",
	    status_names[condition->status], "reason", condition->reason, "message",
	    condition->message, "lastTransitionTime", time);
	CHECK(value);
	return value;
}

static bool is_equal(const json_t *a, const json_t *b, const char *key)
{
	return strcmp(kube_json_text(a, key), kube_json_text(b, key)) == 0;
}

json_t *condition_merge(
    const json_t *list, const struct condition *condition, const char *type, bool *changed)
{
	json_t *merged = json_is_array(list) ? json_deep_copy(list) : json_array();
	json_t *value = condition_value(condition, type), *old;
	size_t i = 0;

	CHECK(merged);
	while ((old = json_array_get(merged, i)) != NULL &&
	       strcmp(kube_json_text(old, "type"), type) != 0)
		i++;
	*changed = !old || !is_equal(old, value, "status") || !is_equal(old, value, "reason") ||
		   !is_equal(old, value, "message");
	if (old && is_equal(old, value, "status") && kube_json_text(old, "lastTransitionTime")[0])
		CHECK(json_object_set(value, "lastTransitionTime",
			  json_object_get(old, "lastTransitionTime")) == 0);
	CHECK((old ? json_array_set_new(merged, i, value) : json_array_append_new(merged, value)) ==
	      0);
	return merged;
}
