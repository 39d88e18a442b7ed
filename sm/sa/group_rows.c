/* SPDX-License-Identifier: BSD-2-Clause */
#include "sm/sa/group_i.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "sm/base/log.h"

/*
 * Multicast groups in the store: a row for each group that is not permanent, and one for each
 * member:
 *
 *	"SUBNET MGID"          -> "MLID QKEY PKEY MTU RATE LIFE SL TCLASS FLOW HOP SCOPE MAKER"
 *	"SUBNET MGID PORTGUID" -> "PREFIX STATE BY"
 *
 * all in hexadecimal, MGIDs of 32 digits. In the order of keys a group comes before its members.
 * Rows without a maker, and with 1 for "somebody" as BY, are from before these were kept, or copied
 * from an administrator that does not tell. Of the row of a group that is there already, for it is
 * permanent, the multicast LID counts.
 */
#define KEY_SIZE 128

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

void
group_put(struct sa_groups *g, const struct sa_group *group)
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

void
group_put_join(struct sa_groups *g, const struct sa_group *group, const struct sa_join *j)
{
	char key[KEY_SIZE], value[64], *at = put_hex(value, j->gid.prefix);

	join_key(g, &group->r.mgid, j->gid.guid, key);
	*at++ = ' ';
	*at++ = "0123456789abcdef"[j->state & 15];
	*at++ = ' ';
	*put_hex(at, j->by) = '\0';
	store_put(g->store, STORE_GROUPS, key, value);
}

void
group_delete(struct sa_groups *g, const struct sa_group *group)
{
	char key[KEY_SIZE];

	group_key(g, &group->r.mgid, key);
	store_delete(g->store, STORE_GROUPS, key);
}

void
group_delete_join(struct sa_groups *g, const struct sa_group *group, const struct sa_join *j)
{
	char key[KEY_SIZE];

	join_key(g, &group->r.mgid, j->gid.guid, key);
	store_delete(g->store, STORE_GROUPS, key);
}

/* ---- Reading back ---- */

static bool
read_group(const char *value, struct sa_member *r, uint64_t *maker)
{
	unsigned mlid, pkey, mtu, rate, life, sl, tclass, hop, scope;

	*maker = 0;
	if (sscanf(value, "%x %" SCNx32 " %x %x %x %x %x %x %" SCNx32 " %x %x %" SCNx64, &mlid,
		   &r->qkey, &pkey, &mtu, &rate, &life, &sl, &tclass, &r->flow_label, &hop, &scope,
		   maker) < 11 ||
	    mlid < SA_MLID_FIRST || mlid > SA_MLID_LAST)
		return false;
	r->mlid = (uint16_t)mlid;
	r->pkey = (uint16_t)pkey;
	r->mtu = (uint8_t)mtu;
	r->rate = (uint8_t)rate;
	r->life = (uint8_t)life;
	r->sl = (uint8_t)sl;
	r->tclass = (uint8_t)tclass;
	r->hop_limit = (uint8_t)hop;
	r->scope = (uint8_t)scope;
	return true;
}

static bool
load_group(struct sa_groups *g, const struct sa_gid *mgid, const char *value)
{
	struct sa_member r = { .mgid = *mgid };
	struct sa_group *known;
	uint64_t maker;

	if (!read_group(value, &r, &maker))
		return false;
	known = sa_groups_find(g, mgid);
	if (known && known->permanent)
		group_move(g, known, r.mlid);
	if (known)
		return known->permanent;
	group_insert(g, &r, r.mlid - SA_MLID_FIRST, maker);
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
	group_enter(g, group, &gid, (uint8_t)state, by);
	return true;
}

/* 2: the key of a group, 3: of a member, 0: of another subnet; else it is none. */
static int
read_key(const struct sa_groups *g, const char *key, struct sa_gid *mgid, uint64_t *guid)
{
	size_t len = strlen(g->name);

	if (strncmp(key, g->name, len) || key[len] != ' ')
		return 0;
	return sscanf(key + len + 1, "%16" SCNx64 "%16" SCNx64 " %16" SCNx64, &mgid->prefix,
		      &mgid->guid, guid);
}

static void
load_row(void *arg, const char *key, const char *value)
{
	struct sa_groups *g = arg;
	struct sa_gid mgid;
	uint64_t guid;
	int n = read_key(g, key, &mgid, &guid);

	if (!n)
		return;
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

/* ---- Rows that another administrator changes ---- */

static void
change_group(struct sa_groups *g, struct sa_group *group, const char *value)
{
	struct sa_member r = { .mgid = group->r.mgid };
	uint64_t maker;

	if (!read_group(value, &r, &maker))
		return;
	if (group->r.mlid != r.mlid)
		group_move(g, group, r.mlid);
	group->r = r;
	group->maker = maker;
}

static uint16_t
take_group(struct sa_groups *g, const char *key, const struct sa_gid *mgid, const char *value)
{
	struct sa_group *group = sa_groups_find(g, mgid);
	uint16_t mlid = group ? group->r.mlid : 0;

	if (group && !group->permanent && value)
		change_group(g, group, value);
	else if (group && !group->permanent)
		sa_groups_remove(g, group);
	else if (value)
		load_row(g, key, value);
	return mlid;
}

uint16_t
sa_groups_take(struct sa_groups *g, const char *key, const char *value)
{
	struct sa_gid mgid;
	struct sa_group *group;
	uint64_t guid;
	int n = read_key(g, key, &mgid, &guid);
	uint32_t at;

	if (n == 2)
		return take_group(g, key, &mgid, value);
	group = n == 3 ? sa_groups_find(g, &mgid) : NULL;
	if (!group)
		return 0;
	at = map_get(&group->by_guid, guid);
	if (at != MAP_NONE)
		group_take_out(g, group, at);
	if (value)
		load_row(g, key, value);
	return group->r.mlid;
}
