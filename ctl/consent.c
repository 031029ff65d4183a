/*
 * See the header. Called by each command that asks.
 */
#include "ctl/consent.h"

#include <stdio.h>
#include <string.h>

/* Longer than any name that is asked for. */
#define LINE_BYTES 1024

bool consent_typed(const char *word)
{
	char line[LINE_BYTES] = "";

	if (!fgets(line, sizeof(line), stdin))
		return false;
	line[strcspn(line, "\n")] = '\0';
	return strcmp(line, word) == 0;
}
