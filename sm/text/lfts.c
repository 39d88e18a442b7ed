/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/text/lfts.h"

#include <inttypes.h>
#include <string.h>
#include "sm/base/map.h"
#include "sm/text/lines.h"

/*
 * Forwarding tables as text: read what dump_lfts, ibroute and OpenSM print, write dump_lfts' form.
 *
 * A block's lines are collected in one scratch table of all unicast LIDs, which is cut to its
 * highest LID when the block ends; the region of the struct lfts then owns the cut table. Who owns
 * a LID is said in every block again, and must be the same in all of them: the file may be read to
 * follow ports to other LIDs. Linear forwarding tables: IBA volume 1, 14.2.5.10 and 18.2.4.3.1.
 */
#define LINE_MAX_BYTES 1024u	/* of one line; real ones have 100 */

struct parser {
	struct lines l;			/* the text */
	struct lfts *lfts;		/* what is being built */
	struct map guids;		/* node GUID to block */
	enum lfts_form form;		/* of the block being read */
	const char *desc;		/* of the block being read, in the text */
	size_t desc_len;		/* bytes of it */
	uint64_t guid;			/* node GUID of the block being read */
	uint64_t lid;			/* LID of the switch, 0 = not stated */
	uint64_t top;			/* highest LID that the block's header allows */
	uint32_t header;		/* line of the block's header, 0 = outside a block */
	uint32_t len;			/* highest LID seen + 1 */
	uint8_t *ports;			/* scratch, by LID */
	uint32_t *lines;		/* line that gave the LID last, by LID */
};

struct lfts *
lfts_new(void)
{
	struct region *r = region_new();
	struct lfts *l = region_alloc(r, sizeof(*l));

	l->region = r;
	l->refs = 1;
	l->file = "";
	return l;
}

struct lfts *
lfts_ref(struct lfts *l)
{
	if (l)
		__atomic_add_fetch(&l->refs, 1, __ATOMIC_RELAXED);
	return l;
}

void
lfts_free(struct lfts *l)
{
	if (l && !__atomic_sub_fetch(&l->refs, 1, __ATOMIC_ACQ_REL))
		region_free(l->region);
}

static bool
same_owners(const struct lfts *a, const struct lfts *b)
{
	if (!a->owners || !b->owners)
		return a->owners == b->owners;
	return !memcmp(a->owners, b->owners, (LFTS_LID_MAX + 1u) * sizeof(*a->owners));
}

bool
lfts_equal(const struct lfts *a, const struct lfts *b)
{
	if (!a || !b)
		return a == b;
	if (a->nswitches != b->nswitches || !same_owners(a, b))
		return false;
	for (uint32_t i = 0; i < a->nswitches; i++) {
		const struct lfts_switch *s = &a->switches[i], *t = &b->switches[i];

		if (s->guid != t->guid || s->len != t->len || memcmp(s->ports, t->ports, s->len))
			return false;
	}
	return true;
}

static void
grow(struct lfts *l)
{
	struct lfts_switch *switches;

	l->size = l->size ? l->size * 2 : 16;
	switches = region_array(l->region, l->size, sizeof(*switches));
	if (l->nswitches)
		memcpy(switches, l->switches, l->nswitches * sizeof(*switches));
	l->switches = switches;
}

static struct lfts_switch *
add(struct lfts *l, uint64_t guid, const char *desc, size_t desc_len, const uint8_t *ports,
    uint32_t len)
{
	struct lfts_switch *s;

	if (len > LFTS_LID_MAX + 1)
		len = LFTS_LID_MAX + 1;
	if (l->nswitches >= LFTS_MAX_SWITCHES || l->bytes + len + 1 > LFTS_MAX_BYTES)
		return NULL;
	if (l->nswitches == l->size)
		grow(l);
	s = &l->switches[l->nswitches++];
	s->guid = guid;
	s->desc = text_copy(l->region, desc, desc_len, IBNET_MAX_NAME);
	s->len = len ? len : 1;
	s->ports = region_alloc(l->region, s->len);
	s->ports[0] = LFTS_NO_PORT;
	memcpy(s->ports, ports, len);
	l->bytes += s->len;
	return s;
}

