/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/balance.h"
#include <stdlib.h>
#include <string.h>
#include "routing/place.h"
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * The balancer: from trees to tables. LIDs are placed one after the other, in order of (home
 * switch, port); place.c makes the choice. Hosts' LIDs and the switches' own are counted apart, so
 * there are two streams of them that know nothing of each other, each on a thread: the tables do
 * not depend on the number of threads. Where switches are silent the ways to a LID are those that
 * their tables leave.
 */
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
stream_init(struct stream *s, const struct balance *b, const uint32_t *sources, bool any_fixed)
{
	const struct fabric *f = b->f;

	s->after = mem_array(f->nedges, sizeof(*s->after));
	memcpy(s->after, b->step, f->nedges * sizeof(*s->after));
	s->flow = mem_array(f->nedges, sizeof(*s->flow));
	s->entries = mem_array(f->nedges, sizeof(*s->entries));
	s->sources = sources;
	s->ties = mem_array(f->nswitches, sizeof(*s->ties));
	s->tied = mem_array(f->nedges + 1u, sizeof(*s->tied));
	s->key = mem_array(f->nswitches, sizeof(*s->key));
	s->turn = mem_array(f->nswitches, sizeof(*s->turn));
	s->choice = mem_array(f->nswitches, sizeof(*s->choice));
	s->inflow = mem_array(f->nswitches, sizeof(*s->inflow));
	s->columns = mem_array(f->nswitches, PLACE_COLUMNS);
	s->exits = any_fixed ? mem_array(f->nswitches, 1) : NULL;
	s->tree_exits = any_fixed ? mem_array(f->nswitches, 1) : NULL;
	s->home = FABRIC_NONE;
	tree_init(&s->tree, f);
}

static void
stream_free(struct stream *s)
{
	mem_free(s->after);
	mem_free(s->flow);
	mem_free(s->entries);
	mem_free(s->ties);
	mem_free(s->tied);
	mem_free(s->key);
	mem_free(s->turn);
	mem_free(s->choice);
	mem_free(s->inflow);
	mem_free(s->columns);
	mem_free(s->exits);
	mem_free(s->tree_exits);
	tree_free(&s->tree);
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
			b->step[e] = (uint32_t)(((uint64_t)fastest * PLACE_LOAD_UNIT + rate / 2) /
						rate);
			b->edge_at[fabric_switch_node(f, sw)->first_port + f->edges[e].out] = e;
		}
}

/* Switches with several cables to one neighbour; all, if there are more switches than labels. */
static void
find_parallel(struct balance *b)
{
	const struct fabric *f = b->f;
	uint32_t *seen = mem_array(f->nswitches, sizeof(*seen));

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		b->parallel[sw] = f->nswitches > 1u << LEVELS_LABEL_BITS;
		for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++) {
			b->parallel[sw] |= seen[b->to[e]] == sw + 1;
			seen[b->to[e]] = sw + 1;
		}
	}
	mem_free(seen);
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
	bool any_fixed = false;

	b->to = mem_array(f->nedges, sizeof(*b->to));
	b->step = mem_array(f->nedges, sizeof(*b->step));
	b->out = mem_array(f->nedges, 1);
	b->edge_at = mem_array(f->nports, sizeof(*b->edge_at));
	b->label = mem_array(f->nswitches, sizeof(*b->label));
	b->parallel = mem_array(f->nswitches, sizeof(*b->parallel));
	b->sources = levels_hosts(f);
	b->ones = mem_array(f->nswitches, sizeof(*b->ones));
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		b->ones[sw] = 1;
		any_fixed |= engine_is_fixed(b->in, sw);
	}
	measure_edges(b);
	levels_label(f, b->label);
	find_parallel(b);
	match_previous(b);
	stream_init(&b->streams[0], b, b->sources, any_fixed);
	stream_init(&b->streams[1], b, b->ones, any_fixed);
}

