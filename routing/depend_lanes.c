/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/depend_impl.h"
#include <string.h>
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * What waits for what where lanes differ. The lane of a link depends on the class of a packet and
 * on the port by which it came, so packets have to be followed from their sources; but not one by
 * one. To one LID all packets at a switch leave by one link, so what comes down the tree of all
 * ways to it is followed together, from the leaves on: for each link the set of (lane, class) that
 * packets can have there. Sets are bits in words: four lanes a word, and for each the classes.
 *
 * For two links in a row two such sets are kept: those that packets take there (as the tables from
 * service levels to lanes have it, the lane before it does not matter), and those in which packets
 * were seen on the first that go on by the second, to whichever LID. From these, when all LIDs are
 * done, follow the dependencies. A column that was followed is not followed again (columns.h).
 *
 * With two tables, or where tables send in a circle, there is no order of switches: sets are then
 * handed on until none grows.
 */
#define DONE UINT32_MAX		/* in before[]: the switch was followed */

/* ---- Preparation ---- */

/* What packets take by one table: the last one that was looked at. */
struct taken {
	const struct sls_map *map;	/* the table; NULL: none yet */
	uint64_t set[WORDS_MAX];	/* what they take by it */
};

static void
add_lane(const struct checker *c, unsigned class, unsigned v, uint64_t *set)
{
	if (v >= c->channels.lanes)
		v = 0;
	set[v / LANES_A_WORD] |= UINT64_C(1) << (v % LANES_A_WORD * CLASSES_MAX + class);
}

static void
take_map(const struct checker *c, const struct sls_map *map, struct taken *last)
{
	*last = (struct taken){ .map = map };
	for (unsigned class = 0; class < c->classes; class++)
		if (map->vl[class] != SLS_DROP)
			add_lane(c, class, map->vl[class], last->set);
}

/* Enter what packets take that come into a switch by a port and leave by another. */
static void
take(const struct checker *c, uint32_t sw, uint8_t in, uint8_t out, struct taken *last,
     uint64_t *set)
{
	const struct plan_lanes *l = c->in->lanes;

	if (l && l->map) {
		const struct sls_map *map = l->map(l, sw, in, out);

		if (map != last->map)
			take_map(c, map, last);
		for (unsigned w = 0; w < c->lanes->words; w++)
			set[w] |= last->set[w];
		return;
	}
	for (unsigned class = 0; class < c->classes; class++) {
		unsigned v = l && l->lane ? l->lane(l, sw, in, out, (uint8_t)class) : 0;

		if (v != PLAN_LANE_DROP)
			add_lane(c, class, v, set);
	}
}

/* Sources are the switch itself, and adapters on it. */
static void
take_starts(const struct checker *c, uint32_t sw, uint32_t e, struct taken *last)
{
	const struct fabric_node *n = fabric_switch_node(c->f, sw);

	for (unsigned in = 0; in <= n->nports; in++) {
		const struct fabric_port *p = &c->f->ports[n->first_port + in];

		if (!in || (p->peer != FABRIC_NONE &&
			    c->channels.edge_at[n->first_port + in] == FABRIC_NONE))
			take(c, sw, (uint8_t)in, c->channels.out[e], last,
			     &c->lanes->start[(size_t)e * c->lanes->words]);
	}
}

static void
take_all(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct checker *c = arg;
	const struct fabric *f = c->f;
	struct taken last = { 0 };

	(void)thread;
	for (uint32_t sw = (uint32_t)first; sw < end; sw++)
		for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++) {
			uint32_t to = f->edges[e].to;

			take_starts(c, sw, e, &last);
			for (uint32_t then = f->edge_first[to]; then < f->edge_first[to + 1];
			     then++)
				take(c, to, f->edges[e].in, f->edges[then].out, &last,
				     depend_pair(c, e, then));
		}
}

static void
work_init(struct depend_work *w, const struct checker *c)
{
	unsigned tables = c->in->also ? 2 : 1;
	uint32_t n = c->f->nswitches;

	columns_init(&w->columns, n, tables);
	for (unsigned k = 0; k < tables; k++) {
		w->next[k] = mem_array(n, sizeof(*w->next[k]));
		w->sets[k] = mem_array(n, c->lanes->words * sizeof(*w->sets[k]));
	}
	w->classes = mem_array(n, sizeof(*w->classes));
	w->before = mem_array(n, sizeof(*w->before));
	w->stack = mem_array(n, tables * sizeof(*w->stack));
	w->waits = mem_array(n, tables * sizeof(*w->waits));
}

static void
work_free(struct depend_work *w)
{
	columns_free(&w->columns);
	for (unsigned k = 0; k < 2; k++) {
		mem_free(w->next[k]);
		mem_free(w->sets[k]);
	}
	mem_free(w->classes);
	mem_free(w->before);
	mem_free(w->stack);
	mem_free(w->waits);
}

