/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/fabric/plan.h"

#include "sm/fabric/sls.h"

/*
 * One packet's way through a plan: from the port that owns the source LID, hop by hop by the rows
 * of the switches, to the port that owns the destination LID. This is what `weft path` prints and
 * what tells the SA whether a path exists. The walk trusts nothing: a hole, a loop or a wrong exit
 * ends it with a sentence that names the place (IBA volume 1, 18.2.4.3: unicast forwarding).
 */
struct walk {
	const struct plan *plan;	/* whose tables */
	struct plan_path *path;		/* hops so far */
	const struct plan_dest *dst;	/* where the packet must arrive */
	uint8_t class;			/* path class */
};

static const struct plan_dest *
lid_owner(const struct plan *p, uint16_t lid)
{
	if (!p->lids || lid == 0 || lid > p->lids->top || p->lids->dest[lid].port == FABRIC_NONE)
		return NULL;
	return &p->lids->dest[lid];
}

static const struct fabric_node *
node_of_port(const struct fabric *f, uint32_t port)
{
	return &f->nodes[f->ports[port].node];
}

static void
add_hop(struct plan_path *path, uint32_t node, uint8_t in, uint8_t out, uint8_t vl)
{
	path->hops[path->len++] = (struct plan_hop){ node, in, out, vl };
}

static int
no_path(const struct walk *w, struct error *e, uint32_t node, const char *why)
{
	const struct fabric *f = w->plan->fabric;
	char guid[GUID_TEXT_SIZE];

	return error_set(e, ERR_NOT_FOUND, "the path from LID %u to LID %u ends at %s (%s): %s",
			 w->path->src_lid, w->path->dst_lid, f->nodes[node].name,
			 guid_text(guid, f->nodes[node].guid), why);
}

/* A packet at a switch: arrived, sent on (*port becomes the port behind the cable), or stuck. */
static int
switch_hop(struct walk *w, uint32_t *port, struct error *e)
{
	const struct fabric *f = w->plan->fabric;
	uint32_t node = f->ports[*port].node;
	uint32_t sw = f->nodes[node].sw;
	uint8_t in = f->ports[*port].number;
	uint8_t out = plan_row_port(w->plan->rows[sw], w->path->dst_lid), lane = 0;
	const struct fabric_port *exit;

	if (out == LFT_NO_PORT)
		return no_path(w, e, node, "its table has no port for that LID");
	if (out == 0) {
		add_hop(w->path, node, in, 0, 0);
		*port = f->nodes[node].first_port;
		if (w->dst->port == *port)
			return 0;
		return no_path(w, e, node, "its table keeps that LID for the switch itself");
	}
	exit = out <= f->nodes[node].nports ? fabric_port_at(f, node, out) : NULL;
	if (!exit || exit->peer == FABRIC_NONE)
		return no_path(w, e, node, "its table names a port without a link");
	if (w->plan->lanes && w->plan->lanes->lane)
		lane = w->plan->lanes->lane(w->plan->lanes, sw, in, out, w->class);
	if (lane == PLAN_LANE_DROP)
		return no_path(w, e, node, "its SL to VL table drops packets on the way there");
	add_hop(w->path, node, in, out, lane);
	*port = exit->peer;
	return 0;
}

static int
walk_on(struct walk *w, uint32_t port, struct error *e)
{
	const struct fabric *f = w->plan->fabric;

	for (;;) {
		const struct fabric_node *n = node_of_port(f, port);
		int rc;

		if (n->sw == FABRIC_NONE) {
			add_hop(w->path, f->ports[port].node, f->ports[port].number, 0, 0);
			if (port == w->dst->port)
				return 0;
			return no_path(w, e, f->ports[port].node, "it does not own that LID");
		}
		if (w->path->len >= PLAN_MAX_HOPS)
			return no_path(w, e, f->ports[port].node, "the tables lead in a circle");
		rc = switch_hop(w, &port, e);
		if (rc || w->path->hops[w->path->len - 1].out == 0)
			return rc;
	}
}

uint8_t
plan_path_sl(const struct plan *p, const struct plan_dest *a, const struct plan_dest *b)
{
	if (!p->lanes || !p->lanes->path_class || a->sw == FABRIC_NONE || b->sw == FABRIC_NONE)
		return 0;
	return p->lanes->path_class(p->lanes, a->sw, b->sw);
}

/* A host's own, by its level of service. */
static uint8_t
first_lane(const struct plan *p, const struct fabric_port *from, uint8_t sl)
{
	return p->sls ? plan_sls_host_map(p->sls, vls_of_code(from->op_vls)).vl[sl] : 0;
}

uint8_t
plan_level_sl(const struct plan *p, const struct plan_dest *a, const struct plan_dest *b,
	      unsigned level)
{
	const struct plan_sls *s = p->sls;
	uint8_t sl = plan_path_sl(p, a, b);
	unsigned class;

	if (!s || a->sw == FABRIC_NONE || b->sw == FABRIC_NONE)
		return sl;
	class = s->slot[sl] == SLS_FREE ? 0 : s->slot[sl] % s->classes;
	return s->sl[s->place[level < s->asked ? level : 0] * s->classes + class];
}

int
plan_path(const struct plan *p, uint16_t src_lid, uint16_t dst_lid, struct plan_path *path,
	  struct error *e)
{
	return plan_path_on(p, src_lid, dst_lid, 0, path, e);
}

int
plan_path_on(const struct plan *p, uint16_t src_lid, uint16_t dst_lid, unsigned level,
	     struct plan_path *path, struct error *e)
{
	const struct plan_dest *src = lid_owner(p, src_lid), *dst = lid_owner(p, dst_lid);
	const struct fabric *f = p->fabric;
	struct walk w = { .plan = p, .path = path, .dst = dst };
	const struct fabric_port *from;

	/* Not the hops: they are many, and len says which of them count. */
	path->src_lid = src_lid;
	path->dst_lid = dst_lid;
	path->sl = 0;
	path->len = 0;
	if (!src || !dst)
		return error_set(e, ERR_NOT_FOUND, "LID %u belongs to no port",
				 src ? dst_lid : src_lid);
	from = &f->ports[src->port];
	if (src->port == dst->port) {
		add_hop(path, from->node, 0, 0, 0);
		return 0;
	}
	w.class = path->sl = plan_level_sl(p, src, dst, level);
	if (f->nodes[from->node].sw != FABRIC_NONE)
		return walk_on(&w, src->port, e);
	add_hop(path, from->node, 0, from->number, first_lane(p, from, path->sl));
	if (from->peer == FABRIC_NONE)
		return no_path(&w, e, from->node, "its port has no link");
	return walk_on(&w, from->peer, e);
}
