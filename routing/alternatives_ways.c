/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/alternatives.h"

#include <string.h>
#include "routing/columns.h"
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * How many links the rows take from each switch to each home is found first; then every switch
 * looks at its neighbours' numbers, those of one neighbour to all homes at once. A way that comes
 * one link nearer at each step never goes round; whether packets may wait for each other on such
 * ways is for the proof to say.
 */
enum {
	UNSET = 0,	/* no way yet */
	MIXED = 255,	/* ways of several lengths, or none, or too long a one */
};
enum {
	STRIP = 8,	/* homes that are looked at side by side: bytes of a word */
	PLANES = 32,	/* bytes with a bit for each cable of a switch */
};

struct ways {
	const struct plan *plan;
	const struct fabric *f;
	const bool *wanted;		/* by switch */
	struct plan_ar_switch **out;
	uint32_t n;			/* switches */
	uint32_t width;			/* of a row of links[]: whole strips */
	bool *home;			/* by switch: it has hosts */
	uint32_t *edge_at;		/* by port index: the edge that leaves there, FABRIC_NONE */
	uint8_t *links;			/* by switch, then home: links to it plus one */
	struct columns_order order;	/* all LIDs */
	struct columns *columns;	/* by thread */
	uint32_t *stack;		/* by thread, then switch */
	uint8_t *far;			/* likewise: links to the present LID plus one */
};

static uint32_t
edge_of(const struct ways *w, uint32_t sw, uint8_t port)
{
	const struct fabric_node *n = fabric_switch_node(w->f, sw);

	return port <= n->nports ? w->edge_at[n->first_port + port] : FABRIC_NONE;
}

/* ---- Lengths ---- */

/* All LIDs of a home must agree; which comes first does not matter. */
static void
agree(uint8_t *at, uint8_t links)
{
	uint8_t had = UNSET;

	if (__atomic_compare_exchange_n(at, &had, links, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED) || had == links)
		return;
	__atomic_store_n(at, MIXED, __ATOMIC_RELAXED);
}

/* From all switches by the column of one LID. */
static void
measure(const struct ways *w, const uint8_t *column, uint32_t home, uint8_t *far, uint32_t *stack)
{
	memset(far, UNSET, w->n);
	far[home] = 1;
	for (uint32_t sw = 0; sw < w->n; sw++) {
		uint32_t at = sw, len = 0;

		while (!far[at]) {
			uint32_t e = w->plan->rows[at] ? edge_of(w, at, column[at]) : FABRIC_NONE;

			far[at] = MIXED;	/* until it is known */
			stack[len++] = at;
			if (e == FABRIC_NONE)
				break;
			at = w->f->edges[e].to;
		}
		while (len-- > 0) {
			uint8_t next = far[at] < MIXED - 1 ? (uint8_t)(far[at] + 1) : MIXED;

			far[stack[len]] = next;
			at = stack[len];
		}
	}
	for (uint32_t sw = 0; sw < w->n; sw++)
		agree(&w->links[(size_t)sw * w->width + home], far[sw]);
}

static void
measure_blocks(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct ways *w = arg;
	const struct plan_lids *lids = w->plan->lids;
	struct columns *b = &w->columns[thread];

	for (size_t k = first; k < end; k++) {
		columns_read(b, &w->order, (uint32_t)k, lids, w->n, w->plan->rows, NULL);
		for (uint32_t i = 0; i < b->len; i++) {
			uint32_t home = lids->dest[b->lid[i]].sw;

			if (w->home[home] && b->like[i] == i)
				measure(w, columns_of(b, 0, i), home,
					w->far + (size_t)thread * w->n,
					w->stack + (size_t)thread * w->n);
		}
	}
}

/* ---- Sets ---- */

static bool
same_lanes(const struct ways *w, uint32_t sw, uint8_t a, uint8_t b)
{
	const struct plan_lanes *l = w->plan->lanes;
	unsigned nports = fabric_switch_node(w->f, sw)->nports;

	if (l && l->map) {
		for (unsigned in = 0; in <= nports; in++)
			if (l->map(l, sw, (uint8_t)in, a) != l->map(l, sw, (uint8_t)in, b))
				return false;
		return true;
	}
	for (unsigned in = 0; l && l->lane && in <= nports; in++)
		for (uint8_t class = 0; class < l->classes; class++)
			if (l->lane(l, sw, (uint8_t)in, a, class) !=
			    l->lane(l, sw, (uint8_t)in, b, class))
				return false;
	return true;
}

