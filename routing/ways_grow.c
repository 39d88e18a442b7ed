/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/ways_impl.h"
#include <string.h>
#include "sm/base/mem.h"

/*
 * One way, to one home: how it grows, what becomes of who finds none, and what it loads links with.
 */

/* ---- Links ---- */

/* The layers that allow the way from the start of a link. */
static unsigned
mask_by(const struct ways *w, uint32_t link)
{
	uint32_t v = w->l.to[link];

	return v == w->home ? (1u << w->y.len) - 1 :
	       w->mask[v] & layers_of(&w->y, link, w->l.first[v] + w->at[v]);
}

/* The way from behind a link is allowed in a layer from now on. */
static void
allow(struct ways *w, uint32_t link, unsigned layer)
{
	for (uint32_t sw = w->l.to[link]; sw != w->home; sw = w->l.to[link]) {
		w->mask[sw] |= (uint16_t)(1u << layer);
		link = w->l.first[sw] + w->at[sw];
	}
}

/* Of a link: the cube of what crosses it, in pairs of hosts, so that one link with much load costs
 * more than several with little. */
static double
cost_of(const struct ways *w, uint32_t link)
{
	double pairs = (double)(w->load[link] / (WAYS_HOST * WAYS_HOST));

	return pairs * pairs * pairs;
}

static void
take(struct ways *w, uint32_t sw, uint32_t link, unsigned class)
{
	uint32_t v = w->l.to[link];
	uint8_t was = ways_class(w, sw, w->home);

	w->at[sw] = (uint8_t)(link - w->l.first[sw]);
	w->prior[sw] = WAYS_NONE;
	w->hops[sw] = (uint16_t)(w->hops[v] + 1);
	w->cost[sw] = w->cost[v] + cost_of(w, link);
	w->mask[sw] = (uint16_t)mask_by(w, link);
	if (was == class || class == WAYS_NONE)
		return;
	if (was != WAYS_NONE) {
		w->moved[w->nmoves] = sw;
		w->moved_from[w->nmoves++] = was;
	}
	ways_set_class(w, sw, w->home, class);
}

/* The way by a link in a layer, with turns that are new to it. */
static bool
take_new(struct ways *w, uint32_t sw, uint32_t link, unsigned layer)
{
	if (!ways_may_enter(w, w->at, w->home, link, layer))
		return false;
	layers_begin(&w->y);
	if (!ways_enter(w, w->at, w->home, link, layer)) {
		layers_undo(&w->y);
		return false;
	}
	allow(w, link, layer);
	take(w, sw, link, layer);
	return true;
}

/* The pair moves to another class, with all of its ways that were made. */
static bool
take_moved(struct ways *w, uint32_t sw, uint32_t link, unsigned layer)
{
	if (!ways_may_enter(w, w->at, w->home, link, layer) ||
	    !ways_may_enter_done(w, sw, w->home, layer) ||
	    !ways_may_enter_done(w, w->home, sw, layer))
		return false;
	layers_begin(&w->y);
	if (!ways_enter(w, w->at, w->home, link, layer) ||
	    !ways_enter_done(w, sw, w->home, layer) || !ways_enter_done(w, w->home, sw, layer)) {
		layers_undo(&w->y);
		return false;
	}
	allow(w, link, layer);
	take(w, sw, link, layer);
	return true;
}

/* Of some layers the one with the fewest pairs. */
static unsigned
emptiest(const struct ways *w, unsigned mask)
{
	unsigned best = LAYERS_MAX;

	for (unsigned k = 0; k < w->y.len; k++)
		if (mask >> k & 1 && (best == LAYERS_MAX || w->pairs[k] < w->pairs[best]))
			best = k;
	return best;
}

/* Links of a switch to neighbours that are `hops` from home, those with the least load first;
 * returns how many. */
