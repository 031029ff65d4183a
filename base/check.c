/*
 * The last words of a process that found its own bug. Async-signal-safe: no allocation, no stdio,
 * so that it works in a child before exec and under the strictest filter (F6).
 */
#include "base/check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(const char *text)
{
	ssize_t ignored = write(STDERR_FILENO, text, strlen(text));

	(void)ignored;
}

_Noreturn void base_check_failed(const char *file, int line, const char *condition)
{
	char digits[12] = { 0 };
	int at = (int)sizeof(digits) - 1;

	do {
		digits[--at] = (char)('0' + line % 10);
		line /= 10;
	} while (line > 0 && at > 0);
	say("CHECK failed: ");
	say(file);
	say(":");
	say(digits + at);
	say(": ");
	say(condition);
	say("\n");
	abort();
}
