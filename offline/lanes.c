/* SPDX-License-Identifier: BSD-2-Clause */
#include "offline/dump.h"

#include <string.h>
#include "sm/base/mem.h"

/*
 * Lanes of a foreign subnet manager. Its SL to VL tables say on which lane a packet of each SL goes
 * on; which SL the packets of a pair have its path records say. Without all records of the sources
 * at a switch to a LID these are taken to use every SL: a proof then holds whatever they use. A
 * switch maps by (in port, out port, SL), never by the lane that a packet came on (IBA volume 1,
 * 7.6.6).
 */
#define DROPPED 15	/* VL 15 in a table: packets of this SL are discarded */

struct tables {
	const struct fabric *f;		/* borrowed; the dump outlives the lanes */
	const struct sl2vl_row ***rows;	/* by switch, then in port x (its ports + 1) + out port */
	uint16_t *classes;		/* by LID x switches + switch: SLs of its sources */
	bool hosts;			/* which are hosts only */
};

static const struct sl2vl_row **
slot(const struct tables *t, uint32_t sw, unsigned in, unsigned out)
{
	return &t->rows[sw][in * (fabric_switch_node(t->f, sw)->nports + 1u) + out];
}

static uint8_t
lane(const struct plan_lanes *l, uint32_t sw, uint8_t in, uint8_t out, uint8_t class)
{
	const struct sl2vl_row *row = *slot(l->state, sw, in, out);

	if (!row)	/* only where a packet would turn back */
		return 0;
	return row->vl[class] == DROPPED ? PLAN_LANE_DROP : row->vl[class];
}

static uint32_t
path_classes(const struct plan_lanes *l, uint32_t sw, uint16_t lid)
{
	const struct tables *t = l->state;

	return t->classes[(size_t)lid * t->f->nswitches + sw];
}

static void
tables_free(struct tables *t)
{
	mem_free(t->classes);
	for (uint32_t sw = 0; sw < t->f->nswitches; sw++)
		mem_free(t->rows[sw]);
	mem_free(t->rows);
	mem_free(t);
}

static void
lanes_free(struct plan_lanes *l)
{
	tables_free(l->state);
	mem_free(l);
}

static struct tables *
tables_new(const struct fabric *f)
{
	struct tables *t = mem_zalloc(sizeof(*t));

	t->f = f;
	t->rows = mem_array(f->nswitches, sizeof(*t->rows));
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		size_t n = fabric_switch_node(f, sw)->nports + 1u;

		t->rows[sw] = mem_array(n * n, sizeof(**t->rows));
	}
	return t;
}

/* The switch that a table is of; FABRIC_NONE: it is a host's, or of something unknown. */
static uint32_t
switch_of(const struct fabric *f, const struct plan_lids *lids, const struct sl2vl_row *row)
{
	uint32_t port = row->guid ? fabric_port_by_guid(f, row->guid) :
		row->lid <= lids->top ? lids->dest[row->lid].port : FABRIC_NONE;

	return port == FABRIC_NONE ? FABRIC_NONE : f->nodes[f->ports[port].node].sw;
}

static int
take_row(const struct tables *t, const struct sl2vl *s, const struct sl2vl_row *row,
	 const struct plan_lids *lids, struct error *e)
{
	uint32_t sw = switch_of(t->f, lids, row);
	const struct fabric_node *n;
	const struct sl2vl_row **at;

	if (sw == FABRIC_NONE)
		return 0;
	n = fabric_switch_node(t->f, sw);
	if (row->in > n->nports || row->out > n->nports)
		return error_set(e, ERR_FORMAT, "%s:%u: %s has no more than %u ports", s->file,
				 row->line, n->name, n->nports);
	at = slot(t, sw, row->in, row->out);
	if (*at && memcmp((*at)->vl, row->vl, sizeof(row->vl)) != 0)
		return error_set(e, ERR_EXISTS, "%s:%u: %s has another table from port %u to port "
				 "%u elsewhere in the dump", s->file, row->line, n->name, row->in,
				 row->out);
	*at = row;
	return 0;
}

