/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/text/sl2vl.h"

#include <string.h>
#include "sm/text/lines.h"

/*
 * SL to VL tables as text (IBA volume 1, 14.2.5.8). Both forms have a line that names the node,
 * then one line for each pair of ports with 16 numbers; smpquery puts bars between them.
 */
#define LINE_MAX_BYTES 1024u	/* of one line; real ones have 100 */
#define PORT_MAX 254u
#define LID_MAX 0xbfffu

struct parser {
	struct lines l;		/* the text */
	struct sl2vl *tables;	/* what is being built */
	uint64_t guid;		/* of the present node, 0 */
	uint64_t lid;		/* of it, 0 */
};

static struct sl2vl_row *
row_new(struct sl2vl *s)
{
	struct sl2vl_row *rows;

	if (s->len == s->size) {
		s->size = s->size ? s->size * 2 : 64;
		rows = region_array(s->region, s->size, sizeof(*rows));
		if (s->len)
			memcpy(rows, s->rows, s->len * sizeof(*rows));
		s->rows = rows;
	}
	return &s->rows[s->len++];
}

static bool
take_port(struct lines *l, uint8_t *port)
{
	uint64_t n;

	lines_blanks(l);
	if (!lines_number(l, &n) || n > PORT_MAX)
		return false;
	*port = (uint8_t)n;
	return true;
}

/* 16 numbers of 0 to 15, bars or blanks between. */
static bool
take_lanes(struct lines *l, uint8_t *vl)
{
	uint64_t n;

	for (unsigned i = 0; i < SL2VL_SLS; i++) {
		do
			lines_blanks(l);
		while (lines_eat(l, "|"));
		if (!lines_number(l, &n) || n > 15)
			return false;
		vl[i] = (uint8_t)n;
	}
	return true;
}

static int
add_row(struct parser *p, bool smpquery)
{
	struct lines *l = &p->l;
	struct sl2vl_row row = { .guid = p->guid, .lid = (uint16_t)p->lid, .line = l->line };
	bool ok;

	if (!p->guid && !p->lid)
		return lines_error(l, "a table comes before the line that names its node by LID or "
				   "GUID");
	if (p->tables->len == SL2VL_MAX_ROWS)
		return lines_error(l, "more than %u tables", SL2VL_MAX_ROWS);
	ok = take_port(l, &row.in);
	lines_blanks(l);
	ok = ok && (!smpquery || lines_eat(l, ", out")) && take_port(l, &row.out);
	lines_blanks(l);
	if (!ok || !lines_eat(l, ":") || !take_lanes(l, row.vl))
		return lines_error(l, "expected two ports, \":\" and the lanes of 16 service "
				   "levels");
	*row_new(p->tables) = row;
	return 0;
}

/* "# SL2VL table: Lid 3", or a directed route, which says nothing of whose table it is. */
static int
smpquery_header(struct parser *p)
{
	struct lines *l = &p->l;

	p->guid = p->lid = 0;
	lines_blanks(l);
	if (lines_eat(l, "Lid ") &&
	    (!lines_number(l, &p->lid) || !p->lid || p->lid > LID_MAX))
		return lines_error(l, "expected the LID of the node, 1 to 0x%x", LID_MAX);
	return 0;
}

/* Switch 0x0000000000200000, base LID 2, "L0_0" */
static int
opensm_header(struct parser *p)
{
	p->lid = 0;
	if (!lines_hex(&p->l, &p->guid) || !p->guid)
		return lines_error(&p->l, "expected the GUID of the node");
	return 0;
}

static int
parse_line(struct parser *p)
{
	static const char *const types[] = { "Switch ", "Channel Adapter ", "Router " };
	struct lines *l = &p->l;

	if (lines_eat(l, "# SL2VL table:"))
		return smpquery_header(p);
	if (lines_eat(l, "ports: in"))
		return add_row(p, true);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (lines_eat(l, types[i]))
			return opensm_header(p);
	return l->p < l->stop && *l->p >= '0' && *l->p <= '9' ? add_row(p, false) : 0;
}

int
sl2vl_parse(struct sl2vl **s, const char *text, size_t size, const char *file, struct error *e)
{
	struct region *r = region_new();
	struct parser p = { 0 };
	int rc;

	*s = NULL;
	p.tables = region_alloc(r, sizeof(*p.tables));
	p.tables->region = r;
	p.tables->file = region_strdup(r, file);
	lines_start(&p.l, text, size, file, e);
	while ((rc = lines_next(&p.l, LINE_MAX_BYTES)) > 0)
		if ((rc = parse_line(&p)) < 0)
			break;
	if (rc == 0 && !p.tables->len)
		rc = error_set(e, ERR_FORMAT, "%s holds no SL to VL table; is it the output of "
			       "smpquery sl2vl?", file);
	if (rc < 0)
		sl2vl_free(p.tables);
	else
		*s = p.tables;
	return rc;
}

int
sl2vl_read(struct sl2vl **s, const char *path, struct error *e)
{
	struct buf b = { 0 };
	int rc;

	*s = NULL;
	rc = text_load(&b, path, e);
	if (rc == 0)
		rc = sl2vl_parse(s, b.data ? b.data : "", b.len, path, e);
	buf_free(&b);
	return rc;
}

void
sl2vl_free(struct sl2vl *s)
{
	if (s)
		region_free(s->region);
}
