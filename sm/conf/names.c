/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/conf/config.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/map.h"
#include "sm/base/mem.h"
#include "sm/base/text.h"
#include "sm/conf/doc.h"

/*
 * Node-name map: node names that the administrator chose, by node GUID.
 *
 * One line a node, `0x0002c90300a1b2c3 "leaf 3"`; blank lines and what follows a # outside of the
 * quotes are skipped. The form is that of other InfiniBand tools, so that one file serves all.
 * The map is built once from the whole file and is then only read; one region owns the names.
 */
#define NAMES_FILE_MAX (16u * 1024u * 1024u)
#define NODE_NAME_MAX 127u

struct name_map {
	struct region *region;	/* the map itself and its names */
	struct map index;	/* GUID to place in names */
	const char **names;	/* as many as the file has lines, at most */
	uint32_t len;		/* names held */
};

/* A line being read. */
struct line {
	const char *file;	/* for messages */
	const char *start;	/* its first byte */
	const char *end;	/* behind its last */
	unsigned number;	/* from 1 */
};

static int
fail(const struct line *l, const char *at, int code, const char *why, struct error *e)
{
	unsigned column = 1;

	for (const char *p = l->start; p < at; p++)
		column += (*p & 0xc0) != 0x80;
	return error_set(e, code, "%s:%u:%u: %s", l->file, l->number, column, why);
}

static const char *
skip_blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
		p++;
	return p;
}

static bool
at_end(const char *p, const char *end)
{
	return p == end || *p == '#';
}

static int
read_guid(const struct line *l, const char **p, uint64_t *guid, struct error *e)
{
	char word[GUID_TEXT_SIZE];
	size_t len = 0;

	while (*p + len < l->end && !strchr(" \t\r\"#", (*p)[len]))
		len++;
	if (len < sizeof(word)) {
		memcpy(word, *p, len);
		word[len] = '\0';
		if (guid_parse(word, guid) && *guid) {
			*p += len;
			return 0;
		}
	}
	return fail(l, *p, ERR_FORMAT, "expected a GUID such as 0x0002c903000a1b2c", e);
}

static int
read_name(const struct line *l, const char **p, const char **name, size_t *len, struct error *e)
{
	const char *close;

	*p = skip_blanks(*p, l->end);
	if (*p == l->end || **p != '"')
		return fail(l, *p, ERR_FORMAT, "expected a name in double quotes", e);
	*name = ++*p;
	close = memchr(*p, '"', (size_t)(l->end - *p));
	if (!close)
		return fail(l, *p, ERR_FORMAT, "the closing quote of this name is missing", e);
	*len = (size_t)(close - *p);
	if (!*len || *len > NODE_NAME_MAX)
		return fail(l, *p, ERR_FORMAT, "expected a name of 1 to 127 bytes", e);
	if (!doc_text_ok(*name, *len))
		return fail(l, *p, ERR_FORMAT, "the name is not printable UTF-8", e);
	*p = close + 1;
	return 0;
}

/* Naming a node twice alike is harmless; two names for it are a question we cannot answer. */
static int
add(struct name_map *m, const struct line *l, uint64_t guid, const char *name, size_t len,
    struct error *e)
{
	const char *old = name_map_get(m, guid);
	char *copy;

	if (old && strlen(old) == len && memcmp(old, name, len) == 0)
		return 0;
	if (old)
		return fail(l, l->start, ERR_EXISTS, "this GUID has another name already", e);
	copy = region_alloc(m->region, len + 1);
	memcpy(copy, name, len);
	map_set(&m->index, guid, m->len);
	m->names[m->len++] = copy;
	return 0;
}

static int
read_line(struct name_map *m, const struct line *l, struct error *e)
{
	const char *p = skip_blanks(l->start, l->end), *name = NULL;
	uint64_t guid = 0;
	size_t len = 0;
	int rc;

	if (at_end(p, l->end))
		return 0;
	rc = read_guid(l, &p, &guid, e);
	if (!rc)
		rc = read_name(l, &p, &name, &len, e);
	if (rc)
		return rc;
	p = skip_blanks(p, l->end);
	if (!at_end(p, l->end))
		return fail(l, p, ERR_FORMAT, "expected the end of the line", e);
	return add(m, l, guid, name, len, e);
}

static size_t
count_lines(const char *text, size_t len)
{
	size_t lines = 1;

	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	return lines;
}

struct name_map *
name_map_parse(const char *text, size_t len, const char *name, struct error *e)
{
	struct region *r = region_new();
	struct name_map *m = region_alloc(r, sizeof(*m));
	struct line l = { .file = name, .start = text };
	const char *end = text + len;

	m->region = r;
	m->names = region_array(r, count_lines(text, len), sizeof(*m->names));
	while (l.start < end) {
		l.number++;
		l.end = memchr(l.start, '\n', (size_t)(end - l.start));
		if (!l.end)
			l.end = end;
		if (read_line(m, &l, e)) {
			name_map_free(m);
			return NULL;
		}
		l.start = l.end < end ? l.end + 1 : end;
	}
	return m;
}

struct name_map *
name_map_load(const char *path, struct error *e)
{
	struct name_map *m;
	char *text;
	size_t len;

	text = doc_read_file(path, NAMES_FILE_MAX, &len, e);
	if (!text)
		return NULL;
	m = name_map_parse(text, len, path, e);
	mem_free(text);
	return m;
}

const char *
name_map_get(const struct name_map *m, uint64_t guid)
{
	uint32_t i = m ? map_get(&m->index, guid) : MAP_NONE;

	return i == MAP_NONE ? NULL : m->names[i];
}

void
name_map_free(struct name_map *m)
{
	if (!m)
		return;
	map_free(&m->index);
	region_free(m->region);
}
