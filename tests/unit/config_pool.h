/*
 * Texts of a test's configuration, placed as the loader places them: one after the other in its
 * pool, whose first byte is the text that is not set.
 */
#ifndef TESTS_UNIT_CONFIG_POOL_H
#define TESTS_UNIT_CONFIG_POOL_H

#include <string.h>

#include "base/check.h"
#include "policy/config.h"

/* Not for "", which takes no room. */
static inline config_text config_put(struct us_config *config, const char *text)
{
	size_t end = sizeof(config->pool), n = strlen(text) + 1;

	while (end > 0 && config->pool[end - 1] == '\0')
		end--;
	CHECK(n > 1 && end + 1 + n < sizeof(config->pool));
	memcpy(config->pool + end + 1, text, n);
	return (config_text)(end + 1);
}

#endif
