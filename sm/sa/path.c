/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/way.h"

/*
 * PathRecord (IBA 15.2.5.16): ways (way.c) from source ports to destination ports.
 *
 * Both ends may be named by GID, by LID, or by both if they agree. A Get must name them, and is
 * answered with the first path that fits; a table may leave out either, which stands for every end
 * port. With an LMC all pairs of LIDs of two ports are paths, the preferred ones first; a LID that
 * is named is the only one.
 *
 * A destination that is a multicast GID is the group's: its multicast LID, and what its members
 * share. A source that is named must be a member.
 *
 * A question for more than SA_PATHS_MAX pairs of ports is refused before the first way is walked.
 */
#define GID_MULTICAST 0xffu	/* first byte */
#define SCOPE_LINK_LOCAL 2
#define HOPS_MANY 255		/* hop limit of groups that reach further than the subnet */
#define NO_LIMIT 255		/* more paths than NumbPath can say */

/* One question. */
struct paths {
	struct sa_ask *a;		/* its answer */
	struct sa_ways ways;		/* what is asked for */
	struct sa_way_end src, dst;	/* from where, to where */
};

/* Where a question is: a pair of ports, by their base LIDs, and in their pairs of LIDs. 0 is the
 * beginning. Kept in sa_ask.at. */
struct place {
	uint16_t src, dst;	/* base LIDs */
	uint16_t pair;		/* the next one, see sa_way_pair() */
	uint8_t told;		/* paths of these ports */
};

/* ---- Ends ---- */

static uint16_t
find_ends(struct paths *p)
{
	uint16_t status = sa_ways_source(&p->ways, &p->src);

	if (!status)
		status = sa_ways_destination(&p->ways, &p->dst);
	if (!status && p->a->h.h.method == MAD_GET &&
	    (p->src.port == FABRIC_NONE || p->dst.port == FABRIC_NONE))
		return SA_STATUS_INSUFFICIENT;
	return status;
}

/* ---- A multicast group ---- */

/* What the request says of the group is so. */
static bool
is_asked_for(const struct paths *p, const struct sa_member *g)
{
	const struct sa_path *w = p->ways.want;
	const struct sa_ask *a = p->a;

	return !((sa_asks(a, SA_PATH_DLID) && w->dlid != g->mlid) ||
		 (sa_asks(a, SA_PATH_PKEY) && (w->pkey ^ g->pkey) & SA_PKEY_NUMBER) ||
		 (sa_asks(a, SA_PATH_SL) && w->sl != g->sl) ||
		 (sa_asks(a, SA_PATH_FLOW_LABEL) && w->flow_label != g->flow_label) ||
		 (sa_asks(a, SA_PATH_TCLASS) && w->tclass != g->tclass) ||
		 (sa_asks(a, SA_PATH_RAW) && w->raw) ||
		 (a->h.h.method != MAD_GET && sa_asks(a, SA_PATH_NUMB_PATH) && !w->numb_path));
}

static uint8_t
hops_of(const struct sa_member *g)
{
	return g->scope == SCOPE_LINK_LOCAL || g->hop_limit ? g->hop_limit : HOPS_MANY;
}

static void
tell_group(struct paths *p, const struct sa_group *group)
{
	const struct sa_path *w = p->ways.want;
	const struct sa_member *g = &group->r;
	struct sa_ask *a = p->a;
	struct sa_path r = {
		.dgid = g->mgid, .dlid = g->mlid, .flow_label = g->flow_label,
		.tclass = g->tclass, .hop_limit = hops_of(g), .pkey = g->pkey, .sl = g->sl,
		.mtu = g->mtu, .rate = g->rate, .life = g->life, .numb_path = 1,
		/* Members send as well as they receive. */
		.reversible = sa_asks(a, SA_PATH_REVERSIBLE) && w->reversible,
	};

	if (p->src.port != FABRIC_NONE) {
		r.sgid = (struct sa_gid){ p->ways.prefix, a->f->ports[p->src.port].guid };
		if (sa_asks(a, SA_PATH_SGID))
			r.sgid.guid = w->sgid.guid;
		r.slid = p->src.lid ? p->src.lid : sa_base_lid(a, p->src.port);
		if (!sa_group_join_of(group, r.sgid.guid))
			return;
	}
	if (!is_asked_for(p, g) ||
	    (sa_asks(a, SA_PATH_HOP_LIMIT) && w->hop_limit != r.hop_limit) ||
	    (a->env->pkey_block && !a->trusted && !sa_has_pkey(a, sa_asker(a), g->pkey)))
		return;
	if (sa_asks(a, SA_PATH_SERVICE_ID_LSB))
		r.service_id = w->service_id;
	if (sa_ways_choose(&p->ways, &r))
		sa_offer(a, &r);
}

