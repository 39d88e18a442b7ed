/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/way.h"

#include "sm/wire/sa_rate.h"

/*
 * Ways (IBA 15.2.5.16): each is walked through the tables of the published plan by plan_path(), as
 * `weft path` has it. MTU and rate are those of the least link on it, and of a port 0 that it ends
 * at. It is reversible if there is one back of the same service level.
 *
 * Most ways need no walk. Where the proof of the plan says that all hosts reach each other, there
 * is one, and one back, since the service level of a pair is the same both ways (plan.h). Where all
 * links between switches are of the same MTU and rate besides, it carries what they and the cables
 * of the two hosts do. That is found out once for each plan, at the first question.
 *
 * Both ends must be of the partition that is asked for, or else of any one, and not both limited
 * members of it; and whoever asks must share one with either, unless it showed our SM_Key.
 *
 * With levels of service the path is of one of these (levels.h), by partition, ports, and what is
 * asked of service ID and QoS class: that tells its service level, and what it may carry at most.
 */

/* What a way can carry. */
struct carries {
	uint32_t mbps;		/* of `rate`; 0: none yet */
	uint8_t mtu, rate;	/* codes of the least link */
};

/* ---- What is asked ---- */

/* A value that is to be compared must be one. */
static bool
valid(const struct sa_ways *w, unsigned selector_bit, enum sa_quantity q, unsigned selector,
      unsigned value)
{
	return !sa_ways_ask(w, selector_bit) || !sa_ways_ask(w, selector_bit + 1) ||
	       selector == SA_BEST || sa_is_value(q, value);
}

static bool
all_valid(const struct sa_ways *w)
{
	const struct sa_path *p = w->want;

	return valid(w, SA_PATH_MTU_SELECTOR, SA_OF_MTU, p->mtu_selector, p->mtu) &&
	       valid(w, SA_PATH_RATE_SELECTOR, SA_OF_RATE, p->rate_selector, p->rate) &&
	       valid(w, SA_PATH_LIFE_SELECTOR, SA_OF_LIFE, p->life_selector, p->life);
}

static bool
is_proved(const struct plan *p)
{
	const struct plan_check *c = &p->check;

	return c->pairs && !c->unreachable && !c->cut_off && !c->loops && !c->misdelivered;
}

/* ---- Links that are all alike ---- */

static void
look_at_links(struct sa_links *l, const struct plan *p)
{
	const struct fabric *f = p->fabric;

	l->even = !p->lanes || !p->lanes->lane;
	l->port = FABRIC_NONE;
	for (uint32_t i = 0; i < f->nports && l->even; i++) {
		const struct fabric_port *a = &f->ports[i], *b;

		if (a->peer == FABRIC_NONE || f->nodes[a->node].sw == FABRIC_NONE ||
		    f->nodes[f->ports[a->peer].node].sw == FABRIC_NONE)
			continue;
		b = l->port == FABRIC_NONE ? a : &f->ports[l->port];
		l->even = a->neighbor_mtu == b->neighbor_mtu && a->width == b->width &&
			a->speed == b->speed;
		l->port = i;
	}
}

static bool
are_even(struct sa_links *l, const struct plan *p)
{
	if (l->plan != p) {
		plan_unref(l->plan);
		l->plan = plan_ref(p);
		look_at_links(l, p);
	}
	return l->even;
}

uint16_t
sa_ways_init(struct sa_ways *w, const struct sa_ask *a, const struct sa_path *want, uint64_t mask)
{
	const struct config_subnet *conf = a->env->conf(a->env->arg);

	*w = (struct sa_ways){
		.a = a, .want = want, .mask = mask, .prefix = conf->prefix,
		.life = (uint8_t)conf->subnet_timeout, .rate_max = sa_rate_max(a),
		.both_ways = is_proved(a->plan),
	};
	w->no_walk = w->both_ways && are_even(a->links, a->plan);
	if (!all_valid(w))
		return SA_STATUS_INVALID;
	/* A ServiceID has two components, and half of one is none. */
	if (sa_ways_ask(w, SA_PATH_SERVICE_ID_MSB) != sa_ways_ask(w, SA_PATH_SERVICE_ID_LSB))
		return SA_STATUS_INSUFFICIENT;
	return 0;
}

