/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "sm/base/text.h"

/*
 * JSON writer (RFC 8259). The writer owns nothing: bytes go straight to its user's buffer, and what
 * it remembers is the nesting. Unbalanced calls are our own mistakes and are asserted.
 */

void
jw_init(struct json *j, struct buf *out)
{
	*j = (struct json){ .out = out };
}

static void
plain(struct json *j, const char *s, size_t len)
{
	buf_add(j->out, s, len);
}

static void
escape(struct json *j, unsigned char c)
{
	static const char from[] = "\"\\\n\t\r";
	static const char to[] = "\"\\ntr";
	const char *p = strchr(from, c);

	if (p && c)
		buf_printf(j->out, "\\%c", to[p - from]);
	else
		buf_printf(j->out, "\\u%04x", c);
}

/* Runs of ordinary text are copied whole: most strings are one run. */
static void
quoted(struct json *j, const char *s)
{
	size_t len = strlen(s), start = 0, i = 0, n;
	uint32_t cp;

	buf_char(j->out, '"');
	while (i < len) {
		unsigned char c = (unsigned char)s[i];

		n = utf8_decode(s + i, len - i, &cp);
		if (n && c >= 0x20 && c != '"' && c != '\\') {
			i += n;
			continue;
		}
		plain(j, s + start, i - start);
		if (n)
			escape(j, c);
		else
			plain(j, "\xef\xbf\xbd", 3);
		start = ++i;
	}
	plain(j, s + start, len - start);
	buf_char(j->out, '"');
}

/* What comes before any value: the comma, and the key inside objects. */
static void
lead(struct json *j, const char *key)
{
	if (j->depth) {
		assert((j->close[j->depth - 1] == '}') == (key != NULL));
		if (j->comma[j->depth - 1])
			buf_char(j->out, ',');
		j->comma[j->depth - 1] = true;
	}
	if (key) {
		quoted(j, key);
		buf_char(j->out, ':');
	}
}

static void
push(struct json *j, const char *key, char open, char close)
{
	assert(j->depth < JSON_MAX_DEPTH);
	lead(j, key);
	buf_char(j->out, open);
	j->comma[j->depth] = false;
	j->close[j->depth++] = close;
}

void
jw_object(struct json *j, const char *key)
{
	push(j, key, '{', '}');
}

void
jw_array(struct json *j, const char *key)
{
	push(j, key, '[', ']');
}

void
jw_end(struct json *j)
{
	assert(j->depth > 0);
	buf_char(j->out, j->close[--j->depth]);
}

void
jw_str(struct json *j, const char *key, const char *value)
{
	lead(j, key);
	if (value)
		quoted(j, value);
	else
		buf_str(j->out, "null");
}

void
jw_guid(struct json *j, const char *key, uint64_t guid)
{
	char text[GUID_TEXT_SIZE];

	jw_str(j, key, guid_text(text, guid));
}

void
jw_uint(struct json *j, const char *key, uint64_t value)
{
	lead(j, key);
	buf_printf(j->out, "%" PRIu64, value);
}

void
jw_int(struct json *j, const char *key, int64_t value)
{
	lead(j, key);
	buf_printf(j->out, "%" PRId64, value);
}

/* Fixed point without trailing zeros; exponents only where a double has no fraction any more. */
void
jw_real(struct json *j, const char *key, double value)
{
	char text[40];
	char *end;

	if (!isfinite(value)) {
		jw_null(j, key);
		return;
	}
	lead(j, key);
	snprintf(text, sizeof(text), fabs(value) < 1e15 ? "%.6f" : "%.15g", value);
	for (char *p = text; *p; p++) {
		if (*p == ',')		/* the locale's decimal point */
			*p = '.';
	}
	if (strchr(text, '.') && !strchr(text, 'e')) {
		end = text + strlen(text);
		while (end[-1] == '0')
			*--end = '\0';
		if (end[-1] == '.')
			end[-1] = '\0';
	}
	buf_str(j->out, strcmp(text, "-0") == 0 ? "0" : text);
}

void
jw_bool(struct json *j, const char *key, bool value)
{
	lead(j, key);
	buf_str(j->out, value ? "true" : "false");
}

void
jw_null(struct json *j, const char *key)
{
	lead(j, key);
	buf_str(j->out, "null");
}
