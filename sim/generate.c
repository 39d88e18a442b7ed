/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/generate.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "sim/rng.h"

/*
 * Generator of fabrics.
 *
 * A recipe fills a struct plan: nodes in any order, cables between their next free ports. The plan
 * then becomes a struct ibnet, hosts first (ibsim puts the subnet manager on the first node of a
 * file). All numbers are checked before anything is built, so that a recipe for a million
 * switches costs one sentence and no memory. Sources of the shapes: Al-Fares, Loukissas, Vahdat
 * 2008 (k-ary fat tree); Kim, Dally, Scott, Abts 2008 (dragonfly).
 */
#define MAX_ARGS 4u
#define MAX_ARG 65535u		/* so that the product of four fits 64 bits */
#define MAX_LIDS 0xbfffu	/* unicast LIDs of a subnet: one a node here */

const char generate_help[] =
	"  ft3 K                                full three-level fat tree of K-port switches\n"
	"  ft2 LEAVES SPINES HOSTS [PARALLEL]   two levels, HOSTS a leaf, PARALLEL cables a pair\n"
	"  torus X Y Z HOSTS                    torus, HOSTS a switch\n"
	"  mesh X Y Z HOSTS                     the same without wrap-around cables\n"
	"  dragonfly A H P G                    G groups of A switches, P hosts, H global cables\n"
	"  random SWITCHES DEGREE HOSTS SEED    connected random graph, HOSTS a switch\n";

struct plan_node {
	char name[24];		/* "L0_1" */
	uint32_t index;		/* in the struct ibnet to come */
	uint16_t ports;		/* the node has */
	uint16_t used;		/* given to cables, from port 1 */
	bool host;		/* a channel adapter with one port */
};

struct plan_cable {
	uint32_t a, b;		/* nodes */
	uint16_t aport, bport;	/* their ports */
};

struct plan {
	struct region *region;		/* owns what follows */
	struct plan_node *nodes;	/* nnodes */
	struct plan_cable *cables;	/* ncables */
	size_t nnodes, nodes_size;	/* in use, allocated */
	size_t ncables, cables_size;	/* in use, allocated */
	struct error *e;		/* for sentences about impossible numbers */
};

