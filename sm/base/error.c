/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/*
 * Error codes and sentences. A struct error lives on its reader's stack; nobody owns anything.
 * The text is formatted aside first, so that a caller may wrap an error into itself
 * (error_set(e, code, "FILE: %s", e->text)), and is kept to one line
 * that no terminal obeys, whatever went into it.
 */

int
error_set(struct error *e, int code, const char *fmt, ...)
{
	char text[sizeof(e->text)];
	va_list args;

	if (!e)
		return code;
	va_start(args, fmt);
	if (vsnprintf(text, sizeof(text), fmt, args) < 0)
		text[0] = '\0';
	va_end(args);
	for (char *p = text; *p; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = strchr("\t\n\r", *p) ? ' ' : '?';
	}
	e->code = code;
	memcpy(e->text, text, strlen(text) + 1);
	return code;
}

const char *
error_name(int code)
{
	static const char *const names[] = {
		[0] = "ok",
		[-ERR_NOMEM] = "out of memory",
		[-ERR_INVALID] = "invalid",
		[-ERR_NOT_FOUND] = "not found",
		[-ERR_EXISTS] = "exists",
		[-ERR_IO] = "i/o error",
		[-ERR_TIMEOUT] = "timeout",
		[-ERR_BUSY] = "busy",
		[-ERR_REFUSED] = "refused",
		[-ERR_TRUNCATED] = "truncated",
		[-ERR_FORMAT] = "malformed",
		[-ERR_UNSUPPORTED] = "unsupported",
		[-ERR_CLOSED] = "closed",
		[-ERR_FULL] = "full",
	};
	const int count = sizeof(names) / sizeof(names[0]);

	if (code > 0 || code <= -count)
		return "unknown error";
	return names[-code];
}
