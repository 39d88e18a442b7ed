/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/way.h"

#include <string.h>
#include "sm/base/mem.h"

/*
 * MultiPathRecord (IBA 15.2.5.20; o15-0.2.7): paths from any of several ports to any of several,
 * by GetMulti, which is a message of several MADs both ways. The answer is PathRecords.
 *
 * What is asked for is that of a PathRecord, and is judged as such (way.c); but NumbPath is the
 * number of paths in all, 127 if it is not given. Paths come in the order of the sources, of the
 * destinations for each, and of the LIDs of the two.
 *
 * Who asks for paths that are independent of each other gets them picked from the first CANDIDATES
 * that fit: each next one is one of those that share least with what was picked before: an end
 * port, a LID, a port of a switch that both leave by. So does who asks for two paths from two ports
 * to two, which is how two adapters are joined for Automatic Path Migration: neither port is in
 * both paths.
 */
#define NUMB_PATH_MAX 127u
#define CANDIDATES 256u
#define TRIES_MAX 4096u		/* ways that are looked at for these */
#define GIDS_MAX 510u		/* two counts of 8 bits */
#define APM 2u			/* paths, ports at either end */
#define SHARED_PORT 1024u	/* an end port weighs more than any way has hops, */
#define SHARED_LID 128u		/* and so does its LID */

/* One path that may be picked. */
struct candidate {
	struct sa_path r;	/* its record */
	uint32_t src, dst;	/* end ports */
	uint32_t shares;	/* with those that were picked */
	bool picked;		/* told */
	uint8_t len;		/* of `hops` */
	struct plan_hop hops[PLAN_MAX_HOPS + 2];	/* its way */
};

/* One question. */
struct multipath {
	struct sa_ask *a;		/* its answer */
	const struct sa_multipath *want;	/* it */
	struct sa_path path;		/* it, for each path */
	struct sa_ways ways;		/* likewise */
	uint32_t ports[GIDS_MAX];	/* sources, then destinations */
	uint64_t guids[GIDS_MAX];	/* theirs, as they are asked for: aliases, perhaps */
	unsigned nsrc, ndst;		/* how many of each */
	unsigned most;			/* paths that are wanted */
	bool independent;		/* of each other, if possible */
	struct candidate *candidates;	/* of those; owned */
	unsigned len;			/* of `candidates` */
	unsigned walked;		/* ways, for these */
};

/* ---- The request ---- */

/* Components that both kinds of record have: the bit there is that of SA_PATH_... */
static const uint8_t path_bits[][2] = {
	{ SA_MULTIPATH_RAW, SA_PATH_RAW },
	{ SA_MULTIPATH_FLOW_LABEL, SA_PATH_FLOW_LABEL },
	{ SA_MULTIPATH_HOP_LIMIT, SA_PATH_HOP_LIMIT },
	{ SA_MULTIPATH_TCLASS, SA_PATH_TCLASS },
	{ SA_MULTIPATH_REVERSIBLE, SA_PATH_REVERSIBLE },
	{ SA_MULTIPATH_PKEY, SA_PATH_PKEY },
	{ SA_MULTIPATH_QOS_CLASS, SA_PATH_QOS_CLASS },
	{ SA_MULTIPATH_SL, SA_PATH_SL },
	{ SA_MULTIPATH_MTU_SELECTOR, SA_PATH_MTU_SELECTOR },
	{ SA_MULTIPATH_MTU, SA_PATH_MTU },
	{ SA_MULTIPATH_RATE_SELECTOR, SA_PATH_RATE_SELECTOR },
	{ SA_MULTIPATH_RATE, SA_PATH_RATE },
	{ SA_MULTIPATH_LIFE_SELECTOR, SA_PATH_LIFE_SELECTOR },
	{ SA_MULTIPATH_LIFE, SA_PATH_LIFE },
	{ SA_MULTIPATH_SERVICE_ID_MSB, SA_PATH_SERVICE_ID_MSB },
	{ SA_MULTIPATH_SERVICE_ID_LSB, SA_PATH_SERVICE_ID_LSB },
};

static uint64_t
path_mask(const struct sa_ask *a)
{
	uint64_t mask = 0;

	for (unsigned i = 0; i < sizeof(path_bits) / sizeof(path_bits[0]); i++)
		if (sa_asks(a, path_bits[i][0]))
			mask |= SA_BIT(path_bits[i][1]);
	return mask;
}

static void
translate(struct multipath *m)
{
	const struct sa_multipath *w = m->want;

	m->path = (struct sa_path){
		.service_id = w->service_id, .raw = w->raw, .flow_label = w->flow_label,
		.hop_limit = w->hop_limit, .tclass = w->tclass, .reversible = w->reversible,
		.pkey = w->pkey, .qos_class = w->qos_class, .sl = w->sl,
		.mtu_selector = w->mtu_selector, .mtu = w->mtu,
		.rate_selector = w->rate_selector, .rate = w->rate,
		.life_selector = w->life_selector, .life = w->life,
	};
}

/* The ports by their GIDs; a status. */
static uint16_t
find_ports(struct multipath *m)
{
	const struct port_mad *in = m->a->in;
	struct sa_gid gid;

	for (unsigned i = 0; i < m->nsrc + m->ndst; i++) {
		if (!sa_multipath_gid(m->want, port_mad_bytes(in) + SA_HEADER_SIZE,
				      port_mad_len(in) - SA_HEADER_SIZE, i, &gid))
			return SA_STATUS_INVALID;
		m->ports[i] = sa_ways_port(&m->ways, &gid);
		m->guids[i] = gid.guid;
		if (m->ports[i] == FABRIC_NONE)
			return SA_STATUS_INVALID_GID;
	}
	return 0;
}

