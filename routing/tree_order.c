/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/tree_order.h"
#include <string.h>
#include "routing/levels.h"
#include "sm/base/mem.h"

/*
 * Tops. An order of switches in which all pairs have a way that climbs and then descends has one
 * top in each connected part. When cables are lost there may be more: a root without its cable to
 * where paths between roots go, a switch there without its cable to the leaf on top, all of them
 * when that leaf is gone.
 *
 * A top may be put below one of its children: nothing was above it, so a way across that link
 * climbs before it and descends behind it, and still does when the link is turned over. So nobody
 * else notices. Two turns do that:
 *
 *  - below a child that has another parent, to which nothing leads down from the top: then the two
 *    parts of the order have become one;
 *  - else below a child that has no other parent: then that child is the top, and has children of
 *    its own to go on with.
 *
 * In the end, ranks are the longest ways down from a top. What is left of tops, others must lift.
 */
#define DEEPEST 80u	/* greatest rank that this makes */
#define LEADS_MAX 64u	/* turns of the second kind for one top */

struct order {
	const struct fabric *f;	/* whose switches */
	uint8_t *up;		/* by edge: 1: leads up */
	uint32_t *nup;		/* by switch: edges that do */
	uint8_t *raised;	/* by switch: it was put above a top */
	uint8_t *led;		/* by switch: it was a top that was turned over */
	uint8_t *below;		/* by switch: the present top leads down to it, or is it */
	uint32_t *queue;	/* scratch: switches */
};

static void
read_ranks(struct order *o, const uint16_t *rank)
{
	const struct fabric *f = o->f;

	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++) {
			uint32_t to = f->edges[k].to;

			o->up[k] = rank[to] != rank[sw] ? rank[to] < rank[sw] : to < sw;
			o->nup[sw] += o->up[k];
		}
}

/* Mark all tops but the highest of each connected part; returns how many. */
static uint32_t
mark_tops(const struct order *o, const uint16_t *rank, uint8_t *top)
{
	const struct fabric *f = o->f;
	uint32_t *part = mem_array(f->nswitches, sizeof(*part)), n = 0;
	uint32_t *main_top = mem_array(f->nswitches, sizeof(*main_top));

	levels_components(f, part);
	memset(main_top, 0xff, f->nswitches * sizeof(*main_top));
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		uint32_t *best = &main_top[part[sw]];

		top[sw] = !o->nup[sw];
		if (top[sw] && (*best == FABRIC_NONE || rank[sw] < rank[*best]))
			*best = sw;
		n += top[sw];
	}
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		if (part[sw] == sw) {
			top[main_top[sw]] = 0;
			n--;
		}
	mem_free(main_top);
	mem_free(part);
	return n;
}

static void
mark_below(struct order *o, uint32_t top)
{
	const struct fabric *f = o->f;
	uint32_t len = 1;

	memset(o->below, 0, f->nswitches);
	o->below[top] = 1;
	o->queue[0] = top;
	for (uint32_t i = 0; i < len; i++) {
		uint32_t sw = o->queue[i];

		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++) {
			uint32_t to = f->edges[k].to;

			if (o->up[k] || o->below[to])
				continue;
			o->below[to] = 1;
			o->queue[len++] = to;
		}
	}
}

enum turn {
	TURN_NOT,	/* the order would go round, or did so before */
	TURN_LEAD,	/* the child has no other parent */
	TURN_JOIN,	/* it has, and what is above those is not below the top */
};

static enum turn
judge(const struct order *o, uint32_t top, uint32_t child)
{
	const struct fabric *f = o->f;
	enum turn turn = TURN_LEAD;

	for (uint32_t k = f->edge_first[child]; k < f->edge_first[child + 1]; k++) {
		uint32_t to = f->edges[k].to;

		if (!o->up[k] || to == top)
			continue;
		if (o->below[to])
			return TURN_NOT;
		turn = TURN_JOIN;
	}
	return turn == TURN_LEAD && o->led[child] ? TURN_NOT : turn;
}

