/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/tree.h"
#include <string.h>
#include "routing/levels.h"
#include "routing/ranks.h"
#include "sm/base/mem.h"

/*
 * What of the tree is there. A link works if its port has a cable in the snapshot; a silent switch
 * of which no table is known forwards nothing, so its links do not count. The order is the tree's
 * unless the lost cables leave several tops. Mostly that is a root without its cable to where paths
 * between roots go; it is put right below one of its children, which nobody else notices. If that
 * is not possible, further switches are lifted.
 */
#define SPREAD 3u	/* places for each rank, to have some between */
#define DEEPEST 80u	/* ranks that can be spread */

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

/* A switch without a link up. */
static bool
is_top(const struct fabric *f, const uint16_t *rank, uint32_t sw)
{
	for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++)
		if (f->edges[k].to != sw && tree_up(rank, sw, f->edges[k].to))
			return false;
	return true;
}

/* A child of a top that it can be put below: one of its highest neighbours, with a parent of its
 * own that is no such top. FABRIC_NONE: there is none. */
static uint32_t
find_child(const struct fabric *f, const uint16_t *rank, const uint8_t *top, uint32_t sw)
{
	uint16_t highest = UINT16_MAX;

	for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++)
		if (rank[f->edges[k].to] < highest)
			highest = rank[f->edges[k].to];
	for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++) {
		uint32_t child = f->edges[k].to;

		for (uint32_t i = f->edge_first[child]; i < f->edge_first[child + 1]; i++)
			if (rank[child] == highest && !top[f->edges[i].to] &&
			    rank[f->edges[i].to] < rank[child])
				return child;
	}
	return FABRIC_NONE;
}

/* Mark all tops but the highest of each connected part; returns how many. */
static uint32_t
mark_tops(const struct fabric *f, const uint16_t *rank, uint8_t *top)
{
	uint32_t *part = mem_array(f->nswitches, sizeof(*part)), n = 0;
	uint32_t *main_top = mem_array(f->nswitches, sizeof(*main_top));

	levels_components(f, part);
	memset(main_top, 0xff, f->nswitches * sizeof(*main_top));
	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		uint32_t *best = &main_top[part[sw]];

		top[sw] = is_top(f, rank, sw);
		if (top[sw] && (*best == FABRIC_NONE || rank[sw] < rank[*best]))
			*best = sw;
		n += top[sw];
	}
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		if (part[sw] == sw) {
			top[main_top[sw]] = 0;
			n--;
		}
	mem_free(main_top);
	mem_free(part);
	return n;
}

/* Put tops below children of theirs; false if there is nothing to do. */
static bool
lower_tops(const struct fabric *f, uint16_t *rank)
{
	uint8_t *top = mem_array(f->nswitches, 1);
	uint16_t *fine = mem_array(f->nswitches, sizeof(*fine));
	bool any = mark_tops(f, rank, top) > 0, deep = false;

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		deep |= rank[sw] > DEEPEST;
		fine[sw] = (uint16_t)(rank[sw] * SPREAD + SPREAD - 1);
	}
	for (uint32_t sw = 0; any && sw < f->nswitches; sw++) {
		uint32_t child = top[sw] ? find_child(f, rank, top, sw) : FABRIC_NONE;

		if (child == FABRIC_NONE)
			continue;
		fine[child] = (uint16_t)(rank[child] * SPREAD);
		fine[sw] = (uint16_t)(rank[child] * SPREAD + 1);
	}
	if (any && !deep)
		memcpy(rank, fine, f->nswitches * sizeof(*rank));
	mem_free(top);
	mem_free(fine);
	return any && !deep;
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
	lowered = lower_tops(f, r.rank);
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
