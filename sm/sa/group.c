/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/group.h"

#include <stdio.h>
#include <string.h>
#include "sm/base/mem.h"
#include "sm/sa/group_i.h"
#include "sm/wire/sa_rate.h"

/*
 * Groups are found by MLID in an array and by MGID in a map; members by port GUID in a map of each
 * group. The rows of both in the store are group_rows.c's.
 */
#define MLIDS (SA_MLID_LAST - SA_MLID_FIRST + 1)
/* MGIDs of solicited nodes, ff1Z:601b:PKEY:0:0:1:ffXX:XXXX (RFC 4291 and 4391): scope and P_Key are
 * in the upper half, and these are the upper 40 bits of the lower one. */
#define SOLICITED_SIGNATURE 0x601bu
#define SOLICITED_LOWER UINT64_C(0x00000001ff)

/* ---- Ports ---- */

const struct sa_use *
sa_groups_use(const struct sa_groups *g, uint64_t port_guid)
{
	uint32_t at = map_get(&g->by_port, port_guid);

	return at == MAP_NONE ? NULL : &g->uses[at];
}

static struct sa_use *
use_of(struct sa_groups *g, uint64_t guid)
{
	uint32_t at = map_get(&g->by_port, guid);

	if (at != MAP_NONE)
		return &g->uses[at];
	at = g->spare;
	if (at != MAP_NONE) {
		g->spare = g->uses[at].member;
	} else {
		if (g->nuses == g->uses_size) {
			g->uses_size = g->uses_size ? g->uses_size * 2 : 64;
			g->uses = mem_realloc(g->uses, g->uses_size, sizeof(*g->uses));
		}
		at = g->nuses++;
	}
	g->uses[at] = (struct sa_use){ .guid = guid };
	map_set(&g->by_port, guid, at);
	return &g->uses[at];
}

/* It has less to do with groups now: perhaps nothing. */
static void
use_less(struct sa_groups *g, uint64_t guid)
{
	uint32_t at = map_get(&g->by_port, guid);
	struct sa_use *u = &g->uses[at];

	if (u->member || u->joined || u->made)
		return;
	map_remove(&g->by_port, guid);
	*u = (struct sa_use){ .member = g->spare };
	g->spare = at;
}

void
group_use_join(struct sa_groups *g, const struct sa_join *j)
{
	use_of(g, j->gid.guid)->member++;
	use_of(g, j->by ? j->by : j->gid.guid)->joined++;
}

void
group_unuse_join(struct sa_groups *g, const struct sa_join *j)
{
	uint64_t by = j->by ? j->by : j->gid.guid;

	use_of(g, j->gid.guid)->member--;
	use_of(g, by)->joined--;
	use_less(g, by);
	if (by != j->gid.guid)
		use_less(g, j->gid.guid);
}

monotime
sa_groups_look(struct sa_groups *g, bool (*there)(void *arg, uint64_t guid), void *arg,
	       monotime now)
{
	monotime first = 0;

	for (uint32_t i = 0; i < g->nuses; i++) {
		struct sa_use *u = &g->uses[i];

		if (!u->guid || !u->member)
			continue;
		if (there(arg, u->guid))
			u->gone = 0;
		else if (!u->gone)
			u->gone = now;
		if (u->gone && (!first || u->gone < first))
			first = u->gone;
	}
	return first;
}

bool
sa_groups_is_gone(const struct sa_groups *g, uint64_t port_guid, monotime until)
{
	const struct sa_use *u = sa_groups_use(g, port_guid);

	return u && u->gone && u->gone <= until;
}

/* ---- Finding ---- */

static uint64_t
mgid_key(const struct sa_gid *mgid)
{
	return (mgid->prefix ^ mgid->prefix >> 29) * UINT64_C(0x9e3779b97f4a7c15) ^ mgid->guid;
}

