/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/base/table.h"

#include <stdarg.h>
#include <string.h>
#include "sm/base/buf.h"
#include "sm/base/mem.h"
#include "sm/base/text.h"

/*
 * Tables for people. Cells are formatted as they come, made safe for a terminal (names come from
 * the fabric: control characters and broken UTF-8 turn into U+FFFD), and kept one behind the other
 * in a buffer of the table's; the widest of each column is known when the table is printed.
 * Width is counted in terminal columns by Unicode's wide and combining ranges, whatever the locale.
 */
struct table {
	const struct table_column *columns;	/* borrowed */
	unsigned ncolumns;	/* of them */
	size_t *starts;		/* where each cell's text starts in `text` */
	size_t len;		/* cells */
	size_t size;		/* cells allocated */
	size_t *widths;		/* widest cell of each column, title included */
	struct buf text;	/* NUL-terminated cells */
	struct buf scratch;	/* a cell before it is made safe */
};

struct range {
	uint32_t first;		/* first character */
	uint32_t last;		/* last character */
};

/* Characters that take no column of their own: combining marks, joiners, variation selectors. */
static const struct range combining[] = {
	{ 0x0300, 0x036f }, { 0x0483, 0x0489 }, { 0x0591, 0x05bd }, { 0x0610, 0x061a },
	{ 0x064b, 0x065f }, { 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff }, { 0x200b, 0x200f },
	{ 0x202a, 0x202e }, { 0x2060, 0x2064 }, { 0x20d0, 0x20ff }, { 0xfe00, 0xfe0f },
	{ 0xfe20, 0xfe2f }, { 0xfeff, 0xfeff }, { 0xe0100, 0xe01ef },
};

/* Characters of two columns: East Asian wide and full-width forms, pictographs. */
static const struct range wide[] = {
	{ 0x1100, 0x115f }, { 0x2e80, 0x303e }, { 0x3041, 0xa4cf }, { 0xa960, 0xa97f },
	{ 0xac00, 0xd7a3 }, { 0xf900, 0xfaff }, { 0xfe30, 0xfe6f }, { 0xff00, 0xff60 },
	{ 0xffe0, 0xffe6 }, { 0x1f300, 0x1f64f }, { 0x1f680, 0x1f6ff }, { 0x1f900, 0x1f9ff },
	{ 0x20000, 0x3fffd },
};

static bool
within(const struct range *ranges, size_t len, uint32_t cp)
{
	for (size_t i = 0; i < len; i++) {
		if (cp < ranges[i].first)
			return false;
		if (cp <= ranges[i].last)
			return true;
	}
	return false;
}

static size_t
char_width(uint32_t cp)
{
	if (cp < 0x300)
		return 1;
	if (within(combining, sizeof(combining) / sizeof(combining[0]), cp))
		return 0;
	return within(wide, sizeof(wide) / sizeof(wide[0]), cp) ? 2 : 1;
}

static size_t
width_of(const char *s)
{
	size_t len = strlen(s), width = 0;
	uint32_t cp;

	for (unsigned n; len; s += n, len -= n) {
		n = utf8_decode(s, len, &cp);
		width += n ? char_width(cp) : 1;
		n = n ? n : 1;
	}
	return width;
}

struct table *
table_new(const struct table_column *columns, unsigned ncolumns)
{
	struct table *t = mem_zalloc(sizeof(*t));

	t->columns = columns;
	t->ncolumns = ncolumns;
	t->widths = mem_array(ncolumns, sizeof(t->widths[0]));
	for (unsigned i = 0; i < ncolumns; i++)
		t->widths[i] = width_of(columns[i].title);
	return t;
}

/* Append `s` without anything that a terminal would obey. */
static void
add_safe(struct buf *out, const char *s, size_t len)
{
	uint32_t cp;

	for (unsigned n; len; s += n, len -= n) {
		n = utf8_decode(s, len, &cp);
		if (n && cp >= 0x20 && cp != 0x7f && !(cp >= 0x80 && cp < 0xa0))
			buf_add(out, s, n);
		else
			buf_str(out, "\xef\xbf\xbd");
		n = n ? n : 1;
	}
}

static void
format(struct buf *b, const char *fmt, va_list args)
{
	va_list again;
	char text[256];
	int len;

	va_copy(again, args);
	len = vsnprintf(text, sizeof(text), fmt, args);
	buf_clear(b);
	if (len >= 0 && (size_t)len < sizeof(text)) {
		buf_add(b, text, (size_t)len);
	} else if (len >= 0) {
		char *long_text = mem_alloc((size_t)len + 1);

		vsnprintf(long_text, (size_t)len + 1, fmt, again);
		buf_add(b, long_text, (size_t)len);
		mem_free(long_text);
	}
	va_end(again);
}

void
table_cell(struct table *t, const char *fmt, ...)
{
	size_t *widest = &t->widths[t->len % t->ncolumns];
	size_t start = t->text.len, width;
	va_list args;

	va_start(args, fmt);
	format(&t->scratch, fmt, args);
	va_end(args);
	if (t->scratch.len)
		add_safe(&t->text, t->scratch.data, t->scratch.len);
	else
		buf_str(&t->text, "-");
	width = width_of(t->text.data + start);
	if (width > *widest)
		*widest = width;
	buf_char(&t->text, '\0');
	if (t->len == t->size) {
		t->size = t->size ? t->size * 2 : 64;
		t->starts = mem_realloc(t->starts, t->size, sizeof(t->starts[0]));
	}
	t->starts[t->len++] = start;
}

static void
print_cell(const struct table *t, unsigned column, const char *s, FILE *out)
{
	int pad = (int)(t->widths[column] - width_of(s));
	bool right = t->columns[column].right, last = column + 1 == t->ncolumns;

	fprintf(out, "%*s%s", right ? pad : 0, "", s);
	fprintf(out, "%*s%s", right || last ? 0 : pad, "", last ? "\n" : "  ");
}

void
table_print(const struct table *t, FILE *out)
{
	size_t cells = table_rows(t) * t->ncolumns;

	for (unsigned i = 0; cells && i < t->ncolumns; i++)
		print_cell(t, i, t->columns[i].title, out);
	for (size_t i = 0; i < cells; i++)
		print_cell(t, (unsigned)(i % t->ncolumns),
			   i < t->len ? t->text.data + t->starts[i] : "-", out);
}

size_t
table_rows(const struct table *t)
{
	return (t->len + t->ncolumns - 1) / t->ncolumns;
}

void
table_free(struct table *t)
{
	if (!t)
		return;
	buf_free(&t->text);
	buf_free(&t->scratch);
	mem_free(t->starts);
	mem_free(t->widths);
	mem_free(t);
}
