/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/ask.h"

#include "sm/wire/sa_rate.h"

/*
 * PathRecord (IBA 15.2.5.16): ways from source ports to destination ports, each of them walked
 * through the tables of the published plan (plan_path(), as `weft path` has it), there and back.
 *
 * Both ends may be named by GID, by LID, by both, or not at all, which stands for every end port.
 * With an LMC the i-th path of a pair joins the i-th LIDs of the two; a LID that is named is the
 * only one. A Get is answered with the first path that fits. MTU and rate are those of the least
 * link on the way, and of a port 0 that it ends at.
 * There is one partition so far, the default one, of which every port is a full member, and one
 * service level for each pair, the plan's.
 *
 * A question for more than SA_PATHS_MAX pairs is refused before the first way is walked.
 */
#define PKEY_DEFAULT 0xffffu
#define PKEY_NUMBER 0x7fffu		/* without the membership bit */
#define GID_MULTICAST 0xffu		/* first byte */
#define LINK_LOCAL 0xfe80000000000000u	/* prefix of every subnet, whatever else it has */

struct end {
	uint32_t port;		/* port index; FABRIC_NONE: each that has a LID */
	uint16_t lid;		/* named; 0: all of the port */
};

/* One question. */
struct paths {
	struct sa_ask *a;		/* its answer */
	const struct sa_path *want;	/* what is asked for */
	struct end src, dst;		/* from where, to where */
};

/* What a way can carry. */
struct carries {
	uint32_t mbps;		/* of `rate`; 0: none yet */
	uint8_t mtu, rate;	/* codes of the least link */
};

/* ---- Ends ---- */

static int
end_by_gid(const struct sa_ask *a, const struct sa_gid *gid, struct end *e)
{
	uint64_t prefix = a->env->conf(a->env->arg)->prefix;

	if (gid->prefix != prefix && gid->prefix != LINK_LOCAL)
		return SA_STATUS_INVALID_GID;
	e->port = sa_port_by_guid(a, gid->guid);
	if (e->port == FABRIC_NONE || !sa_base_lid(a, e->port))
		return SA_STATUS_INVALID_GID;
	return 0;
}

/* 0, or the status that says what is wrong with the end. */
static int
find_end(const struct sa_ask *a, const struct sa_gid *gid, uint16_t lid, struct end *e)
{
	const struct plan_lids *l = a->plan->lids;
	int rc;

	*e = (struct end){ .port = FABRIC_NONE };
	if (gid) {
		rc = end_by_gid(a, gid, e);
		if (rc)
			return rc;
	}
	if (!lid)
		return 0;
	if (lid > l->top || l->dest[lid].port == FABRIC_NONE)
		return SA_STATUS_NO_RECORDS;
	if (gid && e->port != l->dest[lid].port)
		return SA_STATUS_NO_RECORDS;
	e->port = l->dest[lid].port;
	e->lid = lid;
	return 0;
}

static int
find_ends(struct paths *p)
{
	const struct sa_path *w = p->want;
	const struct sa_ask *a = p->a;
	int rc;

	if ((sa_asks(a, SA_PATH_SLID) && !w->slid) || (sa_asks(a, SA_PATH_DLID) && !w->dlid))
		return SA_STATUS_NO_RECORDS;
	rc = find_end(a, sa_asks(a, SA_PATH_SGID) ? &w->sgid : NULL,
		      sa_asks(a, SA_PATH_SLID) ? w->slid : 0, &p->src);
	if (rc)
		return rc;
	/* No multicast group exists yet. */
	if (sa_asks(a, SA_PATH_DGID) && w->dgid.prefix >> 56 == GID_MULTICAST)
		return SA_STATUS_NO_RECORDS;
	return find_end(a, sa_asks(a, SA_PATH_DGID) ? &w->dgid : NULL,
			sa_asks(a, SA_PATH_DLID) ? w->dlid : 0, &p->dst);
}

/* ---- What a way carries ---- */

static void
limit(struct carries *c, const struct fabric_port *p, uint8_t mtu)
{
	uint8_t rate = sa_rate_of((enum link_width)p->width, (enum link_speed)p->speed);

	if (mtu && (!c->mtu || mtu < c->mtu))
		c->mtu = mtu;
	if (rate && (!c->mbps || sa_rate_mbps(rate) < c->mbps)) {
		c->rate = rate;
		c->mbps = sa_rate_mbps(rate);
	}
}

static void
limit_by_end(struct carries *c, const struct sa_ask *a, uint32_t port)
{
	const struct fabric_port *p = &a->f->ports[port];

	if (sa_node_of(a, port)->sw == FABRIC_NONE)
		limit(c, p, p->neighbor_mtu);
	else
		limit(c, p, p->mtu_cap);
}

