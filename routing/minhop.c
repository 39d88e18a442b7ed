/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/minhop.h"
#include <string.h>
#include "routing/ranks.h"
#include "routing/roots.h"
#include "sm/base/mem.h"

/*
 * Engine minhop: shortest paths to hosts, counted in links, spread over all of them by the
 * balancer. It knows nothing of deadlock: on a ring, a torus or a cross-cabled tree its tables can
 * close a credit loop, and the checker refuses them then.
 *
 * Switches' own LIDs are another matter. On the best of trees the shortest way from one switch to
 * its neighbour in the same pod goes down to a leaf and up again, and such turns close credit
 * loops though no host's packet makes them. Management can take the longer way: it climbs and
 * then descends, in the order of ranks.c, which shortest paths on a tree keep by themselves.
 *
 * A silent switch has one way out per LID, the one its table holds; distances are taken over what
 * it really does, so nobody routes through it where that would not arrive.
 */
struct minhop {
	const struct fabric *f;	/* what is routed */
	uint32_t *to;		/* by edge: switch it leads to */
};

static void
minhop_spread(const struct minhop *m, uint32_t home, struct balance_tree *t)
{
	const uint32_t *first = m->f->edge_first, *to = m->to;
	uint32_t *order = t->order, n = 1;
	uint16_t *dist = t->dist;

	order[0] = home;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t sw = order[i];

		for (uint32_t k = first[sw], end = first[sw + 1]; k < end; k++) {
			if (dist[to[k]] != BALANCE_FAR)
				continue;
			dist[to[k]] = (uint16_t)(dist[sw] + 1);
			order[n++] = to[k];
		}
	}
	t->n = n;
}

static void
minhop_tree(const void *arg, uint32_t home, const uint8_t *exits, struct balance_tree *t)
{
	const struct minhop *m = arg;
	const uint32_t *first = m->f->edge_first, *to = m->to;
	const uint16_t *dist = t->dist;
	uint32_t len = 0, *edge = t->edge;

	memset(t->dist, 0xff, m->f->nswitches * sizeof(*dist));
	t->dist[home] = 0;
	if (exits)
		t->n = levels_reach(m->f, exits, t->dist, &home, 1, t->order, edge);
	else
		minhop_spread(m, home, t);
	t->first[0] = 0;
	for (uint32_t i = 1; i < t->n; i++) {
		uint32_t sw = t->order[i], want = dist[sw] - 1u;
		uint8_t exit = exits ? exits[sw] : BALANCE_FREE;

		t->first[i] = len;
		for (uint32_t k = first[sw], end = first[sw + 1]; k < end; k++) {
			edge[len] = k;
			len += dist[to[k]] == want &&
				(exit == BALANCE_FREE || exit == m->f->edges[k].out);
		}
	}
	t->first[t->n] = len;
}

static int
minhop_route(const struct engine_input *in, struct engine_output *out, struct error *e)
{
	const struct fabric *f = in->fabric;
	struct minhop m = { .f = f, .to = mem_array(f->nedges, sizeof(*m.to)) };
	struct ranks r;
	struct balance_trees trees = {
		.hosts = minhop_tree, .hosts_arg = &m, .switches = ranks_tree, .switches_arg = &r,
	};
	char note[sizeof(out->note)];
	int rc = ranks_choose(in, &r, note, sizeof(note), e);

	for (uint32_t k = 0; k < f->nedges; k++)
		m.to[k] = f->edges[k].to;
	if (rc == 0) {
		balance_rows(in, out, &trees);
		out->ranks = ranks_copy(&r);
		out->roots = roots_record(in);
	}
	ranks_free(&r);
	mem_free(m.to);
	return rc;
}

const struct engine engine_minhop = {
	.name = "minhop",
	.help = "shortest paths, balanced over all of them",
	.topologies = "trees; others only where no credit loop results",
	.deadlock_free = false,
	.route = minhop_route,
};
