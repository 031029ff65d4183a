/*
 * The claims of a JWT (see the header). A token that is no JWT is none of our business: static
 * tokens exist. Called by material.c; no I/O, no verification.
 */
#include "loader/jwt.h"

#include <jansson.h>
#include <string.h>

#include "base/base64.h"

#define MAX_PAYLOAD 12288

static int64_t time_of(const json_t *claims, const char *name)
{
	json_int_t seconds = json_integer_value(json_object_get(claims, name));

	return seconds > 0 && seconds < INT64_MAX / 1000000 ? seconds * 1000000 : 0;
}

void jwt_read(struct str token, char subject[256], struct jwt_times *times)
{
	const char *first = token.n ? memchr(token.p, '.', token.n) : NULL;
	const char *second =
	    first ? memchr(first + 1, '.', (size_t)(token.p + token.n - first) - 1) : NULL;
	struct buf text = buf_make_secret(MAX_PAYLOAD);
	json_t *claims = NULL;

	subject[0] = '\0';
	if (second &&
	    base64_get(&text, (struct str){ first + 1, (size_t)(second - first) - 1 }, BASE64_URL))
		claims =
		    json_loadb(text.data ? text.data : "", text.len, JSON_REJECT_DUPLICATES, NULL);
	(void)str_copy(subject, 256, str_of(json_string_value(json_object_get(claims, "sub"))));
	times->issued_us = time_of(claims, "iat");
	times->expires_us = time_of(claims, "exp");
	json_decref(claims);
	buf_free(&text);
}
