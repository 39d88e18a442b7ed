/* SPDX-License-Identifier: BSD-2-Clause */
#include "plugins/impl.h"

#include <string.h>
#include <sys/mman.h>
#include "routing/ranks.h"
#include "sm/base/parallel.h"

/*
 * What an engine made, taken out of the memory that its process has left. Nobody can write there
 * any more, but nothing in it is trusted either: numbers are checked, and what is not used by any
 * LID is no entry. Whether tables are sound is for the proof to say. Rows that are as in the plan
 * of before are those of before.
 */
struct result {
	const struct engine_input *in;
	struct layout_output made;	/* copy of its beginning */
	struct layout_result where;
	const struct memory *from;
	uint32_t *idle;			/* LIDs below the length of rows that nobody has */
	uint32_t nidle;
	struct engine_output *out;
};

static void
find_idle(struct result *r)
{
	const struct plan_lids *l = r->in->lids;
	uint32_t len = plan_row_len(l->top);

	r->idle = mem_array(len, sizeof(*r->idle));
	for (uint32_t lid = 0; lid < len; lid++)
		if (lid > l->top || l->dest[lid].port == FABRIC_NONE)
			r->idle[r->nidle++] = lid;
}

/* The row that the switch had. */
static struct plan_row *
former(const struct result *r, size_t sw)
{
	const struct plan *p = r->in->previous;
	uint32_t node = p ? fabric_node_by_guid(p->fabric,
						fabric_switch_node(r->in->fabric,
								   (uint32_t)sw)->guid) :
			FABRIC_NONE;

	return node == FABRIC_NONE || p->fabric->nodes[node].sw == FABRIC_NONE ? NULL :
		p->rows[p->fabric->nodes[node].sw];
}

/* Where there is no row of before that the new one could turn out to be. */
void
result_prepare(const struct engine_input *in, struct engine_output *out)
{
	const struct result r = { .in = in, .out = out };

	for (uint32_t sw = 0; sw < in->fabric->nswitches; sw++)
		if (!engine_is_fixed(in, sw) && !former(&r, sw))
			out->rows[sw] = plan_row_new(in->lids->top);
}

static void
take_entries(const struct result *r, size_t sw, uint8_t *to)
{
	uint32_t len = plan_row_len(r->in->lids->top);

	memory_read(r->from, to, len, r->where.lft + sw * len);
	for (uint32_t i = 0; i < r->nidle; i++)
		to[r->idle[i]] = LFT_NO_PORT;
}

static bool
is_as(const struct plan_row *row, const uint8_t *entries, uint32_t len)
{
	if (row->len != len)
		return false;
	for (uint32_t b = 0; b < plan_row_blocks(row); b++)
		if (memcmp(plan_row_block(row, b), entries + b * LFT_BLOCK_LEN, LFT_BLOCK_LEN))
			return false;
	return true;
}

static void
take_row(const struct result *r, size_t sw, uint8_t *entries)
{
	uint32_t len = plan_row_len(r->in->lids->top);
	struct plan_row *row = r->out->rows[sw], *old;

	if (row) {
		take_entries(r, sw, plan_row_entries(row));
		return;
	}
	old = former(r, sw);
	take_entries(r, sw, entries);
	if (old && is_as(old, entries, len)) {
		r->out->rows[sw] = plan_row_ref(old);
		return;
	}
	row = plan_row_blank(r->in->lids->top);
	memcpy(plan_row_entries(row), entries, len);
	r->out->rows[sw] = plan_row_settle(row, old);
}

static void
take_rows(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct result *r = arg;
	uint8_t *entries = mem_alloc(plan_row_len(r->in->lids->top));

	(void)thread;
	for (size_t sw = first; sw < end; sw++)
		if (!engine_is_fixed(r->in, (uint32_t)sw))
			take_row(r, sw, entries);
	mem_free(entries);
}

