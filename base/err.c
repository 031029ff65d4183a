/*
 * Error texts (see the header). No allocation, no I/O.
 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

int err_set(struct err *err, const char *format, ...)
{
	va_list arguments;

	if (!err)
		return -1;
	va_start(arguments, format);
	(void)vsnprintf(err->text, sizeof(err->text), format, arguments);
	va_end(arguments);
	return -1;
}
