/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/fabric/fabric.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sm/base/mem.h"

/*
 * A snapshot and its builder. The sweep (or the ibnetdiscover reader) adds nodes, ports and links
 * in the order in which it met them; fabric_build() sorts the nodes by GUID and lays everything
 * out in flat arrays inside one region, which the snapshot owns and which goes with its last
 * reference. Nothing is changed after that, so readers and workers need no locks.
 *
 * IBA volume 1, 14.2.5.3 (NodeInfo) and 14.2.5.6 (PortInfo) define what the fields mean.
 */
struct guid_index {
	uint64_t guid;		/* port GUID */
	uint32_t port;		/* port index */
};

struct fabric_box {
	struct fabric f;		/* what the outside sees; first, so that pointers convert */
	struct region *region;		/* owns arrays and strings, but not the box; or NULL */
	const struct fabric *base;	/* then: whose they are, but for ports; reference held */
	struct guid_index *by_guid;	/* ports with a GUID, by GUID then index */
	uint32_t nby_guid;		/* entries of by_guid */
	uint32_t refs;			/* atomic */
};

struct build_node {
	struct fabric_node node;	/* as given; strings live in the builder's region */
	uint32_t first_port;		/* index of its port 0 in the builder's ports */
	uint32_t index;			/* index in the snapshot; FABRIC_NONE: left out */
};

struct build_link {
	uint32_t node[2];	/* handles of the two ends */
	unsigned port[2];	/* port numbers */
};

struct fabric_builder {
	struct region *region;		/* becomes the snapshot's */
	struct build_node *nodes;	/* by handle */
	struct fabric_port *ports;	/* by handle of the node, then number */
	struct build_link *links;	/* in order of adding */
	struct fabric_lost *lost;	/* likewise */
	size_t nnodes;			/* used entries, and room, of the four arrays */
	size_t nodes_size;
	size_t nports;
	size_t ports_size;
	size_t nlinks;
	size_t links_size;
	size_t nlost;
	size_t lost_size;
	uint32_t sm_node;		/* handle, FABRIC_NONE */
	unsigned sm_port;		/* number on that node */
};

struct fabric *
fabric_ref(const struct fabric *f)
{
	struct fabric_box *box = (struct fabric_box *)(uintptr_t)f;

	__atomic_add_fetch(&box->refs, 1, __ATOMIC_RELAXED);
	return &box->f;
}