static int
take_ranks(struct result *r, struct error *e)
{
	const struct fabric *f = r->in->fabric;
	char name[FABRIC_NAME_SIZE];
	uint8_t *rank;

	if (r->made.has_rank != 1)
		return 0;
	rank = r->out->ranks = mem_alloc(f->nswitches);
	memory_read(r->from, rank, f->nswitches, r->where.rank);
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		if (rank[sw] > RANKS_MAX)
			return error_set(e, ERR_FORMAT, "gives %s rank %u: at most %u can be",
					 fabric_node_text(name, f, f->switches[sw],
							  FABRIC_NAME_LEN), rank[sw], RANKS_MAX);
	return 0;
}

/* ---- Lanes ---- */

struct lanes {
	uint32_t nswitches, ports, classes;
	uint8_t *class;		/* by pair of switches */
	uint8_t *lane;		/* by link, class and in port */
	uint32_t *link;		/* by switch and port; FABRIC_NONE */
};

static uint8_t
path_class(const struct plan_lanes *l, uint32_t a, uint32_t b)
{
	const struct lanes *s = l->state;

	return s->class[(size_t)a * s->nswitches + b];
}

static uint8_t
lane_of(const struct plan_lanes *l, uint32_t sw, uint8_t in, uint8_t out, uint8_t class)
{
	const struct lanes *s = l->state;
	uint32_t link = out < s->ports ? s->link[(size_t)sw * s->ports + out] : FABRIC_NONE;

	if (link == FABRIC_NONE || in >= s->ports || class >= s->classes)
		return 0;
	return s->lane[((size_t)link * s->classes + class) * s->ports + in];
}

static void
lanes_free(struct plan_lanes *l)
{
	struct lanes *s = l->state;

	mem_free(s->class);
	mem_free(s->lane);
	mem_free(s->link);
	mem_free(s);
	mem_free(l);
}

static void
number_links(struct lanes *s, const struct fabric *f)
{
	size_t len = (size_t)f->nswitches * s->ports;

	s->link = mem_alloc(len * sizeof(*s->link));
	for (size_t i = 0; i < len; i++)
		s->link[i] = FABRIC_NONE;
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		for (uint32_t l = f->edge_first[sw]; l < f->edge_first[sw + 1]; l++)
			s->link[(size_t)sw * s->ports + f->edges[l].out] = l;
}

static int
check_classes(const struct lanes *s, const struct fabric *f, struct error *e)
{
	char name[2][FABRIC_NAME_SIZE];

	for (size_t a = 0; a < s->nswitches; a++)
		for (size_t b = 0; b <= a; b++) {
			unsigned x = s->class[a * s->nswitches + b];
			unsigned y = s->class[b * s->nswitches + a];

			if (x == y && x < s->classes)
				continue;
			fabric_node_text(name[0], f, f->switches[a], FABRIC_NAME_LEN);
			fabric_node_text(name[1], f, f->switches[b], FABRIC_NAME_LEN);
			return error_set(e, ERR_FORMAT, "puts packets from %s to %s into class %u, "
					 "those back into class %u, of %u classes: both must be "
					 "one", name[0], name[1], x, y, s->classes);
		}
	return 0;
}

static int
check_lanes(const struct lanes *s, const struct fabric *f, unsigned lanes, struct error *e)
{
	size_t each = (size_t)s->classes * s->ports;
	char name[FABRIC_NAME_SIZE];
	uint32_t sw = 0;
	size_t link;

	for (size_t i = 0; i < f->nedges * each; i++) {
		if (s->lane[i] < lanes)
			continue;
		link = i / each;
		while (link >= f->edge_first[sw + 1])
			sw++;
		fabric_node_text(name, f, f->switches[sw], FABRIC_NAME_LEN);
		return error_set(e, ERR_FORMAT, "sends packets out of port %u of %s on lane %u "
				 "of %u", f->edges[link].out, name, s->lane[i], lanes);
	}
	return 0;
}

