/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/grid.h"
#include <stdlib.h>
#include <string.h>
#include "routing/sets.h"
#include "sm/base/mem.h"

/*
 * The shape of a grid from its cables alone.
 *
 * Two links at a switch that belong to a square with two others lie along different dimensions, and
 * opposite sides of a square are parallel. So links fall into bundles of parallel ones, all between
 * the same two layers of the grid (the cuts of Djokovic, 1973). Bundles that cross in some square
 * are of different dimensions; those that meet at switches and never cross are of one. Where links
 * are missing a bundle may come in parts, and two that should cross may only meet: the bundles that
 * meet most often are joined first, and none that would join what crosses.
 *
 * Without the links of a dimension the fabric falls into its layers, which the links of the
 * dimension join to a line or a ring. A layer may be in pieces: those on the same side of a layer
 * are one. The line begins, and the ring too, where the least GUID is.
 */
#define NONE UINT32_MAX

struct finder {
	const struct fabric *f;		/* whose shape */
	const struct links *l;		/* its links */
	uint32_t n;			/* switches */
	uint32_t *bundle;		/* by link: union-find; then its bundle */
	uint32_t nbundles;		/* numbered from 0 */
	uint64_t *crosses;		/* by bundle: bitmap of the bundles that it crosses */
	uint32_t words;			/* of one bitmap */
	uint32_t *meets;		/* by (bundle, bundle): switches where they only meet */
	uint32_t *dim;			/* by bundle: union-find; then its dimension */
	unsigned dims;			/* found */
	uint32_t *layer;		/* by dimension, then switch: coordinate */
	uint16_t radix[GRID_DIMS];	/* of each: layers */
	bool wraps[GRID_DIMS];		/* whether they are a ring */
	uint32_t ports[GRID_DIMS][256];	/* of each: links along it, by port number */
};

#define BUNDLES_MAX 512u	/* the pairs of them must be kept */

static int
not_a_grid(const struct finder *g, uint32_t sw, const char *why, struct error *e)
{
	char text[FABRIC_NAME_SIZE];

	return error_set(e, ERR_REFUSED, "the switches form no mesh, torus or hypercube: %s %s",
			 fabric_node_text(text, g->f, g->f->switches[sw], FABRIC_NAME_LEN), why);
}

/* ---- Bundles of parallel links ---- */

/* A link by the lower of its two numbers; NONE: they are no neighbours. */
static uint32_t
named(const struct finder *g, uint32_t link)
{
	if (link == LINKS_NONE)
		return NONE;
	return link < g->l->back[link] ? link : g->l->back[link];
}

static uint32_t
link_of(const struct finder *g, uint32_t a, uint32_t b)
{
	return named(g, links_between(g->l, a, b));
}

/* The one switch that is a neighbour of both but not `sw`; NONE: there is none, or several. */
static uint32_t
fourth(const struct finder *g, uint32_t sw, uint32_t a, uint32_t b)
{
	uint32_t found = NONE, i = g->l->first[a], k = g->l->first[b];

	while (i < g->l->first[a + 1] && k < g->l->first[b + 1]) {
		if (g->l->to[i] == g->l->to[k] && g->l->to[i] != sw) {
			if (found != NONE)
				return NONE;
			found = g->l->to[i];
		}
		if (g->l->to[i] < g->l->to[k])
			i++;
		else
			k++;
	}
	return found;
}

/* Call fn for each pair of links at each switch, with the fourth corner of their square. */
static void
each_corner(struct finder *g, void (*fn)(struct finder *g, uint32_t x, uint32_t y, uint32_t a,
					 uint32_t b, uint32_t corner))
{
	for (uint32_t sw = 0; sw < g->n; sw++)
		for (uint32_t i = g->l->first[sw]; i < g->l->first[sw + 1]; i++)
			for (uint32_t k = i + 1; k < g->l->first[sw + 1]; k++)
				fn(g, named(g, i), named(g, k), g->l->to[i], g->l->to[k],
				   fourth(g, sw, g->l->to[i], g->l->to[k]));
}

static void
bundle_corner(struct finder *g, uint32_t x, uint32_t y, uint32_t a, uint32_t b, uint32_t corner)
{
	if (corner == NONE)
		return;
	sets_join(g->bundle, x, link_of(g, b, corner));
	sets_join(g->bundle, y, link_of(g, a, corner));
}

