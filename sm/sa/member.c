/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/ask.h"

#include <string.h>
#include "sm/fabric/levels.h"
#include "sm/sa/group.h"
#include "sm/wire/sa_rate.h"

/*
 * MCMemberRecord (IBA 15.2.5.17): questions about groups and members, joins that may create a group
 * (Set), and leaves that may end one (Delete).
 *
 * Who may: a port for itself, or another one of the group's partition by proxy. What was joined by
 * proxy may be changed by anybody of that partition, what a port joined itself by that port only
 * (o15-0.2.1). Whoever does not show our SM_Key is told of groups, not of their members.
 *
 * What a group can carry is settled when it is made, by the port that it is made for and by what
 * the request allows; a port that cannot do as much cannot join. Its service level is the client's
 * choice, but where the plan has levels of service: then it is the one of the level that rules or
 * the group's partition name, and need not be said; where they name none it may be that of any
 * level. Packets on others would be dropped, or take what is not theirs.
 */
#define NEEDED (SA_BIT(SA_MEMBER_MGID) | SA_BIT(SA_MEMBER_PORT_GID) | \
		SA_BIT(SA_MEMBER_JOIN_STATE))
#define NEEDED_TO_CREATE (NEEDED | SA_BIT(SA_MEMBER_QKEY) | SA_BIT(SA_MEMBER_TCLASS) | \
			  SA_BIT(SA_MEMBER_PKEY) | SA_BIT(SA_MEMBER_FLOW_LABEL))
/* Components that are compared as they are. */
#define SHARED (SA_BIT(SA_MEMBER_MGID) | SA_BIT(SA_MEMBER_QKEY) | SA_BIT(SA_MEMBER_MLID) | \
		SA_BIT(SA_MEMBER_TCLASS) | SA_BIT(SA_MEMBER_SL) | \
		SA_BIT(SA_MEMBER_FLOW_LABEL) | SA_BIT(SA_MEMBER_HOP_LIMIT) | \
		SA_BIT(SA_MEMBER_SCOPE))
#define OF_MEMBERS (SA_BIT(SA_MEMBER_JOIN_STATE) | SA_BIT(SA_MEMBER_PROXY_JOIN))
#define LINK_LOCAL UINT64_C(0xfe80000000000000)
#define TRANSIENT 0x10		/* flag in the second byte of a MGID */
#define SIGNATURE_SA 0xa01bu	/* of MGIDs that we invent */
#define SIGNATURE_IPV4 0x401bu
#define SIGNATURE_IPV6 0x601bu
#define MGIDS_TRIED 65536u

/* ---- What MTU, rate and lifetime are asked for ---- */

struct limit {
	enum sa_quantity q;	/* of what */
	unsigned bit;		/* component of the value */
	unsigned selector_bit;	/* and of its selector */
	uint8_t selector;	/* in the request */
	uint8_t wanted;		/* in the request */
};

static void
limits_of(const struct sa_member *want, struct limit limit[3])
{
	limit[0] = (struct limit){ SA_OF_MTU, SA_MEMBER_MTU, SA_MEMBER_MTU_SELECTOR,
				   want->mtu_selector, want->mtu };
	limit[1] = (struct limit){ SA_OF_RATE, SA_MEMBER_RATE, SA_MEMBER_RATE_SELECTOR,
				   want->rate_selector, want->rate };
	limit[2] = (struct limit){ SA_OF_LIFE, SA_MEMBER_LIFE, SA_MEMBER_LIFE_SELECTOR,
				   want->life_selector, want->life };
}

/* Without a selector a value says nothing, nor does a selector without a value. */
static bool
is_asked(const struct sa_ask *a, const struct limit *l)
{
	return sa_asks(a, l->bit) && sa_asks(a, l->selector_bit) && l->selector != SA_BEST;
}

static bool
limits_fit(const struct sa_ask *a, const struct sa_member *want, const struct sa_member *have)
{
	const uint8_t values[3] = { have->mtu, sa_rate_told(have->rate, sa_rate_max(a)),
				    have->life };
	struct limit limit[3];

	limits_of(want, limit);
	for (unsigned i = 0; i < 3; i++)
		if (is_asked(a, &limit[i]) &&
		    !sa_fits(limit[i].q, limit[i].selector, limit[i].wanted, values[i]))
			return false;
	return true;
}

