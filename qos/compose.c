/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos/compose.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"

/*
 * SLs are handed out first, then the lanes of all links are counted, then the engine is asked for
 * the lane of each (in port, out port, class) of each switch. Tables are nearly all the same, so a
 * table is kept once and named by its number.
 */
#define MAPS_MAX 4096u	/* far more than any engine has a use for */

struct composer {
	const struct compose_input *in;	/* what is composed */
	const struct fabric *f;		/* its snapshot */
	struct plan_sls *sls;		/* being made */
	uint32_t size;			/* maps that there is room for */
	uint32_t last;			/* the map that was asked for before */
};

static unsigned
classes_of(const struct plan_lanes *l)
{
	return l && l->classes ? l->classes : 1;
}

static unsigned
lanes_of(const struct plan_lanes *l)
{
	return l && l->lanes ? l->lanes : 1;
}

bool
compose_needed(const struct compose_input *in)
{
	return in->levels > 1 || classes_of(in->lanes) > 1 || lanes_of(in->lanes) > 1;
}

/* ---- Service levels ---- */

static int
give_sls(struct composer *c, struct error *e)
{
	const struct compose_input *in = c->in;
	struct plan_sls *s = c->sls;
	unsigned classes = classes_of(in->lanes), next = SLS_LEN - 1;

	if (in->levels < 1 || in->levels * classes > SLS_LEN)
		return error_set(e, ERR_REFUSED, "engine %s tells %u classes of paths apart on "
				 "each of %u levels of service, which are %u service levels: there "
				 "are %u", in->engine, classes, in->levels, in->levels * classes,
				 SLS_LEN);
	s->levels = (uint8_t)in->levels;
	s->classes = (uint8_t)classes;
	s->lanes = (uint8_t)lanes_of(in->lanes);
	memset(s->slot, SLS_FREE, sizeof(s->slot));
	for (unsigned class = 0; class < classes; class++)
		for (unsigned level = 0; level < in->levels; level++) {
			unsigned slot = level * classes + class, sl = class ? next-- : level;

			s->sl[slot] = (uint8_t)sl;
			s->slot[sl] = (uint8_t)slot;
		}
	s->stale = in->given;
	return 0;
}

/* ---- Lanes ---- */

/* Lanes for data that a link between two switches will run. */
static unsigned
link_vls(const struct composer *c, const struct fabric_port *p)
{
	const struct fabric_port *q = &c->f->ports[p->peer];
	unsigned a = vls_of_code(p->vl_cap), b = vls_of_code(q->vl_cap), vls = a < b ? a : b;

	return vls < c->in->max_vls ? vls : c->in->max_vls;
}

static int
too_few(const struct composer *c, const struct fabric_port *p, unsigned vls, struct error *e)
{
	char text[FABRIC_NAME_SIZE];
	unsigned levels = c->sls->levels, lanes = c->sls->lanes;

	return error_set(e, ERR_REFUSED, "engine %s takes %u lanes on each of %u levels of "
			 "service, together %u: the link at %s, port %u, runs %u%s", c->in->engine,
			 lanes, levels, levels * lanes,
			 fabric_node_text(text, c->f, p->node, FABRIC_NAME_LEN), p->number, vls,
			 vls == c->in->max_vls ? " (max_op_vls)" : "");
}

static int
count_lanes(const struct composer *c, struct error *e)
{
	const struct fabric *f = c->f;
	unsigned needed = c->sls->levels * c->sls->lanes;

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		const struct fabric_node *n = fabric_switch_node(f, sw);

		for (uint32_t i = f->edge_first[sw]; i < f->edge_first[sw + 1]; i++) {
			const struct fabric_port *p = &f->ports[n->first_port + f->edges[i].out];
			unsigned vls = link_vls(c, p);

			if (vls < needed)
				return too_few(c, p, vls, e);
		}
	}
	return 0;
}

/* ---- Tables ---- */

