/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/span.h"

#include <string.h>
#include "routing/checker.h"
#include "sm/base/mem.h"

/*
 * A tree inside the dependency graph of a routing.
 *
 * The ways of all switches to one of them, as the unicast tables have them, are a tree, and half of
 * what its packets wait for is in the graph already: those that climb. Of a grid that is routed
 * dimension by dimension it is a comb, whose other half does no harm, if the root lies so that no
 * way goes where lanes change over. So each switch is tried as the root, beginning with the one
 * that was it before, until the whole tree closes no loop. Where none does, trees are built link by
 * link from one root after the other: first along these ways, then as links come, and whatever
 * closes a loop is left out, until one has all switches. Where none has, after many losses or
 * where ways were searched for in any direction, links come in any order, again and again: often
 * some order is good. In a large fabric not all roots and orders are tried; the tree with most
 * switches is taken then.
 */
#define TRIES 4096u		/* whole trees */
#define CHANCES 5000u		/* trees of links in any order */
#define WORK 400000000u		/* lanes of links looked at for trees that are built; for those of
				 * links in any order as much again */

struct builder {
	struct checker c;		/* its graph is what unicast packets wait for, and more */
	const struct check_input *in;	/* whose */
	const struct fabric *f;		/* its fabric */
	uint16_t sls;			/* of the packets of the tree */
	uint64_t *base;			/* the graph without a tree */
	size_t size;			/* of it in bytes */
	uint64_t *before;		/* what the last link has changed of it, as it was */
	struct channels_search *search;	/* for loops in it */
	uint32_t *parent;		/* by switch: edge to it, FABRIC_NONE */
	uint32_t *root;			/* by switch: FABRIC_NONE: not in the tree */
	bool *spanned;			/* by part of the fabric */
	uint32_t *queue;		/* switches in the order of joining */
	uint32_t len;			/* how many */
	uint32_t *branch;		/* edges that may join the tree next */
	uint32_t nbranches;		/* how many */
	uint64_t work;			/* links that were tried */
};

static bool
is_silent(const struct builder *b, uint32_t sw)
{
	return fabric_switch_node(b->f, sw)->flags & FABRIC_NODE_SILENT;
}

/* The switch that an edge comes from. */
static uint32_t
source_of(const struct builder *b, uint32_t e)
{
	const struct fabric_edge *edge = &b->f->edges[e];
	const struct fabric_node *n = fabric_switch_node(b->f, edge->to);
	uint32_t peer = b->f->ports[n->first_port + edge->in].peer;

	return b->f->nodes[b->f->ports[peer].node].sw;
}

/* The same cable the other way. */
static uint32_t
opposite(const struct builder *b, uint32_t e)
{
	const struct fabric_edge *edge = &b->f->edges[e];

	return b->c.channels.edge_at[fabric_switch_node(b->f, edge->to)->first_port + edge->in];
}

/* ---- What packets of the tree wait for ---- */

/* Packets that come by port `a` of a switch leave by port `z`, and the other way round. */
static void
wait_both(struct builder *b, uint32_t sw, uint8_t a, uint8_t z)
{
	multicast_pair(&b->c, sw, a, z, b->sls);
	multicast_pair(&b->c, sw, z, a, b->sls);
}

/* The link of an edge joins the tree: at its upper end packets turn to and from all others. */
static void
add_link(struct builder *b, uint32_t e)
{
	const struct fabric *f = b->f;
	uint32_t up = source_of(b, e);

	if (b->parent[up] != FABRIC_NONE)
		wait_both(b, up, f->edges[b->parent[up]].in, f->edges[e].out);
	for (uint32_t i = f->edge_first[up]; i < f->edge_first[up + 1]; i++)
		if (i != e && b->parent[f->edges[i].to] == i)
			wait_both(b, up, f->edges[i].out, f->edges[e].out);
	b->parent[f->edges[e].to] = e;
}

static bool
has_loop(const struct builder *b)
{
	char text[sizeof(((struct plan_check *)0)->cycle)];

	return channels_cycle(&b->c.channels, text, sizeof(text));
}

/* ---- The ways to a root ---- */

static void
clear(struct builder *b)
{
	memset(b->parent, 0xff, b->f->nswitches * sizeof(*b->parent));
	memset(b->root, 0xff, b->f->nswitches * sizeof(*b->root));
	memcpy(b->c.channels.bits, b->base, b->size);
	b->len = 0;
}

static void
join(struct builder *b, uint32_t sw, uint32_t root)
{
	b->root[sw] = root;
	b->queue[b->len++] = sw;
}

