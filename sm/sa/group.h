/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SA_GROUP_H
#define SA_GROUP_H

#include "sm/base/map.h"
#include "sm/store/store.h"
#include "sm/wire/sa_record.h"

/*
 * Multicast groups and their members: what MCMemberRecords are told from, and what the trees of a
 * subnet are made for. Whether a join is allowed is not asked here (member.c).
 *
 * A group has a multicast LID of its own, the lowest that is free; when the group goes it is free
 * again. Changes are put to the store (STORE_GROUPS), to be committed by the caller.
 */
#define SA_MLID_FIRST 0xc000u
#define SA_MLID_LAST 0xfffeu

/* One port in a group. */
struct sa_join {
	struct sa_gid gid;	/* PortGID */
	uint8_t state;		/* enum sa_join_state, at least one bit */
	bool proxy;		/* somebody else joined it */
};

struct sa_group {
	struct sa_member r;	/* what its members share; selectors are SA_EXACTLY, PortGID and
				 * JoinState 0 */
	bool permanent;		/* stays without members */
	struct sa_join *joins;	/* in no order */
	uint32_t len;		/* of `joins` */
	uint32_t size;		/* allocated */
	uint32_t full;		/* of them full members */
	struct map by_guid;	/* port GUID -> index in `joins` */
	struct sa_group *chain;	/* next one whose MGID has the same key; NULL */
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

struct sa_group *
sa_groups_find(const struct sa_groups *g, const struct sa_gid *mgid);	/* NULL: none */
/* By multicast LID; NULL: none. All there are: from SA_MLID_FIRST below sa_groups_end(). */
struct sa_group *
sa_groups_at(const struct sa_groups *g, unsigned mlid);
/* Above the highest multicast LID that is in use; SA_MLID_FIRST if none is. */
unsigned
sa_groups_end(const struct sa_groups *g);
uint32_t
sa_groups_len(const struct sa_groups *g);

/* A new group; r->mgid must not be there. It gets a free MLID of the first `mlids`; NULL if there
 * is none. */
struct sa_group *
sa_groups_add(struct sa_groups *g, const struct sa_member *r, bool permanent, unsigned mlids);
void
sa_groups_remove(struct sa_groups *g, struct sa_group *group);
/* NULL: not a member. Valid until the next change. */
const struct sa_join *
sa_group_join_of(const struct sa_group *group, uint64_t port_guid);
/* Add the bits of `state` to the port's JoinState; returns it. `proxy` counts for a new one. */
uint8_t
sa_groups_join(struct sa_groups *g, struct sa_group *group, const struct sa_gid *port,
	       uint8_t state, bool proxy);
/* Take them away; returns what is left. A group without full members goes, unless it is permanent:
 * then its other members go. *gone tells so. */
uint8_t
sa_groups_leave(struct sa_groups *g, struct sa_group *group, uint64_t port_guid, uint8_t state,
		bool *gone);

#endif
