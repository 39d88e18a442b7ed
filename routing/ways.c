/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/ways.h"
#include <string.h>
#include "routing/levels.h"
#include "routing/ways_impl.h"
#include "sm/base/mem.h"

/*
 * Ways are made one after another, all homes by their first variant, then by the second, and so on.
 * Each grows from its home outwards: switches that are one link further take, of the neighbours
 * that are nearest to home, the one with the least load on the way, as far as a layer allows what
 * then waits for what. The first of the two ways between two switches to be made decides the class
 * of the pair; where the second does not fit in, the pair moves to another class if there is one
 * that allows both, else the second makes a detour.
 *
 * All layers allow the turns of one spanning tree from the beginning. Who finds no other way takes
 * that, as do all on its way and, of those behind it, whoever is not allowed to go on from there as
 * before: a home all of whose way is the tree is always allowed. Where there are switches above
 * those with hosts, the first layer also allows whatever leads up and then down.
 */

/* ---- Of the whole ---- */

static void
count_heads(struct ways *w)
{
	const struct fabric *f = w->l.f;

	for (uint32_t sw = 0; sw < w->n; sw++) {
		const struct fabric_node *node = fabric_switch_node(f, sw);
		unsigned rank = 0, ranks = w->variants / w->layers;

		w->heads[sw * w->variants] = 1;
		w->hosts[sw] = 1;
		for (unsigned p = 1; p <= node->nports; p++) {
			uint32_t peer = f->ports[node->first_port + p].peer;

			if (peer == FABRIC_NONE || f->nodes[f->ports[peer].node].sw != FABRIC_NONE)
				continue;
			for (unsigned y = 0; y < w->layers; y++)
				w->heads[sw * w->variants + y * ranks + rank % ranks] += WAYS_HOST;
			rank++;
			w->hosts[sw] += WAYS_HOST;
		}
	}
}

/* In a tree packets climb away from hosts and come down again: so are links arranged. */
static void
arrange(struct ways *w)
{
	uint16_t *level = mem_array(w->n + 1, sizeof(*level)), top = 0;

	levels_heights(w->l.f, level);
	for (uint32_t sw = 0; sw < w->n; sw++)
		if (level[sw] != LEVELS_FAR && level[sw] > top)
			top = level[sw];
	for (uint32_t k = 0; k < w->l.len; k++) {
		uint32_t a = level[w->l.from[k]], b = level[w->l.to[k]];

		w->climb[k] = a == LEVELS_FAR || a == b ? top : a < b ? a : 2u * top + 1 - a;
	}
	for (unsigned k = 0; k < w->y.len; k++)
		layers_arrange(&w->y, k, w->climb);
	mem_free(level);
}

void
ways_init(struct ways *w, const struct fabric *f, unsigned variants, unsigned layers,
	  unsigned lanes)
{
	uint32_t n = f->nswitches;

	*w = (struct ways){ .n = n, .variants = variants, .layers = layers };
	links_init(&w->l, f);
	layers_init(&w->y, &w->l, lanes);
	w->apart = mem_array(n + 1, sizeof(*w->apart));
	w->class = mem_alloc((size_t)n * n + 1);
	w->next = mem_alloc((size_t)n * n * variants + 1);
	w->heads = mem_array((size_t)n * variants + 1, sizeof(*w->heads));
	w->done = mem_array((size_t)n * variants + 1, sizeof(*w->done));
	w->hosts = mem_array(n + 1, sizeof(*w->hosts));
	w->load = mem_array(w->l.len + 1, sizeof(*w->load));
	w->into = mem_array(w->l.len + 1, sizeof(*w->into));
	w->climb = mem_array(w->l.len + 1, sizeof(*w->climb));
	w->tree = mem_array(w->l.len + 1, sizeof(*w->tree));
	w->hops = mem_array(n + 1, sizeof(*w->hops));
	w->mask = mem_array(n + 1, sizeof(*w->mask));
	w->cost = mem_array(n + 1, sizeof(*w->cost));
	w->prior = mem_array(n + 1, 1);
	w->ring = mem_array(n + 1, sizeof(*w->ring));
	w->may = mem_array(n + 1, sizeof(*w->may));
	w->order = mem_array(n + 1, sizeof(*w->order));
	w->try = mem_array(n + 1, sizeof(*w->try));
	w->flow = mem_array(n + 1, sizeof(*w->flow));
	w->was = mem_array(n + 1, 1);
	w->moved = mem_array(n + 1, sizeof(*w->moved));
	w->moved_from = mem_array(n + 1, 1);
	w->seen = mem_array(n + 2, sizeof(*w->seen));
	w->branch = mem_array(n + 1, sizeof(*w->branch));
	w->mark = mem_array(w->l.len + 1, sizeof(*w->mark));
	memset(w->any, 0xff, sizeof(w->any));
	memset(w->class, WAYS_NONE, (size_t)n * n);
	memset(w->next, WAYS_NONE, (size_t)n * n * variants);
	count_heads(w);
	arrange(w);
}

