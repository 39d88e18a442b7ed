/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/layers.h"
#include "sm/base/mem.h"

/*
 * Each layer keeps a topological order of its links, mended where a new turn goes against it: what
 * can be reached from its far end, and has a place before its near end, moves behind that. What was
 * once refused with nothing else under trial is refused for good, for turns are only ever added.
 */
void
layers_init(struct layers *y, const struct links *l, unsigned len)
{
	uint32_t turns = 0;

	*y = (struct layers){
		.l = l, .len = len, .first = mem_array(l->len + 1, sizeof(uint32_t)),
		.place = mem_array((size_t)len * l->len + 1, sizeof(uint32_t)),
		.order = mem_array((size_t)len * l->len + 1, sizeof(uint32_t)),
		.mark = mem_array(l->len + 1, sizeof(uint32_t)),
		.after = mem_array(l->len + 1, sizeof(uint32_t)),
	};
	for (uint32_t i = 0; i < l->len; i++) {
		y->first[i] = turns;
		turns += l->first[l->to[i] + 1] - l->first[l->to[i]];
		for (unsigned k = 0; k < len; k++)
			y->place[(size_t)k * l->len + i] = y->order[(size_t)k * l->len + i] = i;
	}
	y->used = mem_array(turns + 1, sizeof(*y->used));
	y->barred = mem_array(turns + 1, sizeof(*y->barred));
}

void
layers_free(struct layers *y)
{
	mem_free(y->first);
	mem_free(y->used);
	mem_free(y->barred);
	mem_free(y->place);
	mem_free(y->order);
	mem_free(y->log);
	mem_free(y->mark);
	mem_free(y->after);
}

/* ---- The order of one layer ---- */

/* Links that can be reached from `from` and have a place before `last`; false if the link at
 * `last` is one of them. */
static bool
search_after(struct layers *y, unsigned layer, const uint32_t *place, uint32_t from, uint32_t last)
{
	const struct links *l = y->l;
	uint32_t len = 0;

	y->after[len++] = from;
	y->mark[from] = ++y->search;
	for (uint32_t i = 0; i < len; i++) {
		uint32_t at = y->after[i], out = l->first[l->to[at]], end = l->first[l->to[at] + 1];
		const uint16_t *used = &y->used[y->first[at]];

		for (; out < end; out++, used++) {
			if (!(*used >> layer & 1) || place[out] > last ||
			    y->mark[out] == y->search)
				continue;
			if (place[out] == last)
				return false;
			y->mark[out] = y->search;
			y->after[len++] = out;
		}
	}
	return true;
}

/* Whatever can be reached from the far end of a turn moves behind its near end, which is at `last`,
 * all in the order in which it was; `first` is the place of the far end. */
static void
reorder(struct layers *y, uint32_t *place, uint32_t *order, uint32_t first, uint32_t last)
{
	uint32_t moved = 0, seat = first;

	for (uint32_t i = first; i <= last; i++) {
		uint32_t link = order[i];

		if (y->mark[link] == y->search) {
			y->after[moved++] = link;
		} else {
			order[seat] = link;
			place[link] = seat++;
		}
	}
	for (uint32_t i = 0; i < moved; i++) {
		order[seat] = y->after[i];
		place[y->after[i]] = seat++;
	}
}

/* Make room in the order for a turn; false if there is none. */
static bool
make_way(struct layers *y, unsigned layer, uint32_t in, uint32_t out)
{
	uint32_t *place = &y->place[(size_t)layer * y->l->len];

	if (place[in] < place[out])
		return true;
	if (!search_after(y, layer, place, out, place[in]))
		return false;
	reorder(y, place, &y->order[(size_t)layer * y->l->len], place[out], place[in]);
	return true;
}

void
layers_arrange(struct layers *y, const uint32_t *key)
{
	uint32_t most = 0, *first;

	for (uint32_t i = 0; i < y->l->len; i++)
		most = key[i] > most ? key[i] : most;
	first = mem_array(most + 2, sizeof(*first));
	for (uint32_t i = 0; i < y->l->len; i++)
		first[key[i] + 1]++;
	for (uint32_t i = 0; i < most; i++)
		first[i + 1] += first[i];
	for (uint32_t i = 0; i < y->l->len; i++) {
		uint32_t seat = first[key[i]]++;

		for (unsigned k = 0; k < y->len; k++) {
			y->place[(size_t)k * y->l->len + i] = seat;
			y->order[(size_t)k * y->l->len + seat] = i;
		}
	}
	mem_free(first);
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
