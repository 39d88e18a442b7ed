/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/mtree.h"

#include <stdlib.h>
#include <string.h>
#include "sm/base/mem.h"

/*
 * Which switches have which members below them is found from the bottom of the order upwards, 64
 * switches with members at a time. From the root that is chosen by it, shortest ways downwards are
 * spread, and those to members make the tree; of ways of one length those of the tree that it
 * follows are taken, else the multicast LID chooses. Silent switches have no part in it, for nobody
 * can write their tables.
 *
 * A tree that follows another has its root above the other's, below it, or the same, wherever
 * roots are equally good: then one is a part of the other, and packets may meet both at once.
 */
#define FAR UINT32_MAX
#define MLIDS MTREE_MLIDS
#define CHUNK 63u		/* member switches that are looked for at a time */
#define WAS_TOP (UINT64_C(1) << CHUNK)	/* and the root of the tree that is followed */

struct mtree {
	const struct fabric *f;		/* borrowed */
	const struct span *span;	/* trees are parts of these; borrowed, NULL */
	uint16_t *rank;			/* by switch: 0 on top */
	uint32_t *order;		/* switches from the top downwards */
	uint32_t *first;		/* by switch: where its links that lead down begin */
	uint32_t *down;			/* these: edge indices */
	uint32_t *to;			/* and the switches behind them */
	uint64_t *guid;			/* by switch */
	uint64_t (*ups)[4];		/* by switch: its ports that lead up */
	uint64_t *below;		/* by switch: members of the present chunk, and WAS_TOP */
	uint32_t *covered;		/* by switch: member switches below it */
	uint32_t *dist;			/* by switch: links from the root, FAR */
	uint32_t *parent;		/* by switch: edge to it; FABRIC_NONE at the root */
	uint32_t *up;			/* by switch: where that comes from */
	uint64_t *liked;		/* by switch: how much, 0 if that is not known yet */
	uint32_t *queue;		/* of the walk downwards */
	uint32_t *hosts;		/* switches with members, in ascending order */
	uint32_t nhosts;		/* how many */
	bool *is_host;			/* by switch: it is one of them */
	uint32_t *used;			/* switches of the tree */
	uint32_t nused;			/* how many */
	struct check_tree *at;		/* by switch: its ports in the tree */
	const struct mtree_set *follow;	/* trees that new ones follow, borrowed; NULL: none */
	uint32_t *follow_first;		/* by MLID: where its part of follow_at[] begins */
	uint32_t *follow_at;		/* indices into follow */
	const struct check_tree **was;	/* by switch: its ports in the tree that the present one
					 * follows; NULL: it is not in it */
	uint32_t was_top;		/* root of that tree; FABRIC_NONE */
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
	return mix(mix(t->guid[sw] ^ (uint64_t)mlid << 48) + port);
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

static void
mark(uint64_t ports[4], unsigned port)
{
	ports[port / 64] |= UINT64_C(1) << port % 64;
}

static bool
has(const uint64_t ports[4], unsigned port)
{
	return ports[port / 64] >> port % 64 & 1;
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
			mark(t->ups[f->edges[e].to], f->edges[e].in);
		}
	}
	t->first[f->nswitches] = n;
}

/* ---- The tree that is followed ---- */

static bool
leads_up(const struct mtree *t, const struct check_tree *at)
{
	const uint64_t *ups = t->ups[at->sw];

	return (at->out[0] & ups[0]) | (at->out[1] & ups[1]) | (at->out[2] & ups[2]) |
		(at->out[3] & ups[3]);
}

/* While `on`, was[] and was_top are those of the MLID. Of several roots, as a tree has that is only
 * half written, it is the highest. */
static void
follow(struct mtree *t, uint16_t mlid, bool on)
{
	uint32_t n = mlid % MLIDS;

	t->was_top = FABRIC_NONE;
	for (uint32_t i = t->follow_first[n]; t->follow && i < t->follow_first[n + 1]; i++) {
		const struct check_tree *at = &t->follow->trees[t->follow_at[i]];

		t->was[at->sw] = on ? at : NULL;
		if (on && !is_silent(t, at->sw) && !leads_up(t, at) &&
		    (t->was_top == FABRIC_NONE || t->rank[at->sw] < t->rank[t->was_top]))
			t->was_top = at->sw;
	}
}

