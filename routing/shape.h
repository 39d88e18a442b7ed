/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_SHAPE_H
#define ROUTING_SHAPE_H

#include "routing/engine.h"

/* What a fabric is, by its cabling: for engine auto, and for people. */
enum shape_kind {
	SHAPE_NONE,		/* no switch, or one alone */
	SHAPE_TREE,		/* levels of switches, hosts below */
	SHAPE_LOOSE,		/* no two ways between any two switches, hosts everywhere */
	SHAPE_GRID,		/* mesh, torus or hypercube (grid.h) */
	SHAPE_ROWS,		/* HyperX or full mesh (rows.h) */
	SHAPE_SLIM,		/* Slim Fly (slim.h) */
	SHAPE_GROUPS,		/* dragonfly or dragonfly+ (groups.h) */
	SHAPE_IRREGULAR,	/* anything else */
};

struct shape {
	enum shape_kind kind;
	char name[160];		/* "8x8x8 torus", "3-level fat tree" */
	char lost[160];		/* ", 1 ring broken", ", 2 spines missing 3 cables"; or "" */
};

/*
 * The shape of a snapshot with what is known to be lost put back (nominal.h); where that has none
 * that is known, of what is there. A fabric that still fits the shape by which the last plan was
 * routed has that. Deterministic; does not route.
 */
void
shape_find(const struct engine_input *in, struct shape *s);

#endif
