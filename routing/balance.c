/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/balance.h"
#include <stdlib.h>
#include <string.h>
#include "routing/levels.h"
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * The balancer. LIDs are placed one after the other, host LIDs in order of (home switch, port) and
 * then the switches' own, the two counted apart. For one LID all switches choose, nearest to the
 * destination first, among the edges that the engine's tree offers:
 *
 *  1. the edge with the least load after the choice. The load counts destinations whose packets
 *     really cross the edge, weighted by the data rate: a link at a quarter of the speed is as
 *     full with a quarter of them;
 *  2. of these the one where the edge and the onward way carry the fewest flows (host to host) in
 *     sum, weighted likewise;
 *  3. of these the one with the least label along that way, nearest to the destination first, so
 *     that all switches agree on the same way in. On an intact fat tree this makes each host's
 *     packets meet in one top switch, and neighbouring hosts in different ones, which is what
 *     D-mod-K does in closed form (Zahavi, JPDC 2012).
 *
 * Then all is counted, from the far end inwards. A switch where no host's packets to the LID come
 * by needs an entry all the same (its own port sends); that one goes where the fewest entries of
 * any kind are, and disturbs no count but that.
 *
 * A port that the previous plan used for the LID is kept where it is still offered and carries at
 * most one destination more than the least loaded one would. The further LIDs of a port (LMC) avoid
 * the next switches and links of its earlier ones before they look at load.
 *
 * Trees are built in parallel, the choice is made in one thread in a fixed order: the tables do
 * not depend on the number of threads.
 */
#define LOAD_UNIT 32u		/* load of one destination on the fastest link */
#define KEY_LABEL_BITS LEVELS_LABEL_BITS
#define KEY_LOAD_SHIFT (3 * KEY_LABEL_BITS)	/* place of the flows in a key, above three labels */
#define KEY_LOAD_MAX ((uint64_t)1 << 27)
#define FLOW_MAX ((1u << 26) - 1)		/* flows saturate: sums must fit into a key */
#define COLUMNS 64		/* LIDs between two visits to the rows */
#define BATCH 16		/* trees built at a time */

/* One kind of LIDs: loads are counted for each by itself. */
struct tally {
	uint32_t *after;	/* by edge: its load if one more destination took it */
	uint32_t *flow;		/* by edge: flows that cross it, times fastest rate / rate */
	uint32_t *entries;	/* by edge: as load, of all entries, used or not */
};

/* Whose turn it is among the edges of a switch that no host's packets use. */
struct turn {
	uint32_t tree;		/* serial number of the tree that the rest is about */
	uint32_t next;		/* place in its list of edges */
	uint32_t least;		/* fewest entries of an edge, after the choice, when last looked */
};

struct balance {
	const struct engine_input *in;	/* what is routed */
	const struct fabric *f;		/* in->fabric */
	struct plan_row **rows;		/* by switch; NULL: silent, not ours to fill */
	const struct balance_trees *trees;	/* the engine's */
	uint32_t *to;			/* by edge: switch it leads to */
	uint32_t *step;			/* by edge: load that one destination adds */
	uint32_t *edge_at;		/* by port index: the edge that leaves there, FABRIC_NONE */
	uint16_t *label;		/* by switch */
	uint32_t *sources;		/* by switch: hosts' ports on it */
	uint32_t *prev_sw;		/* by switch: its index in the previous plan; NULL: no plan */
	uint64_t *key;			/* by switch: worth of its way to the present destination */
	struct turn *turn;		/* by switch */
	uint32_t *choice;		/* by switch: edge chosen for the present destination */
	uint32_t *inflow;		/* by switch: sources whose packets to it come by here */
	uint32_t *ones;			/* by switch: 1, its management port */
	uint8_t *out;			/* by edge: its out port */
	uint8_t *columns;		/* entries of the latest LIDs: COLUMNS by nswitches */
	uint16_t column_lid[COLUMNS];	/* which LIDs */
	unsigned ncolumns;		/* how many */
	uint8_t *exits;			/* by switch: exits of the present LID */
	uint8_t *tree_exits;		/* those that exit_tree was built for */
	struct balance_tree exit_tree;	/* tree for one LID, where silent switches differ by LID */
	uint32_t exit_home;		/* home switch of exit_tree, FABRIC_NONE */
	bool exit_hosts;		/* exit_tree is one for hosts' LIDs */
	struct tally hosts;		/* for LIDs of channel adapters */
	struct tally switches;		/* for LIDs of switches */
	bool any_fixed;			/* there are silent switches */
};

