/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_LANE_JUDGE_H
#define TESTS_LANE_JUDGE_H

#include "sm/fabric/sls.h"
#include "sm/sa/group.h"
#include "sm/sa/sa.h"
#include "tests/unit/core_bed.h"

/*
 * What devices hold, judged by nothing but what they hold: forwarding tables and tables from
 * service levels to lanes of the simulated switches are walked for every pair of end ports, on each
 * service level that the published plan tells, and so are multicast tables for packets from every
 * host on the service levels of their groups, SL 0 where there is none; what all of them wait for
 * is searched for a cycle.
 * cmocka.h and core_bed.h must be included before.
 */
struct judged {
	unsigned pairs;		/* ordered pairs of end ports */
	unsigned lost;		/* of them without a way */
	unsigned cycles;	/* 1 if some packets may wait for each other for ever */
	unsigned copies;	/* that arrive at hosts, of a multicast packet from each host */
	unsigned lanes;		/* lanes in use between switches: the highest, and 1 */
};

struct lane_graph {
	const struct model *m;	/* the fabric */
	uint32_t *first;	/* by node: its first port's number among all */
	uint32_t len;		/* ports of all nodes */
	uint8_t *waits;		/* by (port, lane): bits, one for each (port, lane) */
	uint32_t (*edges)[2];	/* the same as a list */
	uint32_t nedges;	/* its length */
};

#define JUDGE_LANES 8u

static inline size_t
judge_bit(const struct lane_graph *g, uint32_t from, uint32_t to)
{
	return (size_t)from * (g->len * JUDGE_LANES) + to;
}

static inline void
judge_waits(struct lane_graph *g, uint32_t from, uint32_t to)
{
	size_t bit = judge_bit(g, from, to);

	if (g->waits[bit / 8] >> bit % 8 & 1)
		return;
	g->waits[bit / 8] |= (uint8_t)(1u << bit % 8);
	g->edges = mem_realloc(g->edges, g->nedges + 1, sizeof(*g->edges));
	g->edges[g->nedges][0] = from;
	g->edges[g->nedges++][1] = to;
}

/* The cable out of a port leads to an ACTIVE one. */
static inline bool
judge_next(const struct lane_graph *g, uint32_t node, unsigned port, uint32_t *to, unsigned *in)
{
	const struct ibnet_node *n = &model_ibnet(g->m)->nodes[node];

	if (port > n->nports || n->ports[port].peer == IBNET_NONE ||
	    !model_link_is_up(g->m, node, port) ||
	    model_portinfo(g->m, node, port)->state != PORT_ACTIVE)
		return false;
	*to = n->ports[port].peer;
	*in = n->ports[port].peer_port;
	return model_portinfo(g->m, *to, *in)->state == PORT_ACTIVE;
}

static inline bool
judge_is_switch(const struct lane_graph *g, uint32_t node)
{
	return model_ibnet(g->m)->nodes[node].type == IBNET_SWITCH;
}

/* A packet that is at a switch, come in by `in`; true if it gets to `end`. */
static inline bool
judge_walk(struct lane_graph *g, struct judged *j, uint32_t at, unsigned in, uint16_t lid,
	   unsigned sl, uint32_t end)
{
	uint32_t before = UINT32_MAX;

	for (unsigned hops = 0; hops < 64; hops++) {
		unsigned out = model_lft(g->m, at, lid), vl;
		uint32_t to, here;

		if (!out)
			return at == end;
		if (out > model_ibnet(g->m)->nodes[at].nports)
			return false;
		vl = model_sl2vl(g->m, at, in, out, sl);
		if (vl >= JUDGE_LANES || !judge_next(g, at, out, &to, &in))
			return false;
		if (vl >= vls_of_code(model_portinfo(g->m, at, out)->op_vls))
			return false;
		if (!judge_is_switch(g, to))
			return to == end;
		j->lanes = vl >= j->lanes ? vl + 1 : j->lanes;
		here = (g->first[at] + out) * JUDGE_LANES + vl;
		if (before != UINT32_MAX)
			judge_waits(g, before, here);
		before = here;
		at = to;
	}
	return false;
}

/* Take away what waits for nothing, again and again: what is left waits in a circle. */
static inline bool
judge_cycle(const struct lane_graph *g)
{
	bool *waits = mem_array(g->len * JUDGE_LANES, sizeof(*waits));
	uint32_t left = g->nedges, before;

	do {
		before = left;
		memset(waits, 0, g->len * JUDGE_LANES);
		for (uint32_t i = 0; i < left; i++)
			waits[g->edges[i][0]] = true;
		for (uint32_t i = 0; i < left;)
			if (waits[g->edges[i][1]])
				i++;
			else
				memcpy(g->edges[i], g->edges[--left], sizeof(g->edges[i]));
	} while (left && left != before);
	mem_free(waits);
	return left > 0;
}

