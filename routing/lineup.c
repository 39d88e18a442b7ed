/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/lineup.h"
#include <stdlib.h>
#include <string.h>
#include "routing/levels.h"
#include "routing/ranks.h"
#include "sm/base/mem.h"

/*
 * Order by cables. A walk from the first root down, each switch's neighbours below in order of its
 * port numbers, gives every switch a position; GUIDs are as good as random. Then the parts into
 * which the fabric falls without its roots (the pods), without those and the level below, and so
 * on, are kept together, each standing where its first switch stands. Without that a leaf that
 * lacks a cable to the first root's child would stand apart from its pod.
 *
 * Where all leaves hang on the roots themselves nothing needs to be kept together, and the order is
 * that of the switches, by which others too number hosts.
 */
#define DEPTH 8u	/* levels below that keep their parts together */

struct spot {
	uint32_t key[DEPTH];	/* position of the part at each level */
	uint32_t position;	/* in the walk */
	uint32_t sw;		/* switch index */
};

/* Take the next steps down from the switch on top of the stack. */
static void
push_below(const struct fabric *f, const uint16_t *level, const uint32_t *position, uint32_t sw,
	   uint32_t *stack, uint32_t *len)
{
	for (uint32_t k = f->edge_first[sw + 1]; k-- > f->edge_first[sw];)
		if (level[f->edges[k].to] > level[sw] &&
		    position[f->edges[k].to] == FABRIC_NONE)
			stack[(*len)++] = f->edges[k].to;
}

static void
walk_down(const struct fabric *f, const uint16_t *level, uint32_t *position)
{
	uint32_t *stack = mem_array((size_t)f->nedges + 1, sizeof(*stack));
	uint16_t deepest = 0;
	uint32_t n = 0;

	memset(position, 0xff, f->nswitches * sizeof(*position));
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		deepest = level[sw] > deepest ? level[sw] : deepest;
	for (uint32_t start = 0; start < 2 * f->nswitches; start++) {
		uint32_t len = 1;

		/* First from the roots, then what they do not lead to. */
		stack[0] = start % f->nswitches;
		if (start < f->nswitches && (level[start] || deepest < 2))
			continue;
		while (len) {
			uint32_t sw = stack[--len];

			if (position[sw] != FABRIC_NONE)
				continue;
			position[sw] = n++;
			if (deepest >= 2)
				push_below(f, level, position, sw, stack, &len);
		}
	}
	mem_free(stack);
}

static uint32_t
find(uint32_t *parent, uint32_t sw)
{
	while (parent[sw] != sw)
		sw = parent[sw] = parent[parent[sw]];
	return sw;
}

/* Parts of the switches at `depth` and below; spot[].key[depth - 1] gets their positions. */
static void
find_parts(const struct fabric *f, const uint16_t *level, unsigned depth, struct spot *spots)
{
	uint32_t *parent = mem_array(f->nswitches, sizeof(*parent));

	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		parent[sw] = sw;
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++) {
			uint32_t a = find(parent, sw), b = find(parent, f->edges[k].to);

			if (level[sw] < depth || level[f->edges[k].to] < depth || a == b)
				continue;
			if (spots[a].position < spots[b].position)
				parent[b] = a;
			else
				parent[a] = b;
		}
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		spots[sw].key[depth - 1] = spots[find(parent, sw)].position;
	mem_free(parent);
}

static int
spot_cmp(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	for (unsigned i = 0; i < DEPTH; i++)
		if (x->key[i] != y->key[i])
			return x->key[i] < y->key[i] ? -1 : 1;
	return x->position < y->position ? -1 : x->position > y->position;
}

void
lineup_switches(const struct fabric *f, const uint16_t *level, uint32_t *place)
{
	struct spot *spots = mem_array(f->nswitches, sizeof(*spots));
	uint16_t deepest = 0;

	walk_down(f, level, place);
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		spots[sw] = (struct spot){ .position = place[sw], .sw = sw };
		deepest = level[sw] > deepest ? level[sw] : deepest;
	}
	for (unsigned depth = 1; deepest >= 2 && depth <= DEPTH && depth <= deepest; depth++)
		find_parts(f, level, depth, spots);
	qsort(spots, f->nswitches, sizeof(*spots), spot_cmp);
	for (uint32_t i = 0; i < f->nswitches; i++)
		place[spots[i].sw] = i;
	mem_free(spots);
}

void
lineup_found(const struct fabric *f, uint32_t *place)
{
	uint16_t *level = mem_array(f->nswitches, sizeof(*level));
	uint8_t *root = mem_array(f->nswitches, 1);

	levels_roots(f, root);
	ranks_spread(f, root, level);
	lineup_switches(f, level, place);
	mem_free(root);
	mem_free(level);
}
