/*
 * Labels, annotations and an account's lists (see the header). Pure; never changes what it is
 * given: new containers share its values.
 */
#include "syncer/marks.h"

#include <string.h>

#include "kube/json.h"
#include "policy/kinds.h"

#define LAST_APPLIED    "kubectl.kubernetes.io/last-applied-configuration"
#define ACCOUNT_UID     "kubernetes.io/service-account.uid"
#define TOKEN_LAST_USED "kubernetes.io/legacy-token-last-used"

const char *const marks_list_names[2] = { "secrets", "imagePullSecrets" };

static bool starts_with(const char *key, const char *prefix)
{
	return strncmp(key, prefix, strlen(prefix)) == 0;
}

/* What a Namespace lets its Pods do is this hub's to say: only the strictest word crosses (B1). */
static bool is_loosening(const char *key, const json_t *value)
{
	const char *word = json_string_value(value);

	return strcmp(key, KIND_POD_SECURITY "-version") == 0 ||
	       (strcmp(key, KIND_POD_SECURITY) == 0 && (!word || strcmp(word, "restricted") != 0));
}

static bool is_parked(const char *key, const json_t *value)
{
	return kinds_is_tracking(key) || is_loosening(key, value);
}

/* Our own marks, and the account's uid of a token (L84). */
static bool stays_behind(const char *key, bool shell)
{
	return starts_with(key, MARK_PREFIX) ||
	       (shell && (strcmp(key, ACCOUNT_UID) == 0 || strcmp(key, LAST_APPLIED) == 0));
}

json_t *marks_take(const json_t *metadata, const char *which, bool shell, enum marks_use use)
{
	json_t *from = json_object_get(metadata, which), *value, *marks = NULL;
	const char *key;

	if (!json_is_object(from))
		return NULL;
	json_object_foreach(from, key, value)
	{
		if (stays_behind(key, shell) ||
		    (use != MARKS_HASH_OF_COPY && is_parked(key, value)))
			continue;
		/* Others change these by themselves (H11, M14). */
		if (use != MARKS_COPY &&
		    (strcmp(key, LAST_APPLIED) == 0 || strcmp(key, TOKEN_LAST_USED) == 0))
			continue;
		if (!marks)
			marks = json_object();
		json_object_set(marks, key, value);
	}
	return marks;
}

json_t *marks_annotation(const json_t *metadata, const char *key)
{
	const char *text = kube_json_text(json_object_get(metadata, "annotations"), key);
	json_t *value = *text ? kube_json_parse(str_of(text), NULL) : NULL;

	if (value && !json_is_object(value)) {
		json_decref(value);
		value = NULL;
	}
	return value;
}

/* A source that was a copy itself may still have some parked: they go on (decision 4). */
json_t *marks_parked(const json_t *metadata, enum marks_use use)
{
	static const char *const places[] = { "annotations", "labels" };
	json_t *parked = marks_annotation(metadata, MARK_PARKED);

	for (size_t i = 0; use != MARKS_HASH_OF_COPY && i < 2; i++) {
		json_t *from = json_object_get(metadata, places[i]), *value, *place;
		const char *key;

		json_object_foreach(from, key, value)
		{
			if (!is_parked(key, value))
				continue;
			if (!parked)
				parked = json_object();
			place = json_object_get(parked, places[i]);
			if (!json_is_object(place))
				json_object_set_new(parked, places[i], place = json_object());
			json_object_set(place, key, value);
		}
	}
	return parked;
}

json_t *marks_lists(const json_t *account)
{
	json_t *lists = NULL;

	for (size_t i = 0; i < 2; i++) {
		json_t *list = json_object_get(account, marks_list_names[i]);

		if (!json_is_array(list) || json_array_size(list) == 0)
			continue;
		if (!lists)
			lists = json_object();
		json_object_set(lists, marks_list_names[i], list);
	}
	return lists;
}

static bool has_entry(const json_t *list, const json_t *entry)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_equal(json_array_get(list, i), entry))
			return true;
	return false;
}

bool marks_lists_hold(const json_t *account, const json_t *lists)
{
	for (size_t i = 0; i < 2; i++) {
		const json_t *wanted = json_object_get(lists, marks_list_names[i]);
		const json_t *present = json_object_get(account, marks_list_names[i]);

		for (size_t at = 0; at < json_array_size(wanted); at++)
			if (!has_entry(present, json_array_get(wanted, at)))
				return false;
	}
	return true;
}

json_t *marks_merge(const json_t *wanted, const json_t *present, const json_t *listed_before)
{
	json_t *merged = json_array();

	for (size_t i = 0; i < json_array_size(wanted); i++)
		json_array_append(merged, json_array_get(wanted, i));
	for (size_t i = 0; i < json_array_size(present); i++) {
		json_t *entry = json_array_get(present, i);

		if (!has_entry(wanted, entry) && !has_entry(listed_before, entry))
			json_array_append(merged, entry);
	}
	return merged;
}
