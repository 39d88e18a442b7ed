/* SPDX-License-Identifier: BSD-2-Clause */
#include "routing/shape.h"
#include <stdio.h>
#include <string.h>
#include "routing/dragonfly.h"
#include "routing/fattree_impl.h"
#include "routing/hops.h"
#include "routing/hyperx.h"
#include "routing/levels.h"
#include "routing/nominal.h"
#include "routing/ranks.h"
#include "routing/roots.h"
#include "routing/shape_impl.h"
#include "routing/torus.h"
#include "sm/base/mem.h"

/*
 * What a fabric is. The questions are asked from the most special to the most general one: a
 * dragonfly+ would pass for a tree with some cables across, a ring of four switches with hosts on
 * two of them is a tree, a full mesh of four is a torus without the diagonals to nobody.
 *
 * A fabric stays what it was as long as it fits: the shape by which it was last routed is in the
 * plan, by the GUIDs of switches. For a tree it is the nominal fabric that says so. So a cable that
 * is lost never makes another thing of a fabric.
 */
#define FEW 8u		/* one in so many cables of a tree may join switches of one level */

/* ---- Trees ---- */

/* Hosts on switches with others below them that lead to hosts. */
static uint64_t
count_nested(const struct fabric *f, const uint32_t *hosts, const uint16_t *level, unsigned levels)
{
	uint8_t *nested = mem_array(f->nswitches + 1u, 1);
	uint64_t above = 0;

	for (unsigned at = levels; at-- > 0;)
		for (uint32_t sw = 0; sw < f->nswitches; sw++)
			for (uint32_t k = f->edge_first[sw];
			     level[sw] == at && k < f->edge_first[sw + 1]; k++) {
				uint32_t to = f->edges[k].to;

				if (level[to] > at)
					nested[sw] |= hosts[to] || nested[to];
			}
	for (uint32_t sw = 0; sw < f->nswitches; sw++)
		above += nested[sw] ? hosts[sw] : 0;
	mem_free(nested);
	return above;
}

/* Levels as engine fattree has them, from the roots down; false: configured ones are not there. */
static bool
find_levels(const struct engine_input *in, struct shape_tree *t)
{
	struct engine_input nominal = *in;
	struct roots roots;
	bool found;

	nominal.fabric = t->f;
	found = roots_find(&nominal, &roots, NULL) == 0;
	t->level = mem_array(t->f->nswitches + 1u, sizeof(*t->level));
	if (found)
		ranks_spread(t->f, roots.mark, t->level);
	for (uint32_t sw = 0; found && sw < t->f->nswitches; sw++) {
		t->nroots += t->level[sw] == 0;
		if (t->level[sw] >= t->levels)
			t->levels = t->level[sw] + 1u;
	}
	roots_free(&roots);
	return found;
}

static bool
is_tree(const struct engine_input *in, struct shape_tree *t)
{
	const struct fabric *f = t->f;
	uint32_t *hosts = levels_hosts(f);
	uint64_t all = 0, across = 0;
	bool tree = find_levels(in, t);

	for (uint32_t sw = 0; sw < f->nswitches; sw++) {
		all += hosts[sw];
		for (uint32_t k = f->edge_first[sw]; k < f->edge_first[sw + 1]; k++)
			across += t->level[sw] == t->level[f->edges[k].to];
	}
	tree = tree && all && FEW * across <= f->nedges &&
		2 * count_nested(f, hosts, t->level, t->levels) <= all;
	mem_free(hosts);
	return tree;
}

static void
name_tree(const struct shape_tree *t, struct shape *s)
{
	s->kind = SHAPE_TREE;
	if (t->f->nswitches == 2)
		snprintf(s->name, sizeof(s->name), "2 switches");
	else
		snprintf(s->name, sizeof(s->name), "%u-level %stree", t->levels,
			 t->nroots > 1 ? "fat " : "");
	shape_lost_tree(t, s);
}

static bool
find_tree(const struct engine_input *in, const struct fabric *whole, struct shape *s)
{
	struct shape_tree t = { .f = whole, .live = in->fabric };
	bool tree = is_tree(in, &t);

	if (tree)
		name_tree(&t, s);
	mem_free(t.level);
	return tree;
}

/* The tree by which engine fattree routed the last plan, if all that it knows of it is of use
 * still. It leaves none where there was no tree. */
static bool
is_tree_as_before(const struct engine_input *in, struct shape *s)
{
	const struct fattree_memo *memo = fattree_memo_of(in);
	struct fattree_changes changes;
	struct shape_tree t;
	bool fits;

	if (!memo || !memo->t)
		return false;
	fits = fattree_memo_fits(in, &changes);
	mem_free(changes.port);
	if (!fits)
		return false;
	t = (struct shape_tree){ .f = memo->t->f, .live = in->fabric, .level = memo->t->level,
				 .levels = memo->t->levels };
	for (uint32_t sw = 0; sw < t.f->nswitches; sw++)
		t.nroots += t.level[sw] == 0;
	name_tree(&t, s);
	return true;
}

/* ---- Others ---- */

/* No cables but those that hold the parts together? */
static bool
is_loose(const struct links *l)
{
	uint32_t *part = mem_array(l->n + 1, sizeof(*part)), parts = 0;

	levels_components(l->f, part);
	for (uint32_t sw = 0; sw < l->n; sw++)
		parts += part[sw] == sw;
	mem_free(part);
	return l->len / 2 + parts == l->n;
}

