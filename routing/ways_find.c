/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/ways_impl.h"
#include <string.h>
#include "sm/base/mem.h"

/*
 * All ways. In a fabric that is new the first way to each home with hosts is made in one layer,
 * which always succeeds, and then anew with all layers to choose from, if that makes it shorter or
 * balances it better. What layers allow is settled then, and which class a pair has: other variants
 * are made, and balanced, with whatever goes forward in the order of a layer, and nothing is
 * searched for any more, but in small fabrics. Ways to switches without hosts come after all first
 * ones, for they may bar others for little. In a fabric of which ways are kept, what is left of
 * these is entered first; only who has lost his way further on gets another, and no pair changes
 * its class.
 */
#define ROUNDS 3u			/* that ways of a small fabric are made anew in */
#define SMALL 100000u			/* ways x links: there is time to search in all rounds */

/* What is kept, in terms of the present fabric. */
struct old {
	const struct ways_kept *k;	/* borrowed */
	uint32_t *now;			/* by kept switch: its number now; FABRIC_NONE: gone */
	uint32_t *then;			/* by switch: the kept one; FABRIC_NONE: it is new */
	uint8_t *at;			/* by kept link: place among the links of its switch now;
					 * WAYS_NONE: gone */
};

static void
match_switches(const struct ways *w, struct old *o)
{
	const struct ways_kept *k = o->k;
	uint32_t sw = 0;

	o->now = mem_array(k->n + 1, sizeof(*o->now));
	o->then = mem_array(w->n + 1, sizeof(*o->then));
	memset(o->now, 0xff, k->n * sizeof(*o->now));
	memset(o->then, 0xff, w->n * sizeof(*o->then));
	for (uint32_t x = 0; x < k->n; x++) {
		while (sw < w->n && fabric_switch_node(w->l.f, sw)->guid < k->guid[x])
			sw++;
		if (sw == w->n || fabric_switch_node(w->l.f, sw)->guid != k->guid[x])
			continue;
		o->now[x] = sw;
		o->then[sw] = x;
	}
}

static void
match_links(const struct ways *w, struct old *o)
{
	const struct ways_kept *k = o->k;

	o->at = mem_alloc(k->nlinks + 1);
	memset(o->at, WAYS_NONE, k->nlinks);
	for (uint32_t x = 0; x < k->n; x++)
		for (uint32_t i = k->first[x]; i < k->first[x + 1]; i++) {
			uint32_t a = o->now[x], b = o->now[k->to[i]], link;

			if (a == FABRIC_NONE || b == FABRIC_NONE)
				continue;
			link = links_between(&w->l, a, b);
			if (link != LINKS_NONE)
				o->at[i] = (uint8_t)(link - w->l.first[a]);
		}
}

static void
old_open(const struct ways *w, const struct ways_kept *k, struct old *o)
{
	*o = (struct old){ .k = k };
	match_switches(w, o);
	match_links(w, o);
}

static void
old_close(struct old *o)
{
	mem_free(o->now);
	mem_free(o->then);
	mem_free(o->at);
}

static void
take_classes(struct ways *w, const struct old *o)
{
	const struct ways_kept *k = o->k;

	for (uint32_t a = 0; a < w->n; a++)
		for (uint32_t b = 0; b < a; b++) {
			uint8_t class = WAYS_NONE;

			if (o->then[a] != FABRIC_NONE && o->then[b] != FABRIC_NONE)
				class = k->class[(size_t)o->then[a] * k->n + o->then[b]];
			if (class < w->y.len)
				ways_set_class(w, a, b, class);
		}
}