struct sa_group *
sa_groups_find(const struct sa_groups *g, const struct sa_gid *mgid)
{
	uint32_t at = map_get(&g->by_mgid, mgid_key(mgid));
	struct sa_group *group = at == MAP_NONE ? NULL : g->slots[at];

	while (group && !sa_gid_equal(&group->r.mgid, mgid))
		group = group->chain;
	return group;
}

struct sa_group *
sa_groups_at(const struct sa_groups *g, unsigned mlid)
{
	return mlid >= SA_MLID_FIRST && mlid - SA_MLID_FIRST < g->end ?
		g->at[mlid - SA_MLID_FIRST].first : NULL;
}

uint32_t
sa_groups_on(const struct sa_groups *g, unsigned mlid)
{
	return mlid >= SA_MLID_FIRST && mlid - SA_MLID_FIRST < g->end ?
		g->at[mlid - SA_MLID_FIRST].len : 0;
}

unsigned
sa_groups_end(const struct sa_groups *g)
{
	return SA_MLID_FIRST + g->end;
}

struct sa_group *
sa_groups_slot(const struct sa_groups *g, uint32_t slot)
{
	return slot < g->nslots ? g->slots[slot] : NULL;
}

uint32_t
sa_groups_slots(const struct sa_groups *g)
{
	return g->nslots;
}

uint32_t
sa_groups_len(const struct sa_groups *g)
{
	return g->len;
}

uint32_t
sa_groups_crowded(const struct sa_groups *g)
{
	return g->crowded;
}

const struct sa_join *
sa_group_join_of(const struct sa_group *group, uint64_t port_guid)
{
	uint32_t at = map_get(&group->by_guid, port_guid);

	return at == MAP_NONE ? NULL : &group->joins[at];
}

/* ---- Which multicast LID ---- */

/* A tree that serves one serves the other: it has the links that carry both. */
static bool
is_alike(const struct sa_member *a, const struct sa_member *b)
{
	return !((a->pkey ^ b->pkey) & 0x7fff) && a->mtu == b->mtu && a->rate == b->rate &&
		a->sl == b->sl;
}

static bool
is_solicited(const struct sa_gid *mgid)
{
	return mgid->prefix >> 56 == 0xff && (mgid->prefix >> 32 & 0xffff) == SOLICITED_SIGNATURE &&
		!(mgid->prefix & 0xffff) && mgid->guid >> 24 == SOLICITED_LOWER;
}

/* Where other groups of solicited nodes are; MAP_NONE: none is there yet. */
static uint32_t
among_solicited(struct sa_groups *g, const struct sa_member *r, uint32_t mlids)
{
	uint32_t last = map_get(&g->solicited, r->mgid.prefix);

	for (uint32_t i = 0; i <= g->end && i <= mlids; i++) {
		/* First where they were last. */
		uint32_t at = i ? i - 1 : last;
		const struct sa_group *first = at < g->end && at < mlids ? g->at[at].first : NULL;

		if (!first || !is_solicited(&first->r.mgid) ||
		    first->r.mgid.prefix != r->mgid.prefix || !is_alike(&first->r, r))
			continue;
		map_set(&g->solicited, r->mgid.prefix, at);
		return at;
	}
	return MAP_NONE;
}

/* The one that the fewest have of those that could be shared; a permanent group's last of all. */
static uint32_t
least_shared(const struct sa_groups *g, const struct sa_member *r, uint32_t mlids)
{
	uint32_t best = MAP_NONE;
	uint64_t least = UINT64_MAX;

	for (uint32_t at = 0; at < g->end && at < mlids; at++) {
		const struct place *p = &g->at[at];
		uint64_t cost = p->len;

		if (!p->first || p->len >= least || !is_alike(&p->first->r, r))
			continue;
		if (p->first->permanent)
			cost += UINT32_MAX;
		if (cost < least) {
			least = cost;
			best = at;
		}
	}
	return best;
}

