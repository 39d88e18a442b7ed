/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/text/lines.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "sm/base/text.h"

/*
 * Text, line by line, for the parsers of this folder.
 *
 * A struct lines borrows the text and copies nothing. The words of a line are taken from its front;
 * `p` moves towards `stop` and never past it. Lines that are longer than the format ever makes
 * them, and bytes that are no text, end the parsing: the file is not what it is taken for.
 */
void
lines_start(struct lines *l, const char *text, size_t size, const char *file, struct error *e)
{
	memset(l, 0, sizeof(*l));
	l->file = file;
	l->next = text;
	l->end = text + size;
	l->e = e;
}

int
lines_error(const struct lines *l, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return error_set(l->e, ERR_FORMAT, "%s:%u: %s", l->file, l->line, text);
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

int
lines_next(struct lines *l, size_t max)
{
	const char *nl;

	if (l->next == l->end)
		return 0;
	nl = memchr(l->next, '\n', (size_t)(l->end - l->next));
	l->p = l->next;
	l->stop = nl ? nl : l->end;
	l->next = nl ? nl + 1 : l->end;
	l->line++;
	if ((size_t)(l->stop - l->p) > max)
		return lines_error(l, "the line is longer than %zu bytes", max);
	if (memchr(l->p, 0, (size_t)(l->stop - l->p)))
		return lines_error(l, "the line holds a zero byte: this is not a text file");
	while (l->stop > l->p && is_blank(l->stop[-1]))
		l->stop--;
	return 1;
}

void
lines_blanks(struct lines *l)
{
	while (l->p < l->stop && is_blank(*l->p))
		l->p++;
}

bool
lines_eat(struct lines *l, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(l->stop - l->p) < len || memcmp(l->p, word, len))
		return false;
	l->p += len;
	return true;
}

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

static bool
take_number(struct lines *l, unsigned base, uint64_t *value)
{
	const char *p = l->p;
	uint64_t v = 0;

	for (; p < l->stop && (unsigned)digit(*p) < base; p++) {
		if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit(*p), &v))
			return false;
	}
	if (p == l->p)
		return false;
	l->p = p;
	*value = v;
	return true;
}

bool
lines_hex(struct lines *l, uint64_t *value)
{
	const char *start = l->p;

	if ((lines_eat(l, "0x") || lines_eat(l, "0X")) && take_number(l, 16, value))
		return true;
	l->p = start;
	return take_number(l, 16, value);
}

bool
lines_number(struct lines *l, uint64_t *value)
{
	bool hex = l->stop - l->p > 2 && l->p[0] == '0' && (l->p[1] == 'x' || l->p[1] == 'X');

	return hex ? lines_hex(l, value) : take_number(l, 10, value);
}

const char *
lines_find(const struct lines *l, char c)
{
	return memchr(l->p, c, (size_t)(l->stop - l->p));
}

const char *
lines_find_last(const struct lines *l, char c)
{
	return memrchr(l->p, c, (size_t)(l->stop - l->p));
}

const char *
lines_find_word(const struct lines *l, const char *word)
{
	return memmem(l->p, (size_t)(l->stop - l->p), word, strlen(word));
}

char *
text_copy(struct region *r, const char *s, size_t len, size_t max)
{
	char *copy;

	if (len > max)
		len = max;
	copy = region_alloc(r, len + 1);
	for (size_t i = 0; i < len; i++)
		copy[i] = (unsigned char)s[i] < ' ' || s[i] == 127 ? '?' : s[i];
	return copy;
}

int
text_load(struct buf *b, const char *path, struct error *e)
{
	bool standard = !strcmp(path, "-");
	FILE *f = standard ? stdin : fopen(path, "re");
	char chunk[16384];
	size_t n;
	int err;

	if (!f)
		return error_set(e, ERR_IO, "cannot open %s: %s", path, strerror(errno));
	errno = 0;
	while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		buf_add(b, chunk, n);
	err = ferror(f) ? errno : 0;
	if (!standard)
		fclose(f);
	return err ? error_set(e, ERR_IO, "cannot read %s: %s", path, strerror(err)) : 0;
}