void
depend_lanes_open(struct checker *c)
{
	unsigned words = (c->channels.lanes + LANES_A_WORD - 1) / LANES_A_WORD;
	struct depend_lanes *d = mem_zalloc(sizeof(*d));
	uint32_t pairs = 0;

	c->lanes = d;
	d->words = words > 2 ? WORDS_MAX : words;
	columns_order_init(&d->order, c->in->lids, c->f->nswitches, NULL);
	d->pair_first = mem_array(c->f->nedges, sizeof(*d->pair_first));
	for (uint32_t e = 0; e < c->f->nedges; e++) {
		uint32_t to = c->channels.to[e];

		d->pair_first[e] = pairs;
		pairs += c->f->edge_first[to + 1] - c->f->edge_first[to];
	}
	d->pairs = mem_array(pairs, 2 * d->words * sizeof(*d->pairs));
	d->start = mem_array(c->f->nedges, d->words * sizeof(*d->start));
	d->work = mem_array(c->threads, sizeof(*d->work));
	for (unsigned i = 0; i < c->threads; i++)
		work_init(&d->work[i], c);
	parallel_run(c->threads, c->f->nswitches, 16, take_all, c);
}

void
depend_lanes_close(struct checker *c)
{
	struct depend_lanes *d = c->lanes;

	for (unsigned i = 0; i < c->threads; i++)
		work_free(&d->work[i]);
	columns_order_free(&d->order);
	mem_free(d->work);
	mem_free(d->pair_first);
	mem_free(d->pairs);
	mem_free(d->start);
	mem_free(d);
	c->lanes = NULL;
}

/* ---- To one LID ---- */

/* Classes of the packets from a switch to a LID: bit n for class n. */
static uint16_t
classes_of(const struct checker *c, uint32_t sw, uint32_t lid)
{
	const struct plan_lanes *l = c->in->lanes;
	uint8_t class;

	if (l && l->path_classes)
		return (uint16_t)l->path_classes(l, sw, (uint16_t)lid);
	class = l && l->path_class ? l->path_class(l, sw, c->in->lids->dest[lid].sw) : 0;
	return (uint16_t)(1u << (class < c->classes ? class : 0));
}

bool
depend_by_home(const struct checker *c)
{
	const struct plan_lanes *l = c->in->lanes;

	return !l || !l->path_classes || l->by_switch;
}

void
depend_classes(const struct checker *c, struct depend_work *w, uint32_t lid)
{
	for (uint32_t sw = 0; sw < c->f->nswitches; sw++)
		w->classes[sw] = classes_of(c, sw, lid);
}

/* Where switches send the LID, by the one table and by the other; whether they differ. */
static bool
read_ways(const struct checker *c, struct depend_work *w, uint32_t i)
{
	const uint8_t *one = columns_of(&w->columns, 0, i);
	const uint8_t *other = c->in->also ? columns_of(&w->columns, 1, i) : NULL;
	uint32_t n = c->f->nswitches;
	bool differ = false;

	for (uint32_t sw = 0; sw < n; sw++)
		w->next[0][sw] = depend_edge(c, sw, one[sw]);
	for (uint32_t sw = 0; other && sw < n; sw++) {
		w->next[1][sw] = other[sw] != one[sw] ? depend_edge(c, sw, other[sw]) : FABRIC_NONE;
		differ |= w->next[1][sw] != FABRIC_NONE;
	}
	return differ;
}

static void
count_before(const struct checker *c, struct depend_work *w)
{
	const uint32_t *to = c->channels.to, *next = w->next[0];
	uint32_t n = c->f->nswitches;

	memset(w->before, 0, n * sizeof(*w->before));
	for (uint32_t sw = 0; sw < n; sw++)
		if (next[sw] != FABRIC_NONE)
			w->before[to[next[sw]]]++;
}

/* One table: a switch is done when all that send to it are. Returns how many are left, in circles
 * and behind them. */
static inline uint32_t
follow_tree(const struct checker *c, struct depend_work *w, unsigned words)
{
	const uint32_t *to = c->channels.to, *next = w->next[0];
	uint32_t n = c->f->nswitches, left = n;

	memset(w->sets[0], 0, n * words * sizeof(*w->sets[0]));
	count_before(c, w);
	for (uint32_t sw = 0; sw < n; sw++)
		for (uint32_t at = sw; w->before[at] == 0; at = to[next[at]]) {
			uint64_t *set = &w->sets[0][(size_t)at * words];
			uint32_t e = next[at];

			w->before[at] = DONE;
			left--;
			if (e == FABRIC_NONE)
				break;
			depend_start(c->lanes, e, w->classes[at], set, words);
			w->before[to[e]]--;
			if (next[to[e]] != FABRIC_NONE)
				depend_pass(c, e, next[to[e]], set,
					    &w->sets[0][(size_t)to[e] * words], words);
		}
	return left;
}

static void
await(struct depend_work *w, uint32_t *len, uint32_t what)
{
	if (w->waits[what])
		return;
	w->waits[what] = true;
	w->stack[(*len)++] = what;
}