static unsigned
list_links(const struct ways *w, uint32_t sw, unsigned hops, uint32_t *links)
{
	double cost[WAYS_NONE + 1];
	unsigned len = 0;

	for (uint32_t k = w->l.first[sw]; k < w->l.first[sw + 1]; k++) {
		uint32_t v = w->l.to[k];
		double c = w->cost[v] + cost_of(w, k);
		unsigned i;

		if (w->hops[v] != hops || (w->apart[v] && v != w->home))
			continue;
		for (i = len++; i > 0 && cost[i - 1] > c; i--) {
			cost[i] = cost[i - 1];
			links[i] = links[i - 1];
		}
		cost[i] = c;
		links[i] = k;
	}
	return len;
}

/* A way for a switch over a neighbour that is `hops` from home; `move`: its class may change. */
static bool
find_link(struct ways *w, uint32_t sw, unsigned hops, bool move)
{
	uint32_t links[WAYS_NONE + 1];
	unsigned len = list_links(w, sw, hops, links), class = ways_class(w, sw, w->home);
	unsigned mask = class == WAYS_NONE ? (1u << w->lanes) - 1 : 1u << class;

	if (w->loose && len) {
		take(w, sw, links[0], WAYS_NONE);
		return true;
	}
	for (unsigned i = 0; i < len; i++) {
		unsigned allowed = mask_by(w, links[i]) & mask;

		if (allowed) {
			take(w, sw, links[i], emptiest(w, allowed));
			return true;
		}
		for (unsigned k = 0; k < w->y.len; k++)
			if (mask >> k & 1 && take_new(w, sw, links[i], k))
				return true;
	}
	for (unsigned i = 0; move && w->hosts[sw] >= WAYS_HOST && i < len; i++)
		for (unsigned k = 0; k < w->lanes; k++)
			if (k != class && take_moved(w, sw, links[i], k))
				return true;
	return false;
}

/* ---- Growing ---- */

/* Neighbours without a way of the switches that are `hops` from home, each once. */
static uint32_t
list_tries(struct ways *w, uint32_t len, const uint32_t *ring, uint32_t level)
{
	uint32_t tries = 0;

	for (uint32_t i = 0; i < len; i++) {
		uint32_t v = ring[i];

		if (w->apart[v] && v != w->home)
			continue;
		for (uint32_t k = w->l.first[v]; k < w->l.first[v + 1]; k++) {
			uint32_t sw = w->l.to[k];

			if (w->hops[sw] != WAYS_FAR || w->apart[sw] || w->seen[sw] == level)
				continue;
			/* Who had a way that broke further on goes on waiting for it. */
			if (w->prior[sw] != WAYS_NONE &&
			    w->l.to[w->l.first[sw] + w->prior[sw]] != v)
				continue;
			w->seen[sw] = level;
			w->try[tries++] = sw;
		}
	}
	return tries;
}

static bool
take_link(struct ways *w, uint32_t sw, uint32_t link)
{
	unsigned class = ways_class(w, sw, w->home);

	if (w->loose) {
		take(w, sw, link, WAYS_NONE);
		return true;
	}
	if (class == WAYS_NONE)
		return false;
	if (mask_by(w, link) >> class & 1) {
		take(w, sw, link, class);
		return true;
	}
	return take_new(w, sw, link, class);
}

bool
ways_stay(struct ways *w, uint32_t sw)
{
	uint32_t link = w->l.first[sw] + w->at[sw];

	return w->hops[w->l.to[link]] != WAYS_FAR && take_link(w, sw, link);
}

/* Who waits for his old way takes that or none. */
static bool
try_switch(struct ways *w, uint32_t sw, unsigned hops, bool move)
{
	if (w->prior[sw] == WAYS_NONE)
		return find_link(w, sw, hops, move);
	return take_link(w, sw, w->l.first[sw] + w->prior[sw]);
}

