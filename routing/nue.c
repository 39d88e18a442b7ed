/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/nue.h"
#include <stdio.h>
#include "routing/layered.h"

/*
 * Engine nue: short ways in any fabric on any number of lanes, one or more, without a credit loop.
 * The idea is that of Nue (Domke, Hoefler and Matsuoka, HPDC 2016): ways grow within the graph of
 * what waits for what, and a spanning tree is always left to fall back on. What is different is
 * that lanes belong to pairs of switches, the same both ways, and not to destinations.
 */
#define LANES 4u		/* where options say nothing */

static int
find(struct ways *w, const struct ways_kept *kept, struct error *e)
{
	(void)e;
	ways_find(w, kept);
	return 0;
}

static int
nue_route(const struct engine_input *in, struct engine_output *out, struct error *e)
{
	unsigned most = in->options && in->options->lanes ? in->options->lanes : LANES;
	struct layered y = {
		.in = in, .engine = &engine_nue, .find = find, .lanes = layered_lanes(in, most),
	};
	int rc = layered_route(&y, out, e), len = 0;

	if (!rc) {
		len = snprintf(out->note, sizeof(out->note), "lanes: %u",
			       out->lanes ? out->lanes->lanes : 1u);
		if (y.lanes < most)
			len += snprintf(out->note + len, sizeof(out->note) - (size_t)len,
					", links run no more than %u", y.lanes);
		if (y.w.nfallen)
			snprintf(out->note + len, sizeof(out->note) - (size_t)len,
				 ", ways on the spanning tree: %u", y.w.nfallen);
	}
	layered_free(&y);
	return rc;
}

const struct engine engine_nue = {
	.name = "nue",
	.help = "short ways in any fabric, on as many lanes as there are, one or more",
	.topologies = "any",
	.deadlock_free = true,
	.route = nue_route,
};