void
ways_free(struct ways *w)
{
	layers_free(&w->y);
	turns_free(w->turns);
	links_free(&w->l);
	mem_free(w->apart);
	mem_free(w->class);
	mem_free(w->next);
	mem_free(w->heads);
	mem_free(w->done);
	mem_free(w->hosts);
	mem_free(w->load);
	mem_free(w->into);
	mem_free(w->climb);
	mem_free(w->tree);
	mem_free(w->hops);
	mem_free(w->mask);
	mem_free(w->cost);
	mem_free(w->prior);
	mem_free(w->ring);
	mem_free(w->may);
	mem_free(w->order);
	mem_free(w->try);
	mem_free(w->flow);
	mem_free(w->was);
	mem_free(w->moved);
	mem_free(w->moved_from);
	mem_free(w->seen);
	mem_free(w->branch);
	mem_free(w->mark);
}

void
ways_set_class(struct ways *w, uint32_t a, uint32_t b, unsigned class)
{
	uint8_t *x = &w->class[(size_t)a * w->n + b];

	if (*x != WAYS_NONE)
		w->pairs[*x]--;
	w->pairs[class]++;
	*x = (uint8_t)class;
	w->class[(size_t)b * w->n + a] = (uint8_t)class;
}

/* Of some layers the one with the fewest pairs. */
unsigned
ways_emptiest(const struct ways *w, unsigned mask)
{
	unsigned best = LAYERS_MAX;

	for (unsigned k = 0; k < w->y.len; k++)
		if (mask >> k & 1 && (best == LAYERS_MAX || w->pairs[k] < w->pairs[best]))
			best = k;
	return best;
}

/* ---- The spanning tree ---- */

static uint32_t
root_of(uint32_t *up, uint32_t sw)
{
	while (up[sw] != sw)
		sw = up[sw] = up[up[sw]];
	return sw;
}

/* A link belongs to the tree if it joins what is not joined yet. */
static void
join(struct ways *w, uint32_t *up, uint32_t link)
{
	uint32_t a = root_of(up, w->l.from[link]), b = root_of(up, w->l.to[link]);

	if (a == b)
		return;
	up[a > b ? a : b] = a > b ? b : a;
	w->tree[link] = w->tree[w->l.back[link]] = true;
}

/* Links in the order of a search from `from`; returns the switch that was reached last. */
static uint32_t
spread(const struct ways *w, uint32_t from, bool *known, uint32_t *links, uint32_t *len)
{
	uint32_t head = 0, tail = 0, sw = from, *queue = w->try;

	known[from] = true;
	queue[tail++] = from;
	while (head < tail) {
		sw = queue[head++];
		if (w->apart[sw])
			continue;
		for (uint32_t k = w->l.first[sw]; k < w->l.first[sw + 1]; k++) {
			uint32_t v = w->l.to[k];

			links[(*len)++] = k;
			if (!known[v]) {
				known[v] = true;
				queue[tail++] = v;
			}
		}
	}
	return sw;
}

