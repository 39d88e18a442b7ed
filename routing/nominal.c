/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/nominal.h"
#include "sm/base/map.h"
#include "sm/base/mem.h"

/*
 * What the fabric would be without its faults. A lost cable counts as long as both its ends are
 * free: if one of them has another cable by now, then the fabric was changed, not broken. The far
 * end need not remember it, for a node that was away forgets.
 *
 * Of a node that is gone what is known is its GUID, mostly the type, and its cables: those that its
 * neighbours remember, and those that the snapshot lists (fabric.lost), where these neighbours are
 * gone too. What hangs together with nothing that is there does not belong here any more. Where the
 * type is not known, three cables make a switch of it; a host with as many is rarer than a switch
 * with fewer.
 */
#define SWITCH_CABLES 3u

struct ghost {
	uint64_t guid;		/* node GUID */
	uint32_t handle;	/* in the builder */
	uint32_t cables;	/* that are known */
	uint8_t type;		/* enum node_type, 0 unknown */
	uint8_t nports;		/* highest port number known */
};

struct nominal {
	const struct fabric *f;		/* what is there */
	struct fabric_builder *b;	/* what should be */
	uint32_t *handle;		/* in the builder, by node index */
	struct ghost *ghosts;		/* in order of the first port that remembers them */
	uint32_t nghosts;		/* how many */
	bool *listed;			/* by place in f->lost: that cable counts */
	struct map by_guid;		/* ghost by GUID */
};

/* The port at the far end of a lost cable; FABRIC_NONE if its node is gone or it is not free. */
static uint32_t
far_end(const struct fabric *f, uint32_t port)
{
	const struct fabric_port *p = &f->ports[port], *far;
	uint32_t node = fabric_node_by_guid(f, p->lost_peer);

	if (node == FABRIC_NONE || p->lost_number == 0 || p->lost_number > f->nodes[node].nports)
		return FABRIC_NONE;
	far = fabric_port_at(f, node, p->lost_number);
	if (far->peer != FABRIC_NONE)
		return FABRIC_NONE;
	if (far->lost_peer && (far->lost_peer != f->nodes[p->node].guid ||
			       far->lost_number != p->number))
		return FABRIC_NONE;
	return f->nodes[node].first_port + p->lost_number;
}

static bool
is_lost(const struct fabric *f, uint32_t port)
{
	const struct fabric_port *p = &f->ports[port];

	return p->peer == FABRIC_NONE && p->lost_peer && p->number;
}

/* A cable to this port of a node that is gone. */
static void
note_ghost(struct nominal *n, uint64_t guid, uint8_t number, uint8_t type)
{
	uint32_t at = map_get(&n->by_guid, guid);

	if (at == MAP_NONE) {
		at = n->nghosts++;
		n->ghosts = mem_realloc(n->ghosts, n->nghosts, sizeof(*n->ghosts));
		n->ghosts[at] = (struct ghost){ .guid = guid };
		map_set(&n->by_guid, guid, at);
	}
	n->ghosts[at].cables++;
	if (type)
		n->ghosts[at].type = type;
	if (number > n->ghosts[at].nports)
		n->ghosts[at].nports = number;
}

/* Does this end of a listed cable belong to the fabric? -1: it is not free, so the cable does not
 * count; 0: it is not known yet that it does. */
static int
end_belongs(const struct nominal *n, const struct fabric_lost *c, unsigned end)
{
	uint32_t node = fabric_node_by_guid(n->f, c->guid[end]);
	const struct fabric_port *p;

	if (node == FABRIC_NONE)
		return map_get(&n->by_guid, c->guid[end]) != MAP_NONE;
	if (!c->number[end] || c->number[end] > n->f->nodes[node].nports)
		return -1;
	p = fabric_port_at(n->f, node, c->number[end]);
	if (p->peer != FABRIC_NONE ||
	    (p->lost_peer && (p->lost_peer != c->guid[!end] || p->lost_number != c->number[!end])))
		return -1;
	return 1;
}

/* Cables of what is gone, from what is there on. True if there are any. */
static bool
note_listed(struct nominal *n)
{
	bool more = true, any = false;

	n->listed = mem_array(n->f->nlost, sizeof(*n->listed));
	while (more) {
		more = false;
		for (uint32_t i = 0; i < n->f->nlost; i++) {
			const struct fabric_lost *c = &n->f->lost[i];
			int a = n->listed[i] ? -1 : end_belongs(n, c, 0);
			int b = n->listed[i] ? -1 : end_belongs(n, c, 1);

			if (a < 0 || b < 0 || !(a || b))
				continue;
			n->listed[i] = more = any = true;
			for (unsigned end = 0; end < 2; end++)
				if (fabric_node_by_guid(n->f, c->guid[end]) == FABRIC_NONE)
					note_ghost(n, c->guid[end], c->number[end], c->type[end]);
		}
	}
	return any;
}

