/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_TORUS_IMPL_H
#define ROUTING_TORUS_IMPL_H

#include "routing/engine.h"
#include "routing/grid.h"

/* Between torus.c, which routes by the dimensions, and torus_lanes.c, which tells classes and
 * lanes. */

/* What the classes and lanes of a torus are made from; lives as long as they do. */
struct torus_rule {
	unsigned dims;			/* of the grid */
	uint16_t radix[GRID_DIMS];	/* places along each */
	bool wraps[GRID_DIMS];		/* it is a ring */
	int8_t bit[GRID_DIMS];		/* of the class: the way crosses its date line; -1: none */
	unsigned bits;			/* in use */
	unsigned straight;		/* lanes for ways by the dimensions: 1 or 2 */
	unsigned turns;			/* sets of lanes for turns back, by where they come from */
	unsigned lanes;			/* all */
	uint16_t *at;			/* by switch: dims coordinates */
	uint32_t *hub;			/* by switch: place of its port 0 in way[] */
	uint8_t *way;			/* by port: where it leads, GRID_NO_WAY */
};

struct torus_rule *
torus_rule_new(const struct grid *g, unsigned vls);
void
torus_rule_free(struct torus_rule *r);
/* Does the short way along a dimension, between places of two switches, cross the date line? Ties
 * are broken by what both ends know. */
bool
torus_crosses(const struct torus_rule *r, uint32_t a, uint32_t b, unsigned dim);
uint8_t
torus_class(const struct torus_rule *r, uint32_t a, uint32_t b);
/* The lane of a packet that moves on by way `out`, having come by way `in` (GRID_NO_WAY: it starts
 * here). */
unsigned
torus_lane(const struct torus_rule *r, unsigned in, unsigned out, unsigned class);
/* Classes and lanes for a plan; takes the rule over. NULL, the rule freed: one class, one lane. */
struct plan_lanes *
torus_lanes(struct torus_rule *r);

#endif