/* Links that were not there before come last. */
static void
take_orders(struct ways *w, const struct old *o)
{
	const struct ways_kept *k = o->k;
	uint32_t *key = mem_array(w->l.len + 1, sizeof(*key));

	for (unsigned layer = 0; layer < w->y.len && layer < k->lanes; layer++) {
		for (uint32_t i = 0; i < w->l.len; i++)
			key[i] = k->nlinks;
		for (uint32_t x = 0; x < k->n; x++)
			for (uint32_t i = k->first[x]; i < k->first[x + 1]; i++)
				if (o->at[i] != WAYS_NONE)
					key[w->l.first[o->now[x]] + o->at[i]] =
						k->place[(size_t)layer * k->nlinks + i];
		layers_arrange(&w->y, layer, key);
	}
	mem_free(key);
}

static bool *
old_tree(const struct ways *w, const struct old *o)
{
	const struct ways_kept *k = o->k;
	bool *tree = mem_array(w->l.len + 1, sizeof(*tree));

	for (uint32_t x = 0; x < k->n; x++)
		for (uint32_t i = k->first[x]; i < k->first[x + 1]; i++)
			if (k->tree[i] && o->at[i] != WAYS_NONE)
				tree[w->l.first[o->now[x]] + o->at[i]] = true;
	return tree;
}

/* Turns at a kept switch to one of its links, which is `out` now. */
static void
take_turns_to(struct ways *w, const struct old *o, uint32_t x, uint32_t link, uint32_t out)
{
	const struct ways_kept *k = o->k;
	const uint8_t *lane = &k->turn_lane[k->turn_first[link]];

	for (uint32_t i = k->first[x]; i < k->first[x + 1]; i++)
		if (o->at[i] != WAYS_NONE)
			w->turns->lane[w->y.first[out] + o->at[i]] = lane[i - k->first[x]];
}

/* Turns keep their lanes, as far as there are both links. */
static void
take_turns(struct ways *w, const struct old *o)
{
	const struct ways_kept *k = o->k;

	for (uint32_t x = 0; w->turns && k->turn_lane && x < k->n; x++)
		for (uint32_t i = k->first[x]; i < k->first[x + 1]; i++)
			if (o->at[i] != WAYS_NONE)
				take_turns_to(w, o, x, i, w->l.first[o->now[x]] + o->at[i]);
}

/* The links of the present way that it had before, as far as they are there. */
static void
recall(const struct ways *w, const struct old *o, uint32_t way, uint8_t *at)
{
	const struct ways_kept *k = o->k;
	uint32_t home = o->then[way / w->variants];
	const uint8_t *was;

	memset(at, WAYS_NONE, w->n);
	if (home == FABRIC_NONE)
		return;
	was = &k->next[((size_t)home * k->variants + way % w->variants % k->variants) * k->n];
	for (uint32_t sw = 0; sw < w->n; sw++) {
		uint32_t x = o->then[sw];

		if (x != FABRIC_NONE && was[x] != WAYS_NONE && !w->apart[sw])
			at[sw] = o->at[k->first[x] + was[x]];
	}
}

/* Hops of all whose way is whole; that of the others is cut off where they are. */
static void
measure(struct ways *w)
{
	uint32_t len, *path = w->try;

	for (uint32_t start = 0; start < w->n; start++) {
		uint32_t sw = start;

		len = 0;
		while (w->hops[sw] == WAYS_FAR && w->at[sw] != WAYS_NONE) {
			uint32_t v = w->l.to[w->l.first[sw] + w->at[sw]];

			path[len++] = sw;
			if (w->apart[v] && v != w->home)
				break;
			sw = v;
		}
		for (uint32_t far = w->hops[sw]; len > 0; len--) {
			if (far == WAYS_FAR || (w->apart[sw] && sw != w->home))
				w->at[path[len - 1]] = WAYS_NONE;
			else
				w->hops[path[len - 1]] = (uint16_t)++far;
		}
	}
}

/* What is left of a way goes on as it was. */
static void
restore(struct ways *w, const struct old *o, uint32_t way)
{
	ways_open(w, way);
	recall(w, o, way, w->at);
	w->at[w->home] = WAYS_NONE;
	measure(w);
	ways_sort(w);
	for (uint32_t i = 0; i < w->nring; i++) {
		uint32_t sw = w->ring[i];

		if (sw != w->home && !ways_stay(w, sw)) {
			w->at[sw] = WAYS_NONE;
			w->hops[sw] = WAYS_FAR;
		}
	}
	ways_measure(w, way);
	ways_count(w);
	ways_load(w, way, 1);
	w->done[way] = true;
}