static uint32_t
choose(struct sa_groups *g, const struct sa_member *r, const struct sa_mlid_rules *rules)
{
	uint32_t mlids = rules->mlids < MLIDS ? rules->mlids : MLIDS, at = MAP_NONE;

	if (rules->solicited && is_solicited(&r->mgid))
		at = among_solicited(g, r, mlids);
	if (at != MAP_NONE)
		return at;
	while (g->free_at < g->end && g->at[g->free_at].first)
		g->free_at++;
	if (g->free_at < mlids)
		return g->free_at;
	return rules->share ? least_shared(g, r, mlids) : MAP_NONE;
}

/* ---- Groups ---- */

static uint32_t
choose_slot(struct sa_groups *g, uint32_t at)
{
	if (at >= g->nslots || !g->slots[at])
		return at;
	while (g->free_slot < g->nslots && g->slots[g->free_slot])
		g->free_slot++;
	return g->free_slot;
}

static void
enter_slot(struct sa_groups *g, struct sa_group *group)
{
	uint32_t slot = choose_slot(g, group->r.mlid - SA_MLID_FIRST);

	if (slot >= g->slots_size) {
		uint32_t size = (slot + slot / 2 + 64) / 64 * 64;

		g->slots = mem_realloc(g->slots, size, sizeof(struct sa_group *));
		memset(g->slots + g->slots_size, 0,
		       (size - g->slots_size) * sizeof(struct sa_group *));
		g->slots_size = size;
	}
	group->slot = slot;
	g->slots[slot] = group;
	if (slot >= g->nslots)
		g->nslots = slot + 1;
	g->len++;
}

/* Behind those that have the multicast LID already. */
static void
enter_place(struct sa_groups *g, struct sa_group *group)
{
	uint32_t at = group->r.mlid - SA_MLID_FIRST;
	struct sa_group **last;

	if (at >= g->size) {
		uint32_t size = (at + at / 2 + 64) / 64 * 64;

		g->at = mem_realloc(g->at, size, sizeof(*g->at));
		memset(g->at + g->size, 0, (size - g->size) * sizeof(*g->at));
		g->size = size;
	}
	last = &g->at[at].first;
	if (*last) {
		group->crowded = !is_solicited(&group->r.mgid) ||
			!is_solicited(&(*last)->r.mgid);
		g->crowded += group->crowded;
		/* Second, so that thousands can share one. */
		group->shares = (*last)->shares;
		last = &(*last)->shares;
	}
	*last = group;
	g->at[at].len++;
	if (at >= g->end)
		g->end = at + 1;
}

struct sa_group *
group_insert(struct sa_groups *g, const struct sa_member *r, uint32_t at, uint64_t maker)
{
	struct sa_group *group = mem_zalloc(sizeof(*group));
	uint64_t key = mgid_key(&r->mgid);
	uint32_t first = map_get(&g->by_mgid, key);

	group->r = *r;
	group->r.mlid = (uint16_t)(SA_MLID_FIRST + at);
	group->r.mtu_selector = group->r.rate_selector = group->r.life_selector = SA_EXACTLY;
	group->r.port_gid = (struct sa_gid){ 0, 0 };
	group->r.join_state = 0;
	group->r.proxy_join = false;
	group->maker = maker;
	enter_slot(g, group);
	enter_place(g, group);
	group->chain = first == MAP_NONE ? NULL : g->slots[first];
	map_set(&g->by_mgid, key, group->slot);
	if (maker)
		use_of(g, maker)->made++;
	return group;
}

struct sa_group *
sa_groups_add(struct sa_groups *g, const struct sa_member *r, uint64_t maker,
	      const struct sa_mlid_rules *rules)
{
	uint32_t at = choose(g, r, rules);
	struct sa_group *group;

	if (at == MAP_NONE)
		return NULL;
	group = group_insert(g, r, at, maker);
	group_put(g, group);
	return group;
}

struct sa_group *
sa_groups_add_permanent(struct sa_groups *g, const struct sa_member *r)
{
	struct sa_group *group = group_insert(g, r, 0, 0);

	group->permanent = true;
	return group;
}

