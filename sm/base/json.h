/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/buf.h"

/*
 * JSON writer onto a buffer, for answers too long for a tree in memory. `key` is NULL inside
 * arrays and for the outermost value. Strings may hold any bytes: what is not UTF-8 is replaced
 * by U+FFFD, control characters are escaped. No newline is ever written. The functions are jw_...
 * because json_... belongs to Jansson, whose header must be usable beside this one.
 */
#define JSON_MAX_DEPTH 16

struct json {
	struct buf *out;		/* borrowed */
	unsigned depth;			/* open objects and arrays */
	bool comma[JSON_MAX_DEPTH];	/* a value was written at this depth */
	char close[JSON_MAX_DEPTH];	/* '}' or ']' */
};

void
jw_init(struct json *j, struct buf *out);
void
jw_object(struct json *j, const char *key);
void
jw_array(struct json *j, const char *key);
void
jw_end(struct json *j);		/* closes the innermost object or array */
void
jw_str(struct json *j, const char *key, const char *value);	/* NULL writes null */
void
jw_guid(struct json *j, const char *key, uint64_t guid);	/* "0x..." */
void
jw_uint(struct json *j, const char *key, uint64_t value);
void
jw_int(struct json *j, const char *key, int64_t value);
void
jw_real(struct json *j, const char *key, double value);	/* at most 6 digits after the point;
							 * NaN and infinity: null */
void
jw_bool(struct json *j, const char *key, bool value);
void
jw_null(struct json *j, const char *key);

#endif
