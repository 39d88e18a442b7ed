/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/alternatives.h"

#include <string.h>
#include "routing/columns.h"
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * How many links the rows take from each switch to each home is found first; then every switch
 * looks at its neighbours' numbers. A way that comes one link nearer at each step never goes round;
 * whether packets may wait for each other on such ways is for the proof to say.
 */
enum {
	UNSET = 0,	/* no way yet */
	MIXED = 255,	/* ways of several lengths, or none, or too long a one */
};

struct ways {
	const struct plan *plan;
	const struct fabric *f;
	const bool *wanted;		/* by switch */
	struct plan_ar_switch **out;
	uint32_t n;			/* switches */
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
		agree(&w->links[(size_t)sw * w->n + home], far[sw]);
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

static void
set_of_home(const struct ways *w, uint32_t sw, uint32_t home, uint16_t lid, const uint32_t *like)
{
	uint8_t mine = w->links[(size_t)sw * w->n + home];
	uint32_t first = w->f->edge_first[sw], row;
	struct ar_ports ports = { { 0 } };

	if (mine == UNSET || mine == MIXED || sw == home)
		return;
	row = row_edge(w, sw, lid);
	for (uint32_t e = first; row != FABRIC_NONE && e < w->f->edge_first[sw + 1]; e++) {
		const struct fabric_edge *edge = &w->f->edges[e];

		if (like[e - first] == like[row - first] && edge->to != sw &&
		    alternatives_open(w->plan, edge) && !turns_up(w, sw, edge->to, home) &&
		    w->links[(size_t)edge->to * w->n + home] == mine - 1)
			ar_ports_add(&ports, edge->out);
	}
	if (ar_ports_count(&ports) > 1)
		w->out[sw]->table[0].group[home] = alternatives_set(w->out[sw], &ports);
}

static void
make_sets(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct ways *w = arg;
	const struct plan_lids *lids = w->plan->lids;
	uint32_t like[256];

	(void)thread;
	for (size_t sw = first; sw < end; sw++) {
		uint32_t home = FABRIC_NONE;

		if (!w->wanted[sw] || !w->plan->rows[sw])
			continue;
		w->out[sw] = plan_ar_switch_new(w->n, 0, 1, 1);
		sort_edges(w, (uint32_t)sw, like);
		for (uint32_t i = 0; i < w->order.first[w->order.nblocks]; i++) {
			uint16_t lid = w->order.lid[i];
			uint32_t to = lids->dest[lid].sw;

			if (to != home && w->home[to])
				set_of_home(w, (uint32_t)sw, to, lid, like);
			home = to;
		}
	}
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
	w->links = mem_array((size_t)w->n * w->n + 1, 1);
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