/* The best turn of a top: join, and by a child that was raised before, so that few are. */
static uint32_t
choose(struct order *o, uint32_t top, enum turn *turn)
{
	const struct fabric *f = o->f;
	uint32_t best = FABRIC_NONE;

	*turn = TURN_NOT;
	mark_below(o, top);
	for (uint32_t k = f->edge_first[top]; k < f->edge_first[top + 1]; k++) {
		uint32_t child = f->edges[k].to;
		enum turn t = child == top ? TURN_NOT : judge(o, top, child);

		if (t == TURN_NOT || t < *turn ||
		    (t == *turn && !(o->raised[child] && !o->raised[best])))
			continue;
		*turn = t;
		best = child;
	}
	return best;
}

static void
turn_over(struct order *o, uint32_t top, uint32_t child)
{
	const struct fabric *f = o->f;

	for (uint32_t k = f->edge_first[top]; k < f->edge_first[top + 1]; k++)
		if (f->edges[k].to == child) {
			o->up[k] = 1;
			o->nup[top]++;
		}
	for (uint32_t k = f->edge_first[child]; k < f->edge_first[child + 1]; k++)
		if (f->edges[k].to == top) {
			o->up[k] = 0;
			o->nup[child]--;
		}
	o->raised[child] = o->led[top] = 1;
}

/* Turn a top over until its part has joined another. False if nothing was changed. */
static bool
settle_top(struct order *o, uint32_t top)
{
	for (uint32_t leads = 0; leads <= LEADS_MAX; leads++) {
		enum turn turn;
		uint32_t child = choose(o, top, &turn);

		if (turn == TURN_NOT)
			return leads > 0;
		turn_over(o, top, child);
		if (turn == TURN_JOIN)
			return true;
		top = child;
	}
	return true;
}

/* False if some rank were too great: then nothing is changed. */
static bool
write_ranks(struct order *o, uint16_t *rank)
{
	const struct fabric *f = o->f;
	uint16_t *fresh = mem_array(f->nswitches, sizeof(*fresh)), deepest = 0;
	uint32_t len = 0;

	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		if (!o->nup[sw])
			o->queue[len++] = sw;
	for (uint32_t i = 0; i < len; i++) {
		uint32_t sw = o->queue[i];

		deepest = fresh[sw] > deepest ? fresh[sw] : deepest;
		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++) {
			uint32_t to = f->edges[k].to;

			if (o->up[k])
				continue;
			if (fresh[to] <= fresh[sw])
				fresh[to] = (uint16_t)(fresh[sw] + 1);
			if (!--o->nup[to])
				o->queue[len++] = to;
		}
	}
	if (deepest <= DEEPEST)
		memcpy(rank, fresh, f->nswitches * sizeof(*rank));
	mem_free(fresh);
	return deepest <= DEEPEST;
}

bool
tree_order_settle(const struct fabric *f, uint16_t *rank)
{
	struct order o = {
		.f = f, .up = mem_array(f->nedges, 1), .raised = mem_array(f->nswitches, 1),
		.nup = mem_array(f->nswitches, sizeof(*o.nup)),
		.led = mem_array(f->nswitches, 1), .below = mem_array(f->nswitches, 1),
		.queue = mem_array(f->nswitches, sizeof(*o.queue)),
	};
	uint8_t *top = mem_array(f->nswitches, 1);
	bool any = false;

	read_ranks(&o, rank);
	if (mark_tops(&o, rank, top))
		for (uint32_t sw = 0; sw < f->nswitches; sw++)
			if (top[sw] && !o.nup[sw])
				any |= settle_top(&o, sw);
	any = any && write_ranks(&o, rank);
	mem_free(o.up);
	mem_free(o.nup);
	mem_free(o.raised);
	mem_free(o.led);
	mem_free(o.below);
	mem_free(o.queue);
	mem_free(top);
	return any;
}