static bool
take_grid(struct grid_shape *g, const struct links *live, struct shape *s)
{
	struct grid grid = { 0 };
	bool fits = grid_open(&grid, g, live, NULL) == 0;

	if (fits) {
		char text[GRID_TEXT_SIZE];

		s->kind = SHAPE_GRID;
		snprintf(s->name, sizeof(s->name), "%s", grid_text(text, g));
		shape_lost_grid(&grid, s);
	}
	grid_close(&grid);
	return fits;
}

static bool
take_rows(const struct rows *r, const struct links *live, struct shape *s)
{
	uint32_t *at = rows_fit(r, live);
	char text[ROWS_TEXT_SIZE];

	if (!at)
		return false;
	s->kind = SHAPE_ROWS;
	snprintf(s->name, sizeof(s->name), "%s", rows_text(text, r));
	shape_lost_rows(r, at, live, s);
	mem_free(at);
	return true;
}

static bool
take_groups(const struct groups *g, const struct links *live, struct shape *s)
{
	char text[GROUPS_TEXT_SIZE];
	uint32_t *place;

	if (!groups_fit(g, live, &place))
		return false;
	s->kind = SHAPE_GROUPS;
	if (shape_lost_groups(g, place, live, s))
		snprintf(s->name, sizeof(s->name), "%s", groups_text(text, g));
	else
		snprintf(s->name, sizeof(s->name), "irregular, %u switches in %u groups", g->n,
			 g->ngroups);
	mem_free(place);
	return true;
}

static bool
find_grid(const struct links *whole, const struct links *live, struct shape *s)
{
	struct grid_shape *g;
	bool found = grid_find(whole, &g, NULL) == 0;

	if (!found)
		return false;
	found = take_grid(g, live, s);
	grid_shape_unref(g);
	return found;
}

/* Where all are neighbours of all is a full mesh, though it be a grid as well; other grids are
 * that, though they be rows as well. */
static bool
find_rows_or_grid(const struct links *whole, const struct links *live, struct shape *s)
{
	struct rows *r = NULL;
	bool rows = rows_find(whole, &r, NULL) == 0;
	bool found = (rows && r->dims == 1 && take_rows(r, live, s)) ||
		     find_grid(whole, live, s) || (rows && take_rows(r, live, s));

	if (rows)
		rows_unref(r);
	return found;
}

static bool
find_groups(const struct links *whole, const struct links *live, bool plus, struct shape *s)
{
	struct groups *g;
	bool found = groups_find(whole, &g, NULL) == 0;

	if (!found)
		return false;
	found = g->plus == plus && take_groups(g, live, s);
	groups_unref(g);
	return found;
}

/* A small grid of which so much is missing that it is not seen at once. */
static bool
find_completed(const struct links *whole, const struct links *live, struct shape *s)
{
	struct grid_shape *g = grid_complete(whole);
	bool found = g && take_grid(g, live, s);

	grid_shape_unref(g);
	return found;
}

static bool
find_slim(const struct links *whole, const struct links *live, struct shape *s)
{
	struct slim f;

	if (!slim_find(whole, &f))
		return false;
	s->kind = SHAPE_SLIM;
	snprintf(s->name, sizeof(s->name), "Slim Fly q = %u, %u switches", f.q, f.n);
	shape_lost_slim(&f, live, s);
	return true;
}

/* ---- The questions ---- */

/* What the last plan was routed by, if that still fits. */
static bool
is_as_before(const struct engine_input *in, const struct links *live, struct shape *s)
{
	struct grid_shape *grid = hops_last_shape(in, &engine_torus);
	struct rows *rows = hops_last_shape(in, &engine_hyperx);
	struct groups *groups = hops_last_shape(in, &engine_dragonfly);

	return (grid && take_grid(grid, live, s)) || (rows && take_rows(rows, live, s)) ||
		(groups && take_groups(groups, live, s));
}

static bool
recognise(const struct engine_input *in, const struct links *whole, const struct links *live,
	  struct shape *s)
{
	if (find_slim(whole, live, s) || find_groups(whole, live, true, s) ||
	    find_tree(in, whole->f, s) || find_rows_or_grid(whole, live, s) ||
	    find_groups(whole, live, false, s))
		return true;
	if (!is_loose(whole))
		return find_completed(whole, live, s);
	s->kind = SHAPE_LOOSE;
	snprintf(s->name, sizeof(s->name), "%u switches without a ring", live->n);
	return true;
}

void
shape_find(const struct engine_input *in, struct shape *s)
{
	const struct fabric *nominal;
	struct links live, whole;

	*s = (struct shape){ .kind = SHAPE_NONE };
	if (in->fabric->nswitches < 2) {
		snprintf(s->name, sizeof(s->name), "%s", in->fabric->nswitches ? "one switch" :
			 "no switch");
		return;
	}
	if (is_tree_as_before(in, s))
		return;
	links_init(&live, in->fabric);
	if (!is_as_before(in, &live, s)) {
		nominal = nominal_fabric(in->fabric);
		links_init(&whole, nominal);
		if (!recognise(in, &whole, &live, s) &&
		    (nominal == in->fabric || !recognise(in, &live, &live, s))) {
			s->kind = SHAPE_IRREGULAR;
			snprintf(s->name, sizeof(s->name), "irregular, %u switches", live.n);
		}
		links_free(&whole);
		fabric_unref(nominal);
	}
	links_free(&live);
}
