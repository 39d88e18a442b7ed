/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_CHECK_H
#define ROUTING_CHECK_H

#include "routing/quality.h"
#include "sm/fabric/adaptive.h"
#include "sm/fabric/plan.h"

/* Where one multicast LID goes at one switch. */
struct check_tree {
	uint64_t in[4];		/* bit n of the 256: packets may come in by port n */
	uint64_t out[4];	/* they leave by all of these but the one they came by */
	uint32_t sw;		/* switch index */
	uint16_t sls;		/* bit n: packets of SL n; 0: of any */
};

/*
 * The proof that stands before any programming. For every LID in use, from every switch:
 * the tables lead to its owner (no hole, no loop, no wrong exit) wherever cables do; and the
 * channel dependency graph, whose vertices are (directed link, lane) and whose edges are
 * "a packet may hold the one while it waits for the other", has no cycle (Dally & Seitz 1987;
 * Duato 1993). Paths of CAs and of switch management ports are entered, all classes. The graph is
 * made only where no order of switches is at hand in which no way turns from down to up: such an
 * order is a proof by itself.
 *
 * A switch that is silent, or refuses its table (FABRIC_NODE_FIXED), joins only what its row joins;
 * what it lacks is cut off, not a fault. Its row may be NULL.
 *
 * With `also` the union of two sets of tables over the same LIDs is proved free of credit loops:
 * any mixture of old and new entries, switch by switch, that packets can meet while tables change.
 *
 * Parallel over destinations; memory O(links x ports + LIDs), results independent of threads.
 */
struct check_input {
	const struct fabric *fabric;
	const struct plan_lids *lids;
	struct plan_row *const *rows;	/* by switch index */
	struct plan_row *const *also;	/* second tables for the union; NULL */
	const struct plan_lanes *lanes;	/* NULL: one class, one lane */
	/* By switch: the order in which no way turns up again, as the engine has it; a hint that is
	 * not trusted; NULL. */
	const uint8_t *ranks;
	/* Tables that check_prove() gave a proof of, with these ranks, fabric and LIDs:
	 * check_union() looks first at what differs from them only; NULL. */
	struct plan_row *const *proved;
	/* Multicast: what its packets wait for is in the same graph. Whether they arrive is not
	 * looked at. */
	const struct check_tree *trees;
	uint32_t ntrees;
	/* Adaptive routing (routing/adaptive.h) that packets may meet beside `rows`, and beside
	 * `also`: what they wait for by groups is in the graph too. NULL: none. */
	const struct plan_adaptive *adaptive;
	const struct plan_adaptive *adaptive_also;
	bool sound;			/* every switch of `rows` has a way to every LID */
	unsigned threads;		/* 0: one per core */
};

/* Fills the report; returns 0 if the tables are proved (no unreachable, loop, hole, misdelivered,
 * credit loop), ERR_REFUSED if not. */
int
check_routing(const struct check_input *in, struct plan_check *report);
/*
 * The same, and *proof (a reference, for plan->proof) gets what the next proof can go on from, or
 * NULL if there is nothing of that kind: it takes ranks, a fabric in one piece, no fault, and no
 * `also`. With a previous plan that has a proof, only what changed since is proved, if its
 * switches, LIDs and ranks are still the same; the report is that of a whole proof in any case.
 */
int
check_prove(const struct check_input *in, const struct plan *previous, struct plan_check *report,
	    struct plan_proof **proof);
/* Do the trees by themselves keep to in->ranks, by which the rows are proved? Then so does whatever
 * is under way besides, and nothing else need be looked at. False: a whole proof has to. */
bool
check_trees(const struct check_input *in);
/* Only the credit-loop part, of rows united with `also`: 0 or ERR_REFUSED with report->cycle. */
int
check_union(const struct check_input *in, struct plan_check *report);

#endif