void
mtree_follow(struct mtree *t, const struct mtree_set *set)
{
	uint32_t *first = t->follow_first;

	memset(first, 0, (MLIDS + 2) * sizeof(*first));
	mem_free(t->follow_at);
	t->follow = set;
	t->follow_at = mem_array(set->len + 1, sizeof(*t->follow_at));
	for (uint32_t i = 0; i < set->len; i++)
		first[set->mlids[i] % MLIDS + 2]++;
	for (uint32_t n = 2; n < MLIDS + 2; n++)
		first[n] += first[n - 1];
	/* Each begins where the one before it will have ended. */
	for (uint32_t i = 0; i < set->len; i++)
		t->follow_at[first[set->mlids[i] % MLIDS + 1]++] = i;
}

bool
mtree_keep(const struct mtree *t, uint16_t mlid, const struct mtree_member *members, uint32_t len,
	   struct mtree_set *set)
{
	uint32_t n = mlid % MLIDS, from = set->len;

	for (uint32_t i = t->follow_first[n]; t->follow && i < t->follow_first[n + 1]; i++)
		mtree_set_add(set, mlid, &t->follow->trees[t->follow_at[i]]);
	if (!mtree_serves(t->f, set->trees + from, set->len - from, members, len)) {
		set->len = from;
		return false;
	}
	for (uint32_t i = from; i < set->len; i++) {
		struct check_tree *at = &set->trees[i];

		memcpy(at->in, at->out, sizeof(at->in));
		for (uint32_t k = 0; k < len; k++)
			if (members[k].sw == at->sw)
				mark(at->in, members[k].port);
	}
	return true;
}

/* The link from `from` to `to` is in the tree that is followed. */
static bool
was_used(const struct mtree *t, uint32_t from, uint32_t e, uint32_t to)
{
	return t->was[from] && t->was[to] && has(t->was[from]->out, t->f->edges[e].out) &&
		has(t->was[to]->out, t->f->edges[e].in);
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

/* Which of CHUNK switches with members, from the given one on, lie below each switch. */
static void
look_below(struct mtree *t, uint32_t first)
{
	const struct fabric *f = t->f;

	memset(t->below, 0, f->nswitches * sizeof(*t->below));
	for (uint32_t i = first; i < t->nhosts && i < first + CHUNK; i++)
		t->below[t->hosts[i]] |= UINT64_C(1) << (i - first);
	if (t->was_top != FABRIC_NONE)
		t->below[t->was_top] |= WAS_TOP;
	for (uint32_t k = f->nswitches; k-- > 0;) {
		uint32_t sw = t->order[k];

		for (uint32_t i = t->first[sw]; i < t->first[sw + 1]; i++)
			t->below[sw] |= t->below[t->to[i]];
		t->covered[sw] += (uint32_t)__builtin_popcountll(t->below[sw] & ~WAS_TOP);
	}
}

/* How well a root fits to the tree that is followed. */
static unsigned
nearness(const struct mtree *t, uint32_t sw)
{
	return sw == t->was_top ? 3 : t->below[sw] & WAS_TOP ? 2 : t->was[sw] ? 1 : 0;
}

static bool
is_better(const struct mtree *t, uint16_t mlid, uint32_t a, uint32_t b)
{
	if (t->covered[a] != t->covered[b])
		return t->covered[a] > t->covered[b];
	if (t->rank[a] != t->rank[b])
		return t->rank[a] > t->rank[b];
	if (nearness(t, a) != nearness(t, b))
		return nearness(t, a) > nearness(t, b);
	return taste(t, mlid, a, 0) > taste(t, mlid, b, 0);
}

static uint32_t
choose_root(struct mtree *t, uint16_t mlid)
{
	uint32_t best = FABRIC_NONE;

	memset(t->covered, 0, t->f->nswitches * sizeof(*t->covered));
	for (uint32_t first = 0; first < t->nhosts; first += CHUNK)
		look_below(t, first);
	for (uint32_t sw = 0; sw < t->f->nswitches; sw++)
		if (t->covered[sw] && (best == FABRIC_NONE || is_better(t, mlid, sw, best)))
			best = sw;
	return best;
}

/* ---- The tree ---- */

static uint64_t
liking(const struct mtree *t, uint16_t mlid, uint32_t from, uint32_t e, uint32_t to)
{
	return taste(t, mlid, from, t->f->edges[e].out) >> 1 | 1 |
		(uint64_t)was_used(t, from, e, to) << 63;
}

/* `to` hangs on `from`; is that nicer than what it hangs on so far? */
static bool
is_nicer(struct mtree *t, uint16_t mlid, uint32_t from, uint32_t e, uint32_t to)
{
	uint64_t like = liking(t, mlid, from, e, to);

	if (!t->liked[to])
		t->liked[to] = liking(t, mlid, t->up[to], t->parent[to], to);
	if (like <= t->liked[to])
		return false;
	t->liked[to] = like;
	return true;
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
				t->liked[b] = 0;
				t->queue[tail++] = b;
			} else if (t->dist[b] != t->dist[a] + 1 ||
				   !is_nicer(t, mlid, a, t->down[i], b)) {
				continue;
			}
			t->parent[b] = t->down[i];
			t->up[b] = a;
		}
	}
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
		sw = t->up[sw];
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
		up = t->up[sw];
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

