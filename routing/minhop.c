/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/minhop.h"
#include <string.h>
#include "routing/balance.h"

/*
 * Engine minhop: shortest paths, counted in links, spread over all of them by the balancer. It
 * knows nothing of deadlock: on a ring, a torus or a cross-cabled tree its tables can close a
 * credit loop, and the checker refuses them then.
 *
 * A silent switch has one way out per LID, the one its table holds; distances are taken over what
 * it really does, so nobody routes through it where that would not arrive.
 */
static void
minhop_spread(const struct fabric *f, uint32_t home, const uint8_t *exits, struct balance_tree *t)
{
	memset(t->dist, 0xff, f->nswitches * sizeof(*t->dist));
	t->dist[home] = 0;
	t->order[0] = home;
	t->n = 1;
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t sw = t->order[i];

		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++) {
			const struct fabric_edge *e = &f->edges[k];

			if (t->dist[e->to] != BALANCE_FAR || !balance_exit_ok(exits, e))
				continue;
			t->dist[e->to] = (uint16_t)(t->dist[sw] + 1);
			t->order[t->n++] = e->to;
		}
	}
}

static void
minhop_tree(const void *arg, uint32_t home, const uint8_t *exits, struct balance_tree *t)
{
	const struct fabric *f = arg;
	uint32_t len = 0;

	minhop_spread(f, home, exits, t);
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t sw = t->order[i];

		t->first[i] = len;
		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++) {
			const struct fabric_edge *e = &f->edges[k];

			if (exits && exits[sw] != BALANCE_FREE && exits[sw] != e->out)
				continue;
			t->edge[len] = k;
			len += t->dist[e->to] + 1 == t->dist[sw];
		}
	}
	t->first[t->n] = len;
}

static int
minhop_route(const struct engine_input *in, struct engine_output *out, struct error *e)
{
	(void)e;
	balance_rows(in, out, minhop_tree, in->fabric);
	return 0;
}

const struct engine engine_minhop = {
	.name = "minhop",
	.help = "shortest paths, balanced over all of them",
	.topologies = "trees; others only where no credit loop results",
	.deadlock_free = false,
	.route = minhop_route,
};
