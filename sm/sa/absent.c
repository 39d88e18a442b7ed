/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/ask.h"

#include "sm/base/loop.h"
#include "sm/base/mem.h"
#include "sm/sa/alias.h"

/*
 * Members of multicast groups whose ports are gone. Each time that a plan is in force it is noted
 * who is not in it, and since when; what comes back within multicast.forget_after stays a member,
 * for a switch that starts again takes its hosts out of reach for a while. After that it leaves all
 * its groups, as if it had asked to: groups without full members end, which is told (trap 67). A
 * host that comes back then is asked to register again, as any that is new, and joins.
 *
 * Groups are gone through a slice at a time.
 */
#define SLICE 8192u		/* members and groups that are looked at in a turn */

struct sa_absent {
	struct sa_kept *kept;		/* borrowed */
	struct sa_groups *groups;	/* borrowed */
	struct loop_timer *timer;	/* until somebody's time is over, or the next slice */
	uint32_t slot;			/* the next group to look at */
	monotime until;			/* who went till then goes; 0: no walk is under way */
};

/* Members may have joined by an alias. */
static uint64_t
base_guid(const struct sa_absent *a, uint64_t guid)
{
	uint64_t own = sa_aliases_port(a->kept->aliases, guid);

	return own ? own : guid;
}

static bool
is_there(void *arg, uint64_t guid)
{
	const struct sa_absent *a = arg;
	const struct plan *p = a->kept->env.plan(a->kept->env.arg);
	uint32_t port = fabric_port_by_guid(p->fabric, base_guid(a, guid));

	return port != FABRIC_NONE && p->lids->base[port];
}

static void
forget(struct sa_absent *a, struct sa_group *group, uint64_t port_guid)
{
	const struct sa_env *env = &a->kept->env;
	struct sa_gid mgid = group->r.mgid;
	uint16_t mlid = group->r.mlid;
	bool gone;

	sa_groups_leave(a->groups, group, port_guid, 0xff, &gone);
	if (gone)
		sa_informs_tell_gid(a->kept->informs, TRAP_GROUP_DELETED, &mgid);
	env->groups_changed(env->arg, mlid);
	env->port_forgotten(env->arg, base_guid(a, port_guid));
}

/* Those of one group; when the last full member goes the group does. */
static void
forget_of(struct sa_absent *a, uint32_t slot)
{
	for (uint32_t i = 0; sa_groups_slot(a->groups, slot) &&
	     i < sa_groups_slot(a->groups, slot)->len;) {
		struct sa_group *group = sa_groups_slot(a->groups, slot);

		/* Another member takes the place of one that goes. */
		if (sa_groups_is_gone(a->groups, group->joins[i].gid.guid, a->until))
			forget(a, group, group->joins[i].gid.guid);
		else
			i++;
	}
}

/* When the next one's time is over. */
static void
wait_for_next(struct sa_absent *a)
{
	const struct sa_env *env = &a->kept->env;
	const struct plan *p = env->plan(env->arg);
	monotime now = loop_now(env->loop), first, wait;

	if (!p || !p->lids)
		return;
	first = sa_groups_look(a->groups, is_there, a, now);
	loop_timer_cancel(a->timer);
	if (!first)
		return;
	wait = first + env->conf(env->arg)->multicast.forget_after - now;
	loop_timer_set(a->timer, wait > 0 ? wait : 0);
}

static void
on_timer(void *arg)
{
	struct sa_absent *a = arg;
	const struct sa_env *env = &a->kept->env;
	uint32_t work = 0;

	if (!a->until) {
		a->until = loop_now(env->loop) - env->conf(env->arg)->multicast.forget_after;
		a->slot = 0;
	}
	for (; a->slot < sa_groups_slots(a->groups) && work < SLICE; a->slot++) {
		const struct sa_group *group = sa_groups_slot(a->groups, a->slot);

		work += 1 + (group ? group->len : 0);
		forget_of(a, a->slot);
	}
	if (a->slot < sa_groups_slots(a->groups)) {
		loop_timer_set(a->timer, 0);
		return;
	}
	store_commit(env->store, NULL, NULL);
	a->until = 0;
	wait_for_next(a);
}

void
sa_absent_settled(struct sa_absent *a)
{
	if (!a->until)
		wait_for_next(a);
}

void
sa_absent_resigned(struct sa_absent *a)
{
	loop_timer_cancel(a->timer);
	a->until = 0;
}

struct sa_absent *
sa_absent_new(struct sa_kept *kept, struct sa_groups *groups)
{
	struct sa_absent *a = mem_zalloc(sizeof(*a));

	a->kept = kept;
	a->groups = groups;
	a->timer = loop_timer_new(kept->env.loop, on_timer, a);
	return a;
}

void
sa_absent_free(struct sa_absent *a)
{
	loop_timer_free(a->timer);
	mem_free(a);
}
