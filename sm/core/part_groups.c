/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups of partitions: those of the configuration, those of IPoIB that commands asked
 * for, and the broadcast group of the default partition, which is there in any case.
 *
 * Their service level is the one that is said, else that of the level of service that rules, the
 * partition or nobody names (sm/fabric/levels.h), which is known when a plan is published: so they
 * are looked at with each. Members of a group that changes know it as it was: hosts are asked to
 * register anew. Until they do they send on a service level whose trees were proved.
 */
#include "sm/core/subnet_i.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/fabric/levels.h"
#include "sm/sa/sa.h"
#include "sm/wire/cursor.h"

#define IPOIB_GROUPS 15u	/* of a partition: one for each scope */

struct groups {
	const struct subnet *s;		/* whose */
	struct sa_member *list;		/* being made */
	uint32_t len;			/* of it */
};

static uint8_t
group_sl(const struct subnet *s, const struct partition *p, const struct config_group *g)
{
	struct level_found found;

	if (g->sl != CONFIG_SL_FREE)
		return (uint8_t)g->sl;
	found = plan_group_level(s->plan, p->pkey, !g->mgid);
	if (p->conf->sl != CONFIG_SL_FREE && (!s->plan->levels || found.why == LEVEL_FIRST))
		return (uint8_t)p->conf->sl;
	return plan_group_sl(s->plan, found.level);
}

static struct sa_member *
add_group(struct groups *gs, const struct partition *p, const struct config_group *g)
{
	gs->list[gs->len] = (struct sa_member){
		.qkey = g->qkey, .pkey = p->pkey | PKEY_FULL, .mtu = (uint8_t)g->mtu,
		.rate = (uint8_t)g->rate, .life = (uint8_t)gs->s->conf->subnet_timeout,
		.sl = group_sl(gs->s, p, g), .tclass = (uint8_t)g->tclass,
		.flow_label = g->flow_label,
	};
	return &gs->list[gs->len++];
}

/* RFC 4391, 4: the broadcast group of IPoIB in a partition and scope. */
static struct sa_gid
broadcast_gid(uint16_t pkey, unsigned scope)
{
	return (struct sa_gid){
		UINT64_C(0xff10401b00000000) | (uint64_t)scope << 48 |
			(uint64_t)(pkey | PKEY_FULL) << 16, UINT64_C(0xffffffff),
	};
}

static void
add_configured(struct groups *gs, const struct partition *p)
{
	const struct config_partition *c = p->conf;

	for (unsigned i = 0; c->nipoib && i < c->ipoib->nscopes && i < IPOIB_GROUPS; i++) {
		unsigned scope = c->ipoib->scopes[i];
		struct sa_member *r = add_group(gs, p, c->ipoib);

		r->scope = (uint8_t)scope;
		r->mgid = broadcast_gid(p->pkey, scope);
	}
	for (unsigned i = 0; i < c->ngroups; i++) {
		uint8_t gid[16];
		struct cursor c16;
		struct sa_member *r;

		if (inet_pton(AF_INET6, c->groups[i].mgid, gid) != 1)
			continue;
		r = add_group(gs, p, &c->groups[i]);
		cursor_read(&c16, gid, sizeof(gid));
		r->mgid.prefix = cursor_u64(&c16);
		r->mgid.guid = cursor_u64(&c16);
		r->scope = gid[1] & 0xf;
	}
}

/* That of IPoIB as it usually is: of the default partition, and of those that a command made so. */
static void
add_usual(struct groups *gs, uint16_t pkey)
{
	struct sa_member *r = &gs->list[gs->len++];

	*r = sa_broadcast(gs->s->conf);
	r->pkey = pkey | PKEY_FULL;
	r->mgid = broadcast_gid(pkey, SA_SCOPE_LINK_LOCAL);
	r->sl = plan_group_sl(gs->s->plan, plan_group_level(gs->s->plan, pkey, true).level);
}

static bool
is_listed(const struct groups *gs, const struct sa_gid *mgid)
{
	for (uint32_t i = 0; i < gs->len; i++)
		if (sa_gid_equal(&gs->list[i].mgid, mgid))
			return true;
	return false;
}

static void
add_groups(struct groups *gs, const struct partition *p)
{
	if (p->conf)
		add_configured(gs, p);
	else if (p->ipoib)
		add_usual(gs, p->pkey);
}

/* Groups whose packets are dropped, for their service level is nobody's now. */
static void
find_astray(struct subnet *s)
{
	const struct sa_groups *groups = sa_groups(s->sa);
	const struct plan_sls *sls = s->plan->sls;

	s->parts.astray = 0;
	for (uint32_t i = 0; sls && sls->classes > 1 && i < sa_groups_slots(groups); i++) {
		const struct sa_group *g = sa_groups_slot(groups, i);

		if (!g || sls->slot[g->r.sl & 15] != SLS_FREE || s->parts.astray++)
			continue;
		snprintf(s->parts.astray_name, sizeof(s->parts.astray_name),
			 "%016" PRIx64 "%016" PRIx64 " on service level %u", g->r.mgid.prefix,
			 g->r.mgid.guid, g->r.sl);
	}
}

bool
part_groups_set(struct subnet *s)
{
	const struct sa_gid broadcast = broadcast_gid(PKEY_DEFAULT, SA_SCOPE_LINK_LOCAL);
	const struct policy *policy = s->parts.policy;
	struct groups gs = { .s = s };
	struct sa_stood stood;
	uint32_t room = 1;

	if (!s->plan)
		return false;
	for (uint32_t i = 0; policy && i < policy->len; i++)
		room += policy->list[i]->conf ? policy->list[i]->conf->ngroups + IPOIB_GROUPS : 1;
	gs.list = mem_array(room, sizeof(*gs.list));
	for (uint32_t i = 0; policy && i < policy->len; i++)
		add_groups(&gs, policy->list[i]);
	if (!is_listed(&gs, &broadcast))
		add_usual(&gs, PKEY_DEFAULT);
	stood = sa_set_groups(s->sa, gs.list, gs.len);
	mem_free(gs.list);
	if (stood.missing && stood.missing != s->parts.no_mlid)
		subnet_event(s, EVENT_CONFIG, LOG_L_ERROR, 0, 0, "for %u multicast groups of "
			     "partitions there is no multicast LID left", stood.missing);
	s->parts.no_mlid = stood.missing;
	find_astray(s);
	if (stood.changed)
		multicast_changed_all(s);
	return stood.changed > 0;
}