/* Of the trees of `span` the one with most switches that have members; of several the first. */
static uint32_t
choose_span(struct mtree *t)
{
	uint32_t best = FABRIC_NONE;

	memset(t->covered, 0, t->f->nswitches * sizeof(*t->covered));
	for (uint32_t i = 0; i < t->nhosts; i++) {
		uint32_t root = t->span->root[t->hosts[i]];

		if (root != FABRIC_NONE)
			t->covered[root]++;
	}
	for (uint32_t sw = 0; sw < t->f->nswitches; sw++)
		if (t->covered[sw] && (best == FABRIC_NONE || t->covered[sw] > t->covered[best]))
			best = sw;
	return best;
}

static void
follow_span(struct mtree *t, uint32_t root)
{
	const struct fabric *f = t->f;

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		uint32_t e = t->parent[sw] = t->span->parent[sw];
		uint32_t port = e == FABRIC_NONE ? FABRIC_NONE :
			fabric_switch_node(f, sw)->first_port + f->edges[e].in;

		t->dist[sw] = t->span->root[sw] == root ? 0 : FAR;
		t->up[sw] = e == FABRIC_NONE ? FABRIC_NONE :
			f->nodes[f->ports[f->ports[port].peer].node].sw;
	}
}

/* The only port of a tree's switch, 0 if it has another number of them. */
static unsigned
only_port(const struct check_tree *t)
{
	unsigned n = 0, port = 0;

	for (unsigned i = 0; i < 4; i++) {
		n += (unsigned)__builtin_popcountll(t->out[i]);
		if (t->out[i])
			port = i * 64 + (unsigned)__builtin_ctzll(t->out[i]);
	}
	return n == 1 ? port : 0;
}

static void
unmark(uint64_t ports[4], unsigned port)
{
	ports[port / 64] &= ~(UINT64_C(1) << port % 64);
}

/* From the root down to where the tree divides, or has its first member, nobody needs it. */
static void
cut_trunk(struct mtree *t, uint32_t root)
{
	const struct fabric *f = t->f;
	unsigned port;

	while (!t->is_host[root] && (port = only_port(&t->at[root])) != 0) {
		const struct fabric_node *n = fabric_switch_node(f, root);
		const struct fabric_port *peer = &f->ports[f->ports[n->first_port + port].peer];

		for (uint32_t i = 0; i < t->nused; i++)
			if (t->used[i] == root)
				t->used[i--] = t->used[--t->nused];
		t->at[root].sw = FABRIC_NONE;
		root = f->nodes[peer->node].sw;
		unmark(t->at[root].in, peer->number);
		unmark(t->at[root].out, peer->number);
	}
}

static uint32_t
make_tree(struct mtree *t, uint16_t mlid, const struct mtree_member *members, uint32_t len,
	  struct mtree_set *set)
{
	uint32_t root = t->span ? choose_span(t) : choose_root(t, mlid), left_out = 0;

