/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/generate/generate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "sim/generate/generate_impl.h"
#include "sim/model/rng.h"

/*
 * Generator of fabrics.
 *
 * A recipe fills a struct plan: nodes in any order, cables between their next free ports. Cables
 * that are to be missing are marked, and the plan becomes a struct ibnet, hosts first (ibsim puts
 * the subnet manager on the first node of a file), as often as there are planes. All numbers are
 * checked before anything is built, so that a recipe for a million switches costs one sentence and
 * no memory. The shapes are in generate_tree.c, generate_grid.c and generate_graph.c.
 */
#define MAX_ARG 65535u		/* so that the product of four fits 64 bits */
#define MAX_LIDS 0xbfffu	/* unicast LIDs of a subnet: one a node here */
#define MAX_PLANES 16u
#define MAX_PARALLEL 64u
#define HOST_GUIDS 0x100000u	/* the first */
#define SWITCH_GUIDS 0x200000u	/* the first, if hosts leave it free */
#define MELLANOX 0x2c9u		/* vendor id of devices with a site's names */

const char generate_help[] =
	"  fat-tree K [LEVELS]                full tree of K-port switches, 3 levels\n"
	"  ft3 K                              the same as fat-tree K 3\n"
	"  ft2 LEAVES SPINES HOSTS [PARALLEL] two levels, HOSTS a leaf, PARALLEL cables a pair\n"
	"  xgft H M1..MH W1..WH               any tree: M children, W parents, from below\n"
	"  rails UNITS SERVERS RAILS SPINES   servers with RAILS devices, a leaf each a unit\n"
	"  torus SIDE... HOSTS                rings of 1 to 4 dimensions, HOSTS a switch\n"
	"  mesh SIDE... HOSTS                 the same without wrap-around cables\n"
	"  hypercube DIMENSIONS HOSTS         2^DIMENSIONS switches\n"
	"  hyperx SIDE... HOSTS               each row of 1 to 4 dimensions a complete graph\n"
	"  dragonfly A H P G                  G groups of A switches, P hosts, H global cables\n"
	"  dragonfly+ GROUPS LEAVES SPINES HOSTS [GLOBALS]\n"
	"                                     groups of leaves and spines, GLOBALS cables a spine\n"
	"  slim-fly Q HOSTS                   2Q^2 switches of diameter 2, Q a prime\n"
	"  random SWITCHES DEGREE HOSTS SEED  connected random graph, HOSTS a switch\n"
	"  multi-plane PLANES TYPE NUMBERS... so many copies, a device of each host in each\n";

struct recipe {
	const char *type;	/* its name */
	const char *args;	/* its numbers, for people */
	unsigned min, max;	/* how many numbers it takes */
	int (*build)(struct plan *p, const unsigned *args, unsigned n);	/* fills the plan */
};

static const struct recipe recipes[] = {
	{ "fat-tree", "K [LEVELS]", 1, 2, build_fat_tree },
	{ "ft3", "K", 1, 1, build_ft3 },
	{ "ft2", "LEAVES SPINES HOSTS [PARALLEL]", 3, 4, build_ft2 },
	{ "xgft", "H M1..MH W1..WH", 3, GENERATE_ARGS, build_xgft },
	{ "rails", "UNITS SERVERS RAILS SPINES", 4, 4, build_rails },
	{ "torus", "SIDE... HOSTS", 2, 5, build_torus },
	{ "mesh", "SIDE... HOSTS", 2, 5, build_mesh },
	{ "hypercube", "DIMENSIONS HOSTS", 2, 2, build_hypercube },
	{ "hyperx", "SIDE... HOSTS", 2, 5, build_hyperx },
	{ "dragonfly", "A H P G", 4, 4, build_dragonfly },
	{ "dragonfly+", "GROUPS LEAVES SPINES HOSTS [GLOBALS]", 4, 5, build_dragonfly_plus },
	{ "slim-fly", "Q HOSTS", 2, 2, build_slim_fly },
	{ "random", "SWITCHES DEGREE HOSTS SEED", 4, 4, build_random },
};
#define NRECIPES (sizeof(recipes) / sizeof(recipes[0]))

/* ---- The plan ---- */

