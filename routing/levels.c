/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/levels.h"
#include <stdlib.h>
#include <string.h>
#include "sm/base/mem.h"

/*
 * Reading a tree out of the cables. Leaves are switches with hosts in numbers: an aggregation node
 * or a gateway on each spine does not make the spines leaves. The level of a switch is its distance
 * from the nearest leaf. The top level is, in each connected part, the highest among those of
 * switches that are nearly as near to all leaves as any (so that a leaf which happens to have few
 * hosts is not mistaken for the top). Roots are the switches of that level but those that are
 * farther: a root that lacks some of its cables, in a small fabric a good part of them, is one
 * still. Where every switch is a leaf, as on a torus, it is the one switch nearest to all.
 */
#define MAX_SAMPLES 128u	/* leaves whose distances are measured, for each part */
#define LABELS (1u << LEVELS_LABEL_BITS)

void
levels_spread(const struct fabric *f, uint16_t *dist)
{
	uint32_t *queue = mem_array(f->nswitches, sizeof(*queue));
	uint32_t len = 0;

	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		if (dist[sw] == 0)
			queue[len++] = sw;
	for (uint32_t i = 0; i < len; i++) {
		uint32_t sw = queue[i];

		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++) {
			uint32_t to = f->edges[k].to;

			if (dist[to] != LEVELS_FAR)
				continue;
			dist[to] = (uint16_t)(dist[sw] + 1);
			queue[len++] = to;
		}
	}
	mem_free(queue);
}

/* A merge of the list of those that were known and of the growing queue of the others. */
uint32_t
levels_reach(const struct fabric *f, const uint8_t *exits, uint16_t *dist, const uint32_t *list,
	     uint32_t len, uint32_t *order, uint32_t *queue)
{
	uint32_t i = 0, q = 0, nqueue = 0, n = 0;

	while (i < len || q < nqueue) {
		bool queued = i == len || (q < nqueue && dist[queue[q]] < dist[list[i]]);
		uint32_t sw = queued ? queue[q++] : list[i++];

		order[n++] = sw;
		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++) {
			uint32_t to = f->edges[k].to;

			if (dist[to] != LEVELS_FAR || !levels_exit_ok(exits, &f->edges[k]))
				continue;
			dist[to] = (uint16_t)(dist[sw] + 1);
			queue[nqueue++] = to;
		}
	}
	return n;
}

void
levels_components(const struct fabric *f, uint32_t *component)
{
	uint32_t *stack = mem_array(f->nswitches, sizeof(*stack));

	memset(component, 0xff, f->nswitches * sizeof(*component));
	for (uint32_t first = 0; first < f->nswitches; first++) {
		uint32_t len = 0;

		if (component[first] != FABRIC_NONE)
			continue;
		component[first] = first;
		stack[len++] = first;
		while (len) {
			uint32_t sw = stack[--len];

			for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++) {
				uint32_t to = f->edges[k].to;

				if (component[to] != FABRIC_NONE)
					continue;
				component[to] = first;
				stack[len++] = to;
			}
		}
	}
	mem_free(stack);
}

uint32_t *
levels_hosts(const struct fabric *f)
{
	uint32_t *hosts = mem_array(f->nswitches, sizeof(*hosts));

	for (uint32_t i = 0; i < f->nports; i++) {
		const struct fabric_port *p = &f->ports[i];
		uint32_t sw;

		if (p->peer == FABRIC_NONE || f->nodes[p->node].sw != FABRIC_NONE)
			continue;
		sw = f->nodes[f->ports[p->peer].node].sw;
		if (sw != FABRIC_NONE)
			hosts[sw]++;
	}
	return hosts;
}

static int
count_cmp(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* A quarter of the median number of hosts on switches that have any; at least 1. */
static uint32_t
leaf_threshold(const struct fabric *f, const uint32_t *hosts)
{
	uint32_t *counts = mem_array(f->nswitches, sizeof(*counts));
	uint32_t len = 0, median;

	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		if (hosts[sw])
			counts[len++] = hosts[sw];
	qsort(counts, len, sizeof(*counts), count_cmp);
	median = len ? counts[len / 2] : 0;
	mem_free(counts);
	return (median + 3) / 4 > 1 ? (median + 3) / 4 : 1;
}

/* dist[] becomes 0 at leaves, LEVELS_FAR elsewhere. A part without a leaf has its switches with any
 * host for leaves, or all of them. */
static void
find_leaves(const struct fabric *f, const uint32_t *component, uint16_t *dist)
{
	uint32_t *hosts = levels_hosts(f);
	uint8_t *best = mem_array(f->nswitches, 1);	/* by component: 2 leaves, 1 some hosts */
	uint32_t threshold = leaf_threshold(f, hosts);

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		uint8_t grade = hosts[sw] >= threshold ? 2 : hosts[sw] > 0;

		if (grade > best[component[sw]])
			best[component[sw]] = grade;
	}
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		uint8_t grade = hosts[sw] >= threshold ? 2 : hosts[sw] > 0;

		dist[sw] = grade >= best[component[sw]] ? 0 : LEVELS_FAR;
	}
	mem_free(best);
	mem_free(hosts);
}