/* *at gets the number of a map: of one that is there, or of a new one. */
static int
intern(struct composer *c, const struct sls_map *m, uint16_t *at, struct error *e)
{
	struct plan_sls *s = c->sls;
	uint32_t i = c->last;

	if (i >= s->nmaps || memcmp(&s->maps[i], m, sizeof(*m)))
		for (i = 0; i < s->nmaps && memcmp(&s->maps[i], m, sizeof(*m)); i++)
			;
	if (i == MAPS_MAX)
		return error_set(e, ERR_REFUSED, "engine %s wants more than %u different tables "
				 "from service levels to lanes", c->in->engine, MAPS_MAX);
	if (i == s->nmaps) {
		if (s->nmaps == c->size) {
			c->size = c->size ? 2 * c->size : 16;
			s->maps = mem_realloc(s->maps, c->size, sizeof(*s->maps));
		}
		s->maps[s->nmaps++] = *m;
	}
	c->last = i;
	*at = (uint16_t)i;
	return 0;
}

static int
wants_more(const struct composer *c, uint32_t sw, unsigned in, unsigned out, struct error *e)
{
	char text[FABRIC_NAME_SIZE];

	return error_set(e, ERR_REFUSED, "at %s engine %s wants packets from port %u to port %u "
			 "on lanes that are not among its %u",
			 fabric_node_text(text, c->f, c->f->switches[sw], FABRIC_NAME_LEN),
			 c->in->engine, in, out, c->sls->lanes);
}

/* The engine's lane of a class there. */
static uint8_t
engine_lane(const struct composer *c, uint32_t sw, unsigned in, unsigned out, unsigned class)
{
	const struct plan_lanes *l = c->in->lanes;

	return l && l->lane ? l->lane(l, sw, (uint8_t)in, (uint8_t)out, (uint8_t)class) : 0;
}

static int
make_map(const struct composer *c, uint32_t sw, unsigned in, unsigned out, struct sls_map *m,
	 struct error *e)
{
	const struct plan_sls *s = c->sls;

	memset(m->vl, SLS_DROP, sizeof(m->vl));
	for (unsigned class = 0; class < s->classes; class++) {
		uint8_t lane = engine_lane(c, sw, in, out, class);

		if (lane >= s->lanes && lane != PLAN_LANE_DROP)
			return wants_more(c, sw, in, out, e);
		for (unsigned level = 0; level < s->levels && lane != PLAN_LANE_DROP; level++)
			m->vl[s->sl[level * s->classes + class]] =
				(uint8_t)(level * s->lanes + lane);
	}
	for (unsigned sl = 0; s->classes == 1 && sl < SLS_LEN; sl++)
		if (s->slot[sl] == SLS_FREE)
			m->vl[sl] = m->vl[0];
	return 0;
}

/* Does the port lead to another switch? */
static bool
leads_on(const struct composer *c, const struct fabric_port *p)
{
	return p->peer != FABRIC_NONE && c->f->nodes[c->f->ports[p->peer].node].sw != FABRIC_NONE;
}

/* All tables of a switch for one out port. */
static int
make_column(struct composer *c, uint32_t sw, unsigned out, struct error *e)
{
	struct plan_sls *s = c->sls;
	const struct fabric_port *p = fabric_port_at(c->f, c->f->switches[sw], out);
	unsigned n = s->ports[sw] + 1u;
	bool on = out && leads_on(c, p);
	struct sls_map m;
	int rc = 0;

	if (!on)
		m = plan_sls_host_map(s, p->peer == FABRIC_NONE ? vls_of_code(p->vl_cap) :
						 link_vls(c, p));
	for (unsigned in = 0; !rc && in < n; in++) {
		if (on)
			rc = make_map(c, sw, in, out, &m, e);
		if (!rc)
			rc = intern(c, &m, &s->at[s->first[sw] + in * n + out], e);
	}
	return rc;
}

static int
make_tables(struct composer *c, uint32_t sw, struct error *e)
{
	int rc = 0;

	for (unsigned out = 0; !rc && out <= c->sls->ports[sw]; out++)
		rc = make_column(c, sw, out, e);
	return rc;
}

int
compose(const struct compose_input *in, struct plan_sls **sls, struct error *e)
{
	struct composer c = { .in = in, .f = in->fabric };
	int rc;

	c.sls = plan_sls_new(in->fabric);
	rc = give_sls(&c, e);
	if (!rc)
		rc = count_lanes(&c, e);
	for (uint32_t sw = 0; !rc && sw < c.f->nswitches; sw++)
		rc = make_tables(&c, sw, e);
	if (rc) {
		plan_sls_unref(c.sls);
		return rc;
	}
	*sls = c.sls;
	return 0;
}

