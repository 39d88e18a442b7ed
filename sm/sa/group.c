/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/group.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "sm/base/log.h"
#include "sm/base/mem.h"
#include "sm/wire/sa_rate.h"

/*
 * Groups are found by MLID in an array and by MGID in a map; members by port GUID in a map of each
 * group. The store has a row for each group that is not permanent, and one for each member:
 *
 *	"SUBNET MGID"          -> "MLID QKEY PKEY MTU RATE LIFE SL TCLASS FLOW HOP SCOPE MAKER"
 *	"SUBNET MGID PORTGUID" -> "PREFIX STATE BY"
 *
 * all in hexadecimal, MGIDs of 32 digits. In the order of keys a group comes before its members.
 * Rows without a maker, and with 1 for "somebody" as BY, are from before these were kept.
 */
#define KEY_SIZE 128
#define MLIDS (SA_MLID_LAST - SA_MLID_FIRST + 1)
/* MGIDs of solicited nodes, ff1Z:601b:PKEY:0:0:1:ffXX:XXXX (RFC 4291 and 4391): scope and P_Key are
 * in the upper half, and these are the upper 40 bits of the lower one. */
#define SOLICITED_SIGNATURE 0x601bu
#define SOLICITED_LOWER UINT64_C(0x00000001ff)

/* The groups of one multicast LID. */
struct place {
	struct sa_group *first;		/* others by `shares`; NULL: the LID is free */
	uint32_t len;			/* how many */
};

struct sa_groups {
	struct store *store;		/* borrowed */
	char name[64];			/* of the subnet */
	struct sa_group **slots;	/* NULL: free */
	uint32_t nslots;		/* used, holes included */
	uint32_t slots_size;		/* allocated */
	uint32_t free_slot;		/* those of MLIDS or more and below this one are taken */
	struct place *at;		/* by MLID - SA_MLID_FIRST */
	uint32_t size;			/* of `at` */
	uint32_t end;			/* above the last one that is in use */
	uint32_t free_at;		/* those below are in use */
	uint32_t len;			/* groups */
	uint32_t crowded;		/* of them that are */
	struct map by_mgid;		/* key of MGID -> slot of the first of a chain */
	struct map solicited;		/* upper half of MGID -> where such groups were last */
	struct sa_use *uses;		/* by port */
	uint32_t nuses;			/* used, free ones included */
	uint32_t uses_size;		/* allocated */
	uint32_t spare;			/* last free one, chained by `member`; MAP_NONE */
	struct map by_port;		/* port GUID -> place in `uses` */
};

/* ---- Rows ---- */

/* 16 digits; returns where they end. printf() would be half of the cost of a join. */
static char *
put_hex(char *to, uint64_t x)
{
	for (unsigned i = 16; i-- > 0; x >>= 4)
		to[i] = "0123456789abcdef"[x & 15];
	return to + 16;
}

static char *
group_key(const struct sa_groups *g, const struct sa_gid *mgid, char key[KEY_SIZE])
{
	size_t len = strlen(g->name);
	char *at = key + len;

	memcpy(key, g->name, len);
	*at++ = ' ';
	at = put_hex(put_hex(at, mgid->prefix), mgid->guid);
	*at = '\0';
	return at;
}

static void
join_key(const struct sa_groups *g, const struct sa_gid *mgid, uint64_t guid, char key[KEY_SIZE])
{
	char *at = group_key(g, mgid, key);

	*at++ = ' ';
	*put_hex(at, guid) = '\0';
}

static void
put_group(struct sa_groups *g, const struct sa_group *group)
{
	const struct sa_member *r = &group->r;
	char key[KEY_SIZE], value[160];

	group_key(g, &r->mgid, key);
	snprintf(value, sizeof(value),
		 "%x %" PRIx32 " %x %x %x %x %x %x %" PRIx32 " %x %x %" PRIx64, r->mlid, r->qkey,
		 r->pkey, r->mtu, r->rate, r->life, r->sl, r->tclass, r->flow_label, r->hop_limit,
		 r->scope, group->maker);
	store_put(g->store, STORE_GROUPS, key, value);
}

static void
put_join(struct sa_groups *g, const struct sa_group *group, const struct sa_join *j)
{
	char key[KEY_SIZE], value[64], *at = put_hex(value, j->gid.prefix);

	join_key(g, &group->r.mgid, j->gid.guid, key);
	*at++ = ' ';
	*at++ = "0123456789abcdef"[j->state & 15];
	*at++ = ' ';
	*put_hex(at, j->by) = '\0';
	store_put(g->store, STORE_GROUPS, key, value);
}

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

static void
use_join(struct sa_groups *g, const struct sa_join *j)
{
	use_of(g, j->gid.guid)->member++;
	use_of(g, j->by ? j->by : j->gid.guid)->joined++;
}

static void
unuse_join(struct sa_groups *g, const struct sa_join *j)
{
	uint64_t by = j->by ? j->by : j->gid.guid;

	use_of(g, j->gid.guid)->member--;
	use_of(g, by)->joined--;
	use_less(g, by);
	if (j->by)
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

static struct sa_group *
insert(struct sa_groups *g, const struct sa_member *r, uint32_t at, uint64_t maker)
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
	group = insert(g, r, at, maker);
	put_group(g, group);
	return group;
}

