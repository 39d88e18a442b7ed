/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_MTREE_H
#define ROUTING_MTREE_H

#include "routing/check.h"
#include "routing/span.h"

/*
 * Trees for multicast LIDs. In an order of the switches (by rank, then by index) a tree has its
 * root on top and all other switches below the one they hang on: a packet climbs, turns once and
 * descends, as unicast packets do by the same ranks.
 *
 * The root is the lowest switch that all members can be reached from downwards; of several, one
 * that goes with the tree that this one follows (mtree_follow()), else one that the multicast LID
 * tells, so that a root stays as long as it is among the lowest, and the trees of many groups are
 * spread. Where no switch has all members below it, those that the best one does not have are left
 * out. A pure function: equal input, equal trees.
 */
#define MTREE_MLIDS 0x4000u	/* multicast LIDs that there can be */

struct mtree_member {
	uint32_t sw;		/* switch index */
	uint8_t port;		/* there; 0: the switch itself */
	bool receives;		/* else it only sends */
};

struct mtree_set {
	struct check_tree *trees;	/* by group as added, then by switch */
	uint16_t *mlids;		/* of each of them */
	uint32_t len;			/* of both */
	uint32_t size;			/* allocated */
};

struct mtree;

/* `ranks`: of the plan, 0 on top; NULL: by the distance from the first switch of each part of the
 * fabric. The fabric is borrowed. */
struct mtree *
mtree_new(const struct fabric *f, const uint8_t *ranks);
/* Trees that are parts of one, with the links between members there. Both are borrowed. */
struct mtree *
mtree_new_on(const struct fabric *f, const struct span *span);
void
mtree_free(struct mtree *t);	/* NULL is allowed */
/* Add the tree of a multicast LID to the set; returns how many members it leaves out. Nothing is
 * added for less than two ports. */
uint32_t
mtree_add(struct mtree *t, uint16_t mlid, const struct mtree_member *members, uint32_t len,
	  struct mtree_set *set);
/* Trees of the same multicast LIDs are as near as can be to those of the set from now on, so that
 * what joins or leaves changes little, and packets may meet the old tree and the new. Entries in
 * any order, of switches of this fabric; `in` is not looked at. Borrowed. */
void
mtree_follow(struct mtree *t, const struct mtree_set *set);
void
mtree_set_add(struct mtree_set *set, uint16_t mlid, const struct check_tree *t);
/* Add the tree that is followed as it is, if it is one and leads to just these members; false: it
 * is not. Whether it goes with the routing is for the proof to say. */
bool
mtree_keep(const struct mtree *t, uint16_t mlid, const struct mtree_member *members, uint32_t len,
	   struct mtree_set *set);
/* mtree_keep.c: are the entries, by ascending switches, such a tree? */
bool
mtree_serves(const struct fabric *f, const struct check_tree *trees, uint32_t ntrees,
	     const struct mtree_member *members, uint32_t len);
/* Add all of another. */
void
mtree_set_join(struct mtree_set *set, const struct mtree_set *more);
/* odd[MLID % MTREE_MLIDS] becomes true where a tree of the set is not a part of that of `whole`,
 * which is sorted by MLID, then switch. What is a part needs no proof of its own. */
void
mtree_set_odd(const struct mtree_set *set, const struct mtree_set *whole, bool odd[MTREE_MLIDS]);
/* Add those trees of another that are odd. */
void
mtree_set_pick(struct mtree_set *set, const struct mtree_set *from, const bool odd[MTREE_MLIDS]);
/* Of entries sorted by switch, then MLID, that were read from switches: packets come in by the
 * ports that other entries of the MLID lead to, too. */
void
mtree_close(const struct fabric *f, struct mtree_set *set);
void
mtree_set_free(struct mtree_set *set);

#endif