static int
find_bundles(struct finder *g, struct error *e)
{
	for (uint32_t i = 0; i < g->l->len; i++)
		g->bundle[i] = i;
	each_corner(g, bundle_corner);
	for (uint32_t i = 0; i < g->l->len; i++) {
		uint32_t root = sets_root(g->bundle, i);

		/* A root is the least of its set, and has its number by now. */
		if (named(g, i) == i)
			g->dim[i] = root == i ? g->nbundles++ : g->dim[root];
	}
	memcpy(g->bundle, g->dim, g->l->len * sizeof(*g->bundle));
	if (g->nbundles > BUNDLES_MAX)
		return not_a_grid(g, 0, "and others have hardly any links in squares", e);
	return 0;
}

/* ---- Dimensions ---- */

static void
note_corner(struct finder *g, uint32_t x, uint32_t y, uint32_t a, uint32_t b, uint32_t corner)
{
	uint32_t p = g->bundle[x], q = g->bundle[y];

	(void)a;
	(void)b;
	if (corner == NONE) {
		g->meets[p * g->nbundles + q]++;
		g->meets[q * g->nbundles + p]++;
	} else {
		g->crosses[p * g->words + q / 64] |= UINT64_C(1) << q % 64;
		g->crosses[q * g->words + p / 64] |= UINT64_C(1) << p % 64;
	}
}

struct meeting {
	uint32_t times;		/* switches where they meet */
	uint32_t a, b;		/* bundles, a < b */
};

static int
by_times(const void *a, const void *b)
{
	const struct meeting *x = a, *y = b;

	if (x->times != y->times)
		return x->times > y->times ? -1 : 1;
	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return x->b < y->b ? -1 : x->b > y->b;
}

/* Does a bundle of one set cross one of the other? There are two rows of bits by bundle for a set:
 * what any of it crosses, and who is in it. */
static bool
cross(const struct finder *g, const uint64_t *members, uint32_t a, uint32_t b)
{
	const uint64_t *crossed = &g->crosses[(size_t)a * g->words];
	const uint64_t *in = &members[(size_t)b * g->words];

	for (uint32_t i = 0; i < g->words; i++)
		if (crossed[i] & in[i])
			return true;
	return false;
}

/* Two sets become one, under the lower number. */
static void
join(struct finder *g, uint64_t *members, uint32_t a, uint32_t b)
{
	size_t to = (size_t)(a < b ? a : b) * g->words, from = (size_t)(a < b ? b : a) * g->words;

	sets_join(g->dim, a, b);
	for (uint32_t i = 0; i < g->words; i++) {
		g->crosses[to + i] |= g->crosses[from + i];
		members[to + i] |= members[from + i];
	}
}

static void
join_meetings(struct finder *g)
{
	uint32_t n = g->nbundles, len = 0;
	struct meeting *m = mem_array((size_t)n * n / 2 + 1, sizeof(*m));
	uint64_t *members = mem_array((size_t)n * g->words + 1, sizeof(*members));

	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = a + 1; b < n; b++)
			if (g->meets[a * n + b])
				m[len++] = (struct meeting){ g->meets[a * n + b], a, b };
	for (uint32_t a = 0; a < n; a++)
		members[(size_t)a * g->words + a / 64] = UINT64_C(1) << a % 64;
	qsort(m, len, sizeof(*m), by_times);
	for (uint32_t i = 0; i < len; i++) {
		uint32_t a = sets_root(g->dim, m[i].a), b = sets_root(g->dim, m[i].b);

		if (a != b && !cross(g, members, a, b))
			join(g, members, a, b);
	}
	mem_free(members);
	mem_free(m);
}