/* The answer's value: `*value`, or what the request's selector makes of it. */
static bool
choose(const struct sa_ways *w, enum sa_quantity q, unsigned selector_bit, unsigned selector,
       unsigned wanted, uint8_t *value)
{
	bool found = true;

	if (sa_ways_ask(w, selector_bit) && sa_ways_ask(w, selector_bit + 1))
		*value = sa_choose(q, selector, wanted, *value, &found);
	return found;
}

bool
sa_ways_choose(const struct sa_ways *w, struct sa_path *r)
{
	const struct sa_path *p = w->want;

	r->mtu_selector = r->rate_selector = r->life_selector = SA_EXACTLY;
	r->rate = sa_rate_told(r->rate, w->rate_max);
	if (!choose(w, SA_OF_MTU, SA_PATH_MTU_SELECTOR, p->mtu_selector, p->mtu, &r->mtu) ||
	    !choose(w, SA_OF_RATE, SA_PATH_RATE_SELECTOR, p->rate_selector, p->rate, &r->rate) ||
	    !choose(w, SA_OF_LIFE, SA_PATH_LIFE_SELECTOR, p->life_selector, p->life, &r->life))
		return false;
	/* "Less than" may have chosen one that the client does not know. */
	r->rate = sa_rate_told(r->rate, w->rate_max);
	return true;
}

uint32_t
sa_ways_port(const struct sa_ways *w, const struct sa_gid *gid)
{
	uint32_t port;

	if (gid->prefix != w->prefix && gid->prefix != SA_LINK_LOCAL)
		return FABRIC_NONE;
	port = sa_port_by_guid(w->a, gid->guid);
	return port != FABRIC_NONE && sa_base_lid(w->a, port) ? port : FABRIC_NONE;
}

static uint16_t
find_end(const struct sa_ways *w, const struct sa_gid *gid, const uint16_t *lid,
	 struct sa_way_end *e)
{
	const struct plan_lids *l = w->a->plan->lids;

	*e = (struct sa_way_end){ .port = FABRIC_NONE };
	if (gid) {
		e->port = sa_ways_port(w, gid);
		if (e->port == FABRIC_NONE)
			return SA_STATUS_INVALID_GID;
	}
	if (!lid)
		return 0;
	if (!*lid || *lid > l->top || l->dest[*lid].port == FABRIC_NONE)
		return SA_STATUS_NO_RECORDS;
	if (gid && e->port != l->dest[*lid].port)
		return SA_STATUS_INVALID;
	e->port = l->dest[*lid].port;
	e->lid = *lid;
	return 0;
}

uint16_t
sa_ways_source(const struct sa_ways *w, struct sa_way_end *e)
{
	return find_end(w, sa_ways_ask(w, SA_PATH_SGID) ? &w->want->sgid : NULL,
			sa_ways_ask(w, SA_PATH_SLID) ? &w->want->slid : NULL, e);
}

uint16_t
sa_ways_destination(const struct sa_ways *w, struct sa_way_end *e)
{
	return find_end(w, sa_ways_ask(w, SA_PATH_DGID) ? &w->want->dgid : NULL,
			sa_ways_ask(w, SA_PATH_DLID) ? &w->want->dlid : NULL, e);
}

/* ---- What a way carries ---- */