int
plan_impossible(const struct plan *p, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return error_set(p->e, ERR_INVALID, "%s", text);
}

int
plan_reserve(struct plan *p, uint64_t nodes, uint64_t host_cables, uint64_t trunks)
{
	if (nodes > MAX_LIDS)
		return plan_impossible(p, "that makes %" PRIu64 " nodes, but a subnet has LIDs for "
				       "%u", nodes, MAX_LIDS);
	if (host_cables + trunks * p->parallel > IBNET_MAX_PORTS / 2)
		return plan_impossible(p, "that makes %" PRIu64 " cables, but %u is the most",
				       host_cables + trunks * p->parallel, IBNET_MAX_PORTS / 2);
	p->nodes_size = (size_t)nodes;
	p->cables_size = (size_t)(host_cables + trunks * p->parallel);
	p->nodes = region_array(p->region, p->nodes_size, sizeof(*p->nodes));
	p->cables = region_array(p->region, p->cables_size, sizeof(*p->cables));
	return 0;
}

uint32_t
plan_add(struct plan *p, bool host, unsigned ports, const char *fmt, ...)
{
	struct plan_node *n = &p->nodes[p->nnodes];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(n->name, sizeof(n->name), fmt, ap);
	va_end(ap);
	n->host = host;
	n->ports = ports;
	return (uint32_t)p->nnodes++;
}

void
plan_join(struct plan *p, uint32_t a, uint32_t b)
{
	unsigned n = p->nodes[a].host || p->nodes[b].host ? 1 : p->parallel;

	while (n--)
		p->cables[p->ncables++] = (struct plan_cable){
			.a = a, .aport = ++p->nodes[a].used, .b = b, .bport = ++p->nodes[b].used,
		};
}

void
plan_hosts(struct plan *p, uint32_t sw, unsigned hosts)
{
	for (unsigned i = 0; i < hosts; i++)
		plan_join(p, sw, plan_add(p, true, 1, "H%.24s_%u", p->nodes[sw].name + 1, i));
}

/* Parallel cables may have taken more ports than the shape needs. */
static int
check_ports(struct plan *p)
{
	for (size_t i = 0; i < p->nnodes; i++) {
		struct plan_node *n = &p->nodes[i];

		if (n->used > n->ports)
			n->ports = n->used;
		if (n->ports > IBNET_MAX_NODE_PORTS)
			return plan_impossible(p, "that takes %s of %u ports, but %u is the most",
					       n->host ? "hosts" : "switches", n->ports,
					       IBNET_MAX_NODE_PORTS);
	}
	return 0;
}

/* ---- Missing cables ---- */

/* Disjoint sets of nodes, by their representative. */
static uint32_t
set_of(uint32_t *parent, uint32_t n)
{
	while (parent[n] != n)
		n = parent[n] = parent[parent[n]];
	return n;
}

static bool
is_trunk(const struct plan *p, const struct plan_cable *c)
{
	return !p->nodes[c->a].host && !p->nodes[c->b].host;
}

/* Cables between switches in random order; those that join what was apart are kept. Marks up to
 * `want` of the others, returns how many. */
static size_t
leave_out(struct plan *p, size_t want, struct rng *rng)
{
	uint32_t *parent = region_array(p->region, p->nnodes, sizeof(*parent));
	uint32_t *order = region_array(p->region, p->ncables + 1, sizeof(*order));
	size_t n = 0, left = 0;

	for (uint32_t i = 0; i < p->nnodes; i++)
		parent[i] = i;
	for (uint32_t i = 0; i < p->ncables; i++)
		if (is_trunk(p, &p->cables[i]))
			order[n++] = i;
	for (size_t i = n; i > 1; i--) {
		size_t j = rng_below(rng, (uint32_t)i);
		uint32_t swap = order[i - 1];

		order[i - 1] = order[j];
		order[j] = swap;
	}
	for (size_t i = 0; i < n && left < want; i++) {
		struct plan_cable *c = &p->cables[order[i]];
		uint32_t a = set_of(parent, c->a), b = set_of(parent, c->b);

		c->missing = a == b;
		left += a == b;
		parent[a] = b;
	}
	return left;
}

