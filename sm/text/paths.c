/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/text/paths.h"

#include <string.h>
#include "sm/text/lines.h"

/*
 * Path records as text (IBA volume 1, 15.2.5.16). A line begins a record, then each field has a
 * line of its own: its name, dots, its value. Three of them are of use here.
 */
#define LINE_MAX_BYTES 1024u	/* of one line; real ones have 60 */
#define LID_MAX 0xbfffu

enum field {
	SRC,
	DST,
	SL,
	FIELDS,
};

struct parser {
	struct lines l;			/* the text */
	struct paths *paths;		/* what is being built */
	uint64_t value[FIELDS];		/* of the present record */
	bool has[FIELDS];		/* it was there */
	uint32_t begin;			/* its first line, 0: none */
};

static const char *const names[FIELDS] = { "slid.", "dlid.", "sl." };

static struct paths_entry *
entry_new(struct paths *p)
{
	struct paths_entry *entries;

	if (p->len == p->size) {
		p->size = p->size ? p->size * 2 : 64;
		entries = region_array(p->region, p->size, sizeof(*entries));
		if (p->len)
			memcpy(entries, p->entries, p->len * sizeof(*entries));
		p->entries = entries;
	}
	return &p->entries[p->len++];
}

static int
end_record(struct parser *p)
{
	if (!p->begin)
		return 0;
	for (unsigned i = 0; i < FIELDS; i++)
		if (!p->has[i])
			return lines_error(&p->l, "the record that begins in line %u has no %.*s",
					   p->begin, (int)strlen(names[i]) - 1, names[i]);
	if (p->paths->len == PATHS_MAX)
		return lines_error(&p->l, "more than %u records", PATHS_MAX);
	*entry_new(p->paths) = (struct paths_entry){
		.src = (uint16_t)p->value[SRC], .dst = (uint16_t)p->value[DST],
		.sl = (uint8_t)p->value[SL],
	};
	memset(p->has, 0, sizeof(p->has));
	p->begin = 0;
	return 0;
}

static int
take_field(struct parser *p, enum field f)
{
	struct lines *l = &p->l;

	while (lines_eat(l, "."))
		;
	if (!p->begin)
		return lines_error(l, "a field comes before the beginning of its record");
	if (p->has[f])
		return lines_error(l, "the record has this field twice");
	if (!lines_number(l, &p->value[f]) || p->value[f] > (f == SL ? 15 : LID_MAX) ||
	    (f != SL && !p->value[f]))
		return lines_error(l, f == SL ? "expected a service level, 0 to 15" :
				   "expected a unicast LID");
	p->has[f] = true;
	return 0;
}

static int
parse_line(struct parser *p)
{
	struct lines *l = &p->l;
	int rc;

	if (lines_eat(l, "PathRecord dump:")) {
		rc = end_record(p);
		p->begin = l->line;
		return rc;
	}
	lines_blanks(l);
	for (unsigned f = 0; f < FIELDS; f++)
		if (lines_eat(l, names[f]))
			return take_field(p, f);
	return 0;
}

int
paths_parse(struct paths **paths, const char *text, size_t size, const char *file, struct error *e)
{
	struct region *r = region_new();
	struct parser p = { 0 };
	int rc;

	*paths = NULL;
	p.paths = region_alloc(r, sizeof(*p.paths));
	p.paths->region = r;
	p.paths->file = region_strdup(r, file);
	lines_start(&p.l, text, size, file, e);
	while ((rc = lines_next(&p.l, LINE_MAX_BYTES)) > 0)
		if ((rc = parse_line(&p)) < 0)
			break;
	if (rc == 0)
		rc = end_record(&p);
	if (rc == 0 && !p.paths->len)
		rc = error_set(e, ERR_FORMAT, "%s holds no path record; is it the output of "
			       "saquery PR?", file);
	if (rc < 0)
		paths_free(p.paths);
	else
		*paths = p.paths;
	return rc;
}

int
paths_read(struct paths **p, const char *path, struct error *e)
{
	struct buf b = { 0 };
	int rc;

	*p = NULL;
	rc = text_load(&b, path, e);
	if (rc == 0)
		rc = paths_parse(p, b.data ? b.data : "", b.len, path, e);
	buf_free(&b);
	return rc;
}

void
paths_free(struct paths *p)
{
	if (p)
		region_free(p->region);
}
