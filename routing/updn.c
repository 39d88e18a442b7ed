/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/updn.h"
#include <string.h>
#include "routing/ranks.h"
#include "routing/roots.h"
#include "sm/base/mem.h"

/*
 * Engine updn: up*-down* routing (Schroeder et al., Autonet, 1991). Switches stand in a total
 * order, so that each link has one up end, also between switches of one rank. A packet climbs and
 * then descends; it never turns from down to up, hence no cycle of waiting links.
 *
 * Tables know the destination only, so the rule is kept like this: a switch from which the
 * destination can be reached by going down alone goes down (whoever came from above must), all
 * others go up, by the shortest way there is under that condition.
 *
 * Silent switches need not keep the rule; what hangs behind one that breaks it is reached all the
 * same.
 */
enum {			/* balance_tree.mark */
	STRANDED,	/* no legal way, only one through silent switches */
	CLIMBS,		/* goes up first */
	DESCENDS,	/* goes down alone */
};

/* Switches that reach home by going down alone, listed by distance; returns how many. */
static uint32_t
spread_down(const struct ranks *r, uint32_t home, const uint8_t *exits, struct balance_tree *t,
	    uint32_t *list)
{
	const uint32_t *first = r->f->edge_first, *down = r->down, *to = r->to;
	uint16_t *dist = t->dist;
	uint8_t *mark = t->mark;
	uint32_t len = 1;

	memset(dist, 0xff, r->f->nswitches * sizeof(*dist));
	memset(mark, STRANDED, r->f->nswitches);
	dist[home] = 0;
	mark[home] = DESCENDS;
	list[0] = home;
	for (uint32_t i = 0; i < len; i++) {
		uint32_t sw = list[i];

		for (uint32_t k = first[sw], end = down[sw]; k < end; k++) {
			uint32_t up = to[k];

			if (mark[up] ||
			    (exits && !levels_exit_ok(exits, &r->f->edges[r->edge[k]])))
				continue;
			mark[up] = DESCENDS;
			dist[up] = (uint16_t)(dist[sw] + 1);
			list[len++] = up;
		}
	}
	return len;
}

/* Those that must climb first, and all in one order by distance: a merge of the list of those that
 * go down and of the growing queue of those that go up. */
static void
spread_up(const struct ranks *r, const uint8_t *exits, struct balance_tree *t, const uint32_t *list,
	  uint32_t nlist, uint32_t *queue)
{
	const uint32_t *first = r->f->edge_first, *down = r->down, *to = r->to;
	uint32_t i = 0, q = 0, nqueue = 0, n = 0;
	uint16_t *dist = t->dist;

	while (i < nlist || q < nqueue) {
		bool queued = i == nlist || (q < nqueue && dist[queue[q]] < dist[list[i]]);
		uint32_t sw = queued ? queue[q++] : list[i++];

		t->order[n++] = sw;
		for (uint32_t k = down[sw], end = first[sw + 1]; k < end; k++) {
			uint32_t below = to[k];

			if (dist[below] != BALANCE_FAR ||
			    (exits && !levels_exit_ok(exits, &r->f->edges[r->edge[k]])))
				continue;
			t->mark[below] = CLIMBS;
			dist[below] = (uint16_t)(dist[sw] + 1);
			queue[nqueue++] = below;
		}
	}
	t->n = n;
}

/* Where no legal way begins: silent switches turn down and up again, and some have no way but
 * through such. They take the shortest there is; whether that closes a credit loop the proof
 * says. */
static void
spread_stranded(const struct ranks *r, const uint8_t *exits, struct balance_tree *t)
{
	memcpy(t->first, t->order, t->n * sizeof(*t->first));
	t->n = levels_reach(r->f, exits, t->dist, t->first, t->n, t->order, t->edge);
}

/* The edges of one switch that lead on: from `k` to `end`, to where the distance is less by one and
 * the rest of the way is no worse: if the switch goes down, only where the rest does as well. */
static uint32_t
offer(const struct ranks *r, const struct balance_tree *t, uint32_t sw, uint8_t exit, uint32_t k,
      uint32_t end, uint32_t *edge)
{
	const uint32_t *to = r->to;
	const uint16_t *dist = t->dist;
	const uint8_t *mark = t->mark;
	uint32_t want = t->dist[sw] - 1u, len = 0;
	uint8_t marked = mark[sw];

	for (; k < end && exit == BALANCE_FREE; k++) {
		edge[len] = r->edge[k];
		len += (dist[to[k]] == want) & (mark[to[k]] >= marked);
	}
	for (; k < end; k++)
		if (dist[to[k]] == want && mark[to[k]] >= marked &&
		    exit == r->f->edges[r->edge[k]].out)
			edge[len++] = r->edge[k];
	return len;
}

void
ranks_tree(const void *arg, uint32_t home, const uint8_t *exits, struct balance_tree *t)
{
	const struct ranks *r = arg;
	const uint32_t *first = r->f->edge_first;
	uint32_t len = 0;

	/* Both lists are used up before the arrays get their proper content. */
	spread_up(r, exits, t, t->first, spread_down(r, home, exits, t, t->first), t->edge);
	if (exits)
		spread_stranded(r, exits, t);
	t->first[0] = 0;
	for (uint32_t i = 1; i < t->n; i++) {
		uint32_t sw = t->order[i];
		uint32_t from = t->mark[sw] == DESCENDS ? r->down[sw] : first[sw];
		uint32_t end = t->mark[sw] == CLIMBS ? r->down[sw] : first[sw + 1];

		t->first[i] = len;
		len += offer(r, t, sw, exits ? exits[sw] : BALANCE_FREE, from, end, &t->edge[len]);
	}
	t->first[t->n] = len;
}

static int
updn_route(const struct engine_input *in, struct engine_output *out, struct error *e)
{
	struct balance_trees trees = { .hosts = ranks_tree, .switches = ranks_tree };
	struct ranks r;
	int rc = ranks_choose(in, &r, out->note, sizeof(out->note), e);

	if (rc == 0) {
		trees.hosts_arg = trees.switches_arg = &r;
		balance_rows(in, out, &trees);
		out->ranks = ranks_copy(&r);
		out->roots = roots_record(in);
	}
	ranks_free(&r);
	return rc;
}

const struct engine engine_updn = {
	.name = "updn",
	.help = "up*-down*: shortest paths that climb and then descend, free of credit loops",
	.topologies = "any; best on trees",
	.deadlock_free = true,
	.route = updn_route,
};