static void
find_levels(const struct fabric *f, const uint32_t *component, uint16_t *level)
{
	find_leaves(f, component, level);
	levels_spread(f, level);
}

void
levels_heights(const struct fabric *f, uint16_t *level)
{
	uint32_t *component = mem_array(f->nswitches, sizeof(*component));

	levels_components(f, component);
	find_levels(f, component, level);
	mem_free(component);
}

/* The leaves whose distances are measured, by part (mem_array). */
static uint8_t *
draw_samples(const struct fabric *f, const uint32_t *component, const uint16_t *level)
{
	uint32_t *leaves = mem_array(f->nswitches, sizeof(*leaves));
	uint32_t *seen = mem_array(f->nswitches, sizeof(*seen));
	uint8_t *sample = mem_array(f->nswitches, 1);

	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		leaves[component[sw]] += level[sw] == 0;
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		uint32_t part = component[sw];

		sample[sw] = level[sw] == 0 &&
			seen[part]++ % (leaves[part] / MAX_SAMPLES + 1) == 0;
	}
	mem_free(leaves);
	mem_free(seen);
	return sample;
}

/* Is each neighbour of `b` one of `a`? mark[] is scratch, zeroed before and after. */
static bool
has_neighbours_of(const struct fabric *f, uint32_t a, uint32_t b, uint8_t *mark)
{
	bool all = true;

	for (uint32_t k = f->edge_first[a]; k < f->edge_first[a + 1]; k++)
		mark[f->edges[k].to] = 1;
	for (uint32_t k = f->edge_first[b]; k < f->edge_first[b + 1]; k++)
		all &= mark[f->edges[k].to];
	for (uint32_t k = f->edge_first[a]; k < f->edge_first[a + 1]; k++)
		mark[f->edges[k].to] = 0;
	return all;
}

/* List a sample and its twins, samples that have the same neighbours: all others are as far from
 * each of them. They are no samples any more. */
static uint32_t
take_twins(const struct fabric *f, uint32_t sw, uint8_t *sample, uint8_t *mark, uint32_t *twins)
{
	uint32_t first = f->edge_first[sw], end = f->edge_first[sw + 1], len = 0;
	uint32_t hub = first < end ? f->edges[first].to : sw;

	sample[sw] = 0;
	twins[len++] = sw;
	for (uint32_t k = f->edge_first[hub]; k < f->edge_first[hub + 1]; k++) {
		uint32_t to = f->edges[k].to;

		if (!sample[to] || !has_neighbours_of(f, sw, to, mark) ||
		    !has_neighbours_of(f, to, sw, mark))
			continue;
		sample[to] = 0;
		twins[len++] = to;
	}
	return len;
}

/* sum[]: distances of each switch from (a sample of) its part's leaves; count[]: how many, by
 * component. */
static void
sum_distances(const struct fabric *f, const uint32_t *component, const uint16_t *level,
	      uint64_t *sum, uint32_t *count)
{
	uint8_t *sample = draw_samples(f, component, level), *mark = mem_array(f->nswitches, 1);
	uint16_t *dist = mem_array(f->nswitches, sizeof(*dist));
	uint32_t *twins = mem_array(f->nswitches, sizeof(*twins));

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		uint32_t part = component[sw], len;

		if (!sample[sw])
			continue;
		len = take_twins(f, sw, sample, mark, twins);
		memset(dist, 0xff, f->nswitches * sizeof(*dist));
		dist[sw] = 0;
		levels_spread(f, dist);
		for (uint32_t k = 0; k < f->nswitches; k++)
			sum[k] += component[k] == part ? (uint64_t)len * dist[k] : 0;
		/* Each is as far from all the others, and not from itself. */
		for (uint32_t i = 0; i < len && len > 1; i++)
			sum[twins[i]] += (uint64_t)(len - 1) * dist[twins[1]] -
				(uint64_t)len * dist[twins[i]];
		count[part] += len;
	}
	mem_free(sample);
	mem_free(mark);
	mem_free(dist);
	mem_free(twins);
}

