/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/generate/generate_impl.h"

/*
 * Trees. ft3 is the k-ary fat tree of Al-Fares, Loukissas and Vahdat 2008; all others are extended
 * generalised fat trees, XGFT(h; m1..mh; w1..wh) of Ohring, Ibel, Das and Kumar 1995: a node of
 * level l has m[l] children and w[l + 1] parents. Rails are several two-level trees side by side,
 * one for each device of a server.
 */

/* K pods of K/2 leaves and K/2 aggregation switches; core c meets aggregation switch c/(K/2). */
int
build_ft3(struct plan *p, const unsigned *a, unsigned n)
{
	unsigned k = a[0], h = k / 2;
	uint32_t core;
	int rc;

	(void)n;
	if (k < 2 || k % 2)
		return plan_impossible(p, "a fat tree takes switches with an even number of ports "
				       "of at least 2, not %u", k);
	if ((rc = plan_reserve(p, (uint64_t)k * h * h + 5ull * h * h, (uint64_t)k * h * h,
			       2ull * k * h * h)) < 0)
		return rc;
	for (unsigned pod = 0; pod < k; pod++) {
		for (unsigned i = 0; i < h; i++)
			plan_add(p, false, k, "L%u_%u", pod, i);
		for (unsigned i = 0; i < h; i++)
			plan_add(p, false, k, "A%u_%u", pod, i);
	}
	core = (uint32_t)p->nnodes;
	for (unsigned c = 0; c < h * h; c++)
		plan_add(p, false, k, "C%u", c);
	for (unsigned pod = 0; pod < k; pod++) {
		uint32_t leaf = pod * k, agg = leaf + h;

		for (unsigned i = 0; i < h; i++)
			plan_hosts(p, leaf + i, h);
		for (unsigned i = 0; i < h; i++)
			for (unsigned j = 0; j < h; j++)
				plan_join(p, leaf + i, agg + j);
	}
	for (unsigned c = 0; c < h * h; c++)
		for (unsigned pod = 0; pod < k; pod++)
			plan_join(p, core + c, pod * k + h + c / h);
	return 0;
}

int
build_ft2(struct plan *p, const unsigned *a, unsigned n)
{
	unsigned leaves = a[0], spines = a[1], hosts = a[2], parallel = n > 3 ? a[3] : 1;
	uint64_t up = (uint64_t)spines * parallel, down = (uint64_t)leaves * parallel;
	int rc;

	if (!leaves || !spines || !parallel)
		return plan_impossible(p, "ft2 takes at least one leaf, one spine and one cable "
				       "between them");
	if ((rc = plan_reserve(p, (uint64_t)leaves * hosts + leaves + spines,
			       (uint64_t)leaves * hosts, leaves * up)) < 0)
		return rc;
	for (unsigned l = 0; l < leaves; l++)
		plan_add(p, false, hosts + (unsigned)up, "L%u", l);
	for (unsigned s = 0; s < spines; s++)
		plan_add(p, false, (unsigned)down, "S%u", s);
	for (unsigned l = 0; l < leaves; l++)
		plan_hosts(p, l, hosts);
	for (unsigned l = 0; l < leaves; l++)
		for (unsigned s = 0; s < spines; s++)
			for (unsigned i = 0; i < parallel; i++)
				plan_join(p, l, leaves + s);
	return 0;
}

struct xgft {
	unsigned h;				/* levels of switches */
	unsigned m[GENERATE_LEVELS + 1];	/* m[l]: children of a node of level l */
	unsigned w[GENERATE_LEVELS + 1];	/* w[l]: parents of a node of level l - 1 */
	uint32_t first[GENERATE_LEVELS + 1];	/* number of the first node of a level */
};

/* At level l, digit j (1..h) of a node's label counts parents below and children above. */
static unsigned
radix(const struct xgft *x, unsigned l, unsigned j)
{
	return j <= l ? x->w[j] : x->m[j];
}

static uint64_t
level_size(const struct xgft *x, unsigned l)
{
	uint64_t n = 1;

	for (unsigned j = 1; j <= x->h; j++)
		n *= radix(x, l, j);
	return n;
}

/* Node `index` of level l - 1 with its parents: they agree in all digits but the l-th. */
static void
join_parents(struct plan *p, const struct xgft *x, unsigned l, uint32_t index)
{
	unsigned digits[GENERATE_LEVELS + 1];
	uint32_t rest = index;

	for (unsigned j = 1; j <= x->h; j++) {
		digits[j] = rest % radix(x, l - 1, j);
		rest /= radix(x, l - 1, j);
	}
	for (unsigned up = 0; up < x->w[l]; up++) {
		uint32_t parent = 0;

		digits[l] = up;
		for (unsigned j = x->h; j; j--)
			parent = parent * radix(x, l, j) + digits[j];
		plan_join(p, x->first[l - 1] + index, x->first[l] + parent);
	}
}