void
fabric_unref(const struct fabric *f)
{
	struct fabric_box *box = (struct fabric_box *)(uintptr_t)f;

	if (!box || __atomic_sub_fetch(&box->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (box->base) {
		fabric_unref(box->base);
		mem_free(box->f.ports);
	}
	region_free(box->region);
	mem_free(box);
}

struct fabric *
fabric_with_ports(const struct fabric *f, struct fabric_port *ports, uint64_t generation)
{
	const struct fabric_box *old = (const struct fabric_box *)(const void *)f;
	struct fabric_box *box = mem_alloc(sizeof(*box));

	*box = *old;
	box->refs = 1;
	box->region = NULL;
	box->base = fabric_ref(old->base ? old->base : f);
	box->f.ports = ports;
	box->f.generation = generation;
	return &box->f;
}

static const struct fabric *
base_of(const struct fabric *f)
{
	const struct fabric_box *box = (const struct fabric_box *)(const void *)f;

	return box->base ? box->base : f;
}

bool
fabric_is_same(const struct fabric *a, const struct fabric *b)
{
	return base_of(a) == base_of(b);
}

uint32_t
fabric_node_by_guid(const struct fabric *f, uint64_t guid)
{
	uint32_t lo = 0, hi = f->nnodes;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (f->nodes[mid].guid < guid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < f->nnodes && f->nodes[lo].guid == guid ? lo : FABRIC_NONE;
}

uint32_t
fabric_port_by_guid(const struct fabric *f, uint64_t guid)
{
	const struct fabric_box *box = (const struct fabric_box *)(const void *)f;
	uint32_t lo = 0, hi = box->nby_guid;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (box->by_guid[mid].guid < guid)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == box->nby_guid || box->by_guid[lo].guid != guid)
		return FABRIC_NONE;
	return box->by_guid[lo].port;
}

/* Room for `more` further entries behind the first `len`. */
static void *
grow(void *array, size_t *size, size_t len, size_t more, size_t entry)
{
	if (len + more <= *size)
		return array;
	*size = (len + more) * 2 + 16;
	return mem_realloc(array, *size, entry);
}

struct fabric_builder *
fabric_builder_new(void)
{
	struct fabric_builder *b = mem_zalloc(sizeof(*b));

	b->region = region_new();
	b->sm_node = FABRIC_NONE;
	return b;
}

uint32_t
fabric_add_node(struct fabric_builder *b, const struct fabric_node *node)
{
	size_t nports = (size_t)node->nports + 1;
	struct build_node *n;

	b->nodes = grow(b->nodes, &b->nodes_size, b->nnodes, 1, sizeof(*b->nodes));
	b->ports = grow(b->ports, &b->ports_size, b->nports, nports, sizeof(*b->ports));
	n = &b->nodes[b->nnodes];
	n->node = *node;
	n->node.desc = region_strdup(b->region, node->desc ? node->desc : "");
	n->node.name = node->name && node->name != node->desc ?
		region_strdup(b->region, node->name) : n->node.desc;
	n->first_port = (uint32_t)b->nports;
	memset(&b->ports[b->nports], 0, nports * sizeof(*b->ports));
	for (size_t i = 0; i < nports; i++)
		b->ports[b->nports + i].state = PORT_DOWN;
	b->nports += nports;
	return (uint32_t)b->nnodes++;
}

static struct fabric_port *
build_port(struct fabric_builder *b, uint32_t node, unsigned number)
{
	if (node >= b->nnodes || number > b->nodes[node].node.nports)
		return NULL;
	return &b->ports[b->nodes[node].first_port + number];
}

void
fabric_add_port(struct fabric_builder *b, uint32_t node, unsigned number,
		const struct fabric_port *port)
{
	struct fabric_port *p = build_port(b, node, number);

	if (p)
		*p = *port;
}

void
fabric_add_link(struct fabric_builder *b, uint32_t node_a, unsigned port_a, uint32_t node_b,
		unsigned port_b)
{
	b->links = grow(b->links, &b->links_size, b->nlinks, 1, sizeof(*b->links));
	b->links[b->nlinks++] = (struct build_link){ { node_a, node_b }, { port_a, port_b } };
}

void
fabric_add_lost(struct fabric_builder *b, const struct fabric_lost *lost)
{
	bool turned = lost->guid[0] > lost->guid[1] ||
		(lost->guid[0] == lost->guid[1] && lost->number[0] > lost->number[1]);

	b->lost = grow(b->lost, &b->lost_size, b->nlost, 1, sizeof(*b->lost));
	b->lost[b->nlost++] = !turned ? *lost : (struct fabric_lost){
		.guid = { lost->guid[1], lost->guid[0] },
		.number = { lost->number[1], lost->number[0] },
		.type = { lost->type[1], lost->type[0] },
	};
}

void
fabric_set_sm(struct fabric_builder *b, uint32_t node, unsigned number)
{
	b->sm_node = node;
	b->sm_port = number;
}

struct order {
	uint64_t guid;		/* node GUID */
	uint32_t handle;	/* of the node */
};

static int
order_cmp(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	return x->handle < y->handle ? -1 : 1;
}

/* Nodes in GUID order; of several with one GUID only the one added first. */
static void
build_nodes(struct fabric_builder *b, struct fabric *f)
{
	struct order *order = mem_array(b->nnodes, sizeof(*order));

	for (uint32_t i = 0; i < b->nnodes; i++)
		order[i] = (struct order){ b->nodes[i].node.guid, i };
	qsort(order, b->nnodes, sizeof(*order), order_cmp);
	f->nodes = region_array(b->region, b->nnodes, sizeof(*f->nodes));
	f->switches = region_array(b->region, b->nnodes, sizeof(*f->switches));
	for (size_t i = 0; i < b->nnodes; i++) {
		struct build_node *from = &b->nodes[order[i].handle];
		struct fabric_node *n = &f->nodes[f->nnodes];

		from->index = FABRIC_NONE;
		if (i > 0 && order[i].guid == order[i - 1].guid)
			continue;
		from->index = f->nnodes;
		*n = from->node;
		n->first_port = f->nports;
		n->sw = FABRIC_NONE;
		if (n->type == NODE_SWITCH) {
			n->sw = f->nswitches;
			f->switches[f->nswitches++] = f->nnodes;
		}
		f->ncas += n->type == NODE_CA;
		f->nports += n->nports + 1u;
		f->nnodes++;
	}
	mem_free(order);
}

static void
build_ports(struct fabric_builder *b, struct fabric *f)
{
	f->ports = region_array(b->region, f->nports, sizeof(*f->ports));
	for (size_t i = 0; i < b->nnodes; i++) {
		const struct build_node *from = &b->nodes[i];
		const struct fabric_node *n;

		if (from->index == FABRIC_NONE)
			continue;
		n = &f->nodes[from->index];
		for (unsigned number = 0; number <= n->nports; number++) {
			struct fabric_port *p = &f->ports[n->first_port + number];

			*p = b->ports[from->first_port + number];
			p->node = from->index;
			p->number = (uint8_t)number;
			p->peer = FABRIC_NONE;
			if (p->state < PORT_INIT)
				p->rate_mbps = 0;
			if (number == 0 && n->sw == FABRIC_NONE)
				p->guid = 0;
		}
	}
}

/* Port index of one end of a link; FABRIC_NONE if it cannot carry one. */
static uint32_t
link_end(const struct fabric_builder *b, const struct fabric *f, const struct build_link *l,
	 int end)
{
	const struct fabric_node *n;
	uint32_t port;

	if (l->node[end] >= b->nnodes || b->nodes[l->node[end]].index == FABRIC_NONE)
		return FABRIC_NONE;
	n = &f->nodes[b->nodes[l->node[end]].index];
	if (l->port[end] == 0 || l->port[end] > n->nports)
		return FABRIC_NONE;
	port = n->first_port + l->port[end];
	if (f->ports[port].state < PORT_INIT || f->ports[port].peer != FABRIC_NONE)
		return FABRIC_NONE;
	return port;
}

/* A port has one cable: where two links claim it, the one added first stays. */
static void
build_links(struct fabric_builder *b, struct fabric *f)
{
	for (size_t i = 0; i < b->nlinks; i++) {
		uint32_t x = link_end(b, f, &b->links[i], 0);
		uint32_t y = link_end(b, f, &b->links[i], 1);

		if (x == FABRIC_NONE || y == FABRIC_NONE)
			continue;
		f->ports[x].peer = y;
		f->ports[y].peer = x;
		f->ports[y].rate_mbps = f->ports[x].rate_mbps;
		f->nlinks++;
	}
}

/* Switch index behind a port's cable; FABRIC_NONE if there is none. */
static uint32_t
peer_switch(const struct fabric *f, const struct fabric_port *p)
{
	if (p->peer == FABRIC_NONE)
		return FABRIC_NONE;
	return f->nodes[f->ports[p->peer].node].sw;
}

static void
build_edges(struct fabric_builder *b, struct fabric *f)
{
	f->edge_first = region_array(b->region, f->nswitches + 1u, sizeof(*f->edge_first));
	for (uint32_t i = 0; i < f->nports; i++)
		f->nedges += f->nodes[f->ports[i].node].sw != FABRIC_NONE &&
			peer_switch(f, &f->ports[i]) != FABRIC_NONE;
	f->edges = region_array(b->region, f->nedges, sizeof(*f->edges));
	f->nedges = 0;
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		const struct fabric_node *n = fabric_switch_node(f, sw);

		f->edge_first[sw] = f->nedges;
		for (unsigned i = 1; i <= n->nports; i++) {
			const struct fabric_port *p = &f->ports[n->first_port + i];
			uint32_t to = peer_switch(f, p);

			if (to == FABRIC_NONE)
				continue;
			f->edges[f->nedges++] = (struct fabric_edge){
				.to = to, .rate_mbps = p->rate_mbps, .out = p->number,
				.in = f->ports[p->peer].number,
			};
		}
	}
	f->edge_first[f->nswitches] = f->nedges;
}

static int
guid_index_cmp(const void *a, const void *b)
{
	const struct guid_index *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	return x->port < y->port ? -1 : 1;
}

static void
build_guid_index(struct fabric_builder *b, struct fabric_box *box)
{
	const struct fabric *f = &box->f;

	box->by_guid = region_array(b->region, f->nports, sizeof(*box->by_guid));
	for (uint32_t i = 0; i < f->nports; i++)
		if (f->ports[i].guid)
			box->by_guid[box->nby_guid++] = (struct guid_index){ f->ports[i].guid, i };
	qsort(box->by_guid, box->nby_guid, sizeof(*box->by_guid), guid_index_cmp);
}

static void
build_sm_port(const struct fabric_builder *b, struct fabric *f)
{
	const struct fabric_node *n;

	f->sm_port = FABRIC_NONE;
	if (b->sm_node >= b->nnodes || b->nodes[b->sm_node].index == FABRIC_NONE)
		return;
	n = &f->nodes[b->nodes[b->sm_node].index];
	if (b->sm_port <= n->nports)
		f->sm_port = n->first_port + b->sm_port;
}

static int
lost_cmp(const void *a, const void *b)
{
	const struct fabric_lost *x = a, *y = b;

	for (unsigned i = 0; i < 2; i++) {
		if (x->guid[i] != y->guid[i])
			return x->guid[i] < y->guid[i] ? -1 : 1;
		if (x->number[i] != y->number[i])
			return x->number[i] < y->number[i] ? -1 : 1;
	}
	return 0;
}

/* Both ends may have told of one cable. */
static void
build_lost(struct fabric_builder *b, struct fabric *f)
{
	if (b->nlost)
		qsort(b->lost, b->nlost, sizeof(*b->lost), lost_cmp);
	f->lost = region_array(b->region, b->nlost, sizeof(*f->lost));
	for (size_t i = 0; i < b->nlost; i++)
		if (i == 0 || lost_cmp(&b->lost[i - 1], &b->lost[i]))
			f->lost[f->nlost++] = b->lost[i];
}

struct fabric *
fabric_build(struct fabric_builder *b, uint64_t generation)
{
	struct fabric_box *box = mem_zalloc(sizeof(*box));
	struct fabric *f = &box->f;

	box->refs = 1;
	box->region = b->region;
	f->generation = generation;
	build_nodes(b, f);
	build_ports(b, f);
	build_links(b, f);
	build_edges(b, f);
	build_lost(b, f);
	build_guid_index(b, box);
	build_sm_port(b, f);
	mem_free(b->nodes);
	mem_free(b->ports);
	mem_free(b->links);
	mem_free(b->lost);
	mem_free(b);
	return f;
}

/* A cable that is left out is remembered at both ends. */
static struct fabric_port
lost_port(const struct fabric *f, const struct fabric_port *p, uint8_t flags)
{
	const struct fabric_port *peer = &f->ports[p->peer];
	struct fabric_port lost = *p;

	lost.lost_peer = f->nodes[peer->node].guid;
	lost.lost_number = peer->number;
	lost.flags |= flags;
	return lost;
}

const char *
fabric_node_text(char text[FABRIC_NAME_SIZE], const struct fabric *f, uint32_t node, int len)
{
	const char *name = f->nodes[node].name;
	char guid[GUID_TEXT_SIZE];
	bool shared = false;

	if (!name[0]) {		/* it is gone, or has not told */
		snprintf(text, FABRIC_NAME_SIZE, "%s", guid_text(guid, f->nodes[node].guid));
		return text;
	}
	for (uint32_t i = 0; i < f->nnodes && !shared; i++)
		shared = i != node && strcmp(f->nodes[i].name, name) == 0;
	if (shared)
		snprintf(text, FABRIC_NAME_SIZE, "%.*s (%s)", len, name,
			 guid_text(guid, f->nodes[node].guid));
	else
		snprintf(text, FABRIC_NAME_SIZE, "%.*s", len, name);
	return text;
}

uint32_t
fabric_cable_end(const struct fabric *f, uint32_t port)
{
	const struct fabric_port *p = &f->ports[port], *far;
	uint32_t node;

	if (p->peer != FABRIC_NONE || !(p->flags & FABRIC_PORT_DRAINED))
		return p->peer;
	node = fabric_node_by_guid(f, p->lost_peer);
	if (node == FABRIC_NONE || p->lost_number > f->nodes[node].nports)
		return FABRIC_NONE;
	far = fabric_port_at(f, node, p->lost_number);
	return far->flags & FABRIC_PORT_DRAINED && far->lost_number == p->number &&
	       far->lost_peer == f->nodes[p->node].guid ?
	       f->nodes[node].first_port + p->lost_number : FABRIC_NONE;
}

uint32_t
fabric_drained_links(const struct fabric *f)
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < f->nports; i++) {
		uint32_t end = f->ports[i].flags & FABRIC_PORT_DRAINED ? fabric_cable_end(f, i) :
			       FABRIC_NONE;

		len += end != FABRIC_NONE && end > i;
	}
	return len;
}

struct fabric *
fabric_cut(const struct fabric *f, const bool *cut, uint8_t flags, uint64_t generation)
{
	struct fabric_builder *b = fabric_builder_new();

	for (uint32_t i = 0; i < f->nnodes; i++)
		fabric_add_node(b, &f->nodes[i]);
	for (uint32_t i = 0; i < f->nports; i++) {
		const struct fabric_port *p = &f->ports[i];
		bool lost = p->peer != FABRIC_NONE && (cut[i] || cut[p->peer]);
		struct fabric_port copy = lost ? lost_port(f, p, flags) : *p;

		fabric_add_port(b, p->node, p->number, &copy);
		if (p->peer != FABRIC_NONE && p->peer > i && !lost)
			fabric_add_link(b, p->node, p->number, f->ports[p->peer].node,
					f->ports[p->peer].number);
	}
	for (uint32_t i = 0; i < f->nlost; i++)
		fabric_add_lost(b, &f->lost[i]);
	if (f->sm_port != FABRIC_NONE)
		fabric_set_sm(b, f->ports[f->sm_port].node, f->ports[f->sm_port].number);
	return fabric_build(b, generation);
}
