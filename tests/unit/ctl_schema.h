/*
 * Whether JSON follows a schema of docs/: the few words of JSON Schema that those use.
 */
#ifndef TESTS_UNIT_CTL_SCHEMA_H
#define TESTS_UNIT_CTL_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

static bool has_type(const json_t *value, const char *type)
{
	return (strcmp(type, "object") == 0 && json_is_object(value)) ||
	       (strcmp(type, "array") == 0 && json_is_array(value)) ||
	       (strcmp(type, "string") == 0 && json_is_string(value)) ||
	       (strcmp(type, "integer") == 0 && json_is_integer(value)) ||
	       (strcmp(type, "boolean") == 0 && json_is_boolean(value)) ||
	       (strcmp(type, "null") == 0 && json_is_null(value));
}

static bool is_one_of(const json_t *list, const json_t *value, bool by_type)
{
	const json_t *one;
	size_t i;

	if (!json_is_array(list))
		return by_type ? has_type(value, json_string_value(list))
			       : json_equal(list, value) != 0;
	json_array_foreach(list, i, one) if (is_one_of(one, value, by_type)) return true;
	return false;
}

/* type, const, enum, required, properties, additionalProperties: false, items. */
static bool follows(const json_t *schema, const json_t *value)
{
	const json_t *properties = json_object_get(schema, "properties"), *part;
	const char *key;
	size_t i;

	if ((part = json_object_get(schema, "type")) && !is_one_of(part, value, true))
		return false;
	if ((part = json_object_get(schema, "const")) && !json_equal(part, value))
		return false;
	if ((part = json_object_get(schema, "enum")) && !is_one_of(part, value, false))
		return false;
	json_array_foreach(json_object_get(schema, "required"), i, part)
	{
		if (json_is_object(value) && !json_object_get(value, json_string_value(part)))
			return false;
	}
	json_object_foreach((json_t *)value, key, part)
	{
		const json_t *of = json_object_get(properties, key);

		if (of ? !follows(of, part)
		       : json_is_false(json_object_get(schema, "additionalProperties")))
			return false;
	}
	json_array_foreach(
	    value, i, part) if (json_object_get(schema, "items") &&
				!follows(json_object_get(schema, "items"), part)) return false;
	return true;
}

#endif
