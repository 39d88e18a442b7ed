/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos/compose.h"

#include <stdarg.h>
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
	return in->level || in->levels > 1 || classes_of(in->lanes) > 1 || lanes_of(in->lanes) > 1;
}

/* What the plan's owner is told of levels that share. */
static void
note_merged(struct plan_sls *s, const char *fmt, ...)
{
	size_t len = strlen(s->merged);
	va_list ap;

	len += (size_t)snprintf(s->merged + len, sizeof(s->merged) - len, "%s", len ? ", " : "");
	if (len >= sizeof(s->merged))
		return;
	va_start(ap, fmt);
	vsnprintf(s->merged + len, sizeof(s->merged) - len, fmt, ap);
	va_end(ap);
}

static const char *
level_name(const struct compose_input *in, unsigned level, char text[16])
{
	if (in->level)
		return in->level[level].name;
	snprintf(text, 16, "%u", level);
	return text;
}

/* ---- Service levels ---- */

/* Which levels there are, of those that are configured. */
static int
place_levels(struct composer *c, struct error *e)
{
	const struct compose_input *in = c->in;
	unsigned classes = classes_of(in->lanes), fit = SLS_LEN / classes, levels = in->levels;
	struct plan_sls *s = c->sls;
	char a[16], b[16];

	if (levels < 1 || levels > SLS_LEN || !fit || (levels > fit && !in->merge))
		return error_set(e, ERR_REFUSED, "engine %s tells %u classes of paths apart on "
				 "each of %u levels of service, which are %u service levels: there "
				 "are %u", in->engine, classes, levels, levels * classes, SLS_LEN);
	s->asked = (uint8_t)levels;
	s->levels = (uint8_t)(levels < fit ? levels : fit);
	s->classes = (uint8_t)classes;
	s->lanes = (uint8_t)lanes_of(in->lanes);
	for (unsigned q = 0; q < levels; q++)
		s->place[q] = (uint8_t)(q < s->levels ? q : s->levels - 1u);
	for (unsigned q = s->levels; q < levels; q++)
		note_merged(s, "level %s has the service level of %s", level_name(in, q, a),
			    level_name(in, s->place[q], b));
	return 0;
}

static void
take_sl(struct plan_sls *s, unsigned slot, unsigned sl)
{
	s->sl[slot] = (uint8_t)sl;
	s->slot[sl] = (uint8_t)slot;
}

static int
give_sls(struct composer *c, struct error *e)
{
	const struct compose_input *in = c->in;
	struct plan_sls *s = c->sls;
	unsigned next = 0;
	int rc = place_levels(c, e);

	if (rc)
		return rc;
	memset(s->slot, SLS_FREE, sizeof(s->slot));
	for (unsigned q = 0; q < s->levels; q++)
		if (in->level && in->level[q].sl < SLS_LEN)
			take_sl(s, q * s->classes, in->level[q].sl);
	for (unsigned q = 0; q < s->levels; q++) {
		while (next < SLS_LEN && s->slot[next] != SLS_FREE)
			next++;
		if (!in->level || in->level[q].sl >= SLS_LEN)
			take_sl(s, q * s->classes, next);
	}
	next = SLS_LEN - 1;
	for (unsigned class = 1; class < s->classes; class++)
		for (unsigned q = 0; q < s->levels; q++) {
			while (s->slot[next] != SLS_FREE)
				next--;
			take_sl(s, q * s->classes + class, next);
		}
	if (s->classes > 1 && (s->slot[0] == SLS_FREE || s->slot[0] % s->classes))
		return error_set(e, ERR_REFUSED, "engine %s tells %u classes of paths apart, and "
				 "no level of service has service level 0, which multicast is on",
				 in->engine, s->classes);
	s->stale = in->given;
	return 0;
}

/* ---- Lanes ---- */

/* Lanes for data that a link between two switches will run. */
static unsigned
link_vls(const struct fabric *f, const struct fabric_port *p, unsigned max_vls)
{
	const struct fabric_port *q = &f->ports[p->peer];
	unsigned a = vls_of_code(p->vl_cap), b = vls_of_code(q->vl_cap), vls = a < b ? a : b;

	return vls < max_vls ? vls : max_vls;
}

unsigned
compose_least_vls(const struct fabric *f, unsigned max_vls, uint32_t *port)
{
	unsigned least = max_vls;

	*port = FABRIC_NONE;
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		uint32_t first = fabric_switch_node(f, sw)->first_port;

		for (uint32_t i = f->edge_first[sw]; i < f->edge_first[sw + 1]; i++) {
			uint32_t at = first + f->edges[i].out;
			unsigned vls = link_vls(f, &f->ports[at], max_vls);

			if (vls < least || *port == FABRIC_NONE)
				*port = at;
			least = vls < least ? vls : least;
		}
	}
	return least;
}