struct item {
	uint32_t home;		/* switch index */
	uint16_t lid;
	uint8_t out;		/* port at the home switch, 0: the switch itself */
	uint8_t offset;		/* within the LIDs of one port */
	uint32_t serial;	/* place in the list, from 1 */
};

static void
tree_init(struct balance_tree *t, const struct fabric *f)
{
	t->order = mem_array(f->nswitches, sizeof(*t->order));
	t->dist = mem_array(f->nswitches, sizeof(*t->dist));
	t->first = mem_array(f->nswitches + 1u, sizeof(*t->first));
	t->edge = mem_array(f->nedges, sizeof(*t->edge));
	t->mark = mem_array(f->nswitches, sizeof(*t->mark));
}

static void
tree_free(struct balance_tree *t)
{
	mem_free(t->order);
	mem_free(t->dist);
	mem_free(t->first);
	mem_free(t->edge);
	mem_free(t->mark);
}

static void
tally_init(struct tally *t, const struct balance *b)
{
	t->after = mem_array(b->f->nedges, sizeof(*t->after));
	memcpy(t->after, b->step, b->f->nedges * sizeof(*t->after));
	t->flow = mem_array(b->f->nedges, sizeof(*t->flow));
	t->entries = mem_array(b->f->nedges, sizeof(*t->entries));
}

static void
tally_free(struct tally *t)
{
	mem_free(t->after);
	mem_free(t->flow);
	mem_free(t->entries);
}

static void
measure_edges(struct balance *b)
{
	const struct fabric *f = b->f;
	uint32_t fastest = 1;

	for (uint32_t e = 0; e < f->nedges; e++)
		if (f->edges[e].rate_mbps > fastest)
			fastest = f->edges[e].rate_mbps;
	memset(b->edge_at, 0xff, f->nports * sizeof(*b->edge_at));
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++) {
			uint32_t rate = f->edges[e].rate_mbps ? f->edges[e].rate_mbps : fastest;

			b->to[e] = f->edges[e].to;
			b->out[e] = f->edges[e].out;
			b->step[e] = (uint32_t)(((uint64_t)fastest * LOAD_UNIT + rate / 2) / rate);
			b->edge_at[fabric_switch_node(f, sw)->first_port + f->edges[e].out] = e;
		}
}

static void
match_previous(struct balance *b)
{
	const struct plan *prev = b->in->previous;

	if (!prev || !prev->lids)
		return;
	b->prev_sw = mem_array(b->f->nswitches, sizeof(*b->prev_sw));
	for (uint32_t sw = 0; sw < b->f->nswitches; sw++) {
		uint32_t n = fabric_node_by_guid(prev->fabric, fabric_switch_node(b->f, sw)->guid);

		b->prev_sw[sw] = n == FABRIC_NONE ? FABRIC_NONE : prev->fabric->nodes[n].sw;
	}
}

static void
balance_init(struct balance *b)
{
	const struct fabric *f = b->f;

	b->to = mem_array(f->nedges, sizeof(*b->to));
	b->step = mem_array(f->nedges, sizeof(*b->step));
	b->edge_at = mem_array(f->nports, sizeof(*b->edge_at));
	b->label = mem_array(f->nswitches, sizeof(*b->label));
	b->sources = levels_hosts(f);
	b->key = mem_array(f->nswitches, sizeof(*b->key));
	b->ones = mem_array(f->nswitches, sizeof(*b->ones));
	b->columns = mem_array(f->nswitches, COLUMNS);
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		b->ones[sw] = 1;
	b->turn = mem_array(f->nswitches, sizeof(*b->turn));
	b->choice = mem_array(f->nswitches, sizeof(*b->choice));
	b->inflow = mem_array(f->nswitches, sizeof(*b->inflow));
	b->out = mem_array(f->nedges, 1);
	b->exits = mem_array(f->nswitches, 1);
	b->tree_exits = mem_array(f->nswitches, 1);
	b->exit_home = FABRIC_NONE;
	measure_edges(b);
	levels_label(f, b->label);
	match_previous(b);
	tally_init(&b->hosts, b);
	tally_init(&b->switches, b);
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		b->any_fixed |= engine_is_fixed(b->in, sw);
	if (b->any_fixed)
		tree_init(&b->exit_tree, f);
}

