/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SA_GROUP_H
#define SA_GROUP_H

#include "sm/base/clock.h"
#include "sm/base/map.h"
#include "sm/store/store.h"
#include "sm/wire/sa_record.h"

/*
 * Multicast groups and their members: what MCMemberRecords are told from, and what the trees of a
 * subnet are made for. Whether a join is allowed is not asked here (member.c).
 *
 * A group has a multicast LID of its own, the lowest that is free, which is free again when the
 * group goes. When there are no more, groups that are alike in P_Key, MTU, rate and SL share one:
 * its tree then leads to the members of them all, and ports drop what is of a group that is not
 * theirs. A group keeps the multicast LID that it began with, for its members know it.
 *
 * Groups stand in slots, by which all of them are gone through. Changes are put to the store
 * (STORE_GROUPS), to be committed by the caller.
 */
#define SA_MLID_FIRST 0xc000u
#define SA_MLID_LAST 0xfffeu

/* One port in a group. */
struct sa_join {
	struct sa_gid gid;	/* PortGID */
	uint64_t by;		/* GUID of the port that joined it by proxy; 0: it did itself */
	uint8_t state;		/* enum sa_join_state, at least one bit */
	uint32_t copy;		/* the last copy that it was in; see copy.h */
};

struct sa_group {
	struct sa_member r;	/* what its members share; selectors are SA_EXACTLY, PortGID and
				 * JoinState 0 */
	uint64_t maker;		/* GUID of the port that made it; 0: none, or unknown */
	uint32_t slot;		/* its own */
	bool crowded;		/* it shares a multicast LID for want of one of its own */
	bool permanent;		/* stays without members */
	bool said;		/* scratch of sa_groups_stand() */
	uint32_t copy;		/* the last copy that it was in; see copy.h */
	struct sa_join *joins;	/* in no order */
	uint32_t len;		/* of `joins` */
	uint32_t size;		/* allocated */
	uint32_t full;		/* of them full members, those that only send included */
	struct map by_guid;	/* port GUID -> index in `joins` */
	struct sa_group *chain;	/* next one whose MGID has the same key; NULL */
	struct sa_group *shares;	/* next one of the same multicast LID; NULL */
};

/* What one end port has to do with groups. */
struct sa_use {
	uint64_t guid;		/* of the port */
	uint32_t member;	/* groups that it is in */
	uint32_t joined;	/* members that it joined, itself among them */
	uint32_t made;		/* groups that it made and that are there */
	monotime gone;		/* since when the port is not there; 0: it is */
};

/* Which multicast LID a new group may get. */
struct sa_mlid_rules {
	unsigned mlids;		/* of the first so many */
	bool share;		/* one that others have, when none is free */
	bool solicited;		/* groups of solicited nodes of one P_Key and scope share one */
};

/* What came of groups that are to stay. */
struct sa_stood {
	uint32_t missing;	/* there was no multicast LID for them */
	uint32_t changed;	/* have members, who know them otherwise */
};

struct sa_groups;

/* `name` is that of the subnet; it is copied. The store is borrowed. */
struct sa_groups *
sa_groups_new(struct store *store, const char *name);
void
sa_groups_free(struct sa_groups *g);	/* NULL is allowed */
/* Read what was kept. Permanent groups must be there already. A row that cannot be read is left
 * out and told in the log. */
void
sa_groups_load(struct sa_groups *g);
/* A row that another administrator changed (value NULL: deleted); the multicast LID whose tree is
 * another one by that, 0: none. */
uint16_t
sa_groups_take(struct sa_groups *g, const char *key, const char *value);

struct sa_group *
sa_groups_find(const struct sa_groups *g, const struct sa_gid *mgid);	/* NULL: none */
/* The first group that has this multicast LID, others follow by `shares`; NULL: none. All there
 * are: from SA_MLID_FIRST below sa_groups_end(). */
struct sa_group *
sa_groups_at(const struct sa_groups *g, unsigned mlid);
/* How many have it. */
uint32_t
sa_groups_on(const struct sa_groups *g, unsigned mlid);
/* Above the highest multicast LID that is in use; SA_MLID_FIRST if none is. */
unsigned
sa_groups_end(const struct sa_groups *g);
/* By slot, below sa_groups_slots(); NULL: none. A group that has a multicast LID alone has the slot
 * of that number, from SA_MLID_FIRST on, if that is free. */
struct sa_group *
sa_groups_slot(const struct sa_groups *g, uint32_t slot);
uint32_t
sa_groups_slots(const struct sa_groups *g);
uint32_t
sa_groups_len(const struct sa_groups *g);
/* Groups that share a multicast LID with earlier ones because there were no more. */
uint32_t
sa_groups_crowded(const struct sa_groups *g);

/* A new group; r->mgid must not be there. `maker`: see struct sa_group. NULL if there is no
 * multicast LID for it. */
struct sa_group *
sa_groups_add(struct sa_groups *g, const struct sa_member *r, uint64_t maker,
	      const struct sa_mlid_rules *rules);
/* One that stays: it has the first multicast LID, and must be the first that is added. */
struct sa_group *
sa_groups_add_permanent(struct sa_groups *g, const struct sa_member *r);
/* All that stay, beside the first one: those of this list, as it says. What it names and is there
 * stays from now on, what it does not name is a group like others, and goes if nobody is in it. */
struct sa_stood
sa_groups_stand(struct sa_groups *g, const struct sa_member *list, uint32_t len,
		const struct sa_mlid_rules *rules);
void
sa_groups_remove(struct sa_groups *g, struct sa_group *group);
/* NULL: not a member. Valid until the next change. */
const struct sa_join *
sa_group_join_of(const struct sa_group *group, uint64_t port_guid);
/* Add the bits of `state` to the port's JoinState; returns it. `by` counts for a new member: see
 * struct sa_join. */
uint8_t
sa_groups_join(struct sa_groups *g, struct sa_group *group, const struct sa_gid *port,
	       uint8_t state, uint64_t by);
/* Take them away; returns what is left. A group without full members goes, unless it is permanent:
 * then its other members go. *gone tells so. */
uint8_t
sa_groups_leave(struct sa_groups *g, struct sa_group *group, uint64_t port_guid, uint8_t state,
		bool *gone);

/* ---- Copies; see copy.h ---- */

/* A member, and its group, as another administrator has them; `copy` is put on both. False: it is
 * absurd, or there is no room. */
bool
sa_groups_copy(struct sa_groups *g, const struct sa_member *r, uint32_t copy);
/* Of about `work` groups and members, from slot *at on, those go that were not in this copy. False:
 * those were the last. */
bool
sa_groups_copied(struct sa_groups *g, uint32_t copy, uint64_t *at, uint32_t work);

/* ---- Ports ---- */

/* By port GUID; NULL: it has nothing to do with groups. */
const struct sa_use *
sa_groups_use(const struct sa_groups *g, uint64_t port_guid);
/* Note which ports are there now, by `there`. Returns when the one that is gone for longest went, 0
 * if none is. */
monotime
sa_groups_look(struct sa_groups *g, bool (*there)(void *arg, uint64_t guid), void *arg,
	       monotime now);
/* Is the member's port gone, since `until` or before? */
bool
sa_groups_is_gone(const struct sa_groups *g, uint64_t port_guid, monotime until);

#endif
