/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/ways_impl.h"
#include <limits.h>
#include <string.h>
#include "sm/base/mem.h"

/*
 * Ways in layers, whose lanes are by turn (turns.h). Those of the first layer are the shortest. In
 * each further layer some switches are sent around what they took to the same home in the layers
 * before, by ways of hardly more links; the others, which take the shortest again, are who they are
 * sent by. Who goes around changes from layer to layer and from home to home, so that each pair of
 * switches has its share. (The idea of layers of almost shortest paths is that of FatPaths: Besta
 * and others, SC 2020; the choice of paths and the lanes are not.)
 */
#define DIRECT_EVERY 3u		/* of so many layers behind the first, a pair is direct in one */
#define TRIES 8u		/* links that a switch tries on from one distance */

/* The link that goes on from the far end of one; LINKS_NONE: that is home. */
static uint32_t
next_of(const struct ways *w, uint32_t link)
{
	uint32_t v = w->l.to[link];

	return v == w->home ? LINKS_NONE : w->l.first[v] + w->at[v];
}

bool
ways_turn(struct ways *w, uint32_t link)
{
	uint32_t out = next_of(w, link), then = out == LINKS_NONE ? out : next_of(w, out);

	return then == LINKS_NONE || turns_enter(w->turns, link, out, then);
}

static unsigned
cost_of(const struct ways *w, uint32_t link)
{
	uint32_t out = next_of(w, link), then = out == LINKS_NONE ? out : next_of(w, out);

	return then == LINKS_NONE ? 0 : turns_cost(w->turns, link, out, then);
}

/* ---- What earlier layers take ---- */

static unsigned
ranks_of(const struct ways *w)
{
	return w->variants / w->layers;
}

/* Mark the links of a switch's ways to the present home in the layers before; returns how many
 * layers these are. */
static unsigned
mark_earlier(struct ways *w, uint32_t sw)
{
	uint32_t ranks = ranks_of(w), way = (uint32_t)((w->at - w->next) / w->n);
	unsigned layer = way % w->variants / ranks;

	w->search++;
	for (unsigned y = 1; y <= layer; y++)
		for (uint32_t at = sw, link; at != w->home; at = w->l.to[link]) {
			link = ways_link(w, way - y * ranks, at);
			if (link == LINKS_NONE)
				break;
			w->mark[link] = w->search;
		}
	return layer;
}

/* Marked links on the present way by this one. */
static unsigned
count_marked(const struct ways *w, uint32_t link)
{
	unsigned n = w->mark[link] == w->search;

	for (uint32_t v = w->l.to[link]; v != w->home; v = w->l.to[link]) {
		link = w->l.first[v] + w->at[v];
		n += w->mark[link] == w->search;
	}
	return n;
}

/* ---- Who goes around ---- */

/* The same for the same two switches, whatever else there is. */
static unsigned
share_of(const struct ways *w, uint32_t sw)
{
	uint64_t a = fabric_switch_node(w->l.f, sw)->guid;
	uint64_t b = fabric_switch_node(w->l.f, w->home)->guid;
	uint64_t mix = (a * 3 + b) * UINT64_C(0x9e3779b97f4a7c15);

	mix ^= mix >> 29;
	mix *= UINT64_C(0xbf58476d1ce4e5b9);
	return (unsigned)(mix >> 33);
}

static bool
goes_around(const struct ways *w, uint32_t sw, unsigned layer)
{
	return w->around && layer && (share_of(w, sw) + layer) % DIRECT_EVERY;
}

/* Ways around have one link more than the longest of the first layer; two neighbours, to whom even
 * the next best way may be far, two. */
static bool
is_too_long(const struct ways *w, uint32_t sw, unsigned hops)
{
	if (!w->bounded || hops <= w->longest + 1)
		return false;
	return hops > w->longest + 2 || (w->around && links_between(&w->l, sw, w->home) ==
					 LINKS_NONE);
}

uint32_t
ways_choose(struct ways *w, uint32_t sw, const uint32_t *links, unsigned len)
{
	unsigned layer, cost[WAYS_NONE + 1], tries = 0;
	bool around;

	if (!len || is_too_long(w, sw, w->hops[w->l.to[links[0]]] + 1u))
		return LINKS_NONE;
	layer = mark_earlier(w, sw);
	around = goes_around(w, sw, layer);
	for (unsigned i = 0; i < len; i++) {
		unsigned shared = layer ? count_marked(w, links[i]) : 0;

		cost[i] = around && shared ? UINT_MAX : shared * 4 + cost_of(w, links[i]);
	}
	while (tries < TRIES) {
		unsigned best = 0;

		for (unsigned k = 1; k < len; k++)
			best = cost[k] < cost[best] ? k : best;
		if (cost[best] == UINT_MAX)
			break;
		if (ways_turn(w, links[best]))
			return links[best];
		cost[best] = UINT_MAX;
		tries++;
	}
	return LINKS_NONE;
}

void
ways_grow_around(struct ways *w, uint32_t way)
{
	if (ways_in_first(w, way))
		return;
	w->bounded = w->around = true;
	ways_sort(w);
	ways_grow(w, WAYS_SEARCH);
	w->around = false;
	if (!ways_complete(w)) {
		ways_sort(w);
		ways_grow(w, WAYS_SEARCH);
	}
	w->bounded = false;
}

/* ---- Who is left ---- */

bool
ways_repeat(struct ways *w, uint32_t way)
{
	uint32_t ranks = ranks_of(w);

	if (ways_in_first(w, way))
		return false;
	memcpy(w->at, &w->next[(size_t)(way - way % w->variants + way % ranks) * w->n], w->n);
	return true;
}

void
ways_measure(struct ways *w, uint32_t way)
{
	for (uint32_t sw = 0; sw < w->n && ways_in_first(w, way); sw++)
		if (w->hops[sw] != WAYS_FAR && w->hops[sw] > w->longest)
			w->longest = w->hops[sw];
}

/* ---- All ---- */

/* Multicast goes by the ways to some switch, there and back, on whatever lane it comes to each:
 * that closes no circle by the spanning tree, for the turns of this are on the highest lane. */
void
ways_fix_tree(struct ways *w)
{
	bool *known = mem_array(w->n + 1, sizeof(*known));

	for (uint32_t in = 0; in < w->l.len; in++) {
		uint32_t sw = w->l.to[in];

		for (uint32_t out = w->l.first[sw]; w->tree[in] && out < w->l.first[sw + 1]; out++)
			if (w->tree[out])
				turns_fix(w->turns, in, out);
	}
	for (uint32_t sw = 0; sw < w->n; sw++)
		if (!known[sw] && !w->apart[sw])
			ways_take_tree(w, sw, known);
	mem_free(known);
}

void
ways_find_around(struct ways *w, const struct ways_kept *kept)
{
	uint32_t nways = w->n * w->variants;

	w->loose = true;
	w->lanes = w->y.len;
	w->turns = turns_new(&w->y);
	if (kept) {
		ways_find_left(w, kept);
	} else {
		ways_allow_tree(w, NULL);
		ways_fix_tree(w);
		for (uint32_t i = 0; i < nways; i++)
			if (w->heads[ways_nth(w, i)] && !w->done[ways_nth(w, i)])
				ways_make(w, ways_nth(w, i));
	}
	turns_settle(w->turns);
	memset(w->class, 0, (size_t)w->n * w->n);
}
