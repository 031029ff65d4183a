/*
 * The claims of a JWT (see the header). A token that is no JWT is none of our business: static
 * tokens exist. Called by material.c; no I/O, no verification.
 */
#include "loader/jwt.h"

#include <jansson.h>
#include <string.h>

#include "base/base64.h"

#define MAX_PAYLOAD 12288

void jwt_read(struct str token, char subject[256], int64_t *expires_us)
{
	const char *first = token.n ? memchr(token.p, '.', token.n) : NULL;
	const char *second =
	    first ? memchr(first + 1, '.', (size_t)(token.p + token.n - first) - 1) : NULL;
	struct buf text = buf_make_secret(MAX_PAYLOAD);
	json_t *claims = NULL;
	json_int_t expires;

	subject[0] = '\0';
	*expires_us = 0;
	if (second &&
	    base64_get(&text, (struct str){ first + 1, (size_t)(second - first) - 1 }, BASE64_URL))
		claims =
		    json_loadb(text.data ? text.data : "", text.len, JSON_REJECT_DUPLICATES, NULL);
	(void)str_copy(subject, 256, str_of(json_string_value(json_object_get(claims, "sub"))));
	expires = json_integer_value(json_object_get(claims, "exp"));
	if (expires > 0 && expires < INT64_MAX / 1000000)
		*expires_us = expires * 1000000;
	json_decref(claims);
	buf_free(&text);
}
