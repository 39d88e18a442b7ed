/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/text/mfts.h"

#include <inttypes.h>
#include <string.h>
#include "sm/base/map.h"
#include "sm/text/lines.h"

/*
 * Multicast tables as text. dump_mfts prints a block a switch: a line of port numbers tells in
 * which column the port 0 stands, every second column behind it is a port, and an x in it says
 * that packets leave there. OpenSM's opensm.mcfdbs lists the ports of each MLID, and leaves out
 * switches without any. Multicast forwarding tables: IBA volume 1, 14.2.5.11 and 18.2.4.3.3.
 */
#define LINE_MAX_BYTES 1024u	/* 254 ports take 522 */

struct parser {
	struct lines l;		/* the text */
	struct mfts *mfts;	/* what is being built */
	struct map guids;	/* node GUIDs that had a block, to its line */
	struct map mlids;	/* MLIDs of the present block, to their line */
	uint64_t guid;		/* node GUID of the present block */
	size_t column;		/* of port 0, 0: not known yet */
	bool listed;		/* the block is OpenSM's: ports are listed */
	bool open;		/* there is a present block */
};

static int
begin_block(struct parser *p, bool listed)
{
	uint32_t other = map_get(&p->guids, p->guid);

	if (other != MAP_NONE)
		return lines_error(&p->l, "switch 0x%016" PRIx64 " has a block in line %u already",
				   p->guid, other);
	map_set(&p->guids, p->guid, p->l.line);
	map_free(&p->mlids);
	p->column = 0;
	p->listed = listed;
	p->open = true;
	p->mfts->nswitches++;
	return 0;
}

/* 0xc000-0xc3ff] of switch Lid 6 guid 0x0000000000200003 (T1_1_0): */
static int
dump_header(struct parser *p)
{
	struct lines *l = &p->l;
	const char *at = lines_find_word(l, "guid ");

	if (at)
		l->p = at + strlen("guid ");
	if (!at || !lines_hex(l, &p->guid))
		return lines_error(l, "expected \"guid\" and the GUID of the switch");
	return begin_block(p, false);
}

static struct mfts_entry *
entry_new(struct mfts *m)
{
	struct mfts_entry *entries;

	if (m->len == m->size) {
		m->size = m->size ? m->size * 2 : 64;
		entries = region_array(m->region, m->size, sizeof(*entries));
		if (m->len)
			memcpy(entries, m->entries, m->len * sizeof(*entries));
		m->entries = entries;
	}
	return &m->entries[m->len++];
}

static void
add_port(struct mfts_entry *e, unsigned port)
{
	e->ports[port / 64] |= (uint64_t)1 << port % 64;
}

/* The x of each port, from the column of port 0 on. */
static int
take_marks(struct parser *p, const char *line, struct mfts_entry *e)
{
	struct lines *l = &p->l;

	for (lines_blanks(l); l->p < l->stop; lines_blanks(l)) {
		size_t at = (size_t)(l->p - line);
		size_t port = at >= p->column ? (at - p->column) / 2 : 0;

		if (!p->column || at < p->column || (at - p->column) % 2 || port > MFTS_PORT_MAX ||
		    *l->p++ != 'x')
			return lines_error(l, "expected an x below the number of each port that "
					   "takes part");
		add_port(e, (unsigned)port);
	}
	return 0;
}

/* : 0x001  0x00D */
static int
take_list(struct parser *p, struct mfts_entry *e)
{
	struct lines *l = &p->l;
	uint64_t port;

	lines_blanks(l);
	if (!lines_eat(l, ":"))
		return lines_error(l, "expected \":\" and ports behind the multicast LID");
	for (lines_blanks(l); l->p < l->stop; lines_blanks(l)) {
		if (!lines_number(l, &port) || port > MFTS_PORT_MAX)
			return lines_error(l, "expected a port of 0 to %u", MFTS_PORT_MAX);
		add_port(e, (unsigned)port);
	}
	return 0;
}

static int
parse_entry(struct parser *p)
{
	struct lines *l = &p->l;
	const char *line = l->p;
	struct mfts_entry *e;
	uint64_t mlid;
	uint32_t other;

	if (!p->open)
		return lines_error(l, "an entry comes before the header of its switch");
	if (!lines_hex(l, &mlid) || mlid < MFTS_MLID_MIN || mlid > MFTS_MLID_MAX)
		return lines_error(l, "expected a multicast LID, 0x%x to 0x%x", MFTS_MLID_MIN,
				   MFTS_MLID_MAX);
	other = map_get(&p->mlids, mlid);
	if (other != MAP_NONE)
		return lines_error(l, "multicast LID 0x%" PRIx64 " has an entry in line %u "
				   "already", mlid, other);
	if (p->mfts->len == MFTS_MAX_ENTRIES)
		return lines_error(l, "more than %u entries", MFTS_MAX_ENTRIES);
	map_set(&p->mlids, mlid, l->line);
	e = entry_new(p->mfts);
	*e = (struct mfts_entry){ .guid = p->guid, .line = l->line, .mlid = (uint16_t)mlid };
	return p->listed ? take_list(p, e) : take_marks(p, line, e);
}

static int
parse_line(struct parser *p)
{
	struct lines *l = &p->l;
	const char *line = l->p;

	if (lines_eat(l, "Multicast mlids ["))
		return dump_header(p);
	if (lines_eat(l, "Switch 0x")) {
		l->p -= 2;
		return lines_hex(l, &p->guid) ? begin_block(p, true) :
			lines_error(l, "expected the GUID of the switch");
	}
	if (l->stop - l->p > 2 && !memcmp(l->p, "0x", 2))
		return parse_entry(p);
	lines_blanks(l);
	if (lines_eat(l, "Ports:")) {
		lines_blanks(l);
		p->column = (size_t)(l->p - line);
	}
	return 0;
}

int
mfts_parse(struct mfts **m, const char *text, size_t size, const char *file, struct error *e)
{
	struct region *r = region_new();
	struct parser p = { 0 };
	int rc;

	*m = NULL;
	p.mfts = region_alloc(r, sizeof(*p.mfts));
	p.mfts->region = r;
	p.mfts->file = region_strdup(r, file);
	lines_start(&p.l, text, size, file, e);
	while ((rc = lines_next(&p.l, LINE_MAX_BYTES)) > 0)
		if ((rc = parse_line(&p)) < 0)
			break;
	if (rc == 0 && !p.mfts->nswitches)
		rc = error_set(e, ERR_FORMAT, "%s holds no multicast table; is it the output of "
			       "dump_mfts?", file);
	map_free(&p.guids);
	map_free(&p.mlids);
	if (rc < 0)
		mfts_free(p.mfts);
	else
		*m = p.mfts;
	return rc;
}

int
mfts_read(struct mfts **m, const char *path, struct error *e)
{
	struct buf b = { 0 };
	int rc;

	*m = NULL;
	rc = text_load(&b, path, e);
	if (rc == 0)
		rc = mfts_parse(m, b.data ? b.data : "", b.len, path, e);
	buf_free(&b);
	return rc;
}

void
mfts_free(struct mfts *m)
{
	if (m)
		region_free(m->region);
}