static void
balance_done(struct balance *b)
{
	mem_free(b->to);
	mem_free(b->step);
	mem_free(b->edge_at);
	mem_free(b->label);
	mem_free(b->sources);
	mem_free(b->prev_sw);
	mem_free(b->key);
	mem_free(b->choice);
	mem_free(b->turn);
	mem_free(b->ones);
	mem_free(b->columns);
	mem_free(b->inflow);
	mem_free(b->out);
	mem_free(b->exits);
	mem_free(b->tree_exits);
	tally_free(&b->hosts);
	tally_free(&b->switches);
	if (b->any_fixed)
		tree_free(&b->exit_tree);
}

/* The edge that the previous plan used at `sw` for a LID of the same owner; FABRIC_NONE. */
static uint32_t
previous_edge(const struct balance *b, uint32_t sw, const struct plan_row *row, uint16_t lid)
{
	const struct fabric_node *n = fabric_switch_node(b->f, sw);
	uint8_t out = plan_row_port(row, lid);

	return out <= n->nports ? b->edge_at[n->first_port + out] : FABRIC_NONE;
}

/* Did the LID belong to the same port before? */
static bool
same_owner(const struct balance *b, uint16_t lid)
{
	const struct plan *prev = b->in->previous;
	uint32_t now = b->in->lids->dest[lid].port;

	if (!b->prev_sw || lid > prev->lids->top || prev->lids->dest[lid].port == FABRIC_NONE)
		return false;
	return prev->fabric->ports[prev->lids->dest[lid].port].guid == b->f->ports[now].guid;
}

/* How much of an edge the earlier LIDs of the same port use already. */
static unsigned
overlap(const struct balance *b, uint32_t sw, uint32_t e, const struct item *it)
{
	unsigned n = 0;

	for (uint8_t k = 1; k <= it->offset; k++) {
		uint32_t other = previous_edge(b, sw, b->rows[sw], (uint16_t)(it->lid - k));

		if (other != FABRIC_NONE)
			n += (b->to[other] == b->to[e]) + (other == e);
	}
	return n;
}

/* What speaks against an edge when loads are equal: flows there and onwards, then labels. */
static inline uint64_t
edge_key(const struct tally *y, const uint64_t *key, uint32_t e, uint32_t to)
{
	return key[to] + ((uint64_t)y->flow[e] << KEY_LOAD_SHIFT);
}

/* *worth: what choose_all() keeps of the choice. */
static inline uint32_t
choose(const struct balance *b, const struct tally *y, const uint32_t *edge, const uint32_t *end,
       uint64_t *worth)
{
	const uint32_t *after = y->after, *to = b->to;
	const uint64_t *key = b->key;
	uint32_t best = *edge++, best_after = after[best];
	uint64_t best_key = edge_key(y, key, best, to[best]);

	for (; edge < end; edge++) {
		uint32_t e = *edge;
		uint64_t k;

		if (after[e] > best_after)
			continue;
		k = edge_key(y, key, e, to[e]);
		if (after[e] < best_after || k < best_key ||
		    (k == best_key && y->entries[e] < y->entries[best])) {
			best = e;
			best_after = after[e];
			best_key = k;
		}
	}
	*worth = best_key;
	return best;
}

/* The same for the further LIDs of a port: first what its earlier LIDs leave free. */
static uint32_t
choose_apart(const struct balance *b, const struct tally *y, const uint32_t *edge,
	     const uint32_t *end, uint32_t sw, const struct item *it)
{
	uint32_t best = FABRIC_NONE;
	unsigned best_overlap = UINT32_MAX;
	uint64_t worth;

	for (; edge < end; edge++) {
		uint32_t e = *edge, pair[2] = { best, e };
		unsigned n = overlap(b, sw, e, it);

		if (n < best_overlap)
			best = e;
		else if (n == best_overlap)
			best = choose(b, y, pair, pair + 2, &worth);
		else
			continue;
		best_overlap = n;
	}
	return best;
}

/* One LID while it is placed. */
struct placing {
	const struct item *it;			/* the LID */
	const struct balance_tree *t;		/* ways to it */
	struct tally *y;			/* where it counts */
	struct plan_row *const *previous;	/* rows that it had; NULL: it is new */
};

/*
 * For a switch that only its own port sends by: an edge with the fewest entries. As long as the
 * tree is the same, the least number can only rise, and the edge behind the last one chosen is the
 * most likely to have it, so that the search mostly ends at once.
 */
