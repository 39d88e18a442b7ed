/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/way.h"

/*
 * TraceRecord (IBA 15.2.5.19): the nodes on the way of a path, from its source to its destination.
 *
 * A GetTraceTable has the PathRecord whose way is asked for, under PathRecord's component mask, and
 * must name both of its ends. The way is the first that a PathRecord is told of; none is an empty
 * table. The ids are the GUIDs themselves, so they are comparable for ever and their generation is
 * always the same. Ports have a number on a switch only, and an id on others only: that of the port
 * by which the path comes in or, at its source, leaves. ExitPortID is one of routers, through which
 * no path of a subnet leads.
 */
#define GENERATION 1
#define TRIES_MAX 4096u		/* ways that do not fit */

/* One question. */
struct trace {
	struct sa_ask *a;		/* its answer */
	struct sa_ways ways;		/* what is asked for */
	struct sa_way_end src, dst;	/* from where, to where */
};

/* Hosts are at the ends of a way only. */
static bool
tell_hop(const struct trace *t, const struct plan_hop *h, bool first)
{
	const struct fabric *f = t->a->f;
	const struct fabric_node *n = &f->nodes[h->node];
	struct sa_trace r = {
		.gid_prefix = t->ways.prefix, .id_generation = GENERATION, .node_type = n->type,
		.node_id = n->guid, .chassis_id = n->system_guid ? n->system_guid : n->guid,
	};

	if (n->sw == FABRIC_NONE) {
		r.entry_port_id = f->ports[first ? t->src.port : t->dst.port].guid;
	} else {
		r.entry_port = h->in;
		r.exit_port = h->out;
	}
	return sa_offer(t->a, &r);
}

/* The first way there is: not many pairs of LIDs have none. */
static void
tell_way(const struct trace *t)
{
	uint16_t from, to;
	unsigned nfrom = sa_way_lids(t->a, t->src.port, t->src.lid, &from);
	unsigned nto = sa_way_lids(t->a, t->dst.port, t->dst.lid, &to);
	struct plan_path way;
	struct sa_path r;
	bool found = false;

	for (unsigned i = 0; !found && i < nfrom * nto && i < TRIES_MAX; i++) {
		struct sa_way_pair pair = sa_way_pair(i, nfrom, nto);

		found = sa_way(&t->ways, (uint16_t)(from + pair.src), (uint16_t)(to + pair.dst),
			       &way, &r);
	}
	for (unsigned i = 0; found && i < way.len; i++)
		found = tell_hop(t, &way.hops[i], i == 0);
}

static void
tell_trace(struct sa_ask *a)
{
	struct trace t = { .a = a };
	uint16_t status = sa_ways_init(&t.ways, a, a->want, a->h.mask);

	if (!status)
		status = sa_ways_source(&t.ways, &t.src);
	if (!status)
		status = sa_ways_destination(&t.ways, &t.dst);
	if (!status && (t.src.port == FABRIC_NONE || t.dst.port == FABRIC_NONE))
		status = SA_STATUS_INSUFFICIENT;
	if (!status)
		tell_way(&t);
	else if (status != SA_STATUS_NO_RECORDS)
		a->status = status;
}

const struct sa_kind_ops sa_trace_ops = {
	.type = &sa_trace_type, .asked = &sa_path_type, .own = UINT64_MAX,
	.method = MAD_GET_TRACE, .tell = tell_trace,
};
