/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/minhop.h"
#include <string.h>
#include "routing/ranks.h"
#include "sm/base/mem.h"

/*
 * Engine minhop: shortest paths to hosts, counted in links, spread over all of them by the balancer.
 * It knows nothing of deadlock: on a ring, a torus or a cross-cabled tree its tables can close a
 * credit loop, and the checker refuses them then.
 *
 * Switches' own LIDs are another matter. On the best of trees the shortest way from one switch to
 * its neighbour in the same pod goes down to a leaf and up again, and such turns close credit
 * loops though no host's packet makes them. Management can take the longer way: it climbs and
 * then descends, in the order that ranks.c finds, which shortest paths on a tree keep by themselves.
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
	const uint16_t *dist = t->dist;
	uint32_t len = 0;

	minhop_spread(f, home, exits, t);
	t->first[0] = 0;
	for (uint32_t i = 1; i < t->n; i++) {
		uint32_t sw = t->order[i], want = dist[sw] - 1u;
		uint8_t exit = exits ? exits[sw] : BALANCE_FREE;

		t->first[i] = len;
		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++)
			if (dist[f->edges[k].to] == want &&
			    (exit == BALANCE_FREE || exit == f->edges[k].out))
				t->edge[len++] = k;
	}
	t->first[t->n] = len;
}

static int
minhop_route(const struct engine_input *in, struct engine_output *out, struct error *e)
{
	struct balance_trees trees = { .hosts = minhop_tree, .hosts_arg = in->fabric,
				       .switches = ranks_tree };
	struct ranks r;
	char note[sizeof(out->note)];
	int rc = ranks_choose(in, &r, note, sizeof(note), e);

	if (rc == 0) {
		trees.switches_arg = &r;
		balance_rows(in, out, &trees);
		out->ranks = ranks_copy(&r);
	}
	ranks_free(&r);
	return rc;
}

const struct engine engine_minhop = {
	.name = "minhop",
	.help = "shortest paths, balanced over all of them",
	.topologies = "trees; others only where no credit loop results",
	.deadlock_free = false,
	.route = minhop_route,
};
