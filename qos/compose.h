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
 * - Class 0 of level q has SL q, and keeps it whatever engine runs. Further classes take free SLs
 *   from 15 downwards: class 1 of all levels, then class 2, and so on.
 * - VL = level x V + the engine's lane, on links between switches. A link to a host carries a level
 *   on its first lane, or on the last lane that the link has.
 * - An SL that nobody has is sent to VL 15, which drops, unless the engine has one class: then it
 *   is treated as level 0.
 * - Q x C SLs must be there, and Q x V lanes on every link between switches, as both ends and
 *   `max_vls` allow.
 */
struct compose_input {
	const struct fabric *fabric;
	const struct plan_lids *lids;
	struct plan_lanes *lanes;	/* the engine's; NULL: one class, one lane */
	const char *engine;		/* its name, for sentences */
	unsigned levels;		/* Q, 1..16 */
	unsigned max_vls;		/* lanes for data that a link may run: 1, 2, 4, 8 or 15 */
	uint16_t given;			/* bit n: SL n was given out by earlier plans */
};

/* Needs the engine anything of its own at all? Else nothing is written, and any table will do. */
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
};

/* What the owner of a plan wants of service levels, as `compose_arg` of a chain of engines
 * (routing/engine.h), whose `compose` is compose_chain(). */
struct compose_policy {
	unsigned levels;		/* as in compose_input */
	unsigned max_vls;		/* likewise */
	const struct plan *previous;	/* whose SLs hosts have; NULL */
	const struct compose_given *given;	/* what hosts have, plans before that one included;
						 * NULL: as the previous plan tells */
};

/* What they have been told once this plan is published. */
struct compose_given
compose_give(const struct compose_given *before, const struct plan *plan);
int
compose_chain(void *policy, const struct plan *plan, const char *engine, struct plan_lanes *lanes,
	      struct plan_sls **sls, struct error *e);

#endif
