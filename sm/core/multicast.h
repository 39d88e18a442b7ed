/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_MULTICAST_H
#define CORE_MULTICAST_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/loop.h"

/* What a subnet keeps of multicast: multicast.c, and mft.c for what is written. */
struct agent;
struct device;
struct plan;
struct plan_stages;
struct span;
struct subnet;
struct transact_request;
struct transact_result;

/* What a round does to multicast tables: see mft.c. */
enum multicast_step {
	MULTICAST_READ,
	MULTICAST_REMOVE,
	MULTICAST_ADD,
	MULTICAST_WITHDRAW,
	MULTICAST_WAIT,		/* for the packets of what was withdrawn */
};

struct forest_job;
struct multicast_block;
struct multicast {
	struct loop_timer *timer;	/* collects joins */
	struct forest_job *job;		/* at the worker, or finished and not taken over; NULL */
	struct multicast_block *blocks;	/* MULTICAST_BLOCKS */
	const struct plan *plan;	/* of which the trees are; reference held; NULL: none yet */
	bool together;			/* they are proved together with the unicast tables only */
	bool inside;			/* they are parts of `span` */
	uint64_t root;			/* node GUID of its root; 0 */
	struct span *span;		/* one tree that goes with the routing by its lanes; NULL */
	uint16_t span_sls;		/* for packets of these SLs */
	uint32_t entries;		/* of all switches in all trees */
	unsigned end;			/* above the highest multicast LID in use */
	bool mixes;			/* packets may meet what is held and what should be */
	bool grows;			/* what is held is part of what should be */
	unsigned nblocks;		/* that some switch may hold */
	uint32_t left_out;		/* members that no tree reaches */
	char left_name[100];		/* one of them, for people */
	uint32_t crowded;		/* groups that share a MLID for want of others */
	char refused[400];		/* why there are no trees, "" */

	struct loop_timer *waited;	/* until packets of old trees have left the fabric */
	struct loop_timer *retry;	/* repeats what did not get through */
	enum multicast_step step;	/* of the present round */
	bool interrupted;		/* the round gives way to something else */
	bool unread;			/* some switch may hold what we do not know */
	bool found;			/* some switch held something before we wrote it */
	monotime not_before;		/* no ports are added */
	struct loop_timer *doubt;	/* after a takeover: until all have registered again */
	unsigned found_end;		/* above the highest multicast LID that was found then */
	uint32_t removed;		/* tables from which ports went in this round */
	uint32_t failed;		/* switches that did not take them in this round */
	bool troubled;			/* some did not in an earlier one, and are not well yet */
	struct plan *then_plan;		/* to be pushed when trees are withdrawn; NULL */
	struct plan_stages *then_stages;	/* and how */
	bool then_reregister;		/* and whether hosts are asked to register again */
};

/* multicast.c */
void
multicast_init(struct subnet *s);
void
multicast_free(struct subnet *s);
/* The members of groups that have the multicast LID have changed. */
void
multicast_changed(struct subnet *s, uint16_t mlid);
/* So have the paths of the fabric, or what switches hold. */
void
multicast_changed_all(struct subnet *s);
/* All is programmed for the first time since we lead; after somebody else hosts are asked to
 * register again, and until they have had time to tables say more of members than we know. */
void
multicast_leads(struct subnet *s, bool after_another);
/* Let go of what is under way. */
void
multicast_drop(struct subnet *s);

/* mft.c */
void
mft_init(struct subnet *s);
void
mft_end(struct subnet *s);
/* The switch was reset, or somebody else may have written to it. */
void
mft_forget(struct subnet *s, struct device *d);
/* Take the trees away before the plan is pushed, which follows. False: there are none; then nothing
 * is taken over. */
bool
mft_withdraw(struct subnet *s, struct plan *plan, struct plan_stages *stages, bool reregister);
/* Nothing else is to be done: write tables if some differ. True: that is under way, and ends in
 * between_over(). */
bool
mft_write(struct subnet *s);
bool
mft_next(struct subnet *s, struct agent *a, struct transact_request *r);
void
mft_done(struct subnet *s, struct agent *a, const struct transact_result *res);
void
mft_idle(struct subnet *s);
/* Blocks of a switch's table up to the last that has, or may have, an entry. */
unsigned
mft_blocks(const struct device *d);
/* Whether there is such a block, at this position, among what was ever looked at. */
bool
mft_has(const struct device *d, unsigned block, unsigned position);
/* What the switch holds there; false: that is not known. */
bool
mft_block(const struct device *d, unsigned block, unsigned position, uint16_t masks[32]);

#endif