/* Hand on what a switch sends by one table to where the next one sends it, by each. */
static void
hand_on(const struct checker *c, struct depend_work *w, uint32_t *len, uint32_t sw, unsigned table,
	unsigned tables)
{
	unsigned words = c->lanes->words;
	const uint64_t *set = &w->sets[table][(size_t)sw * words];
	uint32_t e = w->next[table][sw], to = c->channels.to[e];

	for (unsigned k = 0; k < tables; k++) {
		uint64_t *there = &w->sets[k][(size_t)to * words], grown = 0;
		uint64_t before[WORDS_MAX];

		if (w->next[k][to] == FABRIC_NONE)
			continue;
		memcpy(before, there, words * sizeof(*before));
		depend_pass(c, e, w->next[k][to], set, there, words);
		for (unsigned i = 0; i < words; i++)
			grown |= before[i] ^ there[i];
		if (grown)
			await(w, len, to * tables + k);
	}
}

/* In no order: until nothing grows. */
static void
follow_any(const struct checker *c, struct depend_work *w, unsigned tables)
{
	unsigned words = c->lanes->words;
	uint32_t len = 0;

	for (unsigned k = 0; k < tables; k++) {
		memset(w->sets[k], 0, c->f->nswitches * words * sizeof(*w->sets[k]));
		for (uint32_t sw = 0; sw < c->f->nswitches; sw++) {
			if (w->next[k][sw] == FABRIC_NONE)
				continue;
			depend_start(c->lanes, w->next[k][sw], w->classes[sw],
				     &w->sets[k][(size_t)sw * words], words);
			await(w, &len, sw * tables + k);
		}
	}
	while (len) {
		uint32_t what = w->stack[--len];

		w->waits[what] = false;
		hand_on(c, w, &len, what / tables, what % tables, tables);
	}
}

void
depend_follow(const struct checker *c, struct depend_work *w, uint32_t i)
{
	unsigned words = c->lanes->words;
	uint32_t left;

	if (read_ways(c, w, i)) {
		follow_any(c, w, 2);
		return;
	}
	/* Made for each number of words by itself, for compilers to know it. */
	left = words == 1 ? follow_tree(c, w, 1) : words == 2 ? follow_tree(c, w, 2) :
		follow_tree(c, w, WORDS_MAX);
	if (left)
		follow_any(c, w, 1);
}

/* Who follows each LID. */
struct walk {
	const struct checker *c;
	depend_fn fn;
};

static void
follow_blocks(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct walk *walk = arg;
	const struct checker *c = walk->c;
	const struct plan_dest *dest = c->in->lids->dest;
	struct depend_work *w = &c->lanes->work[thread];
	bool by_home = depend_by_home(c);

	for (size_t k = first; k < end; k++) {
		uint32_t home = FABRIC_NONE;

		columns_read(&w->columns, &c->lanes->order, (uint32_t)k, c->in->lids,
			     c->f->nswitches, c->in->rows, c->in->also);
		for (uint32_t i = 0; i < w->columns.len; i++) {
			uint32_t lid = w->columns.lid[i];

			if (by_home && w->columns.like[i] != i)
				continue;
			if (!by_home || dest[lid].sw != home)
				depend_classes(c, w, lid);
			home = dest[lid].sw;
			walk->fn(c, thread, i);
		}
	}
}

void
depend_each(const struct checker *c, depend_fn fn)
{
	struct walk walk = { c, fn };

	parallel_run(c->threads, c->lanes->order.nblocks, 1, follow_blocks, &walk);
}

static void
follow_lid(const struct checker *c, unsigned thread, uint32_t i)
{
	depend_follow(c, &c->lanes->work[thread], i);
}

/* ---- The graph ---- */

/* Packets seen on a lane of one link wait for the lanes of the next that their classes take. */
static void
enter_pair(const struct checker *c, uint32_t e, uint32_t then)
{
	const uint64_t *pair = depend_pair(c, e, then), *seen = pair + c->lanes->words;

	for (unsigned from = 0; from < c->channels.lanes; from++) {
		uint64_t classes = seen[from / LANES_A_WORD] >>
			from % LANES_A_WORD * CLASSES_MAX & UINT16_MAX;

		for (unsigned to = 0; classes && to < c->channels.lanes; to++)
			if (pair[to / LANES_A_WORD] >> to % LANES_A_WORD * CLASSES_MAX & classes)
				channels_add(&c->channels, e, from, c->channels.out[then], to);
	}
}

void
depend_enter(const struct checker *c)
{
	const struct fabric *f = c->f;

	for (uint32_t e = 0; e < f->nedges; e++) {
		uint32_t to = f->edges[e].to;

		for (uint32_t then = f->edge_first[to]; then < f->edge_first[to + 1]; then++)
			enter_pair(c, e, then);
	}
}

void
depend_with_lanes(struct checker *c)
{
	depend_lanes_open(c);
	depend_each(c, follow_lid);
	depend_enter(c);
	depend_lanes_close(c);
}