static int
take_lanes(struct result *r, struct error *e)
{
	const struct fabric *f = r->in->fabric;
	uint32_t classes = r->made.classes, lanes = r->made.lanes, most = input_lanes(r->in);
	struct plan_lanes *l;
	struct lanes *s;
	size_t len;

	if (lanes < 1 || lanes > most || classes < 1 || classes > WEFT_CLASSES)
		return error_set(e, ERR_FORMAT, "takes %u classes and %u lanes: there can be %u "
				 "and %u", classes, lanes, WEFT_CLASSES, most);
	if (lanes == 1)
		return 0;
	s = mem_zalloc(sizeof(*s));
	*s = (struct lanes){ .nswitches = f->nswitches, .ports = input_ports(f),
			     .classes = classes };
	l = mem_zalloc(sizeof(*l));
	*l = (struct plan_lanes){ .refs = 1, .classes = (uint8_t)classes, .lanes = (uint8_t)lanes,
				  .by_switch = true, .path_class = path_class, .lane = lane_of,
				  .free = lanes_free, .state = s };
	r->out->lanes = l;
	len = (size_t)s->nswitches * s->nswitches;
	s->class = mem_alloc(len);
	memory_read(r->from, s->class, len, r->where.path_class);
	len = (size_t)f->nedges * classes * s->ports;
	s->lane = mem_alloc(len);
	memory_read(r->from, s->lane, len, r->where.lane);
	number_links(s, f);
	return check_classes(s, f, e) ? e->code : check_lanes(s, f, lanes, e);
}

/* ---- Alternatives ---- */

/* The sets of one switch; NULL and a sentence. */
static struct plan_ar_switch *
take_sets_of(const struct result *r, uint32_t sw, uint16_t nsets, uint16_t *of, struct error *e)
{
	const struct fabric *f = r->in->fabric;
	struct plan_ar_switch *s = plan_ar_switch_new(f->nswitches, nsets, 1, 1);
	char name[FABRIC_NAME_SIZE];
	uint64_t n = f->nswitches;

	s->used = nsets;
	memory_read(r->from, s->ports + 1, nsets * sizeof(*s->ports),
		    r->where.set + sw * (uint64_t)LAYOUT_SETS * sizeof(*s->ports));
	memory_read(r->from, of, n * sizeof(*of), r->where.set_of + sw * n * sizeof(*of));
	for (uint32_t home = 0; home < n; home++) {
		if (of[home] > nsets) {
			error_set(e, ERR_FORMAT, "names set %u of %u at %s", of[home], nsets,
				  fabric_node_text(name, f, f->switches[sw], FABRIC_NAME_LEN));
			plan_ar_switch_unref(s);
			return NULL;
		}
		s->table[0].group[home] = of[home];
	}
	return s;
}

static int
take_sets(struct result *r, struct error *e)
{
	const struct fabric *f = r->in->fabric;
	uint16_t *nsets, *of;
	int rc = 0;

	if (r->made.has_sets != 1)
		return 0;
	nsets = mem_array(f->nswitches, sizeof(*nsets));
	of = mem_array(f->nswitches, sizeof(*of));
	r->out->offered = plan_adaptive_new(f->nswitches);
	memory_read(r->from, nsets, f->nswitches * sizeof(*nsets), r->where.nsets);
	for (uint32_t sw = 0; sw < f->nswitches && !rc; sw++) {
		if (nsets[sw] > LAYOUT_SETS)
			rc = error_set(e, ERR_FORMAT, "gives a switch %u sets of ports: at most %u "
				       "can be", nsets[sw], LAYOUT_SETS);
		else if (!(r->out->offered->sw[sw] = take_sets_of(r, sw, nsets[sw], of, e)))
			rc = ERR_FORMAT;
	}
	mem_free(nsets);
	mem_free(of);
	return rc;
}

/* ---- Multicast trees ---- */

/* What is wrong with a tree at a switch. */
static int
refuse_tree(const struct result *r, uint32_t tree, uint32_t sw, const char *what, struct error *e)
{
	const struct fabric *f = r->in->fabric;
	char name[FABRIC_NAME_SIZE];

	return error_set(e, ERR_FORMAT, "gives a multicast tree (number %u) that %s %s", tree, what,
			 fabric_node_text(name, f, f->switches[sw], FABRIC_NAME_LEN));
}

