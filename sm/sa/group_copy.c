/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/group_i.h"

#include "sm/sa/sa.h"
#include "sm/wire/sa_rate.h"

/*
 * Groups and members as another administrator has them (copy.h): groups keep the multicast LID that
 * their members know, those that stay too, the broadcast group among them. Who made a group, and
 * who joined a member by proxy, is not told by a MCMemberRecord: what is known of that here stays.
 *
 * What comes may be wrong in any way. A chain of groups that is walked is kept short.
 */
#define SOMEBODY 1u		/* joined it by proxy: see group_rows.c */
#define SHARING_MAX 4096u	/* groups of one multicast LID */
#define MCAST UINT64_C(0xff)	/* first byte of a MGID */

static bool
is_sound(const struct sa_member *r)
{
	return r->mlid >= SA_MLID_FIRST && r->mlid <= SA_MLID_LAST &&
		r->mgid.prefix >> 56 == MCAST && r->port_gid.guid &&
		r->join_state && r->join_state <= 15 && sa_is_value(SA_OF_MTU, r->mtu) &&
		sa_is_value(SA_OF_RATE, r->rate) && sa_is_value(SA_OF_LIFE, r->life);
}

/* What members share is as the record says. */
static bool
is_as_told(const struct sa_member *a, const struct sa_member *b)
{
	return a->mlid == b->mlid && a->qkey == b->qkey && a->pkey == b->pkey &&
		a->mtu == b->mtu && a->rate == b->rate && a->life == b->life && a->sl == b->sl &&
		a->tclass == b->tclass && a->flow_label == b->flow_label &&
		a->hop_limit == b->hop_limit && a->scope == b->scope;
}

static void
take_on(struct sa_groups *g, struct sa_group *group, const struct sa_member *r)
{
	struct sa_member *now = &group->r;

	if (is_as_told(now, r))
		return;
	if (now->mlid != r->mlid)
		group_move(g, group, r->mlid);
	now->qkey = r->qkey;
	now->pkey = r->pkey;
	now->mtu = r->mtu;
	now->rate = r->rate;
	now->life = r->life;
	now->sl = r->sl;
	now->tclass = r->tclass;
	now->flow_label = r->flow_label;
	now->hop_limit = r->hop_limit;
	now->scope = r->scope;
	group_put(g, group);
}

/* NULL: there is no room. */
static struct sa_group *
group_of(struct sa_groups *g, const struct sa_member *r)
{
	struct sa_group *group = sa_groups_find(g, &r->mgid);

	if ((!group || group->r.mlid != r->mlid) && sa_groups_on(g, r->mlid) >= SHARING_MAX)
		return NULL;
	if (group) {
		take_on(g, group, r);
		return group;
	}
	if (g->len >= SA_GROUPS_MAX)
		return NULL;
	group = group_insert(g, r, r->mlid - SA_MLID_FIRST, 0);
	group_put(g, group);
	return group;
}

static void
take_on_join(struct sa_groups *g, struct sa_group *group, struct sa_join *j,
	     const struct sa_member *r)
{
	if (j->state == r->join_state && j->gid.prefix == r->port_gid.prefix &&
	    (j->by != 0) == r->proxy_join)
		return;
	group_unuse_join(g, j);
	group->full -= group_is_full(j->state);
	j->state = r->join_state;
	j->gid.prefix = r->port_gid.prefix;
	if ((j->by != 0) != r->proxy_join)
		j->by = r->proxy_join ? SOMEBODY : 0;
	group->full += group_is_full(j->state);
	group_use_join(g, j);
	group_put_join(g, group, j);
}

bool
sa_groups_copy(struct sa_groups *g, const struct sa_member *r, uint32_t copy)
{
	struct sa_group *group = is_sound(r) ? group_of(g, r) : NULL;
	struct sa_join *j;
	uint32_t at;

	if (!group)
		return false;
	group->copy = copy;
	at = map_get(&group->by_guid, r->port_gid.guid);
	if (at == MAP_NONE) {
		j = group_enter(g, group, &r->port_gid, r->join_state,
				r->proxy_join ? SOMEBODY : 0);
		group_put_join(g, group, j);
	} else {
		j = &group->joins[at];
		take_on_join(g, group, j, r);
	}
	j->copy = copy;
	return true;
}

bool
sa_groups_copied(struct sa_groups *g, uint32_t copy, uint64_t *at, uint32_t work)
{
	uint32_t done = 0;

	for (; *at < g->nslots && done < work; (*at)++) {
		struct sa_group *group = g->slots[*at];

		done++;
		if (!group)
			continue;
		done += group->len;
		for (uint32_t i = group->len; i-- > 0;)
			if (group->joins[i].copy != copy)
				group_take_out(g, group, i);
		if (group->copy != copy && !group->permanent)
			sa_groups_remove(g, group);
	}
	return *at < g->nslots;
}