/* A port as it would be with its cable. */
static void
add_port(struct nominal *n, uint32_t handle, const struct fabric_port *p)
{
	struct fabric_port up = *p;

	if (up.state < PORT_ACTIVE)
		up.state = PORT_ACTIVE;
	fabric_add_port(n->b, handle, p->number, &up);
}

static void
add_nodes(struct nominal *n)
{
	const struct fabric *f = n->f;

	for (uint32_t i = 0; i < f->nnodes; i++) {
		n->handle[i] = fabric_add_node(n->b, &f->nodes[i]);
		for (unsigned k = 0; k <= f->nodes[i].nports; k++)
			add_port(n, n->handle[i], fabric_port_at(f, i, k));
	}
	for (uint32_t i = 0; i < n->nghosts; i++) {
		struct ghost *g = &n->ghosts[i];
		struct fabric_node node = { .guid = g->guid, .nports = g->nports, .type = g->type };

		if (!node.type)
			node.type = g->cables < SWITCH_CABLES ? NODE_CA : NODE_SWITCH;
		g->handle = fabric_add_node(n->b, &node);
		for (unsigned k = 0; k <= g->nports; k++)
			add_port(n, g->handle, &(struct fabric_port){ .number = (uint8_t)k });
	}
}

static void
add_links(struct nominal *n)
{
	const struct fabric *f = n->f;

	for (uint32_t i = 0; i < f->nports; i++) {
		const struct fabric_port *p = &f->ports[i];

		if (p->peer != FABRIC_NONE && i < p->peer)
			fabric_add_link(n->b, n->handle[p->node], p->number,
					n->handle[f->ports[p->peer].node],
					f->ports[p->peer].number);
	}
	for (uint32_t i = 0; i < f->nports; i++) {
		const struct fabric_port *p = &f->ports[i];
		uint32_t far = is_lost(f, i) ? far_end(f, i) : FABRIC_NONE;

		if (!is_lost(f, i))
			continue;
		if (far != FABRIC_NONE)
			fabric_add_link(n->b, n->handle[p->node], p->number,
					n->handle[f->ports[far].node], f->ports[far].number);
		else if (map_get(&n->by_guid, p->lost_peer) != MAP_NONE)
			fabric_add_link(n->b, n->handle[p->node], p->number,
					n->ghosts[map_get(&n->by_guid, p->lost_peer)].handle,
					p->lost_number);
	}
}

static void
add_listed(struct nominal *n)
{
	for (uint32_t i = 0; i < n->f->nlost; i++) {
		const struct fabric_lost *c = &n->f->lost[i];
		uint32_t handle[2];

		if (!n->listed[i])
			continue;
		for (unsigned end = 0; end < 2; end++) {
			uint32_t node = fabric_node_by_guid(n->f, c->guid[end]);

			handle[end] = node != FABRIC_NONE ? n->handle[node] :
				n->ghosts[map_get(&n->by_guid, c->guid[end])].handle;
		}
		fabric_add_link(n->b, handle[0], c->number[0], handle[1], c->number[1]);
	}
}

/* True if anything is. */
static bool
note_lost(struct nominal *n)
{
	const struct fabric *f = n->f;
	bool any = false;

	for (uint32_t i = 0; i < f->nports; i++) {
		const struct fabric_port *p = &f->ports[i];

		if (!is_lost(f, i))
			continue;
		if (fabric_node_by_guid(f, p->lost_peer) == FABRIC_NONE) {
			note_ghost(n, p->lost_peer, p->lost_number, p->lost_type);
			any |= p->lost_number != 0;
		} else {
			any |= far_end(f, i) != FABRIC_NONE;
		}
	}
	return note_listed(n) || any;
}

const struct fabric *
nominal_fabric(const struct fabric *f)
{
	struct nominal n = { .f = f };
	const struct fabric *nominal;

	if (note_lost(&n)) {
		n.b = fabric_builder_new();
		n.handle = mem_array(f->nnodes, sizeof(*n.handle));
		add_nodes(&n);
		add_links(&n);
		add_listed(&n);
		nominal = fabric_build(n.b, f->generation);
		mem_free(n.handle);
	} else {
		nominal = fabric_ref(f);
	}
	mem_free(n.ghosts);
	mem_free(n.listed);
	map_free(&n.by_guid);
	return nominal;
}

