/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/mtree.h"

#include <stdlib.h>
#include <string.h>
#include "sm/base/mem.h"

/*
 * Which switches have which members below them is found from the bottom of the order upwards, 64
 * switches with members at a time. From the root that is chosen by it, shortest ways downwards are
 * spread, and those to members make the tree; of ways of one length the multicast LID chooses.
 * Silent switches have no part in it, for nobody can write their tables.
 */
#define FAR UINT32_MAX

struct mtree {
	const struct fabric *f;		/* borrowed */
	uint16_t *rank;			/* by switch: 0 on top */
	uint32_t *order;		/* switches from the top downwards */
	uint32_t *first;		/* by switch: where its links that lead down begin */
	uint32_t *down;			/* these: edge indices */
	uint32_t *to;			/* and the switches behind them */
	uint64_t *below;		/* by switch: members of the present 64 */
	uint32_t *covered;		/* by switch: member switches below it */
	uint32_t *dist;			/* by switch: links from the root, FAR */
	uint32_t *parent;		/* by switch: edge to it; FABRIC_NONE at the root */
	uint32_t *queue;		/* of the walk downwards */
	uint32_t *hosts;		/* switches with members, in ascending order */
	uint32_t nhosts;		/* how many */
	bool *is_host;			/* by switch: it is one of them */
	uint32_t *used;			/* switches of the tree */
	uint32_t nused;			/* how many */
	struct check_tree *at;		/* by switch: its ports in the tree */
};

static bool
is_silent(const struct mtree *t, uint32_t sw)
{
	return fabric_switch_node(t->f, sw)->flags & FABRIC_NODE_SILENT;
}

static bool
is_down(const struct mtree *t, uint32_t from, uint32_t to)
{
	if (is_silent(t, from) || is_silent(t, to))
		return false;
	return t->rank[from] != t->rank[to] ? t->rank[from] < t->rank[to] : from < to;
}

static uint64_t
mix(uint64_t x)
{
	x ^= x >> 30;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	x *= UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static uint64_t
taste(const struct mtree *t, uint16_t mlid, uint32_t sw, uint8_t port)
{
	return mix(mix(fabric_switch_node(t->f, sw)->guid ^ (uint64_t)mlid << 48) + port);
}

/* ---- The order ---- */

static void
rank_part(struct mtree *t, uint32_t first)
{
	const struct fabric *f = t->f;
	uint32_t head = 0, tail = 0;

	t->rank[first] = 0;
	t->queue[tail++] = first;
	while (head < tail) {
		uint32_t a = t->queue[head++];

		for (uint32_t e = f->edge_first[a]; e < f->edge_first[a + 1]; e++) {
			uint32_t b = f->edges[e].to;

			if (t->rank[b] != UINT16_MAX || is_silent(t, b))
				continue;
			t->rank[b] = (uint16_t)(t->rank[a] + 1);
			t->queue[tail++] = b;
		}
	}
}

static int
by_rank(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void
make_order(struct mtree *t)
{
	uint32_t n = t->f->nswitches;
	uint64_t *keys = mem_array(n + 1, sizeof(*keys));

	for (uint32_t sw = 0; sw < n; sw++)
		keys[sw] = (uint64_t)t->rank[sw] << 32 | sw;
	qsort(keys, n, sizeof(*keys), by_rank);
	for (uint32_t i = 0; i < n; i++)
		t->order[i] = (uint32_t)keys[i];
	mem_free(keys);
}

/* Links that lead down, so that they are not looked for with each tree. */
static void
find_down(struct mtree *t)
{
	const struct fabric *f = t->f;
	uint32_t n = 0;

	t->first = mem_array(f->nswitches + 1, sizeof(*t->first));
	t->down = mem_array(f->nedges + 1, sizeof(*t->down));
	t->to = mem_array(f->nedges + 1, sizeof(*t->to));
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		t->first[sw] = n;
		for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++) {
			if (!is_down(t, sw, f->edges[e].to))
				continue;
			t->down[n] = e;
			t->to[n++] = f->edges[e].to;
		}
	}
	t->first[f->nswitches] = n;
}

/* ---- The root ---- */

static int
by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void
find_hosts(struct mtree *t, const struct mtree_member *members, uint32_t len)
{
	t->nhosts = 0;
	for (uint32_t i = 0; i < len; i++) {
		uint32_t sw = members[i].sw;

		if (t->is_host[sw] || is_silent(t, sw))
			continue;
		t->is_host[sw] = true;
		t->hosts[t->nhosts++] = sw;
	}
	qsort(t->hosts, t->nhosts, sizeof(*t->hosts), by_number);
}

/* Which of 64 switches with members, from the given one on, lie below each switch. */
static void
look_below(struct mtree *t, uint32_t first)
{
	const struct fabric *f = t->f;

	memset(t->below, 0, f->nswitches * sizeof(*t->below));
	for (uint32_t i = first; i < t->nhosts && i < first + 64; i++)
		t->below[t->hosts[i]] |= UINT64_C(1) << (i - first);
	for (uint32_t k = f->nswitches; k-- > 0;) {
		uint32_t sw = t->order[k];

		for (uint32_t i = t->first[sw]; i < t->first[sw + 1]; i++)
			t->below[sw] |= t->below[t->to[i]];
		t->covered[sw] += (uint32_t)__builtin_popcountll(t->below[sw]);
	}
}