static void
limit(struct carries *c, const struct fabric_port *p, uint8_t mtu)
{
	uint8_t rate = sa_port_rate(p);

	if (mtu && (!c->mtu || mtu < c->mtu))
		c->mtu = mtu;
	if (rate && rate != c->rate && (!c->mbps || sa_rate_mbps(rate) < c->mbps)) {
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

/* By links that are all alike, between hosts: the cables of both, and one link for all between. */
static struct carries
carried_evenly(const struct sa_ask *a, const struct plan_dest *src, const struct plan_dest *dst)
{
	const struct fabric_port *ports = a->f->ports;
	struct carries c = { 0 };
	uint32_t last = ports[dst->port].peer;

	limit(&c, &ports[src->port], ports[src->port].neighbor_mtu);
	if (src->port == dst->port)
		return c;
	limit(&c, &ports[dst->port], ports[dst->port].neighbor_mtu);
	if (last != FABRIC_NONE)
		limit(&c, &ports[last], ports[last].neighbor_mtu);
	if (src->sw != dst->sw && a->links->port != FABRIC_NONE)
		limit(&c, &ports[a->links->port], ports[a->links->port].neighbor_mtu);
	return c;
}

/* ---- The record ---- */

/* What the client says of its packets is its own affair, and comes back as it was said. */
static void
echo(const struct sa_ways *w, struct sa_path *r)
{
	const struct sa_path *p = w->want;

	/* An alias stands for its port, and is what the client goes on with. */
	if (sa_ways_ask(w, SA_PATH_SGID))
		r->sgid.guid = p->sgid.guid;
	if (sa_ways_ask(w, SA_PATH_DGID))
		r->dgid.guid = p->dgid.guid;
	if (sa_ways_ask(w, SA_PATH_SERVICE_ID_MSB))
		r->service_id = p->service_id;
	if (sa_ways_ask(w, SA_PATH_FLOW_LABEL))
		r->flow_label = p->flow_label;
	if (sa_ways_ask(w, SA_PATH_TCLASS))
		r->tclass = p->tclass;
	if (sa_ways_ask(w, SA_PATH_HOP_LIMIT))
		r->hop_limit = p->hop_limit;
	if (sa_ways_ask(w, SA_PATH_QOS_CLASS))
		r->qos_class = p->qos_class;
}

/* Raw packets are of no partition. */
static bool
choose_partition(const struct sa_ways *w, uint32_t src, uint32_t dst, struct sa_path *r)
{
	uint16_t wanted = sa_ways_ask(w, SA_PATH_PKEY) ? w->want->pkey : 0;
	uint32_t asker = sa_asker(w->a);

	if (sa_ways_ask(w, SA_PATH_PKEY) && !(wanted & SA_PKEY_NUMBER))
		return false;
	r->pkey = sa_common_pkey(w->a, src, dst, wanted);
	if (!r->pkey)
		return false;
	/* Whoever is at one end has something in common with the other. */
	if (asker != src && asker != dst &&
	    (!sa_may_know(w->a, src) || !sa_may_know(w->a, dst)))
		return false;
	if (sa_ways_ask(w, SA_PATH_RAW) && w->want->raw) {
		r->raw = true;
		r->pkey = 0;
	}
	return true;
}

/* The level of service that the path is of, by what is asked. */
static unsigned
level_of(const struct sa_ways *w, uint32_t src, uint32_t dst, const struct sa_path *r)
{
	struct level_query q = {
		.pkey = r->pkey, .service_id = w->want->service_id, .class = w->want->qos_class,
		.has_service = sa_ways_ask(w, SA_PATH_SERVICE_ID_MSB),
		.has_class = sa_ways_ask(w, SA_PATH_QOS_CLASS), .src = src, .dst = dst,
	};

	return w->a->plan->levels ? plan_level(w->a->plan, &q).level : 0;
}

/* No more than the level's. */
static void
limit_to_level(const struct sa_ways *w, unsigned level, struct sa_path *r)
{
	const struct level_limits *l = &w->a->plan->levels->level[level];

	if (l->mtu && l->mtu < r->mtu)
		r->mtu = l->mtu;
	if (l->rate && sa_rate_mbps(l->rate) < sa_rate_mbps(r->rate))
		r->rate = l->rate;
	if (l->life)
		r->life = l->life;
}

/* Service level, reversibility, MTU and rate of the way; false if there is none. */
static bool
walk(const struct sa_ways *w, bool hosts, unsigned level, struct plan_path *way, struct sa_path *r)
{
	const struct plan *plan = w->a->plan;
	struct plan_path back;
	struct carries c;

	if (plan_path_on(plan, r->slid, r->dlid, level, way, NULL))
		return false;
	c = carried(w->a, way);
	r->sl = way->sl;
	r->mtu = c.mtu;
	r->rate = c.rate;
	r->reversible = (w->both_ways && hosts) ||
		(!plan_path_on(plan, r->dlid, r->slid, level, &back, NULL) && back.sl == way->sl);
	return true;
}

static bool
find_way(const struct sa_ways *w, unsigned level, struct plan_path *way, struct sa_path *r)
{
	const struct sa_ask *a = w->a;
	const struct plan_dest *src = &a->plan->lids->dest[r->slid];
	const struct plan_dest *dst = &a->plan->lids->dest[r->dlid];
	bool hosts = sa_node_of(a, src->port)->sw == FABRIC_NONE &&
		sa_node_of(a, dst->port)->sw == FABRIC_NONE;
	struct plan_path unused;
	struct carries c;

	if (way || !w->no_walk || !hosts)
		return walk(w, hosts, level, way ? way : &unused, r);
	c = carried_evenly(a, src, dst);
	r->sl = src->port == dst->port ? 0 : plan_level_sl(a->plan, src, dst, level);
	r->mtu = c.mtu;
	r->rate = c.rate;
	r->reversible = true;
	return true;
}

static struct sa_gid
gid_of(const struct sa_ways *w, uint32_t port)
{
	return (struct sa_gid){ w->prefix, w->a->f->ports[port].guid };
}

bool
sa_way(const struct sa_ways *w, uint16_t slid, uint16_t dlid, struct plan_path *way,
       struct sa_path *r)
{
	const struct plan *plan = w->a->plan;
	uint32_t src = plan->lids->dest[slid].port, dst = plan->lids->dest[dlid].port;
	unsigned level;

	*r = (struct sa_path){ .sgid = gid_of(w, src), .dgid = gid_of(w, dst),
			       .slid = slid, .dlid = dlid };
	if (!choose_partition(w, src, dst, r))
		return false;
	level = level_of(w, src, dst, r);
	if (!find_way(w, level, way, r))
		return false;
	/* Whoever wants a service level wants it of all its peers, itself among them. */
	if (src == dst && plan->levels)
		r->sl = plan_level_sl(plan, &plan->lids->dest[slid], &plan->lids->dest[dlid],
				      level);
	if (sa_ways_ask(w, SA_PATH_SL) && w->want->sl != r->sl)
		return false;
	if (sa_ways_ask(w, SA_PATH_REVERSIBLE) && w->want->reversible && !r->reversible)
		return false;
	if (!r->rate)
		r->rate = SA_RATE_MIN;
	r->life = w->life;
	if (plan->levels)
		limit_to_level(w, level, r);
	if (src == dst)
		r->life = 0;
	echo(w, r);
	return sa_ways_choose(w, r);
}

/* ---- LIDs of two ports ---- */

unsigned
sa_way_lids(const struct sa_ask *a, uint32_t port, uint16_t named, uint16_t *first)
{
	*first = named ? named : sa_base_lid(a, port);
	return named ? 1u : 1u << a->plan->lids->lmc[port];
}

struct sa_way_pair
sa_way_pair(unsigned i, unsigned nsrc, unsigned ndst)
{
	unsigned least = nsrc < ndst ? nsrc : ndst, rest = i - least, src, dst;

	if (i < least)
		return (struct sa_way_pair){ (uint16_t)i, (uint16_t)i, 0 };
	/* Row by row: the first `least` rows without the pair that was told before. */
	if (rest < least * (ndst - 1)) {
		src = rest / (ndst - 1);
		dst = rest % (ndst - 1);
		dst += dst >= src;
	} else {
		rest -= least * (ndst - 1);
		src = least + rest / ndst;
		dst = rest % ndst;
	}
	return (struct sa_way_pair){ (uint16_t)src, (uint16_t)dst, SA_WAY_SHARED };
}
