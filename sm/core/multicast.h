/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_MULTICAST_H
#define CORE_MULTICAST_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/loop.h"

/* What a subnet keeps of multicast: multicast.c, and mft.c for what is written. */
struct plan;
struct plan_stages;
struct span;

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
	uint32_t removed;		/* tables from which ports went in this round */
	uint32_t failed;		/* switches that did not take them in this round */
	bool troubled;			/* some did not in an earlier one, and are not well yet */
	struct plan *then_plan;		/* to be pushed when trees are withdrawn; NULL */
	struct plan_stages *then_stages;	/* and how */
	bool then_reregister;		/* and whether hosts are asked to register again */
};

#endif