struct lfts_switch *
lfts_add(struct lfts *l, uint64_t guid, uint16_t lid, const char *desc, const uint8_t *ports,
	 uint32_t len)
{
	struct lfts_switch *s = add(l, guid, desc, strlen(desc), ports, len);

	if (s)
		s->lid = lid;
	return s;
}

static int
end_block(struct parser *p)
{
	struct lfts_switch *s;

	if (!p->header)
		return 0;
	s = add(p->lfts, p->guid, p->desc, p->desc_len, p->ports, p->len);
	if (!s)
		return lines_error(&p->l, "more than %u switches or %zu bytes of tables",
				   LFTS_MAX_SWITCHES, LFTS_MAX_BYTES);
	s->lid = (uint16_t)p->lid;
	s->line = p->header;
	map_set(&p->guids, p->guid, p->lfts->nswitches - 1);
	memset(p->ports, LFTS_NO_PORT, p->len);
	p->len = 0;
	p->header = 0;
	return 0;
}

static int
begin_block(struct parser *p)
{
	uint32_t other = map_get(&p->guids, p->guid);

	if (other != MAP_NONE)
		return lines_error(&p->l, "switch 0x%016" PRIx64 " has a block in line %u already",
				   p->guid, p->lfts->switches[other].line);
	p->header = p->l.line;
	if (!p->lfts->nswitches)
		p->lfts->form = p->form;
	return 0;
}

/* "(description):", where OpenSM puts the description into single quotes. */
static void
take_desc(struct parser *p)
{
	struct lines *l = &p->l;
	const char *end;

	p->form = LFTS_FORM_DUMP;
	lines_blanks(l);
	if (!lines_eat(l, "(") || !(end = lines_find_last(l, ')')))
		return;
	if (end - l->p >= 2 && *l->p == '\'' && end[-1] == '\'') {
		l->p++;
		end--;
		p->form = LFTS_FORM_OPENSM;
	}
	p->desc = l->p;
	p->desc_len = (size_t)(end - l->p);
}

/* 0x0-0x8] of switch Lid 6 guid 0x0000000000200003 (T1_1_0): */
static int
parse_header(struct parser *p)
{
	struct lines *l = &p->l;
	const char *at;
	uint64_t low;

	if (!lines_number(l, &low) || !lines_eat(l, "-") || !lines_number(l, &p->top) ||
	    !lines_eat(l, "] of switch "))
		return lines_error(l, "expected \"Unicast lids [LOW-HIGH] of switch\"");
	if (p->top > LFTS_LID_MAX || low > p->top)
		return lines_error(l, "the LIDs of a block lie between 0 and 0x%x", LFTS_LID_MAX);
	p->lid = 0;
	if (lines_eat(l, "Lid ") && (!lines_number(l, &p->lid) || p->lid > LFTS_LID_MAX))
		return lines_error(l, "expected the LID of the switch, 0 to 0x%x", LFTS_LID_MAX);
	if (!(at = lines_find_word(l, "guid ")))
		return lines_error(l, "expected \"guid\" and the GUID of the switch");
	l->p = at + strlen("guid ");
	if (!lines_hex(l, &p->guid))
		return lines_error(l, "expected \"guid\" and the GUID of the switch");
	take_desc(p);
	return begin_block(p);
}

/* dump_ucast_routes: Switch 0x0000000000200000 */
static int
parse_fdbs_header(struct parser *p)
{
	struct lines *l = &p->l;

	if (!lines_eat(l, "Switch ") || !lines_hex(l, &p->guid))
		return lines_error(l, "expected \"Switch\" and the GUID of the switch");
	p->lid = 0;
	p->top = LFTS_LID_MAX;
	return begin_block(p);
}