static uint32_t
choose_unused(struct balance *b, const struct placing *p, uint32_t sw, const uint32_t *edge,
	      uint32_t len)
{
	const uint32_t *entries = p->y->entries, *step = b->step;
	struct turn *turn = &b->turn[sw];
	uint32_t best = 0, best_entries = UINT32_MAX;

	if (turn->tree != p->t->serial)
		*turn = (struct turn){ .tree = p->t->serial };
	for (uint32_t i = 0, at = turn->next < len ? turn->next : 0; i < len; i++) {
		uint32_t n = entries[edge[at]] + step[edge[at]];

		if (n < best_entries) {
			best = at;
			best_entries = n;
			if (n <= turn->least)
				break;
		}
		if (++at == len)
			at = 0;
	}
	turn->least = best_entries;
	turn->next = best + 1;
	return edge[best];
}

/* Keep the previous edge if it is offered and its load at most one destination more. */
static uint32_t
keep(const struct balance *b, const uint32_t *load, const uint32_t *edge, const uint32_t *end,
     uint32_t best, uint32_t old)
{
	if (old == best || old == FABRIC_NONE || load[old] > load[best] + b->step[old])
		return best;
	for (; edge < end; edge++)
		if (*edge == old)
			return old;
	return best;
}

/* The key of a switch from the worth of its choice. */
static inline uint64_t
way_key(uint64_t worth, uint64_t label, unsigned dist)
{
	if (worth >> KEY_LOAD_SHIFT > KEY_LOAD_MAX)
		worth = KEY_LOAD_MAX << KEY_LOAD_SHIFT |
			(worth & (((uint64_t)1 << KEY_LOAD_SHIFT) - 1));
	if (dist <= 3)
		worth |= label << (KEY_LABEL_BITS * (3 - dist));
	return worth;
}

static uint32_t
old_edge(const struct balance *b, const struct placing *p, uint32_t sw)
{
	if (!p->previous || b->prev_sw[sw] == FABRIC_NONE)
		return FABRIC_NONE;
	return previous_edge(b, sw, p->previous[b->prev_sw[sw]], p->it->lid);
}

/* Where the plain choice is not the last word. */
static uint32_t
choose_otherwise(const struct balance *b, const struct placing *p, uint32_t sw, const uint32_t *edge,
		 const uint32_t *end, uint32_t e)
{
	if (p->it->offset)
		e = choose_apart(b, p->y, edge, end, sw, p->it);
	if (p->previous)
		e = keep(b, p->y->after, edge, end, e, old_edge(b, p, sw));
	return e;
}

static void
choose_all(struct balance *b, const struct placing *p)
{
	const struct balance_tree *t = p->t;
	const uint32_t *order = t->order, *first = t->first, *list = t->edge;
	const uint16_t *dist = t->dist, *label = b->label;
	bool plain = !p->it->offset && !p->previous;
	uint32_t *choice = b->choice;
	uint64_t *key = b->key;

	key[p->it->home] = 0;
	for (uint32_t i = 1, n = t->n; i < n; i++) {
		const uint32_t *edge = &list[first[i]], *end = &list[first[i + 1]];
		uint32_t sw = order[i], e;
		uint64_t worth;

		e = choose(b, p->y, edge, end, &worth);
		if (!plain) {
			e = choose_otherwise(b, p, sw, edge, end, e);
			worth = edge_key(p->y, key, e, b->to[e]);
		}
		choice[sw] = e;
		key[sw] = way_key(worth, label[sw], dist[sw]);
	}
}

/* An entry that no host's packets use. */
static uint32_t
place_unused(struct balance *b, const struct placing *p, uint32_t i)
{
	const uint32_t *edge = &p->t->edge[p->t->first[i]], *end = &p->t->edge[p->t->first[i + 1]];
	uint32_t sw = p->t->order[i], e = b->choice[sw];

	if (end - edge > 1 && !p->it->offset) {
		e = choose_unused(b, p, sw, edge, (uint32_t)(end - edge));
		if (p->previous)
			e = keep(b, p->y->entries, edge, end, e, old_edge(b, p, sw));
	}
	return e;
}

static inline void
add_flows(struct tally *y, uint32_t e, uint32_t inflow, uint32_t step)
{
	uint64_t flow = y->flow[e] + (uint64_t)inflow * step / LOAD_UNIT;

	y->flow[e] = flow < FLOW_MAX ? (uint32_t)flow : FLOW_MAX;
	y->after[e] += step;
}

