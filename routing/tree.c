/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/tree.h"
#include <stdlib.h>
#include <string.h>
#include "routing/levels.h"
#include "routing/lineup.h"
#include "routing/ranks.h"
#include "routing/roots.h"
#include "sm/base/mem.h"

/*
 * From the nominal fabric to the tree. Levels are distances from the roots; the order of switches
 * (rank) is that of levels but for what ranks.c had to lift to give the fabric one top. What a
 * regular tree's formula needs follows Gliksberg et al. (Dmodc, IEEE Micro 40(1), 2020):
 *
 *  - groups: parallel cables count as one way;
 *  - candidate order: the i-th way up must mean the same in each part of the tree. Switches of one
 *    level that are joined by switches of their level and above stand in one column; a column has
 *    the label of its first switch, and ways are ordered by label. (By GUID alone the load of shift
 *    permutations doubles from three levels on.)
 *  - divider: in how many ways one gets up to the switch, that is how many of the digits of a
 *    destination's number were used up below it.
 */
#define DIVIDER_MAX (1u << 20)	/* more hosts than LIDs: further digits are 0 */

static uint32_t
find(uint32_t *parent, uint32_t v)
{
	while (parent[v] != v)
		v = parent[v] = parent[parent[v]];
	return v;
}

/* Join a vertex with its neighbours of its level and above; the least index names the column. */
static void
join(const struct tree *t, uint32_t *parent, uint32_t v)
{
	const struct fabric *f = t->f;

	for (uint32_t k = f->edge_first[v]; k < f->edge_first[v + 1]; k++) {
		uint32_t a = find(parent, v), b = find(parent, f->edges[k].to);

		if (t->level[f->edges[k].to] <= t->level[v])
			parent[a > b ? a : b] = a < b ? a : b;
	}
}

static void
label_columns(const struct tree *t, uint32_t *label)
{
	uint32_t *parent = mem_array(t->n, sizeof(*parent));

	for (uint32_t v = 0; v < t->n; v++)
		parent[v] = v;
	for (unsigned level = 0; level < t->levels; level++) {
		for (uint32_t v = 0; v < t->n; v++)
			if (t->level[v] == level)
				join(t, parent, v);
		for (uint32_t v = 0; v < t->n; v++)
			if (t->level[v] == level)
				label[v] = find(parent, v);
	}
	mem_free(parent);
}

struct way {
	uint32_t label;		/* column of the switch behind */
	uint32_t to;		/* that switch */
	uint8_t out;		/* port number */
};

static int
way_cmp(const void *a, const void *b)
{
	const struct way *x = a, *y = b;

	if (x->label != y->label)
		return x->label < y->label ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->out < y->out ? -1 : x->out > y->out;
}

/* Append the groups of one vertex. */
static void
group_links(struct tree *t, uint32_t v, const uint32_t *label, struct way *ways)
{
	const struct fabric *f = t->f;
	uint32_t len = 0, g = t->first[v];

	for (uint32_t k = f->edge_first[v]; k < f->edge_first[v + 1]; k++)
		if (f->edges[k].to != v)
			ways[len++] = (struct way){ label[f->edges[k].to], f->edges[k].to,
						    f->edges[k].out };
	qsort(ways, len, sizeof(*ways), way_cmp);
	for (uint32_t i = 0; i < len; i++) {
		if (i == 0 || ways[i].to != ways[i - 1].to)
			t->groups[g++] = (struct tree_group){
				.to = ways[i].to, .link = t->nlinks,
				.above = t->level[ways[i].to] < t->level[v],
			};
		t->groups[g - 1].len++;
		t->out[t->nlinks++] = ways[i].out;
	}
	t->first[v + 1] = g;
}

static void
group_all(struct tree *t)
{
	uint32_t *label = mem_array(t->n, sizeof(*label));
	struct way *ways = mem_array(UINT8_MAX + 1u, sizeof(*ways));

	label_columns(t, label);
	for (uint32_t v = 0; v < t->n; v++) {
		group_links(t, v, label, ways);
		for (uint32_t g = t->first[v]; g < t->first[v + 1]; g++)
			t->nabove[v] = (uint8_t)(t->nabove[v] + t->groups[g].above);
	}
	mem_free(ways);
	mem_free(label);
}

/* From the bottom up. A root that lacks so many cables that it counts for something below its
 * leaves leads to no hosts. */