static int
find_dims(struct finder *g, struct error *e)
{
	uint32_t n = g->nbundles;
	uint32_t *number = mem_array(n + 1, sizeof(*number));

	g->words = (n + 63) / 64;
	g->crosses = mem_array((size_t)n * g->words + 1, sizeof(*g->crosses));
	g->meets = mem_array((size_t)n * n + 1, sizeof(*g->meets));
	each_corner(g, note_corner);
	for (uint32_t i = 0; i < n; i++)
		g->dim[i] = i;
	join_meetings(g);
	for (uint32_t i = 0; i < n; i++)
		if (sets_root(g->dim, i) == i)
			number[i] = g->dims++;
	for (uint32_t i = 0; i < n; i++)
		number[i] = number[sets_root(g->dim, i)];
	memcpy(g->dim, number, n * sizeof(*number));
	mem_free(number);
	if (g->dims > GRID_DIMS)
		return not_a_grid(g, 0, "and others have links in more directions than eight", e);
	return 0;
}

/* ---- Layers ---- */

/* Layers of a dimension, numbered by their least switch; returns how many. */
static uint32_t
find_layers(const struct finder *g, unsigned dim, uint32_t *layer, uint32_t *queue)
{
	uint32_t n = 0;

	memset(layer, 0xff, g->n * sizeof(*layer));
	for (uint32_t sw = 0; sw < g->n; sw++) {
		uint32_t len = 0;

		if (layer[sw] != NONE)
			continue;
		queue[len++] = sw;
		layer[sw] = n;
		for (uint32_t i = 0; i < len; i++)
			for (uint32_t k = g->l->first[queue[i]]; k < g->l->first[queue[i] + 1]; k++)
				if (g->dim[g->bundle[named(g, k)]] != dim &&
				    layer[g->l->to[k]] == NONE) {
					layer[g->l->to[k]] = n;
					queue[len++] = g->l->to[k];
				}
		n++;
	}
	return n;
}

/* Layers, or pieces of such, to both sides of a switch along a dimension; returns how many. */
static unsigned
beside_switch(const struct finder *g, unsigned dim, uint32_t *layer, uint32_t *set, uint32_t sw,
	      uint32_t found[2])
{
	unsigned n = 0;

	for (uint32_t k = g->l->first[sw]; k < g->l->first[sw + 1]; k++)
		if (g->dim[g->bundle[named(g, k)]] == dim && n < 2)
			found[n++] = sets_root(set, layer[g->l->to[k]]);
	return n;
}

/* A switch between pieces `a` and `b`: which of them is on which side of its layer is known, or
 * becomes so. True: pieces were joined. */
static bool
join_sides(uint32_t *set, uint32_t side[2], uint32_t a, uint32_t b)
{
	for (unsigned i = 0; i < 2; i++)
		if (side[i] != NONE)
			side[i] = sets_root(set, side[i]);
	if (side[0] == NONE) {
		side[0] = a;
		side[1] = b;
		return false;
	}
	if ((a == side[0] && b == side[1]) || (a == side[1] && b == side[0]))
		return false;
	if (a == side[0] || b == side[1]) {
		sets_join(set, a, side[0]);
		sets_join(set, b, side[1]);
	} else if (a == side[1] || b == side[0]) {
		sets_join(set, a, side[1]);
		sets_join(set, b, side[0]);
	} else {
		return false;
	}
	return true;
}

/* What links of the dimension say of pieces of layers: `two`, by switches between two pieces, else
 * by layers that have something on one side only. True: pieces were joined. */
static bool
join_pieces(const struct finder *g, unsigned dim, uint32_t *layer, uint32_t *set, uint32_t n,
	    bool two)
{
	uint32_t (*side)[2] = mem_alloc((n + 1) * sizeof(*side));
	bool *between = mem_array(n + 1, sizeof(*between)), changed = false;
	uint32_t found[2];

	memset(side, 0xff, (n + 1) * sizeof(*side));
	for (uint32_t sw = 0; sw < g->n; sw++)
		if (beside_switch(g, dim, layer, set, sw, found) == 2) {
			between[sets_root(set, layer[sw])] = true;
			if (two)
				changed |= join_sides(set, side[sets_root(set, layer[sw])],
						      found[0], found[1]);
		}
	for (uint32_t sw = 0; !two && sw < g->n; sw++) {
		uint32_t *s = side[sets_root(set, layer[sw])];

		if (between[sets_root(set, layer[sw])] ||
		    beside_switch(g, dim, layer, set, sw, found) != 1)
			continue;
		if (s[0] != NONE && sets_root(set, s[0]) != found[0]) {
			sets_join(set, s[0], found[0]);
			changed = true;
		}
		s[0] = found[0];
	}
	mem_free(side);
	mem_free(between);
	return changed;
}

