/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/checker.h"

/*
 * Multicast trees in the proof of no credit loop. A packet that came in by one port of a tree waits
 * for every other port of it at once, so each pair of ports is a dependency, and unicast packets
 * and those of all trees share the links: one graph holds them all. In an order of switches a tree
 * turns from down to up where it has two ports that lead up.
 */
static bool
has_port(const uint64_t *ports, unsigned port)
{
	return ports[port / 64] >> port % 64 & 1;
}

/* A cable from the switch to itself proves nothing: it counts as one that turns. */
static bool
tree_turns(const struct ladder *l, const struct check_tree *t)
{
	const uint16_t *to = &l->to[l->first[t->sw]];
	unsigned ins = 0, outs = 0, both = 0;

	for (unsigned i = 1; i <= l->nports[t->sw]; i++) {
		bool in = has_port(t->in, i), out = has_port(t->out, i);

		if ((in || out) && to[i] == LADDER_SELF)
			return true;
		if (to[i] <= l->place[t->sw])
			continue;
		ins += in;
		outs += out;
		both += in && out;
	}
	/* Not one that goes back by the port that it came by. */
	return ins && outs && (ins > 1 || outs > 1 || !both);
}

bool
multicast_turns(const struct ladder *l, const struct check_input *in)
{
	for (uint32_t i = 0; i < in->ntrees; i++)
		if (tree_turns(l, &in->trees[i]))
			return true;
	return false;
}

/* Lanes on which packets of a class can leave a switch by a port: bit n for lane n. */
static uint32_t
lanes_of(const struct checker *c, uint32_t sw, uint8_t out, uint8_t class)
{
	const struct plan_lanes *l = c->in->lanes;
	const struct fabric_node *n = fabric_switch_node(c->f, sw);
	uint32_t lanes = 0;

	if (c->channels.lanes == 1)
		return 1;
	for (unsigned in = 0; in <= n->nports; in++) {
		uint8_t lane;

		if (in == out || (in && c->f->ports[n->first_port + in].peer == FABRIC_NONE))
			continue;
		lane = l->lane ? l->lane(l, sw, (uint8_t)in, out, 0, class) : 0;
		if (lane < c->channels.lanes)
			lanes |= 1u << lane;
	}
	return lanes;
}

static uint8_t
lane_onward(const struct checker *c, uint32_t sw, uint8_t in, uint8_t out, uint8_t from,
	    uint8_t class)
{
	const struct plan_lanes *l = c->in->lanes;

	return c->channels.lanes > 1 && l->lane ? l->lane(l, sw, in, out, from, class) : 0;
}

/* Packets that came over `e` by port `in` wait for port `out`. */
static void
enter(const struct checker *c, uint32_t sw, uint32_t e, uint8_t in, uint8_t out, uint8_t class)
{
	uint32_t before = c->f->nodes[c->f->ports[c->f->ports[
		fabric_switch_node(c->f, sw)->first_port + in].peer].node].sw;
	uint32_t lanes = lanes_of(c, before, c->channels.out[e], class);

	for (unsigned from = 0; from < c->channels.lanes; from++) {
		uint8_t to = lane_onward(c, sw, in, out, (uint8_t)from, class);

		if (lanes >> from & 1 && to < c->channels.lanes)
			channels_add(&c->channels, e, from, out, to);
	}
}

static void
depend_tree(const struct checker *c, const struct check_tree *t)
{
	const struct fabric_node *n = fabric_switch_node(c->f, t->sw);

	for (unsigned in = 1; in <= n->nports; in++) {
		uint32_t peer = c->f->ports[n->first_port + in].peer;
		uint32_t e = peer == FABRIC_NONE ? FABRIC_NONE : c->channels.edge_at[peer];

		for (unsigned out = 1; e != FABRIC_NONE && out <= n->nports; out++) {
			if (in == out || !has_port(t->in, in) || !has_port(t->out, out) ||
			    c->hops[t->sw].edge_at[out] == FABRIC_NONE)
				continue;
			for (unsigned k = 0; k < c->classes; k++)
				enter(c, t->sw, e, (uint8_t)in, (uint8_t)out, (uint8_t)k);
		}
	}
}

void
multicast_depends(const struct checker *c)
{
	for (uint32_t i = 0; i < c->in->ntrees; i++)
		depend_tree(c, &c->in->trees[i]);
}
