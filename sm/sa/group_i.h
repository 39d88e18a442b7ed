/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SA_GROUP_I_H
#define SA_GROUP_I_H

#include "sm/sa/group.h"

/* The inside of struct sa_groups: group.c, group_rows.c (its rows in the store) and group_copy.c
 * (what was copied from another administrator). */

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

/* Either keeps a group there. */
static inline bool
group_is_full(uint8_t state)
{
	return state & (SA_JOIN_FULL | SA_JOIN_SEND_ONLY_FULL);
}

/* group.c: nothing of this is put to the store, but by group_take_out(). */
/* A new group of multicast LID SA_MLID_FIRST + `at`. */
struct sa_group *
group_insert(struct sa_groups *g, const struct sa_member *r, uint32_t at, uint64_t maker);
/* It has this multicast LID from now on. */
void
group_move(struct sa_groups *g, struct sa_group *group, uint16_t mlid);
struct sa_join *
group_enter(struct sa_groups *g, struct sa_group *group, const struct sa_gid *port, uint8_t state,
	    uint64_t by);
/* The member in this place is none any more; the last one takes its place. */
void
group_take_out(struct sa_groups *g, struct sa_group *group, uint32_t at);
/* Count it among what ports have to do with groups, or not any more. */
void
group_use_join(struct sa_groups *g, const struct sa_join *j);
void
group_unuse_join(struct sa_groups *g, const struct sa_join *j);

/* group_rows.c */
void
group_put(struct sa_groups *g, const struct sa_group *group);
void
group_put_join(struct sa_groups *g, const struct sa_group *group, const struct sa_join *j);
void
group_delete(struct sa_groups *g, const struct sa_group *group);
void
group_delete_join(struct sa_groups *g, const struct sa_group *group, const struct sa_join *j);

#endif
