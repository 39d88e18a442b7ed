/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/dfsssp.h"
#include <stdio.h>
#include "routing/layered.h"

/*
 * Engine dfsssp: the shortest ways, balanced over all links, and then as many lanes as it takes to
 * keep them from waiting for each other in a circle (the idea of Domke, Hoefler and Nagel, IPDPS
 * 2011). Lanes are filled one after the other, pair of switches by pair, both directions together;
 * a pair that finds no place on any lane is a reason to refuse.
 */
/* The pair goes to the first class that has room for it. */
static bool
place_pair(struct ways *w, uint32_t a, uint32_t b)
{
	unsigned was = ways_class(w, a, b);

	if (was < w->y.len && ways_fit(w, a, b, was))
		return true;
	for (unsigned k = 0; k < w->y.len; k++)
		if (ways_fit(w, a, b, k)) {
			ways_set_class(w, a, b, k);
			return true;
		}
	return false;
}

static int
no_place(const struct ways *w, uint32_t a, uint32_t b, uint32_t left, struct error *e)
{
	char x[FABRIC_NAME_SIZE], y[FABRIC_NAME_SIZE];
	const struct fabric *f = w->l.f;

	return error_set(e, ERR_REFUSED, "the shortest ways need more than %u lanes: pairs of "
			 "switches without a place are %u, the first of them %s and %s", w->y.len,
			 left, fabric_node_text(x, f, f->switches[a], FABRIC_NAME_LEN),
			 fabric_node_text(y, f, f->switches[b], FABRIC_NAME_LEN));
}

static int
find(struct ways *w, const struct ways_kept *kept, struct error *e)
{
	uint32_t first[2] = { 0, 0 }, left = 0;

	ways_find_shortest(w, kept);
	for (unsigned round = 0; round < 2; round++)
		for (uint32_t a = 0; a < w->n; a++)
			for (uint32_t b = 0; b < a; b++) {
				/* Those who have a class go first: what hosts know stays. */
				if ((ways_class(w, a, b) == WAYS_NONE) != (round == 1) ||
				    place_pair(w, a, b))
					continue;
				if (!left++) {
					first[0] = b;
					first[1] = a;
				}
			}
	return left ? no_place(w, first[0], first[1], left, e) : 0;
}

static int
dfsssp_route(const struct engine_input *in, struct engine_output *out, struct error *e)
{
	unsigned allowed = layered_lanes(in, LAYERS_MAX), lanes;
	struct layered y = {
		.in = in, .engine = &engine_dfsssp, .find = find, .lanes = LAYERS_MAX,
	};
	int rc = layered_route(&y, out, e);

	layered_free(&y);
	if (rc)
		return rc;
	lanes = out->lanes ? out->lanes->lanes : 1;
	if (lanes > allowed)
		return error_set(e, ERR_REFUSED, "the shortest ways need %u lanes, and links run "
				 "or may run no more than %u", lanes, allowed);
	snprintf(out->note, sizeof(out->note), "lanes: %u of %u", lanes, allowed);
	return 0;
}

const struct engine engine_dfsssp = {
	.name = "dfsssp",
	.help = "the shortest ways in any fabric, if the lanes suffice for them",
	.topologies = "any",
	.deadlock_free = true,
	.route = dfsssp_route,
};
