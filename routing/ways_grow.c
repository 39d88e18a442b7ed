/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/ways_impl.h"
#include <math.h>
#include <string.h>

/*
 * How one way grows, from its home outwards. Of the neighbours of those who are so many hops from
 * home, who may go on as the layers are takes the one with the least load on the way. For who may
 * not, the layers are asked for new turns, if there is time for that.
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

static void
take(struct ways *w, uint32_t sw, uint32_t link, unsigned class)
{
	uint32_t v = w->l.to[link];
	uint8_t was = ways_class(w, sw, w->home);

	w->at[sw] = (uint8_t)(link - w->l.first[sw]);
	w->prior[sw] = WAYS_NONE;
	w->hops[sw] = (uint16_t)(w->hops[v] + 1);
	w->cost[sw] = w->cost[v] + w->into[w->l.back[link]];
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

/* Links of a switch to neighbours that are `hops` from home, those with the least load first;
 * returns how many. */
static unsigned
list_links(const struct ways *w, uint32_t sw, unsigned hops, uint32_t *links)
{
	double cost[WAYS_NONE + 1];
	unsigned len = 0;

	for (uint32_t k = w->l.first[sw]; k < w->l.first[sw + 1]; k++) {
		uint32_t v = w->l.to[k];
		double c = w->cost[v] + w->into[w->l.back[k]];
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

	if (w->loose) {
		uint32_t link = w->turns ? ways_choose(w, sw, links, len) :
			len ? links[0] : LINKS_NONE;

		if (link != LINKS_NONE)
			take(w, sw, link, WAYS_NONE);
		return link != LINKS_NONE;
	}
	for (unsigned i = 0; i < len; i++) {
		unsigned allowed = mask_by(w, links[i]) & mask;

		if (allowed) {
			take(w, sw, links[i], ways_emptiest(w, allowed));
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

/* A switch has a way. Its neighbours without one may go on over it, if layers allow that by now;
 * returns how many may do so over anybody. */
static uint32_t
offer(struct ways *w, uint32_t v, uint32_t tries)
{
	uint32_t first = w->l.first[v], end = w->l.first[v + 1];
	bool all = v == w->home || w->loose;
	const uint16_t *turn = all ? w->any : &w->y.used[w->y.first[first + w->at[v]]];

	for (uint32_t i = first; i < end; i++, turn++) {
		uint32_t sw = w->l.to[i];
		unsigned mask = w->mask[v] & *turn;
		double cost = w->cost[v] + w->into[i];

		if (!(mask & w->may[sw]) || cost >= w->cost[sw])
			continue;
		if (w->cost[sw] == HUGE_VAL)
			w->try[tries++] = sw;
		w->cost[sw] = cost;
		w->mask[sw] = (uint16_t)mask;
		w->at[sw] = w->y.slot[i];
	}
	return tries;
}

/* All neighbours of those who are `hops` from home, order[start..end), take the best link that they
 * are offered. */
static void
offer_all(struct ways *w, uint32_t start, uint32_t end, unsigned hops)
{
	uint32_t tries = 0;

	for (uint32_t i = start; i < end; i++)
		if (!w->apart[w->order[i]] || w->order[i] == w->home)
			tries = offer(w, w->order[i], tries);
	for (uint32_t i = 0; i < tries; i++) {
		uint32_t sw = w->try[i];

		w->hops[sw] = (uint16_t)(hops + 1);
		w->order[w->len++] = sw;
		if (!w->loose && ways_class(w, sw, w->home) == WAYS_NONE)
			ways_set_class(w, sw, w->home,
				       ways_emptiest(w, w->mask[sw] & w->may[sw]));
		w->may[sw] = 0;
	}
}

static bool
take_link(struct ways *w, uint32_t sw, uint32_t link)
{
	unsigned class = ways_class(w, sw, w->home);

	if (w->turns && !ways_turn(w, link))
		return false;
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

/* With new turns; who waits for his old way takes that or none. */
static bool
search(struct ways *w, uint32_t sw, unsigned hops, bool move)
{
	if (w->prior[sw] == WAYS_NONE)
		return find_link(w, sw, hops, move);
	return w->hops[w->l.to[w->l.first[sw] + w->prior[sw]]] == hops &&
		take_link(w, sw, w->l.first[sw] + w->prior[sw]);
}

/* New turns for the neighbours of those who are `hops` from home, order[start..end). */
static void
search_all(struct ways *w, uint32_t start, uint32_t end, unsigned hops, bool move)
{
	for (uint32_t i = start; i < end; i++) {
		uint32_t v = w->order[i];

		for (uint32_t k = w->l.first[v]; k < w->l.first[v + 1]; k++) {
			uint32_t sw = w->l.to[k];

			if (!w->may[sw] || w->seen[sw] == hops + 1)
				continue;
			w->seen[sw] = hops + 1;
			if (search(w, sw, hops, move)) {
				w->may[sw] = 0;
				w->order[w->len++] = sw;
			}
		}
	}
}

/* Who may have a way: the layers that it may be in. */
static void
list_may(struct ways *w)
{
	const uint8_t *class = &w->class[(size_t)w->home * w->n];
	unsigned any = w->loose ? UINT16_MAX : (1u << w->lanes) - 1;

	for (uint32_t sw = 0; sw < w->n; sw++) {
		if (w->apart[sw] || w->hops[sw] != WAYS_FAR)
			w->may[sw] = 0;
		else
			w->may[sw] = (uint16_t)(class[sw] == WAYS_NONE || w->loose ? any :
						 1u << class[sw]);
		if (w->hops[sw] == WAYS_FAR)
			w->cost[sw] = HUGE_VAL;
	}
}

void
ways_sort(struct ways *w)
{
	uint32_t most = 0, *first = w->seen;

	memset(first, 0, (w->n + 2) * sizeof(*first));
	w->nring = 0;
	for (uint32_t sw = 0; sw < w->n; sw++)
		if (w->hops[sw] != WAYS_FAR) {
			first[w->hops[sw] + 1]++;
			most = w->hops[sw] > most ? w->hops[sw] : most;
			w->nring++;
		}
	for (uint32_t h = 0; h < most; h++)
		first[h + 1] += first[h];
	for (uint32_t sw = 0; sw < w->n; sw++)
		if (w->hops[sw] != WAYS_FAR)
			w->ring[first[w->hops[sw]]++] = sw;
}

void
ways_grow(struct ways *w, enum ways_effort effort)
{
	uint32_t start = 0, next = 0;

	list_may(w);
	memset(w->seen, 0, w->n * sizeof(*w->seen));
	w->len = 0;
	for (unsigned hops = 0; start < w->len || next < w->nring; hops++) {
		uint32_t end;

		/* Those who had this many hops before, and those who just got them. */
		while (next < w->nring && w->hops[w->ring[next]] == hops)
			w->order[w->len++] = w->ring[next++];
		end = w->len;
		if (effort == WAYS_ALLOWED)
			offer_all(w, start, end, hops);
		else
			search_all(w, start, end, hops, effort == WAYS_MOVE);
		start = end;
	}
}