/* What members share, but for what makes it this group. True: it was otherwise. */
static bool
change(struct sa_groups *g, struct sa_group *group, const struct sa_member *r)
{
	struct sa_member *now = &group->r;

	if (now->qkey == r->qkey && now->mtu == r->mtu && now->rate == r->rate &&
	    now->life == r->life && now->sl == r->sl && now->tclass == r->tclass &&
	    now->flow_label == r->flow_label)
		return false;
	now->qkey = r->qkey;
	now->mtu = r->mtu;
	now->rate = r->rate;
	now->life = r->life;
	now->sl = r->sl;
	now->tclass = r->tclass;
	now->flow_label = r->flow_label;
	if (group->slot)
		group_put(g, group);
	return true;
}

/* As the list says. */
static void
stand(struct sa_groups *g, const struct sa_member *r, const struct sa_mlid_rules *rules,
      struct sa_stood *stood)
{
	struct sa_group *group = sa_groups_find(g, &r->mgid);

	if (!group)
		group = sa_groups_add(g, r, 0, rules);
	else if (change(g, group, r))
		stood->changed += group->len > 0;
	if (group)
		group->permanent = group->said = true;
	else
		stood->missing++;
}

struct sa_stood
sa_groups_stand(struct sa_groups *g, const struct sa_member *list, uint32_t len,
		const struct sa_mlid_rules *rules)
{
	struct sa_stood stood = { 0 };

	for (uint32_t i = 1; i < sa_groups_slots(g); i++)
		if (sa_groups_slot(g, i))
			sa_groups_slot(g, i)->said = false;
	for (uint32_t i = 0; i < len; i++)
		stand(g, &list[i], rules, &stood);
	for (uint32_t i = 1; i < sa_groups_slots(g); i++) {
		struct sa_group *group = sa_groups_slot(g, i);

		if (!group || group->said || !group->permanent)
			continue;
		group->permanent = false;
		if (!group->full)
			sa_groups_remove(g, group);
	}
	return stood;
}

static void
unchain(struct sa_groups *g, struct sa_group *group)
{
	uint64_t key = mgid_key(&group->r.mgid);
	struct sa_group *at = g->slots[map_get(&g->by_mgid, key)];

	if (at != group) {
		while (at->chain != group)
			at = at->chain;
		at->chain = group->chain;
	} else if (group->chain) {
		map_set(&g->by_mgid, key, group->chain->slot);
	} else {
		map_remove(&g->by_mgid, key);
	}
}

static void
leave_slot(struct sa_groups *g, const struct sa_group *group)
{
	g->slots[group->slot] = NULL;
	if (group->slot >= MLIDS && group->slot < g->free_slot)
		g->free_slot = group->slot;
	while (g->nslots && !g->slots[g->nslots - 1])
		g->nslots--;
	g->len--;
}

static void
leave_place(struct sa_groups *g, struct sa_group *group)
{
	uint32_t at = group->r.mlid - SA_MLID_FIRST;
	struct sa_group **link = &g->at[at].first;

	while (*link != group)
		link = &(*link)->shares;
	*link = group->shares;
	g->crowded -= group->crowded;
	group->crowded = false;
	group->shares = NULL;
	if (--g->at[at].len == 1) {
		/* It has it alone now. */
		g->crowded -= g->at[at].first->crowded;
		g->at[at].first->crowded = false;
	}
	if (g->at[at].len)
		return;
	if (at < g->free_at)
		g->free_at = at;
	while (g->end && !g->at[g->end - 1].first)
		g->end--;
}

void
group_move(struct sa_groups *g, struct sa_group *group, uint16_t mlid)
{
	leave_place(g, group);
	group->r.mlid = mlid;
	enter_place(g, group);
}

static void
free_group(struct sa_group *group)
{
	map_free(&group->by_guid);
	mem_free(group->joins);
	mem_free(group);
}