/* Ways for those who have lost theirs; who only lost what comes behind goes on as before if it is
 * allowed. */
static void
complete(struct ways *w, const struct old *o, uint32_t way)
{
	ways_open(w, way);
	measure(w);
	if (ways_complete(w))
		return;
	ways_count(w);
	ways_load(w, way, -1);
	ways_sort(w);
	for (uint32_t i = 0; i < w->nring; i++)
		if (w->ring[i] != w->home)
			ways_stay(w, w->ring[i]);
	/* The shortest ways may be others now. */
	if (!w->loose || w->turns)
		recall(w, o, way, w->prior);
	for (uint32_t sw = 0; sw < w->n; sw++)
		if (w->hops[sw] != WAYS_FAR)
			w->prior[sw] = WAYS_NONE;
	ways_grow(w, WAYS_SEARCH);
	memset(w->prior, WAYS_NONE, w->n);
	ways_finish(w, way);
}

void
ways_find_left(struct ways *w, const struct ways_kept *kept)
{
	struct old o;
	bool *tree;

	old_open(w, kept, &o);
	take_classes(w, &o);
	take_orders(w, &o);
	take_turns(w, &o);
	tree = old_tree(w, &o);
	if (!w->loose || w->turns)
		ways_allow_tree(w, tree);
	if (w->turns)
		ways_fix_tree(w);
	for (uint32_t way = 0; way < w->n * w->variants; way++)
		if (w->heads[way] && !w->done[way])
			restore(w, &o, way);
	for (uint32_t way = 0; way < w->n * w->variants; way++)
		if (w->heads[way])
			complete(w, &o, way);
	mem_free(tree);
	old_close(&o);
}

static void
add_all(struct ways *w)
{
	for (uint32_t i = 0; i < w->n * w->variants; i++)
		if (w->heads[ways_nth(w, i)] && !w->done[ways_nth(w, i)])
			ways_add(w, ways_nth(w, i));
}

/* The first ways to all homes with hosts, or to those without. */
static void
make_firsts(struct ways *w, bool hosts)
{
	for (uint32_t home = 0; home < w->n; home++)
		if ((w->hosts[home] >= WAYS_HOST) == hosts)
			ways_make(w, home * w->variants);
}

static void
mend_some(struct ways *w, unsigned variants, enum ways_effort effort)
{
	for (uint32_t i = 0; i < w->n * variants; i++)
		if (w->heads[ways_nth(w, i)] >= WAYS_HOST)
			ways_mend(w, ways_nth(w, i), effort);
}

static void
find_new(struct ways *w)
{
	bool small = (uint64_t)w->n * w->variants * w->l.len < SMALL;

	ways_allow_tree(w, NULL);
	ways_allow_climbs(w, 0);
	w->lanes = 1;
	make_firsts(w, true);
	w->lanes = w->y.len;
	mend_some(w, 1, WAYS_MOVE);
	w->lanes = 1;
	make_firsts(w, false);
	w->lanes = w->y.len;
	layers_fill(&w->y);
	add_all(w);
	for (unsigned left = small ? ROUNDS : 1; left > 0; left--)
		mend_some(w, w->variants, small ? WAYS_MOVE : WAYS_ALLOWED);
}

void
ways_find(struct ways *w, const struct ways_kept *kept)
{
	w->lanes = w->y.len;
	if (kept)
		ways_find_left(w, kept);
	else
		find_new(w);
}

void
ways_find_shortest(struct ways *w, const struct ways_kept *kept)
{
	w->loose = true;
	w->lanes = w->y.len;
	if (kept) {
		ways_find_left(w, kept);
		return;
	}
	add_all(w);
}