/* A status: 0 if the question can be answered. */
static uint16_t
read_request(struct multipath *m)
{
	const struct sa_multipath *w = m->want;
	struct sa_ask *a = m->a;
	uint16_t status;

	if (!(a->h.rmpp_flags & SA_RMPP_ACTIVE))
		return SA_STATUS_INVALID;
	if (!sa_asks(a, SA_MULTIPATH_SGID_COUNT) || !sa_asks(a, SA_MULTIPATH_DGID_COUNT))
		return SA_STATUS_INSUFFICIENT;
	if (!w->sgid_count || !w->dgid_count)
		return SA_STATUS_INVALID;
	translate(m);
	status = sa_ways_init(&m->ways, a, &m->path, path_mask(a));
	if (status)
		return status;
	m->nsrc = w->sgid_count;
	m->ndst = w->dgid_count;
	m->most = sa_asks(a, SA_MULTIPATH_NUMB_PATH) ? w->numb_path : NUMB_PATH_MAX;
	m->independent = (sa_asks(a, SA_MULTIPATH_INDEPENDENCE) && w->independence) ||
		(m->nsrc == APM && m->ndst == APM && m->most == APM);
	return find_ports(m);
}

/* ---- Paths that share little ---- */

static uint32_t
shared(const struct candidate *a, const struct candidate *b)
{
	uint32_t n = 0;

	n += a->src == b->src ? SHARED_PORT : 0;
	n += a->dst == b->dst ? SHARED_PORT : 0;
	n += a->r.slid == b->r.slid ? SHARED_LID : 0;
	n += a->r.dlid == b->r.dlid ? SHARED_LID : 0;
	for (unsigned i = 0; i < a->len; i++)
		for (unsigned k = 0; k < b->len; k++)
			n += a->hops[i].out && a->hops[i].node == b->hops[k].node &&
				a->hops[i].out == b->hops[k].out;
	return n;
}

static void
tell_independent(struct multipath *m)
{
	for (unsigned n = 0; n < m->most && n < m->len; n++) {
		struct candidate *best = NULL;

		for (unsigned i = 0; i < m->len; i++) {
			struct candidate *c = &m->candidates[i];

			if (!c->picked && (!best || c->shares < best->shares))
				best = c;
		}
		best->picked = true;
		if (!sa_offer(m->a, &best->r))
			return;
		for (unsigned i = 0; i < m->len; i++)
			if (!m->candidates[i].picked)
				m->candidates[i].shares += shared(&m->candidates[i], best);
	}
}

/* ---- All paths in turn ---- */

/* False: there are enough. */
static bool
take(struct multipath *m, const struct sa_path *r, const struct plan_path *way)
{
	struct candidate *c;

	if (!m->independent)
		return sa_offer(m->a, r) && m->a->hits < m->most;
	c = &m->candidates[m->len++];
	c->r = *r;
	c->src = m->a->plan->lids->dest[r->slid].port;
	c->dst = m->a->plan->lids->dest[r->dlid].port;
	c->len = (uint8_t)way->len;
	memcpy(c->hops, way->hops, way->len * sizeof(way->hops[0]));
	return m->len < CANDIDATES;
}

/* Where it is kept: which pair of ports, and which pair of their LIDs, from 1 on. Independent paths
 * are found at one go: there are not many of them. */
static void
tell_all(struct multipath *m)
{
	struct sa_ask *a = m->a;
	uint64_t at = a->at ? a->at - 1 : 0;
	unsigned ports = (unsigned)(at >> 16), lids = at & 0xffff;
	struct plan_path way;
	struct sa_path r;

	for (; ports < m->nsrc * m->ndst; ports++, lids = 0) {
		unsigned src = ports / m->ndst, dst = m->nsrc + ports % m->ndst;
		uint16_t from, to;
		unsigned nfrom = sa_way_lids(a, m->ports[src], 0, &from);
		unsigned nto = sa_way_lids(a, m->ports[dst], 0, &to);

		for (; lids < nfrom * nto; lids++) {
			struct sa_way_pair pair = sa_way_pair(lids, nfrom, nto);

			if (!m->independent && sa_pause(a)) {
				a->at = ((uint64_t)ports << 16 | lids) + 1;
				return;
			}
			if (m->independent && m->walked++ >= TRIES_MAX)
				return;
			if (!sa_way(&m->ways, (uint16_t)(from + pair.src),
				    (uint16_t)(to + pair.dst), m->independent ? &way : NULL, &r))
				continue;
			r.sgid.guid = m->guids[src];
			r.dgid.guid = m->guids[dst];
			r.preference = pair.preference;
			if (!take(m, &r, &way))
				return;
		}
	}
}

static void
tell_multipath(struct sa_ask *a)
{
	struct multipath m = { .a = a, .want = a->want };

	a->status = read_request(&m);
	if (a->status || a->hits >= m.most)
		return;
	if (m.independent)
		m.candidates = mem_array(CANDIDATES, sizeof(*m.candidates));
	tell_all(&m);
	if (m.independent)
		tell_independent(&m);
	mem_free(m.candidates);
}

const struct sa_kind_ops sa_multipath_ops = {
	.type = &sa_multipath_type, .told = &sa_path_type, .own = UINT64_MAX,
	.method = MAD_GET_MULTI, .tell = tell_multipath,
};