static bool
is_better(const struct mtree *t, uint16_t mlid, uint32_t a, uint32_t b)
{
	if (t->covered[a] != t->covered[b])
		return t->covered[a] > t->covered[b];
	if (t->rank[a] != t->rank[b])
		return t->rank[a] > t->rank[b];
	return taste(t, mlid, a, 0) > taste(t, mlid, b, 0);
}

static uint32_t
choose_root(struct mtree *t, uint16_t mlid)
{
	uint32_t best = FABRIC_NONE;

	memset(t->covered, 0, t->f->nswitches * sizeof(*t->covered));
	for (uint32_t first = 0; first < t->nhosts; first += 64)
		look_below(t, first);
	for (uint32_t sw = 0; sw < t->f->nswitches; sw++)
		if (t->covered[sw] && (best == FABRIC_NONE || is_better(t, mlid, sw, best)))
			best = sw;
	return best;
}

/* ---- The tree ---- */

/* The switch that one hangs on which is not the root. */
static uint32_t
parent_of(const struct mtree *t, uint32_t sw)
{
	const struct fabric *f = t->f;
	uint32_t port = fabric_switch_node(f, sw)->first_port + f->edges[t->parent[sw]].in;

	return f->nodes[f->ports[f->ports[port].peer].node].sw;
}

static bool
is_nicer(const struct mtree *t, uint16_t mlid, uint32_t from, uint32_t e, uint32_t b)
{
	return taste(t, mlid, from, t->f->edges[e].out) >
		taste(t, mlid, parent_of(t, b), t->f->edges[t->parent[b]].out);
}

static void
spread(struct mtree *t, uint16_t mlid, uint32_t root)
{
	const struct fabric *f = t->f;
	uint32_t head = 0, tail = 0;

	memset(t->dist, 0xff, f->nswitches * sizeof(*t->dist));
	t->dist[root] = 0;
	t->parent[root] = FABRIC_NONE;
	t->queue[tail++] = root;
	while (head < tail) {
		uint32_t a = t->queue[head++];

		for (uint32_t i = t->first[a]; i < t->first[a + 1]; i++) {
			uint32_t b = t->to[i];

			if (t->dist[b] == FAR) {
				t->dist[b] = t->dist[a] + 1;
				t->queue[tail++] = b;
			} else if (t->dist[b] != t->dist[a] + 1 ||
				   !is_nicer(t, mlid, a, t->down[i], b)) {
				continue;
			}
			t->parent[b] = t->down[i];
		}
	}
}

static void
mark(uint64_t ports[4], unsigned port)
{
	ports[port / 64] |= UINT64_C(1) << port % 64;
}

static struct check_tree *
use(struct mtree *t, uint32_t sw)
{
	struct check_tree *at = &t->at[sw];

	if (at->sw == FABRIC_NONE) {
		*at = (struct check_tree){ .sw = sw };
		t->used[t->nused++] = sw;
	}
	return at;
}

/* From a switch with members up to the root, or to where the tree is already. */
static void
climb(struct mtree *t, uint32_t sw)
{
	while (t->at[sw].sw == FABRIC_NONE) {
		struct check_tree *at = use(t, sw);

		if (t->parent[sw] == FABRIC_NONE)
			return;
		mark(at->in, t->f->edges[t->parent[sw]].in);
		mark(at->out, t->f->edges[t->parent[sw]].in);
		sw = parent_of(t, sw);
	}
}

/* Ports that lead down: the other ends of those that lead up. */
static void
join_down(struct mtree *t)
{
	for (uint32_t i = 0; i < t->nused; i++) {
		uint32_t sw = t->used[i], up;
		const struct fabric_edge *e;

		if (t->parent[sw] == FABRIC_NONE)
			continue;
		e = &t->f->edges[t->parent[sw]];
		up = parent_of(t, sw);
		mark(t->at[up].in, e->out);
		mark(t->at[up].out, e->out);
	}
}

static void
add_entries(struct mtree *t, uint16_t mlid, struct mtree_set *set)
{
	qsort(t->used, t->nused, sizeof(*t->used), by_number);
	for (uint32_t i = 0; i < t->nused; i++) {
		mtree_set_add(set, mlid, &t->at[t->used[i]]);
		t->at[t->used[i]].sw = FABRIC_NONE;
	}
	t->nused = 0;
}

static uint32_t
make_tree(struct mtree *t, uint16_t mlid, const struct mtree_member *members, uint32_t len,
	  struct mtree_set *set)
{
	uint32_t root = choose_root(t, mlid), left_out = 0;