/* Who has a way, by hops: into ring[], the first of each number of hops into seat[]. */
uint32_t
ways_sort(struct ways *w, uint32_t *len)
{
	uint32_t most = 0;

	*len = 0;
	memset(w->seat, 0, (w->n + 2) * sizeof(*w->seat));
	for (uint32_t sw = 0; sw < w->n; sw++)
		if (w->hops[sw] != WAYS_FAR) {
			w->seat[w->hops[sw] + 1]++;
			most = w->hops[sw] > most ? w->hops[sw] : most;
		}
	for (uint32_t h = 0; h <= most; h++)
		w->seat[h + 1] += w->seat[h];
	for (uint32_t sw = 0; sw < w->n; sw++)
		if (w->hops[sw] != WAYS_FAR) {
			w->ring[w->seat[w->hops[sw]]++] = sw;
			(*len)++;
		}
	for (uint32_t h = most + 1; h > 0; h--)
		w->seat[h] = w->seat[h - 1];
	w->seat[0] = 0;
	return most;
}

void
ways_grow(struct ways *w, bool move)
{
	uint32_t len, most = ways_sort(w, &len), *now, *next;

	now = mem_array(w->n + 1, sizeof(*now));
	next = mem_array(w->n + 1, sizeof(*next));
	memset(w->seen, 0, w->n * sizeof(*w->seen));
	len = 0;
	for (uint32_t h = 0; h <= most || len; h++) {
		uint32_t tries, nnext = 0, *swap;

		/* Those who had this many hops before, and those who just got them. */
		for (uint32_t i = w->seat[h]; h <= most && i < w->seat[h + 1]; i++)
			now[len++] = w->ring[i];
		tries = list_tries(w, len, now, h + 1);
		for (uint32_t i = 0; i < tries; i++) {
			uint32_t sw = w->try[i];

			if (!try_switch(w, sw, h, move))
				continue;
			next[nnext++] = sw;
		}
		swap = now;
		now = next;
		next = swap;
		len = nnext;
	}
	mem_free(now);
	mem_free(next);
}

/* ---- Falling back on the tree ---- */

/* The link of each switch towards home on the spanning tree. */
static void
list_branches(struct ways *w)
{
	uint32_t head = 0, tail = 0, *queue = w->ring;

	for (uint32_t sw = 0; sw < w->n; sw++)
		w->branch[sw] = LINKS_NONE;
	queue[tail++] = w->home;
	while (head < tail) {
		uint32_t v = queue[head++];

		for (uint32_t k = w->l.first[v]; k < w->l.first[v + 1]; k++) {
			uint32_t sw = w->l.to[k];

			if (!w->tree[k] || sw == w->home || w->branch[sw] != LINKS_NONE)
				continue;
			w->branch[sw] = w->l.back[k];
			queue[tail++] = sw;
		}
	}
}

/* The way of a switch is the tree from here on; `fallen` marks whose is. */
static bool
fall(struct ways *w, uint32_t sw, bool *fallen)
{
	bool any = false;

	for (; sw != w->home && w->branch[sw] != LINKS_NONE && !fallen[sw];
	     sw = w->l.to[w->branch[sw]]) {
		fallen[sw] = any = true;
		w->at[sw] = (uint8_t)(w->branch[sw] - w->l.first[sw]);
		w->nfallen++;
		if (ways_class(w, sw, w->home) == WAYS_NONE)
			ways_set_class(w, sw, w->home, emptiest(w, (1u << w->lanes) - 1));
	}
	return any;
}

/* Is what a switch that did not fall waits for allowed, now that others fell? */
static bool
stands(struct ways *w, uint32_t sw)
{
	layers_begin(&w->y);
	if (ways_enter(w, w->at, w->home, w->l.first[sw] + w->at[sw],
		      ways_class(w, sw, w->home)))
		return true;
	layers_undo(&w->y);
	return false;
}

static void
fall_back(struct ways *w)
{
	bool *fallen = mem_array(w->n + 1, sizeof(*fallen)), any = false;

	list_branches(w);
	for (uint32_t sw = 0; sw < w->n; sw++)
		if (w->hops[sw] == WAYS_FAR && !w->apart[sw] && fall(w, sw, fallen))
			any = true;
	while (any) {
		any = false;
		for (uint32_t sw = 0; sw < w->n; sw++)
			if (sw != w->home && w->at[sw] != WAYS_NONE && !fallen[sw] &&
			    !stands(w, sw) && fall(w, sw, fallen))
				any = true;
	}
	mem_free(fallen);
}