/* Of levels that are given lanes two have some in common, but not all. */
static int
overlap(const struct composer *c, unsigned a, unsigned b, struct error *e)
{
	const struct plan_sls *s = c->sls;
	char x[16], y[16];

	return error_set(e, ERR_REFUSED, "engine %s takes %u lanes on each level of service: those "
			 "of level %s from %u on and those of level %s from %u on overlap: give "
			 "them the same lane or lanes %u apart", c->in->engine, s->lanes,
			 level_name(c->in, a, x), s->vl[a], level_name(c->in, b, y), s->vl[b],
			 s->lanes);
}

static bool
is_given(const struct composer *c, unsigned q)
{
	return c->in->level && c->in->level[q].vl < SLS_VLS;
}

/* Those that are given, then the lowest free ones. */
static int
give_lanes(struct composer *c, struct error *e)
{
	struct plan_sls *s = c->sls;
	bool taken[2 * SLS_LEN * SLS_LEN] = { false };

	for (unsigned q = 0; q < s->levels; q++) {
		if (!is_given(c, q))
			continue;
		s->vl[q] = c->in->level[q].vl;
		for (unsigned p = 0; p < q; p++)
			if (is_given(c, p) && s->vl[p] != s->vl[q] &&
			    s->vl[p] < s->vl[q] + s->lanes && s->vl[q] < s->vl[p] + s->lanes)
				return overlap(c, p, q, e);
		memset(taken + s->vl[q], true, s->lanes);
	}
	for (unsigned q = 0; q < s->levels; q++) {
		unsigned at = 0;

		if (is_given(c, q))
			continue;
		while (memchr(taken + at, true, s->lanes))
			at++;
		s->vl[q] = (uint8_t)at;
		memset(taken + at, true, s->lanes);
	}
	return 0;
}

static void
count_vls(struct plan_sls *s)
{
	s->vls = 0;
	for (unsigned q = 0; q < s->levels; q++)
		if (s->vl[q] + s->lanes > s->vls)
			s->vls = (uint8_t)(s->vl[q] + s->lanes);
}

/* Levels that want more lanes than `vls` share those of the highest that has room. */
static void
share_lanes(struct composer *c, unsigned vls)
{
	struct plan_sls *s = c->sls;
	unsigned host = SLS_LEN;
	char a[16], b[16];

	for (unsigned q = 0; q < s->levels; q++)
		if (s->vl[q] + s->lanes <= vls && (host == SLS_LEN || s->vl[q] >= s->vl[host]))
			host = q;
	for (unsigned q = 0; q < s->levels; q++) {
		if (s->vl[q] + s->lanes <= vls)
			continue;
		host = host == SLS_LEN ? q : host;
		s->vl[q] = host == q ? 0 : s->vl[host];
		if (host != q)
			note_merged(s, "level %s shares the lanes of %s", level_name(c->in, q, a),
				    level_name(c->in, host, b));
	}
}

static int
too_few(const struct composer *c, uint32_t port, unsigned vls, struct error *e)
{
	const struct plan_sls *s = c->sls;
	const struct fabric_port *p = &c->f->ports[port];
	char text[FABRIC_NAME_SIZE];
	unsigned last = 0;

	for (unsigned q = 0; q < s->levels; q++)
		last = s->vl[q] > s->vl[last] ? q : last;
	return error_set(e, ERR_REFUSED, "engine %s takes %u lanes on each of %u levels of "
			 "service, together %u%s%s%s: the link at %s, port %u, runs %u%s",
			 c->in->engine, s->lanes, s->levels, s->vls,
			 c->in->level ? " up to those of level " : "",
			 c->in->level ? c->in->level[last].name : "",
			 c->in->level && !c->in->merge ? " (qos.merge lets levels share)" : "",
			 fabric_node_text(text, c->f, p->node, FABRIC_NAME_LEN), p->number, vls,
			 vls == c->in->max_vls ? " (max_op_vls)" : "");
}

static int
count_lanes(struct composer *c, struct error *e)
{
	struct plan_sls *s = c->sls;
	uint32_t port;
	unsigned vls = compose_least_vls(c->f, c->in->max_vls, &port);
	int rc = give_lanes(c, e);

	if (rc)
		return rc;
	count_vls(s);
	if (s->vls <= vls || port == FABRIC_NONE)
		return 0;
	if (!c->in->merge || s->lanes > vls)
		return too_few(c, port, vls, e);
	share_lanes(c, vls);
	count_vls(s);
	return 0;
}