static void
drop_joins(struct sa_groups *g, struct sa_group *group)
{
	for (uint32_t i = 0; i < group->len; i++) {
		group_delete_join(g, group, &group->joins[i]);
		group_unuse_join(g, &group->joins[i]);
	}
	map_clear(&group->by_guid);
	group->len = group->full = 0;
}

void
sa_groups_remove(struct sa_groups *g, struct sa_group *group)
{
	drop_joins(g, group);
	group_delete(g, group);
	unchain(g, group);
	leave_slot(g, group);
	leave_place(g, group);
	if (group->maker) {
		use_of(g, group->maker)->made--;
		use_less(g, group->maker);
	}
	free_group(group);
}

/* ---- Members ---- */

struct sa_join *
group_enter(struct sa_groups *g, struct sa_group *group, const struct sa_gid *port, uint8_t state,
	    uint64_t by)
{
	struct sa_join *j;

	if (group->len == group->size) {
		group->size = group->size ? group->size * 2 : 4;
		group->joins = mem_realloc(group->joins, group->size, sizeof(*group->joins));
	}
	j = &group->joins[group->len];
	*j = (struct sa_join){ .gid = *port, .state = state, .by = by };
	map_set(&group->by_guid, port->guid, group->len++);
	group->full += group_is_full(state);
	group_use_join(g, j);
	return j;
}

uint8_t
sa_groups_join(struct sa_groups *g, struct sa_group *group, const struct sa_gid *port,
	       uint8_t state, uint64_t by)
{
	uint32_t at = map_get(&group->by_guid, port->guid);
	struct sa_join *j = at == MAP_NONE ? NULL : &group->joins[at];

	if (!j) {
		j = group_enter(g, group, port, state, by);
	} else if ((j->state | state) == j->state) {
		return j->state;
	} else {
		group->full += !group_is_full(j->state) && group_is_full(state);
		j->state |= state;
	}
	group_put_join(g, group, j);
	return j->state;
}

void
group_take_out(struct sa_groups *g, struct sa_group *group, uint32_t at)
{
	group_delete_join(g, group, &group->joins[at]);
	group->full -= group_is_full(group->joins[at].state);
	group_unuse_join(g, &group->joins[at]);
	map_remove(&group->by_guid, group->joins[at].gid.guid);
	group->joins[at] = group->joins[--group->len];
	if (at < group->len)
		map_set(&group->by_guid, group->joins[at].gid.guid, at);
}

uint8_t
sa_groups_leave(struct sa_groups *g, struct sa_group *group, uint64_t port_guid, uint8_t state,
		bool *gone)
{
	uint32_t at = map_get(&group->by_guid, port_guid);
	struct sa_join *j = at == MAP_NONE ? NULL : &group->joins[at];
	uint8_t left;

	*gone = false;
	if (!j)
		return 0;
	left = j->state & (uint8_t)~state;
	if (left) {
		group->full -= group_is_full(j->state) && !group_is_full(left);
		j->state = left;
		group_put_join(g, group, j);
	} else {
		group_take_out(g, group, at);
	}
	if (group->full)
		return left;
	*gone = !group->permanent;
	if (group->permanent)
		drop_joins(g, group);
	else
		sa_groups_remove(g, group);
	return left;
}

/* ---- Life ---- */

struct sa_groups *
sa_groups_new(struct store *store, const char *name)
{
	struct sa_groups *g = mem_zalloc(sizeof(*g));

	g->store = store;
	snprintf(g->name, sizeof(g->name), "%s", name);
	g->spare = MAP_NONE;
	g->free_slot = MLIDS;
	return g;
}

void
sa_groups_free(struct sa_groups *g)
{
	if (!g)
		return;
	for (uint32_t i = 0; i < g->nslots; i++)
		if (g->slots[i])
			free_group(g->slots[i]);
	map_free(&g->by_mgid);
	map_free(&g->solicited);
	map_free(&g->by_port);
	mem_free(g->uses);
	mem_free(g->slots);
	mem_free(g->at);
	mem_free(g);
}
