/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_BALANCE_H
#define ROUTING_BALANCE_H

#include "routing/engine.h"
#include "routing/levels.h"

/*
 * From "which ports may lead to this switch" to tables: the part that all engines of balanced
 * single paths share. An engine says, for each home switch, which edges of each switch lead
 * towards it (a tree); the balancer chooses one of them for every LID.
 */
struct balance_tree {
	uint32_t n;		/* switches that reach the home switch, itself included */
	uint32_t *order;	/* they, by rising distance; order[0] is the home switch */
	uint16_t *dist;		/* by switch: links to go, BALANCE_FAR if it does not reach it */
	uint32_t *first;	/* by place in order[], n + 1: where its edges start in edge[] */
	uint32_t *edge;		/* fabric edge indices, each towards a switch that is nearer */
	uint8_t *mark;		/* by switch: the engine's own scratch */
	uint32_t serial;	/* the balancer's: tells trees apart */
};

#define BALANCE_FAR LEVELS_FAR
#define BALANCE_FREE LEVELS_FREE	/* in exits[]: the switch forwards as we say */

/*
 * Fill the tree of one home switch. `exits` is NULL, or by switch index the one port by which a
 * silent switch forwards this LID (LFT_NO_PORT: none), BALANCE_FREE for switches that obey. It must
 * hold all switches that levels_reach() finds: the checker demands a way from each of them.
 * Called from several threads at once, each with a tree of its own.
 */
typedef void (*balance_tree_fn)(const void *arg, uint32_t home, const uint8_t *exits,
				struct balance_tree *t);

struct balance_trees {
	balance_tree_fn hosts;		/* for LIDs of channel adapters */
	const void *hosts_arg;		/* handed to it */
	balance_tree_fn switches;	/* for LIDs of switches */
	const void *switches_arg;	/* handed to it */
};

/* Fill out->rows. */
void
balance_rows(const struct engine_input *in, struct engine_output *out,
	     const struct balance_trees *trees);

/* The same for the LIDs that are marked in wanted[] (by LID; NULL: all) and in rows that are there:
 * other entries stay. */
void
balance_lids(const struct engine_input *in, struct engine_output *out,
	     const struct balance_trees *trees, const uint8_t *wanted);

#endif