/* "Channel Adapter portguid 0x0000000000100001: 'H0_0_0'": the port whose LID this is. */
static int
take_owner(struct parser *p, uint64_t lid)
{
	static const char word[] = " portguid ";
	struct lines *l = &p->l;
	const char *at = lines_find_word(l, word), *quote = lines_find(l, '\'');
	uint64_t guid;

	if (!at || (quote && quote < at))
		return 0;
	l->p = at + strlen(word);
	if (!lines_hex(l, &guid) || !guid)
		return lines_error(l, "expected the GUID of a port behind \"portguid\"");
	if (!p->lfts->owners)
		p->lfts->owners = region_array(p->lfts->region, LFTS_LID_MAX + 1u,
					       sizeof(*p->lfts->owners));
	if (p->lfts->owners[lid] && p->lfts->owners[lid] != guid)
		return lines_error(l, "LID 0x%" PRIx64 " belongs to port 0x%016" PRIx64 " here, "
				   "and to port 0x%016" PRIx64 " in an earlier block: the tables "
				   "are of different times", lid, guid, p->lfts->owners[lid]);
	p->lfts->owners[lid] = guid;
	return 0;
}

/* The port of an entry, for which "UNREACHABLE" may stand in OpenSM's second form. */
static int
take_port(struct parser *p, uint64_t *port)
{
	struct lines *l = &p->l;

	lines_blanks(l);
	if (p->form == LFTS_FORM_FDBS && lines_eat(l, ":"))
		lines_blanks(l);
	*port = LFTS_NO_PORT;
	if (p->form == LFTS_FORM_FDBS && lines_eat(l, "UNREACHABLE"))
		return 0;
	if (!lines_number(l, port) || (*port > IBNET_MAX_NODE_PORTS && *port != LFTS_NO_PORT))
		return lines_error(l, "expected a port of 0 to %u, or 255, behind the LID",
				   IBNET_MAX_NODE_PORTS);
	return 0;
}

/* 0x0001 002 : (Channel Adapter portguid 0x0000000000100001: 'H0_0_0_0') */
static int
parse_entry(struct parser *p)
{
	struct lines *l = &p->l;
	uint64_t lid, port;
	int rc;

	if (!p->header)
		return lines_error(l, "an entry comes before the header of its switch");
	if (!lines_number(l, &lid))
		return lines_error(l, "expected a LID");
	if ((rc = take_port(p, &port)))
		return rc;
	if (lid > p->top)
		return lines_error(l, "LID 0x%" PRIx64 " lies past the end of the block, 0x%"
				   PRIx64, lid, p->top);
	if (p->lines[lid] >= p->header)
		return lines_error(l, "LID 0x%" PRIx64 " has an entry in line %u already", lid,
				   p->lines[lid]);
	p->lines[lid] = l->line;
	if (port != LFTS_NO_PORT) {
		p->ports[lid] = (uint8_t)port;
		if (lid >= p->len)
			p->len = (uint32_t)lid + 1;
	}
	return p->form == LFTS_FORM_FDBS ? 0 : take_owner(p, lid);
}

static int
parse_line(struct parser *p)
{
	bool fdbs = lines_eat(&p->l, "dump_ucast_routes: ");
	int rc;

	if (fdbs || lines_eat(&p->l, "Unicast lids [")) {
		rc = end_block(p);
		p->desc = "";
		p->desc_len = 0;
		p->form = LFTS_FORM_FDBS;
		return rc < 0 ? rc : fdbs ? parse_fdbs_header(p) : parse_header(p);
	}
	/* Column titles, counts and comments carry nothing. */
	return p->l.stop - p->l.p > 2 && !memcmp(p->l.p, "0x", 2) ? parse_entry(p) : 0;
}