/* The values of a new group, by what is asked for and what its first port can do. */
static bool
choose_limits(const struct sa_ask *a, const struct sa_member *want, const uint8_t have[3],
	      uint8_t chosen[3])
{
	struct limit limit[3];

	limits_of(want, limit);
	for (unsigned i = 0; i < 3; i++) {
		bool found = true;

		chosen[i] = !is_asked(a, &limit[i]) ? have[i] :
			sa_choose(limit[i].q, limit[i].selector, limit[i].wanted, have[i], &found);
		if (!found || !chosen[i])
			return false;
	}
	return true;
}

/* Whoever asks is told a rate that it knows, though the group's may be a newer one. */
static struct sa_member
as_told(const struct sa_ask *a, const struct sa_member *group)
{
	struct sa_member r = *group;

	r.rate = sa_rate_told(r.rate, sa_rate_max(a));
	return r;
}

static bool
offer_group(struct sa_ask *a, const struct sa_group *g)
{
	struct sa_member r = as_told(a, &g->r);

	return sa_offer(a, &r);
}

/* ---- Questions ---- */

/* A port has the GID of the subnet's prefix and the link-local one (4.1.1): clients use either. */
static bool
is_prefix(const struct sa_ask *a, uint64_t prefix)
{
	return prefix == a->env->conf(a->env->arg)->prefix || prefix == LINK_LOCAL;
}

static bool
member_fits(const struct sa_ask *a, const struct sa_join *j)
{
	const struct sa_member *want = a->want;

	return (!sa_asks(a, SA_MEMBER_JOIN_STATE) || want->join_state == j->state) &&
		(!sa_asks(a, SA_MEMBER_PROXY_JOIN) || want->proxy_join == (j->by != 0));
}

static bool
offer_member(struct sa_ask *a, const struct sa_group *g, const struct sa_join *j)
{
	struct sa_member r = as_told(a, &g->r);

	if (!member_fits(a, j))
		return true;
	if (a->trusted) {
		r.rate = g->r.rate;	/* another manager copies it */
		r.port_gid = j->gid;
		r.join_state = j->state;
		r.proxy_join = j->by != 0;
	}
	return sa_offer(a, &r);
}

/* Whether the P_Key is a full or a limited member's says nothing of the group. */
static bool
is_partition(const struct sa_ask *a, const struct sa_member *want, const struct sa_group *g)
{
	return !sa_asks(a, SA_MEMBER_PKEY) || !((want->pkey ^ g->r.pkey) & SA_PKEY_DEFAULT);
}

static bool
group_fits(const struct sa_ask *a, const struct sa_group *g)
{
	const struct sa_member *want = a->want;

	return sa_match(a->type, want, &g->r, a->h.mask & SHARED) &&
		limits_fit(a, want, &g->r) && is_partition(a, want, g);
}

/* From the last to the first, for one that leaves is replaced by the last: a->at counts those that
 * are left to tell of, below the group's own place. */
static bool
tell_joins(struct sa_ask *a, const struct sa_group *g)
{
	uint32_t left = (uint32_t)a->at;

	if (!left || left > g->len)
		left = g->len;
	for (; left; left--) {
		if (sa_pause(a)) {
			a->at = (uint64_t)g->slot << 32 | left;
			return false;
		}
		if (!a->trusted && member_fits(a, &g->joins[left - 1]))
			return offer_group(a, g);
		if (!offer_member(a, g, &g->joins[left - 1]))
			return false;
	}
	return true;
}

static bool
tell_group(struct sa_ask *a, const struct sa_group *g)
{
	const struct sa_member *want = a->want;
	const struct sa_join *j;

	if (!group_fits(a, g))
		return true;
	if (sa_asks(a, SA_MEMBER_PORT_GID)) {
		j = sa_group_join_of(g, want->port_gid.guid);
		return !j || !is_prefix(a, want->port_gid.prefix) || offer_member(a, g, j);
	}
	if (!a->trusted && !(a->h.mask & OF_MEMBERS))
		return offer_group(a, g);
	return tell_joins(a, g);
}

