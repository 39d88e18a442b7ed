/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_PLANNER_H
#define CORE_PLANNER_H

#include "qos/configured.h"
#include "routing/mtree.h"
#include "sm/core/adaptive.h"
#include "sm/core/lanes.h"
#include "sm/core/rules_job.h"
#include "sm/core/subnet_i.h"

/* A routing job. The worker owns it between planner_start() and subnet_route_done(). */
struct plan_job {
	struct subnet *s;		/* NULL: the subnet is gone, throw the result away */
	struct plan *plan;		/* being made; reference held */
	const struct fabric *whole;	/* its snapshot with the links that routing was not shown;
					 * reference held; NULL: it was shown all */
	const struct plan *previous;	/* published before, for engines that keep ports; NULL */
	struct plan *shadow;		/* what the switches hold; NULL if nothing is known */
	struct plan_row **maybe;	/* by switch, silent: another row that it may hold in part,
					 * reference held; NULL; see device.lft_tried */
	bool blind;			/* of a silent switch nobody knows what it holds */
	struct plan_stages *stages;	/* how to get from shadow to plan; NULL: in one go */
	char **names;			/* engine chain, NULL-terminated, owned */
	uint64_t *roots;		/* owned */
	unsigned nroots;
	char **storage;			/* selections of that class, NULL-terminated, owned */
	char **other;			/* likewise */
	struct plugged_job plugged;	/* engines that others made */
	struct lfts *tables;		/* for engine `file`; reference held, NULL */
	bool fallback;			/* the chain may be tried on */
	bool dry_run;			/* nothing is programmed */
	bool fresh;			/* the engine does not go on from what runs */
	bool keep;			/* we take over: what switches hold is kept if it can be */
	bool led_last;			/* before that, nobody else did */
	bool full;			/* nor keeps to what is nominal */
	bool measured;			/* load_before and load_after are wanted */
	uint32_t load_before;		/* worst load of a link by a shift, now */
	uint32_t load_after;		/* and with the plan */
	struct lane_tables **held;	/* by switch: SL to VL maps that it holds; NULL */
	struct partition_job *parts;	/* P_Keys, compiled along; NULL: none */
	struct adaptive_ability *ability;	/* by switch: who can route adaptively; NULL */
	struct plan_ar_switch **spread;	/* by switch: groups that it holds; reference, NULL */
	struct adaptive_read **spread_read;	/* or what its entries were read to be; likewise */
	struct plan_adaptive *spread_before;	/* the same by the plan's snapshot; NULL */
	struct adaptive_policy spread_policy;	/* which packets may be spread */
	bool spread_known;		/* all of what is held can be told so */
	const struct fabric **spread_of;	/* and by whose switches, */
	struct plan_lids **spread_lids;	/* and whose LIDs, unless they were read; references */
	bool *refuses;			/* by switch: it does not take any */
	struct compose_given given;	/* SLs that hosts have */
	struct rules_job rules;		/* of quality of service, compiled along */
	const struct config *conf;	/* of levels of service; reference held; NULL */
	struct qos_levels levels;	/* by it */
	unsigned max_vls;		/* lanes for data that a link may run */
	unsigned lanes;			/* as in engine_options */
	unsigned threads;
	bool untimed;			/* the plan tells no times of the machine */
	int error;			/* outcome of the chain */
	struct error why;		/* and why */
	struct mtree_set trees;		/* multicast trees of switches */
	bool shifts;			/* packets pass by SL to VL maps that are to change */
	bool withdraw;			/* they do not go with the new tables, or the way there */
	char union_cycle[1200];		/* why old and new do not mix, "" if they do */
	uint32_t switches;		/* whose rows differ in plan and shadow */
	uint32_t blocks;		/* LFT blocks in which they differ */
	uint32_t writes;		/* that are written: some change in several stages */
	uint32_t group_writes;		/* blocks of groups of adaptive routing, likewise */
	uint64_t entries;		/* entries in which they differ */
};

/* The row of a switch in a stage of the way from shadow to plan; behind the last, the plan's. */
const struct plan_row *
planner_stage_row(const struct plan_job *j, unsigned stage, uint32_t sw);

/* stages.c: fill job->stages where old and new tables must not meet as they like. */
void
stages_make(struct plan_job *j);

#endif