/* ---- What hosts were told ---- */

static uint16_t
sls_of(const struct plan_sls *s)
{
	uint16_t sls = s ? 0 : 1;

	for (unsigned slot = 0; s && slot < (unsigned)s->levels * s->classes; slot++)
		sls |= (uint16_t)(1u << s->sl[slot]);
	return sls;
}

/* SLs that hosts may have been told under other rules than this engine's. */
static uint16_t
given_before(const struct compose_given *g, const char *engine, unsigned classes)
{
	bool same = !strcmp(g->engine, engine) && g->classes == classes;

	return same || !g->engine[0] ? g->stale : g->stale | g->sls;
}

struct compose_given
compose_give(const struct compose_given *before, const struct plan *plan)
{
	struct compose_given g = { .classes = plan->sls ? plan->sls->classes : 1 };

	snprintf(g.engine, sizeof(g.engine), "%s", plan->engine_running);
	g.sls = sls_of(plan->sls);
	g.stale = plan->sls ? plan->sls->stale :
		given_before(before, plan->engine_running, g.classes);
	return g;
}

/* The SL of level 0, by the tables of `s`, for what is the engine's class of a pair now. */
static uint8_t
sl_of(const struct plan_sls *s, const struct plan_lanes *lanes, uint32_t a, uint32_t b)
{
	uint8_t class = lanes && lanes->path_class ? lanes->path_class(lanes, a, b) : 0;

	return s->sl[class < s->classes ? class : 0];
}

/* Have pairs of switches that were there the classes that they had? */
static bool
same_classes(const struct plan *old, const struct plan *new, const struct plan_lanes *lanes)
{
	const struct fabric *f = new->fabric, *was = old->fabric;
	uint32_t *then = mem_array(f->nswitches + 1, sizeof(*then));
	bool same = true;

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		uint32_t node = fabric_node_by_guid(was, fabric_switch_node(f, sw)->guid);

		then[sw] = node == FABRIC_NONE ? FABRIC_NONE : was->nodes[node].sw;
	}
	for (uint32_t a = 0; a < f->nswitches && same; a++)
		for (uint32_t b = a; b < f->nswitches && same; b++)
			same = then[a] == FABRIC_NONE || then[b] == FABRIC_NONE ||
			       old->lanes->path_class(old->lanes, then[a], then[b]) ==
			       sl_of(old->sls, lanes, a, b);
	mem_free(then);
	return same;
}

/* As the plan before tells, if nobody remembers more; do pairs of switches have other classes now
 * though the engine is the same, those of before are stale too. */
static uint16_t
told(const struct compose_policy *p, const struct plan *plan, const char *engine,
     const struct plan_lanes *lanes)
{
	struct compose_given none = { 0 }, g = p->given ? *p->given : none;
	uint16_t stale;

	if (!p->given && p->previous) {
		none.stale = p->previous->sls ? p->previous->sls->stale : 0;
		g = none;
		g.sls = sls_of(p->previous->sls);
		g.classes = p->previous->sls ? p->previous->sls->classes : 1;
		snprintf(g.engine, sizeof(g.engine), "%s", p->previous->engine_running);
	}
	stale = given_before(&g, engine, classes_of(lanes));
	if (p->previous && p->previous->sls && !same_classes(p->previous, plan, lanes))
		stale |= sls_of(p->previous->sls);
	return stale;
}

int
compose_chain(void *arg, const struct plan *plan, const char *engine, struct plan_lanes *lanes,
	      struct plan_sls **sls, struct error *e)
{
	const struct compose_policy *p = arg;
	struct compose_input in = {
		.fabric = plan->fabric, .lids = plan->lids, .lanes = lanes, .engine = engine,
		.levels = p->levels, .max_vls = p->max_vls,
		.given = told(p, plan, engine, lanes),
	};

	return compose_needed(&in) ? compose(&in, sls, e) : 0;
}