/* Make whole layers of pieces; returns how many there are. */
static uint32_t
whole_layers(const struct finder *g, unsigned dim, uint32_t *layer, uint32_t n)
{
	uint32_t *set = mem_array(n + 1, sizeof(*set)), *number = mem_array(n + 1, sizeof(*number));
	uint32_t len = 0;

	for (uint32_t i = 0; i < n; i++)
		set[i] = i;
	while (join_pieces(g, dim, layer, set, n, true) ||
	       join_pieces(g, dim, layer, set, n, false))
		;
	for (uint32_t i = 0; i < n; i++)
		number[i] = sets_root(set, i) == i ? len++ : number[sets_root(set, i)];
	for (uint32_t sw = 0; sw < g->n; sw++)
		layer[sw] = number[layer[sw]];
	mem_free(set);
	mem_free(number);
	return len;
}

/* The layers that each layer has links to, two at most. */
static int
join_layers(const struct finder *g, unsigned dim, const uint32_t *layer, uint32_t (*beside)[2],
	    struct error *e)
{
	for (uint32_t sw = 0; sw < g->n; sw++)
		for (uint32_t k = g->l->first[sw]; k < g->l->first[sw + 1]; k++) {
			uint32_t *b = beside[layer[sw]], other = layer[g->l->to[k]];

			if (g->dim[g->bundle[named(g, k)]] != dim || b[0] == other || b[1] == other)
				continue;
			if (other == layer[sw])
				return not_a_grid(g, sw, "has a link within what should be a layer",
						  e);
			if (b[0] != NONE && b[1] != NONE)
				return not_a_grid(g, sw, "would have three neighbours in a line",
						  e);
			b[b[0] == NONE ? 0 : 1] = other;
		}
	return 0;
}

/* Number the layers along the line or ring, from the one with the least switch that can be first,
 * towards the lesser of its neighbours. */
static uint32_t
order_layers(uint32_t n, uint32_t (*beside)[2], uint32_t *order)
{
	uint32_t at = 0, from = NONE, len = 0;

	for (uint32_t i = 0; i < n; i++)
		if (beside[i][1] == NONE) {
			at = i;
			break;
		}
	memset(order, 0xff, n * sizeof(*order));
	while (at != NONE && order[at] == NONE) {
		uint32_t a = beside[at][0], b = beside[at][1];
		uint32_t next = from == NONE ? (a < b ? a : b) : a == from ? b : a;

		order[at] = len++;
		from = at;
		at = next;
	}
	return len;
}

static int
find_line(struct finder *g, unsigned dim, uint32_t *queue, struct error *e)
{
	uint32_t *layer = &g->layer[(size_t)dim * g->n];
	uint32_t n = whole_layers(g, dim, layer, find_layers(g, dim, layer, queue));
	uint32_t (*beside)[2] = mem_alloc((n + 1) * sizeof(*beside));
	uint32_t *order = mem_array(n + 1, sizeof(*order));
	int rc;

	memset(beside, 0xff, (n + 1) * sizeof(*beside));
	rc = join_layers(g, dim, layer, beside, e);
	if (!rc && (n > UINT16_MAX || order_layers(n, beside, order) < n))
		rc = not_a_grid(g, 0, "and others lie in layers that form no line", e);
	for (uint32_t sw = 0; !rc && sw < g->n; sw++)
		layer[sw] = order[layer[sw]];
	g->radix[dim] = (uint16_t)n;
	g->wraps[dim] = n > 2;
	for (uint32_t i = 0; i < n; i++)
		g->wraps[dim] &= beside[i][1] != NONE;
	mem_free(beside);
	mem_free(order);
	return rc;
}

/* ---- The shape ---- */

/* The ports that have links along each dimension. */
static void
count_ports(struct finder *g)
{
	for (uint32_t i = 0; i < g->l->len; i++)
		for (uint32_t p = g->l->port_first[i]; p < g->l->port_first[i + 1]; p++)
			g->ports[g->dim[g->bundle[named(g, i)]]][g->l->port[p]]++;
}

/* Links of two dimensions that have the same port number. The two that are one ring of four take
 * turns on the same ports, if the ring was cabled alike everywhere. */
