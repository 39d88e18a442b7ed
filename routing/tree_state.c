/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/tree.h"
#include <string.h>
#include "routing/levels.h"
#include "routing/ranks.h"
#include "routing/tree_order.h"
#include "sm/base/mem.h"

/*
 * What of the tree is there. A link works if its port has a cable in the snapshot; a silent switch
 * of which no table is known forwards nothing, so its links do not count. The order is the tree's
 * unless the lost cables leave several tops: then some links are turned over (tree_order.c), and
 * where that is not enough further switches are lifted.
 */

/* Vertices and switches are both in order of GUID. */
static void
match_switches(const struct tree *t, const struct fabric *f, struct tree_state *s)
{
	for (uint32_t v = 0, sw = 0; v < t->n; v++) {
		s->sw[v] = FABRIC_NONE;
		if (sw == f->nswitches ||
		    fabric_switch_node(f, sw)->guid != fabric_switch_node(t->f, v)->guid)
			continue;
		s->sw[v] = sw;
		s->vertex[sw++] = v;
	}
}

static bool
is_dumb(const struct engine_input *in, uint32_t sw)
{
	return (fabric_switch_node(in->fabric, sw)->flags & FABRIC_NODE_SILENT) &&
		!(in->fixed && in->fixed[sw]);
}

/* The port of a link if the link works, else NULL. */
static const struct fabric_port *
working_port(const struct engine_input *in, const struct tree_state *s, uint32_t v, uint32_t to,
	     uint8_t out)
{
	const struct fabric *f = in->fabric;
	const struct fabric_port *p;

	if (s->sw[v] == FABRIC_NONE || s->sw[to] == FABRIC_NONE || is_dumb(in, s->sw[v]) ||
	    is_dumb(in, s->sw[to]))
		return NULL;
	p = fabric_port_at(f, f->switches[s->sw[v]], out);
	return p->peer == FABRIC_NONE ? NULL : p;
}

static void
find_links(const struct tree *t, const struct engine_input *in, struct tree_state *s)
{
	uint32_t nlost = 0;

	for (uint32_t v = 0; v < t->n; v++)
		for (uint32_t g = t->first[v]; g < t->first[v + 1]; g++) {
			const struct tree_group *group = &t->groups[g];

			for (uint32_t l = group->link; l < group->link + group->len; l++) {
				const struct fabric_port *p =
					working_port(in, s, v, group->to, t->out[l]);

				s->up[l] = p != NULL;
				s->rate[l] = p ? p->rate_mbps : 0;
				s->nup[g] = (uint8_t)(s->nup[g] + s->up[l]);
				nlost += !p;
			}
		}
	s->nlost = nlost / 2;
}

bool
tree_is_uneven(const struct tree *t, const struct tree_state *s, uint32_t v)
{
	uint32_t above = 0;

	for (uint32_t g = t->first[v]; g < t->first[v + 1]; g++) {
		const struct tree_group *group = &t->groups[g];
		uint32_t same = group->above ? above : 0;

		for (uint32_t l = group->link; l < group->link + group->len; l++) {
			if (!s->up[l])
				continue;
			if (same && s->rate[l] != same)
				return true;
			same = s->rate[l];
		}
		above = group->above ? same : above;
	}
	return false;
}

/* A switch that is not linked to others is its own top. */
static int
find_order(const struct tree *t, const struct fabric *f, struct tree_state *s, struct error *e)
{
	struct ranks r = { .f = f, .rank = mem_array(f->nswitches, sizeof(*r.rank)) };
	uint32_t lifted = 0;
	bool lowered;
	int rc;

	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		r.rank[sw] = t->rank[s->vertex[sw]];
	lowered = tree_order_settle(f, r.rank);
	rc = ranks_join(&r, &lifted, e);
	memcpy(s->rank, t->rank, t->n * sizeof(*s->rank));
	for (uint32_t sw = 0; sw < f->nswitches && (lowered || lifted); sw++)
		s->rank[s->vertex[sw]] = r.rank[sw];
	mem_free(r.rank);
	s->whole = !lowered && !lifted && !s->nlost;
	return rc;
}

int
tree_state_find(const struct tree *t, const struct engine_input *in, struct tree_state *s,
		struct error *e)
{
	*s = (struct tree_state){
		.sw = mem_array(t->n, sizeof(*s->sw)),
		.vertex = mem_array(in->fabric->nswitches, sizeof(*s->vertex)),
		.up = mem_array(t->nlinks, 1),
		.rate = mem_array(t->nlinks, sizeof(*s->rate)),
		.nup = mem_array(t->first[t->n], 1),
		.rank = mem_array(t->n, sizeof(*s->rank)),
		.uneven = mem_array(t->n, 1),
	};
	match_switches(t, in->fabric, s);
	find_links(t, in, s);
	for (uint32_t v = 0; v < t->n; v++)
		s->uneven[v] = tree_is_uneven(t, s, v);
	return find_order(t, in->fabric, s, e);
}

void
tree_state_free(struct tree_state *s)
{
	mem_free(s->sw);
	mem_free(s->vertex);
	mem_free(s->up);
	mem_free(s->rate);
	mem_free(s->nup);
	mem_free(s->rank);
	mem_free(s->uneven);
}