int
lfts_parse(struct lfts **l, const char *text, size_t size, const char *file, struct error *e)
{
	struct parser p = { 0 };
	int rc;

	*l = NULL;
	p.lfts = lfts_new();
	p.ports = mem_alloc(LFTS_LID_MAX + 1);
	memset(p.ports, LFTS_NO_PORT, LFTS_LID_MAX + 1);
	p.lines = mem_array(LFTS_LID_MAX + 1, sizeof(*p.lines));
	lines_start(&p.l, text, size, file, e);
	while ((rc = lines_next(&p.l, LINE_MAX_BYTES)) > 0)
		if ((rc = parse_line(&p)) < 0)
			break;
	if (rc == 0)
		rc = end_block(&p);
	if (rc == 0 && !p.lfts->nswitches)
		rc = error_set(e, ERR_FORMAT, "%s holds no forwarding table; is it the output of "
			       "dump_lfts?", file);
	map_free(&p.guids);
	mem_free(p.ports);
	mem_free(p.lines);
	if (rc < 0)
		lfts_free(p.lfts);
	else
		*l = p.lfts;
	if (*l)
		p.lfts->file = region_strdup(p.lfts->region, file);
	return rc;
}

int
lfts_read(struct lfts **l, const char *path, struct error *e)
{
	struct buf b = { 0 };
	int rc;

	*l = NULL;
	rc = text_load(&b, path, e);
	if (rc == 0)
		rc = lfts_parse(l, b.data ? b.data : "", b.len, path, e);
	buf_free(&b);
	return rc;
}

/* An end port of each LID of its range. */
struct owner {
	const struct ibnet_node *node;	/* NULL: nobody's */
	uint64_t port_guid;		/* the end port */
};

struct lfts_owners {
	struct owner by_lid[LFTS_LID_MAX + 1u];
};

static void
own(struct owner *owners, const struct ibnet_node *n, const struct ibnet_port *port)
{
	for (uint32_t i = 0; port->lid && i < 1u << port->lmc; i++) {
		if (port->lid + i > LFTS_LID_MAX)
			return;
		owners[port->lid + i] = (struct owner){ n, port->guid };
	}
}

struct lfts_owners *
lfts_owners_new(const struct ibnet *net)
{
	struct lfts_owners *o = mem_zalloc(sizeof(*o));

	for (uint32_t i = 0; net && i < net->nnodes; i++) {
		const struct ibnet_node *n = &net->nodes[i];

		if (n->type == IBNET_SWITCH)
			own(o->by_lid, n, &n->ports[0]);
		for (unsigned p = 1; p <= n->nports && n->type != IBNET_SWITCH; p++)
			own(o->by_lid, n, &n->ports[p]);
	}
	return o;
}

void
lfts_owners_free(struct lfts_owners *o)
{
	mem_free(o);
}

static void
write_entry(struct buf *b, uint32_t lid, unsigned port, const struct owner *o)
{
	static const char *const types[] = { "Channel Adapter", "Switch", "Router" };

	buf_printf(b, "0x%04x %03u : ", lid, port);
	if (o->node)
		buf_printf(b, "(%s portguid 0x%016" PRIx64 ": '%s')\n", types[o->node->type - 1],
			   o->port_guid, o->node->desc);
	else
		buf_str(b, "(unknown node)\n");
}

void
lfts_write_switch(struct buf *b, const struct lfts_switch *s, const struct lfts_owners *o)
{
	unsigned valid = 0;

	buf_printf(b, "Unicast lids [0x0-0x%x] of switch Lid %u guid 0x%016" PRIx64 " (%s):\n",
		   s->len - 1, s->lid, s->guid, s->desc);
	buf_str(b, "  Lid  Out   Destination\n       Port     Info \n");
	for (uint32_t lid = 0; lid < s->len; lid++) {
		if (s->ports[lid] == LFTS_NO_PORT)
			continue;
		write_entry(b, lid, s->ports[lid], &o->by_lid[lid]);
		valid++;
	}
	buf_printf(b, "%u valid lids dumped \n", valid);
}

void
lfts_write(struct buf *b, const struct lfts *l, const struct ibnet *net)
{
	struct lfts_owners *owners = lfts_owners_new(net);

	for (uint32_t i = 0; i < l->nswitches; i++)
		lfts_write_switch(b, &l->switches[i], owners);
	lfts_owners_free(owners);
}