static int
impossible(const struct plan *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int
impossible(const struct plan *p, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return error_set(p->e, ERR_INVALID, "%s", text);
}

/* Make room; the counts are exact or upper bounds. */
static int
reserve(struct plan *p, uint64_t nodes, uint64_t ports_a_switch, uint64_t cables)
{
	if (nodes > MAX_LIDS)
		return impossible(p, "that makes %" PRIu64 " nodes, but a subnet has LIDs for %u",
				  nodes, MAX_LIDS);
	if (ports_a_switch > IBNET_MAX_NODE_PORTS)
		return impossible(p, "that takes switches of %" PRIu64 " ports, but %u is the most",
				  ports_a_switch, IBNET_MAX_NODE_PORTS);
	p->nodes_size = (size_t)nodes;
	p->cables_size = (size_t)cables;
	p->nodes = region_array(p->region, p->nodes_size, sizeof(*p->nodes));
	p->cables = region_array(p->region, p->cables_size, sizeof(*p->cables));
	return 0;
}

static uint32_t
add(struct plan *p, bool host, unsigned ports, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static uint32_t
add(struct plan *p, bool host, unsigned ports, const char *fmt, ...)
{
	struct plan_node *n = &p->nodes[p->nnodes];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(n->name, sizeof(n->name), fmt, ap);
	va_end(ap);
	n->host = host;
	n->ports = (uint16_t)ports;
	return (uint32_t)p->nnodes++;
}

static void
join(struct plan *p, uint32_t a, uint32_t b)
{
	p->cables[p->ncables++] = (struct plan_cable){
		.a = a, .aport = ++p->nodes[a].used, .b = b, .bport = ++p->nodes[b].used,
	};
}

/* K pods of K/2 leaves and K/2 aggregation switches; core c meets aggregation switch c/(K/2). */
static int
build_ft3(struct plan *p, const unsigned *a)
{
	unsigned k = a[0], h = k / 2;
	uint32_t core;
	int rc;

	if (k < 2 || k % 2)
		return impossible(p, "ft3 takes an even number of ports of at least 2, not %u", k);
	if ((rc = reserve(p, (uint64_t)k * h * h + 5ull * h * h, k, 3ull * k * h * h)) < 0)
		return rc;
	for (unsigned pod = 0; pod < k; pod++) {
		for (unsigned i = 0; i < h; i++)
			add(p, false, k, "L%u_%u", pod, i);
		for (unsigned i = 0; i < h; i++)
			add(p, false, k, "A%u_%u", pod, i);
	}
	core = (uint32_t)p->nnodes;
	for (unsigned c = 0; c < h * h; c++)
		add(p, false, k, "C%u", c);
	for (unsigned pod = 0; pod < k; pod++) {
		uint32_t leaf = pod * k, agg = leaf + h;

		for (unsigned i = 0; i < h; i++)
			for (unsigned j = 0; j < h; j++)
				join(p, leaf + i, add(p, true, 1, "H%u_%u_%u", pod, i, j));
		for (unsigned i = 0; i < h; i++)
			for (unsigned j = 0; j < h; j++)
				join(p, leaf + i, agg + j);
	}
	for (unsigned c = 0; c < h * h; c++)
		for (unsigned pod = 0; pod < k; pod++)
			join(p, core + c, pod * k + h + c / h);
	return 0;
}

static int
build_ft2(struct plan *p, const unsigned *a)
{
	unsigned leaves = a[0], spines = a[1], hosts = a[2], parallel = a[3] ? a[3] : 1;
	uint64_t up = (uint64_t)spines * parallel, down = (uint64_t)leaves * parallel;
	int rc;

	if (!leaves || !spines)
		return impossible(p, "ft2 takes at least one leaf and one spine");
	if ((rc = reserve(p, (uint64_t)leaves * hosts + leaves + spines,
			  hosts + up > down ? hosts + up : down, leaves * (hosts + up))) < 0)
		return rc;
	for (unsigned l = 0; l < leaves; l++)
		add(p, false, hosts + (unsigned)up, "L%u", l);
	for (unsigned s = 0; s < spines; s++)
		add(p, false, (unsigned)down, "S%u", s);
	for (unsigned l = 0; l < leaves; l++)
		for (unsigned i = 0; i < hosts; i++)
			join(p, l, add(p, true, 1, "H%u_%u", l, i));
	for (unsigned l = 0; l < leaves; l++)
		for (unsigned s = 0; s < spines; s++)
			for (unsigned i = 0; i < parallel; i++)
				join(p, l, leaves + s);
	return 0;
}

static void
join_grid(struct plan *p, const unsigned side[3], const unsigned at[3], bool wrap)
{
	uint32_t here = (at[0] * side[1] + at[1]) * side[2] + at[2];

	for (unsigned d = 0; d < 3; d++) {
		unsigned to[3] = { at[0], at[1], at[2] };

		if (side[d] == 1 || (!wrap && at[d] + 1 == side[d]))
			continue;
		to[d] = (at[d] + 1) % side[d];
		join(p, here, (to[0] * side[1] + to[1]) * side[2] + to[2]);
	}
}

static int
build_grid(struct plan *p, const unsigned *side, unsigned hosts, bool wrap)
{
	uint64_t switches = (uint64_t)side[0] * side[1] * side[2];
	uint32_t sw = 0;
	int rc;

	if (!switches)
		return impossible(p, "every side has a length of at least 1");
	if ((rc = reserve(p, switches * (hosts + 1ull), hosts + 6ull,
			  switches * (hosts + 3ull))) < 0)
		return rc;
	for (unsigned x = 0; x < side[0]; x++)
		for (unsigned y = 0; y < side[1]; y++)
			for (unsigned z = 0; z < side[2]; z++)
				add(p, false, hosts + 6, "T%u_%u_%u", x, y, z);
	for (unsigned x = 0; x < side[0]; x++)
		for (unsigned y = 0; y < side[1]; y++)
			for (unsigned z = 0; z < side[2]; z++, sw++)
				for (unsigned i = 0; i < hosts; i++)
					join(p, sw, add(p, true, 1, "H%u_%u_%u_%u", x, y, z, i));
	for (unsigned x = 0; x < side[0]; x++)
		for (unsigned y = 0; y < side[1]; y++)
			for (unsigned z = 0; z < side[2]; z++)
				join_grid(p, side, (unsigned[3]){ x, y, z }, wrap);
	return 0;
}

static int
build_torus(struct plan *p, const unsigned *a)
{
	return build_grid(p, a, a[3], true);
}

static int
build_mesh(struct plan *p, const unsigned *a)
{
	return build_grid(p, a, a[3], false);
}

static void
dragonfly_group(struct plan *p, unsigned group, unsigned a, unsigned hosts)
{
	uint32_t first = group * a;

	for (unsigned r = 0; r < a; r++)
		for (unsigned i = 0; i < hosts; i++)
			join(p, first + r, add(p, true, 1, "H%u_%u_%u", group, r, i));
	for (unsigned r = 0; r < a; r++)
		for (unsigned s = r + 1; s < a; s++)
			join(p, first + r, first + s);
}

/* A group's global cables, numbered 0 .. a*h-1, go round the other groups in turn; cable o of one
 * group ends at cable groups-2-o of the other. */
static int
build_dragonfly(struct plan *p, const unsigned *v)
{
	unsigned a = v[0], h = v[1], hosts = v[2], groups = v[3];
	uint64_t slots = (uint64_t)a * h, switches = (uint64_t)a * groups;
	int rc;

	if (!a || !groups)
		return impossible(p, "dragonfly takes at least one group of one switch");
	if (groups > slots + 1)
		return impossible(p, "a group has %" PRIu64 " global cables, too few to reach %u "
				  "other groups", slots, groups - 1);
	if ((rc = reserve(p, switches * (hosts + 1ull), hosts + a - 1ull + h,
			  switches * (hosts + a + h))) < 0)
		return rc;
	for (unsigned g = 0; g < groups; g++)
		for (unsigned r = 0; r < a; r++)
			add(p, false, hosts + a - 1 + h ? hosts + a - 1 + h : 1, "D%u_%u", g, r);
	for (unsigned g = 0; g < groups; g++)
		dragonfly_group(p, g, a, hosts);
	for (unsigned g = 0; g < groups; g++) {
		for (unsigned o = 0; g + o + 1 < groups; o++) {
			unsigned to = g + o + 1, back = groups - 2 - o, step = groups - 1;

			for (uint64_t i = o, j = back; i < slots && j < slots; i += step, j += step)
				join(p, (uint32_t)(g * a + i / h), (uint32_t)(to * a + j / h));
		}
	}
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
	join(g->p, a, b);
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

static int
build_random(struct plan *p, const unsigned *v)
{
	unsigned n = v[0], degree = v[1], hosts = v[2];
	struct graph g = { .p = p, .n = n, .degree = degree, .rng = { v[3] } };
	int rc;

	if (!n || (n > 1 && !degree) || (n > 2 && degree < 2))
		return impossible(p, "a connected graph of %u switches takes a degree of at least "
				  "%u", n, n > 2 ? 2 : n - 1);
	if (degree >= n)
		return impossible(p, "%u switches have at most %u neighbours each, not %u", n,
				  n - 1, degree);
	if ((rc = reserve(p, (uint64_t)n * (hosts + 1ull), (uint64_t)hosts + degree,
			  (uint64_t)n * (hosts + degree))) < 0)
		return rc;
	g.cables = region_array(p->region, n, sizeof(*g.cables));
	g.next = region_array(p->region, (size_t)n * degree, sizeof(*g.next));
	for (unsigned i = 0; i < n; i++)
		add(p, false, hosts + degree ? hosts + degree : 1, "R%u", i);
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < hosts; j++)
			join(p, i, add(p, true, 1, "H%u_%u", i, j));
	/* A tree joins all: each switch meets one before it. Then what is free is filled up. */
	for (unsigned i = 1; i < n; i++)
		graph_join(&g, i, graph_pick(&g, i, i));
	for (unsigned i = 0; i < n; i++)
		for (unsigned b; g.cables[i] < degree && (b = graph_pick(&g, i, n)) < n;)
			graph_join(&g, i, b);
	return 0;
}

struct recipe {
	const char *type;	/* its name */
	const char *args;	/* its numbers, for people */
	unsigned min, max;	/* how many numbers it takes */
	int (*build)(struct plan *p, const unsigned *args);	/* fills the plan */
};

static const struct recipe recipes[] = {
	{ "ft3", "K", 1, 1, build_ft3 },
	{ "ft2", "LEAVES SPINES HOSTS [PARALLEL]", 3, 4, build_ft2 },
	{ "torus", "X Y Z HOSTS", 4, 4, build_torus },
	{ "mesh", "X Y Z HOSTS", 4, 4, build_mesh },
	{ "dragonfly", "A H P G", 4, 4, build_dragonfly },
	{ "random", "SWITCHES DEGREE HOSTS SEED", 4, 4, build_random },
};

static const struct recipe *
find_recipe(const char *type, struct error *e)
{
	static const char *const words[] = { "ft3", "ft2", "torus", "mesh", "dragonfly", "random",
					     NULL };
	const char *near;

	for (size_t i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++)
		if (!strcmp(recipes[i].type, type))
			return &recipes[i];
	near = nearest_word(type, words);
	error_set(e, ERR_NOT_FOUND, "there is no fabric of type \"%s\"%s%s%s", type,
		  near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
	return NULL;
}

static int
parse_args(const struct recipe *r, unsigned nargs, char *const *args, unsigned out[MAX_ARGS],
	   struct error *e)
{
	uint64_t v;

	if (nargs < r->min || nargs > r->max)
		return error_set(e, ERR_INVALID, "%s takes the numbers %s", r->type, r->args);
	for (unsigned i = 0; i < nargs; i++) {
		if (!number_parse(args[i], 0, MAX_ARG, &v))
			return error_set(e, ERR_INVALID, "%s takes the numbers %s of 0 to %u each, "
					 "not \"%s\"", r->type, r->args, MAX_ARG, args[i]);
		out[i] = (unsigned)v;
	}
	return 0;
}

/* GUIDs of one kind of node in order or shuffled; `step` leaves room for the port GUIDs. */
static uint64_t *
guids_new(struct region *region, size_t n, uint64_t base, uint64_t step, bool shuffle,
	  struct rng *rng)
{
	uint64_t *guids = region_array(region, n + 1, sizeof(*guids));

	for (size_t i = 0; i < n; i++)
		guids[i] = base + i * step;
	for (size_t i = n; shuffle && i > 1; i--) {
		size_t j = rng_below(rng, (uint32_t)i);
		uint64_t swap = guids[i - 1];

		guids[i - 1] = guids[j];
		guids[j] = swap;
	}
	return guids;
}

static struct ibnet *
to_ibnet(struct plan *p, const struct generate_options *o)
{
	struct rng rng = { o->seed };
	struct ibnet *net = ibnet_new();
	uint64_t *hosts, *switches;
	size_t nhosts = 0;

	for (size_t i = 0; i < p->nnodes; i++)
		nhosts += p->nodes[i].host;
	hosts = guids_new(p->region, nhosts, 0x100000, 2, o->shuffle_guids, &rng);
	switches = guids_new(p->region, p->nnodes - nhosts, 0x200000, 1, o->shuffle_guids, &rng);
	for (size_t i = 0; i < p->nnodes; i++)
		if (p->nodes[i].host)
			p->nodes[i].index = ibnet_add(net, IBNET_CA, 1, *hosts++, p->nodes[i].name,
						      NULL);
	for (size_t i = 0; i < p->nnodes; i++)
		if (!p->nodes[i].host)
			p->nodes[i].index = ibnet_add(net, IBNET_SWITCH, p->nodes[i].ports,
						      *switches++, p->nodes[i].name, NULL);
	for (size_t i = 0; i < p->ncables; i++) {
		const struct plan_cable *c = &p->cables[i];

		ibnet_link(net, p->nodes[c->a].index, c->aport, p->nodes[c->b].index, c->bport,
			   o->width ? o->width : LINK_4X, o->speed ? o->speed : SPEED_EDR);
	}
	return net;
}

int
generate(struct ibnet **net, const char *type, unsigned nargs, char *const *args,
	 const struct generate_options *options, struct error *e)
{
	const struct recipe *r = find_recipe(type, e);
	unsigned v[MAX_ARGS] = { 0 };
	struct plan p = { .e = e };
	int rc;

	*net = NULL;
	if (!r)
		return ERR_NOT_FOUND;
	if ((rc = parse_args(r, nargs, args, v, e)) < 0)
		return rc;
	p.region = region_new();
	rc = r->build(&p, v);
	if (rc == 0)
		*net = to_ibnet(&p, options);
	region_free(p.region);
	return rc;
}
