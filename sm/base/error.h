/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

/*
 * Named error codes and the one sentence that goes with them.
 *
 * Functions return 0 or one of the negative codes below; where a person reads the outcome they
 * also fill a struct error, whose text is one full sentence: where, what was expected, what to do.
 */
enum error_code {
	ERR_NOMEM = -1,		/* memory could not be had */
	ERR_INVALID = -2,	/* an argument or a value is impossible */
	ERR_NOT_FOUND = -3,	/* the thing named does not exist */
	ERR_EXISTS = -4,	/* it exists already, or is in use */
	ERR_IO = -5,		/* the operating system refused: errno was read into the text */
	ERR_TIMEOUT = -6,	/* no answer in time */
	ERR_BUSY = -7,		/* try again later */
	ERR_REFUSED = -8,	/* the other side, or a rule, said no */
	ERR_TRUNCATED = -9,	/* input ended early */
	ERR_FORMAT = -10,	/* input is malformed */
	ERR_UNSUPPORTED = -11,	/* known, but not done here */
	ERR_CLOSED = -12,	/* the connection, port or device is gone */
	ERR_FULL = -13,		/* a stated limit is reached */
};

struct error {
	int code;		/* one of enum error_code, 0 if nothing happened */
	char text[500];		/* one sentence, no newline, no trailing full stop needed */
};

/* Fill `e` (may be NULL) and return `code`: `return error_set(e, ERR_X, ...)` reads well. */
int
error_set(struct error *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Short lower-case name of a code, e.g. "timeout"; never NULL. */
const char *
error_name(int code);

#endif
