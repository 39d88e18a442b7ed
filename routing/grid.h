/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROUTING_GRID_H
#define ROUTING_GRID_H

#include "sm/base/error.h"
#include "routing/links.h"

/*
 * Meshes, tori and hypercubes: switches at the places of a grid of up to GRID_DIMS dimensions,
 * cabled to their neighbours along each; a dimension may wrap around, which makes rings of its
 * lines. A ring of four is the same as two dimensions of two, and is taken for that: one after the
 * other, as far as port numbers tell which two belong together.
 *
 * A grid is found by the cabling alone, once; afterwards it is known by the GUIDs of the switches,
 * so that what is lost keeps its place.
 */
#define GRID_DIMS 8u

struct grid_shape {
	uint32_t refs;			/* atomic */
	unsigned dims;			/* in use; 0: a switch alone */
	uint16_t radix[GRID_DIMS];	/* places along each, the longest first */
	bool wraps[GRID_DIMS];		/* the last is a neighbour of the first */
	uint32_t stride[GRID_DIMS];	/* between neighbours, in numbers of places */
	uint32_t nplaces;		/* product of the radices */
	uint32_t n;			/* length of guid[] and place[] */
	uint64_t *guid;			/* switches, ascending */
	uint32_t *place;		/* of each: sum of coordinate x stride */
};

/* A snapshot in a grid. A way is 2 x dimension, or one more: downwards. */
struct grid {
	const struct grid_shape *shape;	/* borrowed */
	const struct links *links;	/* of the snapshot; borrowed */
	uint32_t *place;		/* by switch index */
	uint16_t *at;			/* by switch index: dims coordinates */
	uint8_t *way;			/* by link: which way it leads */
	uint32_t *link;			/* by switch, then way: the link; LINKS_NONE: missing */
};
#define GRID_NO_WAY 255u

/* The shape of a fabric (a reference), or ERR_REFUSED and the place that fits no grid. */
int
grid_find(const struct links *l, struct grid_shape **shape, struct error *e);
/* The smallest grid that all links fit into, where grid_find() sees none because a small fabric
 * lacks much (a reference); NULL: none, or none that is found in a bounded time. */
struct grid_shape *
grid_complete(const struct links *l);
struct grid_shape *
grid_shape_ref(struct grid_shape *s);
void
grid_shape_unref(void *shape);	/* a struct grid_shape; NULL is allowed */
/* "8x8x8 torus", "5x3 mesh", "ring of 7 switches", "hypercube of 5 dimensions", "4x4 torus or
 * hypercube of 4 dimensions", which are the same, "5tx4m grid (t: ring, m: line)". */
#define GRID_TEXT_SIZE 96
const char *
grid_text(char text[GRID_TEXT_SIZE], const struct grid_shape *s);

/* Puts a snapshot into a shape; grid_close() in any case. ERR_REFUSED and the switch or link that
 * does not fit. */
int
grid_open(struct grid *g, const struct grid_shape *s, const struct links *l, struct error *e);
void
grid_close(struct grid *g);

static inline unsigned
grid_coordinate(const struct grid *g, uint32_t sw, unsigned dim)
{
	return g->at[sw * g->shape->dims + dim];
}

static inline uint32_t
grid_link(const struct grid *g, uint32_t sw, unsigned way)
{
	return g->link[sw * 2 * g->shape->dims + way];
}

/* The switch there; FABRIC_NONE: none, or no link. */
static inline uint32_t
grid_next(const struct grid *g, uint32_t sw, unsigned way)
{
	uint32_t link = grid_link(g, sw, way);

	return link == LINKS_NONE ? FABRIC_NONE : g->links->to[link];
}

#endif
