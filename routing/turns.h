/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_TURNS_H
#define ROUTING_TURNS_H

#include "routing/layers.h"

/*
 * Lanes by turns. A packet starts on lane 0; at each switch the turn that it takes, from a link to
 * the next, decides its lane from there on, whatever it came on, as tables by in and out port do:
 * such lanes take no path class. The first turn is to lane 1 or above. From one turn of a way to
 * the next the lane never falls; where it stays, the two links follow each other in the order of
 * the lane (layers.h). So no circle of links can come to wait for each other.
 *
 * A turn is on the lowest lane that the ways which were let in leave to it.
 */
struct turns {
	struct layers *y;		/* the order of each lane, two or more; borrowed */
	uint8_t *lane;			/* by turn, numbered as in y: behind it */
	bool *fixed;			/* by turn: its lane stays */
	unsigned words;			/* of a bitmap of the links of a switch */
	uint64_t *then;			/* by turn: bitmap of the next turns of ways */
	struct turns_change *log;	/* of the present question */
	uint32_t nlog, room;		/* in use, allocated */
};

struct turns *
turns_new(struct layers *y);
void
turns_free(struct turns *t);		/* NULL is allowed */
/* This turn, which the orders of all lanes have, is on the highest: whatever lane packets come on,
 * it does not fall. */
void
turns_fix(struct turns *t, uint32_t in, uint32_t out);
/* All ways are let in: no lanes stay in between that nobody uses. */
void
turns_settle(struct turns *t);
/* May a way turn from `in` to `out` and then go on to `then`? That is let in. False, with nothing
 * changed: no lane is left for it. */
bool
turns_enter(struct turns *t, uint32_t in, uint32_t out, uint32_t then);
/* What that changes: 0 nothing, 1 the order of a lane, 2 the lanes of others. */
unsigned
turns_cost(const struct turns *t, uint32_t in, uint32_t out, uint32_t then);

#endif
