// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>

#include "error.h"

/**
 * ugm_fail() - say why, and fail
 * @err: where to; may be NULL
 * @code: negative errno
 * @format: printf format of one line
 *
 * Context: any.
 * Return: @code.
 */
int ugm_fail(struct ugm_error *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return code;
}