static void
tell_members(struct sa_ask *a)
{
	const struct sa_member *want = a->want;
	const struct sa_group *g;

	if (sa_asks(a, SA_MEMBER_MGID)) {
		g = sa_groups_find(a->groups, &want->mgid);
		if (g)
			tell_group(a, g);
		return;
	}
	for (uint32_t i = (uint32_t)(a->at >> 32); i < sa_groups_slots(a->groups); i++) {
		if (sa_pause(a)) {
			a->at = (uint64_t)i << 32;
			return;
		}
		g = sa_groups_slot(a->groups, i);
		if (g && !tell_group(a, g))
			return;
		a->at = 0;
	}
}

/* ---- Who asks, and for whom ---- */

/* The port that is to join or leave, FABRIC_NONE for one that is not there. */
static uint32_t
port_of(const struct sa_ask *a, const struct sa_member *want)
{
	uint32_t port = sa_port_by_guid(a, want->port_gid.guid);

	if (port == FABRIC_NONE || !sa_base_lid(a, port) ||
	    !is_prefix(a, want->port_gid.prefix))
		return FABRIC_NONE;
	return port;
}

/* Whoever joins or changes another port does so by its partition; a member that joined by itself is
 * changed by itself only. */
static bool
may_change(const struct sa_ask *a, const struct sa_group *g, const struct sa_member *want)
{
	const struct sa_join *j = sa_group_join_of(g, want->port_gid.guid);
	uint32_t asker = sa_asker(a);

	if (asker == FABRIC_NONE)
		return false;
	return asker == sa_port_by_guid(a, want->port_gid.guid) ||
		((!j || j->by) && sa_has_pkey(a, asker, g->r.pkey));
}

static void
tell_outcome(struct sa_ask *a, const struct sa_member *shared, const struct sa_member *want,
	     uint8_t state, bool proxy)
{
	struct sa_member r = as_told(a, shared);

	r.port_gid = want->port_gid;
	r.join_state = state;
	r.proxy_join = proxy;
	sa_reply(a, &r);
}

/* ---- Creating ---- */

static bool
is_ipoib(const struct sa_gid *mgid)
{
	unsigned signature = mgid->prefix >> 32 & 0xffff;

	return signature == SIGNATURE_IPV4 || signature == SIGNATURE_IPV6;
}

/* A MGID that somebody chose: see 4.1.1 and o15-0.1.5. Those of IPoIB have a form of their own,
 * with the P_Key of their group in it (RFC 4391, 4). */
static bool
mgid_good(const struct sa_gid *mgid, uint16_t pkey)
{
	unsigned first = (unsigned)(mgid->prefix >> 56), second = mgid->prefix >> 48 & 255;
	unsigned signature = mgid->prefix >> 32 & 0xffff;

	if (first != 0xff)
		return false;
	if (is_ipoib(mgid))
		return !((mgid->prefix >> 16 ^ pkey) & SA_PKEY_DEFAULT);
	return !(second & 0xe0) &&
		(signature != SIGNATURE_SA || (second & 15) != SA_SCOPE_LINK_LOCAL);
}

static bool
invent_mgid(const struct sa_ask *a, const struct sa_member *want, struct sa_gid *mgid)
{
	uint64_t scope = sa_asks(a, SA_MEMBER_SCOPE) ? want->scope : SA_SCOPE_LINK_LOCAL;
	uint64_t prefix = a->env->conf(a->env->arg)->prefix;

	mgid->prefix = UINT64_C(0xff) << 56 | (TRANSIENT | scope) << 48 |
		(uint64_t)SIGNATURE_SA << 32 | prefix >> 32;
	for (uint64_t i = 0; i < MGIDS_TRIED; i++) {
		mgid->guid = prefix << 32 | i;
		if (!sa_groups_find(a->groups, mgid))
			return true;
	}
	return false;
}

/* Every switch must have room for the multicast LID. */
static unsigned
mlids(const struct fabric *f)
{
	unsigned least = SA_MLID_LAST - SA_MLID_FIRST + 1;

	for (uint32_t sw = 0; f && sw < f->nswitches; sw++) {
		unsigned cap = fabric_switch_node(f, sw)->mft_cap;

		if (cap && cap < least)
			least = cap;
	}
	return least;
}