static struct carries
carried(const struct sa_ask *a, const struct plan_path *way)
{
	const struct plan_lids *l = a->plan->lids;
	struct carries c = { 0 };

	limit_by_end(&c, a, l->dest[way->src_lid].port);
	limit_by_end(&c, a, l->dest[way->dst_lid].port);
	for (unsigned i = 0; i < way->len; i++) {
		const struct plan_hop *h = &way->hops[i];
		const struct fabric_port *p = fabric_port_at(a->f, h->node, h->out);

		if (h->out)
			limit(&c, p, p->neighbor_mtu);
	}
	return c;
}

/* The answer's value: `have`, or what the request's selector makes of it. */
static bool
select_value(const struct paths *p, enum sa_quantity q, unsigned selector_bit, unsigned selector,
	     unsigned wanted, uint8_t *value)
{
	bool found = true;

	if (sa_asks(p->a, selector_bit) && sa_asks(p->a, selector_bit + 1))
		*value = sa_choose(q, selector, wanted, *value, &found);
	return found;
}

static bool
select_values(const struct paths *p, struct sa_path *r)
{
	const struct sa_path *w = p->want;

	r->mtu_selector = r->rate_selector = r->life_selector = SA_EXACTLY;
	return select_value(p, SA_OF_MTU, SA_PATH_MTU_SELECTOR, w->mtu_selector, w->mtu,
			    &r->mtu) &&
	       select_value(p, SA_OF_RATE, SA_PATH_RATE_SELECTOR, w->rate_selector, w->rate,
			    &r->rate) &&
	       select_value(p, SA_OF_LIFE, SA_PATH_LIFE_SELECTOR, w->life_selector, w->life,
			    &r->life);
}

/* ---- Paths ---- */

/* What the client says of its packets is its own affair, and comes back as it was said. */
static void
echo(const struct paths *p, struct sa_path *r)
{
	const struct sa_ask *a = p->a;

	/* An alias stands for its port, and is what the client goes on with. */
	if (sa_asks(a, SA_PATH_SGID))
		r->sgid.guid = p->want->sgid.guid;
	if (sa_asks(a, SA_PATH_DGID))
		r->dgid.guid = p->want->dgid.guid;
	if (sa_asks(a, SA_PATH_SERVICE_ID_MSB) && sa_asks(a, SA_PATH_SERVICE_ID_LSB))
		r->service_id = p->want->service_id;
	if (sa_asks(a, SA_PATH_FLOW_LABEL))
		r->flow_label = p->want->flow_label;
	if (sa_asks(a, SA_PATH_TCLASS))
		r->tclass = p->want->tclass;
	if (sa_asks(a, SA_PATH_HOP_LIMIT))
		r->hop_limit = p->want->hop_limit;
	if (sa_asks(a, SA_PATH_QOS_CLASS))
		r->qos_class = p->want->qos_class;
	if (sa_asks(a, SA_PATH_PKEY))
		r->pkey = p->want->pkey;
}

static struct sa_gid
gid_of(const struct sa_ask *a, uint16_t lid)
{
	return (struct sa_gid){
		.prefix = a->env->conf(a->env->arg)->prefix,
		.guid = a->f->ports[a->plan->lids->dest[lid].port].guid,
	};
}

static bool
tell_path(struct paths *p, uint16_t slid, uint16_t dlid)
{
	struct sa_ask *a = p->a;
	const struct plan *plan = a->plan;
	struct plan_path way, back;
	struct carries c;
	struct sa_path r = {
		.sgid = gid_of(a, slid), .dgid = gid_of(a, dlid), .slid = slid, .dlid = dlid,
		.pkey = PKEY_DEFAULT,
	};

	if (plan_path(plan, slid, dlid, &way, NULL))
		return true;
	r.reversible = !plan_path(plan, dlid, slid, &back, NULL) && back.sl == way.sl;
	c = carried(a, &way);
	r.sl = way.sl;
	r.mtu = c.mtu;
	r.rate = c.mbps ? c.rate : SA_RATE_MIN;
	if (plan->lids->dest[slid].port != plan->lids->dest[dlid].port)
		r.life = (uint8_t)a->env->conf(a->env->arg)->subnet_timeout;
	if (sa_asks(a, SA_PATH_REVERSIBLE) && p->want->reversible && !r.reversible)
		return true;
	echo(p, &r);
	if (!select_values(p, &r))
		return true;
	/* A Get asks for one path (NumbPath is 1 there), so it cannot fit too many. */
	return sa_offer(a, &r) && !(a->h.h.method == MAD_GET && a->hits);
}

