/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/import.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "sm/base/buf.h"

/*
 * OpenSM's files are lines of words. Here are lines of any length, words cut out of them, numbers
 * as C reads them, and notes of what could not be carried over. Nothing is copied until it is kept.
 */
void
import_note(struct import_notes *n, const char *file, unsigned line, const char *fmt, ...)
{
	struct import_note *note = region_alloc(n->region, sizeof(*note));
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *s = text; *s; s++)
		if ((unsigned char)*s < ' ' || (unsigned char)*s >= 0x7f)
			*s = '?';
	if (line)
		note->text = region_printf(n->region, "%s:%u: %s", file, line, text);
	else
		note->text = region_printf(n->region, "%s: %s", file, text);
	if (n->last)
		n->last->next = note;
	else
		n->first = note;
	n->last = note;
	n->len++;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct import_word
import_trim(struct import_word w)
{
	while (w.len && is_blank(*w.s)) {
		w.s++;
		w.len--;
	}
	while (w.len && is_blank(w.s[w.len - 1]))
		w.len--;
	return w;
}

bool
import_line(struct import_text *t, struct import_word *line)
{
	const char *stop, *comment;

	if (t->at == t->end)
		return false;
	stop = memchr(t->at, '\n', (size_t)(t->end - t->at));
	line->s = t->at;
	line->len = (size_t)((stop ? stop : t->end) - t->at);
	t->at = stop ? stop + 1 : t->end;
	t->len = line->len;
	t->line++;
	comment = memchr(line->s, '#', line->len);
	if (comment)
		line->len = (size_t)(comment - line->s);
	*line = import_trim(*line);
	return true;
}

bool
import_cut(struct import_word *from, char c, struct import_word *piece)
{
	const char *at = from->len ? memchr(from->s, c, from->len) : NULL;
	size_t len = at ? (size_t)(at - from->s) : from->len;

	*piece = import_trim((struct import_word){ from->s, len });
	from->s += len + (at ? 1 : 0);
	from->len -= len + (at ? 1 : 0);
	return at;
}

bool
import_is(struct import_word w, const char *word)
{
	return w.len == strlen(word) && memcmp(w.s, word, w.len) == 0;
}

bool
import_abbreviates(struct import_word w, const char *word)
{
	return w.len && w.len < strlen(word) && memcmp(w.s, word, w.len) == 0;
}

static unsigned
digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

bool
import_number(struct import_word w, uint64_t max, uint64_t *value)
{
	bool hex = w.len > 2 && w.s[0] == '0' && (w.s[1] == 'x' || w.s[1] == 'X');
	unsigned base = hex ? 16 : w.len > 1 && *w.s == '0' ? 8 : 10;
	uint64_t n = 0;

	for (size_t i = hex ? 2 : 0; i < w.len; i++) {
		unsigned digit = digit_of(w.s[i]);

		if (digit >= base || n > (UINT64_MAX - digit) / base)
			return false;
		n = n * base + digit;
	}
	*value = n;
	return w.len && n <= max;
}

char *
import_copy(struct region *r, struct import_word w)
{
	char *s = region_alloc(r, w.len + 1);

	if (w.len)
		memcpy(s, w.s, w.len);
	return s;
}
