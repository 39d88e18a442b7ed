/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_MULTICAST_I_H
#define CORE_MULTICAST_I_H

#include "routing/mtree.h"
#include "sm/core/subnet_i.h"

/* Between multicast.c, which knows what is to be done when, forest.c, which makes trees and proves
 * them on a worker, and mft.c, which sees to it that switches hold them. */
#define MULTICAST_BLOCK 32u	/* multicast LIDs of a block of tables, which change as one */
#define MULTICAST_BLOCKS (MTREE_MLIDS / MULTICAST_BLOCK)

/* A port that is a member, as the subnet administrator knows it. */
struct forest_port {
	uint64_t guid;			/* its own, where it joined by an alias */
	bool receives;			/* else it only sends */
};

/* A multicast LID. */
struct forest_group {
	uint16_t mlid;			/* it */
	uint16_t sls;			/* service levels of its packets: bit n for SL n */
	uint32_t first;			/* of its members, first in ports[], then in members[] */
	uint32_t len;			/* how many */
	uint32_t from;			/* its tree begins there in the set */
};

/* What switches should hold of the multicast LIDs of a block. The worker makes it of ports; from
 * then on it is constant. */
struct forest {
	unsigned refs;			/* the loop's alone */
	struct forest_port *ports;	/* of all groups; NULL once there are members */
	struct mtree_member *members;	/* those of them that are on a switch */
	struct forest_group groups[MULTICAST_BLOCK];	/* that have members, by MLID */
	uint32_t ngroups;		/* how many */
	struct mtree_set set;		/* the trees, by MLID, then switch */
	uint32_t *first;		/* by switch: its entries in by_switch[] */
	uint32_t *by_switch;		/* indices into the set, by switch, then MLID */
	uint32_t left_out;		/* members that no tree reaches */
};

/* The multicast LIDs of a block. */
struct multicast_block {
	struct forest *forest;		/* what switches should hold; NULL: nothing */
	bool due;			/* it is to be made anew, */
	monotime since;			/* since then, */
	monotime last;			/* for the last time then */
	monotime patience;		/* how long changes that follow each other are collected; 0:
					 * for the shortest time */
	bool unwritten;			/* switches may hold something else */
	bool writing;			/* it is of the present round */
};

/* A block in a job. */
struct forest_job_block {
	unsigned number;		/* which */
	struct forest *forest;		/* to be made; reference held */
	struct forest *before;		/* what there is, if of this plan; reference held; NULL */
	bool pending;			/* that may be in switches, though not in `held` */
};

/* Made on the loop, done by the worker, taken over by the loop. */
struct forest_job {
	struct subnet *s;		/* NULL: the subnet is gone, throw the result away */
	const struct plan *plan;	/* reference held */
	bool whole;			/* of all blocks, which are proved together with the unicast
					 * tables; else each tree is proved for itself */
	bool finished;			/* the worker is done with it */
	unsigned threads;		/* for the proof */
	unsigned end;			/* above the highest multicast LID in use */
	struct forest_job_block *blocks;	/* by number */
	uint32_t nblocks;		/* how many */
	struct mtree_set held;		/* what switches held of them when the job began */
	struct mtree_set found;		/* and when we took over, while that counts */
	bool keep;			/* trees that are held are taken as they are if they are
					 * good: they may be another manager's */
	bool kept;			/* some were */
	bool inside;			/* trees are parts of `span` */
	bool was_inside;		/* those of the round before were */
	uint64_t root;			/* node GUID of its root, as it was before at first; 0 */
	struct span *span;		/* one tree that goes with the routing by its lanes; NULL.
					 * That of the round before at first */
	uint16_t span_sls;		/* for packets of these SLs */
	uint16_t sls;			/* service levels of all groups */
	uint32_t left_port;		/* port index of a member that is left out; FABRIC_NONE */
	bool grows;			/* what is held is part of what is made */
	bool mixes;			/* packets may meet what is held and what is made */
	int verdict;			/* of the proof */
	struct plan_check report;	/* and what it found */
};

/* ---- forest.c ---- */

/* On the worker: fills the forests of a job, and its outcome. If the proof fails there is nothing
 * in them. */
void
forest_run(void *job);
void
forest_job_free(struct forest_job *j);	/* NULL is allowed */
void
forest_free(struct forest *f);		/* lets go of a reference; NULL is allowed */
/* How many switches are in the tree of a multicast LID. */
uint32_t
forest_tree_size(const struct forest *f, uint16_t mlid);

/* ---- found.c ---- */

/* On the worker: who is a member by what was found at a takeover is one of the job's, too. */
void
found_add(struct forest_job *j);

/* ---- multicast.c ---- */

/* Some may not have registered again yet. */
bool
multicast_in_doubt(const struct subnet *s);

/* A round has ended, or another stage begins: what the worker made meanwhile is what switches
 * should hold from now on. Not in between: while a round lasts, they hold some of the one and
 * some of what was before, and not of a third. */
void
multicast_take(struct subnet *s);
/* Of trees whose MLIDs groups have: the service levels of these. */
void
multicast_levels(const struct subnet *s, struct mtree_set *set);

/* ---- mft.c ---- */

/* The trees are of the plan that runs: if not, others follow. */
bool
mft_fits(const struct subnet *s);
/* Does some block wait to be written? */
bool
mft_unwritten(const struct subnet *s);
/* If so, that is done as soon as nothing else is to be done. */
void
mft_wanted(struct subnet *s);
/* What switches of the snapshot are known to hold, entries by switch, then MLID; mtree_close()
 * makes it complete. `wanted`: by block, which; NULL: all. */
void
mft_held(const struct subnet *s, const struct fabric *f, const bool *wanted,
	 struct mtree_set *set);
/* The same of what they were found to hold at a takeover. */
void
mft_found(const struct subnet *s, const struct fabric *f, const bool *wanted,
	  struct mtree_set *set);
/* That does not count any more. */
void
mft_found_over(struct subnet *s);
/* Nothing of it is under way or waits any more. */
void
mft_drop(struct subnet *s);

#endif
