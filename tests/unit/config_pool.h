/*
 * Texts of a test's configuration, placed as the loader places them: one after the other in its
 * pool, whose first byte is the text that is not set.
 */
#ifndef TESTS_UNIT_CONFIG_POOL_H
#define TESTS_UNIT_CONFIG_POOL_H

#include <string.h>

#include "base/check.h"
#include "policy/config.h"

/* "" takes no room. */
static inline config_text config_put(struct us_config *config, const char *text)
{
	size_t end = sizeof(config->pool), n = strlen(text) + 1;

	if (!text[0])
		return 0;
	while (end > 0 && config->pool[end - 1] == '\0')
		end--;
	CHECK(end + 1 + n < sizeof(config->pool));
	memcpy(config->pool + end + 1, text, n);
	return (config_text)(end + 1);
}

/* One more of mirror.kinds, of version v1. */
static inline struct config_kind *config_list(
    struct us_config *config, const char *group, const char *resource, const char *kind)
{
	struct config_kind *listed = &config->kinds[config->kind_count++];

	*listed = (struct config_kind){ .group = config_put(config, group),
		.version = config_put(config, "v1"),
		.resource = config_put(config, resource),
		.kind = config_put(config, kind) };
	return listed;
}

#endif