/* By edge of a switch: the first that is like it. */
static void
sort_edges(const struct ways *w, uint32_t sw, uint32_t like[256])
{
	uint32_t first = w->f->edge_first[sw], end = w->f->edge_first[sw + 1];

	for (uint32_t e = first; e < end; e++) {
		const struct fabric_edge *a = &w->f->edges[e];

		like[e - first] = e;
		for (uint32_t i = first; i < e; i++) {
			const struct fabric_edge *b = &w->f->edges[i];

			if (like[i - first] != i || a->rate_mbps != b->rate_mbps ||
			    !same_lanes(w, sw, a->out, b->out))
				continue;
			like[e - first] = i;
			break;
		}
	}
}

/* The port of the row to a home's LIDs: of one of them, for all are of one length. */
static uint32_t
row_edge(const struct ways *w, uint32_t sw, uint16_t lid)
{
	uint8_t port = plan_row_port(w->plan->rows[sw], lid);

	return port == LFT_NO_PORT ? FABRIC_NONE : edge_of(w, sw, port);
}

/* From a switch without hosts down to one with some, to go up again there: only the switch's own
 * packets do that, in a dragonfly+, and over which leaf is not theirs to choose. */
static bool
turns_up(const struct ways *w, uint32_t sw, uint32_t to, uint32_t home)
{
	return !w->home[sw] && w->home[to] && to != home;
}

/* The cables of one switch. */
struct view {
	uint32_t sw;			/* whose */
	uint32_t first, len;		/* its edges: bit n is for the n-th */
	uint32_t like[256];		/* by bit: the first edge that it is like */
	uint8_t open[PLANES];		/* cables that could be an alternative */
	uint8_t *nearer[PLANES];	/* by home: by which cables it is one link nearer */
	uint8_t *room;			/* of these */
};

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Homes that are one link nearer from there: bytes of theirs plus one that are equal to mine. */
static void
note_nearer(uint8_t *nearer, const uint8_t *mine, const uint8_t *there, unsigned bit,
	    uint32_t width)
{
	for (uint32_t at = 0; at < width; at += STRIP) {
		uint64_t a, b, had;

		memcpy(&a, mine + at, STRIP);
		memcpy(&b, there + at, STRIP);
		memcpy(&had, nearer + at, STRIP);
		a ^= ((b & EACH(0x7f)) + EACH(1)) ^ (b & EACH(0x80));
		/* The highest bit of each byte: it is zero. */
		a = ~(((a & EACH(0x7f)) + EACH(0x7f)) | a | EACH(0x7f));
		had |= a >> 7 << bit;
		memcpy(nearer + at, &had, STRIP);
	}
}

static void
look_around(const struct ways *w, struct view *v, uint32_t sw)
{
	unsigned planes;

	v->sw = sw;
	v->first = w->f->edge_first[sw];
	v->len = w->f->edge_first[sw + 1] - v->first;
	planes = (v->len + 7) / 8;
	sort_edges(w, sw, v->like);
	memset(v->open, 0, sizeof(v->open));
	memset(v->room, 0, (size_t)planes * w->width);
	for (unsigned k = 0; k < planes; k++)
		v->nearer[k] = v->room + (size_t)k * w->width;
	for (uint32_t k = 0; k < v->len; k++) {
		const struct fabric_edge *e = &w->f->edges[v->first + k];

		if (e->to == sw || !alternatives_open(w->plan, e))
			continue;
		v->open[k / 8] |= (uint8_t)(1u << k % 8);
		note_nearer(v->nearer[k / 8], w->links + (size_t)sw * w->width,
			    w->links + (size_t)e->to * w->width, k % 8, w->width);
	}
}

/* More than one cable. */
static bool
any_choice(const struct view *v, uint32_t home)
{
	unsigned any = 0, more = 0;

	for (unsigned k = 0; k * 8 < v->len; k++) {
		unsigned bits = v->nearer[k][home] & v->open[k];

		more |= (any && bits) || (bits & (bits - 1));
		any |= bits;
	}
	return more;
}

