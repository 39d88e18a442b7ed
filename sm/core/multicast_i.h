/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_MULTICAST_I_H
#define CORE_MULTICAST_I_H

#include "routing/mtree.h"
#include "sm/core/subnet_i.h"

/* Between multicast.c, which has trees made and proved, and mft.c, which sees to it that switches
 * hold them. */

/* A multicast LID as the worker needs it. */
struct job_group {
	uint16_t mlid;			/* it */
	uint32_t first;			/* of its members */
	uint32_t len;			/* how many */
	uint32_t from;			/* its tree begins there in the set */
	uint16_t sls;			/* service levels of their packets: bit n for SL n */
};

/* Made on the loop, filled by the worker, then what switches should hold. */
struct multicast_job {
	unsigned refs;			/* the loop's alone */
	struct subnet *s;		/* NULL: the subnet is gone, throw the result away */
	const struct plan *plan;	/* reference held */
	struct job_group *groups;	/* by MLID */
	uint32_t ngroups;		/* how many */
	struct mtree_member *members;	/* of all groups */
	uint32_t nmembers;		/* how many */
	unsigned threads;		/* for the proof */
	unsigned end;			/* above the highest MLID in use */
	struct mtree_set held;		/* what switches held when the job began */
	struct multicast_job *before;	/* the round before, if it was of this plan, until this one
					 * is done; reference held; NULL */
	bool pending;			/* it was still being written when the job began */
	struct mtree_set set;		/* the trees */
	bool inside;			/* they are parts of `span` */
	uint64_t root;			/* node GUID of its root, as it was before at first; 0 */
	struct span *span;		/* one tree that goes with the routing by its lanes; NULL */
	uint16_t sls;			/* for packets of these SLs */
	uint32_t *first;		/* by switch: its entries in by_switch[] */
	uint32_t *by_switch;		/* indices into the set, by switch, then MLID */
	uint32_t left_out;		/* members that no tree reaches */
	uint32_t left_port;		/* port index of one of them */
	bool mixes;			/* packets may meet trees of `held` and of `set` */
	int verdict;			/* of the proof */
	struct plan_check report;	/* and what it found */
};

/* The trees are of the plan that runs: if not, others follow. */
bool
mft_fits(const struct subnet *s);
/* The trees changed: they are to be written as soon as nothing else is to be done. */
void
mft_wanted(struct subnet *s);
/* What switches of the snapshot are known to hold, entries by switch, then MLID; mtree_close()
 * makes it complete. */
void
mft_held(const struct subnet *s, const struct fabric *f, struct mtree_set *set);
/* Of trees whose MLIDs groups have: the service levels of these. */
void
multicast_levels(const struct subnet *s, struct mtree_set *set);
/* Nothing of it is under way or waits any more. */
void
mft_drop(struct subnet *s);

#endif