/* The edge by which the root's packets would come to `sw` by the way of its own to the root. */
static uint32_t
way_back(const struct builder *b, uint32_t sw, uint32_t root)
{
	uint32_t node = b->f->switches[root];
	uint16_t lid = b->in->lids->base[b->f->nodes[node].first_port];
	uint32_t e = lid && b->in->rows[sw] ?
		channels_edge(&b->c.channels, sw, plan_row_port(b->in->rows[sw], lid)) :
		FABRIC_NONE;

	return e == FABRIC_NONE ? FABRIC_NONE : opposite(b, e);
}

/* What packets that come to a switch wait for, which is all that a link below it changes. */
static void
save_at(struct builder *b, uint32_t sw, bool restore)
{
	size_t size = b->size / b->f->nedges, words = size / sizeof(uint64_t), n = 0;

	for (uint32_t i = b->f->edge_first[sw]; i < b->f->edge_first[sw + 1]; i++, n++) {
		uint64_t *bits = b->c.channels.bits + opposite(b, i) * words;

		if (restore)
			memcpy(bits, b->before + n * words, size);
		else
			memcpy(b->before + n * words, bits, size);
	}
}

/* True if the link of an edge closes no loop; else all is as it was. */
static bool
add_carefully(struct builder *b, uint32_t e)
{
	uint32_t up = source_of(b, e), edges[2] = { e, opposite(b, e) };

	save_at(b, up, false);
	add_link(b, e);
	b->work++;
	if (!channels_search_from(b->search, edges, 2))
		return true;
	save_at(b, up, true);
	b->parent[b->f->edges[e].to] = FABRIC_NONE;
	return false;
}

/* Switches whose way leads over `sw` join, nearest first; `careful`: if no loop comes of it. */
static void
join_behind(struct builder *b, uint32_t sw, uint32_t root, bool ways, bool careful)
{
	const struct fabric *f = b->f;

	for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++) {
		uint32_t to = f->edges[e].to;

		if (b->root[to] != FABRIC_NONE || is_silent(b, to) ||
		    (ways && way_back(b, to, root) != e))
			continue;
		if (!careful)
			add_link(b, e);
		else if (!add_carefully(b, e))
			continue;
		join(b, to, root);
	}
}

static void
grow(struct builder *b, uint32_t root, bool ways, bool careful)
{
	if (b->root[root] == FABRIC_NONE)
		join(b, root, root);
	for (uint32_t i = 0; i < b->len; i++)
		join_behind(b, b->queue[i], root, ways, careful);
}

/* Switches of its part of the fabric that can be in a tree; silent ones divide nothing here. */
static uint32_t
part_size(const struct builder *b, uint32_t root)
{
	uint32_t n = 0;

	for (uint32_t sw = 0; sw < b->f->nswitches; sw++)
		n += b->c.part[sw] == b->c.part[root] && !is_silent(b, sw);
	return n;
}

/* ---- One part of the fabric ---- */

/* What is in the graph now is there for the parts that follow. */
static void
keep(struct builder *b, uint32_t *parent, uint32_t *root)
{
	memcpy(b->base, b->c.channels.bits, b->size);
	for (uint32_t i = 0; i < b->len; i++) {
		parent[b->queue[i]] = b->parent[b->queue[i]];
		root[b->queue[i]] = b->root[b->queue[i]];
	}
}

static bool
try_root(struct builder *b, uint32_t root, uint32_t size)
{
	clear(b);
	grow(b, root, true, false);
	return b->len == size && !has_loop(b);
}

static void
build(struct builder *b, uint32_t root)
{
	clear(b);
	grow(b, root, true, true);
	grow(b, root, false, true);
}

static bool
may_be_root(const struct builder *b, uint32_t sw, uint32_t first)
{
	return b->c.part[sw] == b->c.part[first] && !is_silent(b, sw);
}

/* The next of a sequence of numbers that look random, and are the same each time. */
static uint32_t
draw(uint64_t *state, uint32_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((*state >> 33) % below);
}

static void
add_branches(struct builder *b, uint32_t sw)
{
	for (uint32_t e = b->f->edge_first[sw]; e < b->f->edge_first[sw + 1]; e++)
		if (b->root[b->f->edges[e].to] == FABRIC_NONE && !is_silent(b, b->f->edges[e].to))
			b->branch[b->nbranches++] = e;
}

/* Link by link in an order that the number tells, as it tells the root. A link that closes a loop
 * does so for good, for what is waited for only becomes more. */
static void
build_by_chance(struct builder *b, uint32_t number)
{
	uint32_t root = number % b->f->nswitches;
	uint64_t seed = number;

	clear(b);
	b->nbranches = 0;
	join(b, root, root);
	add_branches(b, root);
	while (b->nbranches) {
		uint32_t i = draw(&seed, b->nbranches), e = b->branch[i];
		uint32_t to = b->f->edges[e].to;

		b->branch[i] = b->branch[--b->nbranches];
		if (b->root[to] != FABRIC_NONE || !add_carefully(b, e))
			continue;
		join(b, to, root);
		add_branches(b, to);
	}
}