static void
set_of_home(const struct ways *w, const struct view *v, uint32_t home, uint16_t lid)
{
	uint8_t mine = w->links[(size_t)v->sw * w->width + home];
	struct ar_ports ports = { { 0 } };
	uint32_t row;

	if (mine == UNSET || mine == MIXED || v->sw == home || !any_choice(v, home))
		return;
	row = row_edge(w, v->sw, lid);
	if (row == FABRIC_NONE)
		return;
	for (uint32_t k = 0; k < v->len; k++) {
		const struct fabric_edge *e = &w->f->edges[v->first + k];

		if (v->nearer[k / 8][home] & v->open[k / 8] & 1u << k % 8 &&
		    v->like[k] == v->like[row - v->first] && !turns_up(w, v->sw, e->to, home))
			ar_ports_add(&ports, e->out);
	}
	if (ar_ports_count(&ports) > 1)
		w->out[v->sw]->table[0].group[home] =
			alternatives_set(w->out[v->sw], &ports);
}

static void
make_sets(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct ways *w = arg;
	const struct plan_lids *lids = w->plan->lids;
	struct view v = { .room = mem_array(PLANES, w->width) };

	(void)thread;
	for (size_t sw = first; sw < end; sw++) {
		uint32_t home = FABRIC_NONE;

		if (!w->wanted[sw] || !w->plan->rows[sw])
			continue;
		w->out[sw] = plan_ar_switch_new(w->n, 0, 1, 1);
		look_around(w, &v, (uint32_t)sw);
		for (uint32_t i = 0; i < w->order.first[w->order.nblocks]; i++) {
			uint16_t lid = w->order.lid[i];
			uint32_t to = lids->dest[lid].sw;

			if (to != home && w->home[to])
				set_of_home(w, &v, to, lid);
			home = to;
		}
	}
	mem_free(v.room);
}

static void
ways_init(struct ways *w, unsigned threads)
{
	const struct plan_lids *lids = w->plan->lids;

	w->home = mem_array(w->n + 1u, sizeof(*w->home));
	w->edge_at = mem_array(w->f->nports + 1u, sizeof(*w->edge_at));
	memset(w->edge_at, 0xff, (w->f->nports + 1u) * sizeof(*w->edge_at));
	for (uint32_t lid = 1; lid <= lids->top; lid++)
		if (lids->dest[lid].sw != FABRIC_NONE && lids->dest[lid].out)
			w->home[lids->dest[lid].sw] = true;
	for (uint32_t sw = 0; sw < w->n; sw++)
		for (uint32_t e = w->f->edge_first[sw]; e < w->f->edge_first[sw + 1]; e++)
			w->edge_at[fabric_switch_node(w->f, sw)->first_port +
				   w->f->edges[e].out] = e;
	w->width = (w->n + STRIP - 1) / STRIP * STRIP;
	w->links = mem_array((size_t)w->n * w->width + 1, 1);
	columns_order_init(&w->order, lids, w->n, NULL);
	w->columns = mem_array(threads, sizeof(*w->columns));
	w->far = mem_array((size_t)threads * w->n + 1, 1);
	w->stack = mem_array((size_t)threads * w->n + 1, sizeof(*w->stack));
	for (unsigned i = 0; i < threads; i++)
		columns_init(&w->columns[i], w->n, 1);
}

void
alternatives_ways(const struct plan *plan, const bool *wanted, unsigned threads,
		  struct plan_ar_switch **out)
{
	struct ways w = { .plan = plan, .f = plan->fabric, .wanted = wanted, .out = out,
			  .n = plan->fabric->nswitches };

	threads = parallel_threads(threads);
	ways_init(&w, threads);
	parallel_run(threads, w.order.nblocks, 1, measure_blocks, &w);
	parallel_run(threads, w.n, 16, make_sets, &w);
	for (unsigned i = 0; i < threads; i++)
		columns_free(&w.columns[i]);
	columns_order_free(&w.order);
	mem_free(w.columns);
	mem_free(w.far);
	mem_free(w.stack);
	mem_free(w.links);
	mem_free(w.edge_at);
	mem_free(w.home);
}