struct part {
	uint64_t least;		/* least sum of distances of a switch */
	uint32_t nearest;	/* the first switch that has it */
	uint16_t top;		/* highest level of a switch that is nearly as near */
};

/*
 * Half steps to each leaf, on average, that a root may be farther than the nearest switch is. A
 * leaf without hosts has the level of the roots from three levels on, and is as much farther as
 * this at least: where all is split in two at each level. With two levels it is of another level.
 */
static uint32_t
may_lack(uint16_t top)
{
	return top > 2 ? top : 2;
}

static void
mark_roots(const struct fabric *f, const uint32_t *component, const uint16_t *level,
	   const uint64_t *sum, const uint32_t *count, uint8_t *root)
{
	struct part *parts = mem_array(f->nswitches, sizeof(*parts));

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		struct part *p = &parts[component[sw]];

		if (component[sw] == sw || sum[sw] < p->least) {
			p->least = sum[sw];
			p->nearest = sw;
		}
	}
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		struct part *p = &parts[component[sw]];

		if (2 * sum[sw] < 2 * p->least + count[component[sw]] && level[sw] > p->top)
			p->top = level[sw];
	}
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		struct part *p = &parts[component[sw]];

		if (p->top == 0)
			root[sw] = p->nearest == sw;
		else
			root[sw] = level[sw] == p->top &&
				2 * sum[sw] < 2 * p->least +
					      may_lack(p->top) * count[component[sw]];
	}
	mem_free(parts);
}

uint32_t
levels_roots(const struct fabric *f, uint8_t *root)
{
	uint32_t *component = mem_array(f->nswitches, sizeof(*component));
	uint16_t *level = mem_array(f->nswitches, sizeof(*level));
	uint64_t *sum = mem_array(f->nswitches, sizeof(*sum));
	uint32_t *count = mem_array(f->nswitches, sizeof(*count));
	uint32_t n = 0;

	levels_components(f, component);
	find_levels(f, component, level);
	sum_distances(f, component, level, sum, count);
	mark_roots(f, component, level, sum, count, root);
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		n += root[sw];
	mem_free(component);
	mem_free(level);
	mem_free(sum);
	mem_free(count);
	return n;
}

struct place {
	uint32_t column;	/* least switch of its column */
	uint32_t sw;		/* switch index */
};

static int
place_cmp(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->column != y->column)
		return x->column < y->column ? -1 : 1;
	return x->sw < y->sw ? -1 : x->sw > y->sw;
}

static uint32_t
find(uint32_t *parent, uint32_t sw)
{
	while (parent[sw] != sw)
		sw = parent[sw] = parent[parent[sw]];
	return sw;
}

/* Join a switch with its neighbours of the same level and above; the least index names the set. */
static void
join(const struct fabric *f, const uint16_t *level, uint32_t *parent, uint32_t sw)
{
	for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++) {
		uint32_t a = find(parent, sw), b = find(parent, f->edges[k].to);

		if (level[f->edges[k].to] < level[sw])
			continue;
		parent[a > b ? a : b] = a < b ? a : b;
	}
}

/* A column is a connected component of the switches at and above a level: in each pod of a tree
 * the switch below the same top switches is the same one of its pod (Gliksberg et al., Dmodc). */
void
levels_label(const struct fabric *f, uint16_t *label)
{
	uint32_t *component = mem_array(f->nswitches, sizeof(*component));
	uint32_t *parent = mem_array(f->nswitches, sizeof(*parent));
	uint16_t *level = mem_array(f->nswitches, sizeof(*level));
	struct place *places = mem_array(f->nswitches, sizeof(*places));
	uint32_t top = 0;

	levels_components(f, component);
	find_levels(f, component, level);
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		parent[sw] = sw;
		if (level[sw] > top)
			top = level[sw];
	}
	for (uint32_t l = top + 1; l-- > 0;) {
		for (uint32_t sw = 0; sw < f->nswitches; sw++)
			if (level[sw] == l)
				join(f, level, parent, sw);
		for (uint32_t sw = 0; sw < f->nswitches; sw++)
			if (level[sw] == l)
				places[sw] = (struct place){ find(parent, sw), sw };
	}
	qsort(places, f->nswitches, sizeof(*places), place_cmp);
	for (uint32_t i = 0; i < f->nswitches; i++)
		label[places[i].sw] = (uint16_t)(f->nswitches <= LABELS ? i :
			(uint64_t)i * LABELS / f->nswitches);
	mem_free(component);
	mem_free(parent);
	mem_free(level);
	mem_free(places);
}
