/*
 * Goal: no configuration file crashes the loader, and what it makes of one is a struct that root
 * takes.
 */
#include <string.h>

#include "loader/config.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct us_config config;
	struct err err;

	if (config_read(&config, (struct str){ (const char *)data, size }, "f", &err) == 0)
		MUST(config_check(&config, &err) == 0);
	else
		MUST(strlen(err.text) > 0);
	return 0;
}
