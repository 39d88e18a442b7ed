/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/layers.h"
#include <stdlib.h>
#include <string.h>
#include "sm/base/mem.h"

/*
 * Each layer keeps a topological order of its links, a list with labels, mended where a new turn
 * goes against it. Two searches take turns then: for what can be reached from the far end of the
 * turn, and for what its near end can be reached from, each as far as the order leaves anything
 * between the two. Where they meet there is a circle. Whichever comes to its end first says what
 * moves: all that it found goes behind the near end, or before the far end. So what a turn costs is
 * the smaller of the two. What was once refused with nothing else under trial is refused for good,
 * for turns are only ever added.
 */
void
layers_init(struct layers *y, const struct links *l, unsigned len)
{
	uint32_t turns = 0, *key = mem_array(l->len + 1, sizeof(*key));

	*y = (struct layers){
		.l = l, .len = len, .first = mem_array(l->len + 1, sizeof(uint32_t)),
		.slot = mem_array(l->len + 1, 1),
		.seat = mem_array((size_t)len * (l->len + 1), sizeof(struct layers_seat)),
		.mark = mem_array(l->len + 1, sizeof(uint32_t)),
		.ahead = { .found = mem_array(l->len + 1, sizeof(uint32_t)) },
		.behind = { .found = mem_array(l->len + 1, sizeof(uint32_t)) },
	};
	for (uint32_t i = 0; i < l->len; i++) {
		y->first[i] = turns;
		turns += l->first[l->from[i] + 1] - l->first[l->from[i]];
		y->slot[i] = (uint8_t)(l->back[i] - l->first[l->to[i]]);
	}
	y->first[l->len] = turns;
	y->used = mem_array(turns + 1, sizeof(*y->used));
	y->barred = mem_array(turns + 1, sizeof(*y->barred));
	for (unsigned k = 0; k < len; k++)
		layers_arrange(y, k, key);
	mem_free(key);
}

void
layers_free(struct layers *y)
{
	mem_free(y->first);
	mem_free(y->slot);
	mem_free(y->used);
	mem_free(y->barred);
	mem_free(y->seat);
	mem_free(y->log);
	mem_free(y->mark);
	mem_free(y->ahead.found);
	mem_free(y->behind.found);
}

/* ---- The order of one layer ---- */

static struct layers_seat *
seats_of(const struct layers *y, unsigned layer)
{
	return &y->seat[(size_t)layer * (y->l->len + 1)];
}

/* Labels far apart; that of the end, which is before all and after all, is 0. */
static void
spread_labels(struct layers_seat *seat, uint32_t end)
{
	uint64_t step = UINT64_MAX / (end + 1u), label = 0;

	seat[end].label = 0;
	for (uint32_t i = seat[end].after; i != end; i = seat[i].after)
		seat[i].label = label += step;
}

void
layers_arrange(struct layers *y, unsigned layer, const uint32_t *key)
{
	struct layers_seat *seat = seats_of(y, layer);
	uint32_t most = 0, *first, *order = y->ahead.found, end = y->l->len, last = end;

	for (uint32_t i = 0; i < end; i++)
		most = key[i] > most ? key[i] : most;
	first = mem_array((size_t)most + 2, sizeof(*first));
	for (uint32_t i = 0; i < end; i++)
		first[key[i] + 1]++;
	for (uint32_t i = 0; i < most; i++)
		first[i + 1] += first[i];
	for (uint32_t i = 0; i < end; i++)
		order[first[key[i]]++] = i;
	for (uint32_t i = 0; i < end; i++) {
		seat[last].after = order[i];
		seat[order[i]].before = last;
		last = order[i];
	}
	seat[last].after = end;
	seat[end].before = last;
	spread_labels(seat, end);
	mem_free(first);
}

void
layers_places(const struct layers *y, unsigned layer, uint32_t *place)
{
	const struct layers_seat *seat = seats_of(y, layer);
	uint32_t end = y->l->len, n = 0;

	for (uint32_t i = seat[end].after; i != end; i = seat[i].after)
		place[i] = n++;
}

/* ---- Where a turn goes against it ---- */

static void
search_open(struct layers *y, struct layers_search *s, uint32_t link, uint32_t number)
{
	s->found[0] = link;
	s->len = 1;
	s->done = 0;
	y->mark[link] = number;
}

/* Go on from one more link; false if the other search, number `other`, has been there. */
static bool
go_ahead(struct layers *y, unsigned layer, const struct layers_seat *seat, uint64_t last,
	 uint32_t other)
{
	const struct links *l = y->l;
	uint32_t at = y->ahead.found[y->ahead.done++], sw = l->to[at], slot = y->slot[at];
	uint32_t degree = l->first[sw + 1] - l->first[sw];
	const uint16_t *used;

	if (!degree)
		return true;
	used = &y->used[y->first[l->first[sw]] + slot];
	for (uint32_t out = l->first[sw]; out < l->first[sw + 1]; out++, used += degree) {
		if (!(*used >> layer & 1) || seat[out].label > last || y->mark[out] == other + 1)
			continue;
		if (y->mark[out] == other)
			return false;
		y->mark[out] = other + 1;
		y->ahead.found[y->ahead.len++] = out;
	}
	return true;
}