/* The tree is wide rather than deep, and what it was before as far as can be. Switches that do not
 * answer are leaves of it. */
static void
choose_tree(struct ways *w, const bool *kept)
{
	uint32_t *up = mem_array(w->n + 1, sizeof(*up)), *links, len = 0;
	bool *known = mem_array(w->n + 1, sizeof(*known));

	links = mem_array(w->l.len + 1, sizeof(*links));
	for (uint32_t sw = 0; sw < w->n; sw++)
		up[sw] = sw;
	for (uint32_t sw = 0; sw < w->n; sw++)
		if (!known[sw] && !w->apart[sw])
			spread(w, sw, known, links, &len);
	for (uint32_t i = 0; kept && i < len; i++)
		if (kept[links[i]])
			join(w, up, links[i]);
	for (uint32_t i = 0; i < len; i++)
		join(w, up, links[i]);
	mem_free(links);
	mem_free(known);
	mem_free(up);
}

void
ways_allow_tree(struct ways *w, const bool *kept)
{
	choose_tree(w, kept);
	for (uint32_t in = 0; in < w->l.len; in++) {
		uint32_t sw = w->l.to[in];

		for (uint32_t out = w->l.first[sw]; w->tree[in] && out < w->l.first[sw + 1]; out++)
			for (unsigned k = 0; k < w->y.len; k++)
				if (w->tree[out] && out != w->l.back[in]) {
					layers_begin(&w->y);
					layers_enter(&w->y, k, in, out);
				}
	}
}

void
ways_allow_climbs(struct ways *w, unsigned layer)
{
	for (uint32_t in = 0; in < w->l.len; in++) {
		uint32_t sw = w->l.to[in];

		for (uint32_t out = w->l.first[sw]; out < w->l.first[sw + 1]; out++)
			if (w->climb[in] < w->climb[out] && out != w->l.back[in]) {
				layers_begin(&w->y);
				layers_enter(&w->y, layer, in, out);
			}
	}
}

/* ---- What waits for what ---- */

/* Enter the way from a switch that leaves it by a link; what was entered stays to be undone. */
bool
ways_enter(struct ways *w, const uint8_t *at, uint32_t home, uint32_t link, unsigned layer)
{
	for (uint32_t sw = w->l.to[link]; sw != home; sw = w->l.to[link]) {
		uint32_t out;

		if (at[sw] == WAYS_NONE)
			return true;
		out = w->l.first[sw] + at[sw];
		if (!layers_enter(&w->y, layer, link, out)) {
			/* Does it fail by itself, for good? */
			layers_undo(&w->y);
			if (layers_enter(&w->y, layer, link, out))
				layers_undo(&w->y);
			return false;
		}
		link = out;
	}
	return true;
}

/* Is nothing on the way barred for certain? */
bool
ways_may_enter(const struct ways *w, const uint8_t *at, uint32_t home, uint32_t link,
	       unsigned layer)
{
	for (uint32_t sw = w->l.to[link]; sw != home; sw = w->l.to[link]) {
		uint32_t out;

		if (at[sw] == WAYS_NONE)
			return true;
		out = w->l.first[sw] + at[sw];
		if (w->y.barred[layers_turn(&w->y, link, out)] >> layer & 1)
			return false;
		link = out;
	}
	return true;
}

bool
ways_may_enter_done(const struct ways *w, uint32_t a, uint32_t b, unsigned layer)
{
	for (unsigned v = 0; v < w->variants; v++) {
		size_t way = (size_t)b * w->variants + v;
		const uint8_t *at = &w->next[way * w->n];

		if (w->done[way] && at[a] != WAYS_NONE &&
		    !ways_may_enter(w, at, b, w->l.first[a] + at[a], layer))
			return false;
	}
	return true;
}

