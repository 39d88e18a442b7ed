/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef QOS_COMPOSE_H
#define QOS_COMPOSE_H

#include "sm/base/error.h"
#include "sm/fabric/plan.h"
#include "sm/fabric/sls.h"

/*
 * Service levels and lanes, composed once: an engine needs C path classes and V lanes, quality of
 * service asks for Q levels; each (level, class) gets an SL, each (level, lane) a VL.
 *
 * - Class 0 of a level has the SL that it is given, or the lowest that no level is given, in the
 *   order of levels (level q has SL q where nothing is said), and keeps it whatever engine runs.
 *   Further classes take free SLs from 15 downwards: class 1 of all levels, then class 2, ...
 * - A level has V lanes from the one on that it is given, or the lowest that are free. Levels that
 *   are given the same lane share all V; some of them only is an error.
 * - VL = the level's first lane + the engine's, on links between switches. A link to a host carries
 *   a level on its first lane, or on the last lane that the link has.
 * - An SL that nobody has is sent to VL 15, which drops, unless the engine has one class: then it
 *   is treated as level 0. With several classes a level must have SL 0, which multicast and whoever
 *   asks nobody use.
 * - Q x C SLs must be there, and all lanes on every link between switches, as both ends and
 *   `max_vls` allow. Where they are not, and `merge` is set, the last levels share: SLs and lanes
 *   with the level before that still has its own, lanes with the last one that has room.
 *
 * Levels that share lanes are as well proved as others: each keeps to the engine's order of lanes.
 */
struct compose_level {
	const char *name;		/* for sentences */
	uint8_t sl;			/* of class 0; SLS_FREE: whichever */
	uint8_t vl;			/* first lane; SLS_FREE: whichever */
};

struct compose_input {
	const struct fabric *fabric;
	const struct plan_lids *lids;
	struct plan_lanes *lanes;	/* the engine's; NULL: one class, one lane */
	const char *engine;		/* its name, for sentences */
	unsigned levels;		/* Q, 1..16 */
	const struct compose_level *level;	/* Q of them; NULL: nothing is said of them */
	bool merge;			/* levels may share what there is too little of */
	unsigned max_vls;		/* lanes for data that a link may run: 1, 2, 4, 8 or 15 */
	uint16_t given;			/* bit n: SL n was given out by earlier plans */
};

/* Needs the engine anything of its own at all, or is anything said of levels? Else nothing is
 * written, and any table will do. */
bool
compose_needed(const struct compose_input *in);
/*
 * *sls gets the tables (a reference). 0; or ERR_REFUSED with a sentence that names both sides: what
 * is needed, and what there is of SLs or of lanes on which link; or a switch where the engine wants
 * what a table by (in port, out port, SL) cannot say.
 */
int
compose(const struct compose_input *in, struct plan_sls **sls, struct error *e);

/* SLs that hosts were told of, over all plans (and restarts). */
struct compose_given {
	char engine[32];	/* whose rules the newest were given out by; "": nobody's */
	uint16_t classes;	/* path classes that it has */
	uint16_t sls;		/* bit n: SL n is among these */
	uint16_t stale;		/* bit n: SL n was given out by others before */
	uint64_t class_of;	/* four bits for each SL from the lowest on: its path class */
	uint64_t pairs;		/* struct plan_sls: which pairs of switches had which class */
};

/* What the owner of a plan wants of service levels, as `compose_arg` of a chain of engines
 * (routing/engine.h), whose `compose` is compose_chain(). */
struct compose_policy {
	unsigned levels;		/* as in compose_input */
	const struct compose_level *level;	/* likewise */
	bool merge;			/* likewise */
	unsigned max_vls;		/* likewise */
	const struct plan *previous;	/* whose SLs hosts have; NULL */
	const struct plan_lids *held;	/* without that: addresses that ports have now; NULL */
	const struct compose_given *given;	/* what hosts have, plans before that one included;
						 * NULL: as the previous plan tells */
};

/* Lanes of the link between switches that has fewest, as both ends and max_vls allow; *port gets
 * one of its ports (FABRIC_NONE and max_vls: there is no such link). */
unsigned
compose_least_vls(const struct fabric *f, unsigned max_vls, uint32_t *port);
/* Lanes that an engine may take, lest levels that are not to share want more than there are: at
 * least 1. If that is too little for it and levels may share, it takes all. */
unsigned
compose_engine_vls(const struct compose_policy *p, const struct fabric *f);
/* What they have been told once this plan is published. */
struct compose_given
compose_give(const struct compose_given *before, const struct plan *plan);
int
compose_chain(void *policy, const struct plan *plan, const char *engine, struct plan_lanes *lanes,
	      struct plan_sls **sls, struct error *e);

#endif