unsigned
compose_engine_vls(const struct compose_policy *p, const struct fabric *f)
{
	uint32_t port;
	unsigned vls, levels = 0;

	if (p->levels <= 1)
		return p->max_vls;
	for (unsigned q = 0; q < p->levels; q++) {
		bool shares = false;

		for (unsigned i = 0; p->level && i < q; i++)
			shares |= p->level[q].vl != SLS_FREE && p->level[i].vl == p->level[q].vl;
		levels += !shares;
	}
	vls = compose_least_vls(f, p->max_vls, &port) / levels;
	return vls ? vls : 1;
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
				(uint8_t)(s->vl[level] + lane);
	}
	for (unsigned sl = 0; s->classes == 1 && sl < SLS_LEN; sl++)
		if (s->slot[sl] == SLS_FREE)
			m->vl[sl] = m->vl[s->sl[0]];
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
						 link_vls(c->f, p, c->in->max_vls));
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

/* The path class of each SL, four bits each. */
static uint64_t
classes_by_sl(const struct plan_sls *s)
{
	uint64_t all = 0;

	for (unsigned sl = 0; s && sl < SLS_LEN; sl++)
		if (s->slot[sl] != SLS_FREE)
			all |= (uint64_t)(s->slot[sl] % s->classes) << 4 * sl;
	return all;
}

/* SLs that hosts may have been told under other rules than this engine's, or as another class. */
static uint16_t
given_before(const struct compose_given *g, const char *engine, const struct plan_sls *s)
{
	unsigned classes = s ? s->classes : 1;
	bool same = !strcmp(g->engine, engine) && g->classes == classes;
	uint64_t now = classes_by_sl(s);
	uint16_t moved = 0;

	if (!g->engine[0])
		return g->stale;
	for (unsigned sl = 0; sl < SLS_LEN; sl++)
		if (classes > 1 && ((now ^ g->class_of) >> 4 * sl & 15 || s->slot[sl] == SLS_FREE))
			moved |= (uint16_t)(1u << sl);
	return (uint16_t)(g->stale | (g->sls & (same ? moved : UINT16_MAX)));
}

struct compose_given
compose_give(const struct compose_given *before, const struct plan *plan)
{
	struct compose_given g = { .classes = plan->sls ? plan->sls->classes : 1 };

	snprintf(g.engine, sizeof(g.engine), "%s", plan->engine_running);
	g.sls = sls_of(plan->sls);
	g.class_of = classes_by_sl(plan->sls);
	g.pairs = plan->sls ? plan->sls->pairs : 0;
	g.stale = plan->sls ? plan->sls->stale :
		given_before(before, plan->engine_running, NULL);
	return g;
}

/* The SL of level 0, by the tables of `s`, for what is the engine's class of a pair now. */
static uint8_t
sl_of(const struct plan_sls *s, const struct plan_lanes *lanes, uint32_t a, uint32_t b)
{
	uint8_t class = lanes && lanes->path_class ? lanes->path_class(lanes, a, b) : 0;

	return s->sl[class < s->classes ? class : 0];
}

/* A plan that hosts were told of, and one that comes after it. */
struct succession {
	const struct plan *old;			/* with tables of ours */
	const struct plan *new;			/* being made: snapshot and LIDs are there */
	const struct plan_lanes *lanes;		/* of the new one, as the engine has them */
	uint32_t *then;				/* by switch: which it was, or FABRIC_NONE */
};

static void
succession_init(struct succession *x)
{
	const struct fabric *f = x->new->fabric, *was = x->old->fabric;

	x->then = mem_array(f->nswitches + 1, sizeof(*x->then));
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		uint32_t node = fabric_node_by_guid(was, fabric_switch_node(f, sw)->guid);

		x->then[sw] = node == FABRIC_NONE ? FABRIC_NONE : was->nodes[node].sw;
	}
}

/* What was sent from switch `a` to old switch `was`, and now goes to `b`, has the class of that. */
static bool
keeps_class(const struct succession *x, uint32_t a, uint32_t was, uint32_t b)
{
	const struct plan_lanes *l = x->old->lanes;

	return x->then[a] == FABRIC_NONE || was == FABRIC_NONE ||
	       l->path_class(l, x->then[a], was) == sl_of(x->old->sls, x->lanes, a, b);
}

/* Have pairs of switches that were there the classes that they had? */
static bool
pairs_keep_classes(const struct succession *x)
{
	uint32_t n = x->new->fabric->nswitches;

	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = a; b < n; b++)
			if (!keeps_class(x, a, x->then[b], b))
				return false;
	return true;
}

static bool
is_same_port(const struct succession *x, const struct plan_dest *was, const struct plan_dest *now)
{
	const struct fabric *f = x->old->fabric, *g = x->new->fabric;
	const struct fabric_port *p = &f->ports[was->port], *q = &g->ports[now->port];

	return p->number == q->number && f->nodes[p->node].guid == g->nodes[q->node].guid;
}