struct sa_group *
sa_groups_add_permanent(struct sa_groups *g, const struct sa_member *r)
{
	struct sa_group *group = insert(g, r, 0, 0);

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
		put_group(g, group);
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
leave_place(struct sa_groups *g, const struct sa_group *group)
{
	uint32_t at = group->r.mlid - SA_MLID_FIRST;
	struct sa_group **link = &g->at[at].first;

	while (*link != group)
		link = &(*link)->shares;
	*link = group->shares;
	g->crowded -= group->crowded;
	if (--g->at[at].len)
		return;
	if (at < g->free_at)
		g->free_at = at;
	while (g->end && !g->at[g->end - 1].first)
		g->end--;
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
	char key[KEY_SIZE];

	for (uint32_t i = 0; i < group->len; i++) {
		join_key(g, &group->r.mgid, group->joins[i].gid.guid, key);
		store_delete(g->store, STORE_GROUPS, key);
		unuse_join(g, &group->joins[i]);
	}
	map_clear(&group->by_guid);
	group->len = group->full = 0;
}

void
sa_groups_remove(struct sa_groups *g, struct sa_group *group)
{
	char key[KEY_SIZE];

	drop_joins(g, group);
	group_key(g, &group->r.mgid, key);
	store_delete(g->store, STORE_GROUPS, key);
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

/* Either keeps a group there. */
static bool
is_full(uint8_t state)
{
	return state & (SA_JOIN_FULL | SA_JOIN_SEND_ONLY_FULL);
}

static struct sa_join *
enter(struct sa_groups *g, struct sa_group *group, const struct sa_gid *port, uint8_t state,
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
	group->full += is_full(state);
	use_join(g, j);
	return j;
}

uint8_t
sa_groups_join(struct sa_groups *g, struct sa_group *group, const struct sa_gid *port,
	       uint8_t state, uint64_t by)
{
	uint32_t at = map_get(&group->by_guid, port->guid);
	struct sa_join *j = at == MAP_NONE ? NULL : &group->joins[at];

	if (!j) {
		j = enter(g, group, port, state, by);
	} else if ((j->state | state) == j->state) {
		return j->state;
	} else {
		group->full += !is_full(j->state) && is_full(state);
		j->state |= state;
	}
	put_join(g, group, j);
	return j->state;
}

static void
take_out(struct sa_groups *g, struct sa_group *group, uint32_t at)
{
	char key[KEY_SIZE];

	join_key(g, &group->r.mgid, group->joins[at].gid.guid, key);
	store_delete(g->store, STORE_GROUPS, key);
	unuse_join(g, &group->joins[at]);
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
	group->full -= is_full(j->state) && !is_full(left);
	j->state = left;
	if (left)
		put_join(g, group, j);
	else
		take_out(g, group, at);
	if (group->full)
		return left;
	*gone = !group->permanent;
	if (group->permanent)
		drop_joins(g, group);
	else
		sa_groups_remove(g, group);
	return left;
}

/* ---- Reading back ---- */

static bool
load_group(struct sa_groups *g, const struct sa_gid *mgid, const char *value)
{
	struct sa_member r = { .mgid = *mgid };
	unsigned mlid, pkey, mtu, rate, life, sl, tclass, hop, scope;
	uint64_t maker = 0;

	if (sscanf(value, "%x %" SCNx32 " %x %x %x %x %x %x %" SCNx32 " %x %x %" SCNx64, &mlid,
		   &r.qkey, &pkey, &mtu, &rate, &life, &sl, &tclass, &r.flow_label, &hop, &scope,
		   &maker) < 11 ||
	    mlid < SA_MLID_FIRST || mlid > SA_MLID_LAST || sa_groups_find(g, mgid))
		return false;
	r.pkey = (uint16_t)pkey;
	r.mtu = (uint8_t)mtu;
	r.rate = (uint8_t)rate;
	r.life = (uint8_t)life;
	r.sl = (uint8_t)sl;
	r.tclass = (uint8_t)tclass;
	r.hop_limit = (uint8_t)hop;
	r.scope = (uint8_t)scope;
	insert(g, &r, mlid - SA_MLID_FIRST, maker);
	return true;
}

static bool
load_join(struct sa_groups *g, const struct sa_gid *mgid, uint64_t guid, const char *value)
{
	struct sa_group *group = sa_groups_find(g, mgid);
	struct sa_gid gid = { .guid = guid };
	unsigned state;
	uint64_t by;

	if (!group || !guid || sa_group_join_of(group, guid) ||
	    sscanf(value, "%" SCNx64 " %x %" SCNx64, &gid.prefix, &state, &by) != 3 ||
	    !state || state > 15)
		return false;
	enter(g, group, &gid, (uint8_t)state, by);
	return true;
}

static void
load_row(void *arg, const char *key, const char *value)
{
	struct sa_groups *g = arg;
	size_t len = strlen(g->name);
	struct sa_gid mgid;
	uint64_t guid;
	int n;

	if (strncmp(key, g->name, len) || key[len] != ' ')
		return;
	n = sscanf(key + len + 1, "%16" SCNx64 "%16" SCNx64 " %16" SCNx64, &mgid.prefix,
		   &mgid.guid, &guid);
	if (n == 2 ? load_group(g, &mgid, value) : n == 3 && load_join(g, &mgid, guid, value))
		return;
	log_warning("the multicast group or member \"%.100s\" cannot be read and is forgotten",
		    key);
}

void
sa_groups_load(struct sa_groups *g)
{
	struct error e;

	if (store_scan(g->store, STORE_GROUPS, load_row, g, &e))
		log_warning("multicast groups cannot be read: %s", e.text);
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
