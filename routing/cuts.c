/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/measure.h"
#include <math.h>
#include "routing/levels.h"
#include "routing/nominal.h"
#include "sm/base/mem.h"

/*
 * What the cables allow. Cut a tree above a level: the switches below fall into parts, and what the
 * hosts of a part send to others has to go over the part's links up. The ratio of the two bounds
 * the load of any routing from below.
 *
 * Levels, parts and the design are those of the nominal fabric, in which lost cables and switches
 * are put back; hosts are those that are there. A lost cable counts with the rate of the fastest
 * link.
 */

/* A part, at the switch that stands for it. */
struct part {
	double demand;		/* rates of its hosts' links */
	double up;		/* rates of its links up */
	double drained;		/* the same of drained ones; as lost ones they count as fast */
	double nominal;		/* of all that there are, drained and lost ones too */
	uint32_t hosts;		/* how many */
};

struct cuts {
	const struct quality *q;	/* whose fabric */
	const struct fabric *f;		/* the same */
	const struct fabric *whole;	/* the nominal fabric; reference held */
	uint32_t *vertex;		/* by switch: its index in that */
	uint16_t *level;		/* by vertex: distance from the leaves */
	uint32_t *parent;		/* by vertex: union-find forest of parts */
	struct part *parts;		/* by vertex */
	double fastest;			/* rate of the fastest link between switches */
	double demand;			/* rates of all hosts' links */
	uint32_t cut;			/* switches up to this level are below */
};

struct cuts *
cuts_new(const struct quality *q)
{
	struct cuts *c = mem_zalloc(sizeof(*c));
	const struct fabric *f = q->in->fabric;

	c->q = q;
	c->f = f;
	c->whole = nominal_fabric(f);
	c->vertex = mem_array(f->nswitches, sizeof(*c->vertex));
	c->level = mem_array(c->whole->nswitches, sizeof(*c->level));
	c->parent = mem_array(c->whole->nswitches, sizeof(*c->parent));
	c->parts = mem_array(c->whole->nswitches, sizeof(*c->parts));
	levels_heights(c->whole, c->level);
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		c->vertex[sw] = c->whole->nodes[fabric_node_by_guid(c->whole,
			fabric_switch_node(f, sw)->guid)].sw;
	for (uint32_t e = 0; e < f->nedges; e++)
		if (f->edges[e].rate_mbps > c->fastest)
			c->fastest = f->edges[e].rate_mbps;
	return c;
}

void
cuts_free(struct cuts *c)
{
	fabric_unref(c->whole);
	mem_free(c->vertex);
	mem_free(c->level);
	mem_free(c->parent);
	mem_free(c->parts);
	mem_free(c);
}

uint32_t
cuts_level(const struct cuts *c, uint32_t sw)
{
	return c->level[c->vertex[sw]];
}

static uint32_t
find(const struct cuts *c, uint32_t v)
{
	while (c->parent[v] != v)
		v = c->parent[v] = c->parent[c->parent[v]];
	return v;
}

/* Join the parts that hang together below the cut, and count their nominal links up. */
static void
find_parts(const struct cuts *c)
{
	const struct fabric *w = c->whole;

	for (uint32_t v = 0; v < w->nswitches; v++) {
		c->parent[v] = v;
		c->parts[v] = (struct part){ 0 };
	}
	for (uint32_t v = 0; v < w->nswitches; v++)
		for (uint32_t e = w->edge_first[v]; e < w->edge_first[v + 1]; e++)
			if (c->level[v] <= c->cut && c->level[w->edges[e].to] <= c->cut)
				c->parent[find(c, v)] = find(c, w->edges[e].to);
}

/* The part whose link up this would be; NULL if it does not cross the cut that way. */
static struct part *
crossed(const struct cuts *c, uint32_t from, uint32_t to)
{
	return c->level[from] <= c->cut && c->level[to] > c->cut ? &c->parts[find(c, from)] : NULL;
}

static void
add_links(const struct cuts *c)
{
	const struct fabric *w = c->whole, *f = c->f;

	for (uint32_t v = 0; v < w->nswitches; v++)
		for (uint32_t e = w->edge_first[v]; e < w->edge_first[v + 1]; e++) {
			struct part *p = crossed(c, v, w->edges[e].to);

			if (p)
				p->nominal += c->fastest;
		}
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		for (uint32_t e = f->edge_first[sw]; e < f->edge_first[sw + 1]; e++) {
			struct part *p = crossed(c, c->vertex[sw], c->vertex[f->edges[e].to]);

			if (!p)
				continue;
			p->up += f->edges[e].rate_mbps;
			p->nominal += f->edges[e].rate_mbps - c->fastest;
		}
}

/* Drained cables, by the end below the cut. */
static void
add_drained(const struct cuts *c)
{
	const struct fabric *f = c->f;

	for (uint32_t i = 0; i < f->nports; i++) {
		uint32_t end = f->ports[i].flags & FABRIC_PORT_DRAINED ? fabric_cable_end(f, i) :
			       FABRIC_NONE;
		struct part *p;

		if (end == FABRIC_NONE)
			continue;
		p = crossed(c, c->vertex[f->nodes[f->ports[i].node].sw],
			    c->vertex[f->nodes[f->ports[end].node].sw]);
		if (p)
			p->drained += c->fastest;
	}
}

static void
add_hosts(struct cuts *c)
{
	c->demand = 0;
	for (uint32_t i = 0; i < c->q->nhosts; i++) {
		const struct host *h = &c->q->hosts[i];
		uint32_t v = c->vertex[h->sw], port = fabric_switch_node(c->f, h->sw)->first_port;
		double rate = c->f->ports[port + h->out].rate_mbps;

		c->demand += rate;
		if (c->level[v] > c->cut)
			continue;
		c->parts[find(c, v)].demand += rate;
		c->parts[find(c, v)].hosts++;
	}
}

static void
raise(double *most, double value)
{
	*most = value > *most ? value : *most;
}

/* The worst part at one cut; *flows: the least load of the worst link that any routing of flows of
 * a full rate has. */
static void
judge_cut(const struct cuts *c, struct quality_level *l, struct quality_report *r, double *flows)
{
	for (uint32_t v = 0; v < c->whole->nswitches; v++) {
		const struct part *p = &c->parts[v];
		uint32_t others = c->q->nhosts - p->hosts;
		double rest = c->demand - p->demand, rate = p->demand < rest ? p->demand : rest;

		if (!p->hosts || !others || p->up <= 0)
			continue;
		raise(&l->now, rate / p->up);
		raise(&l->design, rate / p->nominal);
		raise(&r->by_faults, p->nominal / (p->up + p->drained));
		raise(&r->by_drains, (p->up + p->drained) / p->up);
		raise(flows, (p->hosts < others ? p->hosts : others) * c->fastest / p->up);
	}
}

void
cuts_measure(struct cuts *c, struct quality_report *r)
{
	double flows = 1;

	if (r->nlevels < 2)
		return;
	r->by_design = r->by_faults = r->by_drains = 1;
	for (c->cut = 0; c->cut + 1 < r->nlevels; c->cut++) {
		find_parts(c);
		add_links(c);
		add_drained(c);
		add_hosts(c);
		judge_cut(c, &r->level[c->cut], r, &flows);
		raise(&r->by_design, r->level[c->cut].design);
	}
	r->by_routing = r->shift_rated / ceil(flows - 1e-9);
}