/* A LID that another port had: what is sent to that goes to whoever has it now, on the levels that
 * were right for the other. (No connection outlasts that a host is plugged in elsewhere.) */
static bool
lids_keep_classes(const struct succession *x)
{
	const struct plan_lids *l = x->old->lids, *m = x->new->lids;

	for (uint32_t lid = 1; lid <= l->top && lid <= m->top; lid++) {
		const struct plan_dest *was = &l->dest[lid], *now = &m->dest[lid];

		if (was->port == FABRIC_NONE || now->port == FABRIC_NONE ||
		    was->sw == FABRIC_NONE || now->sw == FABRIC_NONE || is_same_port(x, was, now))
			continue;
		for (uint32_t a = 0; a < x->new->fabric->nswitches; a++)
			if (!keeps_class(x, a, was->sw, now->sw))
				return false;
	}
	return true;
}

static bool
same_classes(const struct plan *old, const struct plan *new, const struct plan_lanes *lanes)
{
	struct succession x = { .old = old, .new = new, .lanes = lanes };
	bool same;

	succession_init(&x);
	same = pairs_keep_classes(&x) && lids_keep_classes(&x);
	mem_free(x.then);
	return same;
}

static uint64_t
mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* The class of each pair of switches, in few bytes and in whatever order these come: what is left
 * of a plan to tell, after a restart, whether pairs have the classes that they had. */
static uint64_t
pairs_digest(const struct fabric *f, const struct plan_lanes *lanes)
{
	uint64_t sum = 0, *guid;

	if (!lanes || !lanes->path_class || lanes->classes < 2)
		return 0;
	guid = mem_array(f->nswitches + 1, sizeof(*guid));
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		guid[sw] = mix(fabric_switch_node(f, sw)->guid);
	for (uint32_t a = 0; a < f->nswitches; a++)
		for (uint32_t b = a; b < f->nswitches; b++)
			sum += mix(guid[a] + guid[b] + lanes->path_class(lanes, a, b));
	mem_free(guid);
	return sum;
}

/* Else who sends to an address has the class of the way to where that was. */
static bool
lids_keep_places(const struct plan_lids *then, const struct plan_lids *now)
{
	for (unsigned lid = 1; lid <= then->top && lid <= now->top; lid++)
		if (then->dest[lid].port != FABRIC_NONE && now->dest[lid].port != FABRIC_NONE &&
		    then->dest[lid].sw != now->dest[lid].sw)
			return false;
	return true;
}

/* As the plan before tells, if nobody remembers more; do pairs of switches have other classes now
 * though the engine is the same, or LIDs other places, those of before are stale too. */
static uint16_t
told(const struct compose_policy *p, const struct plan *plan, const char *engine,
     const struct plan_lanes *lanes, const struct plan_sls *sls)
{
	struct compose_given none = { 0 }, g = p->given ? *p->given : none;
	uint16_t stale;

	if (!p->given && p->previous) {
		none.stale = p->previous->sls ? p->previous->sls->stale : 0;
		g = none;
		g.sls = sls_of(p->previous->sls);
		g.classes = p->previous->sls ? p->previous->sls->classes : 1;
		g.class_of = classes_by_sl(p->previous->sls);
		snprintf(g.engine, sizeof(g.engine), "%s", p->previous->engine_running);
	}
	stale = given_before(&g, engine, sls);
	if (p->previous && p->previous->sls && !same_classes(p->previous, plan, lanes))
		stale |= sls_of(p->previous->sls);
	/* Of a plan before a restart there is the digest, and what ports have of its addresses. */
	if (!p->previous && g.engine[0] && g.classes > 1 &&
	    (g.pairs != sls->pairs || (p->held && !lids_keep_places(p->held, plan->lids))))
		stale |= g.sls;
	return stale;
}

int
compose_chain(void *arg, const struct plan *plan, const char *engine, struct plan_lanes *lanes,
	      struct plan_sls **sls, struct error *e)
{
	const struct compose_policy *p = arg;
	struct compose_input in = {
		.fabric = plan->fabric, .lids = plan->lids, .lanes = lanes, .engine = engine,
		.levels = p->levels, .level = p->level, .merge = p->merge, .max_vls = p->max_vls,
	};
	int rc;

	if (!compose_needed(&in))
		return 0;
	rc = compose(&in, sls, e);
	if (rc)
		return rc;
	(*sls)->pairs = pairs_digest(plan->fabric, lanes);
	(*sls)->stale = told(p, plan, engine, lanes, *sls);
	return 0;
}
