/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/updn.h"
#include <string.h>
#include "routing/ranks.h"
#include "sm/base/mem.h"

/*
 * Engine updn: up*-down* routing (Schroeder et al., Autonet, 1991). Switches stand in a total order,
 * so that each link has one up end, also between switches of one rank. A packet climbs and then
 * descends; it never turns from down to up, hence no cycle of waiting links.
 *
 * Tables know the destination only, so the rule is kept like this: a switch from which the
 * destination can be reached by going down alone goes down (whoever came from above must), all
 * others go up, by the shortest way there is under that condition.
 */
/* Switches that reach home by going down alone: mark 1, listed by distance; returns how many. */
static uint32_t
spread_down(const struct ranks *r, uint32_t home, const uint8_t *exits, struct balance_tree *t,
	    uint32_t *list)
{
	const struct fabric *f = r->f;
	uint32_t len = 1;

	memset(t->dist, 0xff, f->nswitches * sizeof(*t->dist));
	memset(t->mark, 0, f->nswitches);
	t->dist[home] = 0;
	t->mark[home] = 1;
	list[0] = home;
	for (uint32_t i = 0; i < len; i++) {
		uint32_t sw = list[i];

		for (uint32_t k = f->edge_first[sw]; k < r->down[sw]; k++) {
			const struct fabric_edge *e = &f->edges[r->edge[k]];

			if (t->mark[e->to] || !balance_exit_ok(exits, e))
				continue;
			t->mark[e->to] = 1;
			t->dist[e->to] = (uint16_t)(t->dist[sw] + 1);
			list[len++] = e->to;
		}
	}
	return len;
}

/* Those that must climb first, and all in one order by distance: a merge of the list of those that
 * go down and of the growing queue of those that go up. */
static void
spread_up(const struct ranks *r, const uint8_t *exits, struct balance_tree *t, const uint32_t *down,
	  uint32_t ndown, uint32_t *queue)
{
	const struct fabric *f = r->f;
	uint32_t i = 0, q = 0, nqueue = 0;

	t->n = 0;
	while (i < ndown || q < nqueue) {
		bool from_queue = i == ndown ||
			(q < nqueue && t->dist[queue[q]] < t->dist[down[i]]);
		uint32_t sw = from_queue ? queue[q++] : down[i++];

		t->order[t->n++] = sw;
		for (uint32_t k = r->down[sw]; k < f->edge_first[sw + 1]; k++) {
			const struct fabric_edge *e = &f->edges[r->edge[k]];

			if (t->dist[e->to] != BALANCE_FAR || !balance_exit_ok(exits, e))
				continue;
			t->dist[e->to] = (uint16_t)(t->dist[sw] + 1);
			queue[nqueue++] = e->to;
		}
	}
}

void
ranks_tree(const void *arg, uint32_t home, const uint8_t *exits, struct balance_tree *t)
{
	const struct ranks *r = arg;
	const struct fabric *f = r->f;
	uint32_t len = 0;

	/* Both lists are used up before the arrays get their proper content. */
	spread_up(r, exits, t, t->first, spread_down(r, home, exits, t, t->first), t->edge);
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t sw = t->order[i];
		uint32_t k = t->mark[sw] ? r->down[sw] : f->edge_first[sw];
		uint32_t end = t->mark[sw] ? f->edge_first[sw + 1] : r->down[sw];

		t->first[i] = len;
		for (; k < end; k++) {
			const struct fabric_edge *e = &f->edges[r->edge[k]];

			if (exits && exits[sw] != BALANCE_FREE && exits[sw] != e->out)
				continue;
			if (t->dist[e->to] + 1 == t->dist[sw] && t->mark[e->to] >= t->mark[sw])
				t->edge[len++] = r->edge[k];
		}
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