static uint16_t
tell_multicast(struct paths *p)
{
	const struct sa_group *g = sa_groups_find(p->a->groups, &p->ways.want->dgid);
	uint16_t status = sa_ways_source(&p->ways, &p->src);

	if (!status && g)
		tell_group(p, g);
	return status;
}

/* ---- Pairs ---- */

/* False: it is enough, or for now. */
static bool
tell_pair(struct paths *p, struct place *at)
{
	struct sa_ask *a = p->a;
	const struct plan_lids *l = a->plan->lids;
	uint16_t from, to;
	unsigned nsrc = sa_way_lids(a, l->dest[at->src].port, p->src.lid, &from);
	unsigned ndst = sa_way_lids(a, l->dest[at->dst].port, p->dst.lid, &to);
	unsigned most = sa_asks(a, SA_PATH_NUMB_PATH) ? p->ways.want->numb_path : NO_LIMIT;
	struct sa_path r;

	/* A Get is for one path. */
	if (a->h.h.method == MAD_GET)
		most = 1;
	for (; at->pair < nsrc * ndst && at->told < most; at->pair++) {
		struct sa_way_pair pair = sa_way_pair(at->pair, nsrc, ndst);

		if (sa_pause(a))
			return false;
		if (!sa_way(&p->ways, (uint16_t)(from + pair.src), (uint16_t)(to + pair.dst), NULL,
			    &r))
			continue;
		r.preference = pair.preference;
		if (!sa_offer(a, &r))
			return false;
		if (most < NO_LIMIT)
			at->told++;
	}
	at->pair = 0;
	at->told = 0;
	return true;
}

/* The next base LID of an end from `lid` on; 0 behind the last. */
static uint16_t
next_lid(const struct sa_ask *a, const struct sa_way_end *e, uint32_t lid)
{
	const struct plan_lids *l = a->plan->lids;

	if (e->port != FABRIC_NONE)
		return lid <= sa_base_lid(a, e->port) ? sa_base_lid(a, e->port) : 0;
	while (lid <= l->top && (l->dest[lid].port == FABRIC_NONE || l->dest[lid].offset))
		lid++;
	return lid <= l->top ? (uint16_t)lid : 0;
}

static struct place
place_of(uint64_t at)
{
	return (struct place){
		.src = (uint16_t)(at >> 48), .dst = (uint16_t)(at >> 32),
		.pair = (uint16_t)(at >> 8), .told = (uint8_t)at,
	};
}

static uint64_t
at_of(const struct place *p)
{
	return (uint64_t)p->src << 48 | (uint64_t)p->dst << 32 | (uint64_t)p->pair << 8 | p->told;
}

/* Pairs of ports that there are to look at, where neither end is named. */
static uint64_t
count_pairs(const struct sa_ask *a)
{
	const struct plan_lids *l = a->plan->lids;
	uint64_t ports = 0;

	for (uint32_t lid = 1; lid <= l->top; lid++)
		ports += l->dest[lid].port != FABRIC_NONE && !l->dest[lid].offset;
	return ports * ports;
}

static void
tell_pairs(struct paths *p)
{
	struct sa_ask *a = p->a;
	struct place at = place_of(a->at);

	if (!at.src) {
		if (p->src.port == FABRIC_NONE && p->dst.port == FABRIC_NONE &&
		    count_pairs(a) > SA_PATHS_MAX) {
			a->status = SA_STATUS_NO_RESOURCES;
			return;
		}
		at.src = next_lid(a, &p->src, 1);
		at.dst = next_lid(a, &p->dst, 1);
	}
	for (; at.src; at.src = next_lid(a, &p->src, at.src + 1u)) {
		for (; at.dst; at.dst = next_lid(a, &p->dst, at.dst + 1u))
			if (!tell_pair(p, &at)) {
				a->at = at_of(&at);
				return;
			}
		at.dst = next_lid(a, &p->dst, 1);
	}
}

static void
tell_paths(struct sa_ask *a)
{
	struct paths p = { .a = a };
	const struct sa_path *want = a->want;
	uint16_t status = sa_ways_init(&p.ways, a, want, a->h.mask);

	if (!status && sa_asks(a, SA_PATH_DGID) && want->dgid.prefix >> 56 == GID_MULTICAST) {
		status = tell_multicast(&p);
	} else if (!status) {
		status = find_ends(&p);
		if (!status)
			tell_pairs(&p);
	}
	/* That nothing is found is no error of a table. */
	if (status && status != SA_STATUS_NO_RECORDS)
		a->status = status;
}

const struct sa_kind_ops sa_path_ops = {
	.type = &sa_path_type, .own = UINT64_MAX, .table = true, .tell = tell_paths,
};