/* Rows are far apart in memory: entries are gathered LID by LID and go to them many at a time. */
static void
flush_columns(struct balance *b)
{
	uint32_t n = b->f->nswitches;

	for (uint32_t sw = 0; sw < n; sw++) {
		uint8_t *port = b->rows[sw] ? b->rows[sw]->port : NULL;

		for (unsigned i = 0; port && i < b->ncolumns; i++)
			port[b->column_lid[i]] = b->columns[(size_t)i * n + sw];
	}
	b->ncolumns = 0;
}

static uint8_t *
next_column(struct balance *b, uint16_t lid)
{
	uint8_t *column;

	if (b->ncolumns == COLUMNS)
		flush_columns(b);
	column = &b->columns[(size_t)b->ncolumns * b->f->nswitches];
	b->column_lid[b->ncolumns++] = lid;
	memset(column, LFT_NO_PORT, b->f->nswitches);
	return column;
}

/* Count the entries and write them. Any switch's packets to a switch count, of those to a host only
 * other hosts' do. */
static void
count_all(struct balance *b, const struct placing *p)
{
	const uint32_t *order = p->t->order, *choice = b->choice, *to = b->to, *step = b->step;
	const uint32_t *sources = p->it->out ? b->sources : b->ones;
	uint32_t *inflow = b->inflow, *entries = p->y->entries;
	const uint8_t *out = b->out;
	uint8_t *column = next_column(b, p->it->lid);

	for (uint32_t i = p->t->n; i-- > 1;) {
		uint32_t sw = order[i], in = inflow[sw] + sources[sw], e = choice[sw];

		inflow[sw] = 0;
		if (in) {
			add_flows(p->y, e, in, step[e]);
			inflow[to[e]] += in;
		} else {
			e = place_unused(b, p, i);
		}
		entries[e] += step[e];
		column[sw] = out[e];
	}
	inflow[p->it->home] = 0;
	column[p->it->home] = p->it->out;
}

static void
place(struct balance *b, const struct balance_tree *t, const struct item *it)
{
	struct placing p = {
		.it = it, .t = t, .y = it->out ? &b->hosts : &b->switches,
		.previous = same_owner(b, it->lid) ? b->in->previous->rows : NULL,
	};

	if (it->offset)
		flush_columns(b);		/* overlap() reads rows */
	choose_all(b, &p);
	count_all(b, &p);
}

static void
build_tree(const struct balance *b, const struct item *it, const uint8_t *exits,
	   struct balance_tree *t)
{
	t->serial = it->serial;
	if (it->out)
		b->trees->hosts(b->trees->hosts_arg, it->home, exits, t);
	else
		b->trees->switches(b->trees->switches_arg, it->home, exits, t);
}

/* Where a silent switch sends a LID. */
static uint8_t
fixed_port(const struct balance *b, uint32_t sw, uint16_t lid)
{
	return plan_row_port(b->in->fixed ? b->in->fixed[sw] : NULL, lid);
}

/* Nobody gets to a LID whose home switch is silent and does not deliver it. */
static bool
is_lost(const struct balance *b, const struct item *it)
{
	return engine_is_fixed(b->in, it->home) && fixed_port(b, it->home, it->lid) != it->out;
}

/* With silent switches the tree may differ from LID to LID; often it is that of the LID before. */
static const struct balance_tree *
tree_of_lid(struct balance *b, const struct item *it)
{
	uint32_t n = b->f->nswitches;

	for (uint32_t sw = 0; sw < n; sw++) {
		uint8_t out = fixed_port(b, sw, it->lid);

		b->exits[sw] = !engine_is_fixed(b->in, sw) ? BALANCE_FREE : out ? out : LFT_NO_PORT;
	}
	if (b->exit_home == it->home && b->exit_hosts == (it->out != 0) &&
	    memcmp(b->exits, b->tree_exits, n) == 0)
		return &b->exit_tree;
	memcpy(b->tree_exits, b->exits, n);
	b->exit_home = it->home;
	b->exit_hosts = it->out != 0;
	build_tree(b, it, b->tree_exits, &b->exit_tree);
	return &b->exit_tree;
}

/* LIDs whose trees are built at one time. */
struct batch {
	struct balance_tree trees[BATCH];	/* for the LIDs below */
	const struct item *items[BATCH];	/* the first LID of each tree */
	uint32_t len;				/* trees in use */
	uint32_t first;				/* items of the batch */
	uint32_t end;				/* behind the last of them */
};

