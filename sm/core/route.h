/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_ROUTE_H
#define CORE_ROUTE_H

#include <stdbool.h>
#include <stdint.h>
#include "sm/base/loop.h"

/* From the model to a published plan: route.c (what routing is shown), planner.c (routing on a
 * worker), proof.c (the proof that follows), refresh.c (the plan on a newer snapshot). */
struct fabric;
struct plan_lids;
struct plan_stages;
struct subnet;

/* A job for the worker; see planner.c. */
struct plan_job;

/* What routing is to be shown, while it is made; see route.c. */
struct snapshot;
struct route_job;
struct route {
	struct snapshot *collecting;	/* the model, in slices; NULL */
	struct route_job *job;		/* at the worker, or back from it; NULL */
	bool command;			/* for a command: what is known is routed */
};

/* The published plan on a newer snapshot, while that is made; see refresh.c. */
struct snapshot_states;
struct refresh_job;
struct refresh {
	struct loop_timer *timer;	/* the next slice of `collecting` */
	struct snapshot *collecting;	/* everything, in slices; NULL */
	struct refresh_job *job;	/* at the worker; NULL */
	struct snapshot_states *states;	/* of ports, in slices; NULL */
};

/* The proof from nothing that follows that of a repair; see proof.c. */
struct proof_job;
struct proof {
	struct loop_timer *timer;	/* until it begins */
	struct proof_job *job;		/* at the worker; NULL */
	bool due;			/* it is still to come */
	bool whole;			/* the published plan has one */
	bool distrust;			/* it disagreed: the next routing starts from nothing */
};

/* route.c */
/* Begin stage ROUTE; for a command, or after a sweep. It ends in planner_start(), or in
 * subnet_rest() if what the command asks for is refused. */
void
route_start(struct subnet *s, bool command);
void
route_turn(struct subnet *s);
/* Let go of what is under way. */
void
route_drop(struct subnet *s);

/* planner.c */
/* Route `f`. `whole` is the same with all cables that are up. `lids` becomes the plan's; NULL for a
 * rehearsal, which has those of the published plan and ends in subnet_route_done() like others. */
void
planner_start(struct subnet *s, const struct fabric *f, const struct fabric *whole,
	      struct plan_lids *lids);
void
planner_free_job(struct plan_job *job);
/* Let go of the job at the worker, if there is one: its result will be thrown away. */
void
planner_drop(struct subnet *s);
void
plan_stages_free(struct plan_stages *st);	/* NULL is allowed */

/* proof.c */
/* Timer: prove the published plan from nothing. */
void
proof_begin(void *subnet);
/* A plan was published; `repaired`: its proof went on from that of the plan before. */
void
proof_published(struct subnet *s, bool repaired);
/* Let go of what is under way. */
void
proof_drop(struct subnet *s);

/* refresh.c */
void
refresh_init(struct subnet *s);
/* Publish what programming made of the ports, bit by bit: readers see ACTIVE, not what discovery
 * found. True: that is done; false: to be called again. */
bool
subnet_refresh(struct subnet *s);
/* Publish what is known now, names and all, by and by: begun now, or when the stage has ended. */
void
refresh_all(struct subnet *s);
/* Let go of what is under way. */
void
refresh_drop(struct subnet *s);
void
refresh_free(struct subnet *s);

#endif
