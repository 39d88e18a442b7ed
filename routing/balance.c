/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/balance.h"
#include <stdlib.h>
#include <string.h>
#include "routing/place.h"
#include "sm/base/mem.h"
#include "sm/base/parallel.h"

/*
 * The balancer: from trees to tables. LIDs are placed one after the other, hosts' LIDs in order of
 * (home switch, port) and then the switches' own, the two counted apart; place.c makes the choice.
 * Where switches are silent the ways to a LID are those that their tables leave.
 *
 * Trees grow in parallel, while one thread places the LIDs of those that are ready, in a fixed
 * order: the tables do not depend on the number of threads.
 */
#define BATCH 16	/* trees built at a time */

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
			b->step[e] = (uint32_t)(((uint64_t)fastest * PLACE_LOAD_UNIT + rate / 2) /
						rate);
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
	b->columns = mem_array(f->nswitches, PLACE_COLUMNS);
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
		place_lid(b, &batch->trees[t], &items[i]);
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
			build_tree(step->b, step->next->items[i - 1], NULL,
				   &step->next->trees[i - 1]);
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
			items[(*len)++] = (struct item){
				.home = d->sw, .lid = (uint16_t)lid, .out = d->out,
				.offset = d->offset,
			};
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
				place_lid(&b, tree_of_lid(&b, &items[i]), &items[i]);
		}
	else
		place_all(&b, items, len, in->options ? in->options->threads : 0);
	place_flush(&b);
	mem_free(items);
	balance_done(&b);
}