/* One root after the other, beginning with the first, until a tree has all switches; returns how
 * many behind the first one the best is. */
static uint32_t
best_root(struct builder *b, uint32_t first, uint32_t size, uint32_t *most)
{
	uint64_t lanes = (uint64_t)b->f->nedges * b->c.channels.lanes;
	uint32_t n = b->f->nswitches, best = 0;

	*most = 0;
	b->work = 0;
	for (uint32_t i = 0; i < n && *most < size && (!*most || b->work * lanes < WORK); i++) {
		uint32_t sw = (first + i) % n;

		if (!may_be_root(b, sw, first))
			continue;
		build(b, sw);
		if (b->len <= *most)
			continue;
		*most = b->len;
		best = i;
	}
	return best;
}

/* The number of the best order of links, if it is better than `most`; else CHANCES. */
static uint32_t
best_chance(struct builder *b, uint32_t first, uint32_t size, uint32_t most)
{
	uint64_t lanes = (uint64_t)b->f->nedges * b->c.channels.lanes;
	uint32_t best = CHANCES;

	b->work = 0;
	for (uint32_t i = 0; i < CHANCES && most < size && b->work * lanes < WORK; i++) {
		if (!may_be_root(b, i % b->f->nswitches, first))
			continue;
		build_by_chance(b, i);
		if (b->len <= most)
			continue;
		most = b->len;
		best = i;
	}
	return best;
}

/* The tree that gets farthest is left built. */
static void
build_best(struct builder *b, uint32_t first, uint32_t size)
{
	uint32_t most, root = best_root(b, first, size, &most);
	uint32_t chance = best_chance(b, first, size, most);

	if (chance < CHANCES)
		build_by_chance(b, chance);
	else
		build(b, (first + root) % b->f->nswitches);
}

static void
span_part(struct builder *b, uint32_t first, uint32_t near, struct span *s)
{
	uint32_t n = b->f->nswitches, size = part_size(b, first), tries = 0;
	bool done;

	b->spanned[b->c.part[first]] = true;
	if (near != FABRIC_NONE && b->c.part[near] == b->c.part[first] && !is_silent(b, near))
		first = near;
	done = try_root(b, first, size);
	for (uint32_t sw = 0; sw < n && !done && tries < TRIES; sw++) {
		if (b->c.part[sw] != b->c.part[first] || is_silent(b, sw))
			continue;
		done = try_root(b, sw, size);
		tries++;
	}
	if (!done)
		build_best(b, first, size);
	keep(b, s->parent, s->root);
}

struct span *
span_make(const struct check_input *in, uint16_t sls, uint32_t near)
{
	struct check_input alone = *in;
	uint32_t n = in->fabric->nswitches;
	struct span *s = mem_zalloc(sizeof(*s));
	struct builder b = { .in = in, .f = in->fabric, .sls = sls };

	alone.also = NULL;
	alone.ntrees = 0;
	s->refs = 1;
	s->nswitches = n;
	s->parent = mem_array(n + 1, sizeof(*s->parent));
	s->root = mem_array(n + 1, sizeof(*s->root));
	memset(s->parent, 0xff, n * sizeof(*s->parent));
	memset(s->root, 0xff, n * sizeof(*s->root));
	b.parent = mem_array(n + 1, sizeof(*b.parent));
	b.root = mem_array(n + 1, sizeof(*b.root));
	b.queue = mem_array(n + 1, sizeof(*b.queue));
	b.spanned = mem_array(n + 1, sizeof(*b.spanned));
	b.branch = mem_array(in->fabric->nedges + 1, sizeof(*b.branch));
	checker_init(&b.c, &alone);
	b.size = checker_graph(&b.c);
	b.base = mem_array(b.size + 1, 1);
	b.before = mem_array(b.size + 1, 1);
	b.search = channels_search_new(&b.c.channels);
	memcpy(b.base, b.c.channels.bits, b.size);
	for (uint32_t sw = 0; sw < n; sw++)
		if (s->root[sw] == FABRIC_NONE && !is_silent(&b, sw) && !b.spanned[b.c.part[sw]])
			span_part(&b, sw, near, s);
	channels_search_free(b.search);
	checker_free(&b.c);
	mem_free(b.base);
	mem_free(b.before);
	mem_free(b.parent);
	mem_free(b.root);
	mem_free(b.queue);
	mem_free(b.branch);
	mem_free(b.spanned);
	return s;
}

struct span *
span_ref(struct span *s)
{
	__atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
	return s;
}

void
span_free(struct span *s)
{
	if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL))
		return;
	mem_free(s->parent);
	mem_free(s->root);
	mem_free(s);
}