static void
balance_done(struct balance *b)
{
	stream_free(&b->streams[0]);
	stream_free(&b->streams[1]);
	mem_free(b->to);
	mem_free(b->step);
	mem_free(b->out);
	mem_free(b->edge_at);
	mem_free(b->label);
	mem_free(b->parallel);
	mem_free(b->sources);
	mem_free(b->ones);
	mem_free(b->prev_sw);
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

/* Find the exits for a LID; true if they are those that the tree was built for. */
static bool
same_exits(const struct balance *b, struct stream *s, const struct item *it)
{
	uint32_t n = b->f->nswitches;

	for (uint32_t sw = 0; s->exits && sw < n; sw++) {
		uint8_t out = fixed_port(b, sw, it->lid);

		s->exits[sw] = !engine_is_fixed(b->in, sw) ? BALANCE_FREE : out ? out : LFT_NO_PORT;
	}
	return !s->exits || memcmp(s->exits, s->tree_exits, n) == 0;
}

/* Make the tree that of a LID; often it is that of the LID before. */
static void
grow_tree(const struct balance *b, struct stream *s, const struct item *it)
{
	const struct balance_trees *trees = b->trees;

	if (same_exits(b, s, it) && s->home == it->home)
		return;
	if (s->exits)
		memcpy(s->tree_exits, s->exits, b->f->nswitches);
	s->home = it->home;
	s->tree.serial++;
	if (it->out)
		trees->hosts(trees->hosts_arg, it->home, s->tree_exits, &s->tree);
	else
		trees->switches(trees->switches_arg, it->home, s->tree_exits, &s->tree);
}

/* All LIDs, hosts' first. */
struct list {
	struct balance *b;	/* whose */
	struct item *items;	/* in the order in which they are placed */
	uint32_t len;		/* how many */
	uint32_t nhosts;	/* of hosts */
};

/* Job 0 places the LIDs of hosts, job 1 those of switches. */
static void
place_streams(void *arg, unsigned thread, size_t first, size_t end)
{
	const struct list *l = arg;

	(void)thread;
	for (size_t job = first; job < end; job++) {
		struct stream *s = &l->b->streams[job];
		uint32_t i = job ? l->nhosts : 0, behind = job ? l->len : l->nhosts;

		for (; i < behind; i++) {
			if (is_lost(l->b, &l->items[i]))
				continue;
			grow_tree(l->b, s, &l->items[i]);
			place_lid(l->b, s, &l->items[i]);
		}
		place_flush(l->b, s);
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

/* All LIDs that hang on a switch and are wanted. */
static void
list_items(struct list *l, const struct plan_lids *lids, const uint8_t *wanted)
{
	l->items = mem_array(lids->top + 1u, sizeof(*l->items));
	for (uint32_t lid = 1; lid <= lids->top; lid++) {
		const struct plan_dest *d = &lids->dest[lid];

		if (d->port == FABRIC_NONE || d->sw == FABRIC_NONE || (wanted && !wanted[lid]))
			continue;
		l->nhosts += d->out != 0;
		l->items[l->len++] = (struct item){
			.home = d->sw, .lid = (uint16_t)lid, .out = d->out, .offset = d->offset,
		};
	}
	qsort(l->items, l->len, sizeof(*l->items), item_cmp);
}

void
balance_lids(const struct engine_input *in, struct engine_output *out,
	     const struct balance_trees *trees, const uint8_t *wanted)
{
	struct balance b = { .in = in, .f = in->fabric, .rows = out->rows, .trees = trees };
	struct list list = { .b = &b };

	balance_init(&b);
	list_items(&list, in->lids, wanted);
	parallel_run(in->options ? in->options->threads : 0, 2, 1, place_streams, &list);
	mem_free(list.items);
	balance_done(&b);
}

void
balance_rows(const struct engine_input *in, struct engine_output *out,
	     const struct balance_trees *trees)
{
	for (uint32_t sw = 0; sw < in->fabric->nswitches; sw++)
		if (!engine_is_fixed(in, sw))
			out->rows[sw] = plan_row_new(in->lids->top);
	balance_lids(in, out, trees, NULL);
}
