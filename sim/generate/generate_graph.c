/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include "sim/generate/generate_impl.h"
#include "sim/model/rng.h"

/*
 * Low-diameter graphs. Dragonfly: Kim, Dally, Scott, Abts 2008, with groups that are complete
 * graphs; Dragonfly+: Shpiner, Haramaty, Eliad, Zdornov, Gafni, Zahavi 2017, with groups of
 * leaves and spines; Slim Fly: Besta, Hoefler 2014, on the graphs of McKay, Miller, Siran 1998; and
 * random ones.
 */

/* Switches with global cables: router r of group g is node g * stride + base + r. */
struct globals {
	unsigned groups;	/* how many */
	unsigned routers;	/* of a group */
	unsigned cables;	/* global ones of a router */
	unsigned stride, base;	/* as above */
};

static uint32_t
router(const struct globals *g, unsigned group, uint64_t slot)
{
	return group * g->stride + g->base + (uint32_t)(slot / g->cables);
}

/* A group's global cables, numbered 0 .. routers * cables - 1, go round the other groups in turn;
 * cable o of one group ends at cable groups - 2 - o of the other. */
static void
join_groups(struct plan *p, const struct globals *g)
{
	uint64_t slots = (uint64_t)g->routers * g->cables;
	unsigned step = g->groups - 1;

	for (unsigned from = 0; from < g->groups; from++) {
		for (unsigned o = 0; from + o + 1 < g->groups; o++) {
			unsigned to = from + o + 1, back = g->groups - 2 - o;

			for (uint64_t i = o, j = back; i < slots && j < slots; i += step, j += step)
				plan_join(p, router(g, from, i), router(g, to, j));
		}
	}
}

static int
enough_globals(const struct plan *p, const struct globals *g)
{
	uint64_t slots = (uint64_t)g->routers * g->cables;

	if (g->groups <= slots + 1)
		return 0;
	return plan_impossible(p, "a group has %" PRIu64 " global cables, too few to reach %u "
			       "other groups", slots, g->groups - 1);
}

int
build_dragonfly(struct plan *p, const unsigned *v, unsigned n)
{
	unsigned a = v[0], h = v[1], hosts = v[2], groups = v[3], ports = hosts + a - 1 + h;
	struct globals g = { groups, a, h, a, 0 };
	uint64_t switches = (uint64_t)a * groups;
	int rc;

	(void)n;
	if (!a || !groups)
		return plan_impossible(p, "dragonfly takes at least one group of one switch");
	if ((rc = enough_globals(p, &g)) < 0 ||
	    (rc = plan_reserve(p, switches * (hosts + 1ull), switches * hosts,
			       switches * (a + h))) < 0)
		return rc;
	for (unsigned i = 0; i < groups; i++)
		for (unsigned r = 0; r < a; r++)
			plan_add(p, false, ports ? ports : 1, "D%u_%u", i, r);
	for (unsigned i = 0; i < groups; i++) {
		for (unsigned r = 0; r < a; r++)
			plan_hosts(p, i * a + r, hosts);
		for (unsigned r = 0; r < a; r++)
			for (unsigned s = r + 1; s < a; s++)
				plan_join(p, i * a + r, i * a + s);
	}
	join_groups(p, &g);
	return 0;
}

static void
plus_group(struct plan *p, uint32_t first, unsigned leaves, unsigned spines, unsigned hosts)
{
	for (unsigned l = 0; l < leaves; l++)
		plan_hosts(p, first + l, hosts);
	for (unsigned l = 0; l < leaves; l++)
		for (unsigned s = 0; s < spines; s++)
			plan_join(p, first + l, first + leaves + s);
}

int
build_dragonfly_plus(struct plan *p, const unsigned *v, unsigned n)
{
	unsigned groups = v[0], leaves = v[1], spines = v[2], hosts = v[3];
	unsigned size = leaves + spines;
	struct globals g = { groups, spines, 0, size, leaves };
	int rc;

	if (!groups || !leaves || !spines)
		return plan_impossible(p, "dragonfly+ takes at least one group of one leaf and one "
				       "spine");
	g.cables = n > 4 ? v[4] : (groups - 1 + spines - 1) / spines;
	if ((rc = enough_globals(p, &g)) < 0 ||
	    (rc = plan_reserve(p, (uint64_t)groups * (leaves * (hosts + 1ull) + spines),
			       (uint64_t)groups * leaves * hosts,
			       (uint64_t)groups * spines * ((uint64_t)leaves + g.cables))) < 0)
		return rc;
	for (unsigned i = 0; i < groups; i++) {
		for (unsigned l = 0; l < leaves; l++)
			plan_add(p, false, hosts + spines, "L%u_%u", i, l);
		for (unsigned s = 0; s < spines; s++)
			plan_add(p, false, leaves + g.cables, "S%u_%u", i, s);
	}
	for (unsigned i = 0; i < groups; i++)
		plus_group(p, i * size, leaves, spines, hosts);
	join_groups(p, &g);
	return 0;
}

static bool
is_prime(unsigned q)
{
	for (unsigned d = 2; d * d <= q; d++)
		if (q % d == 0)
			return false;
	return q > 1;
}

/* The smallest number whose powers are all of 1 .. q-1; q is prime. */
static unsigned
primitive_root(unsigned q)
{
	for (unsigned r = 2; r < q; r++) {
		unsigned x = r, order = 1;

		while (x != 1) {
			x = x * r % q;
			order++;
		}
		if (order == q - 1)
			return r;
	}
	return 1;
}