	if (root == FABRIC_NONE)
		return len;
	spread(t, mlid, root);
	for (uint32_t i = 0; i < t->nhosts; i++)
		if (t->dist[t->hosts[i]] != FAR)
			climb(t, t->hosts[i]);
	join_down(t);
	for (uint32_t i = 0; i < len; i++) {
		struct check_tree *at = &t->at[members[i].sw];

		if (at->sw == FABRIC_NONE) {
			left_out++;
			continue;
		}
		mark(at->in, members[i].port);
		if (members[i].receives)
			mark(at->out, members[i].port);
	}
	add_entries(t, mlid, set);
	return left_out;
}

uint32_t
mtree_add(struct mtree *t, uint16_t mlid, const struct mtree_member *members, uint32_t len,
	  struct mtree_set *set)
{
	uint32_t left_out;

	if (len < 2)
		return 0;
	find_hosts(t, members, len);
	left_out = make_tree(t, mlid, members, len, set);
	for (uint32_t i = 0; i < t->nhosts; i++)
		t->is_host[t->hosts[i]] = false;
	return left_out;
}

/* ---- Life ---- */

struct mtree *
mtree_new(const struct fabric *f, const uint8_t *ranks)
{
	struct mtree *t = mem_zalloc(sizeof(*t));
	uint32_t n = f->nswitches;

	t->f = f;
	t->rank = mem_array(n + 1, sizeof(*t->rank));
	t->order = mem_array(n + 1, sizeof(*t->order));
	t->below = mem_array(n + 1, sizeof(*t->below));
	t->covered = mem_array(n + 1, sizeof(*t->covered));
	t->dist = mem_array(n + 1, sizeof(*t->dist));
	t->parent = mem_array(n + 1, sizeof(*t->parent));
	t->queue = mem_array(n + 1, sizeof(*t->queue));
	t->hosts = mem_array(n + 1, sizeof(*t->hosts));
	t->is_host = mem_array(n + 1, sizeof(*t->is_host));
	t->used = mem_array(n + 1, sizeof(*t->used));
	t->at = mem_array(n + 1, sizeof(*t->at));
	for (uint32_t sw = 0; sw < n; sw++) {
		t->at[sw].sw = FABRIC_NONE;
		t->rank[sw] = ranks ? ranks[sw] : UINT16_MAX;
	}
	for (uint32_t sw = 0; sw < n && !ranks; sw++)
		if (t->rank[sw] == UINT16_MAX && !is_silent(t, sw))
			rank_part(t, sw);
	make_order(t);
	find_down(t);
	return t;
}

void
mtree_free(struct mtree *t)
{
	if (!t)
		return;
	mem_free(t->rank);
	mem_free(t->order);
	mem_free(t->first);
	mem_free(t->down);
	mem_free(t->to);
	mem_free(t->below);
	mem_free(t->covered);
	mem_free(t->dist);
	mem_free(t->parent);
	mem_free(t->queue);
	mem_free(t->hosts);
	mem_free(t->is_host);
	mem_free(t->used);
	mem_free(t->at);
	mem_free(t);
}

/* ---- Sets ---- */

void
mtree_set_add(struct mtree_set *set, uint16_t mlid, const struct check_tree *t)
{
	if (set->len == set->size) {
		set->size = set->size * 2 + 64;
		set->trees = mem_realloc(set->trees, set->size, sizeof(*set->trees));
		set->mlids = mem_realloc(set->mlids, set->size, sizeof(*set->mlids));
	}
	set->trees[set->len] = *t;
	set->mlids[set->len++] = mlid;
}

void
mtree_set_join(struct mtree_set *set, const struct mtree_set *more)
{
	set->size = set->len + more->len;
	set->trees = mem_realloc(set->trees, set->size + 1, sizeof(*set->trees));
	set->mlids = mem_realloc(set->mlids, set->size + 1, sizeof(*set->mlids));
	if (more->len) {
		memcpy(set->trees + set->len, more->trees, more->len * sizeof(*set->trees));
		memcpy(set->mlids + set->len, more->mlids, more->len * sizeof(*set->mlids));
	}
	set->len = set->size;
}

/* The entry of a switch for a MLID; NULL: none. */
static struct check_tree *
entry_of(const struct mtree_set *set, uint32_t sw, uint16_t mlid)
{
	uint32_t low = 0, high = set->len;

	while (low < high) {
		uint32_t mid = (low + high) / 2, at = set->trees[mid].sw;

		if (at < sw || (at == sw && set->mlids[mid] < mlid))
			low = mid + 1;
		else
			high = mid;
	}
	return low < set->len && set->trees[low].sw == sw && set->mlids[low] == mlid ?
		&set->trees[low] : NULL;
}

void
mtree_close(const struct fabric *f, struct mtree_set *set)
{
	for (uint32_t i = 0; i < set->len; i++) {
		uint32_t sw = set->trees[i].sw;

		for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++) {
			const struct fabric_edge *edge = &f->edges[e];
			struct check_tree *to;

			if (!(set->trees[i].out[edge->out / 64] >> edge->out % 64 & 1))
				continue;
			to = entry_of(set, edge->to, set->mlids[i]);
			if (to)
				mark(to->in, edge->in);
		}
	}
}

void
mtree_set_free(struct mtree_set *set)
{
	mem_free(set->trees);
	mem_free(set->mlids);
	*set = (struct mtree_set){ 0 };
}
