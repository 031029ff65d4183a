/*
 * Members of documents that somebody else wrote: what is absent or of another type is "", 0 or
 * false, never an error. Texts are borrowed from the document.
 */
#ifndef CTL_JSON_H
#define CTL_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

static inline const char *member_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static inline long long member_number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static inline bool member_true(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

/* Is it one of these texts? */
static inline bool texts_have(const json_t *texts, const char *wanted)
{
	const json_t *text;
	size_t i;

	json_array_foreach((json_t *)texts, i, text)
	{
		if (json_is_string(text) && strcmp(json_string_value(text), wanted) == 0)
			return true;
	}
	return false;
}

#endif