/* The same cable in the other direction: that leads to `sw`. */
static uint32_t
link_down(const struct fabric *f, const struct fabric_edge *up)
{
	uint32_t l = f->edge_first[up->to];

	while (f->edges[l].out != up->in)
		l++;
	return l;
}

/* links[] becomes edges that lead to each switch, and root[] the roots. A tree that is followed up
 * for longer than there are switches goes round. */
static int
take_tree(const struct result *r, uint32_t tree, uint32_t *parent, uint32_t *root, struct error *e)
{
	const struct fabric *f = r->in->fabric;
	uint32_t *above = mem_array(f->nswitches, sizeof(*above)), steps;
	int rc = 0;

	for (uint32_t sw = 0; sw < f->nswitches && !rc; sw++) {
		uint32_t l = parent[sw];

		above[sw] = FABRIC_NONE;
		if (l == WEFT_NONE)
			continue;
		if (l < f->edge_first[sw] || l >= f->edge_first[sw + 1])
			rc = refuse_tree(r, tree, sw, "has a link for it that is not one of", e);
		else if (engine_is_fixed(r->in, sw) || engine_is_fixed(r->in, f->edges[l].to))
			rc = refuse_tree(r, tree, sw, "takes a switch that does not answer, at", e);
		else
			above[sw] = f->edges[l].to;
		if (!rc)
			parent[sw] = link_down(f, &f->edges[l]);
	}
	for (uint32_t sw = 0; sw < f->nswitches && !rc; sw++) {
		root[sw] = sw;
		for (steps = 0; above[root[sw]] != FABRIC_NONE && !rc; steps++) {
			root[sw] = above[root[sw]];
			if (steps > f->nswitches)
				rc = refuse_tree(r, tree, sw, "goes round above", e);
		}
		/* Those on the way are spared it. */
		for (uint32_t at = sw, next; !rc && above[at] != FABRIC_NONE; at = next) {
			next = above[at];
			above[at] = root[sw];
		}
		if (engine_is_fixed(r->in, sw))
			root[sw] = FABRIC_NONE;
	}
	mem_free(above);
	return rc;
}

static int
take_trees(struct result *r, struct error *e)
{
	uint32_t n = r->in->fabric->nswitches, ntrees = r->made.ntrees;
	struct plan_trees *t;
	int rc = 0;

	if (!ntrees)
		return 0;
	if (ntrees > LAYOUT_TREES)
		return error_set(e, ERR_FORMAT, "gives %u multicast trees: at most %u can be",
				 ntrees, LAYOUT_TREES);
	r->out->trees = t = plan_trees_new(ntrees, n);
	memory_read(r->from, t->parent, (size_t)ntrees * n * sizeof(*t->parent), r->where.tree);
	for (uint32_t i = 0; i < ntrees && !rc; i++)
		rc = take_tree(r, i, t->parent + (size_t)i * n, t->root + (size_t)i * n, e);
	return rc;
}

int
result_take(const struct engine_input *in, const struct memory *output, struct engine_output *out,
	    struct error *e)
{
	struct result r = { .in = in, .from = output, .out = out };
	const struct fabric *f = in->fabric;
	int rc;

	memory_read(output, &r.made, sizeof(r.made), 0);
	layout_result(&r.where, f->nswitches, f->nedges, plan_row_len(in->lids->top),
		      input_ports(f));
	rc = take_ranks(&r, e);
	if (!rc)
		rc = take_lanes(&r, e);
	if (!rc)
		rc = take_sets(&r, e);
	if (!rc)
		rc = take_trees(&r, e);
	if (rc)
		return rc;
	text_take(out->note, LAYOUT_TEXT, r.made.note, sizeof(r.made.note));
	find_idle(&r);
	parallel_run(in->options->threads, f->nswitches, 64, take_rows, &r);
	mem_free(r.idle);
	return 0;
}
