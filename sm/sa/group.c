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
 *	"SUBNET MGID"          -> "MLID QKEY PKEY MTU RATE LIFE SL TCLASS FLOW HOP SCOPE"
 *	"SUBNET MGID PORTGUID" -> "PREFIX STATE PROXY"
 *
 * all in hexadecimal, MGIDs of 32 digits. In the order of keys a group comes before its members.
 */
#define KEY_SIZE 128

struct sa_groups {
	struct store *store;		/* borrowed */
	char name[64];			/* of the subnet */
	struct sa_group **at;		/* by MLID - SA_MLID_FIRST; NULL: free */
	uint32_t size;			/* of `at` */
	uint32_t end;			/* above the last one that is in use */
	uint32_t len;			/* groups */
	struct map by_mgid;		/* key of MGID -> place in `at` of the first of a chain */
};

/* ---- Rows ---- */

static void
group_key(const struct sa_groups *g, const struct sa_gid *mgid, char key[KEY_SIZE])
{
	snprintf(key, KEY_SIZE, "%s %016" PRIx64 "%016" PRIx64, g->name, mgid->prefix, mgid->guid);
}

static void
join_key(const struct sa_groups *g, const struct sa_gid *mgid, uint64_t guid, char key[KEY_SIZE])
{
	snprintf(key, KEY_SIZE, "%s %016" PRIx64 "%016" PRIx64 " %016" PRIx64, g->name,
		 mgid->prefix, mgid->guid, guid);
}

static void
put_group(struct sa_groups *g, const struct sa_group *group)
{
	const struct sa_member *r = &group->r;
	char key[KEY_SIZE], value[160];

	group_key(g, &r->mgid, key);
	snprintf(value, sizeof(value), "%x %" PRIx32 " %x %x %x %x %x %x %" PRIx32 " %x %x",
		 r->mlid, r->qkey, r->pkey, r->mtu, r->rate, r->life, r->sl, r->tclass,
		 r->flow_label, r->hop_limit, r->scope);
	store_put(g->store, STORE_GROUPS, key, value);
}

static void
put_join(struct sa_groups *g, const struct sa_group *group, const struct sa_join *j)
{
	char key[KEY_SIZE], value[64];

	join_key(g, &group->r.mgid, j->gid.guid, key);
	snprintf(value, sizeof(value), "%016" PRIx64 " %x %x", j->gid.prefix, j->state, j->proxy);
	store_put(g->store, STORE_GROUPS, key, value);
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
	struct sa_group *group = at == MAP_NONE ? NULL : g->at[at];

	while (group && !sa_gid_equal(&group->r.mgid, mgid))
		group = group->chain;
	return group;
}

struct sa_group *
sa_groups_at(const struct sa_groups *g, unsigned mlid)
{
	return mlid >= SA_MLID_FIRST && mlid - SA_MLID_FIRST < g->end ?
		g->at[mlid - SA_MLID_FIRST] : NULL;
}

unsigned
sa_groups_end(const struct sa_groups *g)
{
	return SA_MLID_FIRST + g->end;
}

uint32_t
sa_groups_len(const struct sa_groups *g)
{
	return g->len;
}

const struct sa_join *
sa_group_join_of(const struct sa_group *group, uint64_t port_guid)
{
	uint32_t at = map_get(&group->by_guid, port_guid);

	return at == MAP_NONE ? NULL : &group->joins[at];
}

/* ---- Groups ---- */

static struct sa_group *
insert(struct sa_groups *g, const struct sa_member *r, uint32_t at)
{
	struct sa_group *group = mem_zalloc(sizeof(*group));
	uint64_t key = mgid_key(&r->mgid);
	uint32_t first = map_get(&g->by_mgid, key);

	if (at >= g->size) {
		uint32_t size = (at + 64) / 64 * 64;

		g->at = mem_realloc(g->at, size, sizeof(*g->at));
		memset(g->at + g->size, 0, (size - g->size) * sizeof(*g->at));
		g->size = size;
	}
	group->r = *r;
	group->r.mlid = (uint16_t)(SA_MLID_FIRST + at);
	group->r.mtu_selector = group->r.rate_selector = group->r.life_selector = SA_EXACTLY;
	group->r.port_gid = (struct sa_gid){ 0, 0 };
	group->r.join_state = 0;
	group->r.proxy_join = false;
	group->chain = first == MAP_NONE ? NULL : g->at[first];
	map_set(&g->by_mgid, key, at);
	g->at[at] = group;
	g->len++;
	if (at >= g->end)
		g->end = at + 1;
	return group;
}

