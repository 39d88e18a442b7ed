/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/checker.h"

#include "sm/base/mem.h"

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

/* What an order of switches says of the ports of one. */
struct sides {
	uint64_t up[4];		/* bit n: port n leads up */
	uint64_t self[4];	/* it leads to the switch itself */
};

static struct sides *
find_sides(const struct ladder *l)
{
	struct sides *sides = mem_array(l->n + 1, sizeof(*sides));

	for (uint32_t sw = 0; sw < l->n; sw++) {
		const uint16_t *to = &l->to[l->first[sw]];

		for (unsigned i = 1; i <= l->nports[sw]; i++) {
			uint64_t bit = UINT64_C(1) << i % 64;

			if (to[i] == LADDER_SELF)
				sides[sw].self[i / 64] |= bit;
			if (to[i] > l->place[sw])
				sides[sw].up[i / 64] |= bit;
		}
	}
	return sides;
}

/* A cable from the switch to itself proves nothing: it counts as one that turns. */
static bool
tree_turns(const struct sides *s, const struct check_tree *t)
{
	unsigned ins = 0, outs = 0, both = 0;

	for (unsigned i = 0; i < 4; i++) {
		uint64_t in = t->in[i] & s->up[i], out = t->out[i] & s->up[i];

		if ((t->in[i] | t->out[i]) & s->self[i])
			return true;
		ins += (unsigned)__builtin_popcountll(in);
		outs += (unsigned)__builtin_popcountll(out);
		both += (unsigned)__builtin_popcountll(in & out);
	}
	/* Not one that goes back by the port that it came by. */
	return ins && outs && (ins > 1 || outs > 1 || !both);
}

bool
multicast_turns(const struct ladder *l, const struct check_input *in)
{
	struct sides *sides = in->ntrees ? find_sides(l) : NULL;
	bool turns = false;

	for (uint32_t i = 0; i < in->ntrees && !turns; i++)
		turns = tree_turns(&sides[in->trees[i].sw], &in->trees[i]);
	mem_free(sides);
	return turns;
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
		lane = l->lane ? l->lane(l, sw, (uint8_t)in, out, class) : 0;
		if (lane < c->channels.lanes)
			lanes |= 1u << lane;
	}
	return lanes;
}

static uint8_t
lane_onward(const struct checker *c, uint32_t sw, uint8_t in, uint8_t out, uint8_t class)
{
	const struct plan_lanes *l = c->in->lanes;

	return c->channels.lanes > 1 && l->lane ? l->lane(l, sw, in, out, class) : 0;
}

/* Packets that came over `e` by port `in` wait for port `out`. */
static void
enter(const struct checker *c, uint32_t sw, uint32_t e, uint8_t in, uint8_t out, uint8_t class)
{
	uint32_t before = c->f->nodes[c->f->ports[c->f->ports[
		fabric_switch_node(c->f, sw)->first_port + in].peer].node].sw;
	uint32_t lanes = lanes_of(c, before, c->channels.out[e], class);
	uint8_t to = lane_onward(c, sw, in, out, class);

	for (unsigned from = 0; from < c->channels.lanes && to < c->channels.lanes; from++)
		if (lanes >> from & 1)
			channels_add(&c->channels, e, from, out, to);
}

void
multicast_pair(const struct checker *c, uint32_t sw, unsigned in, unsigned out, uint16_t sls)
{
	const struct fabric_node *n = fabric_switch_node(c->f, sw);
	uint32_t peer = c->f->ports[n->first_port + in].peer;
	uint32_t e = peer == FABRIC_NONE ? FABRIC_NONE : c->channels.edge_at[peer];

	if (e == FABRIC_NONE || c->hops[sw].edge_at[out] == FABRIC_NONE)
		return;
	for (unsigned k = 0; k < c->classes; k++)
		if (!sls || sls >> k & 1)
			enter(c, sw, e, (uint8_t)in, (uint8_t)out, (uint8_t)k);
}

static void
depend_tree(const struct checker *c, const struct check_tree *t)
{
	const struct fabric_node *n = fabric_switch_node(c->f, t->sw);

	for (unsigned in = 1; in <= n->nports; in++)
		for (unsigned out = 1; has_port(t->in, in) && out <= n->nports; out++)
			if (in != out && has_port(t->out, out))
				multicast_pair(c, t->sw, in, out, t->sls);
}

void
multicast_depends(const struct checker *c)
{
	for (uint32_t i = 0; i < c->in->ntrees; i++)
		depend_tree(c, &c->in->trees[i]);
}