static inline uint32_t
judge_node(const struct lane_graph *g, const struct fabric *f, uint32_t port)
{
	const struct ibnet *net = model_ibnet(g->m);
	uint32_t n = 0;

	while (net->nodes[n].guid != f->nodes[f->ports[port].node].guid)
		n++;
	return n;
}

/* From all end ports of the plan to all others, on one level of service. */
static inline void
judge_pairs(struct lane_graph *g, const struct bed_sm *sm, unsigned level, struct judged *j)
{
	const struct plan *p = sm->s->plan;

	for (unsigned from = 1; from <= p->lids->top; from++) {
		const struct plan_dest *a = &p->lids->dest[from];

		for (unsigned to = 1; to <= p->lids->top && a->port != FABRIC_NONE; to++) {
			const struct plan_dest *b = &p->lids->dest[to];
			uint32_t source, dest, at;
			unsigned in = 0;

			if (from == to || b->port == FABRIC_NONE)
				continue;
			source = judge_node(g, p->fabric, a->port);
			dest = judge_node(g, p->fabric, b->port);
			j->pairs++;
			at = source;
			if (!judge_is_switch(g, source) &&
			    !judge_next(g, source, p->fabric->ports[a->port].number, &at, &in))
				j->lost++;
			else
				j->lost += !judge_walk(g, j, at, in, (uint16_t)to,
						       plan_level_sl(p, a, b, level), dest);
		}
	}
}

#define JUDGE_MLID 0xc000u	/* the first, */
#define JUDGE_MLIDS 4u		/* and how many */

/* A multicast packet that came to a switch, on `before` (or from a host: UINT32_MAX). */
static inline void
judge_flood(struct lane_graph *g, struct judged *j, uint32_t at, unsigned in, uint16_t mlid,
	    unsigned sl, uint32_t before, unsigned hops)
{
	for (unsigned out = 1; out <= model_ibnet(g->m)->nodes[at].nports && hops < 64; out++) {
		unsigned vl = model_sl2vl(g->m, at, in, out, sl), then;
		uint32_t to, here;

		if (out == in || vl >= JUDGE_LANES || !judge_next(g, at, out, &to, &then) ||
		    !(model_mft(g->m, at, mlid, out / 16) >> out % 16 & 1))
			continue;
		if (!judge_is_switch(g, to)) {
			j->copies++;
			continue;
		}
		here = (g->first[at] + out) * JUDGE_LANES + vl;
		if (before != UINT32_MAX)
			judge_waits(g, before, here);
		judge_flood(g, j, to, then, mlid, sl, here, hops + 1);
	}
}

static inline unsigned
judge_group_sl(const struct bed_sm *sm, unsigned mlid)
{
	const struct sa_group *group = sa_groups_at(sa_groups(sm->s->sa), mlid);

	return group ? group->r.sl : 0;
}

static inline void
judge_multicast(struct lane_graph *g, const struct bed_sm *sm, struct judged *j)
{
	const struct ibnet *net = model_ibnet(g->m);

	for (uint32_t n = 0; n < net->nnodes; n++)
		for (unsigned k = 0; k < JUDGE_MLIDS; k++) {
			uint32_t at;
			unsigned in;

			if (!judge_is_switch(g, n) && judge_next(g, n, 1, &at, &in))
				judge_flood(g, j, at, in, (uint16_t)(JUDGE_MLID + k),
					    judge_group_sl(sm, JUDGE_MLID + k), UINT32_MAX, 0);
		}
}

static inline struct judged
judge_lanes(const struct bed_sm *sm)
{
	const struct ibnet *net = sm->bed->net;
	struct lane_graph g = { .m = sm->bed->m };
	struct judged j = { .lanes = 1 };

	g.first = mem_array(net->nnodes + 1, sizeof(*g.first));
	for (uint32_t n = 0; n < net->nnodes; n++) {
		g.first[n] = g.len;
		g.len += net->nodes[n].nports + 1u;
	}
	g.waits = mem_array((size_t)g.len * g.len * JUDGE_LANES + 8, JUDGE_LANES);
	for (unsigned level = 0; level < (sm->s->plan->sls ? sm->s->plan->sls->asked : 1u); level++)
		judge_pairs(&g, sm, level, &j);
	judge_multicast(&g, sm, &j);
	j.cycles = judge_cycle(&g);
	mem_free(g.first);
	mem_free(g.waits);
	mem_free(g.edges);
	return j;
}

#endif