struct sa_group *
sa_groups_add(struct sa_groups *g, const struct sa_member *r, bool permanent, unsigned mlids)
{
	unsigned most = SA_MLID_LAST - SA_MLID_FIRST + 1;
	struct sa_group *group;
	uint32_t at = 0;

	while (at < g->end && g->at[at])
		at++;
	if (at >= (mlids < most ? mlids : most))
		return NULL;
	group = insert(g, r, at);
	group->permanent = permanent;
	if (!permanent)
		put_group(g, group);
	return group;
}

static void
unchain(struct sa_groups *g, struct sa_group *group)
{
	uint64_t key = mgid_key(&group->r.mgid);
	struct sa_group *at = g->at[map_get(&g->by_mgid, key)];

	if (at != group) {
		while (at->chain != group)
			at = at->chain;
		at->chain = group->chain;
	} else if (group->chain) {
		map_set(&g->by_mgid, key, group->chain->r.mlid - SA_MLID_FIRST);
	} else {
		map_remove(&g->by_mgid, key);
	}
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
	g->at[group->r.mlid - SA_MLID_FIRST] = NULL;
	while (g->end && !g->at[g->end - 1])
		g->end--;
	g->len--;
	free_group(group);
}

/* ---- Members ---- */

static struct sa_join *
enter(struct sa_group *group, const struct sa_gid *port, uint8_t state, bool proxy)
{
	struct sa_join *j;

	if (group->len == group->size) {
		group->size = group->size ? group->size * 2 : 4;
		group->joins = mem_realloc(group->joins, group->size, sizeof(*group->joins));
	}
	j = &group->joins[group->len];
	*j = (struct sa_join){ .gid = *port, .state = state, .proxy = proxy };
	map_set(&group->by_guid, port->guid, group->len++);
	group->full += (state & SA_JOIN_FULL) != 0;
	return j;
}

uint8_t
sa_groups_join(struct sa_groups *g, struct sa_group *group, const struct sa_gid *port,
	       uint8_t state, bool proxy)
{
	uint32_t at = map_get(&group->by_guid, port->guid);
	struct sa_join *j = at == MAP_NONE ? NULL : &group->joins[at];

	if (!j) {
		j = enter(group, port, state, proxy);
	} else if ((j->state | state) == j->state) {
		return j->state;
	} else {
		group->full += !(j->state & SA_JOIN_FULL) && state & SA_JOIN_FULL;
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
	group->full -= j->state & SA_JOIN_FULL && !(left & SA_JOIN_FULL);
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

	if (sscanf(value, "%x %" SCNx32 " %x %x %x %x %x %x %" SCNx32 " %x %x", &mlid, &r.qkey,
		   &pkey, &mtu, &rate, &life, &sl, &tclass, &r.flow_label, &hop, &scope) != 11 ||
	    mlid < SA_MLID_FIRST || mlid > SA_MLID_LAST || sa_groups_at(g, mlid) ||
	    sa_groups_find(g, mgid))
		return false;
	r.pkey = (uint16_t)pkey;
	r.mtu = (uint8_t)mtu;
	r.rate = (uint8_t)rate;
	r.life = (uint8_t)life;
	r.sl = (uint8_t)sl;
	r.tclass = (uint8_t)tclass;
	r.hop_limit = (uint8_t)hop;
	r.scope = (uint8_t)scope;
	insert(g, &r, mlid - SA_MLID_FIRST);
	return true;
}

static bool
load_join(struct sa_groups *g, const struct sa_gid *mgid, uint64_t guid, const char *value)
{
	struct sa_group *group = sa_groups_find(g, mgid);
	struct sa_gid gid = { .guid = guid };
	unsigned state, proxy;

	if (!group || sscanf(value, "%" SCNx64 " %x %x", &gid.prefix, &state, &proxy) != 3 ||
	    !state || state > 15)
		return false;
	enter(group, &gid, (uint8_t)state, proxy != 0);
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
	return g;
}

void
sa_groups_free(struct sa_groups *g)
{
	if (!g)
		return;
	for (uint32_t i = 0; i < g->end; i++)
		if (g->at[i])
			free_group(g->at[i]);
	map_free(&g->by_mgid);
	mem_free(g->at);
	mem_free(g);
}