/* The ways from `a` to `b` that were made. */
bool
ways_enter_done(struct ways *w, uint32_t a, uint32_t b, unsigned layer)
{
	for (unsigned v = 0; v < w->variants; v++) {
		size_t way = (size_t)b * w->variants + v;
		const uint8_t *at = &w->next[way * w->n];

		if (!w->done[way] || at[a] == WAYS_NONE)
			continue;
		if (!ways_enter(w, at, b, w->l.first[a] + at[a], layer))
			return false;
	}
	return true;
}

bool
ways_fit(struct ways *w, uint32_t a, uint32_t b, unsigned layer)
{
	layers_begin(&w->y);
	if (ways_enter_done(w, a, b, layer) && ways_enter_done(w, b, a, layer))
		return true;
	layers_undo(&w->y);
	return false;
}

/* ---- From run to run ---- */

static void *
copy(const void *from, size_t len, size_t size)
{
	void *to = mem_array(len + 1, size);

	memcpy(to, from, len * size);
	return to;
}

struct ways_kept *
ways_keep(const struct ways *w)
{
	struct ways_kept *k = mem_zalloc(sizeof(*k));
	size_t n = w->n;

	*k = (struct ways_kept){
		.refs = 1, .n = w->n, .nlinks = w->l.len, .variants = w->variants,
		.layers = w->layers, .lanes = w->y.len, .guid = mem_array(n + 1, sizeof(*k->guid)),
		.first = copy(w->l.first, n + 1, sizeof(*k->first)),
		.to = copy(w->l.to, w->l.len, sizeof(*k->to)),
		.tree = copy(w->tree, w->l.len, sizeof(*k->tree)),
		.class = copy(w->class, n * n, 1), .next = copy(w->next, n * n * w->variants, 1),
	};
	k->place = mem_array((size_t)k->nlinks * k->lanes + 1, sizeof(*k->place));
	for (unsigned layer = 0; layer < k->lanes; layer++)
		layers_places(&w->y, layer, &k->place[(size_t)layer * k->nlinks]);
	for (uint32_t sw = 0; sw < w->n; sw++)
		k->guid[sw] = fabric_switch_node(w->l.f, sw)->guid;
	if (w->turns) {
		k->turn_first = copy(w->y.first, w->l.len + 1u, sizeof(*k->turn_first));
		k->turn_lane = copy(w->turns->lane, k->turn_first[w->l.len], 1);
	}
	return k;
}

struct ways_kept *
ways_kept_ref(struct ways_kept *k)
{
	__atomic_add_fetch(&k->refs, 1, __ATOMIC_RELAXED);
	return k;
}

void
ways_kept_unref(struct ways_kept *k)
{
	if (!k || __atomic_sub_fetch(&k->refs, 1, __ATOMIC_ACQ_REL))
		return;
	mem_free(k->guid);
	mem_free(k->first);
	mem_free(k->to);
	mem_free(k->tree);
	mem_free(k->place);
	mem_free(k->class);
	mem_free(k->next);
	mem_free(k->turn_first);
	mem_free(k->turn_lane);
	mem_free(k);
}

bool
ways_kept_fits(const struct ways_kept *k, const struct ways *w)
{
	if (k->n != w->n || k->nlinks != w->l.len || k->lanes != w->y.len ||
	    memcmp(k->first, w->l.first, (w->n + 1) * sizeof(*k->first)) != 0 ||
	    memcmp(k->to, w->l.to, w->l.len * sizeof(*k->to)) != 0)
		return false;
	for (uint32_t sw = 0; sw < w->n; sw++)
		if (k->guid[sw] != fabric_switch_node(w->l.f, sw)->guid)
			return false;
	return true;
}

void
ways_take(struct ways *w, const struct ways_kept *k)
{
	size_t n = w->n;

	memcpy(w->class, k->class, n * n);
	memcpy(w->next, k->next, n * n * w->variants);
	if (!k->turn_lane)
		return;
	w->turns = turns_new(&w->y);
	memcpy(w->turns->lane, k->turn_lane, k->turn_first[k->nlinks]);
}