static uint32_t
alike(const struct finder *g, unsigned a, unsigned b)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < 256; i++)
		n += g->ports[a][i] < g->ports[b][i] ? g->ports[a][i] : g->ports[b][i];
	return n;
}

/* Does dimension `a` come before `b`? The longest first, rings before lines. */
static bool
comes_before(const struct finder *g, unsigned a, unsigned b)
{
	if (g->radix[a] != g->radix[b])
		return g->radix[a] > g->radix[b];
	return g->wraps[a] && !g->wraps[b];
}

static void
order_dims(const struct finder *g, unsigned *order)
{
	unsigned twos = 0;

	for (unsigned d = 0; d < g->dims; d++) {
		unsigned i = d;

		for (; i > 0 && comes_before(g, d, order[i - 1]); i--)
			order[i] = order[i - 1];
		order[i] = d;
	}
	while (twos < g->dims && g->radix[order[twos]] > 2)
		twos++;
	for (; twos + 2 < g->dims; twos += 2) {
		unsigned best = twos + 1, next = order[twos + 1];

		for (unsigned i = best + 1; i < g->dims; i++)
			if (alike(g, order[twos], order[i]) > alike(g, order[twos], order[best]))
				best = i;
		order[twos + 1] = order[best];
		order[best] = next;
	}
}

static int
fill_shape(const struct finder *g, struct grid_shape *s, struct error *e)
{
	unsigned order[GRID_DIMS];
	uint64_t places = 1;
	bool *taken;
	int rc = 0;

	order_dims(g, order);
	s->dims = g->dims;
	for (unsigned d = 0; d < g->dims; d++) {
		s->radix[d] = g->radix[order[d]];
		s->wraps[d] = g->wraps[order[d]];
		s->stride[d] = (uint32_t)places;
		places *= s->radix[d];
		if (places > 4u * g->n + 16)
			return not_a_grid(g, 0, "and others fill less than a quarter of one", e);
	}
	s->nplaces = (uint32_t)places;
	taken = mem_array(places, sizeof(*taken));
	for (uint32_t sw = 0; sw < g->n && !rc; sw++) {
		s->guid[sw] = fabric_switch_node(g->f, sw)->guid;
		for (unsigned d = 0; d < g->dims; d++)
			s->place[sw] += g->layer[(size_t)order[d] * g->n + sw] * s->stride[d];
		if (taken[s->place[sw]])
			rc = not_a_grid(g, sw, "would be in the place of another", e);
		taken[s->place[sw]] = true;
	}
	mem_free(taken);
	return rc;
}

static int
find(struct finder *g, struct grid_shape *s, struct error *e)
{
	uint32_t *queue;
	int rc;

	rc = find_bundles(g, e);
	if (!rc)
		rc = find_dims(g, e);
	if (rc)
		return rc;
	queue = mem_array(g->n + 1, sizeof(*queue));
	g->layer = mem_array((size_t)g->dims * g->n + 1, sizeof(*g->layer));
	for (unsigned d = 0; d < g->dims && !rc; d++)
		rc = find_line(g, d, queue, e);
	mem_free(queue);
	count_ports(g);
	return rc ? rc : fill_shape(g, s, e);
}

int
grid_find(const struct links *l, struct grid_shape **shape, struct error *e)
{
	const struct fabric *f = l->f;
	struct finder g = {
		.f = f, .l = l, .n = f->nswitches,
		.bundle = mem_array(l->len + 1, sizeof(uint32_t)),
		.dim = mem_array(l->len + 1, sizeof(uint32_t)),
	};
	struct grid_shape *s = mem_zalloc(sizeof(*s));
	struct grid check;
	int rc;

	s->refs = 1;
	s->n = f->nswitches;
	s->guid = mem_array(f->nswitches + 1, sizeof(*s->guid));
	s->place = mem_array(f->nswitches + 1, sizeof(*s->place));
	rc = find(&g, s, e);
	if (!rc) {
		rc = grid_open(&check, s, l, e);
		grid_close(&check);
	}
	if (rc)
		grid_shape_unref(s);
	else
		*shape = s;
	mem_free(g.bundle);
	mem_free(g.dim);
	mem_free(g.crosses);
	mem_free(g.meets);
	mem_free(g.layer);
	return rc;
}