	if (root == FABRIC_NONE)
		return len;
	if (t->span)
		follow_span(t, root);
	else
		spread(t, mlid, root);
	for (uint32_t i = 0; i < t->nhosts; i++)
		if (t->dist[t->hosts[i]] != FAR)
			climb(t, t->hosts[i]);
	join_down(t);
	if (t->span)
		cut_trunk(t, root);
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
	follow(t, mlid, true);
	left_out = make_tree(t, mlid, members, len, set);
	follow(t, mlid, false);
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
	t->guid = mem_array(n + 1, sizeof(*t->guid));
	t->ups = mem_array(n + 1, sizeof(*t->ups));
	t->below = mem_array(n + 1, sizeof(*t->below));
	t->covered = mem_array(n + 1, sizeof(*t->covered));
	t->dist = mem_array(n + 1, sizeof(*t->dist));
	t->parent = mem_array(n + 1, sizeof(*t->parent));
	t->up = mem_array(n + 1, sizeof(*t->up));
	t->liked = mem_array(n + 1, sizeof(*t->liked));
	t->queue = mem_array(n + 1, sizeof(*t->queue));
	t->hosts = mem_array(n + 1, sizeof(*t->hosts));
	t->is_host = mem_array(n + 1, sizeof(*t->is_host));
	t->used = mem_array(n + 1, sizeof(*t->used));
	t->at = mem_array(n + 1, sizeof(*t->at));
	t->was = mem_array(n + 1, sizeof(*t->was));
	t->was_top = FABRIC_NONE;
	t->follow_first = mem_array(MLIDS + 2, sizeof(*t->follow_first));
	for (uint32_t sw = 0; sw < n; sw++) {
		t->at[sw].sw = FABRIC_NONE;
		t->guid[sw] = fabric_switch_node(f, sw)->guid;
		t->rank[sw] = ranks ? ranks[sw] : UINT16_MAX;
	}
	for (uint32_t sw = 0; sw < n && !ranks; sw++)
		if (t->rank[sw] == UINT16_MAX && !is_silent(t, sw))
			rank_part(t, sw);
	make_order(t);
	find_down(t);
	return t;
}

struct mtree *
mtree_new_on(const struct fabric *f, const struct span *span)
{
	struct mtree *t = mtree_new(f, NULL);

	t->span = span;
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
	mem_free(t->guid);
	mem_free(t->ups);
	mem_free(t->below);
	mem_free(t->covered);
	mem_free(t->dist);
	mem_free(t->parent);
	mem_free(t->up);
	mem_free(t->liked);
	mem_free(t->queue);
	mem_free(t->hosts);
	mem_free(t->is_host);
	mem_free(t->used);
	mem_free(t->at);
	mem_free(t->was);
	mem_free(t->follow_first);
	mem_free(t->follow_at);
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

			if (!has(set->trees[i].out, edge->out))
				continue;
			to = entry_of(set, edge->to, set->mlids[i]);
			if (to)
				mark(to->in, edge->in);
		}
	}
}

/* Does the other set, by MLID, then switch, have all ports of this entry, for the same levels? */
static bool
is_within(const struct check_tree *at, uint16_t mlid, const struct mtree_set *whole)
{
	uint32_t low = 0, high = whole->len;
	const struct check_tree *t;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (whole->mlids[mid] < mlid ||
		    (whole->mlids[mid] == mlid && whole->trees[mid].sw < at->sw))
			low = mid + 1;
		else
			high = mid;
	}
	if (low == whole->len)
		return false;
	t = &whole->trees[low];
	return whole->mlids[low] == mlid && t->sw == at->sw && t->sls == at->sls &&
		!((at->out[0] & ~t->out[0]) | (at->out[1] & ~t->out[1]) |
		  (at->out[2] & ~t->out[2]) | (at->out[3] & ~t->out[3]));
}

void
mtree_set_odd(const struct mtree_set *set, const struct mtree_set *whole, bool odd[MTREE_MLIDS])
{
	for (uint32_t i = 0; i < set->len; i++)
		if (!odd[set->mlids[i] % MLIDS])
			odd[set->mlids[i] % MLIDS] = !is_within(&set->trees[i], set->mlids[i],
								whole);
}

void
mtree_set_pick(struct mtree_set *set, const struct mtree_set *from, const bool odd[MTREE_MLIDS])
{
	for (uint32_t i = 0; i < from->len; i++)
		if (odd[from->mlids[i] % MLIDS])
			mtree_set_add(set, from->mlids[i], &from->trees[i]);
}

void
mtree_set_free(struct mtree_set *set)
{
	mem_free(set->trees);
	mem_free(set->mlids);
	*set = (struct mtree_set){ 0 };
}