struct sa_mlid_rules
sa_member_rules(const struct config_subnet *conf, const struct fabric *f)
{
	return (struct sa_mlid_rules){
		.mlids = mlids(f), .share = conf->multicast.share_mlids,
		.solicited = conf->multicast.share_solicited,
	};
}

/* It is that of packets of some level to a group: of path class 0. Where nothing is said of levels,
 * and routing has one path class, all are. */
static bool
is_of_a_level(const struct plan *p, uint8_t sl)
{
	const struct plan_sls *s = p->sls;

	return !s || (!p->levels && s->classes == 1) ||
	       (s->slot[sl] != SLS_FREE && s->slot[sl] % s->classes == 0);
}

/* The service level of a new group; a status. */
static uint16_t
choose_sl(const struct sa_ask *a, struct sa_member *r)
{
	const struct plan *plan = a->plan;
	struct level_found found = plan_group_level(plan, r->pkey, is_ipoib(&r->mgid));
	uint8_t sl = plan_group_sl(plan, found.level);

	if (!sa_asks(a, SA_MEMBER_SL)) {
		r->sl = sl;
		return plan->levels ? 0 : SA_STATUS_INSUFFICIENT;
	}
	if (found.why != LEVEL_FIRST)
		return r->sl == sl ? 0 : SA_STATUS_INVALID;
	return is_of_a_level(plan, r->sl) ? 0 : SA_STATUS_INVALID;
}

/* What a new group is to be; a status, 0 if it can be. */
static uint16_t
design(const struct sa_ask *a, const struct sa_member *want, uint32_t port, struct sa_member *r)
{
	const struct fabric_port *p = &a->f->ports[port];
	const uint8_t have[3] = {
		p->mtu_cap, sa_rate_told(sa_port_rate(p), sa_rate_max(a)),
		(uint8_t)a->env->conf(a->env->arg)->subnet_timeout,
	};
	uint8_t chosen[3];

	if (!(want->join_state & (SA_JOIN_FULL | SA_JOIN_SEND_ONLY_FULL)))
		return SA_STATUS_INVALID;
	if ((a->h.mask & NEEDED_TO_CREATE) != NEEDED_TO_CREATE)
		return SA_STATUS_INSUFFICIENT;
	*r = *want;
	if (want->mgid.prefix || want->mgid.guid) {
		if (!mgid_good(&want->mgid, want->pkey))
			return SA_STATUS_INVALID;
	} else if (!invent_mgid(a, want, &r->mgid)) {
		return SA_STATUS_NO_RESOURCES;
	}
	if (!sa_has_pkey(a, port, want->pkey) || !choose_limits(a, want, have, chosen))
		return SA_STATUS_INVALID;
	r->mtu = chosen[0];
	r->rate = sa_rate_told(chosen[1], sa_rate_max(a));
	r->life = chosen[2];
	if (!sa_asks(a, SA_MEMBER_HOP_LIMIT))
		r->hop_limit = 0;
	if (!sa_asks(a, SA_MEMBER_SCOPE))
		r->scope = r->mgid.prefix >> 48 & 15;
	return choose_sl(a, r);
}

/* Has the port that asks left as many members, or groups if it makes one, as it may? */
static bool
is_too_much(const struct sa_ask *a, uint32_t asker, bool makes)
{
	const struct sa_use *u = sa_groups_use(a->groups, a->f->ports[asker].guid);

	if (makes && sa_groups_len(a->groups) >= SA_GROUPS_MAX)
		return true;
	return u && (u->joined >= SA_JOINS_PER_PORT || (makes && u->made >= SA_GROUPS_PER_PORT));
}

static struct sa_group *
create(struct sa_ask *a, const struct sa_member *want, uint32_t port, uint32_t asker)
{
	const struct config_subnet *conf = a->env->conf(a->env->arg);
	const struct sa_mlid_rules rules = sa_member_rules(conf, a->f);
	struct sa_group *g = NULL;
	struct sa_member r;

	a->status = design(a, want, port, &r);
	if (!a->status && !sa_has_pkey(a, asker, want->pkey))
		a->status = SA_STATUS_INVALID;
	if (!a->status) {
		if (!is_too_much(a, asker, true))
			g = sa_groups_add(a->groups, &r, a->f->ports[asker].guid, &rules);
		a->status = g ? 0 : SA_STATUS_NO_RESOURCES;
	}
	if (g)
		sa_informs_tell_gid(a->kept->informs, TRAP_GROUP_CREATED, &g->r.mgid);
	return g;
}