static bool
go_back(struct layers *y, unsigned layer, const struct layers_seat *seat, uint64_t first,
	uint32_t other)
{
	const struct links *l = y->l;
	uint32_t at = y->behind.found[y->behind.done++], sw = l->from[at];
	const uint16_t *used = &y->used[y->first[at]];

	for (uint32_t k = l->first[sw]; k < l->first[sw + 1]; k++, used++) {
		uint32_t in = l->back[k];

		if (!(*used >> layer & 1) || seat[in].label < first || y->mark[in] == other - 1)
			continue;
		if (y->mark[in] == other)
			return false;
		y->mark[in] = other - 1;
		y->behind.found[y->behind.len++] = in;
	}
	return true;
}

struct labelled {
	uint64_t label;			/* in the order */
	uint32_t link;			/* whose */
};

static int
by_label(const void *a, const void *b)
{
	const struct labelled *x = a, *y = b;

	return x->label < y->label ? -1 : x->label > y->label;
}

/* Into the order in which they are. */
static void
sort_found(const struct layers_seat *seat, struct layers_search *s)
{
	struct labelled few[64], *all = few;

	if (s->len < 2)
		return;
	if (s->len > 64)
		all = mem_array(s->len, sizeof(*all));
	for (uint32_t i = 0; i < s->len; i++)
		all[i] = (struct labelled){ seat[s->found[i]].label, s->found[i] };
	qsort(all, s->len, sizeof(*all), by_label);
	for (uint32_t i = 0; i < s->len; i++)
		s->found[i] = all[i].link;
	if (all != few)
		mem_free(all);
}

/* What was found moves behind a link, all in the order in which it was. */
static void
move_behind(struct layers_seat *seat, struct layers_search *s, uint32_t link, uint32_t end)
{
	uint64_t step, label;
	uint32_t next;

	sort_found(seat, s);
	for (uint32_t i = 0; i < s->len; i++) {
		const struct layers_seat *x = &seat[s->found[i]];

		seat[x->before].after = x->after;
		seat[x->after].before = x->before;
	}
	next = seat[link].after;
	label = seat[link].label;
	step = ((next == end ? UINT64_MAX : seat[next].label) - label) / (s->len + 1u);
	for (uint32_t i = 0; i < s->len; i++) {
		uint32_t x = s->found[i];

		seat[link].after = x;
		seat[x] = (struct layers_seat){ label += step, link, next };
		link = x;
	}
	seat[next].before = link;
	if (!step)
		spread_labels(seat, end);
}

/* Make room in the order for a turn; false if there is none. */
static bool
make_way(struct layers *y, unsigned layer, uint32_t in, uint32_t out)
{
	struct layers_seat *seat = seats_of(y, layer);
	uint64_t first = seat[out].label, last = seat[in].label;

	if (last < first)
		return true;
	/* What is found ahead gets the number y->search, what is found behind the one before it. */
	y->search += 2;
	search_open(y, &y->ahead, out, y->search);
	search_open(y, &y->behind, in, y->search - 1);
	while (y->ahead.done < y->ahead.len && y->behind.done < y->behind.len)
		if (!go_ahead(y, layer, seat, last, y->search - 1) ||
		    !go_back(y, layer, seat, first, y->search))
			return false;
	if (y->ahead.done == y->ahead.len)
		move_behind(seat, &y->ahead, in, y->l->len);
	else
		move_behind(seat, &y->behind, seat[out].before, y->l->len);
	return true;
}

/* ---- Turns ---- */

void
layers_begin(struct layers *y)
{
	y->nlog = 0;
}

bool
layers_enter(struct layers *y, unsigned layer, uint32_t in, uint32_t out)
{
	uint32_t turn = layers_turn(y, in, out);
	uint16_t bit = (uint16_t)(1u << layer);

	if (y->used[turn] & bit)
		return true;
	if (y->barred[turn] & bit)
		return false;
	if (!make_way(y, layer, in, out)) {
		if (!y->nlog)
			y->barred[turn] |= bit;
		return false;
	}
	if (y->nlog == y->room) {
		y->room = y->room * 2 + 64;
		y->log = mem_realloc(y->log, y->room, sizeof(*y->log));
	}
	y->log[y->nlog++] = (struct layers_turn){ in, out, layer };
	y->used[turn] |= bit;
	return true;
}

void
layers_undo(struct layers *y)
{
	while (y->nlog > 0) {
		const struct layers_turn *t = &y->log[--y->nlog];

		y->used[layers_turn(y, t->in, t->out)] &= (uint16_t)~(1u << t->layer);
	}
}

void
layers_fill(struct layers *y)
{
	const struct links *l = y->l;

	for (unsigned k = 0; k < y->len; k++) {
		const struct layers_seat *seat = seats_of(y, k);
		uint16_t bit = (uint16_t)(1u << k), *used = y->used;

		for (uint32_t out = 0; out < l->len; out++) {
			uint32_t sw = l->from[out];

			for (uint32_t i = l->first[sw]; i < l->first[sw + 1]; i++, used++)
				if (seat[l->back[i]].label < seat[out].label)
					*used |= bit;
		}
	}
}
