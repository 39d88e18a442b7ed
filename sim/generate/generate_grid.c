/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include "sim/generate/generate_impl.h"

/*
 * Switches in a grid of 1 to 4 dimensions: along each dimension a row is a ring (torus), a line
 * (mesh), or a complete graph (HyperX: Ahn, Binkert, Davis, McLaren, Schreiber 2009). A
 * hypercube is a HyperX whose sides are all 2.
 */
#define MAX_DIMENSIONS 12u	/* of a hypercube; others have at most 4 */

enum row {
	ROW_RING,		/* a side of 2 is a double cable */
	ROW_LINE,
	ROW_COMPLETE,
};

struct grid {
	enum row row;			/* how a row is joined */
	unsigned ndims;			/* in use */
	unsigned side[MAX_DIMENSIONS];	/* switches along each */
	unsigned hosts;			/* on each switch */
	uint32_t switches;		/* product of the sides */
};

/* The last dimension runs fastest. */
static unsigned
coordinate(const struct grid *g, uint32_t sw, unsigned dim)
{
	for (unsigned d = g->ndims - 1; d > dim; d--)
		sw /= g->side[d];
	return sw % g->side[dim];
}

static uint32_t
stride(const struct grid *g, unsigned dim)
{
	uint32_t step = 1;

	for (unsigned d = dim + 1; d < g->ndims; d++)
		step *= g->side[d];
	return step;
}

static unsigned
row_ports(const struct grid *g, unsigned dim)
{
	return g->row == ROW_COMPLETE ? g->side[dim] - 1 : 2;
}

static void
join_row(struct plan *p, const struct grid *g, uint32_t sw, unsigned dim)
{
	unsigned at = coordinate(g, sw, dim), side = g->side[dim];
	uint32_t step = stride(g, dim), start = sw - at * step;

	if (side == 1 || (g->row == ROW_LINE && at + 1 == side))
		return;
	if (g->row != ROW_COMPLETE)
		plan_join(p, sw, start + (at + 1) % side * step);
	for (unsigned to = at + 1; g->row == ROW_COMPLETE && to < side; to++)
		plan_join(p, sw, start + to * step);
}

static void
name_switch(const struct grid *g, uint32_t sw, char name[32])
{
	size_t n = 1;

	strcpy(name, "T");
	for (unsigned d = 0; d < g->ndims && n < 32; d++)
		n += (size_t)snprintf(name + n, 32 - n, "%s%u", d ? "_" : "",
				      coordinate(g, sw, d));
}

static int
build_grid(struct plan *p, struct grid *g)
{
	unsigned ports = g->hosts;
	uint64_t switches = 1, trunks = 0;
	char name[32];
	int rc;

	for (unsigned d = 0; d < g->ndims; d++) {
		if (!g->side[d])
			return plan_impossible(p, "every side has a length of at least 1");
		switches *= g->side[d];
		ports += row_ports(g, d);
		trunks += row_ports(g, d);
	}
	if (switches > UINT64_MAX / (g->hosts + 1ull))
		return plan_impossible(p, "that makes more nodes than can be counted");
	if ((rc = plan_reserve(p, switches * (g->hosts + 1ull), switches * g->hosts,
			       switches * trunks)) < 0)
		return rc;
	for (uint32_t sw = 0; sw < switches; sw++) {
		name_switch(g, sw, name);
		plan_add(p, false, ports, "%s", name);
	}
	for (uint32_t sw = 0; sw < switches; sw++)
		plan_hosts(p, sw, g->hosts);
	for (uint32_t sw = 0; sw < switches; sw++)
		for (unsigned d = 0; d < g->ndims; d++)
			join_row(p, g, sw, d);
	return 0;
}

/* Up to four sides and the number of hosts. */
static int
build_sides(struct plan *p, const unsigned *a, unsigned n, enum row row)
{
	struct grid g = { .row = row, .ndims = n - 1, .hosts = a[n - 1] };

	memcpy(g.side, a, g.ndims * sizeof(*a));
	return build_grid(p, &g);
}

int
build_torus(struct plan *p, const unsigned *a, unsigned n)
{
	return build_sides(p, a, n, ROW_RING);
}

int
build_mesh(struct plan *p, const unsigned *a, unsigned n)
{
	return build_sides(p, a, n, ROW_LINE);
}

int
build_hyperx(struct plan *p, const unsigned *a, unsigned n)
{
	return build_sides(p, a, n, ROW_COMPLETE);
}

int
build_hypercube(struct plan *p, const unsigned *a, unsigned n)
{
	struct grid g = { .row = ROW_COMPLETE, .ndims = a[0], .hosts = a[1] };

	(void)n;
	if (!g.ndims || g.ndims > MAX_DIMENSIONS)
		return plan_impossible(p, "a hypercube has 1 to %u dimensions here, not %u",
				       MAX_DIMENSIONS, g.ndims);
	for (unsigned d = 0; d < g.ndims; d++)
		g.side[d] = 2;
	return build_grid(p, &g);
}