/* ---- Joining and leaving ---- */

/* All that the request says of the group is so, and the port can do what the group needs. */
static bool
suits(const struct sa_ask *a, const struct sa_member *want, const struct sa_group *g,
      uint32_t port)
{
	const struct fabric_port *p = &a->f->ports[port];
	uint64_t mask = a->h.mask & SHARED & ~SA_BIT(SA_MEMBER_SCOPE);

	return sa_match(a->type, want, &g->r, mask) && limits_fit(a, want, &g->r) &&
		is_partition(a, want, g) && sa_has_pkey(a, port, g->r.pkey) &&
		sa_compare(SA_OF_MTU, p->mtu_cap, g->r.mtu) >= 0 &&
		sa_compare(SA_OF_RATE, sa_port_rate(p), g->r.rate) >= 0;
}

static void
join(struct sa_ask *a)
{
	const struct sa_member *want = a->want;
	uint32_t port = port_of(a, want), asker = sa_asker(a);
	const struct sa_join *j;
	struct sa_group *g;
	uint8_t was, state;

	if ((a->h.mask & NEEDED) != NEEDED) {
		a->status = SA_STATUS_INSUFFICIENT;
		return;
	}
	if (port == FABRIC_NONE || asker == FABRIC_NONE || !want->join_state) {
		a->status = SA_STATUS_INVALID;
		return;
	}
	g = sa_groups_find(a->groups, &want->mgid);
	j = g ? sa_group_join_of(g, want->port_gid.guid) : NULL;
	if (!g) {
		g = create(a, want, port, asker);
		if (!g)
			return;
	} else if (!suits(a, want, g, port) || !may_change(a, g, want)) {
		a->status = SA_STATUS_INVALID;
		return;
	} else if (!j && is_too_much(a, asker, false)) {
		a->status = SA_STATUS_NO_RESOURCES;
		return;
	}
	was = j ? j->state : 0;
	state = sa_groups_join(a->groups, g, &want->port_gid, want->join_state,
			       port == asker ? 0 : a->f->ports[asker].guid);
	j = sa_group_join_of(g, want->port_gid.guid);
	tell_outcome(a, &g->r, want, state, j->by != 0);
	if (state != was)
		a->env->groups_changed(a->env->arg, g->r.mlid);
}

static void
leave(struct sa_ask *a)
{
	const struct sa_member *want = a->want;
	struct sa_group *g = sa_groups_find(a->groups, &want->mgid);
	const struct sa_join *j = g ? sa_group_join_of(g, want->port_gid.guid) : NULL;
	struct sa_member shared;
	bool gone, proxy;
	uint8_t left;

	if ((a->h.mask & NEEDED) != NEEDED) {
		a->status = SA_STATUS_INSUFFICIENT;
		return;
	}
	if (!j || !(want->join_state & j->state) || want->join_state & ~j->state ||
	    !may_change(a, g, want)) {
		a->status = SA_STATUS_INVALID;
		return;
	}
	shared = g->r;
	proxy = j->by != 0;
	left = sa_groups_leave(a->groups, g, want->port_gid.guid, want->join_state, &gone);
	if (gone)
		sa_informs_tell_gid(a->kept->informs, TRAP_GROUP_DELETED, &shared.mgid);
	tell_outcome(a, &shared, want, left, proxy);
	a->env->groups_changed(a->env->arg, shared.mlid);
}

const struct sa_kind_ops sa_member_ops = {
	.type = &sa_member_type, .own = UINT64_MAX, .table = true, .tell = tell_members,
	.set = join, .drop = leave,
};

/* ---- The group that is always there ---- */

struct sa_member
sa_broadcast(const struct config_subnet *conf)
{
	return (struct sa_member){
		.mgid = { UINT64_C(0xff12401bffff0000), UINT64_C(0x00000000ffffffff) },
		.qkey = 0x0b1b, .pkey = 0x8000 | SA_PKEY_DEFAULT, .mtu = 4, .rate = 3,
		.life = (uint8_t)conf->subnet_timeout, .scope = SA_SCOPE_LINK_LOCAL,
	};
}