bool
ways_complete(const struct ways *w)
{
	for (uint32_t sw = 0; sw < w->n; sw++)
		if (w->hops[sw] == WAYS_FAR && !w->apart[sw])
			return false;
	return true;
}

/* ---- Loads ---- */

/* What all send to the home of the present way, by the switch that it passes; returns the sum over
 * all links, so what the way is long. */
uint64_t
ways_count(struct ways *w)
{
	uint32_t *behind = w->seen, *ready = w->try, len = 0;
	uint64_t sum = 0;

	memset(behind, 0, w->n * sizeof(*behind));
	for (uint32_t sw = 0; sw < w->n; sw++) {
		w->flow[sw] = w->hosts[sw];
		if (w->at[sw] != WAYS_NONE)
			behind[w->l.to[w->l.first[sw] + w->at[sw]]]++;
	}
	for (uint32_t sw = 0; sw < w->n; sw++)
		if (!behind[sw] && w->at[sw] != WAYS_NONE)
			ready[len++] = sw;
	while (len) {
		uint32_t sw = ready[--len], v = w->l.to[w->l.first[sw] + w->at[sw]];

		sum += w->flow[sw];
		w->flow[v] += w->flow[sw];
		if (!--behind[v] && w->at[v] != WAYS_NONE)
			ready[len++] = v;
	}
	return sum;
}

void
ways_load(struct ways *w, uint32_t way, int sign)
{
	for (uint32_t sw = 0; sw < w->n; sw++)
		if (w->at[sw] != WAYS_NONE)
			w->load[w->l.first[sw] + w->at[sw]] +=
				w->flow[sw] * w->heads[way] * (uint64_t)(int64_t)sign;
}

/* How much the present way adds to the squares of all loads. */
static double
squares(const struct ways *w, uint32_t way)
{
	double sum = 0;

	for (uint32_t sw = 0; sw < w->n; sw++)
		if (w->at[sw] != WAYS_NONE) {
			double flow = (double)(w->flow[sw] * w->heads[way]);
			double load = (double)w->load[w->l.first[sw] + w->at[sw]];

			sum += flow * (2 * load + flow);
		}
	return sum;
}

/* ---- The whole way ---- */

void
ways_open(struct ways *w, uint32_t way)
{
	w->home = way / w->variants;
	w->at = &w->next[(size_t)way * w->n];
	for (uint32_t sw = 0; sw < w->n; sw++) {
		w->hops[sw] = WAYS_FAR;
		w->prior[sw] = WAYS_NONE;
	}
	w->nmoves = 0;
	w->hops[w->home] = 0;
	w->cost[w->home] = 0;
	w->mask[w->home] = (uint16_t)((1u << w->y.len) - 1);
}

void
ways_finish(struct ways *w, uint32_t way)
{
	if (!ways_complete(w))
		ways_grow(w, false);
	if (!ways_complete(w))
		fall_back(w);
	ways_count(w);
	ways_load(w, way, 1);
	w->done[way] = true;
}

void
ways_make(struct ways *w, uint32_t way)
{
	ways_open(w, way);
	ways_finish(w, way);
}

void
ways_mend(struct ways *w, uint32_t way)
{
	uint64_t len, was_len;
	double was_squares;
	bool better;

	w->home = way / w->variants;
	w->at = &w->next[(size_t)way * w->n];
	was_len = ways_count(w);
	ways_load(w, way, -1);
	was_squares = squares(w, way);
	memcpy(w->was, w->at, w->n);
	memset(w->at, WAYS_NONE, w->n);
	w->done[way] = false;
	ways_open(w, way);
	ways_grow(w, true);
	better = ways_complete(w);
	if (better) {
		len = ways_count(w);
		better = len < was_len || (len == was_len && squares(w, way) < was_squares);
	}
	if (!better) {
		memcpy(w->at, w->was, w->n);
		while (w->nmoves > 0) {
			w->nmoves--;
			ways_set_class(w, w->moved[w->nmoves], w->home, w->moved_from[w->nmoves]);
		}
		ways_count(w);
	}
	ways_load(w, way, 1);
	w->done[way] = true;
}