static int
build_levels(struct plan *p, struct xgft *x)
{
	uint64_t nodes = 0, trunks = 0;
	int rc;

	for (unsigned l = 0; l <= x->h; l++) {
		nodes += level_size(x, l);
		if (l >= 2)
			trunks += level_size(x, l) * x->m[l];
	}
	if ((rc = plan_reserve(p, nodes, level_size(x, 0) * x->w[1], trunks)) < 0)
		return rc;
	for (unsigned l = 0; l <= x->h; l++) {
		unsigned ports = l == 0 ? x->w[1] : x->m[l] + (l < x->h ? x->w[l + 1] : 0);

		x->first[l] = (uint32_t)p->nnodes;
		for (uint64_t i = 0; i < level_size(x, l); i++) {
			if (l)
				plan_add(p, false, ports, "T%u_%u", l, (unsigned)i);
			else
				plan_add(p, true, ports, "H%u", (unsigned)i);
		}
	}
	for (unsigned l = 1; l <= x->h; l++)
		for (uint64_t i = 0; i < level_size(x, l - 1); i++)
			join_parents(p, x, l, (uint32_t)i);
	return 0;
}

int
build_xgft(struct plan *p, const unsigned *a, unsigned n)
{
	struct xgft x = { .h = a[0] };

	if (!x.h || x.h > GENERATE_LEVELS)
		return plan_impossible(p, "xgft takes 1 to %u levels, not %u", GENERATE_LEVELS,
				       x.h);
	if (n != 1 + 2 * x.h)
		return plan_impossible(p, "xgft of %u levels takes %u numbers of children and as "
				       "many of parents behind the first", x.h, x.h);
	for (unsigned l = 1; l <= x.h; l++) {
		x.m[l] = a[l];
		x.w[l] = a[x.h + l];
		if (!x.m[l] || !x.w[l])
			return plan_impossible(p, "xgft takes at least one child and one parent on "
					       "each level");
		if (x.m[l] > 255 || x.w[l] > 255)
			return plan_impossible(p, "xgft takes at most 255 children and parents");
	}
	return build_levels(p, &x);
}

int
build_fat_tree(struct plan *p, const unsigned *a, unsigned n)
{
	unsigned k = a[0], levels = n > 1 ? a[1] : 3, h = k / 2;
	struct xgft x = { .h = levels };

	if (levels == 3)
		return build_ft3(p, a, 1);
	if (!levels || levels > GENERATE_LEVELS)
		return plan_impossible(p, "a fat tree has 1 to %u levels here, not %u",
				       GENERATE_LEVELS, levels);
	if (k < 2 || k % 2 || k > 254)
		return plan_impossible(p, "a fat tree takes switches with an even number of ports "
				       "of 2 to 254, not %u", k);
	for (unsigned l = 1; l <= levels; l++) {
		x.m[l] = l < levels ? h : k;
		x.w[l] = l == 1 ? 1 : h;
	}
	return build_levels(p, &x);
}

/* Unit u has SERVERS servers of RAILS devices and a leaf for each rail. */
int
build_rails(struct plan *p, const unsigned *a, unsigned n)
{
	unsigned units = a[0], servers = a[1], rails = a[2], spines = a[3];
	uint64_t leaves = (uint64_t)units * rails, hosts = leaves * servers;
	int rc;

	(void)n;
	if (!units || !servers || !rails || !spines)
		return plan_impossible(p, "rails takes at least one unit of one server with one "
				       "rail, and one spine");
	if (rails > 16)
		return plan_impossible(p, "a server has at most 16 rails here, not %u", rails);
	if ((rc = plan_reserve(p, hosts + leaves + spines, hosts, leaves * spines)) < 0)
		return rc;
	for (unsigned u = 0; u < units; u++)
		for (unsigned r = 0; r < rails; r++)
			plan_add(p, false, servers + spines, "L%u_%u", u, r);
	for (unsigned s = 0; s < spines; s++)
		plan_add(p, false, (unsigned)leaves, "S%u", s);
	for (unsigned u = 0; u < units; u++) {
		for (unsigned s = 0; s < servers; s++) {
			for (unsigned r = 0; r < rails; r++) {
				uint32_t host = plan_add(p, true, 1, "H%u_%u", u, s);

				p->nodes[host].device = (uint8_t)(r + 1);
				plan_join(p, u * rails + r, host);
			}
		}
	}
	for (uint32_t l = 0; l < leaves; l++)
		for (unsigned s = 0; s < spines; s++)
			plan_join(p, l, (uint32_t)leaves + s);
	return 0;
}
