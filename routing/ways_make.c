/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/ways_impl.h"
#include <string.h>
#include "sm/base/mem.h"

/*
 * One way, to one home, as a whole: what becomes of who finds none, what it loads links with, and
 * whether another takes its place.
 */

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
		if (!w->loose && ways_class(w, sw, w->home) == WAYS_NONE)
			ways_set_class(w, sw, w->home, ways_emptiest(w, (1u << w->lanes) - 1));
	}
	return any;
}

/* Is what a switch that did not fall waits for allowed, now that others fell? */
static bool
stands(struct ways *w, uint32_t sw)
{
	if (w->turns)
		return ways_turn(w, w->l.first[sw] + w->at[sw]);
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

/* Of a link: the cube of what crosses it, in pairs of hosts, so that one link with much load costs
 * more than several with little. */
static double
cost_of(uint64_t load)
{
	double pairs = (double)(load / (WAYS_HOST * WAYS_HOST));

	return pairs * pairs * pairs;
}

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

/* The same, if it has just grown. */
static uint64_t
count_grown(struct ways *w)
{
	uint64_t sum = 0;

	for (uint32_t sw = 0; sw < w->n; sw++)
		w->flow[sw] = w->hosts[sw];
	for (uint32_t i = w->len; i-- > 1;) {
		uint32_t sw = w->order[i];

		w->flow[w->l.to[w->l.first[sw] + w->at[sw]]] += w->flow[sw];
		sum += w->flow[sw];
	}
	return sum;
}

void
ways_load(struct ways *w, uint32_t way, int sign)
{
	for (uint32_t sw = 0; sw < w->n; sw++) {
		uint32_t link = w->l.first[sw] + w->at[sw];

		if (w->at[sw] == WAYS_NONE)
			continue;
		w->load[link] += w->flow[sw] * w->heads[way] * (uint64_t)(int64_t)sign;
		w->into[w->l.back[link]] = cost_of(w->load[link]);
	}
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
	memset(w->hops, 0xff, w->n * sizeof(*w->hops));
	memset(w->prior, WAYS_NONE, w->n);
	w->nmoves = 0;
	w->hops[w->home] = 0;
	w->cost[w->home] = 0;
	w->mask[w->home] = (uint16_t)((1u << w->y.len) - 1);
	w->ring[0] = w->home;
	w->nring = 1;
}

void
ways_finish(struct ways *w, uint32_t way)
{
	if (w->turns)
		ways_grow_around(w, way);
	if (!ways_complete(w) && ways_in_first(w, way)) {
		ways_sort(w);
		ways_grow(w, WAYS_SEARCH);
	}
	if (w->turns)
		ways_measure(w, way);
	if (!ways_complete(w) && !ways_repeat(w, way))
		fall_back(w);
	ways_count(w);
	ways_load(w, way, 1);
	w->done[way] = true;
}

void
ways_take_tree(struct ways *w, uint32_t home, bool *known)
{
	uint32_t way = home * w->variants;

	ways_open(w, way);
	list_branches(w);
	known[home] = true;
	for (uint32_t sw = 0; sw < w->n; sw++)
		if (w->branch[sw] != LINKS_NONE && !w->apart[sw]) {
			w->at[sw] = (uint8_t)(w->branch[sw] - w->l.first[sw]);
			known[sw] = true;
		}
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

/* Has everybody a way who has one on another? */
static bool
reaches(const struct ways *w, const uint8_t *other)
{
	for (uint32_t sw = 0; sw < w->n; sw++)
		if (w->at[sw] == WAYS_NONE && other[sw] != WAYS_NONE)
			return false;
	return true;
}

void
ways_add(struct ways *w, uint32_t way)
{
	const uint8_t *first = &w->next[(size_t)(way - way % w->variants) * w->n];

	ways_open(w, way);
	ways_grow(w, WAYS_ALLOWED);
	if (reaches(w, first)) {
		count_grown(w);
	} else {
		memcpy(w->at, first, w->n);
		ways_count(w);
	}
	ways_load(w, way, 1);
	w->done[way] = true;
}

void
ways_mend(struct ways *w, uint32_t way, enum ways_effort effort)
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
	ways_grow(w, effort);
	better = reaches(w, w->was);
	if (better) {
		len = count_grown(w);
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