static int
make_missing(struct plan *p, const struct generate_options *o, struct rng *rng)
{
	size_t trunks = 0, want, left;

	if (!o->missing && !o->missing_ppm)
		return 0;
	for (size_t i = 0; i < p->ncables; i++)
		trunks += is_trunk(p, &p->cables[i]);
	want = o->missing ? o->missing : (size_t)((double)trunks * o->missing_ppm / 1e6 + .5);
	left = leave_out(p, want, rng);
	if (left == want)
		return 0;
	return plan_impossible(p, "%zu of %zu cables between switches cannot be missing: after %zu "
			       "the next would cut the fabric in two", want, trunks, left);
}

static const struct recipe *
find_recipe(const char *type, struct error *e)
{
	const char *words[NRECIPES + 2] = { "multi-plane" };
	const char *near;

	for (size_t i = 0; i < NRECIPES; i++) {
		if (!strcmp(recipes[i].type, type))
			return &recipes[i];
		words[i + 1] = recipes[i].type;
	}
	near = nearest_word(type, words);
	error_set(e, ERR_NOT_FOUND, "there is no fabric of type \"%s\"%s%s%s", type,
		  near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
	return NULL;
}

static int
parse_args(const struct recipe *r, unsigned nargs, char *const *args, unsigned out[GENERATE_ARGS],
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

/* ---- A site's names ---- */

/* Cables from each node to the nearest host, UINT8_MAX if there is none. */
static uint8_t *
tiers_new(const struct plan *p)
{
	uint8_t *tier = region_alloc(p->region, p->nnodes + 1);
	bool more = true;

	for (size_t i = 0; i < p->nnodes; i++)
		tier[i] = p->nodes[i].host ? 0 : UINT8_MAX;
	for (uint8_t t = 0; more && t + 1 < UINT8_MAX; t++) {
		more = false;
		for (size_t i = 0; i < p->ncables; i++) {
			const struct plan_cable *c = &p->cables[i];

			if (tier[c->a] == t && tier[c->b] == UINT8_MAX) {
				tier[c->b] = t + 1;
				more = true;
			} else if (tier[c->b] == t && tier[c->a] == UINT8_MAX) {
				tier[c->a] = t + 1;
				more = true;
			}
		}
	}
	return tier;
}

struct site {
	uint8_t *tier;		/* of each node */
	uint8_t top;		/* the highest that there is */
	unsigned *number;	/* of each switch in its tier, of each host in its fabric */
};

static void
site_init(struct site *s, const struct plan *p)
{
	unsigned next[UINT8_MAX + 1] = { 0 };

	s->tier = tiers_new(p);
	s->number = region_array(p->region, p->nnodes + 1, sizeof(*s->number));
	for (size_t i = 0; i < p->nnodes; i++) {
		const struct plan_node *n = &p->nodes[i];

		if (!n->host && s->tier[i] < UINT8_MAX && s->tier[i] > s->top)
			s->top = s->tier[i];
		if (n->host && n->device > 1)
			s->number[i] = s->number[i - 1];
		else
			s->number[i] = ++next[s->tier[i]];
	}
}

static const char *
tier_name(const struct site *s, unsigned tier)
{
	if (s->top == 1)
		return "sw";
	if (tier == 1)
		return "leaf";
	if (tier == s->top)
		return s->top == 2 ? "spine" : "core";
	return tier == 2 ? "spine" : "mid";
}

static void
site_name(const struct site *s, size_t i, char out[48])
{
	snprintf(out, 48, "MF0;%s-%03u:MQM9700/U1", tier_name(s, s->tier[i]), s->number[i]);
}

/* ---- From plan to fabric ---- */

struct making {
	struct plan *p;				/* what is made */
	const struct generate_options *o;	/* how */
	struct ibnet *net;			/* what comes of it */
	struct site site;			/* names, if they are wanted */
	unsigned planes;			/* copies; 0: one, without devices by plane */
	uint64_t *hosts, *switches;		/* GUIDs still to be given */
};

static void
make_host(struct making *mk, size_t i, unsigned plane)
{
	struct plan_node *n = &mk->p->nodes[i];
	unsigned device = mk->planes ? plane : n->device ? n->device - 1u : 0;
	bool several = mk->planes || n->device;
	char name[80], desc[64], host[48];
	uint64_t guid = *mk->hosts++;
	uint32_t index;

	snprintf(host, sizeof(host), "%s", n->name);
	if (mk->o->site_names)
		snprintf(host, sizeof(host), "node-%05u", mk->site.number[i]);
	snprintf(desc, sizeof(desc), "%s mlx5_%u", host, device);
	snprintf(name, sizeof(name), several ? "%s_d%u" : "%s", n->name, device);
	if (mk->o->site_names)
		snprintf(name, sizeof(name), "H-%016" PRIx64, guid);
	index = ibnet_add(mk->net, IBNET_CA, n->ports, guid, name,
			  several || mk->o->site_names ? desc : NULL);
	if (mk->o->site_names)
		mk->net->nodes[index].vendor_id = MELLANOX;
	if (several && device)
		mk->net->nodes[index].system_guid = mk->net->nodes[index - 1].system_guid;
	n->index = index - plane;
}

static void
make_switch(struct making *mk, size_t i, unsigned plane)
{
	struct plan_node *n = &mk->p->nodes[i];
	char name[80], desc[48];
	uint64_t guid = *mk->switches++;
	uint32_t index;

	snprintf(name, sizeof(name), mk->planes ? "P%2$u_%1$s" : "%1$s", n->name, plane);
	if (mk->o->site_names) {
		site_name(&mk->site, i, desc);
		if (mk->planes)
			snprintf(desc, sizeof(desc), "MF0;p%u-%s-%03u:MQM9700/U1", plane,
				 tier_name(&mk->site, mk->site.tier[i]), mk->site.number[i]);
		snprintf(name, sizeof(name), "S-%016" PRIx64, guid);
	}
	index = ibnet_add(mk->net, IBNET_SWITCH, n->ports, guid, name,
			  mk->o->site_names ? desc : NULL);
	if (mk->o->site_names)
		mk->net->nodes[index].vendor_id = MELLANOX;
	if (!plane)
		n->index = index;
}

/* Hosts have the planes' devices side by side, switches come plane by plane. */
static void
make_cables(struct making *mk, uint32_t nswitches)
{
	const struct generate_options *o = mk->o;
	const struct plan *p = mk->p;

	for (unsigned plane = 0; plane < (mk->planes ? mk->planes : 1); plane++) {
		for (size_t i = 0; i < p->ncables; i++) {
			const struct plan_cable *c = &p->cables[i];
			const struct plan_node *a = &p->nodes[c->a], *b = &p->nodes[c->b];

			if (c->missing)
				continue;
			ibnet_link(mk->net, a->index + plane * (a->host ? 1 : nswitches), c->aport,
				   b->index + plane * (b->host ? 1 : nswitches), c->bport,
				   o->width ? o->width : LINK_4X, o->speed ? o->speed : SPEED_EDR);
		}
	}
}

static struct ibnet *
to_ibnet(struct plan *p, const struct generate_options *o, unsigned planes, struct rng *rng)
{
	struct making mk = { .p = p, .o = o, .net = ibnet_new(), .planes = planes };
	size_t nhosts = 0, nswitches, copies = planes ? planes : 1, ports = 1;
	uint64_t base;

	for (size_t i = 0; i < p->nnodes; i++) {
		nhosts += p->nodes[i].host;
		if (p->nodes[i].host && p->nodes[i].ports > ports)
			ports = p->nodes[i].ports;
	}
	nswitches = p->nnodes - nhosts;
	if (o->site_names)
		site_init(&mk.site, p);
	mk.hosts = guids_new(p->region, nhosts * copies, HOST_GUIDS, ports + 1, o->shuffle_guids,
			     rng);
	base = HOST_GUIDS + nhosts * copies * (ports + 1) > SWITCH_GUIDS ? 0x10000000 :
		SWITCH_GUIDS;
	mk.switches = guids_new(p->region, nswitches * copies, base, 1, o->shuffle_guids, rng);
	for (size_t i = 0; i < p->nnodes; i++)
		for (unsigned plane = 0; p->nodes[i].host && plane < copies; plane++)
			make_host(&mk, i, plane);
	for (unsigned plane = 0; plane < copies; plane++)
		for (size_t i = 0; i < p->nnodes; i++)
			if (!p->nodes[i].host)
				make_switch(&mk, i, plane);
	make_cables(&mk, (uint32_t)nswitches);
	return mk.net;
}

static int
parse_planes(unsigned *nargs, char *const **args, const char **type, unsigned *planes,
	     struct error *e)
{
	uint64_t n;

	*planes = 0;
	if (strcmp(*type, "multi-plane"))
		return 0;
	if (*nargs < 2 || !number_parse((*args)[0], 1, MAX_PLANES, &n))
		return error_set(e, ERR_INVALID, "multi-plane takes a number of planes of 1 to %u, "
				 "and the type and numbers of the fabric that each is", MAX_PLANES);
	*planes = (unsigned)n;
	*type = (*args)[1];
	if (!strcmp(*type, "multi-plane"))
		return error_set(e, ERR_INVALID, "the planes of multi-plane have none in turn");
	*args += 2;
	*nargs -= 2;
	return 0;
}

static int
build(struct plan *p, const struct recipe *r, const unsigned *v, unsigned nargs,
      const struct generate_options *o, struct rng *rng)
{
	int rc;

	p->parallel = o->parallel ? o->parallel : 1;
	if (p->parallel > MAX_PARALLEL)
		return plan_impossible(p, "%u parallel cables are too many: %u is the most",
				       p->parallel, MAX_PARALLEL);
	if ((rc = r->build(p, v, nargs)) < 0 || (rc = check_ports(p)) < 0)
		return rc;
	return make_missing(p, o, rng);
}

int
generate(struct ibnet **net, const char *type, unsigned nargs, char *const *args,
	 const struct generate_options *options, struct error *e)
{
	struct rng rng = { options->seed };
	unsigned v[GENERATE_ARGS] = { 0 }, planes;
	struct plan p = { .e = e };
	const struct recipe *r;
	int rc;

	*net = NULL;
	if ((rc = parse_planes(&nargs, &args, &type, &planes, e)) < 0)
		return rc;
	if (!(r = find_recipe(type, e)))
		return ERR_NOT_FOUND;
	if ((rc = parse_args(r, nargs, args, v, e)) < 0)
		return rc;
	p.region = region_new();
	rc = build(&p, r, v, nargs, options, &rng);
	if (rc == 0 && (uint64_t)p.nnodes * (planes ? planes : 1) > IBNET_MAX_NODES)
		rc = plan_impossible(&p, "that makes %zu nodes a plane, but %u is the most of all "
				     "planes together", p.nnodes, IBNET_MAX_NODES);
	if (rc == 0)
		*net = to_ibnet(&p, options, planes, &rng);
	region_free(p.region);
	return rc;
}

int
generate_words(struct ibnet **net, const char *recipe, const struct generate_options *options,
	       struct error *e)
{
	char *copy = mem_strdup(recipe), *save = NULL, *words[GENERATE_ARGS + 4];
	unsigned n = 0;
	int rc;

	for (char *w = strtok_r(copy, " :,", &save); w && n < GENERATE_ARGS + 4;
	     w = strtok_r(NULL, " :,", &save))
		words[n++] = w;
	*net = NULL;
	if (n)
		rc = generate(net, words[0], n - 1, words + 1, options, e);
	else
		rc = error_set(e, ERR_INVALID, "there is no fabric of type \"\"");
	mem_free(copy);
	return rc;
}

static bool
is_recipe(const char *word)
{
	size_t len = strcspn(word, " :,");

	for (size_t i = 0; i < NRECIPES; i++)
		if (strlen(recipes[i].type) == len && !memcmp(recipes[i].type, word, len))
			return true;
	return len == strlen("multi-plane") && !memcmp(word, "multi-plane", len);
}

int
generate_or_read(struct ibnet **net, const char *word, const struct generate_options *options,
		 struct error *e)
{
	*net = NULL;
	if (is_recipe(word))
		return generate_words(net, word, options, e);
	if (strcmp(word, "-") != 0 && access(word, F_OK) && errno == ENOENT && !strchr(word, '/'))
		return error_set(e, ERR_IO, "cannot open %.100s: %s; nor is it a recipe, which "
				 "weftsim generate --help lists", word, strerror(ENOENT));
	return ibnet_read(net, word, e);
}