/* From each cabled port of a switch to each other switch; *lanes rises to what they use. */
static int
check_switch(const struct tables *t, uint32_t sw, unsigned *lanes, struct error *e)
{
	const struct fabric_node *n = fabric_switch_node(t->f, sw);

	for (uint32_t i = t->f->edge_first[sw]; i < t->f->edge_first[sw + 1]; i++)
		for (unsigned in = 0; in <= n->nports; in++) {
			unsigned out = t->f->edges[i].out;
			const struct sl2vl_row *row = *slot(t, sw, in, out);

			if (!row && in != out &&
			    (!in || t->f->ports[n->first_port + in].peer != FABRIC_NONE))
				return error_set(e, ERR_NOT_FOUND, "the dump has SL to VL tables, "
						 "but none of %s from port %u to port %u", n->name,
						 in, out);
			for (unsigned sl = 0; row && sl < SL2VL_SLS; sl++)
				if (row->vl[sl] != DROPPED && row->vl[sl] >= *lanes)
					*lanes = row->vl[sl] + 1u;
		}
	return 0;
}

/* By switch: LIDs of hosts on it, each a source. */
static uint32_t *
count_sources(const struct fabric *f, const struct plan_lids *lids)
{
	uint32_t *sources = mem_array(f->nswitches, sizeof(*sources));

	for (uint32_t lid = 1; lid <= lids->top; lid++)
		if (lids->dest[lid].port != FABRIC_NONE && lids->dest[lid].sw != FABRIC_NONE)
			sources[lids->dest[lid].sw] += lids->dest[lid].out != 0;
	return sources;
}

/* The SLs of the records, and by (LID, switch) how many pairs of hosts they are. */
static void
read_paths(struct tables *t, const struct paths *p, const struct plan_lids *lids, uint32_t *seen)
{
	for (uint32_t i = 0; p && i < p->len; i++) {
		const struct paths_entry *e = &p->entries[i];
		const struct plan_dest *src;
		size_t at;

		if (e->src > lids->top || e->dst > lids->top)
			continue;
		src = &lids->dest[e->src];
		if (src->port == FABRIC_NONE || src->sw == FABRIC_NONE || (t->hosts && !src->out))
			continue;
		at = (size_t)e->dst * t->f->nswitches + src->sw;
		t->classes[at] |= (uint16_t)(1u << e->sl);
		seen[at] += src->out != 0;
	}
}

/* Where a record is missing, all SLs; their number. A host needs none to itself. */
static uint64_t
guess_classes(struct tables *t, const struct paths *p, const struct plan_lids *lids)
{
	size_t n = t->f->nswitches;
	uint32_t *seen = mem_array((lids->top + 1u) * n, sizeof(*seen));
	uint32_t *sources = count_sources(t->f, lids);
	uint64_t guessed = 0;

	t->classes = mem_array((lids->top + 1u) * n, sizeof(*t->classes));
	read_paths(t, p, lids, seen);
	for (uint32_t lid = 1; lid <= lids->top; lid++)
		for (uint32_t sw = 0; sw < n && lids->dest[lid].port != FABRIC_NONE; sw++) {
			size_t at = lid * n + sw;
			bool home = lids->dest[lid].sw == sw;

			if (p && (home || seen[at] >= sources[sw]))
				continue;
			t->classes[at] = UINT16_MAX;
			guessed++;
		}
	mem_free(seen);
	mem_free(sources);
	return guessed;
}

struct plan_lanes *
dump_lanes(const struct dump *d, const struct plan_lids *lids, bool hosts, uint64_t *guessed,
	   struct error *e)
{
	struct tables *t = tables_new(d->fabric);
	unsigned lanes = 1;
	struct plan_lanes *l;
	int rc = 0;

	for (unsigned i = 0; i < d->nsl2vl; i++)
		for (uint32_t k = 0; k < d->sl2vl[i]->len && !rc; k++)
			rc = take_row(t, d->sl2vl[i], &d->sl2vl[i]->rows[k], lids, e);
	for (uint32_t sw = 0; sw < d->fabric->nswitches && !rc; sw++)
		rc = check_switch(t, sw, &lanes, e);
	if (rc) {
		tables_free(t);
		return NULL;
	}
	t->hosts = hosts;
	*guessed = guess_classes(t, d->paths, lids);
	l = mem_zalloc(sizeof(*l));
	*l = (struct plan_lanes){
		.refs = 1, .classes = SL2VL_SLS, .lanes = (uint8_t)lanes,
		.path_classes = path_classes, .lane = lane, .free = lanes_free, .state = t,
	};
	return l;
}