/* One step of the pipeline: the LIDs of one batch are placed while the next one's trees grow. */
struct step {
	struct balance *b;		/* whose */
	const struct item *items;	/* all of them */
	struct batch *ready;		/* its trees are built */
	struct batch *next;		/* its trees are to be built */
};

static bool
same_tree(const struct item *a, const struct item *b)
{
	return a->home == b->home && !a->out == !b->out;
}

static void
place_batch(struct balance *b, const struct item *items, const struct batch *batch)
{
	uint32_t t = 0;

	for (uint32_t i = batch->first; i < batch->end; i++) {
		t += !same_tree(batch->items[t], &items[i]);
		place(b, &batch->trees[t], &items[i]);
	}
}

/* Job 0 places the one batch, each further job builds a tree of the other. */
static void
run_step(void *arg, unsigned thread, size_t first, size_t end)
{
	struct step *step = arg;

	(void)thread;
	for (size_t i = first; i < end; i++) {
		if (i == 0)
			place_batch(step->b, step->items, step->ready);
		else
			build_tree(step->b, step->next->items[i - 1], NULL, &step->next->trees[i - 1]);
	}
}

static int
item_cmp(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (!x->out != !y->out)
		return x->out ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	if (x->home != y->home)
		return x->home < y->home ? -1 : 1;
	if (x->out != y->out)
		return x->out < y->out ? -1 : 1;
	return x->lid < y->lid ? -1 : 1;
}

/* All LIDs that hang on a switch, in the order in which they are placed. */
static struct item *
list_items(const struct plan_lids *lids, uint32_t *len)
{
	struct item *items = mem_array(lids->top + 1u, sizeof(*items));

	*len = 0;
	for (uint32_t lid = 1; lid <= lids->top; lid++) {
		const struct plan_dest *d = &lids->dest[lid];

		if (d->port != FABRIC_NONE && d->sw != FABRIC_NONE)
			items[(*len)++] = (struct item){ d->sw, (uint16_t)lid, d->out, d->offset, 0 };
	}
	qsort(items, *len, sizeof(*items), item_cmp);
	for (uint32_t i = 0; i < *len; i++)
		items[i].serial = i + 1;
	return items;
}

/* Items from `first` on whose trees fit into one batch. */
static void
fill_batch(struct batch *batch, const struct item *items, uint32_t first, uint32_t len)
{
	batch->len = 0;
	batch->first = first;
	for (; first < len; first++) {
		if (batch->len && same_tree(batch->items[batch->len - 1], &items[first]))
			continue;
		if (batch->len == BATCH)
			break;
		batch->items[batch->len++] = &items[first];
	}
	batch->end = first;
}

static void
place_all(struct balance *b, const struct item *items, uint32_t len, unsigned threads)
{
	struct batch *batches = mem_array(2, sizeof(*batches));
	struct step step = { .b = b, .items = items, .ready = &batches[0], .next = &batches[1] };

	for (unsigned i = 0; i < 2 * BATCH; i++)
		tree_init(&batches[i / BATCH].trees[i % BATCH], b->f);
	do {
		struct batch *placed = step.ready;

		fill_batch(step.next, items, placed->end, len);
		parallel_run(threads, 1 + step.next->len, 1, run_step, &step);
		step.ready = step.next;
		step.next = placed;
	} while (step.ready->len);
	for (unsigned i = 0; i < 2 * BATCH; i++)
		tree_free(&batches[i / BATCH].trees[i % BATCH]);
	mem_free(batches);
}

void
balance_rows(const struct engine_input *in, struct engine_output *out,
	     const struct balance_trees *trees)
{
	struct balance b = { .in = in, .f = in->fabric, .rows = out->rows, .trees = trees };
	struct item *items;
	uint32_t len;

	for (uint32_t sw = 0; sw < in->fabric->nswitches; sw++)
		if (!engine_is_fixed(in, sw))
			out->rows[sw] = plan_row_new(in->lids->top);
	balance_init(&b);
	items = list_items(in->lids, &len);
	if (b.any_fixed)
		for (uint32_t i = 0; i < len; i++) {
			if (!is_lost(&b, &items[i]))
				place(&b, tree_of_lid(&b, &items[i]), &items[i]);
		}
	else
		place_all(&b, items, len, in->options ? in->options->threads : 0);
	flush_columns(&b);
	mem_free(items);
	balance_done(&b);
}