/*
 * Differences that join switches of one half, as in Besta and Hoefler: for q = 4w + 1 the even
 * powers of the root in one half and the odd ones in the other; for q = 4w - 1 even powers up to
 * 2w - 2 and odd ones from 2w - 1 on, in the other half odd powers up to 2w - 1, even ones from 2w
 * on and 1.
 */
static void
slim_sets(unsigned q, bool *even, bool *odd)
{
	unsigned root = primitive_root(q), x = 1, w = (q + 1) / 4;

	for (unsigned power = 0; power + 1 < q; power++, x = x * root % q) {
		bool first = power % 2 == 0;

		if (q % 4 == 1) {
			even[x] = first;
			odd[x] = !first;
		} else {
			even[x] = power <= 2 * w - 2 ? first : !first;
			odd[x] = !power || (power <= 2 * w - 1 ? !first : first);
		}
	}
}

/* Two halves of q x q switches; (x, y) of the first and (m, c) of the second meet if y = mx + c. */
static void
join_slim_fly(struct plan *p, unsigned q, const bool *even, const bool *odd)
{
	for (unsigned x = 0; x < q; x++) {
		for (unsigned y = 0; y < q; y++) {
			for (unsigned z = y + 1; z < q; z++) {
				if (even[z - y])
					plan_join(p, x * q + y, x * q + z);
				if (odd[z - y])
					plan_join(p, q * q + x * q + y, q * q + x * q + z);
			}
		}
	}
	for (unsigned x = 0; x < q; x++)
		for (unsigned m = 0; m < q; m++)
			for (unsigned c = 0; c < q; c++)
				plan_join(p, x * q + (m * x + c) % q, q * q + m * q + c);
}

int
build_slim_fly(struct plan *p, const unsigned *v, unsigned n)
{
	unsigned q = v[0], hosts = v[1], degree = q % 4 == 1 ? (3 * q - 1) / 2 : (3 * q + 1) / 2;
	uint64_t switches = 2ull * q * q;
	bool *even, *odd;
	int rc;

	(void)n;
	if (q < 3 || q > 113 || !is_prime(q))
		return plan_impossible(p, "slim-fly takes a prime number of 3 to 113, not %u", q);
	if ((rc = plan_reserve(p, switches * (hosts + 1ull), switches * hosts,
			       switches * degree / 2)) < 0)
		return rc;
	even = region_array(p->region, q, sizeof(*even));
	odd = region_array(p->region, q, sizeof(*odd));
	slim_sets(q, even, odd);
	for (unsigned half = 0; half < 2; half++)
		for (unsigned x = 0; x < q; x++)
			for (unsigned y = 0; y < q; y++)
				plan_add(p, false, hosts + degree, "F%u_%u_%u", half, x, y);
	for (uint32_t sw = 0; sw < switches; sw++)
		plan_hosts(p, sw, hosts);
	join_slim_fly(p, q, even, odd);
	return 0;
}

struct graph {
	struct plan *p;		/* nodes 0 .. n-1 are its switches */
	unsigned n, degree;	/* switches, cables that each may have */
	unsigned *cables;	/* that each has, n */
	unsigned *next;		/* neighbours, n rows of degree */
	struct rng rng;		/* picks */
};

static bool
adjacent(const struct graph *g, unsigned a, unsigned b)
{
	for (unsigned i = 0; i < g->cables[a]; i++)
		if (g->next[(size_t)a * g->degree + i] == b)
			return true;
	return false;
}

static void
graph_join(struct graph *g, unsigned a, unsigned b)
{
	g->next[(size_t)a * g->degree + g->cables[a]++] = b;
	g->next[(size_t)b * g->degree + g->cables[b]++] = a;
	plan_join(g->p, a, b);
}

/* A switch below `n`, from a random one onwards, that can take a cable from `a`; or n. */
static unsigned
graph_pick(struct graph *g, unsigned a, unsigned n)
{
	unsigned start = rng_below(&g->rng, n);

	for (unsigned i = 0; i < n; i++) {
		unsigned b = (start + i) % n;

		if (b != a && g->cables[b] < g->degree && !adjacent(g, a, b))
			return b;
	}
	return n;
}

int
build_random(struct plan *p, const unsigned *v, unsigned nargs)
{
	unsigned n = v[0], degree = v[1], hosts = v[2];
	struct graph g = { .p = p, .n = n, .degree = degree, .rng = { v[3] } };
	int rc;

	(void)nargs;
	if (!n || (n > 1 && !degree) || (n > 2 && degree < 2))
		return plan_impossible(p, "a connected graph of %u switches takes a degree of at "
				       "least %u", n, n > 2 ? 2 : n - 1);
	if (degree >= n)
		return plan_impossible(p, "%u switches have at most %u neighbours each, not %u",
				       n, n - 1, degree);
	if ((rc = plan_reserve(p, (uint64_t)n * (hosts + 1ull), (uint64_t)n * hosts,
			       (uint64_t)n * degree)) < 0)
		return rc;
	g.cables = region_array(p->region, n, sizeof(*g.cables));
	g.next = region_array(p->region, (size_t)n * degree, sizeof(*g.next));
	for (unsigned i = 0; i < n; i++)
		plan_add(p, false, hosts + degree ? hosts + degree : 1, "R%u", i);
	for (unsigned i = 0; i < n; i++)
		plan_hosts(p, i, hosts);
	/* A tree joins all: each switch meets one before it. Then what is free is filled up. */
	for (unsigned i = 1; i < n; i++)
		graph_join(&g, i, graph_pick(&g, i, i));
	for (unsigned i = 0; i < n; i++)
		for (unsigned b; g.cables[i] < degree && (b = graph_pick(&g, i, n)) < n;)
			graph_join(&g, i, b);
	return 0;
}