static void
find_nested(struct tree *t)
{
	uint32_t *hosts = levels_hosts(t->f);

	for (unsigned level = t->levels; level-- > 0;)
		for (uint32_t v = 0; v < t->n; v++)
			for (uint32_t g = t->first[v];
			     t->level[v] == level && g < t->first[v + 1]; g++) {
				uint32_t to = t->groups[g].to;

				if (t->level[to] > level)
					t->nested[v] |= hosts[to] || t->nested[to];
			}
	mem_free(hosts);
}

/* From the bottom up. */
static void
find_dividers(struct tree *t)
{
	for (uint32_t v = 0; v < t->n; v++)
		t->divider[v] = 1;
	for (unsigned level = t->levels; level-- > 0;)
		for (uint32_t v = 0; v < t->n; v++) {
			uint64_t d = (uint64_t)t->divider[v] * (t->nabove[v] ? t->nabove[v] : 1);

			if (t->level[v] != level)
				continue;
			d = d < DIVIDER_MAX ? d : DIVIDER_MAX;
			for (uint32_t g = t->first[v]; g < t->first[v + 1]; g++)
				if (t->groups[g].above && t->divider[t->groups[g].to] < d)
					t->divider[t->groups[g].to] = (uint32_t)d;
		}
}

/* Levels and the order. */
static int
find_order(struct tree *t, const struct engine_input *nominal, struct error *e)
{
	struct ranks r = { .f = t->f, .rank = t->rank };
	struct roots roots;
	uint32_t lifted;
	int rc = roots_find(nominal, &roots, e);

	if (rc == 0) {
		ranks_spread(t->f, roots.mark, t->level);
		memcpy(t->rank, t->level, t->n * sizeof(*t->rank));
		rc = ranks_join(&r, &lifted, e);
	}
	for (uint32_t v = 0; v < t->n; v++)
		if (t->level[v] >= t->levels)
			t->levels = (uint16_t)(t->level[v] + 1);
	roots_free(&roots);
	return rc;
}

int
tree_new(const struct engine_input *in, struct tree **tree, struct error *e)
{
	struct tree *t = mem_zalloc(sizeof(*t));
	struct engine_input nominal = *in;
	int rc;

	t->refs = 1;
	nominal.fabric = t->f = nominal_fabric(in->fabric);
	t->n = t->f->nswitches;
	t->first = mem_array(t->n + 1u, sizeof(*t->first));
	t->groups = mem_array(t->f->nedges, sizeof(*t->groups));
	t->out = mem_array(t->f->nedges, 1);
	t->level = mem_array(t->n, sizeof(*t->level));
	t->rank = mem_array(t->n, sizeof(*t->rank));
	t->place = mem_array(t->n, sizeof(*t->place));
	t->divider = mem_array(t->n, sizeof(*t->divider));
	t->nabove = mem_array(t->n, 1);
	t->nested = mem_array(t->n, 1);
	t->roots = roots_record(in);
	rc = find_order(t, &nominal, e);
	if (rc) {
		tree_unref(t);
		return rc;
	}
	lineup_switches(t->f, t->level, t->place);
	group_all(t);
	find_nested(t);
	find_dividers(t);
	*tree = t;
	return 0;
}

struct tree *
tree_ref(struct tree *t)
{
	__atomic_add_fetch(&t->refs, 1, __ATOMIC_RELAXED);
	return t;
}

void
tree_unref(struct tree *t)
{
	if (!t || __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL))
		return;
	mem_free(t->first);
	mem_free(t->groups);
	mem_free(t->out);
	mem_free(t->level);
	mem_free(t->rank);
	mem_free(t->place);
	mem_free(t->divider);
	mem_free(t->nabove);
	mem_free(t->nested);
	plan_roots_unref(t->roots);
	fabric_unref(t->f);
	mem_free(t);
}

uint32_t *
tree_upwards(const struct tree *t, const uint16_t *rank)
{
	uint32_t *order = mem_array(t->n, sizeof(*order)), *at;
	uint16_t deepest = 0;

	for (uint32_t v = 0; v < t->n; v++)
		deepest = rank[v] > deepest ? rank[v] : deepest;
	at = mem_array(deepest + 2u, sizeof(*at));
	for (uint32_t v = 0; v < t->n; v++)
		at[deepest - rank[v] + 1]++;
	for (unsigned i = 1; i <= deepest; i++)
		at[i] += at[i - 1];
	for (uint32_t v = t->n; v-- > 0;)
		order[at[deepest - rank[v]]++] = v;
	mem_free(at);
	return order;
}