/* How many LIDs of a port count, from which on. */
static uint16_t
lids_of(const struct sa_ask *a, const struct end *e, uint32_t port, uint16_t *first)
{
	*first = e->lid ? e->lid : sa_base_lid(a, port);
	return (uint16_t)(e->lid ? 1u : 1u << a->plan->lids->lmc[port]);
}

static bool
tell_pair(struct paths *p, uint32_t src, uint32_t dst)
{
	struct sa_ask *a = p->a;
	uint16_t from, to, nfrom = lids_of(a, &p->src, src, &from);
	uint16_t nto = lids_of(a, &p->dst, dst, &to);
	unsigned len = nfrom > nto ? nfrom : nto;

	/* Others than a Get may say how many of each pair they want. */
	if (a->h.h.method != MAD_GET && sa_asks(a, SA_PATH_NUMB_PATH) &&
	    p->want->numb_path < len)
		len = p->want->numb_path;
	for (unsigned i = 0; i < len; i++)
		if (!tell_path(p, (uint16_t)(from + i % nfrom), (uint16_t)(to + i % nto)))
			return false;
	return true;
}

/* The next port of an end from `from` on; FABRIC_NONE behind the last. */
static uint32_t
next_port(const struct sa_ask *a, const struct end *e, uint32_t from)
{
	const struct plan_lids *l = a->plan->lids;

	if (e->port != FABRIC_NONE)
		return from <= e->port ? e->port : FABRIC_NONE;
	while (from < l->nports && !l->base[from])
		from++;
	return from < l->nports ? from : FABRIC_NONE;
}

/* Pairs of ports that there are to look at. */
static uint64_t
count_pairs(const struct paths *p)
{
	const struct plan_lids *l = p->a->plan->lids;
	uint64_t ports = 0;

	if (p->src.port != FABRIC_NONE || p->dst.port != FABRIC_NONE)
		return 1;	/* or as many as there are ports */
	for (uint32_t lid = 1; lid <= l->top; lid++)
		ports += l->dest[lid].port != FABRIC_NONE && !l->dest[lid].offset;
	return ports * ports;
}

/* On from a pair of ports: the source is the upper half of a->at. */
static void
tell_pairs(struct paths *p)
{
	struct sa_ask *a = p->a;
	uint32_t s = next_port(a, &p->src, (uint32_t)(a->at >> 32));
	uint32_t d = next_port(a, &p->dst, (uint32_t)a->at);

	while (s != FABRIC_NONE) {
		if (d == FABRIC_NONE) {
			s = next_port(a, &p->src, s + 1);
			d = next_port(a, &p->dst, 0);
			continue;
		}
		if (sa_pause(a)) {
			a->at = (uint64_t)s << 32 | d;
			return;
		}
		if (!tell_pair(p, s, d))
			return;
		d = next_port(a, &p->dst, d + 1);
	}
}

/* A value that is to be compared must be one. */
static bool
valid(const struct sa_ask *a, unsigned selector_bit, enum sa_quantity q, unsigned selector,
      unsigned value)
{
	return !sa_asks(a, selector_bit) || !sa_asks(a, selector_bit + 1) || selector == SA_BEST ||
	       sa_is_value(q, value);
}

static bool
all_valid(const struct sa_ask *a, const struct sa_path *w)
{
	return valid(a, SA_PATH_MTU_SELECTOR, SA_OF_MTU, w->mtu_selector, w->mtu) &&
	       valid(a, SA_PATH_RATE_SELECTOR, SA_OF_RATE, w->rate_selector, w->rate) &&
	       valid(a, SA_PATH_LIFE_SELECTOR, SA_OF_LIFE, w->life_selector, w->life);
}

/* Whether paths of that kind exist at all. */
static bool
possible(const struct sa_ask *a, const struct sa_path *w)
{
	if (sa_asks(a, SA_PATH_RAW) && w->raw)
		return false;
	return !sa_asks(a, SA_PATH_PKEY) || (w->pkey & PKEY_NUMBER) == PKEY_NUMBER;
}

static void
tell_paths(struct sa_ask *a)
{
	struct paths p = { .a = a, .want = a->want };
	int status = all_valid(a, a->want) ? find_ends(&p) : SA_STATUS_INVALID;

	if (status == SA_STATUS_NO_RECORDS || (!status && !possible(a, a->want)))
		return;		/* nothing is found, which of a table is no error */
	if (!status && !a->at && a->h.h.method != MAD_GET && count_pairs(&p) > SA_PATHS_MAX)
		status = SA_STATUS_NO_RESOURCES;
	if (status)
		a->status = (uint16_t)status;
	else
		tell_pairs(&p);
}

/* Compared as they are: the service level alone. */
const struct sa_kind_ops sa_path_ops = {
	.type = &sa_path_type, .own = ~SA_BIT(SA_PATH_SL), .table = true, .tell = tell_paths,
};
